//! The clients that claims live with: who uses a tracker, and which clients are connected.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::Tracker;
use ait_domain::{AgentName, ClientId};
use ait_store::clients::{Clients, client_of_name};

/// Who uses a tracker, and with what its claims live.
#[derive(Clone, Default)]
pub enum Claimant {
    /// A person or a script on the command line. Its claims do not lapse.
    #[default]
    Cli,
    /// A command whose claims lapse this long after the last such command of the same agent.
    CliWithTtl(Duration),
    /// The client of this process over stdio. The id is made with the first claim.
    Process(ProcessClient),
    /// A session over HTTP. Its claims live while it is connected, or called within the time for silent clients.
    Session(ClientId),
    /// A client over HTTP without a session: all calls under one name are one client.
    Name,
}

/// The client over stdio.
#[derive(Clone, Default)]
pub struct ProcessClient(Arc<OnceLock<ClientId>>);

impl ProcessClient {
    /// Returns the client, if it is registered.
    pub(super) fn registered(&self) -> Option<&ClientId> {
        self.0.get()
    }

    /// Returns the client, and registers it first if it is not known yet.
    fn begin(&self, clients: &dyn Clients) -> io::Result<ClientId> {
        let known = self.0.get().cloned().map_or_else(|| clients.begin_process(), Ok)?;
        let first = self.0.get_or_init(|| known.clone()).clone();
        if first != known {
            // Two first claims at the same time.
            clients.end(&known);
        }
        Ok(first)
    }
}

/// The clients over HTTP that are connected, with the number of their connections. Those that were connected since the
/// last renewal have none.
#[derive(Clone, Default)]
pub(super) struct HttpClients(Arc<Mutex<HashMap<ClientId, usize>>>);

/// A connection of a client. The client lives while there is one.
pub struct ConnectionGuard {
    connected: HttpClients,
    client: ClientId,
}

impl HttpClients {
    fn counts(&self) -> MutexGuard<'_, HashMap<ClientId, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the clients that are connected, or were since the last call of this method.
    pub(super) fn take_recent(&self) -> Vec<ClientId> {
        let mut counts = self.counts();
        let recent = counts.keys().cloned().collect();
        counts.retain(|_, connections| *connections > 0);
        recent
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        if let Some(count) = self.connected.counts().get_mut(&self.client) {
            *count -= 1;
        }
    }
}

impl Tracker {
    /// Returns a tracker for another claimant. Both share everything else.
    pub fn for_claimant(&self, claimant: Claimant) -> Self {
        Self { claimant, ..self.clone() }
    }

    /// Returns true if a person or a script uses the tracker on the command line.
    pub(super) fn is_cli(&self) -> bool {
        matches!(self.claimant, Claimant::Cli | Claimant::CliWithTtl(_))
    }

    /// Returns true if this process is registered as a client already. Sessions and names are renewed at each claim, so
    /// it is never true for them.
    pub(super) fn has_process_client(&self) -> bool {
        matches!(&self.claimant, Claimant::Process(ProcessClient(client)) if client.get().is_some())
    }

    /// Records that a session over HTTP is connected, until the result is dropped.
    pub fn connect(&self, client: ClientId) -> ConnectionGuard {
        let connected = self.connected.clone();
        *connected.counts().entry(client.clone()).or_default() += 1;
        ConnectionGuard { connected, client }
    }

    /// Records that a client has ended. Its claims lapse after the grace period, unless their agents come back.
    pub async fn end_client(&self, client: ClientId) {
        self.with_clients(move |clients| clients.end(&client)).await;
    }

    /// Records the end of this process's client over stdio.
    pub async fn end_process(&self) {
        if let Claimant::Process(ProcessClient(client)) = &self.claimant
            && let Some(client) = client.get()
        {
            self.end_client(client.clone()).await;
        }
    }

    /// Returns the client with which a claim of an agent lives, and renews it. `None` if the claim does not lapse.
    pub(super) async fn client_for(&self, agent: &AgentName) -> Option<ClientId> {
        if self.claims.grace.is_zero() {
            return None;
        }
        let client = match &self.claimant {
            Claimant::Cli => return None,
            Claimant::Process(process) => {
                if let Some(client) = process.registered() {
                    return Some(client.clone());
                }
                let process = process.clone();
                self.with_clients(move |clients| process.begin(clients).map(Some)).await
            }
            Claimant::Session(client) => self.renewed(client.clone()).await,
            Claimant::Name | Claimant::CliWithTtl(_) => {
                self.renewed(client_of_name(agent.as_str())).await
            }
        };
        match client {
            Some(Ok(client)) => client,
            Some(Err(error)) => {
                tracing::warn!(
                    "claims of {agent} will not lapse, because its client cannot be registered: {error}"
                );
                None
            }
            None => None,
        }
    }

    /// Renews a client that is known by a name, and returns it; `None` if its claims do not lapse.
    async fn renewed(&self, client: ClientId) -> Option<io::Result<Option<ClientId>>> {
        let ttl = self.ttl();
        if ttl.is_zero() {
            return Some(Ok(None));
        }
        self.with_clients(move |clients| clients.renew(&client, ttl).map(|()| Some(client))).await
    }

    /// Returns how long a client that is known by a name lives without a call.
    pub(super) fn ttl(&self) -> Duration {
        match self.claimant {
            Claimant::CliWithTtl(ttl) => ttl,
            _ => self.claims.ttl,
        }
    }

    /// Runs work on the registry of clients, on a thread that may wait for the disk. `None` if it panicked.
    pub(super) async fn with_clients<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Clients) -> T + Send + 'static,
    ) -> Option<T> {
        let clients = self.store.clients();
        spawn_blocking(move || work(&*clients)).await.ok()
    }
}
