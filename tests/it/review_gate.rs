//! Who may close an issue where work is reviewed.

use std::path::Path;

use agent_issue_tracker::domain::{AgentName, ClaimTerms, Classification, Command, ReviewPolicy};
use agent_issue_tracker::store::{Store, Subset};
use serde_json::{Value, json};

use crate::support::commands::{add, at, claim, complete, number};
use crate::support::files::only_issue;
use crate::support::runs::run;
use crate::support::stores::apply;
use crate::support::{Answer, Client, ait, directory};

fn start(directory: &Path, review: &str) -> Client {
    std::fs::write(directory.join("ait.toml"), format!("review = \"{review}\"\n")).unwrap();
    Client::begin(ait(directory).args(["--toolsets", "all"]))
}

fn end(client: &mut Client, tool: &str, id: &str, agent: &str, more: Value) -> Answer {
    let mut arguments = json!({ "issue_id": id, "comment": "done", "agent": agent });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.call(tool, arguments)
}

fn close(client: &mut Client, id: &str, agent: &str, more: Value) -> Answer {
    let mut arguments = json!({ "resolution": "closed" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    end(client, "close_issue", id, agent, arguments)
}

/// Tries to close an issue in every way that an agent has, under several names.
fn try_to_close(client: &mut Client, directory: &Path, id: &str) {
    for agent in ["dev", "filer", "rev", "other"] {
        for more in [json!({}), json!({ "claim": 1 }), json!({ "claim": 2 })] {
            let refusal = close(client, id, agent, more).refusal();
            assert!(
                refusal.contains("closes only what it reviews") || refusal.contains("claim"),
                "{refusal}"
            );
        }
        let found = client.call("query_issues", json!({ "query": "status:open" })).issue();
        let bulk = json!({
            "handle": found["handle"], "items": "all", "agent": agent, "end": "close", "comment": "c",
            "dry_run": false,
        });
        let report = client.call("change_issues", bulk).issue();
        assert_eq!((&report["changed"], &report["refused"]), (&json!(0), &json!(1)), "{report}");
        let refused = run(directory, &["close", id, "-m", "c", "--agent", agent]);
        assert!(
            refused.code == 1 && refused.log.contains("closes only what it reviews"),
            "{refused:?}"
        );
        let bulk = ["bulk", "status:open", "--close", "-m", "c", "--yes", "--agent", agent];
        assert_eq!(run(directory, &bulk).code, 1);
        let close = ["close", id, "-m", "c"];
        let named = ait(directory).args(close).env("AIT_AGENT", agent).output().unwrap();
        assert!(!named.status.success());
        assert_ne!(only_issue(directory)["status"], "closed");
    }
}

#[test]
fn an_agent_closes_only_what_it_reviews() {
    for review in ["not-author", "uninvolved"] {
        let directory = directory();
        let path = directory.path();
        let mut client = start(path, review);
        let issue =
            json!({ "title": "t", "description": "", "classification": "bug", "agent": "filer" });
        client.call("add_issue", issue).ok();
        let id = only_issue(path)["id"].as_str().unwrap().to_owned();
        try_to_close(&mut client, path, &id);
        client.call("get_next_issue", json!({ "agent": "dev" })).issue();
        try_to_close(&mut client, path, &id);
        let refusal = close(&mut client, &id, "dev", json!({ "claim": 1 })).refusal();
        assert!(refusal.contains("hand it in with complete_issue"), "{refusal}");
        end(&mut client, "complete_issue", &id, "dev", json!({ "claim": 1 })).ok();
        try_to_close(&mut client, path, &id);
        let refusal = close(&mut client, &id, "other", json!({})).refusal();
        assert!(refusal.contains("claim its review with get_next_review_item"), "{refusal}");
        // Nor does a worker review its own work.
        let nothing = client.call("get_next_review_item", json!({ "agent": "dev" })).ok();
        assert!(nothing.contains("dev worked on it"), "{nothing}");
        client.call("get_next_review_item", json!({ "agent": "reviewer" })).issue();
        try_to_close(&mut client, path, &id);
        let closed = close(&mut client, &id, "reviewer", json!({ "claim": 2 })).ok();
        let again = close(&mut client, &id, "reviewer", json!({ "claim": 2 })).ok();
        assert!(closed.starts_with(&again), "{closed}\n{again}");
        assert_eq!(only_issue(path)["status"], "closed");
    }
}

#[test]
fn workers_reject_and_people_close_without_a_review() {
    let directory = directory();
    let path = directory.path();
    let mut client = start(path, "not-author");
    for close in [&["close"][..], &["close", "--force", "--agent", "dev"]] {
        let id = client.add("t", "bug");
        client.call("get_next_issue", json!({ "agent": "dev", "issue_id": id })).issue();
        let closed = run(path, &[close, &[&id, "-m", "looked at it"]].concat());
        assert_eq!(closed.code, 0, "{closed:?}");
    }
    let id = client.add("a duplicate", "bug");
    client.call("get_next_issue", json!({ "agent": "dev", "issue_id": id })).issue();
    close(&mut client, &id, "dev", json!({ "resolution": "rejected", "claim": 1 })).ok();
    // Without the setting every agent closes everything, as in the original.
    client.close();
    let mut client = start(path, "anyone");
    let id = client.add("t", "bug");
    close(&mut client, &id, "dev", json!({})).ok();
}

#[test]
fn another_agent_does_not_complete_what_is_completed() {
    let directory = directory();
    let mut client = start(directory.path(), "not-author");
    let id = client.add("t", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    end(&mut client, "complete_issue", &id, "dev", json!({ "claim": 1 })).ok();
    let refusal = end(&mut client, "complete_issue", &id, "other", json!({})).refusal();
    assert!(
        refusal.contains("was completed by dev") && refusal.contains("get_next_review_item"),
        "{refusal}"
    );
    end(&mut client, "complete_issue", &id, "dev", json!({ "comment": "one more commit" })).ok();
    // A reviewer hands it back for another one.
    client.call("get_next_review_item", json!({ "agent": "rev" })).issue();
    end(&mut client, "complete_issue", &id, "rev", json!({ "claim": 2 })).ok();
    let nothing = client.call("get_next_review_item", json!({ "agent": "rev" })).ok();
    assert!(nothing.contains("rev completed it"), "{nothing}");
}

#[test]
fn only_the_stricter_policy_excludes_the_filer() {
    for (review, is_allowed) in [("not-author", true), ("uninvolved", false)] {
        let directory = directory();
        let mut client = start(directory.path(), review);
        client.add("t", "bug");
        client.call("get_next_issue", json!({ "agent": "dev" })).issue();
        let id = only_issue(directory.path())["id"].as_str().unwrap().to_owned();
        end(&mut client, "complete_issue", &id, "dev", json!({})).ok();
        let answer = client.call("get_next_review_item", json!({ "agent": "test" })).ok();
        assert_eq!(answer.contains("in_review"), is_allowed, "{review}: {answer}");
        assert_eq!(answer.contains("test filed it"), !is_allowed, "{review}: {answer}");
    }
}

#[test]
fn closing_without_a_review_is_found() {
    let directory = directory();
    let path = directory.path();
    let arguments = ["--toolsets", "all", "--replies", "compact"];
    let mut client = Client::begin(ait(path).args(arguments));
    let id = client.add("Login fails on Safari", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    close(&mut client, &id, "dev", json!({})).ok();
    let report = client.call("find_problems", json!({ "kinds": ["never_reviewed"] })).issue();
    assert_eq!(report["findings"][0]["why"], "dev closed it without a review", "{report}");
    let line = format!("{} closed: Login fails on Safari", &id[..8]);
    assert_eq!(report["findings"][0]["issues"], json!([line]));
    let triage = run(path, &["triage"]);
    assert!(triage.out.contains("ait reopen"), "{triage:?}");
}

/// Checks who gets a review under each policy. `filer` filed the issues, `dev` and `other` worked on them, and `lead`
/// completed them.
pub async fn give_reviews_by_policy(store: &dyn Store) {
    use ReviewPolicy::{Anyone, NotAuthor, Uninvolved};
    let name = |name: &str| AgentName::try_from(name).unwrap();
    for (n, worker) in [(81, "dev"), (82, "other")] {
        let mut filed = add(n, Classification::Bug);
        let mut claimed = claim(None);
        let mut completed = complete(number(n).into());
        if let Command::AddIssue { agent, .. } = &mut filed {
            *agent = name("filer");
        }
        if let Command::GetNextIssue { agent, .. } = &mut claimed {
            *agent = name(worker);
        }
        if let Command::CompleteIssue { agent, .. } = &mut completed {
            *agent = name("lead");
        }
        for command in [filed, claimed, completed] {
            apply(store, command, at(3000)).await.unwrap().unwrap();
        }
    }
    for (policy, agent, expected) in [
        (Uninvolved, "filer", None),
        (NotAuthor, "lead", None),
        (NotAuthor, "dev", Some(82)),
        (Uninvolved, "other", Some(81)),
        (NotAuthor, "filer", Some(81)),
        (Uninvolved, "rev", Some(81)),
        (Anyone, "lead", Some(81)),
    ] {
        let terms = ClaimTerms { review: policy, ..ClaimTerms::default() };
        let claimable = store.subset(Subset::Claimable(vec![name(agent)])).await.unwrap().issues;
        let next = claimable.next_review(&name(agent), policy, at(3001));
        let next = next.map(|position| claimable.at(position).id);
        let given =
            apply(store, Command::GetNextReviewItem { agent: name(agent), terms }, at(3001));
        let given = given.await.unwrap().map(|issue| issue.id);
        assert_eq!((given, next), (expected.map(number), expected.map(number)), "{policy} {agent}");
        if let Some(id) = given {
            let entry = store.get(id.into()).await.unwrap().claim_entry().unwrap();
            let lapse =
                Command::LapseClaim { issue: id, entry, reason: "r".to_owned(), client: None };
            apply(store, lapse, at(3002)).await.unwrap();
        }
    }
}
