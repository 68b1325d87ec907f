//! The use cases: one method for each operation. Every interface calls these.
//!
//! The tracker owns the clock and generates ids. It knows nothing of MCP, HTTP or terminals, and prints nothing.

mod bulk;
mod leases;
mod questions;
mod returns;
mod undo;
mod waiting;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

pub use self::bulk::{BulkChange, BulkEnd, BulkOutcome, MAX_BULK};
pub use self::leases::{Claimant, Connection, LAPSES_OF_A_COMMAND, LeaseState, ProcessClient};
use self::leases::{Connected, LeaseCheck};
pub use self::questions::{OpenQuestion, QuestionCommand};
pub use self::undo::{UndoError, UndoOutcome, UndoSelection, UndoneIssue};
use self::waiting::Line;
pub use self::waiting::{MAX_WAITING, Wanted};
use crate::domain::{
    AgentName, ClaimGuard, ClaimProof, ClaimSettings, ClaimTerms, Classification, ClientId,
    Command, CommentText, Counts, Description, ImportedIssue, Issue, IssueChange, IssueId,
    IssueRef, Page, Query, Resolution, Status, Timestamp, Title,
};
use crate::store::backup::Difference;
pub use crate::store::backup::{
    self, Backup, BackupContent, BackupError, BackupMetadata, IssueSample, OverwritePolicy,
    RestoreOutcome, SaveOptions, Saved, Verdict,
};
pub use crate::store::json::Maintenance;
pub use crate::store::transfer::Compared;
pub use crate::store::{
    DURATION_BUCKETS_S, Events, HeldBack, IndexedIssues, NumberedEvent, Part, Position, Probe,
    State, StoreError, StoreHealth, StoreId, Version,
};
use crate::store::{Document, Outcome, Store};

/// How many issues that cannot be claimed are named.
const SHOWN: usize = 3;
/// How long [`Tracker::close`] waits for claims that are being released.
const LAST_LAPSES: Duration = Duration::from_millis(200);

/// An issue to add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewIssue {
    /// The id that it gets.
    pub id: IssueId,
    /// The title.
    pub title: Title,
    /// The description.
    pub description: Description,
    /// The kind of work.
    pub classification: Classification,
    /// Attributes and links.
    pub details: IssueChange,
}

impl NewIssue {
    /// Returns a new random id.
    pub fn random_id() -> IssueId {
        IssueId::from(Uuid::new_v4())
    }
}

/// The issue queue as its users see it. Clones share it.
#[derive(Clone)]
pub struct Tracker {
    store: Arc<dyn Store>,
    /// The tasks that release undelivered claims.
    lapsing: TaskTracker,
    claims: Arc<ClaimSettings>,
    claimant: Claimant,
    on_question: Option<QuestionCommand>,
    connected: Connected,
    lease_check: LeaseCheck,
    /// The callers that wait for something to claim.
    line: Line,
}

