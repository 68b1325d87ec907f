//! Opens a store: the newest snapshot that the log confirms, and the events after it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{self, FormatError};
use super::fs::{FileFingerprint, FileSystem, ResolveError, TO_THE_END};
use super::log::segment::{SegmentError, ordinals, path_of};
use super::log::{BatchEnd, Cut, Segment};
use super::paths::StorePaths;
use super::snapshot::{self, Snapshot};
use crate::store::backup::format as backup;
use crate::store::{EventPosition, NumberedEvent, State, StoreError};

/// Why the files of a store cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory of the file does not exist.
    #[error("the directory {} does not exist: create it, or choose another file", .0.display())]
    MissingDirectory(PathBuf),
    /// A directory of the store is a symbolic link.
    #[error("{} is a symbolic link, which is not followed: remove it", .0.display())]
    Link(PathBuf),
    /// A file cannot be read.
    #[error("{}: {source}: make it readable, or choose another file", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: Arc<io::Error>,
    },
    /// `issues.json` is invalid.
    #[error(
        "{}, {source}: correct it there{}; the file stays untouched until it is valid",
        path.display(),
        // A copy from version control would have the issues of one side only.
        if source.is_git_conflict() {
            ", with the issues of both sides"
        } else {
            ", or restore a good copy from version control or a backup"
        }
    )]
    Format {
        /// The path of the file.
        path: PathBuf,
        /// The position and the cause.
        source: FormatError,
    },
    /// No snapshot is usable.
    #[error("no snapshot in {} can be used ({why})", directory.display())]
    NoSnapshot {
        /// The directory of the snapshots.
        directory: PathBuf,
        /// Why they are unusable.
        why: String,
    },
    /// A newer version created the log.
    #[error("{} was written by a newer version of ait: use that version", .0.display())]
    Newer(PathBuf),
    /// The first line of a segment is damaged, or a segment is missing.
    #[error("{}: {why}", path.display())]
    Segment {
        /// The path of the segment.
        path: PathBuf,
        /// The cause.
        why: String,
    },
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Newer(path) => Self::Newer(path.display().to_string()),
            OpenError::NoSnapshot { .. } | OpenError::Segment { .. } => {
                Self::Corrupt(error.to_string())
            }
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

pub(super) fn unreadable(path: &Path, source: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), source: Arc::new(source) }
}

/// The state of a store with a log, as read from its files.
pub(super) struct Opened {
    /// The state after the last whole batch.
    pub state: State,
    /// The newest segment.
    pub segment: Arc<Segment>,
    /// The end of its last whole batch.
    pub last_batch: BatchEnd,
    /// How much of the file was read, in bytes.
    pub length: u64,
    /// The end of the last batch that is known to be durable, and the position of the newest durable event. They may
    /// differ, because a segment may begin with batches that the snapshot contains.
    pub durable: (BatchEnd, EventPosition),
    /// The events after that.
    pub undurable: Vec<NumberedEvent>,
    /// The damage that was found. If there is any, the store is read-only.
    pub damage: Option<Damage>,
    /// The size of the log after the snapshot, and the size of the snapshot, in bytes.
    pub replayed_bytes: u64,
    pub snapshot_bytes: u64,
    /// The number of segments.
    pub segments: usize,
}

/// Damage to a log whose beginning can be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Bytes that were valid once have changed.
    Bytes {
        /// The path of the segment.
        path: PathBuf,
        /// The offset of the damage.
        offset: u64,
    },
    /// The newest segment is missing: the durable mark names it.
    Missing {
        /// The path of the segment.
        path: PathBuf,
    },
    /// A newer version wrote a line.
    Newer {
        /// The path of the segment.
        path: PathBuf,
    },
    /// An event does not follow from the state before it.
    Event {
        /// The path of the segment.
        path: PathBuf,
        /// The number of the event.
        number: u64,
    },
}

impl From<&Damage> for StoreError {
    fn from(damage: &Damage) -> Self {
        match damage {
            Damage::Newer { path } => Self::Newer(path.display().to_string()),
            Damage::Bytes { .. } | Damage::Missing { .. } | Damage::Event { .. } => {
                Self::Damaged(damage.to_string())
            }
        }
    }
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes { path, offset } => {
                write!(f, "{} is damaged from byte {offset} on", path.display())
            }
            Self::Missing { path } => {
                write!(f, "{} is missing, with the newest changes", path.display())
            }
            Self::Newer { path } => {
                write!(
                    f,
                    "{} was written by a newer version of ait: use that version",
                    path.display()
                )
            }
            Self::Event { path, number } => write!(
                f,
                "event {number} in {} does not follow from the events before it",
                path.display()
            ),
        }
    }
}

