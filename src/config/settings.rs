//! What can be set, and what each setting is called on the command line, in the environment and in
//! `ait.toml`: the one place that the parser of the command line, `ait config` and the README take it from.

use std::fmt::Write;

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What it is called: the flag without its hyphens, and the key in `ait.toml`.
    pub name: &'static str,
    /// The variable of the environment.
    pub variable: &'static str,
    /// Where it can be given.
    pub places: Places,
    /// What holds when nobody gives it.
    pub default: &'static str,
    /// What it is for; the sentence has no end.
    pub help: &'static str,
}

/// Where a setting can be given, besides the environment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Places {
    /// On the command line and in `ait.toml`.
    All,
    /// In `ait.toml`: it holds for everybody who uses the store, also for those whom others start.
    FileOnly,
    /// On the command line: it decides which `ait.toml` is read.
    FlagOnly,
    /// Nowhere: a secret is seen in the list of processes, and does not belong into version control.
    Nowhere,
}

impl Setting {
    /// What the help of the command line says.
    pub fn line(&self) -> String {
        format!("{} [default: {}]", self.help, self.default)
    }

    /// Tells whether `ait.toml` can give it.
    pub fn is_in_file(&self) -> bool {
        matches!(self.places, Places::All | Places::FileOnly)
    }
}

/// The store.
pub const FILE: Setting = Setting {
    name: "file",
    variable: "ISSUES_FILE",
    places: Places::FlagOnly,
    default: "issues.json of this repository, else of this directory",
    help: "The store",
};

/// Who acts.
pub const AGENT: Setting = Setting {
    name: "agent",
    variable: "AIT_AGENT",
    places: Places::All,
    default: "your user name",
    help: "Who acts, in the commands that change an issue",
};

/// The port.
pub const PORT: Setting = Setting {
    name: "port",
    variable: "PORT",
    places: Places::All,
    default: "3000, or the next free one up to 3019",
    help: "The port of the web page and of /mcp; 0 takes any free one",
};

/// The names of the server.
pub const ALLOW_HOST: Setting = Setting {
    name: "allow-host",
    variable: "AIT_ALLOW_HOST",
    places: Places::All,
    default: "localhost, 127.0.0.1, [::1]",
    help: "Answer under this name too, such as the one of a reverse proxy; may be repeated",
};

/// The origins of other pages.
pub const ALLOW_ORIGIN: Setting = Setting {
    name: "allow-origin",
    variable: "AIT_ALLOW_ORIGIN",
    places: Places::All,
    default: "none but its own",
    help: "Let pages of this origin use /mcp, such as http://localhost:6274; may be repeated",
};

/// The address.
pub const BIND: Setting = Setting {
    name: "bind",
    variable: "AIT_BIND",
    places: Places::All,
    default: "127.0.0.1",
    help: "The address to listen on; one that other machines reach needs a token",
};

/// The file with the tokens.
pub const TOKEN_FILE: Setting = Setting {
    name: "token-file",
    variable: "AIT_TOKEN_FILE",
    places: Places::All,
    default: "none",
    help: "A file with the tokens that callers over HTTP need",
};

/// The token.
pub const TOKEN: Setting = Setting {
    name: "token",
    variable: "AIT_TOKEN",
    places: Places::Nowhere,
    default: "none",
    help: "The token that callers over HTTP need, where there is no file",
};

/// What is logged.
pub const LOG: Setting = Setting {
    name: "log",
    variable: "RUST_LOG",
    places: Places::All,
    default: "info,rmcp=off,notify=off",
    help: "What a server logs: error, warn, info, debug, or a filter as tracing-subscriber has it",
};

/// Where the log goes.
pub const LOG_FILE: Setting = Setting {
    name: "log-file",
    variable: "AIT_LOG_FILE",
    places: Places::All,
    default: "stderr",
    help: "The file that a server's log is appended to; opened anew after SIGHUP",
};

/// What the log looks like.
pub const LOG_FORMAT: Setting = Setting {
    name: "log-format",
    variable: "AIT_LOG_FORMAT",
    places: Places::All,
    default: "text",
    help: "What the lines of a server's log are: text, or json for JSON objects",
};

/// What is done on file systems of a network.
pub const NETWORK_FILE_SYSTEM: Setting = Setting {
    name: "network-file-system",
    variable: "AIT_NETWORK_FILE_SYSTEM",
    places: Places::FileOnly,
    default: "refuse",
    help: "Changes to a store on NFS, SMB and the like: refuse, or allow where one machine alone uses it",
};

/// How many events are kept.
pub const KEEP_EVENTS: Setting = Setting {
    name: "keep-events",
    variable: "AIT_KEEP_EVENTS",
    places: Places::All,
    default: "1GiB",
    help: "How much of the event log is kept: a size such as 500MB, or a time such as 30d",
};

/// Every setting, in the order in which they are told.
pub const SETTINGS: [Setting; 13] = [
    FILE,
    NETWORK_FILE_SYSTEM,
    KEEP_EVENTS,
    AGENT,
    PORT,
    BIND,
    ALLOW_HOST,
    ALLOW_ORIGIN,
    TOKEN_FILE,
    TOKEN,
    LOG,
    LOG_FILE,
    LOG_FORMAT,
];

/// The variables of the environment, a line each, as the help shows them.
pub fn help_of_variables() -> String {
    let mut text = String::new();
    for Setting { name, variable, places, help, .. } in SETTINGS {
        let _ = match places {
            // What is too long for its column has a line of its own.
            Places::FileOnly => writeln!(text, "  {variable}\n  {:<17} {help}", ""),
            Places::Nowhere => writeln!(text, "  {variable:<17} {help}"),
            _ => writeln!(text, "  {variable:<17} --{name}"),
        };
    }
    text
}

/// The table of all settings in Markdown, as the README shows it.
pub fn table() -> String {
    let mut text =
        String::from("| flag | environment | `ait.toml` | default | |\n|---|---|---|---|---|\n");
    for setting in SETTINGS {
        let Setting { name, variable, places, default, help } = setting;
        let shown = |is_there: bool, text: String| if is_there { text } else { "-".to_owned() };
        let has_flag = matches!(places, Places::All | Places::FlagOnly);
        let flag = shown(has_flag, format!("`--{name}`"));
        let key = shown(setting.is_in_file(), format!("`{name}`"));
        let _ = writeln!(text, "| {flag} | `{variable}` | {key} | {default} | {help} |");
    }
    text
}
