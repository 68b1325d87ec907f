//! Sample stores for tests of damage.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::super::log::segment::Segment;
use super::super::log::{frame, record};
use super::super::{JsonStore, JsonStoreOptions};
use super::{Document, RealFileSystem, StorePaths, newest_segment, paths_of, snapshot};
use crate::domain::{AgentName, Classification, Event, EventKind, Issue, Status, Title};
use crate::store::backup::OverwritePolicy;
use crate::store::{EventPosition, Store};
use crate::tracker::{ClaimKind, NewIssue, Tracker};

pub struct Sample {
    pub directory: TempDir,
    pub path: PathBuf,
}

impl Sample {
    pub fn empty() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("issues.json");
        Self { directory, path }
    }

    /// Creates a store with three issues, `one`, `two` and `three`. The first is claimed, so there are four
    /// events.
    pub fn new() -> Self {
        let sample = Self::empty();
        sample.change(async |tracker| {
            for title in ["one", "two", "three"] {
                add(tracker, title).await;
            }
            tracker.claim_next(ClaimKind::Work(None), agent()).await.unwrap();
        });
        sample
    }

    /// Changes the store in a process that shuts down properly.
    pub fn change(&self, work: impl AsyncFnOnce(&Tracker)) {
        self.run(true, work);
    }

    /// Changes the store in a process that is killed.
    pub fn change_and_die(&self, work: impl AsyncFnOnce(&Tracker)) {
        self.run(false, work);
    }

    fn run(&self, closes: bool, work: impl AsyncFnOnce(&Tracker)) {
        let publish_after = Duration::from_secs(3_600);
        let options = JsonStoreOptions { publish_after, ..JsonStoreOptions::default() };
        let store = Arc::new(JsonStore::with(&self.path, Arc::new(RealFileSystem), options));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            work(&Tracker::new(Arc::clone(&store) as Arc<dyn Store>)).await;
            if closes {
                store.close().await;
            }
        });
    }

    /// Restores a document.
    pub fn restore(&self, document: Document) {
        let store = JsonStore::new(&self.path);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            store.maintenance().restore(document, OverwritePolicy::Everything).await.unwrap();
            store.close().await;
        });
    }

    pub fn paths(&self) -> StorePaths {
        paths_of(&self.path).unwrap()
    }

    /// Returns the path of the snapshot at an event number.
    pub fn snapshot(&self, number: u64) -> PathBuf {
        let found = snapshot::list(&RealFileSystem, &self.paths()).unwrap();
        found.into_iter().find(|(found, _)| *found == number).unwrap().1
    }

    pub fn segment(&self) -> PathBuf {
        newest_segment(&self.paths()).unwrap()
    }

    /// Edits the bytes of the newest segment.
    pub fn edit_segment(&self, edit: impl FnOnce(&mut Vec<u8>)) {
        edit_file(&self.segment(), edit);
    }

    /// Returns the offset of the nth event line in the newest segment, counted from 1.
    pub fn line(&self, number: usize) -> usize {
        let bytes = fs::read(self.segment()).unwrap();
        memchr::memchr_iter(b'\n', &bytes).nth(number - 1).unwrap() + 1
    }

    /// Appends an event with a valid checksum and hash.
    pub fn forge(&self, event: &Event, last: EventPosition) {
        let segment = Segment::open(&RealFileSystem, &self.paths().log, 1).unwrap().unwrap();
        let (text, position) = record::encode(event, last);
        let line = record::line(&text, position, 0, true);
        self.edit_segment(|bytes| frame::write(segment.header.salt, &line, bytes));
    }

    /// Appends a second claim of an issue.
    pub fn forge_claim(&self, issue: &Issue, last: EventPosition) {
        let (at, before) = (issue.modified_at, Some(crate::domain::Before::of(issue)));
        let (agent, kind) = ("thief".to_owned(), EventKind::Claimed);
        assert_eq!(issue.status, Status::InProgress);
        self.forge(&Event { issue: issue.id, at, agent, kind, before, lease: None }, last);
    }

    /// Returns the content of every file.
    pub fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut directories) =
            (BTreeMap::new(), vec![self.directory.path().to_owned()]);
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    directories.push(path);
                } else {
                    found.insert(path.clone(), fs::read(path).unwrap());
                }
            }
        }
        found
    }
}

pub fn edit_file(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    edit(&mut bytes);
    fs::write(path, bytes).unwrap();
}

pub fn replace_in(path: &Path, text: &str, other: &str) {
    let before = fs::read_to_string(path).unwrap();
    assert!(before.contains(text), "{before}");
    fs::write(path, before.replacen(text, other, 1)).unwrap();
}

pub fn agent() -> AgentName {
    AgentName::try_from("agent").unwrap()
}

pub async fn add(tracker: &Tracker, title: &str) {
    let title = Title::try_from(title).unwrap();
    let issue = NewIssue::new(title, "".try_into().unwrap(), Classification::Bug);
    tracker.add_issue(issue, agent()).await.unwrap();
}
