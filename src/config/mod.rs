//! What the user asked for: command line over environment over `ait.toml` over defaults.
//!
//! Opens no sockets and no stores; [`location`] looks at the file system to find the store's file, and
//! [`sources`] reads the `ait.toml` beside it.

pub mod location;
pub mod settings;
pub mod sources;
mod values;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ColorChoice, Parser, Subcommand};

use crate::cli::{
    AboutCommand, ConfigArguments, DoctorArguments, HooksArguments, InitArguments, OpenArguments,
    QueueCommand, StatusArguments,
};
use crate::domain::AgentName;
use crate::http::{Access, AllowedHost, AllowedOrigin};
use crate::log::{LogFormat, LogOptions, Voice};
use crate::setting::SettingRow;
use settings::{
    AGENT, ALLOW_HOST, ALLOW_ORIGIN, BIND, FILE, KEEP_EVENTS, LOG, LOG_FILE, LOG_FORMAT,
    NETWORK_FILE_SYSTEM, PORT, TOKEN, TOKEN_FILE,
};

pub use location::Location;

/// The port of the web side when nobody names another, and nobody else has it.
pub const DEFAULT_PORT: u16 = 3000;
/// The last of those that are tried where others have it.
pub const LAST_PORT: u16 = 3019;
pub use sources::{Chosen, ConfigError, FILE_NAME, Source};
pub use values::{
    Address, BadAddress, BadPort, FilePath, KeptEvents, LogFilter, NetworkFileSystem, Port, Secret,
};

/// What options are called that every command has.
const EVERYWHERE: &str = "Options of every command";

/// The command line.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "ait",
    version,
    about = "One shared issue queue for a team of coding agents",
    long_about = "One shared issue queue for a team of coding agents.\n\n\
        Without a command, ait speaks MCP on stdin and stdout, which is how coding agents start it, \
        and over HTTP at /mcp, and shows the queue on a web page. Started in a terminal it serves HTTP \
        alone and says how to connect an agent.\n\n\
        The commands do what the agents' tools do, for people and scripts. They work beside whatever \
        else uses the store.",
    after_help = format!("Exit codes of the commands:\n  \
        0  done\n  \
        1  refused, not found, or nothing to do\n  \
        2  wrong usage\n\n\
        Settings are also read from ait.toml beside the store (`ait config` tells what holds, and why) \
        and from the environment, where lists have commas between:\n\
        {variables}  \
        NO_COLOR          no colours\n  \
        RUST_LOG          what is logged on stderr [default: info]\n\n\
        Examples:\n  \
        ait                               in a terminal: the page on http://localhost:3000\n  \
        ait init                          set this project up for your agents' clients\n  \
        ait serve --port 8080             HTTP alone, for a service manager or a container\n  \
        ait add 'Login fails' -c bug      file an issue\n  \
        ait list                          what is open\n  \
        claude mcp add issues -- ait      connect Claude Code, which starts ait itself\n  \
        claude mcp add --transport http issues http://localhost:3000/mcp\n                                    \
        connect Claude Code to the ait that runs",
        variables = settings::help_of_variables())
)]
pub struct Arguments {
    /// The file of the store.
    #[arg(long = FILE.name, value_name = "PATH", global = true, help = FILE.line(), help_heading = EVERYWHERE)]
    pub file: Option<PathBuf>,

    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, help_heading = EVERYWHERE, value_enum, default_value_t)]
    pub color: ColorChoice,

    /// How to serve when there is no command.
    #[command(flatten)]
    pub serve: ServeArguments,

    /// What to do instead of serving an agent on stdin and stdout
    #[command(subcommand)]
    pub command: Option<Subcommands>,
}

/// How a server serves.
#[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
pub struct ServeArguments {
    /// The port.
    #[arg(long = PORT.name, value_name = "PORT", help = PORT.line())]
    pub port: Option<Port>,

    /// The address.
    #[arg(long = BIND.name, value_name = "ADDRESS", help = BIND.line())]
    pub bind: Option<Address>,

    /// More names of the server.
    #[arg(long = ALLOW_HOST.name, value_name = "HOST[:PORT]", value_delimiter = ',', help = ALLOW_HOST.line())]
    pub allow_host: Vec<AllowedHost>,

