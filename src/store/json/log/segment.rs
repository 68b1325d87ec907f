//! One file of the log: making it, opening it, and reading what stands in it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::super::fs::{FileFingerprint, FileSystem, Rename, TO_THE_END};
use super::frame::{self, Frame};
use super::record::{self, Cut, FORMAT, Header, Record, RecordError};
use crate::domain::Timestamp;
use crate::store::{NumberedEvent, Position};

const SUFFIX: &str = ".log";
/// More than any header has.
const MAX_HEADER_BYTES: usize = 4096;
/// How disks lose what was not synced: sector by sector, which reads as zeros.
const SECTOR_BYTES: usize = 512;

/// A place between two batches of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tail {
    /// The offset in bytes.
    pub offset: u64,
    /// The position of the last event before it.
    pub position: Position,
}

/// Events that were made durable together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The events.
    pub events: Vec<NumberedEvent>,
    /// Where it ends.
    pub end: Tail,
}

/// What stands behind the last whole batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Nothing.
    Nothing,
    /// What somebody has not finished writing, or what the power took.
    Torn,
    /// Bytes that were whole once, from an offset on.
    Damaged(u64),
    /// A line that a newer version wrote.
    Newer(u64),
}

/// What was read of a segment.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The whole batches.
    pub batches: Vec<Batch>,
    /// What stands behind them.
    pub rest: Rest,
    /// The highest offset that a writer called durable.
    pub durable: u64,
    /// The offset up to which the file was read.
    pub length: u64,
}

/// Why a file is no segment.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// The system says no.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The header is damaged.
    #[error("its first line is damaged")]
    Damaged,
    /// A newer version made it.
    #[error("it was made by a newer version")]
    Newer,
}

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    /// Its number.
    pub ordinal: u64,
    /// Where it is.
    pub path: PathBuf,
    /// The one opening of this process, through which it is locked, read, written and synced.
    pub file: Arc<File>,
    /// Whether this process may write to it.
    pub is_writable: bool,
    /// What it was known by when it was opened.
    pub opened: FileFingerprint,
    /// The header.
    pub header: Header,
    /// Where the first event begins, and the position before it.
    pub begin: Tail,
}

/// The path of a segment.
pub fn path_of(directory: &Path, ordinal: u64) -> PathBuf {
    directory.join(format!("{ordinal:010}{SUFFIX}"))
}

/// The ordinals of the segments in a directory, ascending.
///
/// # Errors
///
/// The directory cannot be read.
pub fn ordinals(fs: &dyn FileSystem, directory: &Path) -> io::Result<Vec<u64>> {
    let names = fs.list(directory)?;
    let ordinal = |name: &String| name.strip_suffix(SUFFIX)?.parse().ok();
    let mut ordinals: Vec<u64> = names.iter().filter_map(ordinal).collect();
    ordinals.sort_unstable();
    Ok(ordinals)
}

/// A header of a new segment of a store.
pub fn header(store: String, base: Position, previous: Option<Cut>, now: Timestamp) -> Header {
    let salt = Uuid::new_v4().as_u128() as u32;
    let hash = format!("{:016x}", base.hash);
    let first = base.number + 1;
    Header { format: FORMAT, store, salt, first, hash, previous, created_at: now, replaces: None }
}

/// Makes a segment durably, with whole lines behind the header. Only under the lock of the one before it.
///
/// # Errors
///
/// It cannot be made; [`io::ErrorKind::AlreadyExists`] when somebody else has.
pub fn create(
    fs: &dyn FileSystem,
    directory: &Path,
    ordinal: u64,
    header: &Header,
    lines: &[u8],
    model: &Path,
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(lines.len() + 512);
    frame::write(0, &header.write(), &mut bytes);
    bytes.extend_from_slice(lines);
    let temp = directory.join(format!(".{ordinal:010}.{:08x}.tmp", header.salt));
    let file = fs.create(&temp, model)?;
    let made = (|| {
        fs.write_at(&file, 0, &bytes)?;
        fs.sync(&file)?;
        fs.rename(&temp, &path_of(directory, ordinal), Rename::KeepOther)
    })();
    if made.is_err() {
        // What cannot be removed is in nobody's way.
        let _ = fs.remove(&temp);
    }
    made?;
    fs.sync_directory(directory)
}

