//! The issues as cards in columns: who does what.

use std::cmp::Reverse;

use super::digest::Digest;
use super::survey::Survey;
use crate::domain::Status;

/// The issues in one status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The status.
    pub status: Status,
    /// How many there are.
    pub total: usize,
    /// The positions of those that are shown.
    pub cards: Vec<usize>,
}

impl Survey<'_> {
    /// A column for each status, with so many cards at most.
    ///
    /// What waits stands in the order in which it is claimed, what is claimed with the oldest claim first,
    /// and what has ended with the last ended first.
    pub fn board(&self, most: impl Fn(Status) -> usize) -> Vec<Column> {
        let mut columns: Vec<_> = Status::ALL
            .iter()
            .map(|&status| Column { status, total: 0, cards: Vec::new() })
            .collect();
        for (position, digest) in self.digests().iter().enumerate() {
            columns[digest.status as usize].cards.push(position);
        }
        for column in &mut columns {
            column.total = column.cards.len();
            let (cards, most) = (&mut column.cards, most(column.status));
            let digest = |position: usize| -> &Digest { &self.digests()[position] };
            if column.status.is_terminal() {
                first(cards, most, |at| (Reverse(digest(at).modified_at), Reverse(at)));
            } else if column.status.is_claimed() {
                first(cards, most, |at| (digest(at).holder().map(|held| held.since), at));
            } else {
                cards.truncate(most);
            }
        }
        columns
    }
}

/// Keeps the least ones, in order.
fn first<K: Ord>(positions: &mut Vec<usize>, most: usize, key: impl Fn(usize) -> K) {
    if positions.len() > most {
        positions.select_nth_unstable_by_key(most, |&position| key(position));
        positions.truncate(most);
    }
    positions.sort_unstable_by_key(|&position| key(position));
}
