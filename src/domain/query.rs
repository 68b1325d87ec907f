//! What callers can ask for without changing anything.

use std::sync::Arc;

use super::{Classification, Issue, Status};

/// Which issues to show, in which order, and which part of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Query {
    /// Only those in this status.
    pub status: Option<Status>,
    /// Only those of this classification.
    pub classification: Option<Classification>,
    /// The order.
    pub order: Order,
    /// How many to leave out at the beginning.
    pub skip: usize,
    /// The most to show.
    pub take: usize,
}

/// An order of issues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// The first filed first: the order in which they are claimed.
    #[default]
    Filed,
    /// The last changed first; of those changed at the same time, the last filed first.
    LatestActivity,
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
