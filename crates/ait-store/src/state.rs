//! The state of a store after an event: all issues, and the unknown keys beside them.

use std::sync::Arc;

use super::{EventPosition, IndexedIssues};
use ait_domain::{
    Command, CommandTarget, DomainError, Event, EventKind, Issue, Timestamp, UnknownKeys, decide,
};

/// The content of `issues.json`.
#[derive(Clone, Debug, Default)]
pub struct Document {
    pub issues: IndexedIssues,
    /// The top-level keys that this version does not know.
    pub unknown_keys: UnknownKeys,
}

/// The state of a store after an event. The cost of a clone does not depend on its size.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub issues: IndexedIssues,
    /// The top-level keys that this version does not know.
    pub unknown_keys: UnknownKeys,
    pub position: EventPosition,
}

impl State {
    /// Returns the state before the first event, with the content of a document.
    pub fn of(document: Document) -> Self {
        Self {
            issues: document.issues,
            unknown_keys: document.unknown_keys,
            position: EventPosition::default(),
        }
    }

    /// Returns the content of `issues.json` for this state.
    pub fn document(&self) -> Document {
        Document { issues: self.issues.clone(), unknown_keys: self.unknown_keys.clone() }
    }

    /// Decides a command on this state. Returns `None` if nothing has to change: a claim finds no issue, or the
    /// [named](Self::unchanged_outcome) issue already is as the command wants it. The state stays the same until the
    /// event is [applied](Self::apply).
    pub fn decide(&self, command: &Command, now: Timestamp) -> Result<Option<Event>, DomainError> {
        decide(command, now, &self.issues, &self.unknown_keys)
    }

    /// Returns the issue that a command names, as the outcome of a command that changes nothing.
    pub fn unchanged_outcome(&self, command: &Command) -> Option<Arc<Issue>> {
        let CommandTarget::Named(reference) = command.target() else { return None };
        self.issues.find(reference).ok()
    }

    /// Applies the next event, which has this `position`, and returns the issue after it. Returns `None` for an event
    /// that leaves no issue.
    ///
    /// # Errors
    ///
    /// [`DomainError::IdTaken`], [`DomainError::UnknownIssue`] and [`DomainError::DoesNotFollow`] for an event that
    /// does not follow this state. Nothing changes then.
    pub fn apply(
        &mut self,
        event: &Event,
        position: EventPosition,
    ) -> Result<Option<Arc<Issue>>, DomainError> {
        if let Some(issue) = self.issues.get(event.issue).filter(|issue| !event.follows(issue)) {
            return Err(DomainError::DoesNotFollow { id: issue.id });
        }
        let issue = match &event.kind {
            EventKind::UnknownKeysEdited { keys } => {
                self.unknown_keys = keys.after.clone();
                None
            }
            EventKind::Removed { .. } => {
                self.issues.remove(event.issue)?;
                None
            }
            EventKind::Imported { issue, next } => {
                self.issues.insert(Arc::clone(issue), *next)?;
                Some(Arc::clone(issue))
            }
            _ => Some(self.issues.apply(event)?),
        };
        self.position = position;
        Ok(issue)
    }

    /// Undoes [`apply`](Self::apply) of the event that led to this state. `position` is the position of the event
    /// before it.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::IdTaken`] for an event that did not lead to this state.
    pub fn revert(&mut self, event: &Event, position: EventPosition) -> Result<(), DomainError> {
        match &event.kind {
            EventKind::UnknownKeysEdited { keys } => self.unknown_keys = keys.before.clone(),
            EventKind::Removed { issue, next } => {
                self.issues.insert(Arc::clone(issue), *next)?;
                self.issues.set_lease(issue.id, event.lease.clone());
            }
            EventKind::Filed { .. } | EventKind::Imported { .. } => {
                self.issues.remove(event.issue)?;
            }
            _ => self.issues.revert(event)?,
        }
        self.position = position;
        Ok(())
    }
}
