//! The configuration: command line over environment over `ait.toml` over defaults.
//!
//! This module opens no sockets and no stores. [`location`] searches the file system for the store's file, and
//! [`sources`] reads the `ait.toml` beside it.

mod claims;
pub mod location;
mod mcp;
mod serve_arguments;
pub mod settings;
pub mod sources;
pub mod tolerant;
mod values;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{ColorChoice, Parser, Subcommand};

use crate::cli::{
    ClientHookArguments, ConfigArguments, DemoArguments, DoctorArguments, DriverArguments,
    GenerateCommand, HooksArguments, InitArguments, MigrateArguments, OpenArguments, QueueCommand,
    ResolveArguments, StatusArguments, TextsArguments,
};
use crate::domain::{AgentName, Budget, ClaimSettings, Classifications};
use crate::http::{AccessPolicy, AllowedHost, AllowedOrigin};
use crate::logging::{LogFormat, LogOptions, LogProfile};
use crate::mcp::options::McpOptions;
use crate::query_language::SavedQueries;
use crate::setting::EffectiveSetting;
use crate::sync::SyncSettings;
use settings::{
    AGENT, ALLOW_HOST, ALLOW_ORIGIN, BIND, BUDGET, CLASSIFICATIONS, FILE, KEEP_EVENTS, LANG, LOG,
    LOG_FILE, LOG_FORMAT, NAME, NETWORK_FILE_SYSTEM, ON_QUESTION, PORT, PRICES, PROJECTS,
    REPOSITORY_URL, SETTINGS, STORE, STORE_PASSWORD, Setting, TOKEN, TOKEN_FILE, WEB_ACTIONS,
};
use sources::{Chooser, Shown};

pub use claims::ClaimFlags;
pub use location::StoreLocation;
pub use serve_arguments::{ServeArguments, Served};

/// The preferred port of the web UI if none is configured.
pub const DEFAULT_PORT: u16 = 3000;
/// The last port to try if the preferred one is in use.
pub const LAST_PORT: u16 = 3019;
pub use sources::{ConfigError, FILE_NAME, Source, Sourced};
pub use values::{
    Address, FilePath, KeptEvents, LogFilter, NetworkFileSystem, Port, Price, ProjectName,
    RepositoryUrl, Secret, StoreUrl, Switch,
};

/// The help heading of the options that every command has.
const EVERYWHERE: &str = "Options of every command";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "ait",
    // A download may have another name. Hints compare the usage.
    bin_name = "ait",
    version,
    about = "One shared issue queue for a team of coding agents",
    long_about = "One shared issue queue for a team of coding agents.\n\n\
        The commands do the same as the agents' tools, for people and scripts. They work while other \
        processes use the store.\n\n\
        Without a command, ait serves what it is started for. If stdin is a pipe, that is MCP for the program at its \
        other end, with the web page beside it; otherwise it is the web page and MCP over HTTP at /mcp. `ait mcp` and \
        `ait serve` say which of the two is meant.",
    after_help = "Exit codes of the commands:\n  \
        0  done\n  \
        1  refused, not found, or nothing to do\n  \
        2  wrong usage\n\n\
        `ait help serve` has the options of a server and the environment variables, `ait config` the effective values.\n\n\
        Examples:\n  \
        ait                               in a terminal: the page on http://localhost:3000\n  \
        ait init                          set this project up for your agents' clients\n  \
        ait serve --port 8080             HTTP only, for a service manager or a container\n  \
        ait add 'Login fails' -c bug      file an issue\n  \
        claude mcp add issues -- ait      connect Claude Code, which starts ait itself\n  \
        claude mcp add --transport http issues http://localhost:3000/mcp\n                                    \
        connect Claude Code to a running ait"
)]
pub struct Arguments {
    /// The store's file.
    #[arg(long = FILE.name, value_name = "PATH", global = true, help = FILE.line(), help_heading = EVERYWHERE)]
    pub file: Option<PathBuf>,

