//! What the store has to be at each moment, and whether what it says is true.
//!
//! The changes stand in the order in which they were appended to a journal; each is decided on the model when it
//! is appended, so that every answer is known before it is given. An operation that changes nothing must have
//! the answer of one of the states that were the newest between its beginning and its end.

use std::collections::{BTreeMap, BTreeSet};

use agent_issue_tracker::domain::{Command, Issue, IssueId, IssueRef, Timestamp};
use agent_issue_tracker::store::{IssueStore, StoreError};
use memchr::memmem;
use serde_json::json;

use super::facts::Facts;
use super::operation::{Excuse, Outcome, frames, freed_by, is_claim, outcome};
use super::tally::Tally;
use super::world::{PROCESSES, is_guest};

/// A command on its way through a process.
struct Order {
    command: Command,
    now: Timestamp,
    /// What the model says, once it was appended, and the place of the change in the order.
    decided: Option<(Outcome, Option<usize>)>,
    is_answered: bool,
}

/// What a process was told to do.
struct Work {
    begun: u64,
    orders: Vec<Order>,
    /// How many changes everybody had to know when it began.
    known: usize,
}

/// The model.
pub struct Ledger {
    /// The state after each change, the first one before any; a batch has those of its parts, too.
    states: Vec<IssueStore>,
    /// Whether a batch ends with each change.
    ends: Vec<bool>,
    /// How many of the changes must survive a power cut.
    durable: usize,
    /// How many of the changes everybody knows who begins to read now.
    known: usize,
    work: BTreeMap<usize, Work>,
    /// The last claim of each issue: whose it is, and when it was begun.
    held: BTreeMap<IssueId, (usize, u64)>,
    /// Until when somebody tried to have issues claimable again.
    freed: Vec<(IssueRef, u64)>,
    /// How many changes there were when something else was last written into a journal.
    disturbed: usize,
    /// The epochs of the journals so far.
    epochs: BTreeSet<Vec<u8>>,
    /// How often somebody was told to do something, or ended.
    clock: u64,
    /// Whether a sync of some file has failed.
    pub is_unsaved: bool,
    /// What is known instead, where somebody edits `issues.json` while processes run.
    pub facts: Option<Facts>,
    /// How many changes were answered, and what else happened.
    pub tally: Tally,
}

impl Default for Ledger {
    fn default() -> Self {
        Self {
            states: vec![IssueStore::default()],
            ends: Vec::new(),
            durable: 0,
            known: 0,
            work: BTreeMap::new(),
            held: BTreeMap::new(),
            freed: Vec::new(),
            disturbed: 0,
            epochs: BTreeSet::new(),
            clock: 0,
            is_unsaved: false,
            facts: None,
            tally: Tally::default(),
        }
    }
}

impl Ledger {
    /// Notes that a process was told to do something. What a process has appended and not made durable yet,
    /// its own guests do not see.
    pub fn begun(&mut self, process: usize, commands: &[Command], now: Timestamp) {
        let order = |command: &Command| {
            let (command, decided) = (command.clone(), None);
            Order { command, now, decided, is_answered: false }
        };
        let orders = commands.iter().map(order).collect();
        self.clock += 1;
        let known = if is_guest(process) { self.durable } else { self.known };
        self.work.insert(process, Work { begun: self.clock, orders, known });
    }

    /// Forgets what a process was told to do, which is dead or has come to its end.
    pub fn ended(&mut self, process: usize) {
        let Some(work) = self.work.remove(&process) else { return };
        self.clock += 1;
        let freed = work.orders.iter().filter_map(|order| freed_by(&order.command));
        self.freed.extend(freed.map(|issue| (issue.clone(), self.clock)));
    }

    /// Checks that nobody has an issue who was not told that others gave it up. Looks at the answers alone.
    pub fn claimed(&mut self, issue: IssueId, process: usize) -> Result<(), String> {
        let begun = self.work.get(&process).map_or(0, |work| work.begun);
        let Some((other, other_begun)) = self.held.insert(issue, (process, begun)) else {
            return Ok(());
        };
        // The one that was answered first need not be the one that was claimed first.
        let since = begun.min(other_begun);
        let is_it = |freed: &IssueRef| freed.range().contains(&issue);
        let now = self.work.values().flat_map(|work| &work.orders);
        let mut now = now.filter_map(|order| freed_by(&order.command));
        if now.any(is_it) || self.freed.iter().any(|(freed, end)| is_it(freed) && *end > since) {
            return Ok(());
        }
        Err(format!("{process} was given {issue}, which {other} had"))
    }

