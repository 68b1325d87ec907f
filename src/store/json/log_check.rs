//! Replays the log to check that it is complete and that each event follows from those before it.
//!
//! Opening a store replays only the events after the newest snapshot. This check starts at the oldest snapshot that
//! the log confirms, and compares the state with each later snapshot. For older events it checks only the form and
//! the chain of hashes, while time permits.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::fs::FileSystem;
use super::log::mark::{DurableMark, MarkFile};
use super::log::segment::{Scan, Segment, SegmentError, TailState, ordinals, path_of};
use super::paths::StorePaths;
use super::snapshot::{self, Snapshot};
use crate::domain::text::counted;
use crate::domain::{Event, EventKind, IssueId, Status};
use crate::store::{EventPosition, State};

/// The most faults in a report.
const MAX_FAULTS: usize = 100;
/// The most issues that a fault names.
const MAX_ISSUES: usize = 10;

/// The result of examining the log of a store.
#[derive(Clone, Debug, Default)]
pub struct LogCheck {
    /// The id of the store.
    pub store: String,
    /// The number of segments.
    pub segments: usize,
    /// The total size of the segments, in bytes.
    pub bytes: u64,
    /// The number of events in the examined segments.
    pub events: u64,
    /// The number of old segments that were skipped for lack of time.
    pub unexamined: usize,
    /// The number of the first event in the log, or that of the last event plus one if the log has none.
    pub first: u64,
    /// The position of the last event.
    pub last: EventPosition,
    /// The event number from which on events were replayed and compared.
    pub replayed_from: Option<u64>,
    /// Bytes after the last whole batch, which was never answered.
    pub torn: Option<TornEnd>,
    /// The problems that were found.
    pub faults: Vec<LogFault>,
}

/// An incomplete batch at the end of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TornEnd {
    /// The path of the segment.
    pub path: PathBuf,
    /// The offset of the first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length_bytes: u64,
}

/// A problem with the log or a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LogFault {
    /// A file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        reason: String,
    },
    /// The first line of a segment is damaged.
    #[error("the first line of {} is damaged", .0.display())]
    Header(PathBuf),
    /// A newer version wrote a file, or a line in it.
    #[error("a newer version of ait wrote to {}", .0.display())]
    Newer(PathBuf),
    /// Bytes that were valid once have changed.
    #[error("{} is damaged from byte {offset} on", path.display())]
    Bytes {
        /// The path of the segment.
        path: PathBuf,
        /// The offset of the damage.
        offset: u64,
    },
    /// The previous segment is missing.
    #[error("the segment before {} is missing", .0.display())]
    Gap(PathBuf),
    /// The events of a segment do not follow from those of the previous one.
    #[error("the events in {} do not follow from those in the segment before it", .0.display())]
    Chain(PathBuf),
    /// A segment belongs to another store.
    #[error("{} belongs to another store ({store})", path.display())]
    OtherStore {
        /// The path of the segment.
        path: PathBuf,
        /// The id of that store.
        store: String,
    },
    /// An event contradicts the state before it.
    #[error("event {number} in {} cannot have happened: {contradiction}", path.display())]
    Event {
        /// The path of the segment.
        path: PathBuf,
        /// The number of the event.
        number: u64,
        /// The contradiction.
        contradiction: Contradiction,
    },
    /// A snapshot is unusable.
    #[error("{} cannot be used: {reason}", path.display())]
    Snapshot {
        /// The path of the snapshot.
        path: PathBuf,
        /// Why it is unusable.
        reason: String,
    },
    /// A snapshot differs from the state to which the log leads.
    #[error("{} differs from what the log replays to, in {}", path.display(), named(issues, *count))]
    SnapshotDiffers {
        /// The path of the snapshot.
        path: PathBuf,
        /// The first issues that differ.
        issues: Vec<IssueId>,
        /// The number of issues that differ.
        count: usize,
    },
}

