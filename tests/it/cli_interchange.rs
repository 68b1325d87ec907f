//! `ait export` and `ait import`: what they write, and that they neither lose nor overwrite issues.

mod attributes;
mod foreign;
mod odd_inputs;
mod programs;

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::support::files::{STORE_FILES, id, issue_json, names, stored_issues, write_issues};
use crate::support::{Client, ait, directory, factor, until};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/interchange");
const ORIGINAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/original_tracker.json");

fn run(directory: &Path, arguments: &[&str]) -> Output {
    ait(directory).env("TZ", "UTC").args(arguments).output().unwrap()
}

fn run_with_input(directory: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let mut child = ait(directory).env("TZ", "UTC").args(arguments).spawn().unwrap();
    // A process that refuses its arguments may end before it reads its input.
    if let Err(error) = child.stdin.take().unwrap().write_all(input) {
        assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
    }
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

/// Checks the exit code of a failed command, and returns its error.
#[track_caller]
fn refused(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stdout));
    text(&output.stderr)
}

#[track_caller]
fn counts(output: &Output) -> String {
    text(&output.stdout).lines().last().unwrap().to_owned()
}

fn sample(name: &str) -> String {
    format!("{SAMPLES}/{name}")
}

/// Imports files of other programs, and checks the reports and the resulting issues.
#[test]
fn import_of_foreign_formats_is_idempotent() {
    for (name, file) in [
        ("beads", sample("beads.jsonl")),
        ("spreadsheet", sample("spreadsheet.csv")),
        ("titles", sample("titles.csv")),
        ("mixed", sample("mixed.json")),
        ("original", ORIGINAL.to_owned()),
    ] {
        let directory = directory();
        let plain = run(directory.path(), &["import", &file, "--dry-run"]);
        let as_json = run(directory.path(), &["import", &file, "--dry-run", "--json"]);
        assert!(names(directory.path()).is_empty(), "{name}");
        insta::assert_snapshot!(format!("{name}_plain"), text(&plain.stdout));
        let as_json: Value = serde_json::from_slice(&as_json.stdout).unwrap();
        insta::assert_json_snapshot!(format!("{name}_json"), as_json);
        let imported = run(directory.path(), &["import", &file]);
        assert_eq!(imported.status.code(), plain.status.code(), "{name}");
        assert_eq!(format!("nothing is written: {}", counts(&imported)), counts(&plain));
        let issues = stored_issues(directory.path());
        assert_eq!(issues.len() as u64, as_json["new"], "{name}");
        let again = run(directory.path(), &["import", &file, "--json"]);
        let again: Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!((&again["new"], &again["different"]), (&json!(0), &json!(0)), "{name}");
        assert_eq!(stored_issues(directory.path()), issues, "{name}");
        if name == "original" {
            let given: Value = serde_json::from_str(
                &fs::read_to_string(ORIGINAL).unwrap().replace("\\ud83d", "�"),
            )
            .unwrap();
            assert_eq!(json!(issues), given["issues"]);
        } else if name != "titles" {
            // The titles have no times, so their issues have the time of the import.
            insta::assert_json_snapshot!(format!("{name}_issues"), issues);
        }
    }
}

#[test]
fn export_and_import_round_trip_in_every_format() {
    let directory = directory();
    for file in ["beads.jsonl", "mixed.json", "titles.csv"] {
        run(directory.path(), &["import", &sample(file)]);
    }
    let odd = "=1+1\t\"quoted\", 'so'; \u{1}";
    done(&run(
        directory.path(),
        &["add", odd, "-c", "bug", "--description=-\r\n'x'\n,;\u{2028}", "-a", "ü"],
    ));
    done(&run(directory.path(), &["next", "-c", "bug", "-a", "b"]));
    let kept = stored_issues(directory.path());
    for form in ["json", "jsonl", "csv"] {
        let file = format!("export.{form}");
        let report = done(&run(directory.path(), &["export", &file]));
        assert_eq!(report, format!("{} issues exported to {file}\n", kept.len()));
        let piped = run(directory.path(), &["export", "--format", form]);
        assert_eq!(piped.stdout, fs::read(directory.path().join(&file)).unwrap());
        let other = format!("other_{form}.json");
        done(&run(directory.path(), &["--file", &other, "import", &file]));
        let copied = run(directory.path(), &["--file", &other, "export"]);
        let original = run(directory.path(), &["export"]);
        assert_eq!(done(&copied), done(&original), "{form}");
        let same = format!("0 new, {} same, 0 different, 0 refused", kept.len());
        assert_eq!(counts(&run(directory.path(), &["import", &file])), same, "{form}");
    }
    let json = fs::read(directory.path().join("export.json")).unwrap();
    assert_eq!(json, fs::read(directory.path().join("issues.json")).unwrap());
    let csv = fs::read_to_string(directory.path().join("export.csv")).unwrap();
    assert!(csv.contains(",'=HYPERLINK") || csv.contains(",\"'=HYPERLINK"), "{csv}");
}