    /// The database that is the store.
    #[arg(long = STORE.name, value_name = "URL", global = true, help = STORE.line(), help_heading = EVERYWHERE, conflicts_with = FILE.name)]
    pub store: Option<StoreUrl>,

    /// When to use colours
    #[arg(long, value_name = "WHEN", global = true, help_heading = EVERYWHERE, value_enum, default_value_t)]
    pub color: ColorChoice,

    /// The options for serving without a command.
    #[command(flatten)]
    pub serve: ServeArguments,

    /// What to do instead of serving MCP on stdin and stdout
    #[command(subcommand)]
    pub command: Option<Subcommands>,
}

impl Arguments {
    /// Returns the options for serving, and what is to be served.
    fn serving(&self) -> (ServeArguments, Served) {
        match &self.command {
            Some(Subcommands::Serve(serve)) => (serve.clone(), Served::Http),
            Some(Subcommands::Mcp(serve)) => (serve.clone(), Served::Agent),
            _ => (self.serve.clone(), Served::Guessed),
        }
    }

    /// Returns what a server is started for; `None` for another command.
    pub fn served(&self) -> Option<Served> {
        let is_server =
            matches!(self.command, None | Some(Subcommands::Serve(_) | Subcommands::Mcp(_)));
        is_server.then(|| self.serving().1)
    }

