//! Where a database is and how to connect to it, read from a URL.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The schema that holds a project if the URL names none.
const DEFAULT_SCHEMA: &str = "ait";
/// The most characters in the name of a schema, which is what PostgreSQL allows.
const MAX_SCHEMA_CHARS: usize = 63;

/// The most connections of a process, besides the one for `LISTEN`. They are opened when they are needed.
const MAX_CONNECTIONS: usize = 6;

/// The parameters that the client library takes before those of a URL, which override them. The time limits find
/// connections that ended without a word, for example because a router forgot them.
const PARAMETERS: &str =
    "application_name=ait&tcp_user_timeout=10&keepalives_idle=30&keepalives_interval=5";

/// Where a database is and how to connect to it.
///
/// The URL is `postgres://USER@HOST:PORT/DATABASE` with the parameters of libpq, and these: `schema` names the schema
/// that holds the project (`ait`), and `listen` is `off` or the URL of a connection for `LISTEN`, if that of the other
/// connections goes through a pooler.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The URL as given. It may contain a password.
    url: String,
    pub(super) config: Config,
    pub(super) schema: String,
    pub(super) listen: Listen,
    pub(super) tls: Tls,
    /// The file with the certificates of the authorities to trust instead of those of the system.
    pub(super) root_certificate: Option<PathBuf>,
    /// The password file to read instead of `~/.pgpass`.
    pub(super) password_file: Option<PathBuf>,
    password: Option<Password>,
    pub(super) max_connections: usize,
}

/// A password. Its `Debug` hides it.
#[derive(Clone)]
pub struct Password(String);

impl Password {
    /// Wraps a password.
    pub fn new(password: impl Into<String>) -> Self {
        Self(password.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password")
    }
}

/// How to hear of changes by other processes.
#[derive(Clone)]
pub(super) enum Listen {
    /// By `LISTEN` on a connection like the others.
    Here,
    /// By `LISTEN` on a connection to another address.
    At(Box<PostgresOptions>),
    /// By looking once a second.
    Off,
}

/// Whether connections are encrypted, and whom they trust.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tls {
    /// Never encrypted.
    Off,
    /// Encrypted if the server offers it, with any certificate.
    Offered,
    /// Encrypted, with any certificate.
    Unverified,
    /// Encrypted, with a certificate for this host from a trusted authority.
    Verified,
}

/// The error for a text that is not the URL of a database. It quotes no part that can contain a password.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotAPostgresUrl(String);

impl PostgresOptions {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// [`NotAPostgresUrl`] says what is wrong.
    pub fn parse(url: &str) -> Result<Self, NotAPostgresUrl> {
        let (address, parameters) = url.split_once('?').unwrap_or((url, ""));
        let is_postgres = ["postgres://", "postgresql://"];
        if !is_postgres.iter().any(|scheme| address.starts_with(scheme)) {
            return Err(wrong("it begins with postgres:// or postgresql://"));
        }
        let mut ours = Parameters::default();
        let mut theirs = form_urlencoded::Serializer::new(String::new());
        for (name, value) in form_urlencoded::parse(parameters.as_bytes()) {
            if !ours.take(&name, &value)? {
                theirs.append_pair(&name, &value);
            }
        }
        // The client library decodes percents alone.
        let config = configuration(address, &theirs.finish().replace('+', "%20"))?;
        let schema = ours.schema.unwrap_or_else(|| DEFAULT_SCHEMA.to_owned());
        refuse_schema(&schema)?;
        let listen = match ours.listen.as_deref() {
            None => Listen::Here,
            Some("off") => Listen::Off,
            Some(other) => Listen::At(Box::new(Self::parse(other)?)),
        };
        let tls = ours.tls.unwrap_or_else(|| default_tls(&config));
        Ok(Self {
            url: url.to_owned(),
            config: with_tls(config, tls),
            schema,
            listen,
            tls,
            root_certificate: ours.root_certificate,
            password_file: ours.password_file,
            password: None,
            max_connections: MAX_CONNECTIONS,
        })
    }

    /// Limits the connections to one, beside the one for `LISTEN`: for a process that serves a single agent, of which
    /// there may be many.
    #[must_use]
    pub fn for_one_agent(self) -> Self {
        Self { max_connections: 1, ..self }
    }

