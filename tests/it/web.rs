//! The pages and the probe, over real HTTP.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::files::{id, issue_json, stored_issues, write_issues};
use crate::support::{Client, directory, get, healthy_count, http};

/// A store with an issue in each status, as the given list changes them.
fn serve(issues: &[Value]) -> (tempfile::TempDir, Client, u16) {
    let directory = directory();
    write_issues(directory.path(), issues);
    let client = Client::start(directory.path());
    let port = client.port();
    (directory, client, port)
}

const STATUSES: [&str; 6] =
    ["created", "in_progress", "completed", "in_review", "closed", "rejected"];

fn one_of_each() -> Vec<Value> {
    let numbered = STATUSES.iter().enumerate();
    numbered.map(|(n, status)| issue_json(&id(n), &format!("the {status} one"), status)).collect()
}

#[test]
fn the_list_shows_everything_about_an_issue() {
    let (_directory, mut client, port) = serve(&[]);
    let issue = json!({ "title": "A title", "description": "A description", "classification": "feature", "agent": "filer" });
    let id = crate::support::id_in(&client.call("add_issue", issue).ok());
    client.call("get_next_issue", json!({ "agent": "holder-agent" })).issue();
    let page = get(port, "/");
    assert_eq!(page.status, 200);
    assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
    for expected in [
        id.as_str(),
        "A title",
        "A description",
        "kind-feature",
        "status-in_progress",
        ">in progress<",
        "held by <b>holder-agent</b> for ",
        "Issue claimed for work",
        "<meta http-equiv=\"refresh\" content=\"30\">",
        "name=\"viewport\"",
    ] {
        assert!(page.body.contains(expected), "no {expected:?} in {}", page.body);
    }
    let comment =
        json!({ "issue_id": id, "comment": "it is on branch x", "agent": "holder-agent" });
    client.call("complete_issue", comment).ok();
    let body = get(port, "/").body;
    assert!(body.contains("it is on branch x") && !body.contains("held by"), "{body}");
    let stored = &stored_issues(_directory.path())[0];
    for key in ["createdAt", "modifiedAt"] {
        assert!(
            body.contains(&format!("datetime=\"{}\"", stored[key].as_str().unwrap())),
            "{body}"
        );
    }
}

