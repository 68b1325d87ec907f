//! The pages of all projects of a user: the table and the board.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::files::{id, issue_json, write_issues};
use crate::support::http::Server;
use crate::support::runs::run;
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
        format!("data-name=\"Created\"><a href=\"{url}/?status=created\">2</a>"),
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
        json!({ "project": "Shop", "counts": counts, "questions": 0, "findings": 0, "inbox": 0 })
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

#[test]
fn the_board_of_all_projects_has_the_cards_of_each() {
    let [state, one, other, guarded, slow] = [(); 5].map(|()| directory());
    let listing = serve(one.path(), state.path(), "Shop", &["--projects"]);
    let plain = serve(other.path(), state.path(), "api <b>", &[]);
    fs::write(guarded.path().join("token"), SECRET).unwrap();
    let _guard = serve(guarded.path(), state.path(), "secret", &["--token-file", "token"]);
    let hanging = serve(slow.path(), state.path(), "slow", &[]);
    hanging.signal("STOP");
    let mut own = Client::start(one.path());
    let urgent = own.add("own <urgent>", "bug");
    run(one.path(), &["set", &urgent, "--priority", "0"]).ok();
    own.add("own later", "feature");
    let mut agent = Client::start(other.path());
    let held = agent.add("held by dev", "bug");
    agent.call("get_next_issue", json!({ "agent": "dev <i>" })).issue();
    let long = "長い題名\u{202e}".repeat(60);
    agent.add(&long, "bug");
    Client::start(guarded.path()).add("hidden", "bug");

    let page = get(listing.port, "/projects/board");
    hanging.signal("CONT");
    assert_eq!(page.status, 200);
    let body = &page.body;
    let column = |status: &str| {
        let (_, rest) = body.split_once(&format!("<section id=\"c-{status}\"")).unwrap();
        rest.split("</section>").next().unwrap()
    };
    let waiting = column("created");
    assert!(waiting.contains("<span class=\"count\">3</span>"), "{waiting}");
    let cards: Vec<_> = waiting.split("<article").skip(1).collect();
    let url = format!("http://localhost:{}", plain.port);
    assert_eq!(cards.len(), 3, "{waiting}");
    assert!(cards[0].contains("own &lt;urgent&gt;</a>") && cards[0].contains(">P0</span>"));
    assert!(cards[0].contains(&format!("href=\"/issues/{urgent}\"")), "{}", cards[0]);
    assert!(cards[0].contains("<bdi>Shop</bdi>") && !cards[0].contains("http"), "{}", cards[0]);
    let foreign = waiting.split("<article").find(|card| card.contains("長い")).unwrap();
    assert!(foreign.contains(&format!("href=\"{url}/board\"")), "{foreign}");
    assert!(foreign.contains("<bdi>api &lt;b&gt;</bdi>") && !foreign.contains('\u{202e}'));
    assert!(foreign.contains("…</a>") && foreign.matches('題').count() < 60, "{foreign}");
    let claimed = column("in_progress");
    assert!(claimed.contains(&format!("href=\"{url}/issues/{held}\"")), "{claimed}");
    assert!(claimed.contains("dev &lt;i&gt;</bdi>") && claimed.contains(&held[..8]), "{claimed}");
    let (_, rest) = body.split_once("Not on this board").unwrap();
    let missing = rest.split("</section>").next().unwrap();
    for (name, why) in [("secret", "needs a token"), ("slow", "does not answer")] {
        let (_, rest) = missing.split_once(&format!("<bdi>{name}</bdi>")).unwrap();
        assert!(rest.split("</li>").next().unwrap().contains(why), "{missing}");
    }
    assert!(!body.contains("hidden</a>") && !body.contains("<form class=\"action"), "{body}");
    // Each page leads to the other.
    assert!(body.contains("<a href=\"/projects\">As a table</a>"), "{body}");
    let table = get(listing.port, "/projects").body;
    assert!(table.contains("<a href=\"/projects/board\">As a board</a>"), "{table}");
    assert_eq!(get(plain.port, "/projects/board").status, 404);
}

