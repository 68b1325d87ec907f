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
    /// What an invalid value does to a server that goes on for its agent.
    pub invalid: Invalid,
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

/// What an invalid value does to a server that goes on for its agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// Nothing: the setting does not affect who may use HTTP, or its default allows the least.
    Harmless,
    /// The server has no HTTP, because the default may let others in.
    StopsHttp,
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

/// Declares each setting as a constant, and all of them as [`SETTINGS`].
macro_rules! settings {
    ($($constant:ident = $name:literal, $variable:literal, $places:ident, $invalid:ident, $default:literal,
        $help:literal;)*) => {
        $(
            #[doc = concat!("The setting `", $name, "`.")]
            pub const $constant: Setting = Setting {
                name: $name,
                variable: $variable,
                places: SettingScope::$places,
                invalid: Invalid::$invalid,
                default: $default,
                help: $help,
            };
        )*

        /// All settings, in display order.
        pub const SETTINGS: [Setting; [$($name),*].len()] = [$($constant),*];
    };
}

settings! {
    FILE = "file", "ISSUES_FILE", FlagOnly, StopsHttp, "issues.json of this repository, else of this directory",
        "The file of the store";
    STORE = "store", "AIT_STORE", All, StopsHttp, "none: the store is a file",
        "The PostgreSQL database that is the store, such as postgres://ait@db.example.com/issues";
    STORE_PASSWORD = "store-password", "AIT_STORE_PASSWORD", Nowhere, StopsHttp, "that of ~/.pgpass",
        "The password for the database, if its URL has none";
    NETWORK_FILE_SYSTEM = "network-file-system", "AIT_NETWORK_FILE_SYSTEM", FileOnly, Harmless, "refuse",
        "Changes to a store on NFS, SMB and the like: refuse, or allow if only one machine uses it";
    KEEP_EVENTS = "keep-events", "AIT_KEEP_EVENTS", All, Harmless, "1GiB",
        "How much of the event log to keep: a size such as 500MB, or a time such as 30d";
    AGENT = "agent", "AIT_AGENT", All, Harmless, "your user name",
        "The agent name for commands that change an issue";
    NAME = "name", "AIT_NAME", All, Harmless, "that of the store's directory",
        "The name of the project on its web pages";
    REPOSITORY_URL = "repository-url", "AIT_REPOSITORY_URL", FileOnly, Harmless,
        "none: commits and branches are no links",
        "The web page of the repository, such as https://github.com/acme/shop, to which commits and branches lead";
    LANG = "lang", "AIT_LANG", FileOnly, Harmless, "that of each reader's browser",
        "The language of the web pages for readers who have not chosen one, such as ja, or one of .ait/languages/";
    PORT = "port", "PORT", All, Harmless, "3000, or the next free one up to 3019",
        "The port of the web page and of /mcp; 0 picks any free port";
    BIND = "bind", "AIT_BIND", All, StopsHttp, "127.0.0.1",
        "The address to listen on; one that other machines can reach requires a token";
    ALLOW_HOST = "allow-host", "AIT_ALLOW_HOST", All, StopsHttp, "localhost, 127.0.0.1, [::1]",
        "An additional host name to answer to, such as that of a reverse proxy; may be repeated";
    ALLOW_ORIGIN = "allow-origin", "AIT_ALLOW_ORIGIN", All, StopsHttp, "only its own",
        "An origin whose pages may use /mcp, such as http://localhost:6274; may be repeated";
    TOKEN_FILE = "token-file", "AIT_TOKEN_FILE", All, StopsHttp, "none",
        "A file with access tokens, one of which HTTP clients must send";
    TOKEN = "token", "AIT_TOKEN", Nowhere, StopsHttp, "none",
        "The access token that HTTP clients must send if there is no token file";
    WEB_ACTIONS = "web-actions", "AIT_WEB_ACTIONS", All, Harmless, "false",
        "Whether people may answer, comment on and change issues on the web pages: true or false";
    PROJECTS = "projects", "AIT_PROJECTS", All, Harmless, "false",
        "Whether the page /projects lists your projects that are served on this machine: true or false";
    CLASSIFICATIONS = "classifications", "AIT_CLASSIFICATIONS", FileOnly, Harmless, "bug, improvement, feature",
        "The kinds of work of new issues, in the order in which a lead hands them out";
    TOOLSETS = "toolsets", "AIT_TOOLSETS", All, StopsHttp, "lifecycle",
        "More tools for agents: planning, bulk, analysis, memory, sync, admin, or all; may be repeated";
    ROLE = "role", "AIT_ROLE", FlagOnly, StopsHttp, "none: all tools of the toolsets",
        "The role of the agent: lead, developer, bug-fixer, reviewer, observer, or one of .ait/roles/";
    TOOL_PREFIX = "tool-prefix", "AIT_TOOL_PREFIX", All, StopsHttp, "none",
        "What the name of every tool begins with, such as team_";
    REPLIES = "replies", "AIT_REPLIES", All, StopsHttp, "json",
        "The form of replies to agents: json, or compact for a third of the tokens";
    MAX_REPLY_TOKENS = "max-reply-tokens", "AIT_MAX_REPLY_TOKENS", All, StopsHttp, "10000",
        "The longest reply to an agent, in tokens as estimated, from 1000 to 1000000";
    HANDLE_LIFETIME = "handle-lifetime", "AIT_HANDLE_LIFETIME", FileOnly, StopsHttp, "5m",
        "How long an agent may take from query_issues to change_issues; up to 48h";
    CLAIMS = "claims", "AIT_CLAIMS", All, Harmless, "trusting",
        "Who may complete, return or close a claimed issue: trusting (everybody), or owned (its holder)";
    CLAIM_GRACE = "claim-grace", "AIT_CLAIM_GRACE", All, Harmless, "1m",
        "How long an agent whose client is gone may take to come back before its claims lapse; 0: they never do";
    CLAIM_TTL = "claim-ttl", "AIT_CLAIM_TTL", All, Harmless, "1h",
        "How long a client over HTTP may be silent and not connected before it counts as gone; 0: for ever";
    MAX_ATTEMPTS = "max-attempts", "AIT_MAX_ATTEMPTS", All, Harmless, "0",
        "How often agents may return an issue unfinished before it is parked; 0: any number of times";
    MAX_CLAIMS = "max-claims", "AIT_MAX_CLAIMS", All, Harmless, "0",
        "How many issues an agent may hold at a time; 0: any number";
    REVIEW = "review", "AIT_REVIEW", All, Harmless, "anyone",
        "Who may review an issue: anyone, not-author (no agent that worked on it), or uninvolved (nor filed it)";
    OVERLAP = "overlap", "AIT_OVERLAP", FileOnly, Harmless, "warn",
        "How agents get issues that touch what others are changing: \
        avoid (after others of the same priority), warn, or off";
    PROVIDERS = "providers", "AIT_PROVIDERS", FileOnly, Harmless, "none",
        "Whose models run which agents, as NAME=AGENTS, such as anthropic=dev-* lead; for `ait hold`";
    ON_QUESTION = "on-question", "AIT_ON_QUESTION", FileOnly, Harmless, "none",
        "A shell command that gets each new question to people as JSON on stdin";
    CHECK = "check", "AIT_CHECK", FileOnly, Harmless, "none",
        "A shell command that must succeed on a merge before ait merge keeps it, such as cargo test; \
        KIND=COMMAND is for issues of that kind";
    REQUIRE_CHECK = "require-check", "AIT_REQUIRE_CHECK", FileOnly, Harmless, "false",
        "Whether an issue is handed in and closed only with a receipt that the check passed: true or false";
    PRICES = "prices", "AIT_PRICES", FileOnly, Harmless, "none",
        "What a million tokens cost, as MODEL=INPUT/CACHED/OUTPUT; MODEL is how the names of models begin";
    BUDGET = "budget", "AIT_BUDGET", FileOnly, Harmless, "none",
        "What an issue may cost by the prices, such as 2 USD, or use, such as 500k tokens, before it is parked";
    LOG = "log", "RUST_LOG", All, Harmless, "info",
        "What a server logs: error, warn, info, debug, or a tracing-subscriber filter";
    LOG_FILE = "log-file", "AIT_LOG_FILE", All, Harmless, "stderr",
        "The file to which a server appends its log; reopened on SIGHUP";
    LOG_FORMAT = "log-format", "AIT_LOG_FORMAT", All, Harmless, "text",
        "The format of a server's log lines: text, or json for JSON objects";
}

/// The name of the table with the texts that agents read.
pub const TEXTS: &str = "texts";

/// Returns true if a server may ignore an invalid value of this setting or table, and still serve HTTP.
pub(super) fn is_harmless(name: &str) -> bool {
    let is_it = |setting: Setting| setting.name == name && setting.invalid == Invalid::Harmless;
    name == TEXTS || SETTINGS.into_iter().any(is_it)
}

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
