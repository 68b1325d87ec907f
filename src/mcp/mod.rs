//! The interface for agents: an MCP server with the lifecycle tools, prompts and resources.
//!
//! Knows the tracker, the domain and the context of a store; no HTML, and nothing of how issues are stored.

mod arguments;
mod call_log;
mod completion;
mod context;
mod delivery;
mod elicitation;
pub mod http;
mod instructions;
mod invalid_params;
mod message;
pub mod options;
mod prompts;
pub mod reply;
mod request_context;
mod resources;
mod result;
mod run_call;
mod schema;
pub mod server;
mod sessions;
mod skills;
pub mod stdio;
mod subscriptions;
#[cfg(test)]
mod testing;
mod tool_names;
mod tools;
mod undelivered_claim;
mod waiting;

pub use context::ServerContext;
pub use options::McpOptions;
pub use server::McpServer;

use crate::domain::text::shortened;

/// How long clients may cache responses that do not depend on the client and change only with the server version.
const FIXED_TTL_MS: u64 = 3_600_000;

/// Returns a given value, shortened for an error message.
fn shown(given: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    shortened(given, SHOWN_CHARS)
}
