//! Renders the board: columns side by side, or below one another in a narrow terminal.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::styling::Style;

use super::hold;
use super::issue_view::words;
use super::list::waits;
use super::no_issues;
use super::output::{FAINT, Output, STRONG, of_classification, of_status};
use super::sanitize::{self, columns, cut};
use super::short_ids::ShortIds;
use super::styled_line::Line;
use ait_domain::{Condition, Issue, IssueId, Order, Query, Status, StatusSet, Timestamp};
use ait_system::span;
use ait_tracker::{Hold, StoreError, Tracker};

/// How long the board waits for more changes before it reads the store again.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(100);
/// How often the ages on the board are refreshed.
pub(super) const AGE_EVERY: Duration = Duration::from_secs(5);
/// The minimum terminal width for columns side by side.
const WIDE: usize = 76;
const GAP: usize = 2;
/// The indentation of a card's second line, below its title.
const INDENT: &str = "          ";
/// Rows kept free for the prompt.
const PROMPT_ROWS: usize = 1;
/// The empty line and the line with counts below the columns.
const FOOTER_ROWS: usize = 2;

/// The contents of the board.
#[derive(PartialEq)]
pub(super) struct Board {
    pub columns: Vec<Column>,
    pub holds: Vec<Hold>,
    pub closed: usize,
    pub rejected: usize,
}

/// An issue on the board.
#[derive(PartialEq)]
pub(super) struct Card {
    pub issue: Arc<Issue>,
    /// Why it cannot be claimed now, in words; empty if it can, or is claimed.
    pub waits: String,
    /// Whether the client of its claim is gone.
    pub is_gone: bool,
}

/// The issues of one status. Waiting issues are in the order in which they will be claimed, and those that cannot be
/// claimed now come last; claimed issues are in the order of their claims, oldest first.
#[derive(PartialEq)]
pub(super) struct Column {
    pub status: Status,
    /// How many issues have the status.
    pub total: usize,
    /// The first of them.
    pub cards: Vec<Card>,
}

impl Board {
    /// Reads at most so many cards for each column.
    pub async fn read(
        tracker: &Tracker,
        gone: &BTreeSet<IssueId>,
        most: usize,
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let counts = tracker.counts().await?;
        let mut columns = Vec::new();
        for status in StatusSet::open().iter() {
            let first = match status {
                Status::Created => Some(Condition::Ready(now)),
                Status::Completed => Some(Condition::Not(Box::new(Condition::Parked(now)))),
                _ => None,
            };
            let found = match first {
                Some(first) => {
                    let others = Condition::Not(Box::new(first.clone()));
                    let mut found = cards(tracker, status, first, most).await?;
                    let left = most - found.len();
                    found.extend(cards(tracker, status, others, left).await?);
                    found
                }
                None => {
                    let all = Condition::default();
                    let mut found = cards(tracker, status, all, usize::MAX).await?;
                    found.sort_by_key(|issue| Reverse(since(issue)));
                    found
                }
            };
            let issues = tracker.issues_around(found.iter().map(|issue| issue.id)).await?;
            let card = |issue: Arc<Issue>| Card {
                waits: if status.is_claimed() {
                    String::new()
                } else {
                    waits(&issue, &issues, now)
                },
                is_gone: gone.contains(&issue.id),
                issue,
            };
            let cards: Vec<_> = found.into_iter().map(card).collect();
            // A change between the two reads.
            let total = counts.in_status(status).max(cards.len());
            columns.push(Column { status, total, cards });
        }
        let closed = counts.in_status(Status::Closed);
        let holds = tracker.holds().await?;
        Ok(Self { columns, holds, closed, rejected: counts.in_status(Status::Rejected) })
    }
}

/// Returns the first issues in a status that meet a condition, by priority.
async fn cards(
    tracker: &Tracker,
    status: Status,
    condition: Condition,
    take: usize,
) -> Result<Vec<Arc<Issue>>, StoreError> {
    if take == 0 {
        return Ok(Vec::new());
    }
    let statuses = Some(status).into();
    let order = Order::Priority;
    let query = Query { statuses, condition, order, take, ..Query::default() };
    Ok(tracker.list_issues(query).await?.issues)
}

