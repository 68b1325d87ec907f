//! Replaying the log to see whether it is whole, and whether each event follows from those before it.
//!
//! Opening a store reads what comes behind the newest snapshot. This begins with the oldest snapshot that the log
//! confirms, and compares the state with each later one. Of what is older still, only the form and the chain of
//! hashes are checked, as far as there is time.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::fs::FileSystem;
use super::log::mark::MarkFile;
use super::log::segment::{Rest, Scan, Segment, SegmentError, ordinals, path_of};
use super::place::Place;
use super::snapshot::{self, Snapshot};
use crate::domain::{Event, EventKind, IssueId, Status};
use crate::store::{Position, State};

/// How many faults are told.
const MAX_FAULTS: usize = 100;
/// How many issues a fault names.
const MAX_ISSUES: usize = 10;

/// The log of a store, examined.
#[derive(Clone, Debug, Default)]
pub struct LogCheck {
    /// The id of the store.
    pub store: String,
    /// How many segments there are.
    pub segments: usize,
    /// The size of all of them in bytes.
    pub bytes: u64,
    /// How many events were found in those that were examined.
    pub events: u64,
    /// How many of the oldest segments were not examined, for lack of time.
    pub unexamined: usize,
    /// The number of the first event that the log has; one more than that of the last one if it has none.
    pub first: u64,
    /// The position of the last event.
    pub last: Position,
    /// The number of the event from which on events were replayed and compared.
    pub replayed_from: Option<u64>,
    /// What stands behind the last whole batch, and was never answered.
    pub torn: Option<TornEnd>,
    /// What is wrong.
    pub faults: Vec<LogFault>,
}

/// Bytes at the end of the log that were not written whole.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TornEnd {
    /// In which file.
    pub path: PathBuf,
    /// From which offset on.
    pub offset: u64,
    /// How many there are.
    pub length_bytes: u64,
}

/// Something that is wrong with the log or a snapshot.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LogFault {
    /// A file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The first line of a segment is damaged.
    #[error("the first line of {} is damaged", .0.display())]
    Header(PathBuf),
    /// A newer version wrote a file, or a line in it.
    #[error("a newer version of ait wrote to {}", .0.display())]
    Newer(PathBuf),
    /// Bytes changed that were whole once.
    #[error("{} is damaged from byte {offset} on", path.display())]
    Bytes {
        /// In which file.
        path: PathBuf,
        /// From which offset on.
        offset: u64,
    },
    /// The segment before one is missing.
    #[error("the segment before {} is missing", .0.display())]
    Gap(PathBuf),
    /// The events of a segment do not follow from those of the one before.
    #[error("the events in {} do not follow from those in the segment before it", .0.display())]
    Chain(PathBuf),
    /// A segment belongs to another store.
    #[error("{} belongs to another store ({store})", path.display())]
    OtherStore {
        /// Which segment.
        path: PathBuf,
        /// The id of that store.
        store: String,
    },
    /// An event cannot have happened.
    #[error("event {number} in {} cannot have happened: {contradiction}", path.display())]
    Event {
        /// In which file.
        path: PathBuf,
        /// Its number.
        number: u64,
        /// Why not.
        contradiction: Contradiction,
    },
    /// A snapshot cannot be used.
    #[error("{} cannot be used: {reason}", path.display())]
    Snapshot {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A snapshot is another state than the one to which the log leads.
    #[error("{} differs from what the log replays to, in {}", path.display(), named(issues, *count))]
    SnapshotDiffers {
        /// Which one.
        path: PathBuf,
        /// The first of the issues that differ.
        issues: Vec<IssueId>,
        /// How many there are.
        count: usize,
    },
}

/// The first of some issues in words.
pub(super) fn named(issues: &[IssueId], count: usize) -> String {
    if count == 0 {
        return "the order of the issues, or other keys".to_owned();
    }
    let short: Vec<_> = issues.iter().map(IssueId::short).collect();
    let more = if count > issues.len() { ", …" } else { "" };
    let word = if count == 1 { "issue" } else { "issues" };
    format!("{count} {word} ({}{more})", short.join(", "))
}

