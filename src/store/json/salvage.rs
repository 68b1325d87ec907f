//! Putting together what can be read of a damaged store.
//!
//! The newest snapshot that is whole comes first, and the events behind it as far as they follow one from the other.
//! Then comes what the file of the issues has more, each issue by itself where it is broken; then every whole event
//! behind the damage, if its issue is there and does not have it already. What is lost is told, one thing a line.
//! Nothing is written.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{self, Document};
use super::fs::{FileSystem, RealFileSystem, TO_THE_END};
use super::issue_scanner::{self, UnreadPart};
use super::log::frame::{self, Frame};
use super::log::record::{self, FORMAT, Header, Record};
use super::log::segment::{ordinals, path_of};
use super::place::Place;
use super::published::Published;
use super::recovery::{self, OpenError, unreadable};
use super::replay::contradiction;
use super::snapshot::{self, Snapshot};
use crate::domain::{Event, EventKind, Issue, IssueId, merge};
use crate::store::backup::{Holdings, format as backup};
use crate::store::{Position, State};

/// How many losses are told one by one.
const MAX_TOLD: usize = 1_000;

/// What could be read.
#[derive(Clone, Debug, Default)]
pub struct Salvage {
    /// The issues with the changes that could be made.
    pub document: Document,
    /// How many issues `issues.json` gave.
    pub issues_read: usize,
    /// How many changes of the log were made.
    pub changes_made: usize,
    /// What is lost, in words.
    pub lost: Vec<String>,
}

impl Salvage {
    /// The same for a backup, which is marked as partial if something is lost.
    pub fn into_holdings(self) -> Holdings {
        let count = self.lost.len();
        let damage = self.lost.first().map(|first| match count {
            1 => format!("lost: {first}"),
            _ => format!("{count} things are lost, such as: {first}"),
        });
        Holdings { document: self.document, damage }
    }

    fn lose(&mut self, what: impl Into<String>) {
        if self.lost.len() < MAX_TOLD {
            self.lost.push(what.into());
        } else if self.lost.len() == MAX_TOLD {
            self.lost.push("more, which is not listed".to_owned());
        }
    }
}

/// Reads what can be read of the store in a file.
///
/// # Errors
///
/// There is nothing that could be read.
pub fn salvage(path: &Path) -> Result<Salvage, OpenError> {
    salvage_with(&RealFileSystem, path)
}

