//! The texts that agents read and a project may replace: where they come from, and what happens to wrong ones.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::runs::{Run, run};
use crate::support::{Client, ait, directory, health_issue_count};

fn tools(client: &mut Client) -> Value {
    client.request("tools/list", json!({}))["tools"].clone()
}

fn exported(directory: &Path) -> String {
    run(directory, &["texts", "--export"]).ok()
}

#[test]
fn a_project_replaces_texts_and_a_variable_wins() {
    let directory = directory();
    let path = directory.path();
    fs::write(
        path.join("ait.toml"),
        "[texts]\nadd_issue = \"課題を登録する。\"\nadd_issue-title = \"At most 60 characters\"\n\
         instructions = \"Speak Japanese; {retries}.\"\n",
    )
    .unwrap();
    let mut client = Client::spawn(ait(path).env("AIT_TEXT_ADD_ISSUE_TITLE", "題名"));
    let instructions = client.initialize()["instructions"].clone();
    assert!(
        instructions.as_str().unwrap().starts_with("Speak Japanese; after three"),
        "{instructions}"
    );
    let listed = tools(&mut client);
    let add = &listed[0];
    assert_eq!(
        (&add["name"], &add["description"]),
        (&json!("add_issue"), &json!("課題を登録する。"))
    );
    assert_eq!(add["inputSchema"]["properties"]["title"]["description"], "題名");
    // The others are as built in.
    let mut other = Client::begin(&mut ait(crate::support::directory().path()));
    assert_eq!(tools(&mut other)[1], listed[1]);
    // A replaced text changes nothing else.
    client.add("t", "bug");

    let shown = run(path, &["texts", "add_issue-title", "--json"]).ok();
    let rows: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&rows[0]["source"], &rows[0]["text"]),
        (&json!("ait.toml, line 3"), &json!("At most 60 characters"))
    );
    assert_eq!(rows[0]["tokens"], 5);
    let all = run(path, &["texts"]).ok();
    assert!(
        all.lines().any(|line| line.contains("add_issue ") && line.contains("ait.toml, line 2")),
        "{all}"
    );
    assert!(all.contains("built in"), "{all}");
}

#[test]
fn exported_texts_are_what_they_were() {
    let directory = directory();
    let path = directory.path();
    let before = exported(path);
    let mut client = Client::begin(ait(path).args(["--toolsets", "all"]));
    let built_in = tools(&mut client);
    let instructions = run(path, &["texts", "instructions"]).ok();
    client.close();
    fs::write(path.join("ait.toml"), &before).unwrap();
    assert_eq!(exported(path), before);
    assert_eq!(
        run(path, &["texts", "instructions"]).ok().lines().next(),
        instructions.lines().next()
    );
    let mut client = Client::begin(ait(path).args(["--toolsets", "all"]));
    assert_eq!(tools(&mut client), built_in);
}

#[test]
fn wrong_texts_are_refused_and_stop_no_server() {
    let directory = directory();
    let path = directory.path();
    let refused = |text: &str| -> Run {
        fs::write(path.join("ait.toml"), format!("[texts]\n{text}\n")).unwrap();
        run(path, &["texts"])
    };
    for (text, expected) in [
        (
            "add_isue = \"x\"",
            "line 2: there is no text \"add_isue\"; did you mean add_issue? `ait texts` lists all",
        ),
        ("add_issue-titel = \"x\"", "did you mean add_issue-title?"),
        ("add_issue = \"\"", "must have 1 to 2000 characters"),
        ("add_issue = 1", "line 2: add_issue must be a text"),
        (&format!("add_issue = \"{}\"", "x".repeat(2_001)), "and has 2001"),
    ] {
        let refused = refused(text);
        assert!(refused.code == 2 && refused.log.contains(expected), "{text}: {refused:?}");
    }
    let long = "x".repeat(2_001);
    fs::write(path.join("ait.toml"), "[texts]\nadd_isue = \"x\"\n").unwrap();
    let mut client = Client::begin(ait(path).env("AIT_TEXT_CLOSE_ISSUE", long));
    client.add("t", "bug");
    assert_eq!(health_issue_count(client.port()), 1);
    let log = client.log().text();
    assert!(
        log.contains("did you mean add_issue?") && log.contains("AIT_TEXT_CLOSE_ISSUE: "),
        "{log}"
    );
    let unknown = run(path, &["texts", "nothing"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}
