//! One shared issue queue for a team of coding agents.
//!
//! Agents use an MCP server; people use web pages and a command line. They all share one store.
//!
//! # The map
//!
//! Modules appear in order of dependency: each knows only those above its row.
//!
//! | module | contents |
//! |---|---|
//! | [`domain`] | the issue and its lifecycle: pure values and rules |
//! | [`field_selection`] | the choice of fields that a reader gets of an issue |
//! | `hints` | the next step that an error message names, in the terms of tools or of commands |
//! | `small_file` | bounded reads of small text files |
//! | `json_compat` | JSON texts without parsing them: repairs lone UTF-16 surrogates, explains syntax errors |
//! | [`interchange`] | issues in files of other programs: JSON, JSON Lines, CSV, beads |
//! | [`store`] | storage: the trait, the state in memory, the JSON file and its log |
//! | [`tracker`] | the use cases, one method for each operation; the clock and the ids |
//! | [`activity`] | events, filtered and paged, and the issues at an earlier time |
//! | [`read_model`] | the read model: search, sort order, counts, boards, statistics |
//! | `triage` | the report on what is wrong in the queue, with the next steps |
//! | [`metrics`] | counters and histograms of this process, for Prometheus |
//! | [`http`] | the HTTP server: connections, limits, access control, tokens |
//! | [`token_file`] | the file with the tokens |
//! | `span` | durations as text |
//! | `time_arg` | times that users type |
//! | [`processes`] | the process registry: the live processes on one store |
//! | `port_probe` | the port probe: which process listens on a port |
//! | [`setting`] | a setting with its value and source |
//! | [`setup`] | the client configuration of a project: planned first, then written |
//! | [`hooks`] | git hooks: planned first, then written; and their actions |
//! | [`doctor`] | checks of a store and its environment, with remedies |
//! | [`mcp`], [`web`], [`cli`] | the interfaces: tools for agents, pages for people, commands for both |
//! | [`log`] | log lines on stderr or in a file |
//! | [`config`] | settings from arguments, the environment and files |
//! | [`app`] | wiring and shutdown order; the only module that constructs stores |
//!
//! # Invariants
//!
//! * Every change takes one path: [`rules::decide`](domain::rules::decide) turns a
//!   [`Command`](domain::Command) into an [`Event`](domain::Event), and the store makes the event durable and
//!   applies it. No other code changes an issue.
//! * An operation is answered only after its change is on disk.
//! * A file that cannot be read is never overwritten.
//! * stdout belongs to the protocol, or to the output of a command. Everything else goes to stderr or the log
//!   file.

#[cfg(not(unix))]
compile_error!("ait runs on Linux and macOS; on Windows, use WSL 2");

pub mod activity;
pub mod app;
pub mod cli;
pub mod config;
pub mod doctor;
pub mod domain;
pub mod field_selection;
mod hints;
pub mod hooks;
pub mod http;
pub mod interchange;
mod json_compat;
pub mod log;
pub mod mcp;
pub mod metrics;
mod port_probe;
pub mod processes;
pub mod query_handles;
pub mod query_language;
pub mod read_model;
pub mod setting;
pub mod setup;
mod small_file;
mod span;
pub mod store;
mod time_arg;
pub mod token_file;
pub mod tracker;
mod triage;
mod user_state;
pub mod web;
