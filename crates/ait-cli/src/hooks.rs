//! `ait hooks`: lets git name issues in commits, and note merges on them.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Result, bail};
use clap::builder::TypedValueParser;
use clap::builder::styling::{AnsiColor, Style};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::client_hooks::{self, render_error};
use super::options::{Format, WrongUsage, one_of};
use super::output::{FAINT, STRONG};
use super::{ExitStatus, Output, sanitize};
use ait_domain::text::counted;
use ait_hooks::{
    ChangeReport, Hook, HookChange, HookState, HookStatus, HooksDir, Operation, StatusReport,
};
use ait_setup::{ClientHookState, ClientHooks, HookClient, HooksOfProject};

/// The arguments of `ait hooks`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "prepare-commit-msg adds a line `Issue: 3f2a9c1e Title` to the message of a commit. The issue is\n\
        the claimed one that the branch names (issue-3f2a9c1e, as a word of its name), or else the only\n\
        one that $AIT_AGENT works on. post-merge notes a merged branch on its issue.\n\n\
        The hooks never block git. Without a store or ait they do nothing; an error is one line on stderr.\n\
        An existing hook is kept as NAME.before-ait-hooks, or as before-ait/NAME if it reads its\n\
        own name, and runs first.\n\n\
        --client names a client of agents instead of git. Its hooks tell an agent what it holds, and release\n\
        its claims when its session ends.\n\n\
        Examples:\n  \
        ait hooks install\n  \
        ait hooks status\n  \
        ait hooks remove\n  \
        ait hooks install --client claude-code"
)]
pub struct Arguments {
    /// The action.
    #[command(subcommand)]
    pub action: Action,
}

/// An action on the hooks of a repository.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Install the hooks in this repository, for all its worktrees
    Install(ChangeArguments),
    /// Remove them, and put the hooks from before in their place
    Remove(ChangeArguments),
    /// Show the state of the hooks; exits with 1 if one of them is not installed
    Status(StatusArguments),
    /// Do the work of a hook.
    #[command(hide = true)]
    Run(CallArguments),
}

/// The arguments of `ait hooks install` and `ait hooks remove`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Exits with 1 if a hook has to stay as it is; a note says which, and why.")]
pub struct ChangeArguments {
    /// Show the plan and change nothing
    #[arg(long)]
    dry_run: bool,

    /// The hooks of this client, instead of those of git
    #[arg(long, value_name = "NAME", value_parser = client())]
    client: Option<HookClient>,

    /// Also replace or remove a hook of ours that was edited
    #[arg(long, conflicts_with = "client")]
    force: bool,

    #[command(flatten)]
    format: Format,
}

/// The arguments of `ait hooks status`.
#[derive(Clone, Debug, Args)]
pub struct StatusArguments {
    /// Only the hooks of this client
    #[arg(long, value_name = "NAME", value_parser = client())]
    client: Option<HookClient>,

    #[command(flatten)]
    format: Format,
}

/// A call of a hook by git.
#[derive(Clone, Debug, Args)]
pub struct CallArguments {
    /// The hook.
    pub hook: String,
    /// Its arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

impl Action {
    /// Returns the client whose hooks alone the action concerns.
    pub fn client(&self) -> Option<HookClient> {
        match self {
            Self::Install(arguments) | Self::Remove(arguments) => arguments.client,
            Self::Status(arguments) => arguments.client,
            Self::Run(_) => None,
        }
    }
}

/// Installs, removes or examines the hooks of a client in a project.
///
/// # Errors
///
/// A file cannot be read, edited or written; the text says what to do.
pub fn run_for_client(
    action: &Action,
    hooks: HooksOfProject<'_>,
    is_store_named: bool,
    output: &Output,
) -> Result<ExitStatus> {
    let ending = match action {
        Action::Install(_) if is_store_named => bail!(NAMED_STORE),
        Action::Install(ChangeArguments { dry_run, format, .. }) => {
            let plan = hooks.install().map_err(render_error)?;
            client_hooks::change(hooks, &plan, *dry_run, format.json, output)?
        }
        Action::Remove(ChangeArguments { dry_run, format, .. }) => {
            let plan = hooks.remove().map_err(render_error)?;
            client_hooks::change(hooks, &plan, *dry_run, format.json, output)?
        }
        Action::Status(arguments) => {
            let status = hooks.status().map_err(render_error)?;
            if arguments.format.json {
                output.json(&status)?;
            } else {
                client_hooks::write(&status, output)?;
            }
            ExitStatus::done_if(status.are_all(ClientHookState::Installed))
        }
        Action::Run(_) => ExitStatus::Incomplete,
    };
    output.flush()?;
    Ok(ending)
}

/// Parses the name of a client with hooks.
fn client() -> impl TypedValueParser<Value = HookClient> {
    one_of(HookClient::all().map(|client| client.name))
}

/// The state of the hooks of git and of clients.
#[derive(Serialize)]
struct AllHooks<'a> {
    #[serde(flatten)]
    git: &'a StatusReport,
    /// The clients that have hooks here; most projects have none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clients: Vec<ClientHooks>,
}

/// The refusal of a named store.
const NAMED_STORE: WrongUsage = WrongUsage(
    "hooks use the store of the repository in which they are called, or the one that ISSUES_FILE names: leave \
     --file out",
);