/// The same through another file system.
///
/// # Errors
///
/// Those of [`salvage`].
pub(super) fn salvage_with(fs: &dyn FileSystem, path: &Path) -> Result<Salvage, OpenError> {
    let place = recovery::place_of(fs, path)?;
    let (mut out, mut work) = (Salvage::default(), Work::default());
    let file = read(fs, &place.issues).unwrap_or_else(|error| {
        out.lose(format!("{} cannot be read: {error}", place.issues.display()));
        None
    });
    let (snapshots, segments) = (Snapshots::read(fs, &place), SegmentFile::all(fs, &place));
    if file.is_none() && segments.is_empty() && snapshots.paths.is_empty() {
        return Err(unreadable(&place.issues, std::io::ErrorKind::NotFound.into()));
    }
    let base = snapshots.base(&segments);
    if let Some(base) = base {
        work.state = base.state.clone();
    }
    let mut log = LogReader {
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
    let is_whole = base.is_some() && rest.is_empty() && !log.is_damaged;
    if base.is_none() {
        snapshots.scan_newest(fs, &mut work, &mut out);
    }
    match &file {
        Some(bytes) if is_whole && is_published(fs, &place, bytes) => {
            out.issues_read = format::parse(bytes.clone()).map_or(0, |read| read.issues.len());
        }
        Some(bytes) => work.take_file(bytes, is_whole, &mut out),
        // Everything stands in the log.
        None if is_whole => {}
        None => out.lose(format!("{} is gone", place.issues.display())),
    }
    let next = base.map(|_| work.state.position.number + 1);
    work.make(rest, next, &mut out);
    // What could not be read of one file may stand in another.
    for UnreadPart { id, what } in std::mem::take(&mut work.unread) {
        if id.map_or(!is_whole, |id| work.state.issues.get(id).is_none()) {
            out.lose(what);
        }
    }
    out.document = work.state.document();
    Ok(out)
}

fn read(fs: &dyn FileSystem, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    fs.open(path)?.map(|open| fs.read_at(&open.file, 0, TO_THE_END)).transpose()
}

/// Whether the file of the issues is what the store wrote or took over last.
fn is_published(fs: &dyn FileSystem, place: &Place, bytes: &[u8]) -> bool {
    let hash = xxhash_rust::xxh3::xxh3_128(bytes);
    Published::read(fs, place).is_some_and(|published| published.hash() == hash)
}

/// The snapshots of a store.
struct Snapshots {
    /// All of them, the newest first.
    paths: Vec<PathBuf>,
    /// Those that are whole, the newest first.
    whole: Vec<Snapshot>,
}

impl Snapshots {
    fn read(fs: &dyn FileSystem, place: &Place) -> Self {
        let found = snapshot::list(fs, place).unwrap_or_default();
        let paths: Vec<_> = found.into_iter().map(|(_, path)| path).collect();
        let whole = paths.iter().filter_map(|path| snapshot::read(fs, path).ok()).collect();
        Self { paths, whole }
    }

    /// The one to begin with: the newest, of those that belong to the log where there is such.
    fn base(&self, segments: &[SegmentFile]) -> Option<&Snapshot> {
        let belongs = |snapshot: &&Snapshot| {
            segments.iter().any(|file| file.store() == Some(&snapshot.store))
        };
        self.whole.iter().find(belongs).or_else(|| self.whole.first())
    }

    /// Takes the issues of the newest one that can be read, though it is damaged.
    fn scan_newest(&self, fs: &dyn FileSystem, work: &mut Work, out: &mut Salvage) {
        for path in &self.paths {
            if let Ok(Some(bytes)) = read(fs, path) {
                out.lose(format!("what {} has beside its issues: it is damaged", path.display()));
                work.take_pieces(&bytes);
                return;
            }
        }
    }
}

/// The id of the store: that of the snapshot, or else of the newest segment that can be read.
fn store_of(base: Option<&Snapshot>, segments: &[SegmentFile]) -> Option<String> {
    let of_segments = || segments.iter().rev().find_map(SegmentFile::store).cloned();
    base.map(|snapshot| snapshot.store.clone()).or_else(of_segments)
}

/// A segment of the log.
struct SegmentFile {
    ordinal: u64,
    path: PathBuf,
    /// The header and its length, where it is whole and of this version.
    header: Option<(Header, usize)>,
}

impl SegmentFile {
    /// All of them, in their order.
    fn all(fs: &dyn FileSystem, place: &Place) -> Vec<Self> {
        let ordinals = ordinals(fs, &place.log).unwrap_or_default();
        let file = |ordinal| {
            let path = path_of(&place.log, ordinal);
            let header = read(fs, &path).ok().flatten().and_then(|bytes| header(&bytes));
            Self { ordinal, path, header }
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

/// An event that was read.
struct Line {
    record: Record,
    /// The position from which it follows; `None` where what comes before it is lost.
    before: Option<Position>,
}

/// Reads every event that is whole.
struct LogReader<'a> {
    fs: &'a dyn FileSystem,
    store: Option<String>,
    /// The events by their numbers.
    lines: BTreeMap<u64, Line>,
    /// Whether something is wrong that no kill or power cut explains.
    is_damaged: bool,
}

impl LogReader<'_> {
    /// Reads the events behind a number.
    fn read(&mut self, segments: &[SegmentFile], after: u64, out: &mut Salvage) {
        let mut end = None;
        for (index, file) in segments.iter().enumerate() {
            let next = segments.get(index + 1).and_then(|next| next.header.as_ref());
            let next = next.filter(|(header, _)| self.store.as_ref() == Some(&header.store));
            if next.and_then(|(header, _)| header.base()).is_some_and(|base| base.number <= after) {
                // Everything in it comes before what is wanted.
                continue;
            }
            if file.header.is_some() && file.store() != self.store.as_ref() {
                self.is_damaged = true;
                out.lose(format!("{}, which belongs to another store", file.path.display()));
                continue;
            }
            let mut bytes = match read(self.fs, &file.path) {
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
            let mut part = Part {
                path: &file.path,
                bytes: &bytes,
                is_last,
                lines: Vec::new(),
                is_damaged: false,
            };
            match &file.header {
                Some((header, begin)) => part.read_checked(header, *begin, out),
                None => part.read_unchecked(end, out),
            }
            part.leave_out_unfinished(out);
            self.is_damaged |= part.is_damaged;
            end = part.lines.last().map(|line| line.record.position);
            for line in part.lines {
                let number = line.record.position.number;
                if number > after {
                    self.lines.insert(number, line);
                }
            }
        }
    }
}

/// The bytes of a segment that count.
struct Part<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    /// Whether the log ends with it.
    is_last: bool,
    lines: Vec<Line>,
    is_damaged: bool,
}

impl Part<'_> {
    /// Reads the events of a segment whose header can be read, so that their checksums can be verified.
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
                    "the last {count} bytes of {path}, which are damaged or were not written whole"
                ),
            });
            at += count;
        }
    }

    /// Reads the events of a segment without a header. Their hashes alone tell whether they are as they were
    /// written.
    fn read_unchecked(&mut self, mut before: Option<Position>, out: &mut Salvage) {
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
             taken as they stand",
            self.path.display(),
            self.lines.len()
        ));
    }

    /// Takes an event, unless it is none that this version knows, or does not follow from the one before it.
    fn take(&mut self, json: &[u8], at: usize, before: &mut Option<Position>, out: &mut Salvage) {
        let path = self.path.display();
        let Some(record) = record::read_alone(json) else {
            self.is_damaged = true;
            return out.lose(format!("what a newer version wrote in {path} at byte {at}"));
        };
        let position = record.position;
        if self.lines.iter().rev().any(|line| line.record.position == position) {
            self.is_damaged = true;
            return;
        }
        let follows = before.filter(|before| record::read(json, *before).is_ok());
        // Behind a gap nothing can be checked against what is lost.
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

    /// Leaves out a batch at the end of the log that was not written whole: nobody was told of it.
    fn leave_out_unfinished(&mut self, out: &mut Salvage) {
        if !self.is_last {
            return;
        }
        let whole =
            self.lines.iter().rposition(|line| line.record.is_end).map_or(0, |last| last + 1);
        let count = self.lines.len() - whole;
        if count > 0 {
            out.lose(format!("{count} changes at the end of the log that nobody was told of"));
            self.lines.truncate(whole);
        }
    }
}

