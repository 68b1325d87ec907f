//! External edits of `issues.json`: detects them and turns them into commands.
//!
//! At any moment a user may edit the file or git may replace it. For each issue that differs from the store, this
//! module makes one command, and [`merge`](crate::domain::merge) decides it against the base: the version from which
//! the edit started. The log holds that version: it is the one with the history that the file and the store have in
//! common. Merging is idempotent, so several processes may merge the same edit.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::commit::{CommitResult, Committer, Draft};
use super::fs::{FileSystem, TO_THE_END};
use super::lock_check::refused;
use super::open::{self, IssuesFile, OpenError};
use super::paths::StorePaths;
use super::published_note::{Edited, KnownFile, PublishedNote};
use super::quarantine;
use super::read_events::Backwards;
use super::shared::Shared;
use super::support::{lock, now};
use super::view::View;
use crate::domain::merge::{common_history, lacks_only_comments};
use crate::domain::{Command, EventKind, HAND_EDIT, Issue, IssueId, merge};
use crate::store::{IndexedIssues, State, StoreError};

/// How often an invalid file is read again. Editors write in place, and git removes a file first.
const MAX_LOOKS: usize = 5;
/// The most edited issues that the note lists.
const MAX_NOTED: usize = 10_000;
/// The most conflicting issues that a warning names.
const MAX_NAMED: usize = 5;

/// An external edit as commands.
#[derive(Default)]
pub(super) struct MergePlan {
    commands: Vec<Command>,
    /// The issues with conflicts, and the fields whose edits were not merged.
    conflicts: Vec<(IssueId, Vec<&'static str>)>,
}

impl MergePlan {
    /// Returns the issues that the edit changes, with the lengths of their histories in the file.
    fn edited(&self) -> impl Iterator<Item = (IssueId, usize)> {
        self.commands.iter().filter_map(|command| match command {
            Command::MergeEdit { theirs, .. } => Some((theirs.id, theirs.history.len())),
            _ => None,
        })
    }
}

/// Returns true if there may be something to merge: an external edit that this process has not seen, or the state of
/// a replaced log.
pub(super) fn needs_merge(shared: &Shared, view: &View) -> bool {
    !shared.follower().replaced_logs.is_empty() || may_be_edited(shared, view)
}

/// Returns true if `issues.json` may have an external edit that this process has not seen.
fn may_be_edited(shared: &Shared, view: &View) -> bool {
    if view.log_end().is_none() {
        return false;
    }
    let found = shared.fs.fingerprint(&view.paths.issues).ok().flatten();
    let mut known = lock(&shared.known);
    if known.looked_at == Some(found) {
        return false;
    }
    // A missing file is no edit. The next change writes it again.
    let is_published = found.is_none_or(|found| {
        PublishedNote::read_up_to(&*shared.fs, &view.paths, view.state.position)
            .is_some_and(|published| published.knows(&found))
    });
    if is_published {
        *known = KnownFile { looked_at: Some(found), problem: None };
    }
    !is_published
}

/// Makes changes like [`Committer::transact`], after merging the states of replaced logs. If the log is replaced
/// meanwhile, merges the changes into the new one.
///
/// # Errors
///
/// Those of [`Committer::transact`]; also [`StoreError::Uncertain`] if another change to the new log came first.
pub(super) fn transact<T>(
    committer: &mut Committer,
    decide: impl FnOnce(&mut Draft) -> T,
) -> Result<T, StoreError> {
    let shared = Arc::clone(&committer.shared);
    let mut decide = Some(decide);
    loop {
        merge_replaced_logs(committer)?;
        let transacted = committer.transact(|draft| decide.take().map(|decide| decide(draft)));
        let (result, committed) = match transacted {
            // The log was replaced in the meantime and has to be merged first.
            Err(_) if decide.is_some() && !shared.follower().replaced_logs.is_empty() => continue,
            transacted => transacted?,
        };
        if let CommitResult::LogReplaced(issues) = committed {
            let path = shared.path.display();
            let uncertain = |why: &dyn std::fmt::Display| {
                StoreError::Uncertain(format!("the log of {path} was replaced meanwhile: {why}"))
            };
            merge_replaced_logs(committer).map_err(|error| uncertain(&error))?;
            let newest = shared.fresh().map_err(|error| uncertain(&error))?;
            let is_there = |issue: &Arc<Issue>| {
                newest.state.issues.get(issue.id).is_some_and(|found| {
                    common_history(&found, issue) == issue.history.len()
                        && issue.comments.iter().all(|comment| found.comments.contains(comment))
                })
            };
            if !issues.iter().all(is_there) {
                return Err(uncertain(&"another change came first"));
            }
        }
        return result.ok_or_else(|| StoreError::Uncertain("no command was decided".to_owned()));
    }
}

/// Merges the external edit of `issues.json`, if any, and the states of replaced logs.
///
/// # Errors
///
/// The reason why changes cannot be made. An invalid file is no error: the store continues without it.
pub(super) fn adopt_external_edit(committer: &mut Committer) -> Result<(), StoreError> {
    let shared = Arc::clone(&committer.shared);
    let mut view = shared.fresh()?;
    if !shared.follower().replaced_logs.is_empty() {
        merge_replaced_logs(committer)?;
        view = shared.fresh()?;
    }
    if !may_be_edited(&shared, &view) {
        return Ok(());
    }
    let path = &view.paths.issues;
    let found = shared.fs.fingerprint(path).ok().flatten();
    let set_known = |problem: Option<String>| {
        *lock(&shared.known) = KnownFile { looked_at: Some(found), problem };
    };
    // Read before the file, because a newer note may list edits that an older file does not include.
    let note = PublishedNote::read_up_to(&*shared.fs, &view.paths, view.state.position);
    let file = match read_file(&shared, &view) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(()),
        Err(error) => {
            let problem = format!("{error}; meanwhile agents continue with the issues in the log");
            if lock(&shared.known).problem.as_ref() != Some(&problem) {
                tracing::warn!("{problem}");
            }
            // The file may become readable later.
            let looked_at = matches!(error, OpenError::Format { .. }).then_some(found);
            *lock(&shared.known) = KnownFile { looked_at, problem: Some(problem) };
            return Ok(());
        }
    };
    let mut edited = Vec::new();
    if note.as_ref().is_none_or(|note| note.hash() != file.hash) {
        if is_foreign(&view.state, &file.state) {
            let problem = format!(
                "{} has no issue in common with the store, so it was not merged as an edit: put the previous file \
                 back, and import this one as another file",
                path.display()
            );
            tracing::warn!("{problem}");
            set_known(Some(problem));
            return Ok(());
        }
        let before = note.as_ref().map_or(&[][..], |note| &note.edited);
        let adopted = merge_state(committer, &file.state, before)?;
        if !adopted.conflicts.is_empty() {
            keep(&shared, &view.paths, path, &adopted.conflicts)?;
        }
        edited.extend(adopted.edited());
    }
    *lock(&shared.known) = KnownFile { looked_at: Some(Some(file.fingerprint)), problem: None };
    // The note keeps its position, because the file does not show the events since then.
    let shown = note.as_ref().map_or(view.durable, PublishedNote::position);
    let adopted = PublishedNote::new(shown, file.fingerprint, file.hash);
    if let Err(error) = write_note(&*shared.fs, &view.paths, note, adopted, edited) {
        tracing::debug!("{}: {error}", view.paths.published().display());
    }
    Ok(())
}

