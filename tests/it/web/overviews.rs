//! The board and the agents.

use serde_json::{Value, json};

use super::{one_of_each, serve};
use crate::support::files::{id, issue_json, write_issues};
use crate::support::http::Server;
use crate::support::{directory, get};

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
        // This return has no claim before it, so it is no failed attempt.
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
    assert!(stale.contains("card stale") && stale.contains("old claim"), "{stale}");
    let fresh = column(&body, "in_review");
    assert!(fresh.contains("quick") && fresh.contains("for 2 h"), "{fresh}");
    assert!(!fresh.contains("card stale") && fresh.contains("returned 2 times"), "{fresh}");
}

#[test]
fn a_long_column_is_truncated_with_a_link_to_the_rest() {
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
    assert!(ended.contains("ended 49") && ended.contains("ended 40"), "{ended}");
    assert!(!ended.contains("ended 39") && ended.contains("href=\"/?status=closed\""), "{ended}");
    assert!(ended.find("ended 49") < ended.find("ended 48"), "the last ended issue is not first");
}

#[test]
fn each_agent_has_a_line_and_people_stand_apart() {
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
    let (agents, people) = body.split_once("People, and agents without a claim").unwrap();
    let rows: Vec<&str> = agents.split("<tr role=\"row\" id=\"a-").skip(1).collect();
    assert_eq!(rows.len(), 1, "{body}");
    for expected in [
        "dev &amp; co",
        "href=\"/agents/dev%20%26%20co\"",
        ">second</a>",
        "badge-icon status-in_progress",
        "<span class=\"alive\">works</span>",
        "aria-label=\"2 claims for work, 0 for review\"",
        "title=\"the median of its kind\"> / ",
        "<span>0 of 1</span>",
    ] {
        assert!(rows[0].contains(expected), "{expected}: {}", rows[0]);
    }
    assert_eq!(rows[0].matches("<rect class=\"status-in_progress\"").count(), 2);
    assert!(people.contains("lead") && people.contains("filed") && !people.contains("dev &amp;"));
}

#[test]
fn the_worst_agents_come_first() {
    let now = chrono::Utc::now();
    let ago = |minutes: i64| (now - chrono::TimeDelta::minutes(minutes)).to_rfc3339();
    let work = "Issue claimed for work";
    let claimed = |n: usize, agent: &str, minutes: i64| {
        let mut issue = issue_json(&id(n), &format!("of {agent}"), "in_progress");
        issue["history"] = json!([entry(&ago(minutes), agent, work)]);
        issue["modifiedAt"] = json!(ago(minutes));
        issue
    };
    let mut done = issue_json(&id(0), "done", "completed");
    let usage = json!({ "claim": 1, "input": 1_000, "output": 2, "turns": 1, "seconds": 1, "micros": 4_560_000 });
    done["history"] = json!([
        entry(&ago(300), "idle", work),
        entry(&ago(260), "idle", "Issue completed"),
        entry(&ago(240), "idle", "Usage recorded"),
    ]);
    done["history"][2]["usage"] = usage;
    done["modifiedAt"] = json!(ago(240));
    // Three claims say how long such claims take.
    let again = |n: usize| {
        let mut again = done.clone();
        again["id"] = json!(id(n));
        again["history"].as_array_mut().unwrap().truncate(2);
        again
    };
    let mut asked = issue_json(&id(1), "asked about", "created");
    asked["history"] =
        json!([entry(&ago(30), "asks", work), entry(&ago(20), "asks", "Question asked")]);
    let question = json!({ "text": "Which?" });
    asked["parked"] =
        json!({ "reason": "Which?", "since": ago(20), "by": "asks", "question": question });
    asked["modifiedAt"] = json!(ago(20));
    let issues = [
        again(5),
        again(6),
        done.clone(),
        asked,
        claimed(2, "works", 5),
        claimed(3, "silent", 90),
        // The median of bugs is 40 minutes.
        claimed(4, "stuck", 130),
    ];
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/agents").body;
    let rows: Vec<&str> = body.split("<tr role=\"row\" id=\"a-").skip(1).collect();
    let state = |row: &&str| {
        row.split_once("role=\"cell\">").unwrap().1.split(['<', '>']).nth(2).map(str::to_owned)
    };
    let states: Vec<_> = rows.iter().filter_map(state).collect();
    assert_eq!(states, ["stuck", "asks", "silent 1 h", "works", "idle"], "{body}");
    assert!(rows[0].contains(">2 h<") && rows[0].contains(" / 40 min"), "{}", rows[0]);
    assert!(rows[1].contains(">asked about</a>") && rows[4].contains(">4.56<"), "{body}");
    // Every page that says who holds an issue says that its holder is silent.
    for page in ["/wall", "/board", "/board?rows=agent", "/"] {
        let body = get(port, page).body;
        let (silent, others) =
            (body.matches(">silent 1 h<").count(), body.matches(">silent ").count());
        assert_eq!((silent, others), (1, 2), "{page}: {body}");
    }
    let list = get(port, "/").body;
    assert!(list.contains(">completed<") && !list.contains(">recorded usage<"), "{list}");
    let of = |n: usize| get(port, &format!("/issues/{}", id(n))).body;
    assert!(of(3).contains(">silent 1 h<") && !of(2).contains(">silent "));
}

