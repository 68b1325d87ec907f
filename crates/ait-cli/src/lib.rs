//! The command line for people and scripts: one file for each command, on the same use cases as the tools.
//!
//! The only module that prints to stdout for people. It knows neither stores nor the web; `app` gives it a tracker.

mod add;
mod aliases;
mod alt_screen;
mod attribute_args;
mod attribute_filter;
mod backup;
mod blocked;
mod board;
mod board_view;
mod browser;
mod bulk;
mod candidates;
mod check;
mod claim;
mod client_hooks;
mod comment;
mod completions;
mod config;
mod confirmation;
mod damage;
mod demo;
mod digest;
mod doctor;
mod edit;
mod editor;
mod error_json;
mod export;
mod generate;
mod help;
mod hold;
mod hooks;
mod import;
mod import_filing;
mod import_links;
mod import_report;
mod import_update;
mod init;
mod init_view;
mod issue_ids;
mod issue_view;
mod keyboard;
mod link;
mod list;
mod log;
mod memory;
mod merge;
mod merge_driver;
mod migrate;
mod next;
mod open;
mod options;
mod output;
mod park;
mod print_issue;
mod progress;
mod publish_memory;
mod questions;
mod ready;
mod release;
mod restore;
mod review;
mod sanitize;
mod save;
mod search;
mod short_ids;
mod show;
mod signals;
mod stats;
mod status;
mod styled_line;
mod sync;
mod sync_add;
mod table;
mod texts;
mod tree;
mod triage;
mod tui;
mod undo;
mod usage_error;
mod wait;
mod welcome;
mod worktree;

use std::path::Path;

use anyhow::Result;
use clap::Subcommand;

use ait_domain::{AgentName, DomainError};
use ait_http::processes::ProcessKind;
use ait_query::SavedQueries;
use ait_sync::SyncSettings;
use ait_tracker::activity::HistoryError;
use ait_tracker::hints::{self, COMMANDS};
use ait_tracker::{BackupError, Maintenance, StoreError, Tracker};

pub use aliases::{rewritten as in_our_words, with_own_name};
pub use client_hooks::Arguments as ClientHookArguments;
pub use config::{Arguments as ConfigArguments, run as show_config};
pub use damage::{said_damage, say_damage, say_found_damage};
pub use demo::{Arguments as DemoArguments, tell as tell_of_demo};
pub use doctor::{Arguments as DoctorArguments, run as run_doctor};
pub use error_json::{print_error, print_usage_error, wants_json};
pub use generate::{GenerateCommand, run as run_about};
pub use help::{print as print_help, wanted as wanted_help};
pub use hooks::{
    Action as HookAction, Arguments as HooksArguments, CallArguments as HookCallArguments,
    run as change_hooks, run_for_client as change_client_hooks,
};
pub use init::{Arguments as InitArguments, run as set_up, set_store};
pub use merge_driver::{
    DriverArguments, FieldConflict, ResolveArguments, Resolved, report as report_resolved,
};
pub use migrate::{Arguments as MigrateArguments, report as report_migration};
pub use open::{Arguments as OpenArguments, run as open_page};
pub use options::{own_name, with_excluding_terms};
pub use output::{Output, is_closed_pipe};
pub use progress::with_progress;
pub use status::{Arguments as StatusArguments, ShownStore, run as show_status};
pub use texts::{Arguments as TextsArguments, Row as TextRow, run as show_texts, show_language};
pub use usage_error::explain as explain_usage;
pub use welcome::{Welcome, greet};

