//! Merges another state of the issues into the store: that of an edited file, or of a replaced log. The versions that
//! git merges go the same [way](super::merge_files).
//!
//! For each issue that differs, this module makes one command, and [`merge`](crate::domain::merge) decides it against
//! the base: the version from which the edit started. The log holds that version: it is the one with the history that
//! both states have in common. Merging is idempotent, so several processes may merge the same state.

use std::collections::HashMap;
use std::sync::Arc;

use super::commit::{Committer, Draft};
use super::read_events::Backwards;
use super::shared::Shared;
use super::support::now;
use super::view::View;
use crate::domain::merge::{common_history, lacks_only_comments};
use crate::domain::{Command, EventKind, HAND_EDIT, Issue, IssueId, Timestamp, merge};
use crate::store::{IndexedIssues, State, StoreError};

/// The commands that merge another state.
#[derive(Default)]
pub(super) struct MergePlan {
    pub commands: Vec<Command>,
    /// The issues with conflicts, and the fields whose edits were not merged.
    pub conflicts: Vec<(IssueId, Vec<&'static str>)>,
}

impl MergePlan {
    /// Returns the issues that the edit changes, with the lengths of their histories in the file.
    pub fn edited(&self) -> impl Iterator<Item = (IssueId, usize)> {
        self.commands.iter().filter_map(|command| match command {
            Command::MergeEdit { theirs, .. } => Some((theirs.id, theirs.history.len())),
            _ => None,
        })
    }
}

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

/// Decides the commands of an edit on the current state. Merges once more only to report conflicts that arose since
/// the comparison; the rules of the domain make the events. `time_of` is the time of a command.
pub(super) fn decide_merge(
    draft: &mut Draft,
    commands: &[Command],
    conflicts: &mut Vec<(IssueId, Vec<&'static str>)>,
    time_of: impl Fn(&Command) -> Timestamp,
) {
    for command in commands {
        let now = time_of(command);
        let merge_edit = match command {
            Command::MergeEdit { theirs, base } => Some((theirs, base.clone())),
            // Another process has added it in the meantime.
            Command::InsertIssue { issue, .. } if draft.state.issues.get(issue.id).is_some() => {
                Some((issue, None))
            }
            _ => None,
        };
        let ran = match merge_edit {
            Some((theirs, base)) => {
                if let Some(ours) = draft.state.issues.get(theirs.id) {
                    let found = merge(base.as_deref(), &ours, theirs).conflicts;
                    let is_told = conflicts.iter().any(|(id, _)| *id == theirs.id);
                    if !found.is_empty() && !is_told {
                        conflicts.push((theirs.id, found));
                    }
                }
                draft.decide(&Command::MergeEdit { theirs: Arc::clone(theirs), base }, now)
            }
            None => draft.decide(command, now),
        };
        if let Err(error) = ran {
            tracing::debug!("a part of an external edit is not merged: {error}");
        }
    }
}

/// How a file differs from the store.
struct Comparison {
    /// The issues that differ, in the order of the file.
    differing: Vec<Arc<Issue>>,
    /// The issues that the store lacks, each with the known issue before which it stands.
    added: Vec<(Arc<Issue>, Option<IssueId>)>,
    /// Our versions of the differing issues.
    versions: Versions,
}

/// Our versions of the issues that differ.
#[derive(Default)]
pub(super) struct Versions {
    /// Those whose copies lack nothing of the history but comments.
    pub current: HashMap<IssueId, Arc<Issue>>,
    /// The others, and how much of the history their copies share.
    pub outdated: HashMap<IssueId, (Arc<Issue>, usize)>,
}

/// Compares a file with the store.
fn compare(ours: &IndexedIssues, theirs: &IndexedIssues) -> Comparison {
    let mut versions = Versions::default();
    let (mut differing, mut added, mut next_known) = (Vec::new(), Vec::new(), None);
    for position in (0..theirs.len()).rev() {
        let Some(id) = theirs.id_at(position) else { continue };
        if theirs.is_same_in(ours, id) {
            next_known = Some(id);
            continue;
        }
        let issue = theirs.at(position);
        let Some(known) = ours.get(id) else {
            let next = next_filed(ours, theirs, &issue, next_known);
            added.push((issue, next));
            continue;
        };
        if lacks_only_comments(&issue, &known) {
            versions.current.insert(id, known);
        } else {
            let common = common_history(&known, &issue);
            versions.outdated.insert(id, (known, common));
        }
        differing.push(issue);
        next_known = Some(id);
    }
    differing.reverse();
    added.reverse();
    Comparison { differing, added, versions }
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
    let Comparison { differing, added, versions } = compare(&ours.issues, &theirs.issues);
    let is_outdated = !versions.outdated.is_empty();
    let bases = bases(versions)?;
    let mut plan = MergePlan::default();
    for theirs in differing {
        let Some(ours) = ours.issues.get(theirs.id) else { continue };
        let base = bases.get(&theirs.id).cloned();
        let merged = merge(base.as_deref(), &ours, &theirs);
        if !merged.conflicts.is_empty() {
            plan.conflicts.push((theirs.id, merged.conflicts));
        }
        if merged.issue != *ours {
            plan.commands.push(Command::MergeEdit { theirs, base });
        }
    }
    let agent = HAND_EDIT.to_owned();
    for (issue, next) in added {
        plan.commands.push(Command::InsertIssue { issue, next, agent: agent.clone() });
    }
    let mut keys = ours.unknown_keys.clone();
    for (key, value) in theirs.unknown_keys.iter() {
        if !is_outdated || keys.get(key).is_none() {
            keys.insert(key.to_owned(), value.to_owned());
        }
    }
    if keys != ours.unknown_keys {
        plan.commands.push(Command::SetUnknownKeys { keys, agent });
    }
    Ok(plan)
}

/// Returns the base of each issue: the version with the history that the copy has in common with the store. An issue
/// has no base if it entered the log with a longer history, or if its events are no longer kept.
fn bases(
    shared: &Shared,
    view: &View,
    mut needed: HashMap<IssueId, (Arc<Issue>, usize)>,
    edited: &[(IssueId, usize)],
) -> Result<HashMap<IssueId, Arc<Issue>>, StoreError> {
    let mut bases = HashMap::new();
    if needed.is_empty() {
        return Ok(bases);
    }
    let mut events = Backwards::new(shared, view);
    while !needed.is_empty()
        && let Some(event) = events.next_event()?
    {
        let id = event.event.issue;
        let Some((issue, common)) = needed.get_mut(&id) else { continue };
        let is_edit = matches!(event.event.kind, EventKind::Edited { .. });
        if is_edit && edited.binary_search(&(id, *common)).is_ok() {
            // The file includes this edit, although it does not show its history entry.
            if let Some((issue, _)) = needed.remove(&id) {
                bases.insert(id, issue);
            }
            continue;
        }
        let is_begin = matches!(
            event.event.kind,
            EventKind::Filed { .. } | EventKind::Imported { .. } | EventKind::Removed { .. }
        );
        if is_begin {
            needed.remove(&id);
            continue;
        }
        event.event.revert(Arc::make_mut(issue));
        if issue.history.len() <= *common
            && let Some((issue, common)) = needed.remove(&id)
            && issue.history.len() == common
        {
            bases.insert(id, issue);
        }
    }
    Ok(bases)
}
