//! Priority, labels, assignee, links and parking on the pages: chips, links and filters.

use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::domain::{AgentName, Classification, FieldValue, IssueChange, IssueRef};
use agent_issue_tracker::store::SqliteStore;
use agent_issue_tracker::tracker::Tracker;
use reqwest::header::{ACCEPT_ENCODING, IF_NONE_MATCH};
use serde_json::{Value, json};

use super::{PAGES, one_of_each, serve};
use crate::support::files::{id, issue_json};
use crate::support::get;
use crate::support::http::connections;

const EPIC: usize = 0;
const ENDED_PART: usize = 1;
const BLOCKED_PART: usize = 2;
const BLOCKER: usize = 3;
const PARKED: usize = 4;
const RELATED: usize = 5;
const PLAIN: usize = 6;

/// Returns issues that are linked in every way.
fn linked() -> Vec<Value> {
    let statuses = ["created", "closed", "created", "created", "created", "in_progress", "created"];
    let titles =
        ["the epic", "ended part", "blocked part", "blocker", "parked", "related", "plain"];
    let mut issues: Vec<_> =
        (0..7).map(|n| issue_json(&id(n), &format!("[{n}] {}", titles[n]), statuses[n])).collect();
    let link = |kind: &str, to: usize| json!({ "kind": kind, "to": id(to) });
    issues[ENDED_PART]["links"] = json!([link("parent", EPIC)]);
    issues[BLOCKED_PART]["priority"] = json!(0);
    issues[BLOCKED_PART]["labels"] = json!(["api", "area/ui"]);
    issues[BLOCKED_PART]["links"] =
        json!([link("parent", EPIC), link("blocked_by", BLOCKER), link("blocked_by", ENDED_PART)]);
    issues[BLOCKER]["priority"] = json!(1);
    issues[BLOCKER]["labels"] = json!(["api"]);
    issues[BLOCKER]["assignee"] = json!("dev & co");
    issues[PARKED]["parked"] = json!({
        "reason": "no <Mac> here", "since": "2026-02-01T09:30:00.000Z", "by": "lead",
    });
    issues[RELATED]["links"] = json!([
        link("related", BLOCKED_PART),
        link("duplicate_of", BLOCKER),
        { "kind": "related", "to": "ffffffff-0000-4000-8000-000000000000" },
    ]);
    issues
}

/// Returns the text between two markers.
fn between<'a>(body: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = body.split_once(begin).unwrap_or_else(|| panic!("no {begin} in {body}"));
    rest.split(end).next().unwrap()
}

fn row(body: &str, n: usize) -> &str {
    between(body, &format!("id=\"i-{}\"", id(n)), "</tr>")
}

#[test]
fn chips_show_attributes_and_link_to_filters() {
    let (_directory, _client, port) = serve(&linked());
    let list = get(port, "/?status=all").body;
    let board = get(port, "/board").body;
    let page = get(port, &format!("/issues/{}", id(BLOCKED_PART))).body;
    let card = between(&board, &format!("id=\"i-{}\"", id(BLOCKED_PART)), "</article>");
    let head = between(&page, "id=\"issue-state\"", "</p>");
    for html in [row(&list, BLOCKED_PART), card, head] {
        for expected in [
            "href=\"/?priority=0\" title=\"priority 0\">P0</a>",
            "href=\"/?label=api\" translate=\"no\">api</a>",
            "href=\"/?label=area%2Fui\" translate=\"no\">area/ui</a>",
            &format!("href=\"/?blocked=true\" title=\"waits for {}\">", &id(BLOCKER)[..8]),
        ] {
            assert!(html.contains(expected), "no {expected:?} in {html}");
        }
        assert!(!html.contains("href=\"/?parked"), "{html}");
    }
    let assigned = row(&list, BLOCKER);
    let chip = "href=\"/?assignee=dev+%26+co\">for <bdi class=\"agent\">dev &amp; co</bdi></a>";
    assert!(assigned.contains(chip) && !assigned.contains("blocked=true"), "{assigned}");
    let parked = row(&list, PARKED);
    assert!(parked.contains("href=\"/?parked=true\" title=\"no &lt;Mac&gt; here\">"), "{parked}");
    assert!(!row(&list, PLAIN).contains("chip") && !row(&list, ENDED_PART).contains("chip"));
    let narrowed = get(port, "/?status=created&label=api").body;
    let link = "href=\"/?status=created&amp;label=api&amp;label=area%2Fui\"";
    assert!(row(&narrowed, BLOCKED_PART).contains(link), "{narrowed}");
    let sidebar = get(port, &format!("/issues/{}", id(PARKED))).body;
    assert!(sidebar.contains("<dt>Parked</dt>") && sidebar.contains("no &lt;Mac&gt; here</span>"));
}

