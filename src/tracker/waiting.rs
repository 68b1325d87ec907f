//! Claims that wait until there is something to claim.
//!
//! The callers of this process that wait form a line. One task keeps the line while it is not empty. After every change
//! of any process, and once a second for issues whose parking ends, it looks at the store and gives a turn to each
//! caller that could claim something, one after another. A caller that has its turn claims as any other does, so all
//! that holds for a claim whose caller is gone holds here, too. Waiting takes no lock and writes nothing.

use std::collections::{BTreeMap, HashSet};
use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use super::{LAPSES_OF_A_COMMAND, Tracker};
use crate::domain::{AgentName, Classification, Command, Issue};
use crate::store::{IndexedIssues, Part, Position, StoreError};

/// How many callers of one process may wait; more are answered at once.
pub const MAX_WAITING: usize = 1_024;
/// How often waiting callers look without a change.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How long a claim that does not wait lets those that wait go first.
const COURTESY: Duration = Duration::from_millis(250);

/// What a caller claims next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// An issue to work on, of one classification or of any.
    Work(Option<Classification>),
    /// A completed issue to review.
    Review,
}

/// A turn to claim. It ends when it is dropped.
type Turn = oneshot::Sender<()>;

/// The callers that wait, first come, first served. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Line(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<LineState>,
    /// Notified when a caller joins.
    joined: Notify,
}

#[derive(Default)]
struct LineState {
    /// By number: the first to come has the least.
    callers: BTreeMap<u64, Caller>,
    last_number: u64,
    /// The task that keeps the line; `None` while it is empty.
    keeper: Option<JoinHandle<()>>,
}

struct Caller {
    agent: AgentName,
    wanted: Wanted,
    /// Whether the caller gets a turn even if there is nothing for it.
    is_passing: bool,
    turns: mpsc::Sender<Turn>,
}

/// A place in the line, until it is dropped.
struct Place {
    line: Line,
    number: u64,
    turns: mpsc::Receiver<Turn>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.line.state().callers.remove(&self.number);
    }
}

impl Place {
    /// Waits for a turn.
    async fn turn(&mut self) -> Turn {
        match self.turns.recv().await {
            Some(turn) => turn,
            None => pending().await,
        }
    }
}

