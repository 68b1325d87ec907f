//! The board: issues as cards, in one column per status.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::read_view::ReadView;
use super::summary::IssueSummary;
use ait_domain::{Status, Timestamp, readiness};

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
        let rows = &self.index.rows;
        let summary = |position: usize| -> &IssueSummary { &self.summaries()[position] };
        let columns = Status::OF_WORK.iter().map(|&status| {
            let found: Vec<usize> =
                self.in_status(status).filter(|at| shows(summary(*at))).collect();
            let total = found.len();
            let is_old = |at: &&usize| status.is_claimed() && summary(**at).has_old_claim_at(now);
            let old_claims = found.iter().filter(is_old).count();
            let most = most(status);
            let cards = if status.has_ended() {
                let found = found.into_iter().rev();
                let keys = found.map(|at| (Reverse(rows[at].modified_at), Reverse(at)));
                first(keys, most).into_iter().map(|(_, Reverse(at))| at).collect()
            } else if status.is_claimed() {
                let since = |at| Reverse(summary(at).holder().map(|held| held.since));
                let keys = found.into_iter().map(|at| (since(at), at));
                first(keys, most).into_iter().map(|(_, at)| at).collect()
            } else {
                let must_wait = |at: usize| match status {
                    Status::Created => !readiness::is_ready(self, summary(at), now),
                    _ => {
                        self.index.attributes.is_parked(at)
                            && summary(at).is_open_and_parked_at(now)
                    }
                };
                let mut found = found;
                found.sort_unstable_by_key(|&at| (rows[at].priority, at));
                first_that_need_not_wait(found, most, must_wait)
            };
            Column { status, total, old_claims, cards }
        });
        columns.collect()
    }
}

/// Returns the first `most` positions, with those that must wait after the others. It asks only until it has enough,
/// because whether an issue must wait takes a look at others.
fn first_that_need_not_wait(
    positions: Vec<usize>,
    most: usize,
    must_wait: impl Fn(usize) -> bool,
) -> Vec<usize> {
    let mut first = Vec::new();
    let mut waiting = Vec::new();
    for at in positions {
        if first.len() == most {
            break;
        }
        let into = if must_wait(at) { &mut waiting } else { &mut first };
        into.push(at);
    }
    first.extend(waiting);
    first.truncate(most);
    first
}

/// Returns the `most` smallest items, in order. It is quickest if these come first.
pub(super) fn first<T: Ord>(items: impl Iterator<Item = T>, most: usize) -> Vec<T> {
    let mut smallest: BinaryHeap<T> = BinaryHeap::new();
    for item in items {
        if smallest.len() < most {
            smallest.push(item);
        } else if let Some(mut largest) = smallest.peek_mut()
            && item < *largest
        {
            *largest = item;
        }
    }
    smallest.into_sorted_vec()
}
