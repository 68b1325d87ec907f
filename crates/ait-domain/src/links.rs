//! The rules for links: no issue may wait for itself, and parts are nested to a limited depth.

use std::collections::{HashMap, HashSet};
use std::iter;
use std::sync::Arc;

use super::{DomainError, Issue, IssueId, IssueRef, Link, LinkKind};

/// The issues among which links are made.
pub trait IssueGraph {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>>;

    /// Returns the issues that have a link of this kind to an issue, ascending.
    fn linked_from(&self, kind: LinkKind, to: IssueId) -> Vec<IssueId>;

    /// Returns the id of the issue that a reference names.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    fn resolve(&self, reference: &IssueRef) -> Result<IssueId, DomainError>;
}

/// Checks links that an issue is to get, as if it had all of its other `links` already.
///
/// # Errors
///
/// [`DomainError::Cycle`], [`DomainError::TooDeep`] and [`DomainError::TooMany`].
pub fn check(
    id: IssueId,
    links: &[Link],
    added: &[Link],
    graph: &dyn IssueGraph,
) -> Result<(), DomainError> {
    refuse_form(id, links, added, graph)?;
    let decides_order = added.iter().any(|link| link.kind.decides_order());
    if decides_order { refuse_cycle(&Proposal { id, links, opens: false, graph }) } else { Ok(()) }
}

/// Checks the links of an issue that comes from a file and is new.
pub fn check_new(issue: &Issue, graph: &dyn IssueGraph) -> Result<(), DomainError> {
    let links = &*issue.attributes.links;
    if issue.status.has_ended() {
        // It waits for nothing.
        return refuse_form(issue.id, links, links, graph);
    }
    check(issue.id, links, links, graph)
}

/// Checks the links of an issue that is opened again.
///
/// # Errors
///
/// [`DomainError::Cycle`].
pub fn check_reopened(issue: &Issue, graph: &dyn IssueGraph) -> Result<(), DomainError> {
    refuse_cycle(&Proposal { id: issue.id, links: &issue.attributes.links, opens: true, graph })
}

/// Refuses too many links, a link to the issue itself, and bad nesting.
fn refuse_form(
    id: IssueId,
    links: &[Link],
    added: &[Link],
    graph: &dyn IssueGraph,
) -> Result<(), DomainError> {
    let what = "links";
    let limit = Link::MAX_COUNT;
    if links.len() > limit {
        return Err(DomainError::TooMany { id, what, count: links.len(), limit });
    }
    for link in added {
        if link.to == id {
            return Err(DomainError::Cycle { path: vec![id, id] });
        }
        if link.kind == LinkKind::Parent {
            refuse_nesting(id, link.to, graph)?;
        }
    }
    Ok(())
}

/// The graph as it would be with all links of one issue.
struct Proposal<'a> {
    id: IssueId,
    links: &'a [Link],
    /// Whether the issue is opened again.
    opens: bool,
    graph: &'a dyn IssueGraph,
}

/// The beginning or the end of the work on an issue. The work ends after its beginning and after the ends of its parts;
/// it begins after the ends of its blockers, and after the beginning of what it is a part of.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Moment {
    Begin(IssueId),
    End(IssueId),
}

impl Moment {
    fn issue(self) -> IssueId {
        let (Self::Begin(id) | Self::End(id)) = self;
        id
    }
}

