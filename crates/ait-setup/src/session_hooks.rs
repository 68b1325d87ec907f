//! What clients call when something happens to the session of an agent, and in which form they read it.

use super::edit::json::Dialect;
use ait_domain::string_enum;

string_enum! {
    /// What happens to the session of an agent.
    pub enum SessionEvent {
        SessionStart = "session-start",
        /// The agent wants to stop.
        Stop = "stop",
        /// A subagent of it wants to stop. Only clients that tell the transcript of the subagent have it here.
        SubagentStop = "subagent-stop",
        /// A subagent of it has ended because its model failed.
        SubagentFailure = "subagent-failure",
        /// The agent has ended one of its subagents.
        SubagentKill = "subagent-kill",
        SessionEnd = "session-end",
    }
}

impl SessionEvent {
    /// Returns true if a subagent stops or has ended.
    pub fn is_of_subagent(self) -> bool {
        matches!(self, Self::SubagentStop | Self::SubagentFailure | Self::SubagentKill)
    }
}

/// How a client runs hooks: commands for what happens to a session of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hooks {
    /// The file with the hooks, in the project.
    pub file: &'static str,
    /// The format of that file.
    pub dialect: Dialect,
    /// Its hooks for the events, with the names that it has for them.
    pub events: &'static [(SessionEvent, &'static str)],
    /// The form of the hooks and of the answers.
    pub form: HookForm,
    /// Whether they were tried with it, so that `ait init` installs them.
    pub are_tried: bool,
}

/// The form of the hooks of a client, and of the answers that it understands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HookForm {
    /// A list of groups for each event, each with a list of commands.
    Groups,
    /// A list of commands for each event, and the answers of Cursor.
    Cursor,
    /// A list of commands for each event, and the answers of VS Code.
    VsCode,
}
