//! `setup_wizard`: what there is of the project, and the command that sets it up.

use rmcp::model::ErrorData;
use tokio::task::spawn_blocking;

use crate::doctor::Around;
use crate::mcp::{McpServer, Surroundings};
use crate::setup::{Preset, Proposal, propose};

/// What the agent is told.
pub(super) async fn text(server: &McpServer, preset: Option<Preset>) -> Result<String, ErrorData> {
    let Surroundings { subject, command, .. } = server.surroundings().await;
    let Around { root: project, machine, .. } = subject.around;
    let proposal = spawn_blocking(move || propose(&project, &machine, preset, &command)).await;
    let proposal = proposal.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    Ok(told(&proposal))
}

fn told(proposal: &Proposal) -> String {
    let Proposal { project, clients, is_in_git, is_set_up, preset, why, command } = proposal;
    let clients = match clients.is_empty() {
        true => {
            "- no client of agents was found: name one with `--client NAME`, such as claude-code"
                .to_owned()
        }
        false => {
            let lines = clients
                .iter()
                .map(|(client, trace)| format!("- {} (`{}`): {trace}", client.title, client.name));
            lines.collect::<Vec<_>>().join("\n")
        }
    };
    let git = match is_in_git {
        true => "It is in git.",
        false => "It is not in git, which workers need for their branches: `git init` comes first.",
    };
    let so_far = match is_set_up {
        true => {
            "It was set up before; doing it again brings it up to date and changes nothing twice."
        }
        false => "It was not set up before.",
    };
    let presets: Vec<_> =
        Preset::all().map(|it| format!("- {}: {}", it.name, it.description)).collect();
    let (name, presets) = (preset.name, presets.join("\n"));
    format!(
        "Help the person to set this project up for its coding agents, with `{command}`, called in the directory \
         of the project.\n\n\
         The project is {project}. {git} {so_far}\n\n\
         Clients in use:\n{clients}\n\n\
         Proposed preset: {name}, because {why}. There are:\n{presets}\n\n\
         1. Say what was found and what you propose, in a few lines, and ask whether another preset or fewer \
         clients (`--client NAME`, once for each) are wanted.\n\
         2. Show what it would write: `{command} --dry-run`.\n\
         3. When the person agrees: `{command} --yes`. Every file that it changes is kept as \
         `FILE.before-ait-init`, and `ait init --remove` takes everything back.\n\
         4. Say what is left to do by hand: the notes that it printed, and starting the client anew.\n",
        project = project.display(),
    )
}