    /// More origins of pages.
    #[arg(long = ALLOW_ORIGIN.name, value_name = "ORIGIN", value_delimiter = ',', help = ALLOW_ORIGIN.line())]
    pub allow_origin: Vec<AllowedOrigin>,

    /// The file with the tokens.
    #[arg(long = TOKEN_FILE.name, value_name = "FILE", help = TOKEN_FILE.line())]
    pub token_file: Option<FilePath>,

    /// How many events are kept.
    #[arg(long = KEEP_EVENTS.name, value_name = "SIZE|TIME", help = KEEP_EVENTS.line())]
    pub keep_events: Option<KeptEvents>,

    /// What is logged.
    #[arg(long = LOG.name, value_name = "FILTER", help = LOG.line())]
    pub log: Option<LogFilter>,

    /// Where the log goes.
    #[arg(long = LOG_FILE.name, value_name = "FILE", help = LOG_FILE.line())]
    pub log_file: Option<FilePath>,

    /// What the log looks like.
    #[arg(long = LOG_FORMAT.name, value_name = "FORMAT", help = LOG_FORMAT.line())]
    pub log_format: Option<LogFormat>,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Subcommands {
    /// Serve HTTP alone - the web page, the probes and /mcp - until a signal comes
    Serve(ServeArguments),
    /// Set this project up for the clients of your agents: Claude Code, Cursor, VS Code, Codex and others
    Init(InitArguments),
    /// Something that is done to the queue, and ends.
    #[command(flatten)]
    Queue(QueueCommand),
    /// Open the web page in the browser
    Open(OpenArguments),
    /// Show the store, old claims, and the processes that use it
    Status(StatusArguments),
    /// Find out what is wrong with the store and around it, and what to do
    Doctor(DoctorArguments),
    /// Let git name issues in commits, and note merged branches on theirs
    Hooks(HooksArguments),
    /// Show what is set, and where
    Config(ConfigArguments),
    /// Something that the program tells of itself.
    #[command(flatten)]
    About(AboutCommand),
}

/// Everything that was set, and by whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The store's file, and why this one.
    pub location: Location,
    /// What is done where that is on a file system of a network.
    pub network_file_system: Chosen<NetworkFileSystem>,
    /// How many events its log keeps, when somebody said so.
    pub keep_events: Option<Chosen<KeptEvents>>,
    /// Who acts where a command does not name somebody.
    pub agent: Option<Chosen<AgentName>>,
    /// The port of the web side, when somebody asked for one.
    pub port: Option<Chosen<Port>>,
    /// The address that it listens on.
    pub bind: Chosen<Address>,
    /// More names under which the web side answers.
    pub hosts: Chosen<Vec<AllowedHost>>,
    /// More origins whose pages may use it.
    pub origins: Chosen<Vec<AllowedOrigin>>,
    /// The file with the tokens that callers need.
    pub token_file: Option<Chosen<FilePath>>,
    /// The token that they need where there is no file.
    pub token: Option<Chosen<Secret>>,
    /// What is logged.
    pub log: Option<Chosen<LogFilter>>,
    /// The file of the log.
    pub log_file: Option<Chosen<FilePath>>,
    /// What its lines look like.
    pub log_format: Chosen<LogFormat>,
    /// Whether HTTP is to be served alone.
    pub serve_only: bool,
}

