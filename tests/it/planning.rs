//! The toolset `planning`, and the order in which issues with attributes are claimed.

use serde_json::{Value, json};

use crate::support::files::{stored_issues, wait_for_file};
use crate::support::runs::run;
use crate::support::{Client, ait, directory, id_in, until};

fn planner(directory: &std::path::Path) -> Client {
    let mut client = Client::spawn(ait(directory).args(["--toolsets", "planning"]));
    client.initialize();
    client
}

/// Files an issue with attributes and returns its id.
fn file(client: &mut Client, title: &str, more: Value) -> String {
    let id = client.add(title, "bug");
    let mut arguments = json!({ "issue_id": id, "agent": "lead" });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.call("update_issue", arguments).ok();
    id
}

fn claim(client: &mut Client, agent: &str) -> String {
    let answer = client.call("get_next_issue", json!({ "agent": agent })).ok();
    let issue: Result<Value, _> = serde_json::from_str(&answer);
    issue.map_or(answer, |issue| issue["title"].as_str().unwrap().to_owned())
}

fn close(client: &mut Client, id: &str, resolution: &str) -> crate::support::Answer {
    let arguments =
        json!({ "issue_id": id, "resolution": resolution, "comment": "c", "agent": "lead" });
    client.call("close_issue", arguments)
}

#[test]
fn claims_follow_assignee_priority_and_position() {
    let directory = directory();
    let mut client = planner(directory.path());
    client.add("plain", "bug");
    file(&mut client, "late", json!({ "priority": 3 }));
    file(&mut client, "urgent", json!({ "priority": 0 }));
    file(&mut client, "mine", json!({ "priority": 4, "assignee": "dev" }));
    client.add("plain too", "bug");
    let filed = json!({ "title": "first", "description": "", "classification": "bug", "agent": "a", "priority": 0 });
    client.call("add_issue", filed).ok();
    let order: Vec<_> = (0..6).map(|_| claim(&mut client, "dev")).collect();
    assert_eq!(order, ["mine", "urgent", "first", "plain", "plain too", "late"]);
    assert_eq!(claim(&mut client, "dev"), "No issue is waiting to be claimed.");
}

#[test]
fn an_empty_claim_explains_why_waiting_issues_are_not_ready() {
    let directory = directory();
    let mut client = planner(directory.path());
    let [blocker, whole] = ["blocker", "whole"].map(|title| client.add(title, "bug"));
    let blocked = file(
        &mut client,
        "blocked",
        json!({ "blocked_by": [blocker], "labels_add": ["ui", "area/x"] }),
    );
    let part = file(&mut client, "part", json!({ "parent": whole, "assignee": "other" }));
    assert_eq!(claim(&mut client, "dev"), "blocker");
    let text = claim(&mut client, "dev");
    let [short_blocked, short_whole, short_part] = [&blocked, &whole, &part].map(|id| &id[..8]);
    assert!(text.starts_with("3 issues wait, none is ready: "), "{text}");
    assert!(text.contains(&format!("{short_blocked}: it waits for {}", &blocker[..8])), "{text}");
    assert!(
        text.contains(&format!("{short_whole}: its parts are the work: {short_part}")),
        "{text}"
    );
    assert!(text.contains(&format!("{short_part}: it is assigned to other")), "{text}");
    let given =
        client.call("get_next_issue", json!({ "agent": "dev", "issue_id": blocked })).refusal();
    assert!(given.contains("cannot be claimed now: it waits for"), "{given}");
    let open = close(&mut client, &whole, "closed").refusal();
    assert!(open.contains("has open parts") && open.contains(&part), "{open}");
    // When a blocker ends, even by rejection, the issue becomes claimable; the claim lists rejected blockers.
    close(&mut client, &blocker, "rejected").ok();
    let issue = client.call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!(
        (issue["title"].as_str(), &issue["rejectedBlockers"]),
        (Some("blocked"), &json!([&blocker[..8]]))
    );
    assert_eq!(issue["labels"], json!(["area/x", "ui"]));
    assert_eq!(claim(&mut client, "other"), "part");
    close(&mut client, &part, "closed").ok();
    close(&mut client, &whole, "closed").ok();
}