    /// Sets the password, unless the URL contains one.
    #[must_use]
    pub fn with_password(self, password: Option<Password>) -> Self {
        let listen = match self.listen {
            Listen::At(other) => Listen::At(Box::new(other.with_password(password.clone()))),
            listen => listen,
        };
        Self { password: password.or(self.password), listen, ..self }
    }

    /// Takes the paths of files from a directory, unless they are absolute.
    #[must_use]
    pub fn in_directory(self, directory: &Path) -> Self {
        let within = |path: PathBuf| directory.join(path);
        let listen = match self.listen {
            Listen::At(other) => Listen::At(Box::new(other.in_directory(directory))),
            listen => listen,
        };
        Self {
            listen,
            root_certificate: self.root_certificate.map(within),
            password_file: self.password_file.map(within),
            ..self
        }
    }

    /// Returns the name of the schema that holds the project.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// Returns the URL without its password and its parameters but the schema.
    pub fn shown(&self) -> String {
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        format!("postgres://{user}{}?schema={}", self.place(), self.schema)
    }

    /// Returns the host, the port and the database.
    pub(super) fn place(&self) -> String {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(host_text).collect();
        let ports: Vec<String> = self.config.get_ports().iter().map(u16::to_string).collect();
        let port = if ports.is_empty() { "5432".to_owned() } else { ports.join(",") };
        let user = || self.config.get_user().unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or_else(user);
        format!("{}:{port}/{database}", hosts.join(","))
    }

