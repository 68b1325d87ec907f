//! What is to be written for a project.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::clients::{Agents, CLAUDE_CODE, Client, Connection, Place};
use super::draft::Drafts;
use super::edit::{ignored, is_same_way, marked, toml};
use super::error::SetupError;
use super::machine::Machine;
use super::presets::Preset;
use super::prompts::{PROMPTS, Standing};
use super::server_file::{self, Owner, owner};
use super::{BACKUP_SUFFIX, PROGRAM, Plan, REPAIR_SUFFIX, SERVER};

/// What is wanted for a project.
#[derive(Clone, Debug)]
pub struct Wish<'a> {
    /// The project.
    pub root: &'a Path,
    /// The user's machine.
    pub machine: &'a Machine,
    /// The clients.
    pub clients: Vec<&'static Client>,
    /// Whether somebody named them; else they were found.
    pub is_named: bool,
    /// What the project gets.
    pub preset: &'a Preset,
    /// What to start the tracker by.
    pub command: &'a str,
    /// The address at which clients reach it that do not start it.
    pub url: Option<&'a str>,
    /// The store.
    pub store: &'a Path,
    /// Whether it was named, so that it has to be named to who starts the tracker too.
    pub is_store_named: bool,
    /// Whether git is to track the store.
    pub track: bool,
    /// The file with the settings of the project.
    pub settings: PathBuf,
    /// The port to pin there.
    pub port: Option<u16>,
    /// Whether what somebody else wrote may be replaced.
    pub force: bool,
}

/// Plans what is wanted.
///
/// # Errors
///
/// A file that cannot be read or edited, or has what somebody else wrote where ours belongs.
pub fn plan(wish: &Wish<'_>) -> Result<Plan, SetupError> {
    let mut drafts = Drafts::new(wish.root, wish.machine, wish.force);
    let mut notes = Vec::new();
    for client in &wish.clients {
        server(wish, client, &mut drafts, &mut notes)?;
    }
    let starts =
        |client: &&&Client| wish.url.is_none() && matches!(client.place, Place::Project(_));
    if wish.command != PROGRAM && wish.clients.iter().any(|client| starts(&client)) {
        notes.push(format!(
            "{PROGRAM} is not what the PATH calls so: its whole path is written, which holds on this \
             machine alone"
        ));
    }
    prompts(wish, &mut drafts, &mut notes)?;
    guides(wish, &mut drafts, &mut notes)?;
    git(wish, &mut drafts)?;
    settings(wish, &mut drafts, &mut notes)?;
    Ok(Plan { changes: drafts.changes(), notes })
}

/// Writes the entry of the tracker among the servers of a client.
fn server(
    wish: &Wish<'_>,
    client: &Client,
    drafts: &mut Drafts<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let no_place = || SetupError::NoPlace { client: client.title };
    let file = client.file(wish.root, wish.machine).ok_or_else(no_place)?;
    let is_of_user = matches!(client.place, Place::User(_));
    let within = (!is_of_user).then_some(wish.root);
    let draft = drafts.file(&file, within)?;
    let entry = (client.entry)(&connection(wish, client));
    let present = draft.edit(|text| server_file::get(client, text))?;
    match present.as_ref().map(|present| owner(present, wish.command)) {
        None => {}
        Some(Owner::Another) if !wish.force => {
            let (path, client) = (draft.shown.clone(), client.title);
            return Err(SetupError::Foreign { path, name: SERVER, client });
        }
        Some(Owner::Ours(Some(store))) if is_of_user && Path::new(&store) != wish.store => {
            let path = draft.shown.clone();
            if !wish.is_named && !wish.force {
                let title = client.title;
                notes.push(format!(
                    "{title}: {path} has the queue of {store}, and stays; to have this one instead: \
                     ait init --client {} --force",
                    client.name
                ));
                return Ok(());
            }
            if !wish.force {
                let client = client.title;
                return Err(SetupError::OtherProject { path, name: SERVER, store, client });
            }
        }
        Some(Owner::Ours(_)) => {
            draft.has_ours = true;
            draft.is_ours = draft.edit(|text| server_file::unset(client, text, None))?.1;
        }
        Some(Owner::Another) => {}
    }
    if wish.url.is_some() && !client.takes_url {
        notes.push(format!("{} takes no address, and starts {PROGRAM} itself", client.title));
    }
    if present.is_some_and(|present| is_same_way(&present, &entry)) {
        return Ok(());
    }
    let text = draft.edit(|text| server_file::set(client, text, &entry))?;
    draft.set(text);
    Ok(())
}

