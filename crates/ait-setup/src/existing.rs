//! The server entries that the clients have now, in the project and in the home of the user, for `ait doctor`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::clients::{CLAUDE_CODE, CLIENTS, Client, ConfigLocation, Connection, VSCODE};
use super::error::SetupError;
use super::host_env::{HostEnv, is_program};
use super::server_file::{check, command_line, get_at, store};
use super::staged_file::read;
use super::{PROGRAM, SERVER};

/// The entry of the tracker in the file of a client.
#[derive(Clone, Debug)]
pub struct ClientEntry {
    /// Whose file it is.
    pub client: &'static Client,
    /// The file as the user reads it.
    pub file: String,
    /// The name of the server there.
    pub name: String,
    /// Whether `ait init` writes that file.
    pub is_written: bool,
    /// Whether the client starts the server in the project.
    pub is_in_project: bool,
    /// How the client reaches it.
    pub way: Result<Transport, InvalidEntry>,
}

/// How a client reaches the tracker, with the variables that clients know filled in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transport {
    /// It starts the tracker.
    Stdio {
        program: String,
        arguments: Vec<String>,
        /// The working directory, if the entry names one.
        directory: Option<String>,
        /// The store, if the entry names one.
        store: Option<String>,
        /// The argument or the variable that names the store.
        store_by: &'static str,
    },
    /// It connects to this URL.
    Http(String),
}

/// Why a client does not understand an entry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidEntry {
    /// It names no transport, or two.
    #[error("{0}")]
    Shape(&'static str),
    /// It does not name the transport as the client expects.
    #[error("it has {found}, where {client} needs {expected}")]
    Transport {
        /// What it has.
        found: String,
        client: &'static str,
        /// What the client needs.
        expected: String,
    },
}

/// A file that cannot be read.
#[derive(Clone, Debug)]
pub struct Damaged {
    /// The client that reads it.
    pub client: &'static Client,
    /// The file as the user reads it.
    pub file: String,
    /// What is wrong, and where.
    pub problem: String,
}

/// Finds the entries of the tracker in the files of all clients.
pub fn entries(root: &Path, env: &HostEnv) -> Vec<Result<ClientEntry, Damaged>> {
    let mut found = Vec::new();
    for client in &CLIENTS {
        let is_of_user = matches!(client.location, ConfigLocation::User(_));
        if let Some(file) = client.file(root, env) {
            let file = File { client, path: file, is_of_user, is_written: true };
            found.extend(file.entries(root, env));
        }
        if let Some(path) = (client.of_user)(env) {
            let file = File { client, path, is_of_user: true, is_written: false };
            found.extend(file.entries(root, env));
        }
    }
    found
}

/// A file with servers.
struct File {
    client: &'static Client,
    path: PathBuf,
    is_of_user: bool,
    is_written: bool,
}

impl File {
    fn entries(&self, root: &Path, env: &HostEnv) -> Vec<Result<ClientEntry, Damaged>> {
        let Self { client, ref path, is_of_user, is_written } = *self;
        let file = match path.strip_prefix(root) {
            Ok(inside) if !is_of_user => inside.display().to_string(),
            _ => env.short(path),
        };
        let damaged = |problem: String| vec![Err(Damaged { client, file: file.clone(), problem })];
        let text = match read(path, &file) {
            Ok(Some(text)) => text,
            Ok(None) => return Vec::new(),
            // The file has more than servers, and may be large.
            Err(_) if is_of_user => return Vec::new(),
            Err(SetupError::Unreadable { cause, .. }) => {
                return damaged(format!("it cannot be read: {cause}"));
            }
            Err(error) => return damaged(error.to_string()),
        };
        // A syntax error is of interest only in a file that names the tracker.
        if !text.contains(PROGRAM) && !text.contains(SERVER) {
            return Vec::new();
        }
        if let Err(problem) = check(client, &text) {
            return damaged(problem.to_string());
        }
        let project = root.to_string_lossy();
        let mut places: Vec<Vec<&str>> = client.servers.iter().map(|path| path.to_vec()).collect();
        // Claude Code has the servers of one user in one project here.
        if client.name == CLAUDE_CODE.name && is_of_user {
            places.push(vec!["projects", &project, "mcpServers"]);
        }
        let mut entries = Vec::new();
        for place in places {
            let servers = match get_at(client, &text, &place) {
                Ok(servers) => servers,
                Err(problem) => return damaged(problem.to_string()),
            };
            for (name, value) in servers.as_ref().and_then(Value::as_object).into_iter().flatten() {
                if is_ours(name, value) {
                    entries.push(Ok(ClientEntry {
                        client,
                        file: file.clone(),
                        name: name.clone(),
                        is_written,
                        is_in_project: !matches!(client.location, ConfigLocation::User(_)),
                        way: transport(client, value)
                            .map(|transport| transport.filled_in(root, env)),
                    }));
                }
            }
        }
        entries
    }
}

