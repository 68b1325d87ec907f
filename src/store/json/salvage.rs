//! Salvages what can be read of a damaged store.
//!
//! The base is the newest valid snapshot, with the events after it up to the first gap. Then come the changes that
//! only `issues.json` has; if that file is invalid, each issue is parsed alone. Finally come the valid events behind
//! the damage whose issue exists and lacks them. The result lists each loss in a line of its own. Nothing is written.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{self, Document};
use super::fs::{FileSystem, RealFileSystem, read_file};
use super::issue_scanner::{self, UnreadPart};
use super::log::frame::{self, Frame};
use super::log::mark::{DurableMark, MarkFile};
use super::log::record::{self, FORMAT, Header, Record};
use super::log::segment::{ordinals, path_of};
use super::log_check::contradiction;
use super::open::{self, OpenError, unreadable};
use super::paths::StorePaths;
use super::published_note::PublishedNote;
use super::snapshot::{self, Snapshot};
use crate::domain::{Event, EventKind, Issue, IssueId, merge};
use crate::store::backup::{BackupContent, format as backup};
use crate::store::{EventPosition, State};

/// The most losses that are listed one by one.
const MAX_TOLD: usize = 1_000;

/// The result of a salvage.
#[derive(Clone, Debug, Default)]
pub struct Salvage {
    /// The issues, with all changes that could be applied.
    pub document: Document,
    /// The number of issues read from `issues.json`.
    pub issues_read: usize,
    /// The number of changes applied from the log.
    pub changes_made: usize,
    /// What is lost, as text.
    pub lost: Vec<String>,
}

impl Salvage {
    /// Returns the content for a backup, which is marked as partial if something is lost.
    pub fn into_backup(self) -> BackupContent {
        let count = self.lost.len();
        let damage = self.lost.first().map(|first| match count {
            1 => format!("lost: {first}"),
            _ => format!("{count} losses, such as: {first}"),
        });
        BackupContent { document: self.document, damage }
    }

    fn lose(&mut self, what: impl Into<String>) {
        if self.lost.len() < MAX_TOLD {
            self.lost.push(what.into());
        } else if self.lost.len() == MAX_TOLD {
            self.lost.push("more losses, which are not listed".to_owned());
        }
    }
}

/// Reads what can be read of the store of a file.
///
/// # Errors
///
/// Nothing can be read.
pub fn salvage(path: &Path) -> Result<Salvage, OpenError> {
    salvage_with(&RealFileSystem, path)
}

/// Reads what can be read, through another file system.
///
/// # Errors
///
/// Those of [`salvage`].
pub(super) fn salvage_with(fs: &dyn FileSystem, path: &Path) -> Result<Salvage, OpenError> {
    let paths = open::paths_of(fs, path)?;
    let (mut out, mut work) = (Salvage::default(), Work::default());
    let file = read_file(fs, &paths.issues).unwrap_or_else(|error| {
        out.lose(format!("{} cannot be read: {error}", paths.issues.display()));
        None
    });
    let (snapshots, segments) = (Snapshots::read(fs, &paths), SegmentFile::all(fs, &paths));
    if file.is_none() && segments.is_empty() && snapshots.paths.is_empty() {
        return Err(unreadable(&paths.issues, std::io::ErrorKind::NotFound.into()));
    }
    let base = snapshots.base(&segments);
    if let Some(base) = base {
        work.state = base.state.clone();
    }
    let mut log = SalvageReader {
        fs,
        store: store_of(base, &segments),
        lines: BTreeMap::new(),
        is_damaged: false,
    };
    log.read(&segments, work.state.position.number, &mut out);
    let rest = if base.is_some() {
        work.follow(&log.lines, &mut out)
    } else {
        log.lines.values().collect()
    };
    let last = log.lines.keys().next_back().map_or(0, |last| *last).max(work.state.position.number);
    let is_cut = is_cut(fs, &paths, &segments, last);
    if is_cut {
        out.lose(format!("changes after {last} of the log, except what issues.json has of them"));
    }
    let is_whole = base.is_some() && rest.is_empty() && !log.is_damaged && !is_cut;
    if base.is_none() {
        snapshots.scan_newest(fs, &mut work, &mut out);
    }
    match &file {
        Some(bytes) if is_whole && is_published(fs, &paths, bytes) => {
            out.issues_read = format::parse(bytes.clone()).map_or(0, |read| read.issues.len());
        }
        Some(bytes) => work.take_file(bytes, is_whole, &mut out),
        // The log has everything.
        None if is_whole => {}
        None => out.lose(format!("{}, which is missing", paths.issues.display())),
    }
    let next = base.map(|_| work.state.position.number + 1);
    work.make(rest, next, &mut out);
    // Another file may have what could not be read here.
    for UnreadPart { id, what } in std::mem::take(&mut work.unread) {
        if id.map_or(!is_whole, |id| work.state.issues.get(id).is_none()) {
            out.lose(what);
        }
    }
    out.document = work.state.document();
    Ok(out)
}

