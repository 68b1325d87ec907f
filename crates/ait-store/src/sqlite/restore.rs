//! Restore of a document: the issues of a backup take the place of those of the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use uuid::Uuid;

use super::database::{Database, Opened, make_tables};
use super::edits;
use super::error::Failure;
use super::read;
use super::transaction::{decide_command, transact};
use super::write::add_state;
use super::writer::WriterHandle;
use crate::backup::{
    BackupContent, Difference, OverwritePolicy, RestoreOutcome, RestoreResult, format, restoring,
};
use crate::files::fs::{Rename, lock_at, read_file};
use crate::files::lock_check::write_error;
use crate::files::published_note::{KnownFile, PublishedNote, random};
use crate::files::support::{lock, now};
use crate::files::{paths::StorePaths, quarantine};
use crate::{Document, EventPosition, State, StoreError};

/// Restores a document in one step.
pub(super) fn restore(
    database: &Arc<Database>,
    writer: &WriterHandle,
    document: Document,
    policy: OverwritePolicy,
) -> Result<RestoreOutcome, StoreError> {
    if let Some(damage) = database.examine()? {
        let damage = damage.to_string();
        if let Some(found) = RestoreOutcome::found_damaged(policy, damage.clone()) {
            return Ok(found);
        }
        let kept = database
            .replace_damaged(|paths, damaged| replace(database, paths, damaged, &document))?;
        database.has_changed.store(true, Ordering::Relaxed);
        let difference = None;
        let damage = Some(damage);
        return Ok(RestoreOutcome { result: RestoreResult::Done, difference, damage, kept });
    }
    writer.run(move |database, opened| go_back(database, opened, &document, policy))
}

/// Changes the issues of the store into those of a document.
fn go_back(
    database: &Database,
    opened: &Opened,
    document: &Document,
    policy: OverwritePolicy,
) -> Result<RestoreOutcome, StoreError> {
    let Opened { connection, paths, .. } = opened;
    let fs = &*database.fs;
    let adopted = edits::adopt(database, opened);
    if policy != OverwritePolicy::DryRun {
        adopted?;
        // Merged later, leftovers would bring back what the restore removes.
        let path = paths.publish_lock();
        let locked = lock_at(fs, &path, &paths.issues, false);
        if let Some(_lock) = locked.map_err(|source| write_error(&path, &source))? {
            edits::merge_leftovers(database, opened)?;
        }
    }
    let mut outcome = transact(connection, |connection| {
        let before = read::state(connection)?;
        let difference = Difference::between(&before.document(), document);
        if let Some(found) = RestoreOutcome::found(policy, difference.clone()) {
            return Ok(found);
        }
        let mut kept = Vec::new();
        if !before.issues.is_empty() {
            kept.push(keep_replaced(database, paths, &before).map_err(Failure::Store)?);
        }
        let now = now();
        for command in restoring(&before.issues, document) {
            decide_command(connection, &command, now)?;
        }
        let difference = Some(difference);
        let damage = None;
        Ok(RestoreOutcome { result: RestoreResult::Done, difference, damage, kept })
    })?;
    database.has_changed.store(true, Ordering::Relaxed);
    let is_invalid = lock(&database.known).problem.is_some();
    if outcome.result == RestoreResult::Done && is_invalid {
        // An invalid file would keep the restored issues from being published.
        outcome.kept.extend(move_invalid(database, paths));
    }
    Ok(outcome)
}

/// Moves an invalid `issues.json` to the quarantine. The restore is done, so a failure is only logged.
fn move_invalid(database: &Database, paths: &StorePaths) -> Option<PathBuf> {
    match quarantine::move_to(&*database.fs, paths, &paths.issues, "invalid") {
        Ok(moved) => {
            *lock(&database.known) = KnownFile::default();
            Some(moved)
        }
        Err(error) => {
            let path = paths.issues.display();
            let error = write_error(&paths.kept, &error);
            tracing::warn!("the issues are restored, and {path} stays invalid: {}", error.reason());
            None
        }
    }
}

/// Keeps the replaced issues as a backup, in quarantine.
fn keep_replaced(
    database: &Database,
    paths: &StorePaths,
    state: &State,
) -> Result<PathBuf, StoreError> {
    let content = BackupContent::of(state.document(), None);
    let mut bytes = Vec::new();
    format::write(content, now(), &mut bytes)
        .and_then(|_| quarantine::copy_to(&*database.fs, paths, &bytes, "before-restore"))
        .map_err(|source| write_error(&paths.kept, &source))
}

/// Puts a new database with a document in the place of a damaged one, which is kept as it is. The caller has the turn.
fn replace(
    database: &Database,
    paths: &StorePaths,
    damaged: Option<Uuid>,
    document: &Document,
) -> Result<Vec<PathBuf>, Failure> {
    let fs = &*database.fs;
    let mut kept = Vec::new();
    // An old copy of `issues.json` must not be merged into the new store as an edit.
    if let Some(bytes) = read_file(fs, &paths.issues)? {
        let fingerprint = fs.fingerprint(&paths.issues)?;
        kept.push(quarantine::copy_to(fs, paths, &bytes, "before-restore")?);
        if let Some(fingerprint) = fingerprint {
            let hash = xxhash_rust::xxh3::xxh3_128(&bytes);
            let note = PublishedNote::new(EventPosition::default(), fingerprint, hash);
            note.write(fs, paths)?;
        }
    }
    let new = paths.new_database(random());
    database.create(&new, |connection| {
        make_tables(connection)?;
        connection.execute("UPDATE meta SET replaces = ?1", [damaged])?;
        add_state(connection, &State::of(document.clone()))
    })?;
    let time = now().to_string().replace(':', "");
    let aside = paths.kept.join(format!("{time}-damaged-store"));
    fs.create_directory(&paths.kept)?;
    fs.create_directory(&aside)?;
    let set_aside = |path: &Path, name: &Path| {
        let is_there = fs.fingerprint(path)?.is_some();
        if is_there { fs.rename(path, &aside.join(name), Rename::KeepOther) } else { Ok(()) }
    };
    let name = |path: &Path| PathBuf::from(path.file_name().unwrap_or_default());
    // The log of the damaged database goes first: SQLite would apply it to the new one.
    for path in [paths.database_log(), paths.database_shared()] {
        set_aside(&path, &name(&path))?;
    }
    let path = paths.database();
    match fs.rename(&new, &path, Rename::Exchange) {
        Ok(()) => set_aside(&new, &name(&path))?,
        // There is no database, or the file system cannot exchange two names in one step.
        Err(_) => {
            set_aside(&path, &name(&path))?;
            fs.rename(&new, &path, Rename::Replace)?;
        }
    }
    fs.sync_directory(&paths.directory)?;
    kept.push(aside);
    Ok(kept)
}