/// The JSON of a line whose checksum cannot be verified.
fn unchecked_json(line: &[u8]) -> Option<&[u8]> {
    /// The bytes before it: the checksum and the length.
    const PREFIX_BYTES: usize = 18;
    let json = line.strip_suffix(b"\n")?.get(PREFIX_BYTES..)?;
    json.starts_with(b"{").then_some(json)
}

/// The issues as they are put together.
#[derive(Default)]
struct Work {
    state: State,
    /// The issues that the file of the issues has.
    of_file: HashSet<IssueId>,
    /// Up to where the history of an issue was compared.
    compared: HashMap<IssueId, usize>,
    /// What could not be read of files of issues.
    unread: Vec<UnreadPart>,
}

impl Work {
    /// Makes the changes that follow one from the other, and returns those from the first gap on.
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

    /// Takes what the file of the issues has more.
    fn take_file(&mut self, bytes: &[u8], is_whole: bool, out: &mut Salvage) {
        let Ok(mut document) = format::parse(bytes.to_vec()) else {
            out.issues_read = self.take_pieces(bytes);
            return;
        };
        backup::forget(&mut document.extra);
        let issues: Vec<_> = document.issues.issues().collect();
        out.issues_read = issues.len();
        let (ours, is_known) = (&self.state.issues, |id| self.state.issues.get(id).is_some());
        let may_be_foreign = is_whole && !ours.is_empty() && !issues.is_empty();
        if may_be_foreign && !issues.iter().any(|issue| is_known(issue.id)) {
            return out.lose(format!(
                "{} issues of issues.json, which has none of the issues of the log: import them from a copy of it",
                issues.len()
            ));
        }
        self.take_issues(issues);
        for (key, value) in document.extra.iter() {
            if self.state.unknown.get(key).is_none() {
                self.state.unknown.insert(key.to_owned(), value.to_owned());
            }
        }
    }

