//! The inbox: everything that needs a person, the most urgent first. Its beginning stands above the list, and its
//! number in the title and in the icon of every page.
//!
//! It is made of what the read model keeps, so it costs little at any size: the parked issues, the claims whose clients
//! are gone, and the findings. A person puts rows off (`ait-web/page_data.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use maud::{Markup, html};

use super::components::{self, undirected};
use super::gone_clients::GoneClients;
use super::questions::answers;
use crate::actions::action::{Action, INBOX_PATH as PATH};
use crate::actions::inbox::{self, DONE, FORM, SHOW, SNOOZE};
use crate::actions::many::ManyForms;
use crate::markdown::one_line;
use crate::page_data::PageData;
use crate::query::{InvalidParameter, ListQuery, ListState, Parameters, joined};
use crate::strings::{actions, attention as text};
use ait_domain::{AgentName, IssueId, Question, StatusSet, Timestamp};
use ait_tracker::read_model::{Finding, FindingKind, Findings, FoundIssue, IssueSummary, ReadView};
use ait_tracker::triage::{Reader, next_step, take_in_turns};
use ait_tracker::{StoreError, StuckClaim};

/// How many rows stand above the list, and how many the page of all kinds has.
const MAX_SHOWN: usize = 2;
const MAX_OF_ALL: usize = 60;
/// How many rows of one kind are made for the page of the inbox, and for the others.
pub(super) const MAX_OF_KIND: usize = 100;
pub(super) const MAX_ELSEWHERE: usize = 12;
/// How many kinds the section above the list names.
const MAX_KINDS: usize = 6;
/// How many characters of a question or of a reason a row has.
const MAX_CHARS: usize = 160;
/// How many waiting agents a row names.
const MAX_AGENTS: usize = 3;

/// Why something needs a person.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Damage,
    Question,
    AgentGone,
    NothingReady,
    Finding(FindingKind),
    Parked,
}

/// The findings that come before what is only parked.
const URGENT: [FindingKind; 6] = [
    FindingKind::Stuck,
    FindingKind::OldClaim,
    FindingKind::SyncConflict,
    FindingKind::ReturnedOften,
    FindingKind::WaitsLongForReview,
    FindingKind::FilingFasterThanClosing,
];
/// The kinds that are no findings, with the words of the parameter `kind`.
const OTHERS: [(Kind, &str); 5] = [
    (Kind::Damage, "damage"),
    (Kind::Question, "question"),
    (Kind::AgentGone, "agent_gone"),
    (Kind::NothingReady, "nothing_ready"),
    (Kind::Parked, "parked"),
];

impl Kind {
    /// Parses the query string of the page: one kind, or all.
    pub fn parse(parameters: &Parameters) -> Result<Option<Self>, InvalidParameter> {
        let words = || joined(OTHERS.iter().map(|(_, word)| *word).chain(FindingKind::words()));
        parameters.get("kind", words, Self::from_word)
    }

    fn from_word(word: &str) -> Option<Self> {
        let other = OTHERS.iter().find(|(_, other)| *other == word).map(|(kind, _)| *kind);
        other.or_else(|| FindingKind::from_word(word).map(Self::Finding))
    }

    fn word(self) -> &'static str {
        match self {
            Self::Finding(kind) => kind.as_str(),
            kind => OTHERS.iter().find(|(other, _)| *other == kind).map_or("", |(_, word)| word),
        }
    }

    /// Returns its place; the most urgent is 0.
    fn rank(self) -> usize {
        match self {
            Self::Damage => 0,
            Self::Question => 1,
            Self::AgentGone => 2,
            Self::NothingReady => 3,
            Self::Parked => 4 + URGENT.len(),
            Self::Finding(kind) => match URGENT.iter().position(|urgent| *urgent == kind) {
                Some(at) => 4 + at,
                None => 5 + URGENT.len() + kind as usize,
            },
        }
    }

    /// Returns true if it needs a person now. Entries of the memory have time.
    fn is_due(self) -> bool {
        !matches!(self, Self::Finding(FindingKind::Contradiction | FindingKind::UnusedEntry))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Damage => "Damaged",
            Self::Question => "Questions",
            Self::AgentGone => "Agents gone",
            Self::NothingReady => "Nothing ready",
            Self::Parked => "Parked without an end",
            Self::Finding(kind) => text::finding(kind),
        }
    }

    /// What a person does about it on the page of an issue.
    fn action(self, issue: &FoundIssue) -> Option<Action> {
        let is_open = issue.status.is_open();
        Some(match self {
            Self::Question => Action::Answer,
            Self::AgentGone | Self::Finding(FindingKind::OldClaim | FindingKind::Stuck) => {
                Action::Return
            }
            Self::Parked => Action::Unpark,
            Self::Damage | Self::NothingReady => return None,
            Self::Finding(kind) => match kind {
                FindingKind::SyncConflict => Action::Resolve,
                FindingKind::ReturnedOften if is_open => Action::Park,
                FindingKind::PlaceholderTitle
                | FindingKind::ThinDescription
                | FindingKind::NoAcceptance => Action::Texts,
                FindingKind::SelfReviewed | FindingKind::NeverReviewed if !is_open => {
                    Action::Reopen
                }
                FindingKind::Stale
                | FindingKind::Duplicate
                | FindingKind::ParentState
                | FindingKind::BlockedByRejected
                    if is_open =>
                {
                    Action::Close
                }
                _ => return None,
            },
        })
    }
}

