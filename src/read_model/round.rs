//! What a lead needs to know before it starts workers: how much there is, and how much of it can be claimed.

use indexmap::IndexMap;
use serde::Serialize;

use super::read_view::ReadView;
use crate::domain::{Classification, Status, Timestamp};

/// The numbers of a queue.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Round {
    /// How many issues have each status.
    #[serde(flatten)]
    pub counts: IndexMap<&'static str, usize>,
    /// How many open issues there are of each classification.
    pub open: IndexMap<&'static str, usize>,
    /// How many issues an agent could claim for work, of each classification, and for `review`.
    pub ready: IndexMap<&'static str, usize>,
    /// How many open issues are parked.
    pub parked: usize,
    /// How many questions to people are open.
    pub questions: usize,
}

impl Round {
    /// Counts the issues of a queue.
    pub fn of(view: &ReadView<'_>, now: Timestamp) -> Self {
        let counts = view.counts();
        let counts = Status::ALL.iter().map(|status| (status.as_str(), counts.in_status(*status)));
        let none: IndexMap<&'static str, usize> =
            Classification::ALL.iter().map(|kind| (kind.as_str(), 0)).collect();
        let mut found = Self {
            counts: counts.collect(),
            open: none.clone(),
            ready: none,
            parked: 0,
            questions: view.questions().count(),
        };
        found.ready.insert("review", 0);
        let ready = view.ready(now);
        for (at, summary) in view.open() {
            let kind = summary.classification.as_str();
            found.open[kind] += 1;
            let is_parked = summary.is_open_and_parked_at(now);
            found.parked += usize::from(is_parked);
            if ready.contains(at) {
                found.ready[kind] += 1;
            } else if summary.status == Status::Completed && !is_parked {
                found.ready["review"] += 1;
            }
        }
        found
    }
}
