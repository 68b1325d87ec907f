//! A disk whose calls fail with all that systems say, once and for a while: each answer is definite and names
//! the file and what was wrong, nothing is taken for an empty store, nothing that was answered is lost, and all
//! goes on when the cause is gone.

use std::path::Path;

use agent_issue_tracker::store::{JsonStore, Store, StoreError};

use crate::support::directory_in_memory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::{issues_in_file, names};
use crate::support::scene::open;
use crate::support::stores::{add, ids, now};
use crate::support::trouble::{EACCES, EIO, ENOSPC, EROFS, ESTALE};

/// More calls than anything here makes.
const MAX_CALLS: usize = 200;

/// What systems say, and how that is told.
const ERRORS: [(i32, &str); 5] = [
    (EIO, "os error 5"),
    (ENOSPC, "no space left"),
    (EACCES, "os error 13"),
    (EROFS, "os error 30"),
    (ESTALE, "os error 116"),
];

/// What a process does when its disk begins to fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    /// The first read of a process.
    Opening,
    /// A read, when others have changed something.
    Read,
    Change,
    FirstChange,
    /// Writing `issues.json` under the lock, and beside commits.
    Checkpoint,
    CheckpointAside,
}
use Doing::{Change, Checkpoint, CheckpointAside, FirstChange, Opening, Read};

const ALL: [Doing; 6] = [Opening, Read, Change, FirstChange, Checkpoint, CheckpointAside];

async fn act(doing: Doing, store: &JsonStore) -> Result<Option<usize>, StoreError> {
    match doing {
        Opening | Read => store.counts().await.map(|counts| Some(counts.total())),
        Change | FirstChange => store.apply(add(), now()).await.map(|_| None),
        Checkpoint | CheckpointAside => store.save().await.map(|()| None),
    }
}

/// Lets calls fail from one on, or that one alone; gives the one that failed first, if there was any.
async fn fail(
    doing: Doing,
    call: usize,
    (error, text): (i32, &str),
    lasts: bool,
) -> Option<&'static str> {
    let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
    let is_aside = doing == CheckpointAside;
    let others = Disk::beside(&disk);
    let other = open(directory.path(), &others, is_aside);
    for _ in 0..2 {
        other.apply(add(), now()).await.unwrap();
        other.save().await.unwrap();
        other.apply(add(), now()).await.unwrap();
    }
    let (mut known, store) = (4, open(directory.path(), &disk, is_aside));
    match doing {
        Opening | FirstChange => {}
        Read => drop(ids(&store).await),
        Change | Checkpoint | CheckpointAside => {
            store.apply(add(), now()).await.unwrap();
            known += 1;
        }
    }
    if doing != Opening {
        other.apply(add(), now()).await.unwrap();
        known += 1;
    }
    disk.trouble.with(error);
    match lasts {
        true => disk.trouble.fail_from(call),
        false => disk.trouble.fail_call(call),
    }
    let outcome = act(doing, &store).await;
    let name = disk.failed()?;
    let case = format!("{doing:?}, {name} (call {call}, {text}, lasts: {lasts}): {outcome:?}");
    let is_change = matches!(doing, Change | FirstChange);
    // What others find is what was answered.
    let there = ids(&other).await.len();
    match &outcome {
        Ok(count) => {
            assert_eq!(there, known + usize::from(is_change), "{case}");
            assert!(count.is_none_or(|count| count == known), "{case}");
        }
        Err(problem) => {
            let told = problem.to_string();
            assert!(told.contains(text), "{case}");
            assert!(told.contains(&*directory.path().to_string_lossy()), "{case}");
            let is_uncertain = matches!(problem, StoreError::Uncertain(_));
            assert!(is_change || !is_uncertain, "{case}");
            assert!(there == known || is_change && is_uncertain && there == known + 1, "{case}");
            let is_told = ["nothing was changed", "make it readable", "look at the issue"];
            assert!(is_told.iter().any(|words| told.contains(words)), "{case}");
        }
    }
    if lasts {
        refuses_or_is_right(&store, &other, there, &case).await;
    }
    disk.trouble.mend();
    goes_on(directory.path(), &store, &other, there, &case).await;
    Some(name)
}

/// The cause is gone.
async fn goes_on(directory: &Path, store: &JsonStore, other: &JsonStore, there: usize, case: &str) {
    for (one, another) in [(store, other), (other, store)] {
        one.apply(add(), now()).await.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(ids(one).await, ids(another).await, "{case}");
    }
    store.check().await.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(ids(store).await.len(), there + 2, "{case}");
    store.save().await.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(issues_in_file(directory).len(), there + 2, "{case}");
    let left: Vec<_> = names(directory)
        .into_iter()
        .filter(|name| name.ends_with(".tmp") || name.contains(".suspect-"))
        .collect();
    assert!(left.is_empty(), "{case}: {left:?}");
}

/// While it lasts: what is answered is so, and the health probe knows.
async fn refuses_or_is_right(store: &JsonStore, other: &JsonStore, there: usize, case: &str) {
    match store.counts().await {
        Ok(counts) => assert_eq!(counts.total(), there, "{case}"),
        Err(error) => assert!(matches!(error, StoreError::Unreadable(_)), "{case}: {error}"),
    }
    let again = store.apply(add(), now()).await;
    assert!(again.is_err(), "{case}");
    assert_eq!(ids(other).await.len(), there, "{case}: {again:?}");
    let (checked, tried) = (store.check().await, store.try_writing().await);
    assert!(checked.is_err() || tried.is_err(), "{case}");
}

async fn fail_each_call(doing: Doing, error: (i32, &str), lasts: bool) -> Vec<&'static str> {
    let mut failed = Vec::new();
    while let Some(name) = fail(doing, failed.len() + 1, error, lasts).await {
        failed.push(name);
        assert!(failed.len() < MAX_CALLS);
    }
    failed
}

#[tokio::test]
async fn whichever_call_fails_however_once_the_answer_is_true_and_all_goes_on() {
    let mut cases = 0;
    for doing in ALL {
        for error in ERRORS {
            let failed = fail_each_call(doing, error, false).await;
            for name in ["stamp", "read_at", "is_at"] {
                assert!(failed.contains(&name), "{doing:?}: {name} is not among {failed:?}");
            }
            cases += failed.len();
        }
    }
    eprintln!("{cases} calls failed once");
}

#[tokio::test]
async fn whichever_call_fails_however_and_all_that_follow_the_answer_is_true_and_all_goes_on() {
    let mut cases = 0;
    for doing in ALL {
        // One after the other, since what is said is the same as when it happens once.
        for call in 1..MAX_CALLS {
            let Some(_) = fail(doing, call, ERRORS[call % ERRORS.len()], true).await else { break };
            cases += 1;
        }
    }
    eprintln!("{cases} times all calls failed from one on");
}
