//! Plans what `ait init` writes into a project.

use std::path::{Path, PathBuf};

use super::clients::{Agents, CLAUDE_CODE, Client, ConfigLocation, Connection};
use super::edit::{gitignore, is_same_transport, marked, toml};
use super::error::SetupError;
use super::merge_driver;
use super::permissions;
use super::presets::Preset;
use super::project_files;
use super::project_prompts;
use super::prompts::{self, PromptState};
use super::server_file::{self, is_tracker, named_store};
use super::staged_file::StagedFiles;
use super::{PROGRAM, Plan, Project, REPAIR_SUFFIX, SERVER, WORKTREES, is_in_git};

/// What to set up.
#[derive(Clone, Debug)]
pub struct SetupRequest<'a> {
    pub project: &'a Project,
    pub clients: Vec<&'static Client>,
    /// Whether the user named the clients; otherwise they were found.
    pub is_named: bool,
    pub preset: &'a Preset,
    /// Whether git is to track the store.
    pub track: bool,
    /// Whether clients may use the tools and run the commands of a team without asking a person.
    pub permissions: bool,
    /// Whether to replace other servers and edited prompts, and to follow links out of the project.
    pub force: bool,
}

/// Plans what is requested.
///
/// # Errors
///
/// A file cannot be read or edited, or has another server under our name.
pub fn plan(request: &SetupRequest<'_>) -> Result<Plan, SetupError> {
    let project = request.project;
    let mut files = StagedFiles::new(&project.root, &project.env, request.force);
    let mut notes = Vec::new();
    for client in &request.clients {
        server(request, client, &mut files, &mut notes)?;
        if request.permissions {
            permissions::grant(&project.root, &project.settings, client.allow_lists, &mut files)?;
        }
        if let Some(hooks) = client.hooks_of_init() {
            project.hooks(hooks).stage(&mut files)?;
        }
    }
    machine_paths(request, &mut notes);
    untested(request, &mut notes);
    prompts(request, &mut files, &mut notes)?;
    guides(request, &mut files, &mut notes)?;
    let mut registers_driver = false;
    if is_in_git(&project.root) {
        let root = project.root.as_path();
        let attributes = files.file(&root.join(".gitattributes"), Some(root))?;
        let track = request.track || merge_driver::is_set(attributes.text());
        if let Some(store) = store_pattern(root, &project.store, project.is_store_named)
            && track
        {
            attributes.edit(|text| merge_driver::set(text, &store))?;
            let wanted = merge_driver::value(&project.command);
            registers_driver =
                merge_driver::registered(root).is_ok_and(|found| found != Some(wanted));
        }
        let patterns = patterns(root, &project.store, project.is_store_named, track);
        let file = files.file(&root.join(".gitignore"), Some(root))?;
        file.edit(|text| gitignore::set(text, &patterns))?;
    }
    if !request.track && !project.settings.exists() && merge_driver::has_other_clones(&project.root)
    {
        notes.push(
            "others commit to this repository, too, and each clone has a queue of its own: ait init --track lets git carry \
             the queue and merge it issue by issue (docs/clones.md)"
                .to_owned(),
        );
    }
    settings(request, &mut files)?;
    if project.database.is_some() {
        notes.push(
            "the store is a database, without its password in ait.toml: each user needs it in ~/.pgpass or \
             in AIT_STORE_PASSWORD (docs/postgres.md)"
                .to_owned(),
        );
    }
    if project.port.is_some() && project.needs_token {
        notes.push(
            "callers need a token: give each client the header Authorization: Bearer TOKEN, in a file that is \
             not committed"
                .to_owned(),
        );
    }
    if registers_driver {
        notes.push(format!(
            "git merges the issues in this clone one by one from now on; in each other clone, run once: {}",
            merge_driver::registration(PROGRAM)
        ));
    }
    Ok(Plan { registers_driver, ..Plan::new(&project.root, files, notes) })
}