impl Segment {
    /// Opens a segment; `None` when there is none of this ordinal.
    ///
    /// # Errors
    ///
    /// It is none that this version reads.
    pub fn open(
        fs: &dyn FileSystem,
        directory: &Path,
        ordinal: u64,
    ) -> Result<Option<Self>, SegmentError> {
        let path = path_of(directory, ordinal);
        let Some(open) = fs.open(&path)? else { return Ok(None) };
        let opened = fs.fingerprint_of(&open.file)?;
        let bytes = fs.read_at(&open.file, 0, MAX_HEADER_BYTES)?;
        let Frame::Whole { json, length } = frame::read(0, &bytes) else {
            return Err(SegmentError::Damaged);
        };
        let header: Header = serde_json::from_slice(json).map_err(|_| SegmentError::Newer)?;
        if header.format > FORMAT {
            return Err(SegmentError::Newer);
        }
        let position = header.base().ok_or(SegmentError::Damaged)?;
        let begin = Tail { offset: length as u64, position };
        let (file, is_writable) = (open.file, open.is_writable);
        Ok(Some(Self { ordinal, path, file, is_writable, opened, header, begin }))
    }

    /// Returns true if this is still the newest segment: its path leads to it, and there is no next one.
    ///
    /// # Errors
    ///
    /// The system cannot tell.
    pub fn is_current(&self, fs: &dyn FileSystem, directory: &Path) -> io::Result<bool> {
        let named = fs.fingerprint(&self.path)?;
        let is_at_path = named.is_some_and(|named| named.is_same_file(&self.opened));
        Ok(is_at_path && fs.fingerprint(&path_of(directory, self.ordinal + 1))?.is_none())
    }

    /// Reads the batches behind `from`; those before `cut` where the segment ends there. Up to `durable` the bytes
    /// are known to have been whole.
    ///
    /// # Errors
    ///
    /// The bytes cannot be read.
    pub fn scan(
        &self,
        fs: &dyn FileSystem,
        from: Tail,
        cut: Option<u64>,
        durable: u64,
    ) -> io::Result<Scan> {
        let mut bytes = fs.read_at(&self.file, from.offset, TO_THE_END)?;
        let length = from.offset + bytes.len() as u64;
        if let Some(cut) = cut {
            bytes.truncate(usize::try_from(cut.saturating_sub(from.offset)).unwrap_or(usize::MAX));
        }
        let mut scan = scan(self.header.salt, &bytes, from, durable.max(cut.unwrap_or(0)));
        let end = scan.batches.last().map_or(from, |batch| batch.end).offset;
        // Bytes that were durable are gone, also where what is left ends with a whole batch.
        if end < cut.unwrap_or(scan.durable) && matches!(scan.rest, Rest::Nothing | Rest::Torn) {
            scan.rest = Rest::Damaged(end);
        }
        Ok(Scan { length, ..scan })
    }

    /// Reads the whole batches in so many bytes behind `from`, or in as many more as the first of them takes; those
    /// before `cut` where the segment ends there.
    ///
    /// # Errors
    ///
    /// The bytes cannot be read.
    pub fn read_part(
        &self,
        fs: &dyn FileSystem,
        from: Tail,
        cut: Option<u64>,
        limit: usize,
    ) -> io::Result<Vec<Batch>> {
        let rest = cut.map_or(u64::MAX, |cut| cut.saturating_sub(from.offset));
        let rest = usize::try_from(rest).unwrap_or(usize::MAX);
        let mut limit = limit.min(rest);
        loop {
            let bytes = fs.read_at(&self.file, from.offset, limit)?;
            let batches = scan(self.header.salt, &bytes, from, 0).batches;
            if !batches.is_empty() || bytes.len() < limit || limit == rest {
                return Ok(batches);
            }
            limit = limit.saturating_mul(2).min(rest);
        }
    }
}

fn scan(salt: u32, bytes: &[u8], from: Tail, durable: u64) -> Scan {
    let mut scan = Scan { batches: Vec::new(), rest: Rest::Nothing, durable, length: 0 };
    let (mut place, mut position, mut begin) = (0, from.position, 0);
    let mut events = Vec::new();
    let offset = |place: usize| from.offset + place as u64;
    while place < bytes.len() {
        let Frame::Whole { json, length } = frame::read(salt, &bytes[place..]) else {
            scan.rest = rest(salt, bytes, begin, place, from.offset, scan.durable);
            return scan;
        };
        let record = match record::read(json, position) {
            Ok(record) => record,
            Err(RecordError::Unknown) => {
                scan.rest = Rest::Newer(offset(place));
                return scan;
            }
            Err(RecordError::Chain) => {
                scan.rest = Rest::Damaged(offset(place));
                return scan;
            }
        };
        let Record { position: reached, durable, is_end, event } = record;
        scan.durable = scan.durable.max(durable);
        events.push(NumberedEvent { position: reached, event });
        (place, position) = (place + length, reached);
        if is_end {
            let end = Tail { offset: offset(place), position };
            scan.batches.push(Batch { events: std::mem::take(&mut events), end });
            begin = place;
        }
    }
    if begin < bytes.len() {
        scan.rest = rest(salt, bytes, begin, bytes.len(), from.offset, scan.durable);
    }
    scan
}

