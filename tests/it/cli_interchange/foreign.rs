//! `ait import` of files that other trackers, scripts and people write.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use super::{counts, done, refused, run_with_input, text};
use crate::support::files::{names, stored_issues};
use crate::support::{ait, directory};

fn import(directory: &Path, arguments: &[&str], input: &str) -> Output {
    run_with_input(directory, &[&["import", "-"], arguments].concat(), input.as_bytes())
}

/// Imports one issue into a new store and returns it.
#[track_caller]
fn imported(arguments: &[&str], input: &str) -> Value {
    let directory = directory();
    let output = import(directory.path(), arguments, input);
    let report = text(&output.stdout);
    assert_eq!(report, "1 new, 0 same, 0 different, 0 refused\n", "{}", text(&output.stderr));
    stored_issues(directory.path()).remove(0)
}

/// Imports an input that must be refused. Returns the reasons.
#[track_caller]
fn reasons(arguments: &[&str], input: &str) -> String {
    let directory = directory();
    let output = import(directory.path(), arguments, input);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(names(directory.path()).is_empty());
    text(&output.stdout)
}

/// Returns the output of `gh issue list --json …`.
fn github_issues() -> Value {
    json!([
        {
            "author": {"id": "MDQ6", "is_bot": false, "login": "mona", "name": "Mona"},
            "body": "It fails.\r\nAlways.", "closedAt": null, "createdAt": "2026-01-02T03:04:05Z",
            "comments": [{
                "id": "IC_1", "author": {"login": "hubot"}, "authorAssociation": "NONE",
                "body": "Here, too.", "createdAt": "2026-01-03T00:00:00Z",
            }],
            "labels": [
                {"id": "LA_1", "name": "bug", "description": "Broken", "color": "d73a4a"},
                {"id": "LA_2", "name": "ui", "description": "", "color": "ededed"},
            ],
            "number": 7, "state": "OPEN", "stateReason": "", "title": "Login fails",
            "url": "https://github.com/o/r/issues/7",
        },
        {
            "author": {"login": "mona"}, "body": "", "closedAt": "2026-02-01T00:00:00Z",
            "comments": [], "createdAt": "2026-01-02T03:04:05Z",
            "labels": [{"name": "enhancement"}], "number": 8, "state": "CLOSED",
            "stateReason": "NOT_PLANNED", "title": "Rewrite it",
            "url": "https://github.com/o/r/issues/8",
        },
        {
            "body": null, "createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-05T00:00:00Z",
            "number": 9, "state": "CLOSED", "stateReason": "COMPLETED", "title": "Tidy up",
            "labels": ["type: improvement"], "url": "https://github.com/o/r/issues/9",
        },
    ])
}

