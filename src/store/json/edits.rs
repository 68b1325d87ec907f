//! Edits of `issues.json`: noticing them, and turning them into commands.
//!
//! Somebody may edit the file by hand, and git may put another one in its place, at any moment. What differs from
//! the store comes back as one command for each issue, which [`merge`](crate::domain::merge) decides against the
//! version with which the edit began. The log knows that version: it is the one at the history that the file and
//! the store have in common. Merging is idempotent, so several processes may take over the same edit.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use super::commit::{Committer, Draft, Kept};
use super::fs::{FileSystem, TO_THE_END};
use super::ground::refused;
use super::kept;
use super::place::Place;
use super::published::{Edited, KnownFile, Published};
use super::read_events::Backwards;
use super::recovery::{self, IssuesFile, OpenError};
use super::support::{lock, now};
use super::view::{Shared, View};
use crate::domain::merge::common_history;
use crate::domain::{Command, EventKind, HAND_EDIT, Issue, IssueId, merge};
use crate::store::{State, StoreError};

/// How often an invalid file is looked at again: editors write in place, and git removes a file first.
const MAX_LOOKS: usize = 5;
/// How many issues are noted that were edited since the file was written.
const MAX_NOTED: usize = 10_000;
/// How many issues of a conflict a warning names.
const MAX_NAMED: usize = 5;

