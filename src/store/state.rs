//! The state of a store after an event: all issues, and the unknown keys beside them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::{IndexedIssues, Position};
use crate::domain::text::shortened;
use crate::domain::{
    AgentName, Change, ClaimTerms, ClientId, Command, CommandTarget, CommentText, DomainError,
    Event, EventKind, Issue, IssueChange, IssueId, Lease, Link, Resolution, Status, Timestamp,
    UnknownKeys, links, rules, undo,
};

/// The content of `issues.json`.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// The issues.
    pub issues: IndexedIssues,
    /// The top-level keys that this version does not know.
    pub unknown_keys: UnknownKeys,
}

/// The state of a store after an event. The cost of a clone does not depend on its size.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The issues.
    pub issues: IndexedIssues,
    /// The top-level keys that this version does not know.
    pub unknown_keys: UnknownKeys,
    /// The position of the event.
    pub position: Position,
}

impl State {
    /// Returns the state before the first event, with the content of a document.
    pub fn of(document: Document) -> Self {
        Self {
            issues: document.issues,
            unknown_keys: document.unknown_keys,
            position: Position::default(),
        }
    }

    /// Returns the content of `issues.json` for this state.
    pub fn document(&self) -> Document {
        Document { issues: self.issues.clone(), unknown_keys: self.unknown_keys.clone() }
    }

    /// Decides a command on this state. Returns `None` if nothing has to change: a claim finds no issue, or the
    /// [named](Self::named) issue already is as the command wants it. The state stays the same until the event is [applied](Self::apply).
    ///
    /// # Errors
    ///
    /// The refusals of [`rules::decide`] and of [`IndexedIssues::find`].
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
            CommandTarget::NextReview(agent, policy) => {
                match self.issues.next_review(agent, policy, now) {
                    Some(position) => self.issues.at(position),
                    None => return Ok(None),
                }
            }
            CommandTarget::Document => return Ok(self.decide_on_document(command, now)),
        };
        match command {
            Command::ChangeIssue { change, agent, .. } => {
                return change.decide(&issue, agent.as_str(), now, &self.issues).map(Some);
            }
            Command::UndoChanges { wanted, undone, agent, guard } => {
                let graph = &self.issues;
                let event = undo::decide(&issue, wanted, undone, agent, *guard, now, graph)?;
                return Ok(Some(self.with_ended_lease(event, &issue)));
            }
            Command::ParkAfterAttempts { limit, agent, .. } => {
                return self.park_after_attempts(&issue, *limit, agent, now);
            }
            Command::TakeUpClaim { agent, from, to, .. } => {
                return self.take_up(&issue, agent, from, to, now).map(Some);
            }
            Command::LapseClaim { client, .. } => {
                self.refuse_other_client(&issue, client.as_ref())?;
            }
            Command::GetNextIssue { issue: named, agent, terms, .. } => {
                if named.is_some() {
                    self.refuse_obstacle(&issue, agent, now)?;
                }
                self.refuse_many_claims(agent, terms)?;
            }
            Command::GetNextReviewItem { agent, terms } => self.refuse_many_claims(agent, terms)?,
            Command::CloseIssue { resolution: Resolution::Closed, .. } => {
                self.refuse_open_parts(&issue)?;
            }
            _ => {}
        }
        let decided = rules::decide(command, &issue, now)?;
        let decided = match command {
            Command::MergeEdit { theirs, base } if self.links_badly(decided.as_ref()) => {
                // The rest of the edit is taken over without its links.
                let attributes = theirs.attributes.with_links(&issue.attributes.links);
                let theirs = Arc::new(Issue { attributes, ..Issue::clone(theirs) });
                rules::decide(&Command::MergeEdit { theirs, base: base.clone() }, &issue, now)?
            }
            _ => decided,
        };
        Ok(decided.map(|event| self.with_ended_lease(event, &issue)))
    }

    /// Returns an event with the lease that it ends, if it ends one, so that it can be undone.
    fn with_ended_lease(&self, event: Event, issue: &Issue) -> Event {
        let ended = |lease: &Lease| {
            let mut after = issue.clone();
            event.apply(&mut after);
            let is_removed = matches!(event.kind, EventKind::Removed { .. });
            is_removed || after.holder().is_none() || after.claim_number() != lease.claim
        };
        let is_claim = matches!(event.kind, EventKind::Claimed | EventKind::ReviewStarted);
        let lease = self.issues.lease(issue.id).filter(|lease| !is_claim && ended(lease)).cloned();
        Event { lease: lease.or_else(|| event.lease.clone()), ..event }
    }

    fn refuse_many_claims(&self, agent: &AgentName, terms: &ClaimTerms) -> Result<(), DomainError> {
        let Some(limit) = terms.max_claims.map(NonZeroUsize::get) else { return Ok(()) };
        if self.issues.held_by(agent).take(limit).count() < limit {
            return Ok(());
        }
        const SHOWN_CHARS: usize = 60;
        Err(DomainError::TooManyClaims { agent: shortened(agent.as_str(), SHOWN_CHARS), limit })
    }

    fn refuse_other_client(
        &self,
        issue: &Issue,
        client: Option<&ClientId>,
    ) -> Result<(), DomainError> {
        let Some(client) = client else { return Ok(()) };
        let is_same = self.issues.lease(issue.id).is_some_and(|lease| lease.client == *client);
        if is_same { Ok(()) } else { Err(DomainError::ClaimEnded { id: issue.id }) }
    }

    fn take_up(
        &self,
        issue: &Issue,
        agent: &AgentName,
        from: &ClientId,
        to: &ClientId,
        now: Timestamp,
    ) -> Result<Event, DomainError> {
        self.refuse_other_client(issue, Some(from))?;
        if issue.holder().is_none_or(|holder| holder.agent != agent.as_str()) {
            return Err(DomainError::ClaimEnded { id: issue.id });
        }
        let kind = EventKind::TakenUp { from: from.clone(), to: to.clone() };
        let (at, agent) = (now.max(issue.modified_at), agent.as_str().to_owned());
        Ok(Event { issue: issue.id, at, agent, kind, before: None, lease: None })
    }

    fn park_after_attempts(
        &self,
        issue: &Issue,
        limit: NonZeroUsize,
        agent: &AgentName,
        now: Timestamp,
    ) -> Result<Option<Event>, DomainError> {
        let failed = issue.failed_attempts();
        let waits = issue.status == Status::Created && issue.attributes.parked.is_none();
        if !waits || failed < limit.get() {
            return Ok(None);
        }
        let reason =
            format!("it came back {failed} times, which is as often as max-attempts allows");
        let parked = Some(Some((CommentText::try_from(&*reason)?, None)));
        let change = IssueChange { parked, ..IssueChange::default() };
        change.decide(issue, agent.as_str(), now, &self.issues).map(Some)
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
        let keys = Box::new(Change { before: self.unknown_keys.clone(), after: keys.clone() });
        (keys.before != keys.after).then(|| Event {
            issue: IssueId::NIL,
            at: now,
            agent: agent.clone(),
            kind: EventKind::UnknownKeysEdited { keys },
            before: None,
            lease: None,
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
                self.unknown_keys = keys.after.clone();
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
            EventKind::UnknownKeysEdited { keys } => self.unknown_keys = keys.before.clone(),
            EventKind::Removed { issue, ahead_of } => {
                self.issues.insert(Issue::clone(issue), *ahead_of)?;
                self.issues.set_leases(event.lease.clone().map(|lease| (issue.id, lease)));
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
