//! The toolset `admin`: its tools show and write the same as the commands.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::init::Desk;
use crate::support::files::{store_directory, wait_for_file};
use crate::support::http::{Agent, Server};
use crate::support::{Answer, BINARY, Client, TOOLS as DEFAULT_TOOLS};

const TOOLS: [&str; 5] =
    ["init_project", "run_doctor", "configure_hooks", "manage_memory", "get_config"];
const LEAD: &str = "LLLLLLLLllllllll";
const WRITER: &str = "WWWWWWWWwwwwwwww";

/// A desk whose project is a git repository with a commit.
fn desk() -> Desk {
    let desk = Desk::new();
    let path = std::env::var_os("PATH").unwrap();
    let mut programs = std::env::split_paths(&path).map(|directory| directory.join("git"));
    let git = programs.find(|program| program.is_file()).unwrap();
    symlink(git, desk.root.join("bin/git")).unwrap();
    let identity = ["-c", "user.name=t", "-c", "user.email=t@t"];
    for arguments in [&["init", "-q"][..], &["commit", "--allow-empty", "-qm", "start"]] {
        let mut git = Command::new("git");
        // With fixed dates all desks have the same commit.
        git.env("GIT_AUTHOR_DATE", "@1 +0000").env("GIT_COMMITTER_DATE", "@1 +0000");
        let made = git.args(identity).args(arguments).current_dir(desk.project()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    }
    desk
}

/// Starts a server in the project with these arguments, and its client.
fn client_of(desk: &Desk, arguments: &[&str]) -> Client {
    let mut command = desk.command(&desk.project(), arguments);
    let mut client = Client::spawn(command.env("PORT", "0"));
    client.initialize();
    client
}

/// Starts a client with the toolset.
fn admin(desk: &Desk) -> Client {
    client_of(desk, &["--toolsets", "admin"])
}

/// Returns the answer of a tool as JSON.
#[track_caller]
fn report(answer: Answer) -> Value {
    let text = answer.ok();
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

/// Runs a command with `--json`. Returns its output, whatever its exit code.
#[track_caller]
fn command(desk: &Desk, arguments: &[&str]) -> Value {
    let run = desk.run_in(&desk.project(), &[arguments, &["--json"]].concat());
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}{}", run.out, run.log))
}

/// Returns the files of the project by path, without those of the store.
fn files(desk: &Desk) -> BTreeMap<PathBuf, Vec<u8>> {
    let project = desk.project();
    let inside = |(path, bytes): (PathBuf, Option<Vec<u8>>)| {
        let path = path.strip_prefix(&project).ok()?.to_owned();
        Some((path, bytes?))
    };
    let is_of_store = |path: &PathBuf| path.starts_with(".ait") || path.starts_with("issues.json");
    let all = desk.tree().into_iter().filter_map(inside);
    all.filter(|(path, _)| !is_of_store(path)).collect()
}

/// Returns a value as text, with the path of the desk masked.
fn without_root(desk: &Desk, value: &Value) -> String {
    value.to_string().replace(desk.root.to_str().unwrap(), "[ROOT]")
}

#[test]
fn init_project_plans_and_writes_what_the_command_does() {
    let (by_command, by_tool) = (desk(), desk());
    let before = files(&by_tool);
    let mut client = admin(&by_tool);
    let arguments = json!({ "preset": "solo", "client": ["claude-code", "codex"] });
    // Agents give themselves no permissions.
    let clients = ["init", "--client", "claude-code", "--client", "codex"];
    let flags = [&clients[..], &["--preset", "solo", "--no-permissions"]].concat();

    let mut planned = report(client.call("init_project", arguments.clone()));
    let next = planned.as_object_mut().unwrap().remove("next").unwrap();
    assert_eq!(next, json!(["Nothing was written: call init_project again with apply: true"]));
    let expected = command(&by_command, &[&flags[..], &["--dry-run"]].concat());
    assert_eq!(without_root(&by_tool, &planned), without_root(&by_command, &expected));
    assert_eq!(
        (&planned["changes"][0], &planned["written"]),
        (&json!({ "file": ".mcp.json", "what": "new" }), &json!(false))
    );
    assert_eq!(files(&by_tool), before);

    let mut applied = arguments;
    applied["apply"] = json!(true);
    let written = report(client.call("init_project", applied.clone()));
    let expected = command(&by_command, &[&flags[..], &["--yes"]].concat());
    assert_eq!(without_root(&by_tool, &written), without_root(&by_command, &expected));
    assert_eq!(written["written"], true);
    let next = written["next"].to_string();
    assert!(next.contains("restart it") && next.contains("claude --agent developer"), "{next}");
    assert_ne!(files(&by_tool), before);
    assert_eq!(files(&by_tool), files(&by_command));

    let again = report(client.call("init_project", applied));
    assert_eq!((&again["changes"], &again["written"]), (&json!([]), &json!(false)));
    let expected = command(&by_command, &[&flags[..], &["--yes"]].concat());
    assert_eq!(without_root(&by_tool, &again), without_root(&by_command, &expected));
    // By default the tool takes the clients and the preset that the project has already.
    let again = report(client.call("init_project", json!({})));
    assert_eq!(
        (&again["clients"], &again["changes"]),
        (&json!(["claude-code", "codex"]), &json!([]))
    );
}

#[test]
fn init_project_refuses_what_the_command_refuses() {
    let desk = desk();
    let mut client = admin(&desk);
    let mut refusal = |arguments| client.call("init_project", arguments).refusal();
    let none = refusal(json!({ "apply": true }));
    assert!(none.contains("no client was found") && none.contains("claude-code"), "{none}");
    assert!(!none.contains("--client"), "{none}");
    let unknown = refusal(json!({ "client": ["emacs"] }));
    assert!(unknown.contains("\"emacs\"") && unknown.contains("gemini"), "{unknown}");
    let unknown = refusal(json!({ "client": ["codex"], "preset": "trio" }));
    assert!(unknown.contains("\"trio\"") && unknown.contains("\"review-heavy\""), "{unknown}");
    let foreign = r#"{ "mcpServers": { "issues": { "command": "other" } } }"#;
    desk.write(".mcp.json", foreign);
    let other = refusal(json!({ "client": ["claude-code"], "apply": true }));
    assert!(other.contains("another server called \"issues\""), "{other}");
    assert!(other.contains("`ait init`"), "{other}");
    assert_eq!(desk.read(".mcp.json"), foreign);
    assert!(!desk.has("CLAUDE.md"));
}

/// A file size limit simulates a full disk.
#[test]
fn init_project_names_what_it_wrote_before_a_write_error() {
    let desk = desk();
    let mut shell = Command::new("/bin/sh");
    for (name, value) in desk.command(&desk.project(), &[]).get_envs() {
        match value {
            Some(value) => drop(shell.env(name, value)),
            None => drop(shell.env_remove(name)),
        }
    }
    let line = "trap '' XFSZ; ulimit -f 2; exec \"$0\" --toolsets admin";
    shell.args(["-c", line]).arg(BINARY).current_dir(desk.project()).env("PORT", "0");
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = Client::spawn(&mut shell);
    client.initialize();
    let arguments = json!({ "client": ["codex"], "apply": true });
    let id = client.ask_tool("init_project", arguments);
    let result = &client.reply(id).unwrap()["result"];
    assert_eq!(result["_meta"]["ait/error"]["code"], "NOT_SAVED", "{result}");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(".codex/agents/team-lead.toml cannot be written"), "{text}");
    assert!(text.contains("written before that, 2 of ") && text.contains("too large"), "{text}");
}