#[test]
fn pages_without_attributes_have_no_chips_or_filters() {
    let (_directory, _client, port) = serve(&one_of_each());
    for path in PAGES.map(str::to_owned).into_iter().chain([format!("/issues/{}", id(1))]) {
        let page = get(port, &path).body;
        let body = between(&page, "<main", "</main>");
        for absent in [
            "chip",
            "name=\"priority\"",
            "name=\"label\"",
            "name=\"assignee\"",
            "checkbox",
            "issue-links",
        ] {
            assert!(!body.contains(absent), "{absent} on {path}: {body}");
        }
    }
}

#[test]
fn issue_page_lists_its_links_in_both_directions() {
    let (_directory, _client, port) = serve(&linked());
    let section = |n: usize| {
        let body = get(port, &format!("/issues/{}", id(n))).body;
        between(&body, "id=\"issue-links\"", "</section>").to_owned()
    };
    let groups = |section: &str| -> Vec<(String, Vec<usize>)> {
        let groups = section.split("<h3>").skip(1);
        groups
            .map(|group| {
                let heading = group.split("</h3>").next().unwrap().to_owned();
                let items = group.split("dir=\"auto\">[").skip(1);
                let numbers = items.map(|item| item.split(']').next().unwrap().parse().unwrap());
                (heading, numbers.collect())
            })
            .collect()
    };
    let named = |name: &str, numbers: &[usize]| (name.to_owned(), numbers.to_vec());
    let parts = "Parts <span class=\"count\">1 of 2 done</span> \
        <progress max=\"2\" value=\"1\" aria-label=\"1 of 2 parts done\"></progress>";
    assert_eq!(groups(&section(EPIC)), [named(parts, &[ENDED_PART, BLOCKED_PART])]);
    let expected = [
        named("Part of", &[EPIC]),
        named("Blocked by", &[BLOCKER, ENDED_PART]),
        named("Related", &[RELATED]),
    ];
    let blocked = section(BLOCKED_PART);
    assert_eq!(groups(&blocked), expected);
    assert!(blocked.contains("badge status-closed") && blocked.contains("badge status-created"));
    let expected = [named("Blocks", &[BLOCKED_PART]), named("Duplicates", &[RELATED])];
    assert_eq!(groups(&section(BLOCKER)), expected);
    let related = section(RELATED);
    let expected = [named("Related", &[BLOCKED_PART]), named("Duplicate of", &[BLOCKER])];
    assert_eq!(groups(&related), expected);
    assert!(related.contains("<code>ffffffff</code> <span class=\"quiet\">not in this store"));
}

#[test]
fn many_parts_are_truncated_with_a_link_to_the_list() {
    let mut issues: Vec<_> =
        (0..62).map(|n| issue_json(&id(n), &format!("[{n}]"), "created")).collect();
    for issue in &mut issues[1..] {
        issue["links"] = json!([{ "kind": "parent", "to": id(0) }]);
    }
    issues[1]["status"] = json!("closed");
    issues[2]["status"] = json!("rejected");
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, &format!("/issues/{}", id(0))).body;
    let section = between(&body, "id=\"issue-links\"", "</section>");
    assert_eq!(section.matches("class=\"title\"").count(), 50);
    let link = format!("<a href=\"/?parent={}\">and 11 more</a>", id(0));
    assert!(section.contains("2 of 61 done") && section.contains(&link), "{section}");
    assert!(section.contains("<progress max=\"61\" value=\"2\""), "{section}");
    for path in ["/?q=id:00000000".to_owned(), format!("/issues/{}", id(0))] {
        let body = get(port, &path).body;
        assert_eq!(body.matches(" title=\"2 of 61 parts done\">").count(), 1, "{path}: {body}");
        assert!(body.contains("</svg> 2/61</span>"), "{path}: {body}");
    }
}

