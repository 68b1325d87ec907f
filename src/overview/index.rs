//! What is known of all issues, and how it follows the store.

use super::digest::Digest;
use super::life::{Step, steps_of};
use super::names::Names;
use super::orders::Orders;
use super::signatures::Signatures;
use super::survey::Survey;
use crate::tracker::{IssueStore, Version};

/// What is known of all issues, by position: the order in which they were filed.
#[derive(Debug, Default)]
pub struct Index {
    revision: Version,
    versions: Vec<Version>,
    pub(super) digests: Vec<Digest>,
    pub(super) steps: Vec<Box<[Step]>>,
    pub(super) names: Names,
    pub(super) orders: Orders,
    pub(super) signatures: Signatures,
}

impl Index {
    /// Follows the store to another state, and gives the view of it.
    ///
    /// Reads the issues that are new or have changed since the last one, and takes some nanoseconds for
    /// each of the rest; nothing when it is the same state. Nothing of a state is kept but its digests.
    pub fn follow(&mut self, issues: IssueStore) -> Survey<'_> {
        if issues.revision() != self.revision {
            self.read(&issues);
        }
        Survey::new(self, issues)
    }

    fn read(&mut self, issues: &IssueStore) {
        if issues.len() < self.digests.len() {
            // After a restore, or an edit by hand: positions mean other issues now.
            *self = Self::default();
        }
        let mut changed = Vec::new();
        for (position, version) in issues.versions().enumerate() {
            match self.versions.get_mut(position) {
                Some(known) if *known == version => {}
                Some(known) => {
                    *known = version;
                    changed.push(position);
                }
                None => {
                    self.versions.push(version);
                    changed.push(position);
                }
            }
        }
        if changed.len() == issues.len() && !self.digests.is_empty() {
            // Another store, as it were: names that were in it need not be in this one.
            *self = Self::default();
            return self.read(issues);
        }
        for &position in &changed {
            let issue = issues.at(position);
            let digest = Digest::of(&issue, &mut self.names);
            let steps = steps_of(&issue).into_boxed_slice();
            self.signatures.note(position, &issue);
            if position < self.digests.len() {
                self.digests[position] = digest;
                self.steps[position] = steps;
            } else {
                self.digests.push(digest);
                self.steps.push(steps);
            }
        }
        self.orders.follow(&changed, &self.digests, &self.names);
        self.revision = issues.revision();
    }
}
