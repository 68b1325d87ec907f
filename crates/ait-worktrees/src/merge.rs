//! Merges the branch of an issue into the branch of the main worktree, or leaves everything as it was.
//!
//! With a check, the merge is tried out first without a commit, so that the main branch never has a commit that
//! did not pass. The lock file names the branch that is tried out. A process that dies meanwhile leaves a merge in
//! progress there, which the next one undoes.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result};

use super::{Repository, branch_of, changed_files, lock_worktrees, named, worktrees};
use ait_domain::ErrorCode;
use ait_domain::event::CONFLICT;
use ait_setup::WORKTREES;

/// The lock file, in the directory that all worktrees share.
const LOCK: &str = "ait-merge.lock";
/// How many merges are searched for an earlier merge of a branch.
const MAX_MERGES: &str = "--max-count=1000";

/// Why a branch is not merged. The main branch is as it was.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{reason}")]
pub struct NotMerged {
    /// The reason, with the way out.
    pub reason: String,
    /// What kind of reason it is.
    pub code: ErrorCode,
    /// The files that it is about.
    pub files: Vec<String>,
    /// The last lines of a check that failed.
    pub output: String,
}

impl NotMerged {
    /// Creates a reason that is about no file.
    pub fn new(code: ErrorCode, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), code, files: Vec::new(), output: String::new() }
    }

    fn conflict(reason: impl Into<String>) -> anyhow::Error {
        Self::new(ErrorCode::Conflict, reason).into()
    }

    fn about(files: Vec<String>, reason: impl Into<String>) -> anyhow::Error {
        Self { files, ..Self::new(ErrorCode::Conflict, reason) }.into()
    }
}

/// What a repository has of an issue.
#[derive(Debug)]
pub enum FoundBranch<'a> {
    /// A branch that can be merged.
    Ready(PendingMerge<'a>),
    /// The merge commit of a branch that is merged already.
    Merged(String),
    /// No branch, and no merge of one.
    Missing,
}

/// A branch that can be merged. No other process of ait merges as long as this exists.
#[derive(Debug)]
pub struct PendingMerge<'a> {
    repository: &'a Repository,
    branch: String,
    /// The last commit of the branch.
    tip: String,
    /// The last commit of the main branch.
    head: String,
    lock: File,
}

impl Repository {
    /// Finds the branch of an issue, and checks that it can be merged. `store` are the files of the store.
    pub async fn find_branch(&self, id: &str, store: &[&Path]) -> Result<FoundBranch<'_>> {
        let lock = self.lock()?;
        let branch = branch_of(id);
        let tip = self.tip(&branch).await?;
        let Some(tip) = tip else {
            let merged = self.find_merge(&branch, None).await?;
            return Ok(merged.map_or(FoundBranch::Missing, FoundBranch::Merged));
        };
        if self.count("HEAD", &tip).await? == 0 {
            return match self.find_merge(&branch, Some(&tip)).await? {
                Some(merged) => Ok(FoundBranch::Merged(merged)),
                None => Err(NotMerged::conflict(format!(
                    "{branch} has no commits that {} lacks: nothing is committed there, or it was merged by \
                     fast-forward",
                    self.base
                ))),
            };
        }
        let head = self.git().ask(&["rev-parse", "HEAD"]).await?;
        let merge = PendingMerge { repository: self, branch, tip, head, lock };
        merge.check_main_worktree(store).await?;
        merge.check_branch(id, store).await?;
        Ok(FoundBranch::Ready(merge))
    }

    /// Removes the worktree and the merged branch of an issue. Returns what git refuses to remove, a sentence each.
    pub async fn clean_up(&self, id: &str) -> Result<Vec<String>> {
        let _lock = lock_worktrees(&self.common).await?;
        let branch = branch_of(id);
        for worktree in worktrees(&self.git()).await? {
            if worktree.branch.as_ref() == Some(&branch) {
                let path =
                    worktree.path.to_str().context("the path of the worktree is not UTF-8")?;
                let removed = self.git().run(&["worktree", "remove", path]).await?;
                if !removed.status.success() {
                    return Ok(vec![format!("{path} and {branch} are kept: {}", said(&removed))]);
                }
            }
        }
        if self.tip(&branch).await?.is_none() {
            return Ok(Vec::new());
        }
        let removed = self.git().run(&["branch", "--quiet", "-d", &branch]).await?;
        let kept =
            (!removed.status.success()).then(|| format!("{branch} is kept: {}", said(&removed)));
        Ok(kept.into_iter().collect())
    }

    fn lock(&self) -> Result<File> {
        let path = self.common.join(LOCK);
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.with_context(|| format!("{} cannot be written", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                let reason =
                    "another merge is going on in this repository: try again when it has ended";
                Err(NotMerged::new(ErrorCode::Busy, reason).into())
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("{} cannot be locked", path.display()))
            }
        }
    }

    /// Finds the merge of a branch: by its last commit, or by its name if it is gone.
    async fn find_merge(&self, branch: &str, tip: Option<&str>) -> Result<Option<String>> {
        let log = ["log", "--first-parent", "--merges", MAX_MERGES, "--format=%H %P %s"];
        let merges = self.git().ask(&log).await?;
        let subject = format!("Merge branch '{branch}'");
        let is_of_branch = |rest: &str| match tip {
            Some(tip) => rest.contains(tip),
            None => rest.contains(&subject),
        };
        let found = merges.lines().filter_map(|line| line.split_once(' '));
        Ok(found.filter(|(_, rest)| is_of_branch(rest)).map(|(hash, _)| hash.to_owned()).next())
    }

    async fn merge_head(&self) -> Result<Option<String>> {
        self.git().try_output(&["rev-parse", "--verify", "--quiet", "MERGE_HEAD"]).await
    }

    /// Returns those of the store's files that are in the main worktree, relative to it.
    fn inside(&self, store: &[&Path]) -> Vec<String> {
        let inside = store.iter().filter_map(|file| file.strip_prefix(&self.root).ok());
        inside.map(|file| file.to_string_lossy().into_owned()).collect()
    }
}

