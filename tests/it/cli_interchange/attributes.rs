//! Priority, labels, assignee and links in the files of other programs, and the external ids of their issues.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use super::{counts, done, run, run_with_input, text};
use crate::support::directory;
use crate::support::files::stored_issues;

fn import(directory: &Path, arguments: &[&str], input: &str) -> Output {
    run_with_input(directory, &[&["import", "-"], arguments].concat(), input.as_bytes())
}

/// Imports issues twice, checks that the second import changes nothing, and returns the stored issues.
#[track_caller]
fn imported(arguments: &[&str], input: &str) -> Vec<Value> {
    let directory = directory();
    let output = import(directory.path(), arguments, input);
    let issues = stored_issues(directory.path());
    let (new, report) = (issues.len(), text(&output.stdout));
    assert_eq!(counts(&output), format!("{new} new, 0 same, 0 different, 0 refused"), "{report}");
    let again = import(directory.path(), arguments, input);
    let report = text(&again.stdout);
    assert_eq!(counts(&again), format!("0 new, {new} same, 0 different, 0 refused"), "{report}");
    issues
}

fn titled<'a>(issues: &'a [Value], title: &str) -> &'a Value {
    issues.iter().find(|issue| issue["title"] == title).unwrap()
}

/// Returns the links of an issue as `kind title`; `?` stands for an issue that is not in the store.
fn links(issues: &[Value], title: &str) -> String {
    let of_link = |link: &Value| {
        let other = issues.iter().find(|issue| issue["id"] == link["to"]);
        let title = other.map_or("?", |issue| issue["title"].as_str().unwrap());
        format!("{} {title}", link["kind"].as_str().unwrap())
    };
    let links = titled(issues, title)["links"].as_array().cloned().unwrap_or_default();
    links.iter().map(of_link).collect::<Vec<_>>().join(", ")
}

fn beads(all: &[Value]) -> String {
    let line = |(day, bead): (usize, &Value)| {
        let mut bead = bead.clone();
        bead["title"] = bead["id"].clone();
        bead["issue_type"] = json!("task");
        let time = format!("2026-01-{:02}T00:00:00Z", day + 1);
        bead["created_at"] = json!(time);
        bead["updated_at"] = json!(time);
        bead.to_string() + "\n"
    };
    all.iter().enumerate().map(line).collect()
}

fn dependency(of: &str, kind: &str, on: &str) -> Value {
    json!({ "issue_id": of, "depends_on_id": on, "type": kind, "created_by": "x" })
}

#[test]
fn beads_keep_priority_labels_dependencies_and_deferral() {
    let dependencies = json!([
        dependency("b", "blocks", "a"),
        dependency("b", "parent-child", "epic"),
        dependency("b", "discovered-from", "c"),
        dependency("b", "duplicates", "c"),
        dependency("b", "blocks", "elsewhere"),
        dependency("b", "waits-for", "c"),
    ]);
    let issues = imported(
        &[],
        &beads(&[
            json!({ "id": "b", "priority": 0, "labels": ["UI", "c++"], "dependencies": dependencies }),
            json!({ "id": "a", "priority": 9 }),
            json!({ "id": "c", "status": "deferred", "defer_until": "2030-01-01T00:00:00Z" }),
            json!({ "id": "epic", "dependencies": [{ "id": "a", "dependency_type": "related" }] }),
            json!({ "id": "part", "parent": "epic" }),
        ]),
    );
    let b = titled(&issues, "b");
    assert_eq!((&b["priority"], &b["labels"]), (&json!(0), &json!(["ui"])));
    assert_eq!(
        links(&issues, "b"),
        "blocked_by a, parent epic, related c, duplicate_of c, blocked_by c"
    );
    // The import keeps values for which ait has no equivalent.
    assert_eq!(
        (&b["beads"]["dependencies"], &b["beads"]["labels"][1]),
        (&dependencies, &json!("c++"))
    );
    let a = titled(&issues, "a");
    assert_eq!((a.get("priority"), &a["beads"]["priority"]), (None, &json!(9)));
    let c = titled(&issues, "c");
    assert_eq!(
        c["parked"],
        json!({
            "reason": "deferred in beads", "since": "2026-01-03T00:00:00.000Z", "by": "beads",
            "until": "2030-01-01T00:00:00.000Z",
        })
    );
    assert_eq!(links(&issues, "epic"), "related a");
    assert_eq!(links(&issues, "part"), "parent epic");
}

