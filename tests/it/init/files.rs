//! Files that others have written: merged into, kept as they were, and given back.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::{Desk, read_json, read_toml};

const ALL: [&str; 12] = [
    "--client",
    "claude-code",
    "--client",
    "cursor",
    "--client",
    "vscode",
    "--client",
    "codex",
    "--client",
    "zed",
    "--client",
    "opencode",
];

/// A project that everybody has written in, with Windows' line ends, marks, comments and no last line end.
fn lived_in() -> Desk {
    let desk = Desk::new();
    desk.write(".mcp.json", "{ \"mcpServers\": { \"b\": { \"command\": \"x\" } } }");
    desk.write(".cursor/mcp.json", "\u{feff}{\r\n\t// mine\r\n\t\"mcpServers\": {}\r\n}\r\n");
    desk.write(".vscode/mcp.json", "{\n  \"inputs\": [], // none\n  \"servers\": {\n  },\n}\n");
    desk.write(
        ".codex/config.toml",
        "model = \"m\" # fast\n\n[mcp_servers.b]\ncommand = \"x\"\n# end\n",
    );
    desk.write(".zed/settings.json", "// Zed\n{\n  \"tab_size\": 2\n}");
    desk.write("opencode.jsonc", "/* all */\n{}\n");
    desk.write("AGENTS.md", "# Team\r\n\r\nBe kind.");
    desk.write("CLAUDE.md", "");
    desk.write(".gitignore", "/target\nissues.json");
    desk.write(".claude/agents/mine.md", "mine\n");
    desk
}