impl Board {
    /// Returns true if the store has no issues at all.
    pub fn is_empty(&self) -> bool {
        self.closed == 0
            && self.rejected == 0
            && self.columns.iter().all(|column| column.cards.is_empty())
    }

    /// Returns the short ids of all cards.
    pub fn short_ids(&self) -> ShortIds {
        let cards = self.columns.iter().flat_map(|column| &column.cards);
        ShortIds::of(cards.map(|card| card.issue.id))
    }
}

/// Returns since when an issue is in its current state.
pub(super) fn since(issue: &Issue) -> Timestamp {
    issue.holder().map_or(issue.modified_at, |holder| holder.since)
}

/// Returns the maximum number of cards in one column, if only the user limits it.
pub(super) fn most(limit: Option<usize>) -> usize {
    limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

/// Renders the board, with as many cards as fit unless the user sets a limit.
pub(super) fn lines(
    board: &Board,
    now: Timestamp,
    limit: Option<usize>,
    output: &Output,
) -> Vec<String> {
    // A limit of the user may exceed one screen.
    let rows = output.height().filter(|_| limit.is_none());
    let rows = rows.map(|rows| rows.saturating_sub(FOOTER_ROWS + PROMPT_ROWS));
    let mut lines = match output.width() {
        Some(width) if width >= WIDE => {
            side_by_side(board, now, rows.map_or(most(limit), cards_in), width, output)
        }
        width => {
            let shown = match rows {
                Some(rows) => shared_out(board, rows),
                None => board.columns.iter().map(|_| most(limit)).collect(),
            };
            below_one_another(board, now, &shown, width, output)
        }
    };
    let footer = if board.is_empty() {
        no_issues().to_owned()
    } else {
        format!("{} closed · {} rejected", board.closed, board.rejected)
    };
    lines.push(String::new());
    lines.extend(board.holds.iter().map(hold::line));
    lines.push(Line::default().part(FAINT, footer).fitted(output.width(), output));
    lines
}

/// The rows of a card in the side-by-side layout: an empty line and three lines of text.
const CARD_ROWS: usize = 4;

/// Returns how many cards fit into a column, with its header and a line for the rest.
fn cards_in(rows: usize) -> usize {
    const HEAD_AND_REST: usize = 3;
    (rows.saturating_sub(HEAD_AND_REST) / CARD_ROWS).max(1)
}

fn side_by_side(
    board: &Board,
    now: Timestamp,
    most: usize,
    room: usize,
    output: &Output,
) -> Vec<String> {
    let count = board.columns.len().max(1);
    let width = (room + GAP) / count - GAP;
    let ids = board.short_ids();
    let stacks: Vec<Vec<Line>> =
        board.columns.iter().map(|column| stack(column, &ids, now, most, width)).collect();
    let height = stacks.iter().map(Vec::len).max().unwrap_or(0);
    let gap = " ".repeat(GAP);
    let row = |at: usize| {
        let cells = stacks.iter().map(|stack| {
            stack.get(at).map_or_else(|| " ".repeat(width), |line| line.padded(width, output))
        });
        cells.collect::<Vec<_>>().join(&gap).trim_end().to_owned()
    };
    (0..height).map(row).collect()
}

/// Renders a column with its cards.
fn stack(column: &Column, ids: &ShortIds, now: Timestamp, most: usize, width: usize) -> Vec<Line> {
    let mut lines = vec![head(column)];
    for card in column.cards.iter().take(most) {
        let issue = &card.issue;
        let kind = format!(" {}", issue.classification);
        let style = of_classification(issue.classification);
        let id = Line::default().part(STRONG, ids.short(issue.id));
        lines.push(Line::default());
        lines.push(id.part(STRONG, priority(issue)).part(style, kind));
        lines.push(Line::default().text(sanitize::line(&issue.title)));
        lines.push(standing(card, now, Some(width)));
    }
    lines.extend(rest(column, most).map(|rest| [Line::default(), rest]).into_iter().flatten());
    lines
}

fn below_one_another(
    board: &Board,
    now: Timestamp,
    shown: &[usize],
    width: Option<usize>,
    output: &Output,
) -> Vec<String> {
    let ids = board.short_ids();
    let mut lines = Vec::new();
    for (column, &most) in board.columns.iter().zip(shown) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(head(column));
        for card in column.cards.iter().take(most) {
            let issue = &card.issue;
            let id =
                Line::default().part(STRONG, ids.short(issue.id)).part(STRONG, priority(issue));
            let id = match &*card.waits {
                "" => id,
                waits => id.part(FAINT, format!(" {waits}")),
            };
            lines.push(id.text("  ").text(sanitize::line(&issue.title)));
            if rows_of(card) > 1 {
                let left = width.map(|width| width.saturating_sub(INDENT.len()));
                lines.push(standing(card, now, left).after(INDENT));
            }
        }
        lines.extend(rest(column, most));
    }
    lines.iter().map(|line| line.fitted(width, output)).collect()
}