/// Issues that wait for each other could never be claimed.
#[test]
fn imported_links_never_form_a_cycle() {
    let cycle = beads(&[
        json!({ "id": "a", "dependencies": [dependency("a", "blocks", "b")] }),
        json!({ "id": "b", "dependencies": [dependency("b", "blocks", "c")] }),
        json!({ "id": "c", "dependencies": [dependency("c", "blocks", "a"), dependency("c", "related", "a")] }),
        json!({ "id": "self", "dependencies": [dependency("self", "blocks", "self")] }),
        // An epic waits for its parts, so a part cannot wait for its epic.
        json!({ "id": "epic" }),
        json!({ "id": "part", "dependencies": [dependency("part", "parent-child", "epic"), dependency("part", "blocks", "epic")] }),
    ]);
    let issues = imported(&[], &cycle);
    assert_eq!(links(&issues, "a"), "blocked_by b");
    assert_eq!(links(&issues, "b"), "blocked_by c");
    assert_eq!(links(&issues, "c"), "related a");
    assert_eq!(titled(&issues, "c")["beads"]["dependencies"][0]["depends_on_id"], "a");
    assert_eq!(links(&issues, "self"), "");
    assert_eq!(links(&issues, "part"), "parent epic");
    // A closed issue waits for nothing.
    let ended = cycle.replacen("\"id\":\"c\"", "\"status\":\"closed\",\"id\":\"c\"", 1);
    assert_eq!(links(&imported(&[], &ended), "c"), "blocked_by a, related a");
}

#[test]
fn ait_issues_whose_links_form_a_cycle_are_refused() {
    let (one, two) = (crate::support::files::id(1), crate::support::files::id(2));
    let issue = |id: &str, status: &str, to: &str| {
        let mut issue = crate::support::files::issue_json(id, id, status);
        issue["links"] = json!([{ "kind": "blocked_by", "to": to }]);
        issue
    };
    for arguments in [&["--dry-run"][..], &[]] {
        let directory = directory();
        let issues = json!([issue(&one, "created", &two), issue(&two, "created", &one)]);
        let output = import(directory.path(), arguments, &issues.to_string());
        assert!(counts(&output).ends_with("1 new, 0 same, 0 different, 1 refused"));
        assert!(text(&output.stdout).contains("cycle"), "{}", text(&output.stdout));
        assert_eq!(output.status.code(), Some(1));
    }
    // With two imports, only the store knows both issues.
    let store = directory();
    done(&import(store.path(), &[], &issue(&one, "created", &two).to_string()));
    let second = issue(&two, "created", &one).to_string();
    let output = import(store.path(), &[], &second);
    assert!(text(&output.stdout).contains("cycle"), "{}", text(&output.stdout));
    let issues = json!([issue(&one, "created", &two), issue(&two, "closed", &one)]);
    assert_eq!(imported(&[], &issues.to_string()).len(), 2);
}

#[test]
fn github_issues_keep_labels_assignees_and_links() {
    let issue = |number: u32, more: Value| {
        let mut issue = json!({
            "number": number, "title": format!("n{number}"), "state": "OPEN", "body": "",
            "url": format!("https://github.com/o/r/issues/{number}"), "createdAt": "2026-01-02T03:04:05Z",
        });
        issue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        issue
    };
    let label =
        |name: &str| json!({ "id": "LA_1", "name": name, "description": "", "color": "ededed" });
    let user = |login: &str| json!({ "id": "U_1", "login": login, "name": "" });
    let issues = imported(
        &[],
        &json!([
            issue(7, json!({ "labels": [label("bug"), label("Good first issue"), label("🐛")], "assignees": [user("mona")] })),
            issue(8, json!({ "labels": [], "assignees": [user("hubot"), user("mona")], "blockedBy": { "nodes": [{ "number": 7 }] } })),
            issue(9, json!({ "parent": { "number": 8, "url": "https://github.com/o/r/issues/8" }, "blocked_by": "#7, 99" })),
        ])
        .to_string(),
    );
    let seven = titled(&issues, "n7");
    assert_eq!(
        (&seven["labels"], &seven["assignee"]),
        (&json!(["bug", "good-first-issue"]), &json!("mona"))
    );
    assert_eq!(seven["json"], json!({ "labels": ["🐛"] }));
    assert_eq!((&seven["classification"], seven.get("assignees")), (&json!("bug"), None));
    let eight = titled(&issues, "n8");
    assert_eq!(
        (&eight["assignee"], &eight["assignees"][1]["login"]),
        (&json!("hubot"), &json!("mona"))
    );
    assert_eq!(links(&issues, "n8"), "blocked_by n7");
    assert_eq!(links(&issues, "n9"), "parent n8, blocked_by n7");
    assert_eq!(titled(&issues, "n9")["blocked_by"], "#7, 99");
}

