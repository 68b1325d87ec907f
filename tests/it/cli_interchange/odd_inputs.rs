//! Files as programs and people leave them: joined, cut off, in other encodings, with values in other words. Each case
//! names what an import says and what an agent sees.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::programs::{summary, told};
use super::run;
use crate::support::directory;
use crate::support::files::stored_issues;

/// Imports a file twice, and returns the report of the first import with the issues. The second one changes nothing.
#[track_caller]
fn imported(name: &str, content: impl AsRef<[u8]>) -> (String, String) {
    let store = directory();
    fs::write(store.path().join(name), content).unwrap();
    imported_from(store.path(), name)
}

#[track_caller]
fn imported_from(directory: &Path, name: &str) -> (String, String) {
    let report = told(&run(directory, &["import", name]));
    let issues = stored_issues(directory);
    let again = told(&run(directory, &["import", name]));
    let is_same = again.contains(&format!("0 new, {} same, 0 different", issues.len()));
    assert!(is_same || issues.is_empty(), "{again}");
    (report, summary(&issues))
}

fn utf16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes_of).collect()
}

#[test]
fn joined_and_encoded_files_are_read_whole() {
    let csv = "id,title\r\nA,größe\r\nB,two\r\n";
    let lines = "{\"id\":\"A\",\"title\":\"größe\"}\n{\"id\":\"B\",\"title\":\"two\"}\n";
    let page = |number: u32| json!([{"number": number, "title": format!("n{number}")}]).to_string();
    let marked = |text: &str| format!("\u{feff}{text}");
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("a.csv", utf16(&marked(csv), u16::to_le_bytes)),
        ("a.csv", utf16(&marked(csv), u16::to_be_bytes)),
        ("a.jsonl", utf16(&marked(lines), u16::to_le_bytes)),
        ("a.jsonl", utf16(lines, u16::to_le_bytes)),
        ("a.jsonl", lines.split('\n').map(|line| marked(line) + "\n").collect::<String>().into()),
        // The pages of `gh api --paginate`, and those with `--slurp`.
        ("a.json", (page(1) + &page(2)).into()),
        ("a.json", format!("{}\n{}\n", page(1), page(2)).into()),
        ("a.json", format!("[{},{}]", page(1), page(2)).into()),
        (
            "a.json",
            "{\n\"id\": \"A\", \"title\": \"one\"}\n{\n\"id\": \"B\", \"title\": \"two\"\n}\n"
                .into(),
        ),
        // Answers of Jira.
        ("a.json", format!("{{\"issues\":{}}}\n{{\"issues\":{}}}\n", page(1), page(2)).into()),
        ("a.csv", "sep=;\nid;title\nA;one\nB;two\n".into()),
        ("a.csv", "Title\nlog in, then out\n\"quoted, with a comma\"\n".into()),
        (
            "a.csv",
            "id;title;body\nA;\"a \"\"quoted\"\" one\";\"line one\nline two; still\"\nB;two;x\n"
                .into(),
        ),
    ];
    for (name, content) in files {
        let shown = String::from_utf8_lossy(&content).into_owned();
        let (report, issues) = imported(name, content);
        assert!(report.starts_with("2 new, 0 same, 0 different, 0 refused"), "{report}\n{shown}");
        assert_eq!(issues.lines().count(), 2, "{issues}");
    }
    let (_, issues) = imported("a.csv", "Title\nlog in, then out\n");
    assert!(issues.starts_with("log in, then out · "), "{issues}");
}

#[test]
fn what_cannot_be_read_is_named_as_what_it_is() {
    for (name, content, expected) in [
        (
            "a.json",
            &b"[{\"id\":\"A\",\"title\":\"one\"},{\"id\":\"B\",\"ti"[..],
            "it may be cut off",
        ),
        ("a.json", b"{\"issues\":[{\"title\":\"one\"}", "it may be cut off"),
        (
            "a.jsonl",
            b"{\"title\":\"one\"}\n{\"title\":\"tw",
            "so it was cut off: get the whole file",
        ),
        (
            "a.jsonl",
            b"{\"title\":\"one\"}\n{\"id\":\"B\",\"tit\n{\"title\":\"three\"}\n",
            "EOF while parsing a string",
        ),
        ("a.csv", b"id,title\nA,gr\xf6\xdfe\n", "line 2 is not UTF-8"),
        ("a.md", b"---\nid: 1\ntitle: gr\xf6\xdfe\n---\n", "a.md is not UTF-8"),
        ("a.md", b"# a page", "no file has an issue"),
        ("a.csv", b"A,one,open\n", "no column \"title\""),
        ("a.json", b"[1,null,[2]]", "expected an issue"),
    ] {
        let (report, _) = imported(name, content);
        assert!(report.contains(expected), "{report}\n{}", String::from_utf8_lossy(content));
    }
}

