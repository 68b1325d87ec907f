//! The commands for the lifecycle of an issue.

use serde_json::Value;

use super::{Desk, Run, assert_written};
use crate::support::files::{id, issue_json, stored_issues};
use crate::support::http::{Agent, Server};
use crate::support::{get, health_issue_count};

#[test]
fn commands_take_an_issue_through_its_lifecycle() {
    let desk = Desk::new();
    let mut written = String::new();
    let mut run = |arguments: &[&str]| {
        let run = desk.run(arguments).done();
        written.push_str(&format!("$ ait {}\n{}\n", arguments.join(" "), run.stdout()));
    };
    run(&["add", "Login fails", "-c", "bug", "-d", "Steps:\n\tnone"]);
    run(&["next", "--agent", "dev-1"]);
    let issue = stored_issues(desk.path())[0]["id"].as_str().unwrap().to_owned();
    let short = &issue[..8];
    run(&["return", short, "-m", "cannot be reproduced\nhere"]);
    run(&["next"]);
    run(&["complete", &issue.to_uppercase(), "-m", "fixed"]);
    run(&["review", "--agent", "reviewer"]);
    run(&["close", short, "-m", "merged"]);
    run(&["show", short]);
    assert_written!("lifecycle", written);
}

#[test]
fn each_command_prints_the_issue_as_json() {
    let desk = Desk::new();
    let issue = desk.add("t");
    let steps: [(&[&str], &str); 6] = [
        (&["next", "--json"], "in_progress"),
        (&["complete", &issue, "-m", "m", "--json"], "completed"),
        (&["review", "--json"], "in_review"),
        (&["return", &issue, "-m", "m", "--json"], "created"),
        (&["close", &issue, "--reject", "-m", "m", "--json"], "rejected"),
        (&["show", &issue, "--json"], "rejected"),
    ];
    // Filing the issue was the first change.
    for (number, (arguments, status)) in (2..).zip(steps) {
        let mut answer = desk.run(arguments).done().json();
        assert_eq!((&answer["id"], &answer["status"]), (&issue.as_str().into(), &status.into()));
        let change = answer.as_object_mut().unwrap().remove("change");
        let expected = (arguments[0] != "show").then(|| number.to_string().into());
        assert_eq!(change, expected, "{arguments:?}");
        let claim = answer.as_object_mut().unwrap().remove("claim");
        assert_eq!(claim.is_some(), status.starts_with("in_"), "{claim:?}");
        assert_eq!(answer, stored_issues(desk.path())[0]);
    }
    assert_written!("show_json", desk.run(&["show", &issue, "--json"]).done().stdout());
    assert_eq!(desk.run(&["next", "--json"]).ends_with(1).stdout(), "null\n");
}

#[test]
fn claim_without_a_waiting_issue_exits_with_1() {
    let desk = Desk::with(&[issue_json(&id(1), "t", "created")]);
    let next = desk.run(&["next", "-c", "feature"]).failed(1);
    assert_eq!(next, "nothing to claim: no feature is waiting for work\n");
    assert_eq!(desk.run(&["review"]).failed(1), "nothing to review: no issue is completed\n");
    desk.run(&["next", "-c", "bug"]).done();
    // The message names the issue that the agent holds already.
    let held = &id(1)[..8];
    assert_eq!(
        desk.run(&["next"]).failed(1),
        format!(
            "nothing to claim: no issue is waiting for work\ntester holds {held}: `ait show ID`\n"
        )
    );
    let other = desk.run(&["next", "-a", "other"]).failed(1);
    assert_eq!(other, "nothing to claim: no issue is waiting for work\n");
}

#[test]
fn review_explains_why_no_issue_is_for_the_reviewer() {
    let desk = Desk::new();
    let (filed, made, parked) = (desk.add("filed"), desk.add("made"), desk.add("parked"));
    for (issue, agent) in [(&filed, "dev"), (&made, "tester"), (&parked, "dev")] {
        desk.run(&["complete", issue, "-m", "m", "-a", agent]).done();
    }
    desk.run(&["park", &parked, "-m", "later"]).done();
    std::fs::write(desk.path().join("ait.toml"), "review = \"uninvolved\"\n").unwrap();
    let error = desk.run(&["review", "-a", "tester"]).failed(1);
    let expected = [
        "nothing to review for tester: 3 completed, but none is for tester:".to_owned(),
        format!("  {}: tester filed it, so another agent has to review it", &filed[..8]),
        format!("  {}: tester filed it, so another agent has to review it", &made[..8]),
        format!("  {}: it is parked: later", &parked[..8]),
        "name another reviewer, as in `ait review --agent NAME`, or unpark one with `ait unpark ID`\n"
            .to_owned(),
    ];
    assert_eq!(error, expected.join("\n"));
    desk.run(&["review", "-a", "rev"]).done();
    desk.run(&["review", "-a", "rev"]).done();
    assert!(desk.run(&["review", "-a", "rev"]).failed(1).contains(": it is parked: later\n"));
}