#[test]
fn export_filters_by_status_and_classification() {
    let directory = directory();
    let issues: Vec<Value> = ["created", "in_progress", "closed"]
        .iter()
        .enumerate()
        .map(|(number, status)| issue_json(&id(number), "t", status))
        .collect();
    write_issues(directory.path(), &issues);
    let exported = |arguments: &[&str]| {
        let output = run(directory.path(), &[&["export", "-F", "jsonl"], arguments].concat());
        done(&output).lines().count()
    };
    assert_eq!(exported(&[]), 3);
    assert_eq!(exported(&["--status", "open"]), 2);
    assert_eq!(exported(&["--status", "closed", "-c", "bug"]), 1);
    assert_eq!(exported(&["-c", "feature"]), 0);
}

#[test]
fn export_replaces_files_only_with_force_and_never_the_store() {
    let directory = directory();
    write_issues(directory.path(), &[issue_json(&id(1), "t", "created")]);
    let store = fs::read(directory.path().join("issues.json")).unwrap();
    done(&run(directory.path(), &["export", "copy.json"]));
    fs::write(directory.path().join("copy.json"), "mine").unwrap();
    let error = refused(&run(directory.path(), &["export", "copy.json"]), 1);
    assert!(error.contains("copy.json exists already") && error.contains("--force"), "{error}");
    assert_eq!(fs::read(directory.path().join("copy.json")).unwrap(), b"mine");
    let answer = done(&run(directory.path(), &["export", "copy.json", "--force", "--json"]));
    assert_eq!(answer, "{\"exported\":1,\"format\":\"json\",\"file\":\"copy.json\"}\n");
    assert_ne!(fs::read(directory.path().join("copy.json")).unwrap(), b"mine");
    let copy = directory.path().join("copy.json");
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o600)).unwrap();
    done(&run(directory.path(), &["export", "copy.json", "--force"]));
    assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
    fs::create_dir_all(directory.path().join(".ait/issues.json/kept")).unwrap();
    for file in [
        "issues.json",
        "./issues.json",
        ".ait/issues.json/kept/old.json",
        ".ait/issues.json/queue.db",
        ".ait/issues.json/new.json",
        "./.ait/../.ait/issues.json/published",
    ] {
        let error = refused(&run(directory.path(), &["export", file, "--force"]), 1);
        assert!(error.contains("belongs to the store"), "{error}");
    }
    assert_eq!(fs::read(directory.path().join("issues.json")).unwrap(), store);
    let error = refused(&run(directory.path(), &["export", "nowhere/x.json"]), 1);
    assert!(error.contains("the directory nowhere does not exist: create it"), "{error}");
    for name in ["out.md", "issues.xlsx", "out.JSON.gz", "issues.tsv"] {
        let error = refused(&run(directory.path(), &["export", name]), 2);
        for known in [".json", ".jsonl", ".csv", "--format"] {
            assert!(error.contains(known), "{error}");
        }
    }
    let error = refused(&run(directory.path(), &["export", "--json", "--format", "csv"]), 2);
    assert!(error.contains("omit --json or --format"), "{error}");
    assert_eq!(names(directory.path()), [".ait", "copy.json", "issues.json"]);
}