#[test]
fn lists_in_cells_and_words_for_nothing_are_read() {
    let csv = "Task ID,Task Name,Assignees,Tags,Priority,Parent ID\n\
               a,one,\"[Ann,Bo]\",\"[x, y]\",null,null\nb,two,[Ann],\"[\"\"x\"\",\"\"y\"\"]\",2,-\n";
    let (report, issues) = imported("a.csv", csv);
    assert!(report.contains("another value has their field: Assignees\n"), "{report}");
    assert!(!report.contains("were not made"), "{report}");
    assert_eq!(issues.matches("labels [x,y] assignee Ann").count(), 2, "{issues}");
    let todos = r#"[{"content":"one","status":"pending"},{"content":"two","status":"completed"}]"#;
    let (_, issues) = imported("a.json", todos);
    assert!(issues.starts_with("one · created") && issues.contains("two · completed"), "{issues}");
    let csv = "bug_id,bug_status,resolution,short_desc\n1,RESOLVED,WONTFIX,one\n2,NEW,---,two\n";
    let (_, issues) = imported("a.csv", csv);
    assert!(issues.contains("one · rejected") && issues.contains("two · created"), "{issues}");
    let jira = "Issue key,Summary,Issue Type\nS-1,one,Aufgabe\nS-2,two,Fehler\n";
    let (_, issues) = imported("a.csv", jira);
    assert!(issues.contains("one · created improvement"), "{issues}");
    assert!(issues.contains("two · created bug"), "{issues}");
}

/// Returns the words that each issue of a list of values of one key gets in a field.
fn read_as(key: &str, values: &[&str], field: &str) -> Vec<(String, Value)> {
    let store = directory();
    let issues = values.iter().enumerate();
    let issues =
        issues.map(|(id, value)| json!({"id": format!("W-{id}"), "title": value, key: value}));
    let issues: Vec<_> = issues.collect();
    fs::write(store.path().join("a.json"), json!(issues).to_string()).unwrap();
    run(store.path(), &["import", "a.json"]);
    let stored = stored_issues(store.path());
    let of = |value: &&str| {
        let issue = stored.iter().find(|issue| issue["title"] == **value);
        ((*value).to_owned(), issue.map_or(Value::Null, |issue| issue[field].clone()))
    };
    values.iter().map(of).collect()
}

