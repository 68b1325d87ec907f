//! The tools, one file each: its arguments, its description, and a thin handler.

mod add_issue;
mod add_issues;
pub(super) mod analyze_issue;
mod ask_human;
mod change_issues;
mod close_issue;
mod complete_issue;
mod configure_hooks;
mod filters;
mod find_problems;
mod get_config;
mod get_context;
pub(super) mod get_digest;
mod get_next_issue;
mod get_next_review_item;
mod get_remote;
mod init_project;
mod link_issues;
mod list_issues;
mod manage_memory;
mod memory;
mod planned;
mod query_issues;
mod recall;
pub(super) mod registry;
mod remember;
mod return_issue;
mod run_doctor;
mod undo_change;
mod update_issue;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::asking::{Asking, Capabilities};
use super::context::{LazyContext, blocking};
use super::options::{McpOptions, Toolset};
use super::reply::{Neighbours, Reply, ReplyOptions, WholeIssue};
use super::result::{Answer, Failure, Success};
use super::waiting::WaitingClient;
use ait_domain::{AgentName, ClaimProof, Facts, Issue, IssueId, IssueRef, Status};
use ait_query::ParsedQuery;
use ait_query::field_selection::FieldSelection;
use ait_tracker::UndeliveredClaim;
use ait_tracker::query_handles::{QueryHandle, QueryHandles};
use ait_tracker::read_model::ReadModel;
use ait_tracker::{
    Changed, ClaimKind, EventPosition, NewIssue, StoreError, Tracker, read_after_change,
};
use ait_worktrees::handed_in;

/// How long a call may wait for something to claim.
const MAX_WAIT_SECONDS: u16 = 600;

/// The future of a tool call.
pub(super) type Call = BoxFuture<'static, Result<Answer, Failure>>;

/// What a call can use.
#[derive(Clone)]
pub(super) struct CallContext {
    pub tracker: Tracker,
    pub read_model: ReadModel,
    pub options: Arc<McpOptions>,
    pub server: LazyContext,
    pub replies: ReplyOptions,
    /// Whether the caller may end the claims of others.
    pub is_lead: bool,
    pub waiting: WaitingClient,
    /// The name of the request in its `_meta`, by which a repeat is known.
    pub request_id: Option<String>,
    /// What the client can be asked for.
    pub capabilities: Capabilities,
    /// The client, if a question can reach it.
    pub asking: Option<Asking>,
}

impl CallContext {
    /// Returns what a caller says of its claim, with the number that it gave.
    fn proof(&self, number: Option<NonZeroUsize>) -> ClaimProof {
        let number = number.map(NonZeroUsize::get);
        ClaimProof { number, is_forced: self.is_lead, is_person: false }
    }

    /// Parses a query; an empty one without a text.
    fn parse_query(&self, text: Option<&str>) -> Result<ParsedQuery, Failure> {
        let parsed =
            ParsedQuery::parse(text.unwrap_or_default(), &self.options.queries, self.tracker.now());
        parsed.map_err(|error| Failure::invalid(format!("invalid query: {error}")))
    }

    /// Parses the query of a change, which finds nothing but what it says.
    fn parse_exact_query(&self, text: &str) -> Result<ParsedQuery, Failure> {
        let parsed = ParsedQuery::exact(text, &self.options.queries, self.tracker.now());
        parsed.map_err(|error| Failure::invalid(format!("invalid query: {error}")))
    }

    /// Returns the handles of the store.
    async fn query_handles(&self) -> QueryHandles {
        QueryHandles::new(self.tracker.store_id().await, self.options.handle_lifetime)
    }

    /// Finds a handle of the store.
    async fn query_handle(&self, name: &str) -> Result<QueryHandle, Failure> {
        let handles = self.query_handles().await;
        let now = self.tracker.now();
        let asked = name.to_owned();
        let found = blocking(move || handles.find(&asked, now)).await;
        found.ok_or_else(|| {
            let name = crate::shown(name);
            let text =
                format!("Query handle '{name}' not found or expired: call query_issues again");
            Failure::invalid(text).with_next("query_issues")
        })
    }