/// Imports a result of Jira's REST search, and a CSV export of Jira.
#[test]
fn jira_issues_keep_priority_labels_assignee_and_links() {
    let json = json!({
        "startAt": 0, "total": 2, "issues": [
            {
                "id": "10001", "key": "SHOP-1", "self": "https://shop.example/rest/api/2/issue/10001",
                "fields": {
                    "summary": "Search is slow", "description": "It is.", "issuetype": { "name": "Bug" },
                    "status": { "name": "To Do" }, "priority": { "name": "Highest", "id": "1" },
                    "labels": ["Search", "speed"], "assignee": { "accountId": "5b1", "displayName": "Ann Lee" },
                    "reporter": { "displayName": "Bob" }, "created": "2026-01-31T09:30:00.000+0000",
                    "resolution": null, "comment": { "total": 1, "comments": [
                        { "author": { "displayName": "Bob" }, "body": "Yes", "created": "2026-02-01T09:30:00.000+0000" },
                    ] },
                },
            },
            {
                "id": "10002", "key": "SHOP-2",
                "fields": {
                    "summary": "Index it", "issuetype": { "name": "Sub-task" }, "status": { "name": "To Do" },
                    "description": { "type": "doc", "version": 1, "content": [
                        { "type": "paragraph", "content": [{ "type": "text", "text": "As a document." }] },
                    ] },
                    "priority": { "name": "Someday" }, "parent": { "id": "10003", "key": "SHOP-3" },
                    "issuelinks": [{ "type": { "name": "Blocks", "inward": "is blocked by" }, "inwardIssue": { "key": "SHOP-1" } }],
                    "created": "2026-02-01T09:30:00.000+0000",
                },
            },
        ],
    });
    let issues = imported(&[], &json.to_string());
    let first = titled(&issues, "Search is slow");
    assert_eq!((&first["priority"], &first["labels"]), (&json!(0), &json!(["search", "speed"])));
    assert_eq!(
        (&first["assignee"], &first["comments"][0]["text"]),
        (&json!("Ann Lee"), &json!("Yes"))
    );
    assert_eq!((&first["key"], &first["issueId"]), (&json!("SHOP-1"), &json!("10001")));
    let second = titled(&issues, "Index it");
    assert_eq!(second["description"], "As a document.");
    assert_eq!(
        (&second["priority"]["name"], &second["parent"]["key"]),
        (&json!("Someday"), &json!("SHOP-3"))
    );
    assert_eq!(links(&issues, "Index it"), "blocked_by Search is slow");
    let mapped = imported(&["--map-value", "priority:someday=4"], &json.to_string());
    assert_eq!(titled(&mapped, "Index it")["priority"], 4);
    let csv = "Summary,Issue key,Issue id,Issue Type,Status,Priority,Assignee,Labels,Labels,Parent,Inward issue link (Blocks),Created\n\
               Search is slow,SHOP-1,10001,Bug,To Do,Highest,Ann Lee,Search,speed,,,2026-01-31 09:30\n\
               Index it,SHOP-2,10002,Sub-task,To Do,Lowest,,,,10001,SHOP-1,2026-02-01 09:30\n";
    let of_csv = imported(&[], csv);
    let attributes =
        |issue: &Value| ["id", "priority", "labels", "assignee"].map(|name| issue[name].clone());
    assert_eq!(attributes(titled(&of_csv, "Search is slow")), attributes(first));
    assert_eq!(titled(&of_csv, "Index it")["priority"], 4);
    // The blocker is its parent, which already waits for its parts.
    assert_eq!(links(&of_csv, "Index it"), "parent Search is slow");
}

/// An unknown value gets another name if an attribute has its name.
#[test]
fn unknown_values_never_have_the_name_of_an_attribute() {
    let json = json!([
        { "id": "A-1", "title": "one", "links": "x" },
        { "id": "A-2", "title": "two", "links": "x", "blocked_by": ["A-1"] },
    ]);
    let issues = imported(&[], &json.to_string());
    assert_eq!(
        (&issues[0]["links"], links(&issues, "two")),
        (&json!("x"), "blocked_by one".into())
    );
    assert_eq!(issues[1]["imported_links"], "x");
    let csv = "title,labels,extra\nT,ui,\"{\"\"labels\"\":\"\"x\"\"}\"\n";
    let issue = imported(&[], csv).remove(0);
    assert_eq!((&issue["labels"], &issue["imported_labels"]), (&json!(["ui"]), &json!("x")));
}

#[test]
fn attributes_can_be_mapped() {
    let csv = "Summary,Sev,Who,Area\nT,Grave,dev-1,\"UI, Core\"\n";
    let arguments = ["--map", "Sev=priority", "--map", "Who=assignee", "--map", "Area=labels"];
    let store = directory();
    let output = import(store.path(), &arguments, csv);
    let report = text(&output.stdout);
    for part in [
        "Sev is \"Grave\": write one of 0, 1, 2",
        "--map-value 'Sev:Grave=2' reads it as 2",
        "--ignore Sev",
    ] {
        assert!(report.contains(part), "{report}");
    }
    let issue =
        imported(&[&arguments[..], &["--map-value", "Sev:Grave=0"]].concat(), csv).remove(0);
    assert_eq!(
        (&issue["priority"], &issue["assignee"], &issue["labels"]),
        (&json!(0), &json!("dev-1"), &json!(["core", "ui"]))
    );
    assert_eq!(issue.get("csv"), None);
    // A column that was not mapped may have unknown values.
    let issue = imported(&[], "Summary,Priority\nT,Someday\n").remove(0);
    assert_eq!(issue["csv"], json!({ "Priority": "Someday" }));
    assert_eq!(imported(&[], "Summary,Priority\nT,Medium\n")[0]["priority"], 2);
}

