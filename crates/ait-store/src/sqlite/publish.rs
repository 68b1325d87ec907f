//! Writes `issues.json` after changes. A rendering copies the texts of the issues in the database.
//!
//! # From the state to `issues.json`
//!
//! No promise depends on an up-to-date `issues.json`: a process that dies in any step loses nothing, and the next
//! publication completes what is left.
//!
//! 1. After a commit the writer wakes the publisher (`ait-store/files/schedule.rs`): 300 ms after a change, and at most
//!    5 % of the time. A process that ends publishes itself, unless the file is large: at most 2 MB for a command, 64
//!    MB for a server (`finish`). Both call `publish` in `ait-store/sqlite/publish.rs`.
//! 2. It merges external edits first, then takes the publish lock, so that one process at a time writes the file. Under
//!    the lock, `merge_leftovers` (`ait-store/sqlite/edits.rs`) merges the files of processes that died in step 5.
//! 3. A rendering copies the texts of the issues, in one read transaction, to a temporary file and syncs it
//!    (`ait-store/files/render.rs`). A crash leaves the temporary file, which step 2 of the next publication removes.
//! 4. `replace_file` in `ait-store/files/publish.rs` does the rest. The note `published`
//!    (`ait-store/files/published_note.rs`) is written before the file, with the fingerprint of the new file and of the
//!    one that it replaces (`displaced`). So other processes take neither of the two for an edit. After a crash here,
//!    the note names a file that is not there, and the next publication writes it again.
//! 5. One exchange of names puts the file in place, and leaves the old one under the temporary name. If that is not the
//!    file that was expected, another program has just saved it: `merge_displaced_edit` merges it, or puts it back if
//!    it is invalid. After a crash here, step 2 of the next publication merges it.
//! 6. The directory is synced.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::Connection;

use super::database::{Database, Opened};
use super::edits::{Foreign, adopt, may_be_edited, merge, merge_leftovers};
use super::error::Failure;
use super::write::{newest, unknown_keys};
use super::writer::{WeakWriter, WriterHandle};
use crate::files::edits::has_leftovers;
use crate::files::format;
use crate::files::fs::{FileFingerprint, lock_at};
use crate::files::lock_check::write_error;
use crate::files::paths::StorePaths;
use crate::files::publish::replace_file;
use crate::files::published_note::{Edited, KnownFile, PublishedNote};
use crate::files::render::Sink;
use crate::files::schedule::Schedule;
use crate::files::skim::OtherIssues;
use crate::files::support::lock;
use crate::{EventPosition, State, StoreError};

/// The first and the longest pause before a retry, after a failure or while another process publishes.
const FIRST_RETRY: Duration = Duration::from_millis(200);
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(30);

/// How long the last publication waits for the turn of other processes, and for one that is publishing.
const LAST_WITHIN: Duration = Duration::from_secs(1);
const LAST_PUBLISHER: Duration = Duration::from_secs(2);

/// The pause after publishing, as a multiple of the time that it took. Publishing takes at most 5 % of the time.
const PAUSE_FACTOR: u32 = 20;

/// The result of publishing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Publication {
    /// The file was up to date.
    UpToDate,
    /// The file was written.
    Written,
    /// Another process is writing it.
    Busy,
}

/// Starts the thread that publishes changes until the store is closed.
pub(super) fn start(database: &Arc<Database>, writer: &WeakWriter, schedule: &Arc<Schedule>) {
    let database = Arc::clone(database);
    let writer = writer.clone();
    let schedule = Arc::clone(schedule);
    let spawned = thread::Builder::new().name("ait-publisher".to_owned()).spawn(move || {
        let mut not_before = Instant::now();
        let mut retry = FIRST_RETRY;
        while schedule.wait(database.options.publish_after, not_before) {
            let rest = rest(&database);
            if !rest.is_zero() {
                not_before = Instant::now() + rest;
                schedule.changed();
                continue;
            }
            let Some(writer) = writer.upgrade() else { return };
            match publish(&database, &writer, Duration::MAX) {
                Ok(Publication::Written | Publication::UpToDate) => {
                    *lock(&database.unpublished) = None;
                    retry = FIRST_RETRY;
                    continue;
                }
                Ok(Publication::Busy) => {}
                Err(error) => {
                    let why = error.reason();
                    let why = format!(
                        "issues.json is not up to date: {why}; every change is in the database"
                    );
                    // The health reports damage itself, and problems of the file are logged when they are found.
                    let is_told = error.is_damage() || matches!(error, StoreError::Unreadable(_));
                    if !is_told && lock(&database.known).problem.is_none() {
                        tracing::warn!("{why}");
                        *lock(&database.unpublished) = Some(why);
                    }
                    retry = (retry * 2).min(MAX_RETRY_PAUSE);
                }
            }
            not_before = Instant::now() + retry;
            schedule.changed();
        }
    });
    if let Err(error) = spawned {
        tracing::warn!("issues.json is not brought up to date: failed to start a thread: {error}");
    }
}

