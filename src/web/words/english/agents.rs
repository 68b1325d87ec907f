//! On the page of the agents, in English.

use super::counted;
use crate::overview::Deed;
use crate::web::words::agents::Agents;

pub(super) const AGENTS: Agents = Agents {
    heading: "Agents",
    caption: |count| counted(count, "agent", "agents"),
    agent: "Agent",
    holds: "Holds now",
    last: "Did last",
    nothing: "nothing",
    more: |count| format!("and {count} more"),
    deed: |deed| match deed {
        Deed::Filed => "filed",
        Deed::Claimed => "claimed",
        Deed::Completed => "completed",
        Deed::ReviewStarted => "took to review",
        Deed::Returned => "returned",
        Deed::Closed => "closed",
        Deed::Rejected => "rejected",
        Deed::Lapsed => "claim lapsed",
        Deed::Edited => "edited",
        Deed::Other => "changed",
    },
    times: |deed| match deed {
        Deed::Filed => "Filed",
        Deed::Claimed => "Claimed",
        Deed::Completed => "Completed",
        Deed::ReviewStarted => "Reviewed",
        Deed::Returned => "Returned",
        Deed::Closed => "Closed",
        Deed::Rejected => "Rejected",
        Deed::Lapsed => "Lapsed",
        Deed::Edited => "Edited",
        Deed::Other => "Other",
    },
    empty: "No agent has done anything yet.",
};