/// Something that needs a person.
struct Item {
    kind: Kind,
    /// The issues, the one to act on first; none if it is about the whole queue.
    issues: Vec<FoundIssue>,
    why: String,
    /// What to do, with commands between backquotes.
    next: String,
}

/// Returns the name of a row, by which it is put off.
fn row_of(kind: Kind, issue: Option<IssueId>) -> String {
    match issue {
        Some(issue) => format!("{}:{issue}", kind.word()),
        None => kind.word().to_owned(),
    }
}

/// What the inbox is made of.
pub(super) struct Sources<'a, 'b> {
    pub view: &'a ReadView<'b>,
    pub gone: &'a GoneClients,
    /// The claims that were stuck lately.
    pub stuck: &'a [StuckClaim],
    /// The agents that wait for work.
    pub waiting: &'a [AgentName],
    /// The damage of the store.
    pub damage: Option<&'a StoreError>,
    pub findings: &'a Findings,
    /// How many rows of one kind are made.
    pub take: usize,
    pub now: Timestamp,
}

/// What needs a person at a moment.
pub(super) struct Attention {
    /// How many of each kind there are, the most urgent first.
    counts: Vec<(Kind, usize)>,
    /// By kind; of each kind the most urgent first.
    items: Vec<Item>,
    /// The rows that are put off and would show.
    put_off: Vec<Item>,
    /// The open questions of the rows.
    questions: BTreeMap<IssueId, Question>,
    kept: PageData,
    take: usize,
    now: Timestamp,
}

impl Attention {
    /// Finds what needs a person.
    pub fn of(sources: &Sources<'_, '_>) -> Self {
        let Sources { view, gone, waiting, damage, take, now, .. } = *sources;
        let kept = PageData::of(view);
        let mut found = Self {
            counts: Vec::new(),
            items: Vec::new(),
            put_off: Vec::new(),
            questions: BTreeMap::new(),
            kept,
            take,
            now,
        };
        if let Some(damage) = damage {
            let next = "`ait doctor` says what to do".to_owned();
            found.add_item(Kind::Damage, damage.to_string(), next);
        }
        found.add_parked(view);
        found.add_agent_gone(view, gone);
        found.add_stuck(sources);
        if !waiting.is_empty() {
            let named = waiting.iter().take(MAX_AGENTS).map(|agent| undirected(agent.as_str()));
            let named = named.collect::<Vec<_>>().join(", ");
            let why = text::waiting(&named, waiting.len().saturating_sub(MAX_AGENTS));
            let next =
                "`ait list --blocked`, `ait list --parked`; then unblock, unpark or file something"
                    .to_owned();
            found.add_item(Kind::NothingReady, why, next);
        }
        found.add_findings(sources);
        found.items.sort_by_key(|item| item.kind.rank());
        found.counts.sort_by_key(|(kind, _)| kind.rank());
        found
    }

    /// Returns how many things need a person, which is the number of the inbox.
    pub fn count(&self) -> usize {
        self.counts.iter().filter(|(kind, _)| kind.is_due()).map(|(_, count)| count).sum()
    }

    fn add_item(&mut self, kind: Kind, why: String, next: String) {
        self.add(
            kind,
            1,
            [()].into_iter(),
            |()| None,
            |()| (Vec::new(), why.clone(), next.clone()),
        );
    }

