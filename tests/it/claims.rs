//! Claim numbers, and the rules on who may end a claim.

use serde_json::{Value, json};

use crate::support::files::only_issue;
use crate::support::http::{Agent, Server};
use crate::support::{Client, ait, directory};

fn start(directory: &std::path::Path, policy: &str) -> Client {
    Client::begin(ait(directory).env("AIT_CLAIMS", policy))
}

/// Returns the arguments of a call that ends a claim.
fn end(id: &str, agent: &str, claim: Option<u64>) -> Value {
    let mut arguments = json!({ "issue_id": id, "comment": "done", "agent": agent });
    if let Some(claim) = claim {
        arguments["claim"] = json!(claim);
    }
    arguments
}

#[test]
fn each_claim_of_an_issue_has_the_next_number() {
    let directory = directory();
    let mut client = start(directory.path(), "trusting");
    let id = client.add("t", "bug");
    for number in 1..4 {
        let claimed = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
        assert_eq!(claimed["claim"]["number"], number, "{claimed}");
        assert_eq!(claimed["claim"]["agent"], "dev");
        let earlier = claimed["claim"]["earlier"].as_str();
        assert_eq!(earlier.is_some(), number > 1, "{claimed}");
        client.call("return_issue", end(&id, "dev", Some(number))).ok();
    }
    let claimed = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!(claimed["claim"]["earlier"], "returned 3 times; last: done");
    client.call("complete_issue", end(&id, "dev", Some(4))).ok();
    let review = client.call("get_next_review_item", json!({ "agent": "rev" })).issue();
    assert_eq!(review["claim"]["number"], 5);
}

#[test]
fn stale_claim_number_cannot_end_a_newer_claim() {
    for policy in ["trusting", "owned"] {
        let directory = directory();
        let mut client = start(directory.path(), policy);
        let id = client.add("t", "bug");
        client.call("get_next_issue", json!({ "agent": "first" })).ok();
        client.call("return_issue", end(&id, "first", Some(1))).ok();
        client.call("get_next_issue", json!({ "agent": "second" })).ok();
        let mut close = end(&id, "first", Some(1));
        for tool in ["complete_issue", "return_issue", "close_issue"] {
            if tool == "close_issue" {
                close["resolution"] = json!("closed");
            }
            let refusal = client.call(tool, close.clone()).refusal();
            assert!(refusal.contains("second has held it since"), "{refusal}");
            assert!(refusal.contains("with claim 2"), "{refusal}");
        }
        let issue = only_issue(directory.path());
        assert_eq!(issue["status"], "in_progress");
        // The error for the holder mentions no other agent.
        let refusal = client.call("complete_issue", end(&id, "second", Some(7))).refusal();
        assert!(refusal.contains("is yours, with claim 2, not 7"), "{refusal}");
        client.call("complete_issue", end(&id, "second", Some(2))).ok();
    }
}

#[test]
fn only_the_holder_can_end_an_owned_claim() {
    let directory = directory();
    let mut client = start(directory.path(), "owned");
    let id = client.add("t", "bug");
    // Any agent may complete or return an unclaimed issue.
    client.call("complete_issue", end(&id, "passer-by", None)).ok();
    client.call("return_issue", end(&id, "passer-by", None)).ok();
    client.call("get_next_issue", json!({ "agent": "dev" })).ok();
    let refusal = client.call("complete_issue", end(&id, "other", None)).refusal();
    assert!(refusal.contains("held by dev since"), "{refusal}");
    assert!(refusal.contains("claim 1"), "{refusal}");
    client.call("complete_issue", end(&id, "dev", None)).ok();
}

#[test]
fn the_number_of_another_agents_claim_needs_force_while_its_client_lives() {
    let directory = directory();
    std::fs::write(directory.path().join("ait.toml"), "claims = \"owned\"\n").unwrap();
    let mut worker = Client::start(directory.path());
    let mut lead = Client::begin(ait(directory.path()).args(["--toolsets", "planning"]));
    let id = lead.add("t", "bug");
    worker.call("get_next_issue", json!({ "agent": "dev" })).ok();
    let mut back = end(&id, "lead", Some(1));
    for tool in ["return_issue", "complete_issue", "ask_human"] {
        let mut arguments = back.clone();
        if tool == "ask_human" {
            arguments = json!({ "issue_id": id, "question": "q", "agent": "lead" });
        }
        let refusal = lead.call(tool, arguments).refusal();
        assert!(refusal.contains("dev") && refusal.contains("claim 1"), "{refusal}");
    }
    let refusal = lead.call("return_issue", back.clone()).refusal();
    assert!(refusal.contains("return_issue with force: true"), "{refusal}");
    // Force is for one claim, and a worker does not have it.
    back["force"] = json!(true);
    let refusal = worker.call("return_issue", back.clone()).refusal();
    assert!(refusal.contains("`force` is not a parameter"), "{refusal}");
    let mut blind = back.clone();
    blind.as_object_mut().unwrap().remove("claim");
    assert!(lead.call("return_issue", blind).refusal().contains("needs the number"));
    back["claim"] = json!(2);
    lead.call("return_issue", back.clone()).refusal();
    assert_eq!(only_issue(directory.path())["status"], "in_progress");
    back["claim"] = json!(1);
    lead.call("return_issue", back).ok();
    let issue = only_issue(directory.path());
    assert_eq!(issue["comments"][0]["text"], "done\n\n(forced: dev held claim 1)");
    // The number is enough once the client is gone.
    worker.call("get_next_issue", json!({ "agent": "dev" })).ok();
    worker.close();
    lead.call("return_issue", end(&id, "lead", Some(2))).ok();
}

