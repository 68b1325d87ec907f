//! Lists, views and claims of issues with attributes and links.

use serde_json::{Value, json};

use super::{Desk, assert_written};
use crate::support::files::{id, issue_json};

/// Returns a desk with an epic and its parts, one of which waits for another, and with unrelated issues.
fn desk() -> Desk {
    let issue = |number: usize, title: &str, status: &str, more: Value| {
        let mut issue = issue_json(&id(number), title, status);
        issue["modifiedAt"] = format!("2026-02-0{number}T00:00:00.000Z").into();
        issue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        issue
    };
    let link = |kind: &str, to: usize| json!({"kind": kind, "to": id(to)});
    let parked =
        json!({"reason": "after the release", "since": "2026-02-06T00:00:00.000Z", "by": "lead"});
    Desk::with(&[
        issue(1, "epic", "created", json!({"priority": 3})),
        issue(2, "design", "closed", json!({"links": [link("parent", 1)]})),
        issue(3, "server", "in_progress", json!({"labels": ["api"], "links": [link("parent", 1)]})),
        issue(
            4,
            "client",
            "created",
            json!({"priority": 0, "labels": ["api", "ui"], "links": [link("parent", 1), link("blocked_by", 3)]}),
        ),
        issue(5, "docs", "created", json!({"assignee": "writer", "links": [link("related", 4)]})),
        issue(6, "party", "created", json!({"priority": 1, "parked": parked})),
        issue(7, "typo", "created", json!({})),
    ])
}

/// Returns the numbers of the issues that a command prints as JSON.
#[track_caller]
fn numbers(desk: &Desk, arguments: &[&str]) -> String {
    let listing = desk.run(&[arguments, &["--json"]].concat()).done().json();
    let number =
        |issue: &Value| issue["id"].as_str().unwrap()[..8].trim_start_matches('0').to_owned();
    let numbers: Vec<_> = listing["issues"].as_array().unwrap().iter().map(number).collect();
    assert_eq!(listing["total"], numbers.len());
    numbers.join(" ")
}

#[test]
fn list_filters_by_attributes_and_links() {
    let desk = desk();
    let parent = id(1);
    let cases: [(&[&str], &str); 15] = [
        (&["-p", "0"], "4"),
        (&["-p", "0-1"], "6 4"),
        (&["-p", "2"], "7 5 3"),
        (&["-l", "api"], "4 3"),
        (&["-l", "api,ui"], "4"),
        (&["-l", "api", "-l", "none"], ""),
        (&["--assignee", "writer"], "5"),
        (&["--assignee", "none", "-p", "2"], "7 3"),
        (&["--parent", &parent], "4 3"),
        (&["--parent", &parent, "--status", "all"], "4 3 2"),
        (&["--ready"], "7 5"),
        (&["--blocked"], "4"),
        (&["--parked"], "6"),
        (&["--blocked", "--sort", "filed", "-r"], "4"),
        (&["docs", "--ready"], "5"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(numbers(&desk, &[&["list"], arguments].concat()), expected, "{arguments:?}");
    }
    let page = desk.run(&["list", "-p", "2", "-n", "2", "--page", "2", "--json"]).done().json();
    assert_eq!((&page["total"], page["issues"].as_array().unwrap().len()), (&json!(3), 1));
    assert!(desk.run(&["list", "-p", "1-0"]).failed(2).contains("use 0-1"));
    assert!(desk.run(&["list", "--ready", "--blocked"]).failed(2).contains("cannot be used with"));
    assert!(desk.run(&["list", "--parent", "ffffffff"]).failed(1).contains("no issue ffffffff"));
}

#[test]
fn list_has_columns_only_for_attributes_that_occur() {
    let desk = desk();
    assert_written!("list_attributes", desk.run(&["list"]).done().stdout());
    let plain = desk.run(&["list", "typo"]).done().stdout();
    let head: Vec<_> = plain.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["ID", "STATUS", "KIND", "HELD", "BY", "CHANGED", "TITLE"]);
}

#[test]
fn ready_lists_what_next_claims_in_its_order() {
    let desk = desk();
    assert_eq!(numbers(&desk, &["ready"]), "7");
    assert_eq!(numbers(&desk, &["ready", "--agent", "writer"]), "5 7");
    desk.run(&["add", "urgent", "-p", "0", "-c", "bug"]).done();
    for agent in ["writer", "tester"] {
        let ready = desk.run(&["ready", "--agent", agent, "--json"]).done().json();
        let claimed = desk.run(&["next", "--agent", agent, "--json"]).done().json();
        assert_eq!(ready["issues"][0]["id"], claimed["id"]);
    }
    assert!(desk.run(&["ready"]).done().stdout().contains("typo"));
    assert_eq!(
        desk.run(&["ready", "-c", "feature"]).failed(0),
        "nothing to claim: no feature is waiting for work\n"
    );
}

