//! Shipped files: the prompts and the example store.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::files::{issue_json, write_issues};
use crate::support::{Client, ait, directory, get};

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
    // The example has exactly the format that the tracker writes.
    let (store, file) = (directory.path().join("issues.json"), directory.path());
    client.add("one more", "bug");
    let written = fs::read_to_string(store).unwrap();
    let shared =
        example.trim_end().trim_end_matches('}').trim_end().trim_end_matches(']').trim_end();
    assert!(written.starts_with(shared), "{}", file.display());
}

/// Returns the value of a key in the front matter of a prompt.
fn front_matter(prompt: &str, key: &str) -> String {
    let matter = prompt.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap().0;
    let line = matter.lines().find_map(|line| line.strip_prefix(&format!("{key}: ")));
    line.unwrap_or_else(|| panic!("no {key} in {matter}")).to_owned()
}

/// Returns the calls that a prompt quotes, each as a tool name and arguments.
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
    // The toolset that `ait init` turns on for a team.
    let mut client = Client::spawn(ait(directory.path()).args([
        "--toolsets",
        "planning",
        "--toolsets",
        "memory",
    ]));
    client.initialize();
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
fn the_team_lead_prompt_splits_an_issue_for_developers() {
    let directory = directory();
    let ids = ["3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "77b0c5d2-7d54-4b0a-9e6f-2c8b1d5a4e73"];
    write_issues(directory.path(), &ids.map(|id| issue_json(id, "one", "created")));
    let mut client = Client::spawn(ait(directory.path()).args([
        "--toolsets",
        "planning",
        "--toolsets",
        "memory",
    ]));
    client.initialize();
    let (lead, developer) = (shipped("agents/team-lead.md"), shipped("agents/developer.md"));
    let call = |client: &mut Client, prompt: &str, tool: &str| {
        let calls = shown_calls(prompt);
        let (_, arguments) = calls.into_iter().find(|(shown, _)| *shown == tool).unwrap();
        client.call(tool, arguments).ok()
    };
    for tool in ["add_issues", "link_issues", "update_issue"] {
        call(&mut client, &lead, tool);
    }
    // All four issues are open, but the parent waits for its blocker, and its parts wait with it.
    let calls = shown_calls(&lead).into_iter();
    let mut rounds = calls.filter(|(_, arguments)| arguments["take"] == 0);
    let (tool, arguments) = rounds.next().unwrap();
    let round = client.call(tool, arguments).issue();
    assert_eq!((&round["created"], &round["open"]["feature"]), (&json!(4), &json!(2)), "{round}");
    assert_eq!(round["ready"], json!({ "bug": 1, "improvement": 0, "feature": 0, "review": 0 }));
    for expected in ["\"77b0c5d2", "3 issues wait, none is ready: 3f2a9c1e"] {
        let claimed = call(&mut client, &developer, "get_next_issue");
        assert!(claimed.contains(expected), "{claimed}");
    }
}

#[test]
fn urgent_features_come_before_bugs() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    for (title, classification, priority) in [("late", "bug", 4), ("urgent", "feature", 0)] {
        let filed = json!({
            "title": title, "description": "", "classification": classification, "agent": "a", "priority": priority,
        });
        client.call("add_issue", filed).ok();
    }
    let developer = shipped("agents/developer.md");
    let calls = shown_calls(&developer);
    let claims: Vec<_> = calls.into_iter().filter(|(tool, _)| *tool == "get_next_issue").collect();
    let [(tool, arguments)] = &*claims else { panic!("{claims:?}") };
    assert_eq!(client.call(tool, arguments.clone()).issue()["title"], "urgent");
}

#[test]
fn prompts_quote_how_a_claim_reports_earlier_attempts() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("t", "bug");
    let comment = |text: &str| json!({ "issue_id": id, "comment": text, "agent": "a" });
    for _ in 0..2 {
        client.call("get_next_issue", json!({ "agent": "a" })).ok();
        client.call("return_issue", comment("the fixture is missing")).ok();
    }
    let claimed = client.call("get_next_issue", json!({ "agent": "a" })).issue();
    let earlier = claimed["claim"]["earlier"].as_str().unwrap();
    for name in ["developer", "bug-fixer"] {
        assert!(shipped(&format!("agents/{name}.md")).contains(earlier), "{name}: {earlier}");
    }
    let (counted, _) = earlier.split_once("the fixture").unwrap();
    assert!(shipped("agents/code-reviewer.md").contains(counted), "{counted}");
}
