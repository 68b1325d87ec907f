//! The queries on issues.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{AgentName, Classification, Issue, IssueId, Status, Timestamp};

/// A filter, an order and a page of issues.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// The statuses to include.
    pub statuses: StatusSet,
    /// The classification to include; `None` for all.
    pub classification: Option<Classification>,
    /// Which changes the issue must have had; `None` for all issues.
    pub changed: Option<Changed>,
    /// What the content must match.
    pub content: ContentFilter,
    /// The order.
    pub order: Order,
    /// Whether to reverse the order.
    pub reversed: bool,
    /// The number of issues to skip.
    pub skip: usize,
    /// The maximum number of issues to return.
    pub take: usize,
}

/// The issues that changed recently.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Changed {
    /// Those that changed after a time.
    After(Timestamp),
    /// Those that events changed.
    Issues(BTreeSet<IssueId>),
}

/// A set of statuses. The default is all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusSet([bool; Status::ALL.len()]);

impl StatusSet {
    /// All statuses.
    pub const ALL: Self = Self([true; Status::ALL.len()]);

    /// Returns the statuses that are not terminal.
    pub fn open() -> Self {
        Status::ALL.iter().copied().filter(|status| !status.is_terminal()).collect()
    }

    /// Returns true if the set contains a status.
    pub fn contains(self, status: Status) -> bool {
        self.0[status as usize]
    }

    /// Returns the statuses in display order.
    pub fn iter(self) -> impl Iterator<Item = Status> {
        Status::ALL.iter().copied().filter(move |status| self.contains(*status))
    }
}

impl Default for StatusSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Status> for StatusSet {
    fn from_iter<I: IntoIterator<Item = Status>>(statuses: I) -> Self {
        let mut set = [false; Status::ALL.len()];
        statuses.into_iter().for_each(|status| set[status as usize] = true);
        Self(set)
    }
}

/// Converts to the set of one status, or to all statuses for `None`.
impl From<Option<Status>> for StatusSet {
    fn from(status: Option<Status>) -> Self {
        status.map_or(Self::ALL, |status| Self::from_iter([status]))
    }
}

/// A filter on the content of an issue. No index supports it: every issue of the right status and classification is
/// scanned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContentFilter {
    /// The agent that holds the issue.
    pub holder: Option<AgentName>,
    /// An agent that occurs anywhere in the history.
    pub agent: Option<AgentName>,
    /// The agent that holds or filed the issue.
    pub holder_or_filer: Option<AgentName>,
    /// Lower-case texts. Each must occur in the title, the description or a comment, regardless of case, be a prefix
    /// of the id, or be an [external id](Issue::external_ids), also with `#` before it.
    pub texts: Vec<String>,
}

impl ContentFilter {
    /// Returns true if every issue matches.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if the issue matches.
    pub fn fits(&self, issue: &Issue) -> bool {
        let is_holder =
            |agent: &AgentName| issue.holder().is_some_and(|claim| claim.agent == agent.as_str());
        let acted =
            |agent: &AgentName| issue.history.iter().any(|entry| entry.agent == agent.as_str());
        let filed = |agent: &AgentName| {
            issue.history.first().is_some_and(|entry| entry.agent == agent.as_str())
        };
        self.holder.as_ref().is_none_or(is_holder)
            && self.holder_or_filer.as_ref().is_none_or(|agent| is_holder(agent) || filed(agent))
            && self.agent.as_ref().is_none_or(acted)
            && (self.texts.is_empty() || self.says_all(issue))
    }

    fn says_all(&self, issue: &Issue) -> bool {
        let texts: Vec<String> = Self::searched(issue).collect();
        let id = issue.id.to_string();
        let external: Vec<String> = Self::searched_ids(issue).collect();
        let is_external = |wanted: &str| {
            external.iter().any(|id| id == wanted || id.strip_prefix('#') == Some(wanted))
        };
        self.texts.iter().all(|wanted| {
            id.starts_with(wanted)
                || texts.iter().any(|text| text.contains(wanted))
                || is_external(wanted)
        })
    }

    /// Returns the searchable texts of an issue in lower case.
    pub(crate) fn searched(issue: &Issue) -> impl Iterator<Item = String> {
        let comments = issue.comments.iter().map(|comment| comment.text.as_str());
        let texts = [issue.title.as_str(), issue.description.as_str()].into_iter().chain(comments);
        texts.map(str::to_lowercase)
    }

    /// Returns the searchable external ids of an issue in lower case, each behind a `#`.
    pub(crate) fn searched_ids(issue: &Issue) -> impl Iterator<Item = String> {
        issue.external_ids().into_iter().map(|id| format!("#{}", id.to_lowercase()))
    }
}

/// An order of issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Oldest first.
    #[default]
    Filed,
    /// Last changed first; ties are broken by the last filed first.
    LatestActivity,
    /// By priority, the most urgent first; ties are broken by the first filed first.
    Priority,
    /// By lower-case title in Unicode order; ties are broken by the first filed first.
    Title,
}

/// A page of the issues that match a query.
#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    /// The total number of matches.
    pub total: usize,
    /// The issues on this page.
    pub issues: Vec<Arc<Issue>>,
}

/// The number of issues in each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts([usize; Status::ALL.len()]);

impl Counts {
    /// Calls `count` for each status.
    pub fn of(count: impl Fn(Status) -> usize) -> Self {
        let mut counts = [0; Status::ALL.len()];
        for (slot, &status) in counts.iter_mut().zip(Status::ALL) {
            *slot = count(status);
        }
        Self(counts)
    }

    /// Returns the number of issues in a status.
    pub fn in_status(&self, status: Status) -> usize {
        self.0[status as usize]
    }

    /// Returns the number of all issues.
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }
}
