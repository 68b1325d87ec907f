//! Holds: until when the agents of a provider get nothing, because it has reached a limit. Their claims stay.
//!
//! A hold is an entry of the memory with a label of its own, which ends at a time. So every process knows it, people
//! see who made it, and it ends by itself. Without the setting that says whose agents are whose, nothing is looked for.

use std::sync::Arc;

use serde::Serialize;

use super::memory::{NewEntry, Until, in_force};
use super::{IssueAtVersion, Tracker};
use ait_domain::{
    AgentName, Classification, Condition, DomainError, Due, FieldValue, Issue, IssueChange,
    Provider, Timestamp,
};
use ait_store::StoreError;

/// A provider whose agents get nothing for now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Hold {
    pub provider: String,
    pub until: Timestamp,
}

impl Tracker {
    /// Returns the providers whose agents get nothing now.
    pub async fn holds(&self) -> Result<Vec<Hold>, StoreError> {
        self.holds_at(self.now()).await
    }

    async fn holds_at(&self, time: Timestamp) -> Result<Vec<Hold>, StoreError> {
        let mut holds = Vec::new();
        for provider in self.claims.providers.iter() {
            let entries = self.hold_entries(provider, time).await?;
            let until = entries.iter().filter_map(|entry| Some(entry.attributes.due?.end())).max();
            holds.extend(until.map(|until| Hold { provider: provider.name.clone(), until }));
        }
        Ok(holds)
    }

    /// Gives the agents of a provider nothing until a time; ends that without one.
    pub async fn hold(
        &self,
        provider: &Provider,
        until: Option<Timestamp>,
        agent: AgentName,
    ) -> Result<(), StoreError> {
        // The last one said counts.
        let now = self.now();
        for entry in self.hold_entries(provider, now).await? {
            let past = Timestamp::from_unix_millis(now.unix_millis() - 1);
            let change = IssueChange::from(FieldValue::Due(Some(Due::Time(past))));
            self.change_issue(IssueAtVersion::from(entry.id), change, agent.clone()).await?;
        }
        let Some(until) = until else { return Ok(()) };
        let text = format!("{} has reached a limit: its agents get nothing", provider.name);
        let about = vec![provider.label.to_string()];
        let until = Some(Until::Due(Due::Time(until)));
        let entry = NewEntry { about, until, ..NewEntry::new(Classification::Fact, text) };
        self.remember(entry, agent).await.map(drop)
    }

    /// Returns true if an agent keeps its claims although it is gone: its provider has a hold, or had one so lately
    /// that the agent may still come back.
    pub async fn is_kept(&self, agent: &str) -> Result<bool, StoreError> {
        let grace = i64::try_from(self.claims.grace.as_millis()).unwrap_or(i64::MAX);
        let time = self.now().unix_millis().saturating_sub(grace);
        Ok(self.hold_at(agent, Timestamp::from_unix_millis(time)).await?.is_some())
    }

    /// Returns the hold of an agent, if it is of a provider that had one at a time.
    async fn hold_at(&self, agent: &str, time: Timestamp) -> Result<Option<Hold>, StoreError> {
        let providers = &self.claims.providers;
        if !providers.iter().any(|provider| provider.has(agent)) {
            return Ok(None);
        }
        let is_own =
            |hold: &Hold| providers.iter().any(|one| one.name == hold.provider && one.has(agent));
        Ok(self.holds_at(time).await?.into_iter().filter(is_own).max_by_key(|hold| hold.until))
    }

    /// Refuses a claim of an agent that gets nothing now.
    pub(super) async fn refuse_held(&self, agent: &AgentName) -> Result<(), StoreError> {
        match self.hold_at(agent.as_str(), self.now()).await? {
            None => Ok(()),
            Some(Hold { provider, until }) => Err(DomainError::Held { provider, until }.into()),
        }
    }

    /// Returns the entries with a hold of a provider that were in force at a time.
    async fn hold_entries(
        &self,
        provider: &Provider,
        time: Timestamp,
    ) -> Result<Vec<Arc<Issue>>, StoreError> {
        const MOST: usize = 10;
        let condition = Condition::Label(Some(provider.label.clone())).and(in_force(time));
        Ok(self.list_issues(Self::entries(MOST).with(condition)).await?.issues)
    }
}
