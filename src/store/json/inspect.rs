//! Examines the files of a store and reports problems.
//!
//! Changes nothing and takes no lock.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::edits::is_foreign;
use super::format::{self, Document, FormatError};
use super::fs::{FileFingerprint, FileSystem, RealFileSystem, TO_THE_END, directory_of};
use super::issue_scanner::{self, RepeatedId};
use super::log::mark::MarkFile;
use super::log::segment::{ordinals, path_of};
use super::open::{self, unreadable};
use super::paths::StorePaths;
use super::published_note::PublishedNote;
use super::{log_check, snapshot};
use crate::domain::{IssueId, merge};
use crate::store::State;
use crate::store::backup::format as backup;

pub use super::issue_scanner::RepeatedId as Repeated;
pub use super::log_check::{Contradiction, LogCheck, LogFault, TornEnd};
pub use super::open::{Damage, OpenError};

/// How often to look again at an apparent problem, and the pause between looks. A process may be in the middle of a
/// change.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);
/// The time limit for looking again. A large store is examined only once.
const RELOOK_WITHIN: Duration = Duration::from_millis(500);
/// The age from which on a temporary file counts as a leftover.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

/// Metadata of an existing file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundFile {
    /// The size in bytes.
    pub length_bytes: u64,
    /// When its content last changed.
    pub modified: SystemTime,
    /// The number of hard links.
    pub links: u64,
}

impl From<FileFingerprint> for FoundFile {
    fn from(found: FileFingerprint) -> Self {
        let (length_bytes, modified) = (found.length_bytes(), found.modified());
        Self { length_bytes, modified, links: found.links() }
    }
}

/// The result of examining a store.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The paths of the files.
    pub paths: StorePaths,
    /// The issues as the store shows them, or why it shows none.
    pub state: Result<State, OpenError>,
    /// The damage that makes the store read-only.
    pub damage: Option<Damage>,
    /// `issues.json`, if it exists.
    pub issues_file: Option<FoundFile>,
    /// The newest segment of the log, if any.
    pub newest_segment: Option<FoundFile>,
    /// How `issues.json` compares with the log.
    pub standing: FileStanding,
    /// The ids that occur more than once in an invalid file.
    pub repeated: Vec<RepeatedId>,
    /// The log, if any.
    pub log: Option<LogCheck>,
}

/// How `issues.json` compares with the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileStanding {
    /// The file was removed.
    Missing,
    /// The file was never written.
    Unwritten,
    /// The file cannot be read.
    Unreadable(String),
    /// The file is invalid.
    Invalid(FormatError),
    /// There is no log; the file is the whole store.
    Alone,
    /// The file shows the same issues as the log.
    UpToDate,
    /// The file is a rendering that lacks this many newer events.
    Behind(u64),
    /// The file has an external edit that is not merged yet; this many issues differ.
    Edited(usize),
    /// The file is another version without newer changes; this many issues differ.
    Older(usize),
    /// The file shares no issue with the log.
    Foreign,
    /// The file was written at this event number, which the log does not have.
    Ahead(u64),
    /// The file was written at the last event, but these issues differ. The number is their total.
    Differs(Vec<IssueId>, usize),
    /// The log cannot be read, so the file cannot be compared.
    Unknown,
}

/// Files that are left in the directories of a store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Leftovers {
    /// Quarantined files.
    pub kept: Vec<PathBuf>,
    /// Temporary files of dead processes that can be removed.
    pub stale: Vec<PathBuf>,
    /// Temporary files that may hold an edit. The next process that publishes merges them.
    pub unmerged: Vec<PathBuf>,
}

/// Returns the paths of a store, with symbolic links resolved.
///
/// # Errors
///
/// [`OpenError::MissingDirectory`] and [`OpenError::Io`] if the path cannot be resolved.
pub fn paths_of(path: &Path) -> Result<StorePaths, OpenError> {
    open::paths_of(&RealFileSystem, path)
}

/// Returns the path of the newest segment, which is the commit lock. Returns `None` if there is no segment.
pub fn newest_segment(paths: &StorePaths) -> Option<PathBuf> {
    newest_segment_with(&RealFileSystem, paths)
}