/// Returns true if the file is the one that was last published or merged.
fn is_published(fs: &dyn FileSystem, paths: &StorePaths, bytes: &[u8]) -> bool {
    let hash = xxhash_rust::xxh3::xxh3_128(bytes);
    PublishedNote::read(fs, paths).is_some_and(|published| published.hash() == hash)
}

/// Returns true if the end of the log is missing: it had more once, as the durable mark or the note on `issues.json`
/// tells.
fn is_cut(fs: &dyn FileSystem, paths: &StorePaths, segments: &[SegmentFile], last: u64) -> bool {
    let has = |newest: &SegmentFile, mark: DurableMark| {
        let salt = newest.header.as_ref().map(|(header, _)| header.salt);
        let is_whole = salt != Some(mark.salt) || newest.length_bytes >= mark.offset;
        newest.ordinal > mark.ordinal || (newest.ordinal == mark.ordinal && is_whole)
    };
    let mark = MarkFile::new(paths.mark()).read(fs);
    mark.is_some_and(|mark| !segments.last().is_some_and(|newest| has(newest, mark)))
        || PublishedNote::read(fs, paths).is_some_and(|note| note.number > last)
}

/// The snapshots of a store.
struct Snapshots {
    /// The paths of all snapshots, newest first.
    paths: Vec<PathBuf>,
    /// The valid snapshots, newest first.
    whole: Vec<Snapshot>,
}

impl Snapshots {
    fn read(fs: &dyn FileSystem, paths: &StorePaths) -> Self {
        let found = snapshot::list(fs, paths).unwrap_or_default();
        let paths: Vec<_> = found.into_iter().map(|(_, path)| path).collect();
        let whole = paths.iter().filter_map(|path| snapshot::read(fs, path).ok()).collect();
        Self { paths, whole }
    }

    /// Returns the snapshot to start from: the newest one that belongs to the log, or else the newest one.
    fn base(&self, segments: &[SegmentFile]) -> Option<&Snapshot> {
        let belongs = |snapshot: &&Snapshot| {
            segments.iter().any(|file| file.store() == Some(&snapshot.store))
        };
        self.whole.iter().find(belongs).or_else(|| self.whole.first())
    }

    /// Salvages the issues of the newest readable snapshot, which is damaged.
    fn scan_newest(&self, fs: &dyn FileSystem, work: &mut Work, out: &mut Salvage) {
        for path in &self.paths {
            if let Ok(Some(bytes)) = read_file(fs, path) {
                out.lose(format!(
                    "the part of {} beside its issues: the file is damaged",
                    path.display()
                ));
                work.take_pieces(&bytes);
                return;
            }
        }
    }
}

/// Returns the store id of the snapshot, or else of the newest segment with a valid header.
fn store_of(base: Option<&Snapshot>, segments: &[SegmentFile]) -> Option<String> {
    let of_segments = || segments.iter().rev().find_map(SegmentFile::store).cloned();
    base.map(|snapshot| snapshot.store.clone()).or_else(of_segments)
}

/// A segment of the log.
struct SegmentFile {
    ordinal: u64,
    path: PathBuf,
    length_bytes: u64,
    /// The header and its length, if it is valid and of a known version.
    header: Option<(Header, usize)>,
}

impl SegmentFile {
    /// Reads the headers of all segments, in order.
    fn all(fs: &dyn FileSystem, paths: &StorePaths) -> Vec<Self> {
        let ordinals = ordinals(fs, &paths.log).unwrap_or_default();
        let file = |ordinal| {
            let path = path_of(&paths.log, ordinal);
            let bytes = read_file(fs, &path).ok().flatten().unwrap_or_default();
            Self { ordinal, path, length_bytes: bytes.len() as u64, header: header(&bytes) }
        };
        ordinals.into_iter().map(file).collect()
    }

    fn store(&self) -> Option<&String> {
        self.header.as_ref().map(|(header, _)| &header.store)
    }
}

