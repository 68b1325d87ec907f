//! Questions of agents to people: a question releases the claim, and an answer requeues the issue.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{
    ClaimTerms, Classification, ClientId, Command, Question, RequiredClaim,
};
use agent_issue_tracker::tracker::{EventPosition, State};
use serde_json::{Value, json};

use crate::support::commands::{add, agent, at, number};
use crate::support::files::{only_issue, wait_for_file};
use crate::support::runs::run;
use crate::support::{Client, ait, directory, get};

fn planner(directory: &Path, claims: &str) -> Client {
    let arguments = ["--toolsets", "planning", "--claims", claims];
    Client::begin(ait(directory).args(arguments))
}

fn question(id: &str, agent: &str) -> Value {
    json!({ "issue_id": id, "agent": agent, "question": "Which database?", "options": ["SQLite", "Postgres"] })
}

fn end(id: &str, agent: &str) -> Value {
    json!({ "issue_id": id, "comment": "done", "agent": agent })
}

#[test]
fn the_next_claim_begins_with_the_answered_question() {
    let directory = directory();
    let path = directory.path();
    let mut client = planner(path, "trusting");
    let id = client.add("first", "bug");
    let second = client.add("second", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let asked = client.call("ask_human", question(&id, "dev")).ok();
    assert!(asked.contains("asked: status created"), "{asked}");
    // The agent holds no issue, and no agent can claim the parked one.
    let held = client.call("get_next_issue", json!({ "agent": "dev", "mine": true })).ok();
    assert_eq!(held, "You hold no issue.");
    let next = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!(next["id"], json!(second));
    let nothing = client.call("get_next_issue", json!({ "agent": "other" })).ok();
    assert!(nothing.contains("it waits for an answer: Which database?"), "{nothing}");
    // A repeated call, as after a lost response, changes nothing; a different question is refused.
    client.call("ask_human", question(&id, "dev")).ok();
    let other = client.call("ask_human", question(&id, "other")).refusal();
    assert!(other.contains("waits for an answer already: Which database?"), "{other}");
    drop(client);

    let listed: Value = serde_json::from_str(&run(path, &["questions", "--json"]).ok()).unwrap();
    assert_eq!(listed["total"], 1);
    let first = &listed["questions"][0];
    assert_eq!((&first["id"], &first["agent"]), (&json!(id), &json!("dev")));
    assert_eq!(first["question"], "Which database?");
    assert_eq!(first["options"], json!(["SQLite", "Postgres"]));
    let text = run(path, &["questions"]).ok();
    assert!(text.contains("  Which database?\n  1. SQLite\n  2. Postgres\n"), "{text}");
    let status = run(path, &["status"]).ok();
    assert!(status.contains("1 question waits for an answer: `ait questions`"), "{status}");

    let refused = run(path, &["answer", &id, "--option", "3"]).refusal();
    assert!(refused.contains("no option 3: give a number from 1 to 2"), "{refused}");
    for _ in 0..2 {
        run(path, &["answer", &id, "--option", "1", "--agent", "ann"]).ok();
    }
    for other in [&["No"][..], &["--option", "2"], &["--option", "99"]] {
        let refused = run(path, &[&["answer", &id, "--agent", "ann"], other].concat()).refusal();
        assert!(refused.contains("has no open question: say it with ait comment"), "{refused}");
    }
    assert!(run(path, &["questions"]).log.contains("no open questions"));
    for (kind, text) in [("asked", "Which database?"), ("answered", "SQLite")] {
        let log = run(path, &["log", "--kind", kind]).ok();
        assert_eq!(log.lines().count(), 1, "{log}");
        assert!(log.contains(text), "no {text} in {log}");
    }
    assert_eq!(run(path, &["log", "--kind", "changed"]).ok(), "");

    let mut client = planner(path, "trusting");
    let claimed = client.call("get_next_issue", json!({ "agent": "new" })).issue();
    assert_eq!(claimed["id"], json!(id));
    let earlier = claimed["claim"]["earlier"].as_str().unwrap();
    let expected = "asked: Which database? 1. SQLite 2. Postgres; answered by ann: SQLite";
    assert_eq!(earlier, expected);
    assert_eq!(claimed["claim"]["number"], 2);
    assert_eq!(claimed.get("parked"), None, "{claimed}");
    let actions: Vec<_> = claimed["history"].as_array().unwrap().iter().collect();
    let actions: Vec<_> = actions.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    let expected = [
        "Issue filed",
        "Issue claimed for work",
        "Question asked",
        "Question answered",
        "Issue claimed for work",
    ];
    assert_eq!(actions, expected);
}

#[test]
fn an_answered_question_returns_its_issue_to_review() {
    let directory = directory();
    let mut client = planner(directory.path(), "trusting");
    let id = client.add("t", "bug");
    client.call("complete_issue", end(&id, "dev")).ok();
    client.call("get_next_review_item", json!({ "agent": "rev" })).issue();
    client.call("ask_human", question(&id, "rev")).ok();
    let issue = only_issue(directory.path());
    assert_eq!((&issue["status"], &issue["parked"]["by"]), (&json!("completed"), &json!("rev")));
    let nothing = client.call("get_next_review_item", json!({ "agent": "rev" })).ok();
    assert!(nothing.contains("it waits for an answer: "), "{nothing}");
    run(directory.path(), &["answer", &id, "Postgres", "--agent", "ann"]).ok();
    let review = client.call("get_next_review_item", json!({ "agent": "rev" })).issue();
    assert!(review["claim"]["earlier"].as_str().unwrap().ends_with("answered by ann: Postgres"));
}

#[test]
fn only_the_holder_can_ask_if_claims_are_owned() {
    let directory = directory();
    let mut client = planner(directory.path(), "owned");
    let id = client.add("t", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let refusal = client.call("ask_human", question(&id, "other")).refusal();
    assert!(refusal.contains("held by dev since"), "{refusal}");
    assert_eq!(only_issue(directory.path())["status"], "in_progress");
    client.call("ask_human", question(&id, "dev")).ok();
    run(directory.path(), &["answer", &id, "x"]).ok();
    client
        .call(
            "close_issue",
            json!({ "issue_id": id, "comment": "c", "agent": "dev", "resolution": "rejected" }),
        )
        .ok();
    let refusal = client.call("ask_human", question(&id, "dev")).refusal();
    assert!(refusal.contains("rejected, which is final"), "{refusal}");
}

#[test]
fn invalid_questions_are_refused() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "t"]).ok();
    let id = only_issue(path)["id"].as_str().unwrap().to_owned();
    for (arguments, expected) in [
        (vec!["ask", &id, " "], "question is blank"),
        (vec!["ask", &id, "x", "--option", ""], "option is blank"),
        (vec!["answer", &id], "ait answer ID 'TEXT', or --option NUMBER"),
        (vec!["ask", &id, "x", "--default", "y"], "come together"),
        (vec!["ask", &id, "x", "--default-after", "1h"], "come together"),
        (vec!["ask", &id, "x", "--default", "y", "--default-after", "2020-01-01"], "has passed"),
        (vec!["ask", &id, "x", "--default", " ", "--default-after", "1h"], "default is blank"),
    ] {
        let run = run(path, &arguments);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.log.contains(expected), "{run:?}");
    }
    let mut many = vec!["ask", &id, "x"];
    many.extend(["--option", "y"].repeat(21));
    assert!(run(path, &many).log.contains("21 options: at most 20 are allowed"));
    let none = run(path, &["answer", &id, "x"]).refusal();
    assert!(none.contains("has no open question"), "{none}");
    run(path, &["ask", &id, "free text?"]).ok();
    let none = run(path, &["answer", &id, "--option", "1"]).refusal();
    assert!(none.contains("has no options: answer in words"), "{none}");
}

