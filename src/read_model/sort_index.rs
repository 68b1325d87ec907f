//! The sort orders of the issues.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use super::agent_interner::Names;
use super::chunked::Chunked;
use super::summary::IssueSummary;
use crate::string_enum::string_enum;

/// The sort keys. Ties are broken by the time of the last change; those of [`Title`](Self::Title) and
/// [`Priority`](Self::Priority) by the order of filing, as in the lists of tools.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SortKey {
    /// By lower-case title, in Unicode order.
    Title,
    /// By classification, in the order of the domain.
    Classification,
    /// By status, in the order of the lifecycle.
    Status,
    /// By the agent of the latest history entry. Issues without one come first.
    Agent,
    /// By the time of filing.
    Created,
    /// By the time of the last change.
    #[default]
    Activity,
    /// By priority, the most urgent first.
    Priority,
    /// In the order of the queue.
    Filed,
    /// By how well a search is matched, which no order knows in advance.
    Relevance,
}

impl SortKey {
    /// All sort keys with an order of their own.
    pub const ALL: &'static [Self] = &[
        Self::Title,
        Self::Classification,
        Self::Status,
        Self::Agent,
        Self::Created,
        Self::Activity,
        Self::Priority,
        Self::Filed,
    ];

    fn compare(self, names: &Names, one: &IssueSummary, other: &IssueSummary) -> Ordering {
        let agent = |summary: &IssueSummary| summary.actions.last().map(|action| action.agent);
        let by_key = match self {
            Self::Title => one.title_key().cmp(&other.title_key()),
            Self::Classification => one.classification.cmp(&other.classification),
            Self::Status => one.status.cmp(&other.status),
            Self::Agent => match (agent(one), agent(other)) {
                (Some(one), Some(other)) if one == other => Ordering::Equal,
                (one, other) => {
                    one.map(|name| names.text(name)).cmp(&other.map(|name| names.text(name)))
                }
            },
            Self::Created => one.created_at.cmp(&other.created_at),
            Self::Priority => {
                let priority = |summary: &IssueSummary| summary.attributes.effective_priority();
                priority(one).cmp(&priority(other))
            }
            Self::Activity | Self::Filed | Self::Relevance => Ordering::Equal,
        };
        match self {
            Self::Title | Self::Priority | Self::Filed => by_key,
            _ => by_key.then(one.modified_at.cmp(&other.modified_at)),
        }
    }
}

string_enum! {
    /// A sort direction.
    pub enum Direction {
        /// Smallest first.
        Ascending = "asc",
        /// Largest first.
        Descending = "desc",
    }
}

impl Direction {
    /// Returns the other direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self {
            Self::Ascending => Self::Descending,
            Self::Descending => Self::Ascending,
        }
    }
}

/// The sort orders requested so far. They are updated with each change. A clone shares them.
#[derive(Clone, Debug, Default)]
pub(super) struct SortIndex([OnceLock<Arc<Vec<usize>>>; SortKey::ALL.len()]);

impl SortIndex {
    /// Returns the positions of all issues in ascending order.
    pub fn get(
        &self,
        key: SortKey,
        summaries: &Chunked<Arc<IssueSummary>>,
        names: &Names,
    ) -> &[usize] {
        let key = if key == SortKey::Relevance { SortKey::Activity } else { key };
        self.0[key as usize].get_or_init(|| {
            let mut sorted: Vec<(usize, &IssueSummary)> =
                summaries.iter().map(|summary| &**summary).enumerate().collect();
            match key {
                // The key of a title is costly, so it is cached.
                SortKey::Title => {
                    sorted.sort_by_cached_key(|(_, summary)| summary.title_key().into_owned());
                }
                _ => sorted.sort_by(|(_, one), (_, other)| key.compare(names, one, other)),
            }
            Arc::new(sorted.into_iter().map(|(position, _)| position).collect())
        })
    }

    /// Returns how many orders there are.
    pub fn built(&self) -> usize {
        self.0.iter().filter(|order| order.get().is_some()).count()
    }

    /// Takes over the orders of another index that this one lacks.
    pub fn fill_from(&mut self, other: Self) {
        for (own, other) in self.0.iter_mut().zip(other.0) {
            if own.get().is_none() {
                *own = other;
            }
        }
    }

    /// Updates the orders after the summaries at these ascending positions were added or changed.
    pub fn follow(
        &mut self,
        changed: &[usize],
        summaries: &Chunked<Arc<IssueSummary>>,
        names: &Names,
    ) {
        let mut is_moved = vec![false; summaries.len()];
        changed.iter().for_each(|&position| is_moved[position] = true);
        for (slot, &key) in self.0.iter_mut().zip(SortKey::ALL) {
            // With more changes than that, sorting again is faster.
            let Some(order) = slot.take().filter(|order| changed.len() <= order.len() / 8) else {
                continue;
            };
            let compare = |one: usize, other: usize| {
                key.compare(names, &summaries[one], &summaries[other]).then(one.cmp(&other))
            };
            let kept: Vec<usize> = order.iter().copied().filter(|&at| !is_moved[at]).collect();
            let mut moved = changed.to_vec();
            moved.sort_by(|&one, &other| compare(one, other));
            let mut merged = Vec::with_capacity(summaries.len());
            let mut rest = &kept[..];
            for position in moved {
                let before = rest.partition_point(|&at| compare(at, position) == Ordering::Less);
                let (earlier, later) = rest.split_at(before);
                merged.extend_from_slice(earlier);
                merged.push(position);
                rest = later;
            }
            merged.extend_from_slice(rest);
            *slot = OnceLock::from(Arc::new(merged));
        }
    }
}
