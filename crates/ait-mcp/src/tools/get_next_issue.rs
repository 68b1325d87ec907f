//! `get_next_issue`: claim the first issue that is ready, or a given one, or show what the agent holds. What is
//! assigned to the agent comes first, then the priority decides, then the age.

use schemars::JsonSchema;
use serde::Deserialize;

use super::filters::{ClassificationFilter, Fields};
use super::list_issues::list;
use super::{CallContext, MAX_WAIT_SECONDS, Tool};
use crate::reply::{List, Reply, WholeIssue};
use crate::result::{Failure, Success};
use ait_domain::{AgentName, Classification, Condition, IssueRef, Query, Status};
use ait_query::field_selection::FieldSelection;
use ait_tracker::{ClaimKind, ClaimObstacles};

pub(super) struct GetNextIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Your name
    agent: AgentName,
    classification: Option<ClassificationFilter>,
    /// Claim this one instead
    issue_id: Option<IssueRef>,
    /// Claim nothing; answer what you hold, reviews too
    mine: Option<bool>,
    /// 50 is safe
    #[schemars(range(max = MAX_WAIT_SECONDS))]
    wait_seconds: Option<u16>,
    #[schemars(extend("toolset" = "planning"))]
    fields: Option<Fields>,
}

impl Tool for GetNextIssue {
    const NAME: &'static str = "get_next_issue";
    const DESCRIPTION: &'static str = "Claim the next `created` issue (task) to work on: nobody else gets it. \
        You owe it complete_issue or return_issue.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { agent, classification, issue_id, mine, wait_seconds, fields } = args;
        let fields = fields.map(|fields| fields.0);
        let classification = classification.and_then(|classification| classification.0);
        let is_only_look = mine == Some(true);
        if issue_id.is_some() && (is_only_look || classification.is_some()) {
            return Err(Failure::invalid(
                "issue_id names one issue: leave out classification and mine",
            ));
        }
        let wait_seconds = wait_seconds.unwrap_or(0);
        if wait_seconds > 0 && (is_only_look || issue_id.is_some()) {
            return Err(Failure::invalid(
                "wait_seconds waits for the next issue: leave out issue_id and mine, or wait_seconds",
            ));
        }
        if is_only_look {
            context.tracker.resume(&agent).await?;
            return held(&context, &agent, classification, fields).await;
        }
        let tracker = &context.tracker;
        let claimed = match issue_id {
            Some(reference) => Some(tracker.claim_issue(reference, agent.clone()).await?),
            None => {
                context.next(ClaimKind::Work(classification), agent.clone(), wait_seconds).await?
            }
        };
        match claimed {
            Some(claimed) => Ok(context.claimed(claimed, fields).await),
            None => {
                let claim_obstacles =
                    tracker.claim_obstacles(ClaimKind::Work(classification), &agent).await?;
                let nothing = nothing(classification, &claim_obstacles);
                Ok(Success::nothing(with_lost_claims(&context, &agent, nothing).await?))
            }
        }
    }
}

/// Returns what an agent holds: a single issue whole, several as rows.
async fn held(
    context: &CallContext,
    agent: &AgentName,
    classification: Option<Classification>,
    fields: Option<FieldSelection>,
) -> Result<Success, Failure> {
    const MAX_ROWS: usize = 500;
    let statuses = Status::OF_WORK.iter().copied().filter(|status| status.is_claimed()).collect();
    let condition = Condition::Holder(Some(agent.as_str().to_owned()));
    let query = Query { statuses, classification, condition, take: MAX_ROWS, ..Query::default() };
    let mut held = list(context, query).await?;
    for listed in &mut held.issues {
        listed.claim = Some(listed.issue.claim_number());
    }
    Ok(match &*held.issues {
        [] => {
            let nothing = "You hold no issue.".to_owned();
            Success::nothing(with_lost_claims(context, agent, nothing).await?)
        }
        [only] => {
            let neighbours = context.neighbours(&only.issue).await?;
            let whole = WholeIssue::claimed(only.issue.clone(), fields);
            Success::done(Reply::Issue(WholeIssue { neighbours, ..whole }))
        }
        _ => Success::done(Reply::List(List { skip: None, fields, ..held })),
    })
}

/// Adds to a text which claims the agent has lost.
async fn with_lost_claims(
    context: &CallContext,
    agent: &AgentName,
    text: String,
) -> Result<String, Failure> {
    let lost = context.tracker.lost_claims(agent).await?;
    Ok([vec![text], lost].concat().join("\n"))
}

fn nothing(classification: Option<Classification>, claim_obstacles: &ClaimObstacles) -> String {
    let count = claim_obstacles.count;
    if count > 0 {
        let verb = if count == 1 { "issue waits" } else { "issues wait" };
        return format!("{count} {verb}, none is ready: {claim_obstacles}");
    }
    match classification {
        Some(kind) => format!("No issue of classification {kind} is waiting to be claimed."),
        None => "No issue is waiting to be claimed.".to_owned(),
    }
}
