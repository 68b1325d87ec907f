//! Calls that wait: what ends a wait, and what the client hears meanwhile.

use std::future::pending;
use std::time::Duration;

use rmcp::model::{JsonObject, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use serde_json::Value;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// The tool that waits for the person at the client.
pub(super) const ASK_HUMAN: &str = "ask_human";
/// The tool that waits for the model of the client.
pub(super) const ANALYZE_ISSUE: &str = "analyze_issue";
/// The parameter with the time that a call may wait.
const WAIT_SECONDS: &str = "wait_seconds";
/// How often a client that asked for progress hears of it.
const PROGRESS_EVERY: Duration = Duration::from_secs(15);

/// The client of a call that may wait.
#[derive(Clone, Default)]
pub(super) struct WaitingClient {
    shutdown: CancellationToken,
    progress: Option<(Peer<RoleServer>, ProgressToken)>,
}

impl WaitingClient {
    /// Returns the client of a request. `shutdown` ends its wait.
    pub fn of(context: &RequestContext<RoleServer>, shutdown: CancellationToken) -> Self {
        let token = context.meta.get_progress_token();
        Self { shutdown, progress: token.map(|token| (context.peer.clone(), token)) }
    }

    /// Waits for a time, or until the server ends. Notifies a client that asked for progress.
    pub async fn wait(self, time: Duration) {
        tokio::select! {
            () = sleep(time) => {}
            () = self.shutdown.cancelled() => {}
            () = notify(self.progress, time) => {}
        }
    }
}

/// Notifies a client of the progress of a wait; does not end.
async fn notify(client: Option<(Peer<RoleServer>, ProgressToken)>, time: Duration) {
    let Some((peer, token)) = client else { return pending().await };
    let begun = Instant::now();
    loop {
        sleep(PROGRESS_EVERY).await;
        let progress = ProgressNotificationParam::new(token.clone(), begun.elapsed().as_secs_f64())
            .with_total(time.as_secs_f64())
            .with_message("waiting");
        if peer.notify_progress(progress).await.is_err() {
            return pending().await;
        }
    }
}

/// Returns true if a call with these arguments may wait. The name of the tool may have a prefix.
pub(super) fn may_wait(tool: &str, arguments: Option<&JsonObject>) -> bool {
    let seconds = arguments.and_then(|given| given.get(WAIT_SECONDS)).and_then(Value::as_f64);
    tool.ends_with(ASK_HUMAN)
        || tool.ends_with(ANALYZE_ISSUE)
        || seconds.is_some_and(|seconds| seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::{Arc, Mutex};

    use serde_json::json;
    use tokio::sync::watch;
    use tokio::task::JoinSet;

    use super::*;
    use crate::run_call::run_call;
    use crate::testing::{self, file_issue};
    use ait_domain::{AgentName, ClaimProof, Facts, IssueId};
    use ait_store::testing::TestStore;
    use ait_tracker::{ClaimKind, Claimant, Tracker};

    const AGENTS: usize = 32;
    const ISSUES: u64 = 48;
    const HOUR: Duration = Duration::from_secs(3_600);
    const LONGEST_WAIT: Duration = Duration::from_secs(600);
    /// When the server is restarted, and for how long it is away.
    const RESTARTS: [Duration; 2] = [Duration::from_secs(1_300), Duration::from_secs(2_500)];
    const AWAY: Duration = Duration::from_secs(7);

    /// How an idle agent waits.
    #[derive(Clone, Copy, PartialEq, Debug)]
    enum Waits {
        /// In `ait next --wait`, in a background shell.
        InAShell,
        /// In calls of a tool.
        InCalls,
    }

    /// The server, as long as it runs.
    type Running = watch::Receiver<Option<(Tracker, CancellationToken)>>;

    /// What the agents did.
    #[derive(Default)]
    struct Deeds {
        /// The commands and calls with which each agent waited: each is a turn of its model.
        turns: BTreeMap<usize, usize>,
        /// Who got which issue, and when.
        claims: Vec<(IssueId, usize, Instant)>,
    }

    fn name(agent: usize) -> AgentName {
        format!("agent {agent}").try_into().unwrap()
    }

    /// Waits once; `None` if that found nothing.
    async fn wait(
        waits: Waits,
        store: &Tracker,
        mut server: Running,
        agent: usize,
    ) -> Option<IssueId> {
        if waits == Waits::InAShell {
            let waited = store.wait_for_next(ClaimKind::Work(None), name(agent), pending()).await;
            return waited.unwrap().map(|claimed| claimed.issue.id);
        }
        // The client connects again by itself, which is no turn.
        let (tracker, shutdown) = server.wait_for(Option::is_some).await.unwrap().clone().unwrap();
        let waiting = WaitingClient { shutdown, progress: None };
        let arguments = json!({ "agent": name(agent).as_str(), "wait_seconds": 600 });
        let call = testing::call(&tracker, "get_next_issue", arguments, waiting);
        let cancelled = CancellationToken::new();
        run_call(call, &cancelled, None).await.ok().unwrap().issue
    }

    /// Waits again and again, and completes at once what it gets.
    async fn work(
        waits: Waits,
        store: Tracker,
        server: Running,
        agent: usize,
        deeds: Arc<Mutex<Deeds>>,
    ) {
        loop {
            *deeds.lock().unwrap().turns.entry(agent).or_default() += 1;
            if let Some(issue) = wait(waits, &store, server.clone(), agent).await {
                deeds.lock().unwrap().claims.push((issue, agent, Instant::now()));
                let done = "done".try_into().unwrap();
                let proof = ClaimProof::default();
                store
                    .complete_issue(issue.into(), done, name(agent), proof, Facts::default())
                    .await
                    .unwrap();
            }
        }
    }

    /// Runs the server for an hour, and ends it.
    async fn serve(
        store: Arc<TestStore>,
        running: watch::Sender<Option<(Tracker, CancellationToken)>>,
    ) {
        let begun = Instant::now();
        for until in RESTARTS.into_iter().chain([HOUR]) {
            let shutdown = CancellationToken::new();
            let tracker = Tracker::new(store.clone()).for_claimant(Claimant::Name);
            tokio::spawn({
                let tracker = tracker.clone();
                let end = shutdown.clone();
                async move { tracker.watch_leases(end).await }
            });
            running.send_replace(Some((tracker, shutdown.clone())));
            tokio::time::sleep_until(begun + until).await;
            running.send_replace(None);
            shutdown.cancel();
            sleep(AWAY).await;
        }
    }

    /// The clock is simulated: it goes on when all wait.
    #[tokio::test(start_paused = true)]
    async fn idle_agents_need_no_turn_for_an_hour_and_two_restarts() {
        for waits in [Waits::InAShell, Waits::InCalls] {
            let begun = Instant::now();
            let store = Arc::new(TestStore::default());
            let tracker = Tracker::new(store.clone());
            let (running, server) = watch::channel(None);
            let deeds = Arc::<Mutex<Deeds>>::default();
            let mut tasks = JoinSet::new();
            tasks.spawn(serve(store.clone(), running));
            for agent in 0..AGENTS {
                // Each command is a process of its own.
                let own = Tracker::new(store.clone());
                tasks.spawn(work(waits, own, server.clone(), agent, Arc::clone(&deeds)));
            }
            // Some of them while the server is away.
            let mut times: Vec<_> =
                (0..ISSUES).map(|n| Duration::from_secs(n * 73 + n * n % 7)).collect();
            times.extend(RESTARTS.map(|at| at + AWAY / 2));
            times.sort_unstable();
            let mut filed = BTreeMap::new();
            for time in times {
                tokio::time::sleep_until(begun + time).await;
                filed.insert(file_issue(&tracker).await.id, Instant::now());
            }
            tokio::time::sleep_until(begun + HOUR - Duration::from_secs(1)).await;
            tasks.shutdown().await;

            let Deeds { turns, claims } = std::mem::take(&mut *deeds.lock().unwrap());
            let claimed: BTreeSet<_> = claims.iter().map(|(issue, _, _)| *issue).collect();
            assert_eq!((claims.len(), claimed.len()), (filed.len(), filed.len()), "{waits:?}");
            for (issue, agent, at) in &claims {
                let latest = filed[issue] + Duration::from_millis(50);
                let is_away = RESTARTS.map(|down| begun + down..begun + down + AWAY);
                let back = is_away.into_iter().find(|away| away.contains(&filed[issue]));
                let back = back.filter(|_| waits == Waits::InCalls).map(|away| away.end);
                assert!(*at <= back.unwrap_or(latest), "agent {agent} woke late");
            }
            for (agent, turns) in turns {
                let got = claims.iter().filter(|(_, by, _)| *by == agent).count();
                // The wait that goes on; calls also end after their longest time, and with the server.
                let waits_for_nothing = match waits {
                    Waits::InAShell => 1,
                    Waits::InCalls => 1 + HOUR.as_secs() / LONGEST_WAIT.as_secs() + 2,
                };
                let most = got + usize::try_from(waits_for_nothing).unwrap();
                assert!(turns <= most, "agent {agent} had {turns} turns for {got} issues");
            }
        }
    }
}