#[test]
fn run_doctor_reports_and_repairs_as_the_command_does() {
    let desk = desk();
    let mut client = admin(&desk);
    client.add("title", "bug");
    desk.init_now(&["--client", "claude-code"]);
    let outdated = desk.read("CLAUDE.md").replace("## Issues", "## Old issues");
    desk.write("CLAUDE.md", &outdated);
    let temp = store_directory(&desk.project()).join("issues.abcdef01.tmp");
    wait_for_file(&desk.project(), |issues| issues.len() == 1);
    fs::copy(desk.project().join("issues.json"), &temp).unwrap();
    let old = SystemTime::now() - Duration::from_secs(2 * 3_600);
    File::options().write(true).open(&temp).unwrap().set_modified(old).unwrap();

    let examined = report(client.call("run_doctor", json!({})));
    let checks = |report: &Value| -> Vec<(Value, Value)> {
        let findings = report["findings"].as_array().unwrap().iter();
        findings.map(|finding| (finding["check"].clone(), finding["verdict"].clone())).collect()
    };
    assert_eq!(checks(&examined), checks(&command(&desk, &["doctor"])));
    assert_eq!(examined["verdict"], "warning");
    assert_eq!(examined.get("repaired"), None);
    assert_eq!(desk.read("CLAUDE.md"), outdated);

    let fixed = report(client.call("run_doctor", json!({ "fix": true })));
    let repaired = fixed["repaired"].as_array().unwrap();
    assert!(repaired.iter().any(|repaired| repaired["repair"] == "refresh"), "{fixed}");
    assert!(repaired.iter().all(|repaired| repaired["done"] == true), "{fixed}");
    assert_eq!(fixed["verdict"], "ok", "{fixed}");
    assert!(desk.read("CLAUDE.md").contains("\n## Issues"));
    assert!(!temp.exists());
    let copies = files(&desk)
        .into_iter()
        .filter(|(path, _)| path.to_string_lossy().starts_with("CLAUDE.md.before-doctor-"));
    assert_eq!(copies.map(|(_, bytes)| bytes).collect::<Vec<_>>(), [outdated.into_bytes()]);
}

