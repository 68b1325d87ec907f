//! The hooks of clients: commands that a client runs when a session of an agent starts, wants to stop and ends.
//!
//! Each client reads them in a file of JSON: `hooks` has a list for each event. An item of ours is known by its
//! command.

use std::path::Path;

use serde::Serialize;
use serde_json::{Value, json};

use super::clients::HookClient;
use super::edit::{EditError, json};
use super::host_env::is_program;
use super::session_hooks::{HookForm, SessionEvent};
use super::staged_file::StagedFiles;
use super::{FileChange, HostEnv, Plan, SetupError};

/// The word before the event in a command of ours.
const COMMAND: &str = "hook";
/// What follows the command, so that a machine without `ait` does not disturb the client.
const ALWAYS: &str = "|| true";

/// Returns the events that a client has, each with the path of its list in the file.
fn events(client: HookClient) -> impl Iterator<Item = (SessionEvent, [&'static str; 2])> {
    client.hooks.events.iter().map(|(event, name)| (*event, ["hooks", *name]))
}

/// Returns the item for the command of an event in its list.
fn item(form: HookForm, command: &str, event: SessionEvent) -> Value {
    let hooks = json!([{ "type": "command", "command": command }]);
    match form {
        HookForm::Cursor => json!({ "command": command }),
        HookForm::VsCode => hooks[0].clone(),
        HookForm::Groups if event == SessionEvent::SubagentKill => {
            json!({ "matcher": "TaskStop", "hooks": hooks })
        }
        HookForm::Groups => json!({ "hooks": hooks }),
    }
}

/// Returns a member of the file that the client demands.
fn version(form: HookForm) -> Option<(&'static str, Value)> {
    matches!(form, HookForm::Cursor | HookForm::VsCode).then(|| ("version", json!(1)))
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
    pub hook: SessionEvent,
    pub state: ClientHookState,
}

/// The hooks of a client.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ClientHooks {
    pub client: HookClient,
    /// The file with the hooks.
    pub file: String,
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

/// The place of a client's hooks in a project.
#[derive(Clone, Copy, Debug)]
pub struct HooksOfProject<'a> {
    pub client: HookClient,
    pub root: &'a Path,
    pub env: &'a HostEnv,
    /// What starts the tracker.
    pub program: &'a str,
}

/// Examines the hooks of the clients that have any in a project. `program` starts the tracker.
pub fn clients_with_hooks(
    root: &Path,
    env: &HostEnv,
    program: &str,
) -> impl Iterator<Item = Result<ClientHooks, (HookClient, SetupError)>> {
    let hooks = HookClient::all().map(move |client| {
        let hooks = HooksOfProject { client, root, env, program };
        hooks.status().map_err(|error| (client, error))
    });
    let are_none = |hooks: &ClientHooks| hooks.are_all(ClientHookState::Missing);
    hooks.filter(move |hooks| !hooks.as_ref().is_ok_and(are_none))
}

impl HooksOfProject<'_> {
    /// Examines the hooks.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has another form.
    pub fn status(self) -> Result<ClientHooks, SetupError> {
        let mut files = StagedFiles::new(self.root, self.env, false);
        let file = self.file(&mut files)?;
        let state = |event| file.inspect(|text| self.state(text, event));
        let hook = |(hook, _)| Ok(ClientHook { hook, state: state(hook)? });
        let hooks = events(self.client).map(hook).collect::<Result<_, SetupError>>()?;
        Ok(ClientHooks { client: self.client, file: file.shown.clone(), hooks })
    }

    /// Plans to install the hooks. What else is in the file stays.
    pub fn install(self) -> Result<Plan, SetupError> {
        let mut files = StagedFiles::new(self.root, self.env, false);
        self.stage(&mut files)?;
        Ok(Plan { changes: files.changes(), ..Plan::default() })
    }

    /// Plans to remove the hooks. A file that holds nothing else is deleted.
    pub fn remove(self) -> Result<Plan, SetupError> {
        let mut files = StagedFiles::new(self.root, self.env, false);
        self.unstage(&mut files)?;
        Ok(Plan { changes: files.changes(), ..Plan::default() })
    }

    /// Adds the hooks to the files of a plan.
    pub(super) fn stage(self, files: &mut StagedFiles<'_>) -> Result<(), SetupError> {
        let hooks = self.client.hooks;
        let file = self.file(files)?;
        file.inspect(|text| json::check(text, hooks.dialect))?;
        if let Some((name, version)) = version(hooks.form) {
            file.edit(|text| json::set_missing(text, name, &version))?;
        }
        for (event, path) in events(self.client) {
            let item = item(hooks.form, &self.command(event), event);
            if file.inspect(|text| self.state(text, event))? != ClientHookState::Installed {
                file.edit(|text| json::remove_items(text, &path, &|one| is_ours(one, event)))?;
                file.edit(|text| json::append(text, &path, &item))?;
            }
        }
        Ok(())
    }

    /// Takes the hooks out of the files of a plan.
    pub(super) fn unstage(self, files: &mut StagedFiles<'_>) -> Result<(), SetupError> {
        self.file(files)?.remove_from(|text| {
            let mut rest = text.to_owned();
            for (event, path) in events(self.client) {
                rest = json::remove_items(&rest, &path, &|item| is_ours(item, event))?;
            }
            match version(self.client.hooks.form) {
                Some((name, version)) if rest != text => json::unset_last(&rest, name, &version),
                _ => Ok(rest),
            }
        })
    }

    fn file<'f>(self, files: &'f mut StagedFiles<'_>) -> Result<&'f mut FileChange, SetupError> {
        files.file(&self.root.join(self.client.hooks.file), Some(self.root))
    }

    /// Returns the command of a hook.
    fn command(self, event: SessionEvent) -> String {
        let program = shell_words::quote(self.program);
        let event = event.as_str();
        match self.client.hooks.form {
            HookForm::Groups => format!("{program} {COMMAND} {event} {ALWAYS}"),
            HookForm::Cursor | HookForm::VsCode => {
                format!("{program} {COMMAND} {event} --client {} {ALWAYS}", self.client.name)
            }
        }
    }

    fn state(self, text: &str, event: SessionEvent) -> Result<ClientHookState, EditError> {
        let Some(name) = self.client.event(event) else { return Ok(ClientHookState::Missing) };
        let items = json::get(text, &["hooks", name])?;
        let items = items.iter().filter_map(Value::as_array).flatten();
        let ours: Vec<_> = items.filter(|item| is_ours(item, event)).collect();
        let wanted = self.command(event);
        Ok(match ours[..] {
            [] => ClientHookState::Missing,
            [item] if commands(item).eq([wanted.as_str()]) => ClientHookState::Installed,
            _ => ClientHookState::Outdated,
        })
    }
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
