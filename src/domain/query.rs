//! What callers can ask for without changing anything.

use std::sync::Arc;

use super::{AgentName, Classification, Issue, Status};

/// Which issues to show, in which order, and which part of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// Only those in one of these statuses.
    pub statuses: Statuses,
    /// Only those of this classification.
    pub classification: Option<Classification>,
    /// Only those that a part of their content fits.
    pub content: ContentFilter,
    /// The order.
    pub order: Order,
    /// Whether the order is turned round.
    pub reversed: bool,
    /// How many to leave out at the beginning.
    pub skip: usize,
    /// The most to show.
    pub take: usize,
}

/// A set of statuses; all of them, unless said otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Statuses([bool; Status::ALL.len()]);

impl Statuses {
    /// Every status.
    pub const ALL: Self = Self([true; Status::ALL.len()]);

    /// The statuses that issues can still leave.
    pub fn open() -> Self {
        Status::ALL.iter().copied().filter(|status| !status.is_terminal()).collect()
    }

    /// Tells whether a status is one of these.
    pub fn contains(self, status: Status) -> bool {
        self.0[status as usize]
    }

    /// These statuses, in the order in which people expect to see them.
    pub fn iter(self) -> impl Iterator<Item = Status> {
        Status::ALL.iter().copied().filter(move |status| self.contains(*status))
    }
}

impl Default for Statuses {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Status> for Statuses {
    fn from_iter<I: IntoIterator<Item = Status>>(statuses: I) -> Self {
        let mut set = [false; Status::ALL.len()];
        statuses.into_iter().for_each(|status| set[status as usize] = true);
        Self(set)
    }
}

/// The one status, or all without one.
impl From<Option<Status>> for Statuses {
    fn from(status: Option<Status>) -> Self {
        status.map_or(Self::ALL, |status| Self::from_iter([status]))
    }
}

/// What an issue must contain. No index helps to find it: every issue of the right status and
/// classification is looked at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContentFilter {
    /// Who holds it.
    pub holder: Option<AgentName>,
    /// Who did anything to it, whenever.
    pub agent: Option<AgentName>,
    /// Pieces of text in lower case, each of which occurs somewhere in its title, description or
    /// comments, in whichever case, or begins its id.
    pub texts: Vec<String>,
}

impl ContentFilter {
    /// Tells whether every issue fits.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Tells whether an issue fits.
    pub fn fits(&self, issue: &Issue) -> bool {
        let is_holder =
            |agent: &AgentName| issue.holder().is_some_and(|it| it.agent == agent.as_str());
        let acted = |agent: &AgentName| issue.history.iter().any(|it| it.agent == agent.as_str());
        self.holder.as_ref().is_none_or(is_holder)
            && self.agent.as_ref().is_none_or(acted)
            && (self.texts.is_empty() || self.says_all(issue))
    }

    fn says_all(&self, issue: &Issue) -> bool {
        let texts: Vec<String> = Self::searched(issue).collect();
        let id = issue.id.to_string();
        self.texts
            .iter()
            .all(|wanted| id.starts_with(wanted) || texts.iter().any(|text| text.contains(wanted)))
    }

    /// The texts of an issue in which is searched, in lower case.
    pub(crate) fn searched(issue: &Issue) -> impl Iterator<Item = String> {
        let comments = issue.comments.iter().map(|comment| comment.text.as_str());
        let texts = [issue.title.as_str(), issue.description.as_str()].into_iter().chain(comments);
        texts.map(str::to_lowercase)
    }
}

/// An order of issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// The first filed first: the order in which they are claimed.
    #[default]
    Filed,
    /// The last changed first; of those changed at the same time, the last filed first.
    LatestActivity,
    /// By title, as Unicode orders the lower-case form; the first filed of those called the same first.
    Title,
}

/// A part of the issues that match a query.
#[derive(Clone, PartialEq, Debug)]
pub struct Page {
    /// How many match in all.
    pub total: usize,
    /// The part that was asked for.
    pub issues: Vec<Arc<Issue>>,
}

/// How many issues there are in each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts([usize; Status::ALL.len()]);

impl Counts {
    /// Asks `count` for the number of issues in each status.
    pub fn of(count: impl Fn(Status) -> usize) -> Self {
        let mut counts = [0; Status::ALL.len()];
        for (slot, &status) in counts.iter_mut().zip(Status::ALL) {
            *slot = count(status);
        }
        Self(counts)
    }

    /// How many are in a status.
    pub fn in_status(&self, status: Status) -> usize {
        self.0[status as usize]
    }

    /// How many there are.
    pub fn total(&self) -> usize {
        self.0.iter().sum()
    }
}