impl Line {
    fn state(&self) -> MutexGuard<'_, LineState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_empty(&self) -> bool {
        self.state().callers.is_empty()
    }

    /// Returns the agents that wait.
    fn agents(&self) -> Vec<AgentName> {
        let agents: HashSet<_> =
            self.state().callers.values().map(|caller| caller.agent.clone()).collect();
        agents.into_iter().collect()
    }

    /// Gives a turn to the first caller that `is_next`. Returns its number, and what is notified at the end of the turn.
    fn give_turn(
        &self,
        is_next: impl Fn(u64, &Caller) -> bool,
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
    /// Claims the next issue, and waits until there is one; `None` if `end` comes first.
    ///
    /// Callers of this process that could claim the same issue get it in the order in which they came. If
    /// [`MAX_WAITING`] callers wait already, this one does not.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`](crate::store::Store::commit).
    pub async fn wait_for_next(
        &self,
        wanted: Wanted,
        agent: AgentName,
        end: impl Future<Output = ()>,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        if let Some(issue) = self.claim_next(wanted, agent.clone()).await? {
            return Ok(Some(issue));
        }
        let Some(mut place) = self.join(wanted, agent.clone(), false) else { return Ok(None) };
        let (mut end, mut renewing) = (pin!(end), pin!(self.renew_waiting(&agent)));
        loop {
            let turn = tokio::select! {
                biased;
                turn = place.turn() => turn,
                () = &mut end => return Ok(None),
                () = &mut renewing => continue,
            };
            if let Some(issue) = self.claim_now(wanted, agent.clone()).await? {
                return Ok(Some(issue));
            }
            drop(turn);
        }
    }

    /// Waits until `find` finds something in a part of the issues, and returns it. Claims nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Store::part`](crate::store::Store::part).
    pub async fn wait_until<T>(
        &self,
        part: Part,
        find: impl Fn(&IndexedIssues) -> Option<T>,
    ) -> Result<T, StoreError> {
        let mut changes = Changes::of(self);
        loop {
            if let Some(found) = find(&self.store.part(part.clone()).await?.issues) {
                return Ok(found);
            }
            changes.next(pending()).await;
        }
    }

    /// Returns the agents that wait for work in calls to this process, in alphabetical order.
    pub fn waiting_for_work(&self) -> Vec<AgentName> {
        let state = self.line.state();
        let waits =
            |caller: &&Caller| !caller.is_passing && matches!(caller.wanted, Wanted::Work(_));
        let agents = state.callers.values().filter(waits).map(|caller| caller.agent.clone());
        let mut agents: Vec<AgentName> = agents.collect();
        agents.sort_unstable_by(|one, other| one.as_str().cmp(other.as_str()));
        agents.dedup();
        agents
    }

    /// Claims the next issue; `None` if there is none. Callers that wait go first.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`](crate::store::Store::commit).
    pub async fn claim_next(
        &self,
        wanted: Wanted,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let is_alone = self.line.is_empty();
        let mut place = (!is_alone).then(|| self.join(wanted, agent.clone(), true)).flatten();
        let _turn = match &mut place {
            Some(place) => timeout(COURTESY, place.turn()).await.ok(),
            None => None,
        };
        self.claim_now(wanted, agent).await
    }

    async fn claim_now(
        &self,
        wanted: Wanted,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let is_ready =
            |issues: &IndexedIssues| self.next_position(issues, wanted, &agent).is_some();
        let command = |terms| match wanted {
            Wanted::Work(classification) => {
                Command::GetNextIssue { issue: None, classification, agent: agent.clone(), terms }
            }
            Wanted::Review => Command::GetNextReviewItem { agent: agent.clone(), terms },
        };
        self.claim(&agent, is_ready, command).await
    }

    /// Returns the issue that an agent would claim next.
    ///
    /// # Errors
    ///
    /// Those of [`Store::part`](crate::store::Store::part).
    pub async fn next_claimable(
        &self,
        wanted: Wanted,
        agent: &AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let issues = self.store.part(Part::Claimable(vec![agent.clone()])).await?.issues;
        Ok(self.next_in(&issues, wanted, agent))
    }

    /// Returns the issue among these that an agent would claim next.
    pub fn next_in(
        &self,
        issues: &IndexedIssues,
        wanted: Wanted,
        agent: &AgentName,
    ) -> Option<Arc<Issue>> {
        self.next_position(issues, wanted, agent).map(|position| issues.at(position))
    }

    fn next_position(
        &self,
        issues: &IndexedIssues,
        wanted: Wanted,
        agent: &AgentName,
    ) -> Option<usize> {
        match wanted {
            Wanted::Work(classification) => issues.next_ready(agent, classification, self.now()),
            Wanted::Review => issues.next_review(agent, self.claims.review, self.now()),
        }
    }

    /// Joins the end of the line; `None` if it is full.
    fn join(&self, wanted: Wanted, agent: AgentName, is_passing: bool) -> Option<Place> {
        let mut state = self.line.state();
        if state.callers.len() >= MAX_WAITING {
            return None;
        }
        state.last_number += 1;
        let (number, (sender, turns)) = (state.last_number, mpsc::channel(1));
        state.callers.insert(number, Caller { agent, wanted, is_passing, turns: sender });
        if state.keeper.as_ref().is_none_or(JoinHandle::is_finished) {
            let tracker = self.clone();
            state.keeper = Some(tokio::spawn(async move { tracker.keep_line().await }));
        }
        drop(state);
        self.line.0.joined.notify_one();
        Some(Place { line: self.line.clone(), number, turns })
    }

    /// Gives turns until the line is empty.
    async fn keep_line(&self) {
        let mut changes = Changes::of(self);
        loop {
            self.give_turns().await;
            {
                let mut state = self.line.state();
                if state.callers.is_empty() {
                    state.keeper = None;
                    return;
                }
            }
            changes.next(self.line.0.joined.notified()).await;
        }
    }

    /// Gives a turn to each caller that could claim something, one after another.
    async fn give_turns(&self) {
        // What the store was when a caller had its turn. Another process may have been faster.
        let mut tried: BTreeMap<u64, Option<Position>> = BTreeMap::new();
        while !self.line.is_empty() {
            let state = self.store.part(Part::Claimable(self.line.agents())).await.ok();
            let position = state.as_ref().map(|state| state.position);
            let issues = state.map(|state| state.issues);
            let given = self.line.give_turn(|number, caller| {
                // If the store cannot be read, the callers get the error.
                let can_claim = || {
                    let next = |issues| self.next_position(issues, caller.wanted, &caller.agent);
                    caller.is_passing || issues.as_ref().is_none_or(|all| next(all).is_some())
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
struct Changes<'a> {
    tracker: &'a Tracker,
    newest: watch::Receiver<Position>,
    tick: Interval,
}

impl<'a> Changes<'a> {
    fn of(tracker: &'a Tracker) -> Self {
        let mut tick = interval(LOOK_EVERY);
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
                if self.tracker.is_command() {
                    // No server may be running that looks for them.
                    if let Err(error) = self.tracker.lapse_orphans(LAPSES_OF_A_COMMAND).await {
                        tracing::debug!("cannot look for claims of agents that are gone: {error}");
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
