//! Merges another state of the issues into the store: that of an edited file, or of a replaced log.
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
use crate::domain::{Command, EventKind, HAND_EDIT, Issue, IssueId, merge};
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
    let mut plan = plan_merge(&committer.shared, &view, theirs, edited)?;
    if !plan.commands.is_empty() {
        let (commands, conflicts) = (&plan.commands, &mut plan.conflicts);
        committer.transact(|draft| decide_merge(draft, commands, conflicts))?;
    }
    Ok(plan)
}

/// Decides the commands of an edit on the current state. Merges once more only to report conflicts that arose since
/// the comparison; the rules of the domain make the events.
fn decide_merge(
    draft: &mut Draft,
    commands: &[Command],
    conflicts: &mut Vec<(IssueId, Vec<&'static str>)>,
) {
    let now = now();
    for command in commands {
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
    /// The current version of each differing issue whose copy lacks nothing of the history but comments.
    current: HashMap<IssueId, Arc<Issue>>,
    /// The current version of each other differing issue, and how much of the history its copy shares.
    outdated: HashMap<IssueId, (Arc<Issue>, usize)>,
}

/// Compares a file with the store.
fn compare(ours: &IndexedIssues, theirs: &IndexedIssues) -> Comparison {
    let (mut current, mut outdated) = (HashMap::new(), HashMap::new());
    let (mut differing, mut added, mut next_known) = (Vec::new(), Vec::new(), None);
    for position in (0..theirs.len()).rev() {
        let Some(id) = theirs.id_at(position) else { continue };
        if theirs.is_same_in(ours, id) {
            next_known = Some(id);
            continue;
        }
        let issue = theirs.at(position);
        let Some(known) = ours.get(id) else {
            added.push((issue, next_known));
            continue;
        };
        let common = common_history(&known, &issue);
        if lacks_only_comments(&known, common) {
            current.insert(id, known);
        } else {
            outdated.insert(id, (known, common));
        }
        differing.push(issue);
        next_known = Some(id);
    }
    differing.reverse();
    added.reverse();
    Comparison { differing, added, current, outdated }
}

/// Compares a file with the store and returns the commands that merge it.
fn plan_merge(
    shared: &Shared,
    view: &View,
    theirs: &State,
    edited: &[(IssueId, usize)],
) -> Result<MergePlan, StoreError> {
    let ours = &view.state.issues;
    let Comparison { differing, added, current, outdated } = compare(ours, &theirs.issues);
    let is_outdated = !outdated.is_empty();
    let mut bases = bases(shared, view, outdated, edited)?;
    bases.extend(current);
    let mut plan = MergePlan::default();
    for theirs in differing {
        let Some(ours) = ours.get(theirs.id) else { continue };
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
    let mut keys = view.state.unknown_keys.clone();
    for (key, value) in theirs.unknown_keys.iter() {
        if !is_outdated || keys.get(key).is_none() {
            keys.insert(key.to_owned(), value.to_owned());
        }
    }
    if keys != view.state.unknown_keys {
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
