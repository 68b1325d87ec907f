//! The worktrees and branches in which agents work on issues, and the merges of these branches.
//!
//! The worktree of the issue 3f2a9c1e is `.worktrees/3f2a9c1e` in the main worktree, and its branch `issue-3f2a9c1e`.
//! Branches begin at the branch of the main worktree, and are merged into it.
//!
//! Knows no store and no command line. All of it is done by `git`.

mod check;
mod diff;
mod merge;
mod work;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

pub use check::{CheckResult, run_check};
pub use diff::{Diff, FileDiff, diff};
pub use merge::{FoundBranch, NotMerged, PendingMerge};
pub use work::{changed, handed_in, last_sign, measure, newer_head, open_branches};

use ait_domain::IssueRef;
use ait_setup::WORKTREES;
use ait_system::git::Git;

/// How long one call of git may take: a checkout of a large repository takes minutes.
const LIMIT: Duration = Duration::from_secs(600);
/// The file that is locked while worktrees are made, looked for or removed, in the directory that all of them share.
const LOCK: &str = "ait-worktrees.lock";
/// How many files a message names.
const MAX_NAMED: usize = 10;

/// A repository whose main worktree is on a branch.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The main worktree.
    pub root: PathBuf,
    /// The branch of the main worktree.
    pub base: String,
    /// The directory that all worktrees share.
    common: PathBuf,
}

/// A worktree as git lists it.
#[derive(Clone, Debug)]
struct Worktree {
    path: PathBuf,
    /// The branch; `None` if the head is detached.
    branch: Option<String>,
}

/// The worktree of an issue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IssueWorktree {
    pub path: PathBuf,
    pub branch: String,
    /// Whether the branch is new.
    pub is_new: bool,
    /// How many commits the branch has that the base lacks.
    pub commits: usize,
    /// How many commits the base has that the branch lacks.
    pub behind: usize,
    /// The files with changes that are not committed, also those that git does not know.
    pub uncommitted: Vec<String>,
}

impl Repository {
    /// Finds the repository around a directory, and forgets worktrees whose directories are gone.
    ///
    /// # Errors
    ///
    /// There is no repository with a main worktree on a branch with a commit, or git fails.
    pub async fn around(directory: &Path) -> Result<Self> {
        let git = Git::around(directory, LIMIT);
        let common = git.ask(&["rev-parse", "--git-common-dir"]).await.map_err(|error| {
            anyhow!("no repository here ({error}): go into one, or make one with `git init`")
        })?;
        let common = fs::canonicalize(directory.join(common))?;
        let lock = lock_worktrees(&common).await?;
        git.ask(&["worktree", "prune"]).await?;
        let main = worktrees(&git).await?.into_iter().next();
        drop(lock);
        let git = git.within(&main.context("git lists no worktree")?.path);
        let Some(root) = git.try_output(&["rev-parse", "--show-toplevel"]).await? else {
            bail!(
                "{} is a bare repository: go into a clone of it, which has a main worktree",
                git.directory.display()
            );
        };
        let shown = &root;
        let Some(base) = git.branch().await? else {
            bail!(
                "the main worktree {shown} is on no branch: check one out there, such as `git checkout main`"
            );
        };
        if IssueRef::in_branch(&base).is_some() {
            bail!(
                "the main worktree {shown} is on {base}, the branch of an issue: check out the branch there that \
                 issues are merged into, such as `git checkout main`"
            );
        }
        if git.try_output(&["rev-parse", "--verify", "--quiet", "HEAD"]).await?.is_none() {
            bail!(
                "{base} has no commit yet, and a branch needs one to begin at: commit your files"
            );
        }
        Ok(Self { root: root.into(), base, common })
    }

