//! The results of tools: one compact text, marked as an error if it is one.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, InputRequiredResult, MetaObject};
use serde::Serialize;

use super::reply::{Reply, ReplyOptions, WholeIssue, title_in_row};
use super::tool_names::ToolNames;
use ait_domain::{ErrorCode, ErrorDetails, Issue, IssueId};
use ait_http::metrics::CallOutcome;
use ait_tracker::UndeliveredClaim;
use ait_tracker::hints;
use ait_tracker::{Changed, EventPosition, StoreError, Tracker};

/// The key of the details of an error in `_meta`.
const ERROR_KEY: &str = "ait/error";
/// The maximum number of characters of an error.
const MAX_ERROR_CHARS: usize = 2_000;

/// Why a call failed: a text that names what failed, what was expected and what to call next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Failure {
    pub reason: String,
    pub outcome: CallOutcome,
    /// What programs read of it.
    pub details: ErrorDetails,
}

impl Failure {
    fn new(reason: impl Into<String>, outcome: CallOutcome, code: ErrorCode) -> Self {
        Self { reason: reason.into(), outcome, details: ErrorDetails::new(code, None) }
    }

    /// The arguments are not valid.
    pub fn invalid(reason: impl Into<String>) -> Self {
        Self::new(reason, CallOutcome::Refused, ErrorCode::Validation)
    }

    /// A file cannot be written.
    pub fn not_saved(reason: impl Into<String>) -> Self {
        Self::new(reason, CallOutcome::Failed, ErrorCode::NotSaved)
    }

    /// A remote tracker cannot be read.
    pub fn unreadable(reason: impl Into<String>) -> Self {
        Self::new(reason, CallOutcome::Failed, ErrorCode::Unreadable)
    }

    /// The caller may only read.
    pub fn read_only(reason: impl Into<String>) -> Self {
        Self::new(reason, CallOutcome::Refused, ErrorCode::ReadOnly)
    }

    /// The role of the caller does not have the tool.
    pub fn not_allowed(reason: impl Into<String>) -> Self {
        Self::new(reason, CallOutcome::Refused, ErrorCode::NotAllowed)
    }

    /// The caller withdrew the call.
    pub fn cancelled(reason: impl Into<String>) -> Self {
        Self::new(reason, CallOutcome::Cancelled, ErrorCode::Cancelled)
    }

    /// A reply cannot be written as JSON.
    pub fn not_json(error: serde_json::Error) -> Self {
        let reason = format!("failed to write JSON: {error}");
        Self::new(reason, CallOutcome::Failed, ErrorCode::Internal)
    }

    /// Returns the failure with the full names of tools.
    pub fn with_names(mut self, names: &ToolNames) -> Self {
        self.reason = names.in_text(&self.reason);
        self.details.next = self.details.next.map(|tool| names.full(&tool).into());
        self
    }

    /// A defect of the tracker stopped the call.
    pub fn panicked(reason: impl Into<String>) -> Self {
        Self::new(reason, CallOutcome::Panicked, ErrorCode::Internal)
    }

    /// Names the tool to call next, which the text names, too.
    pub fn with_next(mut self, tool: &'static str) -> Self {
        self.details.next = Some(tool.into());
        self
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let is_refusal = matches!(error, StoreError::Refused(_));
        let outcome = if is_refusal { CallOutcome::Refused } else { CallOutcome::Failed };
        let details = hints::details_for_store(&error, &hints::TOOLS);
        Self { reason: hints::for_store(&error, &hints::TOOLS), outcome, details }
    }
}

/// What a call did.
pub(super) struct Success {
    pub reply: Reply,
    pub outcome: CallOutcome,
    /// The claim that the call made, until its caller knows of it.
    pub claim: Option<UndeliveredClaim>,
    /// The events of the change that the call made.
    pub events: Vec<EventPosition>,
    /// Open issues with nearly the title of one that the call filed.
    pub near: Vec<Arc<Issue>>,
    /// What the client is to ask its person before it calls again.
    pub asks: Option<InputRequiredResult>,
}

impl Success {
    /// The call did what was asked.
    pub fn done(reply: Reply) -> Self {
        Self {
            reply,
            outcome: CallOutcome::Ok,
            claim: None,
            events: Vec::new(),
            near: Vec::new(),
            asks: None,
        }
    }

    /// The call reports something.
    pub fn report(report: impl Serialize) -> Result<Self, Failure> {
        let report = serde_json::to_value(report).map_err(Failure::not_json)?;
        Ok(Self::done(Reply::Report(report)))
    }

