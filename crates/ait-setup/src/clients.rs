//! The clients that `ait init` knows: where each documents that it reads servers, agents and instructions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::SERVER;
use super::consent::{self, Consent};
use super::edit::ServerEntry;
use super::edit::json::Dialect;
use super::host_env::HostEnv;
use super::permissions::{self, AllowList};
use super::prompts::Form;
use super::session_hooks::{HookForm, Hooks, SessionEvent};

/// How a client reaches the tracker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Connection {
    /// It starts the tracker.
    Command { program: String, arguments: Vec<String> },
    /// It connects to this URL.
    Url(String),
}

/// The format of the file with the servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// JSON, of the dialect that the client parses.
    Json(Dialect),
    Toml,
}

/// Where the file with the servers is.
#[derive(Clone, Copy, Debug)]
pub enum ConfigLocation {
    /// In the project: the first of these that exists, else the first.
    Project(&'static [&'static str]),
    /// In the home of the user, for all projects.
    User(fn(&HostEnv) -> Option<PathBuf>),
}

/// Where a client reads agents, and in which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agents {
    /// The directory in the project.
    pub directory: &'static str,
    pub form: Form,
    /// Whether it reads the agents of Claude Code, too.
    pub reads_claude: bool,
}

/// A client with hooks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HookClient {
    /// Its name on the command line.
    pub name: &'static str,
    pub hooks: &'static Hooks,
}

impl HookClient {
    /// Claude Code. A hook that does not name its client is answered as this one.
    pub const CLAUDE_CODE: Self = Self { name: CLAUDE_CODE.name, hooks: &CLAUDE_HOOKS };

    /// Returns every client with hooks.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        CLIENTS.iter().filter_map(|client| Some(Self { name: client.name, hooks: client.hooks? }))
    }

    /// Returns the name of an event in this client; `None` if it has none.
    pub fn event(self, event: SessionEvent) -> Option<&'static str> {
        self.hooks.events.iter().find(|(one, _)| *one == event).map(|(_, name)| *name)
    }
}

impl FromStr for HookClient {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::all().find(|client| client.name == name).ok_or_else(|| {
            let names: Vec<_> = Self::all().map(|client| client.name).collect();
            format!("{name:?} is neither {}", names.join(" nor "))
        })
    }
}

impl Serialize for HookClient {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// A client.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// The name on the command line.
    pub name: &'static str,
    /// The name of the product.
    pub title: &'static str,
    /// The file with its servers.
    pub location: ConfigLocation,
    /// The format of that file.
    pub format: Format,
    /// The file with the servers of the user for all projects, if that is another one.
    pub of_user: fn(&HostEnv) -> Option<PathBuf>,
    /// The path of the object with the servers: the first of these that exists, else the last.
    pub servers: &'static [&'static [&'static str]],
    pub entry: fn(&Connection) -> ServerEntry,
    /// Whether it connects to URLs.
    pub takes_url: bool,
    /// The members of an entry by which it uses the tools without asking, if it has any.
    pub granted: fn() -> ServerEntry,
    /// The lists of the project by which it does other things without asking.
    pub allow_lists: &'static [AllowList],
    /// Whether a person has allowed the server of a project.
    pub consent: fn(&Path, &HostEnv) -> Consent,
    /// Its hooks, if it has any.
    pub hooks: Option<&'static Hooks>,
    /// Where it reads agents, if it does.
    pub agents: Option<Agents>,
    /// The file of the project with the instructions that it reads, if it does.
    pub guide: Option<&'static str>,
    /// The files of the project that it reads instead, if one of them exists.
    pub before_guide: &'static [&'static str],
    /// How the user starts an agent, or the prompt of that name, as text that follows "Name:".
    pub start: fn(&str) -> String,
    /// The files of a project that show that it is used there.
    marks: &'static [&'static str],
    /// The files in the user's home that show that it is used.
    home_marks: &'static [&'static str],
    programs: &'static [&'static str],
}

