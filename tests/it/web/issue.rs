//! The page of one issue, its JSON, and the errors for unknown issues.

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::serve;
use crate::support::files::{id, issue_json};
use crate::support::http::connections;
use crate::support::{Client, Response, directory, get, http};

fn three() -> Vec<Value> {
    (1..=3).map(|n| issue_json(&id(n), &format!("issue {n} <&>"), "created")).collect()
}

fn get_with(port: u16, path: &str, name: HeaderName, values: &[&str]) -> Response {
    let client = connections();
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
    }
    let url = format!("http://127.0.0.1:{port}{path}");
    let response = client.get(url).headers(headers).send().unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().unwrap() }
}

#[test]
fn issue_page_is_found_by_id_or_prefix() {
    let (directory, mut client, port) = serve(&three());
    let project = directory.path().file_name().unwrap().to_str().unwrap();
    let issue = json!({ "title": "The title", "description": "# Steps\n\n1. **one**", "classification": "feature", "agent": "filer" });
    let whole = crate::support::id_in(&client.call("add_issue", issue).ok());
    for _ in 0..4 {
        client.call("get_next_issue", json!({ "agent": "holder" })).issue();
    }
    let back = json!({ "issue_id": whole, "comment": "it `fails`", "agent": "holder" });
    client.call("return_issue", back).ok();
    for name in
        [whole.clone(), whole[..8].to_owned(), whole[..20].to_uppercase(), whole.replace('-', "")]
    {
        let page = get(port, &format!("/issues/{name}"));
        assert_eq!(page.status, 200, "{name}");
        for expected in [
            format!("<link rel=\"canonical\" href=\"/issues/{whole}\">"),
            format!("<link rel=\"prev\" href=\"/issues/{}\">", id(3)),
            format!("<title>The title · {} · {project} · 5!</title>", &whole[..8]),
            "<h1 id=\"issue-title\" dir=\"auto\">The title</h1>".to_owned(),
            "<span class=\"badge status-created\">".to_owned(),
            "<span class=\"badge kind-feature\" translate=\"no\">".to_owned(),
            "<h3>Steps</h3>".to_owned(),
            "<li><strong>one</strong></li>".to_owned(),
            "it <code>fails</code>".to_owned(),
            "<bdi class=\"agent\">filer</bdi> filed it".to_owned(),
            "<bdi class=\"agent\">holder</bdi> returned it to the queue".to_owned(),
            "returned once<".to_owned(),
            format!("<code>{whole}</code>"),
            format!("data-copy=\"{whole}\""),
            format!("href=\"/api/issues/{whole}\""),
            "issue 3 &lt;&amp;&gt;".to_owned(),
        ] {
            assert!(page.body.contains(&expected), "no {expected:?} in {}", page.body);
        }
        assert!(!page.body.contains("rel=\"next\""));
        assert!(!page.body.contains(" style=") && !page.body.contains("<script>"));
    }
    let first = get(port, &format!("/issues/{}", id(1))).body;
    assert!(first.contains("held by <b><bdi class=\"agent\">holder</bdi></b>"), "{first}");
    let (_, sidebar) = first.split_once("id=\"issue-sidebar\"").unwrap();
    let (sidebar, _) = sidebar.split_once("</aside>").unwrap();
    assert!(!sidebar.contains("in progress") && !sidebar.contains("holder</bdi></b>"), "{sidebar}");
    assert_eq!(
        first.matches("class=\"badge status-").count(),
        1,
        "the status stands once: {first}"
    );
    assert!(first.contains(&format!("rel=\"next\" href=\"/issues/{}\"", id(2))), "{first}");
    assert!(!first.contains("rel=\"prev\""));
}

#[test]
fn unknown_ids_get_suggestions() {
    let (_directory, _client, port) = serve(&three());
    for (asked, suggested) in [
        ("00000009", vec![id(1), id(2), id(3)]),
        ("00000012-0000-4000-8000-000000000000", vec![id(1), id(2)]),
        ("00000020", vec![id(2), id(1), id(3)]),
        ("0000000", vec![id(1), id(2), id(3)]),
        ("ffffffff", vec![]),
        ("login", vec![]),
        ("%E2%80%AE%00%3Cb%3E", vec![]),
    ] {
        let page = get(port, &format!("/issues/{asked}"));
        assert_eq!(page.status, 404, "{asked}");
        assert_eq!(page.headers["content-type"], "text/html; charset=utf-8");
        assert!(page.body.contains("<h1>Issue not found</h1>"), "{}", page.body);
        assert!(!page.body.contains("<b>") && !page.body.contains('\u{202e}'), "{}", page.body);
        let links = page.body.matches("href=\"/issues/").count();
        assert_eq!(links, suggested.len(), "{asked}: {}", page.body);
        let answer = get(port, &format!("/api/issues/{asked}"));
        assert_eq!(answer.status, 404);
        let nearest = answer.json()["nearest"].as_array().unwrap().clone();
        let ids: Vec<_> = nearest.iter().map(|issue| issue["id"].as_str().unwrap()).collect();
        assert_eq!(ids, suggested, "{asked}");
        assert!(answer.json()["error"].as_str().is_some_and(|text| !text.is_empty()));
    }
}

