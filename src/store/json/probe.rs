//! What probes and meters are told of the files, and the trial that shows whether a change could be
//! written. Nothing here changes or makes a file of the store.

use std::time::SystemTime;

use super::fs::{Stamp, directory_of};
use super::replica::Replica;
use super::session::{not_writable, refused, timestamp};
use crate::domain::Timestamp;
use crate::store::{StoreError, Vitals};

/// How much a trial writes: more than any file system keeps beside the name of a file.
const TRIAL_BYTES: usize = 8 * 1024;

/// How the files are doing.
pub(super) fn vitals(replica: &Replica) -> Vitals {
    let name = replica.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let syncs = Some(replica.syncs.clone());
    let Ok(place) = replica.place() else { return Vitals { name, syncs, ..Vitals::default() } };
    let [snapshot, journal] =
        [&place.snapshot, &place.journal].map(|path| replica.fs.stamp(path).ok().flatten());
    let written = |stamp: Option<Stamp>| stamp.map(|stamp| stamp.modified());
    let in_words = |time: Option<SystemTime>| -> Option<Timestamp> { time.map(timestamp) };
    Vitals {
        name,
        snapshot_bytes: snapshot.map(|stamp| stamp.length_bytes()),
        journal_bytes: journal.map(|stamp| stamp.length_bytes()),
        last_write: in_words(written(snapshot).max(written(journal))),
        snapshot_written: in_words(written(snapshot)),
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
    // Another user's lock can be taken without the right to write to it.
    fs.open(&place.lock).map_err(|source| refused(&place.lock, &source))?;
    let directory = directory_of(&place.snapshot);
    fs.try_write(directory, TRIAL_BYTES).map_err(|source| match refused(directory, &source) {
        StoreError::NotSaved(why) => StoreError::NotSaved(format!("a trial in {why}: mend that")),
        refusal => refusal,
    })
}
