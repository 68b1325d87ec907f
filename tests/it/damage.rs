//! A damaged store is said first: by every command, tool, prompt, resource and page. What can be read comes after it,
//! and an intact store says nothing of the kind.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use agent_issue_tracker::config::Arguments;
use clap::CommandFactory;
use serde_json::{Value, json};

use crate::support::files::{
    change_database, copy_directory, damage_text, database, id, issue_json, settle, write_issues,
};
use crate::support::http::{Server, connections};
use crate::support::runs::{Run, run};
use crate::support::{Client, Response, ait, directory, get, until};

/// What a reader of an empty store is told.
const EMPTY: [&str; 3] = ["No issues yet", "no issues yet", "Nothing needs attention"];

/// A store with issues, and copies of it with damage.
struct Scene {
    intact: tempfile::TempDir,
    /// One issue is not what was written.
    partly: tempfile::TempDir,
    /// The file is no database.
    fully: tempfile::TempDir,
    /// The database is gone.
    gone: tempfile::TempDir,
    /// `issues.json` is invalid, and there is no database.
    unreadable: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let intact = directory();
        let path = intact.path();
        write_issues(path, &[issue_json(&id(1), "one", "created")]);
        let comment = ["comment", &id(1), "-m", "text", "-a", "a"];
        for _ in 0..2 {
            run(path, &comment).ok();
        }
        // What is damaged is not in the published file.
        let mut client = Client::start(path);
        for _ in 0..3 {
            client.add("later", "bug");
        }
        client.signal("KILL");
        client.wait();
        let copy = || {
            let copy = directory();
            copy_directory(path, copy.path());
            copy
        };
        let partly = copy();
        damage_text(partly.path(), "later");
        let fully = copy();
        change_database(fully.path(), |bytes| *bytes = "x".repeat(8192).into());
        let gone = copy();
        run(gone.path(), &["save"]).ok();
        fs::remove_file(database(gone.path())).unwrap();
        let unreadable = directory();
        fs::write(unreadable.path().join("issues.json"), "{ \"issues\": [").unwrap();
        Self { intact, partly, fully, gone, unreadable }
    }

    /// Returns the damaged stores, each with what its damage is called.
    fn damaged(&self) -> [(&Path, String); 4] {
        let name = |store: &tempfile::TempDir| database(store.path()).display().to_string();
        [
            (self.partly.path(), "is not what was written".to_owned()),
            (self.fully.path(), format!("{}: file is not a database", name(&self.fully))),
            (self.gone.path(), format!("{} is missing", name(&self.gone))),
            (self.unreadable.path(), "issues.json, line 1".to_owned()),
        ]
    }
}

/// What a command does with a damaged store.
pub enum Kind {
    /// Shows what can be read.
    Reads(&'static [&'static str]),
    /// Does nothing.
    Refuses(&'static [&'static str]),
    /// Has another subject than issues, or is for damaged stores: it has tests of its own.
    Other,
}

const ONE: &str = "00000001-0000-4000-8000-000000000000";

/// Returns what a command does, with its arguments.
pub fn kind(command: &str) -> Kind {
    use Kind::{Other, Reads, Refuses};
    match command {
        "list" => Reads(&["--status", "all"]),
        "search" => Reads(&["one"]),
        "show" => Reads(&[ONE]),
        "ready" | "blocked" | "tree" | "questions" | "board" | "stats" | "triage" | "digest"
        | "log" | "status" | "issue-ids" => Reads(&[]),
        "wait" => Refuses(&["--timeout", "60s"]),
        "export" | "save" | "tui" => Refuses(&[]),
        "backup" => Refuses(&["backup.json"]),
        "add" => Refuses(&["title", "-c", "bug", "-a", "a"]),
        "remember" => Refuses(&["text", "-a", "a"]),
        // There is nothing to recall.
        "recall" => Refuses(&[]),
        "memory" => Refuses(&["publish"]),
        "next" | "review" => Refuses(&["-a", "a"]),
        "claim" | "release" | "unpark" => Refuses(&[ONE, "-a", "a"]),
        "return" | "complete" | "close" | "reopen" | "comment" | "park" => {
            Refuses(&[ONE, "-m", "text", "-a", "a"])
        }
        "edit" => Refuses(&[ONE, "--title", "other", "-a", "a"]),
        "bulk" => Refuses(&["one", "--priority", "1", "--yes", "-a", "a"]),
        "undo" => Refuses(&["1", "-a", "a"]),
        "link" | "unlink" => Refuses(&[ONE, "related", ONE, "-a", "a"]),
        "ask" | "answer" => Refuses(&[ONE, "text", "-a", "a"]),
        "check" => Refuses(&[ONE]),
        "sync" => Refuses(&[]),
        "hold" => Refuses(&["--provider", "anthropic", "--until", "1h"]),
        "import" => Refuses(&["/dev/null", "--format", "jsonl"]),
        "serve" | "mcp" | "demo" | "init" | "restore" | "migrate" | "open" | "doctor" | "hooks"
        | "hook" | "config" | "texts" | "completions" | "man" | "help" | "worktree" | "merge"
        | "merge-driver" | "resolve" => Other,
        new => panic!("what does `ait {new}` do with a damaged store?"),
    }
}

