//! `ait ready`: lists what an agent can claim for work, and says why nothing can be claimed.

use anyhow::Result;
use clap::Args;

use super::list::{self, Paging};
use super::options::{CallerArgs, classification};
use super::{CommandContext, ExitStatus, Output, no_issues, sanitize};
use crate::domain::{AgentName, Classification, IssueId, Order, Query, Status, readiness};
use crate::tracker::{ClaimKind, ClaimObstacles, Tracker};

/// The arguments of `ait ready`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Issues that are parked, assigned to others, or wait for other issues are left out.\n\n\
    Examples:\n  \
    ait ready\n  \
    ait ready --agent dev-1 -c bug --json"
)]
pub struct Arguments {
    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<Classification>,

    #[command(flatten)]
    paging: Paging,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let agent = arguments.caller.agent(context)?;
    let (issues, now) = (tracker.state().await?.issues, tracker.now());
    let waiting = Query {
        statuses: Some(Status::Created).into(),
        classification: arguments.classification,
        order: Order::Priority,
        take: issues.len(),
        ..Query::default()
    };
    let mut ready = issues.list(&waiting).issues;
    ready.retain(|issue| readiness::obstacle(&issues, issue, &agent, now).is_none());
    // The order of claims: what is assigned to the agent comes first.
    ready.sort_by_key(|issue| issue.attributes.assignee.is_none());
    let nothing = match ready.is_empty() {
        true => why_nothing(tracker, arguments.classification, &agent).await?,
        false => String::new(),
    };
    let page = arguments.paging.page_of(ready, output);
    list::print(&page, &arguments.paging, &nothing, &issues, now, arguments.caller.format, output)
}

/// Says why an agent can claim nothing for work.
pub(super) async fn why_nothing(
    tracker: &Tracker,
    classification: Option<Classification>,
    agent: &AgentName,
) -> Result<String> {
    if tracker.counts().await?.total() == 0 {
        return Ok(no_issues().to_owned());
    }
    let what = classification.map_or("issue", Classification::as_str);
    let ClaimObstacles { count, first } =
        tracker.claim_obstacles(ClaimKind::Work(classification), agent).await?;
    if count == 0 {
        return Ok(format!("nothing to claim: no {what} is waiting for work"));
    }
    let obstacles = obstacles(&ClaimObstacles { count, first }, Status::Created);
    let waits = match count {
        1 => format!("1 {what} waits, but is not"),
        count => format!("{count} {what}s wait, none is"),
    };
    Ok(format!("nothing to claim: {waits} ready for {agent}:{obstacles}"))
}

/// Lists the issues that an agent cannot claim, each on a line of its own with the reason.
pub(super) fn obstacles(claim_obstacles: &ClaimObstacles, status: Status) -> String {
    let obstacle = |(id, obstacle): &(IssueId, String)| {
        format!("\n  {}: {}", id.short(), sanitize::line(obstacle))
    };
    let obstacles: String = claim_obstacles.first.iter().map(obstacle).collect();
    let more = match claim_obstacles.count.saturating_sub(claim_obstacles.first.len()) {
        0 => String::new(),
        more => format!("\n  and {more} more: `ait list --status {status}` shows all"),
    };
    obstacles + &more
}
