//! Clients that connect by URL: each project pins its own port.

use serde_json::{Value, json};

use super::{Desk, NEW_PROJECT_SETTINGS, read_json, read_toml};
use crate::support::{Log, get, signal, wait};

fn port(text: &str) -> u64 {
    read_toml(text)["port"].as_u64().unwrap()
}

#[test]
fn http_option_writes_the_url_for_each_client() {
    let desk = Desk::new();
    desk.write("ait.toml", "# ours\nport = 3017\n");
    let before = desk.tree();
    let names = ["claude-code", "cursor", "vscode", "codex", "gemini", "zed", "opencode"];
    let arguments: Vec<&str> = names.iter().flat_map(|name| ["--client", name]).collect();
    let arguments = [&arguments[..], &["--http"]].concat();
    desk.init_now(&arguments);
    let url = "http://localhost:3017/mcp";
    let entry_in = |file: &str, servers: &str| {
        let text = desk.read(file);
        let all = if file.ends_with("toml") { read_toml(&text) } else { read_json(&text) };
        all[servers]["issues"].clone()
    };
    let typed = json!({ "type": "http", "url": url });
    let bare = json!({ "url": url });
    for (file, servers, expected) in [
        (".mcp.json", "mcpServers", typed.clone()),
        (".cursor/mcp.json", "mcpServers", bare.clone()),
        (".vscode/mcp.json", "servers", typed),
        (
            ".codex/config.toml",
            "mcp_servers",
            json!({ "url": url, "default_tools_approval_mode": "approve" }),
        ),
        (".gemini/settings.json", "mcpServers", json!({ "httpUrl": url, "trust": true })),
        (".zed/settings.json", "context_servers", bare),
        ("opencode.json", "mcp", json!({ "type": "remote", "url": url })),
    ] {
        assert_eq!(entry_in(file, servers), expected, "{file}");
    }
    let settings = format!("# ours\nport = 3017\n{NEW_PROJECT_SETTINGS}");
    assert_eq!(desk.read("ait.toml"), settings);
    let written = desk.tree();
    assert!(desk.init_now(&arguments).contains("\nnothing to do\n"));
    assert!(desk.tree() == written);
    // Without `--http`, the clients start the server again.
    desk.init_now(&arguments[..arguments.len() - 1]);
    assert_eq!(
        entry_in(".vscode/mcp.json", "servers"),
        json!({ "type": "stdio", "command": "ait" })
    );
    assert_eq!(entry_in(".codex/config.toml", "mcp_servers")["command"], "ait");
    desk.init_now(&["--remove"]);
    assert!(desk.tree() == before, "{:?}", desk.tree().keys());
}

#[test]
fn projects_pin_different_ports_and_serve_uses_them() {
    let desk = Desk::new();
    let empty = desk.tree();
    desk.init_now(&["--client", "cursor", "--http"]);
    let first = port(&desk.read("ait.toml"));
    assert!((3000..=3019).contains(&first));
    assert!(desk.read("ait.toml").ends_with("  # by ait init\n"));
    let other = desk.other();
    desk.run_in(&other, &["init", "--yes", "--client", "cursor", "--http"]).ok();
    let second = port(&std::fs::read_to_string(other.join("ait.toml")).unwrap());
    assert_ne!(first, second);
    assert!(desk.init_now(&["--client", "cursor", "--http"]).contains("\nnothing to do\n"));
    let mut child = desk.command(&desk.project(), &["serve"]).spawn().unwrap();
    let log = Log::of(child.stderr.take().unwrap());
    log.wait_for(&format!("pages: http://localhost:{first}"));
    let entry: Value = read_json(&desk.read(".cursor/mcp.json"));
    assert_eq!(entry["mcpServers"]["issues"]["url"], format!("http://localhost:{first}/mcp"));
    assert_eq!(get(u16::try_from(first).unwrap(), "/health").status, 200);
    signal(&child, "TERM");
    assert!(wait(&mut child).success());
    desk.init_now(&["--remove"]);
    assert!(desk.tree() == empty, "{:?}", desk.tree().keys());
}

#[test]
fn client_without_url_support_starts_the_server() {
    let desk = Desk::new();
    desk.write("ait.toml", "port = 3018\ntoken-file = \"token\"\n");
    desk.write("token", "0123456789abcdef\n");
    let shown = desk.init(&["--dry-run", "--client", "claude-desktop", "--http"]).ok();
    assert!(shown.contains("Claude Desktop takes no URL: it starts ait itself"), "{shown}");
    assert!(shown.contains("\"command\": \"ait\"") && !shown.contains(":3018"), "{shown}");
    assert!(shown.contains("Note: callers need a token"), "{shown}");
}