const CLAUDE_HOOKS: Hooks = Hooks {
    file: ".claude/settings.json",
    dialect: Dialect::Strict,
    events: &[
        (SessionEvent::SessionStart, "SessionStart"),
        (SessionEvent::Stop, "Stop"),
        (SessionEvent::SubagentStop, "SubagentStop"),
        (SessionEvent::SubagentFailure, "StopFailure"),
        (SessionEvent::SubagentKill, "PostToolUse"),
        (SessionEvent::SessionEnd, "SessionEnd"),
    ],
    form: HookForm::Groups,
    are_tried: true,
};

/// What most clients have; each says what it has itself.
const PLAIN: Client = Client {
    name: "",
    title: "",
    location: ConfigLocation::Project(&[]),
    format: Format::Json(Dialect::TrailingCommas),
    of_user: |_| None,
    servers: &[&["mcpServers"]],
    entry: started,
    takes_url: true,
    granted: ServerEntry::new,
    allow_lists: &[],
    consent: |_, _| Consent::Unknown,
    hooks: None,
    agents: None,
    guide: Some("AGENTS.md"),
    before_guide: &[],
    start: prompt,
    marks: &[],
    home_marks: &[],
    programs: &[],
};

/// Claude Code: `.mcp.json` at the project's root (<https://code.claude.com/docs/en/mcp>), which it parses with
/// `JSON.parse`; agents in `.claude/agents/` (<https://code.claude.com/docs/en/sub-agents>), instructions in
/// `CLAUDE.md` (<https://code.claude.com/docs/en/memory>), what it may do in `.claude/settings.json`
/// (<https://code.claude.com/docs/en/permissions>, <https://code.claude.com/docs/en/settings>), hooks there, too
/// (<https://code.claude.com/docs/en/hooks>).
pub const CLAUDE_CODE: Client = Client {
    name: "claude-code",
    title: "Claude Code",
    location: ConfigLocation::Project(&[".mcp.json"]),
    format: Format::Json(Dialect::Strict),
    of_user: |env| env.at_home(".claude.json"),
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "type": "http", "url": url })),
        command => started(command),
    },
    allow_lists: &[
        AllowList {
            file: ".claude/settings.json",
            path: &["permissions", "allow"],
            items: permissions::rules_of_claude,
        },
        AllowList {
            file: ".claude/settings.json",
            path: &["enabledMcpjsonServers"],
            items: permissions::server,
        },
    ],
    consent: consent::of_claude,
    hooks: Some(&CLAUDE_HOOKS),
    agents: Some(Agents { directory: ".claude/agents", form: Form::Claude, reads_claude: false }),
    guide: Some("CLAUDE.md"),
    start: |agent| format!("claude --agent {agent}"),
    marks: &[".mcp.json", ".claude", "CLAUDE.md"],
    home_marks: &[".claude", ".claude.json"],
    programs: &["claude"],
    ..PLAIN
};

/// Cursor: `.cursor/mcp.json` in the project (<https://cursor.com/docs/mcp>), agents in `.cursor/agents/`
/// and in `.claude/agents/` (<https://cursor.com/docs/agent/subagents>), instructions in `AGENTS.md`
/// (<https://cursor.com/docs/rules>). Its lists of what it may do would replace those of the user
/// (<https://cursor.com/docs/reference/permissions>). Hooks: <https://cursor.com/docs/agent/hooks>.
pub const CURSOR: Client = Client {
    name: "cursor",
    title: "Cursor",
    location: ConfigLocation::Project(&[".cursor/mcp.json"]),
    of_user: |env| env.at_home(".cursor/mcp.json"),
    hooks: Some(&Hooks {
        file: ".cursor/hooks.json",
        dialect: Dialect::Strict,
        events: &[
            (SessionEvent::SessionStart, "sessionStart"),
            (SessionEvent::Stop, "stop"),
            (SessionEvent::SessionEnd, "sessionEnd"),
        ],
        form: HookForm::Cursor,
        are_tried: false,
    }),
    agents: Some(Agents { directory: ".cursor/agents", form: Form::Cursor, reads_claude: true }),
    start: |agent| format!("type /{agent} in the chat"),
    marks: &[".cursor", ".cursorrules"],
    home_marks: &[".cursor"],
    programs: &["cursor", "cursor-agent"],
    ..PLAIN
};

