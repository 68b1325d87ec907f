//! What the hooks of a client say and do: what the agent of a session holds and how much waits, a reminder of its
//! claims when it wants to stop, and the release of its claims at the end.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::transcript::ToldClaim;
use ait_domain::text::shortened;
use ait_domain::{AgentName, Budget, CommentText, Condition, Issue, IssueChange, Query, Status};
use ait_setup::{HookClient, HookForm, SessionEvent};
use ait_system::span::humanize_duration;
use ait_tracker::hints;
use ait_tracker::read_model::Digest;
use ait_tracker::{IssueAtVersion, StoreError, Tracker};

/// How many claims a text names.
const MAX_CLAIMS: usize = 3;
/// How many characters of a title, a name and a reason a text contains.
const MAX_CHARS: usize = 40;
/// How many characters of the name of another agent a text contains.
const MAX_NAME_CHARS: usize = 20;
/// Among how many claimed issues those of other agents are looked for.
const MAX_LOOKED_AT: usize = 20;

/// The transcripts of how many subagents are read at the end of a session.
const MAX_SUBAGENTS: usize = 100;

/// What the client says on stdin. Clients send more than that.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HookInput {
    /// The working directory of the session.
    pub cwd: Option<PathBuf>,
    /// The directories of the session, which Cursor sends instead.
    pub workspace_roots: Vec<PathBuf>,
    /// Whether the agent goes on only because a hook kept it from stopping.
    pub stop_hook_active: bool,
    /// How often a hook kept the agent from stopping, which Cursor sends instead.
    pub loop_count: u64,
    /// How the turn ended, which Cursor sends: `completed` if not by the user or an error.
    pub status: Option<String>,
    /// Why the session ends.
    pub reason: Option<String>,
    /// Why the model failed, which Claude Code sends.
    pub error: Option<String>,
    /// What the agent said last; after a failure, what the client says of it.
    pub last_assistant_message: Option<String>,
    /// The id of the session.
    pub session_id: Option<String>,
    /// The transcript of the session.
    pub transcript_path: Option<PathBuf>,
    /// The transcript of the subagent that wants to stop.
    pub agent_transcript_path: Option<PathBuf>,
    /// The subagent whose hook this is.
    pub agent_id: Option<String>,
    /// What the agent gave to the tool whose hook this is.
    pub tool_input: ToolInput,
}

/// What an agent gave to a tool.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ToolInput {
    /// The id of the subagent, or of the command in the background, that the tool ends.
    pub task_id: Option<String>,
}

impl HookInput {
    /// Returns the directory of the session.
    pub fn directory(&self) -> Option<PathBuf> {
        self.cwd.clone().or_else(|| self.workspace_roots.first().cloned())
    }

    /// Returns the transcript of the subagent that stops or has ended.
    ///
    /// Claude Code 2.1.197 names it only when the subagent wants to stop. It is in a directory beside the transcript of
    /// the session.
    pub fn subagent_transcript(&self) -> Option<PathBuf> {
        if let Some(path) = &self.agent_transcript_path {
            return Some(path.clone());
        }
        let subagent = self.tool_input.task_id.as_ref().or(self.agent_id.as_ref())?;
        let directory = self.transcript_path.as_ref()?.with_extension("").join("subagents");
        let path = directory.join(format!("agent-{subagent}.jsonl"));
        (is_name(subagent) && path.exists()).then_some(path)
    }

    /// Returns the transcript of the session that ends, and those of its subagents if no hook told of their ends.
    ///
    /// Gemini CLI 0.61.0 has them in a directory beside the transcript that has the id of the session as its name.
    pub fn session_transcripts(&self) -> Vec<PathBuf> {
        let Some(path) = &self.transcript_path else { return Vec::new() };
        let session = self.session_id.as_deref().filter(|id| is_name(id));
        let directory = session.and_then(|id| path.parent()?.join(id).read_dir().ok());
        let files = directory.into_iter().flatten().flatten().map(|entry| entry.path());
        let transcripts = files.filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
        std::iter::once(path.clone()).chain(transcripts.take(MAX_SUBAGENTS)).collect()
    }

