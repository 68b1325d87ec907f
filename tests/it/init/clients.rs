//! What each client gets, where it documents that it looks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use super::{Desk, read_json, read_toml};
use crate::support::{BINARY, Client, TOOLS};

/// What a client gets: its name, the file with its servers, the way to them, the entry, the file of an agent
/// and the file with instructions.
struct Case {
    name: &'static str,
    file: &'static str,
    servers: &'static str,
    entry: Value,
    agent: Option<&'static str>,
    guide: Option<&'static str>,
}

fn cases() -> Vec<Case> {
    let case = |name, file, servers, entry| Case {
        name,
        file,
        servers,
        entry,
        agent: None,
        guide: Some("AGENTS.md"),
    };
    let started = json!({ "command": "ait" });
    vec![
        Case {
            agent: Some(".claude/agents/developer.md"),
            guide: Some("CLAUDE.md"),
            ..case("claude-code", ".mcp.json", "mcpServers", started.clone())
        },
        Case {
            agent: Some(".cursor/agents/developer.md"),
            ..case("cursor", ".cursor/mcp.json", "mcpServers", started.clone())
        },
        Case {
            agent: Some(".github/agents/developer.agent.md"),
            ..case(
                "vscode",
                ".vscode/mcp.json",
                "servers",
                json!({ "type": "stdio", "command": "ait" }),
            )
        },
        Case {
            agent: Some(".codex/agents/developer.toml"),
            ..case("codex", ".codex/config.toml", "mcp_servers", started.clone())
        },
        Case {
            agent: Some(".gemini/agents/developer.md"),
            guide: Some("GEMINI.md"),
            ..case("gemini", ".gemini/settings.json", "mcpServers", started)
        },
        case(
            "zed",
            ".zed/settings.json",
            "context_servers",
            json!({ "command": "ait", "args": [] }),
        ),
        Case {
            agent: Some(".opencode/agents/developer.md"),
            ..case(
                "opencode",
                "opencode.json",
                "mcp",
                json!({ "type": "local", "command": ["ait"] }),
            )
        },
    ]
}

fn servers(desk: &Desk, file: &str) -> Value {
    let text = desk.read(file);
    if file.ends_with(".toml") { read_toml(&text) } else { read_json(&text) }
}

#[test]
fn each_client_gets_the_server_the_prompts_and_the_section_where_it_looks_and_loses_them_again() {
    for Case { name, file, servers: at, entry, agent, guide } in cases() {
        let desk = Desk::new();
        let empty = desk.tree();
        let shown = desk.init_now(&["--client", name]);
        assert!(shown.contains(&format!("{file} (new)")), "{shown}");
        assert_eq!(servers(&desk, file)[at]["issues"], entry, "{name}");
        if let Some(agent) = agent {
            let prompt = desk.read(agent);
            assert!(prompt.contains("You take one issue from the queue"), "{prompt}");
            assert!(prompt.contains("description"), "{prompt}");
        }
        if let Some(guide) = guide {
            assert!(
                desk.read(guide).starts_with("<!-- ait init: begin -->\n## Issues\n"),
                "{name}"
            );
        }
        let ignored = desk.read(".gitignore");
        for pattern in ["\n/issues.json\n", "\n/.ait/\n"] {
            assert!(ignored.contains(pattern), "{ignored}");
        }
        let written = desk.tree();
        assert!(written.keys().all(|path| !path.to_string_lossy().contains("before-ait-init")));
        assert!(desk.init_now(&["--client", name]).ends_with("nothing to do\n"), "{name}");
        assert!(desk.tree() == written, "{name}");
        assert!(desk.init_now(&["--remove"]).contains("taken back: "), "{name}");
        assert!(desk.tree() == empty, "{name}: {:?}", desk.tree().keys());
        assert!(desk.init_now(&["--remove"]).ends_with("nothing to do\n"), "{name}");
    }
}

#[test]
fn claude_desktop_has_one_place_for_all_projects_and_keeps_what_another_has_there() {
    let desk = Desk::new();
    let file = desk.root.join("home/.config/Claude/claude_desktop_config.json");
    let entry = || read_json(&fs::read_to_string(&file).unwrap())["mcpServers"]["issues"].clone();
    let of = |project: &Path| json!({ "command": "ait", "args": ["--file", project.join("issues.json")] });
    if cfg!(not(target_os = "linux")) {
        return;
    }
    desk.init_now(&["--client", "claude-desktop"]);
    assert_eq!(entry(), of(&desk.project()));
    let (other, written) = (desk.other(), desk.tree());
    // Found, it is left alone; named, it is refused.
    let found = desk.run_in(&other, &["init", "--dry-run"]).ok();
    assert!(
        found.contains("Note: Claude Desktop: ~/.config/Claude/claude_desktop_config.json"),
        "{found}"
    );
    let named = ["init", "--yes", "--client", "claude-desktop"];
    let refused = desk.run_in(&other, &named).refusal();
    assert!(refused.contains(&format!("for {}", desk.project().display())), "{refused}");
    assert!(refused.contains("--force") && desk.tree() == written, "{refused}");
    assert!(desk.run_in(&other, &["init", "--yes", "--remove"]).ok().ends_with("nothing to do\n"));
    assert_eq!(entry(), of(&desk.project()));
    desk.run_in(&other, &[&named[..], &["--force"]].concat()).ok();
    assert_eq!(entry(), of(&other));
    desk.run_in(&other, &["init", "--yes", "--remove"]).ok();
    // There it is as it was, for the other project.
    assert_eq!(entry(), of(&desk.project()));
}

