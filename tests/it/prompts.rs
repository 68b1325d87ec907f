//! The files that are shipped beside the code: the prompts and the example.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Client, directory, get};

fn shipped(path: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn example_store_has_every_status_and_classification() {
    let directory = directory();
    let example = shipped("issues.json.example");
    fs::write(directory.path().join("issues.json"), &example).unwrap();
    let mut client = Client::start(directory.path());
    let listing = client.call("list_issues", json!({})).issue();
    assert!((10..=15).contains(&listing["count"].as_u64().unwrap()));
    let rows = listing["issues"].as_array().unwrap();
    let statuses: HashSet<_> = rows.iter().map(|row| row["status"].as_str().unwrap()).collect();
    assert_eq!(statuses.len(), 6);
    let kinds: HashSet<_> =
        rows.iter().map(|row| row["classification"].as_str().unwrap()).collect();
    assert_eq!(kinds.len(), 3);
    assert_eq!(get(client.port(), "/").status, 200);
    // It has the very form that the tracker writes.
    let (store, file) = (directory.path().join("issues.json"), directory.path());
    client.add("one more", "bug");
    let written = fs::read_to_string(store).unwrap();
    let shared =
        example.trim_end().trim_end_matches('}').trim_end().trim_end_matches(']').trim_end();
    assert!(written.starts_with(shared), "{}", file.display());
}

/// The value of a key in the front matter of a prompt.
fn front_matter(prompt: &str, key: &str) -> String {
    let matter = prompt.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().0;
    let line = matter.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
    line.unwrap_or_else(|| panic!("no {key} in {matter}")).to_owned()
}

/// The calls that a prompt shows, as it shows them: the tool, a space and the arguments.
fn shown_calls(prompt: &str) -> Vec<(&str, Value)> {
    let snippets = prompt.split('`').skip(1).step_by(2);
    let calls = snippets.filter_map(|snippet| {
        snippet.split_once(" {").filter(|(tool, _)| {
            tool.chars().all(|character| character.is_ascii_lowercase() || character == '_')
        })
    });
    calls
        .map(|(tool, rest)| {
            let arguments = serde_json::from_str(&format!("{{{rest}"));
            (tool, arguments.unwrap_or_else(|error| panic!("{tool} {{{rest}: {error}")))
        })
        .collect()
}

#[test]
fn prompts_call_only_allowed_tools_with_valid_arguments() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let list = client.request("tools/list", json!({}));
    for (name, forbidden) in [
        (
            "team-lead",
            &["get_next_issue", "get_next_review_item", "complete_issue", "close_issue"][..],
        ),
        ("developer", &["get_next_review_item"]),
        ("bug-fixer", &["get_next_review_item"]),
        ("code-reviewer", &["get_next_issue", "complete_issue"]),
    ] {
        let prompt = shipped(&format!("agents/{name}.md"));
        assert_eq!(front_matter(&prompt, "name"), name);
        assert!(!front_matter(&prompt, "description").is_empty());
        assert_eq!(front_matter(&prompt, "mcp"), "issues");
        let tools = front_matter(&prompt, "tools");
        let allowed: HashSet<_> =
            tools.split(", ").filter_map(|tool| tool.strip_prefix("mcp__issues__")).collect();
        assert!(forbidden.iter().all(|tool| !allowed.contains(tool)), "{name}: {tools}");
        let calls = shown_calls(&prompt);
        let called: HashSet<_> = calls.iter().map(|(tool, _)| *tool).collect();
        assert_eq!(called, allowed, "{name}");
        for (tool, arguments) in calls {
            let definition =
                list["tools"].as_array().unwrap().iter().find(|one| one["name"] == tool);
            let schema = &definition.unwrap()["inputSchema"];
            for (key, value) in arguments.as_object().unwrap() {
                assert!(schema["properties"].get(key).is_some(), "{name}: {tool} {key}");
                assert!(key != "agent" || value == name, "{name}: {tool} {arguments}");
            }
            for key in schema["required"].as_array().into_iter().flatten() {
                assert!(arguments.get(key.as_str().unwrap()).is_some(), "{name}: {tool} {key}");
            }
        }
    }
}

#[test]
fn prompts_name_the_return_action_as_the_tracker_writes_it() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("t", "bug");
    client.call("return_issue", json!({ "issue_id": id, "comment": "c", "agent": "a" })).ok();
    let issue = client.call("list_issues", json!({ "issue_id": id })).issue();
    let action = issue["history"][1]["action"].as_str().unwrap();
    assert_eq!(action, "Issue returned to created status");
    for name in ["developer", "bug-fixer", "code-reviewer"] {
        assert!(shipped(&format!("agents/{name}.md")).contains(action), "{name}");
    }
}
