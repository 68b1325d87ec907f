//! The section of the list page with issues that need attention.

use serde_json::{Value, json};

use super::serve;
use crate::support::files::{id, issue_json, write_issues};
use crate::support::http::{IN_PROGRESS, Server, wait_for_metric};
use crate::support::runs::run;
use crate::support::{Client, directory, get, until};

const CLAIMED: &str = "Issue claimed for work";
const RETURNED: &str = "Issue returned to created status";

fn hours_ago(hours: i64) -> String {
    let time = chrono::Utc::now() - chrono::TimeDelta::hours(hours);
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Returns an issue with a history of entries, each with its age in hours and its action.
fn issue(number: usize, title: &str, status: &str, entries: &[(i64, &str)]) -> Value {
    let mut issue = issue_json(&id(number), title, status);
    let entry = |(hours, action): &(i64, &str)| json!({ "timestamp": hours_ago(*hours), "agent": "worker", "action": action });
    issue["description"] = json!(format!("A description of {title}, which is long enough."));
    issue["history"] = entries.iter().map(entry).collect();
    issue["createdAt"] = json!(hours_ago(entries[0].0));
    issue["modifiedAt"] = json!(hours_ago(entries[entries.len() - 1].0));
    issue
}

fn parked(mut issue: Value, hours: i64, question: Option<&str>) -> Value {
    let reason = question.unwrap_or("There is no Mac.");
    issue["parked"] = json!({ "reason": reason, "since": hours_ago(hours), "by": "asker" });
    if let Some(text) = question {
        issue["parked"]["question"] = json!({ "text": text });
    }
    issue
}

/// Returns one issue for each reason for attention that the store alone can show.
fn troubled() -> Vec<Value> {
    let filed = (50, "Issue filed");
    let returns: Vec<_> = (0..3).flat_map(|n| [(9 - n, CLAIMED), (9 - n, RETURNED)]).collect();
    let returns: Vec<_> = [filed].into_iter().chain(returns).collect();
    vec![
        issue(0, "fine", "created", &[filed]),
        parked(
            issue(1, "asked later", "created", &[filed]),
            1,
            Some("Which **<port>**?\nAny, or `0`?"),
        ),
        parked(issue(2, "asked first", "created", &[filed]), 2, Some("Which disk?")),
        parked(issue(3, "no device", "created", &[filed]), 3, None),
        issue(4, "slow claim", "in_progress", &[filed, (30, CLAIMED)]),
        issue(5, "bounced", "created", &returns),
        issue(6, "unseen", "completed", &[filed, (40, CLAIMED), (30, "Issue completed")]),
    ]
}

/// Returns the attention section of the page, or an empty string.
fn section(body: &str) -> &str {
    let Some((_, rest)) = body.split_once("id=\"attention\"") else { return "" };
    rest.split_once("<div class=\"bar\"").unwrap().0
}

#[test]
fn the_attention_section_gives_reasons_and_next_steps() {
    let (_directory, _client, port) = serve(&troubled());
    let body = get(port, "/").body;
    let section = section(&body);
    for expected in [
        "<a href=\"/inbox\">Needs attention</a> <span class=\"count\">6</span>",
        "<a href=\"/inbox?kind=question\">Questions 2</a>",
        "<a href=\"/inbox?kind=old_claim\">Old claims 1</a>",
        "<a href=\"/inbox?kind=returned_often\">Returned often 1</a>",
        "<a href=\"/inbox?kind=waits_long_for_review\">Wait long for a review 1</a>",
        "<a href=\"/inbox?kind=parked\">Parked without an end 1</a>",
        "asker asks: Which disk?",
        "worker has held it for 30 h",
    ] {
        assert!(section.contains(expected), "no {expected:?} in {section}");
    }
    // One issue of each kind comes first; the oldest question leads.
    let titles = |body: &str| -> Vec<String> {
        let titles = body.split("<a class=\"attention-title\"").skip(1);
        titles.map(|rest| rest.split(['>', '<']).nth(1).unwrap().to_owned()).collect()
    };
    assert_eq!(titles(section), ["asked first", "slow claim"]);
    let inbox = get(port, "/inbox").body;
    for expected in [
        "asker asks: Which disk?",
        "asker asks: Which &lt;port&gt;? Any, or 0?",
        "<code>ait answer 00000002 'TEXT'</code>",
        "data-copy=\"ait answer 00000002 'TEXT'\"",
        "worker has held it for 30 h",
        "<code>ait return 00000004 --force -m WHY</code>",
        "returned 3 times",
        "parked by asker: There is no Mac.",
        "<code>ait unpark 00000003</code>",
    ] {
        assert!(inbox.contains(expected), "no {expected:?} in {inbox}");
    }
    let expected = ["asked first", "asked later", "slow claim", "bounced", "unseen", "no device"];
    assert_eq!(titles(&inbox), expected);
    assert_eq!(titles(&get(port, "/inbox?kind=question").body), ["asked first", "asked later"]);
    assert!(!inbox.contains("<form method"), "only those who may change issues put rows off");
    for path in ["/?page=1", "/?sort=title"] {
        assert!(get(port, path).body.contains("id=\"attention\""), "{path}");
    }
    for path in ["/?status=open", "/?q=fine", "/board", "/?parked=true"] {
        assert!(!get(port, path).body.contains("id=\"attention\""), "{path}");
    }
}

#[test]
fn page_titles_and_icons_count_issues_that_need_attention() {
    let (directory, _client, port) = serve(&troubled());
    let icon = |body: &str| {
        let (_, rest) = body.split_once("<link rel=\"icon\" href=\"").unwrap();
        get(port, rest.split('"').next().unwrap()).body
    };
    for path in super::PAGES {
        let body = get(port, path).body;
        assert!(body.contains("<title>6! (7) "), "{path}: {body}");
        assert!(icon(&body).contains(">6</text>"), "{path}");
    }
    // It is the number of the rows.
    let inbox = get(port, "/inbox").body;
    assert_eq!(inbox.matches("<span class=\"attention-kind\">").count(), 6, "{inbox}");
    assert!(inbox.contains("<h1 class=\"unseen\">Inbox 6</h1>"), "{inbox}");
    assert!(inbox.contains("Inbox <span class=\"count\">6</span>"), "{inbox}");
    let numbers: Value = serde_json::from_str(&get(port, "/api/project").body).unwrap();
    assert_eq!(numbers["inbox"], 6, "{numbers}");
    run(directory.path(), &["answer", "00000002", "the large one", "-a", "ann"]).ok();
    let body = get(port, "/").body;
    assert!(body.contains("<title>5! (7) ") && icon(&body).contains(">5</text>"), "{body}");
    // A narrow tab of an issue shows which one it is.
    let body = get(port, "/issues/00000002").body;
    let (_, title) = body.split_once("<title>").unwrap();
    let (title, _) = title.split_once("</title>").unwrap();
    assert!(title.starts_with("asked first · 00000002") && title.ends_with(" · 5!"), "{title}");
    assert!(!section(&body).contains("asked first"), "{body}");
}

#[test]
fn direction_overrides_in_agent_names_are_removed() {
    let mut slow = issue(0, "slow claim", "in_progress", &[(50, "Issue filed"), (30, CLAIMED)]);
    for entry in slow["history"].as_array_mut().unwrap() {
        entry["agent"] = json!("wor\u{202e}ker");
    }
    let (_directory, _client, port) = serve(&[slow]);
    for path in ["/", "/inbox", "/wall"] {
        let body = get(port, path).body;
        assert!(body.contains("worker has held it for 30 h"), "{path}: {body}");
    }
}

#[test]
fn the_attention_section_says_that_nothing_needs_attention() {
    let (_directory, _client, port) = serve(&troubled()[..1]);
    let body = get(port, "/").body;
    assert!(
        body.contains("<p class=\"attention calm\" id=\"attention\">Nothing needs attention"),
        "{body}"
    );
    assert!(body.contains("<title>(1) Issues"), "{body}");
    // An empty store shows how to begin instead.
    let (_directory, _client, port) = serve(&[]);
    assert_eq!(section(&get(port, "/").body), "");
}

#[test]
fn claims_of_dead_agents_need_attention() {
    let directory = directory();
    write_issues(directory.path(), &troubled()[..1]);
    let server = Server::start(directory.path());
    let mut lost = Client::start(directory.path());
    lost.call("get_next_issue", json!({ "agent": "lost-agent" })).issue();
    let body = || get(server.port, "/").body;
    assert!(!section(&body()).contains("lost-agent"));
    lost.signal("KILL");
    lost.wait();
    // On a busy machine the server checks for dead clients less often.
    until("the page shows the dead agent", || section(&body()).contains("lost-agent"));
    let body = body();
    let section = section(&body);
    assert!(section.contains("lost-agent is gone; its claim lapses in "), "{section}");
    assert!(section.contains("<code>ait return 00000000 --force -m WHY</code>"), "{section}");
    assert!(section.contains("<a href=\"/agents\">Agents gone 1</a>"), "{section}");
    assert!(get(server.port, "/agents").body.contains("<strong class=\"gone\">gone</strong>"));
}

#[test]
fn agents_that_wait_in_vain_need_attention() {
    let (_directory, mut client, port) = serve(&troubled()[3..4]);
    assert!(!section(&get(port, "/").body).contains("Nothing ready"));
    let wait = json!({ "agent": "idle-agent", "wait_seconds": 600 });
    let waiting = client.ask_tool("get_next_issue", wait);
    wait_for_metric(port, IN_PROGRESS, 1);
    let is_shown = || section(&get(port, "/").body).contains("wait for work: idle-agent");
    until("the page shows the waiting agent", is_shown);
    assert!(section(&get(port, "/").body).contains(">Nothing ready 1</a>"));
    client.add("work at last", "bug");
    client.answer(waiting).unwrap().issue();
    assert!(!is_shown());
}

#[test]
fn the_wallboard_shows_the_board_and_attention() {
    let mut issues = troubled();
    issues.extend(
        (10..20).map(|n| issue(n, &format!("more {n}"), "created", &[(40, "Issue filed")])),
    );
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/wall").body;
    let part = |id: &str| {
        let (_, rest) = body.split_once(&format!("<section id=\"{id}\"")).unwrap();
        rest.split_once("</section>").unwrap().0
    };
    let board = part("wall-board");
    assert!(board.contains(">slow claim</a>") && board.contains("worker</bdi> <time"), "{board}");
    assert!(board.contains("<span class=\"count\">15</span>"), "{board}");
    // Tab would scroll a column to cards that do not fit.
    assert_eq!(board.matches("<a href").count(), board.matches("tabindex=\"-1\"").count());
    let attention = part("wall-attention");
    assert!(
        attention.contains(">asked first</a>") && attention.contains("Which disk?"),
        "{attention}"
    );
    assert!(!attention.contains("<code>"), "{attention}");
    assert!(
        get(port, "/board").body.contains("<a class=\"other-place\" href=\"/wall\">Wallboard</a>")
    );
    for path in ["/?wall", "/board?label=a&wall=1"] {
        let page = get(port, path);
        assert!(page.body.contains("<section id=\"wall-board\""), "{path}: {}", page.body);
    }
    let (_directory, _client, port) = serve(&issues[..1]);
    let body = get(port, "/wall").body;
    assert!(body.contains("Nothing needs attention"), "{body}");
}

#[test]
fn board_renders_short_questions_and_cuts_long_ones() {
    let long = format!("**Which** one? {}", "word ".repeat(200));
    let issues = [
        parked(issue(1, "short", "created", &[(2, "Issue filed")]), 1, Some("**Which** `one`?")),
        parked(issue(2, "long", "created", &[(2, "Issue filed")]), 1, Some(&long)),
    ];
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/board").body;
    assert!(body.contains("<p><strong>Which</strong> <code>one</code>?</p>"), "{body}");
    assert!(body.contains("<p>Which one? word word") && !body.contains("**"), "{body}");
    let page = get(port, &format!("/issues/{}", id(2))).body;
    let whole = format!("<strong>Which</strong> one? {}", "word ".repeat(200).trim_end());
    assert!(page.contains(&whole), "{page}");
}