/// Notes that agents may not run the tests of a project that does not say how it is tested.
fn untested(request: &SetupRequest<'_>, notes: &mut Vec<String>) {
    let has_rules = request.clients.iter().any(|client| client.name == CLAUDE_CODE.name);
    if request.permissions && has_rules && permissions::check(&request.project.settings).is_none() {
        notes.push(format!(
            "{} asks you before it runs the tests: write the command into ait.toml, such as check = \"cargo test\", \
             and run ait init again",
            CLAUDE_CODE.title
        ));
    }
}

/// Writes our entry among the servers of a client.
fn server(
    request: &SetupRequest<'_>,
    client: &Client,
    files: &mut StagedFiles<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let project = request.project;
    let no_place = || SetupError::NoPlace { client: client.title };
    let file = client.file(&project.root, &project.env).ok_or_else(no_place)?;
    let is_of_user = matches!(client.location, ConfigLocation::User(_));
    let file = files.file(&file, (!is_of_user).then_some(project.root.as_path()))?;
    file.inspect(|text| server_file::check(client, text))?;
    let present = file.inspect(|text| server_file::get(client, text))?;
    if let Some(present) = present.as_ref().filter(|_| !request.force) {
        let path = file.shown.clone();
        let title = client.title;
        if !is_tracker(present, &project.command) {
            return Err(SetupError::Foreign { path, name: SERVER, client: title });
        }
        let other = named_store(present).filter(|store| project.store != Path::new(store));
        if let Some(store) = other.filter(|_| is_of_user) {
            if request.is_named {
                return Err(SetupError::OtherProject { path, name: SERVER, store, client: title });
            }
            notes.push(format!(
                "{title}: {path} has the queue of {store}, and stays; `ait init --client {} --force` replaces it \
                 with this one",
                client.name
            ));
            return Ok(());
        }
    }
    if project.port.is_some() && !client.takes_url {
        notes.push(format!("{} takes no URL: it starts {PROGRAM} itself", client.title));
    }
    let mut entry = (client.entry)(&connection(project, client));
    if request.permissions {
        entry.extend((client.granted)());
    }
    if present.is_some_and(|present| is_same_transport(&present, &entry)) {
        return Ok(());
    }
    file.edit(|text| server_file::set(client, text, &entry))
}

/// How a client reaches the tracker.
fn connection(project: &Project, client: &Client) -> Connection {
    if let Some(port) = project.port.filter(|_| client.takes_url) {
        return Connection::Url(format!("http://localhost:{port}/mcp"));
    }
    // A server that starts outside the project does not find its store.
    let names_store = project.is_store_named || matches!(client.location, ConfigLocation::User(_));
    let arguments = if names_store {
        vec!["--file".to_owned(), project.store.display().to_string()]
    } else {
        Vec::new()
    };
    Connection::Command { program: project.command.clone(), arguments }
}

/// Notes the absolute paths in the files of the project, which other machines get by git.
fn machine_paths(request: &SetupRequest<'_>, notes: &mut Vec<String>) {
    let project = request.project;
    let is_in_project = |client: &&Client| matches!(client.location, ConfigLocation::Project(_));
    let is_started =
        |client: &&Client| matches!(connection(project, client), Connection::Command { .. });
    let clients = request.clients.iter().copied().filter(is_in_project).filter(is_started);
    let files: Vec<_> = clients
        .filter_map(|client| client.file(&project.root, &project.env))
        .map(|file| file.strip_prefix(&project.root).unwrap_or(&file).display().to_string())
        .collect();
    if files.is_empty() {
        return;
    }
    let files = files.join(", ");
    if project.command != PROGRAM {
        notes.push(format!(
            "{PROGRAM} is not on your PATH, so its absolute path is in {files}; this works only on this machine: put \
             {PROGRAM} on the PATH and run ait init again before you commit that"
        ));
    }
    if project.is_store_named {
        notes.push(format!(
            "you named the store, so its absolute path is in {files}; this works only on this machine: do not commit \
             that"
        ));
    }
}

