//! Files of the user: `ait init` merges into them, and `--remove` removes only what init added.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;

use super::{Desk, NEW_PROJECT_SETTINGS, SOLO_SETTINGS, TEAM_SETTINGS, read_json, read_toml};

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

/// Creates a project with files of the user: CRLF, byte order marks, comments and missing final newlines.
fn with_user_files() -> Desk {
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
fn init_merges_into_user_files_and_remove_takes_out_its_own() {
    let desk = with_user_files();
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
    assert_eq!(read_toml(&codex)["mcp_servers"]["issues"]["command"], "ait");
    assert_eq!(read_json(&desk.read(".zed/settings.json"))["tab_size"], 2);
    assert!(
        desk.read("opencode.jsonc").starts_with("/* all */\n{\n") && !desk.has("opencode.json")
    );
    assert!(
        desk.read("AGENTS.md")
            .starts_with("# Team\r\n\r\nBe kind.\r\n\r\n<!-- ait init: begin -->\r\n")
    );
    assert!(!desk.read(".gitignore").contains("/issues.json\n"));
    let after = desk.tree();
    assert!(desk.init_now(&ALL).contains("\nnothing to do\n"));
    assert!(desk.tree() == after);
    desk.init_now(&["--remove"]);
    let removed = desk.tree();
    assert!(desk.init_now(&["--remove"]).ends_with("nothing to do\n"));
    assert!(desk.tree() == removed);
    assert_eq!(mode(".vscode/mcp.json") & 0o777, 0o640);
    // The same files exist, except the empty one, and no others.
    let mut names: Vec<_> = before.keys().collect();
    names.retain(|path| !path.ends_with("CLAUDE.md"));
    assert_eq!(removed.keys().collect::<Vec<_>>(), names);
    for name in [".codex/config.toml", "AGENTS.md", ".gitignore", ".claude/agents/mine.md"] {
        let path = desk.project().join(name);
        let old = String::from_utf8(before[&path].clone().unwrap()).unwrap();
        assert_eq!(desk.read(name).trim_end(), old.trim_end(), "{name}");
    }
    for name in [".mcp.json", ".vscode/mcp.json", ".zed/settings.json"] {
        let path = desk.project().join(name);
        let old = String::from_utf8(before[&path].clone().unwrap()).unwrap();
        let (mut old, new) = (read_json(&old), read_json(&desk.read(name)));
        // An object that is empty without our server is removed too.
        old.as_object_mut().unwrap().retain(|_, value| *value != json!({}));
        assert_eq!(new, old, "{name}");
    }
    assert_eq!(desk.read(".cursor/mcp.json"), "\u{feff}{\r\n\t// mine\r\n}\r\n");
    assert!(desk.read("opencode.jsonc").starts_with("/* all */"));
}

#[test]
fn remove_keeps_later_user_edits() {
    let desk = with_user_files();
    desk.init_now(&ALL);
    for name in [".mcp.json", ".zed/settings.json"] {
        desk.write(name, &desk.read(name).replace("\"ait\"", "\"ait\", \"env\": { \"A\": \"b\" }"));
    }
    desk.write("AGENTS.md", &(desk.read("AGENTS.md") + "\r\nAnd patient.\r\n"));
    desk.write(
        ".codex/config.toml",
        &(desk.read(".codex/config.toml") + "\n[profiles.a]\nb = 1\n"),
    );
    assert!(desk.init_now(&ALL).contains("\nnothing to do\n"));
    let edited = desk.read(".claude/agents/developer.md") + "\nAlways sing.\n";
    desk.write(".claude/agents/developer.md", &edited);
    let noted = desk.init_now(&ALL);
    assert!(noted.contains(".claude/agents/developer.md was edited, and stays"), "{noted}");
    let shown = desk.init_now(&["--remove"]);
    assert!(
        shown
            .contains(".claude/agents/developer.md was edited or is of another version, and stays"),
        "{shown}"
    );
    assert_eq!(desk.read(".claude/agents/developer.md"), edited);
    assert!(!desk.has(".claude/agents/team-lead.md"));
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
fn one_client_can_be_removed_alone() {
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
fn symbolic_links_are_followed_only_inside_the_project() {
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
fn instruction_files_that_import_others_get_no_section() {
    let desk = Desk::new();
    desk.write("CLAUDE.md", "# Claude\n\n@AGENTS.md\n");
    desk.init_now(&["--client", "claude-code"]);
    assert_eq!(desk.read("CLAUDE.md"), "# Claude\n\n@AGENTS.md\n");
    assert!(desk.read("AGENTS.md").contains("## Issues"));
}

#[test]
fn a_note_says_that_zed_reads_another_file() {
    let desk = Desk::new();
    let note = |client| {
        let shown = desk.init(&["--dry-run", "--client", client]).ok();
        shown.lines().find(|line| line.starts_with("Note: ")).unwrap_or_default().to_owned()
    };
    desk.write("CLAUDE.md", "# Claude\n");
    assert_eq!(note("zed"), "");
    desk.write(".github/copilot-instructions.md", "Be kind.\n");
    assert!(note("zed").contains("Zed reads .github/copilot-instructions.md instead of AGENTS.md"));
    assert_eq!(note("cursor"), "");
    desk.write(".rules", "Be kind.\n");
    assert!(note("zed").contains("Zed reads .rules instead"));
}

#[test]
fn presets_choose_prompts_and_workflow() {
    let desk = Desk::new();
    let empty = desk.tree();
    let agents = || {
        let entries = fs::read_dir(desk.project().join(".claude/agents")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let init = |preset| desk.init_now(&["--client", "claude-code", "--preset", preset]);
    init("team");
    assert_eq!(agents(), ["bug-fixer.md", "code-reviewer.md", "developer.md", "team-lead.md"]);
    let team = desk.read("CLAUDE.md");
    init("solo");
    assert_eq!(agents(), ["developer.md"]);
    init("review-heavy");
    assert_eq!(agents().len(), 4);
    assert!(
        desk.read("CLAUDE.md").contains("Every change is reviewed")
            && !team.contains("Every change")
    );
    assert_eq!(desk.read("CLAUDE.md").matches("## Issues").count(), 1);
    // Without `--preset`, the current preset stays.
    init("solo");
    let before = desk.tree();
    desk.init_now(&["--client", "claude-code"]);
    assert!(desk.tree() == before);
    assert!(desk.init(&["--preset", "huge"]).code == 2);
    desk.init_now(&["--remove"]);
    assert!(desk.tree() == empty, "{:?}", desk.tree().keys());
}

#[test]
fn people_keep_their_name_under_every_preset() {
    let desk = Desk::new();
    let run = |arguments: &[&str]| desk.run_in(&desk.project(), arguments).ok();
    let default = run(&["config", "--json"]);
    // An older version of the preset wrote this setting.
    desk.write("ait.toml", "port = 3011\nagent = \"developer\"  # by ait init\n");
    assert_ne!(run(&["config", "--json"]), default);
    for preset in ["solo", "team", "review-heavy", "solo"] {
        desk.init_now(&["--client", "claude-code", "--preset", preset]);
        let settings = format!("port = 3011\n{NEW_PROJECT_SETTINGS}");
        let settings = match preset {
            "solo" => settings.replace(TEAM_SETTINGS, SOLO_SETTINGS),
            "review-heavy" => settings.replace("not-author", "uninvolved"),
            _ => settings,
        };
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(lines(&desk.read("ait.toml")), lines(&settings), "{preset}");
        let shown = run(&["add", "one", "-c", "bug"]);
        let id = shown.split_whitespace().next().unwrap();
        let filed = run(&["show", id]);
        assert!(filed.contains("Issue filed by ") && !filed.contains("developer"), "{filed}");
    }
    // The instructions tell agents to give their name.
    desk.init_now(&["--client", "claude-code", "--preset", "solo"]);
    assert!(desk.read("CLAUDE.md").contains("`ait next --agent developer`"));
    let claimed = run(&["next", "--agent", "developer"]);
    assert!(claimed.contains("held by developer"), "{claimed}");
    // Settings of the user stay.
    let settings = "agent = \"developer\"\nreplies = \"json\"\nclaims = \"trusting\"\n\
                    review = \"anyone\"\nmax-attempts = 0\ntoolsets = [\"lifecycle\"]\n";
    desk.write("ait.toml", settings);
    desk.init_now(&["--client", "claude-code", "--preset", "solo"]);
    assert_eq!(desk.read("ait.toml"), settings);
}

#[test]
fn git_ignores_the_backups_that_ait_makes() {
    let git = |desk: &Desk, arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(desk.project()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    for (options, track) in [(&[][..], &[][..]), (&["--file", "work.json"], &["--track"])] {
        let desk = Desk::new();
        let run =
            |arguments: &[&str]| desk.run_in(&desk.project(), &[options, arguments].concat()).ok();
        git(&desk, &["init", "-q"]);
        run(&["add", "one", "-c", "bug"]);
        run(&["backup"]);
        assert!(git(&desk, &["status", "--short"]).contains("-backup-"));
        run(&[&["init", "--yes", "--client", "zed"], track].concat());
        let status = git(&desk, &["status", "--short"]);
        assert!(!status.contains("-backup-") && status.contains(".gitignore"), "{status}");
        run(&["init", "--yes", "--remove"]);
        assert!(git(&desk, &["status", "--short"]).contains("-backup-"));
    }
}

#[test]
fn remove_edits_a_file_that_its_client_cannot_parse() {
    let desk = Desk::new();
    desk.init_now(&["--client", "claude-code"]);
    let commented = desk.read(".mcp.json").replacen('{', "{\n  // mine", 1);
    desk.write(".mcp.json", &commented);
    desk.init_now(&["--remove"]);
    let left = desk.read(".mcp.json");
    assert!(left.contains("// mine") && !left.contains("issues"), "{left}");
}

#[test]
fn track_option_leaves_the_store_out_of_gitignore() {
    let desk = Desk::new();
    desk.init_now(&["--client", "codex"]);
    desk.init_now(&["--client", "codex", "--track"]);
    let ignored = desk.read(".gitignore");
    assert!(!ignored.contains("/issues.json\n") && ignored.contains("\n/.ait/\n"), "{ignored}");
    fs::remove_dir_all(desk.project().join(".git")).unwrap();
    desk.init_now(&["--remove"]);
    let output = desk.init_now(&["--client", "codex"]);
    assert!(!desk.has(".gitignore"), ".gitignore was written without git");
    assert!(
        output.contains("`git init`, then ait init again, which writes .gitignore"),
        "{output}"
    );
    fs::create_dir(desk.project().join(".git")).unwrap();
    fs::write(desk.project().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    desk.init_now(&["--client", "codex"]);
    let ignored = desk.read(".gitignore");
    assert!(ignored.contains("/issues.json\n") && ignored.contains("/.worktrees/\n"), "{ignored}");
}

#[test]
fn a_note_warns_about_changes_without_git() {
    let desk = Desk::new();
    desk.write("AGENTS.md", "# Team\n");
    let arguments = ["--dry-run", "--client", "codex"];
    assert!(!desk.init(&arguments).ok().contains("under git"));
    fs::remove_dir_all(desk.project().join(".git")).unwrap();
    let note = "Note: this project is not under git: ait init changes 1 file and keeps no copies\n";
    let shown = desk.init(&arguments).ok();
    assert!(shown.contains(note), "{shown}");
    desk.init_now(&["--client", "codex"]);
    let shown = desk.init(&["--dry-run", "--remove"]).ok();
    assert!(shown.contains("changes 8 files and keeps no copies"), "{shown}");
    fs::remove_file(desk.project().join("AGENTS.md")).unwrap();
    fs::remove_dir_all(desk.project().join(".codex")).unwrap();
    assert!(!desk.init(&arguments).ok().contains("under git"), "the note is about new files");
}

#[test]
fn init_always_explains_how_to_commit_and_start() {
    let desk = Desk::new();
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments);
        assert!(git.current_dir(desk.project()).status().unwrap().success());
    };
    git(&["init", "-q"]);
    let which = Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout;
    let program = String::from_utf8(which).unwrap();
    symlink(program.trim(), desk.root.join("bin/git")).unwrap();
    let init = || desk.init_now(&["--client", "claude-code"]);
    let (first, start) =
        ("Commit your project and what ait init wrote first: ", "claude --agent team-lead\n");
    let output = init();
    assert!(
        output.contains(first) && output.contains("restart it") && output.contains(start),
        "{output}"
    );
    let output = init();
    assert!(
        output.contains(first) && output.contains("nothing to do") && output.contains(start),
        "{output}"
    );
    git(&["add", "."]);
    git(&["commit", "-qm", "begin"]);
    let output = init();
    assert!(output.contains("\nStart team-lead:\n") && output.contains(start), "{output}");
    assert!(!output.contains("Commit") && !output.contains("restart it"), "{output}");
    let output = desk.init_now(&["--client", "codex"]);
    assert!(
        output.contains("Commit what ait init wrote: agents work in git worktrees"),
        "{output}"
    );
    // The output advises against committing a path of this machine.
    let output = desk.run_in(&desk.project(), &["--file", "x.json", "init", "--yes"]).ok();
    assert!(output.contains("Commit what ait init wrote, but see the notes above"), "{output}");
}

#[test]
fn remove_reports_that_the_store_stays_unignored() {
    let desk = Desk::new();
    desk.init_now(&["--client", "codex"]);
    assert!(!desk.init(&["--remove", "--dry-run"]).ok().contains("issues.json and the log"));
    desk.run_in(&desk.project(), &["add", "one"]).ok();
    let output = desk.init_now(&["--remove"]);
    let stays = "Note: issues.json and the log beside it stay, with all issues";
    assert!(
        output.contains(stays) && output.contains("; git no longer ignores issues.json\n"),
        "{output}"
    );
    assert!(desk.has("issues.json"));
    let output = desk.init_now(&["--remove"]);
    assert!(output.contains(stays) && !output.contains("ignores"), "{output}");
}

#[test]
fn prompts_do_not_depend_on_the_order_of_runs() {
    let desk = Desk::new();
    desk.init_now(&["--client", "claude-code"]);
    desk.init_now(&["--client", "cursor"]);
    assert!(desk.has(".cursor/mcp.json") && !desk.has(".cursor/agents/team-lead.md"));
    let written = desk.tree();
    assert!(desk.init_now(&["--client", "cursor"]).contains("\nnothing to do\n"));
    desk.init_now(&["--client", "claude-code", "--client", "cursor"]);
    assert!(desk.tree() == written, "{:?}", desk.tree().keys());
}

#[test]
fn prompts_of_the_project_become_agents_that_git_tracks_with_their_files() {
    let desk = Desk::new();
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(desk.project()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    git(&["init", "-q"]);
    desk.run_in(&desk.project(), &["add", "one", "-c", "bug"]).ok();
    desk.init_now(&["--client", "claude-code", "--client", "codex"]);
    let ours = desk.read(".claude/agents/developer.md");
    let tools = ours.lines().find(|line| line.starts_with("tools: ")).unwrap();
    assert!(desk.read(".gitignore").contains("\n/.ait/\n"));
    let prompt = |text: &str| format!("---\ndescription: Use to do it.\n---\n{text}\n");
    desk.write(".ait/prompts/developer.md", &prompt("# As we do it"));
    desk.write(".ait/prompts/tester.md", &prompt("# Tester"));
    desk.write(
        ".ait/prompts/notes.md",
        "---\ndescription: d\narguments:\n  version: v\n---\n{{version}}\n",
    );
    desk.write(".ait/roles/tester.toml", "tools = [\"list_issues\"]\n");
    let examined = |words: &str| {
        let mut doctor = desk.command(&desk.project(), &["doctor"]);
        let doctor = doctor.env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
        let report = String::from_utf8(doctor.stdout).unwrap();
        assert!(report.contains(words), "{report}");
    };
    examined("git ignores roles, prompts or templates that a team commits");
    desk.init_now(&["--client", "claude-code", "--client", "codex"]);
    let developer = desk.read(".claude/agents/developer.md");
    assert!(developer.contains(tools) && developer.ends_with("\n---\n\n# As we do it\n"));
    assert!(developer.contains("\ndescription: Use to do it.\n"), "{developer}");
    assert!(desk.read(".codex/agents/tester.toml").contains("# Tester"));
    assert!(!desk.project().join(".claude/agents/notes.md").exists());
    // Git sees the files of the team, and still nothing of the store.
    assert!(desk.read(".gitignore").contains("\n/.ait/*\n!/.ait/roles/\n!/.ait/prompts/\n"));
    let status = git(&["status", "--short", "-uall"]);
    assert!(status.contains(".ait/prompts/notes.md") && status.contains(".ait/roles/tester.toml"));
    assert!(!status.contains(".ait/issues.json"), "{status}");
    examined("4 roles and prompts of .ait/ are valid");
    // A changed prompt is written by the next run, unless the agent file was edited.
    desk.write(".ait/prompts/tester.md", &prompt("# Other tester"));
    desk.write(".codex/agents/developer.toml", "developer_instructions = 'add_issue'\n");
    let shown = desk.init_now(&["--client", "claude-code", "--client", "codex"]);
    assert!(desk.read(".claude/agents/tester.md").ends_with("# Other tester\n"), "{shown}");
    assert!(desk.read(".codex/agents/developer.toml").contains("'add_issue'"));
    desk.init_now(&["--remove"]);
    assert!(!desk.project().join(".claude/agents").exists());
    assert!(desk.project().join(".ait/prompts/tester.md").exists());
}