/// Returns true if a server is the tracker, or has its name.
fn is_ours(name: &str, value: &Value) -> bool {
    name == SERVER || command_line(value).first().is_some_and(|program| is_program(program))
}

/// How a client reaches what an entry names.
fn transport(client: &'static Client, value: &Value) -> Result<Transport, InvalidEntry> {
    if !value.is_object() {
        return Err(InvalidEntry::Shape("it is no object with members"));
    }
    let line = command_line(value);
    let url = ["url", "httpUrl", "serverUrl"].into_iter().find_map(|name| {
        let url = value[name].as_str()?;
        Some((name, url))
    });
    let (way, connection) = match (line.split_first(), url) {
        (Some(_), Some(_)) => {
            return Err(InvalidEntry::Shape(
                "it has both a command and an address: only one can be meant",
            ));
        }
        (None, None) => return Err(InvalidEntry::Shape("it has neither a command nor an address")),
        (Some((program, arguments)), None) => {
            let program = program.clone();
            let arguments = arguments.to_vec();
            let (store, store_by) = store(&arguments, value);
            let connection =
                Connection::Command { program: program.clone(), arguments: arguments.clone() };
            let directory = value["cwd"].as_str().map(str::to_owned);
            (Transport::Stdio { program, arguments, directory, store, store_by }, connection)
        }
        (None, Some((_, url))) => {
            (Transport::Http(url.to_owned()), Connection::Url(url.to_owned()))
        }
    };
    invalid(client, value, &connection).map_or(Ok(way), Err)
}

/// Compares an entry with the one that `ait init` would write for the same connection.
fn invalid(
    client: &'static Client,
    value: &Value,
    connection: &Connection,
) -> Option<InvalidEntry> {
    let is_url = matches!(connection, Connection::Url(_));
    let wanted = (client.entry)(connection);
    let differs = |found: String, expected: String| {
        Some(InvalidEntry::Transport { found, client: client.title, expected })
    };
    if is_url && !client.takes_url {
        return differs("an address".to_owned(), "a command".to_owned());
    }
    let kind = value["type"].as_str();
    // Some clients have another word for the same transport, and accept this one.
    let is_known = match (kind, is_url) {
        (None, _) => true,
        (Some("http" | "streamable-http" | "streamableHttp"), true) => true,
        (Some("stdio"), false) => true,
        (Some(kind), _) => wanted.get("type").is_some_and(|wanted| wanted == kind),
    };
    let own = wanted.get("type").and_then(Value::as_str);
    // Without a type, Claude Code and opencode assume another transport or none.
    let is_needed = own.is_some_and(|own| own != "stdio" && client.name != VSCODE.name);
    let is_other = own.is_some_and(|own| own != "http" && kind.is_some_and(|kind| kind != own));
    if !is_known || is_other || (is_needed && kind.is_none()) {
        let found = kind.map_or("no \"type\"".to_owned(), |kind| format!("\"type\": {kind:?}"));
        let expected = own.map_or_else(
            || if is_url { "Streamable HTTP" } else { "stdio" }.to_owned(),
            |own| format!("\"type\": {own:?}"),
        );
        return differs(found, expected);
    }
    let named = ["url", "httpUrl", "serverUrl"].into_iter().find(|name| value.get(*name).is_some());
    if let Some(named) = named.filter(|named| !wanted.contains_key(*named) && kind.is_none()) {
        let own = ["url", "httpUrl"].into_iter().find(|name| wanted.contains_key(*name));
        return differs(format!("{named:?}"), format!("{:?}", own.unwrap_or("url")));
    }
    let is_list = |value: &Value| value.is_array();
    let needs_list = wanted.get("command").is_some_and(is_list);
    if !is_url && needs_list != is_list(&value["command"]) {
        let kind = |is_list| if is_list { "a list as command" } else { "a text as command" };
        return differs(kind(!needs_list).to_owned(), kind(needs_list).to_owned());
    }
    None
}

