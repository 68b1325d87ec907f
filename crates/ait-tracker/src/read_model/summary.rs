//! The summary of one issue, kept in memory.

use smallvec::SmallVec;

use super::agent_interner::{Name, Names};
use super::findings::sync::fields_in_conflict;
use super::text_facts::TextFacts;
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
    /// The priority, labels, assignee and links, and why it is parked.
    pub attributes: Attributes,
    /// What the findings need of the texts of an open issue.
    pub(crate) facts: Option<Box<TextFacts>>,
    /// The fields that both sides of a sync changed.
    pub(super) conflicts: Option<Box<str>>,
    /// What agents used for it, without the models.
    pub(super) usages: Box<[(Name, Timestamp, Usage)]>,
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
            attributes: issue.attributes.clone(),
            facts: TextFacts::of(issue),
            conflicts: fields_in_conflict(issue),
            usages: issue
                .history
                .iter()
                .filter_map(|entry| {
                    let used = entry.facts.usage.as_deref()?;
                    let used = Usage { model: String::new(), ..used.clone() };
                    Some((names.name(&entry.agent), entry.timestamp, used))
                })
                .collect(),
        }
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

    /// Returns true if an agent occurs in the history.
    pub fn was_touched_by(&self, agent: Name) -> bool {
        self.actions.iter().any(|action| action.agent == agent)
    }

    /// Returns the time of the latest entry that led to the current status.
    pub fn in_status_since(&self) -> Timestamp {
        let leads = |action: &&HistoryAction| action.status == Some(self.status);
        self.actions.iter().rfind(leads).map_or(self.created_at, |action| action.at())
    }
}