#[test]
fn import_names_the_attributes_that_differ() {
    let store = directory();
    let csv = |cells: &str| {
        format!("Key,Summary,Priority,Labels,Assignee,Parent\nA-1,P,,,,\nA-2,T,{cells}\n")
    };
    done(&import(store.path(), &[], &csv("1,ui,dev,A-1")));
    let output = import(store.path(), &[], &csv("2,\"ui,core\",other,A-1"));
    let report = text(&output.stdout);
    assert!(
        report.contains("different priority, labels, assignee; the store keeps its own"),
        "{report}"
    );
    let output = import(store.path(), &[], &csv(",,,"));
    assert_eq!(counts(&output), "0 new, 2 same, 0 different, 0 refused");
}

#[test]
fn entries_on_one_line_are_reported_by_their_position() {
    let directory = directory();
    let array = r#"[{"title":"T","createdAt":"2026-01-31T12:00:00Z"},{"note":"x"},{"title":"T","id":"1"},{"title":"U","id":"1"}]"#;
    let output = import(directory.path(), &["--dry-run"], array);
    insta::assert_snapshot!(text(&output.stdout), @r"
    ITEM  OUTCOME  ID        CREATED     TITLE  WHY
    1     new      8005e193  2026-01-31  T
    2     refused  -                     -      title is missing: every issue needs one
    3     new      41c13426              T
    4     refused  41c13426-45bf-8ed5-9f58-029ef55ce9b7              U      item 3 has the same id
    nothing is written: 2 new, 0 same, 0 different, 2 refused
    ");
    let output = import(directory.path(), &["--dry-run", "--json"], array);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let second = &answer["issues"][1];
    assert_eq!((&second["line"], &second["item"]), (&json!(1), &json!(2)));
    assert_eq!(answer["issues"][0]["createdAt"], "2026-01-31T12:00:00.000Z");
    let output = import(directory.path(), &["--dry-run"], &array.replace("},{", "},\n{"));
    assert!(
        text(&output.stdout).contains("LINE") && text(&output.stdout).contains("\n2     refused")
    );
}

#[test]
fn imported_issues_are_found_by_their_external_ids() {
    let directory = directory();
    let github = json!([
        { "number": 12, "url": "https://github.com/o/r/issues/12", "title": "of github" },
        { "number": 112, "url": "https://github.com/o/r/issues/112", "title": "another" },
        { "number": 5, "url": "https://github.com/o/r/issues/5", "title": "see #12 and ABC-12" },
    ]);
    done(&import(directory.path(), &[], &github.to_string()));
    done(&import(directory.path(), &[], "Issue key,Summary\nABC-12,of jira\nABC-123,other\n"));
    done(&import(directory.path(), &[], &beads(&[json!({ "id": "app-9f3" })])));
    let found = |text: &str| {
        let listed = done(&run(directory.path(), &["search", text, "--json"]));
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let issues = listed["issues"].as_array().unwrap();
        let mut titles: Vec<_> =
            issues.iter().map(|issue| issue["title"].as_str().unwrap().to_owned()).collect();
        titles.sort();
        titles.join(", ")
    };
    assert_eq!(found("12"), "of github, see #12 and ABC-12");
    assert_eq!(found("#12"), "of github, see #12 and ABC-12");
    assert_eq!(found("abc-12"), "of jira, see #12 and ABC-12");
    assert_eq!(found("APP-9F3"), "app-9f3");
}

#[test]
fn imported_issue_shows_when_it_was_created() {
    let directory = directory();
    let input = r#"{"title":"T","createdAt":"2026-01-31T12:00:00Z","id":"A-1"}"#;
    done(&import(directory.path(), &[], input));
    let id = stored_issues(directory.path())[0]["id"].as_str().unwrap().to_owned();
    let shown = done(&run(directory.path(), &["show", &id]));
    assert!(shown.ends_with("\n2026-01-31 12:00  Created\n"), "{shown}");
    done(&run(directory.path(), &["add", "native", "-c", "bug", "-a", "dev"]));
    let id = stored_issues(directory.path())[1]["id"].as_str().unwrap().to_owned();
    let shown = done(&run(directory.path(), &["show", &id]));
    assert!(!shown.contains("  Created\n") && shown.contains("Issue filed by dev"), "{shown}");
}
