//! The summary of one issue, kept in memory.

use smallvec::SmallVec;

use super::agent_interner::{Name, Names};
use super::findings::sync::fields_in_conflict;
use super::text_facts::TextFacts;
use ait_domain::facts::TotalUsage;
use ait_domain::readiness::Waits;
use ait_domain::thresholds::is_old_claim;
use ait_domain::{
    ActionKind, Attributes, Classification, Issue, IssueId, Status, Timestamp, Usage,
};

/// The parts of an issue that are needed to show and count it.
#[derive(Clone, Debug)]
pub struct IssueSummary {
    pub id: IssueId,
    pub title: Box<str>,
    /// The kind of work.
    pub classification: Classification,
    pub status: Status,
    /// The time at which the issue was filed.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub modified_at: Timestamp,
    /// The time of the last [substantive change](Issue::active_at).
    pub active_at: Timestamp,
    /// The history, oldest first.
    pub actions: SmallVec<[HistoryAction; 6]>,
    /// What its claims used, oldest first.
    pub usages: Box<[ClaimUsage]>,
    /// The priority, labels, assignee and links, and why it is parked.
    pub attributes: Attributes,
    /// What the findings need of the texts of an open issue.
    pub(crate) facts: Option<Box<TextFacts>>,
    /// The fields that both sides of a sync changed.
    pub(super) conflicts: Option<Box<str>>,
}

/// A history entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryAction {
    /// The time, in milliseconds since 1970.
    pub(super) at_ms: i64,
    pub agent: Name,
    pub kind: ActionKind,
    /// The status after the entry, if the history determines it.
    pub status: Option<Status>,
}

impl HistoryAction {
    /// Returns the time.
    pub fn at(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.at_ms)
    }
}

/// What a claim used, as far as it was recorded at once.
#[derive(Clone, Debug)]
pub struct ClaimUsage {
    /// The time of the record.
    pub at: Timestamp,
    pub agent: Name,
    /// Whether the issue came back to the queue after the claim.
    pub is_failed: bool,
    pub usage: Usage,
}

impl ClaimUsage {
    fn all_of(issue: &Issue, names: &mut Names) -> Box<[Self]> {
        let is_waiting = issue.status == Status::Created;
        let claims = issue.history.iter().map(|entry| ActionKind::of(&entry.action));
        let claims = claims.filter(|kind| kind.is_claim()).zip(1..);
        let works = claims.filter(|(kind, _)| *kind == ActionKind::Claimed);
        let last_work = works.map(|(_, number)| number).last().unwrap_or(0);
        let used = issue.history.iter().filter_map(|entry| {
            let usage = entry.facts.usage.as_deref()?.clone();
            let is_failed = usage.claim > 0 && (is_waiting || usage.claim < last_work);
            Some(Self { at: entry.timestamp, agent: names.name(&entry.agent), is_failed, usage })
        });
        used.collect()
    }
}

/// The holder of a claimed issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimInfo {
    pub agent: Name,
    /// The time of the claim.
    pub since: Timestamp,
}

impl Waits for IssueSummary {
    fn id(&self) -> IssueId {
        self.id
    }

    fn status(&self) -> Status {
        self.status
    }

    fn attributes(&self) -> &Attributes {
        &self.attributes
    }
}

impl IssueSummary {
    /// Summarizes an issue, and adds its agents to `names`.
    pub(super) fn of(issue: &Issue, names: &mut Names) -> Self {
        let mut before = None;
        let actions = issue.history.iter().map(|entry| {
            let kind = ActionKind::of(&entry.action);
            let status = kind.status_after(before);
            before = status.or(before);
            let at_ms = entry.timestamp.unix_millis();
            let agent = names.name(&entry.agent);
            HistoryAction { at_ms, agent, kind, status }
        });
        let mut actions: SmallVec<[HistoryAction; 6]> = actions.collect();
        actions.shrink_to_fit();
        Self {
            id: issue.id,
            title: issue.title.as_str().into(),
            classification: issue.classification,
            status: issue.status,
            created_at: issue.created_at,
            modified_at: issue.modified_at,
            active_at: issue.active_at(),
            actions,
            usages: ClaimUsage::all_of(issue, names),
            attributes: issue.attributes.clone(),
            facts: TextFacts::of(issue),
            conflicts: fields_in_conflict(issue),
        }
    }

    /// Returns what all claims of the issue used; `None` if nothing is known.
    pub fn usage(&self) -> Option<TotalUsage> {
        TotalUsage::of(self.usages.iter().map(|used| (used.agent, &used.usage)))
    }

    /// Returns true if the issue is open and parked at a time.
    pub fn is_open_and_parked_at(&self, now: Timestamp) -> bool {
        self.status.is_open() && self.attributes.is_parked_at(now)
    }

    /// Returns the holder while the status is a claimed one: the agent of the [last claim](ActionKind::claim_in).
    pub fn holder(&self) -> Option<ClaimInfo> {
        if !self.status.is_claimed() {
            return None;
        }
        let claim = &self.actions[ActionKind::claim_in(self.kinds())?];
        Some(ClaimInfo { agent: claim.agent, since: claim.at() })
    }

    /// Returns true if the issue has been claimed for long.
    pub fn has_old_claim_at(&self, now: Timestamp) -> bool {
        let since = || self.holder().map_or(self.in_status_since(), |held| held.since);
        self.status.is_claimed() && is_old_claim(now.millis_since(since()))
    }

    /// Returns how often the issue was [returned after a claim](ActionKind::returns_in).
    pub fn returns(&self) -> usize {
        ActionKind::returns_in(self.kinds())
    }

    fn kinds(&self) -> impl DoubleEndedIterator<Item = ActionKind> + ExactSizeIterator + Clone {
        self.actions.iter().map(|action| action.kind)
    }

    /// Returns the time of the latest entry that led to the current status.
    pub fn in_status_since(&self) -> Timestamp {
        let leads = |action: &&HistoryAction| action.status == Some(self.status);
        self.actions.iter().rfind(leads).map_or(self.created_at, |action| action.at())
    }
}
