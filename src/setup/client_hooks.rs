//! The hooks of clients: commands that a client runs when a session of an agent starts, wants to stop and ends.
//!
//! Claude Code reads them in `.claude/settings.json` (<https://code.claude.com/docs/en/hooks>): `hooks` has a list of
//! groups for each event, and each group a list of commands. A group is ours by its command.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::edit::{EditError, json};
use super::server_file::is_program;
use super::staged_file::StagedFiles;
use super::{HostEnv, Plan, SetupError};

/// The name of the client on the command line. No other client is known to have such hooks in a documented form.
pub const CLIENT: &str = "claude-code";
/// The file with the hooks, in the project.
const FILE: &str = ".claude/settings.json";
/// The word before the event in a command of ours.
const COMMAND: &str = "hook";
/// What follows the command, so that a machine without `ait` does not disturb the client.
const ALWAYS: &str = "|| true";

/// What happens to the session of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionEvent {
    /// It starts.
    SessionStart,
    /// The agent wants to stop.
    Stop,
    /// It ends.
    SessionEnd,
}

impl SessionEvent {
    /// Every event.
    pub const ALL: [Self; 3] = [Self::SessionStart, Self::Stop, Self::SessionEnd];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::Stop => "stop",
            Self::SessionEnd => "session-end",
        }
    }

    /// The name in Claude Code.
    pub fn client_name(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::Stop => "Stop",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// Finds an event by its name on the command line.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// The path of the groups in the file.
    fn path(self) -> [&'static str; 2] {
        ["hooks", self.client_name()]
    }
}

/// The state of a hook.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientHookState {
    /// It starts this program.
    Installed,
    /// It starts another `ait`, or is there twice.
    Outdated,
    /// It is not there.
    Missing,
}

/// A hook with its state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ClientHook {
    /// The event.
    pub hook: SessionEvent,
    /// The state.
    pub state: ClientHookState,
}

/// The hooks of a client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ClientHooks {
    /// The name of the client on the command line.
    pub client: &'static str,
    /// The file with the hooks.
    pub file: String,
    /// The hooks.
    pub hooks: Vec<ClientHook>,
}

impl ClientHooks {
    /// Returns true if all hooks have a state.
    pub fn are_all(&self, state: ClientHookState) -> bool {
        self.hooks.iter().all(|hook| hook.state == state)
    }
}

/// Examines the hooks of the client in a project. `program` starts the tracker.
///
/// # Errors
///
/// The file cannot be read, or has another form.
pub fn client_hooks(root: &Path, env: &HostEnv, program: &str) -> Result<ClientHooks, SetupError> {
    let mut files = StagedFiles::new(root, env, false);
    let file = files.file(&root.join(FILE), Some(root))?;
    let state = |event| file.inspect(|text| state(text, event, program));
    let hook = |hook| Ok(ClientHook { hook, state: state(hook)? });
    let hooks = SessionEvent::ALL.into_iter().map(hook).collect::<Result<_, SetupError>>()?;
    Ok(ClientHooks { client: CLIENT, file: file.shown.clone(), hooks })
}

/// Plans to install the hooks of the client. What else is in the file stays.
///
/// # Errors
///
/// The file cannot be read or edited.
pub fn install_client_hooks(root: &Path, env: &HostEnv, program: &str) -> Result<Plan, SetupError> {
    let mut files = StagedFiles::new(root, env, false);
    let file = files.file(&root.join(FILE), Some(root))?;
    file.inspect(|text| json::check(text, json::Dialect::Strict))?;
    for event in SessionEvent::ALL {
        let group = json!({ "hooks": [{ "type": "command", "command": command(program, event) }] });
        if file.inspect(|text| state(text, event, program))? != ClientHookState::Installed {
            file.edit(|text| json::remove_items(text, &event.path(), &|one| is_ours(one, event)))?;
            file.edit(|text| json::append(text, &event.path(), &group))?;
        }
    }
    Ok(Plan { changes: files.changes(), notes: Vec::new() })
}

/// Plans to remove the hooks of the client. A file that holds nothing else is deleted.
///
/// # Errors
///
/// The file cannot be read or edited.
pub fn remove_client_hooks(root: &Path, env: &HostEnv) -> Result<Plan, SetupError> {
    let mut files = StagedFiles::new(root, env, false);
    let file = files.file(&root.join(FILE), Some(root))?;
    for event in SessionEvent::ALL {
        let is_ours = |group: &Value| is_ours(group, event);
        file.remove_from(|text| json::remove_items(text, &event.path(), &is_ours))?;
    }
    Ok(Plan { changes: files.changes(), notes: Vec::new() })
}

/// The command of a hook.
fn command(program: &str, event: SessionEvent) -> String {
    format!("{} {COMMAND} {} {ALWAYS}", shell_words::quote(program), event.name())
}

fn state(text: &str, event: SessionEvent, program: &str) -> Result<ClientHookState, EditError> {
    let groups = json::get(text, &event.path())?;
    let groups = groups.iter().filter_map(Value::as_array).flatten();
    let ours: Vec<_> = groups.filter(|group| is_ours(group, event)).collect();
    let wanted = command(program, event);
    Ok(match ours[..] {
        [] => ClientHookState::Missing,
        [group] if commands(group).eq([wanted.as_str()]) => ClientHookState::Installed,
        _ => ClientHookState::Outdated,
    })
}

/// Returns true if every command of a group is ours.
fn is_ours(group: &Value, event: SessionEvent) -> bool {
    let is_ours = |command: &str| {
        let words = shell_words::split(command).unwrap_or_default();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        matches!(words[..], [program, COMMAND, name, ..] if is_program(program) && name == event.name())
    };
    commands(group).next().is_some() && commands(group).all(is_ours)
}

/// The commands of a group; an empty text for each hook that is none.
fn commands(group: &Value) -> impl Iterator<Item = &str> {
    let hooks = group["hooks"].as_array().into_iter().flatten();
    hooks.map(|hook| hook["command"].as_str().unwrap_or_default())
}
