//! Setting a project up for the clients of its agents.

pub mod edit;
