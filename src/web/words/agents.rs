//! On the page of the agents.

use crate::overview::Deed;

/// The texts of the page.
#[derive(Clone, Copy, Debug)]
pub struct Agents {
    /// The heading.
    pub heading: &'static str,
    /// What the table is, of the number of agents.
    pub caption: fn(usize) -> String,
    /// A column.
    pub agent: &'static str,
    /// A column.
    pub holds: &'static str,
    /// A column.
    pub last: &'static str,
    /// Nothing is held.
    pub nothing: &'static str,
    /// More than are shown, of their number.
    pub more: fn(usize) -> String,
    /// What an agent did, said of one issue.
    pub deed: fn(Deed) -> &'static str,
    /// A column of numbers: how often.
    pub times: fn(Deed) -> &'static str,
    /// No agent has done anything.
    pub empty: &'static str,
}