fn newest_segment_with(fs: &dyn FileSystem, paths: &StorePaths) -> Option<PathBuf> {
    let newest = ordinals(fs, &paths.log).ok()?.pop()?;
    Some(path_of(&paths.log, newest))
}

/// Returns the size of the files that are rewritten as a whole, in bytes: `issues.json` and the newest snapshot.
pub fn rendered_bytes(paths: &StorePaths) -> u64 {
    let fs = &RealFileSystem;
    let newest = snapshot::list(fs, paths).ok().and_then(|found| found.into_iter().next());
    let files = newest.map(|(_, path)| path).into_iter().chain([paths.issues.clone()]);
    let sizes = files.filter_map(|file| fs.fingerprint(&file).ok().flatten());
    sizes.map(|found| found.length_bytes()).sum()
}

/// Examines the store of a file. Skips old segments of a long log when that takes longer than `within`.
///
/// # Errors
///
/// Those of [`paths_of`].
pub fn inspect(path: &Path, within: Duration) -> Result<Inspection, OpenError> {
    let begun = Instant::now();
    let (fs, paths) = (&RealFileSystem, paths_of(path)?);
    let mut found = inspect_once(fs, &paths, begun + within);
    for _ in 1..LOOKS {
        if found.is_sound() || begun.elapsed() > RELOOK_WITHIN {
            break;
        }
        thread::sleep(PAUSE);
        found = inspect_once(fs, &paths, begun + within);
    }
    if matches!(found.standing, FileStanding::Invalid(_))
        && let Ok(Some(bytes)) = read(fs, &paths.issues)
    {
        found.repeated = issue_scanner::repeated_ids(&bytes, &issue_scanner::scan(&bytes));
    }
    Ok(found)
}

impl Inspection {
    /// Returns true if another look could not give a better result.
    fn is_sound(&self) -> bool {
        use FileStanding::{Alone, Behind, Edited, Missing, Older, Unwritten, UpToDate};
        let is_file_sound = matches!(
            self.standing,
            Alone | Behind(_) | Edited(_) | Missing | Older(_) | Unwritten | UpToDate
        );
        let is_log_sound =
            self.log.as_ref().is_none_or(|log| log.faults.is_empty() && log.torn.is_none());
        self.state.is_ok() && self.damage.is_none() && is_file_sound && is_log_sound
    }
}

fn inspect_once(fs: &dyn FileSystem, paths: &StorePaths, stop: Instant) -> Inspection {
    // The note comes first, so that the log already has what the file shows.
    let published = PublishedNote::read(fs, paths);
    let file = read_file(fs, paths);
    let replayed = log_check::check(fs, paths, stop);
    let found = |path: &Path| fs.fingerprint(path).ok().flatten().map(FoundFile::from);
    let issues_file = found(&paths.issues);
    let newest_segment = newest_segment_with(fs, paths).and_then(|path| found(&path));
    let (log, (state, damage)) = match replayed {
        None => (None, (file_state(&file, paths), None)),
        Some((log, Some(state))) if log.faults.is_empty() => (Some(log), (Ok(state), None)),
        Some((log, _)) => (Some(log), shown_state(fs, paths)),
    };
    let standing = match (&file, &state) {
        (FileRead::Missing, _) if published.is_none() => FileStanding::Unwritten,
        (FileRead::Missing, _) => FileStanding::Missing,
        (FileRead::Io(reason), _) => FileStanding::Unreadable(reason.clone()),
        (FileRead::Invalid(error), _) => FileStanding::Invalid(error.clone()),
        (FileRead::Valid(..), _) if log.is_none() => FileStanding::Alone,
        (FileRead::Valid(..), Err(_)) => FileStanding::Unknown,
        (FileRead::Valid(theirs, hash), Ok(ours)) => standing(published, theirs, *hash, ours),
    };
    let (paths, repeated) = (paths.clone(), Vec::new());
    Inspection { paths, state, damage, issues_file, newest_segment, standing, repeated, log }
}

/// Returns the state that the store shows although its log has problems.
fn shown_state(
    fs: &dyn FileSystem,
    paths: &StorePaths,
) -> (Result<State, OpenError>, Option<Damage>) {
    let mark = MarkFile::new(paths.mark()).read(fs);
    match open::open(fs, paths, mark) {
        Ok(Some(opened)) => (Ok(opened.state), opened.damage),
        Ok(None) => (Ok(State::default()), None),
        Err(error) => (Err(error), None),
    }
}

