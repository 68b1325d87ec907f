//! The commands that bring an issue through its life.

use serde_json::Value;

use super::{Desk, Run, assert_written};
use crate::support::files::{id, issue_json, stored_issues};
use crate::support::http::{Agent, Server};
use crate::support::{get, healthy_count};

#[test]
fn an_issue_goes_its_whole_way() {
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
fn each_step_answers_json_with_the_issue() {
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
    for (arguments, status) in steps {
        let answer = desk.run(arguments).done().json();
        assert_eq!((&answer["id"], &answer["status"]), (&issue.as_str().into(), &status.into()));
        assert_eq!(answer, stored_issues(desk.path())[0]);
    }
    assert_written!("show_json", desk.run(&["show", &issue, "--json"]).done().stdout());
    assert_eq!(desk.run(&["next", "--json"]).ends_with(1).stdout(), "null\n");
}

#[test]
fn nothing_to_claim_is_told_and_ends_with_1() {
    let desk = Desk::with(&[issue_json(&id(1), "t", "created")]);
    let next = desk.run(&["next", "-c", "feature"]).failed(1);
    assert_eq!(next, "nothing to claim: no feature waits for work\n");
    assert_eq!(desk.run(&["review"]).failed(1), "nothing to review: no issue is completed\n");
    desk.run(&["next", "-c", "bug"]).done();
    assert_eq!(desk.run(&["next"]).failed(1), "nothing to claim: no issue waits for work\n");
}

#[test]
fn texts_are_read_from_stdin_where_that_is_asked_for() {
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
fn who_acts_is_the_option_or_else_the_environment_or_else_the_user() {
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
    // A variable that is empty counts as not set.
    let mut command = desk.command(&add);
    assert_eq!(filed_by(Run(command.env("AIT_AGENT", "").output().unwrap())), user);
    let long = "x".repeat(500);
    let mut command = desk.command(&add);
    let bad = Run(command.env("AIT_AGENT", &long).output().unwrap()).failed(2);
    assert!(bad.contains("AIT_AGENT") && bad.contains("characters"), "{bad}");
    assert!(desk.run(&[&add[..], &["-a", ""]].concat()).failed(2).contains("--agent"));
}

#[test]
fn commands_and_a_running_server_see_each_other_at_once() {
    let desk = Desk::new();
    let server = Server::start(desk.path());
    let mut agent = Agent::connect(server.port);
    for number in 1..=3 {
        let title = format!("by command {number}");
        desk.add(&title);
        assert_eq!(healthy_count(server.port), 2 * number - 1);
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