#[test]
fn a_question_ends_the_lease_and_keeps_the_parking_reason() {
    let directory = directory();
    let path = directory.path();
    let mut client = planner(path, "owned");
    let id = client.add("t", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let leases = || {
        let status: Value = serde_json::from_str(&run(path, &["status", "--json"]).ok()).unwrap();
        status["leases"].as_array().unwrap().len()
    };
    assert_eq!(leases(), 1);
    run(path, &["park", &id, "-m", "wait", "--agent", "lead"]).ok();
    client.call("ask_human", question(&id, "dev")).ok();
    assert_eq!(leases(), 0);
    // Parking the issue again would lose the question.
    let refused = run(path, &["park", &id, "-m", "later"]).refusal();
    assert!(refused.contains("waits for an answer already: Which database?"), "{refused}");
    let comments = only_issue(path)["comments"].clone();
    let text = comments[0]["text"].as_str().unwrap();
    assert!(text.ends_with("(it was parked: wait)"), "{text}");
}

#[test]
fn an_edit_of_an_older_copy_keeps_the_question() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "t"]).ok();
    let id = only_issue(path)["id"].as_str().unwrap().to_owned();
    run(path, &["next", "--agent", "dev"]).ok();
    run(path, &["save"]).ok();
    let before = fs::read_to_string(path.join("issues.json")).unwrap();
    run(path, &["ask", &id, "Why?", "--agent", "dev"]).ok();
    run(path, &["save"]).ok();
    fs::write(path.join("issues.json"), before.replace("\"t\"", "\"edited\"")).unwrap();
    let issue = only_issue(path);
    assert_eq!((&issue["title"], &issue["status"]), (&json!("edited"), &json!("created")));
    assert_eq!(issue["parked"]["question"], json!({ "text": "Why?" }));
}