    /// Returns true if the agent may be kept from stopping.
    pub fn is_first_stop(&self) -> bool {
        let is_completed = self.status.as_ref().is_none_or(|status| status == "completed");
        !self.stop_hook_active && self.loop_count == 0 && is_completed
    }
}

/// Returns true if a text from a client names a file in a directory, and nothing outside of it.
fn is_name(text: &str) -> bool {
    text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
}

/// What the agent of a session is told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HookTexts {
    /// At the start of the session.
    greeting: String,
    /// When the agent wants to stop; `None` if it holds nothing.
    reminder: Option<String>,
}

impl HookTexts {
    /// Reads what the texts say. Without an agent they say nothing about claims.
    pub async fn read(tracker: &Tracker, agent: Option<&AgentName>) -> Result<Self, StoreError> {
        let held = held(tracker, agent).await?;
        let damage = tracker.damage().await.map(|damage| hints::for_damage(&damage, &hints::TOOLS));
        let greeting = greeting(agent, &held, tracker).await?;
        Ok(Self {
            greeting: damage.into_iter().chain([greeting]).collect::<Vec<_>>().join(" "),
            reminder: agent.filter(|_| !held.is_empty()).map(|agent| reminder(agent, &held)),
        })
    }

    /// Returns the answer to a hook, in the form that the client understands.
    pub fn answer(self, event: SessionEvent, client: HookClient) -> Option<Value> {
        let Self { greeting, reminder } = self;
        match (event, client.hooks.form) {
            (SessionEvent::SessionStart, HookForm::Cursor) => {
                Some(json!({ "additional_context": greeting }))
            }
            (SessionEvent::SessionStart, _) => {
                let mut answer = json!({ "hookSpecificOutput": {
                    "hookEventName": client.event(event), "additionalContext": greeting,
                } });
                // For Copilot CLI.
                if client.hooks.form == HookForm::VsCode {
                    answer["additionalContext"] = json!(greeting);
                }
                Some(answer)
            }
            (SessionEvent::Stop, HookForm::Cursor) => {
                reminder.map(|text| json!({ "followup_message": text }))
            }
            (SessionEvent::Stop, _) => reminder.map(|text| {
                let mut answer = block(&text);
                if client.hooks.form == HookForm::VsCode {
                    answer["hookSpecificOutput"] = json!({
                        "hookEventName": client.event(event), "decision": "block", "reason": text,
                    });
                }
                answer
            }),
            (_, _) => None,
        }
    }
}

/// Ends the claims of an agent whose session ends.
pub async fn end_session(
    tracker: &Tracker,
    agent: Option<&AgentName>,
    input: &HookInput,
) -> Result<(), StoreError> {
    let why = input.reason.as_deref().map(|why| format!(" ({})", shortened(why, MAX_CHARS)));
    let reason = format!("the session of the agent ended{}", why.unwrap_or_default());
    for issue in held(tracker, agent).await? {
        lapse(tracker, &issue, &reason).await?;
    }
    Ok(())
}

