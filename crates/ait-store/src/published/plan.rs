//! The commands that merge another state of the issues into a store: that of an edited file, or of a replaced store.
//!
//! For each issue that differs there is one command, and [`merge`](ait_domain::merge) decides it against the base:
//! the version from which the edit started. The events have that version: it is the one with the history that both
//! states have in common. Merging is idempotent, so several processes may merge the same state.

use std::collections::HashMap;
use std::sync::Arc;

use crate::files::skim::OtherIssues;
use ait_domain::merge::{common_history, lacks_only_comments};
use ait_domain::{
    Command, DomainError, Event, EventKind, HAND_EDIT, Issue, IssueId, Timestamp, UnknownKeys,
    merge,
};

/// The issues into which a state is merged.
pub(crate) trait MergeTarget {
    /// Returns an issue as it is now.
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>>;

    /// Decides a command and applies its event.
    fn decide(&mut self, command: &Command, now: Timestamp) -> Result<(), DomainError>;
}

/// The commands that merge another state.
#[derive(Default)]
pub(crate) struct MergePlan {
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

/// Decides the commands of an edit on the current state. Merges once more only to report conflicts that arose since
/// the comparison; the rules of the domain make the events. `time_of` is the time of a command.
pub(crate) fn decide_merge(
    target: &mut impl MergeTarget,
    commands: &[Command],
    conflicts: &mut Vec<(IssueId, Vec<&'static str>)>,
    time_of: impl Fn(&Command) -> Timestamp,
) {
    for command in commands {
        let now = time_of(command);
        let merge_edit = match command {
            Command::MergeEdit { theirs, base } => Some((theirs, base.clone())),
            // Another process has added it in the meantime.
            Command::InsertIssue { issue, .. } if target.issue(issue.id).is_some() => {
                Some((issue, None))
            }
            _ => None,
        };
        let ran = match merge_edit {
            Some((theirs, base)) => {
                if let Some(ours) = target.issue(theirs.id) {
                    let found = merge(base.as_deref(), &ours, theirs).conflicts;
                    let is_told = conflicts.iter().any(|(id, _)| *id == theirs.id);
                    if !found.is_empty() && !is_told {
                        conflicts.push((theirs.id, found));
                    }
                }
                target.decide(&Command::MergeEdit { theirs: Arc::clone(theirs), base }, now)
            }
            None => target.decide(command, now),
        };
        if let Err(error) = ran {
            tracing::debug!("a part of an external edit is not merged: {error}");
        }
    }
}

/// When an issue was filed, in milliseconds since 1970, and its id: of two at one time, the lower id comes first.
pub(crate) type Filed = (i64, IssueId);

/// The issues with which a file is compared.
pub(crate) trait Compared {
    /// Why they cannot be read.
    type Failure;

    /// Returns our version of an issue. If it is the same, this may be the other one.
    fn version(&self, theirs: &Arc<Issue>) -> Result<Option<Arc<Issue>>, Self::Failure>;

    /// Returns the place of an issue in the order of filing.
    fn place(&self, id: IssueId) -> Result<i64, Self::Failure>;

    /// Returns the place of the last issue before a place, and when it was filed.
    fn before(&self, place: i64) -> Result<Option<(i64, Filed)>, Self::Failure>;
}

/// Compares a file with the store.
pub(crate) fn compare<C: Compared>(
    ours: &C,
    theirs: &OtherIssues,
) -> Result<Comparison, C::Failure> {
    let mut comparison = Comparison::default();
    // The added issues before the next known one.
    let mut waiting: Vec<&Arc<Issue>> = Vec::new();
    for (id, issue) in &theirs.issues {
        // A text that the store has needs no look.
        if let Some(issue) = issue {
            match ours.version(issue)? {
                Some(known) if Arc::ptr_eq(&known, issue) || known == *issue => {}
                Some(known) => comparison.add_differing(Arc::clone(issue), known),
                None => {
                    waiting.push(issue);
                    continue;
                }
            }
        }
        for added in waiting.drain(..) {
            let next = next_filed(ours, theirs, added, Some(*id))?;
            comparison.added.push((Arc::clone(added), next));
        }
    }
    for added in waiting {
        let next = next_filed(ours, theirs, added, None)?;
        comparison.added.push((Arc::clone(added), next));
    }
    Ok(comparison)
}

/// Returns the issue before which an added one is put: at the latest the known one that follows it in its file. Those
/// before that which only the store has were filed beside it, so that the earlier one comes first.
fn next_filed<C: Compared>(
    ours: &C,
    theirs: &OtherIssues,
    issue: &Issue,
    next_known: Option<IssueId>,
) -> Result<Option<IssueId>, C::Failure> {
    let mut next = next_known;
    let mut place = next_known.map_or(Ok(i64::MAX), |id| ours.place(id))?;
    while let Some((before, filed)) = ours.before(place)? {
        let is_later = filed > (issue.created_at.unix_millis(), issue.id);
        if !is_later || theirs.issues.contains_key(&filed.1) {
            break;
        }
        (next, place) = (Some(filed.1), before);
    }
    Ok(next)
}

/// How a file differs from the store.
#[derive(Default)]
pub(crate) struct Comparison {
    /// The issues that differ, in the order of the file, each with our version.
    pub differing: Vec<(Arc<Issue>, Arc<Issue>)>,
    /// The issues that the store lacks, each with the known issue before which it stands.
    pub added: Vec<(Arc<Issue>, Option<IssueId>)>,
    /// Our versions of the differing issues.
    pub versions: Versions,
}

/// Our versions of the issues that differ.
#[derive(Default)]
pub(crate) struct Versions {
    /// Those whose copies lack nothing of the history but comments.
    pub current: HashMap<IssueId, Arc<Issue>>,
    /// The others, and how much of the history their copies share.
    pub outdated: HashMap<IssueId, (Arc<Issue>, usize)>,
}

impl Comparison {
    /// Adds an issue that differs from our version of it.
    pub fn add_differing(&mut self, theirs: Arc<Issue>, ours: Arc<Issue>) {
        if lacks_only_comments(&theirs, &ours) {
            self.versions.current.insert(theirs.id, Arc::clone(&ours));
        } else {
            let common = common_history(&ours, &theirs);
            self.versions.outdated.insert(theirs.id, (Arc::clone(&ours), common));
        }
        self.differing.push((theirs, ours));
    }

    /// Returns the commands that merge a file. `bases` finds the versions from which the differing copies were made, as
    /// far as they are known.
    pub fn plan<E>(
        self,
        our_keys: &UnknownKeys,
        their_keys: &UnknownKeys,
        bases: impl FnOnce(Versions) -> Result<HashMap<IssueId, Arc<Issue>>, E>,
    ) -> Result<MergePlan, E> {
        let is_outdated = !self.versions.outdated.is_empty();
        let bases = bases(self.versions)?;
        let mut plan = MergePlan::default();
        for (theirs, ours) in self.differing {
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
        for (issue, next) in self.added {
            plan.commands.push(Command::InsertIssue { issue, next, agent: agent.clone() });
        }
        let mut keys = our_keys.clone();
        for (key, value) in their_keys.iter() {
            if !is_outdated || keys.get(key).is_none() {
                keys.insert(key.to_owned(), value.to_owned());
            }
        }
        if keys != *our_keys {
            plan.commands.push(Command::SetUnknownKeys { keys, agent });
        }
        Ok(plan)
    }
}

/// Returns the base of each issue: the version with the history that the copy has in common with the store. An issue
/// has no base if it entered the log with a longer history, or if its events are no longer kept. `next_event` returns
/// the events of these issues, newest first; `edited` lists the issues whose edits are part of the file.
pub(crate) fn find_bases<E>(
    mut needed: HashMap<IssueId, (Arc<Issue>, usize)>,
    edited: &[(IssueId, usize)],
    mut next_event: impl FnMut() -> Result<Option<Arc<Event>>, E>,
) -> Result<HashMap<IssueId, Arc<Issue>>, E> {
    let mut bases = HashMap::new();
    while !needed.is_empty()
        && let Some(event) = next_event()?
    {
        let id = event.issue;
        let Some((issue, common)) = needed.get_mut(&id) else { continue };
        let is_edit = matches!(event.kind, EventKind::Edited { .. });
        if is_edit && edited.binary_search(&(id, *common)).is_ok() {
            // The file includes this edit, although it does not show its history entry.
            if let Some((issue, _)) = needed.remove(&id) {
                bases.insert(id, issue);
            }
            continue;
        }
        let is_begin = matches!(
            event.kind,
            EventKind::Filed { .. } | EventKind::Imported { .. } | EventKind::Removed { .. }
        );
        if is_begin {
            needed.remove(&id);
            continue;
        }
        event.revert(Arc::make_mut(issue));
        if issue.history.len() <= *common
            && let Some((issue, common)) = needed.remove(&id)
            && issue.history.len() == common
        {
            bases.insert(id, issue);
        }
    }
    Ok(bases)
}
