//! Work that changes the same files: where an issue meets what agents are at, and the next issue that meets none of it.
//!
//! An issue meets others only if it says which files it [touches](ait_domain::Touches). What agents are at is what
//! their issues say, and what their branches have changed. It knows nothing of git.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, join_all};

use super::claims::ClaimKind;
use super::stuck::LifeSigns;
use super::{Changed, Tracker};
use ait_domain::{
    AgentName, Command, Condition, FieldValue, Issue, IssueRef, OverlapPolicy, Query, Status,
    Timestamp, Touches,
};
use ait_store::StoreError;

/// How many claims, and how many issues that are ready, are looked at.
const MAX_LOOKED_AT: usize = 100;
/// How often another issue is chosen because other agents were faster.
const MAX_CHOICES: usize = 5;

/// Finds the files that the branch of an issue has changed.
pub(super) type ChangedFiles =
    Arc<dyn Fn(Arc<Issue>) -> BoxFuture<'static, Vec<String>> + Send + Sync>;

/// An issue that an agent works on, and the files that its branch has changed.
struct Work {
    issue: Arc<Issue>,
    files: Vec<String>,
}

impl Work {
    /// Says where an issue meets this one.
    fn meeting(&self, issue: &Issue) -> Option<String> {
        let said = self.issue.attributes.touches.iter().flat_map(Touches::paths);
        let files = said.chain(self.files.iter().map(String::as_str));
        let path = issue.attributes.touches.as_ref()?.meeting(files)?;
        let holder = self.issue.holder().filter(|_| self.issue.id != issue.id)?;
        Some(format!("{path}: {} is at work there on {}", holder.agent, self.issue.id.short()))
    }
}

impl Tracker {
    /// Returns a tracker that asks for the files that branches have changed, and for the last signs of life in their
    /// worktrees, in the repository around a directory.
    pub fn with_worktrees<C, S>(
        self,
        directory: PathBuf,
        changed: fn(PathBuf, Arc<Issue>) -> C,
        last_sign: fn(PathBuf, Arc<Issue>) -> S,
    ) -> Self
    where
        C: Future<Output = Vec<String>> + Send + 'static,
        S: Future<Output = Option<Timestamp>> + Send + 'static,
    {
        let project = directory.clone();
        let changed_files: ChangedFiles =
            Arc::new(move |issue| Box::pin(changed(directory.clone(), issue)));
        let life_signs: LifeSigns =
            Arc::new(move |issue| Box::pin(last_sign(project.clone(), issue)));
        Self { changed_files: Some(changed_files), life_signs: Some(life_signs), ..self }
    }

    /// Says where other agents are at work on what an issue touches, a line each.
    pub async fn overlaps(&self, issue: &Issue) -> Result<Vec<String>, StoreError> {
        if self.claims.overlap == OverlapPolicy::Off || issue.attributes.touches.is_none() {
            return Ok(Vec::new());
        }
        let work = self.work().await?;
        Ok(work.iter().filter_map(|other| other.meeting(issue)).collect())
    }

    /// Notes which files an agent will change for an issue.
    pub async fn note_touches(
        &self,
        issue: IssueRef,
        touches: Touches,
        agent: AgentName,
    ) -> Result<(), StoreError> {
        let change = Box::new(FieldValue::Touches(Some(touches)).into());
        self.change([Command::ChangeIssue { issue, change, agent }]).await.map(drop)
    }

    /// Makes a claim of the next issue, which it left. Another one of the same priority comes first if agents change
    /// what the next one touches.
    pub(super) async fn claim_apart(
        &self,
        kind: ClaimKind,
        mut claim: Command,
    ) -> Result<Option<Changed>, StoreError> {
        // Agents of this process see the claims of each other.
        let _turn = self.choosing.lock().await;
        for _ in 0..MAX_CHOICES {
            let Command::GetNextIssue { issue, agent, classification, .. } = &mut claim else {
                break;
            };
            let Some(next) = self.next_claimable(kind, agent).await? else { return Ok(None) };
            let query = Query { classification: *classification, ..Query::default() };
            *issue = Some(self.apart(query, next).await?);
            match self.claim(claim.clone()).await {
                // Another agent has it by now, or this one holds too many.
                Err(StoreError::Refused(_)) => {}
                claimed => return claimed,
            }
        }
        if let Command::GetNextIssue { issue, terms, .. } = &mut claim {
            *issue = None;
            terms.leaves_touching = false;
        }
        self.claim(claim).await
    }

    /// Returns the first issue like the next one that meets no work; the next one if all do.
    async fn apart(&self, query: Query, next: Arc<Issue>) -> Result<IssueRef, StoreError> {
        let work = self.work().await?;
        let is_apart = |issue: &Issue| work.iter().all(|other| other.meeting(issue).is_none());
        if is_apart(&next) {
            return Ok(next.id.into());
        }
        let priority = next.attributes.effective_priority();
        let assignee = next.attributes.assignee.as_ref().map(|name| name.as_str().to_owned());
        let condition = Condition::Assignee(assignee).and(Condition::Priority(priority..=priority));
        let condition = condition.and(Condition::Ready(self.now()));
        let statuses = Some(Status::Created).into();
        let query = Query { statuses, condition, take: MAX_LOOKED_AT, ..query };
        let ready = self.list_issues(query).await?.issues;
        Ok(ready.iter().find(|issue| is_apart(issue)).unwrap_or(&next).id.into())
    }

    /// Returns what agents work on.
    async fn work(&self) -> Result<Vec<Work>, StoreError> {
        let statuses = Some(Status::InProgress).into();
        let query = Query { statuses, take: MAX_LOOKED_AT, ..Query::default() };
        let issues = self.list_issues(query).await?.issues;
        let work = async |issue: Arc<Issue>| {
            let files = match &self.changed_files {
                Some(changed_files) => changed_files(Arc::clone(&issue)).await,
                None => Vec::new(),
            };
            Work { issue, files }
        };
        Ok(join_all(issues.into_iter().map(work)).await)
    }
}
