//! Checks of the files around the store: leftover files, and other stores that agents may mistake for it.

use std::collections::VecDeque;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::report::quoted;
use super::{Check, CheckContext, Finding, Repair, worktree_copy};
use ait_domain::text::counted;
use ait_http::processes::Registry;
use ait_setup::is_work_tree;
use ait_store::files::fs::directory_of;
use ait_store::files::paths::StorePaths;
use ait_store::sqlite::inspect::{self, Leftovers, paths_of};

/// The limits on the number and the depth of directory entries in the search for other stores.
const MAX_ENTRIES: usize = 20_000;
const MAX_DEPTH: usize = 8;
/// The number of bytes to read of a file to recognize a store.
const HEAD_BYTES: u64 = 512;
/// Directories with third-party or generated files.
const OF_OTHERS: [&str; 4] = ["node_modules", "target", "vendor", "__pycache__"];

pub(super) fn leftovers(context: &CheckContext) -> Vec<Finding> {
    let check = Check::Leftovers;
    let Ok(paths) = paths_of(&context.path) else {
        return vec![Finding::skipped(check, "the directory of the store cannot be found")];
    };
    let kept = inspect::leftovers(&paths).kept;
    let stale = stale(&paths);
    if kept.is_empty() && stale.is_empty() {
        return vec![Finding::ok(check, "nothing was left behind")];
    }
    let directory = directory_of(&paths.issues);
    let name = |path: &PathBuf| path.strip_prefix(directory).unwrap_or(path).display().to_string();
    let about: Vec<_> = stale.iter().chain(&kept).map(name).collect();
    let finding = Finding::warning(
        check,
        counted(about.len(), "file was left behind", "files were left behind"),
    );
    let finding = finding.about(about);
    // `ait restore` keeps what it replaces under such a name.
    let (replaced, other): (Vec<_>, Vec<_>) =
        kept.iter().partition(|path| path.to_string_lossy().contains("-before-restore-"));
    let mut looks = Vec::new();
    if !other.is_empty() {
        let shown: Vec<_> = other.iter().take(3).map(|path| quoted(path)).collect();
        looks.push(format!(
            "inspect the quarantined files, and remove those that are no longer needed, such as with `rm -r {}`",
            shown.join(" ")
        ));
    }
    if let Some(newest) = replaced.last() {
        looks.push(format!(
            "keep the issues from before a restore for as long as you may want them back: `ait restore {}` undoes the restore",
            quoted(newest)
        ));
    }
    let look = looks.join("; ");
    vec![match (kept.is_empty(), stale.is_empty()) {
        (_, true) => finding.fix(look),
        (true, false) => finding
            .fix("`ait doctor --fix` removes the files of dead processes")
            .repaired_by(Repair::RemoveStale),
        (false, false) => finding
            .fix(format!("`ait doctor --fix` removes the files of dead processes; {look}"))
            .repaired_by(Repair::RemoveStale),
    }]
}

/// Returns the files that dead processes left behind.
pub(super) fn stale(paths: &StorePaths) -> Vec<PathBuf> {
    let Leftovers { stale, unmerged, .. } = inspect::leftovers(paths);
    let registered = Registry::for_store(&paths.issues).stale_files();
    stale.into_iter().chain(unmerged).chain(registered).collect()
}

pub(super) fn other_stores(context: &CheckContext) -> Vec<Finding> {
    let check = Check::OtherStores;
    let Ok(paths) = paths_of(&context.path) else {
        return vec![Finding::skipped(check, "the directory of the store cannot be found")];
    };
    let Some(root) = repository(directory_of(&paths.issues)) else {
        return vec![Finding::skipped(check, "the store is not in a git repository")];
    };
    let name = paths.issues.file_name().unwrap_or_default();
    let is_file = context.database.is_none();
    let is_moved = |path: &PathBuf| paths_of(path).is_ok_and(|paths| paths.moved().exists());
    let is_other = |path: &PathBuf| {
        let is_used = is_file && *path == paths.issues;
        path.file_name() == Some(name) && !is_used && is_store(path) && !is_moved(path)
    };
    let mut others: Vec<_> = inside(&root).into_iter().filter(is_other).collect();
    // A copy that git checked out into another worktree is unused; one with a database was used.
    let of_worktrees = worktrees(&root).into_iter().flat_map(|tree| inside(&tree));
    others.extend(of_worktrees.filter(is_other).filter(|path| was_used(path)));
    others.sort();
    others.dedup();
    let Some(first) = others.first() else {
        let copy = worktree_copy(&paths.issues, &context.project.working_directory);
        let copy = copy.filter(|_| is_file).map(|copy| {
            let copy = copy.display();
            let reason = &context.reason;
            format!("; {copy} is only a copy that git checked out, and is not used ({reason})")
        });
        let only = if is_file { "the only store" } else { "no store besides the database" };
        let reason = format!("{only} in {}{}", root.display(), copy.unwrap_or_default());
        return vec![Finding::ok(check, reason)];
    };
    let reason = format!(
        "{} in this repository, which agents may mistake for the queue",
        counted(others.len(), "other store is", "other stores are")
    );
    let mut fix = format!("`ait import {}` imports its issues; then remove it", quoted(first));
    if is_file {
        let used = quoted(&paths.issues);
        fix += &format!(". If it is intended, set ISSUES_FILE={used} where the agents are started");
    }
    let about = others.iter().map(|path| path.display().to_string());
    vec![Finding::warning(check, reason).about(about).fix(fix)]
}

/// Returns the root of the repository that contains a directory.
pub(super) fn repository(directory: &Path) -> Option<PathBuf> {
    let directory = fs::canonicalize(directory).ok()?;
    directory.ancestors().find(|directory| is_work_tree(directory)).map(Path::to_owned)
}

/// Returns the linked worktrees of a repository; see gitrepository-layout(5).
fn worktrees(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root.join(".git/worktrees")).into_iter().flatten().flatten();
    let of_entry = |entry: fs::DirEntry| {
        let dot_git = fs::read_to_string(entry.path().join("gitdir")).ok()?;
        let tree = entry.path().join(dot_git.trim()).parent()?.to_owned();
        fs::canonicalize(tree).ok()
    };
    entries.take(MAX_ENTRIES).filter_map(of_entry).collect()
}

/// Returns the files in a worktree, breadth first. Nested repositories, hidden directories and third-party
/// directories are skipped.
fn inside(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = VecDeque::from([(root.to_owned(), 0)]);
    let mut seen = 0;
    while let Some((directory, depth)) = directories.pop_front() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return found;
            }
            let path = entry.path();
            let name = entry.file_name();
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

/// Returns true if a file starts like a store.
fn is_store(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    let text: String = String::from_utf8_lossy(&head).split_whitespace().collect();
    read.is_ok() && text.starts_with("{\"issues\":[")
}

fn was_used(path: &Path) -> bool {
    paths_of(path).is_ok_and(|paths| inspect::has_database(&paths))
}
