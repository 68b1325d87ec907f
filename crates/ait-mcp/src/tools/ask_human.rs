//! `ask_human`: ask people a question about an issue, and be free.
//!
//! The question is open to all people before the person at the client is asked, so that it is never lost. If that
//! person answers while the call lasts, the agent goes on with its claim.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientResult, ElicitResult, InputRequest};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::oneshot;

use super::{CallContext, Tool};
use crate::asking::{Asking, input_required};
use crate::elicitation;
use crate::options::Toolset;
use crate::reply::Reply;
use crate::result::{Failure, Success, confirmation};
use crate::waiting::{ASK_HUMAN, WaitingClient};
use ait_domain::{AgentName, DomainError, Issue, IssueRef, Question, QuestionAnswer, Timestamp};
use ait_tracker::UndeliveredClaim;
use ait_tracker::{Changed, StoreError, Tracker};

/// How long a client may show a question. Its answer counts for that long, also after the call.
const SHOWN_FOR: Duration = Duration::from_secs(600);
/// How long a call waits for the person at the client. Some clients give a call up after 30 seconds.
const WAIT: Duration = Duration::from_secs(25);
/// The name of the person at a client, who has no other.
const PERSON: &str = "person";

pub(super) struct AskHuman;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    issue_id: IssueRef,
    agent: AgentName,
    question: String,
    options: Option<Vec<String>>,
    default: Option<String>,
    default_after_minutes: Option<NonZeroU32>,
}

impl Args {
    fn question(&self, now: Timestamp) -> Result<Question, Failure> {
        let options = self.options.as_deref().unwrap_or_default();
        let question = Question::new(&self.question, options).map_err(StoreError::Refused)?;
        match (&self.default, self.default_after_minutes) {
            (Some(default), Some(minutes)) => {
                let at = now.unix_millis() + i64::from(minutes.get()) * 60_000;
                let question = question.with_default(default, Timestamp::from_unix_millis(at));
                Ok(question.map_err(StoreError::Refused)?)
            }
            (None, None) => Ok(question),
            _ => Err(Failure::invalid("`default` and `default_after_minutes` come together")),
        }
    }
}

impl Tool for AskHuman {
    const NAME: &'static str = ASK_HUMAN;
    const DESCRIPTION: &'static str = "Ask people to decide. Ends the claim; the answer requeues the \
        issue.";
    const TOOLSET: Toolset = Toolset::Planning;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let question = args.question(context.tracker.now())?;
        let Args { issue_id, agent, .. } = args;
        let person = context.asking.as_ref().filter(|_| context.capabilities.forms).cloned();
        if let Some(Asking::NextCall(Some(response))) = &person {
            let issue = context.tracker.get_issue(issue_id).await?;
            let asked = Asked { tracker: context.tracker, issue, question, agent };
            return asked.respond(serde_json::from_value(response.clone()).ok()).await;
        }
        let proof = context.proof(None);
        let asked = context.tracker.ask_human(issue_id, question.clone(), agent.clone(), proof);
        let Changed { issue, events } = asked.await?;
        let asked = Asked { tracker: context.tracker, issue, question, agent };
        let is_new = !events.is_empty();
        let mut success = Success { events, ..asked.confirmation() };
        match person.filter(|_| is_new) {
            Some(Asking::NextCall(_)) => success.asks = Some(input_required(asked.form())),
            Some(client) => {
                let form = asked.form();
                let result = async move {
                    match client.ask(form, SHOWN_FOR).await? {
                        ClientResult::ElicitResult(result) => Some(result),
                        _ => None,
                    }
                };
                if let Some(answered) = asked.wait_for(result, context.waiting).await {
                    return answered;
                }
            }
            None => {}
        }
        Ok(success)
    }
}

/// An open question, and the agent that asked it.
struct Asked {
    tracker: Tracker,
    issue: Arc<Issue>,
    question: Question,
    agent: AgentName,
}

impl Asked {
    fn form(&self) -> InputRequest {
        elicitation::request(&self.issue, &self.question, self.agent.as_str())
    }

    fn confirmation(&self) -> Success {
        let open = self.issue.open_question();
        let default = open.and_then(|question| question.default.as_ref());
        let default = default.map(|default| format!(" ({default})")).unwrap_or_default();
        confirmation(
            format!("asked{default}"),
            Changed { issue: Arc::clone(&self.issue), events: Vec::new() },
        )
    }

    /// Waits for the person at the client. Returns `None` if there is no answer while the call lasts. A later one is
    /// recorded, too.
    async fn wait_for(
        self,
        result: impl Future<Output = Option<ElicitResult>> + Send + 'static,
        client: WaitingClient,
    ) -> Option<Result<Success, Failure>> {
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            let answer = elicitation::answer(&result.await?, &self.question)?;
            let recorded = self.record(answer, !sender.is_closed()).await;
            // A claim lapses if the call has just ended.
            sender.send(recorded).err().map(drop)
        });
        tokio::select! {
            recorded = receiver => recorded.ok(),
            () = client.wait(WAIT) => None,
        }
    }

    /// Responds to the call that brings what the person at the client did.
    async fn respond(self, result: Option<ElicitResult>) -> Result<Success, Failure> {
        if !self.issue.open_question().is_some_and(|open| open.is_same_as(&self.question)) {
            return Ok(self.answered_by_others(&self.issue));
        }
        match result.and_then(|result| elicitation::answer(&result, &self.question)) {
            Some(answer) => self.record(answer, true).await,
            None => Ok(self.confirmation()),
        }
    }

    /// Records an answer. The agent goes on with the issue if it held the issue, and `is_awaited` says that it waits.
    async fn record(&self, answer: QuestionAnswer, is_awaited: bool) -> Result<Success, Failure> {
        let Self { tracker, issue, agent, .. } = self;
        let person = AgentName::try_from(PERSON).expect("the name is valid");
        let answered = if is_awaited && issue.was_held_for_work_when_asked() {
            tracker.answer_and_claim(issue.id, answer, person, agent.clone()).await
        } else {
            tracker.answer_question(issue.id.into(), answer, person).await
        };
        let Changed { issue, events } = match answered {
            Err(StoreError::Refused(DomainError::NoQuestion { .. })) => {
                let issue = tracker.get_issue(issue.id.into()).await?;
                return Ok(self.answered_by_others(&issue));
            }
            answered => answered?,
        };
        let answer = issue.comments.last().map_or("", |comment| &comment.text);
        let id = issue.id;
        let status = issue.status;
        if !issue.is_held_by(agent) {
            let text = format!("Issue {id} answered: {answer}\n\nIts status is {status}.");
            return Ok(Success { events, ..said(text) });
        }
        let number = issue.claim_number();
        let text = format!("Issue {id} answered: {answer}\n\nYou hold it again: claim {number}.");
        let claim = Some(UndeliveredClaim::new(tracker.clone(), issue));
        Ok(Success { claim, events, ..said(text) })
    }

    fn answered_by_others(&self, issue: &Issue) -> Success {
        let answer = issue.last_answer().unwrap_or_else(|| "the question was withdrawn".to_owned());
        said(format!("Issue {} {answer}\n\nIts status is {}.", issue.id, issue.status))
    }
}

fn said(text: String) -> Success {
    Success::done(Reply::Text(text))
}