#[test]
fn open_questions_are_on_the_board_and_the_issue_page() {
    let directory = directory();
    let mut client = planner(directory.path(), "trusting");
    let id = client.add("t", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let port = client.port();
    assert!(!get(port, "/board").body.contains("Questions to people"));
    client.call("ask_human", question(&id, "dev")).ok();
    for path in ["/board".to_owned(), format!("/issues/{id}")] {
        let page = get(port, &path).body;
        let command = format!("ait answer {} ", &id[..8]);
        for expected in ["Which database?", "Postgres<", "</svg>question</a>", &command] {
            assert!(page.contains(expected), "{path}: no {expected:?} in {page}");
        }
    }
    let page = get(port, &format!("/issues/{id}")).body;
    let asked = "</bdi> asked <a href=\"#issue-question\">the open question</a>";
    assert!(page.contains(asked) && page.matches("<p>Which database?</p>").count() == 1, "{page}");
    run(directory.path(), &["answer", &id, "x"]).ok();
    wait_for_file(directory.path(), |issues| issues[0].get("parked").is_none());
    let page = get(port, &format!("/issues/{id}")).body;
    assert!(page.contains("</bdi> asked a question") && page.contains("Which database?"), "{page}");
    assert!(!get(port, "/board").body.contains("Questions to people"));
    client.call("ask_human", question(&id, "dev")).ok();
    let page = get(port, &format!("/issues/{id}")).body;
    assert!(page.contains(asked) && page.contains("</bdi> asked a question"), "{page}");
}

const DEFAULT: &str = "8080\n\n(the default: no person answered in time)";

#[test]
fn a_server_gives_the_default_when_it_is_due() {
    let directory = directory();
    let path = directory.path();
    let mut client = planner(path, "trusting");
    let ids = ["now", "later", "never"].map(|title| client.add(title, "bug"));
    let waiting = |agent: &str| json!({ "agent": agent, "wait_seconds": 60 });
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    for (id, options) in ids.iter().zip([
        &["--default", "8080", "--default-after", "2s"][..],
        &["--default", "8080", "--default-after", "1h"],
        &[],
    ]) {
        run(path, &[&["ask", id, "Which port?", "--agent", "dev"], options].concat()).ok();
    }
    // It waits until the default is given, and the claim begins with it.
    let claimed = client.call("get_next_issue", waiting("new")).issue();
    assert_eq!(claimed["id"], json!(ids[0]));
    let earlier = claimed["claim"]["earlier"].as_str().unwrap();
    assert!(earlier.contains("answered by ait: 8080 (the default"), "{earlier}");
    assert_eq!(claimed["comments"][1]["text"], DEFAULT);
    let open: Value = serde_json::from_str(&run(path, &["questions", "--json"]).ok()).unwrap();
    let open: Vec<_> = open["questions"].as_array().unwrap().iter().collect();
    let open: Vec<_> =
        open.iter().map(|question| (&question["id"], &question["default"])).collect();
    assert_eq!(open.len(), 2, "{open:?}");
    assert_eq!((open[0].0, &open[0].1["text"]), (&json!(ids[1]), &json!("8080")));
    assert_eq!(open[1], (&json!(ids[2]), &Value::Null));
    // The answer of a person comes first.
    run(path, &["answer", &ids[1], "9090", "--agent", "ann"]).ok();
    let claimed = client.call("get_next_issue", json!({ "agent": "other" })).issue();
    assert!(claimed["claim"]["earlier"].as_str().unwrap().ends_with("answered by ann: 9090"));
}

#[test]
fn without_a_server_the_next_claim_gives_the_default() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "t"]).ok();
    let id = only_issue(path)["id"].as_str().unwrap().to_owned();
    let asked = ["ask", &id, "Which port?", "--default", "8080", "--default-after", "1s"];
    let asked = run(path, &asked).ok();
    assert!(asked.contains("; default, from 2") && asked.contains(" on: 8080"), "{asked}");
    let early = run(path, &["next", "--agent", "dev"]);
    let claimed = run(path, &["next", "--wait", "60s", "--agent", "dev", "--json"]).ok();
    assert_eq!(early.code, 1, "{early:?}");
    let claimed: Value = serde_json::from_str(&claimed).unwrap();
    assert_eq!((&claimed["id"], &claimed["status"]), (&json!(id), &json!("in_progress")));
    assert_eq!(only_issue(path)["comments"][1]["text"], DEFAULT);
}

