//! The random histories on a store in PostgreSQL, where the clock of the database times the clients.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use agent_issue_tracker::domain::ClientId;
use agent_issue_tracker::store::clients::Clients;
use agent_issue_tracker::store::{PostgresStore, Store};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use tokio::runtime::{Handle, Runtime};
use tokio::task::block_in_place;

use super::protocol::{Client, is_session};
use super::replay::{TTL, World, replay};
use crate::support::factor;
use crate::support::postgres::{Server, open};

/// A project in the database. The test moves its times back to let time pass. Clients renew through `server`.
struct Project {
    server: PostgresStore,
    clients: Arc<dyn Clients>,
    observer: Observer,
    schema: String,
    admin: tokio_postgres::Client,
    renewals: AtomicU64,
}

/// A registry that callers may use on a thread of the runtime.
struct Observer(Arc<dyn Clients>);

impl Clients for Observer {
    fn begin_process(&self) -> std::io::Result<ClientId> {
        block_in_place(|| self.0.begin_process())
    }

    fn renew(&self, client: &ClientId, ttl: Duration) -> std::io::Result<()> {
        block_in_place(|| self.0.renew(client, ttl))
    }

    fn end(&self, client: &ClientId) {
        block_in_place(|| self.0.end(client));
    }

    fn gone_for(&self, client: &ClientId) -> std::io::Result<Option<Duration>> {
        block_in_place(|| self.0.gone_for(client))
    }

    fn all_gone_for(&self, clients: &[ClientId]) -> Vec<Option<Duration>> {
        block_in_place(|| self.0.all_gone_for(clients))
    }

    fn forget_gone(&self, needed: &dyn Fn(&ClientId) -> bool) {
        block_in_place(|| self.0.forget_gone(needed));
    }
}

impl Project {
    async fn new(database: &Server) -> Self {
        let url = &database.project();
        let server = open(url);
        server.make_schema().await.unwrap();
        let admin = database.connect().await;
        let schema = url.split_once("schema=").unwrap().1.to_owned();
        let (clients, observer) = (server.clients(), Observer(open(url).clients()));
        Self { server, clients, observer, schema, admin, renewals: AtomicU64::new(0) }
    }

    /// Updates the clients that meet a condition.
    fn set(&self, change: &str, condition: &str, time: Duration) {
        let back = format!("{} * interval '1 millisecond'", time.as_millis());
        let change = change.replace("{back}", &back);
        let statement = format!("UPDATE {}.clients SET {change} WHERE {condition}", self.schema);
        block_in_place(|| Handle::current().block_on(self.admin.batch_execute(&statement)))
            .unwrap();
    }
}

impl World for Project {
    fn store(&self) -> &dyn Store {
        &self.server
    }

    fn observer(&self) -> &dyn Clients {
        &self.observer
    }

    fn begin(&mut self, client: Client) -> ClientId {
        let kind = if is_session(client) { "session" } else { "process" };
        let id = ClientId::new(&format!("{kind}-{client}"));
        self.beat(&id);
        id
    }

    fn renew(&self, client: Client, id: &ClientId) {
        if is_session(client) {
            self.beat(id);
        }
    }

    /// Live processes renew themselves meanwhile, so their times stay the same.
    fn pass(&self, time: Duration) {
        let is_old = "client LIKE 'session-%' OR gone_since IS NOT NULL";
        self.set("seen = seen - {back}, gone_since = gone_since - {back}", is_old, time);
    }

    fn die(&mut self, _: Client, id: &ClientId) {
        self.set("seen = seen - {back}", &format!("client = '{id}'"), TTL * 2);
    }
}

impl Project {
    fn beat(&self, id: &ClientId) {
        // Each time to live differs, so that the registry does not skip the renewal as too early.
        let longer = self.renewals.fetch_add(1, Ordering::Relaxed);
        let ttl = TTL + Duration::from_millis(longer);
        block_in_place(|| self.clients.renew(id, ttl)).unwrap();
    }
}

/// Starts a separate server, because open transactions of other tests could delay the numbers of events.
fn database() -> Option<&'static Server> {
    static DATABASE: OnceLock<Option<Server>> = OnceLock::new();
    DATABASE.get_or_init(|| Server::start(&[])).as_ref()
}

/// The same histories each time, or random ones in the long tests.
fn seed() -> RngSeed {
    if factor() > 1 { RngSeed::Random } else { RngSeed::Fixed(1) }
}

proptest! {
    // There are few cases, because the server syncs each step to the disk.
    #![proptest_config(ProptestConfig {
        cases: 8, rng_seed: seed(), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn postgres_store_and_registry_follow_the_model(
        choices in prop::collection::vec(any::<(Index, Index)>(), 20..100),
    ) {
        if let Some(database) = database() {
            Runtime::new().unwrap().block_on(async {
                replay(Project::new(database).await, &choices).await;
            });
        }
    }
}
