//! Whether git leaves alone what belongs to one machine: the journal, the lock and the like.

use std::path::Path;
use std::process::{Command, Stdio};

use super::report::quoted;
use super::{Check, Finding, Repair, Subject};
use crate::setup::edit::ignored;
use crate::store::json::fs::directory_of;
use crate::store::json::look::{Files, files};

/// What is added to the name of the store by what belongs to one machine.
const SIDE: [&str; 7] = [
    ".journal",
    ".lock",
    ".checkpoint",
    ".sessions",
    ".processes/x",
    ".hand-x",
    ".before-restore-x",
];

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let check = Check::Git;
    let Ok(files) = files(&subject.path) else {
        return vec![Finding::skipped(check, "there is no place for the files")];
    };
    if super::files::repository(directory_of(&files.snapshot)).is_none() {
        return vec![Finding::skipped(check, "the store is in no repository")];
    }
    let (directory, names) = (directory_of(&files.snapshot), names(&files));
    let Some(ignored) = git(directory, &["check-ignore", "--no-index", "--"], &names) else {
        return vec![Finding::skipped(check, "git cannot be asked")];
    };
    let tracked = git(directory, &["ls-files", "--"], &tracked(&files)).unwrap_or_default();
    if !tracked.is_empty() {
        let listed: Vec<_> = tracked.iter().map(|name| quoted(Path::new(name))).collect();
        let finding = Finding::warning(
            check,
            "files of one machine are committed: a checkout would put older ones in their place",
        );
        let fix =
            format!("`git rm --cached {}`, and ignore them (`ait doctor --fix`)", listed.join(" "));
        return vec![finding.about(tracked).fix(fix).repaired_by(Repair::Ignore)];
    }
    let open: Vec<_> = names.into_iter().filter(|name| !ignored.contains(name)).collect();
    if open.is_empty() {
        return vec![Finding::ok(check, "the journal, the lock and the like are ignored")];
    }
    let name = files.snapshot.file_name().unwrap_or_default().to_string_lossy();
    let lines = ignored::beside("", &name).map(|it| format!("'{it}'"));
    let fix = format!("`printf '%s\\n' {} >> .gitignore`, or `ait doctor --fix`", lines.join(" "));
    let finding =
        Finding::warning(check, "git does not ignore all that belongs to one machine alone");
    vec![finding.about(open).fix(fix).repaired_by(Repair::Ignore)]
}

/// Names of files that are to be ignored, in the directory of the store.
fn names(files: &Files) -> Vec<String> {
    let name = files.snapshot.file_name().unwrap_or_default().to_string_lossy();
    let mut names: Vec<_> = SIDE.iter().map(|suffix| format!("{name}{suffix}")).collect();
    names.push(format!(".{name}.x.tmp"));
    names
}

/// What git would list of them. Not all that begins like the store: an example of it may be committed.
fn tracked(files: &Files) -> Vec<String> {
    let name = files.snapshot.file_name().unwrap_or_default().to_string_lossy();
    let kinds = ["journal*", "lock", "sessions", "processes", "before-*", "damaged-*"];
    let mut names: Vec<_> = kinds.iter().map(|kind| format!("{name}.{kind}")).collect();
    names.push(format!(".{name}.*.tmp"));
    names
}

/// What git lists; `None` when it cannot be asked. It changes nothing.
fn git(directory: &Path, arguments: &[&str], names: &[String]) -> Option<Vec<String>> {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(["-c", "core.quotePath=false"]);
    command.args(arguments).args(names).env("GIT_OPTIONAL_LOCKS", "0");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    // 1 says that nothing is ignored.
    let text = output.status.code().is_some_and(|code| code <= 1).then_some(output.stdout)?;
    Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
}