/// An edit as commands.
#[derive(Default)]
pub(super) struct Edit {
    commands: Vec<Command>,
    /// The issues of which something was not taken over, with the fields.
    conflicts: Vec<(IssueId, Vec<&'static str>)>,
}

impl Edit {
    /// The issues that it changes, with the length of the history that it shows of each.
    fn edited(&self) -> impl Iterator<Item = (IssueId, usize)> {
        self.commands.iter().filter_map(|command| match command {
            Command::MergeEdit { theirs, .. } => Some((theirs.id, theirs.history.len())),
            _ => None,
        })
    }
}

/// Whether there is something to take over: somebody may have edited the file since this process looked at it, or
/// have removed the log.
pub(super) fn is_pending(shared: &Shared, view: &View) -> bool {
    !shared.follower().orphaned.is_empty() || is_file_pending(shared, view)
}

fn is_file_pending(shared: &Shared, view: &View) -> bool {
    if view.head().is_none() {
        return false;
    }
    let found = shared.fs.fingerprint(&view.place.issues).ok().flatten();
    let mut known = lock(&shared.known);
    if known.looked_at == Some(found) {
        return false;
    }
    // Nothing is edited that is not there; it is written again with the next change.
    let is_published = found.is_none_or(|found| {
        Published::read_up_to(&*shared.fs, &view.place, view.state.position)
            .is_some_and(|published| published.knows(&found))
    });
    if is_published {
        *known = KnownFile { looked_at: Some(found), problem: None };
    }
    !is_published
}

/// Makes changes as [`Committer::transact`] does, behind what this process knew of a log that is gone. If the log is
/// replaced meanwhile, the changes are merged into the one that took its place.
///
/// # Errors
///
/// Those of [`Committer::transact`]; [`StoreError::Uncertain`] also where another change came first there.
pub(super) fn transact<T>(
    committer: &mut Committer,
    decide: impl FnOnce(&mut Draft) -> T,
) -> Result<T, StoreError> {
    let shared = Arc::clone(&committer.shared);
    let mut decide = Some(decide);
    loop {
        merge_orphaned(committer)?;
        let transacted = committer.transact(|draft| decide.take().map(|decide| decide(draft)));
        let (result, kept) = match transacted {
            // The log was replaced since; it is merged first.
            Err(_) if decide.is_some() && !shared.follower().orphaned.is_empty() => continue,
            transacted => transacted?,
        };
        if let Kept::Lost(issues) = kept {
            let path = shared.path.display();
            let uncertain = |why: &dyn std::fmt::Display| {
                StoreError::Uncertain(format!("the log of {path} was replaced meanwhile: {why}"))
            };
            merge_orphaned(committer).map_err(|error| uncertain(&error))?;
            let now = shared.fresh().map_err(|error| uncertain(&error))?;
            let is_there = |issue: &Arc<Issue>| {
                now.state.issues.get(issue.id).is_some_and(|now| {
                    common_history(&now, issue) == issue.history.len()
                        && issue.comments.iter().all(|comment| now.comments.contains(comment))
                })
            };
            if !issues.iter().all(is_there) {
                return Err(uncertain(&"another change came first"));
            }
        }
        return result.ok_or_else(|| StoreError::Uncertain("nothing was decided".to_owned()));
    }
}

/// Takes over what somebody made of the file, and what this process knew of a log that is gone.
///
/// # Errors
///
/// What keeps changes from being made. A file that is not valid is none: the store goes on without it.
pub(super) fn adopt(committer: &mut Committer) -> Result<(), StoreError> {
    let shared = Arc::clone(&committer.shared);
    let mut view = shared.fresh()?;
    if !shared.follower().orphaned.is_empty() {
        merge_orphaned(committer)?;
        view = shared.fresh()?;
    }
    if !is_file_pending(&shared, &view) {
        return Ok(());
    }
    let path = &view.place.issues;
    let found = shared.fs.fingerprint(path).ok().flatten();
    let set_known = |problem: Option<String>| {
        *lock(&shared.known) = KnownFile { looked_at: Some(found), problem };
    };
    // Before the file: a newer note tells of edits that an older file does not go on from.
    let note = Published::read_up_to(&*shared.fs, &view.place, view.state.position);
    let file = match read_file(&shared, &view) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(()),
        Err(error) => {
            let problem = format!("{error}; agents go on with the issues of the log meanwhile");
            if lock(&shared.known).problem.as_ref() != Some(&problem) {
                tracing::warn!("{problem}");
            }
            // What the system does not let this process read now, it may read later.
            let looked_at = matches!(error, OpenError::Format { .. }).then_some(found);
            *lock(&shared.known) = KnownFile { looked_at, problem: Some(problem) };
            return Ok(());
        }
    };
    let mut edited = Vec::new();
    if note.as_ref().is_none_or(|note| note.hash() != file.hash) {
        if is_foreign(&view.state, &file.state) {
            let problem = format!(
                "{} has none of the issues of the store, so it is not taken for an edit: import it as another file, \
                 and put the former one back",
                path.display()
            );
            tracing::warn!("{problem}");
            set_known(Some(problem));
            return Ok(());
        }
        let before = note.as_ref().map_or(&[][..], |note| &note.edited);
        let adopted = take_over(committer, &file.state, before)?;
        if !adopted.conflicts.is_empty() {
            keep(&shared, &view.place, path, &adopted.conflicts)?;
        }
        edited.extend(adopted.edited());
    }
    *lock(&shared.known) = KnownFile { looked_at: Some(Some(file.fingerprint)), problem: None };
    // It tells what was published last, and nothing that came later.
    let told = note.as_ref().map_or(view.durable, Published::position);
    let note = Published::new(told, file.fingerprint, file.hash);
    if let Err(error) = write_note(&*shared.fs, &view.place, note, edited) {
        tracing::debug!("{}: {error}", view.place.published().display());
    }
    Ok(())
}

/// Notes that a file was taken over, and the issues that it edited.
fn write_note(
    fs: &dyn FileSystem,
    place: &Place,
    note: Published,
    mut edited: Edited,
) -> io::Result<()> {
    let _lock = Published::lock(fs, place)?;
    // Another process may have replaced the file and its note since it was read.
    if fs.fingerprint(&place.issues)? != Some(note.fingerprint) {
        return Ok(());
    }
    edited.extend(Published::edits(fs, place));
    edited.sort_unstable();
    edited.dedup();
    edited.truncate(MAX_NOTED);
    Published { edited, ..note }.write(fs, place)
}

/// Reads the file, again and again while it is not valid because somebody is just writing it.
fn read_file(shared: &Shared, view: &View) -> Result<Option<IssuesFile>, OpenError> {
    for look in 0.. {
        match recovery::read_issues(&*shared.fs, &view.place.issues) {
            Err(OpenError::Format { .. }) if look < MAX_LOOKS => {
                thread::sleep(shared.options.second_look_after);
            }
            read => return read,
        }
    }
    Ok(None)
}

