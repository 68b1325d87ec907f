//! The board: issues as cards, in one column per status.

use std::cmp::Reverse;

use super::read_view::ReadView;
use super::summary::IssueSummary;
use crate::domain::{Status, Timestamp};

/// A column of the board.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Column {
    /// The status.
    pub status: Status,
    /// The number of issues in this status.
    pub total: usize,
    /// How many of them have been claimed for long.
    pub old_claims: usize,
    /// The positions of the issues to show.
    pub cards: Vec<usize>,
}

impl ReadView<'_> {
    /// Returns a column for each status, with the wanted issues, and at most `most` cards each.
    ///
    /// Waiting issues are sorted in the order in which they are claimed, with those that must wait last;
    /// claimed ones by claim time and terminal ones by last change, with the newest first.
    pub fn board(
        &self,
        now: Timestamp,
        most: impl Fn(Status) -> usize,
        is_wanted: impl Fn(&IssueSummary) -> bool,
    ) -> Vec<Column> {
        let mut columns: Vec<_> = Status::ALL
            .iter()
            .map(|&status| Column { status, total: 0, old_claims: 0, cards: Vec::new() })
            .collect();
        for (position, summary) in self.summaries().iter().enumerate() {
            if is_wanted(summary) {
                let column = &mut columns[summary.status as usize];
                column.cards.push(position);
                column.old_claims += usize::from(summary.has_old_claim_at(now));
            }
        }
        for column in &mut columns {
            column.total = column.cards.len();
            let (cards, most) = (&mut column.cards, most(column.status));
            let summary = |position: usize| -> &IssueSummary { &self.summaries()[position] };
            if column.status.is_terminal() {
                first(cards, most, |at| (Reverse(summary(at).modified_at), Reverse(at)));
            } else if column.status.is_claimed() {
                first(cards, most, |at| (Reverse(summary(at).holder().map(|held| held.since)), at));
            } else {
                cards.sort_by_key(|&at| summary(at).attributes.effective_priority());
                let can_be_claimed = |issue: &IssueSummary| match issue.status {
                    Status::Created => issue.is_ready_at(now, &self.issues),
                    _ => !issue.is_parked_at(now),
                };
                // Looking at links takes longer than all else here: no more are looked at than are shown.
                let (mut shown, mut waiting) = (Vec::new(), Vec::new());
                for &at in &*cards {
                    if shown.len() == most {
                        break;
                    }
                    if can_be_claimed(summary(at)) { shown.push(at) } else { waiting.push(at) }
                }
                shown.extend(waiting);
                shown.truncate(most);
                *cards = shown;
            }
        }
        columns
    }
}

/// Keeps the `most` smallest positions by key, in order.
fn first<K: Ord>(positions: &mut Vec<usize>, most: usize, key: impl Fn(usize) -> K) {
    if positions.len() > most {
        positions.select_nth_unstable_by_key(most, |&position| key(position));
        positions.truncate(most);
    }
    positions.sort_unstable_by_key(|&position| key(position));
}
