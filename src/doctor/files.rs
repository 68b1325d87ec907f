//! What lies beside the store: files that were left behind, and other stores that somebody may take for it.

use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::report::{counted, quoted};
use super::{Check, Finding, Repair, Subject};
use crate::processes::Registry;
use crate::store::json::fs::directory_of;
use crate::store::json::inspect::{self, Leftovers, place_of};
use crate::store::json::place::Place;

/// How many entries of how deep directories are looked at for other stores.
const MAX_ENTRIES: usize = 20_000;
const MAX_DEPTH: usize = 8;
/// How much is read of a file to see whether it is a store.
const HEAD_BYTES: u64 = 512;
/// Directories that hold what others have made.
const OF_OTHERS: [&str; 4] = ["node_modules", "target", "vendor", "__pycache__"];

pub(super) fn leftovers(subject: &Subject) -> Vec<Finding> {
    let check = Check::Leftovers;
    let Ok(place) = place_of(&subject.path) else {
        return vec![Finding::skipped(check, "there is no place for the files")];
    };
    let kept = inspect::leftovers(&place).kept;
    let stale = stale(&place);
    if kept.is_empty() && stale.is_empty() {
        return vec![Finding::ok(check, "nothing was left behind")];
    }
    let directory = directory_of(&place.issues);
    let name = |path: &PathBuf| path.strip_prefix(directory).unwrap_or(path).display().to_string();
    let about: Vec<_> = stale.iter().chain(&kept).map(name).collect();
    let finding = Finding::warning(
        check,
        counted(about.len(), "file was left behind", "files were left behind"),
    );
    let finding = finding.about(about);
    let look = format!(
        "look at what is kept, and remove what nobody needs any more, such as `rm -r {}`",
        kept.iter().take(3).map(|path| quoted(path)).collect::<Vec<_>>().join(" ")
    );
    vec![match (kept.is_empty(), stale.is_empty()) {
        (_, true) => finding.fix(look),
        (true, false) => finding
            .fix("`ait doctor --fix` removes what is of processes that died")
            .repaired_by(Repair::RemoveStale),
        (false, false) => finding
            .fix(format!("`ait doctor --fix` removes what is of processes that died; {look}"))
            .repaired_by(Repair::RemoveStale),
    }]
}

/// What processes that died did not remove.
pub(super) fn stale(place: &Place) -> Vec<PathBuf> {
    let Leftovers { stale, unmerged, .. } = inspect::leftovers(place);
    let registered = Registry::beside(&place.issues).left_behind();
    stale.into_iter().chain(unmerged).chain(registered).collect()
}

pub(super) fn other_stores(subject: &Subject) -> Vec<Finding> {
    let check = Check::OtherStores;
    let Ok(place) = place_of(&subject.path) else {
        return vec![Finding::skipped(check, "there is no place for the files")];
    };
    let Some(root) = repository(directory_of(&place.issues)) else {
        return vec![Finding::skipped(check, "the store is in no repository")];
    };
    let name = place.issues.file_name().unwrap_or_default();
    let is_other =
        |path: &PathBuf| path.file_name() == Some(name) && *path != place.issues && is_store(path);
    let mut others: Vec<_> = inside(&root).into_iter().filter(is_other).collect();
    // A copy that git has put into another worktree is used by nobody; one with a log was.
    let of_worktrees = worktrees(&root).into_iter().flat_map(|tree| inside(&tree));
    others.extend(of_worktrees.filter(is_other).filter(|path| was_used(path)));
    others.sort();
    others.dedup();
    let Some(first) = others.first() else {
        return vec![Finding::ok(check, format!("the only one in {}", root.display()))];
    };
    let reason = format!(
        "{} in this repository, which agents may take for the queue",
        counted(others.len(), "other store is", "other stores are")
    );
    let fix = format!(
        "`ait import {0}` takes its issues over; then remove it. Where it is meant, name the right one with \
         ISSUES_FILE={1} in what starts the agents",
        quoted(first),
        quoted(&place.issues)
    );
    let about = others.iter().map(|path| path.display().to_string());
    vec![Finding::warning(check, reason).about(about).fix(fix)]
}

/// The root of the repository around a directory.
pub(super) fn repository(directory: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(directory).ok()?;
    directory.ancestors().find(|it| it.join(".git").exists()).map(Path::to_owned)
}

/// The linked worktrees of a repository, as gitrepository-layout(5) describes them.
fn worktrees(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(".git/worktrees")).into_iter().flatten().flatten();
    let of_entry = |entry: fs::DirEntry| {
        let mark = fs::read_to_string(entry.path().join("gitdir")).ok()?;
        let tree = entry.path().join(mark.trim()).parent()?.to_owned();
        fs::canonicalize(tree).ok()
    };
    entries.take(MAX_ENTRIES).filter_map(of_entry).collect()
}

/// The files in a worktree, without those of other repositories in it, and of directories that nobody works
/// in. Those near the root come first.
fn inside(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut directories) = (Vec::new(), VecDeque::from([(root.to_owned(), 0)]));
    let mut seen = 0;
    while let Some((directory, depth)) = directories.pop_front() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return found;
            }
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            match entry.file_type() {
                Ok(kind) if kind.is_file() => found.push(path),
                Ok(kind) if kind.is_dir() => {
                    let is_left_out = name.starts_with('.') || OF_OTHERS.contains(&&*name);
                    if depth < MAX_DEPTH && !is_left_out && !path.join(".git").exists() {
                        directories.push_back((path, depth + 1));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Tells whether a file begins as a store does.
fn is_store(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let text: String = String::from_utf8_lossy(&head).split_whitespace().collect();
    read.is_ok() && text.starts_with("{\"issues\":[")
}

fn was_used(path: &Path) -> bool {
    place_of(path).is_ok_and(|place| inspect::newest_segment(&place).is_some())
}
