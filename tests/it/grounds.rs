//! What a store stands on: a file system of a network, or one whose locks lock nothing, is refused before
//! the first change, and can be read.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::{FileSystem, Kind, RealFileSystem};
use agent_issue_tracker::store::{JsonStore, Store, StoreError};
use agent_issue_tracker::tracker::Tracker;

use crate::support::directory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::{issue_json, names, stored_issues, write_issues};
use crate::support::stores::{add, ids, now, open};

fn network() -> Kind {
    Kind::Network("NFS".to_owned())
}

/// A disk of that kind.
fn disk_of(kind: Kind) -> Arc<Disk> {
    let disk = Disk::new(Neglect::Nothing);
    disk.ground.be(kind);
    disk
}

/// A store with an issue that somebody filed elsewhere.
fn with_an_issue() -> tempfile::TempDir {
    let directory = directory();
    let id = "00000001-0000-4000-8000-000000000000";
    write_issues(directory.path(), &[issue_json(id, "one", "created")]);
    directory
}

#[track_caller]
fn says(error: &StoreError, words: &[&str]) {
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error:?}");
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
}

#[tokio::test]
async fn a_network_is_refused_with_reason_and_way_out_and_can_be_read() {
    let words = [
        "NFS",
        "two agents may get one issue",
        "ait serve",
        "network-file-system",
        "AIT_NETWORK_FILE_SYSTEM=allow",
        "nothing was changed",
    ];
    let directory = with_an_issue();
    let disk = disk_of(network());
    let store = open(directory.path(), &disk);
    assert_eq!(ids(&store).await.len(), 1);
    assert_eq!(disk.count_of("kind"), 0, "reading needs no look at the file system");
    says(&store.apply(add(), now()).await.unwrap_err(), &words);
    says(&store.check().await.unwrap_err(), &words);
    assert_eq!(ids(&store).await.len(), 1);
    store.close().await;
    assert_eq!(names(directory.path()), ["issues.json"]);
}

/// Whoever writes a large file takes another lock first.
#[tokio::test]
async fn nothing_is_brought_up_to_date_there_either() {
    let directory = directory();
    let elsewhere = open(directory.path(), &Disk::new(Neglect::Nothing));
    elsewhere.apply(add(), now()).await.unwrap();
    let before = names(directory.path());
    for aside_from_bytes in [0, u64::MAX] {
        let options = JsonStoreOptions { aside_from_bytes, ..JsonStoreOptions::default() };
        let file = directory.path().join("issues.json");
        let store = JsonStore::with(file, disk_of(network()) as _, options);
        says(&store.save().await.unwrap_err(), &["NFS"]);
        assert_eq!(names(directory.path()), before);
    }
}

/// Tells whether changes are made on a file system of a kind, and how often its kind was asked for.
async fn are_made(kind: Kind, is_allowed: bool) -> (bool, usize) {
    let (directory, disk) = (directory(), disk_of(kind));
    let store = open(directory.path(), &disk).allowing_network(is_allowed);
    let mut are_made = true;
    for _ in 0..3 {
        are_made &= store.apply(add(), now()).await.is_ok();
    }
    assert_eq!(store.check().await.is_ok(), are_made);
    store.close().await;
    assert_eq!(stored_issues(directory.path()).len(), if are_made { 3 } else { 0 });
    (are_made, disk.count_of("kind"))
}

#[tokio::test]
async fn only_a_network_is_refused_unless_it_is_allowed_and_what_is_good_is_asked_once() {
    let program = || Kind::Program("FUSE".to_owned());
    let local = || Kind::Local("ext4".to_owned());
    for (kind, is_allowed, expected) in [
        (local(), false, (true, 1)),
        (program(), false, (true, 1)),
        (network(), true, (true, 0)),
        // Each refused change asks anew: somebody may have moved the store.
        (network(), false, (false, 4)),
    ] {
        assert_eq!(are_made(kind.clone(), is_allowed).await, expected, "{kind:?}");
    }
}

#[tokio::test]
async fn locks_that_are_given_twice_are_refused_on_every_kind_and_found_out_once() {
    for kind in [network(), Kind::Program("9P".to_owned()), Kind::Local("ext4".to_owned())] {
        let (directory, disk) = (with_an_issue(), disk_of(kind));
        disk.ground.lock_nothing();
        // That no other machine uses the store does not help two processes of this one.
        let store = open(directory.path(), &disk).allowing_network(true);
        assert_eq!(ids(&store).await.len(), 1);
        let words = ["issues.json.lock", "given to others, too", "a disk of this machine"];
        says(&store.apply(add(), now()).await.unwrap_err(), &words);
        // The trial of the probe finds it out, too.
        says(&store.try_writing().await.unwrap_err(), &words);
        store.close().await;
        assert_eq!(names(directory.path()), ["issues.json", "issues.json.lock"]);
    }
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    for _ in 0..3 {
        store.apply(add(), now()).await.unwrap();
    }
    assert_eq!((disk.count_of("kind"), disk.count_of("excludes")), (1, 1));
}

