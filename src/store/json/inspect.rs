//! Examining the files of a store, for people who want to know what is wrong with them.
//!
//! Changes nothing, and takes no lock.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::edits::is_foreign;
use super::format::{self, Document, FormatError};
use super::fs::{FileFingerprint, FileSystem, RealFileSystem, TO_THE_END, directory_of};
use super::issue_scanner::{self, RepeatedId};
use super::log::mark::MarkFile;
use super::log::segment::{ordinals, path_of};
use super::place::Place;
use super::published::Published;
use super::recovery::{self, unreadable};
use super::{replay, snapshot};
use crate::domain::{IssueId, merge};
use crate::store::State;
use crate::store::backup::format as backup;

pub use super::issue_scanner::RepeatedId as Repeated;
pub use super::recovery::{Damage, OpenError};
pub use super::replay::{Contradiction, LogCheck, LogFault, TornEnd};

/// How often, and after which pause, it is looked again at what looks wrong: it may only be under way.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);
/// How long it may have taken to look for that; large files are looked at once.
const RELOOK_WITHIN: Duration = Duration::from_millis(500);
/// How old a temporary file is before it counts as left behind.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

/// A file that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundFile {
    /// Its size.
    pub length_bytes: u64,
    /// When its content last changed.
    pub modified: SystemTime,
    /// How many names it has.
    pub links: u64,
}

impl From<FileFingerprint> for FoundFile {
    fn from(found: FileFingerprint) -> Self {
        let (length_bytes, modified) = (found.length_bytes(), found.modified());
        Self { length_bytes, modified, links: found.links() }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// Where the files are.
    pub place: Place,
    /// The issues, as the store shows them; or why there are none.
    pub state: Result<State, OpenError>,
    /// What keeps the store from being changed.
    pub damage: Option<Damage>,
    /// The file of the issues, where there is one.
    pub issues_file: Option<FoundFile>,
    /// The newest segment of the log, where there is one.
    pub newest_segment: Option<FoundFile>,
    /// How the file of the issues stands to the log.
    pub standing: FileStanding,
    /// The ids that occur more than once in a file that is not valid.
    pub repeated: Vec<RepeatedId>,
    /// The log, where there is one.
    pub log: Option<LogCheck>,
}

/// How the file of the issues stands to the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileStanding {
    /// There is no file any more.
    Missing,
    /// There is no file, and there never was one.
    Unwritten,
    /// It cannot be read.
    Unreadable(String),
    /// It is not valid.
    Invalid(FormatError),
    /// There is no log: the file is all there is.
    Alone,
    /// It tells what the log tells.
    UpToDate,
    /// It was written, and lacks so many events that came later.
    Behind(u64),
    /// Somebody edited it, which was not taken over yet; so many issues differ.
    Edited(usize),
    /// It is another version, with nothing in it that the log does not know better; so many issues differ.
    Older(usize),
    /// It has none of the issues of the log.
    Foreign,
    /// It tells of this event, which the log does not have.
    Ahead(u64),
    /// It was written as of the last event, and differs from that in these issues, of which there are so many.
    Differs(Vec<IssueId>, usize),
    /// The log cannot be read, so that nobody can tell.
    Unknown,
}

/// What lies around in the directories of a store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Leftovers {
    /// What was set aside for people.
    pub kept: Vec<PathBuf>,
    /// Temporary files of dead processes that nobody needs.
    pub stale: Vec<PathBuf>,
    /// Those that may hold an edit, which the next one to write the file of the issues takes over.
    pub unmerged: Vec<PathBuf>,
}

/// Finds the files of the store in a file, symbolic links resolved.
///
/// # Errors
///
/// [`OpenError::MissingDirectory`] and [`OpenError::Io`] where there is no place for them.
pub fn place_of(path: &Path) -> Result<Place, OpenError> {
    recovery::place_of(&RealFileSystem, path)
}

/// The newest segment of the log, which is the lock of a commit; `None` where there is none.
pub fn newest_segment(place: &Place) -> Option<PathBuf> {
    newest_segment_with(&RealFileSystem, place)
}

