//! Examines the files of a store and reports problems.
//!
//! Changes nothing and takes no lock of ours.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::{Connection, OpenFlags};

use super::database::{check_version, connect, has_earlier_log, loss};
use super::error::Failure;
use super::read;
use crate::files::format::FormatError;
use crate::files::fs::{
    FileFingerprint, FileSystem, RealFileSystem, directory_of, is_abandoned, read_file,
};
use crate::files::issue_scanner;
use crate::files::merge_state::plan_merge;
use crate::files::open::{self, IssuesFile, read_issues};
use crate::files::paths::{StorePaths, is_temp};
use crate::files::published_note::PublishedNote;
use crate::{State, StoreError};
use ait_domain::{Command, IssueId};

pub use crate::files::OpenError;
pub use crate::files::issue_scanner::RepeatedId as Repeated;

/// How often to look again at an apparent problem, and the pause between looks. A process may be in the middle of a
/// change.
const LOOKS: usize = 5;
const PAUSE: Duration = Duration::from_millis(50);
/// The time limit for looking again. A large store is examined only once.
const RELOOK_WITHIN: Duration = Duration::from_millis(500);
/// The most faults that are found.
const MAX_FAULTS: usize = 100;
/// The most differing issues that are named.
const MAX_ISSUES: usize = 10;

/// The result of examining a store.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// The paths of the files.
    pub paths: StorePaths,
    /// The issues as the store shows them, or why it shows none.
    pub state: Result<State, InspectError>,
    /// `issues.json`, if it exists.
    pub issues_file: Option<FileFingerprint>,
    /// How `issues.json` compares with the database.
    pub standing: FileStanding,
    /// The ids that occur more than once in an invalid file.
    pub repeated: Vec<Repeated>,
    /// The database, if any.
    pub database: Option<DatabaseCheck>,
}

/// Why the issues cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InspectError {
    /// A file beside the database cannot be used.
    #[error(transparent)]
    File(#[from] OpenError),
    /// The database cannot be read.
    #[error(transparent)]
    Database(#[from] StoreError),
}

/// What was found in a database.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DatabaseCheck {
    /// What is damaged, as SQLite or the checksums of the issues tell.
    pub faults: Vec<String>,
    /// True if a newer version of this program wrote it.
    pub is_newer: bool,
    /// The number of events.
    pub events: u64,
    /// The numbers of the first and the last event.
    pub first: u64,
    /// The number of the last event.
    pub last: u64,
    /// The size of the files in bytes.
    pub bytes: u64,
    /// When its content last changed.
    pub modified: Option<SystemTime>,
}

/// How `issues.json` compares with the database.
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
    /// There is no database; the file is the whole store.
    Alone,
    /// The file shows the same issues as the database.
    UpToDate,
    /// The file is a rendering that lacks this many newer events.
    Behind(u64),
    /// The file has an external edit that is not merged yet; this many issues differ.
    Edited(usize),
    /// The file is another version without newer changes; this many issues differ.
    Older(usize),
    /// The file shares no issue with the database.
    Foreign,
    /// The file was written at this event number, which the database does not have.
    Ahead(u64),
    /// The file was written at the last event, but these issues differ. The number is their total.
    Differs(Vec<IssueId>, usize),
    /// The database cannot be read, so the file cannot be compared.
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
/// [`OpenError::MissingDirectory`], [`OpenError::Link`] and [`OpenError::Io`].
pub fn paths_of(path: &Path) -> Result<StorePaths, OpenError> {
    open::paths_of(&RealFileSystem, path)
}

/// Returns true if a store has a database.
pub fn has_database(paths: &StorePaths) -> bool {
    RealFileSystem.fingerprint(&paths.database()).is_ok_and(|found| found.is_some())
}

/// Returns the size of the files that grow with the issues, in bytes: `issues.json` and the database.
pub fn used_bytes(paths: &StorePaths) -> u64 {
    let files = [paths.issues.clone(), paths.database(), paths.database_log()];
    let sizes = files.iter().filter_map(|file| RealFileSystem.fingerprint(file).ok().flatten());
    sizes.map(|found| found.length_bytes()).sum()
}