#[test]
fn a_stale_number_is_refused_with_the_end_of_the_claim_and_the_next_step() {
    let directory = directory();
    let mut client = start(directory.path(), "trusting");
    let id = client.add("t", "bug");
    let claim = json!({ "agent": "dev", "issue_id": id });
    client.call("get_next_issue", claim.clone()).ok();
    client.call("return_issue", end(&id, "lead", None)).ok();
    let refusal = client.call("complete_issue", end(&id, "dev", Some(1))).refusal();
    assert!(refusal.contains("claim 1 of issue") && refusal.contains("ended at 20"), "{refusal}");
    assert!(refusal.contains("(returned)"), "{refusal}");
    assert!(
        refusal.contains("claim it again with get_next_issue issue_id, or leave it"),
        "{refusal}"
    );
    client.call("get_next_issue", claim).ok();
    client.call("complete_issue", end(&id, "dev", Some(2))).ok();
    let refusal = client.call("return_issue", end(&id, "dev", Some(1))).refusal();
    assert!(
        refusal.contains("the issue is completed") && refusal.contains("leave it"),
        "{refusal}"
    );
}

#[test]
fn an_agent_gets_what_it_holds_by_its_id() {
    let directory = directory();
    let mut client =
        Client::begin(ait(directory.path()).args(["--toolsets", "planning", "--max-claims", "1"]));
    let id = client.add("t", "bug");
    let claim = json!({ "agent": "dev", "issue_id": id });
    let first = client.call("get_next_issue", claim.clone()).issue();
    assert_eq!(client.call("get_next_issue", claim.clone()).issue(), first);
    let other =
        client.call("get_next_issue", json!({ "agent": "other", "issue_id": id })).refusal();
    assert!(other.contains("dev holds it"), "{other}");
    // The number is there whatever fields are selected.
    let mut title = claim;
    title["fields"] = json!("title");
    let selected = client.call("get_next_issue", title.clone()).issue();
    assert_eq!(selected, json!({ "title": "t", "claim": 1 }));
    title["fields"] = json!("claim.agent");
    let selected = client.call("get_next_issue", title).issue();
    assert_eq!(selected["claim"], json!({ "agent": "dev", "number": 1 }));
    let mine = json!({ "agent": "dev", "mine": true, "fields": "id" });
    assert_eq!(client.call("get_next_issue", mine).issue()["claim"], 1);
    assert_eq!(only_issue(directory.path())["history"].as_array().unwrap().len(), 2);
    client.call("complete_issue", end(&id, "dev", Some(1))).ok();
}

#[test]
fn force_and_lead_tokens_end_claims_of_other_agents() {
    let directory = directory();
    let path = directory.path();
    std::fs::write(path.join("ait.toml"), "claims = \"owned\"\n").unwrap();
    let run = |arguments: &[&str]| ait(path).args(arguments).output().unwrap();
    assert!(run(&["add", "t"]).status.success());
    let id = only_issue(path)["id"].as_str().unwrap().to_owned();
    assert!(run(&["next", "--agent", "dev"]).status.success());
    let arguments = ["return", &id, "-m", "gone", "--agent", "lead"];
    let refused = run(&arguments);
    assert!(!refused.status.success());
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("held by dev") && said.contains("--force"), "{said}");
    assert!(run(&[&arguments[..], &["--force"]].concat()).status.success());
    let issue = only_issue(path);
    assert_eq!(issue["status"], "created");
    assert_eq!(issue["comments"][0]["text"], "gone\n\n(forced: dev held claim 1)");

    // A token with the scope `lead` needs no --force.
    assert!(run(&["next", "--agent", "dev"]).status.success());
    let secret = "0123456789abcdef0123456789abcdef";
    std::fs::write(
        path.join("tokens"),
        format!("boss lead {secret}\nworker read-write {secret}1\n"),
    )
    .unwrap();
    let serve = Server::start_with(path, 0, &["--token-file", "tokens"]);
    let mut worker = Agent::authorized(serve.port, &format!("Bearer {secret}1"));
    worker.begin();
    let refusal = worker.call("return_issue", end(&id, "x", None)).refusal();
    assert!(refusal.contains("held by dev"), "{refusal}");
    let mut lead = Agent::authorized(serve.port, &format!("Bearer {secret}"));
    lead.begin();
    lead.call("return_issue", end(&id, "boss", None)).ok();
}

