//! The hooks of clients: `ait hooks` with `--client`, and the call of a hook by a client.

use std::io::{self, IsTerminal};

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;

use super::options::WrongUsage;
use super::{ExitStatus, Output, sanitize};
use ait_setup::{
    ClientHookState, ClientHooks, FileChange, HookClient, HooksOfProject, Plan, SessionEvent,
    SetupError,
};

/// The arguments of `ait hook`, which clients call.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// The event.
    event: String,
    /// The client, if it understands other answers than Claude Code.
    #[arg(long)]
    client: Option<String>,
}

impl Arguments {
    /// Returns the event, if this version knows it.
    ///
    /// # Errors
    ///
    /// A person typed the command, and meant another one.
    pub fn event(&self) -> Result<Option<SessionEvent>> {
        if io::stdin().is_terminal() {
            bail!(WrongUsage("clients call `ait hook`; `ait hooks` manages the hooks"));
        }
        Ok(SessionEvent::from_word(&self.event))
    }

    /// Returns the client that calls.
    pub fn client(&self) -> HookClient {
        let named = self.client.as_deref().and_then(|name| name.parse().ok());
        named.unwrap_or(HookClient::CLAUDE_CODE)
    }
}

/// Writes a plan unless `is_dry_run` is set, and prints it.
pub(super) fn change(
    hooks: HooksOfProject<'_>,
    plan: &Plan,
    is_dry_run: bool,
    is_json: bool,
    output: &Output,
) -> Result<ExitStatus> {
    if !is_dry_run && let Some((file, error)) = ait_setup::apply(&plan.changes, hooks.root).failure
    {
        bail!("{file} cannot be written: {error}");
    }
    let is_written = !is_dry_run && !plan.changes.is_empty();
    if is_json {
        let change = |change: &FileChange| json!({ "path": change.shown, "what": change.kind() });
        let changes: Vec<_> = plan.changes.iter().map(change).collect();
        output.json(&json!({
            "client": hooks.client, "changes": changes, "written": is_written,
        }))?;
        return Ok(ExitStatus::Done);
    }
    for change in &plan.changes {
        output.line(format_args!("{} ({})", sanitize::line(&change.shown), change.kind()))?;
    }
    if plan.changes.is_empty() {
        output.line("nothing to do")?;
    } else if is_dry_run {
        output.line("nothing was written: this was a dry run")?;
    }
    Ok(ExitStatus::Done)
}

/// Prints the state of the hooks of a client.
pub(super) fn write(status: &ClientHooks, output: &Output) -> Result<()> {
    let client = status.client.name;
    output.line(format_args!("{} ({client})", sanitize::line(&status.file)))?;
    for (name, state) in status.names() {
        let state = match state {
            ClientHookState::Installed => "installed".to_owned(),
            ClientHookState::Outdated => {
                format!("for another program: `ait hooks install --client {client}` corrects that")
            }
            ClientHookState::Missing => {
                format!("not installed: `ait hooks install --client {client}`")
            }
        };
        output.line(format_args!("{name:<18}  {state}"))?;
    }
    Ok(())
}

/// Returns an error without the advice for `ait init`.
pub(super) fn render_error(error: SetupError) -> anyhow::Error {
    match error {
        SetupError::Unusable { path, problem } => {
            anyhow::anyhow!("{path}, {problem}: correct it; nothing was written")
        }
        SetupError::Unreadable { path, cause } => {
            anyhow::anyhow!(
                "{path} cannot be read ({cause}): make it readable; nothing was written"
            )
        }
        SetupError::Outside { path, target } => anyhow::anyhow!(
            "{path} leads to {}, outside of the project: edit that file by hand; nothing was written",
            target.display()
        ),
        error => error.into(),
    }
}
