//! What a hook does when git calls it.

use std::ffi::OsString;

use super::{CallError, Git, Hook, merge, message};
use crate::domain::{AgentName, Comment, Issue};
use crate::tracker::Tracker;

/// A call of a hook by git.
pub struct Call<'a> {
    /// The queue.
    pub tracker: &'a Tracker,
    /// git in the worktree.
    pub git: Git,
    /// What git gave the hook.
    pub arguments: &'a [OsString],
    /// What git says that it does: `GIT_REFLOG_ACTION`.
    pub action: String,
    /// Who works here, where the environment of this very call names somebody. What holds for all
    /// worktrees of a project says nothing of this one.
    pub worker: Option<AgentName>,
    /// Who notes what was merged.
    pub noting: Option<AgentName>,
}

/// Does what a hook is for. Silent where it is in doubt.
///
/// Gives whether the store has changed.
///
/// # Errors
///
/// What kept it from being done, after it was clear that there is something to do.
pub async fn call(hook: Hook, call: &Call<'_>) -> Result<bool, CallError> {
    match hook {
        Hook::PrepareCommitMsg => message::name_issue(call).await.map(|()| false),
        Hook::PostMerge => merge::note(call).await,
    }
}

impl Call<'_> {
    /// An argument, where there is one that is text.
    pub(super) fn argument(&self, place: usize) -> Option<&str> {
        self.arguments.get(place)?.to_str()
    }
}

/// What was said last about an issue, as far back as is worth looking.
pub(super) fn latest(issue: &Issue) -> impl Iterator<Item = &Comment> {
    const WORTH_A_LOOK: usize = 50;
    issue.comments.iter().rev().take(WORTH_A_LOOK)
}
