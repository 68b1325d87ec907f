//! The tests that look at the tracker from outside: the stores through their trait, and the binary
//! through its interfaces.

#![expect(clippy::unwrap_used, reason = "a test that meets the unexpected has failed")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says why")]

mod arguments;
mod asides;
mod attacks;
mod backup;
mod bad_files;
mod browser;
mod cli;
mod cli_interchange;
mod clients;
mod command_line;
mod commits;
mod conformance;
mod contrib;
mod crash;
mod doctor;
mod endings;
mod exclusion;
mod failed_syncs;
mod failing_disks;
mod faults;
mod formats;
mod grounds;
mod hand_edits;
mod hang_ups;
mod health;
mod hooks;
mod http_sessions;
mod init;
mod lifecycle;
mod limits;
mod location;
mod logs;
mod mcp_http;
mod mcp_news;
mod mcp_prompts;
mod mcp_resources;
mod mcp_stdio;
mod metrics;
mod mix;
mod mounts;
mod neighbours;
mod overview;
mod power_cuts;
mod processes;
mod prompts;
mod read_faults;
mod recovery;
mod restore;
mod restore_cuts;
mod restore_damaged;
mod rmcp_client;
mod schemas;
mod sessions;
mod settings;
mod simulation;
mod support;
mod tidy;
mod tokens;
mod upkeep;
mod web;
