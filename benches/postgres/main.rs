//! The cost of the PostgreSQL store, compared with plain SQL on the same server in the same run.
//!
//! ```text
//! cargo bench -p benches --bench postgres              every part; about ten minutes
//! cargo bench -p benches --bench postgres -- claims    one part: claims, sizes, load or watch
//! ```
//!
//! See `benches/README.md` for the parts and for results. The benchmark starts its own server, as the tests do, and
//! stops it at the end.

mod claims;
mod load;
mod plain;
mod project;
mod sizes;
mod watch;
mod worker;

#[expect(dead_code, reason = "only the tests use the rest")]
#[path = "../../tests/it/support/postgres.rs"]
mod server;

use std::time::Duration;

use self::server::Server;

/// The time limit for the start of the server.
const PATIENCE: Duration = Duration::from_secs(60);

/// A part of the report, which prints its table.
type Part = fn(&Server);

const PARTS: [(&str, Part); 4] = [
    ("claims", claims::report),
    ("sizes", sizes::report),
    ("load", load::report),
    ("watch", watch::report),
];

/// The number of clients of one server, and of processes that claim concurrently.
const CLIENTS: usize = 32;

fn main() {
    if worker::run() {
        return;
    }
    let is_named = |name: &str| std::env::args().any(|argument| argument == name);
    let is_any_named = PARTS.iter().any(|(name, _)| is_named(name));
    let Some(server) = Server::start(&["max_wal_size=4GB"]) else { return };
    for (_, part) in PARTS.iter().filter(|(name, _)| !is_any_named || is_named(name)) {
        part(&server);
    }
}