#[test]
fn github_issues_keep_state_body_labels_times_and_comments() {
    let directory = directory();
    let file = github_issues().to_string();
    assert_eq!(
        done(&import(directory.path(), &[], &file)),
        "3 new, 0 same, 0 different, 0 refused\n"
    );
    let issues = stored_issues(directory.path());
    let ids: Vec<_> = issues.iter().map(|issue| issue["id"].clone()).collect();
    let entry = |time: &str, agent: &str, action: &str| json!({ "timestamp": time, "agent": agent, "action": action });
    let filed = "2026-01-02T03:04:05.000Z";
    assert_eq!(
        issues[0],
        json!({
            "id": ids[0], "title": "Login fails", "description": "It fails.\r\nAlways.",
            "classification": "bug", "createdAt": filed, "modifiedAt": filed, "status": "created",
            "history": [entry(filed, "mona", "Issue filed")],
            "comments": [{
                "timestamp": "2026-01-03T00:00:00.000Z", "agent": "hubot", "text": "Here, too.",
                "id": "IC_1", "authorAssociation": "NONE",
            }],
            "labels": ["bug", "ui"], "number": 7,
            "url": "https://github.com/o/r/issues/7",
        })
    );
    let closed = "2026-02-01T00:00:00.000Z";
    assert_eq!(issues[1]["status"], "rejected");
    assert_eq!(issues[1]["classification"], "feature");
    assert_eq!(issues[1]["modifiedAt"], closed);
    assert_eq!(
        issues[1]["history"],
        json!([entry(filed, "mona", "Issue filed"), entry(closed, "import", "Issue rejected")])
    );
    assert_eq!(issues[2]["status"], "closed");
    assert_eq!(issues[2]["classification"], "improvement");
    assert_eq!(issues[2]["modifiedAt"], "2026-01-05T00:00:00.000Z");
    // An issue that was edited on GitHub is recognized as the same issue.
    let edited = file.replace("It fails.", "It fails on Safari.").replace("\"ui\"", "\"web\"");
    let output = import(directory.path(), &[], &edited);
    assert!(
        text(&output.stdout).contains("different description, labels"),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(counts(&output), "0 new, 2 same, 1 different, 0 refused");
    // `ait show` prints the labels and the unknown keys.
    let shown = done(&super::run(directory.path(), &["show", ids[0].as_str().unwrap()]));
    assert!(shown.contains("\n  labels: bug, ui\n"), "{shown}");
    let kept = "\n  number: 7\n  url: https://github.com/o/r/issues/7\n";
    assert!(shown.contains(kept), "{shown}");
}

/// The HTTP API of GitHub has other keys than `gh`. Beads has some of them, too.
#[test]
fn issues_of_the_github_api_are_not_taken_for_beads() {
    let issue = imported(
        &[],
        r#"{"id": 99, "url": "https://api.github.com/repos/o/r/issues/9", "number": 9, "title": "Tidy up",
            "html_url": "https://github.com/o/r/issues/9", "user": {"login": "mona"}, "state": "closed",
            "state_reason": "completed", "comments": 3, "created_at": "2026-01-02T03:04:05Z",
            "updated_at": "2026-01-05T00:00:00Z", "closed_at": "2026-01-04T00:00:00Z", "body": "B"}"#,
    );
    assert_eq!((&issue["status"], &issue["description"]), (&json!("closed"), &json!("B")));
    assert_eq!(issue["history"][1]["timestamp"], "2026-01-04T00:00:00.000Z");
    assert_eq!(issue["json"], json!({"id": 99, "comments": 3}));
    let directory = directory();
    done(&import(directory.path(), &[], &github_issues().to_string()));
    assert!(stored_issues(directory.path()).iter().any(|kept| kept["id"] == issue["id"]));
}

