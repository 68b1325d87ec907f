//! What was measured of the work on an issue: how a check ended, and what a claim used.

use std::collections::BTreeSet;

use ait_domain::{AgentName, Command, IssueId, IssueRef, Receipt, Usage, readiness};
use ait_store::{IndexedIssues, StoreError};

use crate::{Changed, Tracker};

impl Tracker {
    /// Records how the check of the project ended on an issue.
    pub async fn record_check(
        &self,
        issue: IssueRef,
        receipt: Receipt,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        self.change([Command::RecordCheck { issue, receipt, agent }]).await
    }

    /// Records what a claim of an issue used in all, without what is recorded already.
    pub async fn record_usage(
        &self,
        issue: IssueRef,
        usage: Usage,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        self.change([Command::RecordUsage { issue, usage, agent }]).await
    }

    /// Returns issues with those around them, and around their parts and those of these.
    pub async fn issues_with_parts(
        &self,
        ids: impl IntoIterator<Item = IssueId>,
    ) -> Result<IndexedIssues, StoreError> {
        let mut ids: BTreeSet<_> = ids.into_iter().collect();
        loop {
            let issues = self.issues_around(ids.iter().copied()).await?;
            let parts = ids.iter().flat_map(|id| readiness::parts_below(&issues, *id));
            let known = ids.len();
            ids = parts.chain(ids.iter().copied()).collect();
            if ids.len() == known {
                return Ok(issues);
            }
        }
    }
}
