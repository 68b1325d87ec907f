//! `ait hooks`: installs, examines and removes git hooks, and does their work when git calls them. Also does the work
//! of the hooks of clients.
//!
//! A hook is ours by its text. A hook that was there before is kept as `NAME.before-ait-hooks`, and ours runs it
//! first.
//!
//! The hooks never block git: [`call()`] creates no store and gives up in time. Knows no command line and no kind of
//! store.

mod git;
mod hooks_dir;
mod install;
mod issue_work;
mod merge;
mod message;
mod report;
mod session;

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use crate::domain::{AgentName, Comment, DomainError, Issue, IssueId, IssueRef};
use crate::tracker::{StoreError, Tracker};

pub use git::Git;
pub use hooks_dir::{Blocker, HooksDir};
pub use install::{Change, HookState, HookStatus};
pub use issue_work::{IssueBranch, IssueWork, issue_work};
pub use report::{ChangeReport, Operation, StatusReport, plan, status};
pub use session::{SessionInput, SessionTexts, end_session};

/// How long git may wait for a hook of ours.
pub const CALL_LIMIT: Duration = Duration::from_millis(2_000);
/// How long a client may wait for what a hook says.
pub const SESSION_LIMIT: Duration = Duration::from_millis(90);
/// How long a server may take to say what a hook says.
pub const SERVER_LIMIT: Duration = Duration::from_millis(50);
/// How long a client may wait for the release of claims at the end of a session.
pub const SESSION_END_LIMIT: Duration = Duration::from_millis(1_000);
/// How long git may take to describe its hooks.
pub const ASK_LIMIT: Duration = Duration::from_secs(10);
/// What stands before the id in the name of a branch.
const BEFORE_ID: &str = "issue-";
/// The length of a whole id, in characters.
const ID_CHARS: usize = 36;

/// A hook that can be installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// Names the claimed issue of the worktree in the message of a commit.
    PrepareCommitMsg,
    /// Notes a merged branch on its issue.
    PostMerge,
}

impl Hook {
    /// Every hook.
    pub const ALL: [Self; 2] = [Self::PrepareCommitMsg, Self::PostMerge];

    /// Its name in git.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrepareCommitMsg => "prepare-commit-msg",
            Self::PostMerge => "post-merge",
        }
    }

    /// Finds a hook by its name in git.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
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
///
/// # Errors
///
/// git or the store fails.
pub async fn call(hook: Hook, context: &HookContext<'_>) -> Result<bool> {
    match hook {
        Hook::PrepareCommitMsg => message::name_issue(context).await.map(|()| false),
        Hook::PostMerge => merge::note(context).await,
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

/// The issue that the name of a branch names: `issue-` and at least the first 8 hex digits of its id, as a word of
/// the name. `None` if it names none, or more than one.
fn issue_in(branch: &str) -> Option<IssueRef> {
    let branch = branch.to_ascii_lowercase();
    let mut found: Vec<IssueRef> = Vec::new();
    for (at, _) in branch.match_indices(BEFORE_ID) {
        let (before, rest) = (&branch[..at], &branch[at + BEFORE_ID.len()..]);
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let whole = rest.get(..ID_CHARS).filter(|id| IssueId::parse(id).is_some());
        let id = whole.unwrap_or(&rest[..digits]);
        let is_word = !before.ends_with(char::is_alphanumeric)
            && !rest[id.len()..].starts_with(char::is_alphanumeric);
        if let Some(reference) = id.parse::<IssueRef>().ok().filter(|_| is_word)
            && !found.contains(&reference)
        {
            found.push(reference);
        }
    }
    found.pop().filter(|_| found.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_are_parsed_for_issue_ids() {
        let whole = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";
        for (branch, expected) in [
            ("issue-3f2a9c1e", Some("3f2a9c1e")),
            ("issue-3F2A9C1E", Some("3f2a9c1e")),
            ("feature/issue-3f2a9c1e-fix-login", Some("3f2a9c1e")),
            ("fix_issue-3f2a9c1e7d54_x", Some("3f2a9c1e7d54")),
            ("issue-3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", Some(whole)),
            ("issue-3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73-deed", Some(whole)),
            ("issue-3f2a9c1e/issue-3f2a9c1e", Some("3f2a9c1e")),
            ("issue-3f2a9c1e-issue-77b0c5d2", None),
            ("issue-3f2a9c1", None),
            ("issue-3f2a9c1ex", None),
            ("tissue-3f2a9c1e", None),
            ("issue-1234", None),
            ("issue-ü3f2a9c1e", None),
            ("3f2a9c1e", None),
            ("main", None),
        ] {
            let expected = expected.map(|id| id.parse::<IssueRef>().unwrap());
            assert_eq!(issue_in(branch), expected, "{branch}");
        }
    }
}
