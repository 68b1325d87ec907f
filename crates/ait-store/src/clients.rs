//! The clients that hold claims: who they are, and which of them live.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::files::support::lock;
use ait_domain::ClientId;

/// The clients that hold claims of a store, known to all its processes.
///
/// A client is a process, which lives until it ends, or it lives for a time after each [renewal](Self::renew): a
/// session over HTTP, or the name of an agent. The calls may wait for a disk.
pub trait Clients: Send + Sync {
    /// Registers this process as a client. It lives until it [ends](Self::end), or until the process ends, however that
    /// happens and however long it is silent.
    fn begin_process(&self) -> io::Result<ClientId>;

    /// Records that a client lives, and will for `ttl` without another renewal. A client that [ended](Self::end) stays
    /// gone.
    fn renew(&self, client: &ClientId, ttl: Duration) -> io::Result<()>;

    /// Records that a client has ended.
    fn end(&self, client: &ClientId);

    /// Returns for how long a client has been gone, since a process first noticed; `None` if it lives. The time does
    /// not count while the machine is suspended, and begins again after a restart of the machine.
    ///
    /// # Errors
    ///
    /// The registry cannot be read or written. Then the client must be taken for alive.
    fn gone_for(&self, client: &ClientId) -> io::Result<Option<Duration>>;

    /// Returns for how long each of some clients has been gone; `None` for those that live or cannot be examined.
    fn all_gone_for(&self, clients: &[ClientId]) -> Vec<Option<Duration>> {
        clients.iter().map(|client| self.gone_for(client).unwrap_or_default()).collect()
    }

    /// Returns how often a server looks for clients that are gone.
    fn look_every(&self) -> Duration {
        Duration::from_secs(1)
    }

    /// Forgets the clients that are gone, except those in `needed`.
    fn forget_gone(&self, needed: &dyn Fn(&ClientId) -> bool);
}

/// Returns the id of the client that is all callers with one name.
pub fn client_of_name(name: &str) -> ClientId {
    use xxhash_rust::xxh3::xxh3_64;
    ClientId::new(&format!("name-{:016x}", xxh3_64(name.as_bytes())))
}

/// The clients of a store in memory.
#[derive(Debug, Default)]
pub struct MemoryClients(Mutex<HashMap<ClientId, Presence>>);

#[derive(Debug)]
enum Presence {
    Process,
    Until(Instant),
    GoneSince(Instant),
    EndedAt(Instant),
}

impl MemoryClients {
    fn clients(&self) -> MutexGuard<'_, HashMap<ClientId, Presence>> {
        lock(&self.0)
    }
}

impl Clients for MemoryClients {
    fn begin_process(&self) -> io::Result<ClientId> {
        let client = ClientId::new(&format!("process-{}", Uuid::new_v4().simple()));
        self.clients().insert(client.clone(), Presence::Process);
        Ok(client)
    }

    fn renew(&self, client: &ClientId, ttl: Duration) -> io::Result<()> {
        let now = Instant::now();
        // A time that never comes is as good as no limit.
        let until = now.checked_add(ttl).map_or(Presence::Process, Presence::Until);
        let mut clients = self.clients();
        if !matches!(clients.get(client), Some(Presence::EndedAt(_))) {
            clients.insert(client.clone(), until);
        }
        Ok(())
    }

    fn end(&self, client: &ClientId) {
        self.clients().insert(client.clone(), Presence::EndedAt(Instant::now()));
    }

    fn gone_for(&self, client: &ClientId) -> io::Result<Option<Duration>> {
        let now = Instant::now();
        let mut clients = self.clients();
        let presence = clients.entry(client.clone()).or_insert(Presence::GoneSince(now));
        if matches!(presence, Presence::Until(until) if *until <= now) {
            *presence = Presence::GoneSince(now);
        }
        Ok(match presence {
            Presence::Process | Presence::Until(_) => None,
            Presence::GoneSince(since) | Presence::EndedAt(since) => {
                Some(now.saturating_duration_since(*since))
            }
        })
    }

    fn forget_gone(&self, needed: &dyn Fn(&ClientId) -> bool) {
        self.clients().retain(|client, presence| {
            matches!(presence, Presence::Process | Presence::Until(_)) || needed(client)
        });
    }
}
