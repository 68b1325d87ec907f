//! `ait init` in temporary projects, each with a separate home.

mod by_url;
mod clients;
mod files;
mod permissions;
mod refusals;
mod schemas;
mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::runs::Run;
use crate::support::{BINARY, ait, directory};

/// The settings of a new project that has a lead.
const TEAM_SETTINGS: &str = "toolsets = [\"planning\", \"memory\"]  # by ait init\n";
/// Those of one that has none.
const SOLO_SETTINGS: &str = "toolsets = [\"memory\"]  # by ait init\n";
/// The settings that `ait init` writes for a new project, except the port.
const NEW_PROJECT_SETTINGS: &str = "replies = \"compact\"  # by ait init\nclaims = \"owned\"  # by ait init\n\
     max-attempts = 3  # by ait init\nreview = \"not-author\"  # by ait init\n\
     toolsets = [\"planning\", \"memory\"]  # by ait init\n";

/// A project with a separate home and `PATH`.
pub struct Desk {
    _directory: tempfile::TempDir,
    pub root: PathBuf,
}

impl Desk {
    /// Creates an empty repository with `ait` on the `PATH`.
    pub fn new() -> Self {
        let directory = directory();
        let root = directory.path().canonicalize().unwrap();
        for name in ["home", "bin", "project/.git"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("project/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::os::unix::fs::symlink(BINARY, root.join("bin/ait")).unwrap();
        Self { _directory: directory, root }
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Creates a second project in the same home.
    pub fn other(&self) -> PathBuf {
        let other = self.root.join("other");
        fs::create_dir_all(other.join(".git")).unwrap();
        fs::write(other.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        other
    }

    pub fn command(&self, directory: &Path, arguments: &[&str]) -> Command {
        let mut command = ait(directory);
        command.args(arguments).env("HOME", self.root.join("home"));
        command.env("PATH", self.root.join("bin")).env("XDG_STATE_HOME", self.root.join("state"));
        command.env_remove("XDG_CONFIG_HOME").env_remove("PORT").env_remove("CODEX_HOME");
        command
    }

    pub fn run_in(&self, directory: &Path, arguments: &[&str]) -> Run {
        let mut command = self.command(directory, arguments);
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            log: text(output.stderr),
        }
    }

    /// Runs `ait init` with these arguments in the project.
    pub fn init(&self, arguments: &[&str]) -> Run {
        self.run_in(&self.project(), &[&["init"], arguments].concat())
    }

    /// Runs `ait init --yes` with these arguments.
    pub fn init_now(&self, arguments: &[&str]) -> String {
        self.init(&[&["--yes"], arguments].concat()).ok()
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.project().join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn has(&self, name: &str) -> bool {
        self.project().join(name).exists()
    }

    /// Returns every file of the project and the home, with its bytes.
    pub fn tree(&self) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        let mut directories = vec![self.project(), self.root.join("home")];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).unwrap() {
                let path = entry.unwrap().path();
                let is_directory = path.is_dir() && !path.is_symlink();
                tree.insert(
                    path.clone(),
                    (!is_directory).then(|| fs::read(&path).unwrap_or_default()),
                );
                if is_directory {
                    directories.push(path);
                }
            }
        }
        tree
    }
}

/// Parses JSON with comments, using another parser than `ait`.
fn read_json(text: &str) -> Value {
    let mut text = text.to_owned();
    json_strip_comments::strip(&mut text).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Parses TOML into JSON.
fn read_toml(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    serde_json::to_value(table).unwrap()
}