#[test]
fn attribute_filters_combine_on_page_and_api() {
    let (_directory, _client, port) = serve(&linked());
    let parent = id(EPIC);
    for (query, expected) in [
        ("priority=0,1".to_owned(), vec![BLOCKED_PART, BLOCKER]),
        // An issue without a priority counts as 2.
        ("priority=2".to_owned(), vec![EPIC, ENDED_PART, PARKED, RELATED, PLAIN]),
        ("label=api".to_owned(), vec![BLOCKED_PART, BLOCKER]),
        ("label=api&label=area/ui".to_owned(), vec![BLOCKED_PART]),
        ("assignee=dev+%26+co".to_owned(), vec![BLOCKER]),
        ("assignee=nobody".to_owned(), vec![]),
        (format!("parent={parent}"), vec![ENDED_PART, BLOCKED_PART]),
        (format!("parent={}&status=open", &parent[..8]), vec![BLOCKED_PART]),
        ("ready=true".to_owned(), vec![BLOCKER, PLAIN]),
        ("blocked=true".to_owned(), vec![BLOCKED_PART]),
        ("parked=true".to_owned(), vec![PARKED]),
        ("label=api&ready=true&q=blocker".to_owned(), vec![BLOCKER]),
        ("parked=true&blocked=true".to_owned(), vec![]),
        ("status=all&label=&assignee=&priority=&parent=&ready=".to_owned(), (0..7).collect()),
    ] {
        let listed = get(port, &format!("/api/issues?{query}&sort=created&dir=asc"));
        assert_eq!(listed.status, 200, "{query}");
        let listed = listed.json();
        let ids: Vec<_> =
            listed["issues"].as_array().unwrap().iter().map(|issue| issue["id"].clone()).collect();
        assert_eq!(ids, expected.iter().map(|n| json!(id(*n))).collect::<Vec<_>>(), "{query}");
        assert_eq!(listed["total"], expected.len(), "{query}");
        let body = get(port, &format!("/?{query}")).body;
        assert_eq!(body.matches("<a class=\"title\"").count(), expected.len(), "{query}");
    }
    let created = get(port, "/api/issues?priority=2").json();
    assert_eq!(created["counts"]["created"], 3);
}

#[test]
fn invalid_attribute_filters_get_400_or_404() {
    let (_directory, _client, port) = serve(&linked());
    for (query, status, expected) in [
        ("priority=5", 400, "expected: 0 (first) to 4 (last)"),
        ("priority=high", 400, "0..1"),
        ("estimate=large", 400, "number"),
        ("label=Not+A+Label", 400, "a-z"),
        ("parent=3f2a", 400, "32 hex digits"),
        ("ready=yes", 400, "true"),
        ("blocked=1", 400, "true"),
        ("parked=false", 400, "true"),
        ("parent=ffffffff", 404, "ffffffff"),
    ] {
        for path in ["/", "/api/issues"] {
            let page = get(port, &format!("{path}?{query}"));
            assert_eq!(page.status, status, "{path}?{query}");
            assert!(page.body.contains(expected), "{path}?{query}: {}", page.body);
        }
    }
}

#[test]
fn the_form_offers_and_keeps_attribute_filters() {
    let (_directory, _client, port) = serve(&linked());
    let form = |path: &str| {
        let body = get(port, path).body;
        between(&body, "id=\"filters\"", "<footer").to_owned()
    };
    let plain = form("/");
    for expected in [
        "<option value=\"0\">P0</option>",
        "<option value=\"area/ui\" translate=\"no\">area/ui</option>",
        "<option value=\"dev &amp; co\" translate=\"no\">dev &amp; co</option>",
        "<input type=\"checkbox\" name=\"ready\" value=\"true\">",
        "<input type=\"checkbox\" name=\"blocked\" value=\"true\">",
        "<input type=\"checkbox\" name=\"parked\" value=\"true\">",
        // Suggestions for the search field.
        "<option value=\"label:area/ui\">",
        "<option value=\"status:in_progress\">",
        "<option value=\"idle:\" label=\"&gt;3d",
    ] {
        assert!(plain.contains(expected), "no {expected:?} in {plain}");
    }
    assert!(!plain.contains("chosen"), "{plain}");
    let query = format!("priority=0,1&label=api&parent={}&blocked=true", id(EPIC));
    let chosen = form(&format!("/?{query}"));
    for expected in [
        "<option value=\"0,1\" selected>P0, P1</option>".to_owned(),
        "<input type=\"hidden\" name=\"label\" value=\"api\">".to_owned(),
        format!("<input type=\"hidden\" name=\"parent\" value=\"{}\">", id(EPIC)),
        "name=\"blocked\" value=\"true\" checked>".to_owned(),
        // Each filter has a link that removes it alone.
        format!("href=\"/?priority=0%2C1&amp;parent={}&amp;blocked=true\">api", id(EPIC)),
        "href=\"/?priority=0%2C1&amp;label=api&amp;blocked=true\">parts of <bdi>[0] the epic"
            .to_owned(),
        format!("href=\"/?label=api&amp;parent={}&amp;blocked=true\">P0, P1", id(EPIC)),
        format!("href=\"/?priority=0%2C1&amp;label=api&amp;parent={}\">blocked", id(EPIC)),
    ] {
        assert!(chosen.contains(&expected), "no {expected:?} in {chosen}");
    }
    assert!(!chosen.contains("<option value=\"api\""), "{chosen}");
}