#[test]
fn next_explains_why_no_issue_is_ready() {
    let desk = desk();
    desk.run(&["next"]).done();
    let expected = "nothing to claim: 4 bugs wait, none is ready for tester:\n  \
         00000001: its parts are the work: 00000003, 00000004\n  \
         00000004: it waits for 00000003\n  \
         00000005: it is assigned to writer\n  \
         and 1 more: `ait list --status created` shows all\n";
    assert_eq!(desk.run(&["ready", "-c", "bug"]).failed(0), expected);
    let expected = format!("{expected}tester holds 00000007: `ait show ID`\n");
    assert_eq!(desk.run(&["next", "-c", "bug"]).failed(1), expected);
}

#[test]
fn blocked_names_what_each_issue_waits_for() {
    let desk = desk();
    assert_written!("blocked", desk.run(&["blocked"]).done().stdout());
    let blocked = desk.run(&["blocked", "--json"]).done().json();
    // The whole waits for its parts.
    assert_eq!((&blocked["total"], &blocked["issues"][0]["title"]), (&json!(2), &json!("epic")));
    assert_eq!(blocked["issues"][1]["title"], "client");
    let waits_for = &blocked["issues"][1]["waitsFor"];
    assert_eq!(
        (&waits_for[0]["id"], &waits_for[0]["status"]),
        (&json!(id(3)), &json!("in_progress"))
    );
    for part in [3, 4] {
        desk.run(&["close", &id(part), "-m", "m"]).done();
    }
    assert_eq!(desk.run(&["blocked"]).failed(0), "no issue waits for another one\n");
}

#[test]
fn show_prints_attributes_parts_and_blocked_issues() {
    let desk = desk();
    let shown: String = [1, 3, 4, 5, 6]
        .iter()
        .map(|number| desk.run(&["show", &id(*number)]).done().stdout() + "\n")
        .collect();
    assert_written!("show_attributes", shown);
    let epic = desk.run(&["show", &id(1), "--json"]).done().json();
    let titles = |rows: &Value| -> Vec<Value> {
        rows.as_array().unwrap().iter().map(|row| row["title"].clone()).collect()
    };
    assert_eq!(titles(&epic["parts"]), ["design", "server", "client"]);
    let server = desk.run(&["show", &id(3), "--json"]).done().json();
    assert_eq!((titles(&server["blocks"]), server.get("parts")), (vec![json!("client")], None));
}

#[test]
fn tree_draws_parts_and_blockers() {
    let desk = desk();
    assert_written!("tree", desk.run(&["tree"]).done().stdout());
    assert_eq!(desk.run(&["tree", &id(7)]).done().stdout(), "00000007 created: typo\n");
    let tree = desk.run(&["tree", "--json"]).done().json();
    assert_eq!((&tree["issues"][0]["id"], &tree["truncated"]), (&json!(id(1)), &json!(false)));
    let client = &tree["issues"][0]["children"][2];
    assert_eq!((&client["title"], &client["relation"]), (&json!("client"), &json!("part")));
    assert_eq!(client["children"][0]["relation"], "blocker");
    let cut = desk.run(&["tree", "-n", "2"]).ends_with(0);
    assert_eq!(cut.stdout().lines().count(), 2);
    assert_eq!(cut.stderr(), "the tree ends after 2 issues: --limit 0 draws all\n");
    let whole = desk.run(&["tree", "-n", "5"]).done().stdout();
    assert_eq!(whole, desk.run(&["tree", "-n", "0"]).done().stdout());
    assert!(
        Desk::with(&[issue_json(&id(1), "t", "created")])
            .run(&["tree"])
            .failed(0)
            .contains("--parent ID")
    );
}

#[test]
fn tree_of_a_cycle_is_finite() {
    let linked = |number: usize, kind: &str, to: usize| {
        let mut issue = issue_json(&id(number), &format!("t{number}"), "created");
        issue["links"] = json!([{"kind": kind, "to": id(to)}]);
        issue
    };
    let desk = Desk::with(&[
        linked(1, "blocked_by", 2),
        linked(2, "blocked_by", 1),
        linked(3, "parent", 4),
        linked(4, "parent", 3),
        linked(5, "blocked_by", 5),
    ]);
    assert_written!("tree_cycles", desk.run(&["tree"]).done().stdout());
    assert_eq!(desk.run(&["tree", &id(2)]).done().stdout().lines().count(), 3);
}

