//! What was measured of the work on an issue: how a check ended, and what a claim used.

use ait_domain::{AgentName, Command, IssueRef, Receipt, Usage};
use ait_store::StoreError;

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
}