#[test]
fn the_page_of_an_agent_shows_its_claims_and_times() {
    let now = chrono::Utc::now();
    let ago = |minutes: i64| (now - chrono::TimeDelta::minutes(minutes)).to_rfc3339();
    let mut issues = one_of_each();
    let (work, done) = ("Issue claimed for work", "Issue completed");
    issues[2]["history"] = json!([entry(&ago(90), "dev/1", work), entry(&ago(60), "dev/1", done)]);
    issues[3]["history"] = json!([
        entry(&ago(4_000), "dev/1", work),
        entry(&ago(3_000), "dev/1", done),
        entry(&ago(2_900), "ann", "Issue claimed for review"),
        entry(&ago(2_800), "ann", "Issue returned to created status"),
        entry(&ago(50), "dev/1", work),
        entry(&ago(40), "dev/1", done),
        entry(&ago(30), "ann", "Issue claimed for review"),
    ]);
    for number in [2, 3] {
        issues[number]["modifiedAt"] = json!(ago(30));
    }
    let (_directory, _client, port) = serve(&issues);
    let value = |body: &str, name: &str| {
        let (_, rest) = body.split_once(&format!("<dt>{name}</dt>")).unwrap();
        let (_, rest) = rest.split_once("class=\"value\">").unwrap();
        rest.split('<').next().unwrap().to_owned()
    };
    let values = |path: &str| {
        let page = get(port, path);
        assert_eq!(page.status, 200, "{path}");
        ["Holding", "Completed", "Reviewed", "Sent back", "Cycle time"]
            .map(|name| value(&page.body, name))
    };
    assert_eq!(values("/agents/dev%2F1"), ["0", "2", "0", "0", "30 min"]);
    assert_eq!(values("/agents/dev%2F1?range=7d"), ["0", "3", "0", "1", "30 min"]);
    assert_eq!(values("/agents/ann?range=7d"), ["1", "0", "1", "0", "none"]);
    let body = get(port, "/agents/ann").body;
    assert!(body.contains("the in_review one") && body.contains("still held"), "{body}");
    let missing = get(port, "/agents/unknown");
    assert_eq!(missing.status, 404);
    assert!(missing.body.contains("No agent called “unknown”"), "{}", missing.body);
}

#[test]
fn the_board_is_filtered_and_links_to_the_same_list() {
    let mut issues = Vec::new();
    for n in 0..90 {
        let mut issue = issue_json(&id(n), &format!("number {n:02}"), "created");
        issue["labels"] = json!([if n % 2 == 0 { "even" } else { "odd" }]);
        issue["priority"] = json!(n % 5);
        issues.push(issue);
    }
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/board?label=odd").body;
    let created = column(&body, "created");
    assert_eq!(created.matches("<article").count(), 40);
    assert!(created.contains("<span class=\"count\">45</span>"), "{created}");
    assert!(created.contains("href=\"/?status=created&amp;label=odd\">5 more</a>"), "{created}");
    let both = get(port, "/board?label=odd&priority=1").body;
    assert_eq!(column(&both, "created").matches("<article").count(), 9);
    let none = get(port, "/board?agent=unheard-of").body;
    assert!(none.contains("No issue matches the filters"), "{none}");
    // The whole query language, with links from each page to the other.
    let searched = get(port, "/board?q=label:odd+priority:1+%22number+1%22&sort=title").body;
    assert_eq!(shown(&searched), [11], "{searched}");
    let other = "<a class=\"other-place\" href=\"/?q=label%3Aodd+priority%3A1+%22number+1%22&amp;sort=title\" title=\"As a list\">";
    assert!(searched.contains(other), "{searched}");
    let list = get(port, "/?q=label:odd&page=2").body;
    let other = "<a class=\"other-place\" href=\"/board?q=label%3Aodd\" title=\"As a board\">";
    assert!(list.contains(other), "{list}");
    let wrong = get(port, "/board?q=priority:9");
    assert_eq!(wrong.status, 400);
    assert!(wrong.body.contains("Invalid search") && shown(&wrong.body).is_empty());
    for query in ["priority=9", "label=UI", "rows=status", "status=x"] {
        assert_eq!(get(port, &format!("/board?{query}")).status, 400, "{query}");
    }
}

