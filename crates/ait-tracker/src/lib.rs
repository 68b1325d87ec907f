//! The use cases: one method for each operation. Every interface calls these.
//!
//! It knows stores by the trait `Store`. What needs all issues at once, such as boards, is in [`read_model`]; what
//! happened, in [`activity`].
//!
//! The tracker owns the clock and generates ids. It knows nothing of MCP, HTTP or terminals, and prints nothing; only
//! `hints.rs` and `triage.rs` know how tools and commands are called.
//!
//! # The files
//!
//! * `claims.rs`, `overlap.rs`, `waiting.rs`, `questions.rs`, `facts.rs`: claims, and which of them change the same
//!   files; callers that wait for one, questions to people, and what was measured of the work
//! * `undelivered_claim.rs`: a claim until its caller knows of it
//! * `clients.rs`, `leases.rs`, `suspend.rs`, `holds.rs`, `stuck.rs`: who holds claims, when these lapse, who gets
//!   none, and which claims show no sign of life
//! * `document.rs`, `templates.rs`: what stands beside the issues; what a project wants them to say
//! * `events.rs`, `external_ids.rs`, `near_titles.rs`, `query_handles.rs`: finding events and issues
//! * `bulk.rs`, `undo.rs`, `repeats.rs`, `round.rs`: changes of many issues, and back; issues that say the same; what
//!   the lead counts
//! * `hints.rs`, `triage.rs`: the next step after an error, and for each finding
//! * `read_model/`, `activity/`: what needs all issues at once; what happened
//! * `memory.rs`, `known.rs`, `graph.rs`: entries; what they and closed issues tell a claim; what lies around something

pub mod activity;
mod bulk;
mod claims;
mod clients;
mod document;
mod events;
pub mod external_ids;
mod facts;
pub mod graph;
pub mod hints;
mod holds;
mod known;
mod leases;
pub mod memory;
mod near_titles;
mod overlap;
pub mod query_handles;
mod questions;
pub mod read_model;
mod repeats;
mod round;
mod stuck;
mod suspend;
mod templates;
pub mod triage;
mod undelivered_claim;
mod undo;
mod waiting;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::Utc;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

pub use self::bulk::{BulkChange, BulkEnd, BulkOutcome, MAX_BULK};
pub use self::claims::ClaimKind;
use self::clients::HttpClients;
pub use self::clients::{Claimant, ConnectionGuard, ProcessClient};
pub use self::events::{Bounds, EventNumbers, LogReader, ends_before};
pub use self::holds::Hold;
pub use self::known::Lesson;
use self::leases::LeaseCheck;
pub use self::leases::{GoneClaims, LeaseState};
pub use self::questions::{OpenQuestion, QuestionHook};
pub use self::stuck::StuckClaim;
pub use self::undelivered_claim::UndeliveredClaim;
pub use self::undo::{LogBegins, UndoError, UndoOutcome, UndoSelection, UndoneIssue};
pub use self::waiting::MAX_WAITING;
use self::waiting::WaitList;
use ait_domain::{
    AgentName, ClaimProof, ClaimRequirement, ClaimSettings, Classification, Classifications,
    Command, CommentText, Counts, Description, DomainError, Facts, ImportedIssue, Issue,
    IssueChange, IssueId, IssueRef, Lease, Page, Query, Resolution, Timestamp, Title,
};
pub use ait_store::Maintenance;
use ait_store::backup::Difference;
pub use ait_store::backup::{
    self, Backup, BackupContent, BackupError, BackupMetadata, BackupSender, IssueSample,
    OverwritePolicy, RestoreOutcome, RestoreResult, SaveOptions, Saved,
};
pub use ait_store::transfer::Compared;
pub use ait_store::{
    ClaimObstacles, DURATION_BUCKETS_S, EventPosition, Events, IdIndex, IndexedIssues, Links,
    NumberedEvent, Probe, SnapshotVisitor, State, StoreError, StoreHealth, StoreId, Subset,
};
use ait_store::{Committed, Document, Store};

