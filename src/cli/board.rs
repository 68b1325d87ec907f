//! `ait board`: shows who works on what.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use tokio::sync::watch;

use super::alt_screen::Screen;
use super::board_view::{self, Board, Card, Column, since};
use super::options::Format;
use super::signals::{Live, Wake};
use super::{ExitStatus, Output};
use crate::domain::{Classification, IssueId, Priority, Status, Timestamp};
use crate::hints::{self, COMMANDS};
use crate::tracker::{EventPosition, StoreError, Tracker};

/// How long the board waits for more changes before it reads the store again.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(100);
/// How often a store is polled that cannot notify: one that is unreadable, or has no log yet.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How often the ages on the board are refreshed.
pub(super) const AGE_EVERY: Duration = Duration::from_secs(5);

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

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<ExitStatus> {
    if arguments.watch {
        watch(arguments, tracker, output).await?;
        return Ok(ExitStatus::Done);
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

/// Redraws the board on each change until the user ends it.
async fn watch(arguments: &Arguments, tracker: &Tracker, output: &mut Output) -> Result<()> {
    let mut live = Live::begin()?;
    let mut changes = BoardUpdates::of(tracker, arguments.cards(output));
    let mut board = changes.next_board().await?;
    if arguments.format.json || !Screen::is_possible(output) {
        return write_each(board, live, changes, arguments, output).await;
    }
    live.read_keys();
    let mut screen = Screen::enter(output)?;
    let mut shown = board.take();
    let mut drawn = None::<Instant>;
    let mut wake = Wake::Time;
    while wake != Wake::End {
        let is_old = drawn.is_none_or(|drawn| drawn.elapsed() >= AGE_EVERY);
        if is_old || board.is_some() || wake == Wake::Resized {
            shown = board.take().or(shown);
            let output = screen.measured();
            let lines = match &shown {
                Some(Ok(board)) => board_view::lines(board, tracker.now(), arguments.limit, output),
                Some(Err(error)) => board_view::problem(error, output),
                None => Vec::new(),
            };
            screen.draw(&lines)?;
            drawn = Some(Instant::now());
        }
        wake = changes.wait(&mut live).await;
        board = changes.next_board().await?;
    }
    Ok(())
}

/// Writes one board after another, for a program or a file.
async fn write_each(
    mut board: Option<Result<Board, StoreError>>,
    mut live: Live,
    mut changes: BoardUpdates<'_>,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<()> {
    let mut written = None;
    loop {
        match board {
            // Some events do not change the board, such as a new publish of the file.
            Some(Ok(board)) if written.as_ref() != Some(&board) => {
                write_one(&board, arguments, changes.tracker.now(), output)?;
                written = Some(board);
            }
            Some(Err(error)) => {
                let problem = hints::for_store(&error, &COMMANDS);
                tracing::warn!("{problem}; waiting until the problem is fixed");
            }
            _ => {}
        }
        if changes.wait(&mut live).await == Wake::End {
            return Ok(());
        }
        board = changes.next_board().await?;
    }
}

fn write_one(
    board: &Board,
    arguments: &Arguments,
    now: Timestamp,
    output: &mut Output,
) -> Result<()> {
    if arguments.format.json {
        output.json_line(&JsonBoard::of(board, arguments.most()))?;
    } else {
        let lines = board_view::lines(board, now, arguments.limit, output);
        lines.into_iter().try_for_each(|line| output.line(line))?;
        output.line("")?;
    }
    output.flush()
}

/// The source of changes to the board.
struct BoardUpdates<'a> {
    tracker: &'a Tracker,
    newest: watch::Receiver<EventPosition>,
    /// How many cards of one column are read.
    most: usize,
    /// The last event before the last board and its claims whose clients are gone, or the error of the last read;
    /// `None` before the first read, and while there is no event.
    known: Option<Result<(EventPosition, BTreeSet<IssueId>), String>>,
}

impl<'a> BoardUpdates<'a> {
    fn of(tracker: &'a Tracker, most: usize) -> Self {
        Self { tracker, newest: tracker.watch(), most, known: None }
    }

    /// Waits for a change, the next poll, or the end of the command.
    async fn wait(&mut self, live: &mut Live) -> Wake {
        tokio::select! {
            wake = live.wait(POLL_EVERY) => return wake,
            Ok(()) = self.newest.changed() => {}
        }
        live.wait(DEBOUNCE).await
    }

    /// Returns the board if it has changed since the last call. The outer error is returned if the first read fails. If
    /// the store fails later, the inner error is returned, once.
    async fn next_board(&mut self) -> Result<Option<Result<Board, StoreError>>> {
        self.newest.mark_unchanged();
        let gone = gone_clients(self.tracker).await;
        let position = match self.tracker.log_bounds().await {
            Ok(bounds) => bounds.newest,
            Err(error) => return self.failed(error),
        };
        let known = Ok((position, gone.clone()));
        // Without events, only the file can change.
        if self.known.as_ref() == Some(&known) && position != EventPosition::default() {
            return Ok(None);
        }
        match Board::read(self.tracker, &gone, self.most, self.tracker.now()).await {
            Ok(board) => {
                self.known = Some(known);
                Ok(Some(Ok(board)))
            }
            Err(error) => self.failed(error),
        }
    }

    /// Returns an error of the store, unless it was returned before.
    fn failed(&mut self, error: StoreError) -> Result<Option<Result<Board, StoreError>>> {
        let failed = Err(error.to_string());
        match self.known.replace(failed.clone()) {
            None => Err(error.into()),
            Some(known) if known == failed => Ok(None),
            Some(_) => Ok(Some(Err(error))),
        }
    }
}

/// Returns the issues whose claims are of clients that are gone. If that cannot be found out, the board shows no marks.
pub(super) async fn gone_clients(tracker: &Tracker) -> BTreeSet<IssueId> {
    let leases = tracker.leases().await.unwrap_or_default().into_iter();
    leases.filter(|state| state.gone_for.is_some()).map(|state| state.issue).collect()
}

#[derive(Serialize)]
struct JsonBoard<'a> {
    columns: Vec<JsonColumn<'a>>,
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
        Self { columns: board.columns.iter().map(column).collect(), closed, rejected }
    }
}
