//! The decision on a command: the one place where a wish becomes an event or is refused.
//!
//! [`rules`] know what one issue allows. The rules here look at other issues as well: which issue is next, what blocks
//! it, its parts, its lease, and how many issues an agent holds.

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::links::IssueGraph;
use super::text::shortened;
use super::{
    AgentName, Change, ClaimTerms, Classification, ClientId, Command, CommandTarget, CommentText,
    DomainError, Event, EventKind, Issue, IssueChange, IssueId, IssueRef, Lease, Link, Resolution,
    ReviewPolicy, Status, Timestamp, UnknownKeys, links, readiness, rules, undo,
};

/// The issues that decisions look at.
pub trait IssueQueue: IssueGraph {
    /// Returns the issue that an agent claims next for work; `None` if none is ready for it.
    fn next_ready(
        &self,
        agent: &AgentName,
        classification: Option<Classification>,
        now: Timestamp,
    ) -> Option<Arc<Issue>>;

    /// Returns the issue that an agent claims next for review; `None` if none waits for it.
    fn next_review(
        &self,
        agent: &AgentName,
        policy: ReviewPolicy,
        now: Timestamp,
    ) -> Option<Arc<Issue>>;

    /// Returns true if an agent holds at least this many issues.
    fn holds(&self, agent: &AgentName, count: usize) -> bool;

    /// Returns the lease of an issue; `None` for a claim that does not lapse.
    fn lease(&self, id: IssueId) -> Option<Lease>;
}

/// Decides a command. Returns `None` if nothing has to change: a claim finds no issue, or the issue that the command
/// names already is as the command wants it. `unknown_keys` are those beside the issues.
///
/// # Errors
///
/// The refusals of [`rules::decide`], of links, of undo, and of the rules in this module; an issue that is unknown or
/// named ambiguously.
pub fn decide(
    command: &Command,
    now: Timestamp,
    queue: &dyn IssueQueue,
    unknown_keys: &UnknownKeys,
) -> Result<Option<Event>, DomainError> {
    let issue = match command.target() {
        CommandTarget::New(id) => match queue.issue(id) {
            Some(issue) => issue,
            None => return rules::file(command, now, queue).map(Some),
        },
        CommandTarget::Named(reference) => find(queue, reference)?,
        CommandTarget::Existing(id) => find(queue, &id.into())?,
        CommandTarget::Next(agent, classification) => {
            match queue.next_ready(agent, classification, now) {
                Some(issue) if is_left(command, &issue) => return Ok(None),
                Some(issue) => issue,
                None => return Ok(None),
            }
        }
        CommandTarget::NextReview(agent, policy) => match queue.next_review(agent, policy, now) {
            Some(issue) => issue,
            None => return Ok(None),
        },
        CommandTarget::Document => return Ok(decide_on_document(command, unknown_keys, now)),
    };
    decide_on_issue(command, &issue, now, queue)
}

/// Returns true if a claim leaves the next issue to the choice of its caller.
fn is_left(command: &Command, issue: &Issue) -> bool {
    let leaves_touching =
        matches!(command, Command::GetNextIssue { terms, .. } if terms.leaves_touching);
    leaves_touching && issue.attributes.touches.is_some()
}