/// How a client reaches the tracker.
fn connection(wish: &Wish<'_>, client: &Client) -> Connection {
    match wish.url {
        Some(url) if client.takes_url => Connection::Url(url.to_owned()),
        _ => {
            // One that is started outside of the project does not find the store by itself.
            let is_named = wish.is_store_named || matches!(client.place, Place::User(_));
            let named = || vec!["--file".to_owned(), wish.store.display().to_string()];
            let arguments = if is_named { named() } else { Vec::new() };
            Connection::Command { program: wish.command.to_owned(), arguments }
        }
    }
}

/// Writes the prompts of the preset where each client looks for agents, and takes those back that it does
/// not name.
fn prompts(
    wish: &Wish<'_>,
    drafts: &mut Drafts<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let has_claude = wish.clients.iter().any(|client| client.name == CLAUDE_CODE.name);
    for agents in wish.clients.iter().filter_map(|client| client.agents) {
        let is_told_twice = has_claude && agents.reads_claude;
        for (name, prompt) in PROMPTS {
            let is_wanted = wish.preset.prompts.iter().any(|it| it == name) && !is_told_twice;
            let text = agents.form.text(name, prompt);
            let draft = drafts.file(&file_of(wish.root, agents, name), Some(wish.root))?;
            let standing = draft.exists().then(|| Standing::of(draft.text(), &text));
            let is_ours = standing.as_ref().is_some_and(Standing::is_ours);
            (draft.has_ours, draft.is_ours) = (is_ours, is_ours);
            if !is_wanted {
                if is_ours {
                    draft.remove();
                }
                continue;
            }
            let why = match &standing {
                Some(Standing::Same) => continue,
                Some(newer) if newer.is_newer() => "of a newer version",
                Some(Standing::Edited) => "edited",
                Some(Standing::Strange | Standing::Foreign) => "edited or of another version",
                Some(Standing::Unedited(_)) | None => "",
            };
            if why.is_empty() || wish.force {
                draft.set(text);
            } else {
                let shown = &draft.shown;
                notes.push(format!("{shown} is there, {why}, and stays; --force replaces it"));
            }
        }
    }
    Ok(())
}

/// The file of an agent in a project.
pub(super) fn file_of(root: &Path, agents: Agents, name: &str) -> PathBuf {
    root.join(agents.directory).join(agents.form.file_name(name))
}

/// The section on the workflow.
pub(super) fn section(store: &Path, preset: &Preset) -> String {
    let store = store.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "## Issues\n\n\
         The issues of this project are in one queue that all agents share: the tools of the MCP server \
         `{SERVER}`, or\n`{PROGRAM} help` in a shell. `{store}` and the files beside it are never edited \
         directly.\n\n\
         - What is to be done and is not done now becomes an issue (`add_issue`), never a note in a file.\n\
         {}",
        preset.workflow.trim_end()
    )
}

