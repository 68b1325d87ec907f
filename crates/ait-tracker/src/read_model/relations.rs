//! The issues that one issue is linked with, in both directions.

use super::read_view::ReadView;
use ait_domain::{Issue, IssueId, LinkKind};

/// What other issues are to an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// The whole that it is a part of.
    Parent,
    Parts,
    /// It waits for them.
    BlockedBy,
    /// They wait for it.
    Blocks,
    /// They have something to do with it.
    Related,
    /// It duplicates them.
    DuplicateOf,
    /// They duplicate it.
    Duplicates,
}

impl ReadView<'_> {
    /// Returns the issues that an issue is linked with, by relation. Relations without issues are left out.
    ///
    /// The links of the issue itself keep their order, and may lead to issues that do not exist. The links of others
    /// are in the order of filing.
    pub fn relations(&self, issue: &Issue) -> Vec<(Relation, Vec<IssueId>)> {
        let outgoing = |kind| issue.attributes.linked(kind).collect::<Vec<_>>();
        let incoming = |kind| {
            let mut ids: Vec<_> = self.index.links.linked_from(kind, issue.id).collect();
            ids.sort_by_cached_key(|id| self.index.ids.get(*id));
            ids
        };
        let mut related = outgoing(LinkKind::Related);
        let others = incoming(LinkKind::Related);
        related.extend(
            others
                .into_iter()
                .filter(|id| !issue.attributes.linked(LinkKind::Related).any(|own| own == *id)),
        );
        let relations = [
            (Relation::Parent, outgoing(LinkKind::Parent)),
            (Relation::Parts, incoming(LinkKind::Parent)),
            (Relation::BlockedBy, outgoing(LinkKind::BlockedBy)),
            (Relation::Blocks, incoming(LinkKind::BlockedBy)),
            (Relation::Related, related),
            (Relation::DuplicateOf, outgoing(LinkKind::DuplicateOf)),
            (Relation::Duplicates, incoming(LinkKind::DuplicateOf)),
        ];
        relations.into_iter().filter(|(_, ids)| !ids.is_empty()).collect()
    }
}
