//! The merge driver by which git merges a tracked `issues.json` issue by issue: a line in `.gitattributes`, which git
//! tracks, and a command in the configuration of each clone.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use super::edit::EditError;
use super::edit::marked::NUMBER_SIGN;
use ait_system::git;

/// The name of the driver.
const NAME: &str = "ait";
/// The key of the command.
const KEY: &str = "merge.ait.driver";
/// What people read of the driver.
const TITLE: [&str; 2] = ["merge.ait.name", "issues of ait, merged one by one"];

/// Returns the line of `.gitattributes` for a store, whose pattern is that of `.gitignore`.
fn line(pattern: &str) -> String {
    format!("{pattern} merge={NAME}")
}

/// Returns the text of `.gitattributes` with the driver.
pub(super) fn set(text: &str, pattern: &str) -> Result<String, EditError> {
    NUMBER_SIGN.set(text, &line(pattern))
}

/// Returns true if the text of `.gitattributes` has the driver, because the store is to be tracked.
pub(super) fn is_set(text: &str) -> bool {
    text.lines().any(|line| line.trim_end().ends_with(&format!(" merge={NAME}")))
}

/// Returns the value of the setting that starts the driver.
pub fn value(command: &str) -> String {
    format!("{} merge-driver %O %A %B", shell_words::quote(command))
}

/// Returns the shell command that registers the driver in a clone.
pub fn registration(command: &str) -> String {
    format!("git config {KEY} {}", shell_words::quote(&value(command)))
}

/// Returns what the configuration of a clone has as the driver, if it has one.
pub fn registered(directory: &Path) -> io::Result<Option<String>> {
    let output = git::command(directory).args(["config", "--get", KEY]).output()?;
    let value = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    Ok((output.status.success() && !value.is_empty()).then_some(value))
}

/// Returns true if a repository has a remote, and commits of several authors: other clones may have a queue, too.
pub fn has_other_clones(directory: &Path) -> bool {
    let lines = |arguments: &[&str]| {
        let output = git::command(directory).args(arguments).output().ok();
        let output = output.filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    };
    let remotes: Vec<_> = lines(&["remote"]).unwrap_or_default();
    let authors: BTreeSet<_> = lines(&["log", "-n", "500", "--format=%ae"])
        .map(|authors: Vec<_>| authors.into_iter().collect())
        .unwrap_or_default();
    !remotes.is_empty() && authors.len() > 1
}

/// Registers the driver in the configuration of a clone. `command` starts the tracker.
///
/// # Errors
///
/// git fails; the text has what it says.
pub fn register(directory: &Path, command: &str) -> io::Result<()> {
    config(directory, &TITLE)?;
    config(directory, &[KEY, &value(command)])
}

/// Removes the driver from the configuration of a clone.
pub fn unregister(directory: &Path) -> io::Result<()> {
    config(directory, &["--remove-section", "merge.ait"])
}

fn config(directory: &Path, arguments: &[&str]) -> io::Result<()> {
    let output = git::command(directory).args(["config", "--local"]).args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("git config: {}", said.trim())))
}