    /// Makes the worktree and the branch of an issue, or finds them.
    ///
    /// # Errors
    ///
    /// Something else is in their place, or git fails.
    pub async fn open(&self, id: &str) -> Result<IssueWorktree> {
        let _lock = lock_worktrees(&self.common).await?;
        let branch = branch_of(id);
        let path = self.path_of(id);
        let is_new = self.tip(&branch).await?.is_none();
        let known = worktrees(&self.git()).await?;
        let path = match known.iter().find(|known| known.branch.as_ref() == Some(&branch)) {
            Some(own) => own.path.clone(),
            None => {
                let new = [&branch, "--no-track", "-b", &branch, &self.base];
                let checkout = if is_new { &new[1..] } else { &new[..1] };
                match known.iter().find(|known| known.path == path) {
                    Some(other) => self.switch(other, &branch, checkout).await?,
                    None => self.add(&path, checkout).await?,
                }
                path
            }
        };
        let tip = self.tip(&branch).await?.with_context(|| format!("{branch} is gone"))?;
        let commits = self.count("HEAD", &tip).await?;
        let behind = self.count(&tip, "HEAD").await?;
        let uncommitted = changed_files(&self.git_in(&path), "--untracked-files=normal").await?;
        let uncommitted = uncommitted.into_iter().map(|(_, file)| file).collect();
        Ok(IssueWorktree { path, branch, is_new, commits, behind, uncommitted })
    }

    /// Checks the branch of an issue out in its worktree, where another branch is.
    async fn switch(&self, other: &Worktree, branch: &str, checkout: &[&str]) -> Result<()> {
        let path = other.path.display();
        let Some(current) = &other.branch else {
            bail!(
                "{path} is on no branch, perhaps in the middle of a rebase: finish that, and check out {branch} there"
            );
        };
        let git = self.git_in(&other.path);
        let changed = changed_files(&git, "--untracked-files=normal").await?;
        if !changed.is_empty() {
            let files = named(changed.iter().map(|(_, file)| file));
            bail!(
                "{path} is on {current}, with uncommitted work in {files}: commit that there, then try again"
            );
        }
        git.ask(&[&["checkout", "--quiet"], checkout].concat()).await?;
        Ok(())
    }

    /// Adds a worktree at a path.
    async fn add(&self, path: &Path, checkout: &[&str]) -> Result<()> {
        let shown = path.display();
        if self.root.join(WORKTREES).is_symlink() {
            bail!(
                "{WORKTREES} is a symbolic link, and worktrees belong into the repository: remove it"
            );
        }
        if path.symlink_metadata().is_ok() {
            bail!("{shown} is no worktree of this repository: move it away, then try again");
        }
        self.ignore_worktrees().await?;
        // git takes the path before or behind its options.
        let path = path.to_str().with_context(|| format!("the path {shown} is not UTF-8"))?;
        self.git().ask(&[&["worktree", "add", "--quiet", path], checkout].concat()).await?;
        Ok(())
    }

    /// Makes git ignore the worktrees, unless the project does.
    async fn ignore_worktrees(&self) -> Result<()> {
        let inside = format!("{WORKTREES}/x");
        if self.git().try_output(&["check-ignore", "--quiet", &inside]).await?.is_some() {
            return Ok(());
        }
        let path = self.common.join("info/exclude");
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("/{WORKTREES}/\n"));
        fs::create_dir_all(self.common.join("info"))
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    /// Returns the worktree in which the branch of an issue is checked out.
    pub async fn worktree_of(&self, id: &str) -> Result<Option<PathBuf>> {
        let branch = branch_of(id);
        let mut worktrees = worktrees(&self.git()).await?.into_iter();
        Ok(worktrees.find(|worktree| worktree.branch.as_ref() == Some(&branch)).map(|own| own.path))
    }