#[test]
fn the_board_shows_the_order_of_claims() {
    let (_directory, _client, port) = serve(&linked());
    let body = get(port, "/board").body;
    let column = between(&body, "<section id=\"c-created\"", "</section>");
    let titles = column.split("dir=\"auto\">[").skip(1);
    let order: Vec<usize> =
        titles.map(|title| title.split(']').next().unwrap().parse().unwrap()).collect();
    // Ready issues by priority, then waiting ones.
    assert_eq!(order, [BLOCKER, PLAIN, BLOCKED_PART, EPIC, PARKED]);
}

#[test]
fn the_etag_of_an_issue_is_its_version_and_strong() {
    let mut issues = linked();
    issues[PLAIN]["description"] = json!("words and words ".repeat(500));
    let (_directory, mut client, port) = serve(&issues);
    let path = format!("/api/issues/{}", id(PLAIN));
    let plain = get(port, &path);
    let tag = plain.headers["etag"].to_str().unwrap().to_owned();
    let form = tag.trim_matches('"');
    assert!(tag.starts_with('"') && form.split('.').count() == 3, "{tag}");
    let http = connections();
    let ask = || http.get(format!("http://127.0.0.1:{port}{path}"));
    // A compressed body would have other bytes under the same strong tag.
    let zipped = ask().header(ACCEPT_ENCODING, "gzip").send().unwrap();
    assert!(!zipped.headers().contains_key("content-encoding"), "{zipped:?}");
    assert_eq!(zipped.headers()["etag"], tag.as_str());
    let status = |tag: &str| ask().header(IF_NONE_MATCH, tag).send().unwrap().status().as_u16();
    assert_eq!((status(&tag), status("\"1.0.00000000\"")), (304, 200));
    client
        .call("complete_issue", json!({ "agent": "a", "issue_id": id(PLAIN), "comment": "c" }))
        .ok();
    assert_eq!(status(&tag), 200);
}

/// Changes an issue through a separate store.
fn change(directory: &Path, n: usize, change: IssueChange) {
    let file = directory.join("issues.json");
    let run = async move {
        let tracker = Tracker::new(Arc::new(SqliteStore::new(file)));
        let agent = AgentName::try_from("editor").unwrap();
        let issue: IssueRef = id(n).parse().unwrap();
        tracker.change_issue(issue.into(), change, agent).await.unwrap();
        tracker.close().await;
    };
    tokio::runtime::Runtime::new().unwrap().block_on(run);
}

