//! `get_digest`: what matters in the queue now, in few words.

use chrono::Utc;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::Reply;
use crate::result::{Failure, Success};
use crate::shown;
use ait_domain::{AgentName, Timestamp};
use ait_query::time_arg::{FORMS, TimeArg};
use ait_system::span::humanize_duration;

pub(super) struct GetDigest;

/// The maximum length of a digest, in tokens.
pub(crate) const MAX_DIGEST_TOKENS: usize = 1_500;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    agent: Option<AgentName>,
    /// Default 24h
    since: Option<String>,
}

impl Tool for GetDigest {
    const NAME: &'static str = "get_digest";
    const DESCRIPTION: &'static str =
        "The queue at a glance: counts, longest waits, holders, what ended since.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Planning;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let now = context.tracker.now();
        let since = match &args.since {
            None => None,
            Some(since) => Some(TimeArg::parse(since, &Utc)
                .map_err(|_| {
                    let since = shown(since);
                    Failure::invalid(format!(
                        "`since` must be a time such as {FORMS}; not {since:?}. Call get_digest again with one of these"
                    ))
                })?
                .time(now)),
        };
        let digest = context.read_model.digest(args.agent, since).await?;
        let mut report = serde_json::to_value(digest).map_err(Failure::not_json)?;
        let leases = context.tracker.leases().await?;
        let gone = |id: &str| {
            leases.iter().any(|state| state.issue.short() == id && state.gone_for.is_some())
        };
        for row in report["held"]["first"].as_array_mut().into_iter().flatten() {
            if row["id"].as_str().is_some_and(gone) {
                row["gone"] = true.into();
            }
        }
        if context.replies.is_compact() {
            make_compact(&mut report, now);
        }
        let text = context.replies.report_within(report, MAX_DIGEST_TOKENS);
        Ok(Success::done(Reply::Text(text)))
    }
}

/// Writes each row on one line: short id, status, agent, time since, title, and what else there is.
fn make_compact(report: &mut Value, now: Timestamp) {
    for rows in report.as_object_mut().into_iter().flat_map(Map::values_mut) {
        let first = rows.get_mut("first").and_then(Value::as_array_mut);
        for row in first.into_iter().flatten() {
            *row = line(row, now).into();
        }
    }
}

fn line(row: &Value, now: Timestamp) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or("-");
    let since = Timestamp::parse(text("since")).unwrap_or(now);
    let age = humanize_duration(now.millis_since(since)).replace(' ', "");
    let agent = text("agent").replace(' ', "_");
    let returns = row["returns"].as_u64().map(|count| format!("returned {count} times"));
    let gone = (row["gone"] == true).then(|| "gone".to_owned());
    let asks = row["question"].as_str().map(|question| format!("asks: {question}"));
    let rest: Vec<_> = [returns, gone, asks].into_iter().flatten().collect();
    let rest = if rest.is_empty() { String::new() } else { format!(" [{}]", rest.join(", ")) };
    format!("{} {} {agent} {age} {}{rest}", text("id"), text("status"), text("title"))
}