#[test]
fn unknown_states_and_types_are_refused_by_their_value() {
    for (input, expected) in [
        (
            r#"[{"title":"T","state":"ESCALATED"}]"#,
            "state is \"ESCALATED\": write one of created, in_progress, completed, in_review, closed, rejected; \
             --map-value 'state:ESCALATED=created' reads it as created",
        ),
        ("Summary,Status\nT,Escalated\n", "Status is \"Escalated\": write one of"),
        (
            "Summary,Issue Type\nT,Idea\n",
            "--map-value 'Issue Type:Idea=feature' reads it as feature, \
             --ignore 'Issue Type' makes every issue an improvement",
        ),
        (r#"[{"title":"T","state":true}]"#, "state is true: write one of"),
        (
            r#"[{"title":"T","comments":[{"by":"x"}]}]"#,
            "comments cannot be read: a comment has neither text",
        ),
    ] {
        let report = reasons(&[], input);
        assert!(report.contains(expected), "{report}");
        assert!(!report.to_lowercase().contains("--ignore stat"), "{report}");
    }
    assert_eq!(
        imported(&["--ignore", "state"], r#"[{"title":"T","state":"ESCALATED"}]"#)["status"],
        "created"
    );
}

#[test]
fn error_names_the_missing_title_instead_of_the_id() {
    for input in
        [r#"[{"description":"x"}]"#, r#"{"description":"x"}"#, r#"[{"title":null}]"#, "[{}]"]
    {
        let report = reasons(&[], input);
        assert!(report.contains("title is missing") && !report.contains("`id`"), "{report}");
    }
}

const JIRA_EXPORT: &str = "\
Summary,Issue key,Issue id,Issue Type,Status,Resolution,Reporter,Created,Updated,Resolved,Labels,Labels,Comment,Comment,Sprint,Sprint
Search is slow,SHOP-1,10001,Bug,To Do,,ann,21/Nov/26 3:04 PM,22/Nov/26 12:00 AM,,search,speed,\"21/Nov/26 4:00 PM;bob;Since\nMonday; always.\",23/Nov/26 9:15 AM;5b10ac;Yes,S1,S2
Drop it,SHOP-2,10002,Story,Done,Won't Do,ann,2026-11-21 15:04,2026-11-22 15:04,2026-11-22 15:04,,,,,,
";

#[test]
fn jira_exports_keep_dates_and_repeated_columns() {
    let directory = directory();
    assert_eq!(
        done(&import(directory.path(), &[], JIRA_EXPORT)),
        "2 new, 0 same, 0 different, 0 refused\n"
    );
    let issues = stored_issues(directory.path());
    let first = &issues[0];
    assert_eq!(first["createdAt"], "2026-11-21T15:04:00.000Z");
    assert_eq!(first["modifiedAt"], "2026-11-22T00:00:00.000Z");
    assert_eq!(
        first["comments"],
        json!([
            {"timestamp": "2026-11-21T16:00:00.000Z", "agent": "bob", "text": "Since\nMonday; always."},
            {"timestamp": "2026-11-23T09:15:00.000Z", "agent": "5b10ac", "text": "Yes"},
        ])
    );
    assert_eq!(
        first["csv"],
        json!({
            "Issue key": "SHOP-1", "Issue id": "10001", "Sprint": ["S1", "S2"],
        })
    );
    assert_eq!(first["history"][0]["agent"], "ann");
    let shown = done(&super::run(directory.path(), &["show", first["id"].as_str().unwrap()]));
    let kept = "\n  csv:\n    Issue key: SHOP-1\n    Issue id: 10001\n    Sprint: S1, S2\n";
    assert!(shown.contains(kept), "{shown}");
    assert_eq!(issues[1]["status"], "rejected");
    assert_eq!(issues[1]["history"][1]["timestamp"], "2026-11-22T15:04:00.000Z");
    assert_eq!(
        done(&import(directory.path(), &[], JIRA_EXPORT)),
        "0 new, 2 same, 0 different, 0 refused\n"
    );
}

#[test]
fn dates_follow_the_file_and_then_the_locale() {
    let created = |locale: &str, dates: &[&str]| {
        let directory = directory();
        let rows: String = dates.iter().map(|date| format!("{date};T {date}\n")).collect();
        std::fs::write(directory.path().join("x.csv"), format!("Created;Summary\n{rows}")).unwrap();
        let mut command = ait(directory.path());
        command.env_remove("LC_TIME").env_remove("LANG").env("LC_ALL", locale);
        let output = command.args(["import", "x.csv"]).output().unwrap();
        if !output.status.success() {
            return text(&output.stdout);
        }
        let created = stored_issues(directory.path())[0]["createdAt"].as_str().unwrap().to_owned();
        created[..10].to_owned()
    };
    assert_eq!(created("de_DE.UTF-8", &["03/04/26 15:04"]), "2026-04-03");
    assert_eq!(created("en_US.UTF-8", &["03/04/26 3:04 PM"]), "2026-03-04");
    // Another row shows the order.
    assert_eq!(created("en_US.UTF-8", &["03/04/26", "21/04/26"]), "2026-04-03");
    assert_eq!(created("C", &["03/04/26", "04/21/26"]), "2026-03-04");
    assert_eq!(created("C", &["3. Dez. 2026, 15:04"]), "2026-12-03");
    let report = created("C", &["03/04/26"]);
    assert!(
        report.contains("day and month may be either way round")
            && report.contains("--ignore Created"),
        "{report}"
    );
}

#[test]
fn columns_are_mapped_and_ignored_as_requested() {
    let file = "What;When=;Summary;Type;Note\nThe title;21.11.2026;A summary;Idea;N\n";
    let report = reasons(&[], file);
    assert!(report.contains("Type is \"Idea\"") && report.contains("--ignore Type"), "{report}");
    let arguments = [
        "--map",
        "what=title",
        "--map",
        "When==createdAt",
        "--map",
        "Note=comments",
        "--ignore",
        "Type",
    ];
    let issue = imported(&arguments, file);
    assert_eq!(
        (&issue["title"], &issue["csv"]),
        (&json!("The title"), &json!({"Summary": "A summary"}))
    );
    assert_eq!(issue["createdAt"], "2026-11-21T00:00:00.000Z");
    assert_eq!(issue["comments"][0]["text"], "N");
    // The keys of JSON objects can be mapped, too.
    let lines = "{\"name\":\"T\",\"title\":\"Dr\",\"state\":\"odd\",\"tags\":\"bug\"}\n{\"name\":\"U\",\"x\":1}\n";
    let directory = directory();
    let output = import(directory.path(), &["--map", "name=title", "--ignore", "state"], lines);
    assert_eq!(done(&output), "2 new, 0 same, 0 different, 0 refused\n");
    let issues = stored_issues(directory.path());
    assert_eq!((&issues[0]["title"], &issues[0]["classification"]), (&json!("T"), &json!("bug")));
    assert_eq!((&issues[0]["json"], &issues[1]["x"]), (&json!({"title": "Dr"}), &json!(1)));
    // If the import ignores a key of an export, only the issue with that key differs.
    let export = done(&super::run(directory.path(), &["export", "-F", "jsonl"]));
    let output = import(directory.path(), &["--ignore", "x"], &export);
    assert_eq!(counts(&output), "0 new, 1 same, 1 different, 0 refused");
}

#[test]
fn map_value_replaces_unknown_values() {
    let mapped =
        ["--map-value", "Status:Shipped=closed", "--map-value", "type: an  idea = feature"];
    let csv = "Summary,Type,STATUS\nT,An  idea,shipped\n";
    let json = r#"{"title":"T","type":"An  Idea","status":"SHIPPED"}"#;
    let ours = imported(&[], r#"{"title":"T","type":"feature","status":"closed"}"#).to_string();
    let ours = ours.replace("\"feature\"", "\"An  idea\"").replace("\"closed\"", "\"Shipped\"");
    let in_ours =
        ["--map-value", "status:Shipped=closed", "--map-value", "classification:an  idea=feature"];
    for (mapped, input) in [(mapped, csv), (mapped, json), (in_ours, &*ours)] {
        let issue = imported(&mapped, input);
        let words = (&issue["status"], &issue["classification"]);
        assert_eq!(words, (&json!("closed"), &json!("feature")));
    }
    let csv = "Summary,STATUS\nT,brewing\n";
    let report = reasons(&[], csv);
    assert!(
        report.contains("--map-value 'STATUS:brewing=created' reads it as created"),
        "{report}"
    );
    let report = reasons(&["--map-value", "Status:Brewing=done?"], csv);
    assert!(report.contains("STATUS is \"done?\": write one of created"), "{report}");
    let directory = directory();
    let error = refused(&import(directory.path(), &["--map-value", "State:a=closed"], csv), 1);
    assert!(error.contains("no column or key \"State\""), "{error}");
    for wrong in ["Status=closed", "Status:Shipped", "Status:=closed", ":Shipped=closed"] {
        let error = refused(&import(directory.path(), &["--map-value", wrong], csv), 2);
        assert!(error.contains("write COLUMN:VALUE=WORD"), "{error}");
    }
}

/// `gh issue list` lists the newest issue first.
#[test]
fn issues_of_one_import_are_queued_oldest_first() {
    let titles = |input: &str| {
        let directory = directory();
        done(&import(directory.path(), &[], input));
        let issues = stored_issues(directory.path());
        let titles = issues.iter().map(|issue| issue["title"].as_str().unwrap().to_owned());
        titles.collect::<Vec<_>>().join(" ")
    };
    let issue = |number: u32, day: u32| {
        json!({
            "title": number.to_string(), "number": number, "createdAt": format!("2026-01-0{day}T00:00:00Z"),
            "url": format!("https://github.com/o/r/issues/{number}"),
        })
    };
    let newest_first = json!([issue(10, 3), issue(9, 3), issue(3, 2), issue(2, 1), {"title": "-"}]);
    assert_eq!(titles(&newest_first.to_string()), "2 3 9 10 -");
    let jira = "Summary,Issue key,Created\nj10,S-10,2026-01-01\nj9,S-9,2026-01-01\nj8,S-8,\nj7,S-7,2025-01-01\n";
    assert_eq!(titles(jira), "j7 j9 j10 j8");
    let beads = "{\"id\":\"b-1\",\"title\":\"new\",\"issue_type\":\"bug\",\"created_at\":\"2026-01-02T00:00:00Z\"}\n\
                 {\"id\":\"b-2\",\"title\":\"old\",\"issue_type\":\"bug\",\"created_at\":\"2026-01-01T00:00:00Z\"}\n";
    assert_eq!(titles(beads), "old new");
    // An export of ait keeps its order, which is the order of claims.
    let directory = directory();
    done(&import(directory.path(), &[], &json!([issue(2, 2)]).to_string()));
    done(&import(directory.path(), &[], &json!([issue(1, 1)]).to_string()));
    for form in ["json", "jsonl", "csv"] {
        let export = done(&super::run(directory.path(), &["export", "-F", form]));
        assert_eq!(titles(&export), "2 1", "{form}");
    }
}

#[test]
fn imports_without_ids_are_noted_with_the_missing_field() {
    let address = "https://github.com/o/r/issues/7";
    for (input, expected) in [
        (json!([{"title": "T", "number": 7}]), Some("1 new issue has no id")),
        (json!([{"title": "T", "number": 7}]), Some("include the column or key url")),
        (json!([{"title": "T", "url": address}]), Some("include the column or key number")),
        (json!([{"title": "T"}, {"title": "U"}]), Some("2 new issues have no id")),
        (json!([{"title": "T"}, {"title": "U"}]), Some("id (or number and url) from the first")),
        (json!([{"title": "T", "number": 7, "url": address}]), None),
        (json!([{"title": "T", "id": "S-1"}]), None),
    ] {
        let (directory, input) = (directory(), input.to_string());
        for arguments in [&["--dry-run"][..], &[]] {
            let report = text(&import(directory.path(), arguments, &input).stderr);
            match expected {
                Some(expected) => assert!(report.contains(expected), "{report}"),
                None => assert_eq!(report, ""),
            }
            assert!(report.lines().count() <= 1, "{report}");
        }
        // The second import has no new issues, so it prints no note.
        assert_eq!(text(&import(directory.path(), &[], &input).stderr), "");
    }
}

#[test]
fn unmapped_columns_are_noted() {
    let directory = directory();
    let file = "id,title,prio,Sev,state\nS-1,A,1,high,open\nS-2,B,2,,closed\n";
    let report = text(&import(directory.path(), &["--dry-run"], file).stderr);
    assert!(report.contains("no fields: Sev, prio; --map Sev=FIELD"), "{report}");
    let report = text(
        &import(directory.path(), &["--map", "prio=priority", "--ignore", "Sev"], file).stderr,
    );
    assert_eq!(report, "");
}

#[test]
fn unknown_columns_and_fields_are_refused_with_the_known_ones() {
    let directory = directory();
    for (file, arguments) in [
        ("Summary,When\nT,x\n", ["--map", "Wenn=createdAt"]),
        ("Summary,When\nT,x\n", ["--ignore", "Wenn"]),
        ("What;When\nT;x\n", ["--map", "Wenn=title"]),
        (r#"[{"Summary":"T"},{"When":1}]"#, ["--map", "Wenn=createdAt"]),
        ("{\"Summary\":\"T\"}\n{\"When\":1}\n", ["--ignore", "Wenn"]),
    ] {
        let error = refused(&import(directory.path(), &arguments, file), 1);
        assert!(error.contains("no column or key \"Wenn\"") && error.contains("When"), "{error}");
    }
    let error = refused(&import(directory.path(), &["--map", "When=date"], "Summary\nT\n"), 2);
    assert!(
        error.contains("\"date\" is no field; the fields are id, title, description"),
        "{error}"
    );
    let help = done(&super::run(directory.path(), &["import", "--help"]));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let fields = error.split("the fields are ").nth(1).unwrap().lines().next().unwrap();
    assert!(help.contains(fields), "{fields}\n{help}");
    let error = refused(&import(directory.path(), &["--map", "When"], "Summary\nT\n"), 2);
    assert!(error.contains("write COLUMN=FIELD"), "{error}");
    let error = refused(&import(directory.path(), &[], "What,When\nT,x\n"), 1);
    assert!(error.contains("--map COLUMN=title"), "{error}");
    assert!(names(directory.path()).is_empty());
}

/// Imports the same issues as JSON and as CSV, in both orders.
#[test]
fn issues_in_json_and_csv_are_recognized_as_the_same() {
    let json = json!([
        {"title": "By its texts", "description": "D", "classification": "bug"},
        {"key": "SHOP-1", "summary": "By its key", "status": "Done", "type": "Story", "priority": "High"},
        {"number": 7, "url": "https://github.com/o/r/issues/7", "title": "By its address", "state": "OPEN",
         "labels": [{"name": "bug"}, {"name": "ui"}], "createdAt": "2026-01-02T03:04:05Z"},
        {"id": 12, "title": "By its number", "body": "B"},
    ])
    .to_string();
    let csv = "ID,Title,Body,Type,State,Priority,Number,URL,Labels,Created\n\
               ,By its texts,D,bug,,,,,,\n\
               SHOP-1,By its key,,Story,Done,High,,,,\n\
               ,By its address,,,open,,7,https://github.com/o/r/issues/7,\"bug, ui\",2026-01-02 03:04:05\n\
               12,By its number,B,,,,,,,\n";
    for (first, second) in [(&*json, csv), (csv, &*json)] {
        let directory = directory();
        assert_eq!(
            counts(&import(directory.path(), &[], first)),
            "4 new, 0 same, 0 different, 0 refused"
        );
        let again = import(directory.path(), &[], second);
        assert_eq!(
            counts(&again),
            "0 new, 4 same, 0 different, 0 refused",
            "{}",
            text(&again.stdout)
        );
    }
}

#[test]
fn deleted_beads_are_skipped_without_a_failure() {
    let directory = directory();
    let lines = concat!(
        r#"{"id":"b-1","title":"(deleted)","status":"tombstone","issue_type":"task"}"#,
        "\n",
        r#"{"id":"b-2","title":"Stays","status":"open","issue_type":"task"}"#,
        "\n"
    );
    let output = import(directory.path(), &[], lines);
    assert_eq!(output.status.code(), Some(0));
    insta::assert_snapshot!(text(&output.stdout), @r"
    LINE  OUTCOME  ID   TITLE      WHY
    1     skipped  b-1  (deleted)  it was deleted in beads
    1 new, 0 same, 0 different, 0 refused, 1 skipped
    ");
    let output = import(directory.path(), &["--json"], lines);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["skipped"], &answer["issues"][0]["outcome"]),
        (&json!(1), &json!("skipped"))
    );
    assert_eq!(stored_issues(directory.path()).len(), 1);
}
