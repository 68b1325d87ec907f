//! Edits of `issues.json`: which file is one, and how it is merged.
//!
//! The text of an issue in the database is its text in the file, so an edit is found by comparing checksums.
//!
//! # From the editor to the store
//!
//! 1. An editor saves `issues.json`, or git replaces it. The watcher (`ait-store/sqlite/watch.rs`), the next read or
//!    the next change notices it: `needs_merge` in `ait-store/sqlite/mod.rs` compares the file with what this process
//!    saw last. All three run `adopt` (`ait-store/sqlite/edits.rs`) on the writer thread.
//! 2. `may_be_edited` compares the fingerprint of the file with the note (`ait-store/files/published_note.rs`). `adopt`
//!    reads the note, then the file as a stream (`ait-store/files/skim.rs`). In one transaction, `compare`
//!    (`ait-store/published/plan.rs`) finds the issues whose text has another checksum than in the database. A file
//!    that shares no issue with it is refused.
//! 3. The merge of an issue needs the version from which the edit started: the last one whose history the file still
//!    contains. `find_bases` in `ait-store/published/plan.rs` finds it by undoing the events of the issue, newest
//!    first.
//! 4. `Comparison::plan` makes one command for each difference, and `decide_merge` runs them: `ait-domain/rules.rs`
//!    merges with `ait-domain/merge.rs`. Where both sides changed a field, the store wins, and the file is kept
//!    (`ait-store/files/quarantine.rs`). Issues that the file lacks stay.
//! 5. The note then names the edited file, and the next rendering contains the merged issues.
//!
//! git calls `ait merge-driver` for a tracked `issues.json` (`src/app/merge_driver.rs`). It makes the same commands
//! from the files alone: `ait-store/files/merge_files.rs` takes the bases from the common ancestor. `ait resolve` and
//! the doctor do so for a conflict that stands (`ait-doctor/conflict.rs`). The store then reads the merged file as an
//! edit.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};
use uuid::Uuid;

use super::database::{Database, Opened};
use super::error::Failure;
use super::place::Place;
use super::queue::{Queue, checksum};
use super::read;
use super::transaction::{decide_command, transact};
use super::write::{newest, unknown_keys};
use crate::files::edits::{quarantine_conflicts, read_edit, write_note};
use crate::files::lock_check::write_error;
use crate::files::open::{self, OpenError};
use crate::files::published_note::{KnownFile, PublishedNote};
use crate::files::skim::{KnownTexts, OtherIssues};
use crate::files::support::{lock, now};
use crate::files::{format, paths::StorePaths, quarantine};
use crate::published::plan::{
    Compared, Filed, MergePlan, MergeTarget, Versions, compare, decide_merge, find_bases,
};
use crate::{EventPosition, State, StoreError, event_format};
use ait_domain::{Command, DomainError, Event, Issue, IssueGraph, IssueId, Timestamp};

/// Returns true if there may be something to merge: an edit of `issues.json`, or what a replaced database had.
pub(super) fn needs_merge(database: &Database, is_writing: bool) -> bool {
    let is_edited = || {
        let paths = database.paths().ok()?;
        let now = Place::find(&*database.fs, &paths).ok()?;
        database.look_for_replacement(now.as_ref());
        let known = lock(&database.known).checked;
        let found = database.fs.fingerprint(&paths.issues).ok()?;
        if now.is_none() || database.places.are_replaced(now.as_ref()) {
            // The writer may have the database that was removed.
            return Some(is_writing);
        }
        if known == Some(found) {
            return Some(false);
        }
        let newest = database.read(newest).ok()??;
        Some(may_be_edited(database, &paths, newest))
    };
    is_edited().unwrap_or(false) || !lock(&database.rescued).is_empty()
}

/// Returns true if `issues.json` may have an edit that this process has not seen.
pub(super) fn may_be_edited(
    database: &Database,
    paths: &StorePaths,
    newest: EventPosition,
) -> bool {
    let found = database.fs.fingerprint(&paths.issues).ok().flatten();
    let mut known = lock(&database.known);
    if known.checked == Some(found) {
        return false;
    }
    // A missing file is no edit. The next change writes it again.
    let is_published = found.is_none_or(|found| {
        PublishedNote::read_up_to(&*database.fs, paths, newest)
            .is_some_and(|published| published.knows(&found))
    });
    if is_published {
        *known = KnownFile { checked: Some(found), problem: None };
    }
    !is_published
}

