//! Checks of the settings: whether they are valid, and who may connect.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use super::report::quoted;
use super::{Check, CheckContext, Finding, Repair};
use ait_http::Tokens;
use ait_http::token_file::{TokenFile, TokenFileError};

/// The settings that the doctor checks.
#[derive(Clone)]
pub struct Settings {
    /// The project's settings file, if it exists.
    pub file: Option<PathBuf>,
    /// Whether the store may lie on a network file system, because no other machine uses it.
    pub allows_network: bool,
    /// The configured port and where it is set.
    pub port: Option<(u16, String)>,
    /// The ports that a server tries if none is configured.
    pub default_ports: RangeInclusive<u16>,
    /// The address to listen on.
    pub address: IpAddr,
    /// Where the address is set.
    pub address_by: String,
    pub token_file: Option<PathBuf>,
    /// The syncs that cannot run, with the reason.
    pub idle_syncs: Vec<String>,
    /// The token if there is no token file, and where it is set.
    pub token: Option<(String, String)>,
}

pub(super) fn examine(context: &CheckContext) -> Vec<Finding> {
    match &context.settings {
        Ok(settings) => vec![valid(settings), access(settings)],
        Err(why) => vec![
            Finding::problem(Check::Settings, why.clone()).fix(
                "correct it there; no server starts until then (`ait config` shows the effective settings)",
            ),
            Finding::skipped(Check::Access, "the settings cannot be read"),
        ],
    }
}

fn valid(settings: &Settings) -> Finding {
    if !settings.idle_syncs.is_empty() {
        return Finding::warning(Check::Settings, settings.idle_syncs.join("; "));
    }
    let reason = match &settings.file {
        Some(file) => format!("{} is valid", file.display()),
        None => "there is no ait.toml: the defaults apply".to_owned(),
    };
    Finding::ok(Check::Settings, reason)
}

fn access(settings: &Settings) -> Finding {
    let check = Check::Access;
    let address = settings.address;
    if let Some(path) = &settings.token_file {
        return of_file(path.clone());
    }
    if let Some((token, by)) = &settings.token {
        return match Tokens::single(token) {
            Ok(_) => Finding::ok(check, format!("callers over HTTP need the token in {by}")),
            Err(bad) => Finding::problem(check, format!("{by}: {bad}"))
                .fix("`export AIT_TOKEN=$(openssl rand -hex 32)`"),
        };
    }
    if address.is_loopback() {
        return Finding::ok(
            check,
            format!("only this machine can reach {address}, so no token is needed"),
        );
    }
    Finding::problem(
        check,
        format!(
            "{address} ({}) is reachable from other machines and no token is set: no server starts \
             until one is",
            settings.address_by
        ),
    )
    .fix(
        "`openssl rand -hex 32 > .ait-tokens; chmod 600 .ait-tokens`, \
          and name it with --token-file; or bind 127.0.0.1",
    )
}

fn of_file(path: PathBuf) -> Finding {
    let check = Check::Access;
    let make = format!("`openssl rand -hex 32 > {0}; chmod 600 {0}`", quoted(&path));
    match TokenFile::read(&path) {
        Ok(TokenFile { warning: None, .. }) => {
            Finding::ok(check, format!("callers over HTTP need a token of {}", path.display()))
        }
        Ok(TokenFile { warning: Some(_), .. }) => Finding::warning(
            check,
            format!("other users can read the tokens in {}", path.display()),
        )
        .fix(format!("`chmod 600 {}`, or `ait doctor --fix`", quoted(&path)))
        .repaired_by(Repair::ProtectTokens),
        Err(error @ TokenFileError::Unreadable { .. }) => {
            Finding::problem(check, error.to_string())
                .fix(format!("let this user read it: `ls -l {}`", quoted(&path)))
        }
        Err(error) => Finding::problem(check, error.to_string()).fix(make),
    }
}