    /// The call found nothing to claim.
    pub fn nothing(text: String) -> Self {
        Self { outcome: CallOutcome::Empty, ..Self::done(Reply::Text(text)) }
    }

    /// Adds the number of the change, if the call made one.
    pub async fn numbered(mut self, tracker: &Tracker) -> Self {
        if let Reply::Confirmation { change, .. }
        | Reply::Issue(WholeIssue { change, .. })
        | Reply::Filed { change, .. } = &mut self.reply
        {
            *change = tracker.change_numbers(&self.events).await;
        }
        self
    }

    /// Writes the reply.
    ///
    /// # Errors
    ///
    /// The reply cannot be written as JSON. A claim lapses then.
    pub fn answer(self, replies: &ReplyOptions) -> Result<Answer, Failure> {
        let mut text = replies.write(&self.reply).map_err(Failure::not_json)?;
        for near in &self.near {
            text += &format!("; near: {} {}", near.id.short(), title_in_row(near));
        }
        let issue = match &self.reply {
            Reply::Confirmation { issue, .. } => Some(issue.id),
            Reply::Issue(whole) => Some(whole.issue.id),
            Reply::Filed { .. } | Reply::Text(_) | Reply::List(_) | Reply::Report(_) => None,
        };
        Ok(Answer { text, outcome: self.outcome, issue, claim: self.claim, asks: self.asks })
    }
}

/// The answer to a call.
pub(super) struct Answer {
    pub text: String,
    pub outcome: CallOutcome,
    /// The issue that it filed, changed, claimed or shows.
    pub issue: Option<IssueId>,
    /// The claim that the call made, until its caller knows of it.
    pub claim: Option<UndeliveredClaim>,
    /// What the client is to ask its person before it calls again.
    pub asks: Option<InputRequiredResult>,
}

/// Returns how a call ended, for the metrics.
pub(super) fn outcome_of(result: &Result<Answer, Failure>) -> CallOutcome {
    match result {
        Ok(answer) => answer.outcome,
        Err(failure) => failure.outcome,
    }
}

/// Returns what clients read before everything that a damaged store answers; `None` if it is intact.
pub(super) async fn damage_warning(tracker: &Tracker) -> Option<String> {
    let damage = tracker.damage().await?;
    Some(bounded(hints::for_damage(&damage, &hints::TOOLS)))
}

/// Converts what a tool returned into the result of its call. The warning comes first.
pub(super) fn call_tool_result(
    outcome: Result<Answer, Failure>,
    warning: Option<String>,
) -> CallToolResult {
    let content = |warning: Option<String>, text| {
        warning.into_iter().chain([text]).map(ContentBlock::text).collect()
    };
    match outcome {
        Ok(Answer { text, .. }) => CallToolResult::success(content(warning, text)),
        Err(Failure { reason, details, .. }) => {
            let warning = warning.filter(|warning| !warning.contains(&reason));
            let text = bounded(format!("Error: {reason}."));
            let mut result = CallToolResult::error(content(warning, text));
            let mut meta = MetaObject::new();
            meta.insert(ERROR_KEY.to_owned(), serde_json::json!(details));
            result.meta = Some(meta);
            result
        }
    }
}

/// Cuts the middle out of an error that is too long: it begins with what failed, and ends with what to do.
fn bounded(text: String) -> String {
    let cut = text.chars().count().saturating_sub(MAX_ERROR_CHARS);
    if cut == 0 {
        return text;
    }
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let head = MAX_ERROR_CHARS / 2;
    format!("{}…{}", &text[..at(head)], &text[at(head + cut + 1)..])
}

/// Returns the short confirmation of a change.
pub(super) fn confirmation(what: impl Into<Cow<'static, str>>, changed: Changed) -> Success {
    let Changed { issue, events } = changed;
    let what = what.into();
    Success { events, ..Success::done(Reply::Confirmation { what, issue, change: None }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_errors_keep_their_beginning_and_their_end() {
        assert_eq!(bounded("short".to_owned()), "short");
        let exact = "ä".repeat(MAX_ERROR_CHARS);
        assert_eq!(bounded(exact.clone()), exact);
        for extra in [1, 7, 100_000] {
            let text = format!(
                "Error: {}{} call it again.",
                "ä".repeat(MAX_ERROR_CHARS),
                "x".repeat(extra)
            );
            let bounded = bounded(text);
            assert_eq!(bounded.chars().count(), MAX_ERROR_CHARS);
            assert!(bounded.starts_with("Error: ä") && bounded.ends_with(" call it again."));
        }
    }
}
