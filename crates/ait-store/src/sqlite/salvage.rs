//! Salvages what can be read of a damaged store.
//!
//! Each row that can be read is taken. An issue whose text is damaged is rebuilt from its events, if these are intact
//! and begin with its filing. Then come the changes that only `issues.json` has; if that file is invalid, each issue in
//! it is parsed alone. The result lists each loss in a line of its own. Nothing is written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, Row};
use tempfile::TempDir;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use super::database::{has_earlier_log, make_tables};
use super::error::Failure;
use super::queue::checksum;
use super::write::{newest, unknown_keys};
use crate::backup::{BackupContent, format as backup};
use crate::files::format;
use crate::files::fs::{FileSystem, RealFileSystem, no_follow, read_file};
use crate::files::issue_scanner::{self, UnreadPart};
use crate::files::open::{OpenError, paths_of, unreadable};
use crate::files::paths::StorePaths;
use crate::files::published_note::PublishedNote;
use crate::{Document, EventPosition, State, event_format};
use ait_domain::{Event, EventKind, Issue, IssueId, Patch, UnknownKeys, merge};

/// The most losses that are listed one by one.
const MAX_TOLD: usize = 1_000;
/// The highest key that is tried if the tables do not tell theirs.
const HIGHEST_KEY: i64 = 1 << 24;
/// How many reads of a table may fail. The keys above those are lost.
const MAX_FAILURES: u32 = 200_000;

/// The result of a salvage.
#[derive(Clone, Debug, Default)]
pub struct Salvage {
    /// The issues, with all changes that could be read.
    pub document: Document,
    /// The number of issues read from `issues.json`.
    pub issues_read: usize,
    /// The number of issues read from the database.
    pub rows_read: usize,
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
        BackupContent::of(self.document, damage)
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
    let fs = &RealFileSystem;
    let paths = paths_of(fs, path)?;
    let mut out = Salvage::default();
    let file = read_file(fs, &paths.issues).unwrap_or_else(|error| {
        out.lose(format!("{} cannot be read: {error}", paths.issues.display()));
        None
    });
    let has_database = fs.fingerprint(&paths.database()).is_ok_and(|found| found.is_some());
    if file.is_none() && !has_database {
        return Err(unreadable(&paths.issues, std::io::ErrorKind::NotFound.into()));
    }
    if has_earlier_log(fs, &paths) {
        out.lose(
            "what only the log of an earlier version of ait has, which this version does not read",
        );
    }
    let note = PublishedNote::read(fs, &paths);
    let mut found = Rows::default();
    if has_database {
        found = Rows::read(&paths, &mut out);
    }
    let published = note.as_ref().map_or(0, |note| note.number);
    if found.newest < published {
        found.is_damaged = true;
        out.lose(format!(
            "changes {} to {published}, except what issues.json has of them",
            found.newest + 1
        ));
    }
    let is_whole = !found.is_damaged;
    let mut work = Work { state: found.state(), unread: Vec::new() };
    out.rows_read = work.state.issues.len();
    match &file {
        Some(bytes) if is_whole && note.is_some_and(|note| note.hash() == xxh3_128(bytes)) => {
            out.issues_read = format::parse(bytes.clone()).map_or(0, |read| read.issues.len());
        }
        Some(bytes) => work.take_file(bytes, is_whole, &mut out),
        // The database has everything, or the file was never written.
        None if is_whole || published == 0 => {}
        None => out.lose(format!("{}, which is missing", paths.issues.display())),
    }
    for id in &found.lost {
        match work.state.issues.get(*id) {
            Some(_) => {
                out.lose(format!("what changed in the issue {id} after issues.json was written"));
            }
            None => out.lose(format!("the issue {id}")),
        }
    }
    // The database may have what could not be read in the file.
    for UnreadPart { id, what } in std::mem::take(&mut work.unread) {
        if id.map_or(!is_whole, |id| work.state.issues.get(id).is_none()) {
            out.lose(what);
        }
    }
    out.document = work.state.document();
    Ok(out)
}

/// What the database has.
#[derive(Default)]
struct Rows {
    /// The issues by their places, and by their keys where there is no place.
    issues: BTreeMap<(i64, i64), Issue>,
    keys: UnknownKeys,
    /// The issues whose current version cannot be read.
    lost: BTreeSet<IssueId>,
    /// The number of the newest event.
    newest: u64,
    is_damaged: bool,
}

