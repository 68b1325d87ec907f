//! The clients to set up: those that the user names, else those in use.

use std::path::Path;

use super::{CLIENTS, Client, HostEnv};

/// A client to set up.
#[derive(Clone, Debug)]
pub struct FoundClient {
    /// The client.
    pub client: &'static Client,
    /// What shows that it is in use; `None` if the user named it.
    pub why: Option<String>,
}

impl FoundClient {
    /// Finds the clients in use.
    pub fn in_use(root: &Path, env: &HostEnv) -> Vec<Self> {
        let traced = |client: &'static Client| {
            client.trace(root, env).map(|why| Self { client, why: Some(why) })
        };
        CLIENTS.iter().filter_map(traced).collect()
    }

    /// Returns named clients, each once.
    pub fn named(clients: &[&'static Client]) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for client in clients {
            if found.iter().all(|known| known.client.name != client.name) {
                found.push(Self { client, why: None });
            }
        }
        found
    }
}
