//! On the list of issues.

/// The texts of the list.
#[derive(Clone, Copy, Debug)]
pub struct List {
    /// The name of the links that choose a status.
    pub statuses: &'static str,
    /// The choice of every status.
    pub all: &'static str,
    /// The choice of the statuses that issues can leave.
    pub open: &'static str,
    /// The name of the form with the other filters.
    pub filters: &'static str,
    /// The field for texts.
    pub search: &'static str,
    /// In that field while it is empty.
    pub search_hint: &'static str,
    /// The choice of a classification, and a column.
    pub kind: &'static str,
    /// Every classification.
    pub any_kind: &'static str,
    /// The choice of an agent, and a column.
    pub agent: &'static str,
    /// Every agent.
    pub any_agent: &'static str,
    /// The button that applies them.
    pub apply: &'static str,
    /// The link that takes them all back.
    pub clear: &'static str,
    /// What the table is, of the number of issues, and whether there may be more.
    pub caption: fn(usize, bool) -> String,
    /// A column.
    pub issue: &'static str,
    /// A column.
    pub status: &'static str,
    /// A column.
    pub activity: &'static str,
    /// A column.
    pub created: &'static str,
    /// The number of comments of an issue.
    pub comments: fn(usize) -> String,
    /// Before the name of who holds an issue.
    pub held_by: &'static str,
    /// Before the time since when.
    pub since: fn(&str) -> String,
    /// No entry in the history.
    pub no_activity: &'static str,
    /// The name of the links to other pages.
    pub paging: &'static str,
    /// The link to the page before.
    pub previous: &'static str,
    /// The link to the page behind.
    pub next: &'static str,
    /// Which part is shown: first, last and all of them, and whether there may be more.
    pub part: fn(usize, usize, usize, bool) -> String,
    /// When there are too many issues with a text, of the limit.
    pub too_many: fn(usize) -> String,
    /// Above an empty store.
    pub empty: &'static str,
    /// What to do then, before the command.
    pub empty_before: &'static str,
    /// The command.
    pub connect: &'static str,
    /// The same behind it.
    pub empty_after: &'static str,
    /// When no issue fits.
    pub nothing_fits: &'static str,
    /// What to do then.
    pub nothing_fits_advice: &'static str,
}