/// Merges the edit of `issues.json`, if there is one, and what replaced databases had. The caller has the turn.
///
/// # Errors
///
/// The reason why changes cannot be made. An invalid file is no error: the store goes on without it.
pub(super) fn adopt(database: &Database, opened: &Opened) -> Result<(), StoreError> {
    let Opened { connection, paths, .. } = opened;
    loop {
        let Some((id, state)) = lock(&database.rescued).first().cloned() else { break };
        // What was damaged gave way to a restored state.
        if read::replaces(connection).map_err(Failure::of_change)? != Some(id) {
            merge(connection, &OtherIssues::from(&state), &[], Foreign::Merge)?;
            restore_leases(connection, &state)?;
        }
        lock(&database.rescued).remove(0);
    }
    let newest_before = newest(connection).map_err(Failure::of_change)?;
    if !may_be_edited(database, paths, newest_before) {
        return Ok(());
    }
    let fs = &*database.fs;
    let path = &paths.issues;
    let found = fs.fingerprint(path).ok().flatten();
    // Read before the file, because a newer note may list edits that an older file does not include.
    let note = PublishedNote::read_up_to(fs, paths, newest_before);
    let known = known_texts(connection).map_err(Failure::of_read)?;
    let file = match read_edit(fs, path, &known, database.options.reread_after) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(()),
        Err(error) => {
            let problem =
                format!("{error}; meanwhile agents continue with the issues in the store");
            if lock(&database.known).problem.as_ref() != Some(&problem) {
                tracing::warn!("{problem}");
            }
            // The file may become readable later.
            let checked = matches!(error, OpenError::Format { .. }).then_some(found);
            *lock(&database.known) = KnownFile { checked, problem: Some(problem) };
            return Ok(());
        }
    };
    let mut edited = Vec::new();
    let mut has_lost = false;
    if note.as_ref().is_none_or(|note| note.hash() != file.hash) {
        let before = note.as_ref().map_or(&[][..], |note| &note.edited);
        let Some(plan) = merge(connection, &file.content, before, Foreign::Refuse)? else {
            let problem = format!(
                "{} has no issue in common with the store, so it was not merged as an edit: put the previous file \
                 back, and import this one as another file",
                path.display()
            );
            tracing::warn!("{problem}");
            *lock(&database.known) = KnownFile { checked: Some(found), problem: Some(problem) };
            return Ok(());
        };
        has_lost = !plan.conflicts.is_empty();
        if has_lost {
            quarantine_conflicts(fs, paths, path, &plan.conflicts)?;
        }
        edited.extend(plan.edited());
    }
    *lock(&database.known) = KnownFile { checked: Some(Some(file.fingerprint)), problem: None };
    // The note keeps its position, because the file does not show the events since then. A file with conflicts must be
    // written again, even if no event follows.
    let shown = match note.as_ref() {
        _ if has_lost => EventPosition::default(),
        Some(note) => note.position(),
        None => newest_before,
    };
    let merged = PublishedNote::new(shown, file.fingerprint, file.hash);
    if let Err(error) = write_note(fs, paths, note, merged, edited) {
        tracing::debug!("{}: {error}", paths.published().display());
    }
    Ok(())
}

/// Returns the checksums of all texts.
fn known_texts(connection: &Connection) -> Result<KnownTexts, Failure> {
    const KNOWN: &str = "SELECT t.checksum, i.id FROM issues i JOIN texts t ON t.key = i.key";
    let mut statement = connection.prepare_cached(KNOWN)?;
    let known = statement.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, Uuid>(1)?.into()))
    })?;
    Ok(known.collect::<Result<_, _>>()?)
}

/// Gives claims their leases back, which `issues.json` does not have. `known` is a state with them.
fn restore_leases(connection: &Connection, known: &State) -> Result<(), StoreError> {
    transact(connection, |connection| {
        let ours = read::state(connection)?;
        for command in ours.issues.lost_leases(&known.issues) {
            match decide_command(connection, &command, now()) {
                Ok(_) => {}
                Err(Failure::Refused(refusal)) => {
                    tracing::debug!("a lease is not restored: {refusal}");
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    })
}

/// What becomes of a file that shares no issue with the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Foreign {
    Refuse,
    Merge,
}

/// Merges other issues into the store. `edited` lists the issues whose edits were merged before and are
/// part of them. Returns `None` for a file that is no edit of this store: it has issues, and shares none with it.
pub(super) fn merge(
    connection: &Connection,
    theirs: &OtherIssues,
    edited: &[(IssueId, usize)],
    foreign: Foreign,
) -> Result<Option<MergePlan>, StoreError> {
    transact(connection, |connection| {
        let queue = Queue::new(connection);
        let comparison = compare(&queue, theirs)?;
        let shares_none =
            !theirs.issues.is_empty() && comparison.added.len() == theirs.issues.len();
        if foreign == Foreign::Refuse && shares_none && has_issues(connection)? {
            return Ok(None);
        }
        let keys = unknown_keys(connection)?;
        let mut plan = comparison.plan(&keys, &theirs.unknown_keys, |versions| {
            let Versions { current, outdated } = versions;
            let mut bases = bases(connection, outdated, edited)?;
            bases.extend(current);
            Ok::<_, Failure>(bases)
        })?;
        queue.check()?;
        if !plan.commands.is_empty() {
            let now = now();
            let mut target = Target { connection, failure: None };
            decide_merge(&mut target, &plan.commands, &mut plan.conflicts, |_| now);
            target.failure.map_or(Ok(()), Err)?;
        }
        Ok(Some(plan))
    })
}

fn has_issues(connection: &Connection) -> Result<bool, Failure> {
    const HAS: &str = "SELECT EXISTS (SELECT 1 FROM issues)";
    Ok(connection.query_row(HAS, [], |row| row.get(0))?)
}

impl Compared for Queue<'_> {
    type Failure = Failure;

    fn version(&self, theirs: &Arc<Issue>) -> Result<Option<Arc<Issue>>, Failure> {
        const KNOWN: &str =
            "SELECT t.checksum FROM issues i JOIN texts t ON t.key = i.key WHERE i.id = ?1";
        let mut statement = self.connection.prepare_cached(KNOWN)?;
        let id = Uuid::from(theirs.id);
        let known: Option<i64> = statement.query_row([id], |row| row.get(0)).optional()?;
        if known == Some(checksum(&format::issue_text(theirs))) {
            return Ok(Some(Arc::clone(theirs)));
        }
        Ok(known.and_then(|_| self.issue(theirs.id)))
    }

    fn place(&self, id: IssueId) -> Result<i64, Failure> {
        const PLACE: &str = "SELECT position FROM issues WHERE id = ?1";
        let mut statement = self.connection.prepare_cached(PLACE)?;
        Ok(statement.query_row([Uuid::from(id)], |row| row.get(0))?)
    }

    fn before(&self, place: i64) -> Result<Option<(i64, Filed)>, Failure> {
        const BEFORE: &str = "SELECT position, created, id FROM issues WHERE position < ?1 \
            ORDER BY position DESC LIMIT 1";
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get(0)?, (row.get(1)?, row.get::<_, Uuid>(2)?.into())))
        };
        Ok(self.connection.prepare_cached(BEFORE)?.query_row([place], read).optional()?)
    }
}