/// Resolves the paths of a store. Follows symbolic links to `issues.json`, but no link to what is beside it: a
/// repository may carry links into any directory of the user.
pub(in crate::store) fn paths_of(
    fs: &dyn FileSystem,
    path: &Path,
) -> Result<StorePaths, OpenError> {
    let resolved = fs.resolve(path).map_err(|ResolveError { directory, source }| {
        if source.kind() == io::ErrorKind::NotFound {
            OpenError::MissingDirectory(directory)
        } else {
            unreadable(&directory, source)
        }
    })?;
    let paths = StorePaths::of(resolved);
    for directory in paths.directories() {
        match fs.fingerprint(&directory) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(OpenError::Link(directory));
            }
            _ => {}
        }
    }
    Ok(paths)
}

/// The content of `issues.json`.
pub(in crate::store) struct IssuesFile {
    pub state: State,
    pub fingerprint: FileFingerprint,
    pub hash: u128,
}

/// Reads `issues.json`. Returns `None` if it does not exist.
pub(in crate::store) fn read_issues(
    fs: &dyn FileSystem,
    path: &Path,
) -> Result<Option<IssuesFile>, OpenError> {
    let failed = |source| unreadable(path, source);
    let Some(open) = fs.open(path).map_err(failed)? else { return Ok(None) };
    let fingerprint = fs.fingerprint_of(&open.file).map_err(failed)?;
    let bytes = fs.read_at(&open.file, 0, TO_THE_END).map_err(failed)?;
    let hash = xxhash_rust::xxh3::xxh3_128(&bytes);
    let mut document = format::parse(bytes)
        .map_err(|source| OpenError::Format { path: path.to_owned(), source })?;
    // A copied backup may serve as `issues.json`.
    backup::forget(&mut document.unknown_keys);
    Ok(Some(IssuesFile { state: State::of(document), fingerprint, hash }))
}

/// Opens a store by its log. Returns `None` if there is no log. `mark` says how much of which segment is durable.
pub(super) fn open(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    mark: Option<super::log::DurableMark>,
) -> Result<Option<Opened>, OpenError> {
    let ordinals = ordinals(fs, &paths.log).map_err(|source| unreadable(&paths.log, source))?;
    if ordinals.is_empty() {
        return Ok(None);
    }
    let segments = segments(fs, paths, &ordinals)?;
    let (snapshot, from) = confirmed(fs, paths, &segments)?;
    let mut opened = Opened {
        durable: (segments[from].begin, snapshot.state.position),
        state: snapshot.state,
        segment: Arc::clone(&segments[from]),
        last_batch: segments[from].begin,
        length: segments[from].begin.offset,
        undurable: Vec::new(),
        damage: None,
        replayed_bytes: 0,
        snapshot_bytes: snapshot.length_bytes,
        segments: segments.len(),
    };
    for (place, segment) in segments.iter().enumerate().skip(from) {
        let cut =
            segments.get(place + 1).and_then(|next| next.header.previous).map(|cut| cut.offset);
        let marked =
            mark.filter(|mark| (mark.ordinal, mark.salt) == (segment.ordinal, segment.header.salt));
        opened.replay(fs, segment, cut, marked.map_or(0, |mark| mark.offset))?;
        if opened.damage.is_some() {
            return Ok(Some(opened));
        }
    }
    opened.damage = mark
        .filter(|mark| mark.ordinal > opened.segment.ordinal)
        .map(|mark| Damage::Missing { path: path_of(&paths.log, mark.ordinal) });
    Ok(Some(opened))
}

/// Opens all segments and checks that each continues the previous one.
fn segments(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    ordinals: &[u64],
) -> Result<Vec<Arc<Segment>>, OpenError> {
    let mut segments: Vec<Arc<Segment>> = Vec::with_capacity(ordinals.len());
    for &ordinal in ordinals {
        let path = path_of(&paths.log, ordinal);
        let wrong = |why: &str| OpenError::Segment { path: path.clone(), why: why.to_owned() };
        let segment = match Segment::open(fs, &paths.log, ordinal) {
            Ok(Some(segment)) => Arc::new(segment),
            // It was just pruned, or is being replaced.
            Ok(None) if segments.is_empty() => continue,
            Ok(None) => return Err(wrong("the file is missing")),
            Err(SegmentError::Newer) => return Err(OpenError::Newer(path)),
            Err(SegmentError::Io(source)) => return Err(unreadable(&path, source)),
            Err(error @ SegmentError::Damaged) => return Err(wrong(&error.to_string())),
        };
        if let Some(before) = segments.last() {
            let follows = segment
                .header
                .previous
                .is_some_and(|Cut { ordinal, .. }| ordinal == before.ordinal);
            if !follows || segment.header.store != before.header.store {
                return Err(wrong("a segment before it is missing"));
            }
        }
        segments.push(segment);
    }
    if segments.is_empty() {
        return Err(OpenError::Segment {
            path: paths.log.clone(),
            why: "all segments are missing".to_owned(),
        });
    }
    Ok(segments)
}