    /// Returns a named database if it is the store. A file that is named on the command line or in the environment
    /// overrides a configured database.
    fn database(
        &self,
        named: Option<Sourced<StoreUrl>>,
        location: &StoreLocation,
    ) -> Option<Sourced<StoreUrl>> {
        named.filter(|database| match database.source {
            Source::Flag(_) => true,
            Source::Variable(_) => self.file.is_none(),
            Source::File(_) | Source::Default => !location.is_named,
        })
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Subcommands {
    /// Serve only HTTP - the web page, the probes and /mcp - until a signal arrives
    #[command(after_help = settings::help_of_variables())]
    Serve(ServeArguments),
    /// Serve MCP on stdin and stdout to the client that started ait, and the web page beside it
    #[command(after_help = settings::help_of_variables())]
    Mcp(ServeArguments),
    /// Begin an empty queue with example issues, to look around
    Demo(DemoArguments),
    /// Set up this project for the clients of your agents: Claude Code, Cursor, VS Code, Codex and others
    Init(InitArguments),
    /// A command on the queue.
    #[command(flatten)]
    Queue(QueueCommand),
    /// Move everything to another store: from issues.json to PostgreSQL, or back
    Migrate(MigrateArguments),
    /// Resolve a conflict that git left in issues.json: keeps the issues of both sides
    Resolve(ResolveArguments),
    /// Merge versions of issues.json, as git asks a merge driver to.
    #[command(hide = true)]
    MergeDriver(DriverArguments),
    /// Open the web page in the browser
    Open(OpenArguments),
    /// Show the store, old claims, and the processes that use the store
    Status(StatusArguments),
    /// Diagnose the store and its environment, and suggest fixes
    Doctor(DoctorArguments),
    /// Manage the git hooks that name issues in commits and note merges, and the hooks of clients
    Hooks(HooksArguments),
    /// Do the work of a hook of a client.
    #[command(hide = true)]
    Hook(ClientHookArguments),
    /// Show the settings and where they are set
    Config(ConfigArguments),
    /// Show the texts that agents read: instructions, and descriptions of tools and parameters
    Texts(TextsArguments),
    /// A command about the program itself.
    #[command(flatten)]
    About(GenerateCommand),
}

/// The effective settings and their sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The store's file and the reason for choosing it.
    pub location: StoreLocation,
    /// The database that is the store instead of the file, if set.
    pub database: Option<Sourced<StoreUrl>>,
    /// The password for the database, if it is set.
    pub store_password: Option<Sourced<Secret>>,
    /// Why it is unknown whether a database is the store, if it is.
    pub store_problem: Option<String>,
    /// Whether to allow changes on a network file system.
    pub network_file_system: NetworkFileSystem,
    /// The retention limit of the event log, if set.
    pub keep_events: Option<Sourced<KeptEvents>>,
    /// The default agent of commands, if set.
    pub agent: Option<Sourced<AgentName>>,
    /// The name of the project, if set.
    pub name: Option<Sourced<ProjectName>>,
    /// The address of the project's repository, if set.
    pub repository_url: Option<Sourced<RepositoryUrl>>,
    /// The language of the pages, if set.
    pub lang: Option<Sourced<String>>,
    /// The port of the web UI, if set.
    pub port: Option<Sourced<Port>>,
    /// The address to listen on.
    pub bind: Sourced<Address>,
    /// Additional host names of the web UI.
    pub hosts: Vec<AllowedHost>,
    /// Additional origins that may use the web UI.
    pub origins: Vec<AllowedOrigin>,
    /// The file with the access tokens.
    pub token_file: Option<Sourced<FilePath>>,
    /// The access token if there is no token file.
    pub token: Option<Sourced<Secret>>,
    /// Whether people may change issues on the pages.
    pub web_actions: Switch,
    /// Whether a page lists the other projects of the user.
    pub projects: Switch,
    /// The kinds of work.
    pub classifications: Classifications,
    /// The settings of the MCP server.
    pub mcp: McpOptions,
    /// The settings of claims.
    pub claims: ClaimSettings,
    /// The shell command for new questions to people, if set.
    pub on_question: Option<Sourced<String>>,
    /// What models cost.
    pub prices: Vec<Price>,
    /// What an issue may use.
    pub budget: Option<Budget>,
    /// The queries that have names.
    pub queries: SavedQueries,
    /// The syncs with remote trackers.
    pub syncs: Vec<SyncSettings>,
    /// The log filter.
    pub log: Option<Sourced<LogFilter>>,
    /// The log file.
    pub log_file: Option<Sourced<FilePath>>,
    /// The log format.
    pub log_format: Sourced<LogFormat>,
    /// What to serve.
    pub served: Served,
    /// True if HTTP must not be served, because a setting that restricts access may be among the invalid ones.
    pub http_is_unsafe: bool,
    /// What was chosen, for display.
    shown: Shown,
}

/// An invalid setting or flag that a server goes on without.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// The name of the setting; empty for a whole `ait.toml`.
    pub setting: String,
    /// What is wrong.
    pub reason: String,
}

impl Config {
    /// Collects the settings, including those of the `ait.toml` beside the store.
    ///
    /// `environment` returns the value of a variable; an empty value counts as unset.
    ///
    /// # Errors
    ///
    /// Returns an error if a variable or a line of the file is invalid, or if the file cannot be read.
    pub fn new(
        arguments: &Arguments,
        environment: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
    ) -> Result<Self, ConfigError> {
        Self::collect(arguments, environment, working_directory, |_, error| Err(error))
    }

    /// Collects the settings of an agent's server, which starts in spite of invalid ones. `problems` are those of the
    /// flags; others are added.
    ///
    /// Invalid settings have their defaults. While there are any, events of the log are kept whatever their age and
    /// size. HTTP is served only if all invalid settings are harmless: the name, the port, log settings,
    /// `keep-events`, `agent`, `network-file-system`, `on-question`, `check`, `web-actions`, `projects`, and the
    /// settings of claims.
    pub fn tolerant(
        arguments: &Arguments,
        environment: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let note = |setting: &str, error: ConfigError| {
            problems.push(Problem { setting: setting.to_owned(), reason: error.to_string() });
            Ok::<_, std::convert::Infallible>(())
        };
        let Ok(mut config) = Self::collect(arguments, environment, working_directory, note);
        if !problems.is_empty() {
            let value = KeptEvents::Bytes(u64::MAX);
            config.shown.insert(KEEP_EVENTS.name, (value.to_string(), Source::Default));
            config.keep_events = Some(Sourced { value, source: Source::Default });
        }
        let may_name_store =
            |problem: &&Problem| problem.setting.is_empty() || problem.setting == STORE.name;
        if !config.location.is_named && config.database.is_none() {
            config.store_problem = problems
                .iter()
                .find(may_name_store)
                .filter(|_| sources::mentions(&config.project(), STORE.name))
                .map(|problem| problem.reason.clone());
        }
        config.http_is_unsafe =
            !problems.iter().all(|problem| settings::is_harmless(&problem.setting));
        config
    }