#[test]
fn everything_that_was_there_stays_and_comes_back_to_the_byte() {
    let desk = lived_in();
    let mode = |name: &str| fs::metadata(desk.project().join(name)).unwrap().permissions().mode();
    let file = desk.project().join(".vscode/mcp.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let before = desk.tree();
    desk.init_now(&ALL);
    let claude = read_json(&desk.read(".mcp.json"));
    assert_eq!(
        claude["mcpServers"],
        json!({ "b": { "command": "x" }, "issues": { "command": "ait" } })
    );
    assert!(desk.read(".cursor/mcp.json").starts_with("\u{feff}{\r\n\t// mine\r\n"));
    let vscode = desk.read(".vscode/mcp.json");
    assert!(vscode.starts_with("{\n  \"inputs\": [], // none\n"), "{vscode}");
    assert_eq!(read_json(&vscode)["servers"]["issues"]["command"], "ait");
    assert_eq!(mode(".vscode/mcp.json") & 0o777, 0o640);
    assert_eq!(mode("opencode.jsonc") & 0o777, mode(".claude/agents/developer.md") & 0o777);
    let codex = desk.read(".codex/config.toml");
    assert!(
        codex.starts_with("model = \"m\" # fast\n\n[mcp_servers.b]\ncommand = \"x\"\n# end\n"),
        "{codex}"
    );
    assert_eq!(read_toml(&codex)["mcp_servers"]["issues"], json!({ "command": "ait" }));
    assert_eq!(read_json(&desk.read(".zed/settings.json"))["tab_size"], 2);
    assert!(
        desk.read("opencode.jsonc").starts_with("/* all */\n{\n") && !desk.has("opencode.json")
    );
    assert!(
        desk.read("AGENTS.md")
            .starts_with("# Team\r\n\r\nBe kind.\r\n\r\n<!-- ait init: begin -->\r\n")
    );
    assert!(!desk.read(".gitignore").contains("/issues.json\n"));
    // Each file that was there is kept as it was, and no other.
    let after = desk.tree();
    let kept = |path: &&std::path::PathBuf| path.to_string_lossy().ends_with(".before-ait-init");
    assert_eq!(after.keys().filter(kept).count(), 9);
    for path in after.keys().filter(kept) {
        let name = path.to_string_lossy().replace(".before-ait-init", "");
        assert_eq!(after[path], before[std::path::Path::new(&name)], "{name}");
    }
    assert!(desk.init_now(&ALL).ends_with("nothing to do\n"));
    assert!(desk.tree() == after);
    desk.init_now(&["--remove"]);
    assert!(desk.tree() == before, "{:?}", desk.tree().keys());
    assert_eq!(mode(".vscode/mcp.json") & 0o777, 0o640);
}

#[test]
fn what_was_written_since_stays_when_ours_goes() {
    let desk = lived_in();
    desk.init_now(&ALL);
    for name in [".mcp.json", ".zed/settings.json"] {
        desk.write(name, &desk.read(name).replace("\"ait\"", "\"ait\", \"env\": { \"A\": \"b\" }"));
    }
    desk.write("AGENTS.md", &(desk.read("AGENTS.md") + "\r\nAnd patient.\r\n"));
    desk.write(
        ".codex/config.toml",
        &(desk.read(".codex/config.toml") + "\n[profiles.a]\nb = 1\n"),
    );
    assert!(desk.init_now(&ALL).ends_with("nothing to do\n"));
    let edited = desk.read(".claude/agents/developer.md") + "\nAlways sing.\n";
    desk.write(".claude/agents/developer.md", &edited);
    let noted = desk.init_now(&ALL);
    assert!(noted.contains(".claude/agents/developer.md is there, edited"), "{noted}");
    let shown = desk.init_now(&["--remove"]);
    assert!(
        shown.contains(".claude/agents/developer.md is edited or of another version, and stays"),
        "{shown}"
    );
    assert_eq!(desk.read(".claude/agents/developer.md"), edited);
    assert!(!desk.has(".claude/agents/team-lead.md"));
    assert!(shown.contains("*.before-ait-init stays, since this was changed after it"), "{shown}");
    assert_eq!(
        read_json(&desk.read(".mcp.json")),
        json!({ "mcpServers": { "b": { "command": "x" } } })
    );
    assert_eq!(read_json(&desk.read(".zed/settings.json")), json!({ "tab_size": 2 }));
    assert!(desk.read("AGENTS.md").starts_with("# Team\r\n\r\nBe kind.\r\n"));
    assert!(desk.read("AGENTS.md").ends_with("And patient.\r\n"));
    let codex = read_toml(&desk.read(".codex/config.toml"));
    assert_eq!(codex["profiles"], json!({ "a": { "b": 1 } }));
    assert_eq!(codex["mcp_servers"], json!({ "b": { "command": "x" } }));
}

#[test]
fn one_client_can_be_taken_back_alone() {
    let desk = Desk::new();
    desk.init_now(&["--client", "codex"]);
    let before = desk.tree();
    desk.init_now(&["--client", "codex", "--client", "gemini"]);
    desk.init_now(&["--remove", "--client", "gemini"]);
    assert!(!desk.has(".gemini") && desk.has("GEMINI.md"));
    fs::remove_file(desk.project().join("GEMINI.md")).unwrap();
    assert!(desk.tree() == before);
}

#[test]
fn links_are_followed_inside_of_the_project_only() {
    let desk = Desk::new();
    desk.write("AGENTS.md", "# Team\n");
    symlink("AGENTS.md", desk.project().join("CLAUDE.md")).unwrap();
    desk.init_now(&["--client", "claude-code", "--client", "codex"]);
    assert!(desk.project().join("CLAUDE.md").is_symlink());
    assert_eq!(desk.read("AGENTS.md").matches("## Issues").count(), 1);
    desk.init_now(&["--remove"]);
    assert_eq!(desk.read("AGENTS.md"), "# Team\n");
    fs::create_dir(desk.root.join("outside")).unwrap();
    symlink(desk.root.join("outside"), desk.project().join(".cursor")).unwrap();
    let before = desk.tree();
    let refused = desk.init(&["--yes", "--client", "cursor"]).refusal();
    let target = desk.root.join("outside/mcp.json");
    assert!(
        refused.contains(&format!(".cursor/mcp.json leads to {}", target.display())),
        "{refused}"
    );
    assert!(desk.tree() == before && !target.exists());
    let shown = desk.init_now(&["--client", "cursor", "--force"]);
    assert!(shown.contains(&format!("({})", target.display())) && target.exists(), "{shown}");
    fs::remove_file(desk.project().join(".cursor")).unwrap();
    symlink("nowhere", desk.project().join(".cursor")).unwrap();
    let refused = desk.init(&["--yes", "--client", "cursor"]).refusal();
    assert!(refused.contains(".cursor/mcp.json is a link that leads nowhere"), "{refused}");
}

#[test]
fn who_takes_in_the_instructions_of_others_gets_no_section_of_its_own() {
    let desk = Desk::new();
    desk.write("CLAUDE.md", "# Claude\n\n@AGENTS.md\n");
    desk.init_now(&["--client", "claude-code"]);
    assert_eq!(desk.read("CLAUDE.md"), "# Claude\n\n@AGENTS.md\n");
    assert!(desk.read("AGENTS.md").contains("## Issues"));
}

#[test]
fn zed_is_said_to_read_another_file_where_it_does() {
    let desk = Desk::new();
    let note = |client| {
        let shown = desk.init(&["--dry-run", "--client", client]).ok();
        shown.lines().find(|line| line.starts_with("Note: ")).unwrap_or_default().to_owned()
    };
    desk.write("CLAUDE.md", "# Claude\n");
    assert_eq!(note("zed"), "");
    desk.write(".github/copilot-instructions.md", "Be kind.\n");
    assert!(
        note("zed").contains("Zed reads .github/copilot-instructions.md and then not AGENTS.md")
    );
    assert_eq!(note("cursor"), "");
    desk.write(".rules", "Be kind.\n");
    assert!(note("zed").contains("Zed reads .rules and"));
}

#[test]
fn presets_choose_prompts_settings_and_workflow() {
    let desk = Desk::new();
    let empty = desk.tree();
    let agents = || {
        let names = fs::read_dir(desk.project().join(".claude/agents")).unwrap();
        let mut names: Vec<_> =
            names.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let init = |preset| desk.init_now(&["--client", "claude-code", "--preset", preset]);
    init("team");
    assert_eq!(agents(), ["bug-fixer.md", "code-reviewer.md", "developer.md", "team-lead.md"]);
    let team = desk.read("CLAUDE.md");
    init("solo");
    assert_eq!(agents(), ["developer.md"]);
    assert_eq!(desk.read("ait.toml"), "agent = \"developer\"  # by ait init\n");
    let config = desk.run_in(&desk.project(), &["config", "--json"]).ok();
    assert!(config.contains(r#""value":"developer","source":"ait.toml, line 1""#), "{config}");
    // What it has set goes with it, and what somebody has set instead stays.
    init("review-heavy");
    assert_eq!(agents().len(), 4);
    assert!(!desk.has("ait.toml"));
    init("solo");
    desk.write("ait.toml", "port = 3011\nagent = \"us\"  # by ait init\n");
    init("review-heavy");
    assert_eq!(desk.read("ait.toml"), "port = 3011\nagent = \"us\"  # by ait init\n");
    fs::remove_file(desk.project().join("ait.toml")).unwrap();
    assert!(
        desk.read("CLAUDE.md").contains("Every change is reviewed")
            && !team.contains("Every change")
    );
    assert_eq!(desk.read("CLAUDE.md").matches("## Issues").count(), 1);
    // Without a name it stays what it is.
    init("solo");
    let before = desk.tree();
    desk.init_now(&["--client", "claude-code"]);
    assert!(desk.tree() == before);
    assert!(desk.init(&["--preset", "huge"]).code == 2);
    desk.init_now(&["--remove"]);
    assert!(desk.tree() == empty, "{:?}", desk.tree().keys());
    desk.write("ait.toml", "agent = \"us\"\n");
    assert!(init("solo").contains("ait.toml sets agent = \"us\", which stays"));
    assert_eq!(desk.read("ait.toml"), "agent = \"us\"\n");
}

#[test]
fn the_store_is_tracked_where_that_is_wanted() {
    let desk = Desk::new();
    desk.init_now(&["--client", "codex"]);
    desk.init_now(&["--client", "codex", "--track"]);
    let ignored = desk.read(".gitignore");
    assert!(!ignored.contains("/issues.json\n") && ignored.contains("\n/.ait/\n"), "{ignored}");
    fs::remove_dir_all(desk.project().join(".git")).unwrap();
    desk.init_now(&["--remove"]);
    desk.init_now(&["--client", "codex"]);
    assert!(!desk.has(".gitignore"), "without git there is nothing to ignore");
}
