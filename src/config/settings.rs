//! The settings and their names on the command line, in the environment and in `ait.toml`. The command line parser,
//! `ait config` and the table in docs/configuration.md are all generated from here.

use std::fmt::Write;

/// A setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name: the flag without its hyphens, and the key in `ait.toml`.
    pub name: &'static str,
    /// The environment variable.
    pub variable: &'static str,
    /// Where the setting can be given besides the environment.
    pub places: SettingScope,
    /// The default, as text.
    pub default: &'static str,
    /// The help text, without a final period.
    pub help: &'static str,
}

/// Where a setting can be given besides the environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingScope {
    /// On the command line and in `ait.toml`.
    All,
    /// Only in `ait.toml`, because it must hold for all processes on the store, including those that others start.
    FileOnly,
    /// Only on the command line, because it determines which `ait.toml` is read, or is of one client.
    FlagOnly,
    /// Nowhere else: command lines are visible in the process list, and secrets do not belong in version control.
    Nowhere,
}

impl Setting {
    /// Returns the help text for the command line.
    pub fn line(&self) -> String {
        format!("{} [default: {}]", self.help, self.default)
    }

    /// Returns true if `ait.toml` can contain the setting.
    pub fn is_in_file(&self) -> bool {
        matches!(self.places, SettingScope::All | SettingScope::FileOnly)
    }
}

/// The store's file.
pub const FILE: Setting = Setting {
    name: "file",
    variable: "ISSUES_FILE",
    places: SettingScope::FlagOnly,
    default: "issues.json of this repository, else of this directory",
    help: "The file of the store",
};

/// The database that is the store.
pub const STORE: Setting = Setting {
    name: "store",
    variable: "AIT_STORE",
    places: SettingScope::All,
    default: "none: the store is a file",
    help: "The PostgreSQL database that is the store, such as postgres://ait@db.example.com/issues",
};

/// The password for the database.
pub const STORE_PASSWORD: Setting = Setting {
    name: "store-password",
    variable: "AIT_STORE_PASSWORD",
    places: SettingScope::Nowhere,
    default: "that of ~/.pgpass",
    help: "The password for the database, if its URL has none",
};

/// The default agent of commands.
pub const AGENT: Setting = Setting {
    name: "agent",
    variable: "AIT_AGENT",
    places: SettingScope::All,
    default: "your user name",
    help: "The agent name for commands that change an issue",
};

/// The name of the project.
pub const NAME: Setting = Setting {
    name: "name",
    variable: "AIT_NAME",
    places: SettingScope::All,
    default: "that of the store's directory",
    help: "The name of the project on its web pages",
};

/// The address of the project's repository.
pub const REPOSITORY_URL: Setting = Setting {
    name: "repository-url",
    variable: "AIT_REPOSITORY_URL",
    places: SettingScope::FileOnly,
    default: "none: commits and branches are no links",
    help: "The web page of the repository, such as https://github.com/acme/shop, to which commits and branches lead",
};

/// The language of the pages.
pub const LANG: Setting = Setting {
    name: "lang",
    variable: "AIT_LANG",
    places: SettingScope::FileOnly,
    default: "that of each reader's browser",
    help: "The language of the web pages for readers who have not chosen one, such as ja, or one of .ait/languages/",
};

/// The port of the web UI and of MCP over HTTP.
pub const PORT: Setting = Setting {
    name: "port",
    variable: "PORT",
    places: SettingScope::All,
    default: "3000, or the next free one up to 3019",
    help: "The port of the web page and of /mcp; 0 picks any free port",
};

/// Additional host names of the server.
pub const ALLOW_HOST: Setting = Setting {
    name: "allow-host",
    variable: "AIT_ALLOW_HOST",
    places: SettingScope::All,
    default: "localhost, 127.0.0.1, [::1]",
    help: "An additional host name to answer to, such as that of a reverse proxy; may be repeated",
};

/// The origins of other web pages.
pub const ALLOW_ORIGIN: Setting = Setting {
    name: "allow-origin",
    variable: "AIT_ALLOW_ORIGIN",
    places: SettingScope::All,
    default: "only its own",
    help: "An origin whose pages may use /mcp, such as http://localhost:6274; may be repeated",
};

