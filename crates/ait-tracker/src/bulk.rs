//! Changes of many issues in one commit: each refusal is named, and the rest is done.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::events::EventNumbers;
use super::{EventPosition, State, StoreError, Subset, Tracker};
use ait_domain::{
    AgentName, ClaimProof, Command, CommentText, DomainError, Issue, IssueChange, IssueId,
    IssueRef, Resolution,
};
use ait_store::Committed;

/// The maximum number of issues that one call changes.
pub const MAX_BULK: usize = 1_000;

/// What to do with many issues.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BulkChange {
    /// What to change in each issue.
    pub change: IssueChange,
    /// Where each issue goes afterwards; `None` if it stays.
    pub end: Option<BulkEnd>,
    /// The versions that the caller knows. An issue that has another one is refused.
    pub versions: BTreeMap<IssueId, String>,
}

/// Where issues go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BulkEnd {
    /// To the caller, who works on them: a claim without a client, which does not lapse.
    Claim,
    /// Back to the queue, with the reason.
    Return(CommentText),
    /// They end, with the reason.
    Close(Resolution, CommentText),
}

impl BulkChange {
    /// Returns true if the issues end, which no undo takes back.
    pub fn ends_issues(&self) -> bool {
        matches!(self.end, Some(BulkEnd::Close(..)))
    }
}

/// What a change of many issues did, or would do.
#[derive(Clone, Debug, Default)]
pub struct BulkOutcome {
    /// The issues after the change.
    pub changed: Vec<Arc<Issue>>,
    /// The issues that already were as wanted.
    pub unchanged: Vec<IssueId>,
    /// The issues that stay, with the reasons.
    pub refused: Vec<(IssueId, DomainError)>,
    /// The numbers of the change; `None` if nothing was changed, or if they cannot be read.
    pub events: Option<EventNumbers>,
}

/// The commands for one issue: all of them take effect, or none.
pub(super) struct Attempt {
    pub id: IssueId,
    pub commands: Vec<Command>,
}

impl Tracker {
    /// Changes issues in one commit. An issue whose change is refused stays as it is, and the others are changed.
    ///
    /// With `is_dry_run`, nothing changes, and the result says what would.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`](ait_store::Store::commit) and [`Store::subset`](ait_store::Store::subset).
    /// Nothing has changed then.
    pub async fn change_many(
        &self,
        ids: &[IssueId],
        bulk: &BulkChange,
        agent: &AgentName,
        proof: ClaimProof,
        is_dry_run: bool,
    ) -> Result<BulkOutcome, StoreError> {
        let mut bulk = bulk.clone();
        self.resolve_external(bulk.change.references_mut()).await?;
        let attempt =
            |id: &IssueId| Attempt { id: *id, commands: self.commands(*id, &bulk, agent, proof) };
        let attempts = ids.iter().map(attempt).collect();
        let added = bulk.change.links_add.iter().map(|(_, to)| to);
        let named = bulk.change.parent.iter().flatten().chain(added);
        let mut linked = Vec::new();
        for reference in named.chain(bulk.change.blocked_by.iter().flatten()) {
            linked.push(self.get_issue(IssueRef::clone(reference)).await?.id);
        }
        self.try_each(attempts, linked, is_dry_run).await
    }

    fn commands(
        &self,
        id: IssueId,
        bulk: &BulkChange,
        agent: &AgentName,
        proof: ClaimProof,
    ) -> Vec<Command> {
        let version = bulk.versions.get(&id).cloned();
        let required = version.map(|version| Command::RequireVersion { issue: id.into(), version });
        let mut commands = Vec::from_iter(required);
        if bulk.change != IssueChange::default() {
            let change = Box::new(self.by_settings(bulk.change.clone()));
            let agent = agent.clone();
            commands.push(Command::ChangeIssue { issue: id.into(), change, agent });
        }
        match &bulk.end {
            Some(BulkEnd::Claim) => commands.push(self.claim_with(None, id.into(), agent.clone())),
            Some(BulkEnd::Return(comment)) => {
                commands.extend(self.return_commands(
                    id.into(),
                    comment.clone(),
                    agent.clone(),
                    self.claim_requirement(proof),
                ));
            }
            Some(BulkEnd::Close(resolution, comment)) => {
                let comment = comment.clone();
                let agent = agent.clone();
                let resolution = *resolution;
                let required_claim = self.claim_requirement(proof);
                let issue = id.into();
                commands.push(Command::CloseIssue {
                    issue,
                    resolution,
                    comment,
                    agent,
                    required_claim,
                });
            }
            None => {}
        }
        commands
    }

