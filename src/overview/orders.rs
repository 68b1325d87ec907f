//! The issues in the orders in which people look at them.

use std::cmp::Ordering;

use super::digest::Digest;
use super::names::Names;

/// What the issues are ordered by. Of those that are equal in it, the last changed counts as more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SortKey {
    /// The title, in lower case, as Unicode numbers characters.
    Title,
    /// The classification, in the order of the domain.
    Classification,
    /// The status, in the order of the lifecycle.
    Status,
    /// The name of the agent that did something last; without one first.
    Agent,
    /// When it was filed.
    Created,
    /// When it last changed.
    #[default]
    Activity,
}

impl SortKey {
    /// Every one.
    pub const ALL: &'static [Self] = &[
        Self::Title,
        Self::Classification,
        Self::Status,
        Self::Agent,
        Self::Created,
        Self::Activity,
    ];

    fn compare(self, names: &Names, one: &Digest, other: &Digest) -> Ordering {
        let agent = |digest: &Digest| digest.acts.last().map(|act| act.agent);
        let by_key = match self {
            Self::Title => one.title_key().cmp(&other.title_key()),
            Self::Classification => one.classification.cmp(&other.classification),
            Self::Status => one.status.cmp(&other.status),
            Self::Agent => match (agent(one), agent(other)) {
                (Some(one), Some(other)) if one == other => Ordering::Equal,
                (one, other) => one.map(|it| names.text(it)).cmp(&other.map(|it| names.text(it))),
            },
            Self::Created => one.created_at.cmp(&other.created_at),
            Self::Activity => Ordering::Equal,
        };
        by_key.then(one.modified_at.cmp(&other.modified_at))
    }
}

/// A direction of an order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// The least first.
    Ascending,
    /// The most first.
    Descending,
}

/// The orders that somebody has asked for. They follow the changes from then on.
#[derive(Debug, Default)]
pub(super) struct Orders([Option<Vec<usize>>; SortKey::ALL.len()]);

impl Orders {
    /// The positions of all issues, ascending.
    pub fn get(&mut self, key: SortKey, digests: &[Digest], names: &Names) -> &[usize] {
        self.0[key as usize].get_or_insert_with(|| {
            let mut positions: Vec<_> = (0..digests.len()).collect();
            match key {
                // Titles are compared in a form that is costly to make.
                SortKey::Title => positions.sort_by_cached_key(|&position| {
                    let digest = &digests[position];
                    (digest.title_key().into_owned(), digest.modified_at)
                }),
                _ => positions
                    .sort_by(|&one, &other| key.compare(names, &digests[one], &digests[other])),
            }
            positions
        })
    }

    /// Takes note that the digests at these positions, which ascend, are new or others.
    pub fn follow(&mut self, changed: &[usize], digests: &[Digest], names: &Names) {
        for (slot, &key) in self.0.iter_mut().zip(SortKey::ALL) {
            // Beyond that, sorting anew is quicker.
            let Some(order) = slot.take().filter(|it| changed.len() <= it.len() / 8) else {
                continue;
            };
            let compare = |one: &usize, other: &usize| {
                key.compare(names, &digests[*one], &digests[*other]).then(one.cmp(other))
            };
            let mut moved = changed.to_vec();
            moved.sort_by(compare);
            let mut is_moved = vec![false; digests.len()];
            changed.iter().for_each(|&position| is_moved[position] = true);
            let mut merged = Vec::with_capacity(digests.len());
            let mut moved = moved.into_iter().peekable();
            for position in order.into_iter().filter(|&position| !is_moved[position]) {
                while let Some(earlier) =
                    moved.next_if(|it| compare(it, &position) == Ordering::Less)
                {
                    merged.push(earlier);
                }
                merged.push(position);
            }
            merged.extend(moved);
            *slot = Some(merged);
        }
    }
}
