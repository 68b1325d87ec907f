//! Random histories of the model, replayed on a real store and the real registry of clients. After each step, both must
//! agree on the outcome, on the holders, numbers and clients of claims, and on how long clients have been gone.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::mem::discriminant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_issue_tracker::domain::{
    AgentName, ClaimTerms, Classification, ClientId, Command, CommentText, Facts, RequiredClaim,
    Status,
};
use agent_issue_tracker::store::clients::Clients;
use agent_issue_tracker::store::file_clients::{BootTime, FileClients};
use agent_issue_tracker::store::{SqliteStore, State as StoreState, Store, StoreError};
use proptest::prelude::*;
use proptest::sample::Index;
use tokio::runtime::Runtime;

use super::protocol::{
    Action, Answer, Client, Fault, GRACE, Issue, Outcome, Protocol, State, agent_of, is_session,
};
use crate::support::commands::{add, at, number};
use crate::support::stores::WholeState;
use crate::support::{directory_in_memory, until};

/// The duration of a tick.
const TICK: Duration = Duration::from_secs(1_000);
/// Longer than a tick, so that a session stays live if it is renewed with each tick.
pub(super) const TTL: Duration = Duration::from_secs(1_500);
/// Longer than the time to live of sessions and than the grace period.
const PAUSE: Duration = Duration::from_secs(10_000);

/// A store and its registry of clients. The test controls their time.
pub(super) trait World {
    fn store(&self) -> &dyn Store;
    /// Returns the registry of a process that is none of the clients.
    fn observer(&self) -> &dyn Clients;
    /// Registers a client.
    fn begin(&mut self, client: Client) -> ClientId;
    /// Renews a client, as a caller does before it claims or takes up.
    fn renew(&self, client: Client, id: &ClientId);
    fn pass(&self, time: Duration);
    /// Kills a process, or lets a session expire.
    fn die(&mut self, client: Client, id: &ClientId);
}

/// A store in SQLite, and a registry of clients in files.
struct Files {
    directory: tempfile::TempDir,
    now_ms: Arc<AtomicU64>,
    store: SqliteStore,
    observer: FileClients,
    /// The server of all sessions.
    server: FileClients,
    /// The registries of live processes, by client.
    processes: BTreeMap<Client, FileClients>,
}

impl Files {
    fn new() -> Self {
        let (directory, now_ms) = (directory_in_memory(), Arc::new(AtomicU64::new(1)));
        let registry = || Self::registry(&directory, &now_ms);
        let (observer, server) = (registry(), registry());
        let store = SqliteStore::new(directory.path().join("issues.json"));
        let processes = BTreeMap::new();
        Self { directory, now_ms, store, observer, server, processes }
    }

    fn registry(directory: &tempfile::TempDir, now_ms: &Arc<AtomicU64>) -> FileClients {
        let (path, now_ms) = (directory.path().to_owned(), Arc::clone(now_ms));
        let now = move || BootTime { boot: "b".to_owned(), ms: now_ms.load(Ordering::Relaxed) };
        FileClients::with_clock(move || Ok(path.clone()), Arc::new(now))
    }
}

impl World for Files {
    fn store(&self) -> &dyn Store {
        &self.store
    }

    fn observer(&self) -> &dyn Clients {
        &self.observer
    }

    fn begin(&mut self, client: Client) -> ClientId {
        if is_session(client) {
            let id = ClientId::new(&format!("session-{client}"));
            self.renew(client, &id);
            return id;
        }
        let process = Self::registry(&self.directory, &self.now_ms);
        let id = process.begin_process().unwrap();
        self.processes.insert(client, process);
        id
    }

    fn renew(&self, client: Client, id: &ClientId) {
        if is_session(client) {
            self.server.renew(id, TTL).unwrap();
        }
    }

    fn pass(&self, time: Duration) {
        self.now_ms.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }

