//! The digest: what matters in the queue now, short enough to be read at the start of every session.

use std::cmp::Reverse;

use indexmap::IndexMap;
use serde::Serialize;

use super::ReadModel;
use super::board::first;
use super::read_view::ReadView;
use super::summary::IssueSummary;
use crate::StoreError;
use crate::memory::MemoryOverview;
use ait_domain::text::shortened;
use ait_domain::{ActionKind, AgentName, IssueId, Parked, Question, Status, Timestamp, readiness};

/// The time before now for which a digest lists what ended.
const DEFAULT_SINCE_MS: i64 = 24 * 60 * 60 * 1_000;
/// How many rows a list has. The number of issues is given where there are more.
const ROWS: usize = 5;
/// How many rows tell who works on what.
const HELD_ROWS: usize = 20;
/// How many returns after a claim make an issue worth a row.
const OFTEN: usize = 2;
/// How much of a title and of a question a row has, in characters.
const TEXT_CHARS: usize = 80;

/// The digest of the queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Digest {
    /// The number of issues in each status.
    pub counts: IndexMap<&'static str, usize>,
    /// How many issues an agent could claim for work now.
    pub ready: usize,
    /// How many open issues wait for other issues.
    pub blocked: usize,
    /// How many open issues are parked.
    pub parked: usize,
    /// What the agent holds or is assigned; `None` without an agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mine: Option<Rows>,
    /// The open questions of agents to people, by the time of asking.
    pub questions: Rows,
    /// What waits longest to be claimed for work or for review.
    pub waits_longest: Rows,
    /// What agents hold, the oldest claim first.
    pub held: Rows,
    /// What ended since, newest first.
    pub ended: Rows,
    /// The time from which on `ended` counts.
    pub since: Timestamp,
    /// Open issues that came back often.
    pub came_back_often: Rows,
    /// What the memory has, if it has something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryOverview>,
}

impl ReadModel {
    /// Digests the queue and the memory. Tells what ended since a time, by default the last day, and what is of an
    /// agent.
    pub async fn digest(
        &self,
        agent: Option<AgentName>,
        since: Option<Timestamp>,
    ) -> Result<Digest, StoreError> {
        let now = self.tracker().now();
        let memory = self.tracker().memory_overview().await?;
        let since = since.unwrap_or_else(|| Digest::default_since(now));
        let digest = self.read(move |view| Digest::of(view, agent.as_ref(), since, now)).await?;
        Ok(Digest { memory, ..digest })
    }
}

/// The first rows of a list.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Rows {
    /// How many issues there are.
    pub count: usize,
    /// The first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<Row>,
}

/// An issue of a digest.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Row {
    /// The short id.
    pub id: String,
    /// The beginning of the title.
    pub title: String,
    pub status: Status,
    /// The agent that holds it, ended it, or asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it got this status, holder or question.
    pub since: Timestamp,
    /// How often it came back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

impl Digest {
    /// Returns the default start of the time for which a digest tells what ended.
    pub fn default_since(now: Timestamp) -> Timestamp {
        Timestamp::from_unix_millis(now.unix_millis().saturating_sub(DEFAULT_SINCE_MS))
    }

