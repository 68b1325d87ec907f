//! The page of syncs, and the choice of a side where both changed a field.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{Form, READER, WRITER, bearer, client, issue, origin, send, serve, serve_with_tokens};
use crate::support::files::{id, issue_json, write_issues};
use crate::support::http::Server;
use crate::support::{directory, get};

const EVIL: &str = "<script>alert(1)</script>";

/// Writes a queue with two issues that changed here and at the remote of the sync `company`.
fn conflicts(directory: &Path) {
    let table = "[sync.company]\nkind = \"github\"\nproject = \"acme/shop\"\n";
    fs::write(directory.join("ait.toml"), table).unwrap();
    let issues = [1, 2].map(|number| {
        let mut issue = issue_json(&id(number), "Here", "created");
        let link = json!({ "key": number.to_string(), "conflicts": { "title": "There", "description": EVIL } });
        issue["sync"] = json!({ "company": link });
        issue
    });
    write_issues(directory, &issues);
}

#[test]
fn people_choose_a_side_for_each_issue() {
    let directory = directory();
    let path = directory.path();
    conflicts(path);
    let server = serve(path);
    let page = get(server.port, "/sync").body;
    for part in [
        "company",
        "acme/shop",
        "No run has ended",
        "Here</pre>",
        "There</pre>",
        "Keep here",
        "Take theirs",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains(EVIL) && page.contains("&lt;script&gt;"), "{page}");
    assert!(page.contains("aria-current=\"page\">Sync") || page.contains(">Sync</a>"), "{page}");
    let [keep, take] = [1, 2].map(|number| Form::load(server.port, &id(number), "resolve"));
    let none = keep.send();
    assert_eq!(none.status, 400, "{}", none.body);
    assert_eq!(keep.clone().with("side", "here").send().status, 303);
    assert_eq!(take.clone().with("side", "there").send().status, 303);
    assert_eq!(
        (&issue(path, &id(1))["title"], &issue(path, &id(2))["title"]),
        (&json!("Here"), &json!("There"))
    );
    for number in [1, 2] {
        assert_eq!(issue(path, &id(number))["sync"]["company"].get("conflicts"), None);
    }
    let last = issue(path, &id(2))["history"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["agent"], "Ann");
    // The same form again.
    assert_eq!(keep.with("side", "there").send().status, 409);
    assert_eq!(issue(path, &id(1))["title"], "Here");
    assert!(!get(server.port, "/sync").body.contains("Keep here"));
}

#[test]
fn forged_choices_change_nothing() {
    let directory = directory();
    let path = directory.path();
    conflicts(path);
    let server = serve(path);
    let form = Form::load(server.port, &id(1), "resolve").with("side", "there");
    let before = issue(path, &id(1));
    let other = Form::load(server.port, &id(1), "comment").with("side", "there");
    let token =
        |form: &Form| form.fields.iter().find(|(name, _)| name == "token").unwrap().1.clone();
    for request in [
        form.bare(),
        form.bare().header("origin", "http://evil.example"),
        form.bare().header("origin", origin(server.port)).header("sec-fetch-site", "cross-site"),
        form.clone().with("token", "x").request(),
        form.clone().with("token", &token(&other)).request(),
        client().get(format!("{}{}", origin(server.port), form.path)).header("cookie", "x"),
    ] {
        assert!([403, 303].contains(&send(request).status));
    }
    assert_eq!(issue(path, &id(1)), before);
    drop(server);
    let server = serve_with_tokens(path);
    let page = |secret: &str| {
        let request = client().get(format!("{}/sync", origin(server.port)));
        send(request.header("authorization", bearer(secret))).body
    };
    assert!(page(WRITER).contains("Keep here"));
    let read_only = page(READER);
    assert!(read_only.contains("There</pre>") && !read_only.contains("Keep here"), "{read_only}");
}

#[test]
fn without_a_sync_there_is_no_page_and_without_the_setting_no_button() {
    let directory = directory();
    let server = Server::start(directory.path());
    assert_eq!(get(server.port, "/sync").status, 404);
    assert!(!get(server.port, "/").body.contains("/sync"));
    drop(server);
    conflicts(directory.path());
    let server = Server::start(directory.path());
    let page = get(server.port, "/sync").body;
    assert!(page.contains("ait sync --keep 00000001") && !page.contains("Keep here"), "{page}");
}

#[test]
fn what_waits_to_be_sent_is_named_up_to_a_limit() {
    let directory = directory();
    let path = directory.path();
    let table = "[sync.company]\nkind = \"github\"\nproject = \"acme/shop\"\npush = [\"new\"]\n";
    fs::write(path.join("ait.toml"), table).unwrap();
    let issues: Vec<_> = (1..=53).map(|number| issue_json(&id(number), EVIL, "created")).collect();
    write_issues(path, &issues);
    let server = serve(path);
    let page = get(server.port, "/sync").body;
    assert!(page.contains("Sent by the next run: 53<") && page.contains(">3 more<"), "{page}");
    assert_eq!(page.matches("</a>: new<").count(), 50);
    assert!(!page.contains(EVIL));
    fs::write(path.join("ait.toml"), table.replace("\"new\"", "")).unwrap();
    drop(server);
    assert!(!get(serve(path).port, "/sync").body.contains("Sent by the next run"));
}
