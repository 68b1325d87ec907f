//! What probes and meters are told of the files, and the trial that shows whether a change could be
//! written. Nothing here changes or makes a file of the store.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::fs::{FileSystem, Stamp, directory_of};
use super::ground::must_exclude;
use super::replica::{Replica, lock};
use super::session::{not_writable, refused, timestamp};
use crate::domain::Timestamp;
use crate::store::{StoreError, Vitals};

/// How much a trial writes: more than any file system keeps beside the name of a file.
const TRIAL_BYTES: usize = 8 * 1024;
/// How long a trial waits for the lock, which nobody keeps for long, and how often it asks.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(10);

/// What this process knows of its syncs of the journal.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LastSync {
    succeeded: Option<SystemTime>,
    failed: Option<SystemTime>,
}

impl LastSync {
    /// Takes note of a sync that ended `now`.
    pub fn note(&mut self, is_durable: bool, now: SystemTime) {
        *(if is_durable { &mut self.succeeded } else { &mut self.failed }) = Some(now);
    }

    /// When something was last made durable, as far as the times of the two files and this process
    /// know. What was written to the journal before a sync failed does not count, and the time of a
    /// file that lies in the future counts as now, unless this process knows better.
    fn last_write(
        self,
        snapshot: Option<SystemTime>,
        journal: Option<SystemTime>,
        now: SystemTime,
    ) -> Option<SystemTime> {
        let journal = journal.filter(|time| self.failed.is_none_or(|failed| *time > failed));
        let own = self.succeeded.map(|time| time.min(now));
        let of_files = [snapshot, journal].into_iter().flatten();
        let of_files = of_files.filter(|time| *time <= now || own.is_none());
        of_files.map(|time| time.min(now)).max().max(own)
    }
}

/// How the files are doing.
pub(super) fn vitals(replica: &Replica) -> Vitals {
    let name = replica.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let syncs = Some(replica.syncs.clone());
    let Ok(place) = replica.place() else { return Vitals { name, syncs, ..Vitals::default() } };
    let [snapshot, journal] =
        [&place.snapshot, &place.journal].map(|path| replica.fs.stamp(path).ok().flatten());
    let (now, last_sync) = (replica.fs.now(), *lock(&replica.last_sync));
    let written = |stamp: Option<Stamp>| stamp.map(|stamp| stamp.modified());
    let in_words = |time: Option<SystemTime>| -> Option<Timestamp> { time.map(timestamp) };
    let last_write = last_sync.last_write(written(snapshot), written(journal), now);
    Vitals {
        name,
        snapshot_bytes: snapshot.map(|stamp| stamp.length_bytes()),
        journal_bytes: journal.map(|stamp| stamp.length_bytes()),
        last_write: in_words(last_write),
        snapshot_written: in_words(written(snapshot).map(|time| time.min(now))),
        syncs,
    }
}

/// Opens what a change would open, and writes beside the store as much as a change would.
pub(super) fn try_writing(replica: &Replica) -> Result<(), StoreError> {
    let (fs, place) = (&*replica.fs, replica.place()?);
    let journal = fs.open(&place.journal).map_err(|source| refused(&place.journal, &source))?;
    if journal.is_some_and(|journal| !journal.is_writable) {
        return Err(not_writable(&place));
    }
    try_locking(fs, &place.lock)?;
    let directory = directory_of(&place.snapshot);
    fs.try_write(directory, TRIAL_BYTES).map_err(|source| match refused(directory, &source) {
        StoreError::NotSaved(why) => StoreError::NotSaved(format!("a trial in {why}: mend that")),
        refusal => refusal,
    })
}

/// Takes the lock for a moment where there is a lock file; never makes one.
fn try_locking(fs: &dyn FileSystem, path: &Path) -> Result<(), StoreError> {
    let failed = |source| refused(path, &source);
    // Another user's lock can be taken without the right to write to it.
    let Some(lock) = fs.open(path).map_err(failed)? else { return Ok(()) };
    let begun = Instant::now();
    while !fs.claim(&lock.file).map_err(failed)? {
        if begun.elapsed() >= LOCK_WITHIN {
            let (path, seconds) = (path.display(), LOCK_WITHIN.as_secs());
            return Err(StoreError::Busy(format!(
                "{path} has been locked for more than {seconds} s, by a process that is stopped or \
                 hangs, or waits for a slow disk: `fuser {path}` names it"
            )));
        }
        thread::sleep(ASK_EVERY);
    }
    let tried = must_exclude(fs, path);
    fs.release(&lock.file);
    tried
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_durable_write_is_not_in_the_future_and_not_one_whose_sync_failed() {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        // Snapshot, journal, own success, own failure; at second 10.
        for (snapshot, journal, succeeded, failed, expected) in [
            (None, None, None, None, None),
            (Some(3), Some(5), None, None, Some(5)),
            (Some(3), Some(5), Some(6), None, Some(6)),
            (Some(3), Some(99), None, None, Some(10)),
            (Some(3), Some(99), Some(6), None, Some(6)),
            (Some(99), Some(7), Some(6), None, Some(7)),
            (Some(3), Some(8), Some(6), Some(8), Some(6)),
            (Some(3), Some(8), None, Some(8), Some(3)),
            (Some(3), Some(9), Some(6), Some(8), Some(9)),
            (None, None, Some(99), None, Some(10)),
        ] {
            let last = LastSync { succeeded: succeeded.map(at), failed: failed.map(at) };
            let found = last.last_write(snapshot.map(at), journal.map(at), at(10));
            assert_eq!(found, expected.map(at), "{snapshot:?} {journal:?} {last:?}");
        }
    }
}
