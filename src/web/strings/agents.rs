//! On the pages of the agents.

use crate::domain::ActionKind;

pub const TITLE: &str = "Agents";
pub const HOLDING: &str = "Holding";
pub const LAST_ACTION: &str = "Last action";
pub const NOTHING: &str = "nothing";
pub const EMPTY: &str = "No agent has done anything yet.";

pub fn caption(count: usize) -> String {
    super::counted(count, "agent", "agents")
}

pub fn more(count: usize) -> String {
    format!("and {count} more")
}

/// What an agent did to an issue: goes before the title of the issue.
pub fn action(deed: ActionKind) -> &'static str {
    match deed {
        ActionKind::Filed => "filed",
        ActionKind::Claimed => "claimed",
        ActionKind::Completed => "completed",
        ActionKind::ReviewStarted => "claimed for review",
        ActionKind::Returned => "returned",
        ActionKind::Closed => "closed",
        ActionKind::Rejected => "rejected",
        ActionKind::Lapsed => "lost the claim",
        ActionKind::Commented => "commented",
        ActionKind::Changed | ActionKind::Other => "changed",
        ActionKind::Asked => "asked a question about",
        ActionKind::Answered => "answered the question about",
        ActionKind::Edited => "edited",
    }
}

pub const COMPLETED: &str = "Completed";
pub const REVIEWED: &str = "Reviewed";
/// How many issues reviewers returned that the agent had completed.
pub const SENT_BACK: &str = "Sent back";
/// The median time from claim to completion.
pub const CYCLE_TIME: &str = "Cycle time";
pub const NONE: &str = "none";
pub const WORK: &str = "work";
pub const REVIEW: &str = "review";
pub const ALIVE: &str = "connected";
pub const GONE: &str = "gone";
pub const LAST_SEEN: &str = "last seen";
pub const PERIOD: &str = "Period";
pub const NOW: &str = "now";
pub const CLAIMS: &str = "Claims";
pub const NO_CLAIMS: &str = "No claims in this period.";
pub const ALL_ISSUES: &str = "All its issues";
pub const ALL_EVENTS: &str = "All it did";

/// The name of a value of the query parameter `range`.
pub fn period(word: &str) -> &'static str {
    match word {
        "7d" => "7 days",
        _ => "24 hours",
    }
}

pub fn over_time(word: &str) -> String {
    format!("Last {}", period(word))
}

/// What a lane shows.
pub fn lane(works: usize, reviews: usize) -> String {
    let works = super::counted(works, "claim for work", "claims for work");
    format!("{works}, {}", super::counted(reviews, "for review", "for review"))
}

/// What a bar shows on hover.
pub fn bar(short_id: &str, title: &str, held_for: &str) -> String {
    format!("{short_id} {title}, {held_for}")
}

/// How a claim ended.
pub fn ended(is_held: bool, end: Option<ActionKind>) -> &'static str {
    match end {
        _ if is_held => "still held",
        Some(deed) => action(deed),
        None => "edited",
    }
}
