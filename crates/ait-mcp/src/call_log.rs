//! The log of tool calls, with the target `ait::calls`: one line for each call.
//!
//! A line names the tool, the agent, the client and the issue. It never contains titles, texts, comments or other
//! arguments.

use std::time::{Duration, Instant};

use axum::http::header::USER_AGENT;
use axum::http::request::Parts;
use rmcp::model::{CallToolResult, JsonObject};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tracing::Level;

use super::result::{Answer, Failure, call_tool_result};
use super::shown;
use super::waiting::may_wait;
use ait_domain::{AgentName, ErrorCode, IssueRef};
use ait_http::metrics::CallOutcome;

/// The target of the lines.
const TARGET: &str = "ait::calls";
/// How long a call may take before its line is a warning.
const SLOW: Duration = Duration::from_secs(1);

/// A call in progress.
pub(super) struct CallLog {
    tool: &'static str,
    agent: Option<String>,
    /// The reference in the arguments.
    issue: Option<String>,
    may_wait: bool,
    begun: Instant,
}

impl CallLog {
    /// Begins a call. Remembers only the agent and the issue of the arguments, and only if they are valid: otherwise
    /// they may contain anything.
    pub fn begin(tool: &'static str, arguments: &JsonObject) -> Self {
        let text = |name| arguments.get(name).and_then(Value::as_str);
        let agent = text("agent").and_then(|name| AgentName::try_from(name).ok());
        let issue = text("issue_id").and_then(|issue| issue.parse::<IssueRef>().ok());
        Self {
            tool,
            agent: agent.map(|name| shown(name.as_str())),
            issue: issue.map(|issue| issue.to_string()),
            may_wait: may_wait(tool, Some(arguments)),
            begun: Instant::now(),
        }
    }

    /// Returns how long the call takes so far; `None` if it may have waited for an issue.
    pub fn duration(&self) -> Option<Duration> {
        (!self.may_wait).then(|| self.begun.elapsed())
    }

    /// Converts what the tool returned into the result of its call, and writes the line.
    pub fn reply(
        mut self,
        outcome: Result<Answer, Failure>,
        warning: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> CallToolResult {
        let (how, code) = match &outcome {
            Ok(success) => {
                // The id of a new or claimed issue is in no argument.
                self.issue = success.issue.map(|id| id.to_string()).or(self.issue);
                (success.outcome, None)
            }
            Err(failure) => (failure.outcome, Some(failure.details.code)),
        };
        let reply = call_tool_result(outcome, warning);
        let text = reply.content.iter().filter_map(|part| part.as_text());
        self.write(how, code, text.map(|part| part.text.len()).sum(), context);
        reply
    }

    /// Writes the line of a call of a tool that does not exist.
    pub fn unknown_tool(self, context: &RequestContext<RoleServer>) {
        self.write(CallOutcome::Refused, Some(ErrorCode::NotFound), 0, context);
    }

    fn write(
        self,
        outcome: CallOutcome,
        code: Option<ErrorCode>,
        bytes: usize,
        context: &RequestContext<RoleServer>,
    ) {
        let taken = self.begun.elapsed();
        macro_rules! write_line {
            ($level:ident) => {
                tracing::event!(
                    target: TARGET,
                    Level::$level,
                    tool = self.tool,
                    agent = self.agent,
                    client = client(context),
                    issue = self.issue,
                    outcome = outcome.as_str(),
                    code = code.map(ErrorCode::as_str),
                    ms = (taken.as_micros() / 100) as f64 / 10.0,
                    bytes,
                    "tool call"
                )
            };
        }
        match level(outcome, self.duration().unwrap_or_default()) {
            Level::WARN => write_line!(WARN),
            Level::INFO => write_line!(INFO),
            _ => write_line!(DEBUG),
        }
    }
}

fn level(outcome: CallOutcome, taken: Duration) -> Level {
    match outcome {
        CallOutcome::Failed | CallOutcome::Panicked => Level::WARN,
        _ if taken > SLOW => Level::WARN,
        CallOutcome::Refused => Level::INFO,
        CallOutcome::Ok | CallOutcome::Empty | CallOutcome::Cancelled => Level::DEBUG,
    }
}

/// Returns the name that the client gives itself. In an HTTP session, which remembers nothing of its client, it is the
/// `User-Agent`.
fn client(context: &RequestContext<RoleServer>) -> Option<String> {
    if let Some(client) = context.meta.client_info() {
        return Some(shown(&client.name));
    }
    match context.extensions.get::<Parts>() {
        Some(parts) => parts.headers.get(USER_AGENT)?.to_str().ok().map(shown),
        None => context.peer.peer_info().map(|client| shown(&client.client_info.name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_and_failed_calls_are_warnings() {
        for (outcome, quick, slow) in [
            (CallOutcome::Ok, Level::DEBUG, Level::WARN),
            (CallOutcome::Empty, Level::DEBUG, Level::WARN),
            (CallOutcome::Cancelled, Level::DEBUG, Level::WARN),
            (CallOutcome::Refused, Level::INFO, Level::WARN),
            (CallOutcome::Failed, Level::WARN, Level::WARN),
            (CallOutcome::Panicked, Level::WARN, Level::WARN),
        ] {
            assert_eq!(level(outcome, SLOW), quick, "{outcome:?}");
            assert_eq!(level(outcome, SLOW + Duration::from_millis(1)), slow, "{outcome:?}");
        }
    }
}
