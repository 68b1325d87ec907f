//! The setup of the clients of agents, in temporary projects that have their own home directories.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Examined, examine_by};
use crate::init::Desk;
use crate::support::{BINARY, Client, directory};

/// Returns a project with a store, a home directory, and `ait` on the `PATH`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.run_in(&desk.project(), &["add", "one", "-c", "bug", "-a", "a"]).ok();
    desk
}

fn examine(desk: &Desk) -> Examined {
    examine_by(&mut desk.command(&desk.project(), &["doctor", "--json"]))
}

/// Writes a program with this script, which doctor may ask for its version.
fn program(desk: &Desk, name: &str, script: &str) -> PathBuf {
    desk.write(name, &format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n"));
    let path = desk.project().join(name).canonicalize().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Writes this entry for Claude Code in the project.
fn claude(desk: &Desk, entry: &Value) {
    let servers = json!({ "mcpServers": { "issues": entry } });
    desk.write(".mcp.json", &servers.to_string());
}

/// Checks that doctor reports only the check of the clients, with these words.
#[track_caller]
fn reports(desk: &Desk, verdict: &str, words: &[&str]) {
    let examined = examine(desk);
    examined.only(&["clients"]).is("clients", verdict).says("clients", words);
    examined.ends_with(i32::from(verdict == "problem"));
}

#[test]
fn client_entries_written_by_init_pass_the_check() {
    let desk = desk();
    examine(&desk).only(&[]).is("clients", "skipped").is("prompts", "skipped");
    let names =
        ["claude-code", "cursor", "vscode", "codex", "gemini", "zed", "opencode", "claude-desktop"];
    let clients: Vec<_> = names.iter().flat_map(|name| ["--client", name]).collect();
    desk.init_now(&clients);
    let examined = examine(&desk);
    examined.only(&[]).is("clients", "ok").is("prompts", "ok").ends_with(0);
    for title in ["Claude Code (.mcp.json)", "Codex", "opencode (opencode.json)", "Zed"] {
        examined.says("clients", &[title]);
    }
    // Claude Code keeps a user's own entries for one project in another file.
    fs::remove_file(desk.project().join(".mcp.json")).unwrap();
    let mine = json!({ "mcpServers": { "issues": { "command": "ait" } } });
    let mine = json!({ "projects": { desk.project().to_str().unwrap(): mine } });
    desk.write("../home/.claude.json", &mine.to_string());
    examine(&desk).only(&[]).says("clients", &["Claude Code (~/.claude.json)"]);
}

#[test]
fn clients_that_a_person_has_not_allowed_are_reported() {
    let desk = desk();
    let init = || desk.init_now(&["--client", "claude-code", "--client", "codex"]);
    let unknown = "not known whether you allowed it: Claude Code, Codex";
    assert!(init().contains("Codex: restart it, and allow the server if it asks"));
    examine(&desk).only(&[]).is("clients", "ok").says("clients", &[unknown]);
    // Both clients were started, but not in this project.
    let claude = |settings: Value| desk.write("../home/.claude.json", &settings.to_string());
    let codex = |settings: &str| desk.write("../home/.codex/config.toml", settings);
    claude(json!({ "projects": { "/elsewhere": { "hasTrustDialogAccepted": true } } }));
    codex("[projects.\"/elsewhere\"]\ntrust_level = \"trusted\"\n");
    let steps = [
        "Claude Code: trust this project first: start claude here once",
        "Codex: trust this project first: start codex here once and choose",
    ];
    let shown = init();
    assert!(steps.iter().all(|step| shown.contains(step)), "{shown}");
    reports(&desk, "warning", &["2 defects", steps[0], "Codex: trust this project first"]);
    let root = desk.project();
    let root = root.to_str().unwrap();
    // Trust in a directory around the project counts for Claude Code alone.
    let above = desk.root.to_str().unwrap();
    claude(json!({ "projects": { above: { "hasTrustDialogAccepted": true } } }));
    codex(&format!("[projects.{above:?}]\ntrust_level = \"trusted\"\n"));
    reports(&desk, "warning", &["all that Codex (.codex/config.toml) needs", "trust this project"]);
    codex(&format!("[projects.{root:?}]\ntrust_level = \"untrusted\"\n"));
    reports(&desk, "warning", &["all that Codex (.codex/config.toml) needs", "trust this project"]);
    // Codex runs hooks only after the user has seen them.
    let trusted = format!("[projects.{root:?}]\ntrust_level = \"trusted\"\n");
    codex(&trusted);
    reports(&desk, "warning", &["Codex: trust its hooks first: start codex here once"]);
    let hook = format!("{root}/.codex/hooks.json:session_start:0:0");
    codex(&format!("{trusted}\n[hooks.state.{hook:?}]\ntrusted_hash = \"sha256:1\"\n"));
    let examined = examine(&desk);
    examined.only(&[]).is("clients", "ok");
    assert!(!examined.finding("clients").to_string().contains("not known"));
    // The user told Claude Code not to use the server, or was never asked.
    desk.write(".claude/settings.local.json", "{ \"disabledMcpjsonServers\": [\"issues\"] }");
    reports(&desk, "warning", &["Claude Code: it was told not to use the server"]);
    fs::remove_file(desk.project().join(".claude/settings.local.json")).unwrap();
    desk.init_now(&["--remove"]);
    desk.init_now(&["--client", "claude-code", "--no-permissions"]);
    reports(&desk, "warning", &["Claude Code: allow its server first: start claude here once"]);
    desk.write(".claude/settings.local.json", "{ \"enabledMcpjsonServers\": [\"issues\"] }");
    examine(&desk).only(&[]).says("clients", &["asks you before it acts: Claude Code"]);
    // What cannot be read is not known.
    claude(json!([]));
    desk.write("../home/.claude.json", "{ oops");
    examine(&desk).only(&[]).says("clients", &["not known whether you allowed it: Claude Code"]);
}

#[test]
fn codex_needs_ait_in_a_login_shell() {
    let desk = desk();
    let Some(bash) = ["/bin/bash", "/usr/bin/bash"].iter().find(|bash| Path::new(bash).exists())
    else {
        return crate::support::skip("bash is not installed");
    };
    symlink(bash, desk.root.join("bin/bash")).unwrap();
    desk.write("../home/.bash_profile", "PATH=/nowhere\n");
    desk.init_now(&["--client", "claude-code"]);
    examine(&desk).only(&[]);
    desk.init_now(&["--client", "codex"]);
    reports(&desk, "warning", &["Codex runs commands in a login shell", "~/.profile"]);
    desk.write("../home/.bash_profile", &format!("PATH={}\n", desk.root.join("bin").display()));
    examine(&desk).only(&[]).is("clients", "ok");
}

#[test]
fn client_program_missing_or_of_another_version_is_reported() {
    let desk = desk();
    let starts = |program: &Path| claude(&desk, &json!({ "command": program }));
    starts(&desk.root.join("gone/ait"));
    reports(
        &desk,
        "problem",
        &["Claude Code (.mcp.json) starts", "gone/ait, which does not exist"],
    );
    desk.write("../other/ait", "");
    starts(&desk.root.join("other/ait"));
    reports(&desk, "problem", &["may not execute", "chmod +x"]);
    for (says, verdict, words) in [
        ("echo ait 0.9.0", "warning", &["ait 0.9.0, older than this"][..]),
        ("echo ait 99.0.0-rc.1", "warning", &["ait 99.0.0-rc.1, newer", "update this ait"]),
        ("echo hello", "problem", &["does not say its version"]),
        ("sleep 20; echo ait 0.9.0", "problem", &["does not say its version within 1 s"]),
        ("yes | head -c 10000000; exec cat", "problem", &["does not say its version"]),
    ] {
        starts(&program(&desk, "../other/ait", says));
        let begun = Instant::now();
        reports(&desk, verdict, words);
        assert!(begun.elapsed() < Duration::from_secs(5), "{says}: {:?}", begun.elapsed());
    }
    // A name that is not on the PATH, and the path of this program.
    fs::remove_file(desk.root.join("bin/ait")).unwrap();
    starts(Path::new("ait"));
    reports(&desk, "problem", &["which is not on the PATH", "cargo install"]);
    starts(Path::new(BINARY));
    examine(&desk).only(&[]).is("clients", "ok");
    // `--fix` changes no entry that it cannot repair.
    starts(&desk.root.join("gone/ait"));
    let before = desk.read(".mcp.json");
    let mut fix = desk.command(&desk.project(), &["doctor", "--fix", "--json"]);
    examine_by(&mut fix).only(&["clients"]);
    assert_eq!(desk.read(".mcp.json"), before);
}

#[test]
fn foreign_client_programs_are_not_run() {
    let desk = desk();
    let mark = desk.root.join("ran");
    let script = format!("touch {}; echo ait 0.1.0", mark.display());
    program(&desk, "../other/tracker", &script);
    claude(&desk, &json!({ "command": desk.root.join("other/tracker") }));
    reports(&desk, "warning", &["where the prompts expect ait", "rename it"]);
    // Doctor does not run a program of the project, whatever its name.
    program(&desk, "tools/ait", &script);
    for command in ["tools/ait", "./tools/ait", "${workspaceFolder}/tools/ait"] {
        claude(&desk, &json!({ "command": command }));
        examine(&desk).only(&[]).is("clients", "ok");
    }
    // A program that starts the tracker indirectly, and one that only the client can find.
    claude(&desk, &json!({ "command": "docker", "args": ["run", "-i", "agent-issue-tracker"] }));
    examine(&desk).only(&[]);
    claude(&desk, &json!({ "command": "${input:where}/ait" }));
    examine(&desk).only(&[]);
    assert!(!mark.exists());
}

#[test]
fn client_using_another_store_is_reported_with_both_paths() {
    let desk = desk();
    let own = desk.project().join("issues.json");
    for same in [json!(own), json!("issues.json"), json!("./issues.json")] {
        claude(&desk, &json!({ "command": "ait", "args": ["--file", same] }));
        examine(&desk).only(&[]);
    }
    let other = desk.root.join("elsewhere/issues.json");
    desk.write("../elsewhere/issues.json", "{\"issues\": []}");
    let names = [own.to_str().unwrap(), other.to_str().unwrap()];
    for entry in [
        json!({ "command": "ait", "env": { "ISSUES_FILE": other } }),
        json!({ "command": "ait", "args": ["--file", other] }),
        json!({ "command": "ait", "args": [format!("--file={}", other.display())] }),
    ] {
        claude(&desk, &entry);
        reports(&desk, "warning", &names);
    }
    // The suggested command repairs the entry.
    examine(&desk).says("clients", &["`ait init --client claude-code` leads it here"]);
    desk.init_now(&["--client", "claude-code"]);
    examine(&desk).only(&[]).is("clients", "ok");
    // Doctor examines one store, and the clients find another.
    claude(&desk, &json!({ "command": "ait" }));
    let mut command =
        desk.command(&desk.project(), &["--file", other.to_str().unwrap(), "doctor", "--json"]);
    examine_by(&mut command).is("clients", "warning").says("clients", &names);
    // Claude Desktop finds no store by itself.
    if cfg!(target_os = "linux") {
        let file = "../home/.config/Claude/claude_desktop_config.json";
        desk.write(file, "{ \"mcpServers\": { \"issues\": { \"command\": \"ait\" } } }");
        reports(&desk, "warning", &["Claude Desktop", "names no store"]);
    }
}

#[test]
fn client_urls_are_probed_for_the_right_tracker() {
    let desk = desk();
    let at = |url: &str| claude(&desk, &json!({ "type": "http", "url": url }));
    at("http://192.0.2.1:3000/mcp");
    reports(&desk, "warning", &["192.0.2.1", "another machine"]);
    at("http://localhost:3000/sse");
    reports(&desk, "problem", &["ait answers at /mcp"]);
    at("localhost");
    reports(&desk, "problem", &["not a valid URL"]);
    // Another program listens on the port, then none.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    at(&format!("http://localhost:{port}/mcp"));
    let answering = std::thread::spawn(move || {
        use std::io::{Read, Write};

        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 512]);
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nServer: cups\r\n\r\n").unwrap();
    });
    reports(&desk, "problem", &["cups", "answers"]);
    answering.join().unwrap();
    reports(&desk, "warning", &["nothing answers", &format!("ait serve --port {port}")]);
    // The tracker of this store, then the tracker of another store.
    let mut own = Client::spawn(desk.command(&desk.project(), &[]).env("PORT", "0"));
    own.initialize();
    at(&format!("http://127.0.0.1:{}/mcp", own.port()));
    examine(&desk).only(&[]).is("clients", "ok");
    let elsewhere = directory();
    let other = Client::start(elsewhere.path());
    at(&format!("http://localhost:{}/mcp", other.port()));
    reports(&desk, "problem", &["the tracker of another store"]);
    // Another port than the pinned one.
    desk.write("ait.toml", &format!("port = {}\n", own.port()));
    let words = [&format!("has port {}", own.port())[..], "ait.toml, line 1"];
    reports(&desk, "warning", &words);
}

