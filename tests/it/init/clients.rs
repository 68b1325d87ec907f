//! The files that each client gets, in the documented form.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Desk, read_json, read_toml};
use crate::support::{BINARY, Client, TOOLS};

/// A client: its name, its settings file, the object with its servers, the entry, an agent and the instructions.
struct Case {
    name: &'static str,
    file: &'static str,
    servers: &'static str,
    entry: Value,
    agent: Option<&'static str>,
    guide: Option<&'static str>,
}

/// The link of the documentation adds the server that `ait init` would write.
#[test]
fn the_link_for_cursor_has_the_server_of_init() {
    let page = include_str!("../../../docs/clients.md");
    let (_, link) = page.split_once("\ncursor://anysphere.cursor-deeplink/mcp/install?").unwrap();
    let link = link.lines().next().unwrap();
    let parameters: BTreeMap<_, _> = form_urlencoded::parse(link.as_bytes()).collect();
    let config = STANDARD.decode(parameters["config"].as_bytes()).unwrap();
    let desk = Desk::new();
    desk.init_now(&["--client", "cursor"]);
    let servers = &read_json(&desk.read(".cursor/mcp.json"))["mcpServers"];
    let config: Value = serde_json::from_slice(&config).unwrap();
    assert_eq!(servers, &json!({ &*parameters["name"]: config }));
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
            ..case("cursor", ".cursor/mcp.json", "mcpServers", started)
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
            ..case(
                "codex",
                ".codex/config.toml",
                "mcp_servers",
                json!({ "command": "ait", "default_tools_approval_mode": "approve" }),
            )
        },
        Case {
            agent: Some(".gemini/agents/developer.md"),
            guide: Some("GEMINI.md"),
            ..case(
                "gemini",
                ".gemini/settings.json",
                "mcpServers",
                json!({ "command": "ait", "trust": true }),
            )
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
fn init_sets_up_each_client_and_remove_undoes_it() {
    for Case { name, file, servers: key, entry, agent, guide } in cases() {
        let desk = Desk::new();
        let empty = desk.tree();
        let shown = desk.init_now(&["--client", name]);
        assert!(shown.contains(&format!("{file} (new)")), "{shown}");
        assert_eq!(servers(&desk, file)[key]["issues"], entry, "{name}");
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
        for pattern in ["\n/issues.json\n", "\n/.ait/\n", "\nissues-backup-*\n"] {
            assert!(ignored.contains(pattern), "{ignored}");
        }
        let written = desk.tree();
        assert!(desk.init_now(&["--client", name]).contains("\nnothing to do\n"), "{name}");
        assert!(desk.tree() == written, "{name}");
        assert!(desk.init_now(&["--remove"]).contains("removed: "), "{name}");
        assert!(desk.tree() == empty, "{name}: {:?}", desk.tree().keys());
        assert!(desk.init_now(&["--remove"]).ends_with("nothing to do\n"), "{name}");
    }
}

#[test]
fn claude_desktop_keeps_the_server_of_another_project() {
    let desk = Desk::new();
    let file = desk.root.join("home/.config/Claude/claude_desktop_config.json");
    let entry = || read_json(&fs::read_to_string(&file).unwrap())["mcpServers"]["issues"].clone();
    let entry_for = |project: &Path| json!({ "command": "ait", "args": ["--file", project.join("issues.json")] });
    if cfg!(not(target_os = "linux")) {
        return;
    }
    desk.init_now(&["--client", "claude-desktop"]);
    assert_eq!(entry(), entry_for(&desk.project()));
    let (other, written) = (desk.other(), desk.tree());
    // A detected client is left alone with a note; a named client is refused.
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
    assert_eq!(entry(), entry_for(&desk.project()));
    desk.run_in(&other, &[&named[..], &["--force"]].concat()).ok();
    assert_eq!(entry(), entry_for(&other));
    desk.run_in(&other, &["init", "--yes", "--remove"]).ok();
    assert!(!file.exists(), "the file held only our entry and must be removed");
}

#[test]
fn clients_are_detected_in_project_home_and_path() {
    let desk = Desk::new();
    let empty = desk.tree();
    let refused = desk.init(&["--yes"]).refusal();
    assert!(refused.contains("run `ait init --client NAME`"), "{refused}");
    assert!(refused.contains("claude-code, cursor, "), "{refused}");
    assert!(refused.contains("nothing was written"), "{refused}");
    assert!(desk.tree() == empty);
    desk.write(".zed/tasks.json", "[]");
    fs::create_dir(desk.root.join("home/.codex")).unwrap();
    std::os::unix::fs::symlink(BINARY, desk.root.join("bin/gemini")).unwrap();
    // The project uses one client; others of the machine are only named.
    let shown = desk.init(&["--dry-run"]).ok();
    assert!(shown.contains("Client:  Zed (.zed is here)"), "{shown}");
    assert_eq!(shown.matches("Client:").count(), 1, "{shown}");
    let others = "Not set up, because this project has no files of theirs: ait init --client codex --client gemini";
    assert!(shown.contains(others), "{shown}");
    fs::remove_dir_all(desk.project().join(".zed")).unwrap();
    let shown = desk.init(&["--dry-run"]).ok();
    for expected in
        ["Client:  Codex (~/.codex is there)", "Client:  Gemini CLI (gemini is on the PATH)"]
    {
        assert!(shown.contains(expected), "{shown}");
    }
    assert_eq!(shown.matches("Client:").count(), 2, "{shown}");
    let report = desk.init(&["--dry-run", "--json"]).ok();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["clients"], json!(["codex", "gemini"]));
    assert_eq!(report["written"], false);
    let files: Vec<_> = report["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| change["file"].as_str().unwrap())
        .collect();
    assert!(files.contains(&".codex/config.toml") && files.contains(&"GEMINI.md"), "{files:?}");
}

#[test]
fn opencode_keeps_existing_servers() {
    let started = json!({ "type": "local", "command": ["ait"] });
    for (text, path) in [
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
        let found = path.iter().fold(&all, |object, name| &object[name]);
        let command = &found["issues"]["command"];
        assert_eq!(*command, started["command"], "{text} became {all}");
        assert_eq!(all.to_string().matches("issues").count(), 1, "{all}");
        assert!(desk.init_now(&["--client", "opencode"]).contains("\nnothing to do\n"));
        desk.init_now(&["--remove"]);
        if !text.contains("issues") {
            assert_eq!(servers(&desk, "opencode.json"), read_json(text));
        }
    }
}

#[test]
fn written_entry_starts_a_server_on_the_project_store() {
    let desk = Desk::new();
    // With another program called `ait` on the PATH, init writes the absolute path.
    fs::remove_file(desk.root.join("bin/ait")).unwrap();
    let another = desk.root.join("bin/ait");
    fs::write(&another, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&another, fs::Permissions::from_mode(0o755)).unwrap();
    let shown = desk.init_now(&["--client", "claude-code"]);
    assert!(shown.contains("absolute path is in .mcp.json; this works only on this"), "{shown}");
    let entry = servers(&desk, ".mcp.json")["mcpServers"]["issues"].clone();
    let program = entry["command"].as_str().unwrap();
    assert_eq!(Path::new(program), Path::new(BINARY));
    let mut command = desk.command(&desk.project(), &[]);
    assert_eq!(command.get_program(), program);
    let mut client = Client::spawn(command.env("PORT", "0"));
    client.initialize();
    let tools = client.request("tools/list", json!({}));
    let tools =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
    // The default preset enables the planning tools.
    let planning = [
        "update_issue",
        "ask_human",
        "add_issues",
        "link_issues",
        "get_digest",
        "remember",
        "recall",
    ];
    assert_eq!(tools.collect::<Vec<_>>(), [TOOLS, &planning].concat());
    client.add("t", "bug");
    assert!(client.close().success());
    assert!(desk.has("issues.json"));
}

#[test]
fn client_entry_names_the_given_store() {
    let desk = Desk::new();
    let store = desk.project().join("queue/work.json");
    let arguments = ["--file", "queue/work.json", "init", "--yes", "--client", "opencode"];
    let shown = desk.run_in(&desk.project(), &arguments).ok();
    let note = "you named the store, so its absolute path is in opencode.json; this works only on";
    assert!(shown.contains(note), "{shown}");
    let line = servers(&desk, "opencode.json")["mcp"]["issues"]["command"].clone();
    assert_eq!(line, json!(["ait", "--file", store]));
    let ignored = desk.read(".gitignore");
    assert!(ignored.contains("\n/queue/work.json\n") && ignored.contains("\n/queue/.ait/\n"));
}

#[test]
fn clients_reading_claude_code_agents_get_no_copies() {
    let desk = Desk::new();
    desk.init_now(&["--client", "cursor", "--client", "vscode"]);
    assert!(desk.has(".cursor/agents/developer.md"));
    assert!(desk.has(".github/agents/developer.agent.md"));
    let all = ["--client", "cursor", "--client", "vscode", "--client", "claude-code"];
    desk.init_now(&all);
    assert!(desk.has(".claude/agents/developer.md"));
    assert!(!desk.has(".cursor/agents") && !desk.has(".github"));
    assert!(desk.has(".cursor/mcp.json"));
    assert!(desk.init_now(&all).contains("\nnothing to do\n"));
}

#[test]
fn absolute_paths_in_shared_files_are_noted() {
    let only_here = |desk: &Desk, arguments: &[&str]| {
        let shown = desk.run_in(&desk.project(), arguments).ok();
        let notes = shown.lines().filter(|line| line.contains("works only on this machine"));
        notes.map(str::to_owned).collect::<Vec<_>>()
    };
    let desk = Desk::new();
    let named = ["--file", "issues.json", "init", "--dry-run"];
    let both = [&named[..], &["--client", "codex", "--client", "gemini"]].concat();
    assert!(only_here(&desk, &both[2..]).is_empty());
    // The settings of a user belong to one machine anyway, and a URL is the same on all machines.
    for other in [&["--client", "claude-desktop"][..], &["--client", "codex", "--http"]] {
        let arguments = [&named[..], other].concat();
        assert!(only_here(&desk, &arguments).is_empty(), "{other:?}");
    }
    let notes = only_here(&desk, &both);
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains(".codex/config.toml, .gemini/settings.json"), "{notes:?}");
    fs::remove_file(desk.root.join("bin/ait")).unwrap();
    assert_eq!(only_here(&desk, &both).len(), 2);
    let notes = only_here(&desk, &both[2..]);
    assert!(notes.len() == 1 && notes[0].contains("not on your PATH"), "{notes:?}");
    // The notes appear as long as the paths are there, even if nothing changes.
    desk.init_now(&["--client", "codex"]);
    assert_eq!(only_here(&desk, &["init", "--yes", "--client", "codex"]).len(), 1);
}