/// Describes some issues by the short ids of the first ones.
pub(super) fn named(issues: &[IssueId], count: usize) -> String {
    if count == 0 {
        return "the order of the issues, or other keys".to_owned();
    }
    let short: Vec<_> = issues.iter().map(IssueId::short).collect();
    let more = if count > issues.len() { ", …" } else { "" };
    format!("{} ({}{more})", counted(count, "issue", "issues"), short.join(", "))
}

/// Why an event cannot follow a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Contradiction {
    /// The event creates an issue that already exists.
    #[error("issue {0} already existed")]
    Exists(IssueId),
    /// The event changes an issue that does not exist.
    #[error("issue {0} did not exist")]
    Missing(IssueId),
    /// The rules forbid the event in the status of the issue.
    #[error("issue {issue} was {status}")]
    Status {
        /// The issue.
        issue: IssueId,
        /// Its status.
        status: Status,
    },
    /// The event records another previous state of the issue.
    #[error("issue {0} differed from the previous state that the event records")]
    Before(IssueId),
    /// The event records other previous top-level keys.
    #[error("the top-level keys differed from those that the event records")]
    Keys,
}

/// Returns why an event cannot follow a state, or `None` if it can.
pub(super) fn contradiction(state: &State, event: &Event) -> Option<Contradiction> {
    let id = event.issue;
    let known = state.issues.get(id);
    match &event.kind {
        EventKind::UnknownKeysEdited { keys } => {
            return (keys.before != state.unknown_keys).then_some(Contradiction::Keys);
        }
        EventKind::Filed { .. } => return known.map(|_| Contradiction::Exists(id)),
        EventKind::Imported { issue, next } => {
            let missing = next.filter(|next| state.issues.get(*next).is_none());
            return match known {
                Some(_) => Some(Contradiction::Exists(id)),
                None if issue.id != id => Some(Contradiction::Before(id)),
                None => missing.map(Contradiction::Missing),
            };
        }
        _ => {}
    }
    let Some(issue) = known else { return Some(Contradiction::Missing(id)) };
    let status = issue.status;
    let is_allowed = match &event.kind {
        EventKind::Claimed => status == Status::Created,
        EventKind::ReviewStarted => status == Status::Completed,
        EventKind::Lapsed { .. } | EventKind::TakenUp { .. } => status.is_claimed(),
        EventKind::Reopened { .. } => status.has_ended(),
        EventKind::Returned { .. }
        | EventKind::Completed { .. }
        | EventKind::Closed { .. }
        | EventKind::Rejected { .. } => status.is_open(),
        EventKind::Filed { .. }
        | EventKind::Imported { .. }
        | EventKind::Edited { .. }
        | EventKind::Changed { .. }
        | EventKind::Removed { .. }
        | EventKind::UnknownKeysEdited { .. }
        | EventKind::Commented { .. } => true,
    };
    if !is_allowed {
        return Some(Contradiction::Status { issue: id, status });
    }
    let is_same = if let EventKind::Removed { issue: removed, .. } = &event.kind {
        **removed == *issue
    } else {
        // An event has to record what it overwrites, so that it can be undone.
        let mut undone = (*issue).clone();
        event.apply(&mut undone);
        event.revert(&mut undone);
        undone == *issue
    };
    (!is_same).then_some(Contradiction::Before(id))
}

/// Compares two states. Returns the first differing issues and their number, or `None` for equal states.
pub(super) fn difference(one: &State, other: &State) -> Option<(Vec<IssueId>, usize)> {
    let ids = |state: &State| -> Vec<IssueId> {
        (0..state.issues.len()).filter_map(|position| state.issues.id_at(position)).collect()
    };
    let (ours, theirs) = (ids(one), ids(other));
    let differs = |id: &&IssueId| !one.issues.is_same_in(&other.issues, **id);
    let only_theirs = theirs.iter().filter(|id| one.issues.get(**id).is_none());
    let differing: Vec<_> = ours.iter().filter(differs).chain(only_theirs).copied().collect();
    let count = differing.len();
    let is_same = count == 0 && ours == theirs && one.unknown_keys == other.unknown_keys;
    (!is_same).then(|| (differing.into_iter().take(MAX_ISSUES).collect(), count))
}

