//! Power cuts at every step that the store takes on a disk: what was answered is there afterwards, what
//! was not answered is there as a whole or not at all, and the store goes on.
//!
//! Each duty of the store towards the disk is neglected once, which must be noticed: a check that finds
//! nothing then would be worth nothing.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, Issue};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::{JsonStore, MemoryStore, Store, StoreError};
use fastrand::Rng;
use tokio::runtime::Runtime;

use crate::support::commands::{add, all, at, number, random_command};
use crate::support::disk::{Disk, Neglect};
use crate::support::power::{Fate, Step, files_after, write_files};
use crate::support::{directory_in_memory, factor};

/// How many commands a history has, and after how many a process ends and another one begins.
const COMMANDS: i64 = 48;
const COMMANDS_A_LIFE: i64 = 9;
/// How many mixed fates each power cut has.
const MIXED_FATES: u64 = 4;

/// What a history left on a disk.
struct History {
    steps: Vec<Step>,
    /// The issues after each operation that was answered.
    states: Vec<Vec<Issue>>,
}

/// As soon as there is a change, so that many of the steps belong to checkpoints.
const AT_ONCE: Duration = Duration::ZERO;
const NEVER: Duration = Duration::from_secs(3600);

fn open(directory: &Path, disk: &Arc<Disk>, checkpoint_after: Duration) -> JsonStore {
    open_in_one_way(directory, disk, checkpoint_after, false)
}

/// A store that writes `issues.json` beside commits, or under the lock.
fn open_in_one_way(
    directory: &Path,
    disk: &Arc<Disk>,
    checkpoint_after: Duration,
    is_aside: bool,
) -> JsonStore {
    let second_look_after = AT_ONCE;
    let aside_from_bytes = if is_aside { 0 } else { u64::MAX };
    let options = JsonStoreOptions {
        checkpoint_after,
        second_look_after,
        aside_from_bytes,
        ..Default::default()
    };
    JsonStore::with(directory.join("issues.json"), Arc::clone(disk) as _, options)
}

async fn issues(store: &dyn Store) -> Result<Vec<Issue>, StoreError> {
    let page = store.list(all()).await?;
    Ok(page.issues.iter().map(|issue| Issue::clone(issue)).collect())
}

/// Two processes take turns on one store, and end and begin again.
async fn history(neglect: Neglect, seed: u64) -> Result<History, String> {
    let (directory, disk) = (directory_in_memory(), Disk::new(neglect));
    let (model, mut rng) = (MemoryStore::default(), Rng::with_seed(seed));
    let opened = |rng: &mut Rng| open_in_one_way(directory.path(), &disk, AT_ONCE, rng.bool());
    let mut stores = [opened(&mut rng), opened(&mut rng)];
    let mut states = vec![Vec::new()];
    for number in 0..COMMANDS {
        let (command, who) = (random_command(&mut rng), rng.usize(0..stores.len()));
        let expected = model.apply(command.clone(), at(number)).await;
        let given = stores[who].apply(command, at(number)).await;
        match (&expected, &given) {
            (Ok(expected), Ok(given)) if expected == given => {}
            (Err(StoreError::Refused(_)), Err(StoreError::Refused(_))) => continue,
            _ => return Err(format!("{given:?} instead of {expected:?}")),
        }
        if expected.is_ok_and(|issue| issue.is_some()) {
            states.push(issues(&model).await.unwrap());
            disk.answered(states.len() - 1);
        }
        if number % COMMANDS_A_LIFE == COMMANDS_A_LIFE - 1 {
            stores[who].close().await;
            stores[who] = opened(&mut rng);
        }
    }
    for store in stores {
        store.close().await;
    }
    Ok(History { steps: disk.steps(), states })
}

