//! `ait hooks` in temporary repositories, with the real git and a separate home.

mod clients;
mod commits;
mod install;
mod merges;
mod trouble;
mod usage;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::runs::Run;
use crate::support::{BINARY, ait_through, directory, id_in};

/// A repository with one commit, a home directory and `ait` on the `PATH`.
pub struct Desk {
    _directory: tempfile::TempDir,
    pub root: PathBuf,
}

impl Desk {
    pub fn new() -> Self {
        let directory = directory();
        let root = directory.path().canonicalize().unwrap();
        for name in ["home", "bin", "project"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink(BINARY, root.join("bin/ait")).unwrap();
        let desk = Self { _directory: directory, root };
        for (key, value) in
            [("user.name", "t"), ("user.email", "t@t"), ("init.defaultBranch", "main")]
        {
            desk.git(&["config", "--global", key, value]);
        }
        desk.git(&["init", "-q"]);
        desk.write(".gitignore", "issues.json*\n.issues.json*\n");
        desk.git(&["add", ".gitignore"]);
        desk.git(&["commit", "-qm", "start"]);
        desk
    }

    /// Creates a repository with the hooks installed.
    pub fn with_hooks() -> Self {
        let desk = Self::new();
        desk.ait(&["hooks", "install"]).ok();
        desk
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    fn hooks(&self) -> PathBuf {
        self.project().join(".git/hooks")
    }

    pub fn command(&self, program: &str, directory: &Path, arguments: &[&str]) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = ait_through(program, directory);
        command.args(arguments).env("HOME", self.root.join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("GIT_CONFIG_GLOBAL", self.root.join("home/.gitconfig"));
        command.env("PATH", format!("{}:{path}", self.root.join("bin").display()));
        for variable in ["GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    pub fn run(&self, program: &str, directory: &Path, arguments: &[&str]) -> Run {
        end(&mut self.command(program, directory, arguments))
    }

    pub fn ait(&self, arguments: &[&str]) -> Run {
        self.run("ait", &self.project(), arguments)
    }

    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.git_in(&self.project(), arguments)
    }

    #[track_caller]
    pub fn git_in(&self, directory: &Path, arguments: &[&str]) -> String {
        self.run("git", directory, arguments).ok()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes an executable hook.
    fn write_hook(&self, path: &Path, script: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, script).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Adds an issue. Returns the first 8 digits of its id.
    pub fn add(&self, title: &str) -> String {
        let added = self.ait(&["add", title, "-c", "bug", "-a", "a", "--json"]).ok();
        let added: Value = serde_json::from_str(&added).unwrap();
        id_in(added["id"].as_str().unwrap())[..8].to_owned()
    }

    /// Adds and claims an issue, and creates a worktree and a branch for it as the prompts do.
    pub fn claimed(&self, title: &str) -> (String, PathBuf) {
        let id = self.add(title);
        self.ait(&["next", "-a", "dev"]).ok();
        (id.clone(), self.worktree(&id))
    }

    fn worktree(&self, id: &str) -> PathBuf {
        let path = self.root.join(format!("project-{id}"));
        let branch = format!("issue-{id}");
        self.git(&["worktree", "add", "-q", path.to_str().unwrap(), "-b", &branch, "main"]);
        path
    }

    /// Commits a new file.
    pub fn commit(&self, directory: &Path, name: &str) -> Run {
        fs::write(directory.join(name), name).unwrap();
        self.git_in(directory, &["add", name]);
        self.run("git", directory, &["commit", "-qm", name])
    }

    fn message(&self, directory: &Path) -> String {
        self.git_in(directory, &["log", "-1", "--format=%B"]).trim_end().to_owned()
    }

    /// Returns the comments on an issue.
    pub fn comments(&self, id: &str) -> Vec<String> {
        let shown: Value = serde_json::from_str(&self.ait(&["show", id, "--json"]).ok()).unwrap();
        let comments = shown["comments"].as_array().unwrap().iter();
        comments.map(|comment| comment["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the state of each hook, and the exit code.
    fn states(&self) -> (Vec<String>, i32) {
        let run = self.ait(&["hooks", "status", "--json"]);
        let report: Value = serde_json::from_str(&run.out).unwrap();
        let states = report["hooks"].as_array().unwrap().iter();
        (states.map(|hook| hook["state"].as_str().unwrap().to_owned()).collect(), run.code)
    }
}

pub fn end(command: &mut Command) -> Run {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Run { code: output.status.code().unwrap(), out: text(output.stdout), log: text(output.stderr) }
}

/// Returns the entries of a directory with their modes and their bytes or link targets.
fn tree(directory: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let Ok(entries) = fs::read_dir(directory) else { return BTreeMap::new() };
    let entries = entries.map(|entry| {
        let path = entry.unwrap().path();
        let mode = path.symlink_metadata().unwrap().permissions().mode();
        let content = match fs::read_link(&path) {
            Ok(target) => target.to_str().unwrap().into(),
            Err(_) => fs::read(&path).unwrap_or_default(),
        };
        (path.file_name().unwrap().to_str().unwrap().to_owned(), (mode, content))
    });
    entries.collect()
}