#[test]
fn everything_from_users_is_escaped() {
    let evil = "<script>alert(1)</script>\"'&";
    let (_directory, mut client, port) = serve(&[]);
    let issue = json!({ "title": evil, "description": evil.repeat(20), "classification": "bug", "agent": evil });
    let id = crate::support::id_in(&client.call("add_issue", issue).ok());
    client.call("get_next_issue", json!({ "agent": evil })).issue();
    let back = json!({ "issue_id": id, "comment": evil, "agent": evil });
    client.call("return_issue", back).ok();
    for path in ["/", "/?status=%3Cscript%3Ealert(1)%3C%2Fscript%3E"] {
        let page = get(port, path);
        assert_eq!(page.status, 200);
        assert!(!page.body.contains("<script"), "{}", page.body);
        assert!(page.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{}", page.body);
    }
}

#[test]
fn the_filter_shows_one_status_and_counts_all() {
    let (_directory, _client, port) = serve(&one_of_each());
    for status in STATUSES {
        let body = get(port, &format!("/?status={status}")).body;
        for other in STATUSES {
            assert_eq!(body.contains(&format!("the {other} one")), other == status, "{status}");
            assert!(body.contains(&format!("href=\"/?status={other}\"")), "{body}");
        }
    }
    let all = get(port, "/").body;
    assert!(STATUSES.iter().all(|status| all.contains(&format!("the {status} one"))));
    assert!(all.contains("All <span class=\"count\">6</span>"), "{all}");
    let unknown = get(port, "/?status=open").body;
    assert!(unknown.contains("There is no status “open”") && unknown.contains("the closed one"));
    for odd in [
        "/?status=",
        "/?page=0",
        "/?page=-1",
        "/?page=zzz",
        "/?page=99",
        "/?status=closed&status=created",
        "/?x=%ff",
    ] {
        let page = get(port, odd);
        assert_eq!(page.status, 200, "{odd}");
        assert!(page.body.contains("the created one"), "{odd}");
    }
}

#[test]
fn long_texts_are_folded_and_cut_and_only_the_latest_comments_are_shown() {
    let mut issue = issue_json(&id(1), "t", "created");
    issue["description"] = json!(format!("\n\n  first line\n{}", "x".repeat(50_000)));
    let comment = |n| json!({ "timestamp": "2026-01-31T09:30:00.000Z", "agent": "a", "text": format!("[{n}]{}", "y".repeat(50_000)) });
    issue["comments"] = (0..30).map(comment).collect();
    let (_directory, _client, port) = serve(&[issue]);
    let body = get(port, "/").body;
    assert!(body.len() < 60_000, "{} bytes", body.len());
    assert!(body.contains("<span class=\"preview\">first line…</span>"), "{}", &body[..4000]);
    assert!(body.contains("30 comments") && body.contains("[29]") && body.contains("[20]"));
    assert!(!body.contains("[19]"), "an early comment is shown");
}

#[test]
fn the_list_has_50_issues_a_page_the_last_changed_first() {
    let mut issues: Vec<_> =
        (0..120).map(|n| issue_json(&id(n), &format!("[{n}]"), "created")).collect();
    for (n, issue) in issues.iter_mut().enumerate() {
        issue["modifiedAt"] = json!(format!("2026-02-01T{:02}:{:02}:00.000Z", n / 60, n % 60));
    }
    let (_directory, _client, port) = serve(&issues);
    for (path, shown, links) in [
        ("/", 70..120, vec!["/?page=2"]),
        ("/?page=2", 20..70, vec!["href=\"/\"", "/?page=3"]),
        ("/?page=3", 0..20, vec!["/?page=2"]),
        ("/?page=4", 0..20, vec!["/?page=2"]),
        ("/?status=created&page=2", 20..70, vec!["/?status=created&amp;page=3"]),
    ] {
        let body = get(port, path).body;
        let mut last = usize::MAX;
        for n in (0..120).rev() {
            let place = body.find(&format!("[{n}]"));
            assert_eq!(place.is_some(), shown.contains(&n), "{path}: {n}");
            if let Some(place) = place {
                assert!(last == usize::MAX || place > last, "{path}: {n} is out of order");
                last = place;
            }
        }
        assert!(links.iter().all(|link| body.contains(link)), "{path}");
    }
    assert!(get(port, "/").body.contains("1–50 of 120"));
}

#[test]
fn an_empty_store_and_an_empty_filter_say_what_to_do() {
    let (_directory, mut client, port) = serve(&[]);
    let empty = get(port, "/").body;
    assert!(empty.contains("No issues yet") && empty.contains("add_issue"), "{empty}");
    client.add("t", "bug");
    let filtered = get(port, "/?status=in_review").body;
    assert!(filtered.contains("No issue is in review") && filtered.contains("href=\"/\""));
}

#[test]
fn the_probe_counts() {
    let (_directory, mut client, port) = serve(&one_of_each());
    assert_eq!(healthy_count(port), 6);
    client.add("t", "bug");
    assert_eq!(healthy_count(port), 7);
}

#[test]
fn it_only_reads_and_unknown_paths_get_a_small_page() {
    let (_directory, _client, port) = serve(&one_of_each());
    for path in ["/nothing", "/issues", "/health/x", "/assets/", "/..%2f..%2fetc%2fpasswd"] {
        let missing = get(port, path);
        assert_eq!(missing.status, 404, "{path}");
        assert!(missing.body.contains("Nothing here") && missing.body.len() < 2000);
    }
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        for path in ["/", "/health", "/metrics", "/nothing"] {
            let refused = http(method.clone(), port, path);
            assert_eq!(refused.status, 405, "{method} {path}");
            assert_eq!(refused.headers["allow"], "GET, HEAD");
        }
    }
    for path in ["/", "/health", "/metrics"] {
        let head = http(Method::HEAD, port, path);
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        assert!(head.headers["content-length"].to_str().unwrap().parse::<usize>().unwrap() > 10);
    }
}

#[test]
fn pages_load_nothing_from_elsewhere_and_run_no_scripts() {
    let (_directory, _client, port) = serve(&one_of_each());
    let page = get(port, "/");
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert_eq!(page.headers["x-content-type-options"], "nosniff");
    assert_eq!(page.headers["referrer-policy"], "no-referrer");
    assert!(!page.body.contains("://") && !page.body.contains("style=\""), "{}", page.body);
    for (start, kind) in [
        ("rel=\"stylesheet\" href=\"", "text/css; charset=utf-8"),
        ("<img src=\"", "image/svg+xml"),
    ] {
        let (_, rest) = page.body.split_once(start).unwrap();
        let asset = get(port, rest.split('"').next().unwrap());
        assert_eq!((asset.status, asset.headers["content-type"].to_str().unwrap()), (200, kind));
    }
}