/// Keeps a file of which not everything was taken over.
fn keep(
    shared: &Shared,
    place: &Place,
    path: &Path,
    conflicts: &[(IssueId, Vec<&'static str>)],
) -> Result<(), StoreError> {
    let fs = &*shared.fs;
    let kept = (|| {
        let Some(open) = fs.open(path)? else { return Ok(None) };
        kept::copy_to(fs, place, &fs.read_at(&open.file, 0, TO_THE_END)?, "edited").map(Some)
    })();
    let kept = kept.map_err(|source| refused(&place.kept, &source))?;
    let named = conflicts
        .iter()
        .take(MAX_NAMED)
        .map(|(id, fields)| format!("{} ({})", id.short(), fields.join(", ")));
    let named: Vec<_> = named.collect();
    let more = if conflicts.len() > MAX_NAMED { ", …" } else { "" };
    tracing::warn!(
        "an edit of {} conflicts with changes that agents made meanwhile, which stay: {}{more}. The edited \
         file is kept as {}",
        place.issues.display(),
        named.join(", "),
        kept.map(|path| path.display().to_string()).unwrap_or_default(),
    );
    Ok(())
}

/// Merges another state of the issues into the store. Of the issues in `edited` it goes on from an edit that was
/// taken over before.
pub(super) fn take_over(
    committer: &mut Committer,
    theirs: &State,
    edited: &[(IssueId, usize)],
) -> Result<Edit, StoreError> {
    let view = committer.shared.fresh()?;
    let mut edit = edit(&committer.shared, &view, theirs, edited)?;
    if !edit.commands.is_empty() {
        let (commands, conflicts) = (&edit.commands, &mut edit.conflicts);
        committer.transact(|draft| decide(draft, commands, conflicts))?;
    }
    Ok(edit)
}

/// Makes the changes of an edit, on what the store has become since it was compared with it.
fn decide(
    draft: &mut Draft,
    commands: &[Command],
    conflicts: &mut Vec<(IssueId, Vec<&'static str>)>,
) {
    let now = now();
    for command in commands {
        let merge_edit = match command {
            Command::MergeEdit { theirs, base } => Some((theirs, base.clone())),
            // Another process has just filed it.
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
            tracing::debug!("a part of an edit is not taken over: {error}");
        }
    }
}

/// Whether there are temporary files, of live processes or dead ones.
pub(super) fn has_leftovers(fs: &dyn FileSystem, place: &Place) -> bool {
    let names = fs.list(&place.directory).unwrap_or_default();
    names.iter().any(|name| Place::is_temp(name) || Place::is_unfinished(name))
}

/// Merges what stands in temporary files that dead processes left: one may be an edit that was exchanged for a
/// rendering, and never looked at. Only under the lock of whoever publishes.
///
/// # Errors
///
/// What keeps changes from being made, and files from being read or removed.
pub(super) fn merge_leftovers(committer: &mut Committer) -> Result<(), StoreError> {
    let shared = Arc::clone(&committer.shared);
    let (fs, place) = (&*shared.fs, shared.place()?);
    for name in fs.list(&place.directory).unwrap_or_default() {
        let path = place.directory.join(&name);
        if Place::is_unfinished(&name) {
            // A live process whose note it is does without it.
            let _ = fs.remove(&path);
        }
        if !Place::is_temp(&name) {
            continue;
        }
        match recovery::read_issues(fs, &path) {
            Ok(Some(file)) => {
                // A rendering looks like an edit that takes former ones back, unless it is compared with what was
                // there before these.
                let edit = take_over(committer, &file.state, &[])?;
                if !edit.conflicts.is_empty() {
                    keep(&shared, &place, &path, &edit.conflicts)?;
                }
            }
            Ok(None) => continue,
            // An editor was still writing this file when a rendering replaced it.
            Err(OpenError::Format { .. }) => {
                let kept = kept::move_to(fs, &place, &path, "invalid");
                kept.map_err(|source| refused(&place.kept, &source))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        fs.remove(&path).map_err(|source| refused(&path, &source))?;
    }
    Ok(())
}

/// Merges what this process knew of a log that is gone into the store that took its place.
fn merge_orphaned(committer: &mut Committer) -> Result<(), StoreError> {
    /// How often the log may be replaced while it is merged into.
    const MAX_ROUNDS: usize = 100;
    for _ in 0..MAX_ROUNDS {
        let Some(orphaned) = committer.shared.follower().orphaned.front().cloned() else {
            return Ok(());
        };
        committer.merges = true;
        let merged = take_over(committer, &orphaned, &[]);
        committer.merges = false;
        let merged = merged?;
        let mut follower = committer.shared.follower();
        if follower.orphaned.front().is_some_and(|front| front.position == orphaned.position) {
            follower.orphaned.pop_front();
        }
        drop(follower);
        if !merged.commands.is_empty() {
            tracing::warn!(
                "the log of {} was removed or replaced while this process ran; what it knew was merged into the new one",
                committer.shared.path.display()
            );
        }
    }
    Err(StoreError::Busy(format!(
        "{} is replaced again and again",
        committer.shared.path.display()
    )))
}

/// Whether a file is no edit of the store at all: it has issues, and none of those of the store.
pub(super) fn is_foreign(ours: &State, theirs: &State) -> bool {
    let mut issues = theirs.issues.issues();
    !ours.issues.is_empty()
        && !theirs.issues.is_empty()
        && issues.all(|issue| ours.issues.get(issue.id).is_none())
}

/// What makes of the store what a file says, as far as the merge allows that.
fn edit(
    shared: &Shared,
    view: &View,
    theirs: &State,
    edited: &[(IssueId, usize)],
) -> Result<Edit, StoreError> {
    let ours = &view.state.issues;
    let (mut differing, mut needed) = (Vec::new(), HashMap::new());
    let mut current = HashMap::new();
    let mut placed = Vec::new();
    let mut next_known = None;
    let mut is_stale = false;
    for position in (0..theirs.issues.len()).rev() {
        let Some(id) = theirs.issues.id_at(position) else { continue };
        if theirs.issues.is_same_in(ours, id) {
            next_known = Some(id);
            continue;
        }
        let issue = theirs.issues.at(position);
        match ours.get(id) {
            Some(known) => {
                let common = common_history(&known, &issue);
                if common < known.history.len() {
                    is_stale = true;
                    needed.insert(id, (known, common));
                } else {
                    current.insert(id, known);
                }
                differing.push(issue);
                next_known = Some(id);
            }
            None => placed.push((issue, next_known)),
        }
    }
    let mut bases = bases(shared, view, needed, edited)?;
    bases.extend(current);
    let mut edit = Edit::default();
    for theirs in differing.into_iter().rev() {
        let Some(ours) = ours.get(theirs.id) else { continue };
        let base = bases.get(&theirs.id).cloned();
        let merged = merge(base.as_deref(), &ours, &theirs);
        if !merged.conflicts.is_empty() {
            edit.conflicts.push((theirs.id, merged.conflicts));
        }
        if merged.issue != *ours {
            edit.commands.push(Command::MergeEdit { theirs, base });
        }
    }
    let agent = HAND_EDIT.to_owned();
    for (issue, ahead_of) in placed.into_iter().rev() {
        edit.commands.push(Command::PlaceIssue { issue, ahead_of, agent: agent.clone() });
    }
    let mut keys = view.state.unknown.clone();
    for (key, value) in theirs.unknown.iter() {
        if !is_stale || keys.get(key).is_none() {
            keys.insert(key.to_owned(), value.to_owned());
        }
    }
    if keys != view.state.unknown {
        edit.commands.push(Command::SetUnknownKeys { keys, agent });
    }
    Ok(edit)
}

/// The versions with which a copy began: those at the length of the history that a copy has in common with them; none
/// for an issue that came into the log with a longer history, or so long ago that the events are gone.
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
            // The file goes on from this edit, although it does not show it.
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