/// VS Code: `.vscode/mcp.json` in the workspace
/// (<https://code.visualstudio.com/docs/agents/reference/mcp-configuration>), agents in `.github/agents/`
/// and in `.claude/agents/` (<https://code.visualstudio.com/docs/agent-customization/custom-agents>),
/// instructions in `AGENTS.md`
/// (<https://code.visualstudio.com/docs/agent-customization/custom-instructions>). The user alone allows tools
/// (<https://code.visualstudio.com/docs/agents/approvals>). It has no hook for the end of a session
/// (<https://code.visualstudio.com/docs/copilot/customization/hooks>). Copilot CLI reads the same file and understands
/// its names (<https://docs.github.com/en/copilot/reference/hooks-reference>); it has called its own hook for the end
/// after each turn (<https://github.com/github/copilot-cli/issues/2491>).
pub const VSCODE: Client = Client {
    name: "vscode",
    title: "VS Code",
    location: ConfigLocation::Project(&[".vscode/mcp.json"]),
    of_user: |env| Some(env.application_data()?.join("Code/User/mcp.json")),
    servers: &[&["servers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "type": "http", "url": url })),
        command => led(("type", "stdio"), started(command)),
    },
    hooks: Some(&Hooks {
        file: ".github/hooks/ait.json",
        dialect: Dialect::Strict,
        events: &[(SessionEvent::SessionStart, "SessionStart"), (SessionEvent::Stop, "Stop")],
        form: HookForm::VsCode,
        are_tried: false,
    }),
    agents: Some(Agents { directory: ".github/agents", form: Form::VsCode, reads_claude: true }),
    start: |agent| format!("choose the agent {agent} in the Chat view"),
    marks: &[".vscode"],
    home_marks: &[".vscode"],
    programs: &["code"],
    ..PLAIN
};

/// Codex: `.codex/config.toml` in the project, which it reads once the project is trusted
/// (<https://developers.openai.com/codex/mcp>, <https://developers.openai.com/codex/config-basic>), agents
/// in `.codex/agents/` (<https://developers.openai.com/codex/subagents>), instructions in `AGENTS.md`
/// (<https://developers.openai.com/codex/guides/agents-md>). The tools of a server have an approval mode, and the
/// sandbox has roots, relative to the file (<https://developers.openai.com/codex/config-reference>). Hooks:
/// <https://developers.openai.com/codex/hooks>.
pub const CODEX: Client = Client {
    name: "codex",
    title: "Codex",
    location: ConfigLocation::Project(&[".codex/config.toml"]),
    format: Format::Toml,
    of_user: |env| Some(env.codex_home.as_ref()?.join("config.toml")),
    servers: &[&["mcp_servers"]],
    granted: || members(json!({ "default_tools_approval_mode": "approve" })),
    allow_lists: &[AllowList {
        file: ".codex/config.toml",
        path: &["sandbox_workspace_write", "writable_roots"],
        items: permissions::git_directory,
    }],
    consent: consent::of_codex,
    hooks: Some(&Hooks {
        file: ".codex/hooks.json",
        dialect: Dialect::Strict,
        events: &[
            (SessionEvent::SessionStart, "SessionStart"),
            (SessionEvent::Stop, "Stop"),
            (SessionEvent::SubagentStop, "SubagentStop"),
            (SessionEvent::SessionEnd, "SessionEnd"),
        ],
        form: HookForm::Groups,
        are_tried: true,
    }),
    agents: Some(Agents { directory: ".codex/agents", form: Form::Codex, reads_claude: false }),
    start: |agent| {
        format!("codex 'Follow the developer_instructions in .codex/agents/{agent}.toml'")
    },
    marks: &[".codex"],
    home_marks: &[".codex"],
    programs: &["codex"],
    ..PLAIN
};

/// Claude Desktop: `claude_desktop_config.json` of the user, which has servers that are started only
/// (<https://modelcontextprotocol.io/docs/develop/connect-local-servers>, for macOS; on Linux it lies where other
/// settings do).
pub const CLAUDE_DESKTOP: Client = Client {
    name: "claude-desktop",
    title: "Claude Desktop",
    location: ConfigLocation::User(|env| {
        let directory = env.application_data()?;
        Some(directory.join("Claude/claude_desktop_config.json"))
    }),
    takes_url: false,
    consent: |_, _| Consent::Given,
    guide: None,
    ..PLAIN
};

/// Gemini CLI: `.gemini/settings.json` in the project
/// (<https://github.com/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md>), from which it strips comments
/// before `JSON.parse`; agents in `.gemini/agents/` (<https://geminicli.com/docs/core/subagents>), which cannot start
/// others, so that the user starts the prompt instead; instructions in `GEMINI.md`
/// (<https://geminicli.com/docs/cli/gemini-md>). It asks nothing about the tools of a server with `trust`; rules for
/// commands belong to the user. Hooks:
/// <https://github.com/google-gemini/gemini-cli/blob/main/docs/hooks/reference.md>.
pub const GEMINI: Client = Client {
    name: "gemini",
    title: "Gemini CLI",
    location: ConfigLocation::Project(&[".gemini/settings.json"]),
    format: Format::Json(Dialect::Comments),
    of_user: |env| env.at_home(".gemini/settings.json"),
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "httpUrl": url })),
        command => started(command),
    },
    granted: || members(json!({ "trust": true })),
    hooks: Some(&Hooks {
        file: ".gemini/settings.json",
        dialect: Dialect::Comments,
        events: &[
            (SessionEvent::SessionStart, "SessionStart"),
            (SessionEvent::Stop, "AfterAgent"),
            (SessionEvent::SessionEnd, "SessionEnd"),
        ],
        form: HookForm::Groups,
        are_tried: true,
    }),
    agents: Some(Agents { directory: ".gemini/agents", form: Form::Gemini, reads_claude: false }),
    guide: Some("GEMINI.md"),
    start: |agent| format!("type /{agent}, which is a prompt of the MCP server {SERVER}"),
    marks: &[".gemini", "GEMINI.md"],
    home_marks: &[".gemini"],
    programs: &["gemini"],
    ..PLAIN
};

