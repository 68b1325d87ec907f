//! `init_project`: set the project up for the clients of its agents.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool, planned};
use crate::context::blocking;
use crate::options::Toolset;
use crate::result::{Failure, Success};
use crate::shown;
use ait_setup::{
    Client, FoundClient, Preset, Project, SetupReport, SetupRequest, merge_driver, next_steps,
};

pub(super) struct InitProject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Default: that of the project, or else team
    #[schemars(extend("enum" = Preset::names().collect::<Vec<_>>()))]
    preset: Option<String>,
    /// Names such as claude-code or cursor; default: the clients in use
    client: Option<Vec<String>>,
    /// Write it
    apply: Option<bool>,
}

impl Tool for InitProject {
    const NAME: &'static str = "init_project";
    const DESCRIPTION: &'static str = "Set up this project for MCP clients: server entries, role prompts, a workflow \
        section, .gitignore. Without apply, answers with the plan alone.";
    const DESTRUCTIVE: bool = true;
    const TOOLSET: Toolset = Toolset::Admin;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let project = context.server.get().await.project;
        let clients = named_clients(args.client.as_deref().unwrap_or_default())?;
        let preset = args.preset;
        let apply = args.apply.unwrap_or(false);
        let preset = preset.as_deref().and_then(Preset::named);
        let report = blocking(move || set_up(&project, preset, &clients, apply)).await?;
        planned::report(report, Self::NAME, &context)
    }
}

/// Plans the setup, and writes it if `apply` is set.
fn set_up(
    project: &Project,
    preset: Option<Preset>,
    named: &[&'static Client],
    apply: bool,
) -> Result<SetupReport, Failure> {
    let is_named = !named.is_empty();
    let found = if is_named {
        FoundClient::named(named)
    } else {
        FoundClient::in_use(&project.root, &project.env)
    };
    if found.is_empty() {
        return Err(Failure::invalid(format!(
            "no client was found in this project: call init_project again with `client`, a list of the clients in use \
             ({}); nothing was written",
            Client::names()
        )));
    }
    let preset = preset.unwrap_or_else(|| Preset::of_project(&project.root));
    let clients = found.iter().map(|found| found.client).collect();
    let request = SetupRequest {
        project,
        clients,
        is_named,
        preset: &preset,
        track: false,
        // An agent gives itself none.
        permissions: false,
        force: false,
    };
    let plan = ait_setup::plan(&request).map_err(planned::refused)?;
    if !apply {
        return Ok(SetupReport::new(project, &found, plan, false, Vec::new()));
    }
    let is_written = !plan.changes.is_empty();
    planned::write(&plan.changes, project)?;
    if plan.registers_driver {
        let registered = merge_driver::register(&project.root, &project.command);
        registered.map_err(|error| Failure::not_saved(error.to_string()))?;
    }
    let next = next_steps(project, &found, &preset, &plan.changes, is_written);
    Ok(SetupReport::new(project, &found, plan, is_written, next))
}

fn named_clients(names: &[String]) -> Result<Vec<&'static Client>, Failure> {
    let client = |name: &String| {
        Client::named(name).ok_or_else(|| {
            let name = shown(name);
            let names = Client::names();
            Failure::invalid(format!("{name:?} is not a client that init_project knows: {names}"))
        })
    };
    names.iter().map(client).collect()
}
