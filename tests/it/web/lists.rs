//! The list of issues.

use serde_json::json;

use super::{STATUSES, one_of_each, serve};
use crate::support::files::{id, issue_json, stored_issues};
use crate::support::get;
use crate::support::http::{client_builder, connections};

#[test]
fn a_row_shows_an_issue_and_its_holder() {
    let (directory, mut client, port) = serve(&[]);
    let issue = json!({ "title": "A title", "description": "", "classification": "feature", "agent": "filer" });
    let id = crate::support::id_in(&client.call("add_issue", issue).ok());
    client.call("get_next_issue", json!({ "agent": "holder-agent" })).issue();
    let page = get(port, "/");
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(page.headers["cache-control"], "no-cache");
    for expected in [
        format!("href=\"/issues/{id}\""),
        format!("id=\"i-{id}\""),
        "A title".to_owned(),
        "badge kind-feature".to_owned(),
        "badge status-in_progress".to_owned(),
        ">holder-agent</bdi>".to_owned(),
        ">claimed</span>".to_owned(),
        "name=\"viewport\"".to_owned(),
    ] {
        assert!(page.body.contains(&expected), "no {expected:?} in {}", page.body);
    }
    assert!(!page.body.contains("comment</span>") && !page.body.contains("returned once"));
    let comment = json!({ "issue_id": id, "comment": "not yet", "agent": "holder-agent" });
    client.call("return_issue", comment).ok();
    let body = get(port, "/").body;
    assert!(body.contains("1 comment<") && body.contains("returned once<"), "{body}");
    let stored = &stored_issues(directory.path())[0];
    for time in [&stored["createdAt"], &stored["history"][2]["timestamp"]] {
        let exact = format!("datetime=\"{0}\" title=\"{0}\"", time.as_str().unwrap());
        assert!(body.contains(&exact), "no {exact} in {body}");
    }
}

/// Returns the numbers in titles such as `[7]`, in the order of the page.
fn shown(body: &str) -> Vec<usize> {
    let titles = body.split("<a class=\"title\"").skip(1);
    titles
        .map(|rest| {
            let title = rest.split_once('[').unwrap().1;
            title.split(']').next().unwrap().parse().unwrap()
        })
        .collect()
}

#[test]
fn filters_combine_and_counts_ignore_the_status() {
    let mut issues = Vec::new();
    for (n, status) in STATUSES.iter().cycle().take(24).enumerate() {
        let mut issue = issue_json(&id(n), &format!("[{n}] Ärger"), status);
        issue["classification"] = json!(["bug", "feature"][n / 6 % 2]);
        issue["description"] = json!(if n < 12 { "first dozen" } else { "second dozen" });
        let agent = if n % 3 == 0 { "ann" } else { "bob & co" };
        let at = issue["createdAt"].clone();
        issue["history"] = json!([{ "timestamp": at, "agent": agent, "action": "Issue filed" }]);
        issues.push(issue);
    }
    let (_directory, _client, port) = serve(&issues);
    let all: Vec<usize> = (0..24).rev().collect();
    for (query, fits) in [
        // The page begins with the open issues; a filter or a search looks in all statuses.
        ("", Box::new(|n: usize| n % 6 < 4) as Box<dyn Fn(usize) -> bool>),
        ("status=&q=&agent=&classification=", Box::new(|n| n % 6 < 4)),
        ("status=all", Box::new(|_| true)),
        ("status=created", Box::new(|n| n % 6 == 0)),
        ("status=open", Box::new(|n| n % 6 < 4)),
        ("status=closed&status=rejected", Box::new(|n| n % 6 > 3)),
        ("classification=feature", Box::new(|n| n / 6 % 2 == 1)),
        ("agent=ann", Box::new(|n| n % 3 == 0)),
        ("agent=bob+%26+co&status=closed", Box::new(|n| n % 6 == 4)),
        ("q=FIRST", Box::new(|n| n < 12)),
        ("q=%C3%A4rger+second", Box::new(|n| n >= 12)),
        ("q=%22first+dozen%22&agent=ann", Box::new(|n| n < 12 && n % 3 == 0)),
        ("q=dozen+first&classification=bug&status=open", Box::new(|n| n < 6 && n % 6 < 4)),
        ("agent=nobody", Box::new(|_| false)),
        ("q=first+second", Box::new(|_| false)),
    ] {
        let page = get(port, &format!("/?{query}"));
        assert_eq!(page.status, 200, "{query}");
        let expected: Vec<_> = all.iter().copied().filter(|&n| fits(n)).collect();
        assert_eq!(shown(&page.body), expected, "{query}");
        assert_eq!(page.body.contains("No matching issues"), expected.is_empty(), "{query}");
        let board = get(port, &format!("/board?{query}")).body;
        let mut on_board = shown(&board);
        on_board.sort_unstable_by(|one, other| other.cmp(one));
        let is_start = query.is_empty() || query.starts_with("status=&");
        assert_eq!(on_board, if is_start { all.clone() } else { expected.clone() }, "{query}");
        assert_eq!(board.contains("No issue matches"), expected.is_empty(), "{query}");
    }
    let body = get(port, "/?q=first&status=closed").body;
    for (status, count) in [("rejected", 2), ("created", 2)] {
        let link = format!("href=\"/?status={status}&amp;q=first\"");
        let (_, rest) = body.split_once(&link).unwrap_or_else(|| panic!("no {link} in {body}"));
        assert!(rest.contains(&format!("<span class=\"count\">{count}</span>")), "{rest}");
    }
    assert!(
        body.contains("name=\"status\" value=\"closed\""),
        "the form forgets the status: {body}"
    );
    assert!(body.contains("value=\"first\""), "the search is not in its field: {body}");
}

