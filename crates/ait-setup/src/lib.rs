//! `ait init`: sets a project up for the clients of its agents, and takes that out again.
//!
//! [`plan()`] and [`removal()`] read every file and write nothing; [`apply()`] writes what they planned. The edits
//! are pure functions of texts, in [`edit`]. No record says what was written: a server entry is ours by its name and
//! command, a section by the lines around it, a setting by its comment, a prompt by its hash, a permission by its text.
//!
//! Knows no stores, no servers and no command line.

mod apply;
mod client_hooks;
pub mod clients;
mod consent;
pub mod edit;
mod error;
mod existing;
mod found_client;
mod host_env;
mod installed;
mod languages;
mod memory_section;
pub mod merge_driver;
mod permissions;
mod plan;
mod presets;
pub mod project_files;
pub mod project_prompts;
pub mod prompts;
mod recommendation;
mod removal;
mod report;
pub mod roles;
mod server_file;
mod session_hooks;
pub mod setting;
mod staged_file;
mod store_setting;
mod templates;

use std::path::{Path, PathBuf};
use std::process::Stdio;

pub use apply::{Applied, ApplyError, apply, replace};
pub use client_hooks::{
    ClientHook, ClientHookState, ClientHooks, HooksOfProject, clients_with_hooks,
};
pub use clients::{CLIENTS, Client, Connection, HookClient, guides};
pub use consent::Consent;
pub use error::SetupError;
pub use existing::{ClientEntry, Damaged, InvalidEntry, Transport, entries};
pub use found_client::FoundClient;
pub use host_env::{HostEnv, is_program};
pub use installed::{InstalledSetup, ManagedSection, SectionState, SetupStatus, asks};
pub use languages::ProjectLanguages;
pub use memory_section::plan_memory_section;
pub use plan::{SetupRequest, plan};
pub use presets::Preset;
pub use project_files::FileProblem;
pub use project_prompts::{ProjectPrompt, ProjectPrompts};
pub use recommendation::{Recommendation, recommend};
pub use removal::removal;
pub use report::{ChangeReport, SetupReport, next_steps, steps_after_removal};
pub use roles::{Role, RoleError};
pub use session_hooks::{HookForm, Hooks, SessionEvent};
pub use staged_file::FileChange;
pub use store_setting::{plan_store, plan_sync};
pub use templates::ProjectTemplates;

use staged_file::StagedFiles;

/// The name of the product, as it introduces itself to clients.
pub const PRODUCT: &str = "agent-issue-tracker";
/// The name of our server in the configuration of each client. The prompts expect this name.
pub const SERVER: &str = "issues";
/// The name of the program on the `PATH`.
pub const PROGRAM: &str = "ait";
/// The directory with the worktrees of agents, in the main worktree.
pub const WORKTREES: &str = ".worktrees";
/// What the name of a copy that `ait doctor --fix` makes has between the name of the file and the time.
pub const REPAIR_SUFFIX: &str = ".before-doctor-";

/// A project and what its setup depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Project {
    /// Its directory.
    pub root: PathBuf,
    /// The user's home and programs.
    pub env: HostEnv,
    /// The command by which clients start the tracker.
    pub command: String,
    pub store: PathBuf,
    /// The URL of the database that is to be the store of the project, without its password.
    pub database: Option<String>,
    /// Whether the user named the store, so that clients have to name it, too.
    pub is_store_named: bool,
    /// The file with the settings of the project.
    pub settings: PathBuf,
    /// The port that is pinned for clients that connect by URL; `None` if clients start the tracker.
    pub port: Option<u16>,
    /// Whether callers over HTTP need a token.
    pub needs_token: bool,
}

impl Project {
    /// Returns the place of a client's hooks.
    fn hooks(&self, client: HookClient) -> HooksOfProject<'_> {
        HooksOfProject { client, root: &self.root, env: &self.env, program: &self.command }
    }

    /// Returns true if the entries of clients have an absolute path, which works only on this machine.
    pub fn has_machine_paths(&self) -> bool {
        self.command != PROGRAM || self.is_store_named
    }
}

/// The changes to a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The files that change, each once.
    pub changes: Vec<FileChange>,
    /// What the user should know, a line each.
    pub notes: Vec<String>,
    /// Whether the merge driver is to be registered in this clone.
    pub registers_driver: bool,
}

impl Plan {
    fn new(root: &Path, files: StagedFiles<'_>, mut notes: Vec<String>) -> Self {
        let changes = files.changes();
        let changed = changes.iter().filter(|change| change.before.is_some()).count();
        if changed > 0 && !is_in_git(root) {
            let files = if changed == 1 { "file" } else { "files" };
            notes.push(format!(
                "this project is not under git: ait init changes {changed} {files} and keeps no copies"
            ));
        }
        Self { changes, notes, registers_driver: false }
    }
}

/// Returns true if a directory is in a git repository that has no commit yet, so that git makes no worktrees of it.
pub fn lacks_commit(directory: &Path) -> bool {
    let mut git = ait_system::git::command(directory);
    git.args(["rev-parse", "--verify", "--quiet", "HEAD"]);
    let found = git.stdout(Stdio::null()).stderr(Stdio::null()).status();
    // Outside of a repository, git ends with 128.
    found.is_ok_and(|status| status.code() == Some(1))
}

/// Returns true if a directory is in a git repository.
fn is_in_git(directory: &Path) -> bool {
    directory.ancestors().any(is_work_tree)
}

/// Returns true if a directory is the root of a work tree of git. An empty `.git` makes none, for git either: sandboxes
/// create one where they forbid a repository.
pub fn is_work_tree(directory: &Path) -> bool {
    let dot_git = directory.join(".git");
    dot_git.is_file() || dot_git.join("HEAD").exists()
}
