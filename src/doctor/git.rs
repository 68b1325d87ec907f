//! Whether git leaves alone what belongs to one machine: the log and the like.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::report::quoted;
use super::{Check, Finding, Repair, Subject};
use crate::setup::edit::ignored;
use crate::store::json::fs::directory_of;
use crate::store::json::inspect::{newest_segment, place_of};
use crate::store::json::place::{DIRECTORY, Place};

pub(super) fn examine(subject: &Subject) -> Vec<Finding> {
    let check = Check::Git;
    let Ok(place) = place_of(&subject.path) else {
        return vec![Finding::skipped(check, "there is no place for the files")];
    };
    if super::files::repository(directory_of(&place.issues)).is_none() {
        return vec![Finding::skipped(check, "the store is in no repository")];
    }
    let (directory, names) = (directory_of(&place.issues), names(&place));
    if names.is_empty() {
        return vec![Finding::ok(check, "there is nothing yet that belongs to one machine alone")];
    }
    let Some(ignored) = git(directory, &["check-ignore", "--no-index", "--"], &names) else {
        return vec![Finding::skipped(check, "git cannot be asked")];
    };
    let tracked = git(directory, &["ls-files", "--"], &tracked(&place)).unwrap_or_default();
    if !tracked.is_empty() {
        let name = place.issues.file_name().unwrap_or_default();
        let own = quoted(&Path::new(DIRECTORY).join(name));
        let finding = Finding::warning(
            check,
            "files of one machine are committed: a checkout would put older ones in their place",
        );
        let fix = format!("`git rm -r --cached {own}`, and ignore them (`ait doctor --fix`)");
        return vec![finding.about(tracked).fix(fix).repaired_by(Repair::Ignore)];
    }
    let open: Vec<_> = names.into_iter().filter(|name| !ignored.contains(name)).collect();
    if open.is_empty() {
        return vec![Finding::ok(check, "the log and the like are ignored")];
    }
    let line = ignored::beside("");
    let fix = format!("`printf '%s\\n' '{line}' >> .gitignore`, or `ait doctor --fix`");
    let finding =
        Finding::warning(check, "git does not ignore all that belongs to one machine alone");
    vec![finding.about(open).fix(fix).repaired_by(Repair::Ignore)]
}

/// Names of files that are to be ignored, in the directory of the store.
fn names(place: &Place) -> Vec<String> {
    let directory = directory_of(&place.issues);
    // The directory of the log has a list of its own, which ignores all of it.
    let segment = newest_segment(place);
    let name =
        |file: PathBuf| Some(file.strip_prefix(directory).ok()?.to_string_lossy().into_owned());
    segment.and_then(name).into_iter().collect()
}

/// What git would list of them.
fn tracked(place: &Place) -> Vec<String> {
    let name = place.issues.file_name().unwrap_or_default().to_string_lossy();
    vec![format!("{DIRECTORY}/{name}")]
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