/// Checks that stderr begins with the damage, which it says once, and that nothing looks as if the store were empty.
#[track_caller]
fn assert_said_first(found: &Run, damage: &str) {
    let Run { code, out, log } = found;
    assert_eq!(*code, 1, "{out}{log}");
    let first = log.lines().next().unwrap_or_default();
    assert!(first.starts_with("error: ") && first.contains(damage), "{out}{log}");
    let says = |line: &&str| line.starts_with("error: ") && line.contains(damage);
    assert_eq!(log.lines().filter(says).count(), 1, "{log}");
    assert!(!EMPTY.iter().any(|empty| format!("{out}{log}").contains(empty)), "{out}{log}");
}

#[test]
fn every_command_says_damage_first() {
    let scene = Scene::new();
    let line = Arguments::command();
    let names = line.get_subcommands().map(clap::Command::get_name);
    let mut without_key = BTreeSet::new();
    for name in names.chain(["help"]) {
        let (arguments, reads) = match kind(name) {
            Kind::Reads(arguments) => (arguments, true),
            Kind::Refuses(arguments) => (arguments, false),
            Kind::Other => continue,
        };
        let arguments = [&[name], arguments].concat();
        let has_json = line
            .find_subcommand(name)
            .is_some_and(|command| command.get_arguments().any(|each| each.get_id() == "json"));
        if reads {
            let intact = run(scene.intact.path(), &arguments);
            assert!(intact.code == 0 && !intact.log.contains("damaged"), "{name}: {intact:?}");
        }
        for (path, damage) in scene.damaged() {
            let found = run(path, &arguments);
            assert_said_first(&found, &damage);
            if !has_json {
                continue;
            }
            let found = run(path, &[&arguments[..], &["--json"]].concat());
            assert_said_first(&found, &damage);
            // Nothing matches.
            if found.out.is_empty() {
                continue;
            }
            match serde_json::from_str::<Value>(&found.out) {
                Ok(Value::Object(object)) => {
                    let (key, damaged) = object.iter().next().unwrap();
                    assert_eq!(key, "damaged", "{name}: {}", found.out);
                    assert!(damaged.as_str().unwrap().contains(&damage), "{}", found.out);
                }
                _ => _ = without_key.insert(name.to_owned()),
            }
        }
        if reads && has_json {
            let intact = run(scene.intact.path(), &[&arguments[..], &["--json"]].concat()).ok();
            assert!(!intact.contains("\"damaged\""), "{name}: {intact}");
        }
    }
    // Their output is a list.
    assert!(without_key.is_subset(&BTreeSet::from(["log".to_owned()])), "{without_key:?}");
}

#[test]
fn hooks_of_clients_say_damage_first() {
    let scene = Scene::new();
    let greeting = |path: &Path| {
        let server = Server::start(path);
        get(server.port, "/api/session?agent=a").json()["greeting"].as_str().unwrap().to_owned()
    };
    let (path, damage) = scene.damaged()[0].clone();
    let damaged = greeting(path);
    assert!(damaged.starts_with("Warning: ") && damaged.contains(&damage), "{damaged}");
    assert!(!greeting(scene.intact.path()).contains("Warning"));
}