/// Examines the store of a file.
pub fn inspect(path: &Path) -> Result<Inspection, OpenError> {
    let begun = Instant::now();
    let fs = &RealFileSystem;
    let paths = paths_of(path)?;
    let mut found = inspect_once(fs, &paths);
    for _ in 1..LOOKS {
        if found.is_sound() || begun.elapsed() > RELOOK_WITHIN {
            break;
        }
        thread::sleep(PAUSE);
        found = inspect_once(fs, &paths);
    }
    if matches!(found.standing, FileStanding::Invalid(_))
        && let Ok(Some(bytes)) = read_file(fs, &paths.issues)
    {
        found.repeated = issue_scanner::repeated_ids(&bytes, &issue_scanner::scan(&bytes));
    }
    Ok(found)
}

impl Inspection {
    /// Returns true if nothing looks like a problem.
    fn is_sound(&self) -> bool {
        let is_whole = self.database.as_ref().is_none_or(|database| database.faults.is_empty());
        let is_file_fine = matches!(
            self.standing,
            FileStanding::UpToDate
                | FileStanding::Alone
                | FileStanding::Unwritten
                | FileStanding::Behind(_)
                | FileStanding::Edited(_)
                | FileStanding::Older(_)
        );
        is_whole && is_file_fine && self.state.is_ok()
    }
}

fn inspect_once(fs: &dyn FileSystem, paths: &StorePaths) -> Inspection {
    // The note comes before the file, because a newer note may be that of a newer file.
    let note = PublishedNote::read(fs, paths);
    let file = read_issues(fs, &paths.issues);
    let found = |path: &Path| fs.fingerprint(path).ok().flatten();
    let issues_file = found(&paths.issues);
    let (database, state) = if has_earlier_log(fs, paths) {
        let name = paths.directory.display().to_string();
        (None, Err(StoreError::Earlier(name).into()))
    } else {
        match check(paths, &found, note.as_ref()) {
            None => (None, file_state(&file)),
            Some((check, state)) => (Some(check), state),
        }
    };
    let standing = match (&file, &state) {
        (Ok(None), _) if note.is_none() => FileStanding::Unwritten,
        (Ok(None), _) => FileStanding::Missing,
        (Err(OpenError::Format { source, .. }), _) => FileStanding::Invalid(source.clone()),
        (Err(OpenError::Io { source, .. }), _) => FileStanding::Unreadable(source.to_string()),
        (Err(error), _) => FileStanding::Unreadable(error.to_string()),
        (Ok(Some(_)), _) if database.is_none() => FileStanding::Alone,
        (Ok(Some(_)), Err(_)) => FileStanding::Unknown,
        (Ok(Some(file)), Ok(ours)) => standing(note, file, ours),
    };
    let paths = paths.clone();
    Inspection { paths, state, issues_file, standing, repeated: Vec::new(), database }
}

/// Returns the state of a store without a database.
fn file_state(file: &Result<Option<IssuesFile>, OpenError>) -> Result<State, InspectError> {
    let file = file.as_ref().map_err(Clone::clone)?.as_ref();
    Ok(file.map_or_else(State::default, |file| file.state.clone()))
}

type Checked = (DatabaseCheck, Result<State, InspectError>);

/// Checks the database. Returns `None` if there is none.
fn check(
    paths: &StorePaths,
    found: &impl Fn(&Path) -> Option<FileFingerprint>,
    note: Option<&PublishedNote>,
) -> Option<Checked> {
    let path = paths.database();
    let files = [found(&path), found(&paths.database_log())];
    let loss = loss(paths, note);
    if files[0].is_none() && loss.is_none() {
        return None;
    }
    let mut check = DatabaseCheck {
        bytes: files.iter().flatten().map(FileFingerprint::length_bytes).sum(),
        modified: files.iter().flatten().map(FileFingerprint::modified).max(),
        ..DatabaseCheck::default()
    };
    if let Some(loss) = loss.filter(|_| files[0].is_none_or(|file| file.length_bytes() == 0)) {
        check.faults.push(loss.clone());
        return Some((check, Err(StoreError::Corrupt(loss).into())));
    }
    if files[0].is_none_or(|file| file.length_bytes() == 0) {
        return None;
    }
    let read = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .and_then(|connection| examine(&connection, paths, &mut check));
    let failed = |failure: Failure| match failure.of_read() {
        StoreError::Corrupt(why) => StoreError::Corrupt(format!("{}: {why}", path.display())),
        error => error,
    };
    let state = read.map_err(failed);
    if let Err(error) = &state {
        check.is_newer = matches!(error, StoreError::Newer(_));
        if error.is_damage() && check.faults.is_empty() {
            check.faults.push(error.reason());
        }
    }
    Some((check, state.map_err(InspectError::Database)))
}