    /// Collects the settings. `invalid` gets the name of each invalid setting, or nothing for a whole file, and decides
    /// whether to go on with its default.
    fn collect<E>(
        arguments: &Arguments,
        environment: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
        mut invalid: impl FnMut(&str, ConfigError) -> Result<(), E>,
    ) -> Result<Self, E> {
        let location = StoreLocation::new(arguments, &environment, working_directory);
        let directory = location.path.parent().unwrap_or(working_directory);
        let sources = match sources::Sources::new(&environment, directory) {
            Ok(sources) => sources,
            Err(error) => {
                invalid("", error)?;
                sources::Sources::without_file(&environment)
            }
        };
        let (serve, served) = arguments.serving();
        let file = |setting, flag| {
            let chosen = sources.choose(setting, flag)?;
            Ok(chosen.map(|file| absolute(file, directory, working_directory)))
        };
        let shown = Shown::new();
        let mut chooser = Chooser { sources: &sources, invalid: &mut invalid, shown };
        let database = chooser.choose(&STORE, arguments.store.clone())?;
        let database = arguments.database(database, &location);
        if database.is_none() {
            chooser.shown.remove(STORE.name);
        }
        let kinds = |kinds: &Classifications| Some(kinds.to_string());
        Ok(Self {
            mcp: mcp::collect(&mut chooser, &serve)?,
            database,
            store_password: chooser.choose(&STORE_PASSWORD, None)?,
            store_problem: None,
            network_file_system: chooser
                .choose_or(&NETWORK_FILE_SYSTEM, None, NetworkFileSystem::default())?
                .value,
            keep_events: chooser.choose(&KEEP_EVENTS, serve.keep_events)?,
            agent: chooser.choose(&AGENT, None)?,
            name: chooser.choose(&NAME, serve.name)?,
            repository_url: chooser.choose(&REPOSITORY_URL, None)?,
            lang: chooser.choose(&LANG, None)?,
            port: chooser.choose(&PORT, serve.port)?,
            bind: chooser.choose_or(&BIND, serve.bind, Address::default())?,
            hosts: chooser.list(&ALLOW_HOST, serve.allow_host, listed)?,
            origins: chooser.list(&ALLOW_ORIGIN, serve.allow_origin, listed)?,
            token_file: chooser.take(&TOKEN_FILE, file(&TOKEN_FILE, serve.token_file))?,
            token: chooser.choose(&TOKEN, None)?,
            web_actions: chooser
                .choose_or(&WEB_ACTIONS, serve.web_actions, Switch::default())?
                .value,
            projects: chooser.choose_or(&PROJECTS, serve.projects, Switch::default())?.value,
            classifications: chooser.list(&CLASSIFICATIONS, Vec::new(), kinds)?,
            claims: claims::collect(&mut chooser, serve.claims)?,
            on_question: chooser.choose(&ON_QUESTION, None)?,
            prices: chooser.list(&PRICES, Vec::new(), listed)?,
            budget: chooser.choose(&BUDGET, None)?.map(|budget| budget.value),
            queries: sources.queries(),
            syncs: sources.syncs(),
            log: chooser.take(&LOG, sources.choose(&LOG, serve.log).or_else(left_to_the_log))?,
            log_file: chooser.take(&LOG_FILE, file(&LOG_FILE, serve.log_file))?,
            log_format: chooser.choose_or(&LOG_FORMAT, serve.log_format, LogFormat::default())?,
            shown: chooser.shown,
            location,
            served,
            http_is_unsafe: false,
        })
    }

