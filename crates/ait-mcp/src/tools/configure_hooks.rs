//! `configure_hooks`: the git hooks that name issues in commits.

use anyhow::Error;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool, planned};
use crate::ServerContext;
use crate::context::blocking;
use crate::options::Toolset;
use crate::result::{Failure, Success};
use ait_hooks::{ASK_LIMIT, ChangeReport, HooksDir, Operation};
use ait_system::git::Git;

pub(super) struct ConfigureHooks;

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Status,
    Install,
    Remove,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Default status
    action: Option<Action>,
    /// Write it
    apply: Option<bool>,
}

impl Tool for ConfigureHooks {
    const NAME: &'static str = "configure_hooks";
    const DESCRIPTION: &'static str = "Git hooks that name issues in commits and note merges: their status, or \
        install or remove them. Without apply, answers with the plan alone.";
    const DESTRUCTIVE: bool = true;
    const TOOLSET: Toolset = Toolset::Admin;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let apply = args.apply.unwrap_or(false);
        let server = context.server.get().await;
        let directory = HooksDir::find(&Git::new(&server.project.root, ASK_LIMIT)).await;
        let directory = directory.map_err(refused)?;
        let operation = match args.action.unwrap_or_default() {
            Action::Status if apply => {
                return Err(Failure::invalid(
                    "`apply` belongs to the actions install and remove: leave it out",
                ));
            }
            Action::Status => {
                let command = server.project.command;
                let status = blocking(move || ait_hooks::status(&directory, &command)).await;
                return Success::report(status.map_err(refused)?);
            }
            Action::Install => Operation::Install,
            Action::Remove => Operation::Remove,
        };
        let report = blocking(move || change(&server, &directory, operation, apply)).await?;
        planned::report(report, Self::NAME, &context)
    }
}

/// Plans a change of the hooks, and makes it if `apply` is set.
fn change(
    server: &ServerContext,
    directory: &HooksDir,
    operation: Operation,
    apply: bool,
) -> Result<ChangeReport, Failure> {
    if operation == Operation::Install
        && let Some(found) = server.context.other_store()
    {
        return Err(Failure::invalid(format!(
            "hooks would use {}, the store of the repository, and this server was started with {}: start it without \
             --file to have hooks for its store; nothing was written",
            found.display(),
            server.context.path.display()
        )));
    }
    let plan = ait_hooks::plan(directory, &server.project.command, operation, false);
    let mut plan = plan.map_err(refused)?;
    if apply {
        plan.apply().map_err(|error| Failure::not_saved(format!("{error:#}")))?;
    }
    Ok(plan)
}

fn refused(error: Error) -> Failure {
    Failure::invalid(format!("{error:#}"))
}
