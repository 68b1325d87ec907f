//! Links between the issues of a remote, which become links here.

use std::path::Path;

use serde_json::{Value, json};

use super::{Fake, github, id, sync, titled};
use crate::support::directory;
use crate::support::runs::run;

/// Returns the links of the only issue with a title, as kinds and titles.
fn links(path: &Path, title: &str) -> Vec<(String, String)> {
    let issues = crate::support::files::stored_issues(path);
    let of = |to: &Value| issues.iter().find(|issue| issue["id"] == *to).unwrap()["title"].clone();
    let links = titled(path, title)["links"].as_array().cloned().unwrap_or_default();
    let text = |value: Value| value.as_str().unwrap().to_owned();
    links.iter().map(|link| (text(link["kind"].clone()), text(of(&link["to"])))).collect()
}

fn expected(links: &[(&str, &str)]) -> Vec<(String, String)> {
    links.iter().map(|(kind, title)| ((*kind).to_owned(), (*title).to_owned())).collect()
}

#[test]
fn links_of_github_are_merged_as_a_set() {
    let Some(github) = github() else { return };
    let directory = directory();
    let path = directory.path();
    github.configure(path, "");
    for title in ["Whole", "Part", "Blocker"] {
        github.file(title);
    }
    github.control(json!({"issue": {"title": "Of people"}}));
    let edit = |edit: Value| github.control(json!({ "edit": edit }));
    edit(json!({"number": 2, "parent": 1, "blockedBy": [3, 4]}));
    assert_eq!(sync(path, &["--dry-run"]).ok(), "company: 3 new here (would be done)\n");
    assert_eq!(sync(path, &[]).ok(), "company: 3 new here, 2 links changed here\n");
    let both = [("parent", "Whole"), ("blocked_by", "Blocker")];
    assert_eq!(links(path, "Part"), expected(&both));
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    assert!(run(path, &["show", "#2"]).ok().contains("Blocker"));
    // What was linked here stays, and what was removed here does not come again.
    run(path, &["add", "Began here"]).ok();
    let [part, own] = ["Part", "Began here"].map(|title| id(&titled(path, title)));
    run(path, &["link", &part, "blocked_by", &own]).ok();
    run(path, &["unlink", &part, "blocked_by", "#3"]).ok();
    edit(json!({"number": 2, "title": "Part, again"}));
    assert_eq!(sync(path, &[]).ok(), "company: 1 changed here\n");
    let mine = [("parent", "Whole"), ("blocked_by", "Began here")];
    assert_eq!(links(path, "Part, again"), expected(&mine));
    // The issue at the other end comes in later, and the whole is another one.
    github.control(json!({"edit": {"number": 4, "labels": ["agents"]}}));
    edit(json!({"number": 2, "parent": 3}));
    assert_eq!(sync(path, &[]).ok(), "company: 1 new here, 3 links changed here\n");
    let moved = [("blocked_by", "Began here"), ("parent", "Blocker"), ("blocked_by", "Of people")];
    assert_eq!(links(path, "Part, again"), expected(&moved));
    // A parent that was chosen here stays.
    run(path, &["link", &part, "parent", "#1"]).ok();
    edit(json!({"number": 2, "parent": 4, "blockedBy": []}));
    assert_eq!(sync(path, &[]).ok(), "company: 1 links changed here\n");
    let chosen = [("blocked_by", "Began here"), ("parent", "Whole")];
    assert_eq!(links(path, "Part, again"), expected(&chosen));
    // A link that would let an issue wait for itself is named, and the others are made.
    edit(json!({"number": 1, "blockedBy": [2, 3]}));
    edit(json!({"number": 3, "blockedBy": [2, 4]}));
    run(path, &["link", &part, "blocked_by", "#3"]).ok();
    let refused = sync(path, &[]);
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(refused.out.contains("company: 3 links changed here"), "{}", refused.out);
    assert!(refused.out.contains("3: ") && refused.out.contains("wait"), "{}", refused.out);
    assert_eq!(links(path, "Blocker"), expected(&[("blocked_by", "Of people")]));
}

#[test]
fn links_of_azure_and_of_backlog_come_in() {
    let table = "kind = \"azure\"\nproject = \"Shop\"\npull = \"state:open\"\n";
    let Some(azure) = Fake::start("azure.mjs", &[], table) else { return };
    let directory_of_azure = directory();
    let path = directory_of_azure.path();
    azure.configure(path, "push = [\"title\"]\n");
    for title in ["Whole", "Part", "Blocker"] {
        azure.control(json!({"issue": {"System.Title": title}}));
    }
    let [parent, blocker] = [
        json!(["System.LinkTypes.Hierarchy-Reverse", 1]),
        json!(["System.LinkTypes.Dependency-Reverse", 3]),
    ];
    azure.control(json!({"edit": {"id": 2, "linked": [parent, blocker]}}));
    assert_eq!(sync(path, &[]).ok(), "company: 3 new here, 2 links changed here\n");
    let both = [("parent", "Whole"), ("blocked_by", "Blocker")];
    assert_eq!(links(path, "Part"), expected(&both));
    assert_eq!(links(path, "Whole"), []);
    // The answer to a change has no links, which removes none.
    run(path, &["edit", "#2", "--title", "Part, again"]).ok();
    assert_eq!(sync(path, &[]).ok(), "company: 1 changed there\n");
    assert_eq!(sync(path, &[]).ok(), "company: nothing new\n");
    assert_eq!(links(path, "Part, again"), expected(&both));
    azure.control(json!({"edit": {"id": 2, "unlinked": [blocker]}}));
    assert_eq!(sync(path, &[]).ok(), "company: 1 links changed here\n");
    assert_eq!(links(path, "Part, again"), expected(&both[..1]));

    let table = "kind = \"backlog\"\nproject = \"ABC\"\n";
    let Some(backlog) = Fake::start("backlog.mjs", &[], table) else { return };
    let directory_of_backlog = directory();
    let path = directory_of_backlog.path();
    backlog.configure(path, "");
    for summary in ["Whole", "Part"] {
        backlog.control(json!({"issue": {"summary": summary}}));
    }
    let whole = backlog.issue(1)["id"].clone();
    // The parent is over, so it is not there.
    backlog.control(json!({"edit": {"key": "ABC-1", "statusId": 4}}));
    backlog.control(json!({"edit": {"key": "ABC-2", "parentIssueId": whole}}));
    assert_eq!(sync(path, &[]).ok(), "company: 1 new here\n");
    assert_eq!(links(path, "Part"), []);
    backlog.control(json!({"edit": {"key": "ABC-1", "statusId": 1}}));
    assert_eq!(sync(path, &[]).ok(), "company: 1 new here, 1 links changed here\n");
    assert_eq!(links(path, "Part"), expected(&both[..1]));
    backlog.control(json!({"edit": {"key": "ABC-2", "parentIssueId": ""}}));
    assert_eq!(sync(path, &[]).ok(), "company: 1 links changed here\n");
    assert_eq!(links(path, "Part"), []);
}