/// A snapshot to compare with the log.
struct Candidate {
    number: u64,
    path: PathBuf,
    snapshot: Option<Snapshot>,
    is_judged: bool,
}

/// Examines the log and returns the state to which it leads, if it can be replayed to its end. Returns `None` if
/// there is no log. Segments that opening the store does not need are examined until `stop`.
pub(super) fn check(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    stop: Instant,
) -> Option<(LogCheck, Option<State>)> {
    let mut replay = Replay { fs, state: None, candidates: Vec::new(), check: LogCheck::default() };
    // The mark comes first, so that the log already has the segment that it names.
    let mark = MarkFile::new(paths.mark()).read(fs);
    let found = match ordinals(fs, &paths.log) {
        Ok(found) => found,
        Err(error) => {
            replay.fault(LogFault::Io { path: paths.log.clone(), reason: error.to_string() });
            return Some((replay.check, None));
        }
    };
    if found.is_empty() {
        return None;
    }
    replay.check.segments = found.len();
    let segments: Vec<_> = found.iter().map(|ordinal| replay.open(&paths.log, *ordinal)).collect();
    let first = segments.iter().flatten().next();
    replay.check.first = first.map_or(0, |segment| segment.begin.position.number + 1);
    replay.read_snapshots(paths);
    replay.check.store = replay.store(&segments);
    replay.check_order(&segments);
    let oldest = replay.candidates.iter().filter(|candidate| candidate.snapshot.is_some());
    let oldest = oldest.map(|candidate| candidate.number).min().unwrap_or(0);
    let begins_before = |segment: &Option<Arc<Segment>>| {
        segment.as_ref().is_some_and(|segment| segment.begin.position.number <= oldest)
    };
    let from = segments.iter().rposition(begins_before).unwrap_or(0);
    replay.forward(&segments, from, mark);
    let newest = found[found.len() - 1];
    if let Some(mark) = mark.filter(|mark| mark.ordinal > newest) {
        replay.missing(path_of(&paths.log, mark.ordinal));
    }
    replay.judge_the_rest();
    replay.backward(&segments[..=from], stop);
    Some((replay.check, replay.state))
}

struct Replay<'a> {
    fs: &'a dyn FileSystem,
    /// The state after the last event. `None` before the first usable snapshot, and after damage.
    state: Option<State>,
    candidates: Vec<Candidate>,
    check: LogCheck,
}

