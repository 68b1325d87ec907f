//! What `ait` says when a person starts it in a terminal.

use super::issue_view::words;
use super::{no_issues, sanitize};
use ait_domain::{Counts, Status};

/// The facts that the welcome names.
#[derive(Clone, Copy, Debug)]
pub struct Welcome<'a> {
    /// The URL of the web UI.
    pub page: &'a str,
    /// The store's file, or the URL of its database.
    pub store: &'a str,
    /// How many issues are in each status.
    pub counts: Counts,
    /// Whether an MCP client of the project knows the tracker.
    pub has_client: bool,
}

/// Greets the user.
pub fn greet(welcome: &Welcome<'_>) {
    let Welcome { page, store, counts, has_client } = *welcome;
    let store = sanitize::line(store);
    let counted = Status::OF_WORK.iter().filter(|status| counts.in_status(**status) > 0);
    let counted = counted.map(|status| format!("{} {}", counts.in_status(*status), words(*status)));
    let counted: Vec<_> = counted.collect();
    let issues = if counted.is_empty() { no_issues().to_owned() } else { counted.join(" · ") };
    let set_up = if has_client {
        ""
    } else {
        "\nno MCP client is set up for this project yet: run `ait init`"
    };
    // The log writes it, so that it stays in order with warnings.
    tracing::info!("pages   {page}\nstore   {store}\nissues  {issues}{set_up}\nCtrl-C to stop");
}
