//! What needs a person: above the list, and counted in the title and in the icon of every page.
//!
//! It is made of what the read model keeps, so it costs little at any size: the parked issues, the claims whose clients
//! are gone, and the latest findings.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};

use super::components::{self, undirected};
use super::gone_clients::GoneClients;
use crate::actions::action::Action;
use crate::markdown::one_line;
use crate::query::{ListQuery, ListState};
use crate::strings::{actions, attention as text};
use ait_domain::{AgentName, IssueId, StatusSet, Timestamp};
use ait_tracker::read_model::{FindingKind, FoundIssue, IssueSummary, ReadView};
use ait_tracker::triage::{Reader, ReportedFinding, TriageReport, take_in_turns};
use ait_tracker::{StoreError, StuckClaim};

/// How many rows show, and how many more are folded.
const MAX_SHOWN: usize = 2;
const MAX_FOLDED: usize = 10;
/// How many rows of one kind are made.
const MAX_OF_KIND: usize = MAX_SHOWN + MAX_FOLDED;
/// How many characters of a question or of a reason a row has.
const MAX_CHARS: usize = 160;
/// How many waiting agents a row names.
const MAX_AGENTS: usize = 3;

/// Why something needs a person; the most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum AttentionKind {
    Damage,
    Question,
    AgentGone,
    Stuck,
    NothingReady,
    OldClaim,
    SyncConflict,
    ReturnedOften,
    WaitsForReview,
    Filing,
    Parked,
}

impl AttentionKind {
    fn words(self) -> text::Words {
        match self {
            Self::Damage => text::DAMAGE,
            Self::Question => text::QUESTION,
            Self::AgentGone => text::AGENT_GONE,
            Self::NothingReady => text::NOTHING_READY,
            Self::Stuck => text::STUCK,
            Self::OldClaim => text::OLD_CLAIM,
            Self::SyncConflict => text::SYNC_CONFLICT,
            Self::ReturnedOften => text::RETURNED_OFTEN,
            Self::WaitsForReview => text::WAITS_FOR_REVIEW,
            Self::Filing => text::FILING,
            Self::Parked => text::PARKED,
        }
    }

    /// What a person does about it on the page of the issue.
    fn action(self) -> Option<Action> {
        match self {
            Self::Question => Some(Action::Answer),
            Self::AgentGone | Self::Stuck | Self::OldClaim => Some(Action::Return),
            Self::SyncConflict => Some(Action::Resolve),
            Self::Parked => Some(Action::Unpark),
            Self::Damage
            | Self::NothingReady
            | Self::ReturnedOften
            | Self::WaitsForReview
            | Self::Filing => None,
        }
    }
}

/// The findings that need a person.
const FINDINGS: [(FindingKind, AttentionKind); 5] = [
    (FindingKind::OldClaim, AttentionKind::OldClaim),
    (FindingKind::SyncConflict, AttentionKind::SyncConflict),
    (FindingKind::ReturnedOften, AttentionKind::ReturnedOften),
    (FindingKind::WaitsLongForReview, AttentionKind::WaitsForReview),
    (FindingKind::FilingFasterThanClosing, AttentionKind::Filing),
];

/// Something that needs a person.
struct Item {
    kind: AttentionKind,
    /// The issue; `None` if it is about the whole queue.
    issue: Option<FoundIssue>,
    why: String,
    /// What to do, with commands between backquotes.
    next: String,
}

/// What needs a person at a moment.
pub(super) struct Attention {
    counts: BTreeMap<AttentionKind, usize>,
    /// By kind; of each kind the most urgent first.
    items: Vec<Item>,
}

impl Attention {
    /// Finds what needs a person. `waiting` are the agents that wait for work, and `damage` is that of the store.
    pub fn of(
        view: &ReadView<'_>,
        gone: &GoneClients,
        stuck: &[StuckClaim],
        waiting: &[AgentName],
        damage: Option<&StoreError>,
        now: Timestamp,
    ) -> Self {
        let mut found = Self { counts: BTreeMap::new(), items: Vec::new() };
        if let Some(damage) = damage {
            let row = (None, damage.to_string(), "`ait doctor` says what to do".to_owned());
            found.add(AttentionKind::Damage, vec![row], 1);
        }
        found.add_parked(view, now);
        found.add_agent_gone(view, gone);
        found.add_stuck(view, gone, stuck);
        if !waiting.is_empty() {
            let named = waiting.iter().take(MAX_AGENTS).map(|agent| undirected(agent.as_str()));
            let named = named.collect::<Vec<_>>().join(", ");
            let why = text::waiting(&named, waiting.len().saturating_sub(MAX_AGENTS));
            let next =
                "`ait list --blocked`, `ait list --parked`; then unblock, unpark or file something"
                    .to_owned();
            found.add(AttentionKind::NothingReady, vec![(None, why, next)], 1);
        }
        found.add_findings(view, gone, now);
        found.items.sort_by_key(|item| item.kind);
        found
    }

