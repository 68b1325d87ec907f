//! What stands beside the issues: the keys of `issues.json` that the tracker itself does not know.

use serde_json::Value;

use super::Tracker;
use ait_domain::{AgentName, Command};
use ait_store::StoreError;

impl Tracker {
    /// Changes the value of a key beside the issues, as a JSON merge patch.
    pub async fn patch_key(
        &self,
        key: &str,
        patch: Value,
        agent: AgentName,
    ) -> Result<(), StoreError> {
        let command = Command::PatchUnknownKey { key: key.to_owned(), patch, agent };
        self.commit(vec![command]).await.map(drop)
    }
}
