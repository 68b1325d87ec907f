//! The hooks of clients: commands that a client runs when a session of an agent starts, wants to stop and ends.
//!
//! Each client reads them in a file of JSON: `hooks` has a list for each event. An item of ours is known by its
//! command.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::edit::json::Dialect;
use super::edit::{EditError, json};
use super::host_env::is_program;
use super::staged_file::StagedFiles;
use super::{HostEnv, Plan, SetupError};
use crate::string_enum::string_enum;

/// The word before the event in a command of ours.
const COMMAND: &str = "hook";
/// What follows the command, so that a machine without `ait` does not disturb the client.
const ALWAYS: &str = "|| true";

string_enum! {
    /// A client with hooks.
    ///
    /// Claude Code (<https://code.claude.com/docs/en/hooks>), Gemini CLI
    /// (<https://github.com/google-gemini/gemini-cli/blob/main/docs/hooks/reference.md>) and Codex
    /// (<https://developers.openai.com/codex/hooks>) have a list of groups for each event, and each group has a list of
    /// commands; they understand the same answers. Cursor (<https://cursor.com/docs/agent/hooks>) and VS Code
    /// (<https://code.visualstudio.com/docs/copilot/customization/hooks>) have a list of commands for each event, and
    /// answers of their own. Copilot CLI (<https://docs.github.com/en/copilot/reference/hooks-reference>) reads the
    /// file of VS Code and understands its names.
    pub enum HookClient {
        /// Claude Code.
        ClaudeCode = "claude-code",
        /// Codex.
        Codex = "codex",
        /// Cursor.
        Cursor = "cursor",
        /// Gemini CLI.
        Gemini = "gemini",
        /// VS Code, and Copilot CLI. VS Code has no hook for the end of a session, and Copilot CLI has called its own
        /// after each turn (<https://github.com/github/copilot-cli/issues/2491>).
        VsCode = "vscode",
    }
}

impl HookClient {
    /// The file with the hooks, in the project.
    fn file(self) -> &'static str {
        match self {
            Self::ClaudeCode => ".claude/settings.json",
            Self::Codex => ".codex/hooks.json",
            Self::Cursor => ".cursor/hooks.json",
            Self::Gemini => ".gemini/settings.json",
            Self::VsCode => ".github/hooks/ait.json",
        }
    }

    fn dialect(self) -> Dialect {
        match self {
            Self::Gemini => Dialect::Comments,
            _ => Dialect::Strict,
        }
    }

    /// The name of an event in this client; `None` if it has none.
    pub fn event(self, event: SessionEvent) -> Option<&'static str> {
        match (self, event) {
            (Self::Cursor, SessionEvent::SessionStart) => Some("sessionStart"),
            (Self::Cursor, SessionEvent::Stop) => Some("stop"),
            (Self::Cursor, SessionEvent::SessionEnd) => Some("sessionEnd"),
            (Self::Gemini, SessionEvent::Stop) => Some("AfterAgent"),
            (Self::VsCode, SessionEvent::SessionEnd) => None,
            (Self::ClaudeCode, SessionEvent::SubagentFailure) => Some("StopFailure"),
            (Self::ClaudeCode, SessionEvent::SubagentKill) => Some("PostToolUse"),
            (Self::ClaudeCode | Self::Codex, SessionEvent::SubagentStop) => Some("SubagentStop"),
            (_, event) if event.is_of_subagent() => None,
            (_, SessionEvent::SessionStart) => Some("SessionStart"),
            (_, SessionEvent::Stop) => Some("Stop"),
            (_, _) => Some("SessionEnd"),
        }
    }

    /// The events that it has, each with the path of its list in the file.
    fn events(self) -> impl Iterator<Item = (SessionEvent, [&'static str; 2])> {
        let events = SessionEvent::ALL.iter().copied();
        events.filter_map(move |event| Some((event, ["hooks", self.event(event)?])))
    }

    /// The command of a hook.
    fn command(self, program: &str, event: SessionEvent) -> String {
        let (program, event) = (shell_words::quote(program), event.as_str());
        match self {
            Self::Cursor | Self::VsCode => {
                format!("{program} {COMMAND} {event} --client {} {ALWAYS}", self.as_str())
            }
            _ => format!("{program} {COMMAND} {event} {ALWAYS}"),
        }
    }

    /// The item for the command of an event in its list.
    fn item(self, command: &str, event: SessionEvent) -> Value {
        let hooks = json!([{ "type": "command", "command": command }]);
        match self {
            Self::Cursor => json!({ "command": command }),
            Self::VsCode => hooks[0].clone(),
            _ if event == SessionEvent::SubagentKill => {
                json!({ "matcher": "TaskStop", "hooks": hooks })
            }
            _ => json!({ "hooks": hooks }),
        }
    }

    /// A member of the file that the client demands.
    fn version(self) -> Option<(&'static str, Value)> {
        matches!(self, Self::Cursor | Self::VsCode).then(|| ("version", json!(1)))
    }
}

string_enum! {
    /// What happens to the session of an agent.
    pub enum SessionEvent {
        /// It starts.
        SessionStart = "session-start",
        /// The agent wants to stop.
        Stop = "stop",
        /// A subagent of it wants to stop. Only clients that tell the transcript of the subagent have it here.
        SubagentStop = "subagent-stop",
        /// A subagent of it has ended because its model failed.
        SubagentFailure = "subagent-failure",
        /// The agent has ended one of its subagents.
        SubagentKill = "subagent-kill",
        /// It ends.
        SessionEnd = "session-end",
    }
}