/// The result of reading `issues.json`.
enum FileRead {
    Missing,
    Io(String),
    Invalid(FormatError),
    /// The content, and the hash of the bytes.
    Valid(Box<State>, u128),
}

fn read(fs: &dyn FileSystem, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    fs.open(path)?.map(|open| fs.read_at(&open.file, 0, TO_THE_END)).transpose()
}

fn read_file(fs: &dyn FileSystem, paths: &StorePaths) -> FileRead {
    let bytes = match read(fs, &paths.issues) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return FileRead::Missing,
        Err(error) => return FileRead::Io(error.to_string()),
    };
    let hash = xxhash_rust::xxh3::xxh3_128(&bytes);
    match format::parse(bytes) {
        Ok(mut document) => {
            backup::forget(&mut document.unknown_keys);
            FileRead::Valid(Box::new(State::of(document)), hash)
        }
        Err(error) => FileRead::Invalid(error),
    }
}

/// Returns the state of a store without a log.
fn file_state(file: &FileRead, paths: &StorePaths) -> Result<State, OpenError> {
    let path = paths.issues.clone();
    match file {
        FileRead::Missing => Ok(State::of(Document::default())),
        FileRead::Io(reason) => Err(unreadable(&path, std::io::Error::other(reason.clone()))),
        FileRead::Invalid(source) => Err(OpenError::Format { path, source: source.clone() }),
        FileRead::Valid(state, _) => Ok(State::clone(state)),
    }
}

/// Compares a valid file with the state of the log.
fn standing(
    published: Option<PublishedNote>,
    theirs: &State,
    hash: u128,
    ours: &State,
) -> FileStanding {
    let Some((issues, count)) = log_check::difference(ours, theirs) else {
        return FileStanding::UpToDate;
    };
    let published = published.filter(|published| published.hash() == hash);
    if is_foreign(ours, theirs) {
        return FileStanding::Foreign;
    }
    let newer = count_newer(ours, theirs);
    match published.map(|published| published.position()) {
        Some(position) if position.number < ours.position.number => {
            FileStanding::Behind(ours.position.number - position.number)
        }
        Some(position) if position != ours.position => FileStanding::Ahead(position.number),
        Some(_) if newer > 0 => FileStanding::Differs(issues, count),
        None if newer > 0 => FileStanding::Edited(newer),
        _ => FileStanding::Older(count),
    }
}

/// Returns how many issues of a file contain changes that the store would merge.
fn count_newer(ours: &State, theirs: &State) -> usize {
    let is_newer = |position: &usize| {
        let Some(id) = theirs.issues.id_at(*position) else { return false };
        if theirs.issues.is_same_in(&ours.issues, id) {
            return false;
        }
        let Some(known) = ours.issues.get(id) else { return true };
        merge(None, &known, &theirs.issues.at(*position)).issue != *known
    };
    (0..theirs.issues.len()).filter(is_newer).count()
}

/// Finds leftover files in the directories of a store.
pub fn leftovers(paths: &StorePaths) -> Leftovers {
    let fs = &RealFileSystem;
    let names = |directory: &Path| -> Vec<PathBuf> {
        let mut names = fs.list(directory).unwrap_or_default();
        names.sort();
        names.into_iter().map(|name| directory.join(name)).collect()
    };
    let name_of = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_stale = |path: &PathBuf| {
        let found = fs.fingerprint(path).ok().flatten();
        let age = found.and_then(|found| SystemTime::now().duration_since(found.modified()).ok());
        age.is_some_and(|age| age > STALE_AFTER)
    };
    let beside = names(directory_of(&paths.issues));
    let beside = beside.into_iter().filter(|path| is_own_temp(&name_of(path)));
    let (unmerged, own): (Vec<_>, Vec<_>) = names(&paths.directory)
        .into_iter()
        .partition(|path| StorePaths::is_exchange_file(&name_of(path)));
    let own = own.into_iter().chain(names(&paths.log));
    let own = own.filter(|path| StorePaths::is_unfinished(&name_of(path)));
    Leftovers {
        kept: names(&paths.kept),
        stale: beside.chain(own).filter(is_stale).collect(),
        unmerged: unmerged.into_iter().filter(is_stale).collect(),
    }
}