    /// Takes each issue that can be read by itself; returns how many there are.
    fn take_pieces(&mut self, bytes: &[u8]) -> usize {
        let found = issue_scanner::scan(bytes);
        self.unread.extend(issue_scanner::unread(bytes, &found));
        // Of two issues with one id the one with the longer history, where the first of them stood.
        let mut issues: Vec<Arc<Issue>> = Vec::new();
        let mut places: HashMap<IssueId, usize> = HashMap::new();
        for found in found {
            let issue = Arc::new(found.issue);
            let Some(&place) = places.get(&issue.id) else {
                places.insert(issue.id, issues.len());
                issues.push(issue);
                continue;
            };
            if issues[place] == issue {
                continue;
            }
            let what =
                format!("another issue with the id {}, which has the shorter history", issue.id);
            if issue.history.len() > issues[place].history.len() {
                issues[place] = issue;
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
                    // It is not there, and so nothing refuses it.
                    let _ = self.state.issues.insert(Issue::clone(&issue), next);
                }
            }
            next = Some(id);
        }
    }

    /// Puts another version of an issue in its place.
    fn replace(&mut self, issue: Issue) {
        let Some(before) = self.state.issues.get(issue.id) else { return };
        let patch = Box::new(crate::domain::Patch::between(&before, &issue));
        let (id, at) = (issue.id, issue.modified_at);
        let kind = EventKind::Edited { patch };
        let event = Event { issue: id, at, agent: String::new(), kind, before: None };
        // The issue is there.
        let _ = self.state.issues.apply(&event);
    }

    /// Makes the changes behind a gap that the issues do not have already. `next` is the number that would come
    /// without the gap.
    fn make(&mut self, lines: Vec<&Line>, mut next: Option<u64>, out: &mut Salvage) {
        for Line { record, .. } in lines {
            let number = record.position.number;
            if let Some(next) = next.filter(|next| *next < number) {
                out.lose(match number - next {
                    1 => format!("change {next} of the log, but for what issues.json has of it"),
                    _ => format!(
                        "changes {next} to {} of the log, but for what issues.json has of them",
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

    /// Returns true if an issue has a change already.
    fn has(&mut self, event: &Event) -> bool {
        let Some(issue) = self.state.issues.get(event.issue) else { return false };
        let wanted = match &event.kind {
            EventKind::UnknownKeysEdited { .. } => return false,
            EventKind::Filed { .. } | EventKind::Imported { .. } => return true,
            // The file may be of a time at which it had come back.
            EventKind::Removed { .. } => return self.of_file.contains(&event.issue),
            EventKind::Commented { comment } => {
                return issue.comments.iter().any(|said| {
                    (said.timestamp, &said.agent, &said.text) == (event.at, &event.agent, comment)
                });
            }
            EventKind::Edited { patch } => {
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
        let place = rest.position(|entry| entry == wanted);
        if let Some(place) = place {
            *compared += place + 1;
        }
        place.is_some()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::inspect::samples::{Sample, add, agent, edit_file, replace_in};
    use super::*;
    use crate::domain::Status;

    fn salvaged(sample: &Sample) -> Salvage {
        let before = sample.everything();
        let salvaged = salvage(&sample.path).unwrap();
        assert_eq!(sample.everything(), before, "it has changed something");
        salvaged
    }

    fn titles(salvage: &Salvage) -> Vec<String> {
        salvage.document.issues.issues().map(|issue| issue.title.clone()).collect()
    }

    fn lost(salvage: &Salvage) -> String {
        salvage.lost.join("\n")
    }

    #[track_caller]
    fn is_complete(salvage: &Salvage) {
        assert_eq!(titles(salvage), ["one", "two", "three"]);
        let issues: Vec<_> = salvage.document.issues.issues().collect();
        assert_eq!((issues[0].status, issues[0].history.len()), (Status::InProgress, 2));
        assert_eq!((issues[1].status, issues[1].history.len()), (Status::Created, 1));
    }

    #[test]
    fn a_sound_store_is_saved_as_it_is() {
        let sample = Sample::new();
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert_eq!(
            (salvaged.issues_read, salvaged.changes_made, lost(&salvaged)),
            (3, 4, String::new())
        );
        assert!(salvaged.into_holdings().damage.is_none());
    }

    #[test]
    fn what_issues_json_lacks_or_breaks_the_log_has() {
        for broken in ["", "{", "\"issues\": ["] {
            let sample = Sample::new();
            if broken.is_empty() {
                fs::remove_file(&sample.path).unwrap();
            } else {
                replace_in(&sample.path, broken, "<<<<<<< ours");
            }
            let salvaged = salvaged(&sample);
            is_complete(&salvaged);
            assert_eq!(lost(&salvaged), "", "{broken}");
        }
        let sample = Sample::new();
        replace_in(&sample.path, "\"two\",", "\"two\"");
        sample.change_and_die(async |tracker| add(tracker, "four").await);
        let salvaged = salvaged(&sample);
        assert_eq!(titles(&salvaged), ["one", "two", "three", "four"]);
        assert_eq!((salvaged.issues_read, lost(&salvaged)), (2, String::new()));
    }

    #[test]
    fn edits_that_nobody_took_over_are_saved() {
        let sample = Sample::new();
        replace_in(&sample.path, "\"two\"", "\"zwei\"");
        assert_eq!(titles(&salvaged(&sample)), ["one", "zwei", "three"]);
        // Also where the rest of the file is broken.
        edit_file(&sample.path, |bytes| bytes.truncate(bytes.len() - 20));
        let salvaged = salvaged(&sample);
        assert_eq!(titles(&salvaged), ["one", "zwei", "three"]);
        assert_eq!(lost(&salvaged), "");
    }

    #[test]
    fn a_file_of_another_store_is_left_out() {
        let (sample, other) = (Sample::new(), Sample::new());
        fs::copy(&other.path, &sample.path).unwrap();
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert!(lost(&salvaged).contains("3 issues of issues.json"), "{}", lost(&salvaged));
    }

    #[test]
    fn without_a_log_each_issue_that_can_be_read_is_saved() {
        let (sample, other) = (Sample::new(), Sample::empty());
        fs::copy(&sample.path, &other.path).unwrap();
        let id = salvaged(&sample).document.issues.id_at(1).unwrap();
        replace_in(&other.path, "\"two\",", "\"two\" <<<<");
        let salvaged = salvaged(&other);
        assert_eq!(titles(&salvaged), ["one", "three"]);
        assert!(
            lost(&salvaged).contains(&format!("issue {id} (two) at line")),
            "{}",
            lost(&salvaged)
        );
        assert!(salvaged.into_holdings().damage.is_some());
    }

    #[test]
    fn changes_before_and_behind_damage_are_made() {
        let sample = Sample::new();
        let line = sample.line(2);
        sample.edit_segment(|bytes| bytes[line + 30] ^= 1);
        // What issues.json has of it is not lost.
        let with_file = salvaged(&sample);
        is_complete(&with_file);
        let told = lost(&with_file);
        assert!(
            told.contains("change 2 of the log") && told.contains(&format!("at byte {line}")),
            "{told}"
        );
        fs::remove_file(&sample.path).unwrap();
        let without = salvaged(&sample);
        assert_eq!(titles(&without), ["one", "three"]);
        assert_eq!(without.changes_made, 3);
        assert_eq!(without.document.issues.at(0).status, Status::InProgress);
    }

    #[test]
    fn shifted_and_repeated_changes_are_made_once() {
        let sample = Sample::new();
        let (second, third) = (sample.line(2), sample.line(3));
        sample.edit_segment(|bytes| {
            let again = bytes[second..third].to_vec();
            bytes.splice(third..third, again.into_iter().chain(*b"xyz"));
        });
        fs::remove_file(&sample.path).unwrap();
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert!(lost(&salvaged).contains("3 damaged bytes"), "{}", lost(&salvaged));
    }

    #[test]
    fn a_stale_file_does_not_undo_what_stands_behind_damage() {
        let sample = Sample::new();
        let stale = fs::read(&sample.path).unwrap();
        sample.change(async |tracker| {
            add(tracker, "four").await;
            let id = tracker.snapshot().await.unwrap().issues.at(0).id;
            tracker.complete_issue(id.into(), "done".try_into().unwrap(), agent()).await.unwrap();
        });
        fs::write(&sample.path, stale).unwrap();
        let line = sample.line(3);
        sample.edit_segment(|bytes| bytes[line + 30] ^= 1);
        let salvaged = salvaged(&sample);
        assert_eq!(titles(&salvaged), ["one", "two", "three", "four"]);
        let first = salvaged.document.issues.at(0);
        assert_eq!(
            (first.status, first.history.len(), first.comments.len()),
            (Status::Completed, 3, 1)
        );
    }

    #[test]
    fn a_segment_without_its_header_is_taken_by_its_hashes() {
        let sample = Sample::new();
        sample.edit_segment(|bytes| bytes[30] ^= 1);
        fs::remove_file(&sample.path).unwrap();
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert!(lost(&salvaged).contains("no checksum"), "{}", lost(&salvaged));
    }

    #[test]
    fn without_a_snapshot_the_log_and_the_file_are_taken() {
        let sample = Sample::new();
        edit_file(&sample.snapshot(0), |bytes| bytes[5] ^= 1);
        sample.change_and_die(async |_| {});
        is_complete(&salvaged(&sample));
        fs::remove_file(&sample.path).unwrap();
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert!(lost(&salvaged).contains("snapshot-0-"), "{}", lost(&salvaged));
    }

    #[test]
    fn a_log_of_another_store_is_left_out() {
        let (sample, other) = (Sample::new(), Sample::new());
        other.change(async |tracker| add(tracker, "foreign").await);
        fs::copy(other.segment(), sample.segment()).unwrap();
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert!(lost(&salvaged).contains("another store"), "{}", lost(&salvaged));
    }

    #[test]
    fn a_forged_claim_is_not_made() {
        let sample = Sample::new();
        let document = salvaged(&sample).document;
        let found =
            super::super::inspect::inspect(&sample.path, std::time::Duration::ZERO).unwrap();
        sample.forge_claim(&document.issues.at(0), found.state.unwrap().position);
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert!(lost(&salvaged).contains("cannot have happened"), "{}", lost(&salvaged));
    }

    #[test]
    fn a_torn_end_is_told() {
        let sample = Sample::new();
        sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
        let salvaged = salvaged(&sample);
        is_complete(&salvaged);
        assert!(lost(&salvaged).contains("the last 4 bytes"), "{}", lost(&salvaged));
    }

    #[test]
    fn where_there_is_nothing_nothing_is_saved() {
        assert!(salvage(&Sample::empty().path).is_err());
    }

    /// Whatever byte of whatever file is broken, each issue is in the file, the log or both.
    #[test]
    fn one_broken_byte_loses_no_issue() {
        let sample = Sample::new();
        let files = [sample.path.clone(), sample.segment(), sample.snapshot(0)];
        for file in files {
            let good = fs::read(&file).unwrap();
            for place in (0..good.len()).step_by(7) {
                let mut bad = good.clone();
                bad[place] ^= 0x10;
                fs::write(&file, &bad).unwrap();
                let salvaged = salvage(&sample.path).unwrap();
                let ids = salvaged.document.issues.len();
                assert!(ids >= 3, "{ids} issues with byte {place} of {} broken", file.display());
            }
            fs::write(&file, good).unwrap();
        }
    }
}