    /// Decides the commands of a process as the bytes say that it has appended to the journal.
    pub fn appended(&mut self, process: usize, bytes: &[u8]) -> Result<(), String> {
        if self.facts.is_some() {
            return Ok(());
        }
        let mut frames = frames(bytes).into_iter();
        let work = self.work.get_mut(&process).ok_or("it appends without being asked")?;
        for order in work.orders.iter_mut().filter(|order| !order.is_answered) {
            let mut state = self.states[self.states.len() - 1].clone();
            let event = match state.decide(&order.command, order.now) {
                Ok(Some(event)) => event,
                Ok(None) => {
                    order.decided = Some((Ok(None), None));
                    continue;
                }
                Err(error) => {
                    order.decided = Some((Err(error.to_string()), None));
                    continue;
                }
            };
            let issue = state.apply(&event).map_err(|error| error.to_string())?;
            let frame = frames.next().unwrap_or_default();
            let found = ["n", "issue", "agent", "at"].map(|key| frame[key].clone());
            let expected =
                [json!(self.states.len()), json!(event.issue), json!(event.agent), json!(event.at)];
            if found != expected {
                return Err(format!("{frame} was appended, and {expected:?} had to be"));
            }
            self.states.push(state);
            self.ends.push(frame["end"] == true);
            order.decided = Some((Ok(Some(Issue::clone(&issue))), Some(self.states.len() - 1)));
        }
        match frames.next() {
            None => Ok(()),
            Some(frame) => Err(format!("{frame} was appended, which nobody asked for")),
        }
    }