impl Config {
    /// Puts the settings together, and reads the `ait.toml` beside the store for it.
    ///
    /// `environment` gives the value of a variable; one that is empty counts as not set.
    ///
    /// # Errors
    ///
    /// A variable or a line of the file that cannot be understood, or a file that cannot be read.
    pub fn new(
        arguments: &Arguments,
        environment: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
    ) -> Result<Self, ConfigError> {
        let location = Location::new(arguments, &environment, working_directory);
        let directory = location.path.parent().unwrap_or(working_directory);
        let sources = sources::Sources::new(&environment, directory)?;
        let (serve, serve_only) = match &arguments.command {
            Some(Subcommands::Serve(serve)) => (serve.or(&arguments.serve), true),
            _ => (arguments.serve.clone(), false),
        };
        // What is named in the file of a project lies beside it.
        let file = |setting, flag| -> Result<Option<Chosen<FilePath>>, ConfigError> {
            let chosen = sources.choose(setting, flag)?;
            Ok(chosen.map(|Chosen { value: FilePath(path), source }| {
                let is_of_project = matches!(source, Source::File(_));
                let beside = if is_of_project { directory } else { working_directory };
                Chosen { value: FilePath(beside.join(path)), source }
            }))
        };
        Ok(Self {
            network_file_system: sources.choose(&NETWORK_FILE_SYSTEM, None)?.unwrap_or_default(),
            keep_events: sources.choose(&KEEP_EVENTS, serve.keep_events)?,
            agent: sources.choose(&AGENT, None)?,
            port: sources.choose(&PORT, serve.port)?,
            bind: sources.choose(&BIND, serve.bind)?.unwrap_or_default(),
            hosts: sources.list(&ALLOW_HOST, serve.allow_host)?,
            origins: sources.list(&ALLOW_ORIGIN, serve.allow_origin)?,
            token_file: file(&TOKEN_FILE, serve.token_file)?,
            token: sources.choose(&TOKEN, None)?,
            log: sources.choose(&LOG, serve.log).or_else(left_to_the_log)?,
            log_file: file(&LOG_FILE, serve.log_file)?,
            log_format: sources.choose(&LOG_FORMAT, serve.log_format)?.unwrap_or_default(),
            location,
            serve_only,
        })
    }

    /// The directory of the project: that of its `ait.toml`, by its one name.
    pub fn project(&self) -> PathBuf {
        let directory = self.location.path.parent().unwrap_or(Path::new(""));
        std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned())
    }

    /// Tells whether somebody has said that no other machine uses the store.
    pub fn allows_network(&self) -> bool {
        self.network_file_system.value == NetworkFileSystem::Allow
    }

    /// Who may use the web side, the tokens apart.
    pub fn access(&self) -> Access {
        Access::new(self.hosts.value.clone(), self.origins.value.clone())
    }

    /// What a server logs, how, and where.
    pub fn log_options(&self) -> LogOptions {
        LogOptions {
            voice: Voice::Server,
            filter: self.log.as_ref().map(|log| log.value.0.clone()),
            file: self.log_file.as_ref().map(|file| file.value.0.clone()),
            format: self.log_format.value,
        }
    }

    /// What is set, for people; of a secret only that there is one.
    pub fn rows(&self) -> Vec<SettingRow> {
        let of = values::row::<String>;
        let listed = |hosts: Vec<String>, source: &Source| {
            let value = (!hosts.is_empty()).then(|| hosts.join(", "));
            values::row(value.as_ref(), source)
        };
        let hosts = self.hosts.value.iter().map(ToString::to_string).collect();
        let origins = self.origins.value.iter().map(ToString::to_string).collect();
        let user = whoami::username().ok();
        let port = DEFAULT_PORT.to_string();
        let keep_events = KEEP_EVENTS.default.to_owned();
        let rows = [
            (NETWORK_FILE_SYSTEM, values::chosen(Some(&self.network_file_system))),
            (
                KEEP_EVENTS,
                values::chosen(self.keep_events.as_ref())
                    .or_else(|| of(Some(&keep_events), &Source::Default)),
            ),
            (
                AGENT,
                values::chosen(self.agent.as_ref()).or_else(|| of(user.as_ref(), &Source::Default)),
            ),
            (
                PORT,
                values::chosen(self.port.as_ref()).or_else(|| of(Some(&port), &Source::Default)),
            ),
            (BIND, values::chosen(Some(&self.bind))),
            (ALLOW_HOST, listed(hosts, &self.hosts.source)),
            (ALLOW_ORIGIN, listed(origins, &self.origins.source)),
            (TOKEN_FILE, values::chosen(self.token_file.as_ref())),
            (TOKEN, values::chosen(self.token.as_ref())),
            (LOG, values::chosen(self.log.as_ref())),
            (LOG_FILE, values::chosen(self.log_file.as_ref())),
            (LOG_FORMAT, values::chosen(Some(&self.log_format))),
        ];
        let row = |(setting, chosen): (settings::Setting, Option<(String, Source)>)| {
            let (value, source) = chosen.unzip();
            let source = match source.unwrap_or(Source::Default) {
                Source::Default => format!("default: {}", setting.default),
                source => source.to_string(),
            };
            SettingRow { name: setting.name, value, source }
        };
        let file = SettingRow {
            name: FILE.name,
            value: Some(self.location.path.display().to_string()),
            source: self.location.reason.clone(),
        };
        std::iter::once(file).chain(rows.map(row)).collect()
    }
}