#[test]
fn every_column_sorts_both_ways() {
    let titles = ["b", "C", "a", "Ä"];
    let issues = titles.iter().enumerate().map(|(n, title)| {
        let mut issue = issue_json(&id(n), &format!("{title} [{n}]"), STATUSES[3 - n]);
        issue["classification"] = json!(["feature", "bug", "improvement", "bug"][n]);
        issue["createdAt"] = json!(format!("2026-01-0{}T00:00:00.000Z", 4 - n));
        issue["modifiedAt"] = json!(format!("2026-02-0{}T00:00:00.000Z", n + 1));
        let action = [
            "Issue picked up for review and set to in_review",
            "Issue filed",
            "Issue picked up and set to in_progress",
            "Issue filed",
        ][n];
        let agent = ["z", "y", "x", "y"][n];
        let at = "2026-01-01T00:00:00.000Z";
        issue["history"] = json!([{ "timestamp": at, "agent": agent, "action": action }]);
        issue
    });
    let (_directory, _client, port) = serve(&issues.collect::<Vec<_>>());
    for (query, expected) in [
        ("", [3, 2, 1, 0]),
        ("sort=activity&dir=asc", [0, 1, 2, 3]),
        ("sort=title", [2, 0, 1, 3]),
        ("sort=title&dir=desc", [3, 1, 0, 2]),
        ("sort=kind", [3, 1, 2, 0]),
        ("sort=status", [3, 2, 1, 0]),
        // The holders; then what no agent holds.
        ("sort=agent", [2, 0, 3, 1]),
        ("sort=agent&dir=desc", [0, 2, 1, 3]),
        ("sort=created", [0, 1, 2, 3]),
        ("sort=created&dir=asc", [3, 2, 1, 0]),
    ] {
        let body = get(port, &format!("/?{query}")).body;
        assert_eq!(shown(&body), expected, "{query}");
        let direction = match query {
            "" | "sort=title&dir=desc" | "sort=agent&dir=desc" | "sort=created" => "descending",
            _ => "ascending",
        };
        let marks = body.matches("aria-sort=").count();
        assert_eq!(marks, 1, "{query}");
        assert!(body.contains(&format!("aria-sort=\"{direction}\"")), "{query}: {body}");
    }
}

#[test]
fn a_page_has_50_issues_the_last_changed_first() {
    let mut issues: Vec<_> =
        (0..120).map(|n| issue_json(&id(n), &format!("[{n}]"), "created")).collect();
    for (n, issue) in issues.iter_mut().enumerate() {
        issue["modifiedAt"] = json!(format!("2026-02-01T{:02}:{:02}:00.000Z", n / 60, n % 60));
    }
    let (_directory, _client, port) = serve(&issues);
    for (path, expected, links) in [
        ("/", 70..120, vec!["rel=\"next\" href=\"/?page=2\""]),
        ("/?page=2", 20..70, vec!["rel=\"prev\" href=\"/\"", "rel=\"next\" href=\"/?page=3\""]),
        ("/?page=3", 0..20, vec!["rel=\"prev\" href=\"/?page=2\""]),
        ("/?page=4", 0..20, vec!["rel=\"prev\" href=\"/?page=2\""]),
        (
            "/?status=created&page=2",
            20..70,
            vec![
                "rel=\"prev\" href=\"/?status=created\"",
                "rel=\"next\" href=\"/?status=created&amp;page=3\"",
            ],
        ),
    ] {
        let body = get(port, path).body;
        assert_eq!(shown(&body), expected.rev().collect::<Vec<_>>(), "{path}");
        assert_eq!(
            body.matches(" rel=\"prev\"").count() + body.matches(" rel=\"next\"").count(),
            links.len()
        );
        assert!(links.iter().all(|link| body.contains(link)), "{path}: {body}");
    }
    assert!(get(port, "/").body.contains("1 to 50 of 120"));
}