/// Records that a file was merged, and which issues it edited. `before` is the note when the file was read.
fn write_note(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    before: Option<PublishedNote>,
    adopted: PublishedNote,
    mut edited: Edited,
) -> io::Result<()> {
    let _lock = PublishedNote::lock(fs, paths)?;
    let current = PublishedNote::read(fs, paths);
    let is_there = fs.fingerprint(&paths.issues)? == Some(adopted.fingerprint);
    let note = match current.clone().filter(|_| current == before) {
        _ if is_there => adopted,
        // The file was saved again since it was read. The newer file includes the merged edit.
        Some(note) => note,
        // Another process has replaced the file and its note.
        None => return Ok(()),
    };
    edited.extend(current.map(|note| note.edited).unwrap_or_default());
    edited.sort_unstable();
    edited.dedup();
    edited.truncate(MAX_NOTED);
    PublishedNote { edited, ..note }.write(fs, paths)
}

/// Reads the file. Retries while it is invalid, because another program may be writing it.
fn read_file(shared: &Shared, view: &View) -> Result<Option<IssuesFile>, OpenError> {
    for look in 0.. {
        match open::read_issues(&*shared.fs, &view.paths.issues) {
            Err(OpenError::Format { .. }) if look < MAX_LOOKS => {
                thread::sleep(shared.options.second_look_after);
            }
            read => return read,
        }
    }
    Ok(None)
}

/// Keeps a copy of a file whose edits conflict, in quarantine.
fn keep(
    shared: &Shared,
    paths: &StorePaths,
    path: &Path,
    conflicts: &[(IssueId, Vec<&'static str>)],
) -> Result<(), StoreError> {
    let fs = &*shared.fs;
    let kept = (|| {
        let Some(open) = fs.open(path)? else { return Ok(None) };
        quarantine::copy_to(fs, paths, &fs.read_at(&open.file, 0, TO_THE_END)?, "edited").map(Some)
    })();
    let kept = kept.map_err(|source| refused(&paths.kept, &source))?;
    let named = conflicts
        .iter()
        .take(MAX_NAMED)
        .map(|(id, fields)| format!("{} ({})", id.short(), fields.join(", ")));
    let named: Vec<_> = named.collect();
    let more = if conflicts.len() > MAX_NAMED { ", …" } else { "" };
    tracing::warn!(
        "an edit of {} conflicts with changes that agents made meanwhile; the agents' changes stay: {}{more}. The \
         edited file is kept as {}",
        paths.issues.display(),
        named.join(", "),
        kept.map(|path| path.display().to_string()).unwrap_or_default(),
    );
    Ok(())
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
            Command::PlaceIssue { issue, .. } if draft.state.issues.get(issue.id).is_some() => {
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
                draft.run(&Command::MergeEdit { theirs: Arc::clone(theirs), base }, now)
            }
            None => draft.run(command, now),
        };
        if let Err(error) = ran {
            tracing::debug!("a part of an external edit is not merged: {error}");
        }
    }
}