fn decide_on_issue(
    command: &Command,
    issue: &Arc<Issue>,
    now: Timestamp,
    queue: &dyn IssueQueue,
) -> Result<Option<Event>, DomainError> {
    match command {
        Command::ChangeIssue { change, agent, .. } => {
            return change.decide(issue, agent.as_str(), now, queue).map(Some);
        }
        Command::UndoChanges { result, undone, agent, required_claim } => {
            let event = undo::decide(issue, result, undone, agent, required_claim, now, queue)?;
            return Ok(Some(with_ended_lease(event, issue, queue)));
        }
        Command::ParkAfterAttempts { limit, agent, .. } => {
            return park_after_attempts(issue, *limit, agent, now, queue);
        }
        Command::TakeUpClaim { agent, from, to, .. } => {
            return take_up(issue, agent, from, to, now, queue).map(Some);
        }
        Command::LapseClaim { client, .. } => {
            refuse_other_client(issue, client.as_ref(), queue)?;
        }
        Command::GetNextIssue { issue: Some(_), agent, .. } if issue.is_held_by(agent) => {}
        Command::GetNextIssue { issue: named, agent, terms, .. } => {
            if named.is_some() {
                refuse_obstacle(issue, agent, now, queue)?;
            }
            refuse_many_claims(agent, terms, queue)?;
        }
        Command::GetNextReviewItem { agent, terms } => refuse_many_claims(agent, terms, queue)?,
        Command::CloseIssue { resolution: Resolution::Closed, .. } => {
            refuse_open_parts(issue, queue)?;
        }
        // Links may have been added since that it does not wait for.
        Command::ReopenIssue { .. } => links::check_reopened(issue, queue)?,
        Command::AddIssue { .. }
        | Command::ImportIssue { .. }
        | Command::InsertIssue { .. }
        | Command::ReturnIssue { .. }
        | Command::CompleteIssue { .. }
        | Command::CloseIssue { resolution: Resolution::Rejected, .. }
        | Command::CommentIssue { .. }
        | Command::RecordCheck { .. }
        | Command::RecordUsage { .. }
        | Command::AskHuman { .. }
        | Command::AnswerQuestion { .. }
        | Command::RequireVersion { .. }
        | Command::MergeEdit { .. }
        | Command::ReplaceIssue { .. }
        | Command::RemoveIssue { .. }
        | Command::SetUnknownKeys { .. }
        | Command::PatchUnknownKey { .. } => {}
    }
    let decided = rules::decide(command, issue, now)?;
    let decided = match command {
        Command::MergeEdit { theirs, base } if links_badly(decided.as_ref(), queue) => {
            let command = without_links(theirs, base.clone(), issue);
            rules::decide(&command, issue, now)?
        }
        _ => decided,
    };
    Ok(decided.map(|event| with_ended_lease(event, issue, queue)))
}

/// Returns a command that merges an edit but for its links.
fn without_links(theirs: &Issue, base: Option<Arc<Issue>>, issue: &Issue) -> Command {
    let attributes = theirs.attributes.with_links(&issue.attributes.links);
    let theirs = Arc::new(Issue { attributes, ..theirs.clone() });
    Command::MergeEdit { theirs, base }
}

/// Returns an event with the lease that it ends, if it ends one, so that it can be undone.
fn with_ended_lease(event: Event, issue: &Issue, queue: &dyn IssueQueue) -> Event {
    let ended = |lease: &Lease| {
        let mut after = issue.clone();
        event.apply(&mut after);
        let is_removed = matches!(event.kind, EventKind::Removed { .. });
        // A claim that another clone made earlier may have the same number.
        let is_same = after.claim().is_some_and(|claim| {
            claim.number == lease.claim && issue.claim().is_none_or(|before| before == claim)
        });
        is_removed || !is_same
    };
    let is_claim = matches!(event.kind, EventKind::Claimed | EventKind::ReviewStarted);
    let lease = queue.lease(issue.id).filter(|lease| !is_claim && ended(lease));
    Event { lease: lease.or_else(|| event.lease.clone()), ..event }
}

fn refuse_many_claims(
    agent: &AgentName,
    terms: &ClaimTerms,
    queue: &dyn IssueQueue,
) -> Result<(), DomainError> {
    let Some(limit) = terms.max_claims.map(NonZeroUsize::get) else { return Ok(()) };
    if !queue.holds(agent, limit) {
        return Ok(());
    }
    const SHOWN_CHARS: usize = 60;
    Err(DomainError::TooManyClaims { agent: shortened(agent.as_str(), SHOWN_CHARS), limit })
}

fn refuse_other_client(
    issue: &Issue,
    client: Option<&ClientId>,
    queue: &dyn IssueQueue,
) -> Result<(), DomainError> {
    let Some(client) = client else { return Ok(()) };
    let is_same = queue.lease(issue.id).is_some_and(|lease| lease.client == *client);
    if is_same { Ok(()) } else { Err(DomainError::ClaimEnded { id: issue.id }) }
}