impl PendingMerge<'_> {
    /// Merges into the files of the main worktree without a commit. Returns the merged tree.
    pub async fn try_out(&self) -> Result<String> {
        self.lock.write_all_at(self.tip.as_bytes(), 0)?;
        self.merge("--no-commit").await?;
        self.repository.git().ask(&["write-tree"]).await
    }

    /// Undoes what [`try_out`](Self::try_out) did, if it is still there.
    pub async fn undo(&self, tree: &str) -> Result<()> {
        let git = self.repository.git();
        let is_unchanged = self.repository.merge_head().await?.as_ref() == Some(&self.tip)
            && git.ask(&["rev-parse", "HEAD"]).await? == self.head
            && git.ask(&["write-tree"]).await? == tree;
        if is_unchanged {
            return self.abort().await;
        }
        self.lock.set_len(0)?;
        Err(NotMerged::conflict(format!(
            "{} was changed during the check, so the merge is not undone: look at `git status` there",
            self.repository.root.display()
        )))
    }

    /// Merges, and returns the merge commit.
    pub async fn commit(&self) -> Result<String> {
        if self.repository.tip(&self.branch).await?.as_ref() != Some(&self.tip) {
            let reason = format!("{} changed during the check: review it again", self.branch);
            return Err(NotMerged::conflict(reason));
        }
        self.merge("--no-edit").await?;
        self.repository.git().ask(&["rev-parse", "HEAD"]).await
    }

    /// Undoes a merge that is not committed. Keeps changes of files that the merge did not touch.
    async fn abort(&self) -> Result<()> {
        let undone = self.repository.git().run(&["merge", "--abort"]).await?;
        // From here on, a merge in progress is that of a person.
        self.lock.set_len(0)?;
        if undone.status.success() {
            return Ok(());
        }
        Err(NotMerged::conflict(format!(
            "git cannot undo the merge: {}; look at `git status` in {}, restore what changed during the merge, and run \
             `git merge --abort`",
            said(&undone),
            self.repository.root.display()
        )))
    }

    async fn merge(&self, how: &str) -> Result<()> {
        let git = self.repository.git();
        // A stash would take the tracker's changes of a tracked issues.json away while it runs.
        let merge = ["-c", "merge.autostash=false", "merge", "--no-ff", how, &self.branch];
        let merged = git.run(&merge).await?;
        if merged.status.success() {
            return Ok(());
        }
        let files = git.ask(&["diff", "--name-only", "-z", "--diff-filter=U"]).await?;
        let files: Vec<_> =
            files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
        match self.repository.merge_head().await? {
            Some(_) => self.abort().await?,
            None => self.lock.set_len(0)?,
        }
        let branch = &self.branch;
        let base = &self.repository.base;
        if files.is_empty() {
            return Err(NotMerged::conflict(format!(
                "git does not merge {branch}: {}",
                said(&merged)
            )));
        }
        let names = named(files.iter());
        let reason = format!(
            "{branch} conflicts with {base} in {names}; the merge is undone: return the issue with the comment \
             \"{CONFLICT}: {names}\""
        );
        Err(NotMerged::about(files, reason))
    }

    /// Checks that nothing else is going on in the main worktree, and that git knows the author of merges.
    async fn check_main_worktree(&self, store: &[&Path]) -> Result<()> {
        let repository = self.repository;
        let git = self.repository.git();
        let root = repository.root.display();
        if let Some(merged) = repository.merge_head().await? {
            if fs::read_to_string(repository.common.join(LOCK))? != merged {
                return Err(NotMerged::conflict(format!(
                    "a merge is in progress in {root}: finish it with `git commit` there, or undo it with \
                     `git merge --abort`"
                )));
            }
            self.abort().await?;
            tracing::warn!("a merge whose check was killed is undone");
        }
        self.lock.set_len(0)?;
        let store = repository.inside(store);
        let mut changed = changed_files(&git, "--untracked-files=no").await?;
        // The tracker writes a tracked issues.json at any time.
        changed.retain(|(state, file)| state != " M" || !store.contains(file));
        if !changed.is_empty() {
            let files: Vec<_> = changed.into_iter().map(|(_, file)| file).collect();
            let names = named(files.iter());
            let reason =
                format!("{root} has uncommitted changes in {names}: commit them, then try again");
            return Err(NotMerged::about(files, reason));
        }
        let identity = git.run(&["var", "GIT_COMMITTER_IDENT"]).await?;
        if identity.status.success() {
            Ok(())
        } else {
            Err(NotMerged::conflict(format!("git does not commit: {}", said(&identity))))
        }
    }

    /// Checks that all work on the branch is committed, and that it has none of the files of the tracker.
    async fn check_branch(&self, id: &str, store: &[&Path]) -> Result<()> {
        let repository = self.repository;
        let git = self.repository.git();
        let branch = &self.branch;
        for worktree in worktrees(&git).await? {
            let path = worktree.path.display();
            if worktree.branch.as_ref() != Some(branch) {
                if worktree.path == repository.path_of(id) {
                    return Err(NotMerged::conflict(format!(
                        "{path} is not on {branch}, perhaps in the middle of a rebase: finish that first"
                    )));
                }
                continue;
            }
            let changed =
                changed_files(&repository.git_in(&worktree.path), "--untracked-files=normal")
                    .await?;
            if !changed.is_empty() {
                let files: Vec<_> = changed.into_iter().map(|(_, file)| file).collect();
                let names = named(files.iter());
                let reason = format!(
                    "{path} has uncommitted work in {names}: return the issue, and name these files"
                );
                return Err(NotMerged::about(files, reason));
            }
        }
        let fork = git.ask(&["merge-base", "HEAD", &self.tip]).await?;
        let mut diff = vec!["diff", "--name-only", "-z", &fork, &self.tip, "--", WORKTREES];
        let store = repository.inside(store);
        diff.extend(store.iter().map(String::as_str));
        let files = git.ask(&diff).await?;
        let files: Vec<_> =
            files.split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect();
        if files.is_empty() {
            return Ok(());
        }
        let names = named(files.iter());
        let reason = format!(
            "{branch} changes files of the tracker, {names}: take that back there with `git checkout {} -- FILE`, or \
             with `git rm --cached FILE` for a new file, and commit",
            &fork[..fork.len().min(10)]
        );
        Err(NotMerged::about(files, reason))
    }
}

/// Returns what git says when it refuses.
fn said(output: &Output) -> String {
    let texts = [&output.stderr, &output.stdout].map(|text| String::from_utf8_lossy(text));
    let text = texts.iter().map(|text| text.trim()).find(|text| !text.is_empty());
    text.unwrap_or("git gives no reason").to_owned()
}
