//! Where the files of a store are.

use std::path::{Path, PathBuf};

use super::fs::directory_of;

/// The directory beside the file of the issues in which everything else is kept.
pub const DIRECTORY: &str = ".ait";

/// The files of one store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The file of the issues, symbolic links resolved.
    pub issues: PathBuf,
    /// The directory of everything else.
    pub directory: PathBuf,
    /// The directory of the segments.
    pub log: PathBuf,
    /// The directory of files that are set aside for people.
    pub kept: PathBuf,
}

impl Place {
    /// The files of the store whose issues are in a file, which is no symbolic link.
    pub fn of(issues: PathBuf) -> Self {
        let name = issues.file_name().unwrap_or_default();
        let directory = directory_of(&issues).join(DIRECTORY).join(name);
        let (log, kept) = (directory.join("log"), directory.join("kept"));
        Self { issues, directory, log, kept }
    }

    /// What keeps git from tracking the directory.
    pub fn gitignore(&self) -> PathBuf {
        self.directory.join(".gitignore")
    }

    /// The note of what was published last.
    pub fn published(&self) -> PathBuf {
        self.directory.join("published")
    }

    /// The lock of whoever replaces that note.
    pub fn published_lock(&self) -> PathBuf {
        self.directory.join("published.lock")
    }

    /// The lock of whoever publishes.
    pub fn publish_lock(&self) -> PathBuf {
        self.directory.join("publish.lock")
    }

    /// The note of how much of the newest segment is durable.
    pub fn mark(&self) -> PathBuf {
        self.directory.join("durable")
    }

    /// A snapshot of the state after an event of a store. One of another log that was here has another name.
    pub fn snapshot(&self, number: u64, store: &str) -> PathBuf {
        let store = store.get(..8).unwrap_or(store);
        self.directory.join(format!("snapshot-{number}-{store}.json"))
    }

    /// The directory in which the live processes register.
    pub fn processes(&self) -> PathBuf {
        self.directory.join("processes")
    }

    /// The number of the snapshot that a name in the directory stands for.
    pub fn snapshot_number(name: &str) -> Option<u64> {
        let (number, _) = name.strip_prefix("snapshot-")?.strip_suffix(".json")?.split_once('-')?;
        number.parse().ok()
    }

    /// A file that becomes a rendering of the issues.
    pub fn unfinished(&self, id: u32) -> PathBuf {
        self.directory.join(format!(".issues.{id:08x}.tmp"))
    }

    /// A whole rendering of the issues, or what it has displaced. Not beside their file, so that the project never
    /// sees it.
    pub fn temp(&self, id: u32) -> PathBuf {
        self.directory.join(format!("issues.{id:08x}.tmp"))
    }

    /// Returns true if a name in the directory is that of such a temporary file.
    pub fn is_temp(name: &str) -> bool {
        let id = name.strip_prefix("issues.").and_then(|rest| rest.strip_suffix(".tmp"));
        id.is_some_and(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }

    /// Returns true if a name is that of a file that has not got its name yet, and that nobody else needs.
    pub fn is_unfinished(name: &str) -> bool {
        name.starts_with('.') && name.ends_with(".tmp")
    }
}

/// A file that is made to see whether that is possible, and removed again.
pub fn trial(directory: &Path, id: u32) -> PathBuf {
    directory.join(format!(".trial.{id:08x}.tmp"))
}

/// Where the live processes on the store in a file register; the links to the file are followed where possible.
pub fn processes_of(issues: &Path) -> PathBuf {
    Place::of(issues.to_owned()).processes()
}
