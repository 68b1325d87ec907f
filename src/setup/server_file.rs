//! The entry of the tracker in the file of a client, whatever that is written in.

use serde_json::Value;

use super::SERVER;
use super::clients::{Client, Format};
use super::edit::{EditError, Entry, json, toml};
use super::present::is_program;

/// The entry, if there is one.
pub(super) fn get(client: &Client, text: &str) -> Result<Option<Value>, EditError> {
    get_at(client, text, &path(client, text)?)
}

/// The text with the entry.
pub(super) fn set(client: &Client, text: &str, entry: &Entry) -> Result<String, EditError> {
    let path = path(client, text)?;
    match client.format {
        Format::Json => json::set(text, &path, entry),
        Format::Toml => toml::set(text, &path, entry),
    }
}

/// The text without the entry, and whether nothing is left then. `original` is the text before it was set.
pub(super) fn unset(
    client: &Client,
    text: &str,
    original: Option<&str>,
) -> Result<(String, bool), EditError> {
    let path = path(client, text)?;
    let (text, is_empty): (_, fn(&str) -> bool) = match client.format {
        Format::Json => (json::unset(text, &path, original)?, json::is_empty),
        Format::Toml => (toml::unset(text, &path, original)?, toml::is_empty),
    };
    let is_empty = is_empty(&text);
    Ok((text, is_empty))
}

/// Where the entry is, or where it belongs.
fn path(client: &Client, text: &str) -> Result<Vec<&'static str>, EditError> {
    let mut belongs = None;
    for servers in client.servers {
        let path = [servers, &[SERVER][..]].concat();
        // With one place, what else may stand there is not asked.
        if client.servers.len() == 1 {
            return Ok(path);
        }
        let object = get_at(client, text, servers)?;
        // A server may be called as the object with servers is in another place.
        let is_server = object.as_ref().is_some_and(|object| object["type"].is_string());
        let has_entry = object.as_ref().is_some_and(|object| object.get(SERVER).is_some());
        if has_entry && !is_server {
            return Ok(path);
        }
        if object.is_some() && !is_server {
            belongs.get_or_insert(path);
        }
    }
    let last = client.servers.last().expect("each client has a place for servers");
    Ok(belongs.unwrap_or_else(|| [last, &[SERVER][..]].concat()))
}

pub(super) fn get_at(
    client: &Client,
    text: &str,
    path: &[&str],
) -> Result<Option<Value>, EditError> {
    match client.format {
        Format::Json => json::get(text, path),
        Format::Toml => toml::get(text, path),
    }
}

/// Whose an entry under our name is.
pub(super) enum Owner {
    /// Ours, with the store that it names.
    Ours(Option<String>),
    /// Somebody else's.
    Another,
}

/// Finds out whose an entry is: ours starts this program, or asks one on this machine.
pub(super) fn owner(entry: &Value, command: &str) -> Owner {
    let line: Vec<&str> = match &entry["command"] {
        Value::String(program) => vec![program],
        Value::Array(line) => line.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if let Some(program) = line.first() {
        let arguments = entry["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let arguments: Vec<&str> = line[1..].iter().copied().chain(arguments).collect();
        let is_ours = *program == command || is_program(program);
        let store = arguments.windows(2).find(|pair| pair[0] == "--file").map(|pair| pair[1]);
        return if is_ours { Owner::Ours(store.map(str::to_owned)) } else { Owner::Another };
    }
    let url = ["url", "httpUrl"].iter().find_map(|name| entry[name].as_str());
    let rest = url.and_then(|url| url.strip_prefix("http://"));
    let is_ours = rest.and_then(|rest| rest.strip_suffix("/mcp")).is_some_and(|host| {
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        matches!(name, "localhost" | "127.0.0.1" | "[::1]")
    });
    if is_ours { Owner::Ours(None) } else { Owner::Another }
}