impl Transport {
    /// Fills in the variables that clients know.
    fn filled_in(self, root: &Path, env: &HostEnv) -> Self {
        let home = env.home.as_ref().map(|home| home.display().to_string());
        let fill = |text: String| {
            let text = text.replace("${workspaceFolder}", &root.to_string_lossy());
            let Some(home) = &home else { return text };
            let names = ["${userHome}", "${env:HOME}", "${HOME}"];
            let text = names.iter().fold(text, |text, name| text.replace(name, home));
            match text.strip_prefix("~/") {
                Some(rest) => format!("{home}/{rest}"),
                None => text,
            }
        };
        match self {
            Self::Stdio { program, arguments, directory, store, store_by } => Self::Stdio {
                store_by,
                program: fill(program),
                arguments: arguments.into_iter().map(&fill).collect(),
                directory: directory.map(&fill),
                store: store.map(&fill),
            },
            Self::Http(url) => Self::Http(fill(url)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clients::{CLAUDE_DESKTOP, CODEX, GEMINI, OPENCODE, ZED};

    #[test]
    fn entries_that_ait_init_writes_are_valid() {
        for client in CLIENTS.iter() {
            let arguments = vec!["--file".to_owned(), "/x/issues.json".to_owned()];
            let command = Connection::Command { program: "ait".to_owned(), arguments };
            let entry = Value::Object((client.entry)(&command));
            let Ok(Transport::Stdio { program, store, .. }) = transport(client, &entry) else {
                panic!("{}: {:?}", client.name, transport(client, &entry));
            };
            assert_eq!((&*program, store.as_deref()), ("ait", Some("/x/issues.json")));
            if client.takes_url {
                let url = "http://localhost:3000/mcp".to_owned();
                let entry = Value::Object((client.entry)(&Connection::Url(url.clone())));
                assert_eq!(transport(client, &entry), Ok(Transport::Http(url)), "{}", client.name);
            }
        }
    }

    #[test]
    fn entries_that_a_client_cannot_use_are_invalid() {
        let url = "http://localhost:3000/mcp";
        for (client, entry, told) in [
            (&CLAUDE_CODE, json!("ait"), "no object"),
            (&CLAUDE_CODE, json!({ "args": [] }), "neither"),
            (&CLAUDE_CODE, json!({ "command": "ait", "url": url }), "both"),
            (&CLAUDE_CODE, json!({ "url": url }), "no \"type\", where Claude Code needs"),
            (&CLAUDE_CODE, json!({ "type": "sse", "url": url }), "\"sse\""),
            (&CODEX, json!({ "type": "sse", "url": url }), "needs Streamable HTTP"),
            (&VSCODE, json!({ "type": "http", "command": "ait" }), "needs \"type\": \"stdio\""),
            (&GEMINI, json!({ "url": url }), "has \"url\", where Gemini CLI needs \"httpUrl\""),
            (&ZED, json!({ "httpUrl": url }), "has \"httpUrl\", where Zed needs \"url\""),
            (&OPENCODE, json!({ "type": "local", "command": "ait" }), "needs a list as command"),
            (
                &OPENCODE,
                json!({ "type": "stdio", "command": ["ait"] }),
                "needs \"type\": \"local\"",
            ),
            (&OPENCODE, json!({ "command": ["ait"] }), "no \"type\""),
            (&CODEX, json!({ "command": ["ait"] }), "needs a text as command"),
            (&CLAUDE_DESKTOP, json!({ "url": url }), "needs a command"),
        ] {
            let found = transport(client, &entry).unwrap_err().to_string();
            assert!(found.contains(told), "{entry}: {found}");
        }
        for (client, entry) in [
            (&CLAUDE_CODE, json!({ "type": "stdio", "command": "ait" })),
            (&VSCODE, json!({ "url": url })),
            (&VSCODE, json!({ "command": "ait" })),
            (&GEMINI, json!({ "url": url, "type": "http" })),
            (&ZED, json!({ "source": "custom", "command": { "path": "ait", "args": [] } })),
        ] {
            assert!(transport(client, &entry).is_ok(), "{entry}: {:?}", transport(client, &entry));
        }
    }

    #[test]
    fn store_path_is_read_from_arguments_and_environment() {
        let found = |entry: Value| match transport(&CODEX, &entry) {
            Ok(Transport::Stdio { store, .. }) => store,
            other => panic!("{other:?}"),
        };
        let named = Some("x.json".to_owned());
        assert_eq!(found(json!({ "command": "ait", "args": ["--file=x.json"] })), named);
        assert_eq!(found(json!({ "command": "ait", "args": ["--file", "x.json"] })), named);
        let env = json!({ "ISSUES_FILE": "x.json" });
        assert_eq!(found(json!({ "command": "ait", "env": env })), named);
        assert_eq!(found(json!({ "command": "ait", "env": { "ISSUES_FILE": "" } })), None);
        assert!(is_program("/a/ait") && is_program(r"C:\x\AIT.exe") && !is_program("/a/aitx"));
    }
}