#[test]
fn errors_name_the_valid_parameters_and_values() {
    let (_directory, _client, port) = serve(&one_of_each());
    for (query, expected) in [
        ("status=done", "in_progress"),
        ("classification=wish", "improvement"),
        ("sort=size", "activity"),
        ("dir=up", "desc"),
        ("page=0", "1, 2, 3"),
        ("page=zzz", "1, 2, 3"),
        ("q=labl:ui", "did you mean label:?"),
        ("q=(a", "at character 1 of the query"),
    ] {
        for path in ["/", "/api/issues"] {
            let page = get(port, &format!("{path}?{query}"));
            assert_eq!(page.status, 400, "{path}?{query}");
            assert!(page.body.contains(expected), "{path}?{query}: {}", page.body);
        }
    }
    for (path, expected) in [
        ("/stats?range=1y", "30d"),
        ("/api/stats?range=1y", "30d"),
        ("/agents/a?range=30d", "24h, 7d"),
        ("/api/issues?statsu=open", "status"),
    ] {
        let page = get(port, path);
        assert_eq!(page.status, 400, "{path}");
        assert!(page.body.contains(expected), "{path}: {}", page.body);
    }
    // Invalid UTF-8 finds nothing.
    assert_eq!(get(port, "/?q=%ff%00").status, 200);
}

#[test]
fn pages_ignore_unknown_parameters() {
    let (_directory, _client, port) = serve(&one_of_each());
    let shown = |path: &str| get(port, path).body.matches("id=\"i-").count();
    assert_eq!(shown("/?utm_source=mail"), 4);
    assert_eq!(shown("/?utm_source=mail&status=closed&fbclid=x"), 1);
    for path in [
        "/board?utm_source=a",
        "/activity?ref=a",
        "/stats?x=%3Cb%3E&range=24h",
        // Other pages have these parameters.
        "/?lanes=x&range=x&kind=x&before=x",
        "/board?lanes=x&range=x",
        "/inbox?page=x&agent=a",
        "/agents/a?kind=x",
        "/wall?status=x",
    ] {
        assert_eq!(get(port, path).status, 200, "{path}");
    }
    assert_eq!(get(port, "/api/issues?utm_source=mail").status, 400);
}

#[test]
fn similar_paths_redirect_to_the_page() {
    let (_directory, _client, port) = serve(&one_of_each());
    let client = client_builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (path, expected) in [
        ("/issues", "/"),
        ("/issues?label=ui&q=a%26b", "/?label=ui&q=a%26b"),
        ("/board/", "/board"),
        ("/issues/", "/issues"),
    ] {
        let answer = client.get(format!("http://127.0.0.1:{port}{path}")).send().unwrap();
        assert_eq!(answer.status(), 308, "{path}");
        assert_eq!(answer.headers()["location"], expected, "{path}");
    }
    assert_eq!(get(port, "/nothing/").status, 404);
}

#[test]
fn an_unchanged_page_is_not_sent_again() {
    let (_directory, mut client, port) = serve(&one_of_each());
    let http = connections();
    for path in ["/stats", "/issues/00000000"] {
        let page = get(port, path);
        let Some(tag) = page.headers.get("etag") else {
            assert_eq!(page.status, 404, "{path}");
            continue;
        };
        let ask = || {
            let request = http.get(format!("http://127.0.0.1:{port}{path}"));
            request.header("if-none-match", tag).send().unwrap()
        };
        // The ages on the page may change in between.
        let unchanged = ask();
        assert!(unchanged.status() == 304 || unchanged.headers()["etag"] != tag, "{path}");
        client.add("another", "bug");
        let changed = ask();
        assert_eq!(changed.status(), 200, "{path}");
        assert_ne!(changed.headers()["etag"], tag, "{path}");
    }
}

#[test]
fn direction_overrides_in_titles_are_removed() {
    let (_directory, _client, port) =
        serve(&[issue_json(&id(1), "safe \u{202e}gpj.exe\u{2066}", "created")]);
    for path in ["/".to_owned(), "/board".to_owned(), format!("/issues/{}", id(1))] {
        let body = get(port, &path).body;
        assert!(body.contains("safe gpj.exe"), "{path}: {body}");
        assert!(!body.contains(['\u{202e}', '\u{2066}']), "{path}: {body}");
    }
}

