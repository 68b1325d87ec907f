//! How far the changes of a remote were read, and how the last run ended: small files beside the store.
//!
//! They only save work, and tell people. Without them everything that is to come in is read again, and changes nothing
//! that is known.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ait_domain::Timestamp;
use ait_system::small_file;
use serde::{Deserialize, Serialize};

use crate::report::{Report, SyncError};

/// How far a listing was read.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Watermark {
    /// What the listing was made for: the place and the filter. A watermark of another one does not count.
    pub of: String,
    /// The time of the last change that was read, by the clock of the remote.
    pub since: Option<Timestamp>,
    /// The version of the listing of the changes since then.
    pub version: Option<String>,
}

/// How the last run of a sync on this machine ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    pub at: Timestamp,
    /// What it did, or why it ended early.
    pub result: String,
    pub has_failed: bool,
    /// What could not be done with single issues.
    pub problems: Vec<String>,
}

impl LastRun {
    pub(crate) fn of(ended: &Result<(), SyncError>, report: &Report, at: Timestamp) -> Self {
        let failed = ended.as_ref().err().map(ToString::to_string);
        let has_failed = failed.is_some();
        let result = failed.unwrap_or_else(|| report.summary());
        Self { at, result, has_failed, problems: report.problems.clone() }
    }

    /// Reads how the last run ended; `None` if there was none.
    pub fn read(directory: &Path, sync: &str) -> Option<Self> {
        let text = small_file::read(&last_run_path(directory, sync), small_file::MAX_BYTES).ok()?;
        serde_json::from_str(&text).ok()
    }
}

fn last_run_path(directory: &Path, sync: &str) -> PathBuf {
    directory.join(format!("{sync}.last"))
}

/// The file of a watermark. While it exists, no other process on this machine runs the same sync.
#[derive(Debug)]
pub struct WatermarkFile {
    path: PathBuf,
    _lock: File,
}

impl WatermarkFile {
    /// Takes the lock of a sync, and makes the directory.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if another process runs the sync.
    pub fn open(directory: &Path, sync: &str) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let ignored = directory.join(".gitignore");
        if !ignored.exists() {
            fs::write(ignored, "*\n")?;
        }
        let lock = File::create(directory.join(format!("{sync}.lock")))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::ErrorKind::WouldBlock.into(),
            TryLockError::Error(error) => error,
        })?;
        Ok(Self { path: directory.join(format!("{sync}.json")), _lock: lock })
    }

    /// Returns the watermark; the default if there is none, or one that cannot be read.
    pub fn read(&self) -> Watermark {
        let text = small_file::read(&self.path, small_file::MAX_BYTES);
        text.ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Replaces the watermark. A crash leaves the old one.
    pub fn write(&self, watermark: &Watermark) -> io::Result<()> {
        replace(&self.path, watermark)
    }

    /// Notes how a run ended.
    pub fn note(&self, run: &LastRun) -> io::Result<()> {
        replace(&self.path.with_extension("last"), run)
    }
}

fn replace(path: &Path, content: &impl Serialize) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(&serde_json::to_vec(content)?)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_runs_a_sync_and_finds_its_watermark_again() {
        let directory = tempfile::tempdir().unwrap();
        let file = WatermarkFile::open(directory.path(), "a").unwrap();
        assert_eq!(file.read(), Watermark::default());
        let second = WatermarkFile::open(directory.path(), "a").unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::WouldBlock);
        let since = Some(Timestamp::from_unix_millis(7));
        let written = Watermark { of: "x".to_owned(), since, version: None };
        file.write(&written).unwrap();
        assert_eq!(LastRun::read(directory.path(), "a"), None);
        let run = LastRun {
            at: Timestamp::from_unix_millis(9),
            result: "nothing new".to_owned(),
            has_failed: false,
            problems: Vec::new(),
        };
        file.note(&run).unwrap();
        assert_eq!(LastRun::read(directory.path(), "a"), Some(run));
        drop(file);
        assert_eq!(WatermarkFile::open(directory.path(), "a").unwrap().read(), written);
    }
}