/// Returns true if there are temporary files of live or dead processes.
pub(super) fn has_leftovers(fs: &dyn FileSystem, paths: &StorePaths) -> bool {
    let names = fs.list(&paths.directory).unwrap_or_default();
    names.iter().any(|name| StorePaths::is_exchange_file(name) || StorePaths::is_unfinished(name))
}

/// Merges the temporary files of dead processes. A file may be an edit that was exchanged for a rendering and never
/// examined. The caller holds the publish lock.
///
/// # Errors
///
/// The reason why changes cannot be made, or files cannot be read or removed.
pub(super) fn merge_leftovers(committer: &mut Committer) -> Result<(), StoreError> {
    let shared = Arc::clone(&committer.shared);
    let (fs, paths) = (&*shared.fs, shared.paths()?);
    for name in fs.list(&paths.directory).unwrap_or_default() {
        let path = paths.directory.join(&name);
        if StorePaths::is_unfinished(&name) {
            // A live process may be writing its note.
            let _lock =
                PublishedNote::lock(fs, &paths).map_err(|source| refused(&path, &source))?;
            let _ = fs.remove(&path);
        }
        if !StorePaths::is_exchange_file(&name) {
            continue;
        }
        match open::read_issues(fs, &path) {
            Ok(Some(file)) => {
                // An empty `edited` list: otherwise a rendering would look like an edit that undoes the edits merged
                // since.
                let edit = merge_state(committer, &file.state, &[])?;
                if !edit.conflicts.is_empty() {
                    keep(&shared, &paths, &path, &edit.conflicts)?;
                }
            }
            Ok(None) => continue,
            // An editor was still writing the file when a rendering replaced it.
            Err(OpenError::Format { .. }) => {
                let kept = quarantine::move_to(fs, &paths, &path, "invalid");
                kept.map_err(|source| refused(&paths.kept, &source))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        fs.remove(&path).map_err(|source| refused(&path, &source))?;
    }
    Ok(())
}

/// Merges the states of replaced logs into the current one.
fn merge_replaced_logs(committer: &mut Committer) -> Result<(), StoreError> {
    /// How often the log may be replaced during the merge.
    const MAX_ROUNDS: usize = 100;
    for _ in 0..MAX_ROUNDS {
        let Some(replaced_logs) = committer.shared.follower().replaced_logs.front().cloned() else {
            return Ok(());
        };
        committer.merges = true;
        let merged = merge_state(committer, &replaced_logs.state, &[]);
        let merged = merged.and_then(|merged| {
            restore_leases(committer, &replaced_logs.state)?;
            Ok(merged)
        });
        committer.merges = false;
        let merged = merged?;
        let mut follower = committer.shared.follower();
        if follower
            .replaced_logs
            .front()
            .is_some_and(|front| front.state.position == replaced_logs.state.position)
        {
            follower.replaced_logs.pop_front();
        }
        drop(follower);
        if !merged.commands.is_empty() {
            tracing::warn!(
                "the log of {} was removed or replaced while this process ran; its issues were merged into the new log",
                committer.shared.path.display()
            );
        }
    }
    Err(StoreError::Busy(format!(
        "other processes keep replacing {}",
        committer.shared.path.display()
    )))
}

/// Gives claims their leases back, which `issues.json` does not have. `known` is a state with them.
fn restore_leases(committer: &mut Committer, known: &State) -> Result<(), StoreError> {
    if committer.shared.fresh()?.state.issues.lost_leases(&known.issues).next().is_none() {
        return Ok(());
    }
    let restored = committer.transact(|draft| {
        let lost: Vec<_> = draft.state.issues.lost_leases(&known.issues).collect();
        for command in lost {
            if let Err(error) = draft.run(&command, now()) {
                tracing::debug!("a lease is not restored: {error}");
            }
        }
    });
    restored.map(drop)
}

/// Returns true if a file is no edit of this store: it has issues, and shares none with the store.
pub(super) fn is_foreign(ours: &State, theirs: &State) -> bool {
    let mut issues = theirs.issues.issues();
    !ours.issues.is_empty()
        && !theirs.issues.is_empty()
        && issues.all(|issue| ours.issues.get(issue.id).is_none())
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
    for (issue, ahead_of) in added {
        plan.commands.push(Command::PlaceIssue { issue, ahead_of, agent: agent.clone() });
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