#[test]
fn init_explains_how_to_start_an_agent_in_each_client() {
    for (name, start) in [
        ("claude-code", "Claude Code: claude --agent team-lead"),
        ("cursor", "Cursor: type /team-lead in the chat"),
        ("vscode", "VS Code: choose the agent team-lead in the Chat view"),
        ("codex", "in .codex/agents/team-lead.toml'"),
        ("gemini", "Gemini CLI: type /team-lead, which is a prompt of the MCP server issues"),
        ("zed", "Zed: type / in an agent thread, and choose the prompt team-lead of the MCP"),
        ("opencode", "opencode: opencode --agent team-lead"),
        ("claude-desktop", "Claude Desktop: choose the prompt team-lead of the MCP server issues"),
    ] {
        if name == "claude-desktop" && cfg!(not(target_os = "linux")) {
            continue;
        }
        let shown = Desk::new().init_now(&["--client", name, "--preset", "team"]);
        assert!(shown.contains("Then start team-lead:\n") && shown.contains(start), "{shown}");
    }
    let shown = Desk::new().init_now(&["--client", "claude-code", "--preset", "solo"]);
    assert!(shown.contains("claude --agent developer") && !shown.contains("team-lead"), "{shown}");
}

#[test]
fn clients_without_agents_are_pointed_to_the_prompts() {
    for preset in ["team", "solo", "review-heavy"] {
        let desk = Desk::new();
        desk.init_now(&["--client", "zed", "--preset", preset]);
        let section = desk.read("AGENTS.md");
        let section = section.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(section.contains("of the server"), "{section}");
        let mut client = Client::spawn(desk.command(&desk.project(), &[]).env("PORT", "0"));
        client.initialize();
        let prompts = client.request("prompts/list", json!({}));
        let offered: Vec<_> = prompts["prompts"].as_array().unwrap().iter().collect();
        let roles = ["team-lead", "developer", "bug-fixer", "code-reviewer"];
        for role in roles.iter().filter(|role| section.contains(&format!("`{role}`"))) {
            assert!(offered.iter().any(|prompt| prompt["name"] == *role), "{preset}: {role}");
        }
        assert!(client.close().success());
    }
}
