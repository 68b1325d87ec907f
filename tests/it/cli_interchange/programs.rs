//! Files of other programs as `ait import` reads them, what it says about them, and the way back.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use super::{SAMPLES, counts, done, refused, run, run_with_input, sample, text};
use crate::support::files::stored_issues;
use crate::support::{Client, ait, directory, get};

fn import(directory: &Path, arguments: &[&str], input: &str) -> Output {
    run_with_input(directory, &[&["import", "-"], arguments].concat(), input.as_bytes())
}

/// Returns the text of both streams, without the name of the command that stands before each note.
pub(super) fn told(output: &Output) -> String {
    text(&output.stdout) + &text(&output.stderr)
}

/// Returns one line for each issue: what an agent sees of it first.
pub(super) fn summary(issues: &[Value]) -> String {
    let title = |id: &Value| {
        let found = issues.iter().find(|issue| issue["id"] == *id);
        found.map_or("?".to_owned(), |issue| issue["title"].as_str().unwrap().to_owned())
    };
    let line = |issue: &Value| {
        let links = issue["links"].as_array().into_iter().flatten();
        let links = links.map(|link| format!("{} {}", link["kind"], title(&link["to"])));
        let parts = [
            issue["title"].to_string(),
            format!("{} {}", issue["status"], issue["classification"]),
            ["priority", "labels", "assignee"].map(|key| format!("{key} {}", issue[key])).join(" "),
            format!("parked {}", issue["parked"]["reason"]),
            format!("links [{}]", links.collect::<Vec<_>>().join(", ")),
            format!("comments {}", issue["comments"].as_array().unwrap().len()),
        ];
        parts.join(" · ").replace('"', "") + "\n"
    };
    issues.iter().map(line).collect()
}

/// The files and folders of the corpus.
fn corpus() -> Vec<String> {
    let names = fs::read_dir(SAMPLES).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 15, "{names:?}");
    names
}

/// Imports each file of another program, and checks the report and the issues.
#[test]
fn files_of_other_programs_are_read_as_documented() {
    for name in corpus() {
        if ["beads.jsonl", "mixed.json", "spreadsheet.csv", "titles.csv"].contains(&&*name) {
            continue;
        }
        let store = directory();
        let planned = told(&run(store.path(), &["import", &sample(&name), "--dry-run"]));
        done_or_partly(&run(store.path(), &["import", &sample(&name)]));
        let issues = summary(&stored_issues(store.path()));
        insta::assert_snapshot!(
            format!("program_{}", name.replace('.', "_")),
            planned + "\n" + &issues
        );
    }
}

#[track_caller]
fn done_or_partly(output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", told(output));
}

/// What an import has read, an export writes, and another import reads the same.
#[test]
fn every_file_survives_import_export_and_import() {
    for name in corpus() {
        let store = directory();
        let first = run(store.path(), &["import", &sample(&name)]);
        done_or_partly(&first);
        let count = stored_issues(store.path()).len();
        let exported = done(&run(store.path(), &["export"]));
        for form in ["json", "jsonl", "csv"] {
            let (file, other) = (format!("export.{form}"), format!("other_{form}.json"));
            done(&run(store.path(), &["export", &file]));
            let imported = run(store.path(), &["--file", &other, "import", &file]);
            assert_eq!(done(&imported), format!("{count} new, 0 same, 0 different, 0 refused\n"));
            assert_eq!(text(&imported.stderr), "", "{name} {form}");
            assert_eq!(done(&run(store.path(), &["--file", &other, "export"])), exported);
            let same = format!("0 new, {count} same, 0 different, 0 refused\n");
            assert_eq!(done(&run(store.path(), &["import", &file])), same, "{name} {form}");
        }
        let again = run(store.path(), &["import", &sample(&name), "--json"]);
        let again: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!((&again["new"], &again["different"]), (&json!(0), &json!(0)), "{name}");
    }
}

#[test]
fn report_in_json_names_what_became_no_field() {
    let store = directory();
    let file = json!([
        {"id": "A-1", "title": "one", "status": "completed", "sprint": 7, "blocked_by": ["A-9"]},
        {"id": "A-2", "title": "two", "sprint": 8, "votes": 0},
    ]);
    for arguments in [&["--dry-run", "--json"][..], &["--json"]] {
        let output = import(store.path(), arguments, &file.to_string());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["kept"], json!({"sprint": 2}));
        let guess = "status \"completed\" is read as completed, and waits for review";
        assert_eq!(report["guesses"], json!({guess: 1}));
        assert_eq!(
            report["issues"][0]["droppedLinks"],
            json!(["blocked_by A-9 (neither the file nor the store has that issue)"])
        );
        assert_eq!(report["issues"][1].get("droppedLinks"), None);
    }
}

