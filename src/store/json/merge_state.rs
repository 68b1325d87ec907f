//! Merges another state of the issues into the log: that of an edited file, or of a replaced log. The versions that git
//! merges go the same [way](super::merge_files).

use std::collections::HashMap;
use std::sync::Arc;

use super::commit::{Committer, Draft};
use super::read_events::Backwards;
use super::shared::Shared;
use super::support::now;
use super::view::View;
use crate::domain::{Command, DomainError, Issue, IssueId, Timestamp};
use crate::store::published::plan::{
    Comparison, MergePlan, MergeTarget, Versions, decide_merge, find_bases,
};
use crate::store::{IndexedIssues, State, StoreError};

/// Merges another state of the issues into the store. `edited` lists the issues whose edits were merged before and
/// are part of that state.
pub(super) fn merge_state(
    committer: &mut Committer,
    theirs: &State,
    edited: &[(IssueId, usize)],
) -> Result<MergePlan, StoreError> {
    let view = committer.shared.fresh()?;
    let mut plan = plan_merge(&view.state, theirs, |Versions { current, outdated }| {
        let mut bases = bases(&committer.shared, &view, outdated, edited)?;
        bases.extend(current);
        Ok::<_, StoreError>(bases)
    })?;
    if !plan.commands.is_empty() {
        let (commands, conflicts) = (&plan.commands, &mut plan.conflicts);
        let now = now();
        committer.transact(|draft| decide_merge(draft, commands, conflicts, |_| now))?;
    }
    Ok(plan)
}

/// Compares a file with the store.
fn compare(ours: &IndexedIssues, theirs: &IndexedIssues) -> Comparison {
    let mut comparison = Comparison::default();
    let (mut differing, mut next_known) = (Vec::new(), None);
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

/// Returns the base of each issue, as far as it is known.
fn bases(
    shared: &Shared,
    view: &View,
    needed: HashMap<IssueId, (Arc<Issue>, usize)>,
    edited: &[(IssueId, usize)],
) -> Result<HashMap<IssueId, Arc<Issue>>, StoreError> {
    if needed.is_empty() {
        return Ok(HashMap::new());
    }
    let mut events = Backwards::new(shared, view);
    find_bases(needed, edited, || Ok(events.next_event()?.map(|event| event.event)))
}

impl MergeTarget for Draft {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.state.issues.get(id)
    }

    fn decide(&mut self, command: &Command, now: Timestamp) -> Result<(), DomainError> {
        Draft::decide(self, command, now).map(drop)
    }
}