#[test]
fn an_issue_is_parked_after_too_many_failed_attempts() {
    let directory = directory();
    let mut client = Client::begin(ait(directory.path()).env("AIT_MAX_ATTEMPTS", "2"));
    let id = client.add("t", "bug");
    for number in 1..3 {
        client.call("get_next_issue", json!({ "agent": "dev" })).ok();
        let returned = client.call("return_issue", end(&id, "dev", Some(number))).ok();
        // A client that got no answer may repeat the call, even after the issue was parked.
        let repeated = client.call("return_issue", end(&id, "dev", Some(number))).ok();
        assert_eq!(repeated, returned);
    }
    let nothing = client.call("get_next_issue", json!({ "agent": "dev" })).ok();
    assert!(nothing.contains("none is ready") && nothing.contains("max-attempts = 2"), "{nothing}");
    let issue = only_issue(directory.path());
    assert_eq!(issue["parked"]["by"], "dev", "{issue}");
    let reason = issue["parked"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("2 times returned unfinished"), "{reason}");
}

/// Claims the issue as `dev` and returns it as another agent or as `dev`. Returns true if that parked the issue.
fn attempt(client: &mut Client, directory: &std::path::Path, agent: &str, comment: &str) -> bool {
    let claimed = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    let back = json!({ "issue_id": claimed["id"], "comment": comment, "agent": agent });
    client.call("return_issue", back).ok();
    only_issue(directory)["parked"] != Value::Null
}

#[test]
fn attempts_count_anew_after_a_person_changed_the_issue() {
    for look in ["unpark", "edit", "answer"] {
        let directory = directory();
        let path = directory.path();
        std::fs::write(path.join("ait.toml"), "max-attempts = 2\n").unwrap();
        let mut client = Client::begin(ait(path).args(["--toolsets", "planning"]));
        let id = client.add("t", "bug");
        let run = |arguments: &[&str]| crate::support::runs::run(path, arguments).ok();
        assert!(!attempt(&mut client, path, "dev", "no"));
        match look {
            "unpark" => {
                assert!(attempt(&mut client, path, "dev", "no"));
                run(&["unpark", &id]);
            }
            "edit" => drop(run(&["edit", &id, "-d", "more"])),
            _ => {
                run(&["ask", &id, "which?"]);
                run(&["answer", &id, "this"]);
            }
        }
        assert!(!attempt(&mut client, path, "dev", "no"), "{look}");
        // A change by an agent is none by a person.
        client.call("update_issue", json!({ "issue_id": id, "agent": "lead", "priority": 1 })).ok();
        assert!(attempt(&mut client, path, "dev", "no"), "{look}");
    }
}

#[test]
fn returns_that_say_nothing_about_the_issue_do_not_count() {
    let directory = directory();
    let path = directory.path();
    std::fs::write(path.join("ait.toml"), "max-attempts = 2\nclaim-grace = \"1s\"\n").unwrap();
    let mut client = Client::start(path);
    client.add("t", "bug");
    for _ in 0..3 {
        assert!(!attempt(&mut client, path, "lead", "dev has stopped"));
        assert!(!attempt(&mut client, path, "dev", "Merge conflict: src/a.rs"));
    }
    // A client that vanished.
    for _ in 0..2 {
        let mut gone = Client::start(path);
        gone.call("get_next_issue", json!({ "agent": "vanished" })).issue();
        gone.signal("KILL");
        gone.wait();
        crate::support::until("the claim lapses", || only_issue(path)["status"] == "created");
    }
    let issue = only_issue(path);
    let last = issue["history"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["action"], &last["agent"]),
        (&json!("Claim lapsed"), &json!("ait")),
        "{issue}"
    );
    assert!(!attempt(&mut client, path, "dev", "no"));
    assert!(attempt(&mut client, path, "dev", "no"));
}

#[test]
fn agent_cannot_hold_more_issues_than_max_claims() {
    let directory = directory();
    let mut client = Client::begin(ait(directory.path()).env("AIT_MAX_CLAIMS", "2"));
    for title in ["1", "2", "3"] {
        client.add(title, "bug");
    }
    for _ in 0..2 {
        client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    }
    let refusal = client.call("get_next_issue", json!({ "agent": "dev" })).refusal();
    assert!(refusal.contains("dev holds 2 issues"), "{refusal}");
    client.call("get_next_issue", json!({ "agent": "other" })).issue();
}

#[test]
fn authors_do_not_review_their_own_work() {
    let directory = directory();
    let mut client = Client::begin(ait(directory.path()).env("AIT_REVIEW", "not-author"));
    let own = client.add("of dev", "bug");
    let other = client.add("of test", "bug");
    client.call("complete_issue", end(&own, "dev", None)).ok();
    client.call("complete_issue", end(&other, "tester", None)).ok();
    let review = client.call("get_next_review_item", json!({ "agent": "dev" })).issue();
    assert_eq!(review["id"], json!(other));
    let nothing = client.call("get_next_review_item", json!({ "agent": "dev" })).ok();
    assert!(nothing.contains("another agent has to review"), "{nothing}");
    assert!(nothing.contains(&format!("{}: dev completed it", &own[..8])), "{nothing}");
    let review = client.call("get_next_review_item", json!({ "agent": "rev" })).issue();
    assert_eq!(review["id"], json!(own));
}
