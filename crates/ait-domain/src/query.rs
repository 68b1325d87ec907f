//! The queries on issues.

use std::sync::Arc;

use super::{Classification, Condition, Issue, Status};

/// A filter, an order and a page of issues.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// The statuses to include.
    pub statuses: StatusSet,
    /// The classification to include; `None` for all.
    pub classification: Option<Classification>,
    /// What else the issue must be like.
    pub condition: Condition,
    pub order: Order,
    /// Whether to reverse the order.
    pub reversed: bool,
    /// The number of issues to skip.
    pub skip: usize,
    /// The maximum number of issues to return.
    pub take: usize,
    /// Whether to count the matches in each status, regardless of the statuses to include. Those of
    /// [`Order::Relevance`] are not counted.
    pub counts: bool,
}

impl Query {
    /// Narrows the query by a condition. What indexes answer becomes the statuses and the classification of the query.
    #[must_use]
    pub fn with(mut self, condition: Condition) -> Self {
        let mut others = vec![std::mem::take(&mut self.condition)];
        for condition in condition.into_conjuncts() {
            match condition {
                Condition::Status(statuses) => self.statuses = self.statuses.intersection(statuses),
                Condition::Classification(kind)
                    if self.classification.is_none_or(|own| own == kind) =>
                {
                    self.classification = Some(kind);
                }
                other => others.push(other),
            }
        }
        Self { condition: Condition::all(others), ..self }
    }
}

/// A set of statuses. The default is those of all work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusSet([bool; Status::ALL.len()]);

impl StatusSet {
    /// The statuses of all work, open and ended: all but that of [entries](Status::Kept).
    pub const ALL: Self = {
        let mut set = [true; Status::ALL.len()];
        set[Status::Kept as usize] = false;
        Self(set)
    };
    /// The status of entries.
    pub const KEPT: Self = {
        let mut set = [false; Status::ALL.len()];
        set[Status::Kept as usize] = true;
        Self(set)
    };
    /// Work and entries.
    pub const EVERYTHING: Self = Self([true; Status::ALL.len()]);

    /// Returns the statuses of open issues.
    pub fn open() -> Self {
        Status::ALL.iter().copied().filter(|status| status.is_open()).collect()
    }

    /// Returns the statuses of closed and rejected issues.
    pub fn ended() -> Self {
        Status::ALL.iter().copied().filter(|status| status.has_ended()).collect()
    }

    /// Returns the statuses of a word: one, `open`, or all.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "open" => Some(Self::open()),
            "all" | "any" => Some(Self::ALL),
            word => Some(Some(Status::from_word(&word.replace('-', "_"))?).into()),
        }
    }

    /// Returns true if the set contains a status.
    pub fn contains(self, status: Status) -> bool {
        self.0[status as usize]
    }

    /// Returns true if another set contains all of these.
    pub fn is_within(self, other: Self) -> bool {
        self.iter().all(|status| other.contains(status))
    }

    /// Returns the statuses that both sets contain.
    #[must_use]
    pub fn intersection(self, other: Self) -> Self {
        self.iter().filter(|status| other.contains(*status)).collect()
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

/// Converts to the set of one status, or to the statuses of all work for `None`.
impl From<Option<Status>> for StatusSet {
    fn from(status: Option<Status>) -> Self {
        status.map_or(Self::ALL, |status| Self::from_iter([status]))
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
    /// Last created first. All other orders break ties as [`LatestActivity`](Self::LatestActivity).
    Created,
    /// By classification, in the order of the domain.
    Classification,
    /// By status, in the order of the lifecycle.
    Status,
    /// By the agent that holds the issue; issues that no agent holds come last, also in reverse.
    Holder,
    /// By how many of the wanted texts occur, most first.
    Relevance,
    /// By how many of the required texts the title has, as whole words or else as parts, most first. Of many matches,
    /// the latest are compared.
    Match,
}

/// A page of the issues that match a query.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    /// The total number of matches.
    pub total: usize,
    /// Whether `total` is exact. If not, there are more matches.
    pub is_exact: bool,
    /// The issues on this page.
    pub issues: Vec<Arc<Issue>>,
    /// The number of matches in each status, if they were counted.
    pub counts: Option<MatchCounts>,
}

impl Page {
    /// Returns the page of a query that nothing matches.
    pub fn empty() -> Self {
        let counts = MatchCounts { counts: Counts::default(), are_exact: true };
        Self { is_exact: true, counts: Some(counts), ..Self::default() }
    }
}

/// The number of matches in each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MatchCounts {
    /// The numbers; lower bounds unless `are_exact`.
    pub counts: Counts,
    /// Whether all matches were counted.
    pub are_exact: bool,
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

    /// Returns the number of issues in some statuses.
    pub fn in_statuses(&self, statuses: StatusSet) -> usize {
        statuses.iter().map(|status| self.in_status(status)).sum()
    }

    /// Returns the number of all issues, without entries.
    pub fn total(&self) -> usize {
        self.in_statuses(StatusSet::ALL)
    }
}
