//! The use cases: one method for each operation, the same for every interface.
//!
//! The tracker owns the clock and the source of ids. It knows nothing of MCP, HTTP or terminals, and
//! it prints nothing.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::Utc;
use uuid::Uuid;

use crate::domain::{
    AgentName, Classification, Command, CommentText, Counts, Description, Importable, Issue,
    IssueId, IssueRef, Page, Query, Resolution, Timestamp, Title,
};
use crate::store::Store;
pub use crate::store::backup::{
    self, About, Backup, Consent, Differing, Holdings, Replacement, Saved, Saving, Verdict,
};
pub use crate::store::{
    Changes, Cursor, DURATION_BUCKETS_S, IssueStore, StoreError, StoreId, Version, Vitals,
};

/// The issue queue as its users see it.
#[derive(Clone)]
pub struct Tracker {
    store: Arc<dyn Store>,
}

impl Tracker {
    /// A tracker over a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// The time that the tracker stamps changes with.
    pub fn now(&self) -> Timestamp {
        Timestamp::from(Utc::now())
    }

    /// Files a new issue, which waits behind all others.
    ///
    /// # Errors
    ///
    /// Those of [`Store::apply`].
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
    /// Those of [`Store::apply`].
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
    /// Those of [`Store::apply`].
    pub async fn get_next_issue(
        &self,
        classification: Option<Classification>,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        self.store.apply(Command::GetNextIssue { classification, agent }, self.now()).await
    }

    /// Puts an open issue back into the queue, in its old place.
    ///
    /// # Errors
    ///
    /// Those of [`Store::apply`].
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
    /// Those of [`Store::apply`].
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
    /// Those of [`Store::apply`].
    pub async fn get_next_review_item(
        &self,
        agent: AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        self.store.apply(Command::GetNextReviewItem { agent }, self.now()).await
    }

    /// Ends an open issue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::apply`].
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
    /// Those of [`Store::apply`].
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

    /// Gives everything as it is now, to be saved as a [`backup`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::holdings`].
    pub async fn holdings(&self) -> Result<Holdings, StoreError> {
        self.store.holdings().await
    }

    /// Goes back to a backup.
    ///
    /// # Errors
    ///
    /// Those of [`Store::replace`].
    pub async fn restore(
        &self,
        backup: &Backup,
        consent: Consent,
    ) -> Result<Replacement, StoreError> {
        self.store.replace(backup.document.clone(), consent).await
    }

    /// The files of the store; see [`Store::files`].
    pub async fn files(&self) -> Vec<PathBuf> {
        self.store.files().await
    }

    /// Tells what happened since a place that an earlier answer gave; without one, where to begin.
    ///
    /// # Errors
    ///
    /// Those of [`Store::changes`].
    pub async fn changes(&self, after: Option<Cursor>) -> Result<Changes, StoreError> {
        self.store.changes(after).await
    }

    /// Looks what others did; see [`Store::keep_up`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::keep_up`].
    pub async fn keep_up(&self) -> Result<bool, StoreError> {
        self.store.keep_up().await
    }

    /// Takes over what somebody changed by hand; see [`Store::take_over_edit`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::take_over_edit`].
    pub async fn take_over_edit(&self) -> Result<(), StoreError> {
        self.store.take_over_edit().await
    }

    /// Tells whether issues can be read and, as far as is known, changed.
    ///
    /// # Errors
    ///
    /// Those of [`Store::check`].
    pub async fn check(&self) -> Result<(), StoreError> {
        self.store.check().await
    }

    /// Tries whether a change could be saved now, by really writing a little that leaves no trace.
    ///
    /// # Errors
    ///
    /// Those of [`Store::try_writing`].
    pub async fn try_writing(&self) -> Result<(), StoreError> {
        self.store.try_writing().await
    }

    /// Tells how the store is doing; see [`Store::vitals`].
    pub async fn vitals(&self) -> Vitals {
        self.store.vitals().await
    }

    /// Tells which store this is; see [`Store::id`].
    pub async fn store_id(&self) -> StoreId {
        self.store.id().await
    }

    /// Takes note that a client's HTTP session was ended, for all processes that share the store.
    ///
    /// # Errors
    ///
    /// Those of [`Store::end_session`].
    pub async fn end_session(&self, session: String) -> Result<(), StoreError> {
        self.store.end_session(session).await
    }

    /// Tells whether any process has ended a client's HTTP session.
    ///
    /// # Errors
    ///
    /// Those of [`Store::session_ended`].
    pub async fn session_ended(&self, session: String) -> Result<bool, StoreError> {
        self.store.session_ended(session).await
    }

    /// Brings what people read up to date; see [`Store::save`].
    ///
    /// # Errors
    ///
    /// Those of [`Store::save`].
    pub async fn save(&self) -> Result<(), StoreError> {
        self.store.save().await
    }

    /// Takes no more changes and waits for those that are being saved; see [`Store::close`].
    pub async fn close(&self) -> bool {
        self.store.close().await
    }

    /// Applies a command that names its issue and therefore has one to give back.
    async fn change(&self, command: Command) -> Result<Arc<Issue>, StoreError> {
        let operation = command.operation();
        let issue = self.store.apply(command, self.now()).await?;
        issue.ok_or_else(|| StoreError::Uncertain(format!("{operation} gave no issue back")))
    }
}
