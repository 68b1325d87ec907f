//! The board: issues as cards, in one column per status.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::read_view::ReadView;
use super::summary::IssueSummary;
use ait_domain::{Status, Timestamp};

/// A column of the board.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    pub status: Status,
    /// The number of issues in this status.
    pub total: usize,
    /// How many of them have been claimed for long.
    pub old_claims: usize,
    /// The positions of the issues to show.
    pub cards: Vec<usize>,
}

impl ReadView<'_> {
    /// Returns a column for each status, with the issues that it shows, and at most `most` cards each.
    ///
    /// Waiting issues are sorted in the order in which they are claimed, with those that must wait last;
    /// claimed ones by claim time and ended ones by last change, with the newest first.
    pub fn board(
        &self,
        now: Timestamp,
        most: impl Fn(Status) -> usize,
        shows: impl Fn(&IssueSummary) -> bool,
    ) -> Vec<Column> {
        let is_ready = self.ready(now);
        let columns = Status::OF_WORK.iter().map(|&status| {
            let found: Vec<usize> =
                self.in_status(status).filter(|at| shows(&self.summaries()[*at])).collect();
            let total = found.len();
            let rows = &self.index.rows;
            let summary = |position: usize| -> &IssueSummary { &self.summaries()[position] };
            let old_claims = found.iter().filter(|at| summary(**at).has_old_claim_at(now)).count();
            let is_parked = |at: usize| {
                self.index.attributes.is_parked(at) && summary(at).is_open_and_parked_at(now)
            };
            let found = found.into_iter();
            let most = most(status);
            let cards = if status.has_ended() {
                first(found.rev(), most, |at| (Reverse(rows[at].modified_at), Reverse(at)))
            } else if status.is_claimed() {
                first(found, most, |at| (Reverse(summary(at).holder().map(|held| held.since)), at))
            } else {
                first(found, most, |at| {
                    let must_wait = match status {
                        Status::Created => !is_ready.contains(&at),
                        _ => is_parked(at),
                    };
                    (must_wait, rows[at].priority, at)
                })
            };
            Column { status, total, old_claims, cards }
        });
        columns.collect()
    }
}

/// Returns the `most` smallest positions by key, in order. It is quickest if these come first.
fn first<K: Ord>(
    positions: impl Iterator<Item = usize>,
    most: usize,
    key: impl Fn(usize) -> K,
) -> Vec<usize> {
    let mut smallest: BinaryHeap<(K, usize)> = BinaryHeap::new();
    for keyed in positions.map(|at| (key(at), at)) {
        if smallest.len() < most {
            smallest.push(keyed);
        } else if let Some(mut largest) = smallest.peek_mut()
            && keyed < *largest
        {
            *largest = keyed;
        }
    }
    smallest.into_sorted_vec().into_iter().map(|(_, position)| position).collect()
}
