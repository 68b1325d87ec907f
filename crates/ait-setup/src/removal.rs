//! Plans to take out of a project what `ait init` wrote.

use std::path::Path;

use super::clients::{CLIENTS, Client, ConfigLocation, guides};
use super::edit::{marked, toml};
use super::error::SetupError;
use super::permissions;
use super::plan::{directory_of, prompt_file};
use super::project_prompts;
use super::prompts::PromptState;
use super::server_file::{self, is_tracker, named_store};
use super::staged_file::StagedFiles;
use super::{Plan, Project, is_in_git};

/// Plans to remove what is ours: the server entries and unedited prompts of `clients`, or, if that is empty, those of
/// all clients and what the clients share. A file that holds nothing else is deleted. Links are followed out of the
/// project only if `force` is set. A file that its client refuses for a comment or a trailing comma is edited, too.
pub fn removal(
    project: &Project,
    clients: &[&'static Client],
    force: bool,
) -> Result<Plan, SetupError> {
    let root = project.root.as_path();
    let mut files = StagedFiles::new(root, &project.env, force);
    let mut notes = Vec::new();
    let all = project_prompts::agents(directory_of(&project.store, root));
    for client in CLIENTS.iter().filter(|client| {
        clients.is_empty() || clients.iter().any(|wanted| wanted.name == client.name)
    }) {
        server(project, client, &mut files)?;
        permissions::revoke(root, &project.settings, client.allow_lists, &mut files)?;
        if let Some(hooks) = client.hooks_of_init() {
            project.hooks(hooks).unstage(&mut files)?;
        }
        prompts(root, &all, client, &mut files, &mut notes)?;
    }
    if clients.is_empty() {
        for guide in guides() {
            let file = files.file(&root.join(guide), Some(root))?;
            file.remove_from(|text| marked::MARKDOWN.unset(text))?;
            file.remove_from(|text| marked::MEMORY.unset(text))?;
        }
        let file = files.file(&root.join(".gitignore"), Some(root))?;
        file.remove_from(|text| marked::NUMBER_SIGN.unset(text))?;
        let attributes = files.file(&root.join(".gitattributes"), Some(root))?;
        attributes.remove_from(|text| marked::NUMBER_SIGN.unset(text))?;
        let file = files.file(&root.join(".gitignore"), Some(root))?;
        let was_ignored = file.before != file.after;
        if project.store.exists() {
            let inside = project.store.strip_prefix(root).map(|path| path.display().to_string());
            let shown = inside.unwrap_or_else(|_| project.env.short(&project.store));
            let stays = format!("{shown} and the log beside it stay, with all issues");
            notes.push(if was_ignored && is_in_git(root) {
                format!("{stays}; git no longer ignores {shown}")
            } else {
                stays
            });
        }
        let file = files.file(&project.settings, project.settings.parent())?;
        file.remove_from(toml::unset_settings)?;
    }
    Ok(Plan::new(root, files, notes))
}

fn server(
    project: &Project,
    client: &Client,
    files: &mut StagedFiles<'_>,
) -> Result<(), SetupError> {
    let is_of_user = matches!(client.location, ConfigLocation::User(_));
    let file = client.file(&project.root, &project.env).filter(|file| file.exists());
    let Some(file) = file else { return Ok(()) };
    let file = files.file(&file, (!is_of_user).then_some(project.root.as_path()))?;
    let Some(entry) = file.inspect(|text| server_file::get(client, text))? else { return Ok(()) };
    // A file of the user may have the entry of another project.
    let is_of_project =
        || named_store(&entry).is_some_and(|store| project.store == Path::new(&store));
    if is_tracker(&entry, &project.command) && (!is_of_user || is_of_project()) {
        file.remove_from(|text| server_file::unset(client, text))?;
    }
    Ok(())
}

fn prompts(
    root: &Path,
    all: &[(String, String)],
    client: &Client,
    files: &mut StagedFiles<'_>,
    notes: &mut Vec<String>,
) -> Result<(), SetupError> {
    let Some(agents) = client.agents else { return Ok(()) };
    for (name, prompt) in all {
        let file = files.file(&prompt_file(root, agents, name), Some(root))?;
        if file.after.is_none() {
            continue;
        }
        if PromptState::of(file.text(), &agents.form.text(name, prompt)).is_ours() {
            file.after = None;
        } else {
            notes.push(format!("{} was edited or is of another version, and stays", file.shown));
        }
    }
    Ok(())
}
