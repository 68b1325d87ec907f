//! The page of an issue for readers: links, copies, code.

use std::fs;

use serde_json::json;

use super::serve;
use crate::support::files::{id, issue_json, write_issues};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

#[test]
fn commits_and_branches_link_to_the_repository() {
    let directory = directory();
    let mut issue = issue_json(&id(1), "t", "created");
    let text = format!(
        "Fixed in {HASH}, after commit 3f2a9c1 on branch fix/login and branch `dev`; see `00000002`."
    );
    issue["description"] = json!(text);
    write_issues(directory.path(), &[issue, issue_json(&id(2), "other", "created")]);
    let page = |client: &Client| get(client.port(), "/issues/00000001").body;
    let plain = page(&Client::start(directory.path()));
    assert!(!plain.contains("://"), "{plain}");
    let settings = "repository-url = \"https://gitlab.example.com/acme/shop/\"\n";
    fs::write(directory.path().join("ait.toml"), settings).unwrap();
    let linked = page(&Client::start(directory.path()));
    for (path, text) in [
        (format!("commit/{HASH}"), HASH),
        ("commit/3f2a9c1".to_owned(), "3f2a9c1"),
        ("tree/fix/login".to_owned(), "fix/login"),
        ("tree/dev".to_owned(), "dev"),
    ] {
        let link = format!(
            "<a href=\"https://gitlab.example.com/acme/shop/-/{path}\" rel=\"nofollow noopener noreferrer\">{text}</a>"
        );
        assert!(linked.contains(&link), "no {link} in {linked}");
    }
    for body in [plain, linked] {
        let issue = format!("<code><a href=\"/issues/{}\" title=\"other (created)\"", id(2));
        assert!(body.contains(&issue), "{body}");
    }
    fs::write(directory.path().join("ait.toml"), "repository-url = \"javascript:alert(1)\"\n")
        .unwrap();
    let refused = run(directory.path(), &["list"]);
    assert!(refused.log.contains("is not the address of a repository"), "{}", refused.log);
}

#[test]
fn a_page_lists_the_issues_that_name_it() {
    let mut issues: Vec<_> =
        (0..30).map(|n| issue_json(&id(n), &format!("[{n}]"), "created")).collect();
    let at = "2026-01-01T00:00:00.000Z";
    issues[3]["comments"] =
        json!([{ "timestamp": at, "agent": "a", "text": "as in #00000001, or so" }]);
    issues[5]["description"] = json!("See issue-00000001.");
    for issue in &mut issues[6..30] {
        issue["description"] = json!("About 00000002.");
    }
    let (_directory, mut client, port) = serve(&issues);
    let section = |path: &str| {
        let body = get(port, path).body;
        let (_, rest) = body.split_once("id=\"issue-mentions\"")?;
        Some(rest.split_once("</section>")?.0.to_owned())
    };
    let first = section("/issues/00000001").unwrap();
    let named: Vec<_> =
        first.split("dir=\"auto\">").skip(1).map(|rest| rest.split('<').next().unwrap()).collect();
    assert_eq!(named, ["[5]", "[3]"], "{first}");
    assert_eq!(section("/issues/00000000"), None);
    let many = section("/issues/00000002").unwrap();
    assert_eq!(many.matches("class=\"title\"").count(), 20, "{many}");
    assert!(many.contains("<a href=\"/?q=00000002\">"), "{many}");
    // The list of mentions follows changes.
    client
        .call(
            "return_issue",
            json!({ "issue_id": id(0), "comment": "00000004 first", "agent": "a" }),
        )
        .ok();
    assert!(section("/issues/00000004").unwrap().contains("[0]"));
}

#[test]
fn entries_have_permalinks_and_ids_can_be_copied() {
    let mut issue = issue_json(&id(1), "A [title] & *more*", "created");
    let entry = json!({ "timestamp": issue["createdAt"], "agent": "a", "action": "Issue filed" });
    issue["history"] = json!([entry]);
    let (_directory, _client, port) = serve(&[issue]);
    let body = get(port, "/issues/00000001").body;
    assert!(body.contains("<a class=\"permalink\" href=\"#moment-1\"><time "), "{body}");
    for copied in [
        "data-copy=\"issue-00000001\"",
        "data-copy=\"ait show 00000001\"",
        "data-copy=\"A \\[title\\] &amp; \\*more\\*\" data-copy-path=\"/issues/00000001-",
    ] {
        assert!(body.contains(copied), "no {copied} in {body}");
    }
}

#[test]
fn code_is_folded_and_differences_are_marked() {
    let mut issue = issue_json(&id(1), "t", "created");
    let log = "line\n".repeat(30);
    issue["description"] = json!(format!("```diff\n-old\n+new\n```\n\n```\n{log}```\n"));
    let (_directory, _client, port) = serve(&[issue]);
    let body = get(port, "/issues/00000001").body;
    assert!(body.contains("<pre><code><del>-old\n</del><ins>+new\n</ins></code></pre>"), "{body}");
    assert!(body.contains("<details><summary>30 lines</summary><pre tabindex=\"0\">"), "{body}");
}
