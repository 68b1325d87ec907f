//! Errors that prevent every write.

use std::process::Stdio;

use serde_json::json;

use super::{Desk, read_json};

#[test]
fn one_unreadable_file_prevents_all_writes() {
    for (name, text, expected) in [
        (
            ".vscode/mcp.json",
            "{\n  \"servers\": {\n    \"a\": oops\n  }\n}\n",
            ".vscode/mcp.json, line 3, column 10: ",
        ),
        (
            ".vscode/mcp.json",
            "[]",
            ".vscode/mcp.json, an object is expected, in braces: correct it",
        ),
        (".codex/config.toml", "a = 1\nb = = 2\n", ".codex/config.toml, line 2, column 5: "),
        (
            "AGENTS.md",
            "<!-- ait init: begin -->\n",
            "AGENTS.md, the lines \"<!-- ait init: begin -->\" and",
        ),
        (".gitignore/x", "", ".gitignore cannot be read"),
    ] {
        let desk = Desk::new();
        desk.write(name, text);
        let before = desk.tree();
        let clients =
            ["--yes", "--client", "claude-code", "--client", "vscode", "--client", "codex"];
        let refused = desk.init(&clients).refusal();
        assert!(refused.contains(expected), "{refused}");
        assert!(refused.contains("nothing was written"), "{refused}");
        assert!(desk.tree() == before, "{name}");
    }
    let desk = Desk::new();
    desk.write("CLAUDE.md", &"x".repeat(5 * 1024 * 1024));
    let refused = desk.init(&["--yes", "--client", "claude-code"]).refusal();
    assert!(
        refused.contains("CLAUDE.md cannot be read (it is longer than 4194304 bytes)"),
        "{refused}"
    );
    std::fs::write(desk.project().join(".mcp.json"), b"{ \"\xff\": 1 }").unwrap();
    let refused = desk.init(&["--yes", "--client", "claude-code"]).refusal();
    assert!(refused.contains(".mcp.json cannot be read (it is not UTF-8)"), "{refused}");
}

#[test]
fn files_are_judged_as_their_client_parses_them() {
    let comment = "{\n  // mine\n}\n";
    let comma = "{\n  \"a\": 1,\n}\n";
    let comments = ", line 2, column 3: Comments are not allowed";
    let commas = ", line 2, column 9: Trailing commas are not allowed";
    for (client, file, text, refusal) in [
        ("claude-code", ".mcp.json", comment, Some(comments)),
        ("claude-code", ".mcp.json", comma, Some(commas)),
        ("gemini", ".gemini/settings.json", comment, None),
        ("gemini", ".gemini/settings.json", comma, Some(commas)),
        ("vscode", ".vscode/mcp.json", comment, None),
        ("vscode", ".vscode/mcp.json", comma, None),
        ("zed", ".zed/settings.json", comma, None),
        ("opencode", "opencode.json", comma, None),
    ] {
        let desk = Desk::new();
        desk.write(file, text);
        let before = desk.tree();
        let run = desk.init(&["--yes", "--client", client]);
        match refusal {
            None => drop(run.ok()),
            Some(words) => {
                let refused = run.refusal();
                assert!(refused.contains(&format!("{file}{words}")), "{refused}");
                assert!(refused.contains("nothing was written"), "{refused}");
                assert!(desk.tree() == before, "{client}");
            }
        }
    }
}

#[test]
fn the_last_of_two_servers_with_one_name_is_updated() {
    let desk = Desk::new();
    let pair = |first: &str, last: &str| {
        let entry = |program| format!("\"issues\": {{ \"command\": \"{program}\" }}");
        format!("{{ \"mcpServers\": {{ {}, {} }} }}\n", entry(first), entry(last))
    };
    desk.write(".mcp.json", &pair("npx", "/old/ait"));
    desk.init_now(&["--client", "claude-code"]);
    // JSON.parse uses the last one too.
    let written: serde_json::Value = serde_json::from_str(&desk.read(".mcp.json")).unwrap();
    assert_eq!(written["mcpServers"]["issues"], json!({ "command": "ait" }));
    assert!(desk.init_now(&["--client", "claude-code"]).contains("\nnothing to do\n"));
    desk.write(".mcp.json", &pair("ait", "npx"));
    assert!(desk.init(&["--yes", "--client", "claude-code"]).refusal().contains("another server"));
}

