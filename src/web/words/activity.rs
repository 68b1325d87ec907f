//! On the page of what happened, and in its feed.

/// The texts of the page.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// The heading.
    pub heading: &'static str,
    /// The name of the form with the filters.
    pub filters: &'static str,
    /// A column, and the choice of an agent.
    pub agent: &'static str,
    /// A column, and the choice of a kind of events.
    pub what: &'static str,
    /// Every kind.
    pub anything: &'static str,
    /// A column, and the field for the id of an issue.
    pub issue: &'static str,
    /// In that field while it is empty.
    pub issue_hint: &'static str,
    /// The choice of a time.
    pub since: &'static str,
    /// Every time.
    pub any_time: &'static str,
    /// The spans that can be chosen: in the address, and in words.
    pub spans: [(&'static str, &'static str); 4],
    /// A column.
    pub when: &'static str,
    /// What the table is, of the number of events.
    pub caption: fn(usize) -> String,
    /// What an agent did in an event of a kind, after its name.
    pub did: fn(&str) -> &'static str,
    /// The fields that were edited.
    pub fields: fn(&[&str]) -> String,
    /// In the place of an issue where an event concerns none.
    pub no_issue: &'static str,
    /// An event in a sentence: of the agent, what it did, and the title of the issue.
    pub sentence: fn(&str, &str, &str) -> String,
    /// The name of the links to other parts.
    pub paging: &'static str,
    /// The link to the newest part.
    pub newest: &'static str,
    /// The link to the part after this one.
    pub newer: &'static str,
    /// The link to the part before this one.
    pub older: &'static str,
    /// Where searching has ended early, of how many events were read.
    pub cut: fn(usize) -> String,
    /// Below the oldest event that is kept, of its number.
    pub no_longer_kept: fn(u64) -> String,
    /// Nothing has happened.
    pub empty: &'static str,
    /// Nothing fits the filters.
    pub nothing_fits: &'static str,
    /// The link to everything.
    pub everything: &'static str,
    /// The name of the feed.
    pub feed: &'static str,
    /// The link to it.
    pub subscribe: &'static str,
}