/// Opens what a power cut has left: all that was answered must be there, at most the operation that
/// was under way beside it, and the next operation must succeed.
async fn check(files: &Path, answered: usize, states: &[Vec<Issue>]) -> Result<(), String> {
    let text = |error: StoreError| error.to_string();
    let disk = Disk::new(Neglect::Nothing);
    let store = open(files, &disk, NEVER);
    let found = issues(&store).await.map_err(text)?;
    let possible = &states[answered..states.len().min(answered + 2)];
    if !possible.contains(&found) {
        let place = states.iter().position(|state| *state == found);
        return Err(format!("{answered} were answered, and the state is that after {place:?}"));
    }
    let more = store.apply(add(1000, Classification::Bug), at(COMMANDS)).await.map_err(text)?;
    let again = issues(&open(files, &disk, NEVER)).await.map_err(text)?;
    let expected = found.into_iter().chain(more.map(|issue| Issue::clone(&issue)));
    if again.iter().ne(expected.collect::<Vec<_>>().iter()) {
        return Err("the next operation did not follow".to_owned());
    }
    let journal = std::fs::read_to_string(files.join("issues.json.journal"));
    if journal.is_ok_and(|journal| journal.contains("\"edited\"")) {
        return Err("an interrupted checkpoint was taken for an edit".to_owned());
    }
    Ok(())
}

/// Cuts the power behind every step of a history; gives the number of cuts.
fn cut_everywhere(history: &History) -> Result<usize, String> {
    let (runtime, mut answered, mut cuts) = (Runtime::new().unwrap(), 0, 0);
    for place in 0..=history.steps.len() {
        if place > 0
            && let Step::Answered(count) = history.steps[place - 1]
        {
            answered = count;
        }
        let mixed = (0..MIXED_FATES).map(|seed| Fate::Mixed { seed: seed + place as u64 * 1000 });
        for fate in [Fate::Lost, Fate::Kept].into_iter().chain(mixed) {
            let directory = directory_in_memory();
            write_files(directory.path(), &files_after(&history.steps[..place], fate));
            let checked = runtime.block_on(check(directory.path(), answered, &history.states));
            checked.map_err(|error| format!("{fate:?} behind step {place}: {error}"))?;
            cuts += 1;
        }
    }
    Ok(cuts)
}

fn histories(neglect: Neglect, seeds: std::ops::Range<u64>) -> Result<usize, String> {
    let runtime = Runtime::new().unwrap();
    let mut cuts = 0;
    for seed in seeds {
        let history = runtime.block_on(history(neglect, seed));
        cuts += history
            .and_then(|history| cut_everywhere(&history))
            .map_err(|error| format!("seed {seed}: {error}"))?;
    }
    Ok(cuts)
}

#[test]
fn a_power_cut_at_any_step_loses_nothing_that_was_answered() {
    let cuts = histories(Neglect::Nothing, 0..2 * factor()).unwrap();
    eprintln!("{cuts} power cuts");
    assert!(cuts > 1000, "{cuts}");
}

#[test]
fn whichever_duty_towards_the_disk_is_neglected_is_noticed() {
    for neglect in [Neglect::SyncData, Neglect::SyncTemp, Neglect::SyncDirectory, Neglect::Intent] {
        let noticed = histories(neglect, 0..4).expect_err(&format!("{neglect:?} was not noticed"));
        eprintln!("{neglect:?}: {noticed}");
    }
}

#[test]
fn an_answer_that_does_not_wait_for_its_sync_is_noticed() {
    let runtime = Runtime::new().unwrap();
    let mut history = runtime.block_on(history(Neglect::Nothing, 0)).unwrap();
    for place in 1..history.steps.len() {
        if matches!(history.steps[place], Step::Answered(_)) {
            history.steps.swap(place - 1, place);
        }
    }
    let noticed = cut_everywhere(&history).unwrap_err();
    assert!(noticed.contains("were answered"), "{noticed}");
}

/// What a process was doing when it died.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    Change,
    FirstChange,
    Checkpoint,
}

