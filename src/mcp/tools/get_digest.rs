//! `get_digest`: what matters in the queue now, in few words.

use chrono::Utc;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::domain::AgentName;
use crate::mcp::options::Toolset;
use crate::mcp::reply::Reply;
use crate::mcp::result::{Failure, Success};
use crate::mcp::shown;
use crate::read_model::Digest;
use crate::time_arg::{FORMS, TimeArg};

pub(super) struct GetDigest;

/// The maximum length of a digest, in tokens.
pub(in crate::mcp) const MAX_DIGEST_TOKENS: usize = 1_500;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// You: what you hold and what is for you
    agent: Option<AgentName>,
    /// Default 24h
    since: Option<String>,
}

impl Tool for GetDigest {
    const NAME: &'static str = "get_digest";
    const DESCRIPTION: &'static str =
        "The queue at a glance: counts, what waits longest, who holds what, what ended since.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Planning;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let now = context.tracker.now();
        let since = match &args.since {
            None => Digest::default_since(now),
            Some(since) => TimeArg::parse(since, &Utc)
                .map_err(|_| {
                    let since = shown(since);
                    Failure::invalid(format!(
                        "`since` must be a time such as {FORMS}; not {since:?}. Call get_digest again with one of these"
                    ))
                })?
                .time(now),
        };
        let digest = context
            .read_model
            .read(move |view| Digest::of(view, args.agent.as_ref(), since, now))
            .await?;
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
        let text = context.replies.report_within(report, MAX_DIGEST_TOKENS);
        Ok(Success::done(Reply::Text(text)))
    }
}
