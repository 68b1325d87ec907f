//! `ait list`: filters, orders and pages.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::{Desk, Run, assert_written};
use crate::support::files::{id, issue_json};

#[test]
fn list_shows_open_issues_as_table_or_json() {
    let desk = Desk::with_one_in_each_status();
    assert_written!("list", desk.run(&["list"]).done().stdout());
    assert_written!("list_json", desk.run(&["list", "--json"]).done().stdout());
    let coloured = desk.run(&["list", "--status", "all", "--color", "always"]).done().stdout();
    assert_written!("list_colour", coloured);
    let mut command = desk.command(&["list"]);
    let forced = Run(command.env("CLICOLOR_FORCE", "1").output().unwrap()).done().stdout();
    assert!(forced.contains('\u{1b}'));
    let mut command = desk.command(&["list"]);
    command.env("NO_COLOR", "1");
    assert!(!Run(command.output().unwrap()).done().stdout().contains('\u{1b}'));
}

fn desk() -> Desk {
    let issue = |number: usize, title: &str, status: &str, kind: &str, agent: &str| {
        let mut issue = issue_json(&id(number), title, status);
        issue["classification"] = kind.into();
        issue["modifiedAt"] = format!("2026-02-0{number}T00:00:00.000Z").into();
        issue["history"][0]["agent"] = agent.into();
        issue
    };
    let mut urgent = issue(3, "gamma", "in_review", "improvement", "b");
    urgent["priority"] = 1.into();
    let mut with_comment = issue(4, "delta", "completed", "bug", "b");
    with_comment["comments"] = serde_json::json!([
        { "timestamp": "2026-02-04T00:00:00.000Z", "agent": "b", "text": "Seen on SAFARI" },
    ]);
    Desk::with(&[
        issue(1, "beta safari", "created", "bug", "a"),
        issue(2, "Alpha", "in_progress", "feature", "a"),
        urgent,
        with_comment,
        issue(5, "epsilon", "closed", "bug", "a"),
    ])
}

#[test]
fn list_filters_sorts_and_paginates() {
    let desk = desk();
    let cases: [(&[&str], &str, u64); 20] = [
        (&[], "4 3 2 1", 4),
        (&["--status", "all"], "5 4 3 2 1", 5),
        (&["-s", "created,closed"], "5 1", 2),
        (&["-s", "created", "-s", "in_review"], "3 1", 2),
        (&["-c", "bug"], "4 1", 2),
        (&["safari"], "1 4", 2),
        (&["safari", "--sort", "changed"], "4 1", 2),
        (&["SAFARI", "beta"], "1", 1),
        (&["00000003"], "3", 1),
        (&["--holder", "a"], "2", 1),
        (&["--agent", "b"], "4 3", 2),
        (&["--sort", "filed"], "1 2 3 4", 4),
        (&["-s", "in-progress,In-Review"], "3 2", 2),
        (&["--sort", "priority"], "3 1 2 4", 4),
        (&["--sort", "priority", "-r", "-n", "1"], "4", 4),
        (&["--sort", "title"], "2 1 4 3", 4),
        (&["--sort", "title", "-r"], "3 4 1 2", 4),
        (&["-n", "3"], "4 3 2", 4),
        (&["-n", "3", "--page", "2"], "1", 4),
        (&["-n", "0"], "4 3 2 1", 4),
    ];
    for (arguments, expected, total) in cases {
        let run = desk.run(&[&["list", "--json"], arguments].concat()).done();
        let listing = run.json();
        let number =
            |issue: &Value| issue["id"].as_str().unwrap()[..8].trim_start_matches('0').to_owned();
        let numbers: Vec<_> = listing["issues"].as_array().unwrap().iter().map(number).collect();
        assert_eq!(
            (numbers.join(" ").as_str(), listing["total"].as_u64()),
            (expected, Some(total)),
            "{arguments:?}"
        );
    }
}

#[test]
fn list_reports_partial_and_empty_results() {
    let desk = desk();
    let part = desk.run(&["list", "-n", "3"]).ends_with(0);
    assert_eq!(part.stdout().lines().count(), 4);
    assert_eq!(part.stderr(), "1 to 3 of 4: --page 2 shows more, --limit 0 shows all\n");
    let beyond = desk.run(&["list", "-n", "3", "--page", "3"]).failed(0);
    assert_eq!(beyond, "no such page: 4 issues match, 2 pages\n");
    let none = desk.run(&["list", "nowhere"]).failed(0);
    assert!(none.starts_with("no issue matches"), "{none}");
    assert!(desk.run(&["list", "--page", "0"]).failed(2).contains("begin with 1"));
    assert!(desk.run(&["list", "--status", "done"]).failed(2).contains("completed"));
}