/// Returns the numbers of the issues that have cards, in their order.
fn shown(body: &str) -> Vec<usize> {
    let cards = body.split("<article id=\"i-").skip(1);
    cards.map(|card| usize::from_str_radix(&card[..8], 16).unwrap()).collect()
}

#[test]
fn the_board_has_the_columns_of_the_statuses_that_a_query_includes() {
    let (_directory, _client, port) = serve(&one_of_each());
    for (query, columns, dropped) in [
        ("status=open", &super::STATUSES[..4], "/board"),
        ("status=closed&rows=agent", &super::STATUSES[4..5], "/board?rows=agent"),
        ("q=status:created,closed", &["created", "closed"][..], ""),
        ("q=the", &super::STATUSES[..], ""),
    ] {
        let body = get(port, &format!("/board?{query}")).body;
        for status in super::STATUSES {
            let has_column = body.contains(&format!("<section id=\"c-{status}\""));
            assert_eq!(has_column, columns.contains(&status), "{query}: {status}: {body}");
        }
        let chip = format!("<a class=\"chip\" href=\"{dropped}\">");
        assert!(dropped.is_empty() || body.contains(&chip), "{query}: {body}");
    }
}

#[test]
fn a_filtered_board_counts_more_than_it_looks_at() {
    let mut issues = Vec::new();
    for n in 0..700 {
        let status = if n < 600 { "created" } else { "closed" };
        let mut issue = issue_json(&id(n), &format!("backlog {n}"), status);
        issue["labels"] = json!(["ui"]);
        issue["modifiedAt"] = json!(format!("2026-02-01T00:00:00.{n:03}Z"));
        issue["priority"] = json!(if n == 599 { 0 } else { 3 });
        issues.push(issue);
    }
    let (_directory, _client, port) = serve(&issues);
    let count = |body: &str, status: &str| {
        let (_, rest) = column(body, status).split_once("<span class=\"count\">").unwrap();
        rest.split('<').next().unwrap().to_owned()
    };
    let body = get(port, "/board?label=ui").body;
    assert_eq!(["created", "closed"].map(|status| count(&body, status)), ["600", "100"]);
    assert!(column(&body, "created").contains(">560 more</a>"), "{body}");
    assert_eq!(shown(column(&body, "created"))[..3], [599, 0, 1]);
    assert_eq!(shown(column(&body, "closed")), Vec::from_iter((690..700).rev()));
    // Of a search for words no more than 500 are counted.
    let body = get(port, "/board?q=backlog").body;
    assert_eq!(["created", "closed"].map(|status| count(&body, status)), ["500+", "100"]);
}

#[test]
fn the_board_offers_saved_queries() {
    let directory = directory();
    std::fs::write(directory.path().join("ait.toml"), "[queries]\nmine = \"label:ui\"\n").unwrap();
    let mut issues = one_of_each();
    issues[0]["labels"] = json!(["ui"]);
    write_issues(directory.path(), &issues);
    let server = Server::start(directory.path());
    let body = get(server.port, "/board?rows=agent").body;
    let tab = "<a href=\"/board?q=%40mine&amp;rows=agent\" title=\"label:ui\">@mine</a>";
    assert!(body.contains(tab), "{body}");
    let body = get(server.port, "/board?q=@mine").body;
    assert!(body.contains("aria-current=\"true\">@mine</a>") && shown(&body) == [0], "{body}");
}