#[test]
fn the_default_is_shown_where_the_question_is() {
    let directory = directory();
    let path = directory.path();
    let mut client = planner(path, "trusting");
    let id = client.add("t", "bug");
    let mut asked = question(&id, "dev");
    asked["default"] = json!("SQLite, for now");
    let refusal = client.call("ask_human", asked.clone()).refusal();
    assert!(refusal.contains("come together"), "{refusal}");
    asked["default_after_minutes"] = json!(60);
    for _ in 0..2 {
        let said = client.call("ask_human", asked.clone()).ok();
        assert!(said.contains(" on: SQLite, for now): status created"), "{said}");
    }
    for command in [&["questions"][..], &["show", &id]] {
        let shown = run(path, command).ok();
        assert!(
            shown.contains("default, from 2") && shown.contains("on: SQLite, for now"),
            "{shown}"
        );
    }
    let issue = client.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!(issue["parked"]["question"]["default"]["text"], "SQLite, for now");
    let port = client.port();
    for path in ["/board".to_owned(), format!("/issues/{id}")] {
        let page = get(port, &path).body;
        assert!(page.contains("default, from 2") && page.contains("on: SQLite, for now"), "{page}");
    }
}

/// Writes the `on-question` setting.
fn on_question(directory: &Path, command: &str) {
    fs::write(directory.join("ait.toml"), format!("on-question = {command:?}\n")).unwrap();
}

#[test]
fn on_question_gets_each_question_once() {
    let directory = directory();
    let path = directory.path();
    on_question(path, "cat >> asked.jsonl; echo >> asked.jsonl");
    let mut client = planner(path, "trusting");
    let id = client.add("t", "bug");
    for _ in 0..2 {
        client.call("ask_human", question(&id, "dev")).ok();
    }
    run(path, &["answer", &id, "x"]).ok();
    run(path, &["ask", &id, "Again?", "--agent", "dev"]).ok();
    let asked = fs::read_to_string(path.join("asked.jsonl")).unwrap();
    let asked: Vec<Value> = asked.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert_eq!(asked[0]["id"], json!(id));
    assert_eq!(asked[0]["options"], json!(["SQLite", "Postgres"]));
    assert_eq!((&asked[1]["question"], &asked[1]["agent"]), (&json!("Again?"), &json!("dev")));
}

#[test]
fn on_question_failures_are_logged_and_hangs_are_killed() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "t"]).ok();
    let id = only_issue(path)["id"].as_str().unwrap().to_owned();
    on_question(path, "exit 3");
    let failed = run(path, &["ask", &id, "1?"]);
    assert!(failed.log.contains("on-question failed for"), "{failed:?}");
    assert!(failed.log.contains("exit status: 3"), "{failed:?}");
    failed.ok();
    run(path, &["answer", &id, "x"]).ok();
    on_question(path, "sleep 60; touch slept");
    let begun = Instant::now();
    let ended = run(path, &["ask", &id, "2?"]);
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    assert!(ended.log.contains("it took more than 5 seconds"), "{ended:?}");
    ended.ok();
    assert!(!path.join("slept").exists());
}

#[test]
fn undoing_a_question_restores_the_claim_and_its_lease() {
    let mut state = State::default();
    let mut run = |command: &Command| {
        let event = state.decide(command, at(0)).unwrap().unwrap();
        let position = EventPosition { number: state.position.number + 1, hash: 0 };
        let before = state.clone();
        state.apply(&event, position).unwrap();
        (before, event, state.clone())
    };
    run(&add(1, Classification::Bug));
    let terms = ClaimTerms { client: Some(ClientId::new("process-1")), ..ClaimTerms::default() };
    run(&Command::GetNextIssue { issue: None, classification: None, agent: agent(), terms });
    let (issue, required_claim) = (number(1).into(), RequiredClaim::Holder.into());
    let question = Question::new("Why?", &[]).unwrap();
    let (before, event, mut after) =
        run(&Command::AskHuman { issue, question, agent: agent(), required_claim });
    assert!(before.issues.lease(number(1)).is_some() && after.issues.lease(number(1)).is_none());
    assert_eq!((before.issues.questions().count(), after.issues.questions().count()), (0, 1));
    after.revert(&event, before.position).unwrap();
    assert_eq!(after.issues.lease(number(1)), before.issues.lease(number(1)));
    assert_eq!(after.issues.get(number(1)), before.issues.get(number(1)));
    assert_eq!(after.issues.questions().count(), 0);
}
