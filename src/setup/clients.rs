//! The clients that can be set up: where each keeps its servers and its agents, as it documents that.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::edit::Entry;
use super::machine::Machine;
use super::prompts::Form;

/// How a client reaches the tracker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Connection {
    /// It starts one of its own.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// It asks one that runs, at this address.
    Url(String),
}

/// What the file with the servers is written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// JSON, with comments where the client reads them.
    Json,
    /// TOML.
    Toml,
}

/// Where the file with the servers lies.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In the project: the first of these that is there, else the first.
    Project(&'static [&'static str]),
    /// Where the user keeps it for all projects.
    User(fn(&Machine) -> Option<PathBuf>),
}

/// Where a client looks for agents, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agents {
    /// The directory in the project.
    pub directory: &'static str,
    /// The form.
    pub form: Form,
    /// Whether it also takes those of Claude Code, so that both would be told of each twice.
    pub reads_claude: bool,
}

/// A client.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is called by people.
    pub title: &'static str,
    /// The file with its servers.
    pub place: Place,
    /// What that is written in.
    pub format: Format,
    /// The file with the servers that the user has in all projects, if that is another one.
    pub of_user: fn(&Machine) -> Option<PathBuf>,
    /// The object with the servers in it: the first of these that is there, else the last.
    pub servers: &'static [&'static [&'static str]],
    /// The entry of a server.
    pub entry: fn(&Connection) -> Entry,
    /// Whether it takes an address.
    pub takes_url: bool,
    /// Where it looks for agents, if it does.
    pub agents: Option<Agents>,
    /// The file in the project with instructions that it reads, if it does.
    pub guide: Option<&'static str>,
    /// The files in the project that it reads instead, where one of them is there.
    pub before_guide: &'static [&'static str],
    /// What in a project shows that it is used there.
    marks: &'static [&'static str],
    /// What in the user's home shows that it is used.
    home_marks: &'static [&'static str],
    /// What it is started by.
    programs: &'static [&'static str],
}