#[test]
fn compact_rows_say_blocked_until_the_blocker_ends() {
    let directory = directory();
    let mut client = Client::spawn(ait(directory.path()).args([
        "--toolsets",
        "planning",
        "--replies",
        "compact",
    ]));
    client.initialize();
    let blocker = client.add("blocker", "bug");
    let entry = json!({ "title": "blocked", "description": "", "classification": "bug", "blocked_by": [blocker] });
    client.call("add_issues", json!({ "agent": "lead", "issues": [entry] })).ok();
    let mut row = || client.call("list_issues", json!({})).ok().lines().last().unwrap().to_owned();
    assert!(row().ends_with(" blocked [blocked]"), "{}", row());
    close(&mut client, &blocker, "closed").ok();
    let row = client.call("list_issues", json!({})).ok();
    assert!(row.ends_with(" blocked"), "{row}");
}

#[test]
fn an_update_adds_one_history_entry_and_keeps_the_holder() {
    let directory = directory();
    let mut client = planner(directory.path());
    let id = client.add("tyop", "bug");
    client.call("get_next_issue", json!({ "agent": "dev" })).ok();
    let change = json!({
        "issue_id": id, "agent": "lead", "title": "typo", "priority": 1, "labels_add": ["a"], "comment": "mended",
    });
    let confirmed = client.call("update_issue", change.clone()).ok();
    assert!(
        confirmed.contains("changed: status in_progress") && confirmed.contains(", version 3.1."),
        "{confirmed}"
    );
    let whole = client.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!(whole["history"][2]["action"], "Issue changed: title, priority, labels");
    assert_eq!(
        (whole["title"].as_str(), whole["comments"][0]["text"].as_str()),
        (Some("typo"), Some("mended"))
    );
    assert!(confirmed.ends_with(whole["version"].as_str().unwrap()), "{confirmed} {whole}");
    let held = client.call("get_next_issue", json!({ "agent": "dev", "mine": true })).issue();
    assert_eq!(held["id"], json!(id));
    let same = json!({ "issue_id": id, "agent": "lead", "priority": 1 });
    assert!(client.call("update_issue", same).refusal().contains("nothing would change"));
    // An update with an outdated version changes nothing.
    let stale =
        json!({ "issue_id": id, "agent": "b", "priority": 0, "if_version": "2.0.00000000" });
    let refused = client.call("update_issue", stale).refusal();
    assert!(refused.contains("Issue changed: title") && refused.contains("by lead"), "{refused}");
    let current =
        json!({ "issue_id": id, "agent": "b", "priority": 0, "if_version": whole["version"] });
    client.call("update_issue", current).ok();
}

