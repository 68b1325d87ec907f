//! The links of issues by their targets.

use imbl::OrdSet;

use ait_domain::{Attributes, IssueId, LinkKind};

/// Links: target, kind, source. A clone costs the same at any size.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Links(OrdSet<(IssueId, LinkKind, IssueId)>);

impl Links {
    /// Returns true if there is no link.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all links of a kind, each with its target and its source, ascending.
    pub fn of_kind(&self, kind: LinkKind) -> impl Iterator<Item = (IssueId, IssueId)> {
        self.0.iter().filter(move |link| link.1 == kind).map(|link| (link.0, link.2))
    }

    /// Adds the links of an issue.
    pub fn add(&mut self, id: IssueId, attributes: &Attributes) {
        for link in &attributes.links {
            self.0.insert((link.to, link.kind, id));
        }
    }

    /// Removes the links of an issue.
    pub fn remove(&mut self, id: IssueId, attributes: &Attributes) {
        for link in &attributes.links {
            self.0.remove(&(link.to, link.kind, id));
        }
    }

    /// Returns the issues that have a link of a kind to an issue, ascending.
    pub fn linked_from(&self, kind: LinkKind, to: IssueId) -> impl Iterator<Item = IssueId> {
        // Most stores have no links.
        let first = (to, kind, IssueId::NIL);
        let links = (!self.0.is_empty()).then(|| self.0.range(first..));
        let links = links.into_iter().flatten();
        links.take_while(move |link| (link.0, link.1) == (to, kind)).map(|link| link.2)
    }
}
