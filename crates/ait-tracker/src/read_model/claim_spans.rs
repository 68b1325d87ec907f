//! Who held which issue from when until when, and how the work of each agent went.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::agent_interner::Name;
use super::read_view::ReadView;
use super::summary::IssueSummary;
use ait_domain::{ActionKind, Classification, Timestamp, Usage};

/// A claim, for work or for review.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimSpan {
    pub agent: Name,
    /// The position of the issue.
    pub position: usize,
    /// Whether the claim is for review.
    pub is_review: bool,
    /// The time of the claim.
    pub from: Timestamp,
    /// The end of the claim; `None` while the agent holds the issue.
    pub until: Option<Timestamp>,
    /// The action that ended the claim, if the history has it.
    pub end: Option<ActionKind>,
    /// Who had completed the issue before, if anyone had.
    pub completed_by: Option<Name>,
}

impl ClaimSpan {
    /// Returns how long the claim has lasted at a time.
    pub fn length_ms(&self, now: Timestamp) -> u64 {
        self.until.unwrap_or(now).millis_since(self.from)
    }

    /// Returns true if the work was handed in, or the review finished.
    fn is_done(&self) -> bool {
        match self.end {
            Some(ActionKind::Completed) => !self.is_review,
            Some(ActionKind::Closed | ActionKind::Rejected | ActionKind::Returned) => {
                self.is_review
            }
            _ => false,
        }
    }
}

/// How the work of an agent went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkRecord {
    /// How many issues it completed.
    pub completed: usize,
    /// How many reviews it finished.
    pub reviewed: usize,
    /// How many issues reviewers returned that it had completed.
    pub sent_back: usize,
    /// The median time from its claims to the completions.
    pub median_ms: Option<u64>,
    /// What it used, as far as it is known.
    pub used: Usage,
}

/// The claims of an agent, and how its work went.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentWork {
    /// Its claims, the latest first.
    pub spans: Vec<ClaimSpan>,
    /// How they went, and reviews of what it completed.
    pub record: WorkRecord,
}

/// The work of all agents in some time.
#[derive(Clone, Debug, Default)]
pub struct WorkByAgent(HashMap<Name, AgentWork>);

impl WorkByAgent {
    /// Takes out the work of an agent.
    pub fn take(&mut self, agent: Name) -> AgentWork {
        self.0.remove(&agent).unwrap_or_default()
    }

    /// Returns the median time of the claims that led to something, by the kind of the issue, each for work and for
    /// review.
    pub fn medians(&self, view: &ReadView<'_>) -> HashMap<(Classification, bool), u64> {
        let mut times: HashMap<_, Vec<u64>> = HashMap::new();
        for span in self.0.values().flat_map(|work| &work.spans).filter(|span| span.is_done()) {
            let kind = (view.summaries()[span.position].classification, span.is_review);
            times
                .entry(kind)
                .or_default()
                .extend(span.until.map(|end| end.millis_since(span.from)));
        }
        times.into_iter().filter_map(|(kind, times)| Some((kind, median(times)?))).collect()
    }
}

fn median(mut times_ms: Vec<u64>) -> Option<u64> {
    times_ms.sort_unstable();
    times_ms.get(times_ms.len() / 2).copied()
}

impl ReadView<'_> {
    /// Returns the claims of each agent that last, and those that ended at `since` or later.
    pub fn work_since(&self, since: Timestamp) -> WorkByAgent {
        // The clocks of several machines stamp the entries, so this is a filter and no proof.
        let mut positions: Vec<usize> =
            self.changed_since(since).chain(self.index.agents.held()).collect();
        positions.sort_unstable();
        positions.dedup();
        let issues = || positions.iter().map(|&at| (at, &*self.summaries()[at]));
        let spans = issues().flat_map(|(at, summary)| spans_of(at, summary));
        let mut work = group(spans.filter(|span| span.until.is_none_or(|until| until >= since)));
        let used = issues().flat_map(|(_, summary)| &*summary.usages);
        for used in used.filter(|used| used.at >= since) {
            work.0.entry(used.agent).or_default().record.used.add(&used.usage);
        }
        work
    }
}

