//! The face for agents: an MCP server with the lifecycle tools, and with prompts and resources beside them.
//!
//! Knows the tracker, the domain, and what is around a store; no HTML, and nothing of how issues are kept.

mod arguments;
mod completion;
mod delivery;
pub mod http;
mod instructions;
mod misshapen;
mod news;
mod prompts;
mod resources;
mod result;
mod row;
mod schema;
pub mod server;
pub mod stdio;
mod surroundings;
#[cfg(test)]
mod testing;
mod tools;

pub use server::McpServer;
pub use surroundings::Surroundings;

use crate::domain::text::shortened;

/// How long clients may keep what is the same for everybody and changes only with the version of the server.
const FIXED_TTL_MS: u64 = 3_600_000;

/// As much of a wrong value as an error repeats.
fn shown(given: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    shortened(given, SHOWN_CHARS)
}
