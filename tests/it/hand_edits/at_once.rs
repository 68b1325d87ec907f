//! Edits in the middle of a checkpoint: at each of its calls somebody saves another `issues.json`.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, Issue};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::{JsonStore, Store};

use crate::support::commands::{add, all, at, claim};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::names;

/// The title that an issue gets.
const BY_HAND: &str = "edited by hand";

fn open(directory: &Path, disk: &Arc<Disk>, is_aside: bool) -> JsonStore {
    let options = JsonStoreOptions {
        checkpoint_after: Duration::from_secs(3600),
        second_look_after: Duration::ZERO,
        aside_from_bytes: if is_aside { 0 } else { u64::MAX },
        ..Default::default()
    };
    JsonStore::with(directory.join("issues.json"), Arc::clone(disk) as _, options)
}

async fn issues(store: &JsonStore) -> Vec<Issue> {
    let page = store.list(all()).await.unwrap();
    page.issues.iter().map(|issue| Issue::clone(issue)).collect()
}

/// Saves the file with another title for its first issue, as an editor that writes in place or one that
/// renames.
fn edit(directory: &Path, renames: bool) {
    let file = directory.join("issues.json");
    let text = fs::read_to_string(&file).unwrap().replace("\"issue 1\"", &format!("\"{BY_HAND}\""));
    if renames {
        let own = directory.join("the editor's own");
        fs::write(&own, text).unwrap();
        fs::rename(own, file).unwrap();
    } else {
        fs::write(file, text).unwrap();
    }
}

/// Somebody saves before the call with this number of a checkpoint; false when there was no such call.
async fn edit_at(
    call: usize,
    is_aside: bool,
    renames: bool,
    neglect: Neglect,
) -> Result<bool, String> {
    let (directory, disk) = (directory_in_memory(), Disk::new(neglect));
    let store = open(directory.path(), &disk, is_aside);
    store.apply(add(1, Classification::Bug), at(1)).await.unwrap();
    store.apply(add(2, Classification::Bug), at(2)).await.unwrap();
    store.save().await.unwrap();
    store.apply(claim(None), at(3)).await.unwrap();
    store.apply(add(3, Classification::Bug), at(4)).await.unwrap();
    let before = issues(&store).await;
    let (path, mut calls) = (directory.path().to_owned(), 0);
    let is_done = Arc::new(AtomicBool::new(false));
    let done = Arc::clone(&is_done);
    disk.hook(move |_| {
        calls += 1;
        if calls == call {
            edit(&path, renames);
            done.store(true, Ordering::SeqCst);
        }
    });
    // It may say that somebody was faster; nothing is lost then either.
    let _ = store.save().await;
    disk.hook(|_| ());
    if !is_done.load(Ordering::SeqCst) {
        return Ok(false);
    }
    let mut expected = before;
    expected[0].title = BY_HAND.to_owned();
    let case = format!("call {call}, aside {is_aside}, renamed {renames}");
    let fresh = open(directory.path(), &Disk::new(Neglect::Nothing), is_aside);
    for (who, store) in [("the writer", &store), ("a new process", &fresh)] {
        let found = issues(store).await;
        if found != expected {
            return Err(format!("{case}: {who} finds {found:?}"));
        }
    }
    let claimed =
        store.apply(claim(None), at(5)).await.map_err(|error| format!("{case}: {error}"))?;
    expected[1] = claimed
        .map(|issue| Issue::clone(&issue))
        .filter(|it| it.id == expected[1].id)
        .ok_or(case)?;
    store.save().await.unwrap();
    let fresh = open(directory.path(), &Disk::new(Neglect::Nothing), is_aside);
    assert_eq!(issues(&fresh).await, expected);
    Ok(true)
}

async fn edit_at_each_call(
    is_aside: bool,
    renames: bool,
    neglect: Neglect,
) -> Result<usize, String> {
    let mut calls = 0;
    while edit_at(calls + 1, is_aside, renames, neglect).await? {
        calls += 1;
    }
    Ok(calls)
}

