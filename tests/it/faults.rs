//! A file system that fails: every single call, once. The caller is told, memory and disk agree, and
//! nothing is lost when the cause is gone.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, Description, IssueId, Query, Timestamp, Title,
};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::{
    Contents, FileSystem, Lock, RealFileSystem, Stamp, Unresolved,
};
use agent_issue_tracker::store::{JsonStore, Store, StoreError};
use tempfile::NamedTempFile;

use crate::support::directory;
use crate::support::files::{names, stored_issues};

/// The real file system, except that one call, counted from 1, fails.
#[derive(Default)]
struct Failing {
    calls: AtomicUsize,
    failing_call: AtomicUsize,
    failed: Mutex<Option<&'static str>>,
    names: Mutex<Vec<&'static str>>,
    /// How many reads find no file, and how many find half of one.
    absent: AtomicUsize,
    halved: AtomicUsize,
    /// What happens once, just before a directory is synced.
    before_directory_sync: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl Failing {
    fn fail_call(&self, number: usize) {
        self.calls.store(0, Ordering::SeqCst);
        self.failing_call.store(number, Ordering::SeqCst);
        *self.failed.lock().unwrap() = None;
    }

    fn failed(&self) -> Option<&'static str> {
        *self.failed.lock().unwrap()
    }

    fn full() -> io::Error {
        io::Error::new(io::ErrorKind::StorageFull, "no space left on device")
    }

    fn count(&self, call: &'static str) -> io::Result<()> {
        self.names.lock().unwrap().push(call);
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.failing_call.load(Ordering::SeqCst) {
            *self.failed.lock().unwrap() = Some(call);
            return Err(Self::full());
        }
        Ok(())
    }
}

impl FileSystem for Failing {
    fn resolve(&self, path: &Path) -> Result<PathBuf, Unresolved> {
        let directory = path.to_owned();
        self.count("resolve").map_err(|source| Unresolved { directory, source })?;
        RealFileSystem.resolve(path)
    }

    fn holds(&self, lock: &Lock, path: &Path) -> io::Result<bool> {
        self.count("holds")?;
        RealFileSystem.holds(lock, path)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.count("stamp")?;
        let absent = self.absent.load(Ordering::SeqCst) > 0;
        if absent { Ok(None) } else { RealFileSystem.stamp(path) }
    }

    fn read(&self, path: &Path) -> io::Result<Option<Contents>> {
        self.count("read")?;
        if count_down(&self.absent) {
            return Ok(None);
        }
        let mut contents = RealFileSystem.read(path)?;
        if let Some(contents) = contents.as_mut().filter(|_| count_down(&self.halved)) {
            contents.bytes.truncate(contents.bytes.len() / 2);
        }
        Ok(contents)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.count("lock")?;
        RealFileSystem.lock(path)
    }

    fn create_temp(&self, target: &Path) -> io::Result<NamedTempFile> {
        self.count("create_temp")?;
        RealFileSystem.create_temp(target)
    }

    fn write(&self, temp: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        if self.count("write").is_err() {
            // A full disk takes a part of the bytes before it refuses.
            RealFileSystem.write(temp, &bytes[..bytes.len() / 2])?;
            return Err(Self::full());
        }
        RealFileSystem.write(temp, bytes)
    }

    fn sync(&self, temp: &NamedTempFile) -> io::Result<()> {
        self.count("sync")?;
        RealFileSystem.sync(temp)
    }

    fn replace(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        self.count("replace")?;
        RealFileSystem.replace(temp, target)
    }

    fn stamp_open(&self, file: &File) -> io::Result<Stamp> {
        self.count("stamp_open")?;
        RealFileSystem.stamp_open(file)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.count("sync_directory")?;
        if let Some(happens) = self.before_directory_sync.lock().unwrap().take() {
            happens();
        }
        RealFileSystem.sync_directory(directory)
    }

    fn remove_stale_temps(&self, target: &Path) {
        RealFileSystem.remove_stale_temps(target);
    }
}