    fn die(&mut self, client: Client, id: &ClientId) {
        let file = self.directory.path().join(id.as_str());
        if is_session(client) {
            std::fs::remove_file(file).unwrap();
            return;
        }
        drop(self.processes.remove(&client).unwrap());
        // A child process of another test inherits the lock, and holds it until it calls execve(2).
        let file = File::open(file).unwrap();
        until("the lock is released", || file.try_lock_shared().is_ok());
    }
}

struct Replay<W> {
    world: W,
    clients: Vec<ClientId>,
    /// The lapse that the observer is about to make.
    lapse: Option<Command>,
    steps: i64,
}

fn name(agent: usize) -> AgentName {
    AgentName::try_from(format!("agent-{agent}")).unwrap()
}

fn issue_id(issue: usize) -> agent_issue_tracker::domain::IssueId {
    number(u32::try_from(issue).unwrap())
}

impl<W: World> Replay<W> {
    async fn start(protocol: &Protocol, mut world: W) -> Self {
        let clients = (0..2 * protocol.agents).map(|client| world.begin(client)).collect();
        for issue in 0..protocol.issues {
            let filed = add(u32::try_from(issue).unwrap(), Classification::Bug);
            world.store().commit(vec![filed], at(0)).await.unwrap();
        }
        Self { world, clients, lapse: None, steps: 0 }
    }

    fn renew(&self, client: Client) {
        self.world.renew(client, &self.clients[client]);
    }

    /// Commits a command. Returns the outcome.
    async fn commit(&mut self, command: Command) -> Outcome {
        let before = self.state().await.position;
        // The wall clock jumps all the time.
        let now = at((self.steps * 7919) % 1_000_000);
        match self.world.store().commit(vec![command], now).await {
            Ok(_) if self.state().await.position == before => Outcome::Unchanged,
            Ok(_) => Outcome::Done,
            Err(StoreError::Refused(_)) => Outcome::Refused,
            Err(error) => panic!("{error}"),
        }
    }

    async fn state(&self) -> StoreState {
        self.world.store().state().await.unwrap()
    }

    async fn act(&mut self, action: &Action, model: &State) -> Outcome {
        self.steps += 1;
        match action {
            Action::Claim { client, issue } => {
                self.renew(*client);
                let terms = ClaimTerms {
                    client: Some(self.clients[*client].clone()),
                    ..ClaimTerms::default()
                };
                let (issue, agent) = (Some(issue_id(*issue).into()), name(agent_of(*client)));
                return self
                    .commit(Command::GetNextIssue { issue, classification: None, agent, terms })
                    .await;
            }
            Action::Answer { issue, answer } => return self.commit(answered(*issue, answer)).await,
            Action::TakeUp { client, issue } => {
                self.renew(*client);
                let from = model.issues[*issue].held.unwrap();
                assert!(self.world.observer().gone_for(&self.clients[from]).unwrap().is_some());
                let [from, to] = [from, *client].map(|client| self.clients[client].clone());
                let (issue, agent) = (issue_id(*issue), name(agent_of(*client)));
                return self.commit(Command::TakeUpClaim { issue, agent, from, to }).await;
            }
            Action::Die(client) => self.world.die(*client, &self.clients[*client]),
            Action::ComeBack(client) => self.renew(*client),
            Action::Notice(client) => {
                self.world.observer().gone_for(&self.clients[*client]).unwrap();
            }
            Action::FindDue(issue) => return self.find_due(*issue, model).await,
            Action::Lapse => {
                let lapse = self.lapse.take().unwrap();
                return self.commit(lapse).await;
            }
            Action::Tick => {
                self.world.pass(TICK);
                for client in 0..self.clients.len() {
                    if !model.clients[client].is_dead {
                        self.renew(client);
                    }
                }
            }
            Action::Pause => self.world.pass(PAUSE),
            Action::Jump => self.steps += 100_003,
        }
        Outcome::Done
    }

