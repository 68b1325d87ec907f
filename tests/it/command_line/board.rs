//! `ait board`: waiting and claimed issues at a glance.

use std::process::Stdio;

use serde_json::{Value, json};

use super::{Desk, Running, assert_written};
use crate::support::files::{id, issue_json};
use crate::support::{Client, Log, signal, wait};

#[test]
fn board_shows_holders_and_waiting_issues() {
    let desk = Desk::with_one_in_each_status();
    assert_written!("board", desk.run(&["board"]).done().stdout());
    assert_written!("board_colour", desk.run(&["board", "--color", "always"]).done().stdout());
    assert_written!("board_json", desk.run(&["board", "--json"]).done().stdout());
    assert_written!("board_empty", Desk::new().run(&["board"]).done().stdout());
}

#[test]
fn board_orders_waiting_by_claim_order_and_held_by_latest_claim() {
    let at = |mut issue: Value, time: &str| {
        issue["history"][0]["timestamp"] = time.into();
        issue["modifiedAt"] = time.into();
        issue
    };
    let desk = Desk::with(&[
        at(issue_json(&id(1), "waits first", "created"), "2026-01-03T00:00:00.000Z"),
        at(issue_json(&id(2), "waits second", "created"), "2026-01-01T00:00:00.000Z"),
        at(issue_json(&id(3), "held later", "in_progress"), "2026-01-03T00:00:00.000Z"),
        at(issue_json(&id(4), "held longest", "in_progress"), "2026-01-01T00:00:00.000Z"),
    ]);
    let titles = |arguments: &[&str]| {
        let board = desk.run(arguments).done().json();
        let titles = |column: &Value| -> Vec<String> {
            let cards = column["cards"].as_array().unwrap();
            cards.iter().map(|card| card["title"].as_str().unwrap().to_owned()).collect()
        };
        board["columns"].as_array().unwrap()[..2].iter().flat_map(titles).collect::<Vec<_>>()
    };
    let all = ["waits first", "waits second", "held later", "held longest"];
    assert_eq!(titles(&["board", "--json"]), all);
    assert_eq!(titles(&["board", "--json", "-n", "0"]), all);
    assert_eq!(titles(&["board", "--json", "-n", "1"]), [all[0], all[2]]);
    let text = desk.run(&["board", "-n", "1"]).done().stdout();
    assert_eq!(text.matches("+1 more").count(), 2, "{text}");
}

#[test]
fn board_orders_by_priority_with_blocked_and_parked_last() {
    let desk = Desk::new();
    let (plain, blocked, urgent, parked) =
        (desk.add("plain"), desk.add("blocked"), desk.add("urgent"), desk.add("parked"));
    desk.run(&["edit", &blocked, "-p", "0", "--blocked-by", &plain]).done();
    desk.run(&["edit", &urgent, "-p", "1"]).done();
    desk.run(&["park", &parked, "-m", "m"]).done();
    desk.run(&["edit", &parked, "-p", "1"]).done();
    let cards = desk.run(&["board", "--json"]).done().json()["columns"][0]["cards"].clone();
    let titles: Vec<_> = cards.as_array().unwrap().iter().map(|card| &card["title"]).collect();
    assert_eq!(titles, ["urgent", "plain", "blocked", "parked"]);
}

#[test]
fn board_marks_priorities_obstacles_and_gone_clients() {
    let desk = Desk::new();
    let (held, blocked, parked) =
        (desk.add("held"), desk.add("blocked one"), desk.add("parked one"));
    desk.run(&["edit", &blocked, "-p", "0", "--blocked-by", &held]).done();
    desk.run(&["park", &parked, "-m", "m"]).done();
    // A claim over stdio has a client that can be killed.
    let mut client = Client::begin(desk.command(&[]).env("AIT_CLAIM_GRACE", "10m"));
    client.call("get_next_issue", json!({ "agent": "an agent with a long name" })).ok();
    let board = desk.run(&["board"]).done().stdout();
    assert!(!board.contains("gone"), "{board}");
    client.signal("KILL");
    client.wait();
    let board = desk.run(&["board", "--json"]).done().json();
    let cards = |column: usize| board["columns"][column]["cards"].as_array().unwrap().clone();
    let marks = |card: &Value| {
        (card["priority"].clone(), card["waits"].clone(), card["clientGone"].clone())
    };
    let of = |title: &str| cards(0).iter().find(|card| card["title"] == title).map(marks).unwrap();
    assert_eq!(of("blocked one"), (json!(0), json!("blocked"), Value::Null));
    assert_eq!(of("parked one"), (Value::Null, json!("parked"), Value::Null));
    assert_eq!(marks(&cards(1)[0]), (Value::Null, Value::Null, json!(true)));
    let board = desk.run(&["board"]).done().stdout();
    let blocked = format!("{} p0 blocked  blocked one", &blocked[..8]);
    let parked = format!("{} parked  parked one", &parked[..8]);
    for expected in [&*blocked, &*parked, "gone: an agent with a long name for"] {
        assert!(board.contains(expected), "{expected:?} is missing:\n{board}");
    }
}

#[test]
fn board_watch_reprints_the_board_on_each_change() {
    for (arguments, columns) in
        [(&["board", "--watch"][..], "CREATED"), (&["board", "-w", "--json"], "columns")]
    {
        let desk = Desk::new();
        desk.add("first");
        let mut command = desk.command(arguments);
        let mut child = Running(command.stderr(Stdio::piped()).spawn().unwrap());
        let boards = Log::of(child.0.stdout.take().unwrap());
        boards.wait_for("first");
        desk.add("second");
        boards.wait_for("second");
        signal(&child.0, "INT");
        assert!(wait(&mut child.0).success());
        let text = boards.whole();
        assert_eq!(text.matches(columns).count(), 2, "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