#[test]
fn the_board_of_a_project_is_told_in_bounds() {
    let [state, one, other] = [directory(), directory(), directory()];
    // Four bytes a character, and in JSON two for each quote.
    let issues: Vec<_> = (0..60)
        .map(|n| issue_json(&id(n), &format!("{n} {}\"", "𠮷".repeat(400)), "created"))
        .collect();
    write_issues(other.path(), &issues);
    let listing = serve(one.path(), state.path(), "Shop", &["--projects"]);
    let plain = serve(other.path(), state.path(), "api", &[]);
    let told: Value = serde_json::from_str(&get(plain.port, "/api/project/board").body).unwrap();
    let columns = told["columns"].as_array().unwrap();
    let statuses: Vec<_> = columns.iter().map(|column| &column["status"]).collect();
    assert_eq!(statuses, ["created", "in_progress", "completed", "in_review"]);
    assert_eq!((&told["project"], &columns[0]["total"]), (&json!("api"), &json!(60)));
    let cards = columns[0]["cards"].as_array().unwrap();
    assert_eq!(cards.len(), 40);
    assert_eq!(cards[0]["title"].as_str().unwrap().chars().count(), 201);
    assert_eq!(cards[0]["id"], id(0));
    let body = get(listing.port, "/projects/board").body;
    assert_eq!(body.matches("<article class=\"card\"").count(), 40);
    let more = format!("<a href=\"http://localhost:{}/?status=created\">", plain.port);
    let (_, rest) = body.split_once(&more).unwrap_or_else(|| panic!("{body}"));
    assert!(rest.starts_with("<bdi>api</bdi> 20 more</a>"), "{rest}");
}

/// Answers one request with a body. Returns the port.
fn answer_once(body: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        // Who asks closes the connection after as much as it reads.
        let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\n\r\n{body}").as_bytes());
    });
    port
}

/// What another server tells is not believed: its texts are cut and escaped, and what has another form is no answer.
#[test]
fn a_server_that_tells_nonsense_harms_no_other_card() {
    let [state, one, other] = [directory(), directory(), directory()];
    let listing = serve(one.path(), state.path(), "Shop", &["--projects"]);
    let _odd = serve(other.path(), state.path(), "odd", &[]);
    Client::start(one.path()).add("own one", "bug");
    let card = |title: &str| json!({ "id": id(1), "title": title, "classification": "bug", "priority": 77, "holder": "<i>".repeat(100), "since": "2026-01-31T09:30:00.000Z", "url": "javascript:alert(1)" });
    let many = vec![card("x\"><script>"); 90];
    let column = |status: &str| json!({ "status": status, "total": u64::MAX, "cards": many });
    let odd = json!({ "project": "Shop", "columns": [column("created"), column("closed")] });
    for (answer, count) in [
        (odd.to_string(), 40),
        (json!({ "project": "odd", "columns": [column("no_status")] }).to_string(), 0),
        ("x".repeat(2 << 20), 0),
        (String::new(), 0),
    ] {
        let load = || {
            let port = answer_once(answer.clone());
            for entry in fs::read_dir(state.path().join("ait/servers/processes")).unwrap() {
                let path = entry.unwrap().path();
                let mut entry: Value =
                    serde_json::from_slice(&fs::read(&path).unwrap()).unwrap_or_default();
                if entry["project"] == "odd" {
                    entry["port"] = json!(port);
                    fs::write(&path, entry.to_string()).unwrap();
                }
            }
            let page = get(listing.port, "/projects/board");
            assert_eq!(page.status, 200);
            page.body
        };
        // A server has a second to answer, which is little on a busy machine.
        let mut tries = (0..20).map(|_| load());
        let body = tries
            .find(|body| body.matches("<article class=\"card\"").count() == count + 1)
            .unwrap();
        assert!(body.contains("own one</a>"), "{body}");
        assert_eq!(body.contains("does not answer"), count == 0, "{body}");
        assert!(!body.contains("<script>") && !body.contains("javascript:"), "{body}");
        assert!(!body.contains(&"&lt;i&gt;".repeat(30)), "{body}");
    }
}