#[test]
fn closed_output_pipe_is_not_an_error() {
    let line = |number| issue_json(&id(number), "one of many", "created").to_string() + "\n";
    let desk = Desk::new();
    let lines: String = (1..=2_000).map(line).collect();
    std::fs::write(desk.path().join("many.jsonl"), lines).unwrap();
    desk.run(&["import", "many.jsonl"]).ends_with(0);
    for arguments in [
        &["list"][..],
        &["list", "--json"],
        &["log"],
        &["log", "--json"],
        &["board"],
        &["board", "--json"],
    ] {
        let mut child = desk.command(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = Vec::new();
        // Reads a few bytes instead of a line, because the JSON is one line.
        let mut reader = BufReader::with_capacity(64, child.stdout.take().unwrap());
        line.extend_from_slice(reader.fill_buf().unwrap());
        assert!(!line.is_empty());
        drop(reader);
        let run = Run(child.wait_with_output().unwrap()).ends_with(0);
        assert_eq!(run.stderr(), "", "{arguments:?}");
    }
}

#[test]
fn listed_ids_are_unique_despite_a_common_prefix() {
    let alike = ["3f2a9c1e-7000-4000-8000-000000000001", "3f2a9c1e-7010-4000-8000-000000000002"];
    let other = "3f2a9c1f-0000-4000-8000-000000000003";
    let issue = |id: &str| issue_json(id, "t", "in_progress");
    let desk = Desk::with(&[issue(alike[0]), issue(alike[1]), issue(other)]);
    let status = desk.run(&["status", "--old-after", "1s"]).done().stdout();
    for shown in [
        desk.run(&["list"]).done().stdout(),
        desk.run(&["board"]).done().stdout(),
        status.split_once("OLD CLAIM").unwrap().1.to_owned(),
    ] {
        for id in [&alike[0][..12], &alike[1][..12], &other[..8]] {
            assert_eq!(shown.split_whitespace().filter(|word| *word == id).count(), 1, "{shown}");
        }
    }
    // The printed prefix is enough to name the issue.
    assert_eq!(desk.run(&["show", &alike[1][..12], "--json"]).done().json()["id"], alike[1]);
}

/// Ids that differ in their last digits alone must not cost all other rows the width of a whole id.
#[test]
fn a_long_id_widens_its_own_row_alone() {
    let alike = ["3f2a9c1e-0000-4000-8000-000000000001", "3f2a9c1e-0000-4000-8000-000000000002"];
    let issue = |id: &str, title: &str| issue_json(id, title, "created");
    let other = issue("8d1f02aa-0000-4000-8000-000000000003", "three");
    let desk = Desk::with(&[issue(alike[0], "one"), issue(alike[1], "two"), other]);
    let listed = desk.run(&["list"]).done().stdout();
    for row in ["ID        STATUS ", "8d1f02aa  created "] {
        assert!(listed.lines().any(|line| line.starts_with(row)), "{listed}");
    }
    for id in alike {
        assert!(listed.contains(&format!("\n{id}  created ")), "{listed}");
    }
}

#[test]
fn commands_on_an_empty_store_say_how_to_file_an_issue() {
    let desk = Desk::new();
    let hint = "no issues yet: `ait add \"TITLE\"` files one\n";
    for (arguments, code) in [
        (&["list"][..], 0),
        (&["list", "text", "--status", "all"], 0),
        (&["log"], 0),
        (&["next"], 1),
        (&["next", "-c", "bug"], 1),
        (&["review"], 1),
    ] {
        assert_eq!(desk.run(arguments).failed(code), hint, "{arguments:?}");
    }
    for command in ["status", "board"] {
        assert!(desk.run(&[command]).done().stdout().contains(hint), "{command}");
    }
    assert_eq!(desk.run(&["next", "--json"]).ends_with(1).stdout(), "null\n");
}

#[test]
fn list_prints_the_selected_fields_as_json() {
    let desk = Desk::with_one_in_each_status();
    let arguments = ["list", "--sort", "filed", "-n", "1", "--fields", "title,status"];
    let listed: Value = serde_json::from_str(&desk.run(&arguments).done().stdout()).unwrap();
    let issue = listed["issues"][0].as_object().unwrap();
    assert_eq!(issue.keys().collect::<Vec<_>>(), ["title", "status"]);
    let unknown = desk.run(&["list", "--fields", "titel"]).stderr();
    assert!(unknown.contains("there is no field \"titel\"; the fields are id, title"), "{unknown}");
}
