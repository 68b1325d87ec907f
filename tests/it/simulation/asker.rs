//! The thread of a simulated process that asks its store for something, and waits for the answer.

use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use agent_issue_tracker::domain::{Issue, Timestamp};
use agent_issue_tracker::store::json::format;
use agent_issue_tracker::store::{JsonStore, Store, StoreError};
use futures::future::join_all;
use tokio::runtime::Handle;

use super::ledger::issues;
use super::operation::{Excuse, Operation};
use super::world::{State, World};
use crate::support::commands::all;

/// What a process has to do now.
struct Task {
    world: Arc<World>,
    process: usize,
    store: Arc<JsonStore>,
    operation: Operation,
    now: Timestamp,
}

/// A thread that asks, for one process after the other.
pub struct Asker(Sender<Task>);

impl Asker {
    pub fn start(name: &str, runtime: Handle) -> Self {
        let (tasks, incoming) = channel();
        let asker = thread::Builder::new().name(name.to_owned());
        asker.spawn(move || work(&incoming, &runtime)).unwrap();
        Self(tasks)
    }

    pub fn ask(
        &self,
        world: &Arc<World>,
        process: usize,
        store: &Arc<JsonStore>,
        operation: Operation,
        now: Timestamp,
    ) {
        let (world, store) = (Arc::clone(world), Arc::clone(store));
        self.0.send(Task { world, process, store, operation, now }).unwrap();
    }
}

fn work(incoming: &Receiver<Task>, runtime: &Handle) {
    for Task { world, process, store, operation, now } in incoming {
        let asked = ask(&world, process, &store, operation, now);
        runtime.block_on(parking(&world, process, asked));
        drop(store);
        world.ended(process);
    }
}

/// Tells the gate when the thread begins to wait for another one.
async fn parking(world: &World, process: usize, asked: impl Future<Output = ()>) {
    let mut asked = pin!(asked);
    poll_fn(|context| {
        let polled = asked.as_mut().poll(context);
        if polled.is_pending() {
            world.parked(process);
        }
        polled
    })
    .await;
}

async fn ask(
    world: &World,
    process: usize,
    store: &JsonStore,
    operation: Operation,
    now: Timestamp,
) {
    match operation {
        Operation::Change(commands) => {
            let asked = commands.into_iter().enumerate().map(|(number, command)| async move {
                let given = store.apply(command, now).await;
                let given = given.map(|issue| issue.map(|issue| Issue::clone(&issue)));
                check(world, process, "answers a change", &given, |state, excuse| {
                    state.ledger.answered(process, number, given.clone(), excuse)
                });
            });
            join_all(asked).await;
        }
        Operation::Get(issue) => {
            let given = store.get(issue.clone()).await.map(|issue| vec![Issue::clone(&issue)]);
            check(world, process, "answers a get", &given, |state, excuse| {
                state.ledger.read(process, given.clone(), Some(&issue), excuse)
            });
        }
        Operation::List => {
            let given = store.list(all()).await;
            let given = given.map(|page| page.issues.iter().map(|it| Issue::clone(it)).collect());
            check(world, process, "answers a list", &given, |state, excuse| {
                state.ledger.read(process, given.clone(), None, excuse)
            });
        }
        Operation::Save => {
            let saved = store.save().await;
            let given = saved.map(|()| issues_in(store.path()));
            check(world, process, "answers a save", &given, |state, excuse| {
                state.ledger.saved(process, given.clone(), excuse)
            });
        }
        Operation::Close => {
            store.close().await;
        }
    }
}

/// Checks an answer, unless the process is dead, which gives none.
fn check<T>(
    world: &World,
    process: usize,
    what: &'static str,
    given: &Result<T, StoreError>,
    checked: impl FnOnce(&mut State, Excuse) -> Result<(), String>,
) {
    let mut state = world.state();
    let asked = &state.processes[process];
    if asked.is_alive() {
        let excuse = Excuse { is_hurt: asked.is_hurt };
        state.tell(process, what, u64::from(given.is_ok()), None);
        let checked = checked(&mut state, excuse);
        state.check(checked);
    }
}

/// The issues in an `issues.json`, which need not be there when there are none.
pub fn issues_in(path: &Path) -> Vec<Issue> {
    match std::fs::read(path) {
        Ok(bytes) => issues(&format::parse(bytes).unwrap().issues),
        Err(_) => Vec::new(),
    }
}
