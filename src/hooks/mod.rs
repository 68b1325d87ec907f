//! The hooks that git calls in a repository: what `ait hooks` puts there, tells of and takes back, and what
//! they do when git calls them.
//!
//! Everything is read and planned before the first byte is written: [`install()`] and [`removal()`] look at
//! the hooks as [`survey`] found them, [`apply()`] does what they came to. There is no record of what was
//! written: a hook is ours by its form, and `NAME.before-ait-hooks` is the one that was there before, which
//! ours calls first.
//!
//! A hook that git calls never holds git up: [`call()`] makes nothing where there is no store, and ends in
//! time. Knows no command line and no kind of store.

mod apply;
mod branch;
mod call;
mod error;
mod git;
mod merge;
mod message;
mod place;
mod plan;
mod script;

use std::path::PathBuf;
use std::time::Duration;

pub use apply::{Applied, apply};
pub use branch::issue_in;
pub use call::{Call, call};
pub use error::{CallError, HooksError};
pub use git::{Git, GitError};
pub use place::{Place, place};
pub use plan::{Plan, Step, Wish, install, removal, survey};

/// What the name of a hook ends with that was there before ours.
pub const EARLIER_SUFFIX: &str = ".before-ait-hooks";
/// How long git may wait for a hook of ours.
pub const CALL_LIMIT: Duration = Duration::from_millis(2_000);
/// How long git may take to tell of its hooks.
pub const ASK_LIMIT: Duration = Duration::from_secs(10);

/// A hook that can be installed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// Names the claimed issue of the worktree in the message of a commit.
    PrepareCommitMsg,
    /// Notes a merged branch on its issue.
    PostMerge,
}

impl Hook {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::PrepareCommitMsg, Self::PostMerge];

    /// What git calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrepareCommitMsg => "prepare-commit-msg",
            Self::PostMerge => "post-merge",
        }
    }

    /// The one that git calls so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }
}

/// How a hook stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Ours is there, as it would be written now.
    Installed,
    /// Ours is there, of another version or for another program.
    Outdated,
    /// Ours is there, and somebody has edited it.
    Edited,
    /// Ours is there, and git leaves it out because it is not executable.
    Disabled,
    /// There is none.
    Missing,
    /// There is one of somebody else.
    Other,
    /// There is one of somebody else in the place of ours.
    Overwritten,
    /// There is one of another program, which keeps ours beside it.
    Kept,
}

impl State {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Outdated => "outdated",
            Self::Edited => "edited",
            Self::Disabled => "disabled",
            Self::Missing => "missing",
            Self::Other => "other",
            Self::Overwritten => "overwritten",
            Self::Kept => "kept",
        }
    }
}

/// How a hook stands, and what there is beside it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Which one.
    pub hook: Hook,
    /// How it stands.
    pub state: State,
    /// Where it is, or would be.
    pub path: PathBuf,
    /// What is there.
    pub before: Option<Vec<u8>>,
    /// The hook that was there before ours.
    pub earlier: Option<Earlier>,
    /// Where another program keeps ours.
    pub kept_as: Option<PathBuf>,
}

/// A hook that was there before ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Earlier {
    /// Where it is now.
    pub path: PathBuf,
    /// Whether it runs: git leaves out what is not executable, and so does ours.
    pub runs: bool,
    /// Whether it is the same as what stands in the place of the hook.
    pub is_same: bool,
}
