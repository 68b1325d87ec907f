//! `ait comment`, `ait complete`, `ait return`, `ait close` and `ait reopen`: the changes of an issue that need a
//! comment.

use std::env;

use anyhow::Result;
use clap::Args;

use super::aliases::table::is_id;
use super::options::{CallerArgs, ClaimArgs, WrongUsage, issue_ref, text_or_stdin};
use super::{CommandContext, ExitStatus};
use ait_domain::{AgentName, CommentText, IssueRef, Resolution};
use ait_tracker::{Changed, StoreError};
use ait_worktrees::measure;

/// The comments of `ait close` and `ait reopen` if the user gives none.
const CLOSED: &str = "Closed.";
const REOPENED: &str = "Reopened.";

/// Ends the help of `ait comment`.
pub(super) const COMMENT_EXAMPLES: &str = "Examples:\n  \
    ait comment 3f2a9c1e 'also happens on iOS'\n  \
    tail -n 50 test.log | ait comment 3f2a9c1e -m -";

/// Ends the help of `ait complete`.
pub(super) const COMPLETE_EXAMPLES: &str = "Examples:\n  \
    ait complete 3f2a9c1e -m 'fixed in branch fix-login'\n  \
    git log -1 --format=%B | ait complete 3f2a9c1e -m -";

/// Ends the help of `ait return`.
pub(super) const RETURN_EXAMPLES: &str = "Examples:\n  \
    ait return 3f2a9c1e -m 'tried twice, the fixture is missing'\n  \
    git log -1 --format=%B | ait return 3f2a9c1e -m -";

/// Ends the help of `ait reopen`.
pub(super) const REOPEN_HELP: &str = "\
    The issue waits for work again, in its old place. Agents cannot do this with their tools.\n\n\
    Example:\n  \
    ait reopen 3f2a9c1e -m 'the merge was reverted'";

/// The arguments of `ait close`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait close 3f2a9c1e -m 'reviewed and merged'\n  \
    ait close 3f2a9c1e 8d1f02aa\n  \
    ait close 3f2a9c1e --reject -m 'works as intended'")]
pub struct CloseArguments {
    /// Reject the issue: it will not be done
    #[arg(long)]
    reject: bool,

    #[command(flatten)]
    target: IssueCommentArgs,

    #[command(flatten)]
    claim: ClaimArgs,
}

/// Issues and a comment on them, and what the user says of their claims.
#[derive(Clone, Debug, Args)]
pub struct ClaimCommentArgs {
    #[command(flatten)]
    target: IssueCommentArgs,

    #[command(flatten)]
    claim: ClaimArgs,
}

/// Issues and a comment on them.
#[derive(Clone, Debug, Args)]
pub struct IssueCommentArgs {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// More issues, or the comment
    #[arg(value_name = "TEXT")]
    more: Vec<String>,

    /// The comment, for the next agent; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,

    #[command(flatten)]
    pub(super) caller: CallerArgs,
}

pub(super) async fn comment(
    arguments: &IssueCommentArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let change = |id, comment, agent| context.tracker.comment_issue(id, comment, agent);
    let missing = "the comment is missing: give it with -m 'TEXT', or as in ait comment ID 'TEXT'";
    arguments.run(change, Err(missing), context).await
}

pub(super) async fn complete(
    arguments: &ClaimCommentArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let proof = arguments.claim.proof(&arguments.target.caller, context);
    let tracker = context.tracker;
    let directory = env::current_dir()?;
    let change = async |id: IssueRef, comment, agent| {
        let issue = tracker.get_issue(id.clone()).await?;
        let facts = measure(&directory, &issue).await;
        tracker.complete_issue(id, comment, agent, proof, facts).await
    };
    let missing = "the comment is missing: say what you did, for the reviewer, with -m 'TEXT'";
    arguments.target.run(change, Err(missing), context).await
}

pub(super) async fn return_issue(
    arguments: &ClaimCommentArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let proof = arguments.claim.proof(&arguments.target.caller, context);
    let change =
        |id: IssueRef, comment, agent| tracker.return_issue(id.into(), comment, agent, proof);
    let missing = "the comment is missing: say why, for the next agent, with -m 'TEXT'";
    arguments.target.run(change, Err(missing), context).await
}

pub(super) async fn close(
    arguments: &CloseArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let (resolution, default) = if arguments.reject {
        let missing = "the comment is missing: say why it will not be done, with -m 'TEXT'";
        (Resolution::Rejected, Err(missing))
    } else {
        (Resolution::Closed, Ok(CLOSED))
    };
    let tracker = context.tracker;
    let proof = arguments.claim.proof(&arguments.target.caller, context);
    let change = |id: IssueRef, comment, agent| {
        tracker.close_issue(id.into(), resolution, comment, agent, proof)
    };
    arguments.target.run(change, default, context).await
}

pub(super) async fn reopen(
    arguments: &IssueCommentArgs,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let change =
        |id: IssueRef, comment, agent| context.tracker.reopen_issue(id.into(), comment, agent);
    arguments.run(change, Ok(REOPENED), context).await
}

impl IssueCommentArgs {
    /// Returns the issues and the text of the comment, if there is one.
    pub fn target(&self) -> Result<(Vec<IssueRef>, Option<String>)> {
        let as_id = |word: &String| issue_ref(word).ok().filter(|_| is_id(word));
        let others: Vec<_> = self.more.iter().map_while(as_id).collect();
        let text = self.more[others.len()..].join(" ");
        let ids = [self.id.clone()].into_iter().chain(others).collect();
        let message = match (&self.message, text.is_empty()) {
            (Some(_), false) => {
                let twice = "there is a text behind -m and another one: put the whole comment in quotes behind -m, as in \
                     -m 'what the next agent must know'";
                return Err(WrongUsage(twice).into());
            }
            (Some(message), true) => Some(text_or_stdin(message, "the message")?),
            (None, false) => Some(text_or_stdin(&text, "the message")?),
            (None, true) => None,
        };
        Ok((ids, message))
    }

    /// Changes the issues with the comment, and prints them. `default` is the comment if there is none, or says that
    /// there must be one.
    async fn run(
        &self,
        change: impl AsyncFn(IssueRef, CommentText, AgentName) -> Result<Changed, StoreError>,
        default: Result<&str, &'static str>,
        context: &CommandContext<'_>,
    ) -> Result<ExitStatus> {
        let (ids, message) = self.target()?;
        let message = match message {
            Some(message) => message,
            None => default.map_err(WrongUsage)?.to_owned(),
        };
        let comment = CommentText::try_from(message)?;
        let change = async |id, agent| Ok(change(id, comment.clone(), agent).await?);
        self.caller.each(&ids, change, context).await
    }
}
