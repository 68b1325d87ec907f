//! Examines the files of a store and reports problems.
//!
//! Changes nothing and takes no lock.

#[cfg(test)]
pub(super) mod samples;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::edits::is_foreign;
use super::format::{Document, FormatError};
use super::fs::{
    FileFingerprint, FileSystem, RealFileSystem, directory_of, is_abandoned, read_file,
};
use super::issue_scanner::{self, RepeatedId};
use super::log::mark::MarkFile;
use super::log::segment::newest_path;
use super::open::{self, IssuesFile};
use super::paths::{StorePaths, is_temp};
use super::published_note::PublishedNote;
use super::{log_check, snapshot};
use crate::domain::{IssueId, merge};
use crate::store::State;

pub use super::issue_scanner::RepeatedId as Repeated;
pub use super::log_check::{Contradiction, LogCheck, LogFault, TornEnd};
pub use super::open::{Damage, OpenError};

/// How often to look again at an apparent problem, and the pause between looks. A process may be in the middle of a
/// change.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);
/// The time limit for looking again. A large store is examined only once.
const RELOOK_WITHIN: Duration = Duration::from_millis(500);

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
    newest_path(&RealFileSystem, &paths.log)
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
        && let Ok(Some(bytes)) = read_file(fs, &paths.issues)
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
    let file = open::read_issues(fs, &paths.issues);
    let replayed = log_check::check(fs, paths, stop);
    let found = |path: &Path| fs.fingerprint(path).ok().flatten().map(FoundFile::from);
    let issues_file = found(&paths.issues);
    let newest_segment = newest_path(fs, &paths.log).and_then(|path| found(&path));
    let (log, (state, damage)) = match replayed {
        None => (None, (file_state(&file), None)),
        Some((log, Some(state))) if log.faults.is_empty() => (Some(log), (Ok(state), None)),
        Some((log, _)) => (Some(log), shown_state(fs, paths)),
    };
    let standing = match (&file, &state) {
        (Ok(None), _) if published.is_none() => FileStanding::Unwritten,
        (Ok(None), _) => FileStanding::Missing,
        (Err(OpenError::Format { source, .. }), _) => FileStanding::Invalid(source.clone()),
        (Err(OpenError::Io { source, .. }), _) => FileStanding::Unreadable(source.to_string()),
        (Err(error), _) => FileStanding::Unreadable(error.to_string()),
        (Ok(Some(_)), _) if log.is_none() => FileStanding::Alone,
        (Ok(Some(_)), Err(_)) => FileStanding::Unknown,
        (Ok(Some(file)), Ok(ours)) => standing(published, file, ours),
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

/// Returns the state of a store without a log.
fn file_state(file: &Result<Option<IssuesFile>, OpenError>) -> Result<State, OpenError> {
    let file = file.as_ref().map_err(Clone::clone)?.as_ref();
    Ok(file.map_or_else(|| State::of(Document::default()), |file| file.state.clone()))
}

/// Compares a valid file with the state of the log.
fn standing(published: Option<PublishedNote>, file: &IssuesFile, ours: &State) -> FileStanding {
    let theirs = &file.state;
    let Some((issues, count)) = log_check::difference(ours, theirs) else {
        return FileStanding::UpToDate;
    };
    let published = published.filter(|published| published.hash() == file.hash);
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
    let is_stale = |path: &PathBuf| is_abandoned(fs, path);
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
    is_temp(name, ".trial.") || crate::store::backup::file::is_exchange_file(name)
}