/// Counts one down; false when there was none left.
fn count_down(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

fn add() -> Command {
    Command::AddIssue {
        id: IssueId::from(uuid::Uuid::new_v4()),
        title: Title::try_from("t").unwrap(),
        description: Description::try_from("").unwrap(),
        classification: Classification::Bug,
        agent: AgentName::try_from("a").unwrap(),
    }
}

fn now() -> Timestamp {
    Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap()
}

async fn ids(store: &JsonStore) -> Vec<IssueId> {
    let all = Query { take: usize::MAX, ..Query::default() };
    store.list(all).await.unwrap().issues.iter().map(|issue| issue.id).collect()
}

#[tokio::test]
async fn whichever_call_of_a_change_fails_the_answer_is_true_and_the_store_goes_on() {
    let mut failed = Vec::new();
    for call in 1.. {
        let directory = directory();
        let fs = Arc::new(Failing::default());
        let file = directory.path().join("issues.json");
        let store = JsonStore::with(&file, Arc::clone(&fs) as _, JsonStoreOptions::default());
        store.apply(add(), now()).await.unwrap();
        let before = ids(&store).await;
        fs.fail_call(call);
        let outcome = store.apply(add(), now()).await;
        let Some(name) = fs.failed() else {
            outcome.unwrap();
            break;
        };
        failed.push(name);
        // What the caller was told is what others find on disk and what is in memory.
        let on_disk = stored_issues(directory.path()).len();
        let text = match outcome {
            Err(error @ StoreError::Uncertain(_)) => {
                assert_eq!(on_disk, 2, "{name}");
                error.to_string()
            }
            Err(error) => {
                assert_eq!(on_disk, 1, "{name}");
                error.to_string()
            }
            Ok(_) => panic!("{name} failed and nobody was told"),
        };
        assert!(text.contains("no space left"), "{name}: {text}");
        let after = ids(&store).await;
        assert_eq!(after.len(), on_disk, "{name}");
        assert_eq!(after[0], before[0], "{name}");
        // The cause is gone: the next change goes through, and no half-written file is left.
        store.apply(add(), now()).await.unwrap();
        assert_eq!(stored_issues(directory.path()).len(), on_disk + 1, "{name}");
        assert_eq!(names(directory.path()), ["issues.json", "issues.json.lock"], "{name}");
    }
    let before_the_lock = ["resolve", "stamp", "resolve"];
    let under_it =
        ["lock", "stamp", "create_temp", "write", "sync", "holds", "stamp", "stamp_open"];
    let renaming = ["replace", "stamp_open", "sync_directory"];
    assert_eq!(failed, [&before_the_lock[..], &under_it, &renaming].concat());
}

#[tokio::test]
async fn whichever_call_of_a_first_read_fails_the_store_never_starts_from_empty() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    JsonStore::new(&file).apply(add(), now()).await.unwrap();
    let mut failed = Vec::new();
    for call in 1.. {
        let fs = Arc::new(Failing::default());
        let store = JsonStore::with(&file, Arc::clone(&fs) as _, JsonStoreOptions::default());
        fs.fail_call(call);
        let counted = store.counts().await;
        let Some(name) = fs.failed() else {
            assert_eq!(counted.unwrap().total(), 1);
            break;
        };
        failed.push(name);
        assert!(matches!(counted, Err(StoreError::Unreadable(_))), "{name}: {counted:?}");
        assert_eq!(store.counts().await.unwrap().total(), 1, "{name}");
    }
    assert_eq!(failed, ["resolve", "read"]);
}

