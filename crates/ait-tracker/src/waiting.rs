//! Waiting until there is something to claim: who waits, and who is next.
//!
//! The callers of this process that wait are in a list. One task serves the list while it is not empty. After every
//! change of any process, and once a second for issues whose parking ends, it looks at the store and gives a turn to
//! each caller that could claim something, one after another. A caller that has its turn claims as any other does, so
//! all that holds for a claim whose caller is gone holds here, too. Waiting takes no lock and writes nothing.

use std::collections::{BTreeMap, HashSet};
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{ClaimKind, Tracker};
use ait_domain::AgentName;
use ait_store::{EventPosition, IndexedIssues, StoreError, Subset};

/// How many callers of one process may wait; more are answered at once.
pub const MAX_WAITING: usize = 1_024;
/// How often waiting callers look without a change.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// A turn to claim. It ends when it is dropped.
pub(super) type Turn = oneshot::Sender<()>;

/// The callers that wait, first come, first served. Clones share it.
#[derive(Clone, Default)]
pub(super) struct WaitList(Arc<SharedWaitList>);

#[derive(Default)]
struct SharedWaitList {
    state: Mutex<WaitListState>,
    /// Notified when a caller joins.
    joined: Notify,
}

#[derive(Default)]
struct WaitListState {
    /// By number: the first to come has the least.
    callers: BTreeMap<u64, WaitingCall>,
    last_number: u64,
    /// The task that serves the list; `None` while it is empty.
    server_task: Option<JoinHandle<()>>,
}

struct WaitingCall {
    agent: AgentName,
    kind: ClaimKind,
    /// Whether the caller does not wait, and so gets a turn even if there is nothing for it.
    claims_once: bool,
    turns: mpsc::Sender<Turn>,
}

/// A caller in the list, until it is dropped.
pub(super) struct Waiter {
    wait_list: WaitList,
    number: u64,
    turns: mpsc::Receiver<Turn>,
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.wait_list.state().callers.remove(&self.number);
    }
}

impl Waiter {
    /// Waits for a turn.
    pub async fn turn(&mut self) -> Turn {
        match self.turns.recv().await {
            Some(turn) => turn,
            None => pending().await,
        }
    }
}

impl WaitList {
    fn state(&self) -> MutexGuard<'_, WaitListState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state().callers.is_empty()
    }

    /// Returns the agents that wait.
    fn agents(&self) -> Vec<AgentName> {
        let agents: HashSet<_> =
            self.state().callers.values().map(|caller| caller.agent.clone()).collect();
        agents.into_iter().collect()
    }

    /// Gives a turn to the first caller that `is_next`. Returns its number, and what is notified at the end of the
    /// turn.
    fn give_turn(
        &self,
        is_next: impl Fn(u64, &WaitingCall) -> bool,
    ) -> Option<(u64, oneshot::Receiver<()>)> {
        let state = self.state();
        let (number, caller) =
            state.callers.iter().find(|(number, caller)| is_next(**number, caller))?;
        let (turn, ended) = oneshot::channel();
        // A turn that the caller cannot take ends at once.
        let _taken = caller.turns.try_send(turn);
        Some((*number, ended))
    }
}

impl Tracker {
    /// Waits until `find` finds something in a subset of the issues, and returns it. Claims nothing.
    pub async fn wait_until<T>(
        &self,
        subset: Subset,
        find: impl Fn(&IndexedIssues) -> Option<T>,
    ) -> Result<T, StoreError> {
        self.wait_for(async || Ok(find(&self.store.subset(subset.clone()).await?.issues))).await
    }

    /// Waits until `find` finds something. It is called at once, after each change, and once a second.
    pub async fn wait_for<T>(
        &self,
        find: impl AsyncFn() -> Result<Option<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let mut changes = ChangeSignal::of(self);
        loop {
            if let Some(found) = find().await? {
                return Ok(found);
            }
            changes.next(pending()).await;
        }
    }

    /// Returns the agents that wait for work in calls to this process, in alphabetical order.
    pub fn waiting_for_work(&self) -> Vec<AgentName> {
        let state = self.wait_list.state();
        let waits = |caller: &&WaitingCall| {
            !caller.claims_once && matches!(caller.kind, ClaimKind::Work(_))
        };
        let agents = state.callers.values().filter(waits).map(|caller| caller.agent.clone());
        let mut agents: Vec<AgentName> = agents.collect();
        agents.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        agents.dedup();
        agents
    }

    /// Joins the end of the list; `None` if it is full.
    pub(super) fn join(
        &self,
        kind: ClaimKind,
        agent: AgentName,
        claims_once: bool,
    ) -> Option<Waiter> {
        let mut state = self.wait_list.state();
        if state.callers.len() >= MAX_WAITING {
            return None;
        }
        state.last_number += 1;
        let number = state.last_number;
        let (sender, turns) = mpsc::channel(1);
        state.callers.insert(number, WaitingCall { agent, kind, claims_once, turns: sender });
        if state.server_task.as_ref().is_none_or(JoinHandle::is_finished) {
            let tracker = self.clone();
            state.server_task = Some(tokio::spawn(async move { tracker.serve_list().await }));
        }
        drop(state);
        self.wait_list.0.joined.notify_one();
        Some(Waiter { wait_list: self.wait_list.clone(), number, turns })
    }

    /// Gives turns until the list is empty.
    async fn serve_list(&self) {
        let mut changes = ChangeSignal::of(self);
        loop {
            self.give_turns().await;
            {
                let mut state = self.wait_list.state();
                if state.callers.is_empty() {
                    state.server_task = None;
                    return;
                }
            }
            changes.next(self.wait_list.0.joined.notified()).await;
        }
    }

    /// Gives a turn to each caller that could claim something, one after another.
    async fn give_turns(&self) {
        // What the store was when a caller had its turn. Another process may have been faster.
        let mut tried: BTreeMap<u64, Option<EventPosition>> = BTreeMap::new();
        while !self.wait_list.is_empty() {
            let state = self.store.subset(Subset::Claimable(self.wait_list.agents())).await.ok();
            let position = state.as_ref().map(|state| state.position);
            let issues = state.map(|state| state.issues);
            let given = self.wait_list.give_turn(|number, caller| {
                // If the store cannot be read, the callers get the error.
                let can_claim = || {
                    let next = |issues| self.next_position(issues, caller.kind, &caller.agent);
                    caller.claims_once || issues.as_ref().is_none_or(|all| next(all).is_some())
                };
                tried.get(&number) != Some(&position) && can_claim()
            });
            let Some((number, ended)) = given else { return };
            tried.insert(number, position);
            let _dropped = ended.await;
        }
    }
}

/// The changes of all processes, as far as those who wait need to know.
struct ChangeSignal<'a> {
    tracker: &'a Tracker,
    newest: watch::Receiver<EventPosition>,
    tick: Interval,
}

impl<'a> ChangeSignal<'a> {
    fn of(tracker: &'a Tracker) -> Self {
        let mut tick = interval(POLL_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tick.reset();
        Self { tracker, newest: tracker.watch(), tick }
    }

    /// Waits for the next change since the last call, for a second, or for `other`.
    async fn next(&mut self, other: impl Future<Output = ()>) {
        tokio::select! {
            // The sender lives as long as the tracker.
            Ok(()) = self.newest.changed() => {}
            () = other => {}
            _ = self.tick.tick() => {
                if self.tracker.is_cli() {
                    // No server may be running that does it.
                    if let Err(error) = self.tracker.do_what_is_due().await {
                        tracing::debug!("cannot do what is due: {error}");
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