    /// Adds what was found of a kind, the most urgent first; `found` may be a part of `total`. `issue` says which issue
    /// a row is about, and `row` makes it.
    fn add<T>(
        &mut self,
        kind: Kind,
        total: usize,
        found: impl Iterator<Item = T>,
        issue: impl Fn(&T) -> Option<(IssueId, Option<Timestamp>)>,
        mut row: impl FnMut(T) -> (Vec<FoundIssue>, String, String),
    ) {
        let is_put_off = |one: &T| {
            // Most projects put nothing off, and thousands of findings need no names then.
            if !self.kept.has_put_off() {
                return false;
            }
            let issue = issue(one);
            let name = row_of(kind, issue.map(|(id, _)| id));
            self.kept.is_put_off(&name, issue.and_then(|(_, at)| at), self.now)
        };
        let (put_off, shown): (Vec<T>, Vec<T>) = found.partition(is_put_off);
        let count = total.saturating_sub(put_off.len());
        if count > 0 {
            self.counts.push((kind, count));
        }
        let mut item = |one: T| {
            let (issues, why, next) = row(one);
            Item { kind, issues, why, next }
        };
        self.items.extend(shown.into_iter().take(self.take).map(&mut item));
        self.put_off.extend(put_off.into_iter().take(self.take).map(item));
    }

    /// Adds the open questions, and the issues that are parked without an end, those that wait longest first.
    fn add_parked(&mut self, view: &ReadView<'_>) {
        let now = self.now;
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
        let open = asked.iter().take(self.take);
        let open = open.filter_map(|(parked, issue)| Some((issue.id, parked.question.clone()?)));
        self.questions = open.collect();
        for (kind, rows) in [(Kind::Question, asked), (Kind::Parked, others)] {
            let of =
                |(_, summary): &(_, &IssueSummary)| Some((summary.id, Some(summary.modified_at)));
            self.add(kind, rows.len(), rows.into_iter(), of, |(parked, summary)| {
                let by = undirected(&parked.by);
                let id = view.short_id(summary.id);
                let (why, next) = match &parked.question {
                    Some(question) => (
                        format!("{by} asks: {}", undirected(&one_line(&question.text, MAX_CHARS))),
                        text::answer(&id, question.options.len()),
                    ),
                    None => (
                        format!(
                            "parked by {by}: {}",
                            undirected(&one_line(&parked.reason, MAX_CHARS))
                        ),
                        format!("`ait unpark {id}`"),
                    ),
                };
                (vec![summary.into()], why, next)
            });
        }
    }

    /// Adds the claims whose agents are gone, the oldest first.
    fn add_agent_gone(&mut self, view: &ReadView<'_>, gone: &GoneClients) {
        let summary = |(id, lapses_in): (IssueId, Option<Duration>)| {
            let summary: &IssueSummary = view.summary(id)?;
            Some((summary.holder()?, summary, lapses_in))
        };
        let mut abandoned: Vec<_> = gone.gone().filter_map(summary).collect();
        abandoned.sort_by_key(|(claim, summary, _)| (claim.since, summary.id));
        let of =
            |(_, summary, _): &(_, &IssueSummary, _)| Some((summary.id, Some(summary.modified_at)));
        let total = abandoned.len();
        self.add(
            Kind::AgentGone,
            total,
            abandoned.into_iter(),
            of,
            |(claim, summary, lapses_in)| {
                let ms = lapses_in.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
                let why = text::gone(&undirected(view.names().text(claim.agent)), ms);
                let next = format!("`ait return {} --force -m WHY`", view.short_id(summary.id));
                (vec![summary.into()], why, next)
            },
        );
    }

    /// Adds the claims that were stuck lately and still last. Those whose agents are gone are there already.
    fn add_stuck(&mut self, sources: &Sources<'_, '_>) {
        let Sources { view, gone, stuck, .. } = *sources;
        let claims = stuck.iter().filter_map(|claim| {
            let summary: &IssueSummary = view.summary(claim.issue.id)?;
            (view.has_claim(claim) && !gone.is_gone(summary.id)).then_some((claim, summary))
        });
        let claims: Vec<_> = claims.collect();
        let of = |(_, summary): &(_, &IssueSummary)| Some((summary.id, Some(summary.modified_at)));
        let kind = Kind::Finding(FindingKind::Stuck);
        self.add(kind, claims.len(), claims.into_iter(), of, |(claim, summary)| {
            let next = format!("`ait return {} --force -m WHY`", view.short_id(summary.id));
            (vec![summary.into()], undirected(&claim.why()), next)
        });
    }

