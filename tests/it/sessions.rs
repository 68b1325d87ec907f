//! What processes that share a store agree on without a change of an issue: which store it is, and which
//! clients' HTTP sessions were ended.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::store::{JsonStore, Store, StoreId};

use crate::support::directory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::names;
use crate::support::stores::{add, now, open};

/// The most that the file may hold before it is cut in half, and the length of a line.
const MAX_BYTES: usize = 1024 * 1024;
const LINE_BYTES: usize = 17;

fn file(directory: &Path) -> std::path::PathBuf {
    directory.join("issues.json.sessions")
}

async fn is_ended(store: &JsonStore, session: &str) -> bool {
    store.session_ended(session.to_owned()).await.unwrap()
}

async fn id(path: &Path) -> StoreId {
    JsonStore::new(path).id().await
}

/// Lines about sessions that nobody asks for, so many bytes of them.
fn filler(length_bytes: usize) -> String {
    (0..length_bytes / LINE_BYTES).map(|n| format!("{n:016x}\n")).collect()
}

#[tokio::test]
async fn the_id_of_a_store_is_that_of_its_place_whatever_is_there() {
    let directory = directory();
    let path = directory.path().join("issues.json");
    let store = JsonStore::new(&path);
    let before = store.id().await;
    assert!(names(directory.path()).is_empty());
    store.apply(add(), now()).await.unwrap();
    store.close().await;
    assert_eq!(id(&path).await, before);
    assert_ne!(id(&directory.path().join("other.json")).await, before);
    let away = directory.path().join("not/there/issues.json");
    assert_eq!(id(&away).await, id(&away).await);
    assert_ne!(id(&away).await, before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_store_that_is_reached_by_a_symbolic_link_is_the_same_store() {
    let directory = directory();
    fs::create_dir(directory.path().join("real")).unwrap();
    let real = directory.path().join("real/issues.json");
    std::os::unix::fs::symlink("real", directory.path().join("linked")).unwrap();
    std::os::unix::fs::symlink("linked/issues.json", directory.path().join("file.json")).unwrap();
    for path in ["linked/issues.json", "file.json", "linked/../real/issues.json"] {
        assert_eq!(id(&directory.path().join(path)).await, id(&real).await, "{path}");
    }
}

#[tokio::test]
async fn an_ended_session_is_one_line_and_asking_writes_nothing() {
    let directory = directory();
    let store = JsonStore::new(directory.path().join("issues.json"));
    assert!(!is_ended(&store, "a session").await);
    assert!(names(directory.path()).is_empty());
    for _ in 0..2 {
        store.end_session("a session".to_owned()).await.unwrap();
        let line = format!("{:016x}\n", xxhash_rust::xxh3::xxh3_64(b"a session"));
        assert_eq!(fs::read_to_string(file(directory.path())).unwrap(), line);
    }
    assert_eq!(names(directory.path()), ["issues.json.sessions"]);
}

#[tokio::test]
async fn lines_that_are_anything_else_are_passed_over_and_spoil_nothing() {
    let directory = directory();
    let store = JsonStore::new(directory.path().join("issues.json"));
    store.end_session("one".to_owned()).await.unwrap();
    let line = fs::read(file(directory.path())).unwrap();
    // What a full disk has left of a line, and what somebody wrote there.
    let odd = [&b"\n\nhello \xff\n"[..], &line, &line[..7]].concat();
    fs::write(file(directory.path()), odd).unwrap();
    store.end_session("two".to_owned()).await.unwrap();
    for (session, ended) in [("one", true), ("two", true), ("hello", false), ("", false)] {
        assert_eq!(is_ended(&store, session).await, ended, "{session}");
    }
}

/// Asked about between any two changes of the file, whoever made them and however.
#[tokio::test]
async fn what_is_appended_is_learnt_and_what_is_replaced_is_forgotten() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let (store, other) =
        (open(directory.path(), &disk), open(directory.path(), &Disk::beside(&disk)));
    let hash = |session: &str| format!("{:016x}", xxhash_rust::xxh3::xxh3_64(session.as_bytes()));
    let path = file(directory.path());
    let append = |text: &str| {
        use std::io::Write;
        fs::File::options().append(true).open(&path).unwrap().write_all(text.as_bytes()).unwrap();
    };
    for session in ["one", "two", "three"] {
        assert!(!is_ended(&store, session).await);
        other.end_session(session.to_owned()).await.unwrap();
        assert!(is_ended(&store, session).await);
    }
    let (begin, rest) = (&hash("four")[..5], &hash("four")[5..]);
    for (text, ended) in [(begin, false), (rest, true), ("\n", true), ("odd\n", true)] {
        append(text);
        assert_eq!(is_ended(&store, "four").await, ended, "{text}");
    }
    assert!(is_ended(&store, "one").await && is_ended(&store, "three").await);
    assert_eq!(disk.count_of("read"), 0);
    // Written in place: longer, and with other lines.
    let new = format!("{}{}\n", filler(10 * LINE_BYTES), hash("five"));
    fs::write(&path, new).unwrap();
    assert!(is_ended(&store, "five").await && !is_ended(&store, "one").await);
    fs::write(&path, "").unwrap();
    assert!(!is_ended(&store, "five").await);
}

#[tokio::test]
async fn a_file_that_has_grown_too_large_keeps_its_newest_half() {
    let directory = directory();
    let store = JsonStore::new(directory.path().join("issues.json"));
    store.end_session("oldest".to_owned()).await.unwrap();
    let oldest = fs::read_to_string(file(directory.path())).unwrap();
    fs::write(file(directory.path()), oldest + &filler(MAX_BYTES)).unwrap();
    store.end_session("newer".to_owned()).await.unwrap();
    assert!(is_ended(&store, "newer").await && !is_ended(&store, "oldest").await);
    let kept = fs::read_to_string(file(directory.path())).unwrap();
    assert!(kept.len() < MAX_BYTES / 2 + 2 * LINE_BYTES, "{}", kept.len());
    assert!(kept.len() > MAX_BYTES / 2 - 2 * LINE_BYTES, "{}", kept.len());
    assert!(kept.lines().all(|line| line.len() == LINE_BYTES - 1));
    assert_eq!(names(directory.path()), ["issues.json.lock", "issues.json.sessions"]);
}

/// Lets another process end a session just before each call of the one that replaces the file.
#[tokio::test]
async fn a_session_that_ends_while_the_file_is_replaced_stays_ended() {
    for name in
        ["try_lock", "open", "read_at", "create_temp", "write", "replace", "append", "is_at"]
    {
        let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
        let store = open(directory.path(), &disk);
        fs::write(file(directory.path()), filler(MAX_BYTES + LINE_BYTES)).unwrap();
        let path = directory.path().join("issues.json");
        disk.hook(move |call| {
            let path = path.clone();
            let end = move || {
                let other = JsonStore::new(path);
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(other.end_session("other".to_owned())).unwrap();
            };
            if call == name {
                std::thread::spawn(end).join().unwrap();
            }
        });
        store.end_session("own".to_owned()).await.unwrap();
        assert!(disk.count_of(name) > 0, "{name} is not called");
        assert!(is_ended(&store, "own").await && is_ended(&store, "other").await, "{name}");
        let length = fs::metadata(file(directory.path())).unwrap().len();
        assert!(length < MAX_BYTES as u64, "{name}: {length}");
    }
}

#[tokio::test]
async fn a_line_that_went_to_a_file_that_was_just_replaced_is_written_anew() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    let (path, new) = (file(directory.path()), directory.path().join("new"));
    let mut is_replaced = false;
    disk.hook(move |call| {
        if call == "is_at" && !std::mem::replace(&mut is_replaced, true) {
            fs::write(&new, filler(LINE_BYTES)).unwrap();
            fs::rename(&new, &path).unwrap();
        }
    });
    store.end_session("own".to_owned()).await.unwrap();
    assert!(is_ended(&store, "own").await);
    assert_eq!(fs::read(file(directory.path())).unwrap().len(), 2 * LINE_BYTES);
}