    /// Files issues, which are made from their ids. A repeat of a named request gets those of the first one.
    async fn file(
        &self,
        request: Option<String>,
        agent: AgentName,
        count: usize,
        issues: impl Fn(&[IssueId]) -> Result<Vec<NewIssue>, Failure>,
    ) -> Result<(Vec<Arc<Issue>>, Vec<EventPosition>), Failure> {
        let request = request.as_deref().or(self.request_id.as_deref());
        self.tracker.file(request, agent, count, issues).await
    }

    /// Measures what an agent hands in.
    async fn measure(&self, issue: &IssueRef) -> Result<Facts, StoreError> {
        let Some(root) = &self.options.root else { return Ok(Facts::default()) };
        let issue = self.tracker.get_issue(issue.clone()).await?;
        Ok(ait_worktrees::measure(root, &issue).await)
    }

    /// Returns what is known near an issue, a line each.
    async fn known(&self, issue: &Issue) -> Vec<String> {
        self.lines(self.tracker.known(issue).await).await
    }

    /// Finds what a reply shows of the issues around an issue.
    async fn neighbours(&self, issue: &Arc<Issue>) -> Result<Neighbours, StoreError> {
        // Only links lead to others, and without the toolset only those of the issue itself are followed.
        let all = self.replies.is_planning;
        if !all && issue.attributes.links.is_empty() {
            return Ok(Neighbours::default());
        }
        let issues = self.tracker.issues_around([issue.id]).await?;
        Ok(Neighbours::of(issue, &issues, all))
    }

    /// Claims the next issue, and waits for it if need be.
    async fn next(
        &self,
        kind: ClaimKind,
        agent: AgentName,
        wait_seconds: u16,
    ) -> Result<Option<Changed>, StoreError> {
        if wait_seconds == 0 {
            return self.tracker.claim_next(kind, agent).await;
        }
        let end = self.waiting.clone().wait(Duration::from_secs(wait_seconds.into()));
        self.tracker.wait_for_next(kind, agent, end).await
    }

    /// Returns an issue that the caller has just claimed. The claim lapses if the caller goes meanwhile, unless the
    /// caller held the issue before.
    async fn claimed(self, claimed: Changed, fields: Option<FieldSelection>) -> Success {
        let Changed { issue, events } = claimed;
        let is_new = !events.is_empty();
        let claim = is_new.then(|| UndeliveredClaim::new(self.tracker.clone(), Arc::clone(&issue)));
        let neighbours = read_after_change(self.neighbours(&issue)).await.unwrap_or_default();
        let agent = issue.holder().and_then(|holder| holder.agent.to_owned().try_into().ok());
        let lost_claims = match &agent {
            Some(agent) => read_after_change(self.tracker.lost_claims(agent)).await,
            None => None,
        };
        let lost_claims = lost_claims.unwrap_or_default();
        let known = self.known(&issue).await;
        let overlaps = match issue.status {
            Status::InProgress => read_after_change(self.tracker.overlaps(&issue)).await,
            _ => None,
        };
        let overlaps = overlaps.unwrap_or_default();
        let work = match &self.options.root {
            Some(root) if issue.status == Status::InReview => handed_in(root, &issue).await,
            _ => None,
        };
        let claimed = WholeIssue::claimed(issue, fields);
        let whole = WholeIssue { neighbours, lost_claims, known, overlaps, work, ..claimed };
        Success { claim, events, ..Success::done(Reply::Issue(whole)) }
    }
}

/// One use case of the tracker as agents see it.
pub(super) trait Tool: 'static {
    const NAME: &'static str;
    /// What the tool does, when to call it, and what it returns.
    const DESCRIPTION: &'static str;
    const READ_ONLY: bool = false;
    /// Whether it may replace or remove what users wrote or installed.
    const DESTRUCTIVE: bool = false;
    /// Whether it connects to other machines.
    const OPEN_WORLD: bool = false;
    const TOOLSET: Toolset = Toolset::Lifecycle;
    /// The parameters for texts that take a list, too, as if its values were separated by commas, or an object as JSON.
    const LOOSE: &[&str] = &[];

    type Args: DeserializeOwned + JsonSchema + Send;

    fn call(
        context: CallContext,
        args: Self::Args,
    ) -> impl Future<Output = Result<Success, Failure>> + Send;
}

#[cfg(test)]
mod tests;