    /// Returns the hash of the files of the last commit in a worktree.
    ///
    /// # Errors
    ///
    /// The worktree has other files, or git fails.
    pub async fn committed_tree(&self, worktree: &Path) -> Result<String> {
        let git = self.git_in(worktree);
        let tree = git.ask(&["rev-parse", "HEAD^{tree}"]).await?;
        // The index of the worktree can say of a changed file that it is as committed, so this takes a new one.
        let directory = tempfile::tempdir()?;
        let index = git.with_index(directory.path().join("index"));
        index.ask(&["read-tree", &tree]).await?;
        index.ask(&["-c", "core.fsmonitor=false", "add", "--all"]).await?;
        if index.ask(&["write-tree"]).await? == tree {
            return Ok(tree);
        }
        let files = index.ask(&["diff", "--cached", "--name-only", "-z", &tree, "--"]).await?;
        let files: Vec<_> = files.split('\0').filter(|file| !file.is_empty()).collect();
        let path = worktree.display();
        bail!("{path} has uncommitted work in {}: commit it, then try again", named(files.iter()))
    }

    /// Returns the hash of the files of a commit.
    pub async fn tree_of(&self, commit: &str) -> Result<String> {
        self.git().ask(&["rev-parse", &format!("{commit}^{{tree}}")]).await
    }

    fn path_of(&self, id: &str) -> PathBuf {
        self.root.join(WORKTREES).join(id)
    }

    fn git(&self) -> Git {
        self.git_in(&self.root)
    }

    fn git_in(&self, worktree: &Path) -> Git {
        Git::around(worktree, LIMIT)
    }

    /// Returns the last commit of a branch; `None` if there is no such branch.
    async fn tip(&self, branch: &str) -> Result<Option<String>> {
        let reference = format!("refs/heads/{branch}");
        self.git().try_output(&["rev-parse", "--verify", "--quiet", &reference]).await
    }

    /// Counts the commits of `to` that `from` lacks.
    async fn count(&self, from: &str, to: &str) -> Result<usize> {
        let count = self.git().ask(&["rev-list", "--count", &format!("{from}..{to}")]).await?;
        Ok(count.parse()?)
    }
}

/// Returns the name of the branch of an issue.
pub fn branch_of(id: &str) -> String {
    format!("issue-{id}")
}

/// Waits for other processes that make, look for or remove worktrees. Until the file is dropped, others wait for this
/// one: git fails where it finds a worktree that another git is making or removing.
async fn lock_worktrees(common: &Path) -> Result<File> {
    let path = common.join(LOCK);
    let shown = path.display().to_string();
    let locking = move || {
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        file.lock().map(|()| file)
    };
    let locked = tokio::task::spawn_blocking(locking).await?;
    locked.with_context(|| format!("{shown} cannot be locked"))
}

/// Returns the worktrees of a repository, the main one first.
async fn worktrees(git: &Git) -> Result<Vec<Worktree>> {
    let listed = git.ask(&["worktree", "list", "--porcelain"]).await?;
    let worktree = |text: &str| {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        let branch = value("branch refs/heads/").map(str::to_owned);
        Some(Worktree { path: value("worktree ")?.into(), branch })
    };
    Ok(listed.split("\n\n").filter_map(worktree).collect())
}

/// Returns the files of a worktree that differ from its last commit, each with the two letters of its state.
async fn changed_files(git: &Git, untracked: &str) -> Result<Vec<(String, String)>> {
    let listed = git.ask(&["status", "--porcelain", "-z", "--no-renames", untracked]).await?;
    let file = |entry: &str| {
        let (state, file) = entry.split_at_checked(3)?;
        Some((state[..2].to_owned(), file.to_owned()))
    };
    Ok(listed.split('\0').filter_map(file).collect())
}

/// Names files in a sentence.
pub fn named<T: AsRef<str>>(files: impl ExactSizeIterator<Item = T>) -> String {
    let more = files.len().saturating_sub(MAX_NAMED);
    let mut text = String::new();
    for file in files.take(MAX_NAMED) {
        let comma = if text.is_empty() { "" } else { ", " };
        text += &format!("{comma}{}", file.as_ref());
    }
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}
