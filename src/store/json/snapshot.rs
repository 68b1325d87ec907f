//! Snapshots: the state after an event, so that opening a store replays only newer events.
//!
//! A snapshot has the form of `issues.json`, with one more key at the end, on one line:
//!
//! ```json
//!   "snapshot": {"number":17,"hash":"0123456789abcdef","store":"…","checksum":"xxh3-128:…"}
//! ```
//!
//! `leases` has the leases of claims by issue, if there are any. `number` and `hash` are the position of the event, and
//! `store` is the id of the log. The checksum is the XXH3-128 of all bytes before its digits.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::format::{self, FormatError};
use super::fs::{FileSystem, Rename, read_file};
use super::paths::StorePaths;
use super::render::{RenderedFile, render};
use crate::domain::{IssueId, Lease};
use crate::store::{EventPosition, State};

const BEGIN: &[u8] = b",\n  \"snapshot\": ";
const BEFORE_DIGITS: &[u8] = b",\"checksum\":\"xxh3-128:";
const BEHIND_DIGITS: &[u8] = b"\"}\n}\n";
const DIGITS: usize = 32;

/// The metadata of a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct SnapshotMetadata {
    number: u64,
    hash: String,
    store: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    leases: BTreeMap<IssueId, Lease>,
}

/// A snapshot that was read.
#[derive(Debug)]
pub struct Snapshot {
    /// The state.
    pub state: State,
    /// The id of the store that it belongs to.
    pub store: String,
    /// The size in bytes.
    pub length_bytes: u64,
}

/// Why a file cannot be read as a snapshot.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file does not exist.
    #[error("the file is missing")]
    Missing,
    /// The checksum does not match.
    #[error("the checksum does not match")]
    Damaged,
    /// The content is invalid.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// Writes a durable snapshot of a state and returns its size in bytes.
///
/// # Errors
///
/// I/O errors. No snapshot is left behind then.
pub fn write(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    state: &State,
    store: &str,
) -> io::Result<u64> {
    let EventPosition { number, hash } = state.position;
    let target = paths.snapshot(number, store);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let temp = paths.directory.join(format!(".{name}.tmp"));
    let about = SnapshotMetadata {
        number,
        hash: format!("{hash:016x}"),
        store: store.to_owned(),
        leases: state.issues.leases().map(|(id, lease)| (id, lease.clone())).collect(),
    };
    // A process that died while writing the same snapshot may have left it.
    let _ = fs.remove(&temp);
    let rendered = render(fs, &temp, &paths.issues, |sink| {
        format::write_open(&state.document(), sink)?;
        sink.write_all(BEGIN)?;
        let about = serde_json::to_vec(&about)?;
        sink.write_all(about.strip_suffix(b"}").unwrap_or(&about))?;
        sink.write_all(BEFORE_DIGITS)?;
        let digits = format!("{:032x}", sink.digest());
        sink.write_all(digits.as_bytes())?;
        sink.write_all(BEHIND_DIGITS)
    });
    let written = rendered.and_then(|RenderedFile { length_bytes, .. }| {
        fs.rename(&temp, &target, Rename::Replace)?;
        fs.sync_directory(&paths.directory)?;
        Ok(length_bytes)
    });
    if written.is_err() {
        let _ = fs.remove(&temp);
    }
    written
}

/// Lists the snapshots of a store by event number, newest first. Snapshots of a replaced log may be among them.
///
/// # Errors
///
/// The directory cannot be read.
pub fn list(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<Vec<(u64, PathBuf)>> {
    let names = fs.list(&paths.directory)?;
    let numbered =
        |name: &String| Some((StorePaths::snapshot_number(name)?, paths.directory.join(name)));
    let mut found: Vec<_> = names.iter().filter_map(numbered).collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(found)
}

/// Reads a snapshot.
///
/// # Errors
///
/// The file is missing, damaged or invalid.
pub fn read(fs: &dyn FileSystem, path: &Path) -> Result<Snapshot, SnapshotError> {
    let mut bytes = read_file(fs, path)?.ok_or(SnapshotError::Missing)?;
    let length_bytes = bytes.len() as u64;
    let (end, about) = sealed(&bytes).ok_or(SnapshotError::Damaged)?;
    let hash = u64::from_str_radix(&about.hash, 16).map_err(|_| SnapshotError::Damaged)?;
    bytes.truncate(end);
    bytes.extend_from_slice(format::CLOSE);
    let mut state = State::of(format::parse(bytes)?);
    state.position = EventPosition { number: about.number, hash };
    state.issues.set_leases(about.leases);
    Ok(Snapshot { state, store: about.store, length_bytes })
}

/// Returns the end of the document and the metadata, if the checksum matches.
fn sealed(bytes: &[u8]) -> Option<(usize, SnapshotMetadata)> {
    let digits_end = bytes.strip_suffix(BEHIND_DIGITS)?.len();
    let digits_begin = digits_end.checked_sub(DIGITS)?;
    let digits = str::from_utf8(&bytes[digits_begin..digits_end]).ok()?;
    let checksum = u128::from_str_radix(digits, 16).ok()?;
    let begin = memmem::rfind(&bytes[..digits_begin], BEGIN)?;
    let about = &bytes[begin + BEGIN.len()..digits_begin].strip_suffix(BEFORE_DIGITS)?;
    let about = serde_json::from_slice(&[about, &b"}"[..]].concat()).ok()?;
    (xxh3_128(&bytes[..digits_begin]) == checksum).then_some((begin, about))
}