impl SessionEvent {
    /// Returns true if a subagent stops or has ended.
    pub fn is_of_subagent(self) -> bool {
        matches!(self, Self::SubagentStop | Self::SubagentFailure | Self::SubagentKill)
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
    /// The client.
    pub client: HookClient,
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

    /// The names of the hooks that have not this state, each with its state.
    pub fn names_not(
        &self,
        state: ClientHookState,
    ) -> impl Iterator<Item = (&'static str, ClientHookState)> {
        self.names().filter(move |(_, other)| *other != state)
    }

    /// The names of the hooks in the client, each with its state.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, ClientHookState)> {
        self.hooks.iter().filter_map(|hook| Some((self.client.event(hook.hook)?, hook.state)))
    }
}

/// Examines the hooks of a client in a project. `program` starts the tracker.
///
/// # Errors
///
/// The file cannot be read, or has another form.
pub fn client_hooks(
    client: HookClient,
    root: &Path,
    env: &HostEnv,
    program: &str,
) -> Result<ClientHooks, SetupError> {
    let mut files = StagedFiles::new(root, env, false);
    let file = files.file(&root.join(client.file()), Some(root))?;
    let state = |event| file.inspect(|text| state(text, client, event, program));
    let hook = |(hook, _)| Ok(ClientHook { hook, state: state(hook)? });
    let hooks = client.events().map(hook).collect::<Result<_, SetupError>>()?;
    Ok(ClientHooks { client, file: file.shown.clone(), hooks })
}

/// Examines the hooks of the clients that have any in a project. `program` starts the tracker.
pub fn clients_with_hooks(
    root: &Path,
    env: &HostEnv,
    program: &str,
) -> impl Iterator<Item = Result<ClientHooks, (HookClient, SetupError)>> {
    let clients = HookClient::ALL.iter().copied();
    let hooks = clients.map(move |client| {
        client_hooks(client, root, env, program).map_err(|error| (client, error))
    });
    let are_none = |hooks: &ClientHooks| hooks.are_all(ClientHookState::Missing);
    hooks.filter(move |hooks| !hooks.as_ref().is_ok_and(are_none))
}

/// Plans to install the hooks of a client. What else is in the file stays.
///
/// # Errors
///
/// The file cannot be read or edited.
pub fn install_client_hooks(
    client: HookClient,
    root: &Path,
    env: &HostEnv,
    program: &str,
) -> Result<Plan, SetupError> {
    let mut files = StagedFiles::new(root, env, false);
    stage(client, root, &mut files, program)?;
    Ok(Plan { changes: files.changes(), ..Plan::default() })
}

/// Adds the hooks of a client to the files of a plan.
pub(super) fn stage(
    client: HookClient,
    root: &Path,
    files: &mut StagedFiles<'_>,
    program: &str,
) -> Result<(), SetupError> {
    let file = files.file(&root.join(client.file()), Some(root))?;
    file.inspect(|text| json::check(text, client.dialect()))?;
    if let Some((name, version)) = client.version() {
        file.edit(|text| json::set_missing(text, name, &version))?;
    }
    for (event, path) in client.events() {
        let item = client.item(&client.command(program, event), event);
        if file.inspect(|text| state(text, client, event, program))? != ClientHookState::Installed {
            file.edit(|text| json::remove_items(text, &path, &|one| is_ours(one, event)))?;
            file.edit(|text| json::append(text, &path, &item))?;
        }
    }
    Ok(())
}

/// Plans to remove the hooks of a client. A file that holds nothing else is deleted.
///
/// # Errors
///
/// The file cannot be read or edited.
pub fn remove_client_hooks(
    client: HookClient,
    root: &Path,
    env: &HostEnv,
) -> Result<Plan, SetupError> {
    let mut files = StagedFiles::new(root, env, false);
    unstage(client, root, &mut files)?;
    Ok(Plan { changes: files.changes(), ..Plan::default() })
}

/// Takes the hooks of a client out of the files of a plan.
pub(super) fn unstage(
    client: HookClient,
    root: &Path,
    files: &mut StagedFiles<'_>,
) -> Result<(), SetupError> {
    let file = files.file(&root.join(client.file()), Some(root))?;
    file.remove_from(|text| {
        let mut rest = text.to_owned();
        for (event, path) in client.events() {
            rest = json::remove_items(&rest, &path, &|item| is_ours(item, event))?;
        }
        match client.version() {
            Some((name, version)) if rest != text => json::unset_last(&rest, name, &version),
            _ => Ok(rest),
        }
    })
}

fn state(
    text: &str,
    client: HookClient,
    event: SessionEvent,
    program: &str,
) -> Result<ClientHookState, EditError> {
    let Some(name) = client.event(event) else { return Ok(ClientHookState::Missing) };
    let items = json::get(text, &["hooks", name])?;
    let items = items.iter().filter_map(Value::as_array).flatten();
    let ours: Vec<_> = items.filter(|item| is_ours(item, event)).collect();
    let wanted = client.command(program, event);
    Ok(match ours[..] {
        [] => ClientHookState::Missing,
        [item] if commands(item).eq([wanted.as_str()]) => ClientHookState::Installed,
        _ => ClientHookState::Outdated,
    })
}

/// Returns true if every command of an item is ours.
fn is_ours(item: &Value, event: SessionEvent) -> bool {
    let is_ours = |command: &str| {
        let words = shell_words::split(command).unwrap_or_default();
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        matches!(words[..], [program, COMMAND, name, ..] if is_program(program) && name == event.as_str())
    };
    commands(item).next().is_some() && commands(item).all(is_ours)
}

/// The commands of an item; an empty text for each hook of a group that is none.
fn commands(item: &Value) -> impl Iterator<Item = &str> {
    let hooks = item["hooks"].as_array().into_iter().flatten();
    let hooks = hooks.map(|hook| hook["command"].as_str().unwrap_or_default());
    item["command"].as_str().into_iter().chain(hooks)
}
