//! The guard of a claim until its caller knows of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::Tracker;
use ait_domain::event::UNDELIVERED_REASON;
use ait_domain::{Command, Issue};
use ait_store::{Committed, StoreError};

/// How long after a failed lapse it is tried again.
const LAPSE_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// For how long it is tried. The client of the claim may live as long as this process, so that nothing else ends it.
const LAPSE_WITHIN: Duration = Duration::from_secs(3600);

/// A claim that its caller does not know of. It lapses when this is dropped.
pub struct UndeliveredClaim {
    tracker: Tracker,
    /// `None` once the caller knows of the claim.
    issue: Option<Arc<Issue>>,
}

impl UndeliveredClaim {
    /// Wraps a claim that was just made.
    pub fn new(tracker: Tracker, issue: Arc<Issue>) -> Self {
        Self { tracker, issue: Some(issue) }
    }

    /// Keeps the claim, because the caller knows of it.
    pub fn keep(mut self) {
        self.issue = None;
    }
}

impl Drop for UndeliveredClaim {
    fn drop(&mut self) {
        // Without a runtime the process is already exiting.
        if let Some(issue) = self.issue.take()
            && let Ok(runtime) = Handle::try_current()
        {
            let tracker = self.tracker.clone();
            self.tracker.claiming.spawn_on(async move { tracker.lapse(&issue).await }, &runtime);
        }
    }
}

impl Tracker {
    /// Commits commands of which some claim issues. If the caller is gone before the end, the commit goes on, and then
    /// the claims lapse.
    pub(super) async fn commit_claims(
        &self,
        commands: Vec<Command>,
    ) -> Result<Committed, StoreError> {
        let (answer, answered) = oneshot::channel();
        let tracker = self.clone();
        self.claiming.spawn(async move {
            let claims: Vec<_> = commands.iter().map(Command::is_claim).collect();
            let committed = tracker.store.commit(commands, tracker.now()).await;
            // Without an event, the caller held the issue before.
            let changed = committed.iter().filter(|committed| !committed.events.is_empty());
            let outcomes = changed.flat_map(|committed| &committed.outcomes).zip(claims);
            let claimed =
                outcomes.filter_map(|(issue, is_claim)| issue.clone().filter(|_| is_claim));
            let guard = |issue| UndeliveredClaim::new(tracker.clone(), issue);
            let guards: Vec<_> = claimed.map(guard).collect();
            // If the caller is gone, this drops the guards.
            drop(answer.send((committed, guards)));
        });
        let lost = |_| StoreError::Uncertain("the task of a claim failed".to_owned());
        let (committed, guards) = answered.await.map_err(lost)?;
        guards.into_iter().for_each(UndeliveredClaim::keep);
        committed
    }

    /// Lets a claim lapse whose caller is gone. Tries again while the store fails.
    async fn lapse(&self, claimed: &Issue) {
        let begun = Instant::now();
        while let Err(error) = self.lapse_claim(claimed, UNDELIVERED_REASON).await {
            if matches!(error, StoreError::Closed) || begun.elapsed() > LAPSE_WITHIN {
                let id = claimed.id;
                tracing::warn!(
                    "the claim of {id} was not delivered, and cannot be released: {error}"
                );
                return;
            }
            sleep(LAPSE_AGAIN_AFTER).await;
        }
    }
}