    /// Adds the findings. A claim that is stuck, or whose agent is gone, is there already.
    fn add_findings(&mut self, sources: &Sources<'_, '_>) {
        let Sources { view, gone, stuck, findings, now, .. } = *sources;
        let stuck: BTreeSet<_> = stuck.iter().map(|claim| claim.issue.id).collect();
        let listed = gone.gone().map(|(id, _)| id).filter(|id| !stuck.contains(id));
        let summaries = listed.chain(stuck.iter().copied()).filter_map(|id| view.summary(id));
        let old_claims = summaries.filter(|summary| summary.has_old_claim_at(now)).count();
        let others = FindingKind::ALL.iter().filter(|kind| **kind != FindingKind::Stuck);
        for &finding_kind in others {
            let is_old_claim = finding_kind == FindingKind::OldClaim;
            let abandoned = if is_old_claim { old_claims } else { 0 };
            let is_shown = |finding: &&Finding| {
                let is_listed = |issue: &FoundIssue| {
                    is_old_claim && (gone.is_gone(issue.id) || stuck.contains(&issue.id))
                };
                finding.kind == finding_kind && !finding.issues.first().is_some_and(is_listed)
            };
            // The findings are a little older than the moment.
            let total = findings.count(finding_kind).saturating_sub(abandoned);
            let of = |finding: &&Finding| {
                let issue = finding.issues.first()?;
                Some((issue.id, view.summary(issue.id).map(|summary| summary.modified_at)))
            };
            let found = findings.iter().filter(is_shown);
            self.add(Kind::Finding(finding_kind), total, found, of, |finding| {
                let next = next_step(finding, Reader::Person);
                (finding.issues.clone(), undirected(&finding.why), next)
            });
        }
    }

    /// Returns at most `take` rows that count, in turns.
    fn rows(&self, take: usize) -> Vec<&Item> {
        let due = self.items.iter().filter(|item| item.kind.is_due());
        take_in_turns(due, |item| item.kind.rank(), take)
    }

    /// Renders the most urgent rows for a wall, without commands.
    pub fn large_rows(&self, take: usize) -> Markup {
        html! {
            ul {
                @for item in self.rows(take) {
                    li.wall-row.bad {
                        span.wall-kind { (item.kind.name()) }
                        @if let Some(issue) = item.issues.first() {
                            a href=(components::issue_path(issue.id)) dir="auto" { (components::title(&issue.title)) }
                        }
                        span.who dir="auto" translate="yes" { (item.why) }
                    }
                }
            }
        }
    }

