//! What `ait hooks` finds, plans or did, for programs and for people.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use super::install::{ChangeReport, HookStatus, install, removal, status_of_hooks};
use super::{HookState, HooksDir};

/// The state of the hooks of a repository.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusReport {
    /// The directory of the hooks.
    pub directory: PathBuf,
    /// The file that sets `core.hooksPath`, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_by: Option<String>,
    /// Why hooks cannot be installed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    pub hooks: Vec<HookStatus>,
}

/// What to do with the hooks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Install them.
    Install,
    /// Remove them.
    Remove,
}

/// Examines the hooks. `command` starts the tracker.
pub fn status(directory: &HooksDir, command: &str) -> Result<StatusReport> {
    let mut hooks = status_of_hooks(directory, command)?;
    for hook in &mut hooks {
        if let Some(file) = directory.file_of_user(hook.hook) {
            let is_called =
                fs::read_to_string(&file).is_ok_and(|text| text.contains(" hooks run "));
            hook.state = if is_called { HookState::Installed } else { HookState::Blocked };
            hook.path = file;
        }
    }
    let mut report = StatusReport {
        directory: directory.path.clone(),
        set_by: directory.set_by.clone(),
        problem: None,
        hooks,
    };
    if !report.is_installed() {
        report.problem = directory.check_writable(command).err().map(|error| error.to_string());
    }
    Ok(report)
}

impl StatusReport {
    /// Returns true if all hooks are installed.
    pub fn is_installed(&self) -> bool {
        self.hooks.iter().all(|hook| hook.state == HookState::Installed)
    }
}

/// Plans to install or remove the hooks. `force` also replaces or removes an edited one.
///
/// # Errors
///
/// A hook cannot be read, or the directory must not be written to; the text says what to do.
pub fn plan(
    directory: &HooksDir,
    command: &str,
    operation: Operation,
    force: bool,
) -> Result<ChangeReport> {
    let hooks = status_of_hooks(directory, command)?;
    match operation {
        Operation::Install => {
            directory.check_writable(command)?;
            install(directory, &hooks, command, force)
        }
        Operation::Remove => Ok(removal(directory, &hooks, force)),
    }
}
