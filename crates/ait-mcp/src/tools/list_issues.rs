//! `list_issues`: read the queue or one issue.

use std::collections::BTreeSet;

use chrono::Utc;
use schemars::JsonSchema;
use serde::Deserialize;

use super::filters::{ClassificationFilter, Fields, StatusFilter};
use super::{CallContext, Tool};
use crate::reply::{GoneClient, List, ListedIssue, Reply, WholeIssue};
use crate::result::{Failure, Success};
use crate::shown;
use ait_domain::{AgentName, Condition, IssueId, IssueRef, Order, Query, Timestamp};
use ait_query::NoMatch;
use ait_query::time_arg::{FORMS, TimeArg};
use ait_tracker::{StoreError, Tracker};

pub(super) struct ListIssues;

const DEFAULT_TAKE: usize = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    status: Option<StatusFilter>,
    classification: Option<ClassificationFilter>,
    /// What it holds or filed
    agent: Option<AgentName>,
    /// Changed after this time or cursor
    since: Option<String>,
    #[schemars(range(min = 0))]
    skip: Option<usize>,
    /// Default 50; 0: counts
    #[schemars(range(min = 0, max = 500))]
    take: Option<usize>,
    /// This one, whole
    issue_id: Option<IssueRef>,
    /// `label:ui`
    #[schemars(extend("toolset" = "planning"))]
    query: Option<String>,
    /// Such as `id,title`
    #[schemars(extend("toolset" = "planning"))]
    fields: Option<Fields>,
}

impl Tool for ListIssues {
    const NAME: &'static str = "list_issues";
    const DESCRIPTION: &'static str = "List, show or search issues (tickets, todo): the number of \
        matches and a row for each, oldest first; or one issue.";
    const READ_ONLY: bool = true;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let tracker = &context.tracker;
        let fields = args.fields.map(|fields| fields.0);
        let skip = args.skip.unwrap_or(0);
        let statuses = args.status.map(|status| status.0).unwrap_or_default();
        let classification = args.classification.and_then(|classification| classification.0);
        let is_filtered = statuses != Default::default()
            || classification.is_some()
            || args.agent.is_some()
            || args.since.is_some()
            || args.query.is_some();
        if let Some(reference) = args.issue_id {
            if is_filtered {
                return Err(Failure::invalid(
                    "issue_id names one issue: leave out status, classification, agent, since and query",
                ));
            }
            let issue = tracker.get_issue(reference).await?;
            let neighbours = context.neighbours(&issue).await?;
            let gone = tracker.gone_claims(std::slice::from_ref(&issue)).await?;
            let gone = GoneClient::of(&issue, &gone);
            let whole = WholeIssue { skip, fields, neighbours, gone, ..WholeIssue::plain(issue) };
            return Ok(Success::done(Reply::Issue(whole)));
        }
        if args.take == Some(0) && !is_filtered {
            return round(&context).await;
        }
        let (changed, cursor): (Option<Condition>, Option<u64>) = match args.since {
            Some(since) => {
                since_of(tracker, &since).await.map(|(changed, at)| (Some(changed), Some(at)))?
            }
            None => (None, None),
        };
        let parsed = context.parse_query(args.query.as_deref())?;
        let base = Query {
            statuses,
            classification,
            condition: Condition::all(
                changed.into_iter().chain(args.agent.as_ref().map(held_or_filed_by)),
            ),
            order: Order::Filed,
            skip,
            take: args.take.unwrap_or(DEFAULT_TAKE),
            ..Query::default()
        };
        let list = List { cursor, fields, ..list(&context, parsed.narrow(base.clone())).await? };
        if list.total == 0 && !parsed.is_empty() {
            let why = NoMatch::explain(&parsed, &base, |query| context.tracker.list_issues(query))
                .await?;
            return Ok(Success::done(Reply::List(List { nothing: Some(why.to_string()), ..list })));
        }
        Ok(Success::done(Reply::List(list)))
    }
}

/// Counts everything, for a lead that is about to start workers.
async fn round(context: &CallContext) -> Result<Success, Failure> {
    let round = context.tracker.round().await?;
    let leases = context.tracker.leases().await?;
    let mut report = serde_json::to_value(round).map_err(Failure::not_json)?;
    report["gone"] = leases.iter().filter(|state| state.gone_for.is_some()).count().into();
    let stuck = context.tracker.stuck().await?.len();
    if stuck > 0 {
        report["stuck"] = stuck.into();
    }
    Ok(Success::done(Reply::Report(report)))
}

/// Reads one page of a list.
pub(super) async fn list(context: &CallContext, query: Query) -> Result<List, StoreError> {
    let tracker = &context.tracker;
    let skip = Some(query.skip);
    let page = context.tracker.list_issues(query).await?;
    // Only compact rows have short ids, and say what is blocked.
    let all = if context.replies.is_compact() {
        Some(tracker.issues_around(page.issues.iter().map(|issue| issue.id)).await?)
    } else {
        None
    };
    let gone = tracker.gone_claims(&page.issues).await?;
    let listed = page.issues.into_iter().map(|issue| {
        let is_short_id_unique = all.as_ref().is_some_and(|all| {
            issue.id.short().parse().is_ok_and(|short: IssueRef| all.position(&short).is_ok())
        });
        let is_blocked = all.as_ref().is_some_and(|all| all.is_blocked(&issue));
        let waits_for_parts = all.as_ref().is_some_and(|all| all.waits_for_parts(&issue));
        let gone = GoneClient::of(&issue, &gone);
        ListedIssue { issue, is_short_id_unique, is_blocked, waits_for_parts, gone, claim: None }
    });
    let issues = listed.collect();
    let now = tracker.now();
    Ok(List {
        total: page.total,
        is_at_least: !page.is_exact,
        nothing: None,
        skip,
        issues,
        cursor: None,
        fields: None,
        now,
    })
}

/// Returns the condition that an agent holds or filed an issue.
fn held_or_filed_by(agent: &AgentName) -> Condition {
    let name = agent.as_str().to_owned();
    Condition::Any(vec![Condition::Holder(Some(name.clone())), Condition::Filer(name)])
}

/// Returns what changed after a time or after the event with a number, and the number of the newest event.
async fn since_of(tracker: &Tracker, since: &str) -> Result<(Condition, u64), Failure> {
    // Read first: a change in between is reported twice, and never missed.
    let newest = tracker.watch().borrow().number;
    if let Ok(number) = since.trim().parse() {
        let (issues, cursor): (Option<BTreeSet<IssueId>>, u64) =
            tracker.changed_after(number).await?;
        let issues = issues.ok_or_else(|| {
            Failure::invalid(format!(
                "the log no longer has all events after {number}: give a time as `since`; the newest event is {newest}"
            ))
        })?;
        return Ok((Condition::Ids(issues), cursor));
    }
    let time = TimeArg::parse(since, &Utc).map_err(|_| {
        let since = shown(since);
        Failure::invalid(format!("`since` must be the cursor of an earlier reply, or a time such as {FORMS}; not {since:?}. Call list_issues again with one of these"))
    })?;
    let first = time.time(tracker.now()).next();
    Ok((Condition::Changed(first..=Timestamp::MAX), newest))
}