/// Declares the commands, and which function runs each.
macro_rules! commands {
    ($($(#[$attribute:meta])* $command:ident($arguments:ty) => $run:path,)+) => {
        /// The commands that work on the queue.
        #[derive(Clone, Debug, Subcommand)]
        pub enum QueueCommand {
            $($(#[$attribute])* $command($arguments)),+
        }

        async fn run_on_queue(command: &QueueCommand, context: &CommandContext<'_>) -> Result<ExitStatus> {
            match command {
                $(QueueCommand::$command(arguments) => $run(arguments, context).await),+
            }
        }
    };
}

commands! {
    /// File an issue
    #[command(visible_alias = "new")]
    Add(add::Arguments) => add::run,
    /// List issues; only open ones by default
    #[command(visible_alias = "ls")]
    List(list::Arguments) => list::run,
    /// Find issues in any status by words in their texts
    Search(search::Arguments) => search::run,
    /// Show one issue with its full history
    Show(show::Arguments) => show::run,
    /// List the issues that you can claim for work now
    Ready(ready::Arguments) => ready::run,
    /// List the issues that wait for others, and for which
    #[command(after_help = blocked::EXAMPLES)]
    Blocked(options::Format) => blocked::run,
    /// Draw issues with their parts and blockers
    Tree(tree::Arguments) => tree::run,
    /// Claim the next issue for work
    Next(next::Arguments) => next::run,
    /// Wait for an issue, a change of one, or a question; claims nothing
    Wait(wait::Arguments) => wait::run,
    /// Claim one issue for work
    Claim(claim::Arguments) => claim::run,
    /// Give back an issue that you hold
    #[command(after_help = release::HELP)]
    Release(comment::IssueCommentArgs) => release::run,
    /// Return an issue to the queue
    #[command(after_help = comment::RETURN_EXAMPLES)]
    Return(comment::ClaimCommentArgs) => comment::return_issue,
    /// Complete an issue and hand it over to review
    #[command(after_help = comment::COMPLETE_EXAMPLES)]
    Complete(comment::ClaimCommentArgs) => comment::complete,
    /// Claim the next completed issue for review
    #[command(after_help = review::HELP)]
    Review(options::ClaimNextArgs) => review::run,
    /// Close an issue, or reject it with --reject
    Close(comment::CloseArguments) => comment::close,
    /// Open an issue again that is closed or rejected
    #[command(after_help = comment::REOPEN_HELP)]
    Reopen(comment::IssueCommentArgs) => comment::reopen,
    /// Make the worktree and branch of an issue, or continue them
    Worktree(worktree::Arguments) => worktree::run,
    /// Run the check of the project on the branch of an issue, and record how it ended
    Check(check::Arguments) => check::run,
    /// Merge the branch of an issue, if it passes the check of the project
    Merge(merge::Arguments) => merge::run,
    /// Change the texts, attributes or links of an issue
    Edit(edit::Arguments) => edit::run,
    /// Change all issues that a query finds
    Bulk(bulk::Arguments) => bulk::run,
    /// Take changes back with new ones
    Undo(undo::Arguments) => undo::run,
    /// Comment on an issue
    #[command(after_help = comment::COMMENT_EXAMPLES)]
    Comment(comment::IssueCommentArgs) => comment::comment,
    /// Keep something for later agents: a decision, a trap, a fact
    Remember(memory::RememberArguments) => memory::remember,
    /// Find what agents kept, and what closed issues tell
    Recall(memory::RecallArguments) => memory::recall,
    /// Write the decisions in force into AGENTS.md
    Memory(publish_memory::Arguments) => publish_memory::run,
    /// Link an issue to others: blocked-by, parent, related, duplicate-of
    #[command(after_help = link::LINK_EXAMPLES)]
    Link(link::Arguments) => link::link,
    /// Remove links of an issue
    #[command(after_help = link::UNLINK_EXAMPLES)]
    Unlink(link::Arguments) => link::unlink,
    /// Keep an issue from being claimed for now
    Park(park::ParkArguments) => park::park,
    /// Let a parked issue be claimed again
    Unpark(park::UnparkArguments) => park::unpark,
    /// Give the agents of a provider nothing until a time, because it has reached a limit
    Hold(hold::Arguments) => hold::run,
    /// Ask people a question about an issue, and park it until the answer
    Ask(questions::AskArguments) => questions::ask,
    /// List the open questions of agents to people
    #[command(after_help = questions::EXAMPLES)]
    Questions(options::Format) => questions::list,
    /// Answer the open question of an issue
    Answer(questions::AnswerArguments) => questions::answer,
    /// Show the board: who works on what, and what is waiting
    Board(board::Arguments) => board::run,
    /// Show the queue on the whole terminal, and change it with keys
    Tui(tui::Arguments) => tui::run,
    /// Show how many issues move, and how fast
    Stats(stats::Arguments) => stats::run,
    /// Show what is wrong in the queue, and what to do about it
    Triage(triage::Arguments) => triage::run,
    /// Show what matters now: what waits longest, who holds what, what ended
    Digest(digest::Arguments) => digest::run,
    /// Show the event log, or follow it with --follow
    Log(log::Arguments) => log::run,
    /// Export issues as JSON, JSON Lines or CSV, or what agents kept as a graph or as Markdown files
    Export(export::Arguments) => export::run,
    /// Import issues and entries from files, also of other programs; never overwrites an issue
    Import(import::Arguments) => import::run,
    /// Sync with another tracker: Azure DevOps, Backlog or GitHub
    Sync(sync::Arguments) => sync::run,
    /// Publish issues.json now
    #[command(after_help = save::HELP)]
    Save(options::Format) => save::run,
    /// Write a backup of the whole store to one file
    Backup(backup::Arguments) => backup::run,
    /// Restore a backup
    Restore(restore::Arguments) => restore::run,
    /// List ids of issues for shell completions
    #[command(hide = true)]
    IssueIds(issue_ids::Arguments) => issue_ids::run,
}

impl QueueCommand {
    /// Returns as what `ait status` lists the command; `None` if it ends by itself at once.
    pub fn process_kind(&self) -> Option<ProcessKind> {
        match self {
            Self::Log(arguments) => arguments.follows().then_some(ProcessKind::Watch),
            Self::Board(arguments) => arguments.watches().then_some(ProcessKind::Watch),
            Self::Tui(_) => Some(ProcessKind::Watch),
            Self::Next(arguments) => arguments.claim.waits().then_some(ProcessKind::Wait),
            Self::Review(arguments) => arguments.waits().then_some(ProcessKind::Wait),
            Self::Wait(_) => Some(ProcessKind::Wait),
            Self::Sync(arguments) => arguments.repeats().then_some(ProcessKind::Watch),
            Self::Backup(arguments) => arguments.repeats().then_some(ProcessKind::Watch),
            _ => None,
        }
    }

    /// Returns true if the command saves or replaces a damaged store, and says itself what is damaged.
    fn handles_damage(&self) -> bool {
        match self {
            Self::Backup(arguments) => arguments.partial,
            Self::Restore(_) => true,
            _ => false,
        }
    }

    /// Returns true if the command does nothing with a damaged store: it copies everything in it, waits for changes, or
    /// rests on all that is remembered.
    fn needs_intact_store(&self) -> bool {
        if matches!(self, Self::Backup(arguments) if arguments.lists()) {
            return false;
        }
        let needs_everything = matches!(self, Self::Export(_) | Self::Backup(_) | Self::Hold(_));
        needs_everything || self.process_kind().is_some()
    }
}

/// Says what to do with an empty store.
fn no_issues() -> &'static str {
    match said_damage() {
        Some(_) => "no issue can be read",
        None => "no issues yet: `ait add \"TITLE\"` files one",
    }
}

async fn is_empty(tracker: &Tracker) -> Result<bool, StoreError> {
    Ok(tracker.counts().await?.total() == 0)
}

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExitStatus {
    /// It did what it was asked to do.
    Done,
    /// It found nothing to act on, or did only a part; its output says which.
    Incomplete,
}

impl ExitStatus {
    fn done_if(is_done: bool) -> Self {
        if is_done { Self::Done } else { Self::Incomplete }
    }
}

/// The parts that commands work with.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// The use cases.
    pub tracker: &'a Tracker,
    /// The files of the store, if it has any.
    pub maintenance: Option<&'a Maintenance>,
    /// The queries that have names.
    pub saved_queries: &'a SavedQueries,
    /// The agent to act as if the command line names none.
    pub default_agent: Option<&'a AgentName>,
    /// The syncs with remote trackers.
    pub syncs: SyncContext<'a>,
    pub output: &'a Output,
}

/// The syncs of a project.
#[derive(Clone, Copy)]
pub struct SyncContext<'a> {
    pub settings: &'a [SyncSettings],
    /// The directory of `ait.toml`.
    pub project: &'a Path,
    /// Where syncs keep how far they have read.
    pub directory: &'a Path,
}

/// Runs a command.
///
/// # Errors
///
/// The command failed; the message says what to do.
pub async fn run(command: &QueueCommand, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let damage = match command {
        command if command.handles_damage() => None,
        _ => say_damage(context.tracker).await,
    };
    if let Some(damage) = damage.filter(|_| command.needs_intact_store()) {
        return Err(damage.into());
    }
    let ended = run_on_queue(command, context).await;
    if ended.is_ok() && !command.handles_damage() {
        say_found_damage(context.tracker).await;
    }
    match ended.as_ref().err().and_then(refusal) {
        Some(DomainError::AmbiguousReference { reference, candidates, count }) => {
            Err(candidates::list(reference, candidates, *count, context.tracker).await?.into())
        }
        _ => ended,
    }
}

/// Returns the refusal of the rules that made a command fail.
fn refusal(error: &anyhow::Error) -> Option<&DomainError> {
    error.chain().find_map(|cause| match cause.downcast_ref() {
        Some(StoreError::Refused(refusal)) => Some(refusal),
        _ => cause.downcast_ref(),
    })
}

/// Formats an error with hints that name commands.
pub fn render_error(error: &anyhow::Error) -> String {
    let causes = error.chain().map(|cause| {
        if let Some(error) = cause.downcast_ref::<StoreError>() {
            hints::for_store(error, &COMMANDS)
        } else if let Some(HistoryError::Store(error)) = cause.downcast_ref() {
            hints::for_store(error, &COMMANDS)
        } else if let Some(error) = cause.downcast_ref::<DomainError>() {
            hints::for_refusal(error, &COMMANDS)
        } else if let Some(error @ BackupError::Exists(_)) = cause.downcast_ref() {
            format!("{error}, or replace it with --force")
        } else {
            cause.to_string()
        }
    });
    causes.collect::<Vec<_>>().join(": ")
}

/// Formats an error for people: as [`render_error`] does, with short ids.
pub fn render_short(error: &anyhow::Error) -> String {
    let issues = refusal(error).map(DomainError::issues).unwrap_or_default();
    issues.iter().fold(render_error(error), |text, id| text.replace(&id.to_string(), &id.short()))
}

/// Returns true if a command failed because of its arguments, before it used the store.
pub fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<DomainError>() || error.is::<options::WrongUsage>()
}

#[cfg(test)]
mod tests;