/// Zed: `.zed/settings.json` in the project, whose servers it starts once the project is trusted
/// (<https://zed.dev/docs/ai/mcp>, <https://zed.dev/docs/worktree-trust>), instructions in `AGENTS.md`
/// (<https://zed.dev/docs/ai/instructions>) unless there is one of another name (<https://zed.dev/docs/ai/rules>).
pub const ZED: Client = Client {
    name: "zed",
    title: "Zed",
    location: ConfigLocation::Project(&[".zed/settings.json"]),
    of_user: |env| Some(env.settings.as_ref()?.join("zed/settings.json")),
    servers: &[&["context_servers"]],
    entry: |connection| match connection {
        Connection::Url(url) => members(json!({ "url": url })),
        Connection::Command { program, arguments } => {
            members(json!({ "command": program, "args": arguments }))
        }
    },
    before_guide: &[
        ".rules",
        ".cursorrules",
        ".windsurfrules",
        ".clinerules",
        ".github/copilot-instructions.md",
        "AGENT.md",
    ],
    start: |agent| format!("type / in an agent thread, and {}", prompt(agent)),
    marks: &[".zed"],
    home_marks: &[".config/zed"],
    programs: &["zed", "zeditor"],
    ..PLAIN
};

/// opencode: `opencode.json` or `opencode.jsonc` at the project's root, with the servers in `mcp`, which its
/// versions 1 and 2 read, or in `mcp.servers`, which version 2 has for its own and prefers
/// (<https://opencode.ai/docs/mcp-servers>, <https://opencode.ai/docs/migrate-v1>); agents in
/// `.opencode/agents/` (<https://opencode.ai/docs/agents>), instructions in `AGENTS.md`
/// (<https://opencode.ai/docs/rules>). It asks nothing inside the project
/// (<https://opencode.ai/docs/permissions>).
pub const OPENCODE: Client = Client {
    name: "opencode",
    title: "opencode",
    location: ConfigLocation::Project(&["opencode.json", "opencode.jsonc"]),
    of_user: |env| {
        let directory = env.settings.as_ref()?.join("opencode");
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
    consent: |_, _| Consent::Given,
    agents: Some(Agents {
        directory: ".opencode/agents",
        form: Form::Opencode,
        reads_claude: false,
    }),
    start: |agent| format!("opencode --agent {agent}"),
    marks: &["opencode.json", "opencode.jsonc", ".opencode"],
    home_marks: &[".config/opencode"],
    programs: &["opencode"],
    ..PLAIN
};

pub const CLIENTS: [Client; 8] =
    [CLAUDE_CODE, CURSOR, VSCODE, CODEX, CLAUDE_DESKTOP, GEMINI, ZED, OPENCODE];

/// The files with instructions that clients read, each once.
pub fn guides() -> BTreeSet<&'static str> {
    CLIENTS.iter().filter_map(|client| client.guide).collect()
}

