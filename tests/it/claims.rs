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
    // With the claim number, another agent name is accepted, as after a rename.
    client.call("get_next_review_item", json!({ "agent": "rev" })).ok();
    client.call("return_issue", end(&id, "reviewer", Some(2))).ok();
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
    assert!(nothing.contains("none is ready") && nothing.contains("max-attempts"), "{nothing}");
    let issue = only_issue(directory.path());
    assert_eq!(issue["parked"]["by"], "dev", "{issue}");
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
    // The agent that filed both issues.
    let nothing = client.call("get_next_review_item", json!({ "agent": "test" })).ok();
    assert!(nothing.contains("another agent has to review"), "{nothing}");
    let review = client.call("get_next_review_item", json!({ "agent": "rev" })).issue();
    assert_eq!(review["id"], json!(own));
}