#[test]
fn words_are_read_as_people_use_them() {
    for (key, field, read, values) in [
        (
            "status",
            "status",
            json!("closed"),
            &["Closed (Fixed)", "Shipped", "Erledigt", "Terminé", "Done ✅"][..],
        ),
        (
            "status",
            "status",
            json!("rejected"),
            &["Cancelled by user", "Won't implement", "Annulé", "Skipped"],
        ),
        (
            "status",
            "status",
            json!("completed"),
            &["Ready to merge", "Awaiting approval", "In staging"],
        ),
        (
            "status",
            "status",
            json!("created"),
            &["01 - Backlog", "À faire", "Someday/Maybe", "3. In Progress"],
        ),
        ("status", "status", Value::Null, &["Brewing", "42", "Not done"]),
        (
            "priority",
            "priority",
            json!(1),
            &["Sev1", "Prio 1", "1.0", "hoch", "Must have", "High (1)"],
        ),
        ("priority", "priority", json!(3), &["niedrig", "Could have", "P3"]),
        (
            "created",
            "createdAt",
            json!("2026-01-28T00:00:00.000Z"),
            &["2026-W05-3", "2026W053", "2026-028"],
        ),
        (
            "created",
            "createdAt",
            json!("2026-01-02T02:04:05.000Z"),
            &["Fri Jan 2 03:04:05 2026 +0100"],
        ),
    ] {
        for (value, found) in read_as(key, values, field) {
            assert_eq!(found, read, "{value}");
        }
    }
    for value in ["Waiting for legal", "Blocked by ABC-1", "on hold until Q3", "En attente"] {
        let found = read_as("status", &[value], "parked");
        assert!(found[0].1["reason"].as_str().unwrap().contains(value), "{found:?}");
    }
    // A mark that is no word is kept, and named.
    let (report, _) = imported("a.json", r#"[{"id":"A","title":"one","priority":"🔥"}]"#);
    assert!(report.contains("another value has their field: priority"), "{report}");
    let (report, _) = imported("a.json", r#"[{"id":"A","title":"one","status":"Closed (Fixed)"}]"#);
    assert!(report.contains("is read as closed, by a part of it"), "{report}");
}

#[test]
fn truth_is_read_in_any_form_and_comments_need_no_time() {
    let done = ["true", "\"yes\"", "1", "\"T\"", "\"✓\"", "\"x\"", "\"2026-01-02\""];
    for value in done {
        let (_, issues) =
            imported("a.json", format!(r#"[{{"id":"A","title":"one","done":{value}}}]"#));
        assert!(issues.contains("closed improvement"), "{value}: {issues}");
    }
    let file = r#"[{"id":"A","title":"one","complete":true,"comments":["hi",{"body":"ho"}]}]"#;
    let (_, issues) = imported("a.json", file);
    assert!(issues.contains("closed") && issues.ends_with("comments 2\n"), "{issues}");
    let mongo =
        r#"[{"_id":{"$oid":"65f"},"title":"one","createdAt":{"$date":"2026-01-02T00:00:00Z"}}]"#;
    let (report, _) = imported("a.json", mongo);
    assert_eq!(report, "1 new, 0 same, 0 different, 0 refused\n");
}

#[test]
fn front_matter_is_read_in_both_styles_and_links_in_either_case() {
    let store = directory();
    for (path, text) in [
        (
            "tasks/1.md",
            "---\nid: task-1\ntitle: One # the first\nstatus: To Do # not yet\nlabels: [a, 'b, c',\n  d]\npriority: ~\n---\n",
        ),
        (
            "tasks/2.md",
            "---\r\nid: TASK-2\r\ntitle: >-\r\n  Two\r\n  lines\r\nstatus: Done\r\ndependencies:\r\n  - Task-1\r\n---\r\n",
        ),
        (
            "tasks/3.md",
            "\u{feff}---\nid: task-3\ntitle: Three\nstatus: Draft\nparent_task_id: task-2\nmore:\n  deep: 1\n---\n",
        ),
        ("docs/doc-1.md", "---\nid: doc-1\ntitle: Guide\ntype: guide\n---\n"),
        (
            "decisions/decision-1.md",
            "---\nid: decision-1\ntitle: Use Rust\nstatus: accepted\n---\n",
        ),
    ] {
        let path = store.path().join("backlog").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let (report, issues) = imported_from(store.path(), "backlog");
    assert!(report.contains("3 new, 0 same, 0 different, 0 refused, 2 skipped"), "{report}");
    assert!(report.contains("documents and decisions of Backlog.md are no work"), "{report}");
    assert!(report.contains("no fields: more"), "{report}");
    assert_eq!(
        issues,
        "One · created improvement · priority null labels [a,d] assignee null · parked null · links [] · comments 0\n\
         Two lines · closed improvement · priority null labels null assignee null · parked null · links [blocked_by One] · comments 0\n\
         Three · created improvement · priority null labels null assignee null · parked Draft in the imported file · links [parent Two lines] · comments 0\n"
            .replace("parked Draft", "parked \\Draft\\")
    );
    let (report, _) = imported("task-1.md", "---\nid: task-1\ntitle: One\n---\nBody\n");
    assert_eq!(report, "1 new, 0 same, 0 different, 0 refused\n");
}

#[test]
fn nested_lists_of_programs_are_read_whole() {
    let task = |id: u32, more: Value| {
        let mut task = json!({"id": id, "title": format!("t{id}"), "status": "pending"});
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    let deep = task(1, json!({"title": "deep", "dependencies": [2]}));
    let part = task(1, json!({"title": "part", "subtasks": [deep]}));
    let master = [task(1, json!({"dependencies": [2], "subtasks": [part]})), task(2, json!({}))];
    let tags = json!({"master": {"tasks": master}, "empty": {"tasks": []}});
    let (report, issues) = imported("tasks.json", tags.to_string());
    assert_eq!(report, "4 new, 0 same, 0 different, 0 refused\n");
    assert!(issues.contains("links [parent part, blocked_by t2]"), "{issues}");
    let vikunja = |id: u32, is_done: bool| json!({"id": id, "title": format!("v{id}"), "done": is_done, "percent_done": 0});
    let buckets = json!([
        {"id": 1, "title": "Doing", "tasks": [vikunja(1, false)]},
        {"id": 2, "title": "Done", "tasks": [vikunja(2, true)]},
        {"id": 3, "title": "Empty", "tasks": null},
    ]);
    for (file, count) in [(buckets.clone(), 2), (buckets[0].clone(), 1)] {
        let (report, issues) = imported("tasks.json", file.to_string());
        assert!(report.starts_with(&format!("{count} new, 0 same")), "{report}");
        assert!(!issues.contains("Doing") && !issues.contains("Empty"), "{issues}");
    }
    let card = |id: u32, more: Value| {
        let mut card = json!({"id": format!("65f00000000000000000000{id}"), "name": format!("c{id}"), "idList": "l"});
        card.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        card
    };
    let board = json!({
        "name": "B", "lists": [{"id": "l", "name": "Attic", "closed": true}],
        "cards": [card(1, json!({"attachments": [{"url": "u"}]})), card(2, json!({"isTemplate": true}))],
    });
    let (report, issues) = imported("board.json", board.to_string());
    assert!(report.contains("1 new, 0 same, 0 different, 0 refused, 1 skipped"), "{report}");
    assert!(
        report.contains("attachments") && report.contains("\"Attic\" is read as closed"),
        "{report}"
    );
    assert!(issues.starts_with("c1 · closed"), "{issues}");
}

/// A task that waits until a time to come is parked until then, and not longer.
#[test]
fn tasks_that_wait_are_parked_until_then() {
    let task = |number: u32, more: &str| {
        format!(
            r#"{{"uuid":"a1b2c3d4-0000-4000-8000-00000000000{number}","description":"t{number}","entry":"20260102T030405Z","status":"pending"{more}}}"#
        )
    };
    let tasks = [
        task(1, r#","wait":"20990101T000000Z","start":"20260103T000000Z""#),
        task(2, r#","wait":"20200101T000000Z""#),
        task(3, r#","recur":"weekly","parent":"a1b2c3d4-0000-4000-8000-000000000009""#),
    ];
    let store = directory();
    fs::write(store.path().join("a.json"), format!("[{}]", tasks.join(","))).unwrap();
    let (report, _) = imported_from(store.path(), "a.json");
    assert!(!report.contains("were not made"), "{report}");
    let issues = stored_issues(store.path());
    let until: Vec<_> = issues.iter().map(|issue| issue["parked"]["until"].clone()).collect();
    assert_eq!(until, [json!("2099-01-01T00:00:00.000Z"), Value::Null, Value::Null]);
    assert_eq!(issues[1].get("parked"), None);
}

/// Company-managed projects of Jira have a column for epics beside that for parents.
#[test]
fn each_row_has_the_parent_that_it_names() {
    let csv = "Issue key,Summary,Parent,Custom field (Epic Link),Labels,Labels\n\
               S-1,epic,,,a,b\nS-2,story,,S-1,,\nS-3,part,S-2,,,\nS-4,both,S-2,S-1,,\n";
    let (report, issues) = imported("a.csv", csv);
    assert!(report.contains("line 5: parent S-1 (an issue has one parent)"), "{report}");
    let links: Vec<_> = issues.lines().filter_map(|line| line.split(" · ").nth(4)).collect();
    assert_eq!(
        links,
        ["links []", "links [parent epic]", "links [parent story]", "links [parent story]"]
    );
}