impl Client {
    /// Finds a client by its name on the command line.
    pub fn named(name: &str) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Returns its hooks if `ait init` installs them.
    pub fn hooks_of_init(&self) -> Option<HookClient> {
        let hooks = self.hooks.filter(|hooks| hooks.are_tried)?;
        Some(HookClient { name: self.name, hooks })
    }

    /// Returns true if the word is its name or the name of its program.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.programs.contains(&word)
    }

    /// The names of all clients, separated by commas.
    pub fn names() -> String {
        CLIENTS.map(|client| client.name).join(", ")
    }

    /// The file with its servers; `None` if it belongs to the user and its place is not known.
    pub fn file(&self, root: &Path, env: &HostEnv) -> Option<PathBuf> {
        match self.location {
            ConfigLocation::Project(names) => {
                let is_there = |name: &&&str| root.join(name).exists();
                Some(root.join(names.iter().find(is_there).unwrap_or(&names[0])))
            }
            ConfigLocation::User(file) => file(env),
        }
    }

    /// What shows that the project uses the client, if anything does.
    pub fn trace_in_project(&self, root: &Path) -> Option<String> {
        let mark = self.marks.iter().find(|mark| root.join(mark).exists())?;
        Some(format!("{mark} is here"))
    }

    /// What shows that the client is on the machine, if anything does.
    pub fn trace_on_machine(&self, env: &HostEnv) -> Option<String> {
        let home = |mark: &&str| Some(env.home.as_ref()?.join(mark));
        let mut places: Vec<_> = self.home_marks.iter().filter_map(home).collect();
        if let ConfigLocation::User(file) = self.location {
            places.extend(file(env).and_then(|file| Some(file.parent()?.to_owned())));
        }
        if let Some(place) = places.iter().find(|place| place.exists()) {
            return Some(format!("{} is there", env.short(place)));
        }
        let program = self.programs.iter().find(|program| env.program(program).is_some())?;
        Some(format!("{program} is on the PATH"))
    }
}

/// How the user starts a prompt where the client lists those of its MCP servers.
fn prompt(name: &str) -> String {
    format!("choose the prompt {name} of the MCP server {SERVER}")
}

/// The entry that most clients have for a server that they start.
fn started(connection: &Connection) -> ServerEntry {
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

fn led((name, value): (&str, &str), entry: ServerEntry) -> ServerEntry {
    std::iter::once((name.to_owned(), Value::from(value))).chain(entry).collect()
}

fn members(value: Value) -> ServerEntry {
    value.as_object().cloned().unwrap_or_default()
}