    /// Returns how many things need a person.
    pub fn count(&self) -> usize {
        self.counts.values().sum()
    }

    fn add(
        &mut self,
        kind: AttentionKind,
        rows: Vec<(Option<FoundIssue>, String, String)>,
        count: usize,
    ) {
        if count > 0 {
            self.counts.insert(kind, count);
        }
        let rows = rows.into_iter().take(MAX_OF_KIND);
        self.items.extend(rows.map(|(issue, why, next)| Item { kind, issue, why, next }));
    }

    /// Adds the open questions, and the issues that are parked without an end, those that wait longest first.
    fn add_parked(&mut self, view: &ReadView<'_>, now: Timestamp) {
        let parked = view.parked().filter_map(|summary| {
            let parked = summary.attributes.parked.as_ref()?;
            let waits =
                parked.question.is_some() || (parked.until.is_none() && parked.since <= now);
            waits.then_some((parked, summary))
        });
        let (mut asked, mut others): (Vec<_>, Vec<_>) =
            parked.partition(|(parked, _)| parked.question.is_some());
        for rows in [&mut asked, &mut others] {
            rows.sort_by_key(|(parked, summary)| (parked.since, summary.id));
        }
        let asked_count = asked.len();
        let others_count = others.len();
        asked.truncate(MAX_OF_KIND);
        others.truncate(MAX_OF_KIND);
        let asked = asked.into_iter().filter_map(|(parked, summary)| {
            let question = parked.question.as_ref()?;
            let why = format!(
                "{} asks: {}",
                undirected(&parked.by),
                undirected(&one_line(&question.text, MAX_CHARS))
            );
            let next = text::answer(&view.short_id(summary.id), question.options.len());
            Some((Some(summary.into()), why, next))
        });
        self.add(AttentionKind::Question, asked.collect(), asked_count);
        let others = others.into_iter().map(|(parked, summary)| {
            let why = format!(
                "parked by {}: {}",
                undirected(&parked.by),
                undirected(&one_line(&parked.reason, MAX_CHARS))
            );
            (Some(summary.into()), why, format!("`ait unpark {}`", view.short_id(summary.id)))
        });
        self.add(AttentionKind::Parked, others.collect(), others_count);
    }

    /// Adds the claims whose agents are gone, the oldest first.
    fn add_agent_gone(&mut self, view: &ReadView<'_>, gone: &GoneClients) {
        let summary = |(id, lapses_in): (IssueId, Option<Duration>)| {
            let summary: &IssueSummary = view.summary(id)?;
            Some((summary.holder()?, summary, lapses_in))
        };
        let mut abandoned: Vec<_> = gone.gone().filter_map(summary).collect();
        abandoned.sort_by_key(|(claim, summary, _)| (claim.since, summary.id));
        let count = abandoned.len();
        let rows = abandoned.into_iter().take(MAX_OF_KIND).map(|(claim, summary, lapses_in)| {
            let ms = lapses_in.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
            let why = text::gone(&undirected(view.names().text(claim.agent)), ms);
            (
                Some(summary.into()),
                why,
                format!("`ait return {} --force -m WHY`", view.short_id(summary.id)),
            )
        });
        self.add(AttentionKind::AgentGone, rows.collect(), count);
    }

    /// Adds the claims that were stuck lately and still last.
    fn add_stuck(&mut self, view: &ReadView<'_>, gone: &GoneClients, stuck: &[StuckClaim]) {
        let row = |claim: &StuckClaim| {
            let summary = view.summary(claim.issue.id).filter(|one| !gone.is_gone(one.id))?;
            let is_same = summary.holder()?.since == claim.issue.holder()?.since;
            let next = format!("`ait return {} --force -m WHY`", view.short_id(summary.id));
            is_same.then(|| (Some(summary.into()), undirected(&claim.why()), next))
        };
        let rows: Vec<_> = stuck.iter().filter_map(row).collect();
        let count = rows.len();
        self.add(AttentionKind::Stuck, rows, count);
    }

