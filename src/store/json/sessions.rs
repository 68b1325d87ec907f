//! Which clients' HTTP sessions were ended, for all processes that share the store.
//!
//! `issues.json.sessions` has a line for each: XXH3-64 of the session's text as 16 lower-case hex
//! digits, and a line feed. Lines are appended with one call and without a lock or a sync: a session
//! that a power cut brings back can be ended again, and does no harm until then. Lines that are
//! anything else are passed over. A file that has grown beyond 1 MiB is replaced by its newest
//! half, so that a session may be forgotten when tens of thousands were ended after it.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use super::fs::{FileSystem, Stamp};
use super::load::unreadable;
use super::replica::Replica;
use super::session::refused;
use super::view::Place;
use crate::store::StoreError;

/// A larger file is cut in half.
const MAX_BYTES: usize = 1024 * 1024;
/// The length of a line with its line feed.
const LINE_BYTES: usize = 17;
/// How often a line is appended anew because the file was replaced meanwhile.
const MAX_TRIES: usize = 5;

/// Takes note that a session was ended.
pub(super) fn end(replica: &Replica, session: &str) -> Result<(), StoreError> {
    let (fs, place) = (&*replica.fs, replica.place()?);
    let (path, line) = (&place.sessions, line_of(session));
    let failed = |source| refused(path, &source);
    for _ in 0..MAX_TRIES {
        let known = read(fs, path)?;
        if has_line(&known, &line) {
            return Ok(());
        }
        if known.len() > MAX_BYTES {
            shorten(fs, &place).map_err(failed)?;
        }
        // What a full disk left of another line must not spoil this one.
        let is_torn = known.last().is_some_and(|byte| *byte != b'\n');
        let start = if is_torn { "\n" } else { "" };
        let file = fs.append(path, format!("{start}{line}\n").as_bytes()).map_err(failed)?;
        // Whoever replaced the file meanwhile may not have seen the line.
        if fs.is_at(&file, path).map_err(failed)? {
            return Ok(());
        }
    }
    Err(StoreError::Busy(format!("{} is replaced again and again", path.display())))
}

/// What the file held when it was last read; requests ask about sessions all the time.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<Lines>>);

/// The lines of a file.
#[derive(Debug)]
struct Lines {
    stamp: Stamp,
    hashes: HashSet<u64>,
    /// Where the last whole line ends, and what stands before that.
    end: u64,
    mark: Vec<u8>,
}

impl Known {
    /// Tells whether a session was ended, as far as that is still remembered.
    pub fn is_ended(&self, replica: &Replica, session: &str) -> Result<bool, StoreError> {
        let (fs, path) = (&*replica.fs, replica.place()?.sessions);
        let hash = xxh3_64(session.as_bytes());
        let failed = |source| unreadable(&path, source);
        let Some(stamp) = fs.stamp(&path).map_err(failed)? else {
            return Ok(false);
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lines) = known.as_ref().filter(|lines| lines.stamp == stamp) {
            return Ok(lines.hashes.contains(&hash));
        }
        let Some(lines) = Lines::read(fs, &path, known.take()).map_err(failed)? else {
            return Ok(false);
        };
        Ok(known.insert(lines).hashes.contains(&hash))
    }
}

impl Lines {
    /// Reads a file, or only what was appended to it since it was read before; `None` when there is no
    /// file.
    fn read(fs: &dyn FileSystem, path: &Path, before: Option<Self>) -> io::Result<Option<Self>> {
        let Some(open) = fs.open(path)? else { return Ok(None) };
        // Looked at before it is read, so that what is appended meanwhile is read again.
        let stamp = fs.stamp_open(&open.file)?;
        if let Some(before) = before.filter(|before| stamp.has_grown(&before.stamp)) {
            let bytes = fs.read_at(&open.file, before.end - before.mark.len() as u64)?;
            // Another file may have got the number of one that is gone.
            if let Some(rest) = bytes.strip_prefix(&before.mark[..]) {
                return Ok(Some(Self { stamp, ..before }.with(rest)));
            }
        }
        let (hashes, mark) = (HashSet::new(), Vec::new());
        let bytes = fs.read_at(&open.file, 0)?;
        Ok(Some(Self { stamp, hashes, end: 0, mark }.with(&bytes)))
    }

    fn with(mut self, bytes: &[u8]) -> Self {
        self.hashes.extend(bytes.split(|byte| *byte == b'\n').filter_map(hash_in));
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.end += whole as u64;
        if whole > 0 {
            self.mark = bytes[whole.saturating_sub(LINE_BYTES)..whole].to_vec();
        }
        self
    }
}

/// The hash in a line; `None` when it is anything else.
fn hash_in(line: &[u8]) -> Option<u64> {
    let is_hash = line.len() == LINE_BYTES - 1
        && line.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let text = str::from_utf8(line).ok().filter(|_| is_hash)?;
    u64::from_str_radix(text, 16).ok()
}

fn line_of(session: &str) -> String {
    format!("{:016x}", xxh3_64(session.as_bytes()))
}

fn has_line(known: &[u8], line: &str) -> bool {
    known.split(|byte| *byte == b'\n').any(|known| known == line.as_bytes())
}

fn read(fs: &dyn FileSystem, path: &Path) -> Result<Vec<u8>, StoreError> {
    let contents = fs.read(path).map_err(|source| unreadable(path, source))?;
    Ok(contents.map_or_else(Vec::new, |contents| contents.bytes.into()))
}

/// Replaces the file by its newest half. The lock keeps others from doing the same, not from appending:
/// what they append to the old file is taken over until nobody can find it any more, and who appends to
/// it later notices that.
fn shorten(fs: &dyn FileSystem, place: &Place) -> io::Result<()> {
    let path = &place.sessions;
    let Some(_lock) = fs.try_lock(&place.lock)? else {
        // The next one will do it.
        return Ok(());
    };
    let Some(old) = fs.open(path)? else { return Ok(()) };
    let bytes = fs.read_at(&old.file, 0)?;
    if bytes.len() <= MAX_BYTES {
        return Ok(());
    }
    let half = &bytes[bytes.len() / 2..];
    let begin = half.iter().position(|byte| *byte == b'\n').map_or(half.len(), |at| at + 1);
    let mut temp = fs.create_temp(path, path)?;
    fs.write(&mut temp, &half[begin..])?;
    fs.replace(temp, path)?;
    let late = fs.read_at(&old.file, bytes.len() as u64)?;
    if !late.is_empty() {
        fs.append(path, &late)?;
    }
    Ok(())
}
