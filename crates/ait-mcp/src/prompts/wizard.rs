//! `setup_wizard`: the state of the project, and the command that sets it up.

use rmcp::model::ErrorData;
use tokio::task::spawn_blocking;

use crate::{McpServer, ServerContext};
use ait_doctor::ProjectContext;
use ait_setup::{FoundClient, Preset, Recommendation, recommend};

/// Returns the text of the prompt.
pub(super) async fn text(server: &McpServer, preset: Option<Preset>) -> Result<String, ErrorData> {
    let ServerContext { context, command, .. } = server.context.get().await;
    let ProjectContext { root: project, machine, .. } = context.project;
    let proposal = spawn_blocking(move || recommend(&project, &machine, preset, &command)).await;
    let proposal = proposal.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(render(&proposal))
}

fn render(proposal: &Recommendation) -> String {
    let Recommendation { project, clients, is_in_git, is_set_up, preset, why, check, command } =
        proposal;
    let clients = if clients.is_empty() {
        "- no client was found: name one with `--client NAME`, such as claude-code".to_owned()
    } else {
        let lines = clients.iter().map(|FoundClient { client, why, .. }| {
            let why = why.as_deref().unwrap_or("named");
            format!("- {} (`{}`): {why}", client.title, client.name)
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let git = if *is_in_git {
        "It is in git."
    } else {
        "It is not in git, which workers need for their branches: run `git init` first."
    };
    let so_far = if *is_set_up {
        "It was set up before; running the command again brings it up to date."
    } else {
        "It was not set up before."
    };
    let check = match check {
        Some((manifest, check)) => format!(
            "\n\nIts {manifest} suggests `check = \"{check}\"` in ait.toml: then no branch is merged before that passes. \
             Propose that, too."
        ),
        None => String::new(),
    };
    let presets: Vec<_> =
        Preset::all().map(|preset| format!("- {}: {}", preset.name, preset.description)).collect();
    let name = preset.name;
    let presets = presets.join("\n");
    format!(
        "Help the person set up this project for its coding agents with `{command}`, run in the project \
         directory.\n\n\
         The project is {project}. {git} {so_far}{check}\n\n\
         Clients in use:\n{clients}\n\n\
         Proposed preset: {name}, because {why}. The presets are:\n{presets}\n\n\
         1. Say what was found and what you propose, in a few lines, and ask whether the person wants another \
         preset or fewer clients (`--client NAME`, once for each).\n\
         2. Show what it would write: `{command} --dry-run`.\n\
         3. When the person agrees: `{command} --yes`. It keeps no copies of the files that it changes, so they \
         should be committed first; `ait init --remove` removes what it wrote.\n\
         4. Say what is left to do by hand: the notes that it printed, and restarting the client.\n",
        project = project.display(),
    )
}