/// Publishes at the end, if the file is not large.
pub(super) async fn finish(database: &Arc<Database>, writer: &WriterHandle) {
    let database = Arc::clone(database);
    let writer = writer.clone();
    if !database.has_changed.load(Ordering::Relaxed) {
        return;
    }
    let publishing = move || {
        let Ok(paths) = database.paths() else { return };
        let Ok(Some(position)) = database.read(newest) else { return };
        let bytes = database.fs.fingerprint(&paths.issues).ok().flatten();
        let is_small =
            bytes.is_none_or(|file| file.length_bytes() <= database.options.last_publish_bytes);
        if !is_small || is_published(&database, &paths, position) {
            return;
        }
        // The process that is publishing may have begun before the last change of this one, and may end with that.
        let begun = Instant::now();
        let mut published = publish(&database, &writer, LAST_WITHIN);
        while matches!(published, Ok(Publication::Busy)) && begun.elapsed() < LAST_PUBLISHER {
            thread::sleep(Duration::from_millis(20));
            published = publish(&database, &writer, LAST_WITHIN);
        }
        match published.err() {
            // A read-only process leaves it to others.
            None | Some(StoreError::ReadOnly(_) | StoreError::NetworkFileSystem(_)) => {}
            // The next process that uses the store publishes.
            Some(StoreError::Busy(why)) => tracing::debug!("issues.json is not up to date: {why}"),
            Some(error) => {
                let why = error.reason();
                tracing::warn!(
                    "issues.json is not up to date: {why}; every change is in the database"
                );
            }
        }
    };
    if tokio::runtime::Handle::try_current().is_ok() {
        let _ = tokio::task::spawn_blocking(publishing).await;
    } else {
        publishing();
    }
}

/// Returns true if the file shows every change, or is a merged edit with no change after it.
fn is_published(database: &Database, paths: &StorePaths, newest: EventPosition) -> bool {
    let found = database.fs.fingerprint(&paths.issues).ok().flatten();
    let note = PublishedNote::read(&*database.fs, paths);
    found
        .zip(note)
        .is_some_and(|(found, note)| found == note.fingerprint && note.position() == newest)
}

/// Returns true if the file lacks changes up to an event, and can be brought up to date.
pub(super) fn is_behind(database: &Database, newest: EventPosition) -> bool {
    lock(&database.known).problem.is_none()
        && !database.is_unsaved()
        && database.paths().is_ok_and(|paths| !is_published(database, &paths, newest))
}

/// Returns how long to wait before the next publication, whichever process made the last one.
fn rest(database: &Database) -> Duration {
    let Ok(paths) = database.paths() else { return Duration::ZERO };
    let found = database.fs.fingerprint(&paths.issues).ok().flatten();
    let Some((found, note)) = found.zip(PublishedNote::read(&*database.fs, &paths)) else {
        return Duration::ZERO;
    };
    let age = SystemTime::now().duration_since(found.modified()).unwrap_or_default();
    (Duration::from_millis(note.took_ms.unwrap_or(0)) * PAUSE_FACTOR).saturating_sub(age)
}