    /// Checks what a process writes about `issues.json` and about a journal that begins.
    pub fn announced(&mut self, bytes: &[u8]) -> Result<(), String> {
        const EPOCH: &[u8] = b"{\"journal\":1,\"epoch\":\"";
        if let Some(at) = memmem::find(bytes, EPOCH) {
            let epoch = &bytes[at + EPOCH.len()..][..32];
            if !self.epochs.insert(epoch.to_vec()) {
                return Err("an epoch was used again".to_owned());
            }
        }
        self.disturbed();
        match memmem::find(bytes, b"\"edited\":true").is_some() {
            // What stands in a journal that could not be saved may be gone behind a power cut, and with it what
            // announced the file.
            true if self.tally.edits == 0 && !(self.is_unsaved && self.tally.cuts > 0) => {
                Err("it takes its own file for an edited one".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Checks the answer to one of the commands that a process was given.
    pub fn answered(
        &mut self,
        process: usize,
        number: usize,
        given: Result<Option<Issue>, StoreError>,
        excuse: Excuse,
    ) -> Result<(), String> {
        let work = self.work.get_mut(&process).ok_or("it answers without being asked")?;
        let (known, order) = (work.known, &mut work.orders[number]);
        order.is_answered = true;
        let (command, now) = (order.command.clone(), order.now);
        let decided = order.decided.take();
        let given: Outcome = match given {
            Ok(issue) => Ok(issue),
            Err(StoreError::Refused(error)) => Err(error.to_string()),
            Err(StoreError::Uncertain(_)) if excuse.is_hurt => {
                self.tally.uncertain += 1;
                return Ok(());
            }
            Err(error) => {
                let is_appended = decided.is_some_and(|(_, place)| place.is_some());
                return match is_appended {
                    true => Err(format!("{command:?} is in the journal, and was answered {error}")),
                    false => self.failed(&error, excuse),
                };
            }
        };
        if let Some(facts) = &mut self.facts {
            let Ok(Some(issue)) = given else {
                self.tally.refusals += 1;
                return Ok(());
            };
            facts.tell(self.clock, &issue);
            self.tally.changes += 1;
            return if is_claim(&command) { self.claimed(issue.id, process) } else { Ok(()) };
        }
        let Some((expected, place)) = decided else {
            let seen = self.seen(known, |state| outcome(state, &command, now) == given);
            let seen = seen.ok_or_else(|| format!("{given:?} to {command:?}"))?;
            self.tally.refusals += 1;
            self.known = self.known.max(seen);
            return Ok(());
        };
        if expected != given {
            return Err(format!("{given:?} instead of {expected:?} to {command:?}"));
        }
        if let Some(place) = place {
            self.tally.changes += 1;
            self.durable = self.durable.max(place);
            self.known = self.known.max(place);
        }
        match given {
            Ok(Some(issue)) if is_claim(&command) => self.claimed(issue.id, process),
            _ => Ok(()),
        }
    }

    /// Checks the answer to a read.
    pub fn read(
        &mut self,
        process: usize,
        given: Result<Vec<Issue>, StoreError>,
        issue: Option<&IssueRef>,
        excuse: Excuse,
    ) -> Result<(), String> {
        let work = self.work.get(&process).ok_or("it reads without being asked")?;
        let (known, begun) = (work.known, work.begun);
        let given = match given {
            Ok(issues) => Some(issues),
            Err(StoreError::Refused(_)) => None,
            Err(error) => return self.failed(&error, excuse),
        };
        if let Some(facts) = &self.facts {
            self.tally.reads += 1;
            let found = given.unwrap_or_default();
            return facts.are_in(&found, begun, issue.is_some());
        }
        let answer = |state: &IssueStore| match issue {
            None => Some(issues(state)),
            Some(issue) => state.find(issue).ok().map(|issue| vec![Issue::clone(&issue)]),
        };
        let seen = self.seen(known, |state| answer(state) == given);
        let hidden = self.hidden_from(process);
        let Some(seen) = seen.filter(|seen| hidden.is_none_or(|hidden| *seen < hidden)) else {
            let now = self.states.len() - 1;
            return Err(format!("{given:?} is no state between {known} and {now} ({hidden:?})"));
        };
        self.tally.reads += 1;
        self.known = self.known.max(seen);
        Ok(())
    }

    /// Notes that a process wrote something into the journal that is no whole batch of changes.
    pub fn disturbed(&mut self) {
        self.disturbed = self.states.len() - 1;
    }

    /// The first change that a guest must not see yet, because its host has appended it and not made it
    /// durable; unless others have written something behind it, or made it durable for a checkpoint, or
    /// whoever touches `issues.json` has everything read anew.
    fn hidden_from(&self, guest: usize) -> Option<usize> {
        if self.tally.touches + self.tally.edits > 0 {
            return None;
        }
        let orders = &self.work.get(&guest.checked_sub(PROCESSES)?)?.orders;
        let appended = orders.iter().filter(|order| !order.is_answered);
        let mut places = appended.filter_map(|order| order.decided.as_ref()?.1);
        let (first, last) = (places.next()?, places.next_back());
        let is_last = last.unwrap_or(first) + 1 == self.states.len();
        (is_last && first > self.disturbed).then_some(first)
    }

    /// Checks what `issues.json` holds after it was brought up to date.
    pub fn saved(
        &mut self,
        process: usize,
        given: Result<Vec<Issue>, StoreError>,
        excuse: Excuse,
    ) -> Result<(), String> {
        let work = self.work.get(&process).ok_or("it saves without being asked")?;
        let (known, begun) = (work.known, work.begun);
        match given {
            Err(error) => self.failed(&error, excuse),
            Ok(found) => {
                self.tally.saves += 1;
                if let Some(facts) = &self.facts {
                    return facts.are_in(&found, begun, false);
                }
                let seen = self.seen(known, |state| issues(state) == found);
                seen.map(drop).ok_or_else(|| format!("issues.json was saved as {found:?}"))
            }
        }
    }

    /// Takes note of an error that says that nothing was done.
    fn failed(&mut self, error: &StoreError, excuse: Excuse) -> Result<(), String> {
        let is_busy = match error {
            StoreError::Busy(_) => true,
            // Who looks six times at what others replace each time has to give up.
            StoreError::Unreadable(why) => why.ends_with("is being replaced again and again"),
            _ => false,
        };
        let is_excused = match error {
            StoreError::NotSaved(_) => excuse.is_hurt,
            StoreError::Unreadable(_) => excuse.is_hurt,
            _ => false,
        };
        self.tally.busy += usize::from(is_busy);
        self.tally.failures += usize::from(is_excused);
        if is_busy || is_excused { Ok(()) } else { Err(format!("without a reason: {error}")) }
    }

    /// Checks what a power cut has left, and goes on with that.
    pub fn survived(&mut self, found: &[Issue]) -> Result<(), String> {
        if self.facts.is_some() {
            self.held.clear();
            self.work.clear();
            return self.is_now(found);
        }
        let is_whole = |place: usize| place == 0 || self.ends[place - 1];
        let left = (self.durable..self.states.len())
            .find(|&place| is_whole(place) && issues(&self.states[place]) == found);
        let Some(left) = left else {
            let (durable, before) = (self.durable, self.states.len() - 1);
            let at = self.states.iter().position(|state| issues(state) == found);
            return Err(format!(
                "after a power cut there is the state {at:?}, and {durable} to {before} would be right: {found:?}"
            ));
        };
        self.states.truncate(left + 1);
        self.ends.truncate(left);
        (self.durable, self.known, self.disturbed) = (left, left, left);
        // What was given up may not be after all, and the other way round.
        self.held.clear();
        self.work.clear();
        Ok(())
    }

    /// Checks what there is at last, when everybody has come to an end.
    pub fn is_now(&self, found: &[Issue]) -> Result<(), String> {
        if let Some(facts) = &self.facts {
            return facts.are_in(found, u64::MAX, false).and_then(|()| facts.arrived(found));
        }
        let last = &self.states[self.states.len() - 1];
        match issues(last) == found {
            true => Ok(()),
            false => Err(format!("at last there is {found:?} instead of {:?}", issues(last))),
        }
    }

    /// The newest state.
    pub fn last(&self) -> &IssueStore {
        &self.states[self.states.len() - 1]
    }

    /// Goes on with another state, as somebody made it by hand while nobody looked; or takes it as what
    /// commands are about, where facts alone are known.
    pub fn edited(&mut self, state: IssueStore) {
        if self.facts.is_some() {
            self.states = vec![state];
            return;
        }
        let last = self.states.len() - 1;
        self.states[last] = state;
        (self.durable, self.known) = (last, last);
        self.held.clear();
    }

    /// The first state since a place that says yes.
    fn seen(&self, known: usize, is_it: impl Fn(&IssueStore) -> bool) -> Option<usize> {
        (known..self.states.len()).find(|&place| is_it(&self.states[place]))
    }
}

/// The issues of a state.
pub fn issues(state: &IssueStore) -> Vec<Issue> {
    state.issues().map(|issue| Issue::clone(&issue)).collect()
}
