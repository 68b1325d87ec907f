//! Opening a store: the newest snapshot that the log confirms, and the events behind it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{self, FormatError};
use super::fs::{FileFingerprint, FileSystem, TO_THE_END, Unresolved};
use super::log::segment::{SegmentError, ordinals, path_of};
use super::log::{Cut, Segment, Tail};
use super::place::Place;
use super::snapshot::{self, Snapshot};
use crate::store::backup::format as backup;
use crate::store::{NumberedEvent, Position, State, StoreError};

/// Why the files describe no state.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no directory for the file.
    #[error("the directory {} does not exist: create it, or choose another file", .0.display())]
    MissingDirectory(PathBuf),
    /// A file cannot be read.
    #[error("{}: {source}: make it readable, or choose another file", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: Arc<io::Error>,
    },
    /// The file of the issues is not valid.
    #[error("{}, {source}: correct it there, or take a good copy from version control or a backup; it is left untouched until it is valid", path.display())]
    Format {
        /// Which one.
        path: PathBuf,
        /// Where, and what is wrong.
        source: FormatError,
    },
    /// No snapshot can be used.
    #[error("no snapshot in {} can be used ({why}): run `ait doctor`, or restore a backup", directory.display())]
    NoSnapshot {
        /// Where they are.
        directory: PathBuf,
        /// What is wrong with them.
        why: String,
    },
    /// A newer version made the log.
    #[error("{} was made by a newer version of ait: use that version", .0.display())]
    Newer(PathBuf),
    /// The first line of a segment is damaged, or a segment is missing.
    #[error("{}: {why}: run `ait doctor`, or restore a backup", path.display())]
    Segment {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Newer(_) => Self::Damaged(error.to_string()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

pub(super) fn unreadable(path: &Path, source: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), source: Arc::new(source) }
}

/// A store that has a log.
pub(super) struct Opened {
    /// The state after the last whole batch.
    pub state: State,
    /// The newest segment.
    pub segment: Arc<Segment>,
    /// Where its last whole batch ends.
    pub tail: Tail,
    /// How much of the file was read.
    pub length: u64,
    /// The end of the last batch that is known to be durable, and the position of the newest such event: a segment
    /// may begin with batches that the snapshot has.
    pub durable: (Tail, Position),
    /// The events behind that.
    pub undurable: Vec<NumberedEvent>,
    /// What is damaged, so that nothing may be changed.
    pub damage: Option<Damage>,
    /// How many bytes of log the snapshot lacks, and how many it has itself.
    pub replayed_bytes: u64,
    pub snapshot_bytes: u64,
    /// How many segments there are.
    pub segments: usize,
}

/// What is wrong with a log whose beginning can be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Bytes changed that were whole once.
    Bytes {
        /// In which file.
        path: PathBuf,
        /// From which offset on.
        offset: u64,
    },
    /// A newer version wrote a line.
    Newer {
        /// In which file.
        path: PathBuf,
    },
    /// An event does not follow from the state before it.
    Event {
        /// In which file.
        path: PathBuf,
        /// Its number.
        number: u64,
    },
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes { path, offset } => write!(
                f,
                "{} is damaged from byte {offset} on: run `ait doctor`; `ait backup --partial` saves what can be \
                 read, and `ait restore` starts over from a backup",
                path.display()
            ),
            Self::Newer { path } => {
                write!(
                    f,
                    "{} was written by a newer version of ait: use that version",
                    path.display()
                )
            }
            Self::Event { path, number } => write!(
                f,
                "event {number} in {} does not follow from the events before it: run `ait doctor`",
                path.display()
            ),
        }
    }
}

/// Follows symbolic links to the files of a store.
pub(super) fn place_of(fs: &dyn FileSystem, path: &Path) -> Result<Place, OpenError> {
    fs.resolve(path).map(Place::of).map_err(|Unresolved { directory, source }| {
        if source.kind() == io::ErrorKind::NotFound {
            OpenError::MissingDirectory(directory)
        } else {
            unreadable(&directory, source)
        }
    })
}

/// The file of the issues, alone.
pub(super) struct IssuesFile {
    pub state: State,
    pub fingerprint: FileFingerprint,
    pub hash: u128,
}

/// Reads the file of the issues; `None` when there is none.
pub(super) fn read_issues(
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
    // A copy of a backup is an `issues.json` too.
    backup::forget(&mut document.extra);
    Ok(Some(IssuesFile { state: State::of(document), fingerprint, hash }))
}