#[test]
fn dash_reads_texts_from_stdin() {
    let desk = Desk::new();
    let add = ["add", "t", "-c", "bug", "-d", "-", "--json"];
    let filed = desk.run_with_input(&add, "one\n  two\n\n").done().json();
    assert_eq!(filed["description"], "one\n  two");
    let issue = filed["id"].as_str().unwrap();
    for command in ["return", "complete", "close"] {
        let run = [command, issue, "-m", "-", "--json"];
        let answer = desk.run_with_input(&run, format!("{command} it\r\n")).done().json();
        let last = answer["comments"].as_array().unwrap().last().unwrap();
        assert_eq!(last["text"], format!("{command} it"));
    }
    assert!(desk.run_with_input(&add, b"\xff").failed(1).contains("is not UTF-8"));
    let too_long = desk.run_with_input(&add, vec![b'a'; 5 * 1024 * 1024]).failed(1);
    assert!(too_long.contains("is longer than"), "{too_long}");
    assert_eq!(stored_issues(desk.path()).len(), 1);
}

#[test]
fn agent_comes_from_option_then_environment_then_user() {
    let desk = Desk::new();
    let filed_by = |run: Run| -> String {
        run.done().json()["history"][0]["agent"].as_str().unwrap().to_owned()
    };
    let add = ["add", "t", "-c", "bug", "--json"];
    assert_eq!(filed_by(desk.run(&[&add[..], &["-a", "dev-1"]].concat())), "dev-1");
    assert_eq!(filed_by(desk.run(&add)), "tester");
    let mut command = desk.command(&add);
    let user = filed_by(Run(command.env_remove("AIT_AGENT").output().unwrap()));
    assert!(!user.is_empty() && user != "tester", "{user}");
    // An empty variable counts as unset.
    let mut command = desk.command(&add);
    assert_eq!(filed_by(Run(command.env("AIT_AGENT", "").output().unwrap())), user);
    let long = "x".repeat(500);
    let mut command = desk.command(&add);
    let bad = Run(command.env("AIT_AGENT", &long).output().unwrap()).failed(2);
    assert!(bad.contains("AIT_AGENT") && bad.contains("characters"), "{bad}");
    assert!(desk.run(&[&add[..], &["-a", ""]].concat()).failed(2).contains("--agent"));
}

#[test]
fn commands_and_server_see_each_others_changes_at_once() {
    let desk = Desk::new();
    let server = Server::start(desk.path());
    let mut agent = Agent::connect(server.port);
    for number in 1..=3 {
        let title = format!("by command {number}");
        desk.add(&title);
        assert_eq!(health_issue_count(server.port), 2 * number - 1);
        assert!(get(server.port, "/").body.contains(&title));
        let filed = agent.add(&format!("by agent {number}"));
        let shown = desk.run(&["show", &filed, "--json"]).done().json();
        assert_eq!(shown["status"], "created");
        let claimed = desk.run(&["next", "--json"]).done().json();
        let taken = agent.call(
            "complete_issue",
            serde_json::json!({
                "issue_id": claimed["id"], "comment": "c", "agent": "dev-1",
            }),
        );
        assert!(!taken.is_error, "{}", taken.text);
        let status: Value =
            desk.run(&["show", claimed["id"].as_str().unwrap(), "--json"]).done().json();
        assert_eq!(status["status"], "completed");
    }
}

#[test]
fn classification_defaults_to_improvement_in_any_case() {
    let desk = Desk::new();
    let filed = |arguments: &[&str]| {
        let added = desk.run(&[&["add", "t", "--json"], arguments].concat()).done().json();
        added["classification"].as_str().unwrap().to_owned()
    };
    assert_eq!(filed(&[]), "improvement");
    assert_eq!(filed(&["-c", "BUG"]), "bug");
    assert_eq!(filed(&["-c", "Feature"]), "feature");
    assert_eq!(desk.run(&["list", "-c", "Bug", "--json"]).done().json()["total"], 1);
    let claimed = desk.run(&["next", "-c", "FEATURE", "--json"]).done().json();
    assert_eq!(claimed["classification"], "feature");
}

#[test]
fn four_digits_name_an_issue_if_they_are_unique() {
    let alike = ["3f2a9c1e-0000-4000-8000-000000000001", "3f2a9c1e-7000-4000-8000-000000000002"];
    let other = "3f2b0000-0000-4000-8000-000000000003";
    let desk = Desk::with(&[
        issue_json(alike[0], "first of two", "created"),
        issue_json(alike[1], "second\u{1b}[2J of two", "created"),
        issue_json(other, "the other", "created"),
    ]);
    let close = desk.run(&["close", "3F2B", "-m", "m", "--json"]).done().json();
    assert_eq!(close["id"], other);
    let expected = "error: 3f2a matches 2 issues; give more digits of the id:\n  \
        3f2a9c1e-0  first of two\n  3f2a9c1e-7  second\u{fffd}[2J of two\n";
    for arguments in
        [&["show", "3f2a"][..], &["close", "3f2a", "-m", "m"], &["log", "--issue", "3f2a"]]
    {
        assert_eq!(desk.run(arguments).failed(1), expected, "{arguments:?}");
    }
    assert!(desk.run(&["show", "3f2"]).failed(2).contains("at least 4 hex digits"));
}