#[test]
fn long_chains_of_blockers_are_drawn_to_a_limited_depth() {
    let chain = (1..=200).map(|number| {
        let mut issue = issue_json(&id(number), "t", "created");
        issue["links"] = json!([{"kind": "blocked_by", "to": id(number + 1)}]);
        issue
    });
    let last = issue_json(&id(201), "last", "created");
    let desk = Desk::with(&chain.chain([last]).collect::<Vec<_>>());
    let drawn = desk.run(&["tree", &id(1)]).done().stdout();
    assert_eq!(drawn.lines().count(), 30);
    assert!(drawn.ends_with(&format!("(`ait tree {}` goes on)\n", &id(30)[..8])), "{drawn}");
}

#[test]
fn search_finds_issues_in_any_status_by_their_texts() {
    let desk = desk();
    desk.run(&["comment", &id(2), "-m", "Drawn in FIGMA"]).done();
    assert_eq!(numbers(&desk, &["search", "figma"]), "2");
    assert_eq!(numbers(&desk, &["search", "E", "s", "DESIGN"]), "2");
    assert!(desk.run(&["search", "typo"]).done().stdout().contains("00000007  created"));
    assert_eq!(
        desk.run(&["search", "nowhere"]).failed(0),
        "no issue matches: `nowhere` excludes the last 7 issues\n"
    );
    assert!(desk.run(&["search"]).failed(2).contains("the words to find are missing"));
}

#[test]
fn stats_count_issues_and_measure_their_times() {
    let desk = Desk::with_one_in_each_status();
    let issue = desk.add("done today");
    for arguments in
        [&["claim", &issue][..], &["complete", &issue, "-m", "m"], &["close", &issue, "-m", "m"]]
    {
        desk.run(arguments).done();
    }
    assert_written!("stats", desk.run(&["stats", "--range", "24h"]).done().stdout());
    let stats = desk.run(&["stats", "--range", "24h", "--json"]).done().json();
    assert_eq!(
        (&stats["open"], &stats["total"], &stats["range"]),
        (&json!(4), &json!(7), &json!("24h"))
    );
    assert_eq!(stats["cycle"]["bug"]["count"], 1);
    assert_eq!(stats["throughput"]["total"]["filed"], 1);
    assert!(Desk::new().run(&["stats"]).done().stdout().starts_with("0 open of 0\n"));
    assert!(desk.run(&["stats", "--range", "1y"]).failed(2).contains("30d"));
}

#[test]
fn texts_of_linked_issues_are_never_interpreted_by_the_terminal() {
    let desk = Desk::new();
    let evil = desk.add("\u{1b}[31mred\u{9b}2J");
    let arguments = ["add", "whole", "--blocked-by", &evil, "--assignee", "a\u{1b}c", "--json"];
    let whole = desk.run(&arguments).done().json()["id"].as_str().unwrap().to_owned();
    desk.run(&["park", &evil, "-m", "why\u{1b}[1m\nand so on"]).done();
    for arguments in [
        &["tree"][..],
        &["blocked"],
        &["show", &whole],
        &["show", &evil],
        &["list"],
        &["search", "red"],
    ] {
        let shown = desk.run(arguments).done().stdout();
        assert!(!shown.contains(['\u{1b}', '\u{9b}']), "{arguments:?}: {shown:?}");
    }
    let nothing = desk.run(&["next"]).failed(1);
    assert!(nothing.contains("it is parked: why") && !nothing.contains('\u{1b}'), "{nothing:?}");
}

/// An issue does not wait for its parts while an agent works on it. A whole is drawn also when its parts have ended.
#[test]
fn wholes_are_drawn_whatever_their_parts_are() {
    let desk = Desk::new();
    let whole = desk.add("whole");
    desk.run(&["next", "-a", "dev"]).done();
    let added = desk.run(&["add", "part", "-c", "bug", "--parent", &whole, "--json"]).done();
    let part = added.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(desk.run(&["blocked"]).failed(0), "no issue waits for another one\n");
    let drawn = |desk: &Desk| desk.run(&["tree"]).done().stdout().lines().count();
    assert_eq!(drawn(&desk), 2);
    desk.run(&["close", &part, "-m", "done"]).done();
    assert_eq!(drawn(&desk), 2);
}