impl Proposal<'_> {
    /// Returns the moments that come before one. An issue that has ended waits for nothing.
    fn before(&self, moment: Moment) -> Vec<Moment> {
        let id = moment.issue();
        let issue = self.graph.issue(id);
        let opens = self.opens && id == self.id;
        if !opens && issue.as_ref().is_some_and(|issue| issue.status.has_ended()) {
            return Vec::new();
        }
        if let Moment::End(_) = moment {
            let parts = self.graph.linked_from(LinkKind::Parent, id).into_iter();
            let is_part = self.links.contains(&Link { kind: LinkKind::Parent, to: id });
            let parts = parts.filter(|part| *part != self.id).chain(is_part.then_some(self.id));
            return parts
                .map(Moment::End)
                .chain([Moment::Begin(id)])
                .chain(self.own_blockers(id))
                .collect();
        }
        let links = self.links_of(id);
        let blockers = links.iter().filter(|link| link.kind == LinkKind::BlockedBy);
        let blockers = blockers.map(|link| link.to).filter(|blocker| !self.is_within(*blocker, id));
        let whole = links.iter().find(|link| link.kind == LinkKind::Parent);
        blockers.map(Moment::End).chain(whole.map(|link| Moment::Begin(link.to))).collect()
    }

    fn links_of(&self, id: IssueId) -> Vec<Link> {
        match self.graph.issue(id) {
            _ if id == self.id => self.links.to_vec(),
            Some(issue) => issue.attributes.links.to_vec(),
            None => Vec::new(),
        }
    }

    /// Returns the ends of blockers that are parts of what they block: these hold back the end alone.
    fn own_blockers(&self, id: IssueId) -> Vec<Moment> {
        let links = self.links_of(id);
        let blockers = links.iter().filter(|link| link.kind == LinkKind::BlockedBy);
        let own = blockers.map(|link| link.to).filter(|blocker| self.is_within(*blocker, id));
        own.map(Moment::End).collect()
    }

    /// Returns true if an issue is a part of another one, directly or not.
    fn is_within(&self, id: IssueId, whole: IssueId) -> bool {
        let parent = |id: &IssueId| {
            self.links_of(*id).iter().find(|link| link.kind == LinkKind::Parent).map(|link| link.to)
        };
        iter::successors(parent(&id), parent).take(Link::MAX_DEPTH).any(|above| above == whole)
    }
}

/// Refuses links with which their issue would wait for itself. All of them count, because two that are added together
/// can close a cycle that neither closes alone.
fn refuse_cycle(proposal: &Proposal<'_>) -> Result<(), DomainError> {
    let start = proposal.id;
    let is_part = proposal.links.iter().any(|link| link.kind == LinkKind::Parent);
    let no_links = |kind| proposal.graph.linked_from(kind, start).is_empty();
    if !is_part && no_links(LinkKind::BlockedBy) && no_links(LinkKind::Parent) {
        // No issue waits for it. This keeps an import of long chains fast.
        return Ok(());
    }
    for start in [Moment::Begin(start), Moment::End(start)] {
        // From which moment each one was reached.
        let mut reached: HashMap<Moment, Moment> = HashMap::new();
        let mut open = vec![start];
        while let Some(moment) = open.pop() {
            for next in proposal.before(moment) {
                if next == start {
                    let mut path = vec![start, moment];
                    while let Some(&from) = reached.get(&path[path.len() - 1]) {
                        path.push(from);
                    }
                    path.reverse();
                    let mut path: Vec<_> = path.into_iter().map(Moment::issue).collect();
                    path.dedup();
                    return Err(DomainError::Cycle { path });
                }
                reached.entry(next).or_insert_with(|| {
                    open.push(next);
                    moment
                });
            }
        }
    }
    Ok(())
}

/// Refuses a parent that is a part of the issue, or under which the issue would be nested too deep. Unlike waiting,
/// this does not depend on the status: a tree that is drawn must have an end.
fn refuse_nesting(id: IssueId, parent: IssueId, graph: &dyn IssueGraph) -> Result<(), DomainError> {
    let mut above = vec![id, parent];
    let mut at = parent;
    while let Some(next) = graph.issue(at).and_then(|issue| issue.attributes.parent()) {
        above.push(next);
        if next == id {
            return Err(DomainError::Cycle { path: above });
        }
        if above.len() > 2 * Link::MAX_DEPTH {
            break;
        }
        at = next;
    }
    let depth = above.len() - 1 + height(id, graph);
    if depth > Link::MAX_DEPTH {
        return Err(DomainError::TooDeep { id, depth, limit: Link::MAX_DEPTH });
    }
    Ok(())
}

/// Returns how many levels of parts an issue has below it.
fn height(id: IssueId, graph: &dyn IssueGraph) -> usize {
    let mut level = vec![id];
    let mut seen = HashSet::from([id]);
    let mut height = 0;
    loop {
        let parts = level.iter().flat_map(|id| graph.linked_from(LinkKind::Parent, *id));
        level = parts.filter(|part| seen.insert(*part)).collect();
        if level.is_empty() || height > Link::MAX_DEPTH {
            return height;
        }
        height += 1;
    }
}
