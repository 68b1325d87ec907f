//! The web interface over real HTTP: pages, JSON, events and the health probe.

mod attention;
mod attributes;
mod events;
mod example;
mod finding;
mod issue;
mod lists;
mod overviews;
mod reading;
mod stats;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::files::{id, issue_json, write_issues};
use crate::support::http::connections;
use crate::support::{Client, directory, get, health_issue_count, http};

/// Serves a store with these issues.
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

/// The pages that list issues, agents, events or statistics.
const PAGES: [&str; 7] = ["/", "/board", "/agents", "/activity", "/stats", "/inbox", "/memory"];

#[test]
fn texts_from_users_are_escaped() {
    let evil = "<script>alert(1)</script>\"'&";
    let (_directory, mut client, port) = serve(&[]);
    let issue = json!({ "title": evil, "description": evil.repeat(20), "classification": "bug", "agent": evil });
    let id = crate::support::id_in(&client.call("add_issue", issue).ok());
    client.call("get_next_issue", json!({ "agent": evil })).issue();
    let query = "<script>alert(1)<%2Fscript>\"'%26";
    for path in PAGES.map(str::to_owned).into_iter().chain([
        format!("/issues/{id}"),
        format!("/?q={query}"),
        format!("/?agent={query}"),
        format!("/?status={query}"),
        format!("/?{query}=1"),
        format!("/{query}"),
        format!("/issues/{query}"),
        format!("/graph/{id}"),
        format!("/graph/{query}"),
        format!("/stats?range={query}"),
        format!("/activity?agent={query}"),
        format!("/activity?since={query}"),
    ]) {
        let page = get(port, &path);
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8", "{path}");
        assert!(!page.body.contains("<script>"), "{path}: {}", page.body);
        assert!(!page.body.contains("alert(1)</"), "{path}: {}", page.body);
    }
    let shown = get(port, "/").body;
    assert!(shown.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{shown}");
}

#[test]
fn the_health_probe_counts_issues() {
    let (_directory, mut client, port) = serve(&one_of_each());
    assert_eq!(health_issue_count(port), 6);
    client.add("t", "bug");
    assert_eq!(health_issue_count(port), 7);
}

#[test]
fn every_method_but_get_and_head_is_refused() {
    let (_directory, _client, port) = serve(&one_of_each());
    for method in [Method::POST, Method::PUT, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        for path in ["/", "/board", "/events", "/api/issues", "/health", "/metrics", "/nothing"] {
            let refused = http(method.clone(), port, path);
            assert_eq!(refused.status, 405, "{method} {path}");
            assert_eq!(refused.headers["allow"], "GET, HEAD");
        }
    }
    for path in PAGES.into_iter().chain(["/api/issues", "/health", "/metrics"]) {
        let head = http(Method::HEAD, port, path);
        assert_eq!((head.status, head.body.as_str()), (200, ""), "{path}");
        assert!(head.headers["content-length"].to_str().unwrap().parse::<usize>().unwrap() > 10);
    }
}

#[test]
fn pages_load_nothing_from_other_servers() {
    let (_directory, _client, port) = serve(&one_of_each());
    for path in PAGES {
        let page = get(port, path);
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.headers["x-content-type-options"], "nosniff");
        assert_eq!(page.headers["referrer-policy"], "no-referrer");
        assert!(!page.body.contains("://") && !page.body.contains(" style=\""), "{}", page.body);
        let refresh = "<noscript><meta http-equiv=\"refresh\" content=\"30\"></noscript>";
        assert!(page.body.contains(refresh), "{}", page.body);
        assert!(page.body.contains("! (4) "), "the open issues are not counted");
        for (start, kind) in [
            ("rel=\"stylesheet\" href=\"", "text/css; charset=utf-8"),
            ("<script src=\"", "text/javascript; charset=utf-8"),
            ("<img src=\"", "image/svg+xml"),
        ] {
            let (_, rest) = page.body.split_once(start).unwrap();
            let asset = get(port, rest.split('"').next().unwrap());
            assert_eq!(
                (asset.status, asset.headers["content-type"].to_str().unwrap()),
                (200, kind)
            );
            let cache = asset.headers["cache-control"].to_str().unwrap();
            assert!(cache.contains("immutable"), "{cache}");
        }
    }
}

#[test]
fn pages_show_the_name_of_the_project() {
    let directory = directory();
    write_issues(directory.path(), &one_of_each());
    let body_and_colour = |client: &Client| {
        let body = get(client.port(), "/board").body;
        let icon = body.split_once("<img src=\"").unwrap().1.split('"').next().unwrap();
        let icon = get(client.port(), icon).body;
        (body, icon.split_once("fill=\"").unwrap().1[..7].to_owned())
    };
    let unnamed = Client::start(directory.path());
    let (body, _) = body_and_colour(&unnamed);
    let name = directory.path().file_name().unwrap().to_str().unwrap();
    assert!(body.contains(&format!("<bdi>{name}</bdi>")), "{body}");
    drop(unnamed);
    let mut colours = Vec::new();
    for (name, shown) in [("Shop & co", "Shop &amp; co"), ("api", "api")] {
        std::fs::write(directory.path().join("ait.toml"), format!("name = \"{name}\"\n")).unwrap();
        let client = Client::start(directory.path());
        let (body, colour) = body_and_colour(&client);
        assert!(body.contains(&format!("Board · {shown}</title>")), "{body}");
        assert!(body.contains(&format!("<bdi>{shown}</bdi>")), "{body}");
        let missing = get(client.port(), "/nothing").body;
        assert!(missing.contains(&format!("Page not found · {shown}</title>")), "{missing}");
        colours.push(colour);
    }
    assert_ne!(colours[0], colours[1]);
}

#[test]
fn responses_are_compressed_on_request() {
    let (_directory, _client, port) = serve(&one_of_each());
    let page = get(port, "/");
    assert!(!page.headers.contains_key("content-encoding"));
    let client = connections();
    let ask = client.get(format!("http://localhost:{port}/")).header("accept-encoding", "gzip, br");
    let compressed = ask.send().unwrap();
    assert_eq!(compressed.headers()["content-encoding"], "gzip");
    let vary = compressed.headers()["vary"].to_str().unwrap().to_owned();
    assert!(vary.to_lowercase().contains("accept-encoding"), "{vary}");
    assert!(compressed.bytes().unwrap().len() < page.body.len() / 2);
}
