//! The use cases: one method for each operation, the same for every interface.
//!
//! The tracker owns the clock and the source of ids. It knows nothing of MCP, HTTP or terminals, and
//! it prints nothing.

use std::sync::Arc;
use std::time::Duration;

use chrono::Utc;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::domain::{
    AgentName, Classification, Command, CommentText, Counts, Description, Importable, Issue,
    IssueId, IssueRef, Page, Query, Resolution, Timestamp, Title,
};
use crate::store::Store;
pub use crate::store::backup::{
    self, About, Backup, Consent, Differing, Holdings, Replacement, Saved, Saving, Verdict,
};
pub use crate::store::json::Maintenance;
pub use crate::store::{
    DURATION_BUCKETS_S, Events, IssueStore, NumberedEvent, Position, Probe, State, StoreError,
    StoreHealth, StoreId, Version,
};

/// How long the end of a process waits for claims that are given back.
const LAST_LAPSES: Duration = Duration::from_millis(200);

/// The issue queue as its users see it. Clones share it.
#[derive(Clone)]
pub struct Tracker {
    store: Arc<dyn Store>,
    /// Gives claims back.
    lapsing: TaskTracker,
}

impl Tracker {
    /// A tracker over a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, lapsing: TaskTracker::new() }
    }

    /// The time that the tracker stamps changes with.
    pub fn now(&self) -> Timestamp {
        Timestamp::from(Utc::now())
    }

    /// Files a new issue, which waits behind all others.
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
        self.change(Command::AddIssue { id, title, description, classification, agent }).await
    }

    /// Takes over an issue that was kept elsewhere, as it is, behind all others.
    ///
    /// Nothing is changed or overwritten by it: an id that is taken is a refusal. Calls that are begun one
    /// after the other, without waiting in between, are filed in this order.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn import_issue(
        &self,
        issue: Importable,
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

    /// Claims the oldest created issue, of one classification or of any; `None` when there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn get_next_issue(
        &self,
        classification: Option<Classification>,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        self.commit(Command::GetNextIssue { classification, agent }).await
    }

    /// Puts an open issue back into the queue, in its old place.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn return_issue(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        self.change(Command::ReturnIssue { issue, comment, agent }).await
    }

    /// Hands an open issue to review.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn complete_issue(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
    ) -> Result<Arc<Issue>, StoreError> {
        self.change(Command::CompleteIssue { issue, comment, agent }).await
    }

    /// Claims the oldest completed issue for review; `None` when there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn get_next_review_item(
        &self,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        self.commit(Command::GetNextReviewItem { agent }).await
    }

    /// Ends an open issue.
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
    ) -> Result<Arc<Issue>, StoreError> {
        self.change(Command::CloseIssue { issue, resolution, comment, agent }).await
    }

    /// Says something about an issue, wherever it stands; that moves nothing.
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

    /// Counts the issues in each status.
    ///
    /// # Errors
    ///
    /// Those of [`Store::counts`].
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        self.store.counts().await
    }

    /// Returns all issues as they are now.
    ///
    /// # Errors
    ///
    /// Those of [`Store::snapshot`].
    pub async fn snapshot(&self) -> Result<State, StoreError> {
        self.store.snapshot().await
    }

    /// Returns the durable events after a number, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// Those of [`Store::events`].
    pub async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        self.store.events(after, limit).await
    }

    /// Returns a receiver of the position of the newest durable event; see [`Store::watch`].
    pub fn watch(&self) -> watch::Receiver<Position> {
        self.store.watch()
    }

    /// Tells whether the store can be read and changed, and how it is doing.
    pub async fn health(&self, probe: Probe) -> StoreHealth {
        self.store.health(probe).await
    }

    /// Tells whether issues can be read and, as far as is known, changed.
    ///
    /// # Errors
    ///
    /// What the next read or change would be refused with.
    pub async fn check(&self) -> Result<(), StoreError> {
        self.health(Probe::Known).await.trouble.map_or(Ok(()), Err)
    }

    /// Tells which store this is; see [`Store::id`].
    pub async fn store_id(&self) -> StoreId {
        self.store.id().await
    }

    /// Takes no more changes and waits for those that are being saved, and for claims that are being given back;
    /// see [`Store::close`].
    pub async fn close(&self) -> bool {
        self.lapsing.close();
        let given_back = timeout(LAST_LAPSES, self.lapsing.wait()).await;
        if given_back.is_err() {
            tracing::warn!("claims that nobody has heard of may not be given back");
        }
        self.store.close().await
    }

    /// Gives a claim back that nobody has heard of. An issue that somebody has moved on since stays as it is.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`].
    pub async fn lapse_claim(&self, claimed: &Issue, reason: &str) -> Result<(), StoreError> {
        let Some(entry) = claimed.claim_entry() else { return Ok(()) };
        let reason = reason.to_owned();
        match self.commit(Command::LapseClaim { issue: claimed.id, entry, reason }).await {
            Err(StoreError::Refused(_)) => Ok(()),
            lapsed => lapsed.map(drop),
        }
    }

    /// Begins to give a claim back that nobody has heard of, on a task that [`close`](Self::close) waits for.
    pub fn begin_lapse(&self, claimed: Arc<Issue>, reason: &'static str) {
        // Without a runtime the process is ending.
        let Ok(runtime) = Handle::try_current() else { return };
        let tracker = self.clone();
        let lapse = async move {
            if let Err(error) = tracker.lapse_claim(&claimed, reason).await {
                let id = claimed.id;
                tracing::warn!("nobody has heard of the claim of {id}, and it stays: {error}");
            }
        };
        self.lapsing.spawn_on(lapse, &runtime);
    }

    /// Commits a command alone.
    async fn commit(&self, command: Command) -> Result<Option<Arc<Issue>>, StoreError> {
        let operation = command.operation();
        let outcome = self.store.commit(vec![command], self.now()).await?.pop();
        let lost = || StoreError::Uncertain(format!("{operation} has no outcome"));
        Ok(outcome.ok_or_else(lost)??)
    }

    /// Commits a command that names its issue and therefore has one to give back.
    async fn change(&self, command: Command) -> Result<Arc<Issue>, StoreError> {
        let operation = command.operation();
        let issue = self.commit(command).await?;
        issue.ok_or_else(|| StoreError::Uncertain(format!("{operation} gave no issue back")))
    }
}