#[test]
fn configure_hooks_installs_and_removes_what_the_command_does() {
    let (by_command, by_tool) = (desk(), desk());
    let before = files(&by_tool);
    let mut client = admin(&by_tool);
    let mut call = |arguments| report(client.call("configure_hooks", arguments));
    let is_same = |report: &Value, expected: &Value| {
        assert_eq!(without_root(&by_tool, report), without_root(&by_command, expected));
    };
    is_same(&call(json!({})), &command(&by_command, &["hooks", "status"]));
    for (action, state) in [("install", "installed"), ("remove", "missing")] {
        let unchanged = files(&by_tool);
        let mut planned = call(json!({ "action": action }));
        let next = planned.as_object_mut().unwrap().remove("next").unwrap();
        assert!(next[0].as_str().unwrap().contains("call configure_hooks again with apply"));
        is_same(&planned, &command(&by_command, &["hooks", action, "--dry-run"]));
        assert_eq!(files(&by_tool), unchanged);

        let written = call(json!({ "action": action, "apply": true }));
        is_same(&written, &command(&by_command, &["hooks", action]));
        assert_eq!((&written["written"], written.get("next")), (&json!(true), None));
        let status = call(json!({ "action": "status" }));
        is_same(&status, &command(&by_command, &["hooks", "status"]));
        assert_eq!(status["hooks"][0]["state"], state);
        assert_ne!(files(&by_tool), unchanged);
    }
    assert_eq!(files(&by_tool), before);
    let wrong = client.call("configure_hooks", json!({ "apply": true })).refusal();
    assert!(wrong.contains("install and remove"), "{wrong}");
}