#[test]
fn the_timeline_shows_changed_words_and_values() {
    let (directory, _client, port) = serve(&linked());
    let first = IssueChange {
        title: Some("[6] a <plain> title".try_into().unwrap()),
        description: Some(format!("{}the end", "unchanged words ".repeat(20)).try_into().unwrap()),
        ..IssueChange::default()
    };
    change(directory.path(), PLAIN, first);
    let second = IssueChange {
        description: Some(
            format!("{}the <end>", "unchanged words ".repeat(20)).try_into().unwrap(),
        ),
        classification: Some(Classification::Feature),
        values: vec![
            FieldValue::Priority(Some("0".parse().unwrap())),
            FieldValue::Assignee(Some("dev".try_into().unwrap())),
        ],
        labels_add: vec!["ui".parse().unwrap()],
        blocked_by: Some(vec![id(BLOCKER).parse().unwrap()]),
        parked: Some(Some(("no time".try_into().unwrap(), None))),
        comment: Some("because".try_into().unwrap()),
        ..IssueChange::default()
    };
    change(directory.path(), PLAIN, second);
    let body = get(port, &format!("/issues/{}", id(PLAIN))).body;
    let entry = |n: usize| between(&body, &format!("id=\"moment-{n}\""), "</li>");
    for expected in [
        "changed <bdi>title, description</bdi>",
        "[6] <del>plain</del><ins>a &lt;plain&gt; title</ins>",
        "<del>d</del><ins>unchanged words ",
    ] {
        assert!(entry(2).contains(expected), "no {expected:?} in {}", entry(2));
    }
    let link = format!("<ins>blocked by <a href=\"/issues/{}\">[3] blocker</a></ins>", id(BLOCKER));
    for expected in [
        "changed <bdi>description, classification, priority, labels, assignee, links, parked</bdi>",
        "words the <del>end</del><ins>&lt;end&gt;</ins>",
        "<del>bug</del> <ins>feature</ins>",
        "<dd dir=\"auto\"><ins>P0</ins>",
        "<ins>ui</ins>",
        "<ins>dev</ins>",
        link.as_str(),
        "<ins>no time</ins>",
        "<p>because</p>",
    ] {
        assert!(entry(3).contains(expected), "no {expected:?} in {}", entry(3));
    }
    // The page shows only the words near a difference.
    let length = entry(3).matches("unchanged words").count();
    assert!(entry(3).contains('…') && length < 8, "{length} in {}", entry(3));
}

#[test]
fn a_change_without_its_event_names_the_fields() {
    let mut issues = linked();
    issues[PLAIN]["history"].as_array_mut().unwrap().push(json!({
        "timestamp": "2026-02-01T09:30:00.000Z", "agent": "b", "action": "Issue changed: title, <b>",
    }));
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, &format!("/issues/{}", id(PLAIN))).body;
    assert!(body.contains("changed <bdi>title, &lt;b&gt;</bdi>"), "{body}");
    assert!(!body.contains("class=\"changes\""), "{body}");
}

#[test]
fn the_activity_has_the_values_of_changes() {
    let (directory, _client, port) = serve(&linked());
    let urgent = IssueChange {
        values: vec![FieldValue::Priority(Some("0".parse().unwrap()))],
        labels_remove: vec!["api".parse().unwrap()],
        title: Some("new".try_into().unwrap()),
        ..IssueChange::default()
    };
    change(directory.path(), BLOCKER, urgent);
    let events = get(port, "/api/activity?kind=changed").json()["events"].clone();
    assert_eq!(events[0]["before"]["priority"], 1, "{events}");
    assert_eq!(events[0]["before"]["labels"], json!(["api"]));
    assert_eq!(events[0]["after"]["priority"], 0);
    assert_eq!(events[0]["after"]["labels"], Value::Null);
    assert_eq!(events[0]["after"]["title"], "new");
    assert!(events[0]["after"].get("assignee").is_none(), "{events}");
    let page = get(port, "/activity").body;
    for change in ["<dt>Title</dt>", "<del>P1</del> <ins>P0</ins>", "<del>api</del>"] {
        assert!(page.contains(change), "{change}: {page}");
    }
}

#[test]
fn ids_in_texts_link_to_existing_issues() {
    let mut issues = linked();
    let (short, whole) = (&id(BLOCKER)[..8], id(BLOCKER));
    issues[PLAIN]["description"] = json!(format!(
        "issue-{short} #{short} {short} {whole} `{short}` [x {short}](https://e.example) issue-ffffffff \
         [y](/issues/{whole}) <a href=\"/issues/{whole}\">z</a>\n\n    {short}\n"
    ));
    issues[PLAIN]["comments"] = json!([
        { "timestamp": "2026-02-01T09:30:00.000Z", "agent": "a", "text": format!("# After #{short}") },
    ]);
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, &format!("/issues/{}", id(PLAIN))).body;
    let description = between(&body, "id=\"issue-description\"", "</section>");
    let open = format!("<a href=\"/issues/{whole}\" title=\"[3] blocker (created)\"");
    // Inline code is linked too, but a code block is not.
    assert_eq!(description.matches(&open).count(), 5, "{description}");
    for name in [format!("issue-{short}"), format!("#{short}"), short.to_owned(), whole.clone()] {
        assert!(description.contains(&format!(">{name}</a>")), "{name} in {description}");
    }
    assert!(description.contains("issue-ffffffff") && !description.contains(">issue-ffffffff<"));
    assert_eq!(description.matches("<a ").count(), 6, "{description}");
    let timeline = between(&body, "id=\"issue-timeline\"", "</section>");
    assert!(timeline.contains(&format!("<h3>After {open}")), "{timeline}");
    // A search for an id finds the issue itself and the one that mentions it.
    for search in [format!("issue-{short}"), format!("%23{short}"), short.to_owned()] {
        let found = get(port, &format!("/api/issues?q={search}&sort=created&dir=asc")).json();
        let ids: Vec<_> =
            found["issues"].as_array().unwrap().iter().map(|issue| issue["id"].clone()).collect();
        assert_eq!(ids, [json!(id(BLOCKER)), json!(id(PLAIN))], "{search}");
    }
}