fn examine(
    connection: &Connection,
    paths: &StorePaths,
    check: &mut DatabaseCheck,
) -> Result<State, Failure> {
    check_version(connection, paths)?;
    let transaction = connection.unchecked_transaction()?;
    let mut statement = transaction.prepare(&format!("PRAGMA quick_check({MAX_FAULTS})"))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let fault: String = row.get(0)?;
        if fault != "ok" {
            check.faults.push(fault);
        }
    }
    const NUMBERS: &str = "SELECT count(*), ifnull(min(number), 0), ifnull(max(number), 0) FROM events \
        WHERE body IS NOT NULL";
    let numbers = transaction.query_row(NUMBERS, [], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    })?;
    check.events = numbers.0.cast_unsigned();
    check.first = numbers.1.cast_unsigned();
    check.last = numbers.2.cast_unsigned();
    check.faults.extend(read::text_faults(&transaction)?.into_iter().take(MAX_FAULTS));
    check.faults.extend(read::event_faults(&transaction)?.into_iter().take(MAX_FAULTS));
    read::state(&transaction)
}

/// Compares a valid file with the issues of the database.
fn standing(note: Option<PublishedNote>, file: &IssuesFile, ours: &State) -> FileStanding {
    let theirs = &file.state;
    let Some((issues, count)) = difference(ours, theirs) else { return FileStanding::UpToDate };
    let note = note.filter(|note| note.hash() == file.hash);
    let shares_none = theirs.issues.issues().all(|issue| ours.issues.get(issue.id).is_none());
    if !ours.issues.is_empty() && !theirs.issues.is_empty() && shares_none {
        return FileStanding::Foreign;
    }
    let newer = count_newer(ours, theirs);
    match note.map(|note| note.position()) {
        Some(position) if position.number < ours.position.number => {
            FileStanding::Behind(ours.position.number - position.number)
        }
        Some(position) if position != ours.position => FileStanding::Ahead(position.number),
        Some(_) if newer > 0 => FileStanding::Differs(issues, count),
        None if newer > 0 => FileStanding::Edited(newer),
        _ => FileStanding::Older(count),
    }
}

/// Returns the first issues in which two states differ, and their number; `None` if they are the same.
fn difference(one: &State, other: &State) -> Option<(Vec<IssueId>, usize)> {
    let ids = |state: &State| -> Vec<IssueId> {
        (0..state.issues.len()).filter_map(|position| state.issues.id_at(position)).collect()
    };
    let ours = ids(one);
    let theirs = ids(other);
    let differs = |id: &&IssueId| !one.issues.is_same_in(&other.issues, **id);
    let only_theirs = theirs.iter().filter(|id| one.issues.get(**id).is_none());
    let differing: Vec<_> = ours.iter().filter(differs).chain(only_theirs).copied().collect();
    let count = differing.len();
    let is_same = count == 0 && ours == theirs && one.unknown_keys == other.unknown_keys;
    (!is_same).then(|| (differing.into_iter().take(MAX_ISSUES).collect(), count))
}

/// Returns how many issues of a file contain changes that the store would merge.
fn count_newer(ours: &State, theirs: &State) -> usize {
    let Ok(plan) = plan_merge(ours, theirs, |_| Ok::<_, Infallible>(HashMap::new()));
    let is_issue = |command: &&Command| !matches!(command, Command::SetUnknownKeys { .. });
    plan.commands.iter().filter(is_issue).count()
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
    let own = own.into_iter().filter(|path| StorePaths::is_unfinished(&name_of(path)));
    Leftovers {
        kept: names(&paths.kept),
        stale: beside.chain(own).filter(is_stale).collect(),
        unmerged: unmerged.into_iter().filter(is_stale).collect(),
    }
}

/// Returns true if a file name beside `issues.json` is that of a temporary file of this program. Renderings of
/// `issues.json` are elsewhere.
fn is_own_temp(name: &str) -> bool {
    is_temp(name, ".trial.") || crate::backup::file::is_exchange_file(name)
}
