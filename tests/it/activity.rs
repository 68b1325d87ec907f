//! The activity log in every interface: `ait log`, `ait show --at`, `ait list --at`, the page, the feed and the API.

use std::fs;
use std::path::Path;
use std::process::{Child, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::files::{id, issue_json, write_issues};
use crate::support::http::{Agent, Server, connections};
use crate::support::{Client, Log, PATIENCE, ait, directory, get, signal, until, wait};

/// Runs a command and checks its exit code.
#[track_caller]
fn ends_with(code: i32, directory: &Path, arguments: &[&str]) -> Output {
    let mut command = ait(directory);
    command.args(arguments).env("TZ", "UTC").env("AIT_AGENT", "tester");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    output
}

/// Runs a command that must succeed, and returns its output.
#[track_caller]
fn run(directory: &Path, arguments: &[&str]) -> String {
    String::from_utf8(ends_with(0, directory, arguments).stdout).unwrap()
}

#[track_caller]
fn add(directory: &Path, title: &str) -> String {
    let issue: Value =
        serde_json::from_str(&run(directory, &["add", title, "-c", "bug", "--json"])).unwrap();
    issue["id"].as_str().unwrap().to_owned()
}

/// Returns the events that `ait log --json` prints.
#[track_caller]
fn log(directory: &Path, arguments: &[&str]) -> Vec<Value> {
    let text = run(directory, &[&["log", "--json"], arguments].concat());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn numbers(events: &[Value]) -> Vec<u64> {
    events.iter().map(|event| event["number"].as_u64().unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

#[test]
fn log_lines_have_the_values_of_short_fields() {
    let directory = directory();
    let path = directory.path();
    let id = add(path, "first");
    run(path, &["edit", &id, "--due", "2026-12-01", "--estimate", "3", "--label", "ui"]);
    run(path, &["edit", &id, "--due", "2026-12-04", "--title", "renamed"]);
    run(path, &["park", &id, "-m", "waits for the design"]);
    let log = run(path, &["log"]);
    let said: Vec<_> =
        log.lines().map(|line| line.rsplit_once(" · ").map(|(_, more)| more)).collect();
    let expected = [
        None,
        Some("due none → 2026-12-01, estimate none → 3"),
        Some("due 2026-12-01 → 2026-12-04"),
        Some("parked: waits for the design"),
    ];
    assert_eq!(said, expected, "{log}");
}

/// Takes an issue from filed to rejected, with one process for each step. Returns its id.
fn history(directory: &Path) -> String {
    let id = add(directory, "first");
    run(directory, &["next", "-a", "dev-1"]);
    run(directory, &["complete", &id, "-m", "fixed\nin two places", "-a", "dev-1"]);
    run(directory, &["review", "-a", "rev"]);
    run(directory, &["return", &id, "-m", "not yet", "-a", "rev"]);
    run(directory, &["close", &id, "-m", "never mind", "--reject"]);
    id
}

const HISTORY: [&str; 6] =
    ["filed", "claimed", "completed", "review_started", "returned", "rejected"];

#[test]
fn event_log_survives_process_exits_and_kills() {
    let directory = directory();
    let directory = directory.path();
    history(directory);
    let mut server = Server::start(directory);
    Agent::connect(server.port).add("by a server");
    server.signal("KILL");
    server.wait();
    add(directory, "after that");
    let events = log(directory, &[]);
    assert_eq!(kinds(&events), [&HISTORY[..], &["filed", "filed"]].concat());
    assert_eq!(numbers(&events), [1, 2, 3, 4, 5, 6, 7, 8]);
    let completed = &events[2];
    assert_eq!(completed["before"], json!({ "status": "in_progress" }));
    assert_eq!(completed["after"], json!({ "status": "completed" }));
    assert_eq!(completed["comment"], "fixed\nin two places");
    let position = completed["position"].as_str().unwrap();
    assert!(position.starts_with("3-") && position.len() == 18, "{position}");

    assert_eq!(numbers(&log(directory, &["--after", "2", "-n", "3"])), [3, 4, 5]);
    assert_eq!(numbers(&log(directory, &["--after", "6"])), [7, 8]);
    assert_eq!(numbers(&log(directory, &["-n", "3"])), [6, 7, 8]);
    assert_eq!(numbers(&log(directory, &["--kind", "filed"])), [1, 7, 8]);
    assert_eq!(numbers(&log(directory, &["--kind", "filed", "-n", "1"])), [8]);
    assert_eq!(numbers(&log(directory, &["--agent", "rev", "--since", "1h"])), [4, 5]);
    assert!(log(directory, &["--after", "8"]).is_empty());
    let ahead = ends_with(0, directory, &["log", "--after", "9"]);
    assert!(String::from_utf8_lossy(&ahead.stderr).contains("the latest is 8"));
    ends_with(2, directory, &["log", "--kind", "done"]);
}

#[test]
fn issue_log_includes_history_older_than_the_log() {
    let directory = directory();
    let directory = directory.path();
    write_issues(
        directory,
        &[issue_json(&id(1), "old", "created"), issue_json(&id(2), "other", "closed")],
    );
    run(directory, &["next", "-a", "dev-1"]);
    let entries = log(directory, &["--issue", &id(1)]);
    assert_eq!(kinds(&entries), ["filed", "claimed"]);
    assert_eq!((&entries[0]["number"], &entries[1]["number"]), (&Value::Null, &json!(1)));
    assert_eq!(entries[0]["at"], "2026-01-31T09:30:00.000Z");
    assert_eq!(log(directory, &["--issue", &id(1), "-n", "1"]), entries[1..]);
    assert_eq!(log(directory, &["--issue", &id(1), "--agent", "a"]), entries[..1]);
    assert_eq!(kinds(&log(directory, &["--issue", &id(2)])), ["filed"]);
    assert_eq!(numbers(&log(directory, &[])), [1]);
    // The history of an imported issue is older than the log, too.
    let import = json!({ "issues": [issue_json(&id(3), "imported", "created")] }).to_string();
    fs::write(directory.join("more.json"), import).unwrap();
    run(directory, &["import", "more.json"]);
    assert_eq!(kinds(&log(directory, &["--issue", &id(3)])), ["filed", "imported"]);
}

/// A running `log -f --json`. A test can wait for its lines.
struct Follower {
    child: Child,
    lines: Log,
    problems: Log,
}

impl Follower {
    fn start(directory: &Path, arguments: &[&str]) -> Self {
        let mut command = ait(directory);
        command.args(["log", "-f", "--json"]).args(arguments).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = Log::of(child.stdout.take().unwrap());
        let problems = Log::of(child.stderr.take().unwrap());
        Self { child, lines, problems }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn log_follow_shows_changes_by_other_processes_at_once() {
    let directory = directory();
    add(directory.path(), "before");
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    let mut follower = Follower::start(directory.path(), &["-n", "1"]);
    follower.lines.wait_for("\"before\"");
    for round in 0..5 {
        let title = format!("round {round}");
        agent.add(&title);
        let answered = Instant::now();
        follower.lines.wait_for(&title);
        let delay = answered.elapsed();
        assert!(delay < Duration::from_secs(2), "shown after {delay:?}");
    }
    signal(&follower.child, "INT");
    assert!(wait(&mut follower.child).success());
    assert_eq!(follower.lines.whole().lines().count(), 6);
}

#[test]
fn log_follow_continues_after_the_log_is_replaced() {
    let directory = directory();
    history(directory.path());
    let follower = Follower::start(directory.path(), &["--kind", "filed"]);
    follower.lines.wait_for("\"first\"");
    // A process that reads may have made a file in it meanwhile.
    until("it is removed", || fs::remove_dir_all(directory.path().join(".ait")).is_ok());
    let start = Instant::now();
    let mut count = 0;
    // The follower may still read the old log when the first issue is filed.
    while !follower.problems.text().contains("was replaced") {
        assert!(start.elapsed() < PATIENCE, "no message: {}", follower.problems.text());
        count += 1;
        add(directory.path(), &format!("after {count}"));
        thread::sleep(Duration::from_millis(100));
    }
    add(directory.path(), "the last");
    follower.lines.wait_for("\"the last\"");
    let text = follower.lines.text();
    for number in 1..=count {
        let title = format!("\"after {number}\"");
        assert_eq!(text.matches(&title).count(), 2, "each event has the title twice: {text}");
    }
}

#[test]
fn show_and_list_give_past_states_with_at() {
    let directory = directory();
    let directory = directory.path();
    let id = history(directory);
    add(directory, "second");
    let events = log(directory, &[]);
    let at = |index: usize| events[index]["at"].as_str().unwrap();
    let status = |at: &str| {
        let shown = run(directory, &["show", &id, "--json", "--at", at]);
        serde_json::from_str::<Value>(&shown).unwrap()["status"].as_str().unwrap().to_owned()
    };
    let expected = ["created", "in_progress", "completed", "in_review", "created", "rejected"];
    for (index, expected) in expected.into_iter().enumerate() {
        assert_eq!(status(at(index)), expected);
        let listed = run(directory, &["list", "--json", "--status", "all", "--at", at(index)]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(
            (&listed["total"], &listed["issues"][0]["status"]),
            (&1.into(), &expected.into())
        );
    }
    assert_eq!(status("0s"), "rejected");
    assert!(run(directory, &["list", "--at", "1s", "--status", "all"]).len() < 500);
    let before: Value =
        serde_json::from_str(&run(directory, &["list", "--json", "--at", "1d"])).unwrap();
    assert_eq!((&before["total"], &before["issues"]), (&0.into(), &Value::Array(Vec::new())));
    assert!(before["nothing"].as_str().unwrap().starts_with("no issue matches"), "{before}");
    let early = ends_with(1, directory, &["show", &id, "--at", "2026-01-01"]);
    let early = String::from_utf8_lossy(&early.stderr).into_owned();
    assert!(early.contains("2026-01-01") && early.contains(&id), "{early}");
    ends_with(2, directory, &["show", &id, "--at", "soon"]);
}

#[test]
fn show_at_refuses_times_before_the_recorded_history() {
    let directory = directory();
    let directory = directory.path();
    write_issues(directory, &[issue_json(&id(1), "old", "created")]);
    run(directory, &["next", "-a", "dev-1"]);
    let shown = run(directory, &["show", &id(1), "--json", "--at", "2026-02-01T00:00:00Z"]);
    assert!(shown.contains("\"status\":\"created\""), "{shown}");
    let refused = ends_with(1, directory, &["show", &id(1), "--at", "2026-01-30T00:00:00Z"]);
    let refused = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.contains("reaches back to"), "{refused}");
}

/// Returns the event numbers on a page, and its HTML.
fn page(port: u16, path: &str) -> (Vec<u64>, String) {
    let page = get(port, path);
    assert_eq!(page.status, 200, "{path}");
    let rows = page.body.split("id=\"e-").skip(1);
    let numbers = rows.map(|row| row.split('"').next().unwrap().parse().unwrap()).collect();
    (numbers, page.body)
}

/// Returns the target of the link with this `rel`.
fn link(body: &str, rel: &str) -> Option<String> {
    let (_, rest) = body.split_once(&format!("<a rel=\"{rel}\" href=\""))?;
    Some(rest.split('"').next().unwrap().replace("&amp;", "&"))
}

#[test]
fn activity_page_paginates_and_filters_events() {
    let directory = directory();
    let id = history(directory.path());
    let mut client = Client::start(directory.path());
    for number in 0..200 {
        client.add(&format!("more {number}"), "bug");
    }
    let port = client.port();
    let (numbers, body) = page(port, "/activity");
    assert_eq!(numbers, (107..=206).rev().collect::<Vec<_>>());
    assert!(body.contains("aria-current=\"page\">Activity</a>"), "{body}");
    assert!(body.contains("data-version=\"") && body.contains("href=\"/activity.atom\""), "{body}");
    assert_eq!(link(&body, "prev"), None);
    let older = link(&body, "next").unwrap();
    assert_eq!(older, "/activity?before=107");
    let (numbers, body) = page(port, &older);
    assert_eq!(numbers, (7..=106).rev().collect::<Vec<_>>());
    let (newer, older) = (link(&body, "prev").unwrap(), link(&body, "next").unwrap());
    let (numbers, body) = page(port, &older);
    // From the claim to the review there is one row.
    assert_eq!(numbers, [6, 5, 4, 1]);
    let steps = body.split_once("<ol class=\"steps\">").unwrap().1.split_once("</ol>").unwrap().0;
    assert_eq!(steps.matches("<li").count(), 2, "{steps}");
    assert!(steps.contains("claimed") && steps.contains("completed"), "{steps}");
    let (numbers, _) = page(port, "/activity?kind=completed");
    assert_eq!(numbers, [3]);
    assert_eq!(link(&body, "next"), None);
    let (numbers, _) = page(port, &link(&body, "prev").unwrap());
    assert_eq!(numbers, (7..=106).rev().collect::<Vec<_>>());
    assert_eq!(page(port, &newer).0, page(port, "/activity").0);

    let (numbers, body) = page(port, "/activity?kind=completed&agent=dev-1&since=1h");
    assert_eq!(numbers, [3]);
    assert!(body.contains("fixed") && body.contains(&format!("href=\"/issues/{id}\"")), "{body}");
    let feed = "/activity.atom?agent=dev-1&amp;kind=completed&amp;since=1h";
    assert!(body.contains(feed), "{body}");
    assert_eq!(page(port, &format!("/activity?issue={}", &id[..8])).0, [6, 5, 4, 1]);
    let (numbers, body) = page(port, "/activity?agent=nobody");
    assert!(numbers.is_empty() && body.contains("No event matches"), "{body}");
    for (query, status, expected) in [
        ("kind=done", 400, "review_started"),
        ("since=soon", 400, "2h"),
        ("before=x", 400, "before"),
        ("before=1&after=2", 400, "after"),
        ("issue=3f2a", 400, "hex digits"),
        ("issue=ffffffff", 404, "ffffffff"),
    ] {
        let refused = get(port, &format!("/activity?{query}"));
        assert_eq!(refused.status, status, "{query}");
        assert!(refused.body.contains(expected), "{query}: {}", refused.body);
    }
}

#[test]
fn activity_page_version_changes_with_a_new_event() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let port = client.port();
    let (numbers, body) = page(port, "/activity");
    assert!(numbers.is_empty() && body.contains("Nothing has happened"), "{body}");
    let version =
        |body: &str| body.split("data-version=\"").nth(1).map(|rest| rest[..8].to_owned());
    client.add("t", "bug");
    let (numbers, after) = page(port, "/activity");
    assert_eq!(numbers, [1]);
    assert_ne!(version(&body), version(&after));
}

#[test]
fn activity_page_says_that_the_log_began_with_issues() {
    let directory = directory();
    write_issues(directory.path(), &[issue_json(&id(0), "older", "created")]);
    let client = Client::start(directory.path());
    let (numbers, body) = page(client.port(), "/activity");
    assert!(numbers.is_empty() && body.contains("The log has no changes."), "{body}");
    assert!(!body.contains("Nothing has happened"), "{body}");
}

#[test]
fn activity_page_shows_comments_without_the_signs_of_markdown() {
    let directory = directory();
    let id = add(directory.path(), "t");
    run(directory.path(), &["comment", &id, "-m", "## **Done**\n\nin `a.rs`"]);
    let client = Client::start(directory.path());
    let (_, body) = page(client.port(), "/activity");
    assert!(body.contains(">Done in a.rs</p>"), "{body}");
}

/// Checks that a document is well-formed XML: its nesting, entities and characters. Returns the texts of the elements
/// called `name`.
fn texts_of(xml: &str, name: &str) -> Vec<String> {
    let is_allowed =
        |c: char| !matches!(c, '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    assert!(xml.chars().all(is_allowed), "{xml:?}");
    for part in xml.split('&').skip(1) {
        let entity = part.split(';').next().unwrap();
        assert!(["amp", "lt", "gt", "quot", "#39", "#13"].contains(&entity), "{entity}");
    }
    let (mut open, mut found) = (Vec::new(), Vec::new());
    let rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n").unwrap();
    for part in rest.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains('>') && tag.matches('"').count() % 2 == 0, "{part}");
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
            if open.last() == Some(&name) {
                found.push(text.to_owned());
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[test]
fn atom_feed_is_escaped_and_has_stable_ids() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let port = client.port();
    let empty = get(port, "/activity.atom");
    assert_eq!(empty.headers["content-type"], "application/atom+xml");
    assert_eq!(texts_of(&empty.body, "updated").len(), 1);
    let evil = "\u{202e}<b>\"x\" & 'y' ]]>";
    let issue =
        json!({ "title": evil, "description": "", "classification": "bug", "agent": "a & b" });
    let id = crate::support::id_in(&client.call("add_issue", issue).ok());
    let comment = json!({ "issue_id": id, "comment": "\u{1b}[31m & <i>\r\nline", "agent": "c" });
    client.call("complete_issue", comment).ok();
    let feed = get(port, "/activity.atom");
    assert_eq!(feed.status, 200);
    let ids = texts_of(&feed.body, "id");
    assert_eq!(ids.len(), 3, "{}", feed.body);
    assert!(ids.iter().all(|id| id.starts_with("urn:ait:")), "{ids:?}");
    let titles = texts_of(&feed.body, "title");
    assert_eq!(titles[2], "a &amp; b filed: &lt;b&gt;&quot;x&quot; &amp; &#39;y&#39; ]]&gt;");
    assert_eq!(texts_of(&feed.body, "summary"), ["\u{fffd}[31m &amp; &lt;i&gt;&#13;\nline"]);
    assert_eq!(texts_of(&feed.body, "name"), ["c", "a &amp; b"]);
    assert!(feed.body.contains(&format!("href=\"/issues/{id}\"")), "{}", feed.body);
    let updated = texts_of(&feed.body, "updated");
    assert_eq!(updated[0], updated[1]);

    client.add("another", "bug");
    let later = texts_of(&get(port, "/activity.atom").body, "id");
    assert_eq!((&later[0], &later[2..]), (&ids[0], &ids[1..]));
    let filtered = get(port, "/activity.atom?agent=c");
    assert_eq!(texts_of(&filtered.body, "id")[1..], ids[1..2]);
    assert_eq!(get(port, "/activity.atom?after=1").status, 400);
    drop(client);
    let client = Client::start(directory.path());
    assert_eq!(texts_of(&get(client.port(), "/activity.atom").body, "id"), later);
}

#[test]
fn activity_api_continues_after_an_event_number() {
    let directory = directory();
    let id = history(directory.path());
    let mut client = Client::start(directory.path());
    let port = client.port();
    let read = |query: &str| -> Value {
        let reply = get(port, &format!("/api/activity{query}"));
        assert_eq!(
            (reply.status, &reply.headers["content-type"]),
            (200, &"application/json".parse().unwrap())
        );
        serde_json::from_str(&reply.body).unwrap()
    };
    let (mut after, mut found) = (0, Vec::new());
    loop {
        let part = read(&format!("?after={after}&limit=4"));
        assert_eq!(
            (&part["newest"], &part["oldest"], &part["complete"]),
            (&6.into(), &1.into(), &true.into())
        );
        let events = part["events"].as_array().unwrap();
        if events.is_empty() {
            break;
        }
        after = part["next"].as_u64().unwrap();
        found.extend(events.clone());
    }
    assert_eq!((after, kinds(&found)), (6, HISTORY.to_vec()));
    // `ait log` prints the same events.
    assert_eq!(found, log(directory.path(), &[]));
    client.add("one more", "bug");
    let part = read("?after=6");
    assert_eq!((numbers(part["events"].as_array().unwrap()), &part["next"]), (vec![7], &7.into()));
    let part = read(&format!("?issue={}&kind=filed", &id[..8]));
    assert_eq!((numbers(part["events"].as_array().unwrap()), &part["next"]), (vec![1], &7.into()));
    let ahead = read("?after=18446744073709551615");
    assert_eq!((&ahead["complete"], &ahead["next"]), (&false.into(), &7.into()));
    for query in ["limit=0", "limit=1001", "after=-1", "before=1", "issue=x"] {
        let refused = get(port, &format!("/api/activity?{query}"));
        assert_eq!(refused.status, 400, "{query}");
        let error: Value = serde_json::from_str(&refused.body).unwrap();
        assert!(error["error"].as_str().unwrap().contains("expected"), "{error}");
    }
    assert_eq!(get(port, "/api/activity?issue=ffffffff").status, 404);
    let tag = get(port, "/api/activity").headers["etag"].to_str().unwrap().to_owned();
    let client = connections();
    let again = client.get(format!("http://localhost:{port}/api/activity"));
    until("the activity stays unchanged", || {
        let again = again.try_clone().unwrap().header("if-none-match", &tag).send().unwrap();
        again.status().as_u16() == 304
    });
}
