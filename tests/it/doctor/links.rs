//! Links that only external edits can make, and queues without a claimable issue.

use serde_json::{Value, json};

use super::{Examined, examine};
use crate::support::directory;
use crate::support::files::{id, issue_json, write_issues};
use crate::support::runs::run;

/// Returns an issue with links to other issues, by their numbers.
fn linked(number: usize, status: &str, links: &[(&str, usize)]) -> Value {
    let mut issue = issue_json(&id(number), "one", status);
    // An empty history agrees with every status.
    issue["history"] = json!([]);
    let link = |(kind, to): &(&str, usize)| json!({ "kind": kind, "to": id(*to) });
    if !links.is_empty() {
        issue["links"] = links.iter().map(link).collect();
    }
    issue
}

fn parked(number: usize, until: Option<&str>) -> Value {
    let mut issue = linked(number, "created", &[]);
    issue["parked"] =
        json!({ "reason": "holiday", "since": "2026-01-31T09:30:00.000Z", "by": "lead" });
    if let Some(until) = until {
        issue["parked"]["until"] = json!(until);
    }
    issue
}

fn examine_these(issues: &[Value]) -> Examined {
    let directory = directory();
    write_issues(directory.path(), issues);
    examine(directory.path())
}

#[test]
fn dependency_cycles_are_a_problem() {
    let free = linked(9, "created", &[]);
    for (issues, words) in [
        (
            vec![
                linked(1, "created", &[("blocked_by", 2)]),
                linked(2, "completed", &[("blocked_by", 1)]),
            ],
            [
                "00000001 waits for 00000002 waits for 00000001",
                "ait unlink 00000001 blocked-by 00000002",
            ],
        ),
        (
            vec![linked(1, "created", &[("blocked_by", 1)])],
            ["00000001 waits for 00000001", "ait unlink 00000001 blocked-by 00000001"],
        ),
        (
            // A parent waits for its part.
            vec![
                linked(1, "created", &[("parent", 2), ("blocked_by", 3)]),
                linked(2, "created", &[]),
                linked(3, "created", &[("blocked_by", 2)]),
            ],
            [
                "00000001 waits for 00000003 waits for 00000002",
                "ait unlink 00000001 blocked-by 00000003",
            ],
        ),
        (
            // A closed issue waits for nothing, but parents must not form a cycle.
            vec![
                linked(1, "closed", &[("parent", 2)]),
                linked(2, "closed", &[("parent", 1), ("blocked_by", 1)]),
            ],
            [
                "00000001 waits for 00000002 waits for 00000001",
                "ait unlink 00000002 parent 00000001",
            ],
        ),
    ] {
        let examined = examine_these(&[issues, vec![free.clone()]].concat());
        examined.only(&["links"]).is("links", "problem").says("links", &words).ends_with(1);
    }
}

#[test]
fn suggested_commands_break_the_cycles() {
    let directory = directory();
    let path = directory.path();
    write_issues(
        path,
        &[
            linked(1, "created", &[("blocked_by", 2)]),
            linked(2, "created", &[("parent", 1), ("blocked_by", 1)]),
        ],
    );
    for left in [true, false] {
        let examined = examine(path);
        let fix = examined.finding("links")["fix"].as_str().unwrap().to_owned();
        let command = fix.split('`').nth(1).unwrap();
        let arguments: Vec<_> = command.split(' ').skip(1).chain(["-a", "lead"]).collect();
        run(path, &arguments).ok();
        examine(path).is("links", if left { "problem" } else { "ok" });
    }
}

#[test]
fn ended_blockers_and_trees_are_no_cycles() {
    examine_these(&[
        linked(1, "closed", &[("blocked_by", 2)]),
        linked(2, "created", &[("blocked_by", 1), ("related", 1)]),
        linked(3, "created", &[]),
        linked(4, "created", &[("parent", 3), ("blocked_by", 2)]),
        linked(5, "created", &[("parent", 3), ("blocked_by", 4), ("related", 3)]),
    ])
    .only(&[])
    .ends_with(0);
}

#[test]
fn links_to_missing_issues_are_reported() {
    let directory = directory();
    let path = directory.path();
    write_issues(path, &[linked(1, "created", &[("blocked_by", 7)])]);
    let examined = examine(path);
    examined.only(&["links"]).is("links", "warning").ends_with(0);
    let missing = id(7);
    let unlink = format!("ait unlink 00000001 blocked-by {missing}");
    let says = format!("00000001 has the link blocked_by to {missing}, which does not exist");
    examined.says("links", &["1 link is inconsistent", &says, &unlink]);
    run(path, &["unlink", "00000001", "blocked-by", &missing, "-a", "lead"]).ok();
    examine(path).only(&[]);
}

#[test]
fn open_parts_of_a_closed_parent_are_reported() {
    let examined = examine_these(&[
        linked(1, "closed", &[]),
        linked(2, "in_progress", &[("parent", 1)]),
        linked(3, "closed", &[("parent", 1)]),
    ]);
    examined.only(&["links"]).is("links", "warning").ends_with(0);
    let says = "00000002 is in_progress, while its parent 00000001 is closed";
    examined
        .says("links", &["1 link is inconsistent", says, "ait unlink 00000002 parent 00000001"]);
}

#[test]
fn queue_without_a_claimable_issue_is_reported() {
    let assigned = || {
        let mut issue = linked(5, "created", &[]);
        issue["assignee"] = json!("dev");
        issue
    };
    let held_back = || {
        vec![
            parked(1, None),
            parked(2, Some("2999-01-31T09:30:00.000Z")),
            linked(3, "created", &[("blocked_by", 1)]),
        ]
    };
    let examined = examine_these(&held_back());
    examined.only(&["queue"]).is("queue", "warning").ends_with(0);
    let says = ["3 issues wait, but none can be claimed", "00000001: it is parked: holiday"];
    examined.says("queue", &says).says("queue", &["00000003: it waits for 00000001", "ait unpark"]);
    for moving in [
        linked(4, "created", &[]),
        assigned(),
        linked(4, "in_progress", &[]),
        linked(4, "in_review", &[]),
        linked(4, "completed", &[]),
        parked(4, Some("2026-01-31T09:30:01.000Z")),
    ] {
        examine_these(&[held_back(), vec![moving]].concat()).is("queue", "ok");
    }
    let mut unreviewable = parked(4, None);
    unreviewable["status"] = json!("completed");
    examine_these(&[held_back(), vec![unreviewable]].concat()).is("queue", "warning");
}