#[test]
fn a_text_full_of_ids_stays_markdown_and_bounded() {
    let mut issues = linked();
    let text = format!("**bold** {}", format!("{} ", &id(BLOCKER)[..8]).repeat(2_000));
    issues[PLAIN]["description"] = json!(text);
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, &format!("/issues/{}", id(PLAIN))).body;
    let description = between(&body, "id=\"issue-description\"", "</section>");
    assert!(description.contains("<strong>bold</strong>"), "{description}");
    assert_eq!(description.matches("<a ").count(), 200);
}

#[test]
fn the_graph_shows_the_blocking_links() {
    let mut issues = linked();
    // The blocker waits for the parked issue, and the plain issue for the blocked part.
    issues[BLOCKER]["links"] = json!([{ "kind": "blocked_by", "to": id(PARKED) }]);
    issues[PLAIN]["links"] = json!([{ "kind": "blocked_by", "to": id(BLOCKED_PART) }]);
    issues[PLAIN]["title"] = json!("<b>plain</b> ".repeat(30));
    let (_directory, _client, port) = serve(&issues);
    let page = |n: usize| get(port, &format!("/issues/{}", id(n))).body;
    let body = page(BLOCKED_PART);
    let section = between(&body, "id=\"issue-graph\"", "</section>");
    // The nodes stand from left to right.
    for (n, x) in
        [(PARKED, 4), (BLOCKER, 240), (ENDED_PART, 240), (BLOCKED_PART, 476), (PLAIN, 712)]
    {
        let node = between(section, &format!("\" href=\"/issues/{}\"", id(n)), "</a>");
        assert!(node.contains(&format!("<rect x=\"{x}\"")), "{n} is not at {x}: {node}");
    }
    assert_eq!(section.matches("<path class=\"edge").count(), 4, "{section}");
    assert_eq!(section.matches("<path class=\"edge ended\"").count(), 1, "{section}");
    assert_eq!(section.matches("aria-current=\"page\"").count(), 1);
    assert!(section.contains("aria-labelledby=\"graph-title graph-desc\""));
    assert!(!section.contains("<b>") && !section.contains("style="), "{section}");
    let text = between(section, "<details", "</details>");
    assert_eq!(text.matches("<li>").count(), 4, "{text}");
    assert!(text.contains("[3] blocker</bdi></a> (created) blocks <a "), "{text}");
    // An issue without blocking links has no graph.
    assert!(!page(EPIC).contains("issue-graph") && !page(RELATED).contains("issue-graph"));
}

#[test]
fn a_large_graph_is_truncated_and_counts_the_rest() {
    let mut issues: Vec<_> =
        (0..70).map(|n| issue_json(&id(n), &format!("[{n}]"), "created")).collect();
    for (n, issue) in issues[1..].iter_mut().enumerate() {
        issue["links"] = json!([{ "kind": "blocked_by", "to": id(n) }]);
    }
    let (_directory, _client, port) = serve(&issues);
    let body = get(port, &format!("/issues/{}", id(30))).body;
    let section = between(&body, "id=\"issue-graph\"", "</section>");
    assert_eq!(section.matches("<rect ").count(), 50);
    assert!(section.contains("20 further issues are not drawn."), "{section}");
    assert!(
        section.contains("<title>0000000a [10] (created)</title>"),
        "the nearest ones are not drawn"
    );
}
