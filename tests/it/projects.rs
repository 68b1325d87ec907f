//! The page that lists the projects of a user.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::http::Server;
use crate::support::{Client, PATIENCE, ait, directory, get};

const SECRET: &str = "SSSSSSSSssssssss";

/// Starts a server for a project with this name, for a user whose state directory is `state`.
fn serve(project: &Path, state: &Path, name: &str, arguments: &[&str]) -> Server {
    fs::write(project.join("ait.toml"), format!("name = {name:?}\n")).unwrap();
    let mut command = ait(project);
    command.env("XDG_STATE_HOME", state).args(["serve"]).args(arguments);
    Server::spawn(command, project)
}

/// Returns the row of a project on the page.
#[track_caller]
fn row<'a>(page: &'a str, name: &str) -> &'a str {
    // The heading of the page also has the name of the server's own project.
    let (_, page) = page.split_once("<tbody").unwrap_or_else(|| panic!("no table in {page}"));
    let name = format!("<bdi>{name}</bdi></a>");
    let (before, rest) = page.split_once(&name).unwrap_or_else(|| panic!("no {name} in {page}"));
    let begin = before.rfind("<tr").unwrap();
    &page[begin..before.len() + rest.find("</tr>").unwrap() + name.len()]
}

#[test]
fn the_projects_page_lists_all_projects_with_their_counts() {
    let [state, one, other, guarded] = [directory(), directory(), directory(), directory()];
    // The state directory of the user may be missing.
    let state = state.path().join("not/yet");
    let listing = serve(one.path(), &state, "Shop", &["--projects"]);
    let plain = serve(other.path(), &state, "api <b>", &[]);
    fs::write(guarded.path().join("token"), SECRET).unwrap();
    let guard = serve(guarded.path(), &state, "secret", &["--token-file", "token"]);
    let mut agent = Client::begin(ait(other.path()).args(["--toolsets", "planning"]));
    let id = agent.add("t", "bug");
    agent.call("get_next_issue", json!({ "agent": "dev" })).issue();
    agent.call("ask_human", json!({ "issue_id": id, "agent": "dev", "question": "Which?" })).ok();
    agent.add("t", "bug");
    Client::start(guarded.path()).add("hidden", "bug");

    let page = get(listing.port, "/projects");
    assert_eq!(page.status, 200);
    let own = row(&page.body, "Shop");
    assert!(own.contains("href=\"/\"") && own.contains("this server"), "{own}");
    let found = row(&page.body, "api &lt;b&gt;");
    let url = format!("http://localhost:{}", plain.port);
    for shown in [
        format!("<a class=\"title\" href=\"{url}/\">"),
        format!("data-name=\"Waiting\"><a href=\"{url}/?status=created\">2</a>"),
        format!("data-name=\"Questions\"><a href=\"{url}/board\">1</a>"),
        "data-name=\"In progress\">0<".to_owned(),
        other.path().file_name().unwrap().to_str().unwrap().to_owned(),
    ] {
        assert!(found.contains(&shown), "no {shown} in {found}");
    }
    let protected = row(&page.body, "secret");
    assert!(protected.contains("needs a token") && !protected.contains("data-name"), "{protected}");
    let position = |name: &str| page.body.find(row(&page.body, name)).unwrap();
    assert!(["api &lt;b&gt;", "secret", "Shop"].map(position).is_sorted(), "not sorted by name");
    assert!(get(listing.port, "/").body.contains("<a href=\"/projects\">All projects</a>"));

    // A stopped server leaves no row.
    drop(guard);
    drop(plain);
    let start = Instant::now();
    while get(listing.port, "/projects").body.contains("api &lt;b&gt;") {
        assert!(start.elapsed() < PATIENCE, "a stopped server is still listed");
    }
    drop(listing);
}

#[test]
fn the_projects_page_needs_the_setting() {
    let [state, one] = [directory(), directory()];
    let server = serve(one.path(), state.path(), "Shop", &[]);
    assert_eq!(get(server.port, "/projects").status, 404);
    assert!(!get(server.port, "/").body.contains("/projects"));
    let numbers: Value = serde_json::from_str(&get(server.port, "/api/project").body).unwrap();
    let counts = json!({ "created": 0, "in_progress": 0, "completed": 0, "in_review": 0, "closed": 0, "rejected": 0 });
    assert_eq!(
        numbers,
        json!({ "project": "Shop", "counts": counts, "questions": 0, "findings": 0 })
    );
}

/// A server that does not respond delays the page only for a moment.
#[test]
fn a_hanging_server_is_listed_without_counts() {
    let [state, one, other] = [directory(), directory(), directory()];
    let listing = serve(one.path(), state.path(), "Shop", &["--projects"]);
    let hanging = serve(other.path(), state.path(), "slow", &[]);
    hanging.signal("STOP");
    let page = get(listing.port, "/projects").body;
    hanging.signal("CONT");
    assert!(row(&page, "slow").contains("does not answer"), "{page}");
}
