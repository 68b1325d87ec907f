//! The prompts of a project: `.ait/prompts/*.md`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::http::{Agent, Server, meta};
use crate::support::{Client, ait, directory};

const RELEASE: &str = "---\nname: release-notes\ndescription: Use to write the notes of a release.\n\
                       arguments:\n  version: The version, such as 1.2\n  since?: The first day\n---\n\n\
                       Write the notes of {{version}} with list_issues. {{ since }}Keep \\{{braces}}.\n";
/// How soon clients hear of a change, and some time for a busy machine.
const SOON: Duration = Duration::from_secs(5);

fn write(directory: &Path, name: &str, text: &str) {
    let prompts = directory.join(".ait/prompts");
    fs::create_dir_all(&prompts).unwrap();
    fs::write(prompts.join(name), text).unwrap();
}

fn names(listed: &Value) -> Vec<&str> {
    let prompts = listed["prompts"].as_array().unwrap_or_else(|| panic!("{listed}"));
    prompts.iter().map(|prompt| prompt["name"].as_str().unwrap()).collect()
}

fn text(client: &mut Client, name: &str, arguments: Value) -> String {
    let got = client.request("prompts/get", json!({ "name": name, "arguments": arguments }));
    got["messages"][0]["content"]["text"].as_str().unwrap_or_else(|| panic!("{got}")).to_owned()
}

fn error(client: &mut Client, params: Value) -> String {
    let error = client.request("prompts/get", params);
    error["message"].as_str().unwrap_or_else(|| panic!("{error}")).to_owned()
}

/// Lists the prompts. A file that is being written may be announced twice.
fn list(client: &mut Client) -> Value {
    let id = client.ask("prompts/list", json!({}));
    loop {
        let frame = client.frame().unwrap();
        if frame["id"] == id {
            return frame["result"].clone();
        }
        assert_eq!(frame["method"], "notifications/prompts/list_changed", "{frame}");
    }
}