fn take_up(
    issue: &Issue,
    agent: &AgentName,
    from: &ClientId,
    to: &ClientId,
    now: Timestamp,
    queue: &dyn IssueQueue,
) -> Result<Event, DomainError> {
    let is_allowed = match queue.lease(issue.id) {
        Some(lease) => lease.client == *from && from != to,
        // The lease was lost with its log.
        None => from == to,
    };
    if !is_allowed || issue.holder().is_none_or(|holder| holder.agent != agent.as_str()) {
        return Err(DomainError::ClaimEnded { id: issue.id });
    }
    let kind = EventKind::TakenUp { from: from.clone(), to: to.clone() };
    Ok(Event::new(issue.id, now.max(issue.modified_at), agent.as_str(), kind))
}

fn park_after_attempts(
    issue: &Issue,
    limit: NonZeroUsize,
    agent: &AgentName,
    now: Timestamp,
    queue: &dyn IssueQueue,
) -> Result<Option<Event>, DomainError> {
    let failed = issue.failed_attempts();
    let waits = issue.status == Status::Created && issue.attributes.parked.is_none();
    if !waits || failed < limit.get() {
        return Ok(None);
    }
    let times = if failed == 1 { "once".to_owned() } else { format!("{failed} times") };
    let reason = format!(
        "{times} returned unfinished since a person last changed it (max-attempts = {limit})"
    );
    let parked = Some(Some((CommentText::try_from(&*reason)?, None)));
    let change = IssueChange { parked, ..IssueChange::default() };
    change.decide(issue, agent.as_str(), now, queue).map(Some)
}

/// Returns true if an edit adds links that a command may not add.
fn links_badly(event: Option<&Event>, queue: &dyn IssueQueue) -> bool {
    let Some(Event { issue, kind: EventKind::Edited { patch }, .. }) = event else {
        return false;
    };
    patch.attributes.as_ref().is_some_and(|change| {
        let is_new = |link: &&Link| !change.before.links.contains(link);
        let added: Vec<_> = change.after.links.iter().filter(is_new).copied().collect();
        links::check(*issue, &change.after.links, &added, queue).is_err()
    })
}

fn refuse_obstacle(
    issue: &Issue,
    agent: &AgentName,
    now: Timestamp,
    queue: &dyn IssueQueue,
) -> Result<(), DomainError> {
    // Another status than the one for a claim is the better reason.
    let waits = issue.status == Status::Created;
    let obstacle = waits.then(|| readiness::obstacle(queue, issue, agent, now)).flatten();
    obstacle.map_or(Ok(()), |reason| Err(DomainError::NotReady { id: issue.id, reason }))
}

fn refuse_open_parts(issue: &Issue, queue: &dyn IssueQueue) -> Result<(), DomainError> {
    let open: Vec<_> = readiness::open_parts(queue, issue.id).collect();
    if open.is_empty() || issue.status.has_ended() {
        return Ok(());
    }
    let parts = open.iter().copied().take(DomainError::MAX_CANDIDATES).collect();
    Err(DomainError::OpenParts { id: issue.id, parts, count: open.len() })
}

fn find(queue: &dyn IssueQueue, reference: &IssueRef) -> Result<Arc<Issue>, DomainError> {
    let id = queue.resolve(reference)?;
    queue.issue(id).ok_or_else(|| DomainError::UnknownIssue { reference: id.to_string() })
}

fn decide_on_document(command: &Command, before: &UnknownKeys, now: Timestamp) -> Option<Event> {
    let (after, agent) = match command {
        Command::SetUnknownKeys { keys, agent } => (keys.clone(), agent.as_str()),
        Command::PatchUnknownKey { key, patch, agent } => {
            (before.patched(key, patch), agent.as_str())
        }
        _ => return None,
    };
    let keys = Box::new(Change { before: before.clone(), after });
    (keys.before != keys.after)
        .then(|| Event::new(IssueId::NIL, now, agent, EventKind::UnknownKeysEdited { keys }))
}
