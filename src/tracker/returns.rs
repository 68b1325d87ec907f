//! Returning an issue to the queue, and ending it in the version that its caller has seen.

use std::sync::Arc;

use super::Tracker;
use crate::domain::{AgentName, ClaimProof, Command, CommentText, Issue, IssueRef, Resolution};
use crate::store::StoreError;

impl Tracker {
    /// Returns an open issue to its old place in the queue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`](crate::store::Store::commit).
    pub async fn return_issue(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Arc<Issue>, StoreError> {
        self.change_with(self.returning(issue, comment, agent, proof).collect()).await
    }

    /// Returns an issue of a [version](Issue::version) to its old place in the queue.
    ///
    /// # Errors
    ///
    /// Those of [`return_issue`](Self::return_issue), and a refusal if the issue has another version.
    pub async fn return_issue_in(
        &self,
        version: String,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Arc<Issue>, StoreError> {
        let known = Command::RequireVersion { issue: issue.clone(), version };
        let returning = self.returning(issue, comment, agent, proof);
        self.change_with([known].into_iter().chain(returning).collect()).await
    }

    /// Closes an open issue of a [version](Issue::version).
    ///
    /// # Errors
    ///
    /// Those of [`close_issue`](Self::close_issue), and a refusal if the issue has another version.
    pub async fn close_issue_in(
        &self,
        version: String,
        issue: IssueRef,
        resolution: Resolution,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Arc<Issue>, StoreError> {
        let known = Command::RequireVersion { issue: issue.clone(), version };
        let guard = self.guard(proof);
        let close = Command::CloseIssue { issue, resolution, comment, agent, guard };
        self.change_with(vec![known, close]).await
    }

    /// Returns the commands that return an issue to the queue, and park it after too many attempts.
    pub(super) fn returning(
        &self,
        issue: IssueRef,
        comment: CommentText,
        agent: AgentName,
        proof: ClaimProof,
    ) -> impl Iterator<Item = Command> {
        let guard = self.guard(proof);
        let park = self.claims.max_attempts.map(|limit| Command::ParkAfterAttempts {
            issue: issue.clone(),
            limit,
            agent: agent.clone(),
        });
        [Command::ReturnIssue { issue, comment, agent, guard }].into_iter().chain(park)
    }
}