/// Whoever has a lock is not kept from it by the trial, and the trial takes none away.
#[tokio::test]
async fn the_trial_leaves_the_lock_to_whoever_has_it() {
    let directory = directory();
    let path = directory.path().join("lock");
    let held = RealFileSystem.lock(&path).unwrap();
    assert!(RealFileSystem.excludes(&path).unwrap());
    assert!(RealFileSystem.try_lock(&path).unwrap().is_none());
    drop(held);
    assert!(RealFileSystem.excludes(&path).unwrap());
    assert!(RealFileSystem.try_lock(&path).unwrap().is_some());
    assert!(RealFileSystem.excludes(&directory.path().join("none")).is_err());
}

/// A store that is moved to another directory while a process runs is looked at anew.
#[cfg(unix)]
#[tokio::test]
async fn another_directory_is_another_ground() {
    let directory = directory();
    let path = directory.path();
    for name in ["disk", "share"] {
        fs::create_dir(path.join(name)).unwrap();
    }
    let link = |to: &str| {
        let _ = fs::remove_file(path.join("here"));
        std::os::unix::fs::symlink(path.join(to), path.join("here")).unwrap();
    };
    let (disk, here) = (Disk::new(Neglect::Nothing), path.join("here"));
    link("disk");
    let store = open(&here, &disk);
    store.apply(add(), now()).await.unwrap();
    disk.ground.be(network());
    store.apply(add(), now()).await.unwrap();
    link("share");
    says(&store.apply(add(), now()).await.unwrap_err(), &["share is on NFS"]);
    link("disk");
    store.apply(add(), now()).await.unwrap();
    assert_eq!(stored_issues(&path.join("disk")).len(), 3);
    assert!(names(&path.join("share")).is_empty());
}

/// What a restore writes is a change like any other.
#[tokio::test]
async fn a_restore_is_refused_too_also_over_damage() {
    use agent_issue_tracker::store::Document;
    use agent_issue_tracker::store::backup::Consent;

    for text in ["{\"issues\": []}", "{ damaged"] {
        let directory = directory();
        fs::write(directory.path().join("issues.json"), text).unwrap();
        let store = open(directory.path(), &disk_of(network()));
        let restored = store.replace(Document::default(), Consent::Everything).await;
        says(&restored.unwrap_err(), &["NFS"]);
        assert_eq!(names(directory.path()), ["issues.json"]);
        assert_eq!(fs::read_to_string(directory.path().join("issues.json")).unwrap(), text);
    }
}

/// What the probe answers on a disk.
async fn probe(directory: &Path, disk: &Arc<Disk>) -> (u16, String) {
    use agent_issue_tracker::metrics::Metrics;
    use agent_issue_tracker::web::{WebOptions, router_with};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let tracker = Tracker::new(Arc::new(open(directory, disk)));
    let router = router_with(tracker, Metrics::new(), WebOptions::default());
    let serving = tokio::spawn(async { axum::serve(listener, router).await });
    let answer = tokio::task::spawn_blocking(move || crate::support::get(port, "/health"));
    let answer = answer.await.unwrap();
    serving.abort();
    (answer.status, answer.body)
}

#[tokio::test]
async fn the_probe_says_so_before_any_change() {
    let directory = with_an_issue();
    let (status, body) = probe(directory.path(), &disk_of(network())).await;
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("is on NFS") && body.contains("\"issueCount\":1"), "{body}");
    let (status, body) = probe(directory.path(), &Disk::new(Neglect::Nothing)).await;
    assert_eq!(status, 200, "{body}");
}

#[test]
fn a_lock_that_is_given_up_is_free_while_a_program_that_was_just_started_has_its_file() {
    let directory = directory();
    let path = directory.path().join("issues.json.lock");
    let lock = RealFileSystem.lock(&path).unwrap();
    // As a process has it between fork(2) and execve(2).
    let inherited = lock.file.try_clone().unwrap();
    assert!(RealFileSystem.try_lock(&path).unwrap().is_none());
    drop(lock);
    let again = RealFileSystem.try_lock(&path).unwrap();
    assert!(again.is_some());
    drop((again, inherited));
}
