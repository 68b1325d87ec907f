//! Runs git, up to a deadline.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout_at};

const TOO_SLOW: &str =
    "git does not answer in time: the disk hangs, or the machine is busy; try again";
const NOT_STARTED: &str = "git cannot be started: install it, or put it on the PATH";

/// The variables by which git tells what it calls, such as a hook, which repository it works on.
const REPOSITORY_VARIABLES: [&str; 7] = [
    "GIT_DIR",
    "GIT_COMMON_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Returns git for the repository around a directory, whichever repository the environment names.
pub fn command(directory: &Path) -> Command {
    let mut git = base_command(directory);
    remove_repository(&mut git);
    git
}

/// Removes the repository of a calling git from the environment of a command.
pub fn remove_repository(command: &mut Command) {
    for variable in REPOSITORY_VARIABLES {
        command.env_remove(variable);
    }
}

fn base_command(directory: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(directory).env("GIT_OPTIONAL_LOCKS", "0").stdin(Stdio::null());
    git
}

/// git in a directory, up to a deadline.
#[derive(Clone, Debug)]
pub struct Git {
    pub directory: PathBuf,
    deadline: Instant,
    follows_environment: bool,
    /// The index to use; `None` for that of the worktree.
    index: Option<PathBuf>,
}

impl Git {
    /// Runs git in a directory, for at most `limit` in all, on the repository that the environment names, if it does.
    pub fn new(directory: impl Into<PathBuf>, limit: Duration) -> Self {
        let deadline = Instant::now() + limit;
        Self { directory: directory.into(), deadline, follows_environment: true, index: None }
    }

    /// Does the same on the repository around the directory.
    pub fn around(directory: impl Into<PathBuf>, limit: Duration) -> Self {
        Self { follows_environment: false, ..Self::new(directory, limit) }
    }

    /// Runs git in another directory, with the same deadline.
    #[must_use]
    pub fn within(&self, directory: &Path) -> Self {
        Self { directory: directory.to_owned(), ..self.clone() }
    }

    /// Runs git with another index.
    #[must_use]
    pub fn with_index(&self, index: PathBuf) -> Self {
        Self { index: Some(index), ..self.clone() }
    }

    /// Runs a command that must succeed, and gives its output without the last line end.
    ///
    /// # Errors
    ///
    /// git refuses; the text has the first line of what it says. Or those of [`run`](Self::run).
    pub async fn ask(&self, arguments: &[&str]) -> Result<String> {
        let output = self.run(arguments).await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("git says: {}", said.lines().next().unwrap_or("nothing"));
        }
        Ok(text(&output))
    }

    /// Runs a command, and gives its output; `None` if git refuses.
    pub async fn try_output(&self, arguments: &[&str]) -> Result<Option<String>> {
        let output = self.run(arguments).await?;
        Ok(output.status.success().then(|| text(&output)))
    }

    /// The branch that is checked out; `None` if the head is detached.
    pub async fn branch(&self) -> Result<Option<String>> {
        self.try_output(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await
    }

    /// Runs a command that git may refuse.
    ///
    /// # Errors
    ///
    /// git cannot be started, or does not end in time.
    pub async fn run(&self, arguments: &[&str]) -> Result<Output> {
        let output = timeout_at(self.deadline, self.command(arguments).output()).await;
        output.context(TOO_SLOW)?.context(NOT_STARTED)
    }

    /// Runs a command, and gives the begin of its output, at most so many bytes. Then git is killed.
    ///
    /// # Errors
    ///
    /// git cannot be started, or does not end in time.
    pub async fn begin_of_output(&self, arguments: &[&str], max_bytes: usize) -> Result<Vec<u8>> {
        let mut git = self.command(arguments);
        let mut git =
            git.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().context(NOT_STARTED)?;
        let output = git.stdout.take().context("git has no output")?;
        let mut output = output.take(max_bytes as u64);
        let mut begin = Vec::new();
        let read = output.read_to_end(&mut begin);
        timeout_at(self.deadline, read).await.context(TOO_SLOW)??;
        Ok(begin)
    }

    fn command(&self, arguments: &[&str]) -> tokio::process::Command {
        let mut git = base_command(&self.directory);
        if !self.follows_environment {
            remove_repository(&mut git);
        }
        git.args(arguments);
        if let Some(index) = &self.index {
            git.env("GIT_INDEX_FILE", index);
        }
        let mut git = tokio::process::Command::from(git);
        // Ctrl-C in a terminal ends ait, which may have to undo what git did, and not git in the middle of it.
        git.process_group(0).kill_on_drop(true);
        git
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end_matches(['\n', '\r']).to_owned()
}
