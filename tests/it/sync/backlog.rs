//! `ait sync` with a Backlog on this machine, of both generations.

use serde_json::{Value, json};

use super::{Fake, KEY, command, id, sync, titled};
use crate::support::directory;
use crate::support::files::stored_issues;
use crate::support::runs::run;

const TABLE: &str = "kind = \"backlog\"\nproject = \"ABC\"\n";
const PUSH: &str = "push = [\"status\", \"comments\", \"title\", \"description\", \"priority\", \"assignee\", \"new\"]\n";

fn contents(backlog: &Fake) -> Vec<String> {
    let state = backlog.state();
    let comments = state["comments"].as_array().unwrap().iter();
    comments.filter_map(|comment| comment["content"].as_str().map(str::to_owned)).collect()
}

#[test]
fn issues_come_in_work_happens_here_and_goes_back() {
    for generation in ["new", "old"] {
        let Some(backlog) = Fake::start("backlog.mjs", &[generation], TABLE) else { return };
        let is_old = generation == "old";
        let directory = directory();
        let path = directory.path();
        let more = if is_old { "key-in-url = true\n" } else { "" };
        backlog.configure(path, &format!("{PUSH}{more}"));
        backlog.control(
            json!({"issue": {"summary": "First", "description": "Text", "priorityId": 2, "issueTypeId": 4}}),
        );
        backlog.control(json!({"issue": {"summary": "Second"}}));
        // A person works on it, which is no conflict.
        backlog.control(json!({"edit": {"key": "ABC-2", "assigneeId": 7, "statusId": 2}}));
        backlog.control(json!({"issue": {"summary": "Over"}, "comment": {"key": "ABC-1", "body": "Said there"}}));
        backlog.control(json!({"edit": {"key": "ABC-3", "statusId": 4}}));
        run(path, &["add", "Began here", "-d", "Mine"]).ok();
        let report = sync(path, &[]).ok();
        assert_eq!(report, "company: 2 new here, 1 filed there, 1 comments received\n");
        let first = titled(path, "First");
        assert_eq!(
            (&first["priority"], &first["comments"][0]["agent"]),
            (&json!(1), &json!("maria"))
        );
        assert_eq!(first["classification"], "bug");
        assert!(run(path, &["show", "ABC-2"]).ok().contains("Second"));
        let filed = backlog.issue(4);
        assert!(filed["description"].as_str().unwrap().starts_with("Mine\n\n<!-- ait:"), "{filed}");
        assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");

        run(path, &["claim", "ABC-1", "-a", "dev-1"]).ok();
        assert_eq!(sync(path, &[]).ok(), "company: 1 changed there\n");
        let there = backlog.issue(1);
        let status = |issue: &Value| issue["status"]["name"].as_str().unwrap().to_owned();
        assert_eq!(
            (status(&there), &there["assignee"]["name"]),
            ("In Progress".into(), &json!("bot"))
        );
        // The person stays the only assignee of the other one.
        run(path, &["claim", "ABC-2", "-a", "dev-2"]).ok();
        sync(path, &[]).ok();
        assert_eq!(backlog.issue(2)["assignee"]["name"], "maria");
        run(path, &["return", "ABC-2", "-a", "dev-2", "-m", "Yours"]).ok();
        sync(path, &[]).ok();
        assert_eq!(backlog.issue(2)["assignee"]["name"], "maria");
        // The answer to the change gets lost, so it is made again, which Backlog calls an error.
        run(path, &["complete", "ABC-1", "-a", "dev-1", "-m", "Fixed"]).ok();
        backlog.control(json!({"fault": "500", "method": "PATCH"}));
        assert_eq!(sync(path, &[]).ok(), "company: 1 changed there, 1 comments sent\n");
        assert_eq!(status(&backlog.issue(1)), "Resolved");
        run(path, &["close", "ABC-1", "--reject", "-m", "Not needed"]).ok();
        backlog.control(json!({"edit": {"key": "ABC-2", "summary": "Second, again", "statusId": 4, "resolutionId": 1}}));
        let report = sync(path, &[]).ok();
        assert_eq!(report, "company: 1 changed here, 1 changed there, 1 comments sent\n");
        assert_eq!(status(&backlog.issue(1)), "Closed");
        let resolution = &backlog.issue(1)["resolution"]["id"];
        assert_eq!(*resolution, if is_old { json!(null) } else { json!(1) });
        let ended = titled(path, "Second, again");
        assert_eq!(ended["status"], if is_old { "closed" } else { "rejected" });
        assert_eq!(contents(&backlog).len(), 4);
        assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
        assert_eq!(stored_issues(path).len(), 3);
    }
}

#[test]
fn a_lost_answer_files_nothing_twice_and_errors_are_in_the_words_of_backlog() {
    let Some(backlog) = Fake::start("backlog.mjs", &[], TABLE) else { return };
    let directory = directory();
    let path = directory.path();
    backlog.configure(path, PUSH);
    run(path, &["add", "Began here"]).ok();
    backlog.control(json!({"fault": "cut", "method": "POST"}));
    assert!(sync(path, &[]).refusal().contains("127.0.0.1 cannot be reached"));
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    assert_eq!(backlog.state()["issues"].as_array().unwrap().len(), 1);
    run(path, &["edit", &id(&titled(path, "Began here")), "--title", &"x".repeat(300)]).ok();
    let refused = sync(path, &[]);
    assert!(refused.out.contains("Backlog: summary is too long (code 11)"), "{}", refused.out);
    let wrong = command(path, &[]).env("BACKLOG_API_KEY", "WRONG-SECRET").output().unwrap();
    let wrong = String::from_utf8(wrong.stderr).unwrap();
    assert!(wrong.contains("Authentication failed (HTTP 401): check BACKLOG_API_KEY"), "{wrong}");
    assert!(!wrong.contains("WRONG-SECRET"), "{wrong}");
    // Neither is a key in the address shown.
    backlog.configure(path, "key-in-url = true\n");
    drop(backlog);
    let gone = sync(path, &["--pull"]).refusal();
    assert!(gone.contains("127.0.0.1 cannot be reached") && !gone.contains(KEY), "{gone}");
}