    /// Adds the findings that need a person. A claim whose agent is gone is there already.
    fn add_findings(&mut self, view: &ReadView<'_>, gone: &GoneClients, now: Timestamp) {
        let findings = view.recent_findings(now);
        let summaries = gone.gone().filter_map(|(id, _)| view.summary(id));
        let old_claims = summaries.filter(|summary| summary.has_old_claim_at(now)).count();
        for (finding, kind) in FINDINGS {
            let abandoned = if kind == AttentionKind::OldClaim { old_claims } else { 0 };
            let is_agent_gone = |reported: &ReportedFinding<'_>| {
                let issue = reported.finding.issues.first();
                kind == AttentionKind::OldClaim && issue.is_some_and(|issue| gone.is_gone(issue.id))
            };
            // So many that some are left without those.
            let take = MAX_OF_KIND + self.counts.get(&AttentionKind::AgentGone).unwrap_or(&0);
            let report = TriageReport::of(&findings, &[finding], take, Reader::Person);
            let rows = report.findings.iter().filter(|one| !is_agent_gone(one)).map(|reported| {
                let issue = reported.finding.issues.first().cloned();
                (issue, undirected(&reported.finding.why), reported.next.clone())
            });
            // The findings are a little older than the moment.
            self.add(kind, rows.collect(), report.total.saturating_sub(abandoned));
        }
    }

    /// Returns at most `take` rows, in turns.
    fn rows(&self, take: usize) -> Vec<&Item> {
        take_in_turns(self.items.iter(), |item| item.kind, take)
    }

    /// Renders the most urgent rows for a wall, without commands.
    pub fn large_rows(&self, take: usize) -> Markup {
        html! {
            ul {
                @for item in self.rows(take) {
                    li.wall-row.bad {
                        span.wall-kind { (item.kind.words()[0]) }
                        @if let Some(issue) = &item.issue {
                            a href=(components::issue_path(issue.id)) dir="auto" { (undirected(&issue.title)) }
                        }
                        span.who dir="auto" { (item.why) }
                    }
                }
            }
        }
    }

    /// Renders the section; one line if nothing needs a person. With actions a question leads to its form.
    pub fn section(&self, has_actions: bool) -> Markup {
        let rows = self.rows(MAX_SHOWN + MAX_FOLDED);
        let (shown, folded) = rows.split_at(rows.len().min(MAX_SHOWN));
        html! {
            @if rows.is_empty() {
                p #attention.attention.calm {
                    "Nothing needs attention: no open questions, no agents that are gone, nothing \
                     that waits for long."
                }
            } @else {
                section #attention.attention aria-labelledby="attention-heading" {
                    div.attention-head {
                        h2 #attention-heading { "Needs attention" " " span.count { (self.count()) } }
                        ul aria-label="What needs attention, by kind" {
                            @for (kind, count) in &self.counts {
                                li { a href=(page_of(*kind)) { (text::counted(kind.words(), *count)) } }
                            }
                        }
                    }
                    ul.attention-rows { @for item in shown { (row(item, has_actions)) } }
                    @if !folded.is_empty() {
                        details #attention-more {
                            summary { (folded.len()) " more" }
                            ul.attention-rows { @for item in folded { (row(item, has_actions)) } }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the page with everything of a kind.
fn page_of(kind: AttentionKind) -> String {
    let finding = FINDINGS.iter().find(|(_, of)| *of == kind);
    match kind {
        AttentionKind::Damage => "#trouble".to_owned(),
        AttentionKind::Question => "/board#questions".to_owned(),
        AttentionKind::AgentGone => "/agents".to_owned(),
        AttentionKind::Stuck => format!("/triage?kind={}", FindingKind::Stuck),
        AttentionKind::NothingReady => {
            let query = ListQuery::default().with_state(ListState::Blocked);
            format!("/{}", query.in_statuses(StatusSet::open()).query_string())
        }
        AttentionKind::Parked => {
            format!("/{}", ListQuery::default().with_state(ListState::Parked).query_string())
        }
        _ => finding.map(|(finding, _)| format!("/triage?kind={finding}")).unwrap_or_default(),
    }
}

fn row(item: &Item, has_actions: bool) -> Markup {
    let command = item.next.split('`').nth(1).unwrap_or_default();
    html! {
        li {
            span.attention-kind { (item.kind.words()[0]) }
            div.attention-what {
                @match &item.issue {
                    Some(issue) => {
                        a.attention-title href=(components::issue_path(issue.id)) dir="auto" { (undirected(&issue.title)) }
                    }
                    None => { b.attention-title { "The queue" } }
                }
                " " span.quiet dir="auto" { (item.why) }
            }
            div.attention-next {
                @match (&item.issue, item.kind.action().filter(|_| has_actions)) {
                    (Some(issue), Some(action)) => {
                        a href={ (components::issue_path(issue.id)) "#act-" (action) } { (actions::label(action)) }
                    }
                    _ => {
                        span { (components::with_code(&item.next)) }
                        " "
                        (components::copy_command(command))
                    }
                }
            }
        }
    }
}
