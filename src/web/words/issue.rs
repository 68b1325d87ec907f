//! On the page of one issue.

use crate::domain::{Status, Timestamp};

/// The texts of the page.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// The title in a browser's tab, of the short id and the title of the issue.
    pub page_title: fn(&str, &str) -> String,
    /// The name of the way back to the list.
    pub breadcrumb: &'static str,
    /// Before who holds it.
    pub held_by: &'static str,
    /// How long it has been held, after who holds it.
    pub held_for: fn(&str) -> String,
    /// On the button that copies the id.
    pub copy: &'static str,
    /// What the button copies, for those who do not see the id beside it.
    pub copy_id: &'static str,
    /// What is said when it has done so.
    pub copied: &'static str,
    /// Above the description.
    pub description: &'static str,
    /// In place of a description that says nothing.
    pub no_description: &'static str,
    /// Above what happened.
    pub story: &'static str,
    /// In place of a story of nothing.
    pub no_story: &'static str,
    /// What an agent did, after its name, that left the issue in this status.
    pub did: fn(Status) -> &'static str,
    /// The same when it returned the issue.
    pub did_return: &'static str,
    /// The same for a comment alone.
    pub did_comment: &'static str,
    /// How many entries of the story are left out.
    pub left_out: fn(usize) -> String,
    /// The link to all of them, and to every text whole.
    pub show_all: fn(usize) -> String,
    /// Under a text that is cut, of how many characters are shown and how many it has.
    pub cut: fn(usize, usize) -> String,
    /// The link to the whole of such a text.
    pub show_whole: &'static str,
    /// The link back from the page that shows everything.
    pub show_less: &'static str,
    /// The name of the facts.
    pub facts: &'static str,
    /// Before the status.
    pub status: &'static str,
    /// Before the kind of work.
    pub classification: &'static str,
    /// Before who holds it, in the facts.
    pub holder: &'static str,
    /// Who holds an issue that nobody holds.
    pub nobody: &'static str,
    /// Before when it was filed.
    pub filed: &'static str,
    /// Before who did something, behind when.
    pub by: &'static str,
    /// Before when it last changed.
    pub changed: &'static str,
    /// Before how often it was returned.
    pub returns: &'static str,
    /// Before how many comments there are.
    pub comments: &'static str,
    /// A point in time, to the minute.
    pub exact: fn(Timestamp) -> String,
    /// So many times.
    pub times: fn(usize) -> String,
    /// Above its unknown keys, of how many there are.
    pub unknown_keys: fn(usize) -> String,
    /// The name of the links to the issues beside it.
    pub neighbours: &'static str,
    /// Before the one filed before it.
    pub previous: &'static str,
    /// Before the one filed after it.
    pub next: &'static str,
}
