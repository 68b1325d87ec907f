//! Runs git, up to a deadline.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::process::Command;
use tokio::time::{Instant, timeout_at};

/// git in a directory, up to a deadline.
#[derive(Clone, Debug)]
pub struct Git {
    pub(super) directory: PathBuf,
    deadline: Instant,
}

impl Git {
    /// Runs git in a directory, for at most `limit` in all.
    pub fn new(directory: impl Into<PathBuf>, limit: Duration) -> Self {
        Self { directory: directory.into(), deadline: Instant::now() + limit }
    }

    /// Runs git in another directory, with the same deadline.
    pub(super) fn within(&self, directory: &Path) -> Self {
        Self { directory: directory.to_owned(), deadline: self.deadline }
    }

    /// Runs a command that must succeed, and gives its output without the last line end.
    pub(super) async fn ask(&self, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments).await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("git says: {}", said.lines().next().unwrap_or("nothing"));
        }
        Ok(text(&output))
    }

    /// Runs a command, and gives its output; `None` if git refuses.
    pub(super) async fn try_output(&self, arguments: &[&str]) -> Result<Option<String>> {
        let output = self.run(arguments).await?;
        Ok(output.status.success().then(|| text(&output)))
    }

    /// The branch that is checked out; `None` if the head is detached.
    pub(super) async fn branch(&self) -> Result<Option<String>> {
        self.try_output(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await
    }

    async fn run(&self, arguments: &[&str]) -> Result<Output> {
        let mut command = Command::new("git");
        command.current_dir(&self.directory).args(arguments).env("GIT_OPTIONAL_LOCKS", "0");
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout_at(self.deadline, command.output()).await;
        output
            .context(
                "git does not answer in time: the disk hangs, or the machine is busy; try again",
            )?
            .context("git cannot be started: install it, or put it on the PATH")
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end_matches(['\n', '\r']).to_owned()
}
