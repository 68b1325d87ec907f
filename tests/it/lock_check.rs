//! The file system under a store: the store refuses changes on a network file system, or if locks have no effect, and
//! can still be read.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::store::files::StoreOptions;
use agent_issue_tracker::store::files::fs::{FileSystem, FileSystemKind, RealFileSystem};
use agent_issue_tracker::store::{Probe, Store, StoreError};
use agent_issue_tracker::tracker::Tracker;

use crate::support::directory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{id, issue_json, names, stored_issues, write_issues};
use crate::support::stores::{add, apply, check, ids, now, open, open_with, quiet};

fn network() -> FileSystemKind {
    FileSystemKind::Network("NFS".to_owned())
}

/// Returns a disk with this kind of file system.
fn disk_of(kind: FileSystemKind) -> Arc<Disk> {
    let disk = Disk::new(FaultyDuty::Nothing);
    disk.be(kind);
    disk
}

/// Returns a store with an issue that was filed elsewhere.
fn with_an_issue() -> tempfile::TempDir {
    let directory = directory();
    let id = "00000001-0000-4000-8000-000000000000";
    write_issues(directory.path(), &[issue_json(id, "one", "created")]);
    directory
}

#[track_caller]
fn assert_refused(error: &StoreError, words: &[&str]) {
    let is_refused = matches!(error, StoreError::ReadOnly(_) | StoreError::NetworkFileSystem(_));
    assert!(is_refused, "{error:?}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

#[tokio::test]
async fn network_file_system_refuses_changes_but_can_be_read() {
    let words = ["NFS", "two agents may get one issue", "nothing was changed"];
    let directory = with_an_issue();
    let disk = disk_of(network());
    let store = open(directory.path(), &disk);
    assert_eq!(ids(&store).await.len(), 1);
    assert_eq!(disk.count_of("kind", ""), 0, "a read must not ask for the kind of file system");
    assert_refused(&apply(&store, add(), now()).await.unwrap_err(), &words);
    assert_refused(&check(&store).await.unwrap_err(), &words);
    assert_eq!(ids(&store).await.len(), 1);
    store.close().await;
    assert_eq!(names(directory.path()), ["issues.json"]);
}

/// Changes that were made elsewhere are not published either.
#[tokio::test]
async fn network_file_system_refuses_publishing() {
    let directory = directory();
    let elsewhere = open(directory.path(), &Disk::new(FaultyDuty::Nothing));
    apply(&elsewhere, add(), now()).await.unwrap();
    let before = names(directory.path());
    let store = open(directory.path(), &disk_of(network()));
    assert_refused(&store.maintenance().publish().await.unwrap_err(), &["NFS"]);
    assert_eq!(names(directory.path()), before);
}

/// Returns whether a store on this kind of file system accepts changes, and how often it asked for the kind.
async fn accepts_changes(kind: FileSystemKind, is_allowed: bool) -> (bool, usize) {
    let directory = directory();
    let disk = disk_of(kind);
    let options = StoreOptions { allows_network: is_allowed, ..quiet() };
    let store = open_with(directory.path(), &disk, options);
    let mut is_accepted = true;
    for _ in 0..3 {
        is_accepted &= apply(&store, add(), now()).await.is_ok();
    }
    assert_eq!(check(&store).await.is_ok(), is_accepted);
    store.close().await;
    assert_eq!(stored_issues(directory.path()).len(), if is_accepted { 3 } else { 0 });
    (is_accepted, disk.count_of("kind", ""))
}

#[tokio::test]
async fn only_network_file_systems_are_refused_unless_allowed() {
    let program = || FileSystemKind::Program("FUSE".to_owned());
    let local = || FileSystemKind::Local("ext4".to_owned());
    for (kind, is_allowed, expected) in [
        (local(), false, true),
        (program(), false, true),
        (network(), true, true),
        (network(), false, false),
    ] {
        let (is_accepted, asked) = accepts_changes(kind.clone(), is_allowed).await;
        assert_eq!(is_accepted, expected, "{kind:?}");
        // Each refused change asks again, because the store may have moved to another file system.
        assert!(if is_accepted { asked == 2 } else { asked > 3 }, "{kind:?}: {asked}");
    }
}

#[tokio::test]
async fn ineffective_locks_are_refused_on_every_file_system() {
    for kind in [
        network(),
        FileSystemKind::Program("9P".to_owned()),
        FileSystemKind::Local("ext4".to_owned()),
    ] {
        let directory = with_an_issue();
        let disk = disk_of(kind);
        disk.disable_locking();
        // Even if no other machine uses the store, two processes of this machine need locks.
        let options = StoreOptions { allows_network: true, ..quiet() };
        let store = open_with(directory.path(), &disk, options);
        assert_eq!(ids(&store).await.len(), 1);
        let words = ["turn.lock", "given to others, too", "a disk of this machine"];
        assert_refused(&apply(&store, add(), now()).await.unwrap_err(), &words);
        store.close().await;
        assert_eq!(stored_issues(directory.path()).len(), 1);
    }
    // The write trial of the health probe detects it, too, if there is a database.
    let directory = directory();
    let disk = Disk::new(FaultyDuty::Nothing);
    let store = open(directory.path(), &disk);
    apply(&store, add(), now()).await.unwrap();
    let bad = disk.beside();
    bad.disable_locking();
    let store = open(directory.path(), &bad);
    let trouble = store.health(Probe::Trial).await.trouble;
    assert_refused(&trouble.unwrap(), &["turn.lock", "given to others, too"]);
    assert_refused(&apply(&store, add(), now()).await.unwrap_err(), &["given to others, too"]);
}

/// A restore is a change like any other.
#[tokio::test]
async fn network_file_system_refuses_restore_even_of_a_damaged_store() {
    use agent_issue_tracker::store::backup::OverwritePolicy;
    use agent_issue_tracker::store::files::format;
    use serde_json::json;

    for text in ["{\"issues\": []}", "{ damaged"] {
        let directory = directory();
        fs::write(directory.path().join("issues.json"), text).unwrap();
        let store = open(directory.path(), &disk_of(network()));
        let maintenance = store.maintenance();
        let backup =
            format::parse(json!({ "issues": [issue_json(&id(3), "back", "created")] }).to_string());
        let restored = maintenance.restore(backup.unwrap(), OverwritePolicy::Everything).await;
        assert_refused(&restored.unwrap_err(), &["NFS"]);
        assert_eq!(names(directory.path()), ["issues.json"]);
        assert_eq!(fs::read_to_string(directory.path().join("issues.json")).unwrap(), text);
    }
}

/// Returns the status and the body of the health probe on a disk.
async fn probe(directory: &Path, disk: &Arc<Disk>) -> (u16, String) {
    use agent_issue_tracker::metrics::Metrics;
    use agent_issue_tracker::read_model::ReadModel;
    use agent_issue_tracker::web::{WebOptions, router_with};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let tracker = Tracker::new(Arc::new(open(directory, disk)));
    let router = router_with(ReadModel::new(tracker), Metrics::new(), WebOptions::default());
    let serving = tokio::spawn(async { axum::serve(listener, router).await });
    let answer = tokio::task::spawn_blocking(move || crate::support::get(port, "/health"));
    let answer = answer.await.unwrap();
    serving.abort();
    (answer.status, answer.body)
}

#[tokio::test]
async fn health_probe_reports_a_network_file_system() {
    let directory = with_an_issue();
    let (status, body) = probe(directory.path(), &disk_of(network())).await;
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("is on NFS") && body.contains("\"issueCount\":1"), "{body}");
    let (status, body) = probe(directory.path(), &Disk::new(FaultyDuty::Nothing)).await;
    assert_eq!(status, 200, "{body}");
}

#[test]
fn released_lock_is_free_despite_an_inherited_descriptor() {
    let directory = directory();
    let path = directory.path().join("lock");
    let file = RealFileSystem.create(&path, &path).unwrap();
    let lock = RealFileSystem.lock(&file, true).unwrap().unwrap();
    // A child process has this descriptor between fork(2) and execve(2).
    let inherited = file.try_clone().unwrap();
    let try_lock = || {
        let open = RealFileSystem.open(&path).unwrap().unwrap();
        RealFileSystem.lock(&open, false).unwrap()
    };
    assert!(try_lock().is_none());
    drop(lock);
    assert!(try_lock().is_some());
    drop(inherited);
}