/// Returns the base of each issue, as far as it is known.
fn bases(
    connection: &Connection,
    needed: HashMap<IssueId, (Arc<Issue>, usize)>,
    edited: &[(IssueId, usize)],
) -> Result<HashMap<IssueId, Arc<Issue>>, Failure> {
    const OF_ISSUE: &str =
        "SELECT body FROM events WHERE issue = ?1 AND body IS NOT NULL ORDER BY number DESC";
    let mut bases = HashMap::new();
    for (id, wanted) in needed {
        let mut statement = connection.prepare_cached(OF_ISSUE)?;
        let mut rows = statement.query([Uuid::from(id)])?;
        let next_event = || -> Result<Option<Arc<Event>>, Failure> {
            let Some(row) = rows.next()? else { return Ok(None) };
            let body = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            let newer = || Failure::Newer("an event".to_owned());
            event_format::read(body).map(|event| Some(Arc::new(event))).ok_or_else(newer)
        };
        bases.extend(find_bases(HashMap::from([(id, wanted)]), edited, next_event)?);
    }
    Ok(bases)
}

/// The transaction in which an edit is merged.
struct Target<'a> {
    connection: &'a Connection,
    failure: Option<Failure>,
}

impl MergeTarget for Target<'_> {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>> {
        Queue::new(self.connection).issue(id)
    }

    fn decide(&mut self, command: &Command, now: Timestamp) -> Result<(), DomainError> {
        if self.failure.is_some() {
            return Ok(());
        }
        match decide_command(self.connection, command, now) {
            Ok(_) => Ok(()),
            Err(Failure::Refused(refusal)) => Err(refusal),
            Err(failure) => {
                self.failure = Some(failure);
                Ok(())
            }
        }
    }
}

/// Merges the temporary files of dead processes. A file may be an edit that was exchanged for a rendering and never
/// examined. The caller holds the publish lock and has the turn.
pub(super) fn merge_leftovers(database: &Database, opened: &Opened) -> Result<(), StoreError> {
    let Opened { connection, paths, .. } = opened;
    let fs = &*database.fs;
    for name in fs.list(&paths.directory).unwrap_or_default() {
        let path = paths.directory.join(&name);
        if StorePaths::is_unfinished(&name) {
            // A live process may be writing its note.
            let _lock =
                PublishedNote::lock(fs, paths).map_err(|source| write_error(&path, &source))?;
            let _ = fs.remove(&path);
        }
        if !StorePaths::is_exchange_file(&name) {
            continue;
        }
        match open::read_issues(fs, &path) {
            Ok(Some(file)) => {
                // An empty `edited` list: otherwise a rendering would look like an edit that undoes the edits merged
                // since.
                let theirs = OtherIssues::from(&file.state);
                let plan = merge(connection, &theirs, &[], Foreign::Merge)?.unwrap_or_default();
                if !plan.conflicts.is_empty() {
                    quarantine_conflicts(fs, paths, &path, &plan.conflicts)?;
                }
            }
            Ok(None) => continue,
            // An editor was still writing the file when a rendering replaced it.
            Err(OpenError::Format { .. }) => {
                let kept = quarantine::move_to(fs, paths, &path, "invalid");
                kept.map_err(|source| write_error(&paths.kept, &source))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        fs.remove(&path).map_err(|source| write_error(&path, &source))?;
    }
    Ok(())
}
