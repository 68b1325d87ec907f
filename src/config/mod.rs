//! What the user asked for: command line over environment over defaults.
//!
//! Opens no sockets and no stores; [`location`] looks at the file system to find the store's file.

pub mod location;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ColorChoice, Parser, Subcommand};

use crate::cli::{AboutCommand, OpenArguments, QueueCommand};
use crate::http::{Access, AllowedHost, AllowedOrigin, BadHost, BadOrigin};

pub use location::Location;

/// The port of the web side when nobody names another.
pub const DEFAULT_PORT: u16 = 3000;

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
    after_help = "Exit codes of the commands:\n  \
        0  done\n  \
        1  refused, not found, or nothing to do\n  \
        2  wrong usage\n\n\
        Environment:\n  \
        ISSUES_FILE       the store, unless --file is given\n  \
        AIT_AGENT         who acts, unless --agent is given\n  \
        PORT              the port of the page, unless --port is given\n  \
        AIT_ALLOW_HOST    more hosts, separated by commas\n  \
        AIT_ALLOW_ORIGIN  more origins, separated by commas\n  \
        NO_COLOR          no colours\n  \
        RUST_LOG          what is logged on stderr [default: info]\n\n\
        Examples:\n  \
        ait                               in a terminal: the page on http://localhost:3000\n  \
        ait serve --port 8080             HTTP alone, for a service manager or a container\n  \
        ait add 'Login fails' -c bug      file an issue\n  \
        ait list                          what is open\n  \
        claude mcp add issues -- ait      connect Claude Code, which starts ait itself\n  \
        claude mcp add --transport http issues http://localhost:3000/mcp\n                                    \
        connect Claude Code to the ait that runs"
)]
pub struct Arguments {
    /// The store [default: issues.json of this repository, else of this directory]
    #[arg(long, value_name = "PATH", global = true, help_heading = EVERYWHERE)]
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
    /// The port of the web page and of /mcp on 127.0.0.1; 0 takes a free one [default: 3000]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,

    /// Answer under this name too, such as the one of a reverse proxy; may be repeated
    #[arg(long, value_name = "HOST[:PORT]", value_delimiter = ',')]
    pub allow_host: Vec<AllowedHost>,

    /// Let pages of this origin use /mcp, such as http://localhost:6274; may be repeated
    #[arg(long, value_name = "ORIGIN", value_delimiter = ',')]
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
    /// Something that the program tells of itself.
    #[command(flatten)]
    About(AboutCommand),
}

/// Everything that serving depends on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The store's file, and why this one.
    pub location: Location,
    /// The port of the web side; 0 for one that the system picks.
    pub port: u16,
    /// Whether HTTP is to be served alone.
    pub serve_only: bool,
    /// Who may use the web side.
    pub access: Access,
}

/// A setting that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConfigError {
    /// The environment names a port that is none.
    #[error(
        "PORT is {given:?}, which is not a port: set it to a number from 0 to 65535, or unset it"
    )]
    BadPort {
        /// What it is set to.
        given: String,
    },
    /// The environment names a host that is none.
    #[error("AIT_ALLOW_HOST: {0}")]
    BadHost(#[from] BadHost),
    /// The environment names an origin that is none.
    #[error("AIT_ALLOW_ORIGIN: {0}")]
    BadOrigin(#[from] BadOrigin),
}

impl Config {
    /// Puts the settings together.
    ///
    /// `environment` gives the value of a variable; one that is empty counts as not set.
    ///
    /// # Errors
    ///
    /// A variable that cannot be understood.
    pub fn new(
        arguments: &Arguments,
        environment: impl Fn(&str) -> Option<OsString>,
        working_directory: &Path,
    ) -> Result<Self, ConfigError> {
        let location = Location::new(arguments, &environment, working_directory);
        let variable = |name| set(environment(name));
        let (http, serve_only) = match &arguments.command {
            Some(Subcommands::Serve(http)) => (http.or(&arguments.http), true),
            _ => (arguments.http.clone(), false),
        };
        let port = port(http.port, &environment)?;
        let hosts = listed(&http.allow_host, variable("AIT_ALLOW_HOST"))?;
        let origins = listed(&http.allow_origin, variable("AIT_ALLOW_ORIGIN"))?;
        Ok(Self { location, port, serve_only, access: Access::new(hosts, origins) })
    }
}

/// The port that the command line names, or else the environment, or else the usual one.
///
/// # Errors
///
/// The environment names one that is none.
pub fn port(
    given: Option<u16>,
    environment: impl Fn(&str) -> Option<OsString>,
) -> Result<u16, ConfigError> {
    match (given, set(environment("PORT"))) {
        (Some(port), _) => Ok(port),
        (None, Some(given)) => given
            .to_str()
            .and_then(|given| given.trim().parse().ok())
            .ok_or_else(|| ConfigError::BadPort { given: given.to_string_lossy().into() }),
        (None, None) => Ok(DEFAULT_PORT),
    }
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

/// The value of a variable, unless that is empty.
fn set(value: Option<OsString>) -> Option<OsString> {
    value.filter(|value| !value.is_empty())
}

/// What the command line lists, or else the environment, with commas between.
fn listed<T: Clone + FromStr>(given: &[T], variable: Option<OsString>) -> Result<Vec<T>, T::Err> {
    match variable {
        Some(list) if given.is_empty() => list
            .to_string_lossy()
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
            .map(str::parse)
            .collect(),
        _ => Ok(given.to_vec()),
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
        assert_eq!(both.port, 0);
        let environment = config(&[], &variables).unwrap();
        assert_eq!(environment.location.path, Path::new("/nowhere/env.json"));
        assert_eq!(environment.port, 4000);
        let neither = config(&["serve"], &[("ISSUES_FILE", ""), ("PORT", "")]).unwrap();
        assert_eq!(neither.location.path, Path::new("/nowhere/issues.json"));
        assert_eq!((neither.port, neither.serve_only), (DEFAULT_PORT, true));
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
        assert_eq!(config(&[], &variables).unwrap().access, expected);
        let line = ["serve", "--allow-host", "c.example", "--allow-host", "d.example,e.example"];
        let expected = access(&["c.example", "d.example", "e.example"], &["https://a.example"]);
        assert_eq!(config(&line, &variables).unwrap().access, expected);
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