#[test]
fn files_become_prompts_with_arguments_and_skills_and_replace_ours() {
    let directory = directory();
    write(directory.path(), "notes.md", RELEASE);
    let ours =
        "---\ndescription: Use to work as we do.\n---\n# Our developer\n\nCall get_next_issue.\n";
    write(directory.path(), "developer.md", ours);
    let mut client = Client::begin(ait(directory.path()).args(["--tool-prefix", "x_"]));
    let listed = client.request("prompts/list", json!({}));
    let expected = [
        "team-lead",
        "developer",
        "bug-fixer",
        "code-reviewer",
        "setup_wizard",
        "health_check",
        "release-notes",
    ];
    assert_eq!(names(&listed), expected);
    let notes = &listed["prompts"][6];
    assert_eq!(notes["description"], "Use to write the notes of a release.");
    assert_eq!(notes["title"], "Release notes");
    let required: Vec<_> = notes["arguments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|argument| (&argument["name"], &argument["required"]))
        .collect();
    assert_eq!(required, [(&json!("version"), &json!(true)), (&json!("since"), &json!(false))]);
    // Values are no templates, and names of tools have the prefix.
    let notes = text(&mut client, "release-notes", json!({ "version": "{{since}}" }));
    assert_eq!(notes, "Write the notes of {{since}} with x_list_issues. Keep {{braces}}.");
    let message = error(&mut client, json!({ "name": "release-notes" }));
    assert!(message.contains("needs version: The version"), "{message}");
    let wrong = json!({ "name": "release-notes", "arguments": { "verson": "1" } });
    assert!(error(&mut client, wrong).contains("it takes version, since"));
    let developer = text(&mut client, "developer", json!({}));
    assert_eq!(developer, "# Our developer\n\nCall x_get_next_issue.");
    assert_eq!(listed["prompts"][1]["description"], "Use to work as we do.");
    assert!(listed["prompts"][1].get("arguments").is_none());
    // A prompt with arguments is no skill.
    let skills = client.request("skills/list", json!({}));
    let uris: Vec<_> =
        skills["skills"].as_array().unwrap().iter().map(|skill| &skill["uri"]).collect();
    assert_eq!(uris.len(), 4, "{skills}");
    assert_eq!(uris[3], "skill://developer/SKILL.md");
    let skill = client.request("resources/read", json!({ "uri": uris[3] }));
    let skill = skill["contents"][0]["text"].as_str().unwrap();
    assert!(skill.starts_with("---\nname: developer\n") && skill.ends_with("x_get_next_issue.\n"));
}

#[test]
fn a_broken_prompt_is_left_out_and_named_with_its_line() {
    let directory = directory();
    write(directory.path(), "good.md", "---\ndescription: d\n---\nGood.\n");
    write(directory.path(), "bad.md", "---\ndescription: d\n---\n\nUse {{versoin}}.\n");
    write(directory.path(), "keys.md", "---\ndescripton: d\n---\n");
    write(directory.path(), "large.md", &"x".repeat(70_000));
    fs::write(directory.path().join("outside.md"), "---\ndescription: d\n---\nOutside.\n").unwrap();
    let linked = directory.path().join(".ait/prompts/linked.md");
    std::os::unix::fs::symlink("../../outside.md", linked).unwrap();
    let problems = [
        ".ait/prompts/bad.md, line 5: {{versoin}} is no argument",
        ".ait/prompts/keys.md, line 2: a prompt has no \"descripton\": did you mean description?",
        ".ait/prompts/large.md: it cannot be read: it is longer than 65536 bytes",
        ".ait/prompts/linked.md: it is a symbolic link",
    ];
    let mut client = Client::start(directory.path());
    let listed = client.request("prompts/list", json!({}));
    assert_eq!(names(&listed)[6..], ["good"]);
    for problem in problems {
        client.log().wait_for(&format!("a prompt is left out: {problem}"));
    }
    let role = directory.path().join(".ait/roles");
    fs::create_dir(&role).unwrap();
    fs::write(role.join("r.toml"), "tools = [\"list_issues\"]\nprompt = \"goood\"\n").unwrap();
    let doctor = ait(directory.path()).args(["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let mut findings = report["findings"].as_array().unwrap().iter();
    let finding = findings.rfind(|finding| finding["check"] == "prompts").unwrap();
    assert_eq!(finding["verdict"], "warning", "{finding}");
    let role = ".ait/roles/r.toml: there is no prompt \"goood\": did you mean good?";
    for problem in problems.iter().chain([&role]) {
        assert!(
            finding["details"].to_string().replace("\\\"", "\"").contains(problem),
            "{finding}"
        );
    }
    // More than the most are none, so that no file is left out by chance.
    for number in 0..50 {
        write(directory.path(), &format!("p{number}.md"), "---\ndescription: d\n---\nP.\n");
    }
    assert_eq!(names(&list(&mut client)).len(), 6);
    client.log().wait_for(".ait/prompts: it has more than 50 files");
}

#[test]
fn clients_hear_of_changed_prompts_within_a_second() {
    let directory = directory();
    // Without the directory nothing is announced.
    let before = Client::spawn(&mut ait(directory.path())).initialize();
    assert_eq!(before["capabilities"]["prompts"], json!({}));
    write(directory.path(), "one.md", "---\ndescription: d\n---\nOne.\n");
    let mut client = Client::spawn(&mut ait(directory.path()));
    assert_eq!(client.initialize()["capabilities"]["prompts"], json!({ "listChanged": true }));
    client.request("ping", json!({}));
    let server = Server::start(directory.path());
    let session = Agent::connect(server.port);
    let mut events = BufReader::new(session.listen()).lines();
    let mut modern = Client::spawn(&mut ait(directory.path()));
    let filter = json!({ "promptsListChanged": true });
    modern.ask("subscriptions/listen", json!({ "notifications": filter, "_meta": meta() }));
    let accepted = modern.frame().unwrap();
    assert_eq!(accepted["params"]["notifications"], filter, "{accepted}");
    let begun = Instant::now();
    write(directory.path(), "two.md", "---\ndescription: d\n---\nTwo.\n");
    for client in [&mut client, &mut modern] {
        let frame = client.frame().unwrap();
        assert_eq!(frame["method"], "notifications/prompts/list_changed", "{frame}");
    }
    let event = events.find(|line| line.as_ref().unwrap().contains("list_changed"));
    assert!(event.is_some());
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    assert_eq!(names(&list(&mut client))[6..], ["one", "two"]);
    fs::remove_file(directory.path().join(".ait/prompts/one.md")).unwrap();
    assert_eq!(client.frame().unwrap()["method"], "notifications/prompts/list_changed");
    assert_eq!(names(&list(&mut client))[6..], ["two"]);
}