#[test]
fn the_newest_claims_come_first_and_old_ones_are_counted() {
    let ago = |hours: i64| (chrono::Utc::now() - chrono::TimeDelta::hours(hours)).to_rfc3339();
    let claimed = |n: usize, hours: i64| {
        let mut issue = issue_json(&id(n), &format!("held for {hours} h"), "in_progress");
        issue["history"] = json!([entry(&ago(hours), "dev", "Issue claimed for work")]);
        issue
    };
    let (_directory, _client, port) = serve(&[claimed(0, 30), claimed(1, 1), claimed(2, 40)]);
    let body = get(port, "/board").body;
    let shown = column(&body, "in_progress");
    let position = |title: &str| shown.find(title).unwrap();
    assert!(position("held for 1 h") < position("held for 30 h"), "{shown}");
    assert!(position("held for 30 h") < position("held for 40 h"), "{shown}");
    assert!(shown.contains("<span class=\"stale\">2 old</span>"), "{shown}");
}

/// Returns the target of the link with this text.
fn link<'a>(body: &'a str, text: &str) -> &'a str {
    let (before, _) =
        body.split_once(&format!("\">{text}</a>")).unwrap_or_else(|| panic!("{body}"));
    before.rsplit("href=\"").next().unwrap()
}

#[test]
fn the_linked_list_has_the_cards_that_the_board_omits() {
    let mut issues = Vec::new();
    for n in 0..50 {
        let mut issue = issue_json(&id(n), &format!("waiting {n:02}"), "created");
        issue["assignee"] = json!("ann b");
        issues.push(issue);
    }
    issues.push(issue_json(&id(50), "without an owner", "created"));
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/board?agent=ann+b").body;
    let list = get(port, &link(&body, "10 more").replace("&amp;", "&")).body;
    assert!(list.contains("50 issues") && !list.contains("without an owner"), "{list}");
}

#[test]
fn many_agents_have_several_pages() {
    let issues: Vec<_> = (0..45)
        .map(|n| {
            let mut issue = issue_json(&id(n), "t", "created");
            issue["history"] = json!([entry(
                "2026-01-31T09:30:00.000Z",
                &format!("agent {n:02}"),
                "Issue claimed for work"
            )]);
            issue
        })
        .collect();
    let (_directory, _client, port) = serve(&issues);
    let rows = |body: &str| body.matches("<tr role=\"row\" id=\"a-").count();
    let first = get(port, "/agents").body;
    assert!(rows(&first) == 40 && first.contains("1 to 40 of 45"), "{first}");
    let next = link(&first, "Next").replace("&amp;", "&");
    let second = get(port, &next).body;
    assert!(rows(&second) == 5 && second.contains("agent 44"), "{second}");
    assert_eq!(link(&second, "Previous"), "/agents?page=1");
    assert_eq!(get(port, "/agents?page=99").body.matches(" rel=\"next\"").count(), 0);
    assert_eq!(get(port, "/agents?page=0").status, 400);
}

#[test]
fn many_findings_of_a_kind_have_their_own_page() {
    let issues: Vec<_> = (0..150).map(|n| issue_json(&id(n), "TODO", "created")).collect();
    let (_directory, _client, port) = serve(&issues);
    let findings = |body: &str| body.matches("<div class=\"attention-what\"").count();
    let all = get(port, "/inbox").body;
    assert!(findings(&all) == 60, "{}", findings(&all));
    let (_, titles) = all.split_once("Titles that say nothing").unwrap();
    let path = link(titles, "130 more").to_owned();
    assert_eq!(path, "/inbox?kind=placeholder_title");
    let one = get(port, &path).body;
    assert!(findings(&one) == 100 && one.contains("<span class=\"count\">150</span>"), "{one}");
    // The address of before leads there.
    assert_eq!(findings(&get(port, "/triage?kind=placeholder_title").body), 100);
}

#[test]
fn the_board_has_a_row_for_each_agent_if_asked() {
    let mut issues = one_of_each();
    let now = chrono::Utc::now().to_rfc3339();
    issues[0]["assignee"] = json!("zoe");
    issues[1]["history"] = json!([entry(&now, "ann", "Issue claimed for work")]);
    let (_directory, _client, port) = serve(&issues);
    let plain = get(port, "/board").body;
    assert!(plain.contains("<option value=\"agent\">by agent</option>"), "{plain}");
    assert!(!plain.contains("class=\"row\""), "{plain}");
    let body = get(port, "/board?rows=agent").body;
    let rows: Vec<_> = body.split("<section class=\"row\">").skip(1).collect();
    let row = |name: &str| {
        let is_row = |row: &&&str| row.split("</h2>").next().unwrap().contains(name);
        *rows.iter().find(is_row).unwrap_or_else(|| panic!("no {name} in {body}"))
    };
    assert!(row("ann").contains(&format!("id=\"card-{}\"", id(1))), "{body}");
    assert!(row("zoe").contains(&format!("id=\"card-{}\"", id(0))), "{body}");
    assert!(rows.last().unwrap().contains("No agent"), "{body}");
    // The headings count as those without rows, and each open issue has one card.
    for status in ["created", "in_progress", "completed", "in_review"] {
        let heading = |body: &str| column(body, status).split("</h2>").next().unwrap().to_owned();
        assert_eq!(heading(&plain), heading(&body));
    }
    assert_eq!(body.matches("id=\"card-").count(), plain.matches("id=\"card-").count());
    assert!(body.contains("<option value=\"agent\" selected>"), "{body}");
}