/// A process dies at a call, another one goes on (one that was there before, or a new one), and the power
/// is cut at every step of it. Gives the number of cuts; `None` when there was no such call.
async fn die(doing: Doing, was_there: bool, call: usize) -> Result<Option<usize>, String> {
    let directory = directory_in_memory();
    let (disk, text) = (Disk::new(Neglect::Nothing), |error: StoreError| error.to_string());
    let (mut answered, mut next) = (0, None);
    if doing != Doing::FirstChange {
        let store = open(directory.path(), &disk, NEVER);
        store.apply(add(1, Classification::Bug), at(1)).await.map_err(text)?;
        store.close().await;
        let store = open(directory.path(), &disk, NEVER);
        store.apply(add(2, Classification::Bug), at(2)).await.map_err(text)?;
        answered = 2;
        if was_there {
            next = Some(store);
        } else {
            std::mem::forget(store);
        }
    }
    let mortal = Disk::beside(&disk);
    let dying = open(directory.path(), &mortal, NEVER);
    if doing == Doing::Checkpoint {
        dying.apply(add(3, Classification::Bug), at(3)).await.map_err(text)?;
        answered += 1;
        mortal.die_at(call);
        dying.close().await;
    } else {
        mortal.die_at(call);
        let died = dying.apply(add(3, Classification::Bug), at(3)).await;
        answered += usize::from(died.is_ok());
    }
    let death = disk.steps().len();
    std::mem::forget(dying);
    let next = next.unwrap_or_else(|| open(directory.path(), &disk, NEVER));
    let filed = next.apply(add(4, Classification::Bug), at(4)).await;
    filed.map_err(|error| format!("{:?}: {error}", mortal.failed()))?;
    let filed = disk.steps().len();
    std::mem::forget(next);
    let mut cuts = 0;
    for place in death..=filed {
        let answered = answered + usize::from(place == filed);
        let mixed = (0..8).map(|seed| Fate::Mixed { seed: seed + place as u64 * 1000 });
        for fate in [Fate::Lost, Fate::Kept].into_iter().chain(mixed) {
            let directory = directory_in_memory();
            write_files(directory.path(), &files_after(&disk.steps()[..place], fate));
            let store = open(directory.path(), &Disk::new(Neglect::Nothing), NEVER);
            let case =
                |error: String| format!("{:?}, {fate:?}, step {place}: {error}", mortal.failed());
            let found = issues(&store).await.map_err(|error| case(error.to_string()))?;
            let ids: Vec<_> = found.iter().map(|issue| issue.id).collect();
            // At most the one of the dead process and the one after it were under way.
            let expected: Vec<_> =
                [1, 2, 3, 4].map(number).into_iter().filter(|id| ids.contains(id)).collect();
            let lost = place == filed && !ids.contains(&number(4));
            if ids != expected || ids.len() < answered || lost {
                return Err(case(format!("{answered} were answered, and {ids:?} are there")));
            }
            let more = store.apply(add(5, Classification::Bug), at(5)).await;
            more.map_err(|error| case(error.to_string()))?;
            cuts += 1;
        }
    }
    Ok(mortal.failed().map(|_| cuts))
}

#[test]
fn a_death_at_any_call_and_a_power_cut_behind_it_lose_nothing_that_was_answered() {
    let runtime = Runtime::new().unwrap();
    for (doing, was_there) in [
        (Doing::FirstChange, false),
        (Doing::Change, false),
        (Doing::Change, true),
        (Doing::Checkpoint, false),
        (Doing::Checkpoint, true),
    ] {
        let mut deaths = 0;
        let mut cuts = 0;
        while let Some(more) = runtime.block_on(die(doing, was_there, deaths + 1)).unwrap() {
            deaths += 1;
            cuts += more;
        }
        eprintln!("{doing:?}: {deaths} deaths, {cuts} power cuts");
        assert!(deaths > 10, "{doing:?}: {deaths}");
    }
}