/// How long [`Tracker::close`] waits for claims that are made or lapsing.
const SHUTDOWN_CLAIMS: Duration = Duration::from_millis(200);
/// How long the answer to a change waits for what it shows besides the change.
const READ_AFTER_CHANGE: Duration = Duration::from_secs(2);

/// An issue to add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewIssue {
    /// The id that it gets.
    pub id: IssueId,
    pub title: Title,
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

    /// Returns an issue with a new id, and without attributes and links.
    pub fn new(title: Title, description: Description, classification: Classification) -> Self {
        let id = Self::random_id();
        let details = IssueChange::default();
        Self { id, title, description, classification, details }
    }

    fn into_command(self, agent: AgentName) -> Command {
        let Self { id, title, description, classification, details } = self;
        let details = Box::new(details);
        Command::AddIssue { id, title, description, classification, details, agent }
    }
}

/// An issue to change, and the [version](Issue::version) that it must have.
#[derive(Clone, Debug)]
pub struct IssueAtVersion {
    pub issue: IssueRef,
    /// The version that the caller knows. The change is refused if the issue has another one.
    pub version: Option<String>,
}

impl IssueAtVersion {
    /// Returns the command, preceded by `RequireVersion` if a version is given.
    fn into_commands(self, command: impl FnOnce(IssueRef) -> Command) -> Vec<Command> {
        let Self { issue, version } = self;
        let command = command(issue.clone());
        let required = version.map(|version| Command::RequireVersion { issue, version });
        required.into_iter().chain([command]).collect()
    }
}

impl From<IssueRef> for IssueAtVersion {
    fn from(issue: IssueRef) -> Self {
        Self { issue, version: None }
    }
}

impl From<IssueId> for IssueAtVersion {
    fn from(issue: IssueId) -> Self {
        IssueRef::from(issue).into()
    }
}

/// An issue that was just changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Changed {
    /// The issue after the change.
    pub issue: Arc<Issue>,
    /// The events of the change, for [`Tracker::change_numbers`]; none if the issue already was as wanted.
    pub events: Vec<EventPosition>,
}

/// Reads what the answer to a change shows besides the change. Returns `None` if that fails or takes long, because
/// the change is made.
pub async fn read_after_change<T>(read: impl Future<Output = Result<T, StoreError>>) -> Option<T> {
    match timeout(READ_AFTER_CHANGE, read).await {
        Ok(Ok(found)) => Some(found),
        Ok(Err(error)) => {
            tracing::warn!("the change is made, and its answer lacks details: {error}");
            None
        }
        Err(_) => {
            let seconds = READ_AFTER_CHANGE.as_secs();
            tracing::warn!(
                "the change is made, and its answer lacks details: a read took over {seconds} s"
            );
            None
        }
    }
}

/// The issue queue as its users see it. Clones share it.
#[derive(Clone)]
pub struct Tracker {
    store: Arc<dyn Store>,
    /// The tasks that make claims, and let those lapse that are not delivered.
    claiming: TaskTracker,
    claims: Arc<ClaimSettings>,
    classifications: Arc<Classifications>,
    claimant: Claimant,
    on_question: Option<QuestionHook>,
    changed_files: Option<overlap::ChangedFiles>,
    life_signs: Option<stuck::LifeSigns>,
    read_templates: Option<templates::ReadTemplates>,
    last_stuck: stuck::LastStuck,
    /// Held while an issue is chosen whose work meets no other.
    choosing: Arc<tokio::sync::Mutex<()>>,
    /// Whether git carries the queue between clones, so that an earlier claim can turn up later.
    joins_clones: bool,
    connected: HttpClients,
    lease_check: LeaseCheck,
    /// The callers that wait for something to claim.
    wait_list: WaitList,
}

