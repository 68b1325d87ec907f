//! The interface for agents: an MCP server with the lifecycle tools, prompts and resources.
//!
//! Knows the tracker, the domain and the context of a store; no HTML, and nothing of how issues are stored.
//!
//! # The files
//!
//! * `stdio.rs`, `http/`, `message.rs`, `invalid_params.rs`: the transports, messages, and parameters that cannot be
//!   parsed
//! * `server.rs`, `identity.rs`, `call_log.rs`: requests and their answers; what the server says of itself; one log
//!   line for each call
//! * `run_call.rs`, `delivery.rs`: run a call, and hold its claim until the response is sent
//! * `request_context.rs`, `sessions.rs`: what a request carries besides its message; the sessions of older clients
//!   over HTTP
//! * `asking.rs`, `elicitation.rs`: requests to a client; the form for its person
//! * `waiting.rs`: what ends a wait for a claim, and progress meanwhile
//! * `client_tools.rs`: what a client may call, by its toolsets, its role and its token
//! * `options.rs`, `tool_names.rs`, `context.rs`: toolsets, the form and the budget of replies; the prefix of tools;
//!   the project, found when it is first needed
//! * `tools/`, `schema.rs`, `arguments.rs`: one file for each tool; input schemas, and the check of arguments against
//!   them. `tools/filters.rs` has the parameters that narrow, `tools/planned.rs` what tools share that write files,
//!   `tools/memory.rs` rows of entries and what an agent learned
//! * `reply/mod.rs`, `reply/compact.rs`: from what a tool found to a text, as JSON or compact
//! * `reply/neighbours.rs`, `reply/budget.rs`, `reply/issue_pages.rs`, `reply/trim.rs`: the issues around an issue; the
//!   estimate of tokens; a long issue in pages; a report that is cut
//! * `result.rs`: the outcome of a call: `Success` becomes `Answer`, or `Failure` with its code
//! * `prompts/`, `skills.rs`, `resources/`, `completion.rs`, `subscriptions.rs`, `instructions.rs`: the rest of the
//!   protocol; `texts.rs`: the texts that a project may replace
//!
//! Tools write no text of an issue or a list themselves: they return a `Reply`, and `ReplyOptions::write` alone knows
//! the form, the selected fields and the budget. Prompts and resources with issues and reports use it, too.

mod arguments;
mod asking;
mod call_log;
mod client_tools;
mod completion;
mod context;
mod delivery;
mod elicitation;
pub mod http;
mod identity;
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
pub mod texts;
mod tool_names;
mod tools;
mod waiting;

pub use context::ServerContext;
pub use options::McpOptions;
pub use server::McpServer;
pub use tools::registry::NAMES as TOOLS;

use ait_domain::text::shortened;

/// How long clients may cache responses that do not depend on the client and change only with the server version.
const FIXED_TTL_MS: u64 = 3_600_000;

/// Returns a given value, shortened for an error message.
fn shown(given: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    shortened(given, SHOWN_CHARS)
}