#[tokio::test]
async fn whatever_is_saved_at_whichever_call_of_a_checkpoint_is_not_lost() {
    let mut edits = 0;
    for is_aside in [false, true] {
        for renames in [false, true] {
            let calls = edit_at_each_call(is_aside, renames, Neglect::Nothing).await.unwrap();
            assert!(calls > 20, "{calls}");
            edits += calls;
        }
    }
    eprintln!("{edits} edits during checkpoints");
}

/// Without the look at what was displaced, what was saved just before the rename is gone.
#[tokio::test]
async fn an_edit_that_is_not_looked_for_is_noticed() {
    let noticed = edit_at_each_call(false, true, Neglect::Exchange).await.unwrap_err();
    assert!(noticed.contains("finds"), "{noticed}");
}

/// Lets the temporary files stay that a process leaves which is killed now: in a test, it may remove its own.
fn leave_temps(directory: &Path) {
    for name in temps(directory) {
        let renamed = |part| if is_random(part) { KILLED } else { part };
        let left: Vec<_> = name.split('.').map(renamed).collect();
        fs::hard_link(directory.join(&name), directory.join(left.join("."))).unwrap();
    }
}

fn temps(directory: &Path) -> impl Iterator<Item = String> {
    names(directory).into_iter().filter(|name| name.ends_with(".tmp"))
}

/// The random part of the names of temporary files that are left.
const KILLED: &str = "killed";

fn is_random(part: &str) -> bool {
    part.len() == KILLED.len() && part != "issues"
}

/// What somebody does just before the files change names.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Edit {
    Nothing,
    Renames,
    WritesInPlace,
}

/// Somebody saves just before the files change names, and the process is killed so many calls behind that; false when
/// there are not so many.
async fn killed_behind_an_edit(calls: usize, is_aside: bool, does: Edit) -> bool {
    let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk, is_aside);
    store.apply(add(1, Classification::Bug), at(1)).await.unwrap();
    store.save().await.unwrap();
    store.apply(add(2, Classification::Bug), at(2)).await.unwrap();
    let (path, mortal) = (directory.path().to_owned(), Arc::downgrade(&disk));
    let (mut left, is_reached) = (None, Arc::new(AtomicBool::new(false)));
    let reached = Arc::clone(&is_reached);
    disk.hook(move |call| {
        if left.is_none() && call == "exchange" {
            if does != Edit::Nothing {
                edit(&path, does == Edit::Renames);
            }
            left = Some(calls);
        }
        if left == Some(0) {
            leave_temps(&path);
            mortal.upgrade().unwrap().die_at(1);
            reached.store(true, Ordering::SeqCst);
        }
        left = left.map(|left| left.wrapping_sub(1));
    });
    let _ = store.save().await;
    disk.hook(|_| ());
    store.close().await;
    for name in temps(directory.path()).filter(|name| !name.contains(KILLED)) {
        fs::remove_file(directory.path().join(name)).unwrap();
    }
    let next = open(directory.path(), &Disk::new(Neglect::Nothing), is_aside);
    next.apply(add(3, Classification::Bug), at(3)).await.unwrap();
    next.save().await.unwrap();
    let names = names(directory.path());
    let case = format!("{calls} calls behind it, aside {is_aside}, {does:?}: {names:?}");
    assert_eq!(issues(&next).await.len(), 3, "{case}");
    let text = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let is_edited = |name: &&String| text(name).contains(BY_HAND);
    let kept: Vec<_> = names.iter().filter(|name| name.contains(".hand-")).collect();
    match does {
        Edit::Nothing => assert!(kept.is_empty(), "{case}"),
        _ => assert!(text("issues.json").contains(BY_HAND) || kept.iter().any(is_edited), "{case}"),
    }
    assert_eq!(temps(directory.path()).next(), None, "{case}");
    is_reached.load(Ordering::SeqCst)
}

#[tokio::test]
async fn what_was_saved_is_not_lost_with_a_process_that_is_killed_while_it_puts_it_back() {
    for is_aside in [false, true] {
        for does in [Edit::Nothing, Edit::Renames, Edit::WritesInPlace] {
            let mut calls = 0;
            while killed_behind_an_edit(calls, is_aside, does).await {
                calls += 1;
            }
            assert!(calls > 5, "{calls}");
        }
    }
}
