//! Two machines on one PostgreSQL server: commands, agents over stdio and a server, each in its own directory.

use std::path::Path;

use serde_json::json;

use crate::support::http::connections;
use crate::support::postgres::{Server, project};
use crate::support::runs::run;
use crate::support::{Client, ait, directory, id_in, until};

/// Returns the arguments of a command on the store with this URL.
fn on<'a>(url: &'a str, arguments: &[&'a str]) -> Vec<&'a str> {
    [&["--store", url], arguments].concat()
}

fn ok(directory: &Path, url: &str, arguments: &[&str]) -> String {
    run(directory, &on(url, arguments)).ok()
}

fn agent(directory: &Path, url: &str) -> Client {
    Client::begin(ait(directory).args(["--store", url, "--claim-grace", "1s"]))
}

#[test]
fn agents_and_commands_of_two_machines_share_one_queue() {
    let Some(url) = project() else { return };
    let (one, two) = (directory(), directory());
    let id = id_in(&ok(one.path(), &url, &["add", "Login fails", "-c", "bug"]));
    assert!(ok(two.path(), &url, &["list"]).contains("Login fails"));
    let mut agent = agent(two.path(), &url);
    let claimed = agent.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert!(claimed["id"].as_str().unwrap().starts_with(&id), "{claimed}");
    let nothing = run(one.path(), &on(&url, &["next", "--agent", "other"]));
    assert_eq!(nothing.code, 1, "{nothing:?}");
    let done = json!({ "issue_id": id, "comment": "done", "agent": "dev" });
    agent.call("complete_issue", done).ok();
    ok(one.path(), &url, &["review", "--agent", "reviewer"]);
    ok(one.path(), &url, &["close", &id, "-m", "good", "--agent", "reviewer"]);
    let log = ok(two.path(), &url, &["log"]);
    assert_eq!(log.lines().count(), 5, "{log}");
    let doctor = run(one.path(), &on(&url, &["doctor"]));
    assert!(doctor.out.contains("can be read and changed"), "{doctor:?}");
    for directory in [&one, &two] {
        assert!(!directory.path().join("issues.json").exists());
    }
}

#[test]
fn a_claim_of_a_killed_agent_lapses_on_another_machine() {
    let Some(url) = project() else { return };
    let (one, two) = (directory(), directory());
    ok(one.path(), &url, &["add", "Login fails", "-c", "bug"]);
    let mut killed = agent(one.path(), &url);
    killed.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let mut other = agent(two.path(), &url);
    assert!(other.call("get_next_issue", json!({ "agent": "other" })).ok().contains("No issue"));
    killed.signal("KILL");
    killed.wait();
    let next = json!({ "agent": "other", "wait_seconds": 120 });
    let claimed = other.call("get_next_issue", next).issue();
    assert_eq!(claimed["title"], "Login fails");
}

/// A crash of the server empties the table of those who live.
#[test]
fn a_crash_of_the_server_ends_only_claims_of_clients_that_are_gone() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.project();
    let (one, two) = (directory(), directory());
    ok(one.path(), &url, &["add", "Login fails", "-c", "bug"]);
    ok(one.path(), &url, &["add", "Dark theme", "-c", "bug"]);
    let mut living = agent(one.path(), &url);
    let kept = living.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let mut killed = agent(one.path(), &url);
    let lost = killed.call("get_next_issue", json!({ "agent": "dev-2" })).issue();
    killed.signal("KILL");
    killed.wait();
    server.stop("QUIT");
    server.run();
    let mut other = agent(two.path(), &url);
    let next = json!({ "agent": "other", "wait_seconds": 120 });
    let mut claimed = other.call("get_next_issue", next.clone());
    while claimed.is_error {
        claimed = other.call("get_next_issue", next.clone());
    }
    assert_eq!(claimed.issue()["id"], lost["id"]);
    let done = json!({ "issue_id": kept["id"], "comment": "done", "agent": "dev" });
    living.call("complete_issue", done).ok();
}

#[test]
fn a_server_shows_changes_from_other_machines() {
    let Some(url) = project() else { return };
    let (one, two) = (directory(), directory());
    let server = agent(one.path(), &url);
    let page = format!("http://127.0.0.1:{}/api/issues", server.port());
    let shown = || connections().get(&page).send().unwrap().text().unwrap();
    assert!(!shown().contains("Login fails"));
    ok(two.path(), &url, &["add", "Login fails", "-c", "bug"]);
    until("the page shows the issue", || shown().contains("Login fails"));
}

#[test]
fn issues_move_between_files_and_databases_by_backups() {
    let (Some(url), Some(other)) = (project(), project()) else { return };
    let machine = directory();
    let path = machine.path();
    for title in ["Login fails", "Dark theme"] {
        run(path, &["add", title, "-c", "bug"]).ok();
    }
    run(path, &["next", "--agent", "dev"]).ok();
    let export = |arguments: &[&str]| run(path, &[arguments, &["export"]].concat()).ok();
    let issues = export(&[]);
    run(path, &["backup", "moved.json"]).ok();
    ok(path, &url, &["restore", "moved.json"]);
    assert_eq!(export(&["--store", &url]), issues);
    // Restoring again changes nothing; restoring over a new issue needs `--force`.
    ok(path, &url, &["restore", "moved.json"]);
    ok(path, &url, &["add", "Only there", "-c", "bug"]);
    let refused = run(path, &on(&url, &["restore", "moved.json"]));
    assert_eq!(refused.code, 1, "{refused:?}");
    ok(path, &url, &["restore", "moved.json", "--force"]);
    assert_eq!(export(&["--store", &url]), issues);
    ok(path, &url, &["backup", "back.json"]);
    ok(path, &other, &["restore", "back.json"]);
    assert_eq!(export(&["--store", &other]), issues);
}

#[test]
fn projects_in_one_database_do_not_see_each_other() {
    let (Some(one), Some(two)) = (project(), project()) else { return };
    let machine = directory();
    ok(machine.path(), &one, &["add", "Login fails", "-c", "bug"]);
    assert!(!ok(machine.path(), &two, &["list", "--status", "all"]).contains("Login"));
}
