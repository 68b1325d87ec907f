//! Finds the directory with the hooks of a repository.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};

use super::Hook;
use ait_system::git::Git;

/// The directory with the hooks of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HooksDir {
    /// Its path; it need not exist.
    pub path: PathBuf,
    /// The file that sets `core.hooksPath`, if one does.
    pub set_by: Option<String>,
    /// Whether it is in the worktree, so that its files are committed or ignored like others.
    pub is_in_worktree: bool,
    /// Why nothing may be written there.
    pub blocker: Option<Blocker>,
}

/// Why nothing may be written to a directory with hooks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Blocker {
    /// Other repositories use it, too.
    Shared,
    /// husky overwrites it.
    Husky,
}

impl HooksDir {
    /// Finds the directory. Linked worktrees share that of their repository.
    pub async fn find(git: &Git) -> Result<Self> {
        // git reads a relative path from the root of the worktree.
        let root = git.try_output(&["rev-parse", "--show-toplevel"]).await?.map(PathBuf::from);
        let git = git.within(root.as_deref().unwrap_or(&git.directory));
        let path = git.ask(&["rev-parse", "--git-path", "hooks"]).await.map_err(|error| {
            anyhow!("no repository here ({error}): go into one, or make one with `git init`")
        })?;
        let path = git.directory.join(path);
        let set_by = setting(&git, &["--show-origin"]).await?;
        let (set_by, value) = set_by.as_deref().and_then(|line| line.split_once('\t')).unzip();
        let mut is_own = false;
        for scope in ["--worktree", "--local"] {
            let own = setting(&git, &[scope, "--includes"]).await?;
            is_own |= own.is_some() && own.as_deref() == value;
        }
        let common = git.try_output(&["rev-parse", "--git-common-dir"]).await?;
        let real_path = real(&path);
        let is_in_git =
            real_path.starts_with(real(&git.directory.join(common.unwrap_or_default())));
        let is_in_root = root.is_some_and(|root| real_path.starts_with(real(&root)));
        // husky writes its hooks here from version 9 on.
        let blocker = if path.ends_with(".husky/_") {
            Some(Blocker::Husky)
        } else {
            (value.is_some() && !is_own && !is_in_git).then_some(Blocker::Shared)
        };
        let set_by = set_by.map(|by| by.trim_start_matches("file:").to_owned());
        Ok(Self { path, set_by, is_in_worktree: is_in_root && !is_in_git, blocker })
    }

    /// Returns the file of a hook to which the user adds our line, if ait may not write it.
    pub fn file_of_user(&self, hook: Hook) -> Option<PathBuf> {
        Some(match self.blocker? {
            Blocker::Husky => self.path.with_file_name(hook.as_str()),
            Blocker::Shared => self.path.join(hook.as_str()),
        })
    }

    /// Checks that hooks may be written there.
    ///
    /// # Errors
    ///
    /// They may not; the text has the line to add to which file instead.
    pub fn check_writable(&self, command: &str) -> Result<()> {
        let directory = self.path.display();
        let command = shell_words::quote(command);
        match self.blocker {
            None => Ok(()),
            Some(Blocker::Shared) => bail!(
                "the hooks of all your repositories are in {directory} ({} sets core.hooksPath), and ait does not \
                 change them: either add the line `{command} hooks run \"$(basename \"$0\")\" \"$@\" || :` to each of \
                 them, which does nothing without a store; or give this repository hooks of its own, with `git \
                 config --local core.hooksPath \"$(git rev-parse --path-format=absolute \
                 --git-common-dir)/hooks\"`, and try again",
                self.set_by.as_deref().unwrap_or_default()
            ),
            Some(Blocker::Husky) => {
                let hook = Hook::PrepareCommitMsg.as_str();
                let file = self.path.with_file_name(hook);
                bail!(
                    "husky overwrites the hooks in {directory}: add the line `{command} hooks run {hook} \"$@\" || :` \
                     to {} instead, and the line for post-merge to the file of that hook",
                    file.display()
                )
            }
        }
    }
}

/// The value of `core.hooksPath`.
async fn setting(git: &Git, options: &[&str]) -> Result<Option<String>> {
    git.try_output(&[&["config"], options, &["--get", "core.hooksPath"]].concat()).await
}

/// Resolves the links of a path, also where its end does not exist yet.
fn real(path: &Path) -> PathBuf {
    let there =
        path.ancestors().find_map(|ancestor| Some((ancestor, ancestor.canonicalize().ok()?)));
    let Some((there, real)) = there else { return path.to_owned() };
    path.strip_prefix(there).map_or(real.clone(), |rest| real.join(rest))
}
