//! One shared issue queue for a team of coding agents.
//!
//! Agents use an MCP server; people use web pages and a command line. They all share one store.
//!
//! `ARCHITECTURE.md` is the map of the modules.
//!
//! # Invariants
//!
//! * Every change takes one path: [`decide()`](domain::decide()) turns a [`Command`](domain::Command) into an
//!   [`Event`](domain::Event), and the store makes the event durable and applies it. No other code changes an issue.
//! * An operation is answered only after its change is on disk.
//! * A file that cannot be read is never overwritten.
//! * stdout belongs to the protocol, or to the output of a command. Everything else goes to stderr or the log
//!   file.

#[cfg(not(unix))]
compile_error!("ait runs on Linux and macOS; on Windows, use WSL 2");

pub use ait_domain as domain;
use ait_domain::json_compat;
pub use ait_interchange as interchange;
pub use ait_query as query_language;
pub use ait_query::field_selection;
use ait_query::time_arg;
pub use ait_setup as setup;
pub use ait_store as store;
pub use ait_sync as sync;
use ait_system::{git, shell, small_file, span};
pub use ait_tracker as tracker;
pub use ait_tracker::{activity, query_handles, read_model};

pub mod app;
pub mod cli;
pub mod config;
pub mod doctor;
mod hints;
pub mod hooks;
pub mod http;
pub mod logging;
pub mod mcp;
pub mod metrics;
mod port_probe;
pub mod processes;
pub mod setting;
pub mod token_file;
mod triage;
pub mod web;
pub mod worktrees;