/// Installs, removes or examines the hooks of git. `clients` are the clients that have hooks. `command` starts the
/// tracker; `is_store_named` says whether the command line names a store, which hooks cannot use.
///
/// # Errors
///
/// A hook cannot be read or changed; the text says what to do.
pub fn run(
    action: &Action,
    directory: &HooksDir,
    clients: Vec<ClientHooks>,
    command: &str,
    is_store_named: bool,
    output: &Output,
) -> Result<ExitStatus> {
    let ending = match action {
        Action::Install(_) if is_store_named => bail!(NAMED_STORE),
        Action::Install(arguments) => {
            let plan = ait_hooks::plan(directory, command, Operation::Install, arguments.force)?;
            change(arguments, plan, "installed", output)?
        }
        Action::Remove(arguments) => {
            let plan = ait_hooks::plan(directory, command, Operation::Remove, arguments.force)?;
            change(arguments, plan, "removed", output)?
        }
        Action::Status(arguments) => {
            let git = &ait_hooks::status(directory, command)?;
            show(arguments.format, &AllHooks { git, clients }, output)?
        }
        Action::Run(_) => ExitStatus::Incomplete,
    };
    output.flush()?;
    Ok(ending)
}

fn change(
    arguments: &ChangeArguments,
    mut plan: ChangeReport,
    done: &str,
    output: &Output,
) -> Result<ExitStatus> {
    if !arguments.dry_run {
        plan.apply()?;
    }
    if arguments.format.json {
        output.json(&plan)?;
    } else {
        let ChangeReport { changes, notes, .. } = &plan;
        for HookChange { path, what, previous, script } in changes {
            let file = output.styled(STRONG, sanitize::line(&path.display().to_string()));
            let verb = if script.is_some() { "kept as" } else { "back from" };
            let previous = previous
                .as_deref()
                .and_then(Path::file_name)
                .map(|name| format!(", the earlier one {verb} {}", name.to_string_lossy()));
            output.line(format_args!("{file} ({what}{})", previous.unwrap_or_default()))?;
        }
        for note in notes {
            output.line(format_args!("Note: {}", sanitize::line(note)))?;
        }
        match changes.len() {
            0 => output.line("nothing to do")?,
            _ if arguments.dry_run => output.line("nothing was written: this was a dry run")?,
            count => output.line(format_args!("{done}: {}", counted(count, "hook", "hooks")))?,
        }
    }
    Ok(ExitStatus::done_if(!plan.is_partial))
}

fn show(format: Format, status: &AllHooks<'_>, output: &Output) -> Result<ExitStatus> {
    let ending = ExitStatus::done_if(status.git.is_installed());
    if format.json {
        output.json(status)?;
        return Ok(ending);
    }
    let StatusReport { directory, set_by, problem, hooks } = status.git;
    let path = output.styled(STRONG, sanitize::line(&directory.display().to_string()));
    let set_by = set_by.as_ref().map(|by| format!(" (core.hooksPath in {})", sanitize::line(by)));
    output.line(format_args!("{path}{}", set_by.unwrap_or_default()))?;
    for HookStatus { hook, state, previous, previous_runs, .. } in hooks {
        let style = match state {
            HookState::Installed => AnsiColor::Green.on_default(),
            HookState::Missing | HookState::Other => Style::new(),
            _ => AnsiColor::Yellow.on_default(),
        };
        let name = output.styled(STRONG, format_args!("{:<18}", hook.as_str()));
        output.line(format_args!("{name}  {}", output.styled(style, describe(*state))))?;
        if let Some(previous) = previous {
            let file = previous.file_name().unwrap_or_default().to_string_lossy();
            let how = match (state, previous_runs) {
                (HookState::Overwritten | HookState::Resynced, _) => "is the hook from before ours",
                (_, Some(true)) => "is the hook from before, and runs first",
                _ => "is the hook from before; it is not executable and does not run",
            };
            let line = format!("{:<18}  {} {how}", "", sanitize::line(&file));
            output.line(output.styled(FAINT, line))?;
        }
    }
    if let Some(problem) = problem {
        output.line(format_args!("Note: {}", sanitize::line(problem)))?;
    }
    for hooks in &status.clients {
        client_hooks::write(hooks, output)?;
    }
    Ok(ending)
}

fn describe(state: HookState) -> &'static str {
    match state {
        HookState::Installed => "installed",
        HookState::Outdated => {
            "for another program, or not executable: `ait hooks install` corrects that"
        }
        HookState::Edited => {
            "edited, or of another version: `ait hooks install --force` replaces it"
        }
        HookState::Missing => "not installed: `ait hooks install`",
        HookState::Other => {
            "not installed; another hook is there, which `ait hooks install` keeps and calls"
        }
        HookState::Blocked => "not installed, and ait may not do that",
        HookState::Overwritten => "overwritten by another hook",
        HookState::Resynced => "overwritten by lefthook: `ait hooks install` corrects that",
    }
}

impl CallArguments {
    /// The hook, if this version knows it.
    pub fn known(&self) -> Option<Hook> {
        Hook::from_word(&self.hook)
    }
}