#[test]
fn empty_lists_say_what_to_do() {
    let (_directory, mut client, port) = serve(&[]);
    let empty = get(port, "/").body;
    assert!(empty.contains("No issues yet") && empty.contains("ait add 'TITLE'"), "{empty}");
    assert!(empty.contains(">ait init<") && !empty.contains("claude"), "{empty}");
    client.add("t", "bug");
    let filtered = get(port, "/?status=in_review").body;
    assert!(
        filtered.contains("No matching issues") && filtered.contains("href=\"/\""),
        "{filtered}"
    );
}

#[test]
fn the_json_has_the_issues_of_the_list() {
    let mut issues: Vec<_> =
        (0..60).map(|n| issue_json(&id(n), &format!("[{n}]"), STATUSES[n % 6])).collect();
    issues[7]["comments"] =
        json!([{ "timestamp": "2026-01-01T00:00:00.000Z", "agent": "a", "text": "Needle" }]);
    let (directory, mut client, port) = serve(&issues);
    let list = get(port, "/api/issues");
    assert_eq!(list.headers["content-type"], "application/json");
    let value = list.json();
    assert_eq!(
        (&value["total"], &value["page"], &value["pages"]),
        (&json!(60), &json!(1), &json!(2))
    );
    assert_eq!(value["counts"]["in_progress"], 10);
    assert_eq!(value["issues"].as_array().unwrap().len(), 50);
    let found = get(port, "/api/issues?q=needle").json();
    assert_eq!(found["issues"], json!([stored_issues(directory.path())[7]]));
    let second = get(port, "/api/issues?sort=created&dir=asc&page=2").json();
    assert_eq!(second["issues"].as_array().unwrap().len(), 10);
    let tag = list.headers["etag"].to_str().unwrap();
    let http = connections();
    let again = || {
        let ask = http.get(format!("http://localhost:{port}/api/issues"));
        ask.header("if-none-match", tag).send().unwrap().status().as_u16()
    };
    assert_eq!(again(), 304);
    client.add("another", "bug");
    assert_eq!(again(), 200);
}

#[test]
fn the_table_head_shows_the_order_of_the_query() {
    let (_directory, _client, port) = serve(&one_of_each());
    let sorted = |path: &str| {
        let body = get(port, path).body;
        let head = body.split_once("aria-sort=\"").unwrap().1.split_once("</a>").unwrap().0;
        head.replace("\"><a href=\"", " ").replace("\">", " ")
    };
    let by_title = "ascending /?q=sort%3Atitle&amp;sort=title&amp;dir=desc Issue";
    assert_eq!(sorted("/?q=sort:title"), by_title);
    // The link overrides the query, also for the default order.
    let by_activity = "descending /?q=sort%3Atitle&amp;sort=activity&amp;dir=asc Last activity";
    assert_eq!(sorted("/?q=sort:title&sort=activity"), by_activity);
    assert_eq!(sorted("/"), "descending /?dir=asc Last activity");
}

#[test]
fn issues_with_similar_ids_are_told_apart() {
    let ids = [0, 1].map(|n| format!("019a5c1e-000{n}-7000-8000-000000000000"));
    let issues = ids.each_ref().map(|id| issue_json(id, "a twin", "created"));
    let (_directory, _client, port) = serve(&issues);
    for path in ["/", "/board"] {
        let body = get(port, path).body;
        for id in &ids {
            assert_eq!(body.matches(&format!(" id=\"i-{id}\"")).count(), 1, "{path}: {body}");
        }
    }
    let body = get(port, &format!("/issues/{}", ids[1])).body;
    assert!(body.contains("data-copy=\"ait show 019a5c1e-0001\""), "{body}");
}

#[test]
fn the_search_suggests_no_terms_that_mean_no_value() {
    let mut issues = one_of_each();
    issues[0]["labels"] = json!(["none", "ui"]);
    issues[0]["history"] = json!([
        { "timestamp": "2026-01-31T09:30:00.000Z", "agent": "None", "action": "Issue filed" },
        { "timestamp": "2026-01-31T09:30:00.000Z", "agent": "ann", "action": "Issue filed" },
    ]);
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, "/").body;
    for offered in ["label:ui", "holder:ann"] {
        assert!(body.contains(&format!("<option value=\"{offered}\">")), "{offered}: {body}");
    }
    for hidden in ["label:none", "holder:None"] {
        assert!(!body.contains(hidden), "{hidden}");
    }
}