#[test]
fn documents_without_issues_are_refused_as_what_they_are() {
    let store = directory();
    for (input, arguments, expected) in [
        (
            r#"{"name":"P","columns":[{"name":"a"}],"rows":[{"title":"T"}]}"#,
            &[][..],
            "this is neither an issue nor a list of issues; it has objects with a title or a name: 1 in `columns`, 1 in `rows`; --items KEY reads",
        ),
        (
            r#"{"name":"pkg","version":"1","type":"module","author":"x","scripts":{}}"#,
            &[],
            "it has the keys `name`, `version`",
        ),
        (r#"{"foo":1}"#, &[], "it has the keys `foo`"),
        (
            r#"{"foo":{"rows":[{"title":"T"}]}}"#,
            &["--items", "foo.row"],
            "no list `foo.row`; it has objects with a title or a name: 1 in `foo.rows`",
        ),
    ] {
        let error = refused(&import(store.path(), arguments, input), 1);
        assert!(error.contains(expected), "{error}");
    }
    let nested = r#"{"foo":{"rows":[{"title":"T"},{"title":"U"}]}}"#;
    let output = import(store.path(), &["--items", "foo.rows"], nested);
    assert_eq!(done(&output), "2 new, 0 same, 0 different, 0 refused\n");
    // The answers of many programs have one list.
    let output = import(
        store.path(),
        &[],
        r#"{"data":[{"gid":"12","name":"N","notes":"D","completed":true}]}"#,
    );
    assert_eq!(done(&output), "1 new, 0 same, 0 different, 0 refused\n");
    let issue = stored_issues(store.path()).pop().unwrap();
    assert_eq!((&issue["status"], &issue["description"]), (&json!("closed"), &json!("D")));
    fs::write(store.path().join("empty.md"), "no front matter").unwrap();
    let error = refused(&run(store.path(), &["import", "."]), 1);
    assert!(error.contains("no file has an issue"), "{error}");
}

#[test]
fn own_statuses_of_beads_are_mapped_and_never_closed_by_a_hint() {
    let store = directory();
    let bead = r#"{"id":"b-1","title":"T","status":"brewing","issue_type":"task"}"#;
    let report = text(&import(store.path(), &[], bead).stdout);
    assert!(
        report.contains("--map-value 'status:brewing=created' reads it as created"),
        "{report}"
    );
    let mapped = import(store.path(), &["--map-value", "status:brewing=rejected"], bead);
    assert_eq!(done(&mapped), "1 new, 0 same, 0 different, 0 refused\n");
    assert_eq!(stored_issues(store.path())[0]["status"], "rejected");
    let wrong = r#"{"id":"b-2","title":["T"],"status":"open","issue_type":"task"}"#;
    let report = text(&import(store.path(), &[], wrong).stdout);
    assert!(report.contains("not a beads issue: title: invalid type"), "{report}");
}

#[test]
fn issues_with_one_title_are_told_apart_by_their_numbers() {
    let store = directory();
    let issue =
        |number: u32, about: &str| json!({"number": number, "title": "Bump", "about": about});
    let output = import(store.path(), &[], &json!([issue(1, "a"), issue(2, "a")]).to_string());
    assert_eq!(done(&output), "2 new, 0 same, 0 different, 0 refused\n");
    let output = import(store.path(), &[], &json!([issue(3, "a"), issue(3, "b")]).to_string());
    let report = text(&output.stdout);
    let expected =
        "item 1 has the same id, because only their texts identify them: give each one its own url";
    assert!(report.contains(expected), "{report}");
}

/// A part may be filed before its whole, and its blockers may have ended; the store decides each issue on those before
/// it.
#[test]
fn what_a_dry_run_accepts_is_imported() {
    let store = directory();
    let bead = |number: usize| {
        let whole = number / 50 * 50;
        let blockers = [1, 2, 5].into_iter().filter(|back| *back <= number);
        let mut dependencies: Vec<_> = blockers
            .map(|back| json!({"depends_on_id": format!("b-{}", number - back), "type": "blocks"}))
            .collect();
        if whole != number {
            let parent = json!({"depends_on_id": format!("b-{whole}"), "type": "parent-child"});
            dependencies.insert(0, parent);
        }
        let status = if number.is_multiple_of(3) { "closed" } else { "open" };
        json!({
            "id": format!("b-{number}"), "title": format!("t {number}"), "status": status,
            "issue_type": "task", "created_at": "2026-01-02T03:04:05Z", "dependencies": dependencies,
        })
        .to_string()
    };
    let lines: Vec<String> = (0..600).map(bead).collect();
    let output = import(store.path(), &[], &lines.join("\n"));
    assert_eq!(done(&output), "600 new, 0 same, 0 different, 0 refused\n");
}

#[test]
fn update_brings_in_what_changed_elsewhere() {
    let store = directory();
    let issue = |number: u32, more: Value| {
        let mut issue = json!({
            "number": number, "title": format!("n{number}"), "body": "B", "state": "open",
            "html_url": format!("https://github.com/o/r/issues/{number}"), "labels": [{"name": "ui"}],
            "user": {"login": "mona"}, "created_at": "2026-01-02T03:04:05Z",
            "updated_at": "2026-01-02T03:04:05Z",
        });
        issue.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        issue
    };
    let first = json!([issue(1, json!({})), issue(2, json!({})), issue(3, json!({}))]).to_string();
    done(&import(store.path(), &[], &first));
    let ids: Vec<String> = stored_issues(store.path())
        .iter()
        .map(|issue| issue["id"].as_str().unwrap().to_owned())
        .collect();
    // Here, one issue gets another title, and another one is claimed.
    done(&run(store.path(), &["edit", &ids[0], "--title", "ours", "-l", "core", "-a", "dev"]));
    done(&run(store.path(), &["claim", &ids[2], "-a", "dev"]));
    let later = "2026-02-02T03:04:05Z";
    let second = json!([
        issue(1, json!({"title": "theirs", "body": "C", "labels": [{"name": "web"}], "updated_at": later})),
        issue(2, json!({"state": "closed", "closed_at": later, "updated_at": later})),
        issue(3, json!({"state": "closed", "closed_at": later, "updated_at": later})),
        issue(4, json!({})),
    ])
    .to_string();
    let plain = import(store.path(), &[], &second);
    assert_eq!(counts(&plain), "1 new, 0 same, 3 different, 0 refused");
    let planned = import(store.path(), &["--update", "--dry-run"], &second);
    assert!(counts(&planned).ends_with("0 new, 1 same, 1 different, 0 refused, 2 updated"));
    assert_eq!(stored_issues(store.path())[0]["description"], "B");
    let updated = import(store.path(), &["--update"], &second);
    assert_eq!(counts(&updated), "0 new, 1 same, 1 different, 0 refused, 2 updated");
    let issues = stored_issues(store.path());
    assert_eq!((&issues[0]["title"], &issues[0]["description"]), (&json!("ours"), &json!("C")));
    assert_eq!(issues[0]["labels"], json!(["core", "web"]));
    assert_eq!(
        (&issues[1]["status"], &issues[2]["status"]),
        (&json!("closed"), &json!("in_progress"))
    );
    // Nothing is new now. Where both sides changed a field, the store keeps its own.
    let again = import(store.path(), &["--update"], &second);
    assert_eq!(counts(&again), "0 new, 2 same, 2 different, 0 refused");
    assert!(
        text(&again.stdout).contains("different title, labels; the store keeps its own"),
        "{}",
        told(&again)
    );
    assert_eq!(stored_issues(store.path()), issues);
    // The base of the next update is what the other tracker showed last.
    let third = second.replace("\"C\"", "\"D\"").replace("\"web\"", "\"net\"");
    let updated = import(store.path(), &["--update"], &third);
    assert_eq!(counts(&updated), "0 new, 2 same, 1 different, 0 refused, 1 updated");
    let issue = stored_issues(store.path()).remove(0);
    assert_eq!((&issue["title"], &issue["description"]), (&json!("ours"), &json!("D")));
    assert_eq!(issue["labels"], json!(["core", "net"]));
}

#[test]
fn show_finds_imported_issues_by_their_names_elsewhere() {
    let store = directory();
    let github = |repository: &str, number: u32| {
        json!({
            "number": number, "title": format!("{repository} {number}"),
            "url": format!("https://github.com/o/{repository}/issues/{number}"),
        })
    };
    let file =
        json!([github("r", 12), github("r", 112), github("r", 5), github("s", 5)]).to_string();
    done(&import(store.path(), &[], &file));
    done(&import(store.path(), &[], "Issue key,Summary,Points\nABC-12,of jira,12\n"));
    done(&run(store.path(), &["import", &sample("bd_backup")]));
    for (name, title) in [
        ("12", "r 12"),
        ("#12", "r 12"),
        ("112", "r 112"),
        ("ABC-12", "of jira"),
        ("hut-1", "Floor"),
    ] {
        let shown = done(&run(store.path(), &["show", name, "--json"]));
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["title"], title, "{name}");
    }
    let error = refused(&run(store.path(), &["show", "5"]), 1);
    assert!(error.contains("2 issues"), "{error}");
    for name in ["13", "hut-3", "abcd1234"] {
        refused(&run(store.path(), &["show", name]), 1);
    }
    // Commands that change issues take the same names.
    let change = |arguments: &[&str]| run(store.path(), &[arguments, &["-a", "dev"]].concat());
    done(&change(&["claim", "#12"]));
    done(&change(&["comment", "12", "-m", "seen"]));
    done(&change(&["link", "12", "blocked-by", "ABC-12"]));
    done(&change(&["edit", "112", "--parent", "hut-1"]));
    done(&change(&["complete", "12", "-m", "done"]));
    done(&change(&["bulk", "112", "--blocked-by", "ABC-12", "--yes"]));
    let issues = stored_issues(store.path());
    let of = |title: &str| issues.iter().find(|issue| issue["title"] == title).unwrap();
    let link = |kind: &str, to: &str| json!([{"kind": kind, "to": of(to)["id"]}]);
    assert_eq!(of("r 12")["status"], "completed");
    assert_eq!(of("r 12")["links"], link("blocked_by", "of jira"));
    assert_eq!(of("r 112")["links"][0], link("parent", "Floor")[0]);
    assert_eq!(of("r 112")["links"][1], link("blocked_by", "of jira")[0]);
    let error = refused(&change(&["comment", "5", "-m", "which?"]), 1);
    assert!(error.contains("2 issues") && error.contains("s 5"), "{error}");
    let error = refused(&change(&["comment", "13", "-m", "none"]), 1);
    assert!(error.contains("\"13\"") && error.contains("ait list"), "{error}");
}