/// The address to listen on.
pub const BIND: Setting = Setting {
    name: "bind",
    variable: "AIT_BIND",
    places: SettingScope::All,
    default: "127.0.0.1",
    help: "The address to listen on; one that other machines can reach requires a token",
};

/// The file with the access tokens.
pub const TOKEN_FILE: Setting = Setting {
    name: "token-file",
    variable: "AIT_TOKEN_FILE",
    places: SettingScope::All,
    default: "none",
    help: "A file with access tokens, one of which HTTP clients must send",
};

/// The access token.
pub const TOKEN: Setting = Setting {
    name: "token",
    variable: "AIT_TOKEN",
    places: SettingScope::Nowhere,
    default: "none",
    help: "The access token that HTTP clients must send if there is no token file",
};

/// Whether people may change issues on the pages.
pub const WEB_ACTIONS: Setting = Setting {
    name: "web-actions",
    variable: "AIT_WEB_ACTIONS",
    places: SettingScope::All,
    default: "false",
    help: "Whether people may answer, comment on and change issues on the web pages: true or false",
};

/// Whether a page lists the other projects of the user.
pub const PROJECTS: Setting = Setting {
    name: "projects",
    variable: "AIT_PROJECTS",
    places: SettingScope::All,
    default: "false",
    help: "Whether the page /projects lists your projects that are served on this machine: true or false",
};

/// The log filter of a server.
pub const LOG: Setting = Setting {
    name: "log",
    variable: "RUST_LOG",
    places: SettingScope::All,
    default: "info",
    help: "What a server logs: error, warn, info, debug, or a tracing-subscriber filter",
};

/// The log file of a server.
pub const LOG_FILE: Setting = Setting {
    name: "log-file",
    variable: "AIT_LOG_FILE",
    places: SettingScope::All,
    default: "stderr",
    help: "The file to which a server appends its log; reopened on SIGHUP",
};

/// The log format of a server.
pub const LOG_FORMAT: Setting = Setting {
    name: "log-format",
    variable: "AIT_LOG_FORMAT",
    places: SettingScope::All,
    default: "text",
    help: "The format of a server's log lines: text, or json for JSON objects",
};

/// The policy for network file systems.
pub const NETWORK_FILE_SYSTEM: Setting = Setting {
    name: "network-file-system",
    variable: "AIT_NETWORK_FILE_SYSTEM",
    places: SettingScope::FileOnly,
    default: "refuse",
    help: "Changes to a store on NFS, SMB and the like: refuse, or allow if only one machine uses it",
};

/// The retention limit of the event log.
pub const KEEP_EVENTS: Setting = Setting {
    name: "keep-events",
    variable: "AIT_KEEP_EVENTS",
    places: SettingScope::All,
    default: "1GiB",
    help: "How much of the event log to keep: a size such as 500MB, or a time such as 30d",
};

/// The kinds of work.
pub const CLASSIFICATIONS: Setting = Setting {
    name: "classifications",
    variable: "AIT_CLASSIFICATIONS",
    places: SettingScope::FileOnly,
    default: "bug, improvement, feature",
    help: "The kinds of work of new issues, in the order in which a lead hands them out",
};

/// The toolsets of the MCP server.
pub const TOOLSETS: Setting = Setting {
    name: "toolsets",
    variable: "AIT_TOOLSETS",
    places: SettingScope::All,
    default: "lifecycle",
    help: "More tools for agents: planning, bulk, analysis, memory, sync, admin, or all; may be repeated",
};

/// The role of a client.
pub const ROLE: Setting = Setting {
    name: "role",
    variable: "AIT_ROLE",
    places: SettingScope::FlagOnly,
    default: "none: all tools of the toolsets",
    help: "The role of the agent: lead, developer, bug-fixer, reviewer, observer, or one of .ait/roles/",
};