#[test]
fn ended_issues_keep_attributes_and_can_be_linked_and_discussed() {
    let directory = directory();
    let mut client = planner(directory.path());
    let [ended, other] = ["ended", "other"].map(|title| client.add(title, "bug"));
    close(&mut client, &ended, "closed").ok();
    let change = |more: Value| {
        let mut arguments = json!({ "issue_id": ended, "agent": "lead" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    client.call("update_issue", change(json!({ "comment": "see there" }))).ok();
    client.call("update_issue", change(json!({ "labels_add": ["done"] }))).ok();
    client.call("link_issues", change(json!({ "kind": "related", "to": [other] }))).ok();
    let refused = client.call("update_issue", change(json!({ "title": "again" }))).refusal();
    assert!(refused.contains("closed, which is final"), "{refused}");
    let whole = client.call("list_issues", json!({ "issue_id": ended })).issue();
    assert_eq!((&whole["status"], &whole["labels"]), (&json!("closed"), &json!(["done"])));
}

#[test]
fn cycles_and_deep_nesting_are_refused_with_the_path() {
    let directory = directory();
    let mut client = planner(directory.path());
    let ids: Vec<_> = (0..10).map(|number| client.add(&format!("issue {number}"), "bug")).collect();
    let link = |client: &mut Client, from: &str, kind: &str, to: &str| {
        let arguments = json!({ "issue_id": from, "kind": kind, "to": [to], "agent": "lead" });
        client.call("link_issues", arguments)
    };
    link(&mut client, &ids[0], "blocked_by", &ids[1]).ok();
    link(&mut client, &ids[1], "blocked_by", &ids[2]).ok();
    let path = [0, 1, 2, 0].map(|index: usize| &ids[index][..8]);
    let cycle = link(&mut client, &ids[2], "blocked_by", &ids[0]).refusal();
    let around =
        format!("{} waits for {} waits for {} waits for {}", path[2], path[0], path[1], path[2]);
    assert!(cycle.contains(&around), "{cycle}");
    for kind in ["blocked_by", "related"] {
        assert!(link(&mut client, &ids[0], kind, &ids[0]).refusal().contains("cycle"));
    }
    // Two links added together can close a cycle that neither would close alone.
    link(&mut client, &ids[8], "blocked_by", &ids[9]).ok();
    let both =
        json!({ "issue_id": ids[4], "agent": "lead", "parent": ids[9], "blocked_by": [ids[8]] });
    let cycle = client.call("update_issue", both).refusal();
    let path = [4, 8, 9, 4].map(|index: usize| &ids[index][..8]).join(" waits for ");
    assert!(cycle.contains(&path), "{cycle}");
    let entry = json!({
        "title": "t", "description": "", "classification": "bug", "parent": ids[9], "blocked_by": [ids[8]],
    });
    let filed = client.call("add_issues", json!({ "agent": "lead", "issues": [entry] })).refusal();
    assert!(filed.contains("cycle"), "{filed}");
    // A parent waits for its parts, so a part cannot wait for its parent.
    link(&mut client, &ids[3], "parent", &ids[0]).ok();
    assert!(link(&mut client, &ids[3], "blocked_by", &ids[0]).refusal().contains("cycle"));
    // A part waits with its parent, so nothing that the parent waits for can wait for the part.
    assert!(link(&mut client, &ids[2], "blocked_by", &ids[3]).refusal().contains("cycle"));
    for index in 4..8 {
        link(&mut client, &ids[index], "parent", &ids[index - 1]).ok();
    }
    assert!(link(&mut client, &ids[0], "parent", &ids[7]).refusal().contains("cycle"));
    let removed = json!({ "issue_id": ids[0], "kind": "blocked_by", "to": [ids[1]], "agent": "lead", "remove": true });
    client.call("link_issues", removed.clone()).ok();
    assert!(client.call("link_issues", removed).refusal().contains("nothing would change"));
}

#[test]
fn add_issues_files_all_issues_with_links_or_none() {
    let directory = directory();
    let mut client = planner(directory.path());
    let entry = |title: &str, more: Value| {
        let mut entry = json!({ "title": title, "description": "", "classification": "feature" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        entry
    };
    let epic = vec![
        entry("epic", json!({})),
        entry("one", json!({ "parent": "#1", "priority": 1, "labels": ["x"] })),
        entry("two", json!({ "parent": "#1", "blocked_by": ["#2"] })),
    ];
    let filed = client.call("add_issues", json!({ "agent": "lead", "issues": epic })).ok();
    let ids: Vec<_> =
        filed.strip_prefix("3 filed: ").unwrap().split(' ').map(str::to_owned).collect();
    assert!(ids.iter().all(|id| id.len() == 8), "{filed}");
    let epic = client.call("list_issues", json!({ "issue_id": ids[0] })).issue();
    let rows = json!([format!("{} created: one", ids[1]), format!("{} created: two", ids[2])]);
    assert!(epic["parts"] == rows || epic["parts"] == json!([rows[1], rows[0]]), "{epic}");
    let one = client.call("list_issues", json!({ "issue_id": ids[1] })).issue();
    assert_eq!(one["blocks"], json!([format!("{} created: two", ids[2])]));
    assert_eq!(["one"], [&*claim(&mut client, "dev")]);
    for bad in [
        json!([entry("a", json!({})), entry("b", json!({ "blocked_by": ["#2"] }))]),
        json!([entry("a", json!({})), entry("b", json!({ "blocked_by": ["ffffffff"] }))]),
        json!([entry("a", json!({})), { "title": "b" }]),
        json!([]),
    ] {
        client.call("add_issues", json!({ "agent": "lead", "issues": bad })).refusal();
    }
    let blank = json!([entry("a", json!({})), entry(" ", json!({}))]);
    let refusal = client.call("add_issues", json!({ "agent": "lead", "issues": blank })).refusal();
    assert!(refusal.contains("`issues[1].title`: "), "{refusal}");
    let listed = client.call("list_issues", json!({ "take": 1 })).issue();
    assert_eq!(listed["count"], 3);
    // The reply to thirty filed issues stays short.
    let many: Vec<_> = (0..30).map(|number| entry(&format!("issue {number}"), json!({}))).collect();
    let filed = client.call("add_issues", json!({ "agent": "lead", "issues": many })).ok();
    let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(&filed).len();
    assert!(tokens <= 200, "{tokens}: {filed}");
}

#[test]
fn a_store_without_attributes_is_written_as_before() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let filed = json!({ "title": "t", "description": "d", "classification": "bug", "agent": "a" });
    let id = id_in(&client.call("add_issue", filed).ok());
    let whole = client.call("list_issues", json!({ "issue_id": id })).issue();
    let keys: Vec<_> = whole.as_object().unwrap().keys().map(String::as_str).collect();
    let known = [
        "id",
        "title",
        "description",
        "classification",
        "createdAt",
        "modifiedAt",
        "status",
        "history",
        "comments",
    ];
    assert_eq!(keys, known);
}

#[test]
fn an_external_edit_of_attributes_is_merged_without_cycles() {
    let directory = directory();
    let mut client = planner(directory.path());
    let [one, other] = ["one", "other"].map(|title| client.add(title, "bug"));
    let link = json!({ "issue_id": one, "kind": "blocked_by", "to": [other], "agent": "lead" });
    client.call("link_issues", link).ok();
    let mut edited = wait_for_file(directory.path(), |issues| issues[0]["links"].is_array());
    edited[1]["links"] = json!([{ "kind": "blocked_by", "to": one }]);
    edited[1]["labels"] = json!(["by-hand"]);
    edited[1]["priority"] = json!(0);
    let text = json!({ "issues": edited }).to_string();
    std::fs::write(directory.path().join("issues.json"), text).unwrap();
    until("the edit is merged", || {
        let listed = json!({ "issue_id": other });
        client.call("list_issues", listed).issue()["priority"] == 0
    });
    let taken = client.call("list_issues", json!({ "issue_id": other })).issue();
    assert_eq!((&taken["labels"], taken.get("links")), (&json!(["by-hand"]), None));
    assert_eq!(claim(&mut client, "dev"), "other");
}

#[test]
fn attributes_never_overwrite_imported_values() {
    let directory = directory();
    let rows = json!([{
        "title": "imported", "url": "https://example.org/1", "labels": [{ "name": "c++" }], "priority": "Someday",
        "assignee": { "id": 7 }, "links": "x", "parked": "yes",
    }]);
    std::fs::write(directory.path().join("rows.json"), rows.to_string()).unwrap();
    run(directory.path(), &["import", "rows.json"]).ok();
    let mut client = planner(directory.path());
    let listed = client.call("list_issues", json!({})).issue();
    let id = listed["issues"][0]["id"].as_str().unwrap().to_owned();
    let other = client.add("other", "bug");
    let change = json!({
        "issue_id": id, "agent": "lead", "labels_add": ["ui"], "priority": 1, "assignee": "dev", "blocked_by": [other],
    });
    client.call("update_issue", change).ok();
    let whole = client.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!((&whole["labels"], &whole["priority"]), (&json!(["ui"]), &json!(1)));
    assert_eq!(whole["imported_labels"], json!([{ "name": "c++" }]));
    assert_eq!((&whole["imported_priority"], &whole["parked"]), (&json!("Someday"), &json!("yes")));
    client.close();
    // The published file can be read again.
    run(directory.path(), &["save"]).ok();
    let text = std::fs::read_to_string(directory.path().join("issues.json")).unwrap();
    assert_eq!(text.matches("\"labels\":").count(), 1, "{text}");
    run(directory.path(), &["backup", "b"]).ok();
    run(directory.path(), &["restore", "b", "--dry-run"]).ok();
    assert!(run(directory.path(), &["doctor"]).out.contains("issues.json is valid"));
}

#[test]
fn exports_in_every_format_keep_attributes() {
    for name in ["all.json", "all.jsonl", "all.csv"] {
        let (one, other) = (directory(), directory());
        let mut client = planner(one.path());
        let blocker = client.add("blocker", "bug");
        file(
            &mut client,
            "blocked",
            json!({ "priority": 0, "labels_add": ["ui"], "blocked_by": [blocker] }),
        );
        client.close();
        let path = other.path().join(name);
        run(one.path(), &["export", path.to_str().unwrap()]).ok();
        run(other.path(), &["import", name]).ok();
        let issues = |directory: &std::path::Path| {
            run(directory, &["list", "--json", "--sort", "filed"]).ok()
        };
        assert_eq!(issues(one.path()), issues(other.path()), "{name}");
        let again = run(other.path(), &["import", name]).out;
        assert!(again.contains("2 same"), "{name}: {again}");
        let mut client = planner(other.path());
        let edit = json!({ "issue_id": blocker, "agent": "a", "labels_add": ["x"] });
        client.call("update_issue", edit).ok();
        client.close();
        let differs = run(other.path(), &["import", name]).out;
        assert!(differs.contains("1 different"), "{name}: {differs}");
    }
}

/// A client repeats a request whose answer it has not got.
#[test]
fn a_repeated_request_files_nothing() {
    let directory = directory();
    let issue = |title: &str| json!({ "title": title, "description": "", "classification": "bug" });
    let add = |client: &mut Client, agent: &str, request: &str| -> String {
        let mut arguments = issue("t");
        arguments["agent"] = agent.into();
        let meta = json!({ "request_id": request });
        let call = json!({ "name": "add_issue", "arguments": arguments, "_meta": meta });
        id_in(client.request("tools/call", call)["content"][0]["text"].as_str().unwrap())
    };
    let mut client = Client::start(directory.path());
    let first = add(&mut client, "a", "r1");
    assert_eq!(add(&mut client, "a", "r1"), first);
    let others = [add(&mut client, "b", "r1"), add(&mut client, "a", "r2")];
    assert!(client.close().success());
    let mut planning = Client::begin(ait(directory.path()).args(["--toolsets", "planning"]));
    assert_eq!(add(&mut planning, "a", "r1"), first);
    let mut one = issue("t");
    one["agent"] = "a".into();
    one["request_id"] = "r1".into();
    assert_eq!(id_in(&planning.call("add_issue", one.clone()).ok()), first);
    one["request_id"] = "r".repeat(201).into();
    assert!(planning.call("add_issue", one).refusal().contains("at most 200 are allowed"));
    let mut second = issue("second");
    second["blocked_by"] = json!(["#1"]);
    let many = json!({ "agent": "a", "request_id": "r3", "issues": [issue("first"), second] });
    let filed = planning.call("add_issues", many.clone()).ok();
    assert_eq!(planning.call("add_issues", many.clone()).ok(), filed);
    let stored = stored_issues(directory.path());
    assert_eq!(stored.len(), 5, "{stored:?}");
    assert!(others.iter().all(|other| *other != first));
    // Two processes at once.
    let mut many = many;
    many["request_id"] = "r4".into();
    let mut other = Client::begin(ait(directory.path()).args(["--toolsets", "planning"]));
    let asked = [planning.ask_tool("add_issues", many.clone()), other.ask_tool("add_issues", many)];
    let answers = [planning.answer(asked[0]), other.answer(asked[1])];
    let [one, other] = answers.map(|answer| answer.unwrap().ok());
    assert_eq!(one, other);
    assert_eq!(stored_issues(directory.path()).len(), 7);
}
