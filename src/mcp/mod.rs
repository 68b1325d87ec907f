//! The face for agents: an MCP server with the lifecycle tools.
//!
//! Knows the tracker and the domain; no HTML, and nothing of how issues are kept.

mod arguments;
pub mod http;
mod result;
mod schema;
pub mod server;
pub mod stdio;
mod tools;

pub use server::McpServer;