/// `RUST_LOG` is meant for every program that is started with it: what is wrong in it is said by the log,
/// which goes on with the usual filter.
fn left_to_the_log(error: ConfigError) -> Result<Option<Chosen<LogFilter>>, ConfigError> {
    match error {
        ConfigError::BadValue { place, .. } if place == LOG.variable => Ok(None),
        error => Err(error),
    }
}

/// The port that the `ait.toml` of a directory pins, if there is such a file and it can be understood.
pub fn pinned_port(directory: &Path) -> Option<u16> {
    let sources = sources::Sources::new(&|_| None, directory).ok()?;
    let Port(port) = sources.choose(&PORT, None).ok()??.value;
    (port != 0).then_some(port)
}

impl ServeArguments {
    /// These, and where they say nothing, the others.
    fn or(&self, others: &Self) -> Self {
        let hosts = if self.allow_host.is_empty() { others } else { self };
        let origins = if self.allow_origin.is_empty() { others } else { self };
        let file =
            |of: fn(&Self) -> &Option<FilePath>| of(self).clone().or_else(|| of(others).clone());
        Self {
            port: self.port.or(others.port),
            bind: self.bind.or(others.bind),
            allow_host: hosts.allow_host.clone(),
            allow_origin: origins.allow_origin.clone(),
            token_file: file(|it| &it.token_file),
            keep_events: self.keep_events.or(others.keep_events),
            log: self.log.clone().or_else(|| others.log.clone()),
            log_file: file(|it| &it.log_file),
            log_format: self.log_format.or(others.log_format),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(line: &[&str], variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let arguments = Arguments::parse_from(std::iter::once(&"ait").chain(line));
        let environment = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into())
        };
        Config::new(&arguments, environment, Path::new("/nowhere"))
    }

    #[test]
    fn the_command_line_wins_over_the_environment_and_that_over_the_default() {
        let variables = [("ISSUES_FILE", "env.json"), ("PORT", "4000")];
        let both = config(&["--file", "flag.json", "--port", "0"], &variables).unwrap();
        assert_eq!(both.location.path, Path::new("/nowhere/flag.json"));
        assert_eq!(both.port, Some(Chosen { value: Port(0), source: Source::Flag("port") }));
        let environment = config(&[], &variables).unwrap();
        assert_eq!(environment.location.path, Path::new("/nowhere/env.json"));
        let source = Source::Variable("PORT");
        assert_eq!(environment.port, Some(Chosen { value: Port(4000), source }));
        let neither = config(&["serve"], &[("ISSUES_FILE", ""), ("PORT", "")]).unwrap();
        assert_eq!(neither.location.path, Path::new("/nowhere/issues.json"));
        assert_eq!((neither.port, neither.serve_only), (None, true));
    }

    #[test]
    fn hosts_and_origins_are_listed_by_repeated_flags_or_with_commas() {
        let access = |hosts: &[&str], origins: &[&str]| {
            let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
            Access::new(hosts, origins.iter().map(|origin| origin.parse().unwrap()).collect())
        };
        let variables = [
            ("AIT_ALLOW_HOST", "a.example, b.example:8443,"),
            ("AIT_ALLOW_ORIGIN", "https://a.example"),
        ];
        let expected = access(&["a.example", "b.example:8443"], &["https://a.example"]);
        assert_eq!(config(&[], &variables).unwrap().access(), expected);
        let line = ["serve", "--allow-host", "c.example", "--allow-host", "d.example,e.example"];
        let expected = access(&["c.example", "d.example", "e.example"], &["https://a.example"]);
        assert_eq!(config(&line, &variables).unwrap().access(), expected);
        for name in ["AIT_ALLOW_HOST", "AIT_ALLOW_ORIGIN"] {
            let text = config(&[], &[(name, "a b")]).unwrap_err().to_string();
            assert!(text.contains(name) && text.contains("\"a b\""), "{text}");
        }
    }

    #[test]
    fn a_port_that_is_none_is_named_with_the_way_out() {
        for given in ["abc", "65536", "-1"] {
            let text = config(&[], &[("PORT", given)]).unwrap_err().to_string();
            assert!(text.contains(given) && text.contains("65535"), "{text}");
        }
    }
}