/// The prefix of tool names.
pub const TOOL_PREFIX: Setting = Setting {
    name: "tool-prefix",
    variable: "AIT_TOOL_PREFIX",
    places: SettingScope::All,
    default: "none",
    help: "What the name of every tool begins with, such as team_",
};

/// The form of replies to agents.
pub const REPLIES: Setting = Setting {
    name: "replies",
    variable: "AIT_REPLIES",
    places: SettingScope::All,
    default: "json",
    help: "The form of replies to agents: json, or compact for a third of the tokens",
};

/// The budget of replies to agents.
pub const MAX_REPLY_TOKENS: Setting = Setting {
    name: "max-reply-tokens",
    variable: "AIT_MAX_REPLY_TOKENS",
    places: SettingScope::All,
    default: "10000",
    help: "The longest reply to an agent, in tokens as estimated, from 1000 to 1000000",
};

/// How long the issues that a query found can be changed together.
pub const HANDLE_LIFETIME: Setting = Setting {
    name: "handle-lifetime",
    variable: "AIT_HANDLE_LIFETIME",
    places: SettingScope::FileOnly,
    default: "5m",
    help: "How long an agent may take from query_issues to change_issues; up to 48h",
};

/// Whose claims a change may end.
pub const CLAIMS: Setting = Setting {
    name: "claims",
    variable: "AIT_CLAIMS",
    places: SettingScope::All,
    default: "trusting",
    help: "Who may complete, return or close a claimed issue: trusting (everybody), or owned (its holder)",
};

/// How long the agent of a client that is gone may take to come back.
pub const CLAIM_GRACE: Setting = Setting {
    name: "claim-grace",
    variable: "AIT_CLAIM_GRACE",
    places: SettingScope::All,
    default: "1m",
    help: "How long an agent whose client is gone may take to come back before its claims lapse; 0: they never do",
};

/// How long a client over HTTP may be silent.
pub const CLAIM_TTL: Setting = Setting {
    name: "claim-ttl",
    variable: "AIT_CLAIM_TTL",
    places: SettingScope::All,
    default: "1h",
    help: "How long a client over HTTP may be silent and not connected before it counts as gone; 0: for ever",
};

/// After how many failed attempts an issue is parked.
pub const MAX_ATTEMPTS: Setting = Setting {
    name: "max-attempts",
    variable: "AIT_MAX_ATTEMPTS",
    places: SettingScope::All,
    default: "0",
    help: "How often agents may return an issue unfinished before it is parked; 0: any number of times",
};

/// How many issues an agent may hold.
pub const MAX_CLAIMS: Setting = Setting {
    name: "max-claims",
    variable: "AIT_MAX_CLAIMS",
    places: SettingScope::All,
    default: "0",
    help: "How many issues an agent may hold at a time; 0: any number",
};

/// Who may review.
pub const REVIEW: Setting = Setting {
    name: "review",
    variable: "AIT_REVIEW",
    places: SettingScope::All,
    default: "anyone",
    help: "Who may review an issue: anyone, not-author (no agent that worked on it), or uninvolved (nor filed it)",
};

/// Whose agents are whose.
pub const PROVIDERS: Setting = Setting {
    name: "providers",
    variable: "AIT_PROVIDERS",
    places: SettingScope::FileOnly,
    default: "none",
    help: "Whose models run which agents, as NAME=AGENTS, such as anthropic=dev-* lead; for `ait hold`",
};

/// How agents get issues whose work changes the files of other work.
pub const OVERLAP: Setting = Setting {
    name: "overlap",
    variable: "AIT_OVERLAP",
    places: SettingScope::FileOnly,
    default: "warn",
    help: "How agents get issues that touch what others are changing: avoid (after others of the same priority), warn, or off",
};

/// The command for new questions.
pub const ON_QUESTION: Setting = Setting {
    name: "on-question",
    variable: "AIT_ON_QUESTION",
    places: SettingScope::FileOnly,
    default: "none",
    help: "A shell command that gets each new question to people as JSON on stdin",
};

