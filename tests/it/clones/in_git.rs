//! Clones as worktrees of a real repository, each on a branch of its own. git calls the merge driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Mutex;

use super::history::Clones;
use crate::support::{BINARY, ait_through, directory};

/// A repository in which git merges by the driver. Making one for each history would take most of the time.
pub struct Repository {
    directory: tempfile::TempDir,
    /// The worktrees that no history uses.
    free: Mutex<Vec<PathBuf>>,
}

impl Repository {
    pub fn new() -> Self {
        let repository = Self { directory: directory(), free: Mutex::default() };
        let root = repository.root();
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q", "-b", "main"]);
        let driver = format!("{BINARY} merge-driver %O %A %B");
        git(&root, &["config", "merge.ait.driver", &driver]);
        git(&root, &["config", "core.fsync", "none"]);
        fs::write(root.join(".gitattributes"), "/issues.json merge=ait\n").unwrap();
        fs::write(root.join("issues.json"), "{\n  \"issues\": []\n}\n").unwrap();
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-qm", "Begin"]);
        repository
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("main")
    }

    fn worktree(&self) -> PathBuf {
        let mut free = self.free.lock().unwrap();
        if let Some(path) = free.pop() {
            return path;
        }
        let mut path = tempfile::Builder::new().prefix("clone").tempdir_in(self.directory.path());
        path.as_mut().unwrap().disable_cleanup(true);
        let path = path.unwrap().path().to_owned();
        git(&self.root(), &["worktree", "add", "-q", "--detach", path.to_str().unwrap(), "main"]);
        path
    }
}

/// Clones of one history.
pub struct GitClones<'a> {
    repository: &'a Repository,
    /// The worktrees, each with its branch.
    clones: Vec<(PathBuf, String)>,
}

impl<'a> GitClones<'a> {
    pub fn new(repository: &'a Repository, seed: u64, count: usize) -> Self {
        let clone = |index| {
            let (path, branch) = (repository.worktree(), format!("history-{seed}-{index}"));
            git(&path, &["checkout", "-q", "-f", "-B", &branch, "main"]);
            (path, branch)
        };
        Self { repository, clones: (0..count).map(clone).collect() }
    }

    #[track_caller]
    fn git(&self, clone: usize, arguments: &[&str]) {
        git(&self.clones[clone].0, arguments);
    }

    fn branch(&self, clone: usize) -> &str {
        &self.clones[clone].1
    }

    fn is_clean(&self, clone: usize) -> bool {
        try_git(&self.clones[clone].0, &["diff", "--quiet", "HEAD"]).status.success()
    }
}

impl Drop for GitClones<'_> {
    fn drop(&mut self) {
        let mut free = self.repository.free.lock().unwrap();
        free.extend(self.clones.drain(..).map(|(path, _)| path));
    }
}

impl Clones for GitClones<'_> {
    fn read(&self, clone: usize) -> Vec<u8> {
        fs::read(self.clones[clone].0.join("issues.json")).unwrap()
    }

    fn write(&mut self, clone: usize, file: &[u8]) {
        fs::write(self.clones[clone].0.join("issues.json"), file).unwrap();
    }

    fn commit(&mut self, clone: usize) {
        // Fails if there is nothing to commit.
        let committed = try_git(&self.clones[clone].0, &["commit", "-qam", "Change"]);
        assert!(committed.status.code().is_some_and(|code| code < 2), "{committed:?}");
    }

    fn merge(&mut self, clone: usize, others: &[usize]) {
        if others.len() > 1 {
            let branches = others.iter().map(|other| self.branch(*other));
            let arguments: Vec<_> =
                ["merge", "-q", "--no-edit"].into_iter().chain(branches).collect();
            if try_git(&self.clones[clone].0, &arguments).status.success() {
                return;
            }
            // An octopus merges by line, without drivers. It gives up at a conflict.
            self.git(clone, &["reset", "-q", "--hard"]);
        }
        for other in others {
            self.git(clone, &["merge", "-q", "--no-edit", self.branch(*other)]);
        }
    }

    fn rebase(&mut self, clone: usize, onto: usize) {
        self.git(clone, &["rebase", "-q", self.branch(onto)]);
    }

    fn cherry_pick(&mut self, clone: usize, from: usize) {
        let commit = self.branch(from);
        if !try_git(&self.clones[clone].0, &["rev-parse", "-q", "--verify", &format!("{commit}^2")])
            .status
            .success()
        {
            self.git(clone, &["cherry-pick", "--allow-empty", "--keep-redundant-commits", commit]);
        }
    }

    fn stash(&mut self, clone: usize) {
        if !self.is_clean(clone) {
            let message = self.branch(clone).to_owned();
            self.git(clone, &["stash", "push", "-q", "-m", &message]);
        }
    }

    fn pop(&mut self, clone: usize) {
        // All worktrees share the list of stashes.
        let listed = try_git(&self.clones[clone].0, &["stash", "list", "--format=%gd %gs"]);
        let listed = String::from_utf8(listed.stdout).unwrap();
        let own = format!(": {}", self.branch(clone));
        let Some(entry) = listed.lines().find(|line| line.ends_with(&own)) else { return };
        self.git(clone, &["stash", "pop", "-q", entry.split(' ').next().unwrap()]);
    }
}

/// Runs a git command that must succeed.
#[track_caller]
pub fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = try_git(directory, arguments);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "git {arguments:?}: {text}");
    text
}

/// Runs git with an identity, and without settings of the machine.
pub fn try_git(directory: &Path, arguments: &[&str]) -> Output {
    let mut command = ait_through("git", directory);
    command.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "gc.auto=0"]);
    command.args(["-c", "maintenance.auto=false", "-c", "core.editor=true"]);
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.args(arguments).output().unwrap()
}
