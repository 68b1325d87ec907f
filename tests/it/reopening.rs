//! Issues that people open again after their end.

use serde_json::{Value, json};

use crate::support::files::{only_issue, wait_for_file};
use crate::support::runs::run;
use crate::support::{Client, ait, directory, get};

fn close(client: &mut Client, id: &str, resolution: &str) {
    let arguments =
        json!({ "issue_id": id, "resolution": resolution, "comment": "c", "agent": "dev" });
    client.call("close_issue", arguments).ok();
}

#[test]
fn a_person_opens_an_issue_again() {
    for resolution in ["closed", "rejected"] {
        let directory = directory();
        let path = directory.path();
        let mut client = Client::begin(ait(path).args(["--toolsets", "bulk"]));
        let [id, _] = ["first", "second"].map(|title| client.add(title, "bug"));
        let open = run(path, &["reopen", &id, "-m", "why"]);
        assert!(
            open.code == 1 && open.log.contains("only an issue that is closed or rejected"),
            "{open:?}"
        );
        close(&mut client, &id, resolution);
        let refused = run(path, &["return", &id, "-m", "c"]);
        assert!(refused.log.contains("ait reopen ID"), "{refused:?}");
        let reopened = run(path, &["reopen", &id, "-m", "merged to the wrong branch"]);
        assert_eq!(reopened.code, 0, "{reopened:?}");
        assert_eq!(run(path, &["reopen", &id, "-m", "merged to the wrong branch"]).code, 0);
        let issue: Value = serde_json::from_str(&run(path, &["show", &id, "--json"]).ok()).unwrap();
        let last = issue["history"].as_array().unwrap().last().unwrap();
        assert_eq!(
            (&last["action"], &issue["status"]),
            (&json!("Issue reopened"), &json!("created"))
        );
        assert_eq!(issue["comments"][1]["text"], "merged to the wrong branch");
        assert_eq!(
            issue["history"].as_array().unwrap().len(),
            3,
            "the second call repeats the first"
        );
        wait_for_file(path, |issues| issues[0]["status"] == "created");
        // It is first in line again, and can end again.
        assert_eq!(
            client.call("get_next_issue", json!({ "agent": "dev" })).issue()["id"],
            json!(id)
        );
        close(&mut client, &id, "closed");
        let log = run(path, &["log", "--kind", "reopened"]);
        assert!(log.out.contains("reopened"), "{log:?}");
        let listed = get(client.port(), "/api/issues?status=all").json();
        assert_eq!(
            (&listed["counts"]["closed"], &listed["counts"]["created"]),
            (&json!(1), &json!(1))
        );
        for page in
            ["/activity", "/activity?kind=reopened", "/agents", "/stats", &format!("/issues/{id}")]
        {
            assert_eq!(get(client.port(), page).status, 200, "{page}");
        }
        client.close();
        assert_eq!(run(path, &["doctor"]).code, 0, "{:?}", run(path, &["doctor"]));
    }
}

#[test]
fn a_person_undoes_a_close_and_an_agent_does_not() {
    let directory = directory();
    let path = directory.path();
    let mut client = Client::begin(ait(path).args(["--toolsets", "bulk"]));
    let id = client.add("t", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let close = ["close", &id, "-m", "wrong one"];
    run(path, &close).ok();
    let undo = json!({ "agent": "dev", "change": "3", "dry_run": false });
    let left = client.call("undo_change", undo).issue();
    assert!(left["left"][0].as_str().unwrap().contains("only a person opens it again"), "{left}");
    assert_eq!(run(path, &["undo", "3", "--yes", "--agent", "dev"]).code, 1);
    assert_eq!(only_issue(path)["status"], "closed");
    run(path, &["undo", "--last", "--yes"]).ok();
    assert_eq!(only_issue(path)["status"], "created");
    // An agent does not end again what a person has opened.
    let undo = json!({ "agent": "dev", "change": "4", "dry_run": false });
    let left = client.call("undo_change", undo).issue();
    assert!(left["left"][0].as_str().unwrap().contains("a person opened"), "{left}");
    assert_eq!(only_issue(path)["status"], "created");
}

#[test]
fn an_issue_does_not_open_into_a_cycle() {
    let directory = directory();
    let path = directory.path();
    let mut client = Client::start(path);
    let [one, other] = ["one", "other"].map(|title| client.add(title, "bug"));
    close(&mut client, &one, "closed");
    run(path, &["link", &one, "blocked-by", &other]).ok();
    run(path, &["link", &other, "blocked-by", &one]).ok();
    let refused = run(path, &["reopen", &one, "-m", "why"]);
    assert!(refused.code == 1 && refused.log.contains("waits for"), "{refused:?}");
}
