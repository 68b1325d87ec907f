//! `ait log`: past events, and new ones with `--follow`.

use std::collections::HashMap;
use std::fs;
use std::process::Stdio;
use std::time::Instant;

use serde_json::Value;

use super::{Desk, Run, Running, assert_written};
use crate::support::files::{id, issue_json, issues_in_file, write_issues};
use crate::support::http::Server;
use crate::support::{Client, Log, PATIENCE, ait, signal, wait};

/// Returns a desk with an issue that went from filed to rejected, and one that was only filed.
fn busy() -> (Desk, String) {
    let desk = Desk::new();
    let first = desk.add("first");
    desk.run(&["next", "--agent", "dev-1"]).ends_with(0);
    desk.run(&["complete", &first, "-m", "\n  fixed\nin two places", "--agent", "dev-1"]).done();
    desk.run(&["review", "--agent", "reviewer"]).ends_with(0);
    desk.run(&["return", &first, "-m", "not yet", "--agent", "reviewer"]).done();
    desk.run(&["close", &first, "-m", "never mind", "--reject"]).done();
    desk.add("second");
    (desk, first)
}

fn agents_and_actions(lines: &str) -> Vec<String> {
    let entry = |line: &str| {
        let entry: Value = serde_json::from_str(line).unwrap();
        format!("{} {}", entry["agent"].as_str().unwrap(), entry["action"].as_str().unwrap())
    };
    lines.lines().map(entry).collect()
}

#[test]
fn log_prints_events_oldest_first() {
    let (desk, _) = busy();
    assert_written!("log", desk.run(&["log"]).done().stdout());
    assert_written!("log_json", desk.run(&["log", "--json"]).done().stdout());
    assert_written!(
        "log_colour",
        desk.run(&["log", "--color", "always", "-n", "2"]).done().stdout()
    );
}

#[test]
fn log_filters_by_issue_agent_time_and_count() {
    let (desk, first) = busy();
    let log = |arguments: &[&str]| {
        let arguments = [&["log", "--json"], arguments].concat();
        agents_and_actions(&desk.run(&arguments).ends_with(0).stdout())
    };
    let all = log(&[]);
    assert_eq!(all.len(), 7);
    assert_eq!(log(&["-n", "2"]), all[5..]);
    assert!(log(&["-n", "0"]).is_empty());
    assert_eq!(log(&["--issue", &first[..8]]), all[..6]);
    assert_eq!(log(&["--agent", "dev-1"]), all[1..3]);
    assert_eq!(log(&["--since", "1h", "--agent", "reviewer", "-n", "1"]), all[4..5]);
    assert!(log(&["--since", "2100-01-01"]).is_empty());
    assert_eq!(log(&["--since", "2000-01-01 12:00"]), all);
    let times = desk.run(&["log", "--json"]).stdout();
    let last: Value = serde_json::from_str(times.lines().last().unwrap()).unwrap();
    let since_last = log(&["--since", last["at"].as_str().unwrap()]);
    assert!(!since_last.is_empty() && all.ends_with(&since_last), "{since_last:?}");
}

#[test]
fn log_reports_invalid_arguments_and_empty_results() {
    let (desk, _) = busy();
    assert!(desk.run(&["log", "--since", "soon"]).failed(2).contains("90m"));
    assert!(desk.run(&["log", "--issue", &id(9)]).failed(1).contains(&id(9)));
    let nothing = desk.run(&["log", "--agent", "nobody"]).failed(0);
    assert_eq!(nothing, "no events match\n");
}

#[test]
fn escape_sequences_are_replaced_in_the_output() {
    let mut issue = issue_json(&id(1), "red \u{1b}[31m", "created");
    issue["history"][0]["agent"] = "a\u{1b}]0;b\u{7}".into();
    issue["history"][0]["action"] = "done\r\u{9b}1m".into();
    let desk = Desk::with(&[issue]);
    for command in [&["log", "--issue", &id(1)][..], &["board"], &["list"]] {
        let text = desk.run(command).done().stdout();
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{9b}', '\r']), "{text:?}");
        assert!(text.contains("red \u{fffd}[31m"), "{text:?}");
    }
}

