//! The board and the agents.

use serde_json::{Value, json};

use super::{one_of_each, serve};
use crate::support::files::{id, issue_json};
use crate::support::get;

fn entry(at: &str, agent: &str, action: &str) -> Value {
    json!({ "timestamp": at, "agent": agent, "action": action })
}

/// Returns the column of a status.
fn column<'a>(body: &'a str, status: &str) -> &'a str {
    let begin = format!("<section id=\"c-{status}\"");
    let (_, rest) = body.split_once(&begin).unwrap_or_else(|| panic!("no {begin} in {body}"));
    rest.split("</section>").next().unwrap()
}

#[test]
fn the_board_has_a_card_for_each_issue() {
    let mut issues = one_of_each();
    let now = chrono::Utc::now();
    let ago = |hours: i64| (now - chrono::TimeDelta::hours(hours)).to_rfc3339();
    issues[1]["history"] = json!([entry(&ago(30), "sleepy", "Issue claimed for work")]);
    issues[3]["history"] = json!([
        // Nobody had claimed it, so this return is no failed try.
        entry(&ago(50), "ann", "Issue returned to created status"),
        entry(&ago(41), "ann", "Issue claimed for work"),
        entry(&ago(40), "ann", "Issue returned to created status"),
        entry(&ago(39), "ann", "Issue claimed for work"),
        entry(&ago(38), "ann", "Issue returned to created status"),
        entry(&ago(2), "quick", "Issue claimed for review"),
    ]);
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/board").body;
    for status in super::STATUSES {
        let column = column(&body, status);
        assert_eq!(column.matches("<article").count(), 1, "{column}");
        assert!(column.contains(&format!("the {status} one")), "{column}");
        assert!(column.contains("<span class=\"count\">1</span>"), "{column}");
    }
    let stale = column(&body, "in_progress");
    assert!(stale.contains("sleepy") && stale.contains("for 30 h"), "{stale}");
    assert!(stale.contains("card stale") && stale.contains("stale claim"), "{stale}");
    let fresh = column(&body, "in_review");
    assert!(fresh.contains("quick") && fresh.contains("for 2 h"), "{fresh}");
    assert!(!fresh.contains("card stale") && fresh.contains("returned 2 times"), "{fresh}");
}

#[test]
fn a_long_column_is_cut_and_links_to_the_rest() {
    let mut issues = Vec::new();
    for n in 0..50 {
        issues.push(issue_json(&id(n), &format!("waiting {n:02}"), "created"));
        let mut ended = issue_json(&id(100 + n), &format!("ended {n:02}"), "closed");
        ended["modifiedAt"] = json!(format!("2026-02-01T00:{n:02}:00.000Z"));
        issues.push(ended);
    }
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/board").body;
    let waiting = column(&body, "created");
    assert!(waiting.contains("waiting 00") && waiting.contains("waiting 39"), "{waiting}");
    assert!(!waiting.contains("waiting 40") && waiting.contains(">10 more</a>"), "{waiting}");
    let ended = column(&body, "closed");
    assert!(ended.contains("ended 49") && ended.contains("ended 30"), "{ended}");
    assert!(!ended.contains("ended 29") && ended.contains("href=\"/?status=closed\""), "{ended}");
    assert!(ended.find("ended 49") < ended.find("ended 48"), "the last ended issue is not first");
}

#[test]
fn each_agent_has_a_row_with_its_claims_and_actions() {
    let (_directory, mut client, port) = serve(&[]);
    assert!(get(port, "/agents").body.contains("No agent has done anything yet"));
    for title in ["first", "second"] {
        let issue =
            json!({ "title": title, "description": "", "classification": "bug", "agent": "lead" });
        client.call("add_issue", issue).ok();
    }
    let claimed = client.call("get_next_issue", json!({ "agent": "dev & co" })).issue();
    let done = json!({ "issue_id": claimed["id"], "comment": "c", "agent": "dev & co" });
    client.call("complete_issue", done).ok();
    client.call("get_next_issue", json!({ "agent": "dev & co" })).issue();
    let body = get(port, "/agents").body;
    let rows: Vec<&str> = body.split("<tr role=\"row\" id=\"a-").skip(1).collect();
    assert_eq!(rows.len(), 2, "{body}");
    let numbers = |row: &str| -> Vec<usize> {
        let cells = row.split("data-label=\"").skip(1);
        cells.map(|cell| cell.split(['>', '<']).nth(1).unwrap().parse().unwrap()).collect()
    };
    // Agents with claims come first.
    assert!(rows[0].contains("dev &amp; co") && rows[0].contains("href=\"/?agent=dev+%26+co\""));
    assert!(rows[0].contains("second") && rows[0].contains("badge status-in_progress"));
    assert_eq!(numbers(rows[0]), [0, 2, 1, 0, 0, 0, 0]);
    assert!(rows[1].contains("lead") && rows[1].contains("filed") && rows[1].contains("nothing"));
    assert_eq!(numbers(rows[1]), [2, 0, 0, 0, 0, 0, 0]);
}