#[test]
fn the_list_has_groups_if_asked() {
    let mut issues = one_of_each();
    issues[1]["labels"] = json!(["ui", "web"]);
    issues[3]["labels"] = json!(["ui"]);
    let (_directory, _client, port) = serve(&issues);
    let groups = |query: &str| {
        let body = get(port, &format!("/?{query}")).body;
        let groups = body.split("<tr class=\"group\"").skip(1);
        let group = |group: &str| {
            let (head, rows) = group.split_once("</tr>").unwrap();
            (head.to_owned(), rows.split("</tbody>").next().unwrap().matches("id=\"i-").count())
        };
        groups.map(group).collect::<Vec<_>>()
    };
    assert!(groups("").is_empty());
    let by_label = groups("rows=label");
    assert!(by_label[0].0.contains("ui") && by_label[0].0.contains(">2<"), "{by_label:?}");
    assert!(by_label[1].0.contains("No label"), "{by_label:?}");
    assert_eq!(by_label.iter().map(|group| group.1).collect::<Vec<_>>(), [2, 2]);
    let by_status = groups("rows=status&status=all");
    let names = ["created", "in progress", "completed", "in review", "closed", "rejected"];
    assert_eq!(by_status.len(), names.len());
    for ((head, rows), name) in by_status.iter().zip(names) {
        assert!(head.contains(name) && *rows == 1, "{name}: {by_status:?}");
    }
    // Links stay with the groups, and the board has columns for statuses.
    let body = get(port, "/?rows=label").body;
    assert!(body.contains("href=\"/?status=all&amp;rows=label\""), "{body}");
    assert_eq!(get(port, "/?rows=x").status, 400);
    assert_eq!(get(port, "/board?rows=status").status, 400);
}

#[test]
fn rows_are_made_by_whole_and_by_label_too() {
    let mut issues = one_of_each();
    issues[0]["title"] = json!("the whole <b>");
    issues[1]["links"] = json!([{ "kind": "parent", "to": id(0) }]);
    issues[2]["links"] = json!([{ "kind": "parent", "to": id(0) }]);
    issues[1]["labels"] = json!(["ui", "api"]);
    issues[3]["labels"] = json!(["ui"]);
    let (_directory, _client, port) = serve(&issues);
    let rows = |by: &str| {
        let body = get(port, &format!("/board?rows={by}")).body;
        let rows = body.split("<section class=\"row\">").skip(1);
        let row = |row: &str| {
            let (head, cards) = row.split_once("</h2>").unwrap();
            (head.to_owned(), shown(cards.split("</section>").next().unwrap()))
        };
        rows.map(row).collect::<Vec<_>>()
    };
    let by_whole = rows("whole");
    assert!(by_whole[0].0.contains(&format!("href=\"/issues/{}\"", id(0))), "{by_whole:?}");
    assert!(by_whole[0].0.contains("the whole &lt;b&gt;"), "{by_whole:?}");
    assert!(by_whole[1].0.contains("Not part of a whole"), "{by_whole:?}");
    assert_eq!(by_whole.iter().map(|row| &row.1[..]).collect::<Vec<_>>(), [&[1, 2][..], &[0, 3]]);
    let by_label = rows("label");
    let count = |number: usize| format!(" <span class=\"count\">{number}</span>");
    for (row, (name, number)) in
        by_label.iter().zip([("api</bdi>", 1), ("ui</bdi>", 1), ("No label", 2)])
    {
        assert!(row.0.ends_with(&format!(">{name}{}", count(number))), "{by_label:?}");
    }
    assert_eq!(
        by_label.iter().map(|row| &row.1[..]).collect::<Vec<_>>(),
        [&[1][..], &[3], &[0, 2]]
    );
}
