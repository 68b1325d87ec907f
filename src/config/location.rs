//! Which file is the store: one repository must mean one queue.
//!
//! Agents work in subfolders and in linked worktrees of one git repository. Unless a file is named,
//! the store is:
//!
//! 1. in a linked worktree, `issues.json` at the root of the main worktree;
//! 2. else the nearest `issues.json` from the working directory up to the repository's root;
//! 3. else the one to be made at that root;
//! 4. outside a repository, the one in the working directory.
//!
//! A repository is recognized by its files, as gitrepository-layout(5) describes them, so that
//! `git` itself need not be installed.

use std::fs;
use std::path::{Path, PathBuf};

const FILE_NAME: &str = "issues.json";

/// The store's file, and why it is this one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The file; it need not exist.
    pub path: PathBuf,
    /// Why this one, in words that follow the path.
    pub reason: String,
}

impl Location {
    pub(super) fn named(working_directory: &Path, file: &Path, by: &str) -> Self {
        Self { path: working_directory.join(file), reason: format!("named by {by}") }
    }

    pub(super) fn found_from(working_directory: &Path) -> Self {
        let Some(repository) = Repository::around(working_directory) else {
            return Self::new(working_directory, "outside a repository: the working directory");
        };
        if repository.linked {
            return Self::new(
                &repository.root,
                "a linked worktree uses the store of its repository",
            );
        }
        let inside = working_directory
            .ancestors()
            .take_while(|directory| directory.starts_with(&repository.root));
        for directory in inside {
            if directory.join(FILE_NAME).exists() {
                let reason = if directory == repository.root {
                    "the repository's root"
                } else {
                    "the nearest one up to the repository's root"
                };
                return Self::new(directory, reason);
            }
        }
        Self::new(&repository.root, "the repository's root")
    }

    fn new(directory: &Path, reason: &str) -> Self {
        Self { path: directory.join(FILE_NAME), reason: reason.to_owned() }
    }
}

/// The git repository around a directory.
struct Repository {
    /// The root of the worktree; for a linked one, the place that all worktrees share.
    root: PathBuf,
    /// Whether the worktree is a linked one.
    linked: bool,
}

impl Repository {
    fn around(directory: &Path) -> Option<Self> {
        directory.ancestors().find_map(|root| {
            let mark = root.join(".git");
            let metadata = fs::metadata(&mark).ok()?;
            if metadata.is_dir() {
                return Some(Self { root: root.to_owned(), linked: false });
            }
            let git_directory = git_directory(&mark)?;
            match shared_root(&git_directory) {
                Some(shared) => Some(Self { root: shared, linked: true }),
                // A submodule, or a repository that keeps its files elsewhere.
                None => Some(Self { root: root.to_owned(), linked: false }),
            }
        })
    }
}

/// The directory that a `.git` file points to.
fn git_directory(mark: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(mark).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(mark.parent()?.join(target))
}

/// For the git directory of a linked worktree, the one place that all its worktrees share: the root
/// of the main worktree, or the bare repository itself where there is no main worktree.
fn shared_root(git_directory: &Path) -> Option<PathBuf> {
    let common = fs::read_to_string(git_directory.join("commondir")).ok()?;
    let common = fs::canonicalize(git_directory.join(common.trim())).ok()?;
    let parent = common.parent()?;
    let is_main_worktree = common.file_name().is_some_and(|name| name == ".git")
        || git_directory_of(parent).is_some_and(|target| target == common);
    Some(if is_main_worktree { parent.to_owned() } else { common })
}

/// The git directory that a worktree's `.git` file points to, links resolved.
fn git_directory_of(root: &Path) -> Option<PathBuf> {
    fs::canonicalize(git_directory(&root.join(".git"))?).ok()
}
