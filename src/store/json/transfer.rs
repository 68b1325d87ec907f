//! Takes over everything from another store: a log of its events, and a snapshot of its state after them.
//!
//! The log is written beside its place. One rename puts it in place; until then the transfer has no effect. The
//! transfer holds the lock that every process needs to create a log, so no other process creates one meanwhile.

use std::sync::Arc;

use uuid::Uuid;

use super::commit::{MAX_SEGMENT_BYTES, base_of, ignore_directory, remove_mark, sync_names};
use super::fs::{FileLock, FileSystem, Rename, lock_at};
use super::lock_check::{ensure_lock_is_exclusive, write_error};
use super::log::frame::{self, MAX_JSON_BYTES};
use super::log::record::{self, Cut, Header};
use super::log::segment::{self, ordinals};
use super::paths::StorePaths;
use super::shared::Shared;
use super::support::{now, on_thread};
use super::{open, snapshot};
use crate::store::transfer::Transfer;
use crate::store::{EventPosition, NumberedEvent, State, StoreError};

/// Takes over everything from another store.
pub(super) async fn take_over(
    shared: &Arc<Shared>,
    transfer: &Transfer<'_>,
) -> Result<(), StoreError> {
    let begun = Arc::clone(shared);
    let mut after = transfer.base();
    let mut log = on_thread(false, move || NewLog::begin(begun, after)).await?;
    while let Some(page) = transfer.next_page(&mut after).await? {
        log = on_thread(false, move || log.add(&page).map(|()| log)).await?;
    }
    let state = transfer.state().clone();
    let log = on_thread(false, move || log.finish(&state).map(|()| log)).await?;
    transfer.check_unchanged().await?;
    on_thread(false, move || log.put_in_place()).await
}

/// A log that is being written beside its place. Dropping it removes its files.
struct NewLog {
    shared: Arc<Shared>,
    /// The paths of the store, whose log is this one.
    paths: StorePaths,
    place: StorePaths,
    id: Uuid,
    /// The position of the last event so far.
    position: EventPosition,
    ordinal: u64,
    header: Header,
    lines: Vec<u8>,
    is_in_place: bool,
    _lock: FileLock,
}

impl NewLog {
    /// Begins with the events after the one with the number `base`.
    fn begin(shared: Arc<Shared>, base: u64) -> Result<Self, StoreError> {
        let (fs, place) = (Arc::clone(&shared.fs), shared.paths()?);
        let fs = &*fs;
        shared.lock_check.check(fs, &place)?;
        refuse_content(fs, &place)?;
        let failed = |source| write_error(&place.directory, &source);
        let paths = StorePaths { log: place.unfinished_log(), ..place.clone() };
        fs.create_directory(&paths.log).map_err(failed)?;
        ignore_directory(fs, &paths).map_err(failed)?;
        let path = place.publish_lock();
        let taken = lock_at(fs, &path, &place.issues, false).map_err(failed)?;
        let in_use =
            || StoreError::Busy(format!("another process uses {}", place.issues.display()));
        let lock = taken.ok_or_else(in_use)?;
        ensure_lock_is_exclusive(fs, &path)?;
        remove_segments(fs, &paths).map_err(failed)?;
        remove_mark(fs, &place).map_err(failed)?;
        let id = Uuid::new_v4();
        let position = EventPosition { number: base, ..base_of(id) };
        let header = segment::header(id.simple().to_string(), position, None, now());
        Ok(Self {
            paths,
            place,
            id,
            position,
            ordinal: 1,
            header,
            lines: Vec::new(),
            is_in_place: false,
            _lock: lock,
            shared,
        })
    }

    fn add(&mut self, events: &[NumberedEvent]) -> Result<(), StoreError> {
        for event in events {
            if self.lines.len() as u64 >= MAX_SEGMENT_BYTES {
                let offset = self.write_segment()?;
                let previous = Some(Cut { ordinal: self.ordinal, offset });
                self.ordinal += 1;
                self.header = segment::header(self.store(), self.position, previous, now());
            }
            let (text, position) = record::encode(&event.event, self.position);
            if text.len() > MAX_JSON_BYTES - 1024 {
                return Err(StoreError::NotSaved(format!(
                    "event {} has {} bytes, and a store in files takes at most {}",
                    position.number,
                    text.len(),
                    MAX_JSON_BYTES - 1024
                )));
            }
            self.position = position;
            let line = record::line(&text, position, 0, true);
            frame::write(self.header.salt, &line, &mut self.lines);
        }
        Ok(())
    }

    fn store(&self) -> String {
        self.id.simple().to_string()
    }

    /// Writes the lines so far as a segment, and returns its length.
    fn write_segment(&mut self) -> Result<u64, StoreError> {
        let (fs, log, model) = (&*self.shared.fs, &self.paths.log, &self.paths.issues);
        segment::create(fs, log, self.ordinal, &self.header, &self.lines, model)
            .map_err(|source| write_error(log, &source))?;
        let mut bytes = Vec::new();
        frame::write(0, &self.header.write(), &mut bytes);
        let length = bytes.len() + self.lines.len();
        self.lines.clear();
        Ok(length as u64)
    }

    /// Writes the last segment, and a snapshot of the state after the last event.
    fn finish(&mut self, state: &State) -> Result<(), StoreError> {
        self.write_segment()?;
        let state = State { position: self.position, ..state.clone() };
        let written = snapshot::write(&*self.shared.fs, &self.paths, &state, &self.store());
        written.map(drop).map_err(|source| write_error(&self.paths.directory, &source))
    }

    fn put_in_place(mut self) -> Result<(), StoreError> {
        let (fs, place) = (&*self.shared.fs, &self.place);
        // A process that does not keep the lock may have come meanwhile.
        refuse_content(fs, place)?;
        let renamed = fs.rename(&self.paths.log, &place.log, Rename::Replace);
        renamed.map_err(|source| write_error(&place.log, &source))?;
        self.is_in_place = true;
        let synced = sync_names(fs, place);
        self.shared.forget();
        synced.map_err(|source| {
            StoreError::Uncertain(format!("{}: {source}", self.place.directory.display()))
        })
    }
}

impl Drop for NewLog {
    fn drop(&mut self) {
        if self.is_in_place {
            return;
        }
        // What is left does no harm, and the next attempt removes it.
        let fs = &*self.shared.fs;
        let _ = remove_segments(fs, &self.paths);
        let _ = fs.remove(&self.paths.snapshot(self.position.number, &self.store()));
    }
}

/// Refuses a store that has anything.
fn refuse_content(fs: &dyn FileSystem, paths: &StorePaths) -> Result<(), StoreError> {
    let unreadable = |source| write_error(&paths.log, &source);
    let path = paths.issues.display();
    if !ordinals(fs, &paths.log).map_err(unreadable)?.is_empty() {
        return Err(StoreError::NotSaved(format!(
            "{path} is not empty: it has a log in {}; choose a new file, or move both away",
            paths.directory.display()
        )));
    }
    let state = open::read_issues(fs, &paths.issues)?.map(|file| file.state).unwrap_or_default();
    if state.issues.is_empty() && state.unknown_keys.is_empty() {
        return Ok(());
    }
    let why = format!("{path} is not empty: choose a new file, or move it away");
    Err(StoreError::NotSaved(why))
}

fn remove_segments(fs: &dyn FileSystem, paths: &StorePaths) -> std::io::Result<()> {
    for name in fs.list(&paths.log)? {
        fs.remove(&paths.log.join(name))?;
    }
    Ok(())
}
