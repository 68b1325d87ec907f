//! What `ait init` plans or did, for programs and for people.

use serde::Serialize;

use super::{
    Client, Consent, FileChange, FoundClient, Plan, Preset, Project, asks, clients_with_hooks,
};

/// A plan, or what was written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SetupReport {
    /// The project's directory.
    pub project: String,
    /// The names of the clients.
    pub clients: Vec<&'static str>,
    /// The files that change.
    pub changes: Vec<ChangeReport>,
    /// What the user should know, a line each.
    pub notes: Vec<String>,
    /// Whether the changes were made.
    pub written: bool,
    /// What is left to do, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<String>,
}

/// A changed file.
#[derive(Debug, Serialize)]
pub struct ChangeReport {
    /// The file as the user reads it.
    pub file: String,
    /// The kind of the change, in a word.
    pub what: &'static str,
}

impl SetupReport {
    /// Reports a plan. `next` is what is left to do.
    pub fn new(
        project: &Project,
        found: &[FoundClient],
        plan: Plan,
        written: bool,
        next: Vec<String>,
    ) -> Self {
        Self {
            project: project.root.display().to_string(),
            clients: found.iter().map(|found| found.client.name).collect(),
            changes: plan.changes.iter().map(ChangeReport::from).collect(),
            notes: plan.notes,
            written,
            next,
        }
    }
}

impl From<&FileChange> for ChangeReport {
    fn from(change: &FileChange) -> Self {
        Self { file: change.shown.clone(), what: change.kind() }
    }
}

/// Returns what is left to the user after a removal. `has_hooks` says whether the repository has git hooks of ours, and
/// `is_written` whether files were changed now.
pub fn steps_after_removal(project: &Project, has_hooks: bool, is_written: bool) -> Vec<String> {
    let mut steps = Vec::new();
    if is_written && super::is_in_git(&project.root) && !super::lacks_commit(&project.root) {
        steps.push(
            "Commit the removal of the files that git tracks: other worktrees and clones have them until then"
                .to_owned(),
        );
    }
    if has_hooks {
        steps.push("The git hooks stay; to remove them, too: ait hooks remove".to_owned());
    }
    for hooks in clients_with_hooks(&project.root, &project.env, &project.command).flatten() {
        steps.push(format!(
            "The client's hooks stay; to remove them, too: ait hooks remove --client {}",
            hooks.client.name
        ));
    }
    steps
}

/// Returns what the user has to do so that a client starts the server, or how it will start it if files were written.
fn start(project: &Project, client: &Client, is_written: bool) -> Option<String> {
    let title = client.title;
    let asks = if asks(&project.root, &project.env, &project.settings, client) {
        ", and asks you before a call"
    } else {
        ""
    };
    match (client.consent)(&project.root, &project.env) {
        Consent::Missing(step) => Some(format!("{title}: {step}")),
        _ if !is_written => None,
        Consent::Given => Some(format!("{title}: restart it; it connects{asks}")),
        Consent::Unknown => Some(format!("{title}: restart it, and allow the server if it asks")),
    }
}

/// Returns the command that commits the changed files of the project, and no others.
fn commit(project: &Project, changes: &[FileChange]) -> Option<String> {
    let root = project.root.canonicalize().ok()?;
    let names = changes.iter().filter_map(|change| change.path.strip_prefix(&root).ok());
    let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
    let files = shell_words::join(names);
    (!files.is_empty()).then(|| format!("git add {files} && git commit -m 'Set up ait' -- {files}"))
}

/// Returns what is left to the user once a project is set up. `is_written` says whether files were written now.
pub fn next_steps(
    project: &Project,
    found: &[FoundClient],
    preset: &Preset,
    changes: &[FileChange],
    is_written: bool,
) -> Vec<String> {
    let mut steps = Vec::new();
    let is_in_git = super::is_in_git(&project.root);
    if !is_in_git {
        steps.push(
            "Run `git init`, then ait init again, which writes .gitignore, and commit your project: agents work in git \
             worktrees, which need a commit"
                .to_owned(),
        );
    }
    let commit = commit(project, changes).map(|line| format!("\n  {line}")).unwrap_or_default();
    if is_in_git && super::lacks_commit(&project.root) {
        steps.push(format!(
            "Commit your project and what ait init wrote first: agents work in git worktrees, which need a commit, and \
             this repository has none yet{commit}"
        ));
    } else if is_in_git && is_written {
        let but = if project.has_machine_paths() { ", but see the notes above" } else { "" };
        steps.push(format!(
            "Commit what ait init wrote{but}: agents work in git worktrees, which have only what is committed{commit}"
        ));
    }
    steps.extend(found.iter().filter_map(|found| start(project, found.client, is_written)));
    if project.port.is_some() {
        steps.push("Keep a server running for them: ait serve".to_owned());
    }
    if let Some(agent) = preset.prompts.first() {
        let then = if is_written { "Then start" } else { "Start" };
        let start = |client: &Client| format!("\n  {}: {}", client.title, (client.start)(agent));
        let starts: String = found.iter().map(|found| start(found.client)).collect();
        steps.push(format!("{then} {agent}:{starts}"));
    }
    if is_in_git && is_written {
        steps.push("Optional, to name issues in commits: ait hooks install".to_owned());
    }
    steps.push("Undo: ait init --remove".to_owned());
    steps
}
