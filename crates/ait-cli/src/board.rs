//! `ait board`: shows who works on what.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::alt_screen::Screen;
use super::board_view::{self, Board, Card, Column, DEBOUNCE, gone_clients, since};
use super::options::Format;
use super::signals::{Live, Wake};
use super::{CommandContext, ExitStatus, Output, tui};
use ait_domain::{Classification, IssueId, Priority, Status, Timestamp};
use ait_tracker::hints::{self, COMMANDS};
use ait_tracker::{EventPosition, Hold, Tracker};

/// How often a store is polled that cannot notify: one that is unreadable, or has no log yet.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// The arguments of `ait board`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "With --watch, the command runs until q, Esc or Ctrl-C, and exits with 0.\n\n\
    Examples:\n  \
    ait board\n  \
    ait board --watch                 in a separate terminal, beside the agents\n  \
    ait board --json | jq '.columns[] | {status, total}'"
)]
pub struct Arguments {
    /// Keep running, and show every change as it happens
    #[arg(short, long)]
    watch: bool,

    /// Maximum number of cards in each column; 0 for all [default: as many as fit in the terminal, else
    /// all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    if arguments.watch && !arguments.format.json && Screen::is_possible(output) {
        return tui::watch_board(arguments.limit.filter(|limit| *limit > 0), context).await;
    }
    if arguments.watch {
        return write_each(arguments, tracker, output).await;
    }
    let gone = gone_clients(tracker).await;
    let board = Board::read(tracker, &gone, arguments.cards(output), tracker.now()).await?;
    if arguments.format.json {
        output.json(&JsonBoard::of(&board, arguments.most()))?;
    } else {
        let lines = board_view::lines(&board, tracker.now(), arguments.limit, output);
        lines.into_iter().try_for_each(|line| output.line(line))?;
    }
    Ok(ExitStatus::Done)
}

impl Arguments {
    /// Returns true if the board is shown until the user ends it (`--watch`).
    pub(super) fn watches(&self) -> bool {
        self.watch
    }

    /// How many cards of one column are read.
    fn cards(&self, output: &Output) -> usize {
        /// No terminal has more rows.
        const MAX_ROWS: usize = 1_000;
        let is_bounded = self.limit.is_none() && !self.format.json && output.height().is_some();
        if is_bounded { MAX_ROWS } else { self.most() }
    }

    /// The most cards of one column, where no terminal limits them.
    fn most(&self) -> usize {
        board_view::most(self.limit)
    }
}

/// Writes one board after another, for a program or a file.
async fn write_each(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &Output,
) -> Result<ExitStatus> {
    let mut live = Live::begin()?;
    let mut newest = tracker.watch();
    let mut read_at = None;
    let mut written = None;
    let mut said = String::new();
    loop {
        newest.mark_unchanged();
        let gone = gone_clients(tracker).await;
        let position = tracker.log_bounds().await.ok().map(|bounds| bounds.newest);
        // An empty store may have no log yet.
        let position = position.filter(|position| *position != EventPosition::default());
        let place = position.map(|position| (position, gone.clone()));
        if place.is_none() || place != read_at {
            match Board::read(tracker, &gone, arguments.cards(output), tracker.now()).await {
                Ok(board) => {
                    // Some events do not change the board, such as a new publish of the file.
                    if written.as_ref() != Some(&board) {
                        write_one(&board, arguments, tracker.now(), output)?;
                    }
                    written = Some(board);
                    read_at = place;
                }
                Err(error) if written.is_none() => return Err(error.into()),
                Err(error) => {
                    let problem = hints::for_store(&error, &COMMANDS);
                    if said != problem {
                        tracing::warn!("{problem}; waiting until the problem is fixed");
                        said = problem;
                    }
                }
            }
        }
        let wake = tokio::select! {
            wake = live.wait(POLL_EVERY) => wake,
            Ok(()) = newest.changed() => live.wait(DEBOUNCE).await,
        };
        if wake == Wake::End {
            return Ok(ExitStatus::Done);
        }
    }
}

fn write_one(board: &Board, arguments: &Arguments, now: Timestamp, output: &Output) -> Result<()> {
    if arguments.format.json {
        output.json_line(&JsonBoard::of(board, arguments.most()))?;
    } else {
        let lines = board_view::lines(board, now, arguments.limit, output);
        lines.into_iter().try_for_each(|line| output.line(line))?;
        output.line("")?;
    }
    output.flush()
}

#[derive(Serialize)]
struct JsonBoard<'a> {
    columns: Vec<JsonColumn<'a>>,
    #[serde(skip_serializing_if = "<[Hold]>::is_empty")]
    holds: &'a [Hold],
    closed: usize,
    rejected: usize,
}

#[derive(Serialize)]
struct JsonColumn<'a> {
    status: Status,
    total: usize,
    cards: Vec<JsonCard<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonCard<'a> {
    id: IssueId,
    title: &'a str,
    classification: Classification,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<Priority>,
    /// Why it cannot be claimed now.
    #[serde(skip_serializing_if = "str::is_empty")]
    waits: &'a str,
    holder: Option<&'a str>,
    /// Whether the client of its claim is gone.
    #[serde(skip_serializing_if = "is_false")]
    client_gone: bool,
    since: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

impl<'a> JsonBoard<'a> {
    fn of(board: &'a Board, most: usize) -> Self {
        let card = |Card { issue, waits, is_gone }: &'a Card| JsonCard {
            id: issue.id,
            title: &issue.title,
            classification: issue.classification,
            priority: issue.attributes.priority,
            waits,
            holder: issue.holder().map(|holder| holder.agent),
            client_gone: *is_gone,
            since: since(issue),
        };
        let column = |column: &'a Column| JsonColumn {
            status: column.status,
            total: column.total,
            cards: column.cards.iter().take(most).map(card).collect(),
        };
        let Board { closed, rejected, .. } = *board;
        let columns = board.columns.iter().map(column).collect();
        Self { columns, holds: &board.holds, closed, rejected }
    }
}