/// Returns the newest usable snapshot, and the index of the segment that holds the next event.
fn confirmed(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    segments: &[Arc<Segment>],
) -> Result<(Snapshot, usize), OpenError> {
    let found = snapshot::list(fs, paths);
    let mut why = "there is none".to_owned();
    for (_, path) in found.map_err(|source| unreadable(&paths.directory, source))? {
        let mut refuse = |reason: &dyn std::fmt::Display| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            why = format!("{name}: {reason}");
        };
        match snapshot::read(fs, &path) {
            Err(error) => refuse(&error),
            Ok(snapshot) if snapshot.store != segments[0].header.store => {
                refuse(&"it belongs to another log");
            }
            Ok(snapshot) => match holder(fs, paths, segments, snapshot.state.position)? {
                Some(from) => return Ok((snapshot, from)),
                None => refuse(&"the log does not confirm it"),
            },
        }
    }
    Err(OpenError::NoSnapshot { directory: paths.directory.clone(), why })
}

/// Returns the index of the segment that continues a snapshot at this position, if the log contains the position.
fn holder(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    segments: &[Arc<Segment>],
    position: EventPosition,
) -> Result<Option<usize>, OpenError> {
    let bases = segments.iter().map(|segment| segment.begin.position);
    let Some(index) = bases.clone().rposition(|base| base.number <= position.number) else {
        return Ok(None);
    };
    let segment = &segments[index];
    if segment.begin.position.number == position.number {
        return Ok((segment.begin.position == position).then_some(index));
    }
    let scanned = segment.scan(fs, segment.begin, None, 0);
    let scan =
        scanned.map_err(|source| unreadable(&path_of(&paths.log, segment.ordinal), source))?;
    let mut events = scan.batches.iter().flat_map(|batch| &batch.events);
    Ok(events.any(|event| event.position == position).then_some(index))
}

/// Returns true if the log contains the event at a position, or pruned it.
pub(super) fn has_passed(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    position: EventPosition,
) -> Result<bool, OpenError> {
    let ordinals = ordinals(fs, &paths.log).map_err(|source| unreadable(&paths.log, source))?;
    let segments = segments(fs, paths, &ordinals)?;
    let is_pruned = segments[0].begin.position.number > position.number;
    Ok(is_pruned || holder(fs, paths, &segments, position)?.is_some())
}

impl Opened {
    /// Applies the events of the next segment that the state lacks.
    fn replay(
        &mut self,
        fs: &dyn FileSystem,
        segment: &Arc<Segment>,
        cut: Option<u64>,
        marked: u64,
    ) -> Result<(), OpenError> {
        self.segment = Arc::clone(segment);
        (self.last_batch, self.length) = (segment.begin, segment.begin.offset);
        // Everything before the first event of a segment is durable, and so is a snapshot.
        self.durable = (segment.begin, self.state.position);
        self.undurable.clear();
        let snapshot = self.state.position.number;
        let failed = |source| unreadable(&segment.path, source);
        let scan = segment.scan(fs, segment.begin, cut, marked).map_err(failed)?;
        self.length = scan.length;
        let durable = scan.durable.max(marked);
        for batch in scan.batches {
            if batch.end.position.number > self.state.position.number {
                self.replayed_bytes += batch.end.offset - self.last_batch.offset;
            }
            for event in batch.events {
                if event.position.number <= self.state.position.number {
                    self.undurable.push(event);
                    continue;
                }
                if self.state.apply(&event.event, event.position).is_err() {
                    let (path, number) = (segment.path.clone(), event.position.number);
                    self.damage = Some(Damage::Event { path, number });
                    return Ok(());
                }
                self.undurable.push(event);
            }
            self.last_batch = batch.end;
            if batch.end.offset <= durable || batch.end.position.number <= snapshot {
                self.durable = (batch.end, self.state.position);
                self.undurable.clear();
            }
        }
        self.damage = Damage::of(&scan.rest, &segment.path);
        Ok(())
    }
}

impl Damage {
    /// Returns the damage that a scan of a file found, if any.
    pub(super) fn of(rest: &super::log::segment::TailState, path: &Path) -> Option<Self> {
        use super::log::segment::TailState;
        match rest {
            TailState::Nothing | TailState::Torn => None,
            TailState::Damaged(offset) => {
                Some(Self::Bytes { path: path.to_owned(), offset: *offset })
            }
            TailState::Newer(_) => Some(Self::Newer { path: path.to_owned() }),
        }
    }
}
