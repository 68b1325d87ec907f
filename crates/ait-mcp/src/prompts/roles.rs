//! The role prompts of `agents/`, with the task at hand.

use rmcp::model::{ContentBlock, ErrorData, PromptMessage, Role as Speaker};

use super::{AGENT, Argument, CLASSIFICATION, Given, ISSUE_ID, MODE, Mode, refused, user_message};
use crate::McpServer;
use crate::reply::ReplyOptions;
use crate::resources::{self, Resource};
use ait_domain::{AgentName, Classification, Issue, IssueId, IssueRef, Status, Timestamp};
use ait_setup::prompts;
use ait_tracker::hints;
use ait_tracker::{ClaimKind, StoreError};

/// A role of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    pub name: &'static str,
    pub title: &'static str,
    pub arguments: &'static [Argument],
    /// What the role claims.
    work: Work,
}

/// What a role claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Nothing,
    /// Created issues, of one classification if there is one.
    Created(Option<Classification>),
    /// Completed issues.
    Completed,
}

const TEAM_LEAD: Role = Role {
    name: "team-lead",
    title: "Team lead",
    arguments: &[CLASSIFICATION, MODE],
    work: Work::Nothing,
};
const DEVELOPER: Role = Role {
    name: "developer",
    title: "Developer",
    arguments: &[CLASSIFICATION, ISSUE_ID, AGENT],
    work: Work::Created(None),
};
const BUG_FIXER: Role = Role {
    name: "bug-fixer",
    title: "Bug fixer",
    arguments: &[ISSUE_ID, AGENT],
    work: Work::Created(Some(Classification::Bug)),
};
const CODE_REVIEWER: Role = Role {
    name: "code-reviewer",
    title: "Code reviewer",
    arguments: &[ISSUE_ID, AGENT],
    work: Work::Completed,
};

/// All roles, in the order of `prompts/list`.
pub(super) const ROLES: [Role; 4] = [TEAM_LEAD, DEVELOPER, BUG_FIXER, CODE_REVIEWER];

impl Role {
    /// Returns when to use the role, from its file.
    pub fn description(&self) -> &'static str {
        prompts::description(self.file())
    }

    /// Returns the agent name to act under.
    fn agent_name(self, agent: Option<&AgentName>) -> &str {
        agent.map_or(self.name, AgentName::as_str)
    }

    fn file(&self) -> &'static str {
        let file = prompts::PROMPTS.iter().find(|(name, _)| *name == self.name);
        file.expect("every role has a file").1
    }
}

/// Returns the messages of a role prompt.
pub(super) async fn messages(
    server: &McpServer,
    name: &str,
    given: &Given<'_>,
    replies: &ReplyOptions,
) -> Result<Vec<PromptMessage>, ErrorData> {
    let role = ROLES.into_iter().find(|role| role.name == name).expect("every prompt is known");
    let classification = given.classification(server.tracker.classifications())?;
    let agent = given.text(AGENT).map(|name| AgentName::try_from(name.to_owned())).transpose();
    let agent = agent.map_err(|bad| refused(hints::for_refusal(&bad, &hints::TOOLS)))?;
    let mut tasks = Vec::new();
    if let Some(agent) = agent.as_ref().filter(|agent| agent.as_str() != role.name) {
        tasks.push(format!(
            "Your agent name is {:?}: pass it in every call, instead of the one in the examples.",
            agent.as_str()
        ));
    }
    let reference = given.text(ISSUE_ID);
    if let Some(classification) = classification.filter(|_| reference.is_none()) {
        tasks.push(only_classification(&role, classification, agent.as_ref()));
    }
    if given.mode()? == Mode::Continuous {
        tasks.push(
            "Work in continuous mode: when the queue is empty, wait for new issues as the section \
             “Continuous mode” says."
                .to_owned(),
        );
    }
    let mut shown = None;
    if let Some(reference) = reference {
        let reference = IssueRef::named(reference, IssueRef::MIN_DIGITS)
            .map_err(|bad| refused(hints::for_refusal(&bad, &hints::TOOLS)))?;
        let tracker = &server.tracker;
        let failed = |error: StoreError| match error {
            StoreError::Refused(bad) => refused(hints::for_refusal(&bad, &hints::TOOLS)),
            error => ErrorData::internal_error(hints::for_store(&error, &hints::TOOLS), None),
        };
        let issue = tracker.get_issue(reference).await.map_err(failed)?;
        if classification.is_some_and(|wanted| wanted != issue.classification) {
            let id = issue.id.short();
            let kind = issue.classification;
            let reason =
                format!("issue {id} has the classification {kind}: leave the classification out");
            return Err(refused(reason));
        }
        let next_review = match AgentName::try_from(role.agent_name(agent.as_ref())) {
            Ok(agent) => tracker.next_claimable(ClaimKind::Review, &agent).await.map_err(failed)?,
            Err(_) => None,
        };
        let next_review = next_review.map(|issue| issue.id);
        tasks.push(one_issue(&role, &issue, next_review, tracker.now(), agent.as_ref()));
        shown = Some(Resource::Issue(issue.id.into()));
    }
    let mut text = prompts::body(role.file()).to_owned();
    if !tasks.is_empty() {
        text.push_str("\n## This time\n");
        for task in tasks {
            text.push_str(&format!("\n- {task}"));
        }
        text.push('\n');
    }
    let mut messages = Vec::new();
    if let Some(resource) = shown {
        messages.push(issue_message(server, &resource, replies, &text).await?);
    }
    messages.insert(0, user_message(text));
    Ok(messages)
}