impl Tracker {
    /// Creates a tracker on a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            claiming: TaskTracker::new(),
            claims: Arc::default(),
            classifications: Arc::default(),
            claimant: Claimant::default(),
            on_question: None,
            changed_files: None,
            life_signs: None,
            read_templates: None,
            last_stuck: Arc::default(),
            choosing: Arc::default(),
            joins_clones: false,
            connected: HttpClients::default(),
            lease_check: LeaseCheck::default(),
            wait_list: WaitList::default(),
        }
    }

    /// Returns a tracker of a queue that git may carry between clones.
    pub fn with_clones(self, joins_clones: bool) -> Self {
        Self { joins_clones, ..self }
    }

    /// Returns a tracker of a project that uses these kinds of work.
    pub fn with_classifications(self, classifications: Classifications) -> Self {
        Self { classifications: Arc::new(classifications), ..self }
    }

    /// Returns the kinds of work that new issues can have.
    pub fn classifications(&self) -> &Arc<Classifications> {
        &self.classifications
    }

    /// Returns the time for new changes.
    pub fn now(&self) -> Timestamp {
        Timestamp::from(Utc::now())
    }

    /// Adds an issue at the end of the queue.
    pub async fn add_issue(
        &self,
        issue: NewIssue,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        self.change([issue.into_command(agent)]).await
    }

    /// Adds several issues at the end of the queue, in this order: all of them, or none. Returns them with the events
    /// of the change.
    ///
    /// The caller chooses the ids, so that later issues can link to earlier ones.
    pub async fn add_issues(
        &self,
        issues: Vec<NewIssue>,
        agent: AgentName,
    ) -> Result<(Vec<Arc<Issue>>, Vec<EventPosition>), StoreError> {
        let commands = issues.into_iter().map(|issue| issue.into_command(agent.clone())).collect();
        let Committed { outcomes, events } = self.commit(commands).await?;
        let missing_outcome = || StoreError::Uncertain("add_issues returned no outcome".to_owned());
        let added: Result<_, _> =
            outcomes.into_iter().map(|issue| issue.ok_or_else(missing_outcome)).collect();
        Ok((added?, events))
    }

    /// Changes texts, attributes or links of an issue; its status stays.
    pub async fn change_issue(
        &self,
        target: IssueAtVersion,
        change: IssueChange,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        let change = self.by_settings(change).into();
        self.change(target.into_commands(|issue| Command::ChangeIssue { issue, change, agent }))
            .await
    }

    /// Imports issues from another tracker unchanged, at the end of the queue and in this order: all of them, or none.
    ///
    /// It never overwrites an issue: an id in use is refused.
    pub async fn import_issues(
        &self,
        issues: impl IntoIterator<Item = ImportedIssue>,
        agent: &AgentName,
    ) -> Result<(), StoreError> {
        let import = |issue| Command::ImportIssue { issue, agent: agent.clone() };
        self.commit(issues.into_iter().map(import).collect()).await.map(drop)
    }

    /// Merges changed versions of issues into the current ones, as edits of the file are merged. Each version comes
    /// with the one from which it was made.
    pub async fn merge_versions(
        &self,
        versions: Vec<(Arc<Issue>, Issue)>,
    ) -> Result<(), StoreError> {
        let merge = |(base, theirs): (Arc<Issue>, Issue)| Command::MergeEdit {
            theirs: Arc::new(theirs),
            base: Some(base),
        };
        self.commit(versions.into_iter().map(merge).collect()).await.map(drop)
    }

    /// Replaces an issue, unless it changed since it was read.
    ///
    /// # Errors
    ///
    /// [`DomainError::VersionChanged`].
    pub async fn replace_issue(
        &self,
        read: &Issue,
        after: Issue,
        agent: &AgentName,
    ) -> Result<(), StoreError> {
        let version = read.version();
        let agent = agent.as_str().to_owned();
        let required = Command::RequireVersion { issue: read.id.into(), version };
        let replacement = Command::ReplaceIssue { issue: Arc::new(after), agent };
        self.commit(vec![required, replacement]).await.map(drop)
    }

    /// Finds the issues that match a query.
    pub async fn list_issues(&self, query: Query) -> Result<Page, StoreError> {
        self.store.list(query).await
    }

    /// Completes an open issue, which then waits for review. `facts` are what was measured of the work.
    pub async fn complete_issue(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
        facts: Facts,
    ) -> Result<Changed, StoreError> {
        let requirement = self.requirement_on(&issue, &agent, proof).await?;
        // Also of people: an agent that gives no name on the command line counts as one.
        let checks = self.claims.required_checks();
        let required_claim = ClaimRequirement { checks, ..requirement };
        self.change([Command::CompleteIssue { issue, comment, agent, required_claim, facts }]).await
    }

    /// Returns an open issue to its old place in the queue.
    pub async fn return_issue(
        &self,
        target: IssueAtVersion,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Changed, StoreError> {
        let required_claim = self.requirement_on(&target.issue, &agent, proof).await?;
        self.change(self.return_commands(target, comment, agent, required_claim)).await
    }

    /// Closes an open issue.
    pub async fn close_issue(
        &self,
        target: IssueAtVersion,
        resolution: Resolution,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Changed, StoreError> {
        let required_claim = self.requirement_on(&target.issue, &agent, proof).await?;
        let close =
            |issue| Command::CloseIssue { issue, resolution, comment, agent, required_claim };
        self.change(target.into_commands(close)).await
    }

    /// Opens an issue again that has ended. It waits for work, in its old place.
    pub async fn reopen_issue(
        &self,
        target: IssueAtVersion,
        comment: CommentText,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        self.change(target.into_commands(|issue| Command::ReopenIssue { issue, comment, agent }))
            .await
    }

    /// Adds a comment to an issue in any status; nothing else changes.
    pub async fn comment_issue(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        self.change([Command::CommentIssue { issue, comment, agent }]).await
    }

    /// Returns issues with those around them; see [`Subset::Around`].
    pub async fn issues_around(
        &self,
        ids: impl IntoIterator<Item = IssueId>,
    ) -> Result<IndexedIssues, StoreError> {
        let ids: BTreeSet<_> = ids.into_iter().collect();
        let subset = Subset::Around(ids.into_iter().collect());
        Ok(self.store.subset(subset).await?.issues)
    }

    /// Returns issues with everything that they wait for or are parts of; see [`Subset::Linking`].
    pub async fn issues_below(
        &self,
        ids: impl IntoIterator<Item = IssueId>,
    ) -> Result<IndexedIssues, StoreError> {
        let ids = ids.into_iter().collect();
        Ok(self.store.subset(Subset::Linking(ids)).await?.issues)
    }

    /// Counts the issues in each status.
    pub async fn counts(&self) -> Result<Counts, StoreError> {
        self.store.counts().await
    }

    /// Reads all issues into memory, in their current state.
    pub async fn state(&self) -> Result<State, StoreError> {
        State::read(&*self.store).await
    }

    /// Shows all issues to a visitor and returns it; see [`Store::snapshot`].
    pub async fn read_into<V: SnapshotVisitor + Default + 'static>(&self) -> Result<V, StoreError> {
        ait_store::read_into(&*self.store).await
    }

    /// Shows all issues to a visitor that knows something already, and returns it.
    pub async fn read_with<V: SnapshotVisitor + Default + 'static>(
        &self,
        visitor: V,
    ) -> Result<V, StoreError> {
        ait_store::read_with(&*self.store, visitor).await
    }

    /// Passes everything in the store to a thread that writes a backup.
    ///
    /// # Errors
    ///
    /// Those of [`Store::snapshot`], and what is damaged: a read can succeed up to the damage.
    pub async fn back_up(&self, sender: BackupSender) -> Result<(), StoreError> {
        let sender = Arc::new(Mutex::new(sender));
        self.store.snapshot(Arc::<Mutex<BackupSender>>::clone(&sender)).await?;
        if let Some(damage) = self.damage().await {
            return Err(damage);
        }
        sender.lock().unwrap_or_else(PoisonError::into_inner).end();
        Ok(())
    }

    /// Returns the claims that live with a client.
    pub async fn leased(&self) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        self.store.leases().await
    }

    /// Returns a receiver of the position of the latest durable event; see [`Store::watch`].
    pub fn watch(&self) -> watch::Receiver<EventPosition> {
        self.store.watch()
    }

    /// Reports whether the store can be read and changed, with its measurements.
    pub async fn health(&self, probe: Probe) -> StoreHealth {
        self.store.health(probe).await
    }

    /// Returns what is damaged, or why nothing can be read. While there is damage, reads return the state before it.
    pub async fn damage(&self) -> Option<StoreError> {
        self.store.damage().await
    }

    /// Checks that issues can be read, and that no earlier change failed. Writes nothing.
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

    /// Accepts no more changes, and waits for changes and lapses in progress; see [`Store::close`].
    pub async fn close(&self) -> bool {
        self.claiming.close();
        let lapsed = timeout(SHUTDOWN_CLAIMS, self.claiming.wait()).await;
        if lapsed.is_err() {
            tracing::warn!("undelivered claims may still be held");
        }
        self.store.close().await
    }

    /// Restores a document in one step, for a store without files. The replaced issues stay in the log.
    ///
    /// # Errors
    ///
    /// Those of [`Store::snapshot`] and [`Store::commit`]. A restore that would lose changes is reported in the
    /// result, not as an error.
    pub async fn restore(
        &self,
        document: Document,
        policy: OverwritePolicy,
    ) -> Result<RestoreOutcome, StoreError> {
        let state = self.state().await?;
        let difference = Difference::between(&state.document(), &document);
        if let Some(found) = RestoreOutcome::found(policy, difference.clone()) {
            return Ok(found);
        }
        self.store.commit(backup::restoring(&state.issues, &document), self.now()).await?;
        let result = RestoreResult::Done;
        let difference = Some(difference);
        Ok(RestoreOutcome { result, difference, damage: None, kept: Vec::new() })
    }

    /// Returns a change with what the settings of the project say of it.
    fn by_settings(&self, change: IssueChange) -> IssueChange {
        let checks = self.claims.required_checks();
        IssueChange { says_by_person: self.says_by_person(), checks, ..change }
    }

    /// Returns true if the history is to tell changes of people from those of agents: failed attempts are counted anew
    /// after a change by a person.
    fn says_by_person(&self) -> bool {
        self.claims.max_attempts.is_some() && self.is_cli()
    }

    /// Returns how claims are made, kept and ended.
    pub fn claim_settings(&self) -> &ClaimSettings {
        &self.claims
    }

    /// Returns the commands that return an issue to the queue, and park it after too many attempts.
    fn return_commands(
        &self,
        target: IssueAtVersion,
        comment: CommentText,
        agent: AgentName,
        required_claim: ClaimRequirement,
    ) -> impl Iterator<Item = Command> {
        let park = self.claims.max_attempts.map(|limit| Command::ParkAfterAttempts {
            issue: target.issue.clone(),
            limit,
            agent: agent.clone(),
        });
        let returned = target.into_commands(|issue| Command::ReturnIssue {
            issue,
            comment,
            agent,
            required_claim,
        });
        returned.into_iter().chain(park)
    }

    /// Commits commands of one agent, all or none.
    async fn commit(&self, mut commands: Vec<Command>) -> Result<Committed, StoreError> {
        let mut given = commands.iter().filter_map(Command::classification);
        if let Some(given) = given.find(|kind| !self.classifications.contains(*kind)) {
            let used = self.classifications.to_string();
            return Err(DomainError::UnusedClassification { given, used }.into());
        }
        self.resolve_external(commands.iter_mut().flat_map(Command::references_mut)).await?;
        if let Some(agent) = commands.iter().find_map(Command::agent) {
            self.record_call(agent).await?;
        }
        if commands.iter().any(Command::is_claim) {
            return self.commit_claims(commands).await;
        }
        self.store.commit(commands, self.now()).await
    }

    /// Commits commands on one issue, all or none. Returns the issue after them.
    async fn change(
        &self,
        commands: impl IntoIterator<Item = Command>,
    ) -> Result<Changed, StoreError> {
        let Committed { outcomes, events } = self.commit(commands.into_iter().collect()).await?;
        let missing_outcome = || StoreError::Uncertain("the change returned no issue".to_owned());
        let issue = outcomes.into_iter().flatten().next_back().ok_or_else(missing_outcome)?;
        Ok(Changed { issue, events })
    }
}
