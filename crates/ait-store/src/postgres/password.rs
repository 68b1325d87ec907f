//! Where the password for a database comes from: the URL, a setting, the environment, or a password file.

use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::options::{Password, PostgresOptions};

/// The environment variable of libpq that can contain the password.
const VARIABLE: &str = "PGPASSWORD";

/// Adds the password to the configuration of a connection. Reads the password file each time, so that a change of it
/// counts for the next connection.
pub(super) fn with_password(options: &PostgresOptions, mut config: Config) -> Config {
    if config.get_password().is_some() {
        return config;
    }
    let of_environment = || env::var(VARIABLE).ok().map(Password::new);
    let found = options.given_password().cloned().or_else(of_environment);
    if let Some(password) = found.or_else(|| in_file(options, &config)) {
        config.password(password.reveal());
    }
    config
}

fn in_file(options: &PostgresOptions, config: &Config) -> Option<Password> {
    let path = options
        .password_file
        .clone()
        .or_else(|| env::var_os("PGPASSFILE").map(PathBuf::from))
        .or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass")))?;
    let text = fs::read_to_string(&path).ok()?;
    if is_readable_by_others(&path) {
        tracing::warn!("{} is ignored: others may read it (chmod 600)", path.display());
        return None;
    }
    let host = match config.get_hosts().first()? {
        Host::Tcp(name) => name.clone(),
        Host::Unix(_) => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432).to_string();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    find(&text, [&host, &port, database, user]).map(Password::new)
}

fn is_readable_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.mode() & 0o077 != 0)
}

/// Returns the password of the first line of a password file that fits: `host:port:database:user:password`, where `*`
/// fits everything and `\` quotes the next character.
fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(fields).find_map(|mut fields| {
        let fits = |(field, wanted): (&String, &&str)| field == "*" || field == wanted;
        let is_complete = fields.len() == 5 && fields.iter().zip(&wanted).all(fits);
        is_complete.then(|| fields.remove(4))
    })
}

fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            letter => {
                let letter = if letter == '\\' { letters.next() } else { Some(letter) };
                if let Some(last) = fields.last_mut() {
                    last.extend(letter);
                }
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# comment\nother:*:*:*:no\ndb:5432:x:me:a\\:b\\\\c:d\n*:*:*:*:rest";
        let find = |host, port| find(text, [host, port, "x", "me"]);
        assert_eq!(find("db", "5432").as_deref(), Some("a:b\\c:d"));
        assert_eq!(find("db", "5433").as_deref(), Some("rest"));
        assert_eq!(super::find("db:1:x:me", ["db", "1", "x", "me"]), None);
    }
}
