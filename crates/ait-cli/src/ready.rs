//! `ait ready`: lists what an agent can claim for work, and says why nothing can be claimed.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use super::list::{self, Paging};
use super::options::{CallerArgs, GivenKind, classification};
use super::{CommandContext, ExitStatus, no_issues, sanitize};
use ait_domain::{
    AgentName, Classification, Condition, Issue, IssueId, Order, Page, Query, Status,
};
use ait_tracker::{ClaimKind, ClaimObstacles, Tracker};

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
    classification: Option<GivenKind>,

    #[command(flatten)]
    paging: Paging,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    let classification = arguments.classification.map(|kind| kind.used_by(tracker));
    let now = tracker.now();
    let (skip, take) = arguments.paging.range(output);
    let ready = |assignee: Option<String>, skip, take| {
        let condition = Condition::Assignee(assignee).and(Condition::Ready(now));
        tracker.list_issues(Query {
            statuses: Some(Status::Created).into(),
            classification,
            condition,
            order: Order::Priority,
            skip,
            take,
            ..Query::default()
        })
    };
    // The order of claims: what is assigned to the agent comes first.
    let own = ready(Some(agent.as_str().to_owned()), 0, usize::MAX).await?;
    let own_shown = own.issues.into_iter().skip(skip).take(take);
    let mut issues: Vec<Arc<Issue>> = own_shown.collect();
    let skip = skip.saturating_sub(own.total);
    let take = take.saturating_sub(issues.len());
    let others = ready(None, skip, take).await?;
    issues.extend(others.issues);
    let page =
        Page { total: own.total + others.total, is_exact: others.is_exact, issues, counts: None };
    let nothing = match page.total {
        0 => why_nothing(tracker, classification, &agent).await?,
        _ => String::new(),
    };
    let around = tracker.issues_around(page.issues.iter().map(|issue| issue.id)).await?;
    list::print(&page, &arguments.paging, &nothing, &around, now, arguments.caller.format, output)
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