/// The command that a merge must pass.
pub const CHECK: Setting = Setting {
    name: "check",
    variable: "AIT_CHECK",
    places: SettingScope::FileOnly,
    default: "none",
    help: "A shell command that must succeed on a merge before ait merge keeps it, such as cargo test; KIND=COMMAND is for issues of that kind",
};

/// What models cost.
pub const PRICES: Setting = Setting {
    name: "prices",
    variable: "AIT_PRICES",
    places: SettingScope::FileOnly,
    default: "none",
    help: "What a million tokens cost, as MODEL=INPUT/CACHED/OUTPUT; MODEL is how the names of models begin",
};

/// What an issue may use.
pub const BUDGET: Setting = Setting {
    name: "budget",
    variable: "AIT_BUDGET",
    places: SettingScope::FileOnly,
    default: "none",
    help: "What an issue may cost by the prices, such as 2 USD, or use, such as 500k tokens, before it is parked",
};

/// Whether the check is required.
pub const REQUIRE_CHECK: Setting = Setting {
    name: "require-check",
    variable: "AIT_REQUIRE_CHECK",
    places: SettingScope::FileOnly,
    default: "false",
    help: "Whether an issue is handed in and closed only with a receipt that the check passed: true or false",
};

/// All settings, in display order.
pub const SETTINGS: [Setting; 40] = [
    FILE,
    STORE,
    STORE_PASSWORD,
    NETWORK_FILE_SYSTEM,
    KEEP_EVENTS,
    AGENT,
    NAME,
    REPOSITORY_URL,
    LANG,
    PORT,
    BIND,
    ALLOW_HOST,
    ALLOW_ORIGIN,
    TOKEN_FILE,
    TOKEN,
    WEB_ACTIONS,
    PROJECTS,
    CLASSIFICATIONS,
    TOOLSETS,
    ROLE,
    TOOL_PREFIX,
    REPLIES,
    MAX_REPLY_TOKENS,
    HANDLE_LIFETIME,
    CLAIMS,
    CLAIM_GRACE,
    CLAIM_TTL,
    MAX_ATTEMPTS,
    MAX_CLAIMS,
    REVIEW,
    OVERLAP,
    PROVIDERS,
    ON_QUESTION,
    CHECK,
    REQUIRE_CHECK,
    PRICES,
    BUDGET,
    LOG,
    LOG_FILE,
    LOG_FORMAT,
];

/// The name of the table with the texts that agents read.
pub const TEXTS: &str = "texts";

/// The settings that do not affect who may use HTTP, and those whose defaults allow the least.
pub(super) const HARMLESS: [&str; 27] = [
    TEXTS,
    CLASSIFICATIONS.name,
    WEB_ACTIONS.name,
    PROJECTS.name,
    NAME.name,
    REPOSITORY_URL.name,
    LANG.name,
    PORT.name,
    LOG.name,
    LOG_FILE.name,
    LOG_FORMAT.name,
    KEEP_EVENTS.name,
    AGENT.name,
    NETWORK_FILE_SYSTEM.name,
    CLAIMS.name,
    CLAIM_GRACE.name,
    CLAIM_TTL.name,
    MAX_ATTEMPTS.name,
    MAX_CLAIMS.name,
    REVIEW.name,
    OVERLAP.name,
    PROVIDERS.name,
    ON_QUESTION.name,
    CHECK.name,
    REQUIRE_CHECK.name,
    PRICES.name,
    BUDGET.name,
];

/// Returns the environment variables for the help text, one per line.
pub fn help_of_variables() -> String {
    let mut text = "Settings are also read from ait.toml beside the store (`ait config` shows the effective values) and from \
         the environment, where lists are separated by commas:\n"
        .to_owned();
    for Setting { name, variable, places, help, .. } in SETTINGS {
        let _ = match places {
            // A name that is too long for its column gets a line of its own.
            SettingScope::FileOnly => writeln!(text, "  {variable}\n  {:<17} {help}", ""),
            SettingScope::Nowhere => writeln!(text, "  {variable:<17} {help}"),
            _ => writeln!(text, "  {variable:<17} --{name}"),
        };
    }
    text + "  NO_COLOR          no colours"
}