/// Writes the prompts of the preset where each client looks for agents, and deletes the other prompts of ours.
fn prompts(
    request: &SetupRequest<'_>,
    files: &mut StagedFiles<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let root = request.project.root.as_path();
    // Also if an earlier run set it up: the prompts must not depend on the order of runs.
    let is_written = |agents: Agents| {
        let mut names = request.preset.prompts.iter();
        names.any(|name| prompt_file(root, agents, name).exists())
    };
    let has_claude = request.clients.iter().any(|client| client.name == CLAUDE_CODE.name)
        || CLAUDE_CODE.agents.is_some_and(is_written);
    let all = project_prompts::agents(directory_of(&request.project.store, root));
    for agents in request.clients.iter().filter_map(|client| client.agents) {
        // The client would see each prompt twice.
        let is_redundant = has_claude && agents.reads_claude;
        for (name, prompt) in &all {
            let is_of_preset = request.preset.prompts.iter().any(|prompt| prompt == name);
            let is_wanted = !is_redundant && (is_of_preset || !prompts::is_built_in(name));
            let text = agents.form.text(name, prompt);
            let file = files.file(&prompt_file(root, agents, name), Some(root))?;
            let state = file.after.as_ref().map(|present| PromptState::of(present, &text));
            if !is_wanted {
                if state.is_some_and(|state| state.is_ours()) {
                    file.after = None;
                }
                continue;
            }
            let why = match &state {
                Some(PromptState::Same) => continue,
                Some(newer) if newer.is_newer() => "is of a newer version",
                Some(PromptState::Edited) => "was edited",
                Some(PromptState::Diverged | PromptState::Foreign) => {
                    "was edited or is of another version"
                }
                Some(PromptState::Unedited(_)) | None => "",
            };
            if why.is_empty() || request.force {
                file.after = Some(text);
            } else {
                notes.push(format!("{} {why}, and stays; --force replaces it", file.shown));
            }
        }
    }
    Ok(())
}

/// Returns the directory of a store, which has the files of the team; else that of the project.
pub(super) fn directory_of<'a>(store: &'a Path, root: &'a Path) -> &'a Path {
    store.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or(root)
}

/// The file of a prompt in a project.
pub(super) fn prompt_file(root: &Path, agents: Agents, name: &str) -> PathBuf {
    root.join(agents.directory).join(agents.form.file_name(name))
}

/// The section that tells agents the workflow.
pub(super) fn section(store: &Path, preset: &Preset) -> String {
    let store = store.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "## Issues\n\n\
         All agents share one issue queue: the MCP server `{SERVER}`, or `{PROGRAM} help` in a shell. \
         Never edit `{store}` or `.ait/`.\n\n\
         - What is to be done and is not done now becomes an issue (`add_issue`), never a note in a file.\n\
         {}",
        preset.workflow.trim_end()
    )
}

/// Writes the section into the instructions that each client reads.
fn guides(
    request: &SetupRequest<'_>,
    files: &mut StagedFiles<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let root = request.project.root.as_path();
    let section = section(&request.project.store, request.preset);
    for client in &request.clients {
        let Some(name) = client.guide else { continue };
        if let Some(other) = client.before_guide.iter().find(|other| root.join(other).exists()) {
            notes.push(format!(
                "{} reads {other} instead of {name}, which has the workflow: refer to {name} in {other}",
                client.title
            ));
        }
        let mut file = files.file(&root.join(name), Some(root))?;
        let imports = |text: &str| text.lines().any(|line| line.trim() == "@AGENTS.md");
        if name == "CLAUDE.md" && imports(file.text()) {
            file = files.file(&root.join("AGENTS.md"), Some(root))?;
        }
        file.edit(|text| marked::MARKDOWN.set(text, &section))?;
    }
    Ok(())
}

