//! The clients to set up: those that the user names, else those in use.

use std::path::Path;

use super::{CLIENTS, Client, HostEnv};

/// A client to set up.
#[derive(Clone, Debug)]
pub struct FoundClient {
    pub client: &'static Client,
    /// What shows that it is in use; `None` if the user named it.
    pub why: Option<String>,
    /// Whether files of the project show it.
    pub is_of_project: bool,
}

impl FoundClient {
    /// Finds the clients that the project uses; if there are none, those on the machine.
    pub fn in_use(root: &Path, env: &HostEnv) -> Vec<Self> {
        let found = |is_of_project: bool| {
            CLIENTS.iter().filter_map(move |client| {
                let why = if is_of_project {
                    client.trace_in_project(root)?
                } else {
                    client.trace_on_machine(env)?
                };
                Some(Self { client, why: Some(why), is_of_project })
            })
        };
        let in_project: Vec<_> = found(true).collect();
        if in_project.is_empty() { found(false).collect() } else { in_project }
    }

    /// Returns named clients, each once.
    pub fn named(clients: &[&'static Client]) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for client in clients {
            if found.iter().all(|known| known.client.name != client.name) {
                found.push(Self { client, why: None, is_of_project: false });
            }
        }
        found
    }
}