/// Agents and pages call issues by these names, too.
#[test]
fn tools_and_pages_find_imported_issues_by_their_names_elsewhere() {
    let store = directory();
    let jira =
        "Issue key,Summary,Number\nABC-12,of jira,12\nABC-13,other,12345678\nABD-12,twin,12.1\n";
    done(&import(store.path(), &[], jira));
    let mut client = Client::begin(ait(store.path()).args(["--toolsets", "all"]));
    let claimed = client.call("get_next_issue", json!({"agent": "dev", "issue_id": "12"})).issue();
    assert_eq!(claimed["title"], "of jira");
    let port = client.port();
    for name in ["12", "%2312", "ABC-12", "12345678", "12.1"] {
        assert_eq!(get(port, &format!("/issues/{name}")).status, 200, "{name}");
        assert_eq!(get(port, &format!("/api/issues/{name}")).status, 200, "{name}");
    }
    assert_eq!(get(port, "/issues/13").status, 404);
    assert!(get(port, "/?q=%2312").body.contains("of jira"));
    let found = get(port, "/api/issues?parent=ABC-12").json();
    assert_eq!(found["total"], 0, "{found}");
    let with = |name: &str, more: Value| {
        let mut arguments = json!({"agent": "dev", "issue_id": name});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (tool, name, more) in [
        ("get_context", "12,ABC-13", json!({})),
        ("list_issues", "#12", json!({})),
        ("update_issue", "12", json!({"priority": 1, "blocked_by": ["12345678"]})),
        ("link_issues", "ABC-12", json!({"to": ["12.1"], "kind": "related"})),
        ("complete_issue", "12", json!({"comment": "done"})),
        ("close_issue", "12", json!({"comment": "no", "resolution": "rejected"})),
        ("get_next_issue", "ABC-13", json!({})),
        ("return_issue", "ABC-13", json!({"comment": "no"})),
        ("ask_human", "ABC-13", json!({"question": "why?"})),
    ] {
        let mut arguments = with(name, more);
        if ["get_context", "list_issues"].contains(&tool) {
            arguments.as_object_mut().unwrap().remove("agent");
        }
        client.call(tool, arguments).ok();
    }
    let refusal = client.call("get_next_issue", with("99", json!({}))).refusal();
    assert!(refusal.contains("\"99\"") && refusal.contains("list_issues"), "{refusal}");
    let issues = stored_issues(store.path());
    let links: Vec<_> =
        issues[0]["links"].as_array().unwrap().iter().map(|link| link["to"].clone()).collect();
    assert_eq!(links, [issues[1]["id"].clone(), issues[2]["id"].clone()]);
}

#[test]
fn pull_requests_and_templates_are_skipped_and_counted() {
    let store = directory();
    for mark in [
        json!({"pull_request": {"url": "u"}}),
        json!({"isPullRequest": true}),
        json!({"url": "https://github.com/o/r/pull/2"}),
        json!({"source_branch": "a", "target_branch": "b"}),
    ] {
        let mut request = json!({"number": 2, "title": "T", "state": "open"});
        request.as_object_mut().unwrap().extend(mark.as_object().unwrap().clone());
        let output = import(store.path(), &[], &json!([request]).to_string());
        assert_eq!(counts(&output), "0 new, 0 same, 0 different, 0 refused, 1 skipped");
        assert_eq!(output.status.code(), Some(0));
    }
}