    /// Checks a claim as `lapse_abandoned` does. The model decides about the rest after a pause.
    async fn find_due(&mut self, issue: usize, model: &State) -> Outcome {
        let state = self.state().await;
        let id = issue_id(issue);
        let client = state.issues.lease(id).unwrap().client.clone();
        let gone = self.world.observer().gone_for(&client).unwrap();
        if model.is_resting() || gone.is_none_or(|gone| gone < TICK * GRACE.into()) {
            return Outcome::Refused;
        }
        let entry = state.issues.get(id).unwrap().claim_entry().unwrap();
        let (client, reason) = (Some(client), "gone".to_owned());
        self.lapse = Some(Command::LapseClaim { issue: id, entry, client, reason });
        Outcome::Done
    }

    /// Compares everything that the store and the model know.
    async fn assert_agrees(&self, model: &State) {
        let state = self.state().await;
        for (index, issue) in model.issues.iter().enumerate() {
            let stored = state.issues.get(issue_id(index)).unwrap();
            assert_eq!(stored.claim_number(), issue.claims.len());
            let holder = stored.holder().map(|holder| holder.agent.to_owned());
            let expected = issue.held.map(|client| name(agent_of(client)).as_str().to_owned());
            assert_eq!(holder, expected);
            assert_eq!(stored.status, status(issue));
            let lease = state.issues.lease(issue_id(index)).cloned();
            assert_eq!(
                lease.as_ref().map(|lease| lease.claim),
                issue.held.map(|_| issue.claims.len())
            );
            assert_eq!(
                lease.map(|lease| lease.client),
                issue.held.map(|client| self.clients[client].clone())
            );
        }
        for (client, presence) in model.clients.iter().enumerate() {
            let holds = model.issues.iter().any(|issue| issue.held == Some(client));
            // Asking for a gone client that has no mark would write one.
            if holds && (presence.mark.is_some() || !presence.seems_gone()) {
                let gone = self.world.observer().gone_for(&self.clients[client]).unwrap();
                let ticks = gone.map(|gone| gone.as_secs() / TICK.as_secs());
                assert_eq!(
                    ticks.map(|ticks| ticks.min(GRACE.into())),
                    presence.mark.map(u64::from),
                    "{client}"
                );
            }
        }
    }
}

fn status(issue: &Issue) -> Status {
    match () {
        () if issue.held.is_some() => Status::InProgress,
        () if issue.is_ready() => Status::Created,
        () => Status::Completed,
    }
}

fn answered(issue: usize, answer: &Answer) -> Command {
    let (issue, agent) = (issue_id(issue).into(), name(answer.agent));
    let comment = CommentText::try_from("done").unwrap();
    let required_claim = answer.number.map_or(RequiredClaim::Holder, RequiredClaim::Number).into();
    if answer.completes {
        Command::CompleteIssue { issue, comment, agent, required_claim, facts: Facts::default() }
    } else {
        Command::ReturnIssue { issue, comment, agent, required_claim }
    }
}

/// Picks the kind of an action first, because most actions are answers.
fn pick(actions: Vec<Action>, (kind, index): &(Index, Index)) -> Action {
    let mut kinds: Vec<_> = actions.iter().map(discriminant).collect();
    let mut known = HashSet::new();
    kinds.retain(|kind| known.insert(*kind));
    let kind = *kind.get(&kinds);
    let of_kind: Vec<_> =
        actions.into_iter().filter(|action| discriminant(action) == kind).collect();
    index.get(&of_kind).clone()
}

pub(super) async fn replay(world: impl World, choices: &[(Index, Index)]) {
    let protocol = Protocol { issues: 2, agents: 3, claims: 8, fault: Fault::Nothing };
    let (mut model, mut replay) = (protocol.start(), Replay::start(&protocol, world).await);
    let mut history = Vec::new();
    for choice in choices {
        let action = pick(protocol.actions(&model), choice);
        history.push(action.clone());
        let outcome = replay.act(&action, &model).await;
        let expected = protocol.step(&mut model, &action).unwrap();
        assert_eq!(outcome, expected, "{history:?}");
        replay.assert_agrees(&model).await;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn store_and_registry_follow_the_model(choices in prop::collection::vec(any::<(Index, Index)>(), 1..150)) {
        Runtime::new().unwrap().block_on(replay(Files::new(), &choices));
    }
}