fn newest_segment_with(fs: &dyn FileSystem, place: &Place) -> Option<PathBuf> {
    let newest = ordinals(fs, &place.log).ok()?.pop()?;
    Some(path_of(&place.log, newest))
}

/// The size in bytes of what is written as a whole now and then: the file of the issues, and the newest snapshot.
pub fn rendered_bytes(place: &Place) -> u64 {
    let fs = &RealFileSystem;
    let newest = snapshot::list(fs, place).ok().and_then(|found| found.into_iter().next());
    let files = newest.map(|(_, path)| path).into_iter().chain([place.issues.clone()]);
    let sizes = files.filter_map(|file| fs.fingerprint(&file).ok().flatten());
    sizes.map(|found| found.length_bytes()).sum()
}

/// Examines the store in a file. Old parts of a long log are left out when that takes longer than `within`.
///
/// # Errors
///
/// Those of [`place_of`].
pub fn inspect(path: &Path, within: Duration) -> Result<Inspection, OpenError> {
    let begun = Instant::now();
    let (fs, place) = (&RealFileSystem, place_of(path)?);
    let mut found = inspect_once(fs, &place, begun + within);
    for _ in 1..LOOKS {
        if found.is_sound() || begun.elapsed() > RELOOK_WITHIN {
            break;
        }
        thread::sleep(PAUSE);
        found = inspect_once(fs, &place, begun + within);
    }
    if matches!(found.standing, FileStanding::Invalid(_))
        && let Ok(Some(bytes)) = read(fs, &place.issues)
    {
        found.repeated = issue_scanner::repeated_ids(&bytes, &issue_scanner::scan(&bytes));
    }
    Ok(found)
}