#[test]
fn foreign_server_of_the_same_name_is_replaced_only_with_force() {
    for entry in [
        "{ \"command\": \"npx\", \"args\": [\"issues\"] }",
        "{ \"type\": \"http\", \"url\": \"https://tracker.example/mcp\" }",
        "\"text\"",
    ] {
        let desk = Desk::new();
        desk.write(".mcp.json", &format!("{{ \"mcpServers\": {{ \"issues\": {entry} }} }}\n"));
        let before = desk.tree();
        let refused = desk.init(&["--yes", "--client", "claude-code"]).refusal();
        for words in
            [".mcp.json has another server called \"issues\"", "rename", "--client", "--force"]
        {
            assert!(refused.contains(words), "{refused}");
        }
        assert!(desk.init_now(&["--remove"]).ends_with("nothing to do\n"));
        assert!(desk.tree() == before);
        desk.init_now(&["--client", "claude-code", "--force"]);
        let written = read_json(&desk.read(".mcp.json"));
        assert_eq!(written["mcpServers"]["issues"], json!({ "command": "ait" }));
        desk.init_now(&["--remove"]);
        assert!(!desk.has(".mcp.json"));
    }
}

#[test]
fn own_server_entry_is_updated() {
    let desk = Desk::new();
    let old = "{ \"mcpServers\": { \"issues\": { \"command\": \"/old/ait\", \"timeout\": 5 }, \"b\": {} } }\n";
    desk.write(".mcp.json", old);
    let shown = desk.init_now(&["--client", "claude-code"]);
    assert!(shown.contains("/old/ait") && shown.contains(".mcp.json (changed)"), "{shown}");
    let entry = json!({ "command": "ait", "timeout": 5 });
    assert_eq!(read_json(&desk.read(".mcp.json"))["mcpServers"]["issues"], entry);
    desk.init_now(&["--remove"]);
    assert_eq!(read_json(&desk.read(".mcp.json")), json!({ "mcpServers": { "b": {} } }));
}

#[test]
fn without_a_terminal_init_needs_yes() {
    let desk = Desk::new();
    let before = desk.tree();
    let run = desk.init(&["--client", "codex"]);
    assert!(run.out.contains(".codex/config.toml (new)"), "{}", run.out);
    let refused = run.refusal();
    assert!(refused.contains("--yes") && refused.contains("nothing was written"), "{refused}");
    let dry = desk.init(&["--client", "codex", "--dry-run"]).ok();
    assert!(dry.ends_with("nothing was written: this was a dry run\n"), "{dry}");
    assert!(desk.init(&["--client", "codex", "--json"]).refusal().contains("--yes"));
    assert!(desk.tree() == before);
    for wrong in
        [&["--remove", "--http"][..], &["--client", "emacs"], &["--remove", "--preset", "solo"]]
    {
        assert_eq!(desk.init(wrong).code, 2, "{wrong:?}");
    }
}

/// A file size limit simulates a full disk.
#[test]
fn a_write_error_names_the_files_that_were_written() {
    let desk = Desk::new();
    let mut shell = std::process::Command::new("/bin/sh");
    let ait = desk.command(&desk.project(), &[]);
    for (name, value) in ait.get_envs() {
        match value {
            Some(value) => drop(shell.env(name, value)),
            None => drop(shell.env_remove(name)),
        }
    }
    let line = "trap '' XFSZ; ulimit -f 2; exec \"$0\" init --yes --client codex";
    shell.args(["-c", line]).arg(crate::support::BINARY).current_dir(desk.project());
    let output = shell.stdin(Stdio::null()).output().unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{log}");
    assert!(log.contains(".codex/agents/team-lead.toml cannot be written"), "{log}");
    assert!(
        log.contains("written before that, 2 of 9: .codex/config.toml, .codex/hooks.json"),
        "{log}"
    );
    assert!(desk.has(".codex/config.toml"));
    let left = std::fs::read_dir(desk.project().join(".codex/agents")).unwrap().count();
    assert_eq!(left, 0, "a partial file is left");
    desk.init_now(&["--client", "codex"]);
    assert!(desk.has(".codex/agents/team-lead.toml"));
}
