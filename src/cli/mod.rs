//! The command line for people and scripts: one file for each command, over the same use cases as the
//! tools.
//!
//! The only code that writes to stdout for people. It knows neither stores nor the web; `app` gives it a
//! tracker.

mod about;
mod add;
mod backup;
mod board;
mod board_view;
mod change;
mod claim;
mod close;
mod complete;
mod config;
mod doctor;
mod edit;
mod export;
mod hooks;
mod import;
mod import_report;
mod init;
mod init_view;
mod issue_view;
mod line;
mod list;
mod live;
mod log;
mod next;
mod open;
mod options;
mod output;
mod plain;
mod progress;
mod restore;
mod return_issue;
mod review;
mod save;
mod screen;
mod show;
mod status;
mod table;
mod waiting;

use anyhow::Result;
use clap::Subcommand;

use crate::domain::{AgentName, DomainError, Vocabulary};
use crate::tracker::{Maintenance, StoreError, Tracker};

pub use about::{AboutCommand, run as run_about};
pub use config::{Arguments as ConfigArguments, run as show_config};
pub use doctor::{Arguments as DoctorArguments, run as run_doctor};
pub use hooks::{
    Action as HookAction, Arguments as HooksArguments, CallArguments as HookCallArguments,
    run as change_hooks,
};
pub use init::{Arguments as InitArguments, Project, run as set_up};
pub use open::{Arguments as OpenArguments, run as open_page};
pub use output::{Output, is_closed_pipe};
pub use save::WHEN_QUIET as SAVE_WHEN_QUIET;
pub use status::{Arguments as StatusArguments, run as show_status};

/// The commands that work on the queue and end.
#[derive(Clone, Debug, Subcommand)]
pub enum QueueCommand {
    /// File an issue
    Add(add::Arguments),
    /// List issues: the open ones, unless asked for others
    List(list::Arguments),
    /// Show one issue with its whole story
    Show(show::Arguments),
    /// Claim the oldest created issue for work
    Next(next::Arguments),
    /// Put an issue back into the queue
    Return(return_issue::Arguments),
    /// Hand an issue to review
    Complete(complete::Arguments),
    /// Claim the oldest completed issue for review
    Review(review::Arguments),
    /// End an issue: closed, or rejected with --reject
    Close(close::Arguments),
    /// Show the board: who works on what, and what waits
    Board(board::Arguments),
    /// Tell what happened, and what happens
    Log(log::Arguments),
    /// Write issues as JSON, JSON Lines or CSV
    Export(export::Arguments),
    /// Take over issues from a file, those of other trackers too; never overwrites one
    Import(import::Arguments),
    /// Bring issues.json up to date now
    Save(save::Arguments),
    /// Save everything in one file
    Backup(backup::Arguments),
    /// Go back to a backup
    Restore(restore::Arguments),
}

impl QueueCommand {
    /// Tells whether it goes on until somebody ends it.
    pub fn watches(&self) -> bool {
        match self {
            Self::Log(arguments) => arguments.follows(),
            Self::Board(arguments) => arguments.watches(),
            _ => false,
        }
    }
}

/// How a command that did not fail has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// It did what it was asked.
    Done,
    /// There was nothing to do it to.
    Nothing,
    /// It did all that it could, which is not all that it was asked; its answer says what is left.
    Partly,
}

/// What commands work with.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// The use cases.
    pub tracker: &'a Tracker,
    /// The files of the store.
    pub maintenance: &'a Maintenance,
    /// The agent of a command that names none.
    pub usual: Option<&'a AgentName>,
}

/// Runs a command.
///
/// # Errors
///
/// What kept it from being done; the text says what to do.
pub async fn run(
    command: &QueueCommand,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<Ending> {
    let CommandContext { tracker, usual, .. } = *context;
    match command {
        QueueCommand::Add(arguments) => add::run(arguments, tracker, usual, output).await,
        QueueCommand::Board(arguments) => board::run(arguments, tracker, output).await,
        QueueCommand::Log(arguments) => log::run(arguments, tracker, output).await,
        QueueCommand::List(arguments) => list::run(arguments, tracker, output).await,
        QueueCommand::Show(arguments) => show::run(arguments, tracker, output).await,
        QueueCommand::Next(arguments) => next::run(arguments, tracker, usual, output).await,
        QueueCommand::Return(arguments) => {
            return_issue::run(arguments, tracker, usual, output).await
        }
        QueueCommand::Complete(arguments) => complete::run(arguments, tracker, usual, output).await,
        QueueCommand::Review(arguments) => review::run(arguments, tracker, usual, output).await,
        QueueCommand::Close(arguments) => close::run(arguments, tracker, usual, output).await,
        QueueCommand::Export(arguments) => export::run(arguments, context, output).await,
        QueueCommand::Import(arguments) => import::run(arguments, tracker, usual, output).await,
        QueueCommand::Save(arguments) => save::run(arguments, context, output).await,
        QueueCommand::Backup(arguments) => backup::run(arguments, context, output).await,
        QueueCommand::Restore(arguments) => restore::run(arguments, context, output).await,
    }
}

/// What refusals call the operations here.
const COMMANDS: Vocabulary = Vocabulary {
    list_issues: "ait list",
    add_issue: "ait add",
    get_next_issue: "ait next",
    get_next_review_item: "ait review",
};

/// An error in the words of the command line.
pub fn explained(error: &anyhow::Error) -> String {
    let causes = error.chain().map(|cause| {
        let refusal = match cause.downcast_ref::<StoreError>() {
            Some(StoreError::Refused(refusal)) => Some(refusal),
            _ => cause.downcast_ref::<DomainError>(),
        };
        refusal.map_or_else(|| cause.to_string(), |it| it.in_words(&COMMANDS).to_string())
    });
    causes.collect::<Vec<_>>().join(": ")
}

/// Tells whether a command failed because of what it was given, before anything was asked of
/// the store.
pub fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<DomainError>() || error.is::<options::WrongUsage>()
}