fn header(bytes: &[u8]) -> Option<(Header, usize)> {
    let Frame::Whole { json, length } = frame::read(0, bytes) else { return None };
    let header: Header = serde_json::from_slice(json).ok()?;
    (header.format <= FORMAT).then_some((header, length))
}

/// An event from the log.
struct Line {
    record: Record,
    /// The position before it; `None` if the events before it are lost.
    before: Option<EventPosition>,
}

/// Reads every valid event.
struct SalvageReader<'a> {
    fs: &'a dyn FileSystem,
    store: Option<String>,
    /// The events by number.
    lines: BTreeMap<u64, Line>,
    /// True if there is damage that a kill or a power failure cannot explain.
    is_damaged: bool,
}

impl SalvageReader<'_> {
    /// Reads the events after a number.
    fn read(&mut self, segments: &[SegmentFile], after: u64, out: &mut Salvage) {
        let mut end = None;
        for (index, file) in segments.iter().enumerate() {
            let next = segments.get(index + 1).and_then(|next| next.header.as_ref());
            let next = next.filter(|(header, _)| self.store.as_ref() == Some(&header.store));
            if next.and_then(|(header, _)| header.base()).is_some_and(|base| base.number <= after) {
                // All events in it come before the wanted ones.
                continue;
            }
            if file.header.is_some() && file.store() != self.store.as_ref() {
                self.is_damaged = true;
                out.lose(format!("{}, which belongs to another store", file.path.display()));
                continue;
            }
            let mut bytes = match read_file(self.fs, &file.path) {
                Ok(bytes) => bytes.unwrap_or_default(),
                Err(error) => {
                    self.is_damaged = true;
                    out.lose(format!("{}, which cannot be read: {error}", file.path.display()));
                    continue;
                }
            };
            let cut = next.and_then(|(header, _)| header.previous);
            if let Some(cut) = cut.filter(|cut| cut.ordinal == file.ordinal) {
                bytes.truncate(usize::try_from(cut.offset).unwrap_or(usize::MAX));
            }
            let is_last = index + 1 == segments.len();
            let mut segment = SegmentBytes {
                path: &file.path,
                bytes: &bytes,
                is_last,
                lines: Vec::new(),
                is_damaged: false,
            };
            match &file.header {
                Some((header, begin)) => segment.read_checked(header, *begin, out),
                None => segment.read_unchecked(end, out),
            }
            segment.leave_out_unfinished(out);
            self.is_damaged |= segment.is_damaged;
            end = segment.lines.last().map(|line| line.record.position);
            for line in segment.lines {
                let number = line.record.position.number;
                if number > after {
                    self.lines.insert(number, line);
                }
            }
        }
    }
}

/// The bytes of a segment up to the cut.
struct SegmentBytes<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    /// True if it is the newest segment.
    is_last: bool,
    lines: Vec<Line>,
    is_damaged: bool,
}

impl SegmentBytes<'_> {
    /// Reads the events of a segment with a valid header, so that checksums can be verified.
    fn read_checked(&mut self, header: &Header, begin: usize, out: &mut Salvage) {
        let (mut at, mut before, path) = (begin, header.base(), self.path.display());
        while at < self.bytes.len() {
            if let Frame::Whole { json, length } = frame::read(header.salt, &self.bytes[at..]) {
                self.take(json, at, &mut before, out);
                at += length;
                continue;
            }
            let found = frame::find(header.salt, &self.bytes[at..]).map(|(found, _)| found);
            let count = found.unwrap_or(self.bytes.len() - at);
            self.is_damaged |= found.is_some() || !self.is_last;
            out.lose(match found {
                Some(_) => format!("{count} damaged bytes of {path} at byte {at}"),
                None => format!(
                    "the last {count} bytes of {path}, which are damaged or were not written completely"
                ),
            });
            at += count;
        }
    }

    /// Reads the events of a segment without a valid header. Only their hashes can be verified.
    fn read_unchecked(&mut self, mut before: Option<EventPosition>, out: &mut Salvage) {
        self.is_damaged = true;
        let first = memchr::memchr(b'\n', self.bytes).map_or(self.bytes.len(), |end| end + 1);
        let mut at = first;
        for line in self.bytes[first..].split_inclusive(|byte| *byte == b'\n') {
            match unchecked_json(line) {
                Some(json) => self.take(json, at, &mut before, out),
                None => {
                    let (count, path) = (line.len(), self.path.display());
                    out.lose(format!("{count} damaged bytes of {path} at byte {at}"));
                }
            }
            at += line.len();
        }
        out.lose(format!(
            "the first {first} bytes of {}, without which no checksum in it can be verified: {} changes are \
             applied unverified",
            self.path.display(),
            self.lines.len()
        ));
    }

    /// Adds an event, unless its form is unknown or it does not follow from the previous one.
    fn take(
        &mut self,
        json: &[u8],
        at: usize,
        before: &mut Option<EventPosition>,
        out: &mut Salvage,
    ) {
        let path = self.path.display();
        let Some(record) = record::read_alone(json) else {
            self.is_damaged = true;
            return out.lose(format!("data of a newer version in {path} at byte {at}"));
        };
        let position = record.position;
        if self.lines.iter().rev().any(|line| line.record.position == position) {
            self.is_damaged = true;
            return;
        }
        let follows = before.filter(|before| record::read(json, *before).is_ok());
        // After a gap the event cannot be checked against the lost ones.
        let is_behind_gap = before.is_none_or(|before| position.number > before.number + 1);
        if follows.is_none() && !is_behind_gap {
            self.is_damaged = true;
            let number = position.number;
            return out.lose(format!(
                "change {number} in {path} at byte {at}, which does not follow from the one before it"
            ));
        }
        *before = Some(position);
        self.lines.push(Line { record, before: follows });
    }

    /// Drops an incomplete batch at the end of the log, which was never answered.
    fn leave_out_unfinished(&mut self, out: &mut Salvage) {
        if !self.is_last {
            return;
        }
        let whole =
            self.lines.iter().rposition(|line| line.record.is_end).map_or(0, |last| last + 1);
        let count = self.lines.len() - whole;
        if count > 0 {
            out.lose(format!("{count} changes at the end of the log, which were never answered"));
            self.lines.truncate(whole);
        }
    }
}

