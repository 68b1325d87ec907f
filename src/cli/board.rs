//! `ait board`: who does what, at a glance.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use tokio::sync::watch;

use super::board_view;
use super::live::{Live, Wake};
use super::options::Format;
use super::screen::Screen;
use super::{Ending, Output};
use crate::domain::{Classification, Issue, IssueId, Query, Status, Statuses, Timestamp};
use crate::tracker::{IssueStore, Position, StoreError, Tracker, Version};

/// How long changes are gathered before the board is read again.
const GATHER: Duration = Duration::from_millis(100);
/// How often a store is looked at that tells of no changes: one that cannot be read, or has no log yet.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the ages are brought up to date.
const AGE_EVERY: Duration = Duration::from_secs(5);

/// The arguments of `ait board`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "With --watch it goes on until Ctrl-C, and ends with 0.\n\n\
    Examples:\n  \
    ait board\n  \
    ait board --watch                 in a terminal of its own, beside the agents\n  \
    ait board --json | jq '.columns[] | {status, total}'")]
pub struct Arguments {
    /// Stay, and show every change as it happens
    #[arg(short, long)]
    watch: bool,

    /// How many cards to show in each column at most; 0 for all [default: as many as the terminal has
    /// room for, else all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<Ending> {
    if arguments.watch {
        watch(arguments, tracker, output).await?;
        return Ok(Ending::Done);
    }
    let board = Board::of(&tracker.snapshot().await?.issues);
    if arguments.format.json {
        output.json(&JsonBoard::of(&board, arguments.most()))?;
    } else {
        let lines = board_view::lines(&board, tracker.now(), arguments.limit, output);
        lines.into_iter().try_for_each(|line| output.line(line))?;
    }
    Ok(Ending::Done)
}

impl Arguments {
    /// Tells whether the board is shown until somebody ends it.
    pub(super) fn watches(&self) -> bool {
        self.watch
    }

    /// The most cards of one column, where no terminal says that.
    fn most(&self) -> usize {
        board_view::most(self.limit)
    }
}

/// Shows the board anew with each change until somebody ends it.
async fn watch(arguments: &Arguments, tracker: &Tracker, output: &mut Output) -> Result<()> {
    let mut live = Live::begin()?;
    let mut changes = Changes::of(tracker);
    let mut board = changes.next_board().await?;
    if arguments.format.json || !Screen::is_possible(output) {
        return write_each(board, live, changes, arguments, output).await;
    }
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

/// For a program, or a file: one board after the other.
async fn write_each(
    mut board: Option<Result<Board, StoreError>>,
    mut live: Live,
    mut changes: Changes<'_>,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<()> {
    let mut written = None;
    loop {
        match board {
            // Not all that changes is on the board, and nothing is when only the file was written anew.
            Some(Ok(board)) if written.as_ref() != Some(&board) => {
                write_one(&board, arguments, changes.tracker.now(), output)?;
                written = Some(board);
            }
            Some(Err(error)) => tracing::warn!("{error}; waiting until that is mended"),
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

/// The changes of the board.
struct Changes<'a> {
    tracker: &'a Tracker,
    newest: watch::Receiver<Position>,
    /// The issues of the last board, or why they could not be read; `None` before the first one.
    known: Option<Result<Version, String>>,
}

impl<'a> Changes<'a> {
    fn of(tracker: &'a Tracker) -> Self {
        Self { tracker, newest: tracker.watch(), known: None }
    }

    /// Waits for a change, for the time of the next look, or for the end of the command.
    async fn wait(&mut self, live: &mut Live) -> Wake {
        tokio::select! {
            wake = live.wait(LOOK_EVERY) => return wake,
            Ok(()) = self.newest.changed() => {}
        }
        live.wait(GATHER).await
    }

    /// The board, if it has changed since it was last asked for. The inner error is the store's, and is
    /// told once; only at the beginning it is the outer one.
    async fn next_board(&mut self) -> Result<Option<Result<Board, StoreError>>> {
        self.newest.mark_unchanged();
        let (known, board) = match self.tracker.snapshot().await {
            Ok(state) => (Ok(state.issues.revision()), Ok(state.issues)),
            Err(error) if self.known.is_none() => return Err(error.into()),
            Err(error) => (Err(error.to_string()), Err(error)),
        };
        let is_known = self.known.as_ref() == Some(&known);
        self.known = Some(known);
        Ok((!is_known).then(|| board.map(|issues| Board::of(&issues))))
    }
}

/// What is on the board.
#[derive(PartialEq)]
pub(super) struct Board {
    pub columns: Vec<Column>,
    pub closed: usize,
    pub rejected: usize,
}

/// The issues of one status: those that wait in the order in which they are claimed, those that are
/// held beginning with the one that is held for longest.
#[derive(PartialEq)]
pub(super) struct Column {
    pub status: Status,
    pub issues: Vec<Arc<Issue>>,
}

impl Board {
    fn of(issues: &IssueStore) -> Self {
        let open = Query { statuses: Statuses::open(), take: issues.len(), ..Query::default() };
        let (open, counts) = (issues.list(&open).issues, issues.counts());
        let column = |status: Status| {
            let of_status = open.iter().filter(|issue| issue.status == status);
            let mut issues: Vec<_> = of_status.cloned().collect();
            if status.is_claimed() {
                issues.sort_by_key(|issue| since(issue));
            }
            Column { status, issues }
        };
        Self {
            columns: Statuses::open().iter().map(column).collect(),
            closed: counts.in_status(Status::Closed),
            rejected: counts.in_status(Status::Rejected),
        }
    }
}

/// Since when an issue stands where it stands.
pub(super) fn since(issue: &Issue) -> Timestamp {
    issue.holder().map_or(issue.modified_at, |holder| holder.since)
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
struct JsonCard<'a> {
    id: IssueId,
    title: &'a str,
    classification: Classification,
    holder: Option<&'a str>,
    since: Timestamp,
}

impl<'a> JsonBoard<'a> {
    fn of(board: &'a Board, most: usize) -> Self {
        let card = |issue: &'a Arc<Issue>| JsonCard {
            id: issue.id,
            title: &issue.title,
            classification: issue.classification,
            holder: issue.holder().map(|holder| holder.agent),
            since: since(issue),
        };
        let column = |column: &'a Column| JsonColumn {
            status: column.status,
            total: column.issues.len(),
            cards: column.issues.iter().take(most).map(card).collect(),
        };
        let Board { closed, rejected, .. } = *board;
        Self { columns: board.columns.iter().map(column).collect(), closed, rejected }
    }
}