/// Starts `log -f`. A test can wait for its lines.
fn follow(desk: &Desk, arguments: &[&str]) -> (Running, Log) {
    let mut command = desk.command(&[&["log", "-f"], arguments].concat());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = Log::of(child.stdout.take().unwrap());
    (Running(child), lines)
}

#[test]
fn log_follow_prints_each_change_of_every_process_once() {
    let desk = Desk::new();
    desk.add("before");
    let server = Server::start(desk.path());
    let (mut follower, lines) = follow(&desk, &["--json"]);
    lines.wait_for("\"before\"");
    let mut agents = [Client::start(desk.path()), Client::start(desk.path())];
    let mut by_url = crate::support::http::Agent::connect(server.port);
    for round in 0..10 {
        for (number, agent) in agents.iter_mut().enumerate() {
            agent.add(&format!("stdio {number} {round}"), "bug");
        }
        by_url.add(&format!("http {round}"));
        desk.add(&format!("command {round}"));
    }
    desk.add("the last");
    let text = lines.wait_for("\"the last\"");
    let mut counts = HashMap::new();
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        *counts.entry(entry["title"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 42, "{counts:?}");
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    let start = Instant::now();
    signal(&follower.0, "INT");
    assert!(wait(&mut follower.0).success());
    assert!(start.elapsed() < PATIENCE / 4);
}

#[test]
fn log_follow_continues_across_external_edits_and_invalid_files() {
    let desk = Desk::new();
    desk.add("first");
    desk.run(&["save"]).done();
    let (mut follower, lines) = follow(&desk, &[]);
    let problems = Log::of(follower.0.stderr.take().unwrap());
    lines.wait_for("first");
    let mut both = issues_in_file(desk.path());
    both.push(issue_json(&id(2), "by hand", "created"));
    write_issues(desk.path(), &both);
    lines.wait_for("by hand");
    fs::write(desk.path().join("issues.json"), "{").unwrap();
    problems.wait_for("issues.json, line 1");
    // Agents continue without the file.
    desk.run(&["add", "third", "-c", "bug"]).ends_with(0);
    lines.wait_for("third");
    write_issues(desk.path(), &both);
    desk.run(&["add", "fourth", "-c", "bug"]).ends_with(0);
    lines.wait_for("fourth");
    signal(&follower.0, "TERM");
    assert!(wait(&mut follower.0).success());
    let text = lines.whole();
    assert_eq!(text.lines().count(), 4, "{text}");
    assert_eq!(problems.whole().lines().count(), 1, "{}", problems.whole());
}

#[test]
fn log_follow_ends_when_stdout_is_closed() {
    let desk = Desk::new();
    desk.add("t");
    let mut command = ait(desk.path());
    command.args(["log", "-f"]);
    let mut child = command.spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(&mut stdout, &mut first).unwrap();
    // No event follows, so the command writes nothing more. The closed pipe alone must end it.
    drop(stdout);
    let run = Run(child.wait_with_output().unwrap());
    run.done();
}

#[test]
fn log_shows_ids_that_are_unique_in_the_store() {
    let desk = Desk::with(&[
        issue_json("3f2a9c1e-0000-4000-8000-000000000001", "one", "created"),
        issue_json("3f2a9c1e-7000-4000-8000-000000000002", "two", "created"),
        issue_json("8d1f02aa-0000-4000-8000-000000000003", "three", "created"),
    ]);
    for _ in 0..3 {
        desk.run(&["next"]).done();
    }
    let log = desk.run(&["log"]).done().stdout();
    let ids: Vec<_> = log.lines().map(|line| line.split_whitespace().nth(3).unwrap()).collect();
    assert_eq!(ids, ["3f2a9c1e-0", "3f2a9c1e-7", "8d1f02aa"], "{log}");
    let log = desk.run(&["log", "--issue", "3f2a9c1e-7"]).done().stdout();
    assert!(!log.is_empty() && log.lines().all(|line| line.contains(" 3f2a9c1e-7 ")), "{log}");
}