/// Returns the JSON of a line whose checksum cannot be verified.
fn unchecked_json(line: &[u8]) -> Option<&[u8]> {
    /// The length of the checksum and the length field, in bytes.
    const PREFIX_BYTES: usize = 18;
    let json = line.strip_suffix(b"\n")?.get(PREFIX_BYTES..)?;
    json.starts_with(b"{").then_some(json)
}

/// The state that is being salvaged.
#[derive(Default)]
struct Work {
    state: State,
    /// The issues that `issues.json` has.
    of_file: HashSet<IssueId>,
    /// How much of the history of each issue is already matched with events.
    compared: HashMap<IssueId, usize>,
    /// The parts of files that could not be read.
    unread: Vec<UnreadPart>,
}

impl Work {
    /// Applies the events that follow one from the other. Returns the events from the first gap on.
    fn follow<'a>(&mut self, lines: &'a BTreeMap<u64, Line>, out: &mut Salvage) -> Vec<&'a Line> {
        let mut lines = lines.values().peekable();
        while let Some(line) = lines.next_if(|line| line.before == Some(self.state.position)) {
            let Record { event, position, .. } = &line.record;
            if let Some(why) = contradiction(&self.state, event) {
                let number = position.number;
                out.lose(format!("change {number} of the log, which cannot have happened: {why}"));
                self.state.position = *position;
            } else if self.state.apply(event, *position).is_ok() {
                out.changes_made += 1;
            }
        }
        lines.collect()
    }

    /// Merges the changes that only `issues.json` has.
    fn take_file(&mut self, bytes: &[u8], is_whole: bool, out: &mut Salvage) {
        let Ok(mut document) = format::parse(bytes.to_vec()) else {
            out.issues_read = self.take_pieces(bytes);
            return;
        };
        backup::forget(&mut document.unknown_keys);
        let issues: Vec<_> = document.issues.issues().collect();
        out.issues_read = issues.len();
        let (ours, is_known) = (&self.state.issues, |id| self.state.issues.get(id).is_some());
        let may_be_foreign = is_whole && !ours.is_empty() && !issues.is_empty();
        if may_be_foreign && !issues.iter().any(|issue| is_known(issue.id)) {
            return out.lose(format!(
                "{} issues of issues.json, which shares no issue with the log: import them from a copy of the file",
                issues.len()
            ));
        }
        self.take_issues(issues);
        for (key, value) in document.unknown_keys.iter() {
            if self.state.unknown_keys.get(key).is_none() {
                self.state.unknown_keys.insert(key.to_owned(), value.to_owned());
            }
        }
    }

    /// Merges each issue that can be parsed alone. Returns their number.
    fn take_pieces(&mut self, bytes: &[u8]) -> usize {
        let found = issue_scanner::scan(bytes);
        self.unread.extend(issue_scanner::unread(bytes, &found));
        // Of issues with the same id, the one with the longest history stays, at the position of the first.
        let mut issues: Vec<Arc<Issue>> = Vec::new();
        let mut positions: HashMap<IssueId, usize> = HashMap::new();
        for found in found {
            let issue = Arc::new(found.issue);
            let Some(&position) = positions.get(&issue.id) else {
                positions.insert(issue.id, issues.len());
                issues.push(issue);
                continue;
            };
            if issues[position] == issue {
                continue;
            }
            let what =
                format!("another issue with the id {}, which has the shorter history", issue.id);
            if issue.history.len() > issues[position].history.len() {
                issues[position] = issue;
            }
            self.unread.push(UnreadPart { id: None, what });
        }
        let count = issues.len();
        self.take_issues(issues);
        count
    }

    fn take_issues(&mut self, issues: Vec<Arc<Issue>>) {
        let mut next = None;
        for issue in issues.into_iter().rev() {
            let id = issue.id;
            self.of_file.insert(id);
            match self.state.issues.get(id) {
                Some(known) => {
                    let merged = merge(None, &known, &issue).issue;
                    if merged != *known {
                        self.replace(merged);
                    }
                }
                None => {
                    // The insertion cannot fail, because no issue has this id.
                    let _ = self.state.issues.insert(Issue::clone(&issue), next);
                }
            }
            next = Some(id);
        }
    }

    /// Replaces an issue with another version.
    fn replace(&mut self, issue: Issue) {
        let Some(before) = self.state.issues.get(issue.id) else { return };
        let patch = Box::new(crate::domain::Patch::between(&before, &issue));
        let event = Event::new(issue.id, issue.modified_at, "", EventKind::Edited { patch });
        // The change cannot fail, because the issue exists.
        let _ = self.state.issues.apply(&event);
    }

    /// Applies the events behind a gap, unless the issues already include them. `next` is the number that would
    /// follow without a gap.
    fn make(&mut self, lines: Vec<&Line>, mut next: Option<u64>, out: &mut Salvage) {
        for Line { record, .. } in lines {
            let number = record.position.number;
            if let Some(next) = next.filter(|next| *next < number) {
                out.lose(match number - next {
                    1 => format!("change {next} of the log, except what issues.json has of it"),
                    _ => format!(
                        "changes {next} to {} of the log, except what issues.json has of them",
                        number - 1
                    ),
                });
            }
            next = Some(number + 1);
            if !self.has(&record.event) {
                self.apply(record, out);
            }
        }
    }

    fn apply(&mut self, Record { event, position, .. }: &Record, out: &mut Salvage) {
        let id = event.issue;
        if self.state.apply(event, *position).is_ok() {
            out.changes_made += 1;
            let length = self.state.issues.get(id).map_or(0, |issue| issue.history.len());
            self.compared.insert(id, length);
            return;
        }
        out.lose(format!(
            "change {} of the log: {} by {} at {}, of the lost issue {id}",
            position.number,
            event.kind.action().unwrap_or("a comment"),
            event.agent,
            event.at,
        ));
    }

    /// Returns true if an issue already includes an event.
    fn has(&mut self, event: &Event) -> bool {
        let Some(issue) = self.state.issues.get(event.issue) else { return false };
        let wanted = match &event.kind {
            EventKind::UnknownKeysEdited { .. } => return false,
            EventKind::Filed { .. } | EventKind::Imported { .. } => return true,
            // The file may be from a time when the issue existed again.
            EventKind::Removed { .. } => return self.of_file.contains(&event.issue),
            EventKind::Commented { comment, .. } => {
                return issue.comments.iter().any(|said| {
                    (said.timestamp, &said.agent, &said.text) == (event.at, &event.agent, comment)
                });
            }
            EventKind::Edited { patch } | EventKind::Changed { patch } => {
                match patch.history.as_ref().and_then(|history| history.added.last()) {
                    Some(entry) => (entry.timestamp, &entry.agent, entry.action.as_str()),
                    None => {
                        let mut edited = (*issue).clone();
                        event.apply(&mut edited);
                        return edited == *issue;
                    }
                }
            }
            kind => (event.at, &event.agent, kind.action().unwrap_or_default()),
        };
        let compared = self.compared.entry(event.issue).or_default();
        let rest = issue.history.iter().skip(*compared);
        let mut rest = rest.map(|entry| (entry.timestamp, &entry.agent, entry.action.as_str()));
        let found = rest.position(|entry| entry == wanted);
        if let Some(skipped) = found {
            *compared += skipped + 1;
        }
        found.is_some()
    }
}