#[test]
fn configure_hooks_refuses_a_store_the_hooks_cannot_find() {
    let desk = desk();
    let install = json!({ "action": "install", "apply": true });
    let mut client = client_of(&desk, &["--toolsets", "admin", "--file", "../elsewhere.json"]);
    let refusal = client.call("configure_hooks", install.clone()).refusal();
    assert!(refusal.contains("elsewhere.json") && refusal.contains("--file"), "{refusal}");
    assert!(!desk.has(".git/hooks/post-merge"));
    // `--file` may name the store that the hooks find without it.
    let mut client = client_of(&desk, &["--toolsets", "admin", "--file", "issues.json"]);
    assert_eq!(report(client.call("configure_hooks", install))["written"], true);
    assert!(desk.has(".git/hooks/post-merge"));
    // Outside a repository there are no hooks.
    fs::rename(desk.project().join(".git"), desk.root.join("git")).unwrap();
    let refusal = client.call("configure_hooks", json!({})).refusal();
    assert!(refusal.contains("no repository here") && refusal.contains("git init"), "{refusal}");
}

#[test]
fn manage_memory_shows_sections_and_brings_them_up_to_date() {
    let desk = desk();
    let mut client = admin(&desk);
    let mut call = |arguments| report(client.call("manage_memory", arguments));
    let absent = call(json!({ "action": "read" }));
    assert_eq!(absent["sections"][1], json!({ "file": "CLAUDE.md", "state": "absent" }));
    assert!(absent["notes"][0].as_str().unwrap().contains("init_project writes it"), "{absent}");
    let nothing = call(json!({ "action": "update", "apply": true }));
    assert_eq!((&nothing["changes"], &nothing["written"]), (&json!([]), &json!(false)));
    assert!(nothing["notes"][0].as_str().unwrap().contains("init_project"), "{nothing}");

    desk.write("CLAUDE.md", "# Ours\n");
    desk.init_now(&["--client", "claude-code", "--client", "codex", "--preset", "solo"]);
    let current = files(&desk);
    let read = call(json!({ "action": "read", "file": "CLAUDE.md" }));
    let section = &read["sections"][0];
    assert_eq!(
        (&section["state"], read["sections"].as_array().unwrap().len()),
        (&json!("current"), 1)
    );
    assert!(desk.read("CLAUDE.md").contains(section["text"].as_str().unwrap()));

    for file in ["CLAUDE.md", "AGENTS.md"] {
        desk.write(file, &desk.read(file).replace("## Issues", "## Old issues"));
    }
    let edited = files(&desk);
    let read = call(json!({ "action": "read" }));
    let states: Vec<_> = read["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|section| section["state"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["outdated", "outdated", "absent"]);
    assert!(read["sections"][0]["text"].as_str().unwrap().starts_with("## Old issues"));
    assert_eq!(read.get("notes"), None);

    let planned = call(json!({ "action": "update", "file": "CLAUDE.md" }));
    assert_eq!(planned["changes"], json!([{ "file": "CLAUDE.md", "what": "changed" }]));
    assert_eq!((&planned["written"], &planned["text"]), (&json!(false), &section["text"]));
    assert!(planned["next"][0].as_str().unwrap().contains("manage_memory"), "{planned}");
    assert_eq!(files(&desk), edited);

    let written = call(json!({ "action": "update", "file": "CLAUDE.md", "apply": true }));
    assert_eq!(written["written"], true);
    assert!(desk.read("AGENTS.md").contains("Old issues"));
    call(json!({ "action": "update", "apply": true }));
    assert_eq!(files(&desk), current);
    let wrong = client.call("manage_memory", json!({ "action": "read", "apply": true })).refusal();
    assert!(wrong.contains("update"), "{wrong}");
    let wrong = client.call("manage_memory", json!({ "action": "read", "file": "x.md" })).refusal();
    assert!(wrong.contains("\"CLAUDE.md\"") && wrong.contains("x.md"), "{wrong}");
}

#[test]
fn get_config_answers_with_all_settings_and_sources() {
    let desk = desk();
    let mut client = admin(&desk);
    let resource = client.request("resources/read", json!({ "uri": "tracker://config" }));
    let resource = resource["contents"][0]["text"].as_str().unwrap();
    assert_eq!(client.call("get_config", json!({})).ok(), resource);
    assert_eq!(client.call("get_config", json!({ "format": "yaml" })).ok(), resource);
    let config = report(client.call("get_config", json!({ "format": "json" })));
    assert_eq!(config["version"], env!("CARGO_PKG_VERSION"));
    let mut settings = desk.command(&desk.project(), &["--toolsets", "admin", "config", "--json"]);
    let settings = settings.env("PORT", "0").output().unwrap().stdout;
    let settings: Vec<Value> = serde_json::from_slice(&settings).unwrap();
    assert_eq!(config["settings"].as_object().unwrap().len(), settings.len());
    for setting in settings {
        let expected = json!({ "value": setting["value"], "source": setting["source"] });
        assert_eq!(config["settings"][setting["name"].as_str().unwrap()], expected);
    }
    // A document beyond the reply limit is cut and stays valid JSON.
    let hosts: Vec<_> = (0..2_000).map(|number| format!("\"host{number}.example\"")).collect();
    let limit = "max-reply-tokens = 1000";
    desk.write("ait.toml", &format!("{limit}\nallow-host = [{}]\n", hosts.join(", ")));
    for format in ["yaml", "json"] {
        let text = admin(&desk).call("get_config", json!({ "format": format })).ok();
        let cut: Value = serde_json::from_str(&text).unwrap();
        assert!(text.len() < 4_000 && cut["left_out"].is_string(), "{text}");
        assert_eq!(cut["settings"]["max-reply-tokens"]["value"], "1000");
    }
}

#[test]
fn admin_tool_replies_use_the_tool_prefix() {
    let desk = desk();
    let mut client = client_of(&desk, &["--toolsets", "admin", "--tool-prefix", "team_"]);
    let planned = report(client.call("team_init_project", json!({ "client": ["codex"] })));
    assert!(planned["next"][0].as_str().unwrap().contains("team_init_project"), "{planned}");
    let read = report(client.call("team_manage_memory", json!({ "action": "read" })));
    assert!(read["notes"][0].as_str().unwrap().contains(" team_init_project"), "{read}");
}

#[test]
fn admin_tools_are_absent_without_their_toolset() {
    let desk = desk();
    let mut client = client_of(&desk, &[]);
    let list = client.request("tools/list", json!({}));
    for tool in TOOLS {
        assert!(!list.to_string().contains(tool), "{list}");
        let error = client.request("tools/call", json!({ "name": tool, "arguments": {} }));
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(tool) && message.contains("toolset admin"), "{message}");
    }
}