/// Writes `issues.json` if it lacks changes, unless another process is writing it.
///
/// # Errors
///
/// The reason why the file cannot be written. Nothing is lost then.
pub(super) fn publish(
    database: &Arc<Database>,
    writer: &WriterHandle,
    limit: Duration,
) -> Result<Publication, StoreError> {
    try_publish(database, writer, limit).map_err(|error| database.located(error))
}

fn try_publish(
    database: &Arc<Database>,
    writer: &WriterHandle,
    limit: Duration,
) -> Result<Publication, StoreError> {
    /// How often the file may be edited while it is being written.
    const MAX_ROUNDS: usize = 5;
    let paths = database.paths().map_err(Failure::of_change)?;
    if database.is_unsaved() {
        return Ok(Publication::UpToDate);
    }
    for _ in 0..MAX_ROUNDS {
        writer.run_within(limit, adopt)?;
        let Some(position) = database.read(newest).map_err(Failure::of_read)? else {
            return Ok(Publication::UpToDate);
        };
        if let Some(problem) = lock(&database.known).problem.clone() {
            return Err(StoreError::NotSaved(problem));
        }
        let fs = &*database.fs;
        if is_published(database, &paths, position) && !has_leftovers(fs, &paths) {
            return Ok(Publication::UpToDate);
        }
        let publishing = lock_at(fs, &paths.publish_lock(), &paths.issues, false)
            .map_err(|source| write_error(&paths.publish_lock(), &source))?;
        let Some(_publishing) = publishing else { return Ok(Publication::Busy) };
        writer.run_within(limit, merge_leftovers)?;
        let position = database.read(newest).map_err(Failure::of_read)?.unwrap_or_default();
        // The previous lock holder may have written the file, or a user may have edited it.
        if may_be_edited(database, &paths, position) {
            continue;
        }
        if is_published(database, &paths, position) {
            return Ok(Publication::UpToDate);
        }
        // An edit that is merged from here on must not be the file that is replaced.
        let expected = lock(&database.known).checked.flatten();
        if replace(database, writer, &paths, expected)? {
            return Ok(Publication::Written);
        }
    }
    Err(StoreError::Busy(format!("other programs keep editing {}", paths.issues.display())))
}

/// Replaces `issues.json` with a rendering. Returns false if it was edited in the meantime.
fn replace(
    database: &Arc<Database>,
    writer: &WriterHandle,
    paths: &StorePaths,
    expected: Option<FileFingerprint>,
) -> Result<bool, StoreError> {
    let fs = &*database.fs;
    let merge_displaced = |theirs: State, edited: Edited| {
        let merging = move |_: &Database, opened: &Opened| {
            merge(&opened.connection, &OtherIssues::from(&theirs), &edited, Foreign::Merge)
                .map(drop)
        };
        writer.run(merging)
    };
    let replaced = database.read_once(|connection| {
        let position = newest(connection)?;
        let write = |sink: &mut Sink<'_>| render(connection, sink).map_err(io::Error::other);
        Ok(replace_file(fs, paths, position, expected, write, merge_displaced))
    });
    let fingerprint = replaced.map_err(Failure::of_read)?.unwrap_or(Ok(None))?;
    let Some(fingerprint) = fingerprint else { return Ok(false) };
    *lock(&database.known) = KnownFile { checked: Some(Some(fingerprint)), problem: None };
    Ok(true)
}

/// Writes the bytes of `issues.json`.
fn render(connection: &Connection, out: &mut impl Write) -> Result<(), String> {
    const TEXTS: &str =
        "SELECT t.body FROM issues i CROSS JOIN texts t ON t.key = i.key ORDER BY i.position";
    let mut written = || -> Result<(), Box<dyn std::error::Error>> {
        let mut statement = connection.prepare(TEXTS)?;
        let mut rows = statement.query([])?;
        let keys = unknown_keys(connection).map_err(Failure::of_read)?;
        let texts = std::iter::from_fn(|| match rows.next() {
            Ok(row) => row.map(|row| Ok(row.get_ref(0)?.as_str()?.to_owned())),
            Err(error) => Some(Err(error)),
        });
        format::write_texts(texts.map(|text| text.map_err(io::Error::other)), &keys, out)?;
        Ok(())
    };
    written().map_err(|error| error.to_string())
}