    /// Returns the password that the URL or a setting gives.
    pub(super) fn given_password(&self) -> Option<&Password> {
        self.password.as_ref().filter(|_| self.config.get_password().is_none())
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl PartialEq for PostgresOptions {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl FromStr for PostgresOptions {
    type Err = NotAPostgresUrl;

    fn from_str(url: &str) -> Result<Self, NotAPostgresUrl> {
        Self::parse(url)
    }
}

/// The parameters of a URL that the client library does not know.
#[derive(Default)]
struct Parameters {
    schema: Option<String>,
    listen: Option<String>,
    tls: Option<Tls>,
    root_certificate: Option<PathBuf>,
    password_file: Option<PathBuf>,
}

impl Parameters {
    /// Takes a parameter. Returns false if it is one for the client library.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, NotAPostgresUrl> {
        match name {
            "schema" => self.schema = Some(value.to_owned()),
            "listen" => self.listen = Some(value.to_owned()),
            "sslrootcert" => self.root_certificate = Some(value.into()),
            "passfile" => self.password_file = Some(value.into()),
            "sslmode" => {
                self.tls = Some(match value {
                    "disable" => Tls::Off,
                    "allow" | "prefer" => Tls::Offered,
                    "require" => Tls::Unverified,
                    "verify-ca" | "verify-full" => Tls::Verified,
                    _ => {
                        return Err(wrong(
                            "sslmode is disable, prefer, require, verify-ca or verify-full",
                        ));
                    }
                });
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn wrong(why: &str) -> NotAPostgresUrl {
    NotAPostgresUrl(why.to_owned())
}

fn configuration(address: &str, parameters: &str) -> Result<Config, NotAPostgresUrl> {
    let url = format!("{address}?{PARAMETERS}&{parameters}");
    // The cause of the error can quote the password.
    let config = Config::from_str(&url).map_err(|_| {
        let is_wrong = |name: &str, value: &str| {
            let alone = form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish();
            Config::from_str(&format!("postgres://host?{alone}")).is_err()
        };
        let given = form_urlencoded::parse(parameters.as_bytes());
        match given.into_iter().find(|(name, value)| is_wrong(name, value)) {
            Some((name, _)) => wrong(&format!("the parameter {name} is unknown, or has no such value")),
            None => wrong(
                "it has the form postgres://USER@HOST:PORT/DATABASE?PARAMETER=VALUE, percent-encoded, and the port is at \
                 most 65535",
            ),
        }
    })?;
    if config.get_hosts().is_empty() {
        return Err(wrong("it names no host"));
    }
    Ok(config)
}

/// Refuses a name of a schema that is anything but letters, digits and underscores. No other value of a user becomes a
/// part of SQL.
fn refuse_schema(name: &str) -> Result<(), NotAPostgresUrl> {
    let is_first = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    let is_valid = name.len() <= MAX_SCHEMA_CHARS
        && name.bytes().next().is_some_and(is_first)
        && name.bytes().all(|byte| is_first(byte) || byte.is_ascii_digit())
        && !name.starts_with("pg_")
        && name != "information_schema";
    if is_valid {
        return Ok(());
    }
    Err(wrong("the schema has a name of lower-case letters, digits and underscores, at most 63"))
}

/// Returns how a connection is protected if the URL does not say it: verified, unless it stays on this machine.
fn default_tls(config: &Config) -> Tls {
    let is_local = |host: &Host| match host {
        Host::Tcp(name) => {
            let address = name.parse::<IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    if config.get_hosts().iter().all(is_local) { Tls::Offered } else { Tls::Verified }
}

fn with_tls(mut config: Config, tls: Tls) -> Config {
    config.ssl_mode(match tls {
        Tls::Off => SslMode::Disable,
        Tls::Offered => SslMode::Prefer,
        Tls::Unverified | Tls::Verified => SslMode::Require,
    });
    config
}

fn host_text(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_in_no_text() {
        for url in [
            "postgres://me:s3cret@db.example/x?schema=team",
            "postgres://me@db.example/x?password=s3cret",
        ] {
            let options = PostgresOptions::parse(url).unwrap();
            let texts = [options.shown(), format!("{options:?}"), format!("{:?}", options.config)];
            assert!(texts.iter().all(|text| !text.contains("s3cret")), "{texts:?}");
        }
        for bad in ["postgres://me:s3cret@db:port/x", "postgres://me:s3cret@/x?schema=A"] {
            let error = PostgresOptions::parse(bad).unwrap_err().to_string();
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_wrong_parameter_is_named() {
        for (parameters, expected) in [
            ("sslmode=maybe", "sslmode is"),
            ("foo=bar", "the parameter foo"),
            ("keepalives=1&connect_timeout=soon", "the parameter connect_timeout"),
        ] {
            let error = PostgresOptions::parse(&format!("postgres://h/d?{parameters}"));
            let error = error.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = PostgresOptions::parse("postgres://h:99999/d").unwrap_err().to_string();
        assert!(error.contains("the port is at most 65535"), "{error}");
    }

    #[test]
    fn files_are_taken_from_a_directory() {
        let url = "postgres://h/d?sslrootcert=ca.pem&passfile=/etc/passfile";
        let options = PostgresOptions::parse(url).unwrap().in_directory(Path::new("/project"));
        assert_eq!(options.root_certificate, Some("/project/ca.pem".into()));
        assert_eq!(options.password_file, Some("/etc/passfile".into()));
    }

    #[test]
    fn only_plain_names_become_schemas() {
        for (schema, is_valid) in [
            ("ait", true),
            ("_a1", true),
            ("1a", false),
            ("", false),
            ("pg_x", false),
            ("information_schema", false),
            ("user", true),
            ("a%22b", false),
            ("A", false),
        ] {
            let parsed = PostgresOptions::parse(&format!("postgres://h/d?schema={schema}"));
            assert_eq!(parsed.is_ok(), is_valid, "{schema}");
        }
    }

    #[test]
    fn other_machines_are_verified_unless_the_url_says_otherwise() {
        for (url, tls) in [
            ("postgres://localhost/d", Tls::Offered),
            ("postgres://127.0.0.1/d", Tls::Offered),
            ("postgres://db.example/d", Tls::Verified),
            ("postgres://db.example/d?sslmode=require", Tls::Unverified),
            ("postgres://db.example/d?sslmode=disable", Tls::Off),
        ] {
            assert_eq!(PostgresOptions::parse(url).unwrap().tls, tls, "{url}");
            let listen: String = form_urlencoded::byte_serialize(url.as_bytes()).collect();
            let url = format!("postgres://pooler.example/d?sslmode=require&listen={listen}");
            let Listen::At(listen) = PostgresOptions::parse(&url).unwrap().listen else {
                panic!("{url}")
            };
            assert_eq!(listen.tls, tls, "{url}");
            assert_eq!(listen.config.get_ssl_mode(), with_tls(Config::new(), tls).get_ssl_mode());
        }
    }
}
