//! Stores of every size, each in its own directory.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, IssueId};
use agent_issue_tracker::store::Maintenance;
use agent_issue_tracker::store::SqliteStore;
use agent_issue_tracker::store::files::format::Document;
use agent_issue_tracker::store::files::fs::RealFileSystem;
use agent_issue_tracker::store::files::{StoreOptions, format};
use agent_issue_tracker::tracker::{ClaimKind, NewIssue, Tracker};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::issues::{self, Filing};

static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// Creates the directory of the benchmarks. It lies on the disk of the target directory, because the directory for
/// temporary files is often in memory.
pub fn make_directory() -> TempDir {
    let directory = TempDir::with_prefix_in("store-bench-", crate::target_directory());
    let directory = directory.expect("a directory below the target directory");
    DIRECTORY.set(directory.path().to_owned()).expect("called once");
    directory
}

pub fn new_directory() -> TempDir {
    TempDir::new_in(DIRECTORY.get().expect("made by main")).expect("a directory")
}

/// Returns the file with this name in the common directory, and creates it on first use.
pub fn template(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let path = DIRECTORY.get().expect("made by main").join(name);
    if !path.exists() {
        make(&path);
        // Pending writes would slow down the measured syncs.
        File::open(&path).and_then(|file| file.sync_all()).expect("a file on the disk");
    }
    path
}

/// Returns an `issues.json` with `size` issues.
pub fn issues_json(size: usize) -> PathBuf {
    template(&format!("{size}.json"), |path| write(&issues::document(size), path))
}

fn write(document: &Document, path: &Path) {
    let mut file = BufWriter::new(File::create(path).expect("a new file"));
    format::write(document, &mut file).expect("space on the disk");
    file.flush().expect("space on the disk");
}

/// Creates a directory with an `issues.json` of `size` issues and no database.
pub fn directory_with(size: usize) -> TempDir {
    let directory = new_directory();
    if size > 0 {
        copy(&issues_json(size), &directory.path().join("issues.json"));
    }
    directory
}

/// Copies a file durably. A hard link would be enough for reads, because the store never changes a file in place.
pub fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).and_then(|_| File::open(to)?.sync_all()).expect("space on the disk");
}

/// Creates a runtime with as many threads as the program uses.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Returns options of a store that publishes only on request.
pub fn unpublished() -> StoreOptions {
    let publish_after = Duration::from_secs(3600);
    StoreOptions { publish_after, last_publish_bytes: 0, ..StoreOptions::default() }
}

pub fn open(path: &Path, options: StoreOptions) -> SqliteStore {
    SqliteStore::with(path, Arc::new(RealFileSystem), options)
}

/// Makes a store in a new directory, without an `issues.json`: empty, or with one issue more than `size`.
pub fn store(size: usize) -> (TempDir, PathBuf) {
    let directory = new_directory();
    let path = directory.path().join("issues.json");
    if size > 0 {
        let template = template(&format!("{size}.db"), |template| {
            let made = directory_with(size);
            copy(&import(&made, size), template);
        });
        let own = directory.path().join(".ait/issues.json");
        fs::create_dir_all(&own).expect("a new directory");
        copy(&template, &own.join("queue.db"));
    }
    (directory, path)
}

/// Imports the `issues.json` in a directory, adds an issue, and indexes all of them. Returns the path of the database.
pub fn import(directory: &TempDir, number: usize) -> PathBuf {
    // A server does that bit by bit, when it has nothing else to do.
    const INDEX: &str = "
        INSERT INTO search_index (rowid, texts)
            SELECT key, texts FROM search WHERE key IN (SELECT key FROM unindexed);
        DELETE FROM unindexed";
    let tracker = tracker(&directory.path().join("issues.json"));
    runtime().block_on(async {
        // Reading alone makes no database.
        add(&tracker, Filing::new(number)).await;
        tracker.close().await;
    });
    let database = directory.path().join(".ait/issues.json/queue.db");
    let connection = rusqlite::Connection::open(&database).expect("a database");
    connection.execute_batch(INDEX).expect("a database that can be changed");
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a log");
    database
}

/// Opens a store that publishes only on request.
fn tracker(path: &Path) -> Tracker {
    Tracker::new(Arc::new(open(path, unpublished())))
}

/// An open store that publishes only on request.
pub struct Fixture {
    pub runtime: Runtime,
    pub tracker: Tracker,
    maintenance: Maintenance,
    filed: AtomicUsize,
    pub directory: TempDir,
}

impl Fixture {
    pub fn new(size: usize) -> Self {
        let (directory, path) = store(size);
        let store = open(&path, unpublished());
        let maintenance = store.maintenance();
        let (runtime, tracker) = (runtime(), Tracker::new(Arc::new(store)));
        runtime.block_on(tracker.counts()).expect("a valid store");
        Self { runtime, tracker, maintenance, filed: AtomicUsize::new(size + 1), directory }
    }

    /// Creates a store with an `issues.json` that has all its issues.
    pub fn published(size: usize) -> Self {
        let fixture = Self::new(size);
        fixture.add(fixture.filing());
        fixture.publish();
        fixture
    }

    pub fn publish(&self) {
        self.runtime.block_on(self.maintenance.publish()).expect("space on the disk");
    }

    /// Returns the next issue to file.
    pub fn filing(&self) -> Filing {
        Filing::new(self.filed.fetch_add(1, Ordering::Relaxed))
    }

    pub fn add(&self, filing: Filing) -> IssueId {
        self.runtime.block_on(add(&self.tracker, filing))
    }

    /// Claims the next issue.
    pub fn claim(&self) -> IssueId {
        let claimed = self.tracker.claim_next(ClaimKind::Work(None), issues::agent());
        let claimed = self.runtime.block_on(claimed).expect("a store that can be changed");
        claimed.expect("an issue").issue.id
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("issues.json")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // Otherwise the writer thread would disturb the next measurement.
        self.runtime.block_on(self.tracker.close());
    }
}

pub async fn add(tracker: &Tracker, filing: Filing) -> IssueId {
    let Filing { title, description } = filing;
    let issue = NewIssue::new(title, description, Classification::Bug);
    let added = tracker.add_issue(issue, issues::agent()).await;
    added.expect("a store that can be changed").issue.id
}

/// About as many bytes as an issue has in `issues.json` when it is filed.
const FILED_BYTES: usize = 1_200;

/// A file that only appends and syncs.
pub struct Appender {
    file: File,
    bytes: Vec<u8>,
    end: u64,
    _directory: TempDir,
}

impl Appender {
    pub fn begin() -> Self {
        let directory = new_directory();
        let file = File::create_new(directory.path().join("log")).expect("a new file");
        Self { file, bytes: vec![b'x'; FILED_BYTES], end: 0, _directory: directory }
    }

    pub fn append(&mut self) {
        self.file.write_all_at(&self.bytes, self.end).expect("space on the disk");
        self.file.sync_data().expect("a disk that works");
        self.end += self.bytes.len() as u64;
    }
}

/// Replaces a file as a whole: temporary file, sync, rename, sync of the directory.
pub fn rewrite(directory: &Path, bytes: &[u8]) {
    let mut temp = tempfile::NamedTempFile::new_in(directory).expect("a new file");
    temp.write_all(bytes).expect("space on the disk");
    temp.as_file().sync_all().expect("a disk that works");
    temp.persist(directory.join("rewritten.json")).expect("a file that can be replaced");
    File::open(directory).and_then(|directory| directory.sync_all()).expect("a disk that works");
}