/// Claude Code: `.mcp.json` at the project's root (<https://code.claude.com/docs/en/mcp>), agents in
/// `.claude/agents/` (<https://code.claude.com/docs/en/sub-agents>), instructions in `CLAUDE.md`
/// (<https://code.claude.com/docs/en/memory>).
pub const CLAUDE_CODE: Client = Client {
    name: "claude-code",
    title: "Claude Code",
    place: Place::Project(&[".mcp.json"]),
    format: Format::Json,
    of_user: |machine| machine.at_home(".claude.json"),
    servers: &[&["mcpServers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "type": "http", "url": url })),
        command => started(command),
    },
    takes_url: true,
    agents: Some(Agents { directory: ".claude/agents", form: Form::Claude, reads_claude: false }),
    guide: Some("CLAUDE.md"),
    before_guide: &[],
    marks: &[".mcp.json", ".claude", "CLAUDE.md"],
    home_marks: &[".claude", ".claude.json"],
    programs: &["claude"],
};

/// Cursor: `.cursor/mcp.json` in the project (<https://cursor.com/docs/mcp>), agents in `.cursor/agents/`
/// and in `.claude/agents/` (<https://cursor.com/docs/agent/subagents>), instructions in `AGENTS.md`
/// (<https://cursor.com/docs/rules>).
pub const CURSOR: Client = Client {
    name: "cursor",
    title: "Cursor",
    place: Place::Project(&[".cursor/mcp.json"]),
    format: Format::Json,
    of_user: |machine| machine.at_home(".cursor/mcp.json"),
    servers: &[&["mcpServers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "url": url })),
        command => started(command),
    },
    takes_url: true,
    agents: Some(Agents { directory: ".cursor/agents", form: Form::Cursor, reads_claude: true }),
    guide: Some("AGENTS.md"),
    before_guide: &[],
    marks: &[".cursor", ".cursorrules"],
    home_marks: &[".cursor"],
    programs: &["cursor", "cursor-agent"],
};

/// VS Code: `.vscode/mcp.json` in the workspace
/// (<https://code.visualstudio.com/docs/agents/reference/mcp-configuration>), agents in `.github/agents/`
/// and in `.claude/agents/` (<https://code.visualstudio.com/docs/agent-customization/custom-agents>),
/// instructions in `AGENTS.md`
/// (<https://code.visualstudio.com/docs/agent-customization/custom-instructions>).
pub const VSCODE: Client = Client {
    name: "vscode",
    title: "VS Code",
    place: Place::Project(&[".vscode/mcp.json"]),
    format: Format::Json,
    of_user: |machine| Some(machine.application_data()?.join("Code/User/mcp.json")),
    servers: &[&["servers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "type": "http", "url": url })),
        command => led(("type", "stdio"), started(command)),
    },
    takes_url: true,
    agents: Some(Agents { directory: ".github/agents", form: Form::VsCode, reads_claude: true }),
    guide: Some("AGENTS.md"),
    before_guide: &[],
    marks: &[".vscode"],
    home_marks: &[".vscode"],
    programs: &["code"],
};

/// Codex: `.codex/config.toml` in the project, which it reads once the project is trusted
/// (<https://developers.openai.com/codex/mcp>, <https://developers.openai.com/codex/config-basic>), agents
/// in `.codex/agents/` (<https://developers.openai.com/codex/subagents>), instructions in `AGENTS.md`
/// (<https://developers.openai.com/codex/guides/agents-md>).
pub const CODEX: Client = Client {
    name: "codex",
    title: "Codex",
    place: Place::Project(&[".codex/config.toml"]),
    format: Format::Toml,
    of_user: |machine| machine.at_home(".codex/config.toml"),
    servers: &[&["mcp_servers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "url": url })),
        command => started(command),
    },
    takes_url: true,
    agents: Some(Agents { directory: ".codex/agents", form: Form::Codex, reads_claude: false }),
    guide: Some("AGENTS.md"),
    before_guide: &[],
    marks: &[".codex"],
    home_marks: &[".codex"],
    programs: &["codex"],
};

/// Claude Desktop: `claude_desktop_config.json` of the user, which has servers that are started only
/// (<https://modelcontextprotocol.io/docs/develop/connect-local-servers>, for macOS and Windows; on Linux
/// it lies where other settings do).
pub const CLAUDE_DESKTOP: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    place: Place::User(|machine| {
        let directory = machine.application_data()?;
        Some(directory.join("Claude/claude_desktop_config.json"))
    }),
    format: Format::Json,
    of_user: |_| None,
    servers: &[&["mcpServers"]],
    entry: started,
    takes_url: false,
    agents: None,
    guide: None,
    before_guide: &[],
    marks: &[],
    home_marks: &[],
    programs: &[],
};

/// Gemini CLI: `.gemini/settings.json` in the project
/// (<https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md>), agents in `.gemini/agents/`
/// (<https://geminicli.com/docs/core/subagents>), instructions in `GEMINI.md`
/// (<https://geminicli.com/docs/cli/gemini-md>).
pub const GEMINI: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    place: Place::Project(&[".gemini/settings.json"]),
    format: Format::Json,
    of_user: |machine| machine.at_home(".gemini/settings.json"),
    servers: &[&["mcpServers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "httpUrl": url })),
        command => started(command),
    },
    takes_url: true,
    agents: Some(Agents { directory: ".gemini/agents", form: Form::Gemini, reads_claude: false }),
    guide: Some("GEMINI.md"),
    before_guide: &[],
    marks: &[".gemini", "GEMINI.md"],
    home_marks: &[".gemini"],
    programs: &["gemini"],
};

/// Zed: `.zed/settings.json` in the project, whose servers it starts once the project is trusted
/// (<https://zed.dev/docs/ai/mcp>, <https://zed.dev/docs/worktree-trust>), instructions in `AGENTS.md`
/// (<https://zed.dev/docs/ai/instructions>) unless there is one of another name (<https://zed.dev/docs/ai/rules>).
pub const ZED: Client = Client {
    name: "zed",
    title: "Zed",
    place: Place::Project(&[".zed/settings.json"]),
    format: Format::Json,
    of_user: |machine| match machine.app_data.as_ref() {
        Some(directory) => Some(directory.join("Zed/settings.json")),
        None => Some(machine.settings.as_ref()?.join("zed/settings.json")),
    },
    servers: &[&["context_servers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "url": url })),
        Connection::Command { program, arguments } => {
            members(json!({ "command": program, "args": arguments }))
        }
    },
    takes_url: true,
    agents: None,
    guide: Some("AGENTS.md"),
    before_guide: &[
        ".rules",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
        ".github/copilot-instructions.md",
        "AGENT.md",
    ],
    marks: &[".zed"],
    home_marks: &[".config/zed"],
    programs: &["zed", "zeditor"],
};

/// opencode: `opencode.json` or `opencode.jsonc` at the project's root, with the servers in `mcp`, which its
/// versions 1 and 2 read, or in `mcp.servers`, which version 2 has for its own and prefers
/// (<https://opencode.ai/docs/mcp-servers>, <https://opencode.ai/docs/migrate-v1>); agents in
/// `.opencode/agents/` (<https://opencode.ai/docs/agents>), instructions in `AGENTS.md`
/// (<https://opencode.ai/docs/rules>).
pub const OPENCODE: Client = Client {
    name: "opencode",
    title: "opencode",
    place: Place::Project(&["opencode.json", "opencode.jsonc"]),
    format: Format::Json,
    of_user: |machine| {
        let directory = machine.settings.as_ref()?.join("opencode");
        let files = ["opencode.json", "opencode.jsonc"].map(|name| directory.join(name));
        files.into_iter().find(|file| file.exists())
    },
    servers: &[&["mcp", "servers"], &["mcp"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "type": "remote", "url": url })),
        Connection::Command { program, arguments } => {
            let line: Vec<&String> = std::iter::once(program).chain(arguments).collect();
            members(json!({ "type": "local", "command": line }))
        }
    },
    takes_url: true,
    agents: Some(Agents {
        directory: ".opencode/agents",
        form: Form::Opencode,
        reads_claude: false,
    }),
    guide: Some("AGENTS.md"),
    before_guide: &[],
    marks: &["opencode.json", "opencode.jsonc", ".opencode"],
    home_marks: &[".config/opencode"],
    programs: &["opencode"],
};

/// All of them.
pub const CLIENTS: [Client; 8] =
    [CLAUDE_CODE, CURSOR, VSCODE, CODEX, CLAUDE_DESKTOP, GEMINI, ZED, OPENCODE];

impl Client {
    /// The client of a name on the command line.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// The file with its servers; `None` where the user has no place for it.
    pub fn file(&self, root: &Path, machine: &Machine) -> Option<PathBuf> {
        match self.place {
            Place::Project(names) => {
                let is_there = |name: &&&str| root.join(name).exists();
                Some(root.join(names.iter().find(is_there).unwrap_or(&names[0])))
            }
            Place::User(file) => file(machine),
        }
    }

    /// What shows that it is in use, if anything does.
    pub fn trace(&self, root: &Path, machine: &Machine) -> Option<String> {
        if let Some(mark) = self.marks.iter().find(|mark| root.join(mark).exists()) {
            return Some(format!("{mark} is here"));
        }
        let home = |mark: &&str| Some(machine.home.as_ref()?.join(mark));
        let mut places: Vec<_> = self.home_marks.iter().filter_map(home).collect();
        if let Place::User(file) = self.place {
            places.extend(file(machine).and_then(|file| Some(file.parent()?.to_owned())));
        }
        if let Some(place) = places.iter().find(|place| place.exists()) {
            return Some(format!("{} is there", machine.short(place)));
        }
        let program = self.programs.iter().find(|program| machine.program(program).is_some())?;
        Some(format!("{program} is on the PATH"))
    }
}

/// The entry of a server that is started, as most clients have it.
fn started(connection: &Connection) -> Entry {
    match connection {
        Connection::Command { program, arguments } if arguments.is_empty() => {
            members(json!({ "command": program }))
        }
        Connection::Command { program, arguments } => {
            members(json!({ "command": program, "args": arguments }))
        }
        Connection::Url(url) => members(json!({ "url": url })),
    }
}

fn led((name, value): (&str, &str), entry: Entry) -> Entry {
    std::iter::once((name.to_owned(), Value::from(value))).chain(entry).collect()
}

fn members(value: Value) -> Entry {
    value.as_object().cloned().unwrap_or_default()
}
