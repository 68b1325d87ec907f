//! The board as people see it: columns side by side, or below one another where there is little room.

use std::sync::Arc;

use anstyle::Style;

use super::board::{Board, Column, since};
use super::issue_view::words;
use super::line::Line;
use super::output::{FAINT, Output, STRONG, of_classification, of_status};
use super::plain::{self, columns, cut};
use crate::domain::{Issue, Timestamp};
use crate::span;

/// The terminal width from which on columns stand side by side.
const WIDE: usize = 76;
const GAP: usize = 2;
/// How deep the second line of a card is indented: below its title.
const INDENT: &str = "          ";
/// The last row of a terminal, which holds the prompt afterwards.
const PROMPT_ROWS: usize = 1;
/// The empty line and the counts below the columns.
const FOOTER_ROWS: usize = 2;

/// The most cards of one column, where only the user sets a limit.
pub(super) fn most(limit: Option<usize>) -> usize {
    limit.filter(|limit| *limit > 0).unwrap_or(usize::MAX)
}

/// The lines of the board, with as many cards as there is room for unless there is a limit.
pub(super) fn lines(
    board: &Board,
    now: Timestamp,
    limit: Option<usize>,
    output: &Output,
) -> Vec<String> {
    // What the user asks for may be more than a screen.
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
    let ended = format!("{} closed · {} rejected", board.closed, board.rejected);
    lines.push(String::new());
    lines.push(Line::default().part(FAINT, ended).fitted(output.width(), output));
    lines
}

/// What stands in the place of a board that cannot be read.
pub(super) fn problem(why: &impl ToString, output: &Output) -> Vec<String> {
    let why = Line::default().text(plain::line(&why.to_string()));
    vec![why.fitted(output.width(), output), "waiting until that is mended".to_owned()]
}

/// A card side by side with others is an empty line and three with text.
const CARD_ROWS: usize = 4;

/// How many cards fit into a column below its head, with a line for the rest of them.
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
    let stacks: Vec<Vec<Line>> =
        board.columns.iter().map(|column| stack(column, now, most, width)).collect();
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

/// A column with its cards.
fn stack(column: &Column, now: Timestamp, most: usize, width: usize) -> Vec<Line> {
    let mut lines = vec![head(column)];
    for issue in column.issues.iter().take(most) {
        let kind = format!(" {}", issue.classification);
        let style = of_classification(issue.classification);
        lines.push(Line::default());
        lines.push(Line::default().part(STRONG, issue.id.short()).part(style, kind));
        lines.push(Line::default().text(plain::line(&issue.title)));
        lines.push(standing(issue, now, Some(width)));
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
    let mut lines = Vec::new();
    for (column, &most) in board.columns.iter().zip(shown) {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(head(column));
        for issue in column.issues.iter().take(most) {
            let id = Line::default().part(STRONG, issue.id.short()).text("  ");
            lines.push(id.text(plain::line(&issue.title)));
            if rows_of(issue) > 1 {
                let left = width.map(|width| width.saturating_sub(INDENT.len()));
                lines.push(standing(issue, now, left).after(INDENT));
            }
        }
        lines.extend(rest(column, most));
    }
    lines.iter().map(|line| line.fitted(width, output)).collect()
}

/// How many rows a card takes below others.
fn rows_of(issue: &Issue) -> usize {
    if issue.holder().is_some() { 2 } else { 1 }
}

/// How many cards each column gets when they share a screen: one after the other gets one more, as
/// long as there is room.
fn shared_out(board: &Board, rows: usize) -> Vec<usize> {
    // A head, a line for the rest, and an empty line between two columns.
    let taken = 3 * board.columns.len() - 1;
    let mut left = rows.saturating_sub(taken);
    let mut shown = vec![0; board.columns.len()];
    let mut is_growing = true;
    while is_growing {
        is_growing = false;
        for (column, shown) in board.columns.iter().zip(&mut shown) {
            let cost = column.issues.get(*shown).map(|issue| rows_of(issue));
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
    let count = format!(" {}", column.issues.len());
    Line::default().part(of_status(column.status).bold(), name).part(FAINT, count)
}

/// Says how many cards are not shown.
fn rest(column: &Column, shown: usize) -> Option<Line> {
    let rest = column.issues.len().saturating_sub(shown);
    (rest > 0).then(|| Line::default().part(FAINT, format!("+{rest} more")))
}

/// Who holds an issue and for how long, or how long it waits already.
fn standing(issue: &Arc<Issue>, now: Timestamp, width: Option<usize>) -> Line {
    let span = span::words(now.millis_since(since(issue)));
    let Some(holder) = issue.holder() else {
        return Line::default().part(FAINT, format!("waits {span}"));
    };
    // A long name gives way, so that the time can be read.
    let time = format!(" for {span}");
    let left = width.map_or(usize::MAX, |width| width.saturating_sub(columns(&time)));
    let agent = cut(&plain::line(holder.agent), left);
    Line::default().part(Style::new(), agent).part(FAINT, time)
}