/// Returns how many rows a card takes in the layout with columns below one another.
fn rows_of(card: &Card) -> usize {
    if card.issue.holder().is_some() { 2 } else { 1 }
}

/// Returns the priority of an issue behind a space, if it has one.
fn priority(issue: &Issue) -> String {
    issue.attributes.priority.map(|priority| format!(" p{priority}")).unwrap_or_default()
}

/// Distributes the rows of a screen: the columns get one more card each in turn, while there is room.
fn shared_out(board: &Board, rows: usize) -> Vec<usize> {
    // Each column has a header, a line for the rest, and an empty line after all but the last.
    let taken = 3 * board.columns.len() - 1;
    let mut left = rows.saturating_sub(taken);
    let mut shown = vec![0; board.columns.len()];
    let mut is_growing = true;
    while is_growing {
        is_growing = false;
        for (column, shown) in board.columns.iter().zip(&mut shown) {
            let cost = column.cards.get(*shown).map(rows_of);
            if let Some(cost) = cost.filter(|cost| *cost <= left) {
                left -= cost;
                *shown += 1;
                is_growing = true;
            }
        }
    }
    shown
}

fn head(column: &Column) -> Line {
    let name = words(column.status).to_uppercase();
    let count = format!(" {}", column.total);
    Line::default().part(of_status(column.status).bold(), name).part(FAINT, count)
}

/// Renders the number of hidden cards.
fn rest(column: &Column, shown: usize) -> Option<Line> {
    let rest = column.total.saturating_sub(shown);
    (rest > 0).then(|| Line::default().part(FAINT, format!("+{rest} more")))
}

/// Renders who holds an issue and for how long, or how long it has been waiting, and why.
fn standing(card: &Card, now: Timestamp, width: Option<usize>) -> Line {
    let span = span::humanize_duration(now.millis_since(since(&card.issue)));
    let Some(holder) = card.issue.holder() else {
        let waits = if card.waits.is_empty() { "waits" } else { &card.waits };
        return Line::default().part(FAINT, format!("{waits} {span}"));
    };
    let gone = if card.is_gone { "gone: " } else { "" };
    // Cut a long name, so that the time stays visible.
    let time = format!(" for {span}");
    let left = width.map_or(usize::MAX, |width| width.saturating_sub(columns(&time) + gone.len()));
    let agent = cut(&sanitize::line(holder.agent), left);
    let line = Line::default().part(of_status(Status::Rejected), gone);
    line.part(Style::new(), agent).part(FAINT, time)
}

/// Returns the issues whose claims are of clients that are gone. If that cannot be found out, the board shows no marks.
pub(super) async fn gone_clients(tracker: &Tracker) -> BTreeSet<IssueId> {
    let leases = tracker.leases().await.unwrap_or_default().into_iter();
    leases.filter(|state| state.gone_for.is_some()).map(|state| state.issue).collect()
}
