//! Decides commands on the part of the state that was loaded for them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::load::Loaded;
use super::rows::{Rows, StoredRow};
use crate::sql::rows::{IssueAfter, random, slot};
use crate::{Committed, EventPosition, Outcome, State};
use ait_domain::{
    Command, CommandTarget, DomainError, Event, EventKind, IssueId, Timestamp, UnknownKeys,
};

/// An event with the slots of its issue around it.
#[derive(Debug)]
pub(super) struct DecidedEvent {
    pub event: Event,
    /// Identifies the event before it has its number.
    pub nonce: i64,
    pub slot_before: Option<i16>,
    pub slot_after: Option<i16>,
}

/// Commands, the events that they caused so far, and what these change.
pub(super) struct Draft {
    /// The issues that claims may take, and what agents hold.
    claims: State,
    /// The named issues and those around them.
    named: State,
    loaded: Loaded,
    pub events: Vec<DecidedEvent>,
    /// The changed issues; `None` for those that were removed.
    pub after: BTreeMap<IssueId, Option<IssueAfter>>,
    /// The issues that existed and were removed, even if they were added again.
    pub removed: BTreeSet<IssueId>,
    /// The new issues that were inserted before another one.
    pub placed: BTreeSet<IssueId>,
}

impl Draft {
    /// Begins with what was loaded.
    pub fn new(mut loaded: Loaded) -> Self {
        let mut claims = loaded.candidates.clone();
        merge(&mut claims, &loaded.held);
        // A candidate was read under its lock, and perhaps after the same issue among those around the named ones.
        let mut named = loaded.candidates.clone();
        named.0.retain(|id, _| loaded.named.0.contains_key(id));
        merge(&mut named, &loaded.named);
        merge(&mut named, &loaded.held);
        loaded.named = named;
        let unknown = loaded.keys.clone();
        Self {
            claims: claims.state(),
            named: State { unknown_keys: unknown, ..loaded.named.state() },
            loaded,
            events: Vec::new(),
            after: BTreeMap::new(),
            removed: BTreeSet::new(),
            placed: BTreeSet::new(),
        }
    }

    /// Decides the commands of one caller, each on the state that the one before left: all of them, or none. They are
    /// all claims of any issue, or all something else.
    pub fn decide_all(
        &mut self,
        commands: &[Command],
        now: Timestamp,
    ) -> Result<Committed, DomainError> {
        let claims = self.claims.clone();
        let named = self.named.clone();
        let count = self.events.len();
        let after = self.after.clone();
        let removed = self.removed.clone();
        let placed = self.placed.clone();
        let outcomes: Result<Vec<_>, _> =
            commands.iter().map(|command| self.decide(command, now)).collect();
        if outcomes.is_err() {
            (self.claims, self.named, self.after) = (claims, named, after);
            (self.removed, self.placed) = (removed, placed);
            self.events.truncate(count);
        }
        // `numbering` gives the numbers after the commit.
        let position = |decided: &DecidedEvent| EventPosition {
            number: 0,
            hash: decided.nonce.cast_unsigned(),
        };
        let events = self.events[count..].iter().map(position).collect();
        Ok(Committed { outcomes: outcomes?, events })
    }

    fn decide(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, DomainError> {
        let is_claim = is_open_claim(command);
        let state = if is_claim { &mut self.claims } else { &mut self.named };
        let Some(event) = state.decide(command, now)? else {
            return Ok(state.unchanged_outcome(command));
        };
        let before = state.issues.get(event.issue);
        let position = state.position;
        let is_placed = matches!(&event.kind, EventKind::Imported { next: Some(next), .. }
            if state.issues.get(*next).is_some());
        let outcome = state.apply(&event, position)?;
        let lease = state.issues.lease(event.issue).cloned();
        let after = outcome.clone().map(|issue| IssueAfter { issue, lease });
        if is_claim {
            self.mirror(&event, after.as_ref());
        }
        if event.issue != IssueId::NIL {
            if after.is_none() && self.loaded.named.0.contains_key(&event.issue) {
                self.removed.insert(event.issue);
            }
            if is_placed {
                self.placed.insert(event.issue);
            } else if event.filed().is_some() || after.is_none() {
                self.placed.remove(&event.issue);
            }
            self.after.insert(event.issue, after);
        }
        let slot_before = before.as_deref().map(slot);
        let slot_after = outcome.as_deref().map(slot);
        self.events.push(DecidedEvent { event, nonce: random(), slot_before, slot_after });
        Ok(outcome)
    }

    /// Shows a claim to the commands that name issues.
    fn mirror(&mut self, event: &Event, after: Option<&IssueAfter>) {
        let position = self.named.position;
        if self.named.issues.get(event.issue).is_some() {
            // Both states have the row that was read under its lock.
            let _ = self.named.apply(event, position);
        } else if let Some(after) = after.filter(|_| !self.loaded.held.0.is_empty()) {
            let _ = self.named.issues.push(Arc::clone(&after.issue));
        }
    }

    /// Returns the changed issues that are not locked.
    pub fn unlocked(&self) -> Vec<IssueId> {
        let is_unlocked =
            |id: &&IssueId| self.before(**id).is_some() && !self.loaded.locked.contains(*id);
        self.after.keys().filter(is_unlocked).copied().collect()
    }

    /// Returns an issue as it was loaded.
    pub fn before(&self, id: IssueId) -> Option<&StoredRow> {
        self.loaded.candidates.0.get(&id).or_else(|| self.loaded.named.0.get(&id))
    }

    /// Returns the sequence numbers of the events.
    pub fn sequence(&self) -> &[i64] {
        &self.loaded.reserved[..self.events.len()]
    }

    /// Returns the unknown top-level keys after the events, if these change them.
    pub fn changed_keys(&self) -> Option<&UnknownKeys> {
        (self.named.unknown_keys != self.loaded.keys).then_some(&self.named.unknown_keys)
    }

    /// Returns the named issues in the order of filing, with the new ones.
    pub fn order(&self) -> Vec<IssueId> {
        self.named.issues.issues().map(|issue| issue.id).collect()
    }
}

/// Returns true if a command claims any issue that is ready.
pub(super) fn is_open_claim(command: &Command) -> bool {
    matches!(command.target(), CommandTarget::Next(..) | CommandTarget::NextReview(..))
}

fn merge(rows: &mut Rows, others: &Rows) {
    for (id, row) in &others.0 {
        rows.0.entry(*id).or_insert_with(|| row.clone());
    }
}
