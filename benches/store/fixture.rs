//! Stores of every size, each in a directory of its own.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, IssueId};
use agent_issue_tracker::store::JsonStore;
use agent_issue_tracker::store::json::fs::{FileSystem, RealFileSystem};
use agent_issue_tracker::store::json::{JsonStoreOptions, format};
use agent_issue_tracker::tracker::Tracker;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::issues::{self, Filing};

/// Long enough that no checkpoint comes between.
pub const NO_CHECKPOINT: Duration = Duration::from_secs(3600);

static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();

/// Makes the directory in which everything happens, until it is dropped. On the disk that holds the
/// target directory, because the one for temporary files is often only memory.
pub fn make_directory() -> TempDir {
    let directory = TempDir::with_prefix_in("store-bench-", env!("CARGO_TARGET_TMPDIR"));
    let directory = directory.expect("a directory below the target directory");
    DIRECTORY.set(directory.path().to_owned()).expect("called once");
    directory
}

pub fn new_directory() -> TempDir {
    TempDir::new_in(DIRECTORY.get().expect("made by main")).expect("a directory")
}

/// The file with this name in the common directory, made when it is asked for the first time.
pub fn template(name: &str, make: impl FnOnce(&Path)) -> PathBuf {
    let path = DIRECTORY.get().expect("made by main").join(name);
    if !path.exists() {
        make(&path);
        // What is still on its way to the disk would slow down the syncs that are measured.
        File::open(&path).and_then(|file| file.sync_all()).expect("a file on the disk");
    }
    path
}

/// An `issues.json` with so many issues.
pub fn issues_json(size: usize) -> PathBuf {
    template(&format!("{size}.json"), |path| {
        let mut file = BufWriter::new(File::create(path).expect("a new file"));
        format::write(&issues::document(size), &mut file).expect("space on the disk");
        file.flush().expect("space on the disk");
    })
}

/// A directory with an `issues.json` of so many issues.
pub fn directory_with(size: usize) -> TempDir {
    let directory = new_directory();
    if size > 0 {
        // Not a copy, which the disk would be busy with: the store replaces the file and never writes
        // into it.
        let path = directory.path().join("issues.json");
        fs::hard_link(issues_json(size), path).expect("a second name");
    }
    directory
}

/// As many threads as the program itself has.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()
        .expect("a runtime")
}

pub fn open(path: &Path, fs: Arc<dyn FileSystem>, checkpoint_after: Duration) -> JsonStore {
    let options = JsonStoreOptions { checkpoint_after, ..JsonStoreOptions::default() };
    JsonStore::with(path, fs, options)
}

/// A store that is open, and one issue larger than it says: its journal has begun.
pub struct Fixture {
    pub runtime: Runtime,
    pub tracker: Tracker,
    /// The one issue.
    pub issue: IssueId,
    filed: AtomicUsize,
    directory: TempDir,
}

impl Fixture {
    pub fn new(size: usize) -> Self {
        Self::with(size, Arc::new(RealFileSystem), NO_CHECKPOINT)
    }

    pub fn with(size: usize, fs: Arc<dyn FileSystem>, checkpoint_after: Duration) -> Self {
        let directory = directory_with(size);
        let path = directory.path().join("issues.json");
        let (runtime, tracker) =
            (runtime(), Tracker::new(Arc::new(open(&path, fs, checkpoint_after))));
        let issue = runtime.block_on(add(&tracker, Filing::new(size)));
        Self { runtime, tracker, issue, filed: AtomicUsize::new(size + 1), directory }
    }

    /// What is to be filed next.
    pub fn filing(&self) -> Filing {
        Filing::new(self.filed.fetch_add(1, Ordering::Relaxed))
    }

    pub fn add(&self, filing: Filing) -> IssueId {
        self.runtime.block_on(add(&self.tracker, filing))
    }

    pub fn path(&self) -> PathBuf {
        self.directory.path().join("issues.json")
    }

    /// How many bytes filing one issue appends to the journal.
    pub fn frame_bytes(&self) -> usize {
        let length = || {
            let path = self.path().with_extension("json.journal");
            fs::metadata(path).expect("a journal").len()
        };
        let before = length();
        self.add(self.filing());
        usize::try_from(length() - before).expect("a small frame")
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        // Else the writer thread would go on in the background of whatever is measured next.
        self.runtime.block_on(self.tracker.close());
    }
}

pub async fn add(tracker: &Tracker, filing: Filing) -> IssueId {
    let Filing { title, description } = filing;
    let added = tracker.add_issue(title, description, Classification::Bug, issues::agent()).await;
    added.expect("a store that can be changed").id
}

/// A file that is appended to and synced, and nothing else.
pub struct Appender {
    file: File,
    bytes: Vec<u8>,
    end: u64,
    _directory: TempDir,
}

impl Appender {
    pub fn new(frame_bytes: usize) -> Self {
        let directory = new_directory();
        let path = directory.path().join("journal");
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path).expect("a new file");
        Self { file, bytes: vec![b'x'; frame_bytes], end: 0, _directory: directory }
    }

    /// Writes the room for so many appends.
    pub fn make_room(&mut self, appends: usize) {
        let room = vec![0; appends * self.bytes.len()];
        (&self.file).write_all(&room).expect("space on the disk");
        self.file.sync_all().expect("a disk that works");
    }

    pub fn append(&mut self) {
        #[cfg(unix)]
        std::os::unix::fs::FileExt::write_all_at(&self.file, &self.bytes, self.end)
            .expect("space on the disk");
        #[cfg(windows)]
        std::os::windows::fs::FileExt::seek_write(&self.file, &self.bytes, self.end)
            .expect("space on the disk");
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
