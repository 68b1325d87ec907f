//! Which file is the store: one repository must mean one queue.
//!
//! Agents work in subfolders and in linked worktrees of one git repository. Unless a file is named,
//! the store is:
//!
//! 1. in a linked worktree, `issues.json` at the root of the main worktree, or in the bare repository
//!    where there is none;
//! 2. else the nearest `issues.json` from the working directory up to the repository's root;
//! 3. else the one to be made at that root;
//! 4. outside a repository, the one in the working directory.
//!
//! A repository is recognized by its files, as gitrepository-layout(5) describes them, so that
//! `git` itself need not be installed.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::Arguments;
use super::sources::set;
use crate::small_file::{self, MAX_BYTES};

const FILE_NAME: &str = "issues.json";

/// The store's file, and why it is this one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The file; it need not exist.
    pub path: PathBuf,
    /// Why this one, in words that follow the path.
    pub reason: String,
    /// Whether somebody named it; else it was found from the working directory.
    pub is_named: bool,
}

impl Location {
    /// The store that the command line names, or else the environment, or else the one of the place
    /// where the program was started.
    ///
    /// `environment` gives the value of a variable; one that is empty counts as not set.
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

    /// The directory that people open as the project, when they work in this one: that of the store, unless
    /// the store lies elsewhere; then the root of the worktree, or outside of one the directory itself.
    pub fn project(&self, working_directory: &Path) -> PathBuf {
        let beside =
            self.path.parent().filter(|it| !self.is_named && working_directory.starts_with(it));
        let root = || working_directory.ancestors().find(|root| root.join(".git").exists());
        beside.or_else(root).unwrap_or(working_directory).to_owned()
    }

    fn named(working_directory: &Path, file: &Path, by: &str) -> Self {
        let path = working_directory.join(file);
        Self { path, reason: format!("named by {by}"), is_named: true }
    }

    /// The store of the place where the program was started.
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
    /// The root of the worktree, or the place that all its worktrees share.
    root: PathBuf,
    /// Why the root is the only place to look at; `None` in an ordinary worktree.
    shared: Option<&'static str>,
}

impl Repository {
    fn around(directory: &Path) -> Option<Self> {
        directory.ancestors().find_map(|root| {
            let mark = root.join(".git");
            if mark.is_dir() {
                return Some(Self { root: root.to_owned(), shared: None });
            }
            if is_bare(root) {
                return Some(Self { root: root.to_owned(), shared: Some("a bare repository") });
            }
            let git_directory = git_directory(&mark)?;
            Some(Self::of_git_file(root, &git_directory))
        })
    }

    /// The repository of a worktree whose `.git` is a file that names the git directory.
    fn of_git_file(root: &Path, git_directory: &Path) -> Self {
        if !git_directory.is_dir() {
            let reason = "this worktree's root, because its repository is gone; set ISSUES_FILE";
            return Self { root: root.to_owned(), shared: Some(reason) };
        }
        let Some(common) = common_directory(git_directory) else {
            // A submodule, or a repository that keeps its files elsewhere.
            return Self { root: root.to_owned(), shared: None };
        };
        match main_worktree(&common) {
            Some(root) => {
                Self { root, shared: Some("a linked worktree uses the store of its repository") }
            }
            None if is_bare(&common) => Self {
                root: common,
                shared: Some("a linked worktree of a bare repository uses the store in there"),
            },
            None => Self {
                root: common,
                shared: Some("a linked worktree whose main worktree is not known; set ISSUES_FILE"),
            },
        }
    }
}

/// The directory that a `.git` file points to.
fn git_directory(mark: &Path) -> Option<PathBuf> {
    let text = small_file::read(mark, MAX_BYTES).ok()?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(mark.parent()?.join(target))
}

/// For the git directory of a linked worktree, the one that all its worktrees share.
fn common_directory(git_directory: &Path) -> Option<PathBuf> {
    let common = small_file::read(&git_directory.join("commondir"), MAX_BYTES).ok()?;
    fs::canonicalize(git_directory.join(common.trim())).ok()
}

/// The root of the main worktree of a git directory, where it can be told: the setting
/// `core.worktree`, which submodules have; else the directory around `.git`; else the one whose
/// `.git` file leads here.
fn main_worktree(common: &Path) -> Option<PathBuf> {
    if let Some(worktree) = setting(common, "worktree") {
        return fs::canonicalize(common.join(worktree)).ok();
    }
    let parent = common.parent()?;
    let leads_here = |target: PathBuf| fs::canonicalize(target).is_ok_and(|it| it == common);
    let is_around = common.file_name().is_some_and(|name| name == ".git")
        || git_directory(&parent.join(".git")).is_some_and(leads_here);
    is_around.then(|| parent.to_owned())
}

/// Tells whether a directory is a git directory that says it has no worktree of its own.
fn is_bare(directory: &Path) -> bool {
    directory.join("HEAD").is_file()
        && directory.join("objects").is_dir()
        && setting(directory, "bare")
            .is_some_and(|value| matches!(value.as_str(), "true" | "yes" | "on" | "1"))
}

/// The value of a key in the section `[core]` of a git directory's configuration.
fn setting(git_directory: &Path, key: &str) -> Option<String> {
    let text = small_file::read(&git_directory.join("config"), MAX_BYTES).ok()?;
    let core = text.lines().map(str::trim).skip_while(|line| *line != "[core]").skip(1);
    let mut settings =
        core.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    settings
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim().trim_matches('"').to_owned())
}
