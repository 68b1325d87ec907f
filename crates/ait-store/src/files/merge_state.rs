//! Compares two versions of `issues.json` for git, and decides the commands that merge them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::published::plan::{Comparison, MergePlan, MergeTarget, Versions};
use crate::{EventPosition, IndexedIssues, State};
use ait_domain::{Command, DomainError, Issue, IssueId, Timestamp};

/// Compares a file with the store.
fn compare(ours: &IndexedIssues, theirs: &IndexedIssues) -> Comparison {
    let mut comparison = Comparison::default();
    let mut differing = Vec::new();
    let mut next_known = None;
    for position in (0..theirs.len()).rev() {
        let Some(id) = theirs.id_at(position) else { continue };
        if theirs.is_same_in(ours, id) {
            next_known = Some(id);
            continue;
        }
        let issue = theirs.at(position);
        let Some(known) = ours.get(id) else {
            let next = next_filed(ours, theirs, &issue, next_known);
            comparison.added.push((issue, next));
            continue;
        };
        differing.push((issue, known));
        next_known = Some(id);
    }
    for (theirs, ours) in differing.into_iter().rev() {
        comparison.add_differing(theirs, ours);
    }
    comparison.added.reverse();
    comparison
}

/// Returns the issue before which an added one is put: at the latest the known one that follows it in its file. Those
/// before that which only we have were filed beside it, so that the earlier one comes first.
fn next_filed(
    ours: &IndexedIssues,
    theirs: &IndexedIssues,
    issue: &Issue,
    next_known: Option<IssueId>,
) -> Option<IssueId> {
    let mut next = next_known;
    let mut place = next_known.and_then(|next| ours.position_of(next)).unwrap_or(ours.len());
    while place > 0 {
        let before = ours.at(place - 1);
        let is_later = (before.created_at, before.id) > (issue.created_at, issue.id);
        if !is_later || theirs.position_of(before.id).is_some() {
            break;
        }
        next = Some(before.id);
        place -= 1;
    }
    next
}

/// Compares a file with the store and returns the commands that merge it. `bases` finds the versions from which the
/// differing copies were made, as far as they are known.
pub(super) fn plan_merge<E>(
    ours: &State,
    theirs: &State,
    bases: impl FnOnce(Versions) -> Result<HashMap<IssueId, Arc<Issue>>, E>,
) -> Result<MergePlan, E> {
    compare(&ours.issues, &theirs.issues).plan(&ours.unknown_keys, &theirs.unknown_keys, bases)
}

impl MergeTarget for State {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.issues.get(id)
    }

    fn decide(&mut self, command: &Command, now: Timestamp) -> Result<(), DomainError> {
        if let Some(event) = State::decide(self, command, now)? {
            self.apply(&event, EventPosition::default())?;
        }
        Ok(())
    }
}
