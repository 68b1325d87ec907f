//! Creates, opens and reads one segment of the log.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::super::fs::{FileFingerprint, FileSystem, Rename, TO_THE_END};
use super::frame::{self, Frame};
use super::record::{self, Cut, FORMAT, Header, Record, RecordError};
use crate::domain::Timestamp;
use crate::store::{EventPosition, NumberedEvent};

const SUFFIX: &str = ".log";
/// The maximum size of a header, in bytes.
const MAX_HEADER_BYTES: usize = 4096;
/// The unit in which disks lose unsynced data, in bytes. A lost sector reads as zeros.
const SECTOR_BYTES: usize = 512;

/// A point between two batches of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BatchEnd {
    /// The offset in bytes.
    pub offset: u64,
    /// The position of the last event before it.
    pub position: EventPosition,
}

/// Events that one commit made durable together.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The events.
    pub events: Vec<NumberedEvent>,
    /// The end of the batch.
    pub end: BatchEnd,
}

/// What follows the last whole batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TailState {
    /// Nothing.
    Nothing,
    /// An unfinished batch: a process is writing it, or a power failure cut it.
    Torn,
    /// Damaged bytes from an offset on, which were valid once.
    Damaged(u64),
    /// A line of a newer version, at an offset.
    Newer(u64),
}

/// The result of reading a segment.
#[derive(Clone, Debug)]
pub struct Scan {
    /// The whole batches.
    pub batches: Vec<Batch>,
    /// What follows the batches.
    pub rest: TailState,
    /// The highest offset that a writer recorded as durable.
    pub durable: u64,
    /// The offset up to which the file was read.
    pub length: u64,
}

/// Why a file cannot be opened as a segment.
#[derive(Debug, thiserror::Error)]
pub enum SegmentError {
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The header is damaged.
    #[error("its first line is damaged")]
    Damaged,
    /// A newer version created the segment.
    #[error("it was made by a newer version")]
    Newer,
}

/// An open segment.
#[derive(Debug)]
pub struct Segment {
    /// The ordinal of the segment.
    pub ordinal: u64,
    /// The path of the file.
    pub path: PathBuf,
    /// The only open handle of this process. It locks, reads, writes and syncs through this handle.
    pub file: Arc<File>,
    /// True if this process may write to the file.
    pub is_writable: bool,
    /// The fingerprint of the file when it was opened.
    pub opened: FileFingerprint,
    /// The header.
    pub header: Header,
    /// The point at which the first event begins.
    pub begin: BatchEnd,
}

/// Returns the path of a segment.
pub fn path_of(directory: &Path, ordinal: u64) -> PathBuf {
    directory.join(format!("{ordinal:010}{SUFFIX}"))
}

/// Returns the ordinals of the segments in a directory, ascending.
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

/// Returns the path of the newest segment in a directory. Returns `None` if there is none that can be seen.
pub fn newest_path(fs: &dyn FileSystem, directory: &Path) -> Option<PathBuf> {
    let newest = ordinals(fs, directory).ok()?.pop()?;
    Some(path_of(directory, newest))
}

/// Returns the header of a new segment.
pub fn header(store: String, base: EventPosition, previous: Option<Cut>, now: Timestamp) -> Header {
    let salt = Uuid::new_v4().as_u128() as u32;
    let hash = format!("{:016x}", base.hash);
    let first = base.number + 1;
    Header { format: FORMAT, store, salt, first, hash, previous, created_at: now, replaces: None }
}

/// Creates a durable segment with the header and `lines`. The caller holds the lock of the previous segment.
///
/// # Errors
///
/// I/O errors; [`io::ErrorKind::AlreadyExists`] if another process created it first.
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
        // A leftover temporary file does no harm.
        let _ = fs.remove(&temp);
    }
    made?;
    fs.sync_directory(directory)
}

