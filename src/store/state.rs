//! The state of a store after an event: all issues, and what is kept beside them.

use std::sync::Arc;

use super::{IssueStore, Position};
use crate::domain::{
    Change, Command, DomainError, Event, EventKind, Extra, Issue, IssueId, Selection, Timestamp,
    rules,
};

/// What the file of the issues holds.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The issues.
    pub issues: IssueStore,
    /// The keys that this version does not know.
    pub extra: Extra,
}

/// The state of a store after an event. A clone costs the same at any size.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The issues.
    pub issues: IssueStore,
    /// The keys beside the issues that this version does not know.
    pub unknown: Extra,
    /// The position of the event.
    pub position: Position,
}

impl State {
    /// Returns the state that a document describes, before the first event.
    pub fn of(document: Document) -> Self {
        Self { issues: document.issues, unknown: document.extra, position: Position::default() }
    }

    /// Returns what the file of the issues holds in this state.
    pub fn document(&self) -> Document {
        Document { issues: self.issues.clone(), extra: self.unknown.clone() }
    }

    /// Decides a command on this state. `None` where nothing has to change, such as for a claim that finds
    /// nothing. The state does not change until the event is [applied](Self::apply).
    ///
    /// # Errors
    ///
    /// The refusals of [`rules::decide`] and of [`IssueStore::find`].
    pub fn decide(&self, command: &Command, now: Timestamp) -> Result<Option<Event>, DomainError> {
        let issue = match command.selection() {
            Selection::New(id) => match self.issues.get(id) {
                Some(issue) => issue,
                None => return Ok(rules::file(command, now)),
            },
            Selection::Named(reference) => self.issues.find(reference)?,
            Selection::Existing(id) => self.issues.find(&id.into())?,
            Selection::Oldest(status, classification) => {
                match self.issues.oldest(status, classification) {
                    Some(position) => self.issues.at(position),
                    None => return Ok(None),
                }
            }
            Selection::Document => return Ok(self.decide_on_document(command, now)),
        };
        rules::decide(command, &issue, now)
    }

    fn decide_on_document(&self, command: &Command, now: Timestamp) -> Option<Event> {
        let Command::SetUnknownKeys { keys, agent } = command else { return None };
        let keys = Box::new(Change { before: self.unknown.clone(), after: keys.clone() });
        (keys.before != keys.after).then(|| Event {
            issue: IssueId::NIL,
            at: now,
            agent: agent.clone(),
            kind: EventKind::UnknownKeysEdited { keys },
            before: None,
        })
    }

    /// Applies the next event, which leads to `position`, and returns the issue as it is afterwards; `None` for
    /// an event that leaves no issue.
    ///
    /// # Errors
    ///
    /// [`DomainError::IdTaken`], [`DomainError::UnknownIssue`] and [`DomainError::DoesNotFollow`] for an event
    /// that does not follow this state; nothing changes then.
    pub fn apply(
        &mut self,
        event: &Event,
        position: Position,
    ) -> Result<Option<Arc<Issue>>, DomainError> {
        if let Some(issue) = self.issues.get(event.issue).filter(|issue| !event.follows(issue)) {
            return Err(DomainError::DoesNotFollow { id: issue.id });
        }
        let issue = match &event.kind {
            EventKind::UnknownKeysEdited { keys } => {
                self.unknown = keys.after.clone();
                None
            }
            EventKind::Removed { .. } => {
                self.issues.remove(event.issue)?;
                None
            }
            EventKind::Imported { issue, ahead_of } => {
                Some(self.issues.insert(Issue::clone(issue), *ahead_of)?)
            }
            _ => Some(self.issues.apply(event)?),
        };
        self.position = position;
        Ok(issue)
    }

    /// Undoes [`apply`](Self::apply) of the event that has led to this state; `position` is that of the event
    /// before it.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::IdTaken`] for an event that has not led here.
    pub fn revert(&mut self, event: &Event, position: Position) -> Result<(), DomainError> {
        match &event.kind {
            EventKind::UnknownKeysEdited { keys } => self.unknown = keys.before.clone(),
            EventKind::Removed { issue, ahead_of } => {
                self.issues.insert(Issue::clone(issue), *ahead_of)?;
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
