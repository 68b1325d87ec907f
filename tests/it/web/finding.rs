//! Saved queries as tabs, highlighted search terms, and lists as CSV.

use std::fs;

use serde_json::json;

use super::{one_of_each, serve};
use crate::support::files::{id, issue_json, write_issues};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

#[test]
fn saved_queries_are_tabs() {
    let directory = directory();
    let queries = "[queries]\nready = 'status:created'\ndone = 'status:closed'\n";
    fs::write(directory.path().join("ait.toml"), queries).unwrap();
    write_issues(directory.path(), &one_of_each());
    let client = Client::start(directory.path());
    let body = get(client.port(), "/").body;
    assert!(body.contains("<a href=\"/?q=%40done\" title=\"status:closed\">@done</a>"), "{body}");
    let body = get(client.port(), "/?q=%40ready").body;
    let current =
        "<a href=\"/?q=%40ready\" title=\"status:created\" aria-current=\"true\">@ready</a>";
    assert!(body.contains(current), "{body}");
    assert_eq!(body.matches("<tr role=\"row\" id=\"i-").count(), 1, "{body}");
    let (_directory, _client, port) = serve(&one_of_each());
    assert!(!get(port, "/").body.contains("id=\"saved\""));
}

#[test]
fn searched_words_are_marked_in_titles_and_excerpts() {
    let mut described = issue_json(&id(1), "Session <ends>", "created");
    described["description"] = json!("After an hour the Login <b>page</b>\ncomes back.");
    let mut commented = issue_json(&id(2), "A loop", "created");
    let at = "2026-01-01T00:00:00.000Z";
    commented["comments"] =
        json!([{ "timestamp": at, "agent": "a", "text": "It is the login page." }]);
    let titled = issue_json(&id(3), "The LOGIN page", "created");
    let (_directory, _client, port) = serve(&[described, commented, titled]);
    let body = get(port, "/?q=login+page+-nothing").body;
    for expected in [
        "The <mark>LOGIN</mark> <mark>page</mark></a>",
        "Session &lt;ends&gt;</a>",
        "After an hour the <mark>Login</mark> &lt;b&gt;<mark>page</mark>&lt;/b&gt; comes back.</p>",
        "It is the <mark>login</mark> <mark>page</mark>.</p>",
    ] {
        assert!(body.contains(expected), "no {expected:?} in {body}");
    }
    assert_eq!(body.matches("<p class=\"excerpt\"").count(), 2, "{body}");
    for path in ["/", "/?status=open"] {
        let body = get(port, path).body;
        assert!(!body.contains("<mark>") && !body.contains("class=\"excerpt\""), "{path}");
    }
}

#[test]
fn a_list_is_a_csv_file_that_can_be_imported() {
    let mut issues = one_of_each();
    issues[0]["title"] = json!("=SUM(A1), \"quoted\"");
    issues[0]["description"] = json!("two\nlines");
    let (_directory, _client, port) = serve(&issues);
    let page = get(port, "/?status=open&sort=title&dir=asc").body;
    let link = "<a href=\"/issues.csv?status=open&amp;sort=title\" download>Download as CSV</a>";
    assert!(page.contains(link), "{page}");
    let csv = get(port, "/issues.csv?status=open&sort=title&dir=asc");
    assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
    assert_eq!(csv.headers["content-disposition"], "attachment; filename=\"issues.csv\"");
    assert_eq!(csv.headers["x-total-count"], "4");
    let titles: Vec<_> = csv.body.lines().filter(|line| line.starts_with("0000")).collect();
    assert_eq!(titles.len(), 4, "{}", csv.body);
    assert!(titles[0].contains(",\"'=SUM(A1), \"\"quoted\"\"\",\"two"), "{}", csv.body);
    // A page number beyond the last page gives the last page.
    let last = get(port, "/issues.csv?status=open&sort=title&dir=asc&page=9");
    assert_eq!(last.body, csv.body);
    let other = directory();
    fs::write(other.path().join("issues.csv"), &csv.body).unwrap();
    run(other.path(), &["import", "issues.csv"]).ok();
    let listed = run(other.path(), &["list", "--json"]).ok();
    assert!(
        listed.contains("=SUM(A1), \\\"quoted\\\"") && listed.contains("two\\nlines"),
        "{listed}"
    );
}

#[test]
fn a_csv_file_is_refused_like_json() {
    let (_directory, _client, port) = serve(&one_of_each());
    for query in ["status=x", "nothing=1", "q=%28", "page=0"] {
        let (csv, json) = (
            get(port, &format!("/issues.csv?{query}")),
            get(port, &format!("/api/issues?{query}")),
        );
        assert_eq!((csv.status, &csv.body), (400, &json.body), "{query}");
    }
    assert_eq!(get(port, "/issues.csv?q=one+created").headers["x-total-count"], "1");
}

#[test]
fn agents_are_json_for_the_palette() {
    let (_directory, mut client, port) = serve(&one_of_each());
    client.call("get_next_issue", json!({ "agent": "a & b" })).issue();
    let agents: serde_json::Value = serde_json::from_str(&get(port, "/api/agents").body).unwrap();
    let first = &agents["agents"][0];
    assert_eq!((&first["name"], &first["holds"]), (&json!("a & b"), &json!([id(0)])), "{agents}");
    assert!(first["lastActivity"].as_str().unwrap().ends_with('Z'), "{agents}");
    assert_eq!(get(port, "/api/agents?range=7d").status, 400);
}
