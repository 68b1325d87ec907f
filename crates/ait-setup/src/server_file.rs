//! Our entry in the file where a client has its servers.

use serde_json::Value;

use super::SERVER;
use super::clients::{Client, Format, OPENCODE};
use super::edit::{EditError, ServerEntry, json, toml};
use super::host_env::is_program;

/// The argument that names the store, and the variable that does so without it.
const STORE_ARGUMENT: &str = "--file";
const STORE_VARIABLE: &str = "ISSUES_FILE";

/// What opencode adds to its file at its start if it is missing. So a new file gets it at once.
const OPENCODE_SCHEMA: (&str, &str) = ("$schema", "https://opencode.ai/config.json");

/// Checks that the client accepts the text.
pub(super) fn check(client: &Client, text: &str) -> Result<(), EditError> {
    match client.format {
        Format::Json(dialect) => json::check(text, dialect),
        // There is one TOML, and each access parses it.
        Format::Toml => Ok(()),
    }
}

/// The entry, if there is one. Reads also what the client refuses, so that a removal can edit it.
pub(super) fn get(client: &Client, text: &str) -> Result<Option<Value>, EditError> {
    get_at(client, text, &path(client, text)?)
}

/// The text with the entry.
pub(super) fn set(client: &Client, text: &str, entry: &ServerEntry) -> Result<String, EditError> {
    let path = path(client, text)?;
    match client.format {
        Format::Json(_) if client.name == OPENCODE.name && text.trim().is_empty() => {
            let (name, schema) = OPENCODE_SCHEMA;
            json::set(&json::set_missing(text, name, &schema.into())?, &path, entry)
        }
        Format::Json(_) => json::set(text, &path, entry),
        Format::Toml => toml::set(text, &path, entry),
    }
}

/// The text without the entry.
pub(super) fn unset(client: &Client, text: &str) -> Result<String, EditError> {
    let path = path(client, text)?;
    match client.format {
        Format::Json(_) => {
            let (name, schema) = OPENCODE_SCHEMA;
            json::unset_last(&json::unset(text, &path)?, name, &schema.into())
        }
        Format::Toml => toml::unset(text, &path),
    }
}

/// The path of the entry, whether it exists or not.
fn path(client: &Client, text: &str) -> Result<Vec<&'static str>, EditError> {
    let mut usable = None;
    for servers in client.servers {
        let path = [servers, &[SERVER][..]].concat();
        // The other checks choose between several objects, and fail on more texts.
        if client.servers.len() == 1 {
            return Ok(path);
        }
        let object = get_at(client, text, servers)?;
        // With `mcp.servers` and `mcp`, a server in `mcp` may be called "servers".
        let is_server = object.as_ref().is_some_and(|object| object["type"].is_string());
        let has_entry = object.as_ref().is_some_and(|object| object.get(SERVER).is_some());
        if has_entry && !is_server {
            return Ok(path);
        }
        if object.is_some() && !is_server {
            usable.get_or_insert(path);
        }
    }
    let last = client.servers.last().expect("each client has a path for servers");
    Ok(usable.unwrap_or_else(|| [last, &[SERVER][..]].concat()))
}

/// The value at a path.
pub(super) fn get_at(
    client: &Client,
    text: &str,
    path: &[&str],
) -> Result<Option<Value>, EditError> {
    match client.format {
        Format::Json(_) => json::get(text, path),
        Format::Toml => toml::get(text, path),
    }
}

/// Returns true if an entry starts this program, or asks an `ait` on this machine.
pub(super) fn is_tracker(entry: &Value, command: &str) -> bool {
    if let Some(program) = command_line(entry).first() {
        return program == command || is_program(program);
    }
    let url = ["url", "httpUrl"].iter().find_map(|name| entry[name].as_str());
    let host = url.and_then(|url| url.strip_prefix("http://")?.strip_suffix("/mcp"));
    host.is_some_and(|host| {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    })
}

/// The store that an entry names.
pub(super) fn named_store(entry: &Value) -> Option<String> {
    store(&command_line(entry), entry).0
}

/// The program of an entry, and its arguments.
pub(super) fn command_line(value: &Value) -> Vec<String> {
    let command = &value["command"];
    let program = command.as_str().or_else(|| command["path"].as_str());
    let arguments = [command, &value["args"], &command["args"]];
    let arguments = arguments.iter().filter_map(|value| value.as_array()).flatten();
    program.into_iter().chain(arguments.filter_map(Value::as_str)).map(str::to_owned).collect()
}

/// The store that an entry names, and what names it.
pub(super) fn store(arguments: &[String], value: &Value) -> (Option<String>, &'static str) {
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if argument == STORE_ARGUMENT {
            return (rest.next().cloned(), STORE_ARGUMENT);
        }
        if let Some((STORE_ARGUMENT, store)) = argument.split_once('=') {
            return (Some(store.to_owned()), STORE_ARGUMENT);
        }
    }
    let variables = ["env", "environment"].into_iter();
    let mut named = variables.filter_map(|name| value[name][STORE_VARIABLE].as_str());
    (named.find(|store| !store.is_empty()).map(str::to_owned), STORE_VARIABLE)
}