/// Judges bytes that are no whole batch: from `begin` on, with the first invalid line at `place`.
fn rest(salt: u32, bytes: &[u8], begin: usize, place: usize, base: u64, durable: u64) -> Rest {
    let damaged = Rest::Damaged(base + place as u64);
    if base + (begin as u64) < durable {
        return damaged;
    }
    let mut search = place;
    let mut is_good_behind = false;
    while let Some((found, json)) = frame::find(salt, &bytes[search..]) {
        if record::durable_in(json).is_some_and(|durable| durable > base + begin as u64) {
            return damaged;
        }
        is_good_behind |= !was_lost(&bytes[place..search + found], base + place as u64);
        search += found + 1;
    }
    if is_good_behind { damaged } else { Rest::Torn }
}

/// Whether bytes look as if a disk had never written them: zeros up to the end of a sector, or from its begin on.
fn was_lost(bytes: &[u8], offset: u64) -> bool {
    let sector = SECTOR_BYTES as u64;
    bytes.iter().enumerate().any(|(place, byte)| {
        let within = (offset + place as u64) % sector;
        *byte == 0 && (within == 0 || within == sector - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Before, Event, EventKind, IssueId, Status};

    const SALT: u32 = 99;

    fn event(agent: &str) -> Event {
        let at = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        let before = Some(Before { status: Status::Created, modified_at: at });
        let agent = agent.to_owned();
        Event { issue: IssueId::NIL, at, agent, kind: EventKind::Claimed, before }
    }

    fn begin() -> Tail {
        Tail { offset: 1000, position: Position { number: 4, hash: 7 } }
    }

    /// Batches of so many events each, of which writers knew all before them to be durable or nothing.
    fn segment(batches: &[usize], knows: bool) -> (Vec<u8>, Vec<Tail>) {
        let (mut bytes, mut ends, mut position) = (Vec::new(), Vec::new(), begin().position);
        for count in batches {
            let durable = if knows { begin().offset + bytes.len() as u64 } else { 0 };
            for number in 0..*count {
                let is_end = number + 1 == *count;
                let (json, reached) = record::encode(&event(&"x".repeat(number)), position);
                frame::write(SALT, &record::line(&json, reached, durable, is_end), &mut bytes);
                position = reached;
            }
            ends.push(Tail { offset: begin().offset + bytes.len() as u64, position });
        }
        (bytes, ends)
    }

    fn scanned(bytes: &[u8]) -> (usize, Rest) {
        let scan = scan(SALT, bytes, begin(), 0);
        (scan.batches.len(), scan.rest)
    }

    #[test]
    fn whole_batches_are_read_and_a_torn_one_is_not() {
        let (bytes, ends) = segment(&[1, 3, 2], true);
        let whole = scan(SALT, &bytes, begin(), 0);
        assert_eq!(whole.rest, Rest::Nothing);
        assert!(whole.batches.iter().map(|batch| batch.end).eq(ends.iter().copied()));
        assert_eq!(whole.batches.iter().map(|batch| batch.events.len()).sum::<usize>(), 6);
        for cut in 0..bytes.len() {
            let at = begin().offset + cut as u64;
            let expected = ends.iter().filter(|end| end.offset <= at).count();
            let is_end = expected > 0 && ends[expected - 1].offset == at || cut == 0;
            let rest = if is_end { Rest::Nothing } else { Rest::Torn };
            assert_eq!(scanned(&bytes[..cut]), (expected, rest), "cut at {cut}");
        }
    }

    #[test]
    fn bad_bytes_before_good_lines_are_damage() {
        for knows in [true, false] {
            let (bytes, ends) = segment(&[1, 2, 1, 1], knows);
            let last = usize::try_from(ends[2].offset - begin().offset).unwrap();
            for place in 0..last {
                for change in 0..3 {
                    let mut bad = bytes.clone();
                    match change {
                        0 => bad[place] ^= 0x10,
                        1 => drop(bad.remove(place)),
                        _ => bad.insert(place, b' '),
                    }
                    let (_, rest) = scanned(&bad);
                    assert!(matches!(rest, Rest::Damaged(_)), "{change} at {place}: {rest:?}");
                }
            }
        }
    }

    #[test]
    fn what_the_power_took_before_a_batch_of_another_process_is_torn() {
        let (bytes, ends) = segment(&[1, 8, 8, 1], false);
        let first = usize::try_from(ends[0].offset - begin().offset).unwrap();
        let sector = (1024 - 1000..).step_by(SECTOR_BYTES).find(|at| *at > first).unwrap();
        let mut lost = bytes.clone();
        lost[sector..sector + SECTOR_BYTES].fill(0);
        assert_eq!(scanned(&lost), (1, Rest::Torn));
        // But not when somebody knew it to be durable.
        let scan = scan(SALT, &lost, begin(), ends[1].offset);
        assert!(matches!(scan.rest, Rest::Damaged(_)));
    }
}
