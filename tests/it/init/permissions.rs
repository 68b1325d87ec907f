//! What `ait init` lets agents do without asking a person.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{Desk, read_json, read_toml};

const SETTINGS: &str = ".claude/settings.json";
const CODEX: &str = ".codex/config.toml";
const ALL: [&str; 6] = ["--client", "claude-code", "--client", "codex", "--client", "gemini"];

/// Settings of a user who allows something already.
const OF_USER: &str = "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\"],\n    \
                       \"allow\": [\"Bash(make)\", \"Bash(ls *)\"]\n  }\n}\n";
const OF_CODEX_USER: &str = "model = \"m\" # fast\n\n[sandbox_workspace_write]\n\
                             # the cache\nwritable_roots = [\"/var/cache/x\"] # mine\n";

fn rules(desk: &Desk) -> Vec<String> {
    let allow = read_json(&desk.read(SETTINGS))["permissions"]["allow"].clone();
    serde_json::from_value(allow).unwrap()
}

/// Returns true if Claude Code runs a command under a rule without asking, as its version 2.1.197 does: `*` stands for
/// any text, and ` *` at the end also for nothing if it is the only one.
fn allows(rule: &str, command: &str) -> bool {
    fn matches(pattern: &str, text: &str) -> bool {
        let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
        let Some(text) = text.strip_prefix(start) else { return false };
        (0..=text.len()).any(|at| text.is_char_boundary(at) && matches(rest, &text[at..]))
    }
    let Some(pattern) = rule.strip_prefix("Bash(").and_then(|rule| rule.strip_suffix(')')) else {
        return false;
    };
    let alone = pattern.strip_suffix(" *").filter(|pattern| !pattern.contains('*'));
    matches(pattern, command) || alone == Some(command)
}

#[test]
fn remove_takes_out_exactly_what_init_granted() {
    let desk = Desk::new();
    desk.write(SETTINGS, OF_USER);
    desk.write(CODEX, OF_CODEX_USER);
    let shown = desk.init_now(&ALL);
    for granted in ["\"mcp__issues\",\n", "\"Bash(ait worktree *)\",\n"] {
        assert!(shown.contains(granted), "the plan does not show {granted}: {shown}");
    }
    let all = rules(&desk);
    assert_eq!(all[..3], ["Bash(make)", "Bash(ls *)", "mcp__issues"]);
    let settings = read_json(&desk.read(SETTINGS));
    assert_eq!(settings["enabledMcpjsonServers"], json!(["issues"]));
    assert!(settings["hooks"]["SessionStart"].is_array(), "{settings}");
    let codex = desk.read(CODEX);
    let list = "writable_roots = [\"/var/cache/x\", \"../.git\"] # mine\n";
    assert!(codex.contains(list) && codex.contains("# the cache\n"), "{codex}");
    assert_eq!(
        read_toml(&codex)["mcp_servers"]["issues"]["default_tools_approval_mode"],
        "approve"
    );
    assert!(desk.has(".codex/hooks.json"));
    let gemini = read_json(&desk.read(".gemini/settings.json"));
    assert_eq!(gemini["mcpServers"]["issues"]["trust"], true);
    let written = desk.tree();
    assert!(desk.init_now(&ALL).contains("\nnothing to do\n"));
    assert!(desk.tree() == written);
    // What the user adds between two runs stays.
    desk.write(
        SETTINGS,
        &desk.read(SETTINGS).replace("\"mcp__issues\",", "\"mcp__issues\", \"WebSearch\","),
    );
    desk.init_now(&["--remove"]);
    let mut expected = read_json(OF_USER);
    expected["permissions"]["allow"].as_array_mut().unwrap().push(json!("WebSearch"));
    assert_eq!(read_json(&desk.read(SETTINGS)), expected);
    assert_eq!(desk.read(CODEX).trim_end(), OF_CODEX_USER.trim_end());
    assert!(!desk.has(".codex/hooks.json") && !desk.has(".gemini"));
}