impl Tracker {
    /// Creates a tracker on a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            lapsing: TaskTracker::new(),
            claims: Arc::default(),
            claimant: Claimant::default(),
            on_question: None,
            connected: Connected::default(),
            lease_check: LeaseCheck::default(),
            line: Line::default(),
        }
    }

    /// Returns the time for new changes.
    pub fn now(&self) -> Timestamp {
        Timestamp::from(Utc::now())
    }

    /// Adds a new issue at the end of the queue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn add_issue(
        &self,
        title: Title,
        description: Description,
        classification: Classification,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        let id = IssueId::from(Uuid::new_v4());
        let details = Box::default();
        self.change(Command::AddIssue { id, title, description, classification, details, agent })
            .await
    }

    /// Adds a new issue with attributes and links at the end of the queue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn add_issue_with(
        &self,
        title: Title,
        description: Description,
        classification: Classification,
        details: IssueChange,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        let (id, details) = (IssueId::from(Uuid::new_v4()), Box::new(details));
        self.change(Command::AddIssue { id, title, description, classification, details, agent })
            .await
    }

    /// Adds several issues at the end of the queue, in this order: all of them, or none.
    ///
    /// Each one is given with the id that it gets, so that later ones can link to it.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn add_issues(
        &self,
        issues: Vec<NewIssue>,
        agent: AgentName,
    ) -> Result<Vec<Arc<Issue>>, StoreError> {
        let command = |NewIssue { id, title, description, classification, details }| {
            let (details, agent) = (Box::new(details), agent.clone());
            Command::AddIssue { id, title, description, classification, details, agent }
        };
        let commands = issues.into_iter().map(command).collect();
        let added = self.commit_all(commands).await?;
        let lost = || StoreError::Uncertain("add_issues returned no outcome".to_owned());
        added.into_iter().map(|issue| issue.ok_or_else(lost)).collect()
    }

    /// Changes texts, attributes or links of an issue; its status stays.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn change_issue(
        &self,
        issue: IssueRef,
        change: IssueChange,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        self.change(Command::ChangeIssue { issue, change: change.into(), agent }).await
    }

    /// Imports an issue from another tracker unchanged, at the end of the queue.
    ///
    /// It never overwrites an issue: an id in use is refused. Calls that start one after another without waiting
    /// keep their order.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn import_issue(
        &self,
        issue: ImportedIssue,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        self.change(Command::ImportIssue { issue, agent }).await
    }

    /// Finds the issues that match a query.
    ///
    /// # Errors
    ///
    /// Those of [`Store::list`].
    pub async fn list_issues(&self, query: Query) -> Result<Page, StoreError> {
        self.store.list(query).await
    }

    /// Finds one issue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::get`].
    pub async fn get_issue(&self, issue: IssueRef) -> Result<Arc<Issue>, StoreError> {
        self.store.get(issue).await
    }

    /// Claims one created issue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`]. An issue that is not `created` is refused.
    pub async fn claim_issue(
        &self,
        issue: IssueRef,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        if self.is_command() {
            self.lapse_orphans(LAPSES_OF_A_COMMAND).await?;
        }
        let (issue, terms) = (Some(issue), self.terms(self.client_for(&agent).await));
        self.change(Command::GetNextIssue { issue, classification: None, agent, terms }).await
    }

    /// Claims the oldest created issue, of one classification or of any; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn get_next_issue(
        &self,
        classification: Option<Classification>,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        self.claim_next(Wanted::Work(classification), agent).await
    }

    /// Completes an open issue, which then waits for review.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn complete_issue(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Arc<Issue>, StoreError> {
        let guard = self.guard(proof);
        self.change(Command::CompleteIssue { issue, comment, agent, guard }).await
    }

    /// Claims the oldest completed issue for review; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn get_next_review_item(
        &self,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        self.claim_next(Wanted::Review, agent).await
    }

    /// Closes an open issue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn close_issue(
        &self,
        issue: IssueRef,
        resolution: Resolution,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Arc<Issue>, StoreError> {
        let guard = self.guard(proof);
        self.change(Command::CloseIssue { issue, resolution, comment, agent, guard }).await
    }

    /// Adds a comment to an issue in any status; nothing else changes.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn comment_issue(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        self.change(Command::CommentIssue { issue, comment, agent }).await
    }

    /// Returns how many created issues there are, and why an agent cannot claim the first of them.
    ///
    /// # Errors
    ///
    /// Those of [`Store::list`] and [`Store::part`].
    pub async fn held_back(
        &self,
        agent: &AgentName,
        classification: Option<Classification>,
    ) -> Result<HeldBack, StoreError> {
        let statuses = Some(Status::Created).into();
        let query = Query { statuses, classification, take: SHOWN, ..Query::default() };
        let created = self.store.list(query).await?;
        let around = self.issues_around(&created.issues).await?;
        let now = self.now();
        let reason = |issue: &Arc<Issue>| Some((issue.id, around.obstacle(issue, agent, now)?));
        let first = created.issues.iter().filter_map(reason).collect();
        Ok(HeldBack { count: created.total, first })
    }

    /// Returns why an agent cannot claim the first of the completed issues for review; none if it can claim one.
    ///
    /// # Errors
    ///
    /// Those of [`Store::part`] and [`Store::list`].
    pub async fn held_back_reviews(&self, agent: &AgentName) -> Result<HeldBack, StoreError> {
        if self.next_claimable(Wanted::Review, agent).await?.is_some() {
            return Ok(HeldBack::default());
        }
        let statuses = Some(Status::Completed).into();
        let completed =
            self.store.list(Query { statuses, take: SHOWN, ..Query::default() }).await?;
        let (policy, now) = (self.claims.review, self.now());
        let reason = |issue: &Arc<Issue>| {
            Some((issue.id, IndexedIssues::review_obstacle(issue, agent, policy, now)?))
        };
        let first = completed.issues.iter().filter_map(reason).collect();
        Ok(HeldBack { count: completed.total, first })
    }

    /// Returns issues with those around them; see [`Part::Around`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::part`].
    pub async fn issues_around(&self, issues: &[Arc<Issue>]) -> Result<IndexedIssues, StoreError> {
        let ids = issues.iter().map(|issue| issue.id).collect();
        Ok(self.store.part(Part::Around(ids)).await?.issues)
    }

    /// Returns what an agent holds, with the leases.
    ///
    /// # Errors
    ///
    /// Those of [`Store::part`].
    pub async fn held_by(&self, agent: &AgentName) -> Result<Vec<Arc<Issue>>, StoreError> {
        let issues = self.store.part(Part::HeldBy(agent.clone())).await?.issues;
        Ok(issues.held_by(agent).filter_map(|id| issues.get(id)).collect())
    }

    /// Counts the issues in each status.
    ///
    /// # Errors
    ///
    /// Those of [`Store::counts`].
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        self.store.counts().await
    }

    /// Returns all issues in their current state.
    ///
    /// # Errors
    ///
    /// Those of [`Store::state`].
    pub async fn state(&self) -> Result<State, StoreError> {
        self.store.state().await
    }

    /// Returns at most `limit` durable events after an event number.
    ///
    /// # Errors
    ///
    /// Those of [`Store::events`].
    pub async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        self.store.events(after, limit).await
    }

    /// Returns the issues that events after a number changed, with the number of the newest event. The first part is
    /// `None` if the log no longer has all of these events.
    ///
    /// # Errors
    ///
    /// Those of [`Store::events`].
    pub async fn changed_after(
        &self,
        number: u64,
    ) -> Result<(Option<BTreeSet<IssueId>>, u64), StoreError> {
        const EVENTS_AT_ONCE: usize = 1_000;
        let (mut changed, mut after) = (BTreeSet::new(), number);
        loop {
            let read = self.events(after, EVENTS_AT_ONCE).await?;
            if !read.is_complete_after(after) {
                return Ok((None, read.newest.number));
            }
            let Some(last) = read.events.last() else {
                return Ok((Some(changed), after));
            };
            after = last.position.number;
            changed.extend(read.events.iter().map(|numbered| numbered.event.issue));
        }
    }

    /// Returns a receiver of the position of the latest durable event; see [`Store::watch`].
    pub fn watch(&self) -> watch::Receiver<Position> {
        self.store.watch()
    }

    /// Reports whether the store can be read and changed, with its measurements.
    pub async fn health(&self, probe: Probe) -> StoreHealth {
        self.store.health(probe).await
    }

    /// Returns the damage that the last read of the store met. What it answers is older than the damage then.
    pub fn damage(&self) -> Option<StoreError> {
        self.store.damage()
    }

    /// Checks whether issues can be read and, as far as is known, changed.
    ///
    /// # Errors
    ///
    /// The error that the next read or change would return.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.health(Probe::Known).await.trouble.map_or(Ok(()), Err)
    }

    /// Returns the id of the store; see [`Store::id`].
    pub async fn store_id(&self) -> StoreId {
        self.store.id().await
    }

    /// Accepts no more changes, and waits for changes and claim releases in progress; see [`Store::close`].
    pub async fn close(&self) -> bool {
        self.lapsing.close();
        let given_back = timeout(LAST_LAPSES, self.lapsing.wait()).await;
        if given_back.is_err() {
            tracing::warn!("undelivered claims may still be held");
        }
        self.store.close().await
    }

    /// Restores a document in one step, for a store without files. The replaced issues stay in the log.
    ///
    /// # Errors
    ///
    /// Those of [`Store::state`] and [`Store::commit`]. A restore that would lose something is no error; the result
    /// says so.
    pub async fn restore(
        &self,
        document: Document,
        consent: OverwritePolicy,
    ) -> Result<RestoreOutcome, StoreError> {
        let state = self.store.state().await?;
        let difference = Difference::between(&state.document(), &document);
        if let Some(found) = RestoreOutcome::found(consent, difference.clone()) {
            return Ok(found);
        }
        self.store.commit(backup::restoring(&state.issues, &document), self.now()).await?;
        let (verdict, difference) = (Verdict::Done, Some(difference));
        Ok(RestoreOutcome { verdict, difference, damage: None, kept: Vec::new() })
    }

    /// Releases a claim that was never delivered. Does nothing if the issue has moved on since.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn lapse_claim(&self, claimed: &Issue, reason: &str) -> Result<(), StoreError> {
        match self.lapse(claimed, None, reason).await {
            Err(StoreError::Refused(_)) => Ok(()),
            lapsed => lapsed,
        }
    }

    /// Starts a task that releases an undelivered claim; [`close`](Self::close) waits for it.
    pub fn begin_lapse(&self, claimed: Arc<Issue>, reason: &'static str) {
        // Without a runtime the process is already exiting.
        let Ok(runtime) = Handle::try_current() else { return };
        let tracker = self.clone();
        let lapse = async move {
            if let Err(error) = tracker.lapse_claim(&claimed, reason).await {
                let id = claimed.id;
                tracing::warn!(
                    "the claim of {id} was not delivered, and cannot be released: {error}"
                );
            }
        };
        self.lapsing.spawn_on(lapse, &runtime);
    }

    /// Claims an issue, if one is ready. The client of the claim is noted only then, because a claim that finds nothing
    /// writes nothing.
    async fn claim(
        &self,
        agent: &AgentName,
        is_ready: impl Fn(&IndexedIssues) -> bool,
        command: impl Fn(ClaimTerms) -> Command,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        if self.is_command() {
            // No server may be running that looks for them.
            self.lapse_orphans(LAPSES_OF_A_COMMAND).await?;
        } else if !self.is_begun() && !self.is_ready(agent, is_ready).await? {
            self.note_call(agent).await?;
            // Without commands, it only tells of damage, which may hide what is ready.
            self.store.commit(Vec::new(), self.now()).await?;
            return Ok(None);
        }
        let client = self.client_for(agent).await;
        self.commit(command(self.terms(client))).await
    }

    async fn is_ready(
        &self,
        agent: &AgentName,
        is_ready: impl Fn(&IndexedIssues) -> bool,
    ) -> Result<bool, StoreError> {
        Ok(is_ready(&self.store.part(Part::Claimable(vec![agent.clone()])).await?.issues))
    }

    /// Returns the terms of a claim of a client.
    fn terms(&self, client: Option<ClientId>) -> ClaimTerms {
        let ClaimSettings { max_claims, review, .. } = *self.claims;
        ClaimTerms { client, max_claims, review }
    }

    fn guard(&self, proof: ClaimProof) -> ClaimGuard {
        ClaimGuard::of(proof, self.claims.policy)
    }

    /// Commits commands of one agent, all or none.
    async fn commit_all(&self, commands: Vec<Command>) -> Result<Vec<Outcome>, StoreError> {
        if let Some(agent) = commands.iter().find_map(Command::agent) {
            self.note_call(agent).await?;
        }
        self.store.commit(commands, self.now()).await
    }

    /// Commits a single command.
    async fn commit(&self, command: Command) -> Result<Option<Arc<Issue>>, StoreError> {
        let operation = command.operation();
        let outcome = self.commit_all(vec![command]).await?.pop();
        let lost = || StoreError::Uncertain(format!("{operation} returned no outcome"));
        outcome.ok_or_else(lost)
    }

    /// Commits commands on one issue, all or none, and returns the issue after them.
    async fn change_with(&self, commands: Vec<Command>) -> Result<Arc<Issue>, StoreError> {
        let operation = commands.first().map_or("change", Command::operation);
        let outcomes = self.commit_all(commands).await?;
        let lost = || StoreError::Uncertain(format!("{operation} returned no issue"));
        outcomes.into_iter().flatten().next_back().ok_or_else(lost)
    }

    /// Commits a command that names its issue, and so must return one.
    async fn change(&self, command: Command) -> Result<Arc<Issue>, StoreError> {
        let operation = command.operation();
        let issue = self.commit(command).await?;
        issue.ok_or_else(|| StoreError::Uncertain(format!("{operation} returned no issue")))
    }
}
