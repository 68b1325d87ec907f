//! The lists by which clients let the agents of a team work without asking a person.
//!
//! A list has what a team needs and nothing else. An item of ours is known by its text: clients keep no comments there.

use std::path::Path;

use serde_json::Value;

use super::edit::json::Dialect;
use super::edit::{json, toml};
use super::error::SetupError;
use super::staged_file::{StagedFiles, read};
use super::{FileChange, PROGRAM, SERVER};
use ait_domain::Check;

/// The subcommands that prompts tell agents to run. None of them restores, removes or configures anything.
const COMMANDS: [&str; 11] = [
    "ask",
    "check",
    "help",
    "list",
    "merge",
    "next",
    "questions",
    "show",
    "status",
    "wait",
    "worktree",
];
/// What agents run with git in the worktree of an issue. Claude Code asks nothing about commands that only read, but
/// knows them in its own directory alone.
const GIT: [&str; 10] = [
    "add *", "commit *", "diff", "diff *", "log", "log *", "merge *", "show *", "status",
    "status *",
];
/// The worktrees of issues, which agents edit.
const WORKTREES: &str = "Edit(/.worktrees/**)";
/// The setting with the command that tests the project.
const CHECK: &str = "check";

/// A list in a file of the project.
#[derive(Clone, Copy, Debug)]
pub struct AllowList {
    /// The file of JSON or TOML, in the project.
    pub file: &'static str,
    /// The path of the list.
    pub path: &'static [&'static str],
    /// Our items, for a project whose tests this command runs.
    pub items: fn(&Path, Option<&str>) -> Vec<String>,
}

impl AllowList {
    fn is_toml(&self) -> bool {
        Path::new(self.file).extension().is_some_and(|extension| extension == "toml")
    }
}

/// The rules of Claude Code (<https://code.claude.com/docs/en/permissions>): the tools of the server, edits, and
/// commands, in which `*` stands for any text. It judges each command of a line alone, and never allows `cd` before
/// `git`. The rules keep agents from mistakes only: agents that may run tests may run any program.
pub(super) fn rules_of_claude(_: &Path, check: Option<&str>) -> Vec<String> {
    let commands = COMMANDS.iter().map(|command| format!("{PROGRAM} {command} *"));
    let git = GIT.iter().map(|command| format!("git -C .worktrees/* {command}"));
    let checks = check.into_iter().flat_map(|check| check.split("&&"));
    let checks = checks.flat_map(|check| check.split(['|', ';', '\n'])).map(str::trim);
    let checks = checks.filter(|check| !check.is_empty());
    let rules = commands.chain(git).chain(checks.map(|check| format!("{check} *")));
    let rules = rules.map(|rule| format!("Bash({rule})"));
    [format!("mcp__{SERVER}"), WORKTREES.to_owned()].into_iter().chain(rules).collect()
}

/// The server, which Claude Code then starts without a question in a directory that the user trusts.
pub(super) fn server(_: &Path, _: Option<&str>) -> Vec<String> {
    vec![SERVER.to_owned()]
}

/// The directory of git, which Codex otherwise keeps from being written to, as seen from `.codex/`. A path that does
/// not exist would make every command fail.
pub(super) fn git_directory(root: &Path, _: Option<&str>) -> Vec<String> {
    let mut above =
        root.ancestors().zip(1..).filter(|(directory, _)| directory.join(".git").exists());
    // A linked worktree has a file there.
    let repository = above.next().filter(|(directory, _)| directory.join(".git").is_dir());
    repository.map(|(_, above)| format!("{}.git", "../".repeat(above))).into_iter().collect()
}

/// Plans to add our items to the lists of a client.
pub(super) fn grant(
    root: &Path,
    settings: &Path,
    lists: &[AllowList],
    files: &mut StagedFiles<'_>,
) -> Result<(), SetupError> {
    each(root, settings, lists, files, |list, items, file| {
        file.edit(|text| {
            if list.is_toml() {
                return toml::append_missing(text, list.path, items);
            }
            json::check(text, Dialect::Strict)?;
            json::append_missing(text, list.path, items)
        })
    })
}

/// Plans to take our items out of the lists of a client.
pub(super) fn revoke(
    root: &Path,
    settings: &Path,
    lists: &[AllowList],
    files: &mut StagedFiles<'_>,
) -> Result<(), SetupError> {
    each(root, settings, lists, files, |list, items, file| {
        let is_ours = |item: &Value| items.iter().any(|ours| item == ours);
        file.remove_from(|text| {
            let remove = if list.is_toml() { toml::remove_items } else { json::remove_items };
            remove(text, list.path, &is_ours)
        })
    })
}

/// The commands that test the project, by its settings, one in a line, if they have any.
pub(super) fn check(settings: &Path) -> Option<String> {
    let text = read(settings, "").ok()??;
    let given = toml::get(&text, &[CHECK]).ok()??;
    let given = given.as_array().map_or_else(|| std::slice::from_ref(&given), Vec::as_slice);
    let checks = given.iter().filter_map(|check| check.as_str()?.parse::<Check>().ok());
    let commands: Vec<_> = checks.map(|check| check.command().to_owned()).collect();
    Some(commands.join("\n"))
}

fn each(
    root: &Path,
    settings: &Path,
    lists: &[AllowList],
    files: &mut StagedFiles<'_>,
    edit: impl Fn(&AllowList, &[String], &mut FileChange) -> Result<(), SetupError>,
) -> Result<(), SetupError> {
    let check = check(settings);
    for list in lists {
        let file = files.file(&root.join(list.file), Some(root))?;
        edit(list, &(list.items)(root, check.as_deref()), file)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_of_the_check_has_a_rule() {
        let none = rules_of_claude(Path::new("/"), None);
        let check = "cargo fmt --check && cargo test; ./lint | tail";
        let all = rules_of_claude(Path::new("/"), Some(check));
        let more = ["Bash(cargo fmt --check *)", "Bash(cargo test *)", "Bash(./lint *)"];
        assert_eq!(all[none.len()..], [&more[..], &["Bash(tail *)"]].concat());
    }
}