/// Returns arguments of a tool.
fn arguments(tool: &str) -> Value {
    match tool {
        "add_issue" => {
            json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" })
        }
        "add_issues" => json!({
            "agent": "a",
            "issues": [{ "title": "t", "description": "", "classification": "bug" }],
        }),
        "get_next_issue" | "get_next_review_item" | "undo_change" => json!({ "agent": "a" }),
        "return_issue" | "complete_issue" | "update_issue" => {
            json!({ "issue_id": ONE, "comment": "c", "agent": "a" })
        }
        "close_issue" => {
            json!({ "issue_id": ONE, "comment": "c", "resolution": "completed", "agent": "a" })
        }
        "ask_human" => json!({ "issue_id": ONE, "question": "q", "agent": "a" }),
        "link_issues" => json!({ "issue_id": ONE, "kind": "related", "to": ONE, "agent": "a" }),
        "get_context" => json!({ "issue_id": ONE }),
        "query_issues" => json!({ "query": "one" }),
        "change_issues" => json!({ "handle": "h", "items": [], "agent": "a" }),
        "manage_memory" => json!({ "action": "read" }),
        _ => json!({}),
    }
}

/// Checks that the first text of an answer, or an error, begins with the damage.
#[track_caller]
fn assert_warned(of: &str, first: &Value, damage: &str) {
    let text = first["text"].as_str().unwrap_or_else(|| panic!("{of}: {first}"));
    let begins = ["Warning: the store ", "Error: the store ", "the store "];
    assert!(begins.iter().any(|begin| text.starts_with(begin)), "{of}: {text}");
    assert!(text.contains(damage), "{of}: {text}");
}

/// Calls every tool, prompt and resource. Returns the first text of each, or its error.
fn first_texts(path: &Path) -> Vec<(String, Value)> {
    let mut client = Client::begin(ait(path).args(["--toolsets", "all"]));
    let mut list = |method: &str, key: &str| -> Vec<String> {
        let listed = client.request(method, json!({}));
        let name = if key == "resources" { "uri" } else { "name" };
        let names = listed[key].as_array().unwrap().iter().map(|each| each[name].as_str());
        names.map(|name| name.unwrap().to_owned()).collect()
    };
    let tools = list("tools/list", "tools");
    let prompts = list("prompts/list", "prompts");
    let mut resources = list("resources/list", "resources");
    resources.push(format!("tracker://issues/{ONE}"));
    let mut texts = Vec::new();
    let mut ask = |of: String, method: &str, parameters: Value, first: &str| {
        let id = client.ask(method, parameters);
        let reply = client.reply(id).unwrap();
        let text = match reply.get("error") {
            Some(error) => json!({ "text": error["message"] }),
            None => {
                reply["result"].pointer(first).unwrap_or_else(|| panic!("{of}: {reply}")).clone()
            }
        };
        texts.push((of, text));
    };
    for tool in tools {
        let call = json!({ "name": tool, "arguments": arguments(&tool) });
        ask(tool, "tools/call", call, "/content/0");
    }
    for prompt in prompts {
        let named = json!({ "name": prompt, "arguments": {} });
        ask(prompt, "prompts/get", named, "/messages/0/content");
    }
    for uri in resources {
        let named = json!({ "uri": uri });
        ask(uri, "resources/read", named, "/contents/0");
    }
    client.close();
    texts
}

#[test]
fn every_tool_prompt_and_resource_says_damage_first() {
    let scene = Scene::new();
    for (path, damage) in scene.damaged() {
        for (of, first) in first_texts(path) {
            assert_warned(&of, &first, &damage);
        }
    }
    for (of, first) in first_texts(scene.intact.path()) {
        assert!(!first["text"].as_str().unwrap().starts_with("Warning: "), "{of}: {first}");
    }
}

