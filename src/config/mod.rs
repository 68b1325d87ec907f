//! What the user asked for: command line over environment over `ait.toml` over defaults.
//!
//! Opens no sockets and no stores; [`location`] looks at the file system to find the store's file, and
//! [`sources`] reads the `ait.toml` beside it.

pub mod location;
pub mod settings;
pub mod sources;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ColorChoice, Parser, Subcommand};

use crate::cli::{
    AboutCommand, ConfigArguments, OpenArguments, QueueCommand, SettingRow, StatusArguments,
};
use crate::domain::AgentName;
use crate::http::{Access, AllowedHost, AllowedOrigin};
use settings::{AGENT, ALLOW_HOST, ALLOW_ORIGIN, FILE, PORT};

pub use location::Location;

/// The port of the web side when nobody names another, and nobody else has it.
pub const DEFAULT_PORT: u16 = 3000;
/// The last of those that are tried where others have it.
pub const LAST_PORT: u16 = 3019;
pub use sources::{Chosen, ConfigError, FILE_NAME, Source};

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

    /// How HTTP is served when there is no command.
    #[command(flatten)]
    pub http: HttpArguments,

    /// What to do instead of serving an agent on stdin and stdout
    #[command(subcommand)]
    pub command: Option<Subcommands>,
}

/// How HTTP is served.
#[derive(Clone, PartialEq, Eq, Debug, Default, Args)]
pub struct HttpArguments {
    /// The port.
    #[arg(long = PORT.name, value_name = "PORT", help = PORT.line())]
    pub port: Option<Port>,

    /// More names of the server.
    #[arg(long = ALLOW_HOST.name, value_name = "HOST[:PORT]", value_delimiter = ',', help = ALLOW_HOST.line())]
    pub allow_host: Vec<AllowedHost>,

    /// More origins of pages.
    #[arg(long = ALLOW_ORIGIN.name, value_name = "ORIGIN", value_delimiter = ',', help = ALLOW_ORIGIN.line())]
    pub allow_origin: Vec<AllowedOrigin>,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub enum Subcommands {
    /// Serve HTTP alone - the web page, the probes and /mcp - until a signal comes
    Serve(HttpArguments),
    /// Something that is done to the queue, and ends.
    #[command(flatten)]
    Queue(QueueCommand),
    /// Open the web page in the browser
    Open(OpenArguments),
    /// Show the store, old claims, and the processes that use it
    Status(StatusArguments),
    /// Show what is set, and where
    Config(ConfigArguments),
    /// Something that the program tells of itself.
    #[command(flatten)]
    About(AboutCommand),
}

/// A port of this machine; 0 stands for any that is free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port(pub u16);

/// A port that is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not a port: give a number from 0 to 65535")]
pub struct BadPort(String);

impl FromStr for Port {
    type Err = BadPort;

    fn from_str(text: &str) -> Result<Self, BadPort> {
        text.parse().map(Self).map_err(|_| BadPort(text.to_owned()))
    }
}

/// Everything that was set, and by whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The store's file, and why this one.
    pub location: Location,
    /// Who acts where a command does not name somebody.
    pub agent: Option<Chosen<AgentName>>,
    /// The port of the web side, when somebody asked for one.
    pub port: Option<Chosen<Port>>,
    /// More names under which the web side answers.
    pub hosts: Chosen<Vec<AllowedHost>>,
    /// More origins whose pages may use it.
    pub origins: Chosen<Vec<AllowedOrigin>>,
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
        let (http, serve_only) = match &arguments.command {
            Some(Subcommands::Serve(http)) => (http.or(&arguments.http), true),
            _ => (arguments.http.clone(), false),
        };
        Ok(Self {
            agent: sources.choose(&AGENT, None)?,
            port: sources.choose(&PORT, http.port)?,
            hosts: sources.list(&ALLOW_HOST, http.allow_host)?,
            origins: sources.list(&ALLOW_ORIGIN, http.allow_origin)?,
            location,
            serve_only,
        })
    }

    /// Who may use the web side.
    pub fn access(&self) -> Access {
        Access::new(self.hosts.value.clone(), self.origins.value.clone())
    }

    /// What is set, for people.
    pub fn rows(&self) -> Vec<SettingRow> {
        let row = |setting: settings::Setting, value: Option<String>, source: &Source| SettingRow {
            name: setting.name,
            value: value.filter(|value| !value.is_empty()),
            source: match source {
                Source::Default => format!("default: {}", setting.default),
                source => source.to_string(),
            },
        };
        let source = |given: Option<&Source>| given.unwrap_or(&Source::Default).clone();
        let (agent, port) = (self.agent.as_ref(), self.port.as_ref());
        let hosts = self.hosts.value.iter().map(ToString::to_string).collect::<Vec<_>>();
        let origins = self.origins.value.iter().map(ToString::to_string).collect::<Vec<_>>();
        vec![
            SettingRow {
                name: FILE.name,
                value: Some(self.location.path.display().to_string()),
                source: self.location.reason.clone(),
            },
            row(
                AGENT,
                agent.map(|it| it.value.to_string()).or_else(|| whoami::username().ok()),
                &source(agent.map(|it| &it.source)),
            ),
            row(
                PORT,
                Some(port.map_or(DEFAULT_PORT, |it| it.value.0).to_string()),
                &source(port.map(|it| &it.source)),
            ),
            row(ALLOW_HOST, Some(hosts.join(", ")), &self.hosts.source),
            row(ALLOW_ORIGIN, Some(origins.join(", ")), &self.origins.source),
        ]
    }
}

/// The port that the `ait.toml` of a directory pins, if there is such a file and it can be understood.
pub fn pinned_port(directory: &Path) -> Option<u16> {
    let sources = sources::Sources::new(&|_| None, directory).ok()?;
    let Port(port) = sources.choose(&PORT, None).ok()??.value;
    (port != 0).then_some(port)
}

impl HttpArguments {
    /// These, and where they say nothing, the others.
    fn or(&self, others: &Self) -> Self {
        let hosts = if self.allow_host.is_empty() { others } else { self };
        let origins = if self.allow_origin.is_empty() { others } else { self };
        Self {
            port: self.port.or(others.port),
            allow_host: hosts.allow_host.clone(),
            allow_origin: origins.allow_origin.clone(),
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
