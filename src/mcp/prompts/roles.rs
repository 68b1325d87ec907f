//! The agents of `agents/`, and what one of them is to do this time.

use rmcp::model::{ContentBlock, ErrorData, PromptMessage, Role as Speaker};

use super::{AGENT, Argument, CLASSIFICATION, Given, ISSUE_ID, refused, said};
use crate::domain::{
    AgentName, Classification, DomainError, Issue, IssueRef, Query, Status, Statuses,
};
use crate::mcp::McpServer;
use crate::mcp::resources::{self, Resource};
use crate::setup::prompts;
use crate::tracker::IssueStore;

/// An agent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    pub name: &'static str,
    pub title: &'static str,
    pub arguments: &'static [Argument],
    /// What it claims, if it does.
    work: Work,
}

/// What an agent claims.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Nothing,
    /// What is created, of one classification where there is one.
    Created(Option<Classification>),
    /// What is completed.
    Completed,
}

const TEAM_LEAD: Role = Role {
    name: "team-lead",
    title: "Team lead",
    arguments: &[CLASSIFICATION],
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

/// All of them, in the order in which they are listed.
pub(super) const ROLES: [Role; 4] = [TEAM_LEAD, DEVELOPER, BUG_FIXER, CODE_REVIEWER];

impl Role {
    /// When to use it, in the words of its file.
    pub fn description(&self) -> &'static str {
        prompts::description(self.file())
    }

    /// The name under which it acts.
    fn called(self, agent: Option<&AgentName>) -> &str {
        agent.map_or(self.name, AgentName::as_str)
    }

    fn file(&self) -> &'static str {
        let file = prompts::PROMPTS.iter().find(|(name, _)| *name == self.name);
        file.expect("every role has a file").1
    }
}

/// What the agent of a name is told.
pub(super) async fn messages(
    server: &McpServer,
    name: &str,
    given: &Given<'_>,
) -> Result<Vec<PromptMessage>, ErrorData> {
    let role = ROLES.into_iter().find(|role| role.name == name).expect("every prompt is known");
    let classification = given.classification()?;
    let name_given = |name: &str| AgentName::try_from(name.to_owned());
    let agent = given.text(AGENT).map(name_given).transpose();
    let agent = agent.map_err(|bad| refused(bad.to_string()))?;
    let mut orders = Vec::new();
    if let Some(agent) = agent.as_ref().filter(|agent| agent.as_str() != role.name) {
        orders.push(format!(
            "Your agent name is {:?}: pass it in every call, instead of the one in the examples.",
            agent.as_str()
        ));
    }
    let reference = given.text(ISSUE_ID);
    if let Some(classification) = classification.filter(|_| reference.is_none()) {
        orders.push(only(&role, classification, agent.as_ref()));
    }
    let mut shown = None;
    if let Some(reference) = reference {
        let reference: IssueRef =
            reference.parse().map_err(|bad: DomainError| refused(bad.to_string()))?;
        let state = server.tracker().snapshot().await;
        let state = state.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let issues = state.issues;
        let issue = issues.find(&reference).map_err(|bad| refused(bad.to_string()))?;
        if classification.is_some_and(|it| it != issue.classification) {
            let (id, kind) = (issue.id.short(), issue.classification);
            let reason = format!("issue {id} is of the classification {kind}: leave that out");
            return Err(refused(reason));
        }
        orders.push(this_one(&role, &issue, &issues, agent.as_ref()));
        let resource = Resource::Issue(issue.id.into());
        let uri = resource.to_string();
        let read = resources::read(server, &resource).await;
        let read = read.map_err(|reason| reason.answer(&uri))?;
        shown = Some(ContentBlock::resource(read.contents(uri)));
    }
    let mut text = prompts::body(role.file()).to_owned();
    if !orders.is_empty() {
        text.push_str("\n## This time\n");
        for order in orders {
            text.push_str(&format!("\n- {order}"));
        }
        text.push('\n');
    }
    let shown = shown.map(|content| PromptMessage::new(Speaker::User, content));
    Ok(std::iter::once(said(text)).chain(shown).collect())
}

