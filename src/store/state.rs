//! The state of a store after an event: all issues, and the unknown keys beside them.

use std::sync::Arc;

use super::{IssueStore, Position};
use crate::domain::{
    AgentName, Change, Command, CommandTarget, DomainError, Event, EventKind, Issue, IssueId, Link,
    Resolution, Status, Timestamp, UnknownFields, links, rules,
};

/// The content of `issues.json`.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The issues.
    pub issues: IssueStore,
    /// The top-level keys that this version does not know.
    pub extra: UnknownFields,
}

/// The state of a store after an event. The cost of a clone does not depend on its size.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The issues.
    pub issues: IssueStore,
    /// The top-level keys that this version does not know.
    pub unknown: UnknownFields,
    /// The position of the event.
    pub position: Position,
}

impl State {
    /// Returns the state before the first event, with the content of a document.
    pub fn of(document: Document) -> Self {
        Self { issues: document.issues, unknown: document.extra, position: Position::default() }
    }

    /// Returns the content of `issues.json` for this state.
    pub fn document(&self) -> Document {
        Document { issues: self.issues.clone(), extra: self.unknown.clone() }
    }

    /// Decides a command on this state. Returns `None` if nothing has to change: a claim finds no issue, or the
    /// [named](Self::named) issue already is as the command wants it. The state stays the same until the event is [applied](Self::apply).
    ///
    /// # Errors
    ///
    /// The refusals of [`rules::decide`] and of [`IssueStore::find`].
    pub fn decide(&self, command: &Command, now: Timestamp) -> Result<Option<Event>, DomainError> {
        let issue = match command.selection() {
            CommandTarget::New(id) => match self.issues.get(id) {
                Some(issue) => issue,
                None => return rules::file(command, now, &self.issues),
            },
            CommandTarget::Named(reference) => self.issues.find(reference)?,
            CommandTarget::Existing(id) => self.issues.find(&id.into())?,
            CommandTarget::Next(agent, classification) => {
                match self.issues.next_ready(agent, classification, now) {
                    Some(position) => self.issues.at(position),
                    None => return Ok(None),
                }
            }
            CommandTarget::NextReview => match self.issues.next_review(now) {
                Some(position) => self.issues.at(position),
                None => return Ok(None),
            },
            CommandTarget::Document => return Ok(self.decide_on_document(command, now)),
        };
        match command {
            Command::ChangeIssue { change, agent, .. } => {
                return change.decide(&issue, agent.as_str(), now, &self.issues).map(Some);
            }
            Command::GetNextIssue { issue: Some(_), agent, .. } => {
                self.refuse_obstacle(&issue, agent, now)?;
            }
            Command::CloseIssue { resolution: Resolution::Closed, .. } => {
                self.refuse_open_parts(&issue)?;
            }
            _ => {}
        }
        let decided = rules::decide(command, &issue, now)?;
        match command {
            Command::MergeEdit { theirs, base } if self.links_badly(decided.as_ref()) => {
                // The rest of the edit is taken over without its links.
                let attributes = theirs.attributes.with_links(&issue.attributes.links);
                let theirs = Arc::new(Issue { attributes, ..Issue::clone(theirs) });
                rules::decide(&Command::MergeEdit { theirs, base: base.clone() }, &issue, now)
            }
            _ => Ok(decided),
        }
    }

    /// Returns true if an edit adds links that a command may not add.
    fn links_badly(&self, event: Option<&Event>) -> bool {
        let Some(Event { issue, kind: EventKind::Edited { patch }, .. }) = event else {
            return false;
        };
        patch.attributes.as_ref().is_some_and(|change| {
            let is_new = |link: &&Link| !change.before.links.contains(link);
            let added: Vec<_> = change.after.links.iter().filter(is_new).copied().collect();
            links::check(*issue, &change.after.links, &added, &self.issues).is_err()
        })
    }

    fn refuse_obstacle(
        &self,
        issue: &Issue,
        agent: &AgentName,
        now: Timestamp,
    ) -> Result<(), DomainError> {
        // Another status than the one for a claim is the better reason.
        let waits = issue.status == Status::Created;
        let obstacle = waits.then(|| self.issues.obstacle(issue, agent, now)).flatten();
        obstacle.map_or(Ok(()), |reason| Err(DomainError::NotReady { id: issue.id, reason }))
    }

    fn refuse_open_parts(&self, issue: &Issue) -> Result<(), DomainError> {
        let open: Vec<_> = self.issues.open_parts(issue.id).collect();
        if open.is_empty() || issue.status.is_terminal() {
            return Ok(());
        }
        let parts = open.iter().copied().take(DomainError::MAX_CANDIDATES).collect();
        Err(DomainError::OpenParts { id: issue.id, parts, count: open.len() })
    }

    /// Returns the issue that a command names, as the outcome of a command that changes nothing.
    pub fn named(&self, command: &Command) -> Option<Arc<Issue>> {
        let CommandTarget::Named(reference) = command.selection() else { return None };
        self.issues.find(reference).ok()
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

    /// Undoes [`apply`](Self::apply) of the event that led to this state. `position` is the position of the event
    /// before it.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::IdTaken`] for an event that did not lead to this state.
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
