//! Why hooks cannot be told of or changed, and why one did not do its work. Each says what to do.

use std::io;
use std::path::PathBuf;

use super::git::GitError;
use crate::domain::DomainError;
use crate::tracker::StoreError;

/// Why hooks cannot be told of or changed; nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum HooksError {
    /// There is no repository, or git does not take it for one.
    #[error("git finds no repository here ({said}): go into one, or make one with `git init`")]
    NoRepository {
        /// What git says.
        said: String,
    },
    /// git cannot be asked.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The hooks are those of all repositories of the user.
    #[error(
        "the hooks of all your repositories are in {} ({by} sets core.hooksPath), and are not touched from here: \
         either put the line `{line}` into each of them, which does nothing where there is no store; or give \
         this repository hooks of its own, with `git config --local core.hooksPath {own}`, and try again",
        directory.display()
    )]
    Everywhere {
        /// Where they are.
        directory: PathBuf,
        /// Who says so.
        by: String,
        /// What to write there.
        line: String,
        /// Where those of this repository would be.
        own: String,
    },
    /// The hooks are written anew by husky.
    #[error(
        "husky writes the hooks in {} anew: put the line `{line}` into {} instead, and the like into post-merge",
        directory.display(), file.display()
    )]
    Husky {
        /// Where they are.
        directory: PathBuf,
        /// What to write.
        line: String,
        /// Where to write it.
        file: PathBuf,
    },
    /// A hook cannot be read.
    #[error("{} cannot be read ({cause}): make it readable, or move it away; nothing was written", path.display())]
    Unreadable {
        /// Which one.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// What stands there is no file.
    #[error("{} is no file: move it away; nothing was written", path.display())]
    NoFile {
        /// Which one.
        path: PathBuf,
    },
    /// There are two hooks of somebody else, and one place for them.
    #[error(
        "{} was put in the place of ours, and {} is the hook from before that: put what you need of both into \
         the first, remove the second, and try again; nothing was written",
        path.display(), earlier.display()
    )]
    TwoEarlier {
        /// The hook.
        path: PathBuf,
        /// The one from before.
        earlier: PathBuf,
    },
}

/// Why a hook that git has called did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// git cannot be asked.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The store says no, or cannot be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was to be said cannot be.
    #[error(transparent)]
    Text(#[from] DomainError),
    /// The message of the commit cannot be read or written.
    #[error("{} cannot be read or written: {cause}", path.display())]
    Message {
        /// Its file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}