/// To work off one classification only.
fn only(role: &Role, classification: Classification, agent: Option<&AgentName>) -> String {
    match role.work {
        Work::Nothing => format!(
            "Only issues of the classification `{classification}` are to be worked off. Of the queues of \
             created issues ask for this one alone, start workers for it alone, tell each worker to \
             claim with `\"classification\":\"{classification}\"` only, and leave what else waits. Completed \
             issues are reviewed as always."
        ),
        _ => format!(
            "Claim with `{}` alone; the other calls of section 1 are left out. When it answers with a \
             sentence, nothing waits: report that and end.",
            claim(classification, role.called(agent))
        ),
    }
}

fn claim(classification: Classification, agent: &str) -> String {
    let arguments = serde_json::json!({ "agent": agent, "classification": classification });
    format!("get_next_issue {arguments}")
}

/// To take care of one issue, as it stands now.
fn this_one(role: &Role, issue: &Issue, issues: &IssueStore, agent: Option<&AgentName>) -> String {
    let (id, status) = (issue.id.short(), issue.status);
    let about = format!(
        "This is about issue `{id}` alone (whole below; `list_issues {{\"issue_id\":\"{id}\"}}` shows it anew)."
    );
    let rest = match (status, role.work) {
        (Status::Closed | Status::Rejected, _) => format!(
            "It is {status}, which is final: do not work on it. If something is left to do, file that with \
             add_issue, and report."
        ),
        (Status::InProgress, Work::Completed) | (Status::InReview, Work::Created(_)) => {
            format!("It is {status} and not yours to take: say so, and end.")
        }
        (Status::InProgress | Status::InReview, _) => held(issue, agent, role),
        (Status::Completed, Work::Created(_)) => {
            "It is completed and waits for review: there is nothing to do on it. Say so, and end."
                .to_owned()
        }
        (Status::Created, Work::Completed) => {
            "It is created and not handed in: there is nothing to review. Say so, and end."
                .to_owned()
        }
        (Status::Created, Work::Created(Some(only))) if only != issue.classification => format!(
            "Its classification is `{}`, which is not yours to take: say that a developer takes it, and end.",
            issue.classification
        ),
        (Status::Created, _) => {
            waiting(issue, issues, &claim(issue.classification, role.called(agent)))
        }
        (Status::Completed, _) => {
            let arguments = serde_json::json!({ "agent": role.called(agent) });
            waiting(issue, issues, &format!("get_next_review_item {arguments}"))
        }
    };
    format!("{about} {rest}")
}

/// What to do about an issue that somebody holds. Names are quoted: anybody may have given them.
fn held(issue: &Issue, agent: Option<&AgentName>, role: &Role) -> String {
    let usual = role.name;
    let Some(holder) = issue.holder() else {
        return format!("It is {}, and nobody knows by whom: ask the person.", issue.status);
    };
    let (who, since, status) = (crate::mcp::shown(holder.agent), holder.since, issue.status);
    let go_on = match role.work {
        Work::Completed => {
            "make the checks of section 1, claim nothing, and go on with what follows the claim"
        }
        _ => "do not claim, go on with section 2",
    };
    if agent.is_some_and(|agent| agent.as_str() == holder.agent) {
        return format!("You hold it already, since {since}: {go_on}.");
    }
    if agent.is_none() && usual == holder.agent {
        return format!(
            "{who:?} holds it since {since}. If that was you, in a session that has ended, {go_on}. If that \
             worker may still run, stop and ask the person: two would work on one issue."
        );
    }
    let back = match role.work {
        Work::Completed => {
            "then return_issue sends it back to a worker, who has to hand it in again"
        }
        _ => "then return_issue puts it back into its old place in the queue",
    };
    format!(
        "It is {status}: {who:?} holds it since {since}, and not you. Leave it alone unless the person says that \
         this agent is gone; {back}."
    )
}

/// What to do about an issue that waits, and is claimed by such a call when its turn comes.
fn waiting(issue: &Issue, issues: &IssueStore, call: &str) -> String {
    let statuses: Statuses = Some(issue.status).into();
    // Reviews have one queue.
    let classification = (issue.status == Status::Created).then_some(issue.classification);
    let first = issues.list(&Query { statuses, classification, take: 1, ..Query::default() });
    if first.issues.first().is_some_and(|first| first.id == issue.id) {
        return format!(
            "It is the next of its queue: claim it with `{call}` alone. Should another one come, because \
             somebody was faster, that one is yours: work on it, and say so in your report."
        );
    }
    "Older issues wait before it, and the queue hands out the oldest first; nobody can jump it. Claim nothing \
     yet: say so, and ask the person whether to work on those first."
        .to_owned()
}
