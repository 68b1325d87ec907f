//! Finds the store's file. One repository has one queue.
//!
//! Agents work in subdirectories and in linked worktrees of one git repository. Unless a file is named, the store
//! is:
//!
//! 1. in a linked worktree, `issues.json` at the root of the main worktree, or inside the repository if it is bare;
//! 2. otherwise the nearest `issues.json` between the working directory and the repository's root;
//! 3. otherwise a new `issues.json` at that root;
//! 4. outside a repository, `issues.json` in the working directory.
//!
//! Repositories are recognized by their files, as described in gitrepository-layout(5), so `git` need not be
//! installed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::Arguments;
use super::sources::set;
use crate::setup::is_work_tree;
use crate::small_file::{self, MAX_BYTES};

const FILE_NAME: &str = "issues.json";

/// The store's file and the reason for choosing it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoreLocation {
    /// The file, which need not exist.
    pub path: PathBuf,
    /// The reason, as a phrase to follow the path.
    pub reason: String,
    /// Whether the user named the file; otherwise it was found from the working directory.
    pub is_named: bool,
}

impl StoreLocation {
    /// Returns the store that the command line names, then the one that the environment names, then the one found
    /// from the working directory.
    ///
    /// `environment` returns the value of a variable; an empty value counts as unset.
    pub fn new(
        arguments: &Arguments,
        environment: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
    ) -> Self {
        match (&arguments.file, set(environment("ISSUES_FILE"))) {
            (Some(file), _) => Self::named(working_directory, file, "--file"),
            (None, Some(file)) => Self::named(working_directory, Path::new(&file), "ISSUES_FILE"),
            (None, None) => Self::found_from(working_directory),
        }
    }

    /// Returns the project directory for a working directory: the directory of the store if the store was found
    /// there or in an ancestor, otherwise the root of the worktree, otherwise the working directory itself.
    pub fn project(&self, working_directory: &Path) -> PathBuf {
        let beside = self
            .path
            .parent()
            .filter(|parent| !self.is_named && working_directory.starts_with(parent));
        let root = || working_directory.ancestors().find(|root| is_work_tree(root));
        beside.or_else(root).unwrap_or(working_directory).to_owned()
    }

    fn named(working_directory: &Path, file: &Path, by: &str) -> Self {
        let path = working_directory.join(file);
        Self { path, reason: format!("named by {by}"), is_named: true }
    }

    /// Finds the store for a working directory.
    pub fn found_from(working_directory: &Path) -> Self {
        let Some(repository) = Repository::around(working_directory) else {
            return Self::inside(working_directory, "outside a repository: the working directory");
        };
        if let Some(reason) = repository.shared {
            return Self::inside(&repository.root, reason);
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
                return Self::inside(directory, reason);
            }
        }
        Self::inside(&repository.root, "the repository's root")
    }

    fn inside(directory: &Path, reason: &str) -> Self {
        Self { path: directory.join(FILE_NAME), reason: reason.to_owned(), is_named: false }
    }
}

/// The git repository around a directory.
struct Repository {
    /// The root of the worktree, or the directory that all worktrees share.
    root: PathBuf,
    /// Why only the root is searched; `None` in an ordinary worktree.
    shared: Option<&'static str>,
}

impl Repository {
    fn around(directory: &Path) -> Option<Self> {
        directory.ancestors().find_map(|root| {
            let dot_git = root.join(".git");
            if dot_git.join("HEAD").exists() {
                return Some(Self { root: root.to_owned(), shared: None });
            }
            if is_bare(root) {
                return Some(Self { root: root.to_owned(), shared: Some("a bare repository") });
            }
            let git_directory = git_directory(&dot_git)?;
            Some(Self::of_git_file(root, &git_directory))
        })
    }

    /// Returns the repository of a worktree whose `.git` is a file with the path of the git directory.
    fn of_git_file(root: &Path, git_directory: &Path) -> Self {
        if !git_directory.is_dir() {
            let reason = "this worktree's root, because its repository is gone; set ISSUES_FILE";
            return Self { root: root.to_owned(), shared: Some(reason) };
        }
        let Some(common) = common_directory(git_directory) else {
            // A submodule, or a repository with a separate git directory.
            return Self { root: root.to_owned(), shared: None };
        };
        match main_worktree(&common) {
            Some(root) => {
                Self { root, shared: Some("a linked worktree uses the store of its repository") }
            }
            None if is_bare(&common) => Self {
                root: common,
                shared: Some("a linked worktree of a bare repository uses the store inside it"),
            },
            None => Self {
                root: common,
                shared: Some("a linked worktree whose main worktree is unknown; set ISSUES_FILE"),
            },
        }
    }
}

/// Returns the directory that a `.git` file points to.
fn git_directory(dot_git: &Path) -> Option<PathBuf> {
    let text = small_file::read(dot_git, MAX_BYTES).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(dot_git.parent()?.join(target))
}

/// Returns the git directory that all worktrees share, given that of a linked worktree.
fn common_directory(git_directory: &Path) -> Option<PathBuf> {
    let common = small_file::read(&git_directory.join("commondir"), MAX_BYTES).ok()?;
    fs::canonicalize(git_directory.join(common.trim())).ok()
}

/// Returns the root of the main worktree of a git directory, if it can be determined: from the setting
/// `core.worktree`, which submodules have, from the directory that contains `.git`, or from a `.git` file that
/// points here.
fn main_worktree(common: &Path) -> Option<PathBuf> {
    if let Some(worktree) = setting(common, "worktree") {
        return fs::canonicalize(common.join(worktree)).ok();
    }
    let parent = common.parent()?;
    let leads_here = |target: PathBuf| fs::canonicalize(target).is_ok_and(|real| real == common);
    let is_around = common.file_name().is_some_and(|name| name == ".git")
        || git_directory(&parent.join(".git")).is_some_and(leads_here);
    is_around.then(|| parent.to_owned())
}

/// Returns true if a directory is a git directory configured as bare.
fn is_bare(directory: &Path) -> bool {
    directory.join("HEAD").is_file()
        && directory.join("objects").is_dir()
        && setting(directory, "bare")
            .is_some_and(|value| matches!(value.as_str(), "true" | "yes" | "on" | "1"))
}

/// Returns the value of a key in the section `[core]` of a git directory's configuration.
fn setting(git_directory: &Path, key: &str) -> Option<String> {
    let text = small_file::read(&git_directory.join("config"), MAX_BYTES).ok()?;
    let core = text.lines().map(str::trim).skip_while(|line| *line != "[core]").skip(1);
    let mut settings =
        core.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    settings
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
}