impl Inspection {
    /// Returns true if another look would not find anything better.
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

fn inspect_once(fs: &dyn FileSystem, place: &Place, stop: Instant) -> Inspection {
    // Before the log: what the file tells is in the log already.
    let published = Published::read(fs, place);
    let file = read_file(fs, place);
    let replayed = replay::check(fs, place, stop);
    let found = |path: &Path| fs.fingerprint(path).ok().flatten().map(FoundFile::from);
    let issues_file = found(&place.issues);
    let newest_segment = newest_segment_with(fs, place).and_then(|path| found(&path));
    let (log, (state, damage)) = match replayed {
        None => (None, (file_state(&file, place), None)),
        Some((log, Some(state))) if log.faults.is_empty() => (Some(log), (Ok(state), None)),
        Some((log, _)) => (Some(log), shown_state(fs, place)),
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
    let (place, repeated) = (place.clone(), Vec::new());
    Inspection { place, state, damage, issues_file, newest_segment, standing, repeated, log }
}

/// What the store shows where something is wrong with its log.
fn shown_state(fs: &dyn FileSystem, place: &Place) -> (Result<State, OpenError>, Option<Damage>) {
    let mark = MarkFile::new(place.mark()).read(fs);
    match recovery::open(fs, place, mark) {
        Ok(Some(opened)) => (Ok(opened.state), opened.damage),
        Ok(None) => (Ok(State::default()), None),
        Err(error) => (Err(error), None),
    }
}

/// The file of the issues, as it was read.
enum FileRead {
    Missing,
    Io(String),
    Invalid(FormatError),
    /// Its content, and the hash of its bytes.
    Valid(Box<State>, u128),
}

fn read(fs: &dyn FileSystem, path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    fs.open(path)?.map(|open| fs.read_at(&open.file, 0, TO_THE_END)).transpose()
}

fn read_file(fs: &dyn FileSystem, place: &Place) -> FileRead {
    let bytes = match read(fs, &place.issues) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return FileRead::Missing,
        Err(error) => return FileRead::Io(error.to_string()),
    };
    let hash = xxhash_rust::xxh3::xxh3_128(&bytes);
    match format::parse(bytes) {
        Ok(mut document) => {
            backup::forget(&mut document.extra);
            FileRead::Valid(Box::new(State::of(document)), hash)
        }
        Err(error) => FileRead::Invalid(error),
    }
}

/// The state of a store that has no log.
fn file_state(file: &FileRead, place: &Place) -> Result<State, OpenError> {
    let path = place.issues.clone();
    match file {
        FileRead::Missing => Ok(State::of(Document::default())),
        FileRead::Io(reason) => Err(unreadable(&path, std::io::Error::other(reason.clone()))),
        FileRead::Invalid(source) => Err(OpenError::Format { path, source: source.clone() }),
        FileRead::Valid(state, _) => Ok(State::clone(state)),
    }
}

/// How a valid file stands to the state of the log.
fn standing(
    published: Option<Published>,
    theirs: &State,
    hash: u128,
    ours: &State,
) -> FileStanding {
    let Some((issues, count)) = replay::difference(ours, theirs) else {
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

/// How many issues of a file say something that the store would take over.
fn count_newer(ours: &State, theirs: &State) -> usize {
    let is_newer = |place: &usize| {
        let Some(id) = theirs.issues.id_at(*place) else { return false };
        if theirs.issues.is_same_in(&ours.issues, id) {
            return false;
        }
        let Some(known) = ours.issues.get(id) else { return true };
        merge(None, &known, &theirs.issues.at(*place)).issue != *known
    };
    (0..theirs.issues.len()).filter(is_newer).count()
}

/// Finds what lies around in the directories of a store.
pub fn leftovers(place: &Place) -> Leftovers {
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
    let beside = names(directory_of(&place.issues));
    let beside = beside.into_iter().filter(|path| is_own_temp(&name_of(path)));
    let (unmerged, own): (Vec<_>, Vec<_>) =
        names(&place.directory).into_iter().partition(|path| Place::is_temp(&name_of(path)));
    let own = own.into_iter().chain(names(&place.log));
    let own = own.filter(|path| Place::is_unfinished(&name_of(path)));
    Leftovers {
        kept: names(&place.kept),
        stale: beside.chain(own).filter(is_stale).collect(),
        unmerged: unmerged.into_iter().filter(is_stale).collect(),
    }
}

/// Whether a name beside the file of the issues is that of a temporary file of this program, but for those of
/// that file itself.
fn is_own_temp(name: &str) -> bool {
    let is_trial = name.strip_prefix(".trial.").and_then(|rest| rest.strip_suffix(".tmp"));
    is_trial.is_some_and(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || crate::store::backup::file::is_temp(name)
}

#[cfg(test)]
pub(super) mod samples {
    //! Stores to break.

    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::super::log::segment::Segment;
    use super::super::log::{frame, record};
    use super::super::{JsonStore, JsonStoreOptions};
    use super::{Document, Place, RealFileSystem, newest_segment, place_of, snapshot};
    use crate::domain::{AgentName, Classification, Event, EventKind, Issue, Status, Title};
    use crate::store::backup::Consent;
    use crate::store::{Position, Store};
    use crate::tracker::Tracker;

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

        /// A store of three issues, `one`, `two` and `three`, of which the first is claimed: four events.
        pub fn new() -> Self {
            let sample = Self::empty();
            sample.change(async |tracker| {
                for title in ["one", "two", "three"] {
                    add(tracker, title).await;
                }
                tracker.get_next_issue(None, agent()).await.unwrap();
            });
            sample
        }

        /// Changes the store in a process that ends in order.
        pub fn change(&self, work: impl AsyncFnOnce(&Tracker)) {
            self.run(true, work);
        }

        /// The same in a process that is killed.
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

        /// Goes back to a document.
        pub fn restore(&self, document: Document) {
            let store = JsonStore::new(&self.path);
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                store.maintenance().restore(document, Consent::Everything).await.unwrap();
                store.close().await;
            });
        }

        pub fn place(&self) -> Place {
            place_of(&self.path).unwrap()
        }

        /// The snapshot of the state after an event.
        pub fn snapshot(&self, number: u64) -> PathBuf {
            let found = snapshot::list(&RealFileSystem, &self.place()).unwrap();
            found.into_iter().find(|(found, _)| *found == number).unwrap().1
        }

        pub fn segment(&self) -> PathBuf {
            newest_segment(&self.place()).unwrap()
        }

        /// Lets somebody change the newest segment.
        pub fn edit_segment(&self, edit: impl FnOnce(&mut Vec<u8>)) {
            edit_file(&self.segment(), edit);
        }

        /// Where the line begins that holds the event of this place in the newest segment, counted from 1.
        pub fn line(&self, number: usize) -> usize {
            let bytes = fs::read(self.segment()).unwrap();
            memchr::memchr_iter(b'\n', &bytes).nth(number - 1).unwrap() + 1
        }

        /// Appends an event by somebody who knows how that is done.
        pub fn forge(&self, event: &Event, last: Position) {
            let segment = Segment::open(&RealFileSystem, &self.place().log, 1).unwrap().unwrap();
            let (text, position) = record::encode(event, last);
            let line = record::line(&text, position, 0, true);
            self.edit_segment(|bytes| frame::write(segment.header.salt, &line, bytes));
        }

        /// A second claim of an issue.
        pub fn forge_claim(&self, issue: &Issue, last: Position) {
            let (at, before) = (issue.modified_at, Some(crate::domain::Before::of(issue)));
            let (agent, kind) = ("thief".to_owned(), EventKind::Claimed);
            assert_eq!(issue.status, Status::InProgress);
            self.forge(&Event { issue: issue.id, at, agent, kind, before }, last);
        }

        /// Every file with its content.
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
        let added = tracker.add_issue(title, "".try_into().unwrap(), Classification::Bug, agent());
        added.await.unwrap();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::samples::{Sample, add, agent, edit_file, replace_in};
    use super::*;
    use crate::domain::Resolution;
    use crate::store::json::log::{frame, record, segment};
    use crate::store::json::snapshot;
    use crate::store::{Position, State};

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

    /// A store of three segments.
    fn of_segments() -> Sample {
        let sample = Sample::new();
        for title in ["four", "five"] {
            // The next change begins a new segment.
            sample.edit_segment(|bytes| bytes.extend_from_slice(b"0123"));
            sample.change(async |tracker| add(tracker, title).await);
        }
        assert_eq!(ordinals(&RealFileSystem, &sample.place().log).unwrap(), [1, 2, 3]);
        sample
    }

    #[test]
    fn a_sound_store_is_told_in_numbers() {
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
    fn several_segments_are_one_log() {
        let sample = of_segments();
        let log = examine(&sample).log.unwrap();
        assert_eq!((log.faults.as_slice(), log.segments), (&[][..], 3));
        assert_eq!((log.events, log.first, log.last.number), (6, 1, 6));
    }

    #[test]
    fn where_there_is_no_store_there_is_nothing_to_tell() {
        let sample = Sample::empty();
        let found = examine(&sample);
        assert!(found.log.is_none() && found.state.unwrap().issues.is_empty());
        assert_eq!(found.standing, FileStanding::Unwritten);
        let missing = inspect(&sample.path.join("x/issues.json"), Duration::ZERO);
        assert!(matches!(missing, Err(OpenError::MissingDirectory(_))));
    }

    #[test]
    fn an_invalid_file_is_told_with_line_and_column() {
        let sample = Sample::new();
        replace_in(&sample.path, "\"bug\"", "bug");
        let found = examine(&sample);
        let FileStanding::Invalid(error) = found.standing else { panic!("{:?}", found.standing) };
        assert_eq!(error.line, 7);
        // The log has everything.
        assert_eq!(found.state.unwrap().issues.len(), 3);
    }

    #[test]
    fn repeated_ids_are_told() {
        let sample = Sample::new();
        let ids: Vec<_> = state(&sample).issues.issues().map(|issue| issue.id).collect();
        replace_in(&sample.path, &ids[1].to_string(), &ids[0].to_string());
        let repeated = examine(&sample).repeated;
        assert_eq!((repeated.len(), repeated[0].id, repeated[0].are_identical), (1, ids[0], false));
    }

    #[test]
    fn a_changed_byte_is_damage_with_its_offset() {
        let sample = Sample::new();
        let (line, path) = (sample.line(2), sample.segment());
        sample.edit_segment(|bytes| bytes[line + 30] ^= 1);
        let found = examine(&sample);
        let offset = line as u64;
        assert_eq!(found.damage, Some(Damage::Bytes { path: path.clone(), offset }));
        assert_eq!(found.log.unwrap().faults, [LogFault::Bytes { path, offset }]);
    }

    #[test]
    fn a_torn_end_is_no_fault() {
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
    fn damage_of_an_old_segment_is_told() {
        let sample = of_segments();
        let path = path_of(&sample.place().log, 1);
        edit_file(&path, |bytes| *bytes = bytes[..bytes.len() - 50].to_vec());
        assert!(matches!(&faults(&sample)[0], LogFault::Bytes { path: told, .. } if *told == path));
    }

    #[test]
    fn a_missing_segment_is_told() {
        let sample = of_segments();
        fs::remove_file(path_of(&sample.place().log, 2)).unwrap();
        let found = examine(&sample);
        assert!(matches!(found.state, Err(OpenError::Segment { .. })));
        let gap = LogFault::Gap(path_of(&sample.place().log, 3));
        assert!(found.log.unwrap().faults.contains(&gap));
    }

    #[test]
    fn a_damaged_first_line_is_told() {
        let sample = Sample::new();
        sample.edit_segment(|bytes| bytes[30] ^= 1);
        assert!(faults(&sample).contains(&LogFault::Header(sample.segment())));
    }

    #[test]
    fn a_segment_of_another_store_is_told() {
        let (sample, other) = (of_segments(), of_segments());
        let path = path_of(&sample.place().log, 3);
        fs::copy(path_of(&other.place().log, 3), &path).unwrap();
        let faults = faults(&sample);
        let is_told = |fault: &LogFault| matches!(fault, LogFault::OtherStore { path: told, .. } if *told == path);
        assert!(faults.iter().any(is_told), "{faults:?}");
    }

    #[test]
    fn a_log_of_another_store_is_not_confirmed() {
        let (sample, other) = (Sample::new(), Sample::new());
        fs::copy(other.segment(), sample.segment()).unwrap();
        let found = examine(&sample);
        assert!(matches!(found.state, Err(OpenError::NoSnapshot { .. })));
        let faults = found.log.unwrap().faults;
        assert!(faults[0].to_string().contains("another store"), "{faults:?}");
    }

    #[test]
    fn a_newer_format_is_told() {
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
    fn a_forged_claim_is_told() {
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
    fn an_event_that_mistakes_what_was_before_is_told() {
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
        };
        sample.forge(&event, state.position);
        let [LogFault::Event { contradiction, .. }] = faults(&sample)[..] else { panic!() };
        assert_eq!(contradiction, Contradiction::Before(issue.id));
    }

    #[test]
    fn nothing_that_the_store_does_is_a_fault() {
        let sample = Sample::new();
        let early = state(&sample).document();
        let text = || "said".try_into().unwrap();
        sample.change(async |tracker| {
            let id = tracker.snapshot().await.unwrap().issues.at(0).id;
            tracker.comment_issue(id.into(), text(), agent()).await.unwrap();
            tracker.complete_issue(id.into(), text(), agent()).await.unwrap();
            let claimed = tracker.get_next_review_item(agent()).await.unwrap().unwrap();
            tracker.lapse_claim(&claimed, "gone").await.unwrap();
            tracker.return_issue(id.into(), text(), agent()).await.unwrap();
            tracker.close_issue(id.into(), Resolution::Rejected, text(), agent()).await.unwrap();
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
    fn a_snapshot_that_differs_from_the_log_is_told() {
        let sample = Sample::new();
        let (mut state, store) = (state(&sample), examine(&sample).log.unwrap().store);
        let place = sample.place();
        snapshot::write(&RealFileSystem, &place, &state, &store).unwrap();
        assert_eq!(faults(&sample), []);
        let id = state.issues.id_at(1).unwrap();
        state.issues.remove(id).unwrap();
        snapshot::write(&RealFileSystem, &place, &state, &store).unwrap();
        let path = place.snapshot(4, &store);
        assert_eq!(
            faults(&sample),
            [LogFault::SnapshotDiffers { path, issues: vec![id], count: 1 }]
        );
    }

    #[test]
    fn a_snapshot_that_the_log_does_not_confirm_is_told() {
        let sample = Sample::new();
        let (mut state, store) = (state(&sample), examine(&sample).log.unwrap().store);
        state.position.hash ^= 1;
        snapshot::write(&RealFileSystem, &sample.place(), &state, &store).unwrap();
        state.position.number = 9;
        snapshot::write(&RealFileSystem, &sample.place(), &state, &store).unwrap();
        let told: Vec<_> = faults(&sample).iter().map(ToString::to_string).collect();
        assert!(
            told[0].contains("does not confirm") && told[1].contains("ends at event 4"),
            "{told:?}"
        );
        // The older one still opens the store.
        assert!(examine(&sample).state.is_ok());
    }

    #[test]
    fn a_damaged_snapshot_is_told() {
        let sample = Sample::new();
        let path = sample.snapshot(0);
        edit_file(&path, |bytes| bytes[5] ^= 1);
        let found = examine(&sample);
        assert!(found.state.is_err());
        assert!(matches!(&found.log.unwrap().faults[0], LogFault::Snapshot { .. }));
    }

    #[test]
    fn a_file_that_lags_is_no_damage() {
        let sample = Sample::new();
        sample.change_and_die(async |tracker| add(tracker, "four").await);
        let found = examine(&sample);
        assert_eq!((found.standing, found.damage), (FileStanding::Behind(1), None));
        assert_eq!(found.log.unwrap().faults, []);
        assert_eq!(found.state.unwrap().issues.len(), 4);
    }

    #[test]
    fn an_edit_is_told_as_one() {
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
    fn a_file_that_was_written_otherwise_than_the_log_says_is_told() {
        let sample = Sample::new();
        replace_in(&sample.path, "\"two\"", "\"zwei\"");
        let hash = xxhash_rust::xxh3::xxh3_128(&fs::read(&sample.path).unwrap());
        let place = sample.place();
        let fingerprint = RealFileSystem.fingerprint(&sample.path).unwrap().unwrap();
        let mut position = state(&sample).position;
        Published::new(position, fingerprint, hash).write(&RealFileSystem, &place).unwrap();
        let id = state(&sample).issues.id_at(1).unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::Differs(vec![id], 1));
        position.number = 9;
        Published::new(position, fingerprint, hash).write(&RealFileSystem, &place).unwrap();
        assert_eq!(examine(&sample).standing, FileStanding::Ahead(9));
    }

    #[test]
    fn only_old_temporary_files_are_left_behind() {
        let sample = Sample::new();
        let place = sample.place();
        let beside = sample.directory.path();
        let stale = [
            beside.join(".b.json.01234567.ait-backup.tmp"),
            place.directory.join(".snapshot-3.tmp"),
            place.log.join(".0000000002.01234567.tmp"),
        ];
        let unmerged = place.temp(7);
        for path in stale.iter().chain([&unmerged, &beside.join(".mine.tmp")]) {
            fs::write(path, "").unwrap();
        }
        assert_eq!(leftovers(&place), Leftovers::default());
        for path in stale.iter().chain([&unmerged, &beside.join(".mine.tmp")]) {
            let old = SystemTime::now() - 2 * STALE_AFTER;
            File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        }
        let found = leftovers(&place);
        assert_eq!((found.stale.as_slice(), found.unmerged), (&stale[..], vec![unmerged]));
        fs::create_dir_all(&place.kept).unwrap();
        fs::write(place.kept.join("x"), "").unwrap();
        assert_eq!(leftovers(&place).kept, [place.kept.join("x")]);
    }
}