    /// Renders the section above the list, on a page with this address; one line if nothing needs a person. With
    /// actions a question leads to its form, and with forms it has its options.
    pub fn section(&self, has_actions: bool, forms: Option<&ManyForms>, page: &str) -> Markup {
        html! {
            @if self.count() == 0 {
                p #attention.attention.calm {
                    "Nothing needs attention: no open questions, no agents that are gone, nothing \
                     that waits for long."
                }
            } @else {
                section #attention.attention aria-labelledby="attention-heading" {
                    div.attention-head {
                        h2 #attention-heading { a href=(PATH) { "Needs attention" } " " span.count { (self.count()) } }
                        @if let Some(forms) = forms.filter(|_| !self.questions.is_empty()) { (inbox::form(&forms.tokens, &forms.person, page)) }
                        ul aria-label="What needs attention, by kind" {
                            @for (kind, count) in self.counts.iter().filter(|(kind, _)| kind.is_due()).take(MAX_KINDS) {
                                li { a href=(page_of(*kind)) { (kind.name()) " " (count) } }
                            }
                        }
                    }
                    ul.attention-rows { @for item in self.rows(MAX_SHOWN) { (self.row(item, has_actions, forms.is_some(), None)) } }
                }
            }
        }
    }

    /// Renders the page of all rows, or of those of one kind.
    pub fn page(&self, only: Option<Kind>, has_actions: bool, forms: Option<&ManyForms>) -> Markup {
        let take = if only.is_some() { MAX_OF_KIND } else { MAX_OF_ALL };
        let is_asked = |item: &&Item| only.map_or(item.kind.is_due(), |kind| kind == item.kind);
        let items = self.items.iter().filter(is_asked);
        let later = self.items.iter().filter(|item| only.is_none() && !item.kind.is_due());
        let later: Vec<_> = later.take(MAX_OF_ALL).collect();
        let mut rows = take_in_turns(items, |item| item.kind.rank(), take);
        // Stable, so that of each kind the worst stays first.
        rows.sort_by_key(|item| item.kind.rank());
        html! {
            h1.unseen { (text::TITLE) " " (self.count()) }
            @if let Some(forms) = forms { (forms.notice(PATH)) (inbox::form(&forms.tokens, &forms.person, PATH)) }
            @if only.is_some() { p { a href=(PATH) { "Show all kinds" } } }
            @if rows.is_empty() {
                section.notice { p { "Nothing needs attention. This command looks for the same in a terminal:" } (components::command("ait triage")) }
            }
            @for same in rows.chunk_by(|one, next| one.kind == next.kind) {
                @let kind = same[0].kind;
                @let count = self.counts.iter().find(|(of, _)| *of == kind).map_or(0, |(_, count)| *count);
                section.attention.inbox aria-labelledby={ "kind-" (kind.word()) } {
                    div.attention-head {
                        h2 id={ "kind-" (kind.word()) } { a href=(page_of(kind)) { (kind.name()) } " " span.count { (count) } }
                        @if let Kind::Finding(kind) = kind { p.quiet { (kind.description()) } }
                    }
                    ul.attention-rows { @for item in same { (self.row(item, has_actions, forms.is_some(), forms.map(|_| false))) } }
                    @if count > same.len() {
                        p.more { @if only.is_some() { (components::with_code("`ait triage` lists more")) } @else { a href=(page_of(kind)) { (count - same.len()) " more" } } }
                    }
                }
            }
            @if !later.is_empty() {
                details.put-off #later {
                    @let late = self.counts.iter().filter(|(kind, _)| !kind.is_due());
                    summary { "About the memory, when there is time: " (late.clone().map(|(_, count)| count).sum::<usize>()) }
                    ul.attention-rows { @for item in &later { (self.row(item, has_actions, forms.is_some(), forms.map(|_| false))) } }
                    @for (kind, count) in late {
                        @let shown = later.iter().filter(|item| item.kind == *kind).count();
                        @if *count > shown { p.more { a href=(page_of(*kind)) { (count - shown) " more" } } }
                    }
                }
            }
            @if !self.put_off.is_empty() {
                details.put-off #put-off {
                    summary { (self.put_off.len()) " put off" }
                    ul.attention-rows { @for item in &self.put_off { (self.row(item, has_actions, forms.is_some(), forms.map(|_| true))) } }
                }
            }
        }
    }

    /// Renders a row: with a form a question has its options, and with `is_put_off` it is put off or brought back.
    fn row(
        &self,
        item: &Item,
        has_actions: bool,
        has_form: bool,
        is_put_off: Option<bool>,
    ) -> Markup {
        let command = item.next.split('`').nth(1).unwrap_or_default();
        let issue = item.issues.first();
        let name = row_of(item.kind, issue.map(|issue| issue.id));
        let action = issue.and_then(|issue| Some((issue, item.kind.action(issue)?)));
        let question = issue.filter(|_| item.kind == Kind::Question);
        let question = question.and_then(|issue| self.questions.get(&issue.id));
        let button = |field: &str, label: &str| {
            html! { button form=(FORM) name=(field) value=(name) aria-label={ (label) ": " (issue.map_or("the queue", |issue| &issue.title)) } { (label) } }
        };
        html! {
            li {
                span.attention-kind { (item.kind.name()) }
                div.attention-what {
                    @for (at, issue) in item.issues.iter().enumerate() {
                        @if at > 0 { " · " }
                        a.attention-title href=(components::issue_path(issue.id)) dir="auto" { (components::title(&issue.title)) }
                    }
                    @if item.issues.is_empty() { b.attention-title { "The queue" } }
                    " " span.quiet dir="auto" translate="yes" { (item.why) }
                }
                div.attention-next.answers[question.is_some() && has_actions] {
                    @match action.filter(|_| has_actions) {
                        Some((issue, Action::Answer)) => {
                            (answers(issue.id, question.filter(|_| has_form)))
                        }
                        Some((issue, action)) => {
                            a href={ (components::issue_path(issue.id)) "#act-" (action) } { (actions::label(action)) }
                        }
                        None => {
                            span { (components::with_code(&item.next)) }
                            " "
                            (components::copy_command(command))
                        }
                    }
                    @match is_put_off {
                        None => {}
                        Some(true) => { (button(SHOW, "Show again")) }
                        Some(false) if item.kind == Kind::Damage => {}
                        Some(false) => {
                            // What is about the whole queue has no change that would bring it back.
                            @if issue.is_some() { (button(DONE, "Done")) }
                            (button(SNOOZE, "Snooze"))
                        }
                    }
                }
            }
        }
    }
}

/// Returns the page with everything of a kind.
fn page_of(kind: Kind) -> String {
    match kind {
        Kind::Damage => "#trouble".to_owned(),
        Kind::AgentGone => "/agents".to_owned(),
        Kind::NothingReady => {
            let query = ListQuery::default().with_state(ListState::Blocked);
            format!("/{}", query.in_statuses(StatusSet::open()).query_string())
        }
        kind => format!("{PATH}?kind={}", kind.word()),
    }
}
