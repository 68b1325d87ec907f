//! What is to be taken back from a project.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::Plan;
use super::clients::{CLIENTS, Client, Place};
use super::draft::Drafts;
use super::edit::{ignored, marked, toml};
use super::error::SetupError;
use super::machine::Machine;
use super::plan::file_of;
use super::prompts::{PROMPTS, Standing};
use super::server_file::{self, Owner, owner};

/// What is to be taken back.
#[derive(Clone, Debug)]
pub struct Unwish<'a> {
    /// The project.
    pub root: &'a Path,
    /// The user's machine.
    pub machine: &'a Machine,
    /// The clients whose own part is taken back; all of everything where there are none.
    pub clients: Vec<&'static Client>,
    /// What the tracker is started by.
    pub command: &'a str,
    /// The store.
    pub store: &'a Path,
    /// The file with the settings of the project.
    pub settings: PathBuf,
    /// Whether links may be followed out of the project.
    pub force: bool,
}

/// Plans to take back what a plan has written, and nothing else.
///
/// # Errors
///
/// A file that cannot be read or edited.
pub fn removal(unwish: &Unwish<'_>) -> Result<Plan, SetupError> {
    let mut drafts = Drafts::new(unwish.root, unwish.machine, unwish.force);
    let mut notes = Vec::new();
    let is_whole = unwish.clients.is_empty();
    let clients: Vec<&Client> =
        if is_whole { CLIENTS.iter().collect() } else { unwish.clients.clone() };
    for client in &clients {
        server(unwish, client, &mut drafts)?;
        prompts(unwish, client, &mut drafts, &mut notes)?;
    }
    if is_whole {
        shared(unwish, &mut drafts)?;
    }
    Ok(Plan { changes: drafts.changes(), notes })
}

fn server(unwish: &Unwish<'_>, client: &Client, drafts: &mut Drafts<'_>) -> Result<(), SetupError> {
    let is_of_user = matches!(client.place, Place::User(_));
    let Some(file) = client.file(unwish.root, unwish.machine).filter(|file| file.exists()) else {
        return Ok(());
    };
    let draft = drafts.file(&file, (!is_of_user).then_some(unwish.root))?;
    let Some(entry) = draft.edit(|text| server_file::get(client, text))? else { return Ok(()) };
    let is_ours = |entry: &Value| match owner(entry, unwish.command) {
        Owner::Another => false,
        Owner::Ours(store) => {
            !is_of_user || store.is_some_and(|store| Path::new(&store) == unwish.store)
        }
    };
    if !is_ours(&entry) {
        return Ok(());
    }
    // A text that has one of ours itself is no way back.
    let is_way_back = |text: &&str| match server_file::get(client, text) {
        Ok(entry) => !entry.is_some_and(|entry| is_ours(&entry)),
        Err(_) => false,
    };
    let original = draft.original.as_deref().filter(is_way_back);
    let (text, is_empty) = draft.edit(|text| server_file::unset(client, text, original))?;
    draft.take_back(text, is_empty);
    Ok(())
}

fn prompts(
    unwish: &Unwish<'_>,
    client: &Client,
    drafts: &mut Drafts<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let Some(agents) = client.agents else { return Ok(()) };
    for (name, prompt) in PROMPTS {
        let draft = drafts.file(&file_of(unwish.root, agents, name), Some(unwish.root))?;
        if !draft.exists() {
            continue;
        }
        if Standing::of(draft.text(), &agents.form.text(name, prompt)).is_ours() {
            draft.remove();
        } else {
            notes.push(format!("{} is edited or of another version, and stays", draft.shown));
        }
    }
    Ok(())
}

/// Takes back what belongs to no one client.
fn shared(unwish: &Unwish<'_>, drafts: &mut Drafts<'_>) -> Result<(), SetupError> {
    let mut guides: Vec<_> = CLIENTS.iter().filter_map(|client| client.guide).collect();
    guides.dedup();
    for guide in guides {
        let draft = drafts.file(&unwish.root.join(guide), Some(unwish.root))?;
        if draft.edit(|text| marked::MARKDOWN.section(text))?.is_some() {
            let text = draft.edit(|text| marked::MARKDOWN.unset(text))?;
            let is_empty = text.trim().is_empty();
            draft.take_back(text, is_empty);
        }
    }
    let draft = drafts.file(&unwish.root.join(".gitignore"), Some(unwish.root))?;
    if draft.edit(|text| marked::NUMBER_SIGN.section(text))?.is_some() {
        let text = draft.edit(ignored::unset)?;
        let is_empty = text.trim().is_empty();
        draft.take_back(text, is_empty);
    }
    let draft = drafts.file(&unwish.settings, unwish.settings.parent())?;
    if draft.edit(toml::has_settings)? {
        let text = draft.edit(toml::unset_settings)?;
        let is_empty = toml::is_empty(&text);
        draft.take_back(text, is_empty);
    }
    Ok(())
}
