//! The same work in SQLite, in WAL mode and with a sync for each transaction.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, Status};
use chrono::{SecondsFormat, Utc};
use rusqlite::{Connection, TransactionBehavior, params};
use tempfile::TempDir;
use uuid::Uuid;

use benches::fixture;
use benches::issues::{self, Filing};

const SCHEMA: &str = "
    CREATE TABLE issue (
        position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
        description TEXT NOT NULL, classification TEXT NOT NULL, status TEXT NOT NULL,
        created_at TEXT NOT NULL, modified_at TEXT NOT NULL
    );
    CREATE INDEX by_status ON issue (status, position);
    CREATE INDEX by_activity ON issue (modified_at DESC, position DESC);
    CREATE TABLE history (
        issue INTEGER NOT NULL REFERENCES issue, at TEXT NOT NULL, agent TEXT NOT NULL,
        action TEXT NOT NULL
    );
    CREATE TABLE comment (
        issue INTEGER NOT NULL REFERENCES issue, at TEXT NOT NULL, agent TEXT NOT NULL,
        text TEXT NOT NULL
    );";
const ADD: &str = "INSERT INTO issue (id, title, description, classification, status, created_at,
    modified_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)";
const ADD_HISTORY: &str = "INSERT INTO history VALUES (?1, ?2, ?3, ?4)";
const ADD_COMMENT: &str = "INSERT INTO comment VALUES (?1, ?2, ?3, ?4)";
const SET_STATUS: &str = "UPDATE issue SET status = ?2, modified_at = ?3 WHERE position = ?1";

/// An open database.
pub struct Database {
    connection: Connection,
    _directory: TempDir,
}

impl Database {
    /// Copies a template database with `size` issues and opens the copy.
    pub fn new(size: usize) -> Self {
        let (directory, path) = copy(size);
        Self { connection: open(&path), _directory: directory }
    }

    pub fn add(&mut self, filing: &Filing) {
        add(&mut self.connection, filing);
    }
}

/// Copies a database file with `size` issues into a new directory.
pub fn copy(size: usize) -> (TempDir, PathBuf) {
    let template = fixture::template(&format!("{size}.sqlite"), |path| fill(path, size));
    let directory = fixture::new_directory();
    let path = directory.path().join("issues.sqlite");
    fs::copy(template, &path).expect("space on the disk");
    fs::File::open(&path).and_then(|file| file.sync_all()).expect("a disk that works");
    (directory, path)
}

pub fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("a database");
    // Longer than any wait, because the waits are measured.
    connection.busy_timeout(Duration::from_secs(60)).expect("a valid time");
    connection.pragma_update(None, "journal_mode", "WAL").expect("a mode that SQLite knows");
    connection.pragma_update(None, "synchronous", "FULL").expect("a mode that SQLite knows");
    connection
}

fn fill(path: &Path, size: usize) {
    let mut connection = open(path);
    connection.execute_batch(SCHEMA).expect("valid SQL");
    change(&mut connection, |transaction| {
        for number in 0..size {
            let position = insert(transaction, &Filing::new(number))?;
            let (status, action) = if number.is_multiple_of(2) {
                (Status::Created, "Issue returned to created status")
            } else {
                (Status::Completed, "Issue completed")
            };
            set_status(transaction, position, Status::InProgress, "Issue claimed for work")?;
            set_status(transaction, position, status, action)?;
            let (agent, comment) = (issues::agent(), issues::comment(number));
            let mut add = transaction.prepare_cached(ADD_COMMENT)?;
            add.execute(params![position, now(), agent.as_str(), comment.as_str()])?;
        }
        Ok(())
    });
    // Move the contents of the WAL into the file, which is then copied.
    connection.pragma_update(None, "journal_mode", "DELETE").expect("a mode that SQLite knows");
}

pub fn add(connection: &mut Connection, filing: &Filing) {
    change(connection, |transaction| insert(transaction, filing));
}

/// Runs a function in one transaction that has the write lock from the start.
fn change<T>(
    connection: &mut Connection,
    act: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> T {
    let act = || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = act(&transaction)?;
        transaction.commit()?;
        Ok::<_, rusqlite::Error>(result)
    };
    act().expect("a database that can be changed")
}

fn insert(transaction: &Connection, filing: &Filing) -> rusqlite::Result<i64> {
    let (id, now, agent) = (Uuid::new_v4().to_string(), now(), issues::agent());
    let kind = Classification::Bug.as_str();
    let status = Status::Created.as_str();
    let Filing { title, description } = filing;
    let issue = params![id, title.as_str(), description.as_str(), kind, status, now];
    transaction.prepare_cached(ADD)?.execute(issue)?;
    let position = transaction.last_insert_rowid();
    let entry = params![position, now, agent.as_str(), "Issue filed"];
    transaction.prepare_cached(ADD_HISTORY)?.execute(entry)?;
    Ok(position)
}

fn set_status(
    transaction: &Connection,
    position: i64,
    status: Status,
    action: &str,
) -> rusqlite::Result<usize> {
    let (now, agent) = (now(), issues::agent());
    transaction.prepare_cached(SET_STATUS)?.execute(params![position, status.as_str(), now])?;
    let entry = params![position, now, agent.as_str(), action];
    transaction.prepare_cached(ADD_HISTORY)?.execute(entry)
}

fn now() -> String {
    Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true)
}