#[test]
fn malformed_and_unreadable_client_entries_are_reported() {
    let desk = desk();
    claude(&desk, &json!({ "url": "http://localhost:3000/mcp" }));
    reports(&desk, "problem", &["Claude Code needs", "type", "ait init --client claude-code"]);
    desk.write(".mcp.json", "{\n  \"mcpServers\": {\n    \"issues\": ait\n");
    reports(&desk, "problem", &[".mcp.json", "line 3, column 15"]);
    // Claude Code and Gemini CLI accept less than others.
    let entry = "\"issues\": { \"command\": \"ait\" }";
    desk.write(".mcp.json", &format!("{{\n  \"mcpServers\": {{ {entry} }} // mine\n}}\n"));
    let words = ["Claude Code reads .mcp.json", "line 2, column 52", "Comments are not allowed"];
    reports(&desk, "problem", &words);
    desk.write(".mcp.json", &format!("{{ \"mcpServers\": {{ {entry}, }} }}\n"));
    reports(&desk, "problem", &[".mcp.json", "line 1, column 49", "Trailing commas"]);
    fs::remove_file(desk.project().join(".mcp.json")).unwrap();
    let gemini = |end: &str| {
        let text = format!("{{ \"mcpServers\": {{ {entry}{end} }} }} // mine\n");
        desk.write(".gemini/settings.json", &text);
    };
    gemini("");
    examine(&desk).only(&[]).is("clients", "ok");
    gemini(",");
    reports(&desk, "problem", &["Gemini CLI reads .gemini/settings.json", "Trailing commas"]);
    fs::remove_dir_all(desk.project().join(".gemini")).unwrap();
    desk.write(
        ".zed/settings.json",
        &format!("{{ \"context_servers\": {{ {entry}, }} }} // mine\n"),
    );
    examine(&desk).only(&[]).is("clients", "ok");
    fs::remove_dir_all(desk.project().join(".zed")).unwrap();
    // Of two entries with one name, clients take the last one.
    let gone = "\"issues\": { \"command\": \"/no/such/ait\" }";
    desk.write(".mcp.json", &format!("{{ \"mcpServers\": {{ {gone}, {entry} }} }}\n"));
    examine(&desk).only(&[]).is("clients", "ok");
    desk.write(".mcp.json", &format!("{{ \"mcpServers\": {{ {entry}, {gone} }} }}\n"));
    reports(&desk, "problem", &["/no/such/ait", "does not exist"]);
    desk.write(
        ".mcp.json",
        &format!("{{ \"mcpServers\": {{ {gone} }}, \"mcpServers\": {{ {entry} }} }}\n"),
    );
    examine(&desk).only(&[]).is("clients", "ok");
    // Doctor ignores an invalid file without an entry for the tracker.
    desk.write(".mcp.json", "{ oops\n");
    examine(&desk).only(&[]);
    desk.write("../home/.codex/config.toml", "[mcp_servers.issues]\ncommand = = 1\n");
    reports(&desk, "problem", &["~/.codex/config.toml", "line 2, column 11"]);
    desk.write("../home/.codex/config.toml", "[mcp_servers.tracker]\ncommand = \"/no/ait\"\n");
    claude(&desk, &json!({ "command": "/no/such/ait" }));
    reports(&desk, "problem", &["2 defects", "/no/ait", "tracker", "/no/such/ait"]);
}