impl Rows {
    /// Reads each row that can be read.
    fn read(paths: &StorePaths, out: &mut Salvage) -> Self {
        let mut rows = Self::default();
        let path = paths.database();
        let mut lose = |failure: Failure| {
            let why = failure.of_read();
            out.lose(format!("{}, except what issues.json has of it: {why}", path.display()));
        };
        let opened = open(&path).map(|connection| (connection, None));
        // A database that is busy, for example, must not be opened but by SQLite: the system drops its locks then.
        let opened = match opened {
            Err(failure) if failure.is_damage() => match open_with_new_head(&path) {
                Ok((connection, copy)) => Ok((connection, Some(copy))),
                Err(_) => Err(failure),
            },
            opened => opened,
        };
        let (connection, copy) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                rows.is_damaged = true;
                lose(failure);
                return rows;
            }
        };
        rows.is_damaged = copy.is_some();
        match newest(&connection) {
            Ok(newest) => rows.newest = newest.number,
            Err(failure) => {
                rows.is_damaged = true;
                lose(failure);
            }
        }
        match unknown_keys(&connection) {
            Ok(keys) => rows.keys = keys,
            Err(_) => rows.is_damaged = true,
        }
        rows.read_issues(&connection);
        rows.name_lost(&connection);
        rows.rebuild(&connection);
        rows
    }

    fn read_issues(&mut self, connection: &Connection) {
        let high = highest(connection, "SELECT max(key) FROM issues", "SELECT max(key) FROM texts");
        let mut places = HashMap::new();
        const PLACES: &str = "SELECT key, id, position FROM issues WHERE key BETWEEN ?1 AND ?2";
        self.is_damaged |= !scan(connection, PLACES, (1, high), &mut |row| {
            let key: i64 = row.get(0)?;
            let id: Uuid = row.get(1)?;
            let place: i64 = row.get(2)?;
            places.insert(key, (IssueId::from(id), place));
            Ok(())
        });
        const TEXTS: &str = "SELECT key, body, checksum FROM texts WHERE key BETWEEN ?1 AND ?2";
        let mut is_sound = true;
        let is_read = scan(connection, TEXTS, (1, high), &mut |row| {
            let key: i64 = row.get(0)?;
            let body = row.get_ref(1)?.as_bytes()?;
            let text = std::str::from_utf8(body).unwrap_or_default();
            let issue = serde_json::from_str::<Issue>(text).ok();
            let issue = issue.filter(|_| row.get(2) == Ok(checksum(text)));
            let Some(issue) = issue else {
                is_sound = false;
                return Ok(());
            };
            let place = places.remove(&key).map_or(i64::MAX, |(_, place)| place);
            self.issues.insert((place, key), issue);
            Ok(())
        });
        self.is_damaged |= !is_read || !is_sound || !places.is_empty();
        self.lost.extend(places.into_values().map(|(id, _)| id));
    }

    /// Notes the issues that only indexes name. Their ends can be read where the tables cannot.
    fn name_lost(&mut self, connection: &Connection) {
        /// The ids that begin with numbers of four hex digits.
        const WITHIN: &str = "BETWEEN unhex(printf('%04x', ?1)) AND unhex(printf('%04x', ?2) || printf('%.28c', 'f'))";
        if !self.is_damaged {
            return;
        }
        let mut named = BTreeSet::new();
        for (column, table) in [
            ("id", "issues INDEXED BY sqlite_autoindex_issues_1"),
            ("issue", "events INDEXED BY events_of"),
        ] {
            let mut statement = format!("SELECT {column} FROM {table} WHERE {column} {WITHIN}");
            if column == "issue" {
                statement += " AND issue IS NOT NULL";
            }
            scan(connection, &statement, (0, 0xffff), &mut |row| {
                named.insert(IssueId::from(row.get::<_, Uuid>(0)?));
                Ok(())
            });
        }
        for issue in self.issues.values() {
            named.remove(&issue.id);
        }
        self.lost.extend(named);
    }

    /// Rebuilds issues from their events. If the issues may not be complete, the events name those that are lost.
    fn rebuild(&mut self, connection: &Connection) {
        if !self.is_damaged {
            return;
        }
        let known: BTreeSet<IssueId> = self.issues.values().map(|issue| issue.id).collect();
        let high = highest(connection, "SELECT max(number) FROM events", "SELECT 0");
        let mut events: BTreeMap<IssueId, Vec<Option<Event>>> = BTreeMap::new();
        const EVENTS: &str = "SELECT number, issue, body, checksum FROM events \
            WHERE number BETWEEN ?1 AND ?2 AND issue IS NOT NULL AND body IS NOT NULL";
        let is_complete = scan(connection, EVENTS, (1, high), &mut |row| {
            let id = IssueId::from(row.get::<_, Uuid>(1)?);
            let body = std::str::from_utf8(row.get_ref(2)?.as_bytes()?).unwrap_or_default();
            let is_intact = row.get(3) == Ok(checksum(body));
            if !known.contains(&id) {
                let event = event_format::read(body).filter(|_| is_intact);
                events.entry(id).or_default().push(event);
            }
            Ok(())
        });
        for (place, (id, events)) in events.into_iter().enumerate() {
            let last = events.last().and_then(Option::as_ref);
            if matches!(last.map(|last| &last.kind), Some(EventKind::Removed { .. })) {
                self.lost.remove(&id);
                continue;
            }
            self.lost.insert(id);
            let mut rebuilt = State::default();
            let mut apply = |event: &Option<Event>| {
                let position = EventPosition::default();
                event.as_ref().is_some_and(|event| rebuilt.apply(event, position).is_ok())
            };
            let is_rebuilt = is_complete && events.iter().all(&mut apply);
            if is_rebuilt && let Some(issue) = rebuilt.issues.get(id) {
                self.lost.remove(&id);
                let place = i64::try_from(place).unwrap_or(i64::MAX);
                self.issues.insert((i64::MAX, HIGHEST_KEY + place), Arc::unwrap_or_clone(issue));
            }
        }
    }

    /// Returns the state with the issues that were read.
    fn state(&mut self) -> State {
        let unknown_keys = std::mem::take(&mut self.keys);
        let mut state = State { unknown_keys, ..State::default() };
        for issue in std::mem::take(&mut self.issues).into_values() {
            // Of two with the same id, the first one stays.
            let _ = state.issues.push(Arc::new(issue));
        }
        state
    }
}

