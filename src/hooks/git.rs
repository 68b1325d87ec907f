//! Asking git, for no longer than there is time.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::{Instant, timeout_at};

/// git in a directory, until a point in time.
#[derive(Clone, Debug)]
pub struct Git {
    directory: PathBuf,
    deadline: Instant,
}

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// It cannot be started.
    #[error("git cannot be started ({0}): install it, or put it on the PATH")]
    Missing(std::io::Error),
    /// It took too long.
    #[error("git gives no answer in time: the disk hangs, or the machine is very busy; try again")]
    Slow,
    /// It said no.
    #[error("git says: {said}")]
    Refused {
        /// The code that it ended with.
        code: Option<i32>,
        /// The first line that it said.
        said: String,
    },
}

impl Git {
    /// Git in a directory, for so long in all.
    pub fn new(directory: impl Into<PathBuf>, limit: Duration) -> Self {
        Self { directory: directory.into(), deadline: Instant::now() + limit }
    }

    /// The same in another directory.
    pub fn within(&self, directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), deadline: self.deadline }
    }

    /// Where it is asked.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What it answers, without the line end.
    ///
    /// # Errors
    ///
    /// There is no answer, or it is no.
    pub async fn ask(&self, arguments: &[&str]) -> Result<String, GitError> {
        let mut command = Command::new("git");
        command.current_dir(&self.directory).args(arguments).env("GIT_OPTIONAL_LOCKS", "0");
        // One that is not waited for any more ends.
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout_at(self.deadline, command.output()).await;
        let output = output.map_err(|_| GitError::Slow)?.map_err(GitError::Missing)?;
        let text = String::from_utf8_lossy(&output.stdout);
        if output.status.success() {
            return Ok(text.trim_end_matches(['\n', '\r']).to_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or("nothing").to_owned();
        Err(GitError::Refused { code: output.status.code(), said })
    }

    /// The same where no is an answer.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub async fn ask_whether(&self, arguments: &[&str]) -> Result<Option<String>, GitError> {
        match self.ask(arguments).await {
            Ok(text) => Ok(Some(text)),
            Err(GitError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The branch that is checked out; `None` for a commit without one.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub async fn branch(&self) -> Result<Option<String>, GitError> {
        self.ask_whether(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await
    }
}