/// Why an event cannot follow a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Contradiction {
    /// It makes an issue that is there.
    #[error("there was an issue {0} already")]
    Exists(IssueId),
    /// It changes an issue that is not there.
    #[error("there was no issue {0}")]
    Missing(IssueId),
    /// The rules do not allow it in the status that the issue had.
    #[error("issue {issue} was {status}")]
    Status {
        /// The issue.
        issue: IssueId,
        /// Its status.
        status: Status,
    },
    /// What it tells of the time before it is not so.
    #[error("issue {0} was not what the event says it was before")]
    Before(IssueId),
    /// It tells that other keys were there before.
    #[error("the keys beside the issues were not what the event says they were before")]
    Keys,
}

/// Tells why an event cannot follow a state; `None` if it can.
pub(super) fn contradiction(state: &State, event: &Event) -> Option<Contradiction> {
    let id = event.issue;
    let known = state.issues.get(id);
    match &event.kind {
        EventKind::UnknownKeysEdited { keys } => {
            return (keys.before != state.unknown).then_some(Contradiction::Keys);
        }
        EventKind::Filed { .. } => return known.map(|_| Contradiction::Exists(id)),
        EventKind::Imported { issue, ahead_of } => {
            let missing = ahead_of.filter(|next| state.issues.get(*next).is_none());
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
        EventKind::Lapsed { .. } => status.is_claimed(),
        EventKind::Returned { .. }
        | EventKind::Completed { .. }
        | EventKind::Closed { .. }
        | EventKind::Rejected { .. } => !status.is_terminal(),
        _ => true,
    };
    if !is_allowed {
        return Some(Contradiction::Status { issue: id, status });
    }
    let is_same = if let EventKind::Removed { issue: removed, .. } = &event.kind {
        **removed == *issue
    } else {
        // What an event overwrites it has to know, so that it can be undone.
        let mut undone = (*issue).clone();
        event.apply(&mut undone);
        event.revert(&mut undone);
        undone == *issue
    };
    (!is_same).then_some(Contradiction::Before(id))
}

/// The issues in which two states differ: the first ones, and how many. `None` for states that are the same.
pub(super) fn difference(one: &State, other: &State) -> Option<(Vec<IssueId>, usize)> {
    let ids = |state: &State| -> Vec<IssueId> {
        (0..state.issues.len()).filter_map(|place| state.issues.id_at(place)).collect()
    };
    let (ours, theirs) = (ids(one), ids(other));
    let differs = |id: &&IssueId| !one.issues.is_same_in(&other.issues, **id);
    let only_theirs = theirs.iter().filter(|id| one.issues.get(**id).is_none());
    let differing: Vec<_> = ours.iter().filter(differs).chain(only_theirs).copied().collect();
    let count = differing.len();
    let is_same = count == 0 && ours == theirs && one.unknown == other.unknown;
    (!is_same).then(|| (differing.into_iter().take(MAX_ISSUES).collect(), count))
}

/// A snapshot that is to be compared with the log.
struct Candidate {
    number: u64,
    path: PathBuf,
    snapshot: Option<Snapshot>,
    is_judged: bool,
}

/// Examines a log, unless there is none, and returns the state to which it leads, if it can be followed to its end.
/// What is not needed to open the store is examined until `stop`.
pub(super) fn check(
    fs: &dyn FileSystem,
    place: &Place,
    stop: Instant,
) -> Option<(LogCheck, Option<State>)> {
    let mut replay = Replay { fs, state: None, candidates: Vec::new(), check: LogCheck::default() };
    let found = match ordinals(fs, &place.log) {
        Ok(found) => found,
        Err(error) => {
            replay.fault(LogFault::Io { path: place.log.clone(), reason: error.to_string() });
            return Some((replay.check, None));
        }
    };
    if found.is_empty() {
        return None;
    }
    replay.check.segments = found.len();
    let segments: Vec<_> = found.iter().map(|ordinal| replay.open(&place.log, *ordinal)).collect();
    let first = segments.iter().flatten().next();
    replay.check.first = first.map_or(0, |segment| segment.begin.position.number + 1);
    replay.read_snapshots(place);
    replay.check.store = replay.store(&segments);
    replay.check_order(&segments);
    let oldest = replay.candidates.iter().filter(|candidate| candidate.snapshot.is_some());
    let oldest = oldest.map(|candidate| candidate.number).min().unwrap_or(0);
    let begins_before = |segment: &Option<Arc<Segment>>| {
        segment.as_ref().is_some_and(|segment| segment.begin.position.number <= oldest)
    };
    let from = segments.iter().rposition(begins_before).unwrap_or(0);
    replay.forward(&segments, from, place);
    replay.judge_the_rest();
    replay.backward(&segments[..=from], stop);
    Some((replay.check, replay.state))
}

struct Replay<'a> {
    fs: &'a dyn FileSystem,
    /// The state behind the last event; `None` where no snapshot or a damaged part came before.
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

    fn open(&mut self, directory: &Path, ordinal: u64) -> Option<Arc<Segment>> {
        let path = path_of(directory, ordinal);
        let fault = match Segment::open(self.fs, directory, ordinal) {
            Ok(Some(segment)) => {
                self.check.bytes += segment.opened.length_bytes();
                return Some(Arc::new(segment));
            }
            Ok(None) => LogFault::Io { path, reason: "it is gone".to_owned() },
            Err(SegmentError::Io(error)) => LogFault::Io { path, reason: error.to_string() },
            Err(SegmentError::Damaged) => LogFault::Header(path),
            Err(SegmentError::Newer) => LogFault::Newer(path),
        };
        self.fault(fault);
        None
    }

    fn read_snapshots(&mut self, place: &Place) {
        for (number, path) in snapshot::list(self.fs, place).unwrap_or_default().into_iter().rev() {
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

    /// The id of the store: that of a snapshot and a segment, where there are such.
    fn store(&self, segments: &[Option<Arc<Segment>>]) -> String {
        let of_segments: Vec<&String> =
            segments.iter().flatten().map(|segment| &segment.header.store).collect();
        let snapshots = self.candidates.iter().rev().filter_map(|it| it.snapshot.as_ref());
        let of_snapshots: Vec<&String> = snapshots.map(|snapshot| &snapshot.store).collect();
        let common = of_snapshots.iter().find(|store| of_segments.contains(store));
        let store = common.or_else(|| of_segments.first()).or_else(|| of_snapshots.first());
        store.map(|store| (*store).clone()).unwrap_or_default()
    }

    /// Checks that no segment is missing, and that all are of one store.
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

    /// Replays the segments from one on.
    fn forward(&mut self, segments: &[Option<Arc<Segment>>], from: usize, place: &Place) {
        let mark = MarkFile::new(place.mark()).read(self.fs);
        let mut end: Option<Position> = None;
        for (index, segment) in segments.iter().enumerate().skip(from) {
            let Some(segment) = segment.as_ref().filter(|it| it.header.store == self.check.store)
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
            let is_damaged = !matches!(scan.rest, Rest::Nothing | Rest::Torn);
            if is_damaged {
                (self.state, end) = (None, None);
            } else if index + 1 == segments.len() && scan.length > last.offset {
                let length_bytes = scan.length - last.offset;
                let path = segment.path.clone();
                self.check.torn = Some(TornEnd { path, offset: last.offset, length_bytes });
            }
        }
    }

    /// Reads the events of a segment that count, and takes note of what is wrong with it.
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
                    Rest::Nothing | Rest::Torn => {}
                    Rest::Damaged(offset) => self.fault(LogFault::Bytes { path, offset }),
                    Rest::Newer(_) => self.fault(LogFault::Newer(path)),
                }
                Some(scan)
            }
            Err(error) => {
                self.fault(LogFault::Io { path, reason: error.to_string() });
                None
            }
        }
    }

    fn apply(&mut self, path: &Path, position: Position, event: &Event) {
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

    /// Judges the snapshots of a position that the log has reached.
    fn reach(&mut self, position: Position) {
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

    /// Judges the snapshots whose position the log has not reached.
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

    /// Checks the form of the segments before the last of these, the newest first, as long as there is time.
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
            let is_whole = matches!(scan.rest, Rest::Nothing | Rest::Torn);
            if let Some(next) = next.filter(|next| is_whole && next.begin.position != end) {
                self.fault(LogFault::Chain(next.path.clone()));
            }
        }
    }
}