#[test]
fn agents_ask_about_everything_without_permissions() {
    let desk = Desk::new();
    desk.init_now(&[&ALL[..], &["--no-permissions"]].concat());
    let settings = read_json(&desk.read(SETTINGS));
    assert_eq!(settings.as_object().unwrap().keys().collect::<Vec<_>>(), ["hooks"]);
    let command = json!({ "command": "ait" });
    assert_eq!(read_toml(&desk.read(CODEX)), json!({ "mcp_servers": { "issues": command } }));
    let gemini = read_json(&desk.read(".gemini/settings.json"));
    assert_eq!(gemini["mcpServers"]["issues"], command);
    let asking = "asks you before it acts: Claude Code, Codex, Gemini CLI";
    let doctor = || desk.run_in(&desk.project(), &["doctor"]).out;
    assert!(doctor().contains(asking), "{}", doctor());
    desk.init_now(&ALL);
    assert!(!doctor().contains("asks you"), "{}", doctor());
    // A later run without permissions takes none away.
    let written = desk.tree();
    desk.init_now(&[&ALL[..], &["--no-permissions"]].concat());
    assert!(desk.tree() == written);
}

#[test]
fn rules_allow_what_the_prompts_name_and_nothing_that_reaches_further() {
    let desk = Desk::new();
    desk.init_now(&["--client", "claude-code"]);
    let rules = rules(&desk);
    let is_allowed = |command: &str| rules.iter().any(|rule| allows(rule, command));
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("agents")).unwrap() {
        let prompt = fs::read_to_string(file.unwrap().path()).unwrap();
        let commands = prompt.split('`').filter(|text| text.starts_with("ait "));
        for command in commands {
            assert!(is_allowed(command), "a prompt names {command}, which is not allowed");
        }
    }
    for command in [
        "ait worktree 3f2a9c1e",
        "ait merge 3f2a9c1e",
        "ait wait",
        "git -C .worktrees/3f2a9c1e add src/store/memory.rs",
        "git -C .worktrees/3f2a9c1e commit -m \"Refuse an ambiguous id prefix\"",
        "git -C .worktrees/3f2a9c1e diff main...HEAD",
        "git -C .worktrees/3f2a9c1e status",
        "git -C .worktrees/3f2a9c1e merge --no-edit main",
    ] {
        assert!(is_allowed(command), "{command}");
    }
    for command in [
        "ait",
        "ait close 3f2a9c1e",
        "ait config",
        "ait doctor --fix",
        "ait init --remove",
        "ait listen",
        "ait restore issues-backup.json",
        "ait token add",
        "git -C . commit -m x",
        "git -C ../other add x",
        "git -C .worktrees/3f2a9c1e push -u origin issue-3f2a9c1e",
        "git -C .worktrees/3f2a9c1e reset --hard",
        "git branch -D issue-3f2a9c1e",
        "git push",
        "git worktree remove .worktrees/3f2a9c1e",
        "rm -rf .worktrees",
        "sh -c ait",
    ] {
        assert!(!is_allowed(command), "{command} is allowed");
    }
}

#[test]
fn codex_may_write_to_git_only_where_the_directory_exists() {
    let roots = |desk: &Desk| -> Value {
        let settings = read_toml(&desk.read(CODEX));
        settings["sandbox_workspace_write"]["writable_roots"].clone()
    };
    let desk = Desk::new();
    desk.init_now(&["--client", "codex"]);
    assert_eq!(roots(&desk), json!(["../.git"]));
    // A linked worktree has a file there.
    let desk = Desk::new();
    fs::remove_dir_all(desk.project().join(".git")).unwrap();
    desk.write(".git", "gitdir: /elsewhere/.git/worktrees/x\n");
    desk.init_now(&["--client", "codex"]);
    assert_eq!(roots(&desk), Value::Null);
    // The project is a directory of the repository.
    let desk = Desk::new();
    fs::rename(desk.project().join(".git"), desk.root.join(".git")).unwrap();
    desk.write("issues.json", "{ \"issues\": [] }\n");
    desk.init_now(&["--client", "codex"]);
    assert_eq!(roots(&desk), json!(["../../.git"]));
}

#[test]
fn lists_of_another_form_are_refused() {
    for (client, file, text, told) in [
        (
            "claude-code",
            SETTINGS,
            "{ \"permissions\": { \"allow\": \"all\" } }",
            "permissions.allow",
        ),
        (
            "claude-code",
            SETTINGS,
            "{ \"permissions\": [] }",
            "\"permissions\" is expected to be an object",
        ),
        ("claude-code", SETTINGS, "{ } // mine\n", "Comments are not allowed"),
        (
            "codex",
            CODEX,
            "[sandbox_workspace_write]\nwritable_roots = \"/tmp\"\n",
            "sandbox_workspace_write.writable_roots",
        ),
    ] {
        let desk = Desk::new();
        desk.write(file, text);
        let before = desk.tree();
        let refused = desk.init(&["--yes", "--client", client]).refusal();
        assert!(refused.contains(file) && refused.contains(told), "{refused}");
        assert!(desk.tree() == before);
    }
}