/// Returns the paths of the pages and their data, from the routes of the server.
fn paths() -> Vec<String> {
    let routes = include_str!("../../crates/ait-web/src/lib.rs").split(".route(\"").skip(1);
    let literal = routes.map(|route| route.split('"').next().unwrap());
    let own = ["/events", "/health", "/health/", "/metrics", "/issues"];
    let paths = literal
        .filter(|path| !own.contains(path))
        .map(|path| path.replace("{id}", ONE).replace("{name}", "a"));
    let others = [
        "/api/session",
        "/api/project",
        "/api/project/board",
        "/board?q=nothing",
        "/new",
        "/nowhere",
        "/issues/ffffffff",
        "/?q=nothing",
    ];
    paths.chain(others.map(str::to_owned)).collect()
}

/// Starts a server with all pages, for a user whose state directory is `state`.
fn pages(path: &Path, state: &Path) -> Client {
    let mut command = ait(path);
    Client::begin(command.env("XDG_STATE_HOME", state).args(["--projects", "--web-actions"]))
}

/// Returns the text of an element.
fn between<'a>(page: &'a Response, begin: &str, end: &str) -> &'a str {
    let (_, rest) = page.body.split_once(begin).unwrap_or_default();
    rest.split_once(end).unwrap_or_default().0
}

#[test]
fn every_page_says_damage_first() {
    let scene = Scene::new();
    let state = directory();
    for (path, damage) in scene.damaged() {
        let server = pages(path, state.path());
        for path in paths() {
            let page = get(server.port(), &path);
            let of = format!("{path}: {} {}", page.status, page.body);
            if path.starts_with("/api") {
                let begin =
                    page.body.strip_prefix("{\"damaged\":\"").unwrap_or_else(|| panic!("{of}"));
                assert!(begin.split("\",").next().unwrap().contains(&damage), "{of}");
                continue;
            }
            if ["/issues.csv", "/activity.atom"].contains(&&*path) {
                assert_eq!(page.status, 503, "{of}");
            }
            let main = between(&page, "<main", "</main>");
            assert!(main.contains(&damage), "{of}");
            let title = between(&page, "<title>", "</title>");
            assert!(title.contains("! ") && title.contains("Damaged: "), "{title}");
            assert!(!EMPTY.iter().any(|empty| page.body.contains(empty)), "{of}");
            assert!(!main.contains("`ait "), "{of}");
        }
    }
    let server = pages(scene.intact.path(), state.path());
    for path in paths() {
        let page = get(server.port(), &path);
        assert!(!page.body.contains("amaged"), "{path}: {}", page.body);
    }
}

#[test]
fn clients_of_the_api_get_the_body_again_when_the_store_is_damaged() {
    let scene = Scene::new();
    let path = scene.intact.path();
    let server = Server::start(path);
    let issue = format!("/api/issues/{ONE}");
    let asked = |tag: &str| {
        let url = format!("http://127.0.0.1:{}{issue}", server.port);
        let client = connections();
        client.get(url).header("If-None-Match", tag).send().unwrap()
    };
    let tag = get(server.port, &issue).headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(asked(&tag).status(), 304);
    // The server has not read what will be damaged, and reads nothing when it stops.
    until("the server is idle", || {
        server.signal("STOP");
        let is_idle = settle(path);
        if !is_idle {
            server.signal("CONT");
        }
        is_idle
    });
    run(path, &["comment", ONE, "-m", "unreadable", "-a", "a"]).ok();
    damage_text(path, "unreadable");
    server.signal("CONT");
    let again = asked(&tag);
    assert!(again.status() == 503 && !again.headers().contains_key("etag"), "{again:?}");
    assert!(again.text().unwrap().contains("is damaged"));
}

#[test]
fn the_projects_page_shows_damage_instead_of_numbers() {
    let scene = Scene::new();
    let state = directory();
    let listing = pages(scene.intact.path(), state.path());
    let damaged = scene.damaged();
    let servers: Vec<_> = damaged.iter().map(|(path, _)| pages(path, state.path())).collect();
    let ports: Vec<_> = servers.iter().map(Client::port).collect();
    let page = get(listing.port(), "/projects").body;
    for (port, (_, damage)) in ports.iter().zip(&damaged) {
        let row = page.split("<tr").find(|row| row.contains(&format!(":{port}/\"")));
        let row = row.unwrap_or_else(|| panic!("{page}"));
        assert!(row.contains(damage) && !row.contains(">0<"), "{row}");
    }
}