#[test]
fn admin_tools_over_http_require_a_lead_token() {
    let desk = desk();
    let tokens = desk.root.join("tokens");
    fs::write(&tokens, format!("ann lead {LEAD}\nadam read-write {WRITER}\n")).unwrap();
    let mut command =
        desk.command(&desk.project(), &["serve", "--toolsets", "admin", "--port", "0"]);
    command.env("AIT_TOKEN_FILE", tokens);
    let server = Server::spawn(command, &desk.project());
    let mut lead = Agent::authorized(server.port, &format!("Bearer {LEAD}"));
    let mut writer = Agent::authorized(server.port, &format!("Bearer {WRITER}"));
    for agent in [&mut lead, &mut writer] {
        agent.begin();
    }
    let tools = |agent: &mut Agent| -> Vec<String> {
        let list = agent.request("tools/list", json!({})).json();
        let tools = list["result"]["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(tools(&mut writer), DEFAULT_TOOLS);
    assert_eq!(tools(&mut lead), [DEFAULT_TOOLS, &TOOLS].concat());
    let arguments = json!({ "client": ["codex"], "apply": true });
    let params = json!({ "name": "init_project", "arguments": arguments });
    let error = writer.request("tools/call", params).json()["error"]["message"].to_string();
    assert!(error.contains("toolset admin"), "{error}");
    assert!(!desk.has("AGENTS.md"));
    assert_eq!(report(lead.call("init_project", arguments))["written"], true);
    assert!(desk.has("AGENTS.md"));
}