impl Replay<'_> {
    fn fault(&mut self, fault: LogFault) {
        if self.check.faults.len() < MAX_FAULTS && !self.check.faults.contains(&fault) {
            self.check.faults.push(fault);
        }
    }

    fn missing(&mut self, path: PathBuf) {
        self.fault(LogFault::Io { path, reason: "the file is missing".to_owned() });
    }

    fn open(&mut self, directory: &Path, ordinal: u64) -> Option<Arc<Segment>> {
        let path = path_of(directory, ordinal);
        let fault = match Segment::open(self.fs, directory, ordinal) {
            Ok(Some(segment)) => {
                self.check.bytes += segment.opened.length_bytes();
                return Some(Arc::new(segment));
            }
            Ok(None) => {
                self.missing(path);
                return None;
            }
            Err(SegmentError::Io(error)) => LogFault::Io { path, reason: error.to_string() },
            Err(SegmentError::Damaged) => LogFault::Header(path),
            Err(SegmentError::Newer) => LogFault::Newer(path),
        };
        self.fault(fault);
        None
    }

    fn read_snapshots(&mut self, paths: &StorePaths) {
        for (number, path) in snapshot::list(self.fs, paths).unwrap_or_default().into_iter().rev() {
            let snapshot = match snapshot::read(self.fs, &path) {
                Ok(snapshot) => Some(snapshot),
                Err(error) => {
                    let reason = error.to_string();
                    self.fault(LogFault::Snapshot { path: path.clone(), reason });
                    None
                }
            };
            let is_judged = snapshot.is_none();
            self.candidates.push(Candidate { number, path, snapshot, is_judged });
        }
    }

    /// Returns the id of the store: preferably one that a snapshot and a segment share.
    fn store(&self, segments: &[Option<Arc<Segment>>]) -> String {
        let of_segments: Vec<&String> =
            segments.iter().flatten().map(|segment| &segment.header.store).collect();
        let snapshots =
            self.candidates.iter().rev().filter_map(|candidate| candidate.snapshot.as_ref());
        let of_snapshots: Vec<&String> = snapshots.map(|snapshot| &snapshot.store).collect();
        let common = of_snapshots.iter().find(|store| of_segments.contains(store));
        let store = common.or_else(|| of_segments.first()).or_else(|| of_snapshots.first());
        store.map(|store| (*store).clone()).unwrap_or_default()
    }

    /// Checks that no segment is missing, and that all segments belong to one store.
    fn check_order(&mut self, segments: &[Option<Arc<Segment>>]) {
        for segment in segments.iter().flatten() {
            let store = &segment.header.store;
            if *store != self.check.store {
                self.fault(LogFault::OtherStore {
                    path: segment.path.clone(),
                    store: store.clone(),
                });
            }
        }
        for pair in segments.windows(2) {
            let [Some(before), Some(segment)] = pair else { continue };
            let previous = segment.header.previous.map(|cut| cut.ordinal);
            if previous != Some(before.ordinal) {
                self.fault(LogFault::Gap(segment.path.clone()));
            }
        }
    }

    /// Replays the segments from an index on.
    fn forward(
        &mut self,
        segments: &[Option<Arc<Segment>>],
        from: usize,
        mark: Option<DurableMark>,
    ) {
        let mut end: Option<EventPosition> = None;
        for (index, segment) in segments.iter().enumerate().skip(from) {
            let Some(segment) =
                segment.as_ref().filter(|segment| segment.header.store == self.check.store)
            else {
                (self.state, end) = (None, None);
                continue;
            };
            if end.is_some_and(|end| end != segment.begin.position) {
                self.fault(LogFault::Chain(segment.path.clone()));
                self.state = None;
            }
            self.reach(segment.begin.position);
            let marked = mark
                .filter(|mark| (mark.ordinal, mark.salt) == (segment.ordinal, segment.header.salt));
            let marked = marked.map_or(0, |mark| mark.offset);
            let Some(scan) = self.scan(segment, segments.get(index + 1), marked) else {
                (self.state, end) = (None, None);
                continue;
            };
            for event in scan.batches.iter().flat_map(|batch| &batch.events) {
                self.apply(&segment.path, event.position, &event.event);
            }
            let last = scan.batches.last().map_or(segment.begin, |batch| batch.end);
            end = Some(last.position);
            self.check.last = last.position;
            let is_damaged = !matches!(scan.rest, TailState::Nothing | TailState::Torn);
            if is_damaged {
                (self.state, end) = (None, None);
            } else if index + 1 == segments.len() && scan.length > last.offset {
                let length_bytes = scan.length - last.offset;
                let path = segment.path.clone();
                self.check.torn = Some(TornEnd { path, offset: last.offset, length_bytes });
            }
        }
    }

    /// Reads the events of a segment up to the cut, and records faults.
    fn scan(
        &mut self,
        segment: &Segment,
        next: Option<&Option<Arc<Segment>>>,
        marked: u64,
    ) -> Option<Scan> {
        let next = next.and_then(Option::as_ref).and_then(|next| next.header.previous);
        let cut = next.filter(|cut| cut.ordinal == segment.ordinal).map(|cut| cut.offset);
        let path = segment.path.clone();
        match segment.scan(self.fs, segment.begin, cut, marked) {
            Ok(scan) => {
                self.check.events +=
                    scan.batches.iter().map(|batch| batch.events.len() as u64).sum::<u64>();
                match scan.rest {
                    TailState::Nothing | TailState::Torn => {}
                    TailState::Damaged(offset) => self.fault(LogFault::Bytes { path, offset }),
                    TailState::Newer(_) => self.fault(LogFault::Newer(path)),
                }
                Some(scan)
            }
            Err(error) => {
                self.fault(LogFault::Io { path, reason: error.to_string() });
                None
            }
        }
    }

    fn apply(&mut self, path: &Path, position: EventPosition, event: &Event) {
        if let Some(state) = &mut self.state {
            let contradiction = contradiction(state, event);
            let is_applied = state.apply(event, position).is_ok();
            if !is_applied {
                self.state = None;
            }
            if let Some(contradiction) = contradiction {
                let (path, number) = (path.to_owned(), position.number);
                self.fault(LogFault::Event { path, number, contradiction });
            }
        }
        self.reach(position);
    }

    /// Compares the snapshots at a position that the log has reached.
    fn reach(&mut self, position: EventPosition) {
        let mut faults = Vec::new();
        for candidate in &mut self.candidates {
            if candidate.number != position.number || candidate.is_judged {
                continue;
            }
            candidate.is_judged = true;
            let Some(snapshot) = &candidate.snapshot else { continue };
            let path = candidate.path.clone();
            if snapshot.store != self.check.store {
                let reason = format!("it belongs to another store ({})", snapshot.store);
                faults.push(LogFault::Snapshot { path, reason });
            } else if snapshot.state.position != position {
                let reason = "the log does not confirm it".to_owned();
                faults.push(LogFault::Snapshot { path, reason });
            } else {
                let replayed = self.state.replace(snapshot.state.clone());
                self.check.replayed_from.get_or_insert(position.number);
                let differing = replayed.and_then(|state| difference(&state, &snapshot.state));
                faults.extend(differing.map(|(issues, count)| LogFault::SnapshotDiffers {
                    path,
                    issues,
                    count,
                }));
            }
        }
        faults.into_iter().for_each(|fault| self.fault(fault));
    }

    /// Records a fault for each snapshot whose position the log did not reach.
    fn judge_the_rest(&mut self) {
        let last = self.check.last.number;
        let unreached = self.candidates.iter().filter(|candidate| !candidate.is_judged);
        let faults = unreached.map(|candidate| {
            let reason = if candidate.number > last {
                format!("the log ends at event {last}, before it")
            } else {
                "the log does not confirm it".to_owned()
            };
            LogFault::Snapshot { path: candidate.path.clone(), reason }
        });
        for fault in faults.collect::<Vec<_>>() {
            self.fault(fault);
        }
    }

    /// Checks the form of all segments except the last one given, newest first, while time permits.
    fn backward(&mut self, segments: &[Option<Arc<Segment>>], stop: Instant) {
        for index in (0..segments.len() - 1).rev() {
            if Instant::now() >= stop {
                self.check.unexamined = index + 1;
                return;
            }
            let Some(segment) = &segments[index] else { continue };
            let next = segments[index + 1].clone();
            let Some(scan) = self.scan(segment, Some(&next), 0) else { continue };
            let end = scan.batches.last().map_or(segment.begin, |batch| batch.end).position;
            let is_whole = matches!(scan.rest, TailState::Nothing | TailState::Torn);
            if let Some(next) = next.filter(|next| is_whole && next.begin.position != end) {
                self.fault(LogFault::Chain(next.path.clone()));
            }
        }
    }
}