/// Returns true if a file name beside `issues.json` is that of a temporary file of this program. Renderings of
/// `issues.json` are elsewhere.
fn is_own_temp(name: &str) -> bool {
    let is_trial = name.strip_prefix(".trial.").and_then(|rest| rest.strip_suffix(".tmp"));
    is_trial.is_some_and(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || crate::store::backup::file::is_exchange_file(name)
}

#[cfg(test)]
pub(super) mod samples {
    //! Sample stores for tests of damage.

    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::super::log::segment::Segment;
    use super::super::log::{frame, record};
    use super::super::{JsonStore, JsonStoreOptions};
    use super::{Document, RealFileSystem, StorePaths, newest_segment, paths_of, snapshot};
    use crate::domain::{AgentName, Classification, Event, EventKind, Issue, Status, Title};
    use crate::store::backup::OverwritePolicy;
    use crate::store::{Position, Store};
    use crate::tracker::{NewIssue, Tracker, Wanted};

    pub struct Sample {
        pub directory: TempDir,
        pub path: PathBuf,
    }

    impl Sample {
        pub fn empty() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("issues.json");
            Self { directory, path }
        }

        /// Creates a store with three issues, `one`, `two` and `three`. The first is claimed, so there are four
        /// events.
        pub fn new() -> Self {
            let sample = Self::empty();
            sample.change(async |tracker| {
                for title in ["one", "two", "three"] {
                    add(tracker, title).await;
                }
                tracker.claim_next(Wanted::Work(None), agent()).await.unwrap();
            });
            sample
        }

        /// Changes the store in a process that shuts down properly.
        pub fn change(&self, work: impl AsyncFnOnce(&Tracker)) {
            self.run(true, work);
        }

        /// Changes the store in a process that is killed.
        pub fn change_and_die(&self, work: impl AsyncFnOnce(&Tracker)) {
            self.run(false, work);
        }

        fn run(&self, closes: bool, work: impl AsyncFnOnce(&Tracker)) {
            let publish_after = Duration::from_secs(3_600);
            let options = JsonStoreOptions { publish_after, ..JsonStoreOptions::default() };
            let store = Arc::new(JsonStore::with(&self.path, Arc::new(RealFileSystem), options));
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                work(&Tracker::new(Arc::clone(&store) as Arc<dyn Store>)).await;
                if closes {
                    store.close().await;
                }
            });
        }

        /// Restores a document.
        pub fn restore(&self, document: Document) {
            let store = JsonStore::new(&self.path);
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                store.maintenance().restore(document, OverwritePolicy::Everything).await.unwrap();
                store.close().await;
            });
        }

        pub fn paths(&self) -> StorePaths {
            paths_of(&self.path).unwrap()
        }

        /// Returns the path of the snapshot at an event number.
        pub fn snapshot(&self, number: u64) -> PathBuf {
            let found = snapshot::list(&RealFileSystem, &self.paths()).unwrap();
            found.into_iter().find(|(found, _)| *found == number).unwrap().1
        }

        pub fn segment(&self) -> PathBuf {
            newest_segment(&self.paths()).unwrap()
        }

        /// Edits the bytes of the newest segment.
        pub fn edit_segment(&self, edit: impl FnOnce(&mut Vec<u8>)) {
            edit_file(&self.segment(), edit);
        }

        /// Returns the offset of the nth event line in the newest segment, counted from 1.
        pub fn line(&self, number: usize) -> usize {
            let bytes = fs::read(self.segment()).unwrap();
            memchr::memchr_iter(b'\n', &bytes).nth(number - 1).unwrap() + 1
        }

        /// Appends an event with a valid checksum and hash.
        pub fn forge(&self, event: &Event, last: Position) {
            let segment = Segment::open(&RealFileSystem, &self.paths().log, 1).unwrap().unwrap();
            let (text, position) = record::encode(event, last);
            let line = record::line(&text, position, 0, true);
            self.edit_segment(|bytes| frame::write(segment.header.salt, &line, bytes));
        }

        /// Appends a second claim of an issue.
        pub fn forge_claim(&self, issue: &Issue, last: Position) {
            let (at, before) = (issue.modified_at, Some(crate::domain::Before::of(issue)));
            let (agent, kind) = ("thief".to_owned(), EventKind::Claimed);
            assert_eq!(issue.status, Status::InProgress);
            self.forge(&Event { issue: issue.id, at, agent, kind, before, lease: None }, last);
        }

        /// Returns the content of every file.
        pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
            let (mut found, mut directories) =
                (BTreeMap::new(), vec![self.directory.path().to_owned()]);
            while let Some(directory) = directories.pop() {
                for entry in fs::read_dir(directory).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        directories.push(path);
                    } else {
                        found.insert(path.clone(), fs::read(path).unwrap());
                    }
                }
            }
            found
        }
    }

    pub fn edit_file(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(path).unwrap();
        edit(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    pub fn replace_in(path: &Path, text: &str, other: &str) {
        let before = fs::read_to_string(path).unwrap();
        assert!(before.contains(text), "{before}");
        fs::write(path, before.replacen(text, other, 1)).unwrap();
    }

    pub fn agent() -> AgentName {
        AgentName::try_from("agent").unwrap()
    }

    pub async fn add(tracker: &Tracker, title: &str) {
        let title = Title::try_from(title).unwrap();
        let issue = NewIssue::new(title, "".try_into().unwrap(), Classification::Bug);
        tracker.add_issue(issue, agent()).await.unwrap();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::samples::{Sample, add, agent, edit_file, replace_in};
    use super::*;
    use crate::domain::{ClaimProof, Resolution};
    use crate::store::json::log::{frame, record, segment};
    use crate::store::json::snapshot;
    use crate::store::{Position, State};
    use crate::tracker::Wanted;

    fn examine(sample: &Sample) -> Inspection {
        let before = sample.everything();
        let found = inspect(&sample.path, Duration::from_secs(10)).unwrap();
        assert_eq!(sample.everything(), before, "it has changed something");
        found
    }

    fn faults(sample: &Sample) -> Vec<LogFault> {
        examine(sample).log.unwrap().faults
    }

    fn state(sample: &Sample) -> State {
        examine(sample).state.unwrap()
    }

    /// Creates a store with three segments.
    fn of_segments() -> Sample {
        let sample = Sample::new();
        for title in ["four", "five"] {
            // The next change begins a new segment.
            sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
            sample.change(async |tracker| add(tracker, title).await);
        }
        assert_eq!(ordinals(&RealFileSystem, &sample.paths().log).unwrap(), [1, 2, 3]);
        sample
    }

    #[test]
    fn a_healthy_store_is_reported_with_its_counts() {
        let sample = Sample::new();
        let found = examine(&sample);
        assert_eq!((found.standing, found.damage), (FileStanding::UpToDate, None));
        let log = found.log.unwrap();
        assert_eq!((log.faults.as_slice(), log.torn), (&[][..], None));
        assert_eq!((log.events, log.first, log.last.number), (4, 1, 4));
        assert_eq!(log.bytes, fs::metadata(sample.segment()).unwrap().len());
        assert_eq!((log.segments, log.unexamined, log.replayed_from), (1, 0, Some(0)));
        assert_eq!(found.state.unwrap().issues.len(), 3);
    }

    #[test]
    fn several_segments_are_read_as_one_log() {
        let sample = of_segments();
        let log = examine(&sample).log.unwrap();
        assert_eq!((log.faults.as_slice(), log.segments), (&[][..], 3));
        assert_eq!((log.events, log.first, log.last.number), (6, 1, 6));
    }

    #[test]
    fn a_missing_store_is_reported_as_empty() {
        let sample = Sample::empty();
        let found = examine(&sample);
        assert!(found.log.is_none() && found.state.unwrap().issues.is_empty());
        assert_eq!(found.standing, FileStanding::Unwritten);
        let missing = inspect(&sample.path.join("x/issues.json"), Duration::ZERO);
        assert!(matches!(missing, Err(OpenError::MissingDirectory(_))));
    }

    #[test]
    fn an_invalid_file_is_reported_with_its_line() {
        let sample = Sample::new();
        replace_in(&sample.path, "\"bug\"", "bug");
        let found = examine(&sample);
        let FileStanding::Invalid(error) = found.standing else { panic!("{:?}", found.standing) };
        assert_eq!(error.line, 7);
        // The log has every issue.
        assert_eq!(found.state.unwrap().issues.len(), 3);
    }

    #[test]
    fn duplicate_ids_are_reported() {
        let sample = Sample::new();
        let ids: Vec<_> = state(&sample).issues.issues().map(|issue| issue.id).collect();
        replace_in(&sample.path, &ids[1].to_string(), &ids[0].to_string());
        let repeated = examine(&sample).repeated;
        assert_eq!((repeated.len(), repeated[0].id, repeated[0].are_identical), (1, ids[0], false));
    }

    #[test]
    fn a_changed_byte_is_reported_with_its_offset() {
        let sample = Sample::new();
        let (line, path) = (sample.line(2), sample.segment());
        sample.edit_segment(|bytes| bytes[line + 30] ^= 1);
        let found = examine(&sample);
        let offset = line as u64;
        assert_eq!(found.damage, Some(Damage::Bytes { path: path.clone(), offset }));
        assert_eq!(found.log.unwrap().faults, [LogFault::Bytes { path, offset }]);
    }

    #[test]
    fn a_torn_end_of_the_log_is_no_fault() {
        let sample = Sample::new();
        let (path, offset) = (sample.segment(), fs::metadata(sample.segment()).unwrap().len());
        sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
        let found = examine(&sample);
        assert_eq!((found.damage, found.standing), (None, FileStanding::UpToDate));
        let log = found.log.unwrap();
        assert_eq!(log.torn, Some(TornEnd { path, offset, length_bytes: 4 }));
        assert_eq!(log.faults, []);
    }

    #[test]
    fn damage_in_an_old_segment_is_reported() {
        let sample = of_segments();
        let path = path_of(&sample.paths().log, 1);
        edit_file(&path, |bytes| *bytes = bytes[..bytes.len() - 50].to_vec());
        assert!(matches!(&faults(&sample)[0], LogFault::Bytes { path: told, .. } if *told == path));
    }

    #[test]
    fn a_missing_segment_is_reported() {
        let sample = of_segments();
        fs::remove_file(path_of(&sample.paths().log, 2)).unwrap();
        let found = examine(&sample);
        assert!(matches!(found.state, Err(OpenError::Segment { .. })));
        let gap = LogFault::Gap(path_of(&sample.paths().log, 3));
        assert!(found.log.unwrap().faults.contains(&gap));
    }

    #[test]
    fn a_damaged_segment_header_is_reported() {
        let sample = Sample::new();
        sample.edit_segment(|bytes| bytes[30] ^= 1);
        assert!(faults(&sample).contains(&LogFault::Header(sample.segment())));
    }

    #[test]
    fn a_segment_of_another_store_is_reported() {
        let (sample, other) = (of_segments(), of_segments());
        let path = path_of(&sample.paths().log, 3);
        fs::copy(path_of(&other.paths().log, 3), &path).unwrap();
        let faults = faults(&sample);
        let is_told = |fault: &LogFault| matches!(fault, LogFault::OtherStore { path: told, .. } if *told == path);
        assert!(faults.iter().any(is_told), "{faults:?}");
    }

    #[test]
    fn a_log_of_another_store_is_rejected() {
        let (sample, other) = (Sample::new(), Sample::new());
        fs::copy(other.segment(), sample.segment()).unwrap();
        let found = examine(&sample);
        assert!(matches!(found.state, Err(OpenError::NoSnapshot { .. })));
        let faults = found.log.unwrap().faults;
        assert!(faults[0].to_string().contains("another store"), "{faults:?}");
    }

    #[test]
    fn a_newer_log_format_is_reported() {
        let sample = Sample::new();
        let mut header = segment::header(
            "x".to_owned(),
            Position::default(),
            None,
            crate::store::json::support::now(),
        );
        header.format = record::FORMAT + 1;
        let mut bytes = Vec::new();
        frame::write(0, &header.write(), &mut bytes);
        fs::write(sample.segment(), bytes).unwrap();
        assert!(faults(&sample).contains(&LogFault::Newer(sample.segment())));
    }

    #[test]
    fn a_forged_claim_is_reported() {
        let sample = Sample::new();
        let state = state(&sample);
        let issue = state.issues.at(0);
        sample.forge_claim(&issue, state.position);
        let [LogFault::Event { number: 5, contradiction, .. }] = faults(&sample)[..] else {
            panic!()
        };
        let expected = Contradiction::Status { issue: issue.id, status: issue.status };
        assert_eq!(contradiction, expected);
    }

    #[test]
    fn an_event_with_a_wrong_before_state_is_reported() {
        let sample = Sample::new();
        let state = state(&sample);
        let mut issue = (*state.issues.at(1)).clone();
        let comment = "no".to_owned();
        issue.status = crate::domain::Status::Completed;
        let event = crate::domain::Event {
            issue: issue.id,
            at: issue.modified_at,
            agent: "thief".to_owned(),
            kind: crate::domain::EventKind::Closed { comment },
            before: Some(crate::domain::Before::of(&issue)),
            lease: None,
        };
        sample.forge(&event, state.position);
        let [LogFault::Event { contradiction, .. }] = faults(&sample)[..] else { panic!() };
        assert_eq!(contradiction, Contradiction::Before(issue.id));
    }

    #[test]
    fn ordinary_operations_cause_no_faults() {
        let sample = Sample::new();
        let early = state(&sample).document();
        let text = || "said".try_into().unwrap();
        sample.change(async |tracker| {
            let id = tracker.state().await.unwrap().issues.at(0).id;
            tracker.comment_issue(id.into(), text(), agent()).await.unwrap();
            tracker
                .complete_issue(id.into(), text(), agent(), ClaimProof::default())
                .await
                .unwrap();
            let claimed = tracker.claim_next(Wanted::Review, agent()).await.unwrap().unwrap();
            tracker.lapse_claim(&claimed, "gone").await.unwrap();
            tracker.return_issue(id.into(), text(), agent(), ClaimProof::default()).await.unwrap();
            tracker
                .close_issue(
                    id.into(),
                    Resolution::Rejected,
                    text(),
                    agent(),
                    ClaimProof::default(),
                )
                .await
                .unwrap();
            tracker.comment_issue(id.into(), text(), agent()).await.unwrap();
            add(tracker, "four").await;
        });
        let late = state(&sample).document();
        replace_in(&sample.path, "\"two\"", "\"zwei\"");
        replace_in(&sample.path, "\n  ]\n}", "\n  ],\n  \"other\": 1\n}");
        replace_in(&sample.path, "\"created\"", "\"completed\"");
        sample.change(async |tracker| add(tracker, "five").await);
        assert_eq!(state(&sample).issues.at(1).title, "zwei");
        let ids =
            |state: &State| -> Vec<_> { state.issues.issues().map(|issue| issue.id).collect() };
        for document in [early, late] {
            let wanted = ids(&State::of(document.clone()));
            sample.restore(document);
            let found = examine(&sample);
            assert_eq!((found.standing, found.damage), (FileStanding::UpToDate, None));
            assert_eq!(found.log.unwrap().faults, []);
            assert_eq!(ids(&found.state.unwrap()), wanted);
            let salvaged = crate::store::json::salvage::salvage(&sample.path).unwrap();
            assert_eq!((ids(&State::of(salvaged.document)), salvaged.lost), (wanted, Vec::new()));
        }
    }

    #[test]
    fn a_snapshot_that_differs_from_the_log_is_reported() {
        let sample = Sample::new();
        let (mut state, store) = (state(&sample), examine(&sample).log.unwrap().store);
        let paths = sample.paths();
        snapshot::write(&RealFileSystem, &paths, &state, &store).unwrap();
        assert_eq!(faults(&sample), []);
        let id = state.issues.id_at(1).unwrap();
        state.issues.remove(id).unwrap();
        snapshot::write(&RealFileSystem, &paths, &state, &store).unwrap();
        let path = paths.snapshot(4, &store);
        assert_eq!(
            faults(&sample),
            [LogFault::SnapshotDiffers { path, issues: vec![id], count: 1 }]
        );
    }

    #[test]
    fn a_snapshot_not_confirmed_by_the_log_is_reported() {
        let sample = Sample::new();
        let (mut state, store) = (state(&sample), examine(&sample).log.unwrap().store);
        state.position.hash ^= 1;
        snapshot::write(&RealFileSystem, &sample.paths(), &state, &store).unwrap();
        state.position.number = 9;
        snapshot::write(&RealFileSystem, &sample.paths(), &state, &store).unwrap();
        let told: Vec<_> = faults(&sample).iter().map(ToString::to_string).collect();
        assert!(
            told[0].contains("does not confirm") && told[1].contains("ends at event 4"),
            "{told:?}"
        );
        // The older snapshot still opens the store.
        assert!(examine(&sample).state.is_ok());
    }

    #[test]
    fn a_damaged_snapshot_is_reported() {
        let sample = Sample::new();
        let path = sample.snapshot(0);
        edit_file(&path, |bytes| bytes[5] ^= 1);
        let found = examine(&sample);
        assert!(found.state.is_err());
        assert!(matches!(&found.log.unwrap().faults[0], LogFault::Snapshot { .. }));
    }

    #[test]
    fn an_outdated_file_is_no_damage() {
        let sample = Sample::new();
        sample.change_and_die(async |tracker| add(tracker, "four").await);
        let found = examine(&sample);
        assert_eq!((found.standing, found.damage), (FileStanding::Behind(1), None));
        assert_eq!(found.log.unwrap().faults, []);
        assert_eq!(found.state.unwrap().issues.len(), 4);
    }

    #[test]
    fn external_edits_and_replaced_files_are_distinguished() {
        let sample = Sample::new();
        let bytes = fs::read(&sample.path).unwrap();
        replace_in(&sample.path, "\"two\"", "\"zwei\"");
        assert_eq!(examine(&sample).standing, FileStanding::Edited(1));
        fs::remove_file(&sample.path).unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::Missing);
        fs::write(&sample.path, "{\"issues\": []}").unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::Older(3));
        let other = Sample::new();
        fs::copy(&other.path, &sample.path).unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::Foreign);
        fs::write(&sample.path, bytes).unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::UpToDate);
    }

    #[test]
    fn a_published_file_that_contradicts_the_log_is_reported() {
        let sample = Sample::new();
        replace_in(&sample.path, "\"two\"", "\"zwei\"");
        let hash = xxhash_rust::xxh3::xxh3_128(&fs::read(&sample.path).unwrap());
        let paths = sample.paths();
        let fingerprint = RealFileSystem.fingerprint(&sample.path).unwrap().unwrap();
        let mut position = state(&sample).position;
        PublishedNote::new(position, fingerprint, hash).write(&RealFileSystem, &paths).unwrap();
        let id = state(&sample).issues.id_at(1).unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::Differs(vec![id], 1));
        position.number = 9;
        PublishedNote::new(position, fingerprint, hash).write(&RealFileSystem, &paths).unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::Ahead(9));
    }

    #[test]
    fn only_old_temporary_files_count_as_leftovers() {
        let sample = Sample::new();
        let paths = sample.paths();
        let beside = sample.directory.path();
        let stale = [
            beside.join(".b.json.01234567.ait-backup.tmp"),
            paths.directory.join(".snapshot-3.tmp"),
            paths.log.join(".0000000002.01234567.tmp"),
        ];
        let unmerged = paths.exchange_file(7);
        for path in stale.iter().chain([&unmerged, &beside.join(".mine.tmp")]) {
            fs::write(path, "").unwrap();
        }
        assert_eq!(leftovers(&paths), Leftovers::default());
        for path in stale.iter().chain([&unmerged, &beside.join(".mine.tmp")]) {
            let old = SystemTime::now() - 2 * STALE_AFTER;
            File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        }
        let found = leftovers(&paths);
        assert_eq!((found.stale.as_slice(), found.unmerged), (&stale[..], vec![unmerged]));
        fs::create_dir_all(&paths.kept).unwrap();
        fs::write(paths.kept.join("x"), "").unwrap();
        assert_eq!(leftovers(&paths).kept, [paths.kept.join("x")]);
    }
}
