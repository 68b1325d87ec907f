//! What filing an issue costs in stores of different sizes, against what the disk alone costs.
//!
//! `cargo bench --bench add_issue`. The floor in each group replaces a file of as many bytes as the
//! store has, with the same calls, and nothing else: the ratio to it is the cost of the tracker.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::domain::{AgentName, Classification, Description, Title};
use agent_issue_tracker::store::JsonStore;
use agent_issue_tracker::store::json::format::{Document, render};
use agent_issue_tracker::tracker::Tracker;
use divan::Bencher;
use tokio::runtime::Runtime;

const SIZES: [usize; 3] = [0, 1_000, 10_000];
const DESCRIPTION_CHARS: usize = 600;

fn main() {
    divan::main();
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

async fn add(tracker: &Tracker) {
    let title = Title::try_from("An issue of ordinary length").expect("a title");
    let description = Description::try_from("x".repeat(DESCRIPTION_CHARS)).expect("a description");
    let agent = AgentName::try_from("bench").expect("a name");
    tracker.add_issue(title, description, Classification::Bug, agent).await.expect("filed");
}

/// A store with so many issues, made in one write.
fn fill(directory: &Path, size: usize) -> Tracker {
    let file = directory.join("issues.json");
    if size > 0 {
        let title = Title::try_from("An issue of ordinary length").expect("a title");
        let description = Description::try_from("x".repeat(DESCRIPTION_CHARS)).expect("text");
        let now = chrono::Utc::now().into();
        let mut document = Document::default();
        for _ in 0..size {
            let command = agent_issue_tracker::domain::Command::AddIssue {
                id: uuid::Uuid::new_v4().into(),
                title: title.clone(),
                description: description.clone(),
                classification: Classification::Bug,
                agent: AgentName::try_from("bench").expect("a name"),
            };
            let event = document.issues.decide(&command, now).expect("decided").expect("an event");
            document.issues.apply(&event).expect("applied");
        }
        std::fs::write(&file, render(&document)).expect("written");
    }
    Tracker::new(Arc::new(JsonStore::new(file)))
}

/// Files one issue.
#[divan::bench(args = SIZES, sample_count = 60, sample_size = 1)]
fn add_issue(bencher: Bencher, size: usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let (runtime, tracker) = (runtime(), fill(directory.path(), size));
    runtime.block_on(add(&tracker));
    bencher.bench_local(|| runtime.block_on(add(&tracker)));
}

/// Replaces a file of the same size: temporary file, sync, rename, sync of the directory.
#[divan::bench(args = SIZES, sample_count = 60, sample_size = 1)]
fn floor(bencher: Bencher, size: usize) {
    let directory = tempfile::tempdir().expect("a directory");
    let (runtime, tracker) = (runtime(), fill(directory.path(), size));
    runtime.block_on(add(&tracker));
    let file = directory.path().join("issues.json");
    let bytes = std::fs::read(&file).expect("read");
    bencher.bench_local(|| {
        let mut temp = tempfile::NamedTempFile::new_in(directory.path()).expect("made");
        temp.write_all(&bytes).expect("written");
        temp.as_file().sync_all().expect("synced");
        temp.persist(&file).expect("renamed");
        File::open(directory.path()).and_then(|directory| directory.sync_all()).expect("synced");
    });
}