/// git replaces a file by removing it and writing it anew, and some editors write in place.
#[tokio::test]
async fn a_file_that_is_away_or_half_written_for_a_moment_is_waited_for_and_no_longer() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    let fs = Arc::new(Failing::default());
    let store = JsonStore::with(&file, Arc::clone(&fs) as _, JsonStoreOptions::default());
    store.apply(add(), now()).await.unwrap();
    for (trouble, expected) in [(&fs.absent, 2), (&fs.halved, 3)] {
        // Another process changes the file, so that this one has to read it.
        JsonStore::new(&file).apply(add(), now()).await.unwrap();
        trouble.store(3, Ordering::SeqCst);
        assert_eq!(store.counts().await.unwrap().total(), expected);
    }
    for (trouble, words) in [(&fs.absent, "is gone"), (&fs.halved, "line ")] {
        JsonStore::new(&file).apply(add(), now()).await.unwrap();
        trouble.store(usize::MAX, Ordering::SeqCst);
        let error = store.counts().await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        let reads = || fs.names.lock().unwrap().iter().filter(|name| **name == "read").count();
        let before = reads();
        // What is known to be bad is not read again until it changes.
        store.counts().await.unwrap_err();
        assert_eq!(reads(), before, "{words}");
        trouble.store(0, Ordering::SeqCst);
        JsonStore::new(&file).apply(add(), now()).await.unwrap();
        store.counts().await.unwrap();
    }
}

#[tokio::test]
async fn an_edit_in_place_while_the_directory_is_synced_is_not_hidden() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    let fs = Arc::new(Failing::default());
    let edited = file.clone();
    *fs.before_directory_sync.lock().unwrap() = Some(Box::new(move || {
        let text = std::fs::read_to_string(&edited).unwrap();
        std::fs::write(&edited, text.replace("\"title\": \"t\"", "\"title\": \"edited\"")).unwrap();
    }));
    let store = JsonStore::with(&file, Arc::clone(&fs) as _, JsonStoreOptions::default());
    store.apply(add(), now()).await.unwrap();
    let all = Query { take: 1, ..Query::default() };
    assert_eq!(store.list(all).await.unwrap().issues[0].title, "edited");
    store.apply(add(), now()).await.unwrap();
    assert_eq!(stored_issues(directory.path())[0]["title"], "edited");
}

#[tokio::test]
async fn a_lock_that_somebody_keeps_makes_callers_busy_and_their_commands_are_withdrawn() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    let options = JsonStoreOptions { busy_after: Duration::from_millis(50) };
    let store = JsonStore::with(&file, Arc::new(RealFileSystem), options);
    store.apply(add(), now()).await.unwrap();
    let other = File::open(directory.path().join("issues.json.lock")).unwrap();
    other.lock().unwrap();
    let busy = store.apply(add(), now()).await;
    assert!(
        matches!(&busy, Err(StoreError::Busy(text)) if text.contains("issues.json")),
        "{busy:?}"
    );
    // Readers do not need the lock.
    assert_eq!(store.counts().await.unwrap().total(), 1);
    other.unlock().unwrap();
    store.apply(add(), now()).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(), 2, "the withdrawn command was carried out");
}

#[tokio::test]
async fn commands_of_one_moment_share_one_write() {
    let directory = directory();
    let fs = Arc::new(Failing::default());
    let file = directory.path().join("issues.json");
    let store = Arc::new(JsonStore::with(&file, Arc::clone(&fs) as _, JsonStoreOptions::default()));
    store.apply(add(), now()).await.unwrap();
    let writes = || fs.names.lock().unwrap().iter().filter(|name| **name == "replace").count();
    assert_eq!(writes(), 1);
    let lock = File::open(directory.path().join("issues.json.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting: Vec<_> = (0..100).map(|_| store.apply(add(), now())).collect();
    // Each looks at the file first and is then handed to the writer, which waits for the lock. The
    // looks can be counted; after the last of them, a few more polls hand everything over.
    let looks = || fs.names.lock().unwrap().iter().filter(|name| **name == "stamp").count();
    let before = looks();
    let mut polls_left = 100;
    for _ in 0..20_000 {
        for command in &mut waiting {
            assert!(futures::poll!(command).is_pending());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        polls_left -= i32::from(looks() >= before + 100);
        if polls_left == 0 {
            break;
        }
    }
    assert_eq!(polls_left, 0, "not every command was handed over");
    lock.unlock().unwrap();
    for outcome in futures::future::join_all(waiting).await {
        outcome.unwrap();
    }
    assert_eq!(writes(), 2);
    assert_eq!(stored_issues(directory.path()).len(), 101);
}