/// Records what an agent used for its claims.
pub async fn record_usage(tracker: &Tracker, claims: &[ToldClaim]) -> Result<(), StoreError> {
    for ToldClaim { issue, agent, usage, .. } in claims {
        let Ok(agent) = AgentName::try_from(agent.as_str()) else { continue };
        if usage.is_empty() {
            continue;
        }
        match tracker.record_usage((*issue).into(), usage.clone(), agent).await {
            Ok(_) | Err(StoreError::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Parks the issues that wait for their next attempt and have used more than their budgets, or that of the project.
pub async fn park_expensive(
    tracker: &Tracker,
    claims: &[ToldClaim],
    of_project: Option<Budget>,
) -> Result<(), StoreError> {
    for ToldClaim { issue, agent, .. } in claims {
        let Ok(issue) = tracker.get_issue((*issue).into()).await else { continue };
        let Ok(agent) = AgentName::try_from(agent.as_str()) else { continue };
        let Some(budget) = issue.attributes.budget.or(of_project) else { continue };
        let used = issue.usage().filter(|used| budget.is_exceeded_by(&used.usage));
        let Some(used) = used else { continue };
        if issue.status != Status::Created || issue.attributes.parked.is_some() {
            continue;
        }
        let reason = format!(
            "It used more than the budget of an issue: {used}. Split it, or say how to go on."
        );
        let Ok(reason) = CommentText::try_from(reason) else { continue };
        let change = IssueChange { parked: Some(Some((reason, None))), ..IssueChange::default() };
        let target = IssueAtVersion { issue: issue.id.into(), version: None };
        tracker.change_issue(target, change, agent).await?;
    }
    Ok(())
}

/// Ends the claims that a subagent still holds when it stops. One that may be kept from stopping is reminded of them
/// instead.
pub async fn end_subagent(
    tracker: &Tracker,
    claims: &[ToldClaim],
    can_go_on: bool,
) -> Result<Option<Value>, StoreError> {
    let mut held = Vec::new();
    for ToldClaim { issue, agent, number, .. } in claims {
        let issue = match tracker.get_issue((*issue).into()).await {
            Ok(issue) => issue,
            Err(StoreError::Refused(_)) => continue,
            Err(error) => return Err(error),
        };
        let is_same = number.is_none_or(|number| number == issue.claim_number());
        if is_same && issue.holder().is_some_and(|holder| holder.agent == *agent) {
            held.push(issue);
        }
    }
    let holder = held.first().and_then(|issue| AgentName::try_from(issue.holder()?.agent).ok());
    let Some(agent) = holder else { return Ok(None) };
    if can_go_on {
        let text = format!(
            "You ({}) still hold {}. Complete it, or return it with what the next agent needs to know. If you stop \
             again, the claim ends.",
            shortened(agent.as_str(), MAX_CHARS),
            listed(&held)
        );
        return Ok(Some(block(&text)));
    }
    for issue in held {
        lapse(tracker, &issue, "the subagent ended without handing in").await?;
    }
    Ok(None)
}

/// Ends the claim of an agent that has ended. That of an agent whose provider has reached a limit stays.
async fn lapse(tracker: &Tracker, issue: &Issue, reason: &str) -> Result<(), StoreError> {
    let holder = issue.holder().map(|holder| holder.agent).unwrap_or_default();
    if tracker.is_kept(holder).await? {
        return Ok(());
    }
    tracker.lapse_claim(issue, reason).await
}

/// Returns the answer that keeps an agent from stopping.
fn block(reason: &str) -> Value {
    json!({ "decision": "block", "reason": reason })
}

/// Returns what an agent holds, the oldest claim first.
async fn held(tracker: &Tracker, agent: Option<&AgentName>) -> Result<Vec<Arc<Issue>>, StoreError> {
    let Some(agent) = agent else { return Ok(Vec::new()) };
    let mut held = tracker.held_by(agent).await?;
    held.sort_by_key(|issue| issue.holder().map(|holder| holder.since));
    Ok(held)
}

async fn greeting(
    agent: Option<&AgentName>,
    held: &[Arc<Issue>],
    tracker: &Tracker,
) -> Result<String, StoreError> {
    let now = tracker.now();
    let unparked = Condition::Not(Box::new(Condition::Parked(now)));
    let waiting = [
        (count(tracker, Status::Created, Condition::Ready(now)).await?, "for work"),
        (count(tracker, Status::Completed, unparked).await?, "for review"),
        (tracker.questions().await?.len(), "for the answer of a person"),
    ];
    let waiting = waiting.iter().filter(|(count, _)| *count > 0);
    let waiting: Vec<_> = waiting.map(|(count, what)| format!("{count} {what}")).collect();
    let waiting = match waiting.len() {
        0 => "no issue waits".to_owned(),
        _ => format!("issues that wait: {}", waiting.join(", ")),
    };
    let rest = short_digest(agent, tracker).await?;
    Ok(match agent {
        None => format!("ait, the issue queue of this project: {waiting}.{rest}"),
        Some(agent) => {
            let name = shortened(agent.as_str(), MAX_CHARS);
            let claims = match held.len() {
                0 => "no issue".to_owned(),
                _ => listed(held),
            };
            format!(
                "ait, the issue queue of this project: you are {name} and hold {claims}; {waiting}.{rest}"
            )
        }
    })
}

/// Counts the issues in a status for which a condition holds.
async fn count(
    tracker: &Tracker,
    status: Status,
    condition: Condition,
) -> Result<usize, StoreError> {
    let statuses = Some(status).into();
    let query = Query { statuses, condition, take: 0, ..Query::default() };
    Ok(tracker.list_issues(query).await?.total)
}

/// Returns a short digest, from the indexes of the store alone: what waits longest, what others hold and how much ended
/// lately. Empty if there is nothing of these.
async fn short_digest(agent: Option<&AgentName>, tracker: &Tracker) -> Result<String, StoreError> {
    let now = tracker.now();
    let mut text = String::new();
    let created = Query { statuses: Some(Status::Created).into(), take: 1, ..Query::default() };
    if let Some(first) = tracker.list_issues(created).await?.issues.first() {
        let id = first.id.short();
        let age = humanize_duration(now.millis_since(first.created_at));
        text += &format!(" The oldest: {id} {:?} ({age}).", shortened(&first.title, MAX_CHARS));
    }
    let claimed = Status::OF_WORK.iter().copied().filter(|status| status.is_claimed());
    let claimed = Query { statuses: claimed.collect(), take: MAX_LOOKED_AT, ..Query::default() };
    let claimed = tracker.list_issues(claimed).await?.issues;
    let holder = |issue: &Arc<Issue>| {
        let holder = issue.holder()?.agent;
        let is_other = agent.is_none_or(|agent| agent.as_str() != holder);
        is_other.then(|| format!("{} by {}", issue.id.short(), shortened(holder, MAX_NAME_CHARS)))
    };
    let held: Vec<_> = claimed.iter().filter_map(holder).take(MAX_CLAIMS).collect();
    if !held.is_empty() {
        text += &format!(" Held: {}.", held.join(", "));
    }
    let ended = Query {
        statuses: Status::OF_WORK.iter().copied().filter(|status| status.has_ended()).collect(),
        condition: Condition::Changed(Digest::default_since(now)..=now),
        ..Query::default()
    };
    let ended = tracker.list_issues(ended).await?;
    if ended.total > 0 {
        let or_more = if ended.is_exact { "" } else { " or more" };
        text += &format!(" Ended in the last 24 h: {}{or_more}.", ended.total);
    }
    if let Some(memory) = tracker.memory_overview().await? {
        let decisions = memory.decisions.join("; ");
        let last =
            if decisions.is_empty() { decisions } else { format!(", the last: {decisions}") };
        text += &format!(" Kept in the memory: {}{last}.", memory.entries);
    }
    Ok(text)
}

fn reminder(agent: &AgentName, held: &[Arc<Issue>]) -> String {
    format!(
        "You ({}) still hold {}. Complete it, or return it with what the next agent needs to know. To keep it, just \
         stop again.",
        shortened(agent.as_str(), MAX_CHARS),
        listed(held)
    )
}

/// Names issues, such as `3f2a9c1e "Login fails" (in_progress)`.
fn listed(issues: &[Arc<Issue>]) -> String {
    let name = |issue: &Arc<Issue>| {
        let title = shortened(&issue.title, MAX_CHARS);
        format!("{} {title:?} ({})", issue.id.short(), issue.status)
    };
    let mut names: Vec<_> = issues.iter().take(MAX_CLAIMS).map(name).collect();
    if issues.len() > MAX_CLAIMS {
        names.push(format!("{} more", issues.len() - MAX_CLAIMS));
    }
    names.join(", ")
}