impl Segment {
    /// Opens a segment. Returns `None` if no segment has this ordinal.
    ///
    /// # Errors
    ///
    /// I/O errors, a damaged header, or a newer format.
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
        let begin = BatchEnd { offset: length as u64, position };
        let (file, is_writable) = (open.file, open.is_writable);
        Ok(Some(Self { ordinal, path, file, is_writable, opened, header, begin }))
    }

    /// Returns true if this is still the newest segment: its path names this file, and there is no next one.
    ///
    /// # Errors
    ///
    /// I/O errors.
    pub fn is_current(&self, fs: &dyn FileSystem, directory: &Path) -> io::Result<bool> {
        let named = fs.fingerprint(&self.path)?;
        let is_at_path = named.is_some_and(|named| named.is_same_file(&self.opened));
        Ok(is_at_path && fs.fingerprint(&path_of(directory, self.ordinal + 1))?.is_none())
    }

    /// Reads the batches after `from`, up to `cut` if the segment ends there. The bytes up to `durable` are known to
    /// have been valid.
    ///
    /// # Errors
    ///
    /// The bytes cannot be read.
    pub fn scan(
        &self,
        fs: &dyn FileSystem,
        from: BatchEnd,
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
        // Durable bytes are missing, even if the rest ends with a whole batch.
        if end < cut.unwrap_or(scan.durable)
            && matches!(scan.rest, TailState::Nothing | TailState::Torn)
        {
            scan.rest = TailState::Damaged(end);
        }
        Ok(Scan { length, ..scan })
    }

    /// Reads the whole batches within `limit` bytes after `from`, up to `cut` if the segment ends there. If the first
    /// batch is longer, reads as much as it needs.
    ///
    /// # Errors
    ///
    /// The bytes cannot be read.
    pub fn read_part(
        &self,
        fs: &dyn FileSystem,
        from: BatchEnd,
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

fn scan(salt: u32, bytes: &[u8], from: BatchEnd, durable: u64) -> Scan {
    let mut scan = Scan { batches: Vec::new(), rest: TailState::Nothing, durable, length: 0 };
    let (mut index, mut position, mut begin) = (0, from.position, 0);
    let mut events = Vec::new();
    let offset = |index: usize| from.offset + index as u64;
    while index < bytes.len() {
        let Frame::Whole { json, length } = frame::read(salt, &bytes[index..]) else {
            scan.rest = classify_tail(salt, bytes, begin, index, from.offset, scan.durable);
            return scan;
        };
        let record = match record::read(json, position) {
            Ok(record) => record,
            Err(RecordError::Unknown) => {
                scan.rest = TailState::Newer(offset(index));
                return scan;
            }
            Err(RecordError::Chain) => {
                scan.rest = TailState::Damaged(offset(index));
                return scan;
            }
        };
        let Record { position: reached, durable, is_end, event } = record;
        scan.durable = scan.durable.max(durable);
        events.push(NumberedEvent { position: reached, event });
        (index, position) = (index + length, reached);
        if is_end {
            let end = BatchEnd { offset: offset(index), position };
            scan.batches.push(Batch { events: std::mem::take(&mut events), end });
            begin = index;
        }
    }
    if begin < bytes.len() {
        scan.rest = classify_tail(salt, bytes, begin, bytes.len(), from.offset, scan.durable);
    }
    scan
}

/// Classifies bytes after the last whole batch. They begin at `begin`; the first invalid line is at `index`.
///
/// The bytes are torn if a power cut explains them: none of them was known to be durable, and valid lines follow only
/// behind sectors that were lost. Otherwise they are damaged.
fn classify_tail(
    salt: u32,
    bytes: &[u8],
    begin: usize,
    index: usize,
    base: u64,
    durable: u64,
) -> TailState {
    let damaged = TailState::Damaged(base + index as u64);
    if base + (begin as u64) < durable {
        return damaged;
    }
    let mut search = index;
    let mut is_good_behind = false;
    while let Some((found, json)) = frame::find(salt, &bytes[search..]) {
        if record::durable_in(json).is_some_and(|durable| durable > base + begin as u64) {
            return damaged;
        }
        is_good_behind |= !was_lost(&bytes[index..search + found], base + index as u64);
        search += found + 1;
    }
    if is_good_behind { damaged } else { TailState::Torn }
}

/// Returns true if the bytes look like sectors that a disk never wrote: zeros at the end or at the start of a sector.
fn was_lost(bytes: &[u8], offset: u64) -> bool {
    let sector = SECTOR_BYTES as u64;
    bytes.iter().enumerate().any(|(index, byte)| {
        let within = (offset + index as u64) % sector;
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
        Event { issue: IssueId::NIL, at, agent, kind: EventKind::Claimed, before, lease: None }
    }

    fn begin() -> BatchEnd {
        BatchEnd { offset: 1000, position: EventPosition { number: 4, hash: 7 } }
    }

    /// Writes batches with these numbers of events. If `knows`, each line records everything before its batch as
    /// durable.
    fn segment(batches: &[usize], knows: bool) -> (Vec<u8>, Vec<BatchEnd>) {
        let (mut bytes, mut ends, mut position) = (Vec::new(), Vec::new(), begin().position);
        for count in batches {
            let durable = if knows { begin().offset + bytes.len() as u64 } else { 0 };
            for number in 0..*count {
                let is_end = number + 1 == *count;
                let (json, reached) = record::encode(&event(&"x".repeat(number)), position);
                frame::write(SALT, &record::line(&json, reached, durable, is_end), &mut bytes);
                position = reached;
            }
            ends.push(BatchEnd { offset: begin().offset + bytes.len() as u64, position });
        }
        (bytes, ends)
    }

    fn scanned(bytes: &[u8]) -> (usize, TailState) {
        let scan = scan(SALT, bytes, begin(), 0);
        (scan.batches.len(), scan.rest)
    }

    #[test]
    fn complete_batches_are_read_and_torn_ones_are_not() {
        let (bytes, ends) = segment(&[1, 3, 2], true);
        let whole = scan(SALT, &bytes, begin(), 0);
        assert_eq!(whole.rest, TailState::Nothing);
        assert!(whole.batches.iter().map(|batch| batch.end).eq(ends.iter().copied()));
        assert_eq!(whole.batches.iter().map(|batch| batch.events.len()).sum::<usize>(), 6);
        for cut in 0..bytes.len() {
            let at = begin().offset + cut as u64;
            let expected = ends.iter().filter(|end| end.offset <= at).count();
            let is_end = expected > 0 && ends[expected - 1].offset == at || cut == 0;
            let rest = if is_end { TailState::Nothing } else { TailState::Torn };
            assert_eq!(scanned(&bytes[..cut]), (expected, rest), "cut at {cut}");
        }
    }

    #[test]
    fn corruption_before_valid_lines_is_damage() {
        for knows in [true, false] {
            let (bytes, ends) = segment(&[1, 2, 1, 1], knows);
            let last = usize::try_from(ends[2].offset - begin().offset).unwrap();
            for index in 0..last {
                for change in 0..3 {
                    let mut bad = bytes.clone();
                    match change {
                        0 => bad[index] ^= 0x10,
                        1 => drop(bad.remove(index)),
                        _ => bad.insert(index, b' '),
                    }
                    let (_, rest) = scanned(&bad);
                    assert!(matches!(rest, TailState::Damaged(_)), "{change} at {index}: {rest:?}");
                }
            }
        }
    }

    #[test]
    fn a_lost_sector_in_unsynced_data_counts_as_torn() {
        let (bytes, ends) = segment(&[1, 8, 8, 1], false);
        let first = usize::try_from(ends[0].offset - begin().offset).unwrap();
        let sector = (1024 - 1000..).step_by(SECTOR_BYTES).find(|at| *at > first).unwrap();
        let mut lost = bytes.clone();
        lost[sector..sector + SECTOR_BYTES].fill(0);
        assert_eq!(scanned(&lost), (1, TailState::Torn));
        // The same bytes are damage if a writer knew that they were durable.
        let scan = scan(SALT, &lost, begin(), ends[1].offset);
        assert!(matches!(scan.rest, TailState::Damaged(_)));
    }
}