/// Writes the section on the workflow where each client reads instructions.
fn guides(
    wish: &Wish<'_>,
    drafts: &mut Drafts<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let section = section(wish.store, wish.preset);
    for client in &wish.clients {
        let Some(name) = client.guide else { continue };
        if let Some(other) = client.before_guide.iter().find(|other| wish.root.join(other).exists())
        {
            notes.push(format!(
                "{} reads {other} and then not {name}, where the workflow is told: name {name} in {other}",
                client.title
            ));
        }
        let mut draft = drafts.file(&wish.root.join(name), Some(wish.root))?;
        // One that takes in the other file needs no section of its own.
        if name == "CLAUDE.md" && draft.text().lines().any(|line| line.trim() == "@AGENTS.md") {
            draft = drafts.file(&wish.root.join("AGENTS.md"), Some(wish.root))?;
        }
        let marks = marked::MARKDOWN;
        let present = draft.edit(|text| marks.section(text))?;
        draft.has_ours |= present.is_some();
        draft.is_ours |= draft.edit(|text| marks.unset(text))?.trim().is_empty();
        if present.as_deref() != Some(section.as_str()) {
            let text = draft.edit(|text| marks.set(text, &section))?;
            draft.set(text);
        }
    }
    Ok(())
}

/// What git is to leave out.
pub(super) fn patterns(root: &Path, store: &Path, is_named: bool, track: bool) -> Vec<String> {
    let mut patterns = vec![format!("*{BACKUP_SUFFIX}"), format!("*{REPAIR_SUFFIX}*")];
    // That of a linked worktree is at the same place in the main one.
    let inside = store.strip_prefix(root).ok().map(Path::to_owned);
    let usual = || (!is_named).then(|| store.file_name().map(PathBuf::from));
    if let Some(store) = inside.or_else(|| usual().flatten()) {
        let directory = store.parent().map(|it| it.to_string_lossy().replace('\\', "/"));
        let directory = directory.unwrap_or_default();
        let name = store.file_name().unwrap_or_default().to_string_lossy();
        if !track {
            patterns.push(ignored::whole(&directory, &name));
        }
        patterns.push(ignored::beside(&directory));
    }
    patterns
}

/// Lets git leave out what belongs to this machine.
fn git(wish: &Wish<'_>, drafts: &mut Drafts<'_>) -> Result<(), SetupError> {
    if !wish.root.ancestors().any(|directory| directory.join(".git").exists()) {
        return Ok(());
    }
    let patterns = patterns(wish.root, wish.store, wish.is_store_named, wish.track);
    let draft = drafts.file(&wish.root.join(".gitignore"), Some(wish.root))?;
    draft.has_ours = draft.edit(|text| marked::NUMBER_SIGN.section(text))?.is_some();
    draft.is_ours = draft.edit(ignored::unset)?.trim().is_empty();
    let text = draft.edit(|text| ignored::set(text, &patterns))?;
    if text != draft.text() {
        draft.set(text);
    }
    Ok(())
}

/// Takes back what another preset has set, as far as that is as it was, and sets what the preset sets, and the
/// port.
fn settings(
    wish: &Wish<'_>,
    drafts: &mut Drafts<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let others: Vec<Preset> = Preset::all().filter(|it| it.name != wish.preset.name).collect();
    let set = others.iter().flat_map(|preset| &preset.settings);
    for (key, value) in set.filter(|(key, _)| !wish.preset.settings.contains_key(*key)) {
        let draft = drafts.file(&wish.settings, wish.settings.parent())?;
        let text = draft.edit(|text| toml::unset_setting(text, key, value))?;
        if text != draft.text() {
            let is_empty = toml::is_empty(&text);
            draft.take_back(text, is_empty);
        }
    }
    let preset =
        wish.preset.settings.iter().map(|(key, value)| (key.as_str(), value.clone(), false));
    let port = wish.port.map(|port| ("port", Value::from(port), true));
    for (key, value, over) in preset.chain(port) {
        let draft = drafts.file(&wish.settings, wish.settings.parent())?;
        let present = draft.edit(|text| toml::get(text, &[key]))?;
        if let Some(present) = present.filter(|present| *present != value && !over) {
            notes.push(format!(
                "{} sets {key} = {present}, which stays; preset {} would set {value}",
                draft.shown, wish.preset.name
            ));
        }
        draft.has_ours |= draft.edit(toml::has_settings)?;
        draft.is_ours |= toml::is_empty(&draft.edit(toml::unset_settings)?);
        let text = draft.edit(|text| toml::set_setting(text, key, &value, over))?;
        if text != draft.text() {
            draft.set(text);
        }
    }
    Ok(())
}
