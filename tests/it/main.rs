//! Integration tests: the stores through their trait, and the binary through its interfaces.

#![expect(clippy::unwrap_used, reason = "a test that meets the unexpected has failed")]
#![expect(clippy::print_stderr, reason = "a test that is skipped prints the reason")]

mod activity;
mod admin_tools;
mod analysis;
mod architecture;
mod arguments;
mod attacks;
mod attributes;
mod background;
mod backup;
mod bad_files;
mod browser;
mod bulk;
mod call_log;
mod claim_model;
mod claims;
mod classifications;
mod cli;
mod cli_interchange;
mod clients;
mod clones;
mod command_line;
mod conformance;
mod contrib;
mod crash;
mod damage;
mod diffs;
mod docs;
mod doctor;
mod earlier_store;
mod error_codes;
mod exclusion;
mod failing_disks;
mod faults;
mod fields;
mod file_size_limit;
mod hand_edits;
mod handed_in;
mod hang_ups;
mod health;
mod held_locks;
mod holds;
mod hooks;
mod http_sessions;
mod init;
mod known;
mod languages;
mod lease_conformance;
mod lease_kills;
mod leases;
mod lifecycle;
mod limits;
mod location;
mod lock_check;
mod logs;
mod mcp_http;
mod mcp_prompts;
mod mcp_resources;
mod mcp_stdio;
mod memory;
mod memory_formats;
mod metrics;
mod mounts;
mod near_titles;
mod original;
mod overlap;
mod parts;
mod planning;
mod ports;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod postgres_errors;
#[cfg(feature = "postgres")]
mod postgres_kills;
#[cfg(feature = "postgres")]
mod postgres_machines;
#[cfg(feature = "postgres")]
mod postgres_outages;
#[cfg(feature = "postgres")]
mod postgres_races;
#[cfg(feature = "postgres")]
mod postgres_search_index;
mod postgres_silence;
#[cfg(feature = "postgres")]
mod postgres_tls;
#[cfg(feature = "postgres")]
mod postgres_transfer;
mod processes;
mod project_prompts;
mod projects;
mod prompts;
mod queries;
mod questions;
mod quick_edits;
mod read_model;
mod receipts;
mod release;
mod reopening;
mod replies;
mod restore;
mod restore_damaged;
mod retries;
mod review_gate;
mod rmcp_client;
mod roles;
mod schemas;
mod settings;
mod shutdown;
mod soak;
mod sqlite;
mod store_ids;
mod store_url;
mod stuck;
mod subscriptions;
mod support;
mod sync;
mod team;
mod templates;
mod texts;
mod tidy;
mod token_counts;
mod tokens;
mod transfer;
mod triage;
mod undo;
mod undo_cases;
mod waiting;
mod web;
mod web_actions;
mod worktrees;
