//! English.

mod activity;
mod agents;
mod board;
mod errors;
mod frame;
mod issue;
mod list;
mod markdown;
mod stats;
mod terms;

use super::Words;

/// The texts in English.
pub static ENGLISH: Words = Words {
    terms: terms::TERMS,
    frame: frame::FRAME,
    list: list::LIST,
    board: board::BOARD,
    agents: agents::AGENTS,
    activity: activity::ACTIVITY,
    stats: stats::STATS,
    markdown: markdown::MARKDOWN,
    issue: issue::ISSUE,
    errors: errors::ERRORS,
};

/// A number of things, of which one has another name than several.
fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}