#[test]
fn export_writes_to_a_device_without_replacing_it() {
    let directory = directory();
    write_issues(directory.path(), &[issue_json(&id(1), "t", "created")]);
    done(&run(directory.path(), &["export", "/dev/null", "--force"]));
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

#[test]
fn import_keeps_stored_issues_that_differ() {
    let directory = directory();
    write_issues(directory.path(), &[issue_json(&id(1), "here", "closed")]);
    let there = issue_json(&id(1), "there", "created");
    let more = issue_json(&id(2), "more", "created");
    let input = json!({ "issues": [there, more] }).to_string();
    let output = run_with_input(directory.path(), &["import", "-"], input.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!(text(&output.stdout), @r"
    ITEM  OUTCOME    ID        TITLE  WHY
    1     different  00000001  there  different title, status; the store keeps its own
    1 new, 0 same, 1 different, 0 refused
    ");
    let issues = stored_issues(directory.path());
    assert_eq!(
        issues,
        [issue_json(&id(1), "here", "closed"), issue_json(&id(2), "more", "created")]
    );
}

#[test]
fn import_rejects_invalid_files_with_a_reason() {
    let directory = directory();
    for (input, arguments, expected) in [
        (&b""[..], &["import", "-"][..], "stdin was not imported, read as csv: the file is empty"),
        (b"{\"a\":1}", &["import", "-"], "missing field `issues`"),
        (b"{\"issues\":\n[}", &["import", "-"], "line 2, column 2"),
        (b"id,status\n", &["import", "-"], "has no column \"title\""),
        (b"title\n\xff\n", &["import", "-"], "line 2 is not UTF-8"),
        (b"", &["import", "nowhere.csv"], "cannot read nowhere.csv"),
    ] {
        let error = refused(&run_with_input(directory.path(), arguments, input), 1);
        assert!(error.contains(expected), "{error}");
    }
    let error = refused(&run(directory.path(), &["import"]), 2);
    assert!(error.contains("the file is missing"), "{error}");
    let error = refused(&run(directory.path(), &["import", "-", "--format", "xml"]), 2);
    assert!(error.contains("jsonl"), "{error}");
    assert!(names(directory.path()).is_empty());
}

/// People and scripts may write a title alone.
#[test]
fn import_accepts_json_objects_with_only_a_title() {
    let directory = directory();
    let line = r#"{"title":"Reject empty input","classification":"bug","labels":["x"]}"#;
    let other = r#"{"title":"Say why","description":"It is silent."}"#;
    let lines = format!("{line}\n{other}\n");
    let array = format!("[{line},\n{other}]");
    for (input, expected) in [
        (other, "1 new, 0 same, 0 different, 0 refused"),
        (&*lines, "1 new, 1 same, 0 different, 0 refused"),
        (&*array, "0 new, 2 same, 0 different, 0 refused"),
    ] {
        let output = run_with_input(directory.path(), &["import", "-"], input.as_bytes());
        assert_eq!(counts(&output), expected, "{}", text(&output.stdout));
        assert_eq!(output.status.code(), Some(0));
    }
    let claimed = done(&run(directory.path(), &["next", "-c", "bug", "--agent", "dev"]));
    assert!(claimed.contains("Reject empty input"), "{claimed}");
    let bad = "{\"title\":\"T\",\"status\":\"ended\"}\n{\"note\":\"T\"}\n";
    let output = run_with_input(directory.path(), &["import", "-"], bad.as_bytes());
    assert_eq!(output.status.code(), Some(1));
    let report = text(&output.stdout);
    assert!(
        report.contains("status is \"ended\"") && report.contains("title is missing"),
        "{report}"
    );
}

#[test]
fn export_of_an_empty_store_is_importable() {
    let directory = directory();
    for file in ["none.json", "none.jsonl", "none.csv"] {
        done(&run(directory.path(), &["export", file]));
        let output = run(directory.path(), &["import", file]);
        assert_eq!(counts(&output), "0 new, 0 same, 0 different, 0 refused", "{file}");
        assert_eq!(output.status.code(), Some(0));
    }
}

/// The store must be able to read back everything that it imports.
#[test]
fn import_refuses_rows_that_do_not_round_trip() {
    let directory = directory();
    let import = |input: &str| {
        let output = run_with_input(directory.path(), &["import", "-"], input.as_bytes());
        (output.status.code(), counts(&output), text(&output.stdout))
    };
    for extra in [r#"{""status"":""x""}"#, r#"{""title"":""z"",""id"":1}"#] {
        let (code, last, report) = import(&format!("title,extra\na,\"{extra}\"\n"));
        assert_eq!((code, &*last), (Some(1), "0 new, 0 same, 0 different, 1 refused"), "{report}");
        assert!(report.contains("does not survive being written and read back"), "{report}");
    }
    let (code, last, report) = import("title,description\na,b\nc,\"open\nd,e\n");
    assert_eq!((code, &*last), (Some(1), "1 new, 0 same, 0 different, 1 refused"), "{report}");
    assert!(report.contains("never closed"), "{report}");
    // A quote inside an unquoted cell is literal.
    assert_eq!(
        import("title;description\na 5\" disk,\"x;y\n").1,
        "1 new, 0 same, 0 different, 0 refused"
    );
    let bead = r#"{"id":"b-1","title":"B","issue_type":"bug","created_at":"2026-01-31T09:30:00Z","n":1e400}"#;
    assert_eq!(import(bead).0, Some(0));
    let issues = done(&run(directory.path(), &["export"]));
    assert!(issues.contains("\"n\":1e400"), "{issues}");
}

#[test]
fn import_with_refused_rows_exits_with_1_on_closed_stdout() {
    let directory = directory();
    fs::write(directory.path().join("bad.csv"), "title,createdAt\nx,never\n").unwrap();
    let mut child = ait(directory.path()).args(["import", "bad.csv"]).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn export_to_a_closed_pipe_exits_silently() {
    let directory = directory();
    let issues: Vec<_> = (0..2000).map(|n| issue_json(&id(n), "t", "created")).collect();
    write_issues(directory.path(), &issues);
    for form in ["json", "jsonl", "csv"] {
        let mut child = ait(directory.path()).args(["export", "-F", form]).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{form}: {}", text(&output.stderr));
        assert!(output.stderr.is_empty(), "{form}: {}", text(&output.stderr));
    }
}

/// Agents claim while two processes import the same file. No issue is lost, duplicated or claimed twice, and the issues
/// keep the order of the file.
#[test]
fn concurrent_imports_and_claims_lose_and_duplicate_nothing() {
    const ISSUES: usize = 600;
    let directory = directory();
    let line = |n: usize| issue_json(&id(n), &format!("issue {n}"), "created").to_string() + "\n";
    let file = directory.path().join("many.jsonl");
    fs::write(&file, (0..ISSUES).map(line).collect::<String>()).unwrap();
    let importers: Vec<_> = (0..2)
        .map(|_| {
            let mut command: Command = ait(directory.path());
            command.args(["import", "many.jsonl", "--json"]).stdin(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let agents: Vec<_> = (0..3)
        .map(|agent| {
            let path = directory.path().to_owned();
            thread::spawn(move || {
                let mut client = Client::start(&path);
                let mut claimed = Vec::new();
                while claimed.len() < ISSUES / 4 {
                    let arguments = json!({ "agent": format!("agent {agent}") });
                    let answer = client.call("get_next_issue", arguments).ok();
                    if let Ok(issue) = serde_json::from_str::<Value>(&answer) {
                        claimed.push(issue["id"].as_str().unwrap().to_owned());
                    }
                }
                assert!(client.close().success());
                claimed
            })
        })
        .collect();
    let mut new = 0;
    for importer in importers {
        let output = importer.wait_with_output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["refused"], 0, "{answer}");
        new += answer["new"].as_u64().unwrap();
    }
    assert_eq!(new, ISSUES as u64);
    let mut claimed: Vec<String> =
        agents.into_iter().flat_map(|agent| agent.join().unwrap()).collect();
    let stored = stored_issues(directory.path());
    let ids: Vec<_> = stored.iter().map(|issue| issue["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids, (0..ISSUES).map(id).collect::<Vec<_>>());
    claimed.sort();
    // Claims follow the order of filing.
    assert_eq!(claimed, ids[..claimed.len()]);
    let held = stored.iter().filter(|issue| issue["status"] == "in_progress").count();
    assert_eq!(held, claimed.len());
}

#[test]
fn large_import_and_export_preserve_the_order() {
    let issues = 10_000 * usize::try_from(factor()).unwrap().min(10);
    let directory = directory();
    let line = |n: usize| issue_json(&id(n), &format!("issue {n}"), "created").to_string() + "\n";
    fs::write(directory.path().join("many.jsonl"), (0..issues).map(line).collect::<String>())
        .unwrap();
    let report = done(&run(directory.path(), &["import", "many.jsonl"]));
    assert_eq!(report, format!("{issues} new, 0 same, 0 different, 0 refused\n"));
    let exported = run(directory.path(), &["export", "-F", "jsonl"]);
    assert!(exported.stdout == fs::read(directory.path().join("many.jsonl")).unwrap());
    let report = done(&run(directory.path(), &["import", "many.jsonl"]));
    assert_eq!(report, format!("0 new, {issues} same, 0 different, 0 refused\n"));
    // A background process publishes a file of this size after the command ends.
    until("the files of the store exist", || {
        let files = names(directory.path());
        STORE_FILES.iter().all(|name| files.contains(&(*name).to_owned()))
    });
}
