//! One shared issue queue for a team of coding agents.
//!
//! Agents reach it through an MCP server, people through a web page and a command line. They all share one
//! store.
//!
//! # The map
//!
//! Each module knows only those above its line.
//!
//! | module | what it owns |
//! |---|---|
//! | [`domain`] | the issue and its lifecycle: pure values and rules |
//! | `small_file` | reading small text files that people name or write |
//! | `json_text` | mending JSON that another program cut within a character |
//! | [`interchange`] | issues in files of other programs: JSON, JSON Lines, CSV, beads |
//! | [`store`] | keeping issues: the trait, the state in memory, the JSON file and its log |
//! | [`tracker`] | the use cases, one method for each operation; the clock and the ids |
//! | [`activity`] | what happened: events, filtered and in pages, and how everything was at an earlier time |
//! | [`overview`] | what is told of all issues at once: found, sorted, counted, how they move and how fast |
//! | [`metrics`] | what this process counts and measures, as Prometheus reads it |
//! | [`http`] | the HTTP server: connections, limits, who may ask, with which token |
//! | [`token_file`] | the file with the tokens |
//! | `span` | spans of time in words |
//! | `time_arg` | points in time as people name them |
//! | [`processes`] | the live processes on one store |
//! | `neighbour` | who has a port of this machine |
//! | [`setting`] | a setting as it is shown |
//! | [`setup`] | what a project gets for the clients of its agents: planned first, then written |
//! | [`hooks`] | the git hooks of a repository: planned first, then written; and what they do |
//! | [`doctor`] | what is wrong with a store and around it, and what to do |
//! | [`mcp`], [`web`], [`cli`] | the three faces: tools for agents, pages for people, commands for people and scripts |
//! | [`log`] | what goes to stderr, or into a file |
//! | [`config`] | what the user asked for |
//! | [`app`] | wiring, and the order of shutting down; the only place that names concrete stores |
//!
//! # What always holds
//!
//! * There is one way in for every change: a [`Command`](domain::Command) becomes an
//!   [`Event`](domain::Event) in [`rules::decide`](domain::rules::decide), the store makes it durable
//!   and applies it. No other code changes an issue.
//! * An operation is answered after its change is on disk, never before.
//! * Nothing that could not be read is ever overwritten.
//! * stdout belongs to the protocol, or to the answer of a command; everything else goes to stderr
//!   or into the log file.

pub mod activity;
pub mod app;
pub mod cli;
pub mod config;
pub mod doctor;
pub mod domain;
pub mod hooks;
pub mod http;
pub mod interchange;
mod json_text;
pub mod log;
pub mod mcp;
pub mod metrics;
mod neighbour;
pub mod overview;
pub mod processes;
pub mod setting;
pub mod setup;
mod small_file;
mod span;
pub mod store;
mod time_arg;
pub mod token_file;
pub mod tracker;
pub mod web;