    /// Returns the canonical path of the project directory, which contains its `ait.toml`.
    pub fn project(&self) -> PathBuf {
        let directory = self.location.path.parent().unwrap_or(Path::new(""));
        std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned())
    }

    /// Returns the name of the project: that of its directory if none is set.
    pub fn project_name(&self) -> String {
        if let Some(name) = &self.name {
            return name.value.to_string();
        }
        let project = self.project();
        let name = project.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_else(|| project.display().to_string())
    }

    /// Returns the store for people: the URL of the database without its password, or the path of the file.
    pub fn store(&self) -> String {
        match &self.database {
            Some(database) => database.value.to_string(),
            None => self.location.path.display().to_string(),
        }
    }

    /// Returns why this is the store, as a phrase to follow it.
    pub fn store_reason(&self) -> String {
        match &self.database {
            Some(database) => format!("named by {}", database.source),
            None => self.location.reason.clone(),
        }
    }

    /// Returns true if the store may be changed on a network file system.
    pub fn allows_network(&self) -> bool {
        self.network_file_system == NetworkFileSystem::Allow
    }

    /// Returns the allowed hosts and origins of the web UI. Tokens are separate.
    pub fn access(&self) -> AccessPolicy {
        AccessPolicy::new(self.hosts.clone(), self.origins.clone())
    }

    /// Returns the logging options of a server.
    pub fn log_options(&self) -> LogOptions {
        LogOptions {
            profile: LogProfile::Server,
            filter: self.log.as_ref().map(|log| log.value.0.clone()),
            file: self.log_file.as_ref().map(|file| file.value.0.clone()),
            format: self.log_format.value,
        }
    }

    /// Returns the settings for display. Secrets are hidden.
    pub fn rows(&self) -> Vec<EffectiveSetting> {
        let row = |setting: &Setting| {
            let (value, source) = match self.shown.get(setting.name) {
                Some((value, source)) => (Some(value.clone()), source),
                None => (self.effective_default(setting.name), &Source::Default),
            };
            let source = match source {
                Source::Default => format!("default: {}", setting.default),
                source => source.to_string(),
            };
            EffectiveSetting { name: setting.name, value, source }
        };
        let file = EffectiveSetting {
            name: FILE.name,
            value: Some(self.location.path.display().to_string()),
            source: match &self.database {
                Some(_) => "not used: the store is a database".to_owned(),
                None => self.location.reason.clone(),
            },
        };
        let others = SETTINGS.iter().filter(|setting| setting.name != FILE.name);
        std::iter::once(file).chain(others.map(row)).collect()
    }

    /// Returns what is in effect where a setting is not set, if that is a value.
    fn effective_default(&self, setting: &str) -> Option<String> {
        match setting {
            _ if setting == KEEP_EVENTS.name => Some(KEEP_EVENTS.default.to_owned()),
            _ if setting == AGENT.name => whoami::username().ok(),
            _ if setting == NAME.name => Some(self.project_name()),
            _ if setting == PORT.name => Some(DEFAULT_PORT.to_string()),
            _ => None,
        }
    }
}

