//! `ait comment`, `ait complete`, `ait return`, `ait close` and `ait reopen`: the changes of an issue that need a
//! comment.

use anyhow::Result;
use clap::Args;

use super::options::{CallerArgs, ClaimArgs, issue_ref, text_or_stdin};
use super::print_issue::print_changed;
use super::{CommandContext, ExitStatus, Output};
use crate::domain::{AgentName, CommentText, IssueRef, Resolution};
use crate::tracker::{Changed, StoreError};

/// The arguments of `ait comment`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait comment 3f2a9c1e -m 'also happens on iOS'\n  \
    tail -n 50 test.log | ait comment 3f2a9c1e -m -")]
pub struct CommentArguments {
    #[command(flatten)]
    target: IssueCommentArgs,
}

/// The arguments of `ait complete`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait complete 3f2a9c1e -m 'fixed in branch fix-login'\n  \
    git log -1 --format=%B | ait complete 3f2a9c1e -m -")]
pub struct CompleteArguments {
    #[command(flatten)]
    target: IssueCommentArgs,

    #[command(flatten)]
    claim: ClaimArgs,
}

/// The arguments of `ait return`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait return 3f2a9c1e -m 'tried twice, the fixture is missing'\n  \
    git log -1 --format=%B | ait return 3f2a9c1e -m -")]
pub struct ReturnArguments {
    #[command(flatten)]
    target: IssueCommentArgs,

    #[command(flatten)]
    claim: ClaimArgs,
}

/// The arguments of `ait close`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait close 3f2a9c1e -m 'reviewed and merged'\n  \
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

/// The arguments of `ait reopen`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The issue waits for work again, in its old place. Agents cannot do this with their tools.\n\n\
    Example:\n  \
    ait reopen 3f2a9c1e -m 'the merge was reverted'"
)]
pub struct ReopenArguments {
    #[command(flatten)]
    target: IssueCommentArgs,
}

/// An issue and a comment on it.
#[derive(Clone, Debug, Args)]
struct IssueCommentArgs {
    /// The issue: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// A comment for the next agent; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    message: String,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn comment(
    arguments: &CommentArguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let change = |id, comment, agent| context.tracker.comment_issue(id, comment, agent);
    arguments.target.run(change, context, output).await
}

pub(super) async fn complete(
    arguments: &CompleteArguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let proof = arguments.claim.proof(&arguments.target.caller, context);
    let change = |id, comment, agent| context.tracker.complete_issue(id, comment, agent, proof);
    arguments.target.run(change, context, output).await
}

pub(super) async fn return_issue(
    arguments: &ReturnArguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let (tracker, proof) =
        (context.tracker, arguments.claim.proof(&arguments.target.caller, context));
    let change =
        |id: IssueRef, comment, agent| tracker.return_issue(id.into(), comment, agent, proof);
    arguments.target.run(change, context, output).await
}

pub(super) async fn close(
    arguments: &CloseArguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let resolution = if arguments.reject { Resolution::Rejected } else { Resolution::Closed };
    let (tracker, proof) =
        (context.tracker, arguments.claim.proof(&arguments.target.caller, context));
    let change = |id: IssueRef, comment, agent| {
        tracker.close_issue(id.into(), resolution, comment, agent, proof)
    };
    arguments.target.run(change, context, output).await
}

pub(super) async fn reopen(
    arguments: &ReopenArguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let change =
        |id: IssueRef, comment, agent| context.tracker.reopen_issue(id.into(), comment, agent);
    arguments.target.run(change, context, output).await
}

impl IssueCommentArgs {
    /// Changes the issue with the comment, and prints it.
    async fn run<F>(
        &self,
        change: impl FnOnce(IssueRef, CommentText, AgentName) -> F,
        context: &CommandContext<'_>,
        output: &mut Output,
    ) -> Result<ExitStatus>
    where
        F: Future<Output = Result<Changed, StoreError>>,
    {
        let comment = CommentText::try_from(text_or_stdin(&self.message, "the message")?)?;
        let agent = self.caller.agent(context)?;
        let changed = change(self.id.clone(), comment, agent).await?;
        print_changed(&changed, self.caller.format.json, context.tracker, output).await
    }
}
