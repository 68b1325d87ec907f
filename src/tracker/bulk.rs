//! Changes of many issues in one commit: each refusal is named, and the rest is done.

use std::sync::Arc;

use super::log::EventNumbers;
use super::{EventPosition, Part, State, StoreError, Tracker};
use crate::domain::{
    AgentName, ClaimProof, Command, CommentText, DomainError, Issue, IssueChange, IssueId,
    IssueRef, Resolution,
};

/// The maximum number of issues that one call changes.
pub const MAX_BULK: usize = 1_000;
/// How many issues may turn out to be refused while the rest is committed.
const MAX_LATE_REFUSALS: usize = 50;

/// What to do with many issues.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BulkChange {
    /// What to change in each issue.
    pub change: IssueChange,
    /// Where each issue goes afterwards; `None` if it stays.
    pub end: Option<BulkEnd>,
}

/// Where issues go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BulkEnd {
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
    /// The numbers of the first and the last event of the change; `None` if nothing was changed.
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
    /// Those of [`Store::commit`](crate::store::Store::commit) and [`Store::part`](crate::store::Store::part). Nothing
    /// has changed then.
    pub async fn change_many(
        &self,
        ids: &[IssueId],
        bulk: &BulkChange,
        agent: &AgentName,
        proof: ClaimProof,
        is_dry_run: bool,
    ) -> Result<BulkOutcome, StoreError> {
        let attempt =
            |id: &IssueId| Attempt { id: *id, commands: self.commands(*id, bulk, agent, proof) };
        let attempts = ids.iter().map(attempt).collect();
        let added = bulk.change.links_add.iter().map(|(_, to)| to);
        let named = bulk.change.parent.iter().flatten().chain(added);
        let mut around = Vec::new();
        for reference in named.chain(bulk.change.blocked_by.iter().flatten()) {
            around.push(self.get_issue(IssueRef::clone(reference)).await?.id);
        }
        self.try_each(attempts, around, is_dry_run).await
    }

    fn commands(
        &self,
        id: IssueId,
        bulk: &BulkChange,
        agent: &AgentName,
        proof: ClaimProof,
    ) -> Vec<Command> {
        let mut commands = Vec::new();
        if bulk.change != IssueChange::default() {
            let (change, agent) = (Box::new(bulk.change.clone()), agent.clone());
            commands.push(Command::ChangeIssue { issue: id.into(), change, agent });
        }
        match &bulk.end {
            Some(BulkEnd::Return(comment)) => {
                commands.extend(self.returning(id.into(), comment.clone(), agent.clone(), proof));
            }
            Some(BulkEnd::Close(resolution, comment)) => {
                let (comment, agent) = (comment.clone(), agent.clone());
                let (resolution, guard) = (*resolution, self.guard(proof));
                let issue = id.into();
                commands.push(Command::CloseIssue { issue, resolution, comment, agent, guard });
            }
            None => {}
        }
        commands
    }

    /// Commits what is not refused. `around` are further issues that the decisions look at.
    pub(super) async fn try_each(
        &self,
        attempts: Vec<Attempt>,
        around: Vec<IssueId>,
        is_dry_run: bool,
    ) -> Result<BulkOutcome, StoreError> {
        let ids = attempts.iter().map(|attempt| attempt.id).chain(around).collect();
        let state = self.store.part(Part::Around(ids)).await?;
        let (mut accepted, mut outcome) = self.preview(state, attempts);
        if is_dry_run || accepted.is_empty() {
            return Ok(outcome);
        }
        let before = self.log_bounds().await?.newest.number;
        for _ in 0..MAX_LATE_REFUSALS {
            let commands = accepted.iter().flat_map(|attempt| attempt.commands.clone()).collect();
            let error = match self.commit(commands).await {
                Ok(outcomes) => {
                    let lasts = accepted.iter().scan(0, |end, attempt| {
                        *end += attempt.commands.len();
                        Some(*end - 1)
                    });
                    let changed = lasts.filter_map(|last| outcomes.get(last)?.clone());
                    outcome.changed = changed.collect();
                    outcome.events = self.numbers_after(before, &outcome.changed).await?;
                    return Ok(outcome);
                }
                Err(StoreError::Refused(error)) => error,
                Err(error) => return Err(error),
            };
            // Another change came in between.
            let named = error.issues();
            let refused = accepted.iter().position(|attempt| named.contains(&attempt.id));
            let Some(refused) = refused else { return Err(error.into()) };
            outcome.refused.push((accepted.remove(refused).id, error));
            if accepted.is_empty() {
                outcome.changed.clear();
                return Ok(outcome);
            }
        }
        Err(StoreError::Busy("other changes of the same issues came in between".to_owned()))
    }

    /// Decides each attempt on the state that the ones before it leave. Returns those that are not refused.
    fn preview(&self, mut state: State, attempts: Vec<Attempt>) -> (Vec<Attempt>, BulkOutcome) {
        let (mut accepted, mut outcome) = (Vec::new(), BulkOutcome::default());
        for Attempt { id, commands } in attempts {
            let mut trial = state.clone();
            let (mut effective, mut is_change) = (Vec::new(), false);
            let mut refusal = None;
            for command in commands {
                match self.decided(&mut trial, &command) {
                    Ok(changes) => {
                        is_change |= changes;
                        effective.push(command);
                    }
                    Err(DomainError::NothingToChange { .. }) => {}
                    Err(error) => {
                        refusal = Some(error);
                        break;
                    }
                }
            }
            if let Some(error) = refusal {
                outcome.refused.push((id, error));
            } else if !is_change {
                outcome.unchanged.push(id);
            } else {
                outcome.changed.extend(trial.issues.get(id));
                accepted.push(Attempt { id, commands: effective });
                state = trial;
            }
        }
        (accepted, outcome)
    }

    /// Decides a command, and applies its event. Returns false if nothing has to change.
    fn decided(&self, state: &mut State, command: &Command) -> Result<bool, DomainError> {
        let Some(event) = state.decide(command, self.now())? else { return Ok(false) };
        let next = EventPosition { number: state.position.number + 1, hash: 0 };
        state.apply(&event, next).map(|_| true)
    }
}
