//! `ait hooks`: installs, examines and removes git hooks, and does their work when git calls them. Also does the work
//! of the hooks of clients.
//!
//! A hook is ours by its text. A hook that was there before is kept as `NAME.before-ait-hooks`, and ours runs it
//! first.
//!
//! The hooks never block git: [`call()`] creates no store and gives up in time. Knows no command line and no kind of
//! store.

mod hooks_dir;
mod install;
mod issue_work;
mod limit;
mod merge;
mod message;
mod report;
mod session;
mod transcript;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;

use ait_domain::string_enum;
use ait_domain::{AgentName, Comment, DomainError, Issue, IssueRef};
use ait_system::git::Git;
use ait_tracker::{StoreError, Tracker};

pub use hooks_dir::{Blocker, HooksDir};
pub use install::{ChangeReport, HookChange, HookState, HookStatus};
pub use issue_work::{IssueBranch, IssueWork, changed_files, issue_work, note_changes};
pub use limit::hold_after_limit;
pub use report::{Operation, StatusReport, plan, status};
pub use session::{HookInput, HookTexts, end_session, end_subagent, park_expensive, record_usage};
pub use transcript::{ToldClaim, claims_of};

/// How long git may wait for a hook of ours.
pub const CALL_LIMIT: Duration = Duration::from_millis(2_000);
/// How long a client may wait for what a hook says.
pub const SESSION_LIMIT: Duration = Duration::from_millis(90);
/// How long a server may take to say what a hook says.
pub const SERVER_LIMIT: Duration = Duration::from_millis(50);
/// How long a client may wait for the end of a subagent, whose transcript may be long.
pub const SUBAGENT_LIMIT: Duration = Duration::from_millis(5_000);
/// How long a client may wait for the release of claims at the end of a session.
pub const SESSION_END_LIMIT: Duration = Duration::from_millis(1_000);
/// How long git may take to describe its hooks.
pub const ASK_LIMIT: Duration = Duration::from_secs(10);

string_enum! {
    /// A hook that can be installed.
    pub enum Hook {
        /// Names the claimed issue of the worktree in the message of a commit.
        PrepareCommitMsg = "prepare-commit-msg",
        /// Notes a merged branch on its issue.
        PostMerge = "post-merge",
    }
}

/// A call of a hook by git.
pub struct HookContext<'a> {
    /// The queue.
    pub tracker: &'a Tracker,
    /// git in the worktree.
    pub git: Git,
    /// The arguments of the hook.
    pub arguments: &'a [OsString],
    /// The command that git executes: `GIT_REFLOG_ACTION`.
    pub action: String,
    /// The agent that the environment of this process names. Settings of the project do not count, since they hold
    /// for all worktrees.
    pub worker: Option<AgentName>,
    /// The author of notes on merges.
    pub author: Option<AgentName>,
}

/// Does the work of a hook, and returns true if the store has changed. In doubt it does nothing.
pub async fn call(hook: Hook, context: &HookContext<'_>) -> Result<bool> {
    match hook {
        Hook::PrepareCommitMsg => message::name_issue(context).await.map(|()| false),
        Hook::PostMerge => merge::comment_on_merge(context).await,
    }
}

impl HookContext<'_> {
    fn argument(&self, index: usize) -> Option<&str> {
        self.arguments.get(index)?.to_str()
    }

    /// Finds an issue; `None` if there is none, or more than one.
    async fn find(&self, reference: IssueRef) -> Result<Option<Arc<Issue>>> {
        match self.tracker.get_issue(reference).await {
            Ok(issue) => Ok(Some(issue)),
            Err(StoreError::Refused(
                DomainError::UnknownIssue { .. } | DomainError::AmbiguousReference { .. },
            )) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The latest comments on an issue, newest first.
fn latest_comments(issue: &Issue) -> impl Iterator<Item = &Comment> {
    issue.comments.iter().rev().take(50)
}
