//! The paths of the files of a store.

use std::path::{Path, PathBuf};

use super::fs::directory_of;

/// The name of the directory beside `issues.json` that holds all other files.
pub const DIRECTORY: &str = ".ait";

/// The files of one store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StorePaths {
    /// The path of `issues.json`, with symbolic links resolved.
    pub issues: PathBuf,
    /// The directory of all other files.
    pub directory: PathBuf,
    /// The directory of quarantined files.
    pub kept: PathBuf,
}

impl StorePaths {
    /// Returns the paths of the store with this `issues.json`, which must not be a symbolic link.
    pub fn of(issues: PathBuf) -> Self {
        let name = issues.file_name().unwrap_or_default();
        let directory = directory_of(&issues).join(DIRECTORY).join(name);
        let kept = directory.join("kept");
        Self { issues, directory, kept }
    }

    /// The directories of the store, parents first.
    pub fn directories(&self) -> [PathBuf; 5] {
        let own = self.directory.clone();
        let kept = self.kept.clone();
        let parent = directory_of(&own).to_owned();
        [parent, own, kept, self.processes(), self.clients()]
    }

    /// The file that keeps git from tracking the directory.
    pub fn gitignore(&self) -> PathBuf {
        self.directory.join(".gitignore")
    }

    /// The note about the last published file.
    pub fn published(&self) -> PathBuf {
        self.directory.join("published")
    }

    /// The lock for replacing that note.
    pub fn published_lock(&self) -> PathBuf {
        self.directory.join("published.lock")
    }

    /// The lock for publishing.
    pub fn publish_lock(&self) -> PathBuf {
        self.directory.join("publish.lock")
    }

    /// The log of a store of an earlier version.
    pub fn earlier_log(&self) -> PathBuf {
        self.directory.join("log")
    }

    pub fn database(&self) -> PathBuf {
        self.directory.join("queue.db")
    }

    /// The log of SQLite, with what was committed lately.
    pub fn database_log(&self) -> PathBuf {
        self.directory.join("queue.db-wal")
    }

    /// The index of that log, which processes share.
    pub fn database_shared(&self) -> PathBuf {
        self.directory.join("queue.db-shm")
    }

    /// A database that is being made.
    pub fn new_database(&self, id: u32) -> PathBuf {
        self.directory.join(format!(".queue.{id:08x}.tmp"))
    }

    /// The lock for changing the database.
    pub fn turn_lock(&self) -> PathBuf {
        self.directory.join("turn.lock")
    }

    /// The note of where the queue was moved to.
    pub fn moved(&self) -> PathBuf {
        self.directory.join("moved")
    }

    /// The directory of the process registry.
    pub fn processes(&self) -> PathBuf {
        self.directory.join("processes")
    }

    /// The directory of the clients that hold claims.
    pub fn clients(&self) -> PathBuf {
        self.directory.join("clients")
    }

    /// A rendering of the issues that is being written.
    pub fn unfinished(&self, id: u32) -> PathBuf {
        self.directory.join(format!(".issues.{id:08x}.tmp"))
    }

    /// A complete rendering of the issues, or the file that it replaced. It is not in the project directory, where
    /// other programs would see it.
    pub fn exchange_file(&self, id: u32) -> PathBuf {
        self.directory.join(format!("issues.{id:08x}.tmp"))
    }

    /// Returns true if a file name is that of a complete rendering.
    pub fn is_exchange_file(name: &str) -> bool {
        is_temp(name, "issues.")
    }

    /// Returns true if a file name is that of an unfinished file, or of one that SQLite has beside it. No other process
    /// needs them.
    pub fn is_unfinished(name: &str) -> bool {
        name.starts_with('.') && name.contains(".tmp")
    }
}

/// Returns true if a file name is this prefix with the id of a temporary file.
pub fn is_temp(name: &str, prefix: &str) -> bool {
    let id = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(".tmp"));
    id.is_some_and(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The path of a file that tests whether files can be created, and is removed again.
pub fn trial(directory: &Path, id: u32) -> PathBuf {
    directory.join(format!(".trial.{id:08x}.tmp"))
}

/// Returns the directory of the process registry for an `issues.json`. Does not resolve symbolic links.
pub fn processes_of(issues: &Path) -> PathBuf {
    StorePaths::of(issues.to_owned()).processes()
}
