//! Each field that has one value or none, through every face: commands, tools, searches, exports, edits, undo, pages.

use std::fs;

use agent_issue_tracker::domain::ValueField;
use serde_json::{Value, json};

use crate::support::files::{issues_in_file, settle, stored_issues, write_issues};
use crate::support::http::Server;
use crate::support::runs::run;
use crate::support::{Client, ait, directory, get};

/// A value of a field as people type it, another one, and a search that finds the first alone.
struct Sample {
    field: ValueField,
    option: &'static str,
    typed: [&'static str; 2],
    stored: [Value; 2],
    search: &'static str,
}

fn samples() -> Vec<Sample> {
    let sample = |field: &ValueField| match field {
        ValueField::Priority => Sample {
            field: *field,
            option: "--priority",
            typed: ["p1", "4"],
            stored: [json!(1), json!(4)],
            search: "priority:<=1",
        },
        ValueField::Assignee => Sample {
            field: *field,
            option: "--assign",
            typed: ["dev-1", "dev-2"],
            stored: [json!("dev-1"), json!("dev-2")],
            search: "assignee:dev-1",
        },
        ValueField::Due => Sample {
            field: *field,
            option: "--due",
            typed: ["2026-01-31", "2026-02-28T10:00:00Z"],
            stored: [json!("2026-01-31"), json!("2026-02-28T10:00:00.000Z")],
            search: "due:<=2026-01-31",
        },
        ValueField::Estimate => Sample {
            field: *field,
            option: "--estimate",
            typed: ["0.50", "13"],
            stored: [json!(0.5), json!(13)],
            search: "estimate:<1",
        },
    };
    ValueField::ALL.iter().map(sample).collect()
}

#[test]
fn each_field_goes_through_every_face() {
    for Sample { field, option, typed: [first, second], stored, search } in samples() {
        let directory = directory();
        let path = directory.path();
        let name = field.as_str();
        let value = || stored_issues(path)[0].get(name).cloned();
        let other = run(path, &["add", "another", "-c", "bug", option, second, "-a", "a"]).ok();
        assert!(other.contains("another"), "{other}");
        run(path, &["add", "one", "-c", "bug", option, first, "-a", "a"]).ok();
        let found: Value =
            serde_json::from_str(&run(path, &["list", search, "--json"]).ok()).unwrap();
        let found = found["issues"].as_array().unwrap();
        assert_eq!(
            (found.len(), &found[0]["title"], &found[0][name]),
            (1, &json!("one"), &stored[0])
        );
        let one = found[0]["id"].as_str().unwrap().to_owned();
        let shown = run(path, &["show", &one]).ok();
        assert!(shown.contains(stored[0].to_string().trim_matches('"')), "{shown}");
        if field != ValueField::Priority {
            let none = run(path, &["list", &format!("{name}:none"), "--json"]).ok();
            let none: Value = serde_json::from_str(&none).unwrap();
            assert_eq!(none["issues"], json!([]), "{name}");
        }

        // Tools: set, shown in a row, removed, undone.
        let mut client = Client::begin(ait(path).args(["--toolsets", "all"]));
        let change = json!({ "issue_id": one, "agent": "a", name: stored[1] });
        client.call("update_issue", change.clone()).ok();
        client.call("update_issue", change).refusal();
        run(path, &["undo", "--agent", "a"]).ok();
        let again: Value =
            serde_json::from_str(&run(path, &["show", &one, "--json"]).ok()).unwrap();
        assert_eq!(again[name], stored[0], "{again}");
        let text = |title: &str| json!({ "title": title, "description": "", "classification": "bug", name: stored[1] });
        let mut alone = text("alone");
        alone["agent"] = json!("a");
        client.call("add_issue", alone).ok();
        client.call("add_issues", json!({ "agent": "a", "issues": [text("together")] })).ok();
        for title in ["alone", "together"] {
            let found = run(path, &["list", title, "--json"]).ok();
            let found: Value = serde_json::from_str(&found).unwrap();
            assert_eq!(found["issues"][0][name], stored[1], "{title}: {found}");
            run(path, &["reject", found["issues"][0]["id"].as_str().unwrap(), "-m", "x"]).ok();
        }
        assert!(client.close().success());

        // Commands: removed, set again, in bulk.
        run(path, &["edit", &one, option, "none", "-a", "a"]).ok();
        let found = run(path, &["show", &one, "--json"]).ok();
        assert!(!found.contains(&format!("\"{name}\"")), "{found}");
        run(path, &["bulk", "another", option, first, "--yes", "-a", "a"]).ok();
        assert_eq!(value(), Some(stored[0].clone()));

        // Files of people, and exports in each format.
        settle(path);
        let mut issues = issues_in_file(path);
        issues[0][name] = stored[1].clone();
        write_issues(path, &issues);
        run(path, &["list"]).ok();
        assert_eq!(value(), Some(stored[1].clone()), "{name}: an edit");
        for format in ["csv", "json", "jsonl"] {
            let file = format!("{name}.{format}");
            run(path, &["export", &file]).ok();
            let text = fs::read_to_string(path.join(&file)).unwrap();
            assert!(text.contains(name), "{text}");
            let target = crate::support::directory();
            fs::copy(path.join(&file), target.path().join(&file)).unwrap();
            run(target.path(), &["import", &file]).ok();
            let imported = stored_issues(target.path())[0].get(name).cloned();
            assert_eq!(imported, Some(stored[1].clone()), "{file}");
        }

        // Pages.
        let server = Server::start(path);
        let all = get(server.port, "/").body;
        assert!(all.contains("another"), "{all}");
        let found = |query: &str| {
            let query = query.replace('<', "%3C").replace('=', "%3D");
            get(server.port, &format!("/api/issues?q={query}")).json()["total"].clone()
        };
        assert_eq!((found("another"), found(search)), (json!(1), json!(0)), "{name}");
        let issue = format!("/api/issues/{}", stored_issues(path)[0]["id"].as_str().unwrap());
        assert_eq!(get(server.port, &issue).json()[name], stored[1], "{name}");
    }
}

#[test]
fn overdue_issues_are_found_until_they_end() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "late", "-c", "bug", "--due", "2020-02-29", "-a", "a"]).ok();
    run(path, &["add", "soon", "-c", "bug", "--due", "2d", "-a", "a"]).ok();
    run(path, &["add", "whenever", "-c", "bug", "-a", "a"]).ok();
    let titles = |query: &str| {
        let found: Value =
            serde_json::from_str(&run(path, &["list", "--all", query, "--json"]).ok()).unwrap();
        let found = found["issues"].as_array().unwrap();
        let mut titles: Vec<_> =
            found.iter().map(|issue| issue["title"].as_str().unwrap().to_owned()).collect();
        titles.sort_unstable();
        titles
    };
    assert_eq!(titles("is:overdue"), ["late"]);
    assert_eq!(titles("due:<3d"), ["late", "soon"]);
    assert_eq!(titles("due:>1d"), ["soon"]);
    assert_eq!(titles("due:none"), ["whenever"]);
    let shown = run(path, &["list", "is:overdue", "--json"]).ok();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let late = shown["issues"][0]["id"].as_str().unwrap();
    assert!(run(path, &["show", late]).ok().contains("due: 2020-02-29 (overdue)"));
    run(path, &["close", late, "-m", "done", "-a", "a"]).ok();
    assert!(titles("is:overdue").is_empty());
    let refused = run(path, &["add", "x", "-c", "bug", "--due", "whenever"]);
    assert_eq!(refused.code, 2);
    assert!(refused.log.contains("is no date"), "{}", refused.log);
}

#[test]
fn estimates_of_parts_are_summed() {
    let directory = directory();
    let path = directory.path();
    let whole = run(path, &["add", "whole", "-c", "feature", "--estimate", "8", "-a", "a"]).ok();
    let whole = crate::support::id_in(&whole);
    for estimate in ["0.5", "2.25"] {
        run(path, &["add", "part", "-c", "bug", "--estimate", estimate, "--parent", &whole]).ok();
    }
    let shown = run(path, &["show", &whole]).ok();
    assert!(
        shown.contains("estimate: 8") && shown.contains("estimate of its parts: 2.75"),
        "{shown}"
    );
    let server = Server::start(path);
    let page = get(server.port, "/").body;
    assert!(page.contains("estimate 8, its parts 2.75"), "{page}");
}