/// Returns the values of a list as text; `None` without any.
#[expect(clippy::ptr_arg, reason = "lists are collected into vectors")]
fn listed(values: &Vec<impl ToString>) -> Option<String> {
    let texts: Vec<_> = values.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Makes a path absolute. Paths in `ait.toml` are relative to that file.
fn absolute(
    file: Sourced<FilePath>,
    directory: &Path,
    working_directory: &Path,
) -> Sourced<FilePath> {
    let Sourced { value: FilePath(path), source } = file;
    let is_of_project = matches!(source, Source::File(_));
    let beside = if is_of_project { directory } else { working_directory };
    Sourced { value: FilePath(beside.join(path)), source }
}

/// `RUST_LOG` applies to every program started with it, so an invalid value is not an error here. The log reports it
/// and uses its default filter.
fn left_to_the_log(error: ConfigError) -> Result<Option<Sourced<LogFilter>>, ConfigError> {
    match error {
        ConfigError::BadValue { place, .. } if place == LOG.variable => Ok(None),
        error => Err(error),
    }
}

/// Returns the port that the `ait.toml` of a directory pins, if the file exists and is valid.
pub fn pinned_port(directory: &Path) -> Option<u16> {
    let sources = sources::Sources::new(&|_| None, directory).ok()?;
    let Port(port) = sources.choose(&PORT, None).ok()??.value;
    (port != 0).then_some(port)
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
    fn flags_override_environment_variables_and_defaults() {
        let variables = [("ISSUES_FILE", "env.json"), ("PORT", "4000")];
        let both = config(&["--file", "flag.json", "--port", "0"], &variables).unwrap();
        assert_eq!(both.location.path, Path::new("/nowhere/flag.json"));
        assert_eq!(both.port, Some(Sourced { value: Port(0), source: Source::Flag("port") }));
        let environment = config(&[], &variables).unwrap();
        assert_eq!(environment.location.path, Path::new("/nowhere/env.json"));
        let source = Source::Variable("PORT");
        assert_eq!(environment.port, Some(Sourced { value: Port(4000), source }));
        let neither = config(&["serve"], &[("ISSUES_FILE", ""), ("PORT", "")]).unwrap();
        assert_eq!(neither.location.path, Path::new("/nowhere/issues.json"));
        assert_eq!((neither.port, neither.served), (None, Served::Http));
    }

    #[test]
    fn hosts_and_origins_accept_repeated_flags_and_comma_lists() {
        let access = |hosts: &[&str], origins: &[&str]| {
            let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
            AccessPolicy::new(hosts, origins.iter().map(|origin| origin.parse().unwrap()).collect())
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
    fn an_invalid_setting_keeps_events_and_may_turn_http_off() {
        let arguments = Arguments::parse_from(["ait"]);
        for (variable, http_is_unsafe) in [
            ("PORT", false),
            ("AIT_LOG_FORMAT", false),
            ("AIT_KEEP_EVENTS", false),
            ("AIT_NETWORK_FILE_SYSTEM", false),
            ("AIT_BIND", true),
            ("AIT_ALLOW_HOST", true),
            ("AIT_ALLOW_ORIGIN", true),
        ] {
            let environment = |name: &str| (name == variable).then(|| "no such value".into());
            let mut problems = Vec::new();
            let directory = Path::new("/nowhere");
            let config = Config::tolerant(&arguments, environment, directory, &mut problems);
            assert_eq!(problems.len(), 1, "{variable}");
            assert_eq!(config.http_is_unsafe, http_is_unsafe, "{variable}");
            assert_eq!(config.keep_events.as_ref().unwrap().value, KeptEvents::Bytes(u64::MAX));
            assert!(config.port.is_none() && config.bind.value.0.is_loopback());
            assert!(!config.allows_network());
        }
        let mut problems = Vec::new();
        let directory = Path::new("/nowhere");
        let config = Config::tolerant(&arguments, |_| None, directory, &mut problems);
        assert_eq!((problems, config.keep_events), (vec![], None));
    }

    #[test]
    fn invalid_port_error_names_the_value_and_the_valid_range() {
        for given in ["abc", "65536", "-1"] {
            let text = config(&[], &[("PORT", given)]).unwrap_err().to_string();
            assert!(text.contains(given) && text.contains("65535"), "{text}");
        }
    }
}
