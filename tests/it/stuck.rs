//! Claims whose agents show no sign of life for much longer than such claims take.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use agent_issue_tracker::domain::Timestamp;
use chrono::Utc;
use serde_json::{Value, json};

use crate::hooks::Desk;
use crate::support::http::Server;
use crate::support::{Client, get, until};

const CLAIMED: &str = "Issue claimed for work";

fn minutes_ago(minutes: i64) -> Value {
    json!(Timestamp::from_unix_millis(Utc::now().timestamp_millis() - minutes * 60_000))
}

/// An issue with a history of entries: so many minutes ago, the agent, the action.
fn issue(number: usize, kind: &str, status: &str, entries: &[(i64, &str, &str)]) -> Value {
    let entry = |(minutes, agent, action): &(i64, &str, &str)| json!({ "timestamp": minutes_ago(*minutes), "agent": agent, "action": action });
    let history: Vec<_> = entries.iter().map(entry).collect();
    json!({
        "id": format!("{number:08x}-0000-4000-8000-000000000000"), "title": format!("{kind} {number} of the list"),
        "description": format!("What number {number} of the list needs"), "classification": kind,
        "createdAt": minutes_ago(900), "modifiedAt": minutes_ago(entries.last().unwrap().0), "status": status,
        "history": history, "comments": [],
    })
}

/// A project in which claims of bugs take 20 minutes, with some claims that have lasted for 2 hours.
fn project() -> Desk {
    let desk = Desk::new();
    let done = |number| {
        let entries = [(500, "old", CLAIMED), (480, "old", "Issue completed")];
        issue(number, "bug", "completed", &entries)
    };
    let held = |number, kind, agent| issue(number, kind, "in_progress", &[(120, agent, CLAIMED)]);
    let mut issues: Vec<_> = (1..=3).map(done).collect();
    issues.push(held(4, "bug", "dev-1"));
    // It is not known how long features take.
    issues.push(held(5, "feature", "dev-2"));
    // It did something elsewhere.
    issues.push(held(6, "bug", "dev-3"));
    issues.push(issue(7, "bug", "created", &[(3, "dev-3", "Comment added")]));
    // Three times the median is not over.
    issues.push(issue(8, "bug", "in_progress", &[(55, "dev-4", CLAIMED)]));
    desk.write("issues.json", &json!({ "issues": issues }).to_string());
    desk
}

/// Returns the beginnings of the ids of the claims that are stuck.
fn stuck(desk: &Desk) -> Vec<String> {
    let report: Value =
        serde_json::from_str(&desk.ait(&["triage", "--kind", "stuck", "--json"]).ok()).unwrap();
    let found = report["findings"].as_array().unwrap().iter();
    found.map(|one| one["issues"][0]["id"].as_str().unwrap()[..8].to_owned()).collect()
}

/// Makes a file look as if it was changed long ago.
fn make_old(path: &Path) {
    let time = SystemTime::now() - Duration::from_secs(3 * 60 * 60);
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn claims_without_a_sign_of_life_are_stuck() {
    let desk = project();
    assert_eq!(stuck(&desk), ["00000004"]);
    let said = desk.ait(&["triage", "--kind", "stuck"]).ok();
    let why = "dev-1 has shown no sign of life for 2 h; half of such claims take 20 min";
    assert!(said.contains(why) && said.contains("ait return 00000004 --force"), "{said}");

    // Leads and people see it, too.
    let mut client = Client::begin(&mut desk.command("ait", &desk.project(), &[]));
    let round = client.call("list_issues", json!({ "take": 0 })).issue();
    assert_eq!(round["stuck"], 1, "{round}");
    let server = Server::start(&desk.project());
    let page = get(server.port, "/inbox?kind=stuck").body;
    assert!(page.contains(why) && page.contains(">Stuck claims</a>"), "{page}");

    // Files count, old ones do not, and a command does as long as it runs.
    let path = desk.opened("00000004");
    let file = path.join("new.rs");
    fs::write(&file, "").unwrap();
    assert!(stuck(&desk).is_empty());
    make_old(&file);
    assert_eq!(stuck(&desk), ["00000004"]);
    if cfg!(target_os = "linux") {
        let mut command = Command::new("sleep").arg("600").current_dir(&path).spawn().unwrap();
        until("the command is seen", || stuck(&desk).is_empty());
        command.kill().unwrap();
        command.wait().unwrap();
        assert_eq!(stuck(&desk), ["00000004"]);
    }
    desk.ait(&["comment", "00000007", "-m", "still here", "-a", "dev-1"]).ok();
    assert!(stuck(&desk).is_empty());
}