/// Returns all claims in the history of an issue, oldest first.
fn spans_of(position: usize, summary: &IssueSummary) -> Vec<ClaimSpan> {
    let mut spans = Vec::new();
    let mut open = None::<ClaimSpan>;
    let mut completed_by = None;
    for action in summary.actions.iter().filter(|action| action.status.is_some()) {
        if let Some(span) = open.take() {
            spans.push(ClaimSpan { until: Some(action.at()), end: Some(action.kind), ..span });
        }
        if action.kind == ActionKind::Completed {
            completed_by = Some(action.agent);
        }
        open = action.kind.is_claim().then_some(ClaimSpan {
            agent: action.agent,
            position,
            is_review: action.kind == ActionKind::ReviewStarted,
            from: action.at(),
            until: None,
            end: None,
            completed_by,
        });
    }
    if let Some(span) = open {
        // An edit by hand ends a claim without an entry.
        let until = (!summary.status.is_claimed()).then_some(summary.modified_at);
        spans.push(ClaimSpan { until, ..span });
    }
    spans
}

/// Groups claims by agent.
fn group(spans: impl Iterator<Item = ClaimSpan>) -> WorkByAgent {
    let mut agents: HashMap<Name, AgentWork> = HashMap::new();
    for span in spans {
        if span.is_review
            && span.end == Some(ActionKind::Returned)
            && let Some(author) = span.completed_by
        {
            agents.entry(author).or_default().record.sent_back += 1;
        }
        agents.entry(span.agent).or_default().spans.push(span);
    }
    for AgentWork { spans, record } in agents.values_mut() {
        spans.sort_by_key(|span| Reverse(span.from));
        let done = |is_review| {
            spans.iter().filter(move |span| span.is_review == is_review && span.is_done())
        };
        record.reviewed = done(true).count();
        let times_ms: Vec<u64> = done(false)
            .map(|span| span.until.map_or(0, |until| until.millis_since(span.from)))
            .collect();
        record.completed = times_ms.len();
        record.median_ms = median(times_ms);
    }
    WorkByAgent(agents)
}

#[cfg(test)]
mod tests {
    use super::super::agent_interner::Names;
    use super::*;

    fn time(minute: i64) -> Timestamp {
        Timestamp::from_unix_millis(minute * 60_000)
    }

    fn summary(status: &str, history: &[(i64, &str, &str)], names: &mut Names) -> IssueSummary {
        let history: Vec<_> = history
            .iter()
            .map(|(at, agent, action)| {
                serde_json::json!({"timestamp": time(*at), "agent": agent, "action": action})
            })
            .collect();
        let issue = serde_json::from_value(serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
            "classification": "bug", "createdAt": time(0), "modifiedAt": time(90),
            "status": status, "history": history, "comments": [],
        }));
        IssueSummary::of(&issue.unwrap(), names)
    }

    #[test]
    fn claims_end_with_the_next_status_and_belong_to_their_agents() {
        let mut names = Names::default();
        let work = "Issue claimed for work";
        let done = "Issue completed";
        let history = [
            (1, "dev", work),
            (2, "ann", "Comment added"),
            (11, "dev", done),
            (20, "ann", "Issue claimed for review"),
            (25, "ann", "Issue returned to created status"),
            (30, "dev", work),
            (60, "dev", done),
            (70, "bob", "Issue claimed for review"),
        ];
        let summary = summary("in_review", &history, &mut names);
        let spans = spans_of(7, &summary);
        let shown: Vec<_> = spans
            .iter()
            .map(|span| (names.text(span.agent), span.is_review, span.length_ms(time(80)) / 60_000))
            .collect();
        assert_eq!(
            shown,
            [("dev", false, 10), ("ann", true, 5), ("dev", false, 30), ("bob", true, 10)]
        );
        assert_eq!(spans[3].until, None);
        let mut work = group(spans.iter().copied());
        let mut record = |name: &str| work.take(names.find(name).unwrap()).record;
        let dev = record("dev");
        assert_eq!((dev.completed, dev.reviewed, dev.sent_back), (2, 0, 1));
        assert_eq!(dev.median_ms, Some(30 * 60_000));
        assert_eq!((record("ann").reviewed, record("bob").reviewed), (1, 0));
    }

    #[test]
    fn an_edit_by_hand_ends_a_claim() {
        let mut names = Names::default();
        let summary = summary("closed", &[(1, "dev", "Issue claimed for work")], &mut names);
        let spans = spans_of(0, &summary);
        assert_eq!((spans.len(), spans[0].until, spans[0].end), (1, Some(time(90)), None));
    }
}