/// Returns the message with an issue, in what the text before it leaves of the budget.
async fn issue_message(
    server: &McpServer,
    issue: &Resource,
    replies: &ReplyOptions,
    before: &str,
) -> Result<PromptMessage, ErrorData> {
    let uri = issue.to_string();
    let max_tokens = replies.max_tokens.after(replies.tokens(before));
    let replies = ReplyOptions { max_tokens, ..replies.clone() };
    let read = resources::read(server, issue, &replies).await;
    let read = read.map_err(|reason| reason.response(&uri))?;
    Ok(PromptMessage::new(Speaker::User, ContentBlock::resource(read.contents(uri))))
}

/// Returns the task to work on one classification.
fn only_classification(
    role: &Role,
    classification: Classification,
    agent: Option<&AgentName>,
) -> String {
    match role.work {
        Work::Nothing => format!(
            "Work only on issues of the classification `{classification}`. Of the queues of created issues, \
             ask for this one alone, start workers for it alone, tell each worker to claim only with \
             `\"classification\":\"{classification}\"`, and leave the other queues alone. Review completed \
             issues as always."
        ),
        _ => {
            let agent = role.agent_name(agent);
            let arguments = serde_json::json!({ "agent": agent, "classification": classification });
            format!(
                "Claim only with `get_next_issue {arguments}`. If it answers with a sentence, you can claim none: \
                 report the sentence and end."
            )
        }
    }
}

/// Returns the task to work on one issue in its current state.
fn one_issue(
    role: &Role,
    issue: &Issue,
    next_review: Option<IssueId>,
    now: Timestamp,
    agent: Option<&AgentName>,
) -> String {
    let id = issue.id.short();
    let status = issue.status;
    let about = format!(
        "Your task is issue `{id}` alone (whole below; `list_issues {{\"issue_id\":\"{id}\"}}` shows it again)."
    );
    let rest = match (status, role.work) {
        (Status::Closed | Status::Rejected | Status::Kept, _) => format!(
            "It is {status}, which is final: do not work on it. If something is left to do, file a new issue \
             with add_issue, and report."
        ),
        (Status::InProgress, Work::Completed) | (Status::InReview, Work::Created(_)) => {
            format!("It is {status} and not yours to take: say so, and end.")
        }
        (Status::InProgress | Status::InReview, _) => held(issue, agent, role),
        (Status::Completed, Work::Created(_)) => {
            "It is completed and waits for review: there is nothing left to do. Say so, and end."
                .to_owned()
        }
        (Status::Created, Work::Completed) => {
            "It is created and not completed: there is nothing to review. Say so, and end."
                .to_owned()
        }
        (Status::Created, Work::Created(Some(only))) if only != issue.classification => format!(
            "Its classification is `{}`, which is not yours to take: say that a developer has to take it, and end.",
            issue.classification
        ),
        (Status::Created, _) => {
            let arguments = serde_json::json!({ "agent": role.agent_name(agent), "issue_id": id });
            format!(
                "Claim it with `get_next_issue {arguments}` instead of the call of section 1. If that is refused, \
                 report the reason and end."
            )
        }
        (Status::Completed, _) => {
            waiting_for_review(issue, next_review, now, role.agent_name(agent))
        }
    };
    format!("{about} {rest}")
}

/// Returns the task for a claimed issue. Quotes names, because they may come from anyone.
fn held(issue: &Issue, agent: Option<&AgentName>, role: &Role) -> String {
    let Some(holder) = issue.holder() else {
        return format!("It is {}, but its holder is unknown: ask the person.", issue.status);
    };
    let who = crate::shown(holder.agent);
    let since = holder.since;
    let status = issue.status;
    let resume = "do not claim, continue with section 2";
    if agent.is_some_and(|agent| agent.as_str() == holder.agent) {
        return format!("You already hold it, since {since}: {resume}.");
    }
    if agent.is_none() && role.name == holder.agent {
        return format!(
            "{who:?} has held it since {since}. If that was you in an earlier session, {resume}. If that \
             worker may still run, stop and ask the person: two workers must not share an issue."
        );
    }
    let back = match role.work {
        Work::Completed => {
            "then return_issue sends it back to a worker, who has to complete it again"
        }
        _ => "then return_issue puts it back into its old place in the queue",
    };
    format!(
        "It is {status}: {who:?} has held it since {since}, not you. Leave it alone unless the person says that \
         this agent is gone; {back}."
    )
}

/// Returns the task for an issue that waits for review. Reviews cannot be chosen.
fn waiting_for_review(
    issue: &Issue,
    next_review: Option<IssueId>,
    now: Timestamp,
    agent: &str,
) -> String {
    if next_review == Some(issue.id) {
        let arguments = serde_json::json!({ "agent": agent });
        return format!(
            "It is the next to be reviewed: claim it with `get_next_review_item {arguments}`. If another agent is \
             faster, you get a different issue: review that one, and say so in your report."
        );
    }
    if issue.attributes.is_parked_at(now) {
        return "It is parked. Claim nothing: say so, and end.".to_owned();
    }
    "Other issues are reviewed before it, because they are more urgent or older. Claim nothing yet: say so, and ask \
     the person whether to review those first."
        .to_owned()
}
