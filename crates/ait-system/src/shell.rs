//! Runs the shell commands of settings.

use std::io;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Child;

use crate::git;

/// Returns a shell command in a directory.
pub fn command(text: &str, directory: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(text).current_dir(directory);
    git::remove_repository(&mut shell);
    shell
}

/// A running shell command. If it is dropped before its end, what the shell started ends with it.
#[derive(Debug)]
pub struct Shell {
    /// The shell.
    pub child: Child,
}

impl Shell {
    /// Starts a command in a process group of its own.
    pub fn spawn(command: Command) -> io::Result<Self> {
        let mut command = tokio::process::Command::from(command);
        Ok(Self { child: command.process_group(0).kill_on_drop(true).spawn()? })
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // A child that has ended has no id.
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            let _gone = kill_process_group(group, Signal::KILL);
        }
    }
}