    /// Commits what is not refused. `linked` are the issues to which links may be added.
    pub(super) async fn try_each(
        &self,
        mut attempts: Vec<Attempt>,
        linked: Vec<IssueId>,
        is_dry_run: bool,
    ) -> Result<BulkOutcome, StoreError> {
        let mut refused_late = Vec::new();
        loop {
            let ids = attempts.iter().map(|attempt| attempt.id);
            let subset = if linked.is_empty() {
                Subset::Around(ids.collect())
            } else {
                Subset::Linking(ids.chain(linked.iter().copied()).collect())
            };
            let (accepted, mut outcome) = self.preview(self.store.subset(subset).await?, &attempts);
            if is_dry_run || accepted.is_empty() {
                outcome.refused.append(&mut refused_late);
                return Ok(outcome);
            }
            let commands = accepted.iter().flat_map(|attempt| attempt.commands.clone()).collect();
            match self.commit(commands).await {
                Ok(Committed { outcomes, events }) => {
                    let lasts = accepted.iter().scan(0, |end, attempt| {
                        *end += attempt.commands.len();
                        Some(*end - 1)
                    });
                    let changed = lasts.filter_map(|last| outcomes.get(last)?.clone());
                    outcome.changed = changed.collect();
                    outcome.events = self.change_numbers(&events).await;
                    outcome.refused.append(&mut refused_late);
                    return Ok(outcome);
                }
                // Another change came in between. Each round has an issue less.
                Err(StoreError::Refused(error)) => {
                    let id = error.refused_issue();
                    let at = attempts.iter().position(|attempt| Some(attempt.id) == id);
                    let Some(at) = at else { return Err(error.into()) };
                    refused_late.push((attempts.remove(at).id, error));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Decides each attempt on the state that the ones before it leave. Returns those that are not refused.
    fn preview(&self, mut state: State, attempts: &[Attempt]) -> (Vec<Attempt>, BulkOutcome) {
        let mut accepted = Vec::new();
        let mut outcome = BulkOutcome::default();
        let mut open: Vec<&Attempt> = attempts.iter().collect();
        loop {
            let count = accepted.len();
            let mut with_open_parts = Vec::new();
            for attempt in open {
                let id = attempt.id;
                match self.attempt_changes(&state, attempt) {
                    Ok(None) => outcome.unchanged.push(id),
                    Ok(Some((after, accepting))) => {
                        outcome.changed.extend(after.issues.get(id));
                        accepted.push(accepting);
                        state = after;
                    }
                    Err(error @ DomainError::OpenParts { .. }) => {
                        with_open_parts.push((attempt, error));
                    }
                    Err(error) => outcome.refused.push((id, error)),
                }
            }
            if accepted.len() == count {
                let refused = with_open_parts.into_iter();
                outcome.refused.extend(refused.map(|(attempt, error)| (attempt.id, error)));
                return (accepted, outcome);
            }
            // Their parts may have ended now.
            open = with_open_parts.into_iter().map(|(attempt, _)| attempt).collect();
        }
    }

    /// Decides an attempt. Returns the state after it, and the commands that change something; `None` if there are
    /// none.
    fn attempt_changes(
        &self,
        state: &State,
        attempt: &Attempt,
    ) -> Result<Option<(State, Attempt)>, DomainError> {
        let mut after = state.clone();
        let mut commands = Vec::new();
        let mut is_change = false;
        for command in &attempt.commands {
            match self.decide_and_apply(&mut after, command) {
                Ok(changes) => {
                    is_change |= changes;
                    commands.push(command.clone());
                }
                Err(DomainError::NothingToChange { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(is_change.then_some((after, Attempt { id: attempt.id, commands })))
    }

    /// Decides a command, and applies its event. Returns false if nothing has to change.
    fn decide_and_apply(&self, state: &mut State, command: &Command) -> Result<bool, DomainError> {
        let Some(event) = state.decide(command, self.now())? else { return Ok(false) };
        let next = EventPosition { number: state.position.number + 1, hash: 0 };
        state.apply(&event, next).map(|_| true)
    }
}