    /// Digests the queue. Tells what ended since a time, and what is of an agent.
    pub fn of(
        view: &ReadView<'_>,
        agent: Option<&AgentName>,
        since: Timestamp,
        now: Timestamp,
    ) -> Self {
        let counts = view.counts();
        let counts =
            Status::OF_WORK.iter().map(|status| (status.as_str(), counts.in_status(*status)));
        let mut found = Found::default();
        let me = agent.map(AgentName::as_str);
        let name = me.and_then(|me| view.names().find(me));
        let ready = view.ready(now);
        for summary in view.changed_since(since).map(|at| &view.summaries()[at]) {
            if summary.status.has_ended() && summary.in_status_since() >= since {
                found.ended.push((Reverse(summary.in_status_since()), summary));
            }
        }
        for (at, summary) in view.open() {
            let is_ready = ready.contains(&at);
            let is_parked = summary.is_open_and_parked_at(now);
            found.ready += usize::from(is_ready);
            found.parked += usize::from(is_parked);
            found.blocked += usize::from(!is_ready && waits(view, summary, now));
            if is_ready || (summary.status == Status::Completed && !is_parked) {
                found.waiting.push((summary.in_status_since(), summary));
            }
            let holder = summary.holder();
            if let Some(claim) = holder {
                found.held.push((claim.since, summary));
            }
            let is_held = name.is_some() && holder.map(|claim| claim.agent) == name;
            let is_assigned = me.is_some() && summary.attributes.assignee.as_deref() == me;
            if is_held || is_assigned {
                found.mine.push((!is_held, summary.in_status_since(), summary));
            }
            let returns = summary.returns();
            if returns >= OFTEN {
                found.returned.push((Reverse(returns), summary));
            }
        }
        let row = |summary: &IssueSummary| Row::of(summary, view);
        let with_returns =
            |summary: &IssueSummary| Row { returns: Some(summary.returns()), ..row(summary) };
        let mine = |(is_assigned, at, summary)| ((is_assigned, at), summary);
        Self {
            counts: counts.collect(),
            ready: found.ready,
            blocked: found.blocked,
            parked: found.parked,
            mine: agent.map(|_| rows(found.mine.into_iter().map(mine).collect(), ROWS, row)),
            questions: questions(view),
            waits_longest: rows(found.waiting, ROWS, row),
            held: rows(found.held, HELD_ROWS, row),
            ended: rows(found.ended, ROWS, row),
            since,
            came_back_often: rows(found.returned, ROWS, with_returns),
            memory: None,
        }
    }
}

/// Returns true if an issue waits for a blocker, for its parts, or with a whole of it.
fn waits(view: &ReadView<'_>, summary: &IssueSummary, now: Timestamp) -> bool {
    let is_created = summary.status == Status::Created;
    view.open_blockers(summary).next().is_some()
        || (is_created
            && !readiness::is_free(view, summary, |whole| whole.attributes.is_parked_at(now)))
}

/// The issues of each list, each with the key by which it is sorted.
#[derive(Default)]
struct Found<'a> {
    ready: usize,
    blocked: usize,
    parked: usize,
    mine: Vec<(bool, Timestamp, &'a IssueSummary)>,
    waiting: Vec<(Timestamp, &'a IssueSummary)>,
    held: Vec<(Timestamp, &'a IssueSummary)>,
    ended: Vec<(Reverse<Timestamp>, &'a IssueSummary)>,
    returned: Vec<(Reverse<usize>, &'a IssueSummary)>,
}

/// Returns the first rows by key.
fn rows<K: Ord + Copy>(
    found: Vec<(K, &IssueSummary)>,
    most: usize,
    row: impl Fn(&IssueSummary) -> Row,
) -> Rows {
    let keys = found.iter().enumerate().map(|(at, (key, summary))| (*key, summary.id, at));
    let shown = first(keys, most).into_iter().map(|(.., at)| row(found[at].1));
    Rows { count: found.len(), first: shown.collect() }
}

fn questions(view: &ReadView<'_>) -> Rows {
    let row = |(summary, parked, question): (&IssueSummary, &Parked, &Question)| Row {
        agent: Some(parked.by.clone()),
        question: Some(shortened(&question.text, TEXT_CHARS)),
        ..Row::new(summary.id, &summary.title, summary.status, parked.since)
    };
    let mut first: Vec<Row> = view.questions().map(row).collect();
    let count = first.len();
    first.sort_by_key(|row| row.since);
    first.truncate(ROWS);
    Rows { count, first }
}

impl Row {
    fn new(id: IssueId, title: &str, status: Status, since: Timestamp) -> Self {
        let title = shortened(title, TEXT_CHARS);
        Self { id: id.short(), title, status, agent: None, since, returns: None, question: None }
    }

    fn of(summary: &IssueSummary, view: &ReadView<'_>) -> Self {
        let is_end = |kind| matches!(kind, ActionKind::Closed | ActionKind::Rejected);
        let agent = if summary.status.has_ended() {
            summary.actions.iter().rfind(|action| is_end(action.kind)).map(|end| end.agent)
        } else {
            summary.holder().map(|claim| claim.agent)
        };
        let agent = agent.map(|name| shortened(view.names().text(name), TEXT_CHARS));
        let since = match summary.holder() {
            Some(claim) => claim.since,
            None => summary.in_status_since(),
        };
        Self { agent, ..Self::new(summary.id, &summary.title, summary.status, since) }
    }
}
