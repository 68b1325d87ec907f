//! Where the hooks of a repository are.

use std::path::{Path, PathBuf};

use super::git::{Git, GitError};
use super::{Hook, HooksError};

/// Where the hooks of a repository are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The directory; it need not exist.
    pub directory: PathBuf,
    /// Who says so: a file with `core.hooksPath`. `None` for the usual place.
    pub set_by: Option<String>,
    /// Whether what is there belongs to the worktree, and so is committed or ignored like other files.
    pub is_in_worktree: bool,
    /// Why nothing may be written there.
    pub barrier: Option<Barrier>,
}

/// Why nothing may be written where hooks are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barrier {
    /// They are those of other repositories too.
    Everywhere,
    /// husky writes them anew.
    Husky,
}

/// Finds them. Linked worktrees share those of their repository.
///
/// # Errors
///
/// There is no repository, or git cannot be asked.
pub async fn place(git: &Git) -> Result<Place, HooksError> {
    // A path that is set counts from the root of the worktree, where hooks run.
    let root = git.ask_whether(&["rev-parse", "--show-toplevel"]).await?.map(PathBuf::from);
    let git = git.within(root.as_deref().unwrap_or(git.directory()));
    let directory = match git.ask(&["rev-parse", "--git-path", "hooks"]).await {
        Ok(path) => git.directory().join(path),
        Err(GitError::Refused { said, .. }) => return Err(HooksError::NoRepository { said }),
        Err(error) => return Err(error.into()),
    };
    let set_by = setting(&git, &["--show-origin"]).await?;
    let own = [
        setting(&git, &["--worktree", "--includes"]).await?,
        setting(&git, &["--local", "--includes"]).await?,
    ];
    let (set_by, value) = set_by.as_deref().and_then(|it| it.split_once('\t')).unzip();
    let is_own = own.iter().flatten().any(|it| Some(it.as_str()) == value);
    let common = git.ask_whether(&["rev-parse", "--git-common-dir"]).await?;
    let common = real(&git.directory().join(common.unwrap_or_default()));
    let real_directory = real(&directory);
    let is_in_git = real_directory.starts_with(&common);
    let barrier = if is_husky(&directory) {
        Some(Barrier::Husky)
    } else {
        (value.is_some() && !is_own && !is_in_git).then_some(Barrier::Everywhere)
    };
    let is_in_root = root.is_some_and(|root| real_directory.starts_with(real(&root)));
    let set_by = set_by.map(|by| by.trim_start_matches("file:").to_owned());
    Ok(Place { directory, set_by, is_in_worktree: is_in_root && !is_in_git, barrier })
}

impl Place {
    /// Tells that nothing may be written there, and what to do instead.
    ///
    /// # Errors
    ///
    /// So it is.
    pub fn writable(&self, command: &str) -> Result<(), HooksError> {
        let hook = Hook::PrepareCommitMsg.name();
        let command = shell_words::quote(command);
        let directory = self.directory.clone();
        match self.barrier {
            None => Ok(()),
            Some(Barrier::Everywhere) => Err(HooksError::Everywhere {
                directory,
                by: self.set_by.clone().unwrap_or_default(),
                line: format!("{command} hooks run \"$(basename \"$0\")\" \"$@\" || :"),
                own: "\"$(git rev-parse --path-format=absolute --git-common-dir)/hooks\""
                    .to_owned(),
            }),
            Some(Barrier::Husky) => {
                let file = directory.parent().unwrap_or(&directory).join(hook);
                let line = format!("{command} hooks run {hook} \"$@\" || :");
                Err(HooksError::Husky { directory, line, file })
            }
        }
    }
}

/// What `core.hooksPath` is set to.
async fn setting(git: &Git, options: &[&str]) -> Result<Option<String>, GitError> {
    let arguments = [&["config"], options, &["--get", "core.hooksPath"]].concat();
    git.ask_whether(&arguments).await
}

/// Tells whether it is where husky, from version 9 on, writes its hooks.
fn is_husky(directory: &Path) -> bool {
    let parent = directory.parent().and_then(Path::file_name);
    directory.file_name().is_some_and(|it| it == "_") && parent.is_some_and(|it| it == ".husky")
}

/// By its one name, also where it does not exist yet.
fn real(path: &Path) -> PathBuf {
    let there = path.ancestors().find_map(|it| Some((it, it.canonicalize().ok()?)));
    let Some((there, real)) = there else { return path.to_owned() };
    path.strip_prefix(there).map_or(real.clone(), |rest| real.join(rest))
}
