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

pub use ait_cli as cli;
pub use ait_doctor as doctor;
pub use ait_domain as domain;
pub use ait_hooks as hooks;
pub use ait_http as http;
use ait_http::port_probe;
pub use ait_http::{logging, metrics, processes, token_file};
pub use ait_interchange as interchange;
pub use ait_language as language;
pub use ait_mcp as mcp;
pub use ait_query as query_language;
pub use ait_query::field_selection;
pub use ait_setup as setup;
pub use ait_setup::setting;
pub use ait_store as store;
pub use ait_sync as sync;
use ait_system::{git, small_file};
pub use ait_tracker as tracker;
use ait_tracker::hints;
pub use ait_tracker::{activity, query_handles, read_model};
pub use ait_web as web;
pub use ait_worktrees as worktrees;

pub mod app;
pub mod config;