#[tokio::test]
async fn whichever_call_fails_the_caller_is_told_and_nothing_is_left_behind() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    let mut failed = Vec::new();
    for call in 1.. {
        fs::write(file(directory.path()), filler(MAX_BYTES + LINE_BYTES)).unwrap();
        let session = format!("session {call}");
        disk.trouble.fail_call(call);
        let outcome = store.end_session(session.clone()).await;
        let Some(name) = disk.failed() else { break };
        disk.trouble.fail_call(usize::MAX);
        failed.push(name);
        let text = outcome.unwrap_err().to_string();
        assert!(text.contains("no space left") && text.contains("issues.json"), "{name}: {text}");
        assert!(names(directory.path()).iter().all(|name| !name.ends_with(".tmp")), "{name}");
        store.end_session(session.clone()).await.unwrap();
        assert!(is_ended(&store, &session).await, "{name}");
    }
    for name in ["resolve", "read", "create_temp", "replace", "append"] {
        assert!(failed.contains(&name), "{name} is not among {failed:?}");
    }
    disk.trouble.fail_call(1);
    store.session_ended("any".to_owned()).await.unwrap_err();
}

#[tokio::test]
async fn a_store_without_a_directory_can_end_no_session_and_says_so() {
    let directory = directory();
    let store: Arc<dyn Store> = Arc::new(JsonStore::new(directory.path().join("gone/issues.json")));
    let refused = store.end_session("any".to_owned()).await.unwrap_err().to_string();
    assert!(refused.contains("does not exist"), "{refused}");
}