#[test]
fn clients_are_found_by_what_is_in_the_project_in_the_home_and_on_the_path() {
    let desk = Desk::new();
    let empty = desk.tree();
    let refused = desk.init(&["--yes"]).refusal();
    assert!(refused.contains("--client") && refused.contains("claude-code, cursor, "), "{refused}");
    assert!(desk.tree() == empty);
    desk.write(".zed/tasks.json", "[]");
    fs::create_dir(desk.root.join("home/.codex")).unwrap();
    std::os::unix::fs::symlink(BINARY, desk.root.join("bin/gemini")).unwrap();
    let shown = desk.init(&["--dry-run"]).ok();
    for expected in [
        "Client:  Zed (.zed is here)",
        "Client:  Codex (~/.codex is there)",
        "Client:  Gemini CLI (gemini is on the PATH)",
    ] {
        assert!(shown.contains(expected), "{shown}");
    }
    assert_eq!(shown.matches("Client:").count(), 3, "{shown}");
    let report = desk.init(&["--dry-run", "--json"]).ok();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["clients"], json!(["codex", "gemini", "zed"]));
    assert_eq!(report["written"], false);
    let files: Vec<_> = report["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["file"].as_str().unwrap())
        .collect();
    assert!(files.contains(&".codex/config.toml") && files.contains(&"GEMINI.md"), "{files:?}");
}

#[test]
fn opencode_gets_the_server_where_it_has_others() {
    let started = json!({ "type": "local", "command": ["ait"] });
    for (text, way) in [
        (
            "{ \"mcp\": { \"servers\": { \"b\": { \"type\": \"local\" } } } }\n",
            &["mcp", "servers"][..],
        ),
        ("{ \"mcp\": { \"servers\": { \"type\": \"local\", \"command\": [\"x\"] } } }\n", &["mcp"]),
        ("{ \"mcp\": { \"b\": { \"type\": \"local\" } } }\n", &["mcp"]),
        (
            "{ \"mcp\": { \"servers\": {}, \"issues\": { \"command\": [\"ait\", \"x\"] } } }\n",
            &["mcp"],
        ),
    ] {
        let desk = Desk::new();
        desk.write("opencode.json", text);
        desk.init_now(&["--client", "opencode"]);
        let all = servers(&desk, "opencode.json");
        let found = way.iter().fold(&all, |object, name| &object[name]);
        let command = &found["issues"]["command"];
        assert_eq!(*command, started["command"], "{text} became {all}");
        assert_eq!(all.to_string().matches("issues").count(), 1, "{all}");
        assert!(desk.init_now(&["--client", "opencode"]).ends_with("nothing to do\n"));
        desk.init_now(&["--remove"]);
        if !text.contains("issues") {
            assert_eq!(desk.read("opencode.json"), text);
        }
    }
}

#[test]
fn what_is_written_starts_a_server_on_the_queue_of_the_project() {
    let desk = Desk::new();
    // Not on the PATH, or another program there: the whole path.
    fs::remove_file(desk.root.join("bin/ait")).unwrap();
    let another = desk.root.join("bin/ait");
    fs::write(&another, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&another, fs::Permissions::from_mode(0o755)).unwrap();
    let shown = desk.init_now(&["--client", "claude-code"]);
    assert!(shown.contains("which holds on this machine alone"), "{shown}");
    let entry = servers(&desk, ".mcp.json")["mcpServers"]["issues"].clone();
    let program = entry["command"].as_str().unwrap();
    assert_eq!(Path::new(program), Path::new(BINARY));
    let mut command = desk.command(&desk.project(), &[]);
    assert_eq!(command.get_program(), program);
    let mut client = Client::spawn(command.env("PORT", "0"));
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), TOOLS.len());
    client.add("t", "bug");
    assert!(client.close().success());
    assert!(desk.has("issues.json"));
}

#[test]
fn a_store_that_was_named_is_named_to_the_clients_too() {
    let desk = Desk::new();
    let store = desk.project().join("queue/work.json");
    let arguments = ["--file", "queue/work.json", "init", "--yes", "--client", "opencode"];
    desk.run_in(&desk.project(), &arguments).ok();
    let line = servers(&desk, "opencode.json")["mcp"]["issues"]["command"].clone();
    assert_eq!(line, json!(["ait", "--file", store]));
    let ignored = desk.read(".gitignore");
    assert!(ignored.contains("\n/queue/work.json\n") && ignored.contains("\n/queue/.ait/\n"));
}

#[test]
fn who_reads_the_agents_of_claude_code_is_not_told_of_them_twice() {
    let desk = Desk::new();
    desk.init_now(&["--client", "cursor", "--client", "vscode"]);
    assert!(desk.has(".cursor/agents/developer.md"));
    assert!(desk.has(".github/agents/developer.agent.md"));
    let all = ["--client", "cursor", "--client", "vscode", "--client", "claude-code"];
    desk.init_now(&all);
    assert!(desk.has(".claude/agents/developer.md"));
    assert!(!desk.has(".cursor/agents") && !desk.has(".github"));
    assert!(desk.has(".cursor/mcp.json"));
    assert!(desk.init_now(&all).ends_with("nothing to do\n"));
}