/// Opens a store by its log; `None` when it has none. `mark` is how much of which segment is durable.
pub(super) fn open(
    fs: &dyn FileSystem,
    place: &Place,
    mark: Option<super::log::DurableMark>,
) -> Result<Option<Opened>, OpenError> {
    let ordinals = ordinals(fs, &place.log).map_err(|source| unreadable(&place.log, source))?;
    if ordinals.is_empty() {
        return Ok(None);
    }
    let segments = segments(fs, place, &ordinals)?;
    let (snapshot, from) = confirmed(fs, place, &segments)?;
    let mut opened = Opened {
        durable: (segments[from].begin, snapshot.state.position),
        state: snapshot.state,
        segment: Arc::clone(&segments[from]),
        tail: segments[from].begin,
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
            break;
        }
    }
    Ok(Some(opened))
}

/// Opens all segments and checks that each goes on from the one before.
fn segments(
    fs: &dyn FileSystem,
    place: &Place,
    ordinals: &[u64],
) -> Result<Vec<Arc<Segment>>, OpenError> {
    let mut segments: Vec<Arc<Segment>> = Vec::with_capacity(ordinals.len());
    for &ordinal in ordinals {
        let path = path_of(&place.log, ordinal);
        let wrong = |why: &str| OpenError::Segment { path: path.clone(), why: why.to_owned() };
        let segment = match Segment::open(fs, &place.log, ordinal) {
            Ok(Some(segment)) => Arc::new(segment),
            // It was pruned just now, or is being replaced.
            Ok(None) if segments.is_empty() => continue,
            Ok(None) => return Err(wrong("it is gone")),
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
            path: place.log.clone(),
            why: "its segments are gone".to_owned(),
        });
    }
    Ok(segments)
}

/// The newest snapshot that can be used, and the segment with the first event behind it.
fn confirmed(
    fs: &dyn FileSystem,
    place: &Place,
    segments: &[Arc<Segment>],
) -> Result<(Snapshot, usize), OpenError> {
    let found = snapshot::list(fs, place);
    let mut why = "there is none".to_owned();
    for (_, path) in found.map_err(|source| unreadable(&place.directory, source))? {
        let mut refuse = |reason: &dyn std::fmt::Display| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            why = format!("{name}: {reason}");
        };
        match snapshot::read(fs, &path) {
            Err(error) => refuse(&error),
            Ok(snapshot) if snapshot.store != segments[0].header.store => {
                refuse(&"it belongs to another log");
            }
            Ok(snapshot) => match holder(fs, place, segments, snapshot.state.position)? {
                Some(from) => return Ok((snapshot, from)),
                None => refuse(&"the log does not confirm it"),
            },
        }
    }
    Err(OpenError::NoSnapshot { directory: place.directory.clone(), why })
}

/// The segment from which on a snapshot at this position is to be continued, if its log contains the position.
fn holder(
    fs: &dyn FileSystem,
    place: &Place,
    segments: &[Arc<Segment>],
    position: Position,
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
        scanned.map_err(|source| unreadable(&path_of(&place.log, segment.ordinal), source))?;
    let mut events = scan.batches.iter().flat_map(|batch| &batch.events);
    Ok(events.any(|event| event.position == position).then_some(index))
}

impl Opened {
    /// Applies the events of the next segment that the state does not have yet.
    fn replay(
        &mut self,
        fs: &dyn FileSystem,
        segment: &Arc<Segment>,
        cut: Option<u64>,
        marked: u64,
    ) -> Result<(), OpenError> {
        self.segment = Arc::clone(segment);
        (self.tail, self.length) = (segment.begin, segment.begin.offset);
        // A segment begins where its writer knew everything before it to be durable, and so is a snapshot.
        self.durable = (segment.begin, self.state.position);
        self.undurable.clear();
        let snapshot = self.state.position.number;
        let failed = |source| unreadable(&segment.path, source);
        let scan = segment.scan(fs, segment.begin, cut, marked).map_err(failed)?;
        self.length = scan.length;
        let durable = scan.durable.max(marked);
        for batch in scan.batches {
            if batch.end.position.number > self.state.position.number {
                self.replayed_bytes += batch.end.offset - self.tail.offset;
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
            self.tail = batch.end;
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
    /// The damage that a scan of a file has found.
    pub(super) fn of(rest: &super::log::segment::Rest, path: &Path) -> Option<Self> {
        use super::log::segment::Rest;
        match rest {
            Rest::Nothing | Rest::Torn => None,
            Rest::Damaged(offset) => Some(Self::Bytes { path: path.to_owned(), offset: *offset }),
            Rest::Newer(_) => Some(Self::Newer { path: path.to_owned() }),
        }
    }
}