/// Opens a database that may be damaged.
fn open(path: &Path) -> Result<Connection, Failure> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    // SQLite opens a cut file only for those who say that they may repair it.
    connection.execute_batch("PRAGMA writable_schema = 1; PRAGMA query_only = 1")?;
    const TABLES: &str =
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('issues', 'texts', 'events')";
    match connection.query_row(TABLES, [], |row| row.get(0))? {
        3 => Ok(connection),
        _ => Err(Failure::Damaged("its first page does not name its tables".to_owned())),
    }
}

/// Opens a copy of a database whose first pages are damaged, which say where its tables begin, with those of a new one:
/// all are made alike, so their tables begin at the same pages.
fn open_with_new_head(path: &Path) -> Result<(Connection, TempDir), Failure> {
    /// The places in the header of the formats for a log, and of the number of pages; see
    /// https://www.sqlite.org/fileformat.html.
    const FORMATS: Range<usize> = 18..20;
    const PAGES: Range<usize> = 28..32;
    const TABLES: &str = "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0";
    let place = tempfile::tempdir()?;
    let new = place.path().join("new.db");
    let connection = Connection::open(&new)?;
    connection.execute_batch("BEGIN")?;
    make_tables(&connection)?;
    connection.execute_batch("COMMIT")?;
    let page: u16 = connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    let tables: HashSet<u32> =
        connection.prepare(TABLES)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    connection.close().map_err(|(_, error)| error)?;
    let head = fs::read(&new)?;
    let read = |path: &Path| -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        no_follow().read(true).open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let mut bytes = read(path)?;
    if bytes.len() < head.len() {
        return Err(Failure::Damaged("it has not even the first pages".to_owned()));
    }
    let pages = bytes.chunks_mut(page.into()).zip(head.chunks(page.into()));
    for (_, (ours, new)) in (1..).zip(pages).filter(|(number, _)| !tables.contains(number)) {
        ours.copy_from_slice(new);
    }
    let pages = u32::try_from(bytes.len() / usize::from(page)).unwrap_or(u32::MAX);
    bytes[FORMATS].copy_from_slice(&[2, 2]);
    bytes[PAGES].copy_from_slice(&pages.to_be_bytes());
    let copy = place.path().join("queue.db");
    fs::write(&copy, bytes)?;
    let log = |path: &Path| {
        let mut name = path.as_os_str().to_owned();
        name.push("-wal");
        PathBuf::from(name)
    };
    match read(&log(path)) {
        Ok(bytes) => fs::write(log(&copy), bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    Ok((open(&copy)?, place))
}

/// Returns the highest key that one of two statements finds.
fn highest(connection: &Connection, one: &str, other: &str) -> i64 {
    let ask = |statement: &str| {
        connection
            .query_row(statement, [], |row| row.get::<_, Option<i64>>(0))
            .map(|key| key.unwrap_or(0))
    };
    match (ask(one), ask(other)) {
        (Ok(one), Ok(other)) => one.max(other),
        _ => HIGHEST_KEY,
    }
}

/// Reads the rows whose keys are in a range. Where that fails, it reads the halves of the range. Returns false if rows
/// are left out.
fn scan(
    connection: &Connection,
    statement: &str,
    keys: (i64, i64),
    take: &mut impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
) -> bool {
    scan_within(connection, statement, keys, &mut { MAX_FAILURES }, take)
}

fn scan_within(
    connection: &Connection,
    statement: &str,
    (low, high): (i64, i64),
    failures: &mut u32,
    take: &mut impl FnMut(&Row<'_>) -> Result<(), rusqlite::Error>,
) -> bool {
    if low > high {
        return true;
    }
    if *failures == 0 {
        return false;
    }
    // Whether all of them can be read, before any is taken.
    let readable = || -> Result<(), Failure> {
        let mut statement = connection.prepare_cached(statement)?;
        let mut rows = statement.query([low, high])?;
        while let Some(row) = rows.next()? {
            for column in 0..row.as_ref().column_count() {
                row.get_ref(column)?;
            }
        }
        Ok(())
    };
    if readable().is_ok() {
        let mut taken = || -> Result<(), Failure> {
            let mut statement = connection.prepare_cached(statement)?;
            let mut rows = statement.query([low, high])?;
            while let Some(row) = rows.next()? {
                take(row)?;
            }
            Ok(())
        };
        return taken().is_ok();
    }
    *failures -= 1;
    if low == high {
        return false;
    }
    let middle = low + (high - low) / 2;
    let first = scan_within(connection, statement, (low, middle), failures, take);
    let second = scan_within(connection, statement, (middle + 1, high), failures, take);
    first && second
}

/// The state that is being salvaged.
struct Work {
    state: State,
    /// The parts of files that could not be read.
    unread: Vec<UnreadPart>,
}

impl Work {
    /// Merges the changes that only `issues.json` has.
    fn take_file(&mut self, bytes: &[u8], is_whole: bool, out: &mut Salvage) {
        let Ok(mut document) = format::parse(bytes.to_vec()) else {
            out.issues_read = self.take_pieces(bytes);
            return;
        };
        backup::forget(&mut document.unknown_keys);
        let issues: Vec<_> = document.issues.issues().collect();
        out.issues_read = issues.len();
        let ours = &self.state.issues;
        let is_known = |id| ours.get(id).is_some();
        let may_be_foreign = is_whole && !ours.is_empty() && !issues.is_empty();
        if may_be_foreign && !issues.iter().any(|issue| is_known(issue.id)) {
            return out.lose(format!(
                "{} issues of issues.json, which shares no issue with the database: import them from a copy of the file",
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
            match self.state.issues.get(id) {
                Some(known) => {
                    let merged = merge(None, &known, &issue).issue;
                    if merged != *known {
                        self.replace(merged);
                    }
                }
                None => {
                    // The insertion cannot fail, because no issue has this id.
                    let _ = self.state.issues.insert(issue, next);
                }
            }
            next = Some(id);
        }
    }

    /// Replaces an issue with another version.
    fn replace(&mut self, issue: Issue) {
        let Some(before) = self.state.issues.get(issue.id) else { return };
        let patch = Box::new(Patch::between(&before, &issue));
        let event = Event::new(issue.id, issue.modified_at, "", EventKind::Edited { patch });
        // The change cannot fail, because the issue exists.
        let _ = self.state.issues.apply(&event);
    }
}
