//! Every text that the pages show beside what the issues hold: one value for each language.
//!
//! A text without a place for anything is a string, one with places a function. Pages hold no text of
//! their own.

pub mod activity;
pub mod agents;
pub mod board;
pub mod english;
pub mod errors;
pub mod frame;
pub mod issue;
pub mod list;
pub mod markdown;
pub mod stats;
pub mod terms;

pub use english::ENGLISH;

/// The texts of one language.
#[derive(Clone, Copy, Debug)]
pub struct Words {
    /// What every page calls things.
    pub terms: terms::Terms,
    /// Around every page.
    pub frame: frame::Frame,
    /// On the list of issues.
    pub list: list::List,
    /// On the board.
    pub board: board::Board,
    /// On the page of the agents.
    pub agents: agents::Agents,
    /// On the page of what happened.
    pub activity: activity::Activity,
    /// On the page of the statistics.
    pub stats: stats::Stats,
    /// Around the texts of agents.
    pub markdown: markdown::Markdown,
    /// On the page of one issue.
    pub issue: issue::Issue,
    /// On pages that say what went wrong.
    pub errors: errors::Errors,
}