/// The patterns for `.gitignore`.
pub(super) fn patterns(root: &Path, store: &Path, is_named: bool, track: bool) -> Vec<String> {
    let mut patterns = vec![format!("*{REPAIR_SUFFIX}*"), format!("/{WORKTREES}/")];
    if let Some(stem) = store.file_stem() {
        patterns.push(format!("{}-backup-*", stem.to_string_lossy()));
    }
    if let Some(store) = store_pattern(root, store, is_named) {
        let directory = store.rsplit_once('/').map_or("", |(directory, _)| directory);
        let tracked = project_files::tracked(&root.join(directory.trim_start_matches('/')));
        let data = gitignore::data_directory(directory.trim_start_matches('/'), &tracked);
        if !track {
            patterns.push(store);
        }
        patterns.extend(data);
    }
    patterns
}

/// The pattern by which git finds the store; `None` if the store is elsewhere.
fn store_pattern(root: &Path, store: &Path, is_named: bool) -> Option<String> {
    // A linked worktree has its store in the main one, at the same path.
    let inside = store.strip_prefix(root).ok().map(Path::to_owned);
    let usual = || (!is_named).then(|| store.file_name().map(PathBuf::from));
    let store = inside.or_else(|| usual().flatten())?;
    let directory = store.parent().map(|parent| parent.to_string_lossy().replace('\\', "/"));
    let name = store.file_name()?.to_string_lossy();
    Some(gitignore::anchored_pattern(&directory.unwrap_or_default(), &name))
}

/// The settings of a new project: few tokens, and claims that only their agents end. A project that has others keeps
/// them.
const OF_NEW_PROJECTS: [(&str, &str); 2] = [("replies", "compact"), ("claims", "owned")];
/// The prompt of the agent that plans the work of others.
const LEAD: &str = "team-lead";
/// The toolsets of a team with that agent, those of others, and those that older versions gave to a team.
const TOOLSETS: [&[&str]; 3] = [&["planning", "memory"], &["memory"], &["planning"]];
/// After how many failed attempts an issue of a new project is parked.
const MAX_ATTEMPTS: i64 = 3;

/// Writes the settings of a new project, and the port.
fn settings(request: &SetupRequest<'_>, files: &mut StagedFiles<'_>) -> Result<(), SetupError> {
    let project = request.project;
    let file = files.file(&project.settings, project.settings.parent())?;
    // Older versions of the preset solo made a person act under the name of the agent.
    file.remove_from(|text| toml::unset_setting(text, "agent", &"developer".into()))?;
    for (name, value) in OF_NEW_PROJECTS {
        file.edit(|text| toml::set_missing_setting(text, name, &value.into()))?;
    }
    file.edit(|text| toml::set_missing_setting(text, "max-attempts", &MAX_ATTEMPTS.into()))?;
    // That of another preset, if the project had one.
    let review = request.preset.review.as_str();
    for other in Preset::all().filter(|other| other.review != review) {
        file.remove_from(|text| toml::unset_setting(text, "review", &other.review.into()))?;
    }
    file.edit(|text| toml::set_missing_setting(text, "review", &review.into()))?;
    let has_lead = request.preset.prompts.iter().any(|prompt| prompt == LEAD);
    let toolsets = if has_lead { TOOLSETS[0] } else { TOOLSETS[1] };
    for other in TOOLSETS.into_iter().filter(|other| *other != toolsets) {
        let other = serde_json::json!(other);
        file.remove_from(|text| toml::unset_setting(text, "toolsets", &other))?;
    }
    let toolsets = serde_json::json!(toolsets);
    file.edit(|text| toml::set_missing_setting(text, "toolsets", &toolsets))?;
    if let Some(database) = &project.database {
        file.edit(|text| toml::set_setting(text, "store", &database.as_str().into()))?;
    }
    if let Some(port) = project.port {
        file.edit(|text| toml::set_setting(text, "port", &port.into()))?;
    }
    Ok(())
}