#[test]
fn an_ambiguous_id_offers_all_candidates() {
    let twins: Vec<_> = ["a", "b"]
        .map(|last| {
            issue_json(&format!("3f2a9c1e-0000-4000-8000-00000000000{last}"), last, "closed")
        })
        .into();
    let (_directory, _client, port) = serve(&twins);
    let page = get(port, "/issues/3F2A9C1E");
    assert_eq!(page.status, 404);
    assert!(page.body.contains("Several issues match"), "{}", page.body);
    for twin in &twins {
        assert!(page.body.contains(&format!("href=\"/issues/{}\"", twin["id"].as_str().unwrap())));
    }
    let answer = get(port, "/api/issues/3f2a9c1e").json();
    assert_eq!(answer["nearest"].as_array().unwrap().len(), 2, "{answer}");
}

#[test]
fn unknown_paths_get_404_as_page_or_json() {
    let (_directory, _client, port) = serve(&three());
    for path in ["/nothing", "/nothing/", "/issues/a/b", "/apis"] {
        let page = get(port, path);
        assert_eq!(
            (page.status, page.headers["content-type"].to_str().unwrap()),
            (404, "text/html; charset=utf-8"),
            "{path}"
        );
        assert!(page.body.contains("<h1>Page not found</h1>"), "{path}");
    }
    for path in ["/api/nothing", "/api/issues/a/b"] {
        let answer = get(port, path);
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(
            answer.json(),
            json!({
                "error": "There is no page at this address.", "nearest": [],
                "code": "NOT_FOUND", "recoverable": true,
            })
        );
    }
}

#[test]
fn invalid_parameters_get_400() {
    let (_directory, _client, port) = serve(&three());
    let path = format!("/issues/{}", id(1));
    let refused = get(port, &format!("{path}?all=%3Cb%3E"));
    assert_eq!(refused.status, 400);
    let text = "“all=&lt;b&gt;” is not valid; expected: all=1.";
    assert!(refused.body.contains(text), "{}", refused.body);
    for query in ["?all=1", "?all=", "?all=x&all=1", "?"] {
        assert_eq!(get(port, &format!("{path}{query}")).status, 200, "{query}");
    }
}

#[test]
fn an_unreadable_store_gets_503() {
    let directory = directory();
    std::fs::write(directory.path().join("issues.json"), "{ not json").unwrap();
    let client = Client::start(directory.path());
    let page = get(client.port(), "/issues/3f2a9c1e");
    assert_eq!(page.status, 503, "{}", page.body);
    assert!(page.body.contains("<h1>Cannot read the issues</h1>"), "{}", page.body);
    let answer = get(client.port(), "/api/issues/3f2a9c1e");
    assert_eq!(answer.status, 503);
    assert!(answer.json()["error"].as_str().unwrap().contains("issues.json"), "{}", answer.body);
}

#[test]
fn the_json_matches_the_file_and_is_cached_by_etag() {
    let mut issue = issue_json(&id(1), "t", "created");
    issue["priority"] = json!({ "level": 3 });
    let (_directory, mut client, port) = serve(&[issue.clone()]);
    let path = format!("/api/issues/{}", id(1));
    let whole = get(port, &path);
    assert_eq!((whole.status, whole.json()), (200, issue));
    assert_eq!(whole.headers["cache-control"], "no-cache");
    let tag = whole.headers["etag"].to_str().unwrap().to_owned();
    let weak = format!("W/{tag}");
    let listed = format!("\"a,b\", {tag}");
    let know =
        |values: &[&str]| get_with(port, &path, HeaderName::from_static("if-none-match"), values);
    for values in [vec!["*"], vec![tag.as_str()], vec![&listed], vec!["\"a\"", &weak]] {
        let same = know(&values);
        assert_eq!((same.status, same.body.as_str()), (304, ""), "{values:?}");
        assert_eq!(same.headers["etag"], tag.as_str());
    }
    assert_eq!(know(&["\"other\""]).status, 200);
    let head = http(Method::HEAD, port, &path);
    assert_eq!((head.status, head.headers["etag"].to_str().unwrap()), (200, tag.as_str()));
    client.call("get_next_issue", json!({ "agent": "a" })).issue();
    let changed = know(&[&tag]);
    assert_eq!(changed.status, 200);
    assert_eq!(changed.json()["status"], "in_progress");
    assert_eq!(http(Method::POST, port, &path).status, 405);
}

#[test]
fn a_hostile_issue_gives_a_small_page_without_scripts() {
    let mut issue = issue_json(&id(1), "\u{202e}<script>alert(1)</script>", "in_progress");
    issue["history"][0]["agent"] = json!("<img src=x onerror=alert(1)>");
    issue["description"] = json!(format!(
        "<script>alert(1)</script>\n\n![x](https://t.example/p.png)\n\n{}",
        "[a](javascript:alert(1)) ".repeat(4_000)
    ));
    let text = |n: usize| [">", "|a", "*a ", "- "][n % 4].repeat(50_000);
    let comment = |n: usize| json!({ "timestamp": "2026-02-01T09:30:00.000Z", "agent": "a", "text": text(n) });
    issue["comments"] = (0..500).map(comment).collect();
    let (_directory, _client, port) = serve(&[issue]);
    let page = get(port, &format!("/issues/{}", id(1)));
    assert_eq!(page.status, 200);
    assert!(page.body.len() < 400_000, "{} bytes", page.body.len());
    for evil in [
        "<script>",
        "<img src=x",
        "<img src=\"https",
        "href=\"javascript",
        " style=",
        " onerror=\"",
    ] {
        assert!(!page.body.contains(evil), "{evil}");
    }
    let whole = get(port, &format!("/issues/{}?all=1", id(1)));
    assert_eq!((whole.status, whole.body.contains("Show all")), (200, false));
}
