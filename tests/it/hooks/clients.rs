//! Client hooks: the entries in the client's settings file, and the output and effect of each hook.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::Timestamp;
use agent_issue_tracker::processes::{ProcessEntry, ProcessKind, Registration, Registry};
use serde_json::{Value, json};

use super::Desk;
use crate::support::http::Server;
use crate::support::runs::Run;
use crate::support::{get, until};

const SETTINGS: &str = ".claude/settings.json";

impl Desk {
    /// Calls a hook as a client does.
    pub fn hook(&self, event: &str, agent: &str, more: Value) -> Run {
        let mut input = json!({ "session_id": "s", "cwd": self.project(), "transcript_path": "t" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.hook_with(event, agent, &input.to_string())
    }

    /// Calls a hook with these arguments after `ait hook` and this input.
    fn hook_with(&self, event: &str, agent: &str, input: &str) -> Run {
        let words: Vec<_> = ["hook"].into_iter().chain(event.split(' ')).collect();
        let mut command = self.command("ait", &self.root, &words);
        let mut child = command.env("AIT_AGENT", agent).stdin(Stdio::piped()).spawn().unwrap();
        let written = child.stdin.take().unwrap().write_all(input.as_bytes());
        // A hook without output may end before it reads.
        assert!(written.map_or_else(|error| error.kind() == ErrorKind::BrokenPipe, |()| true));
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Run {
            code: output.status.code().unwrap(),
            out: text(output.stdout),
            log: text(output.stderr),
        }
    }

    /// Returns the output of a hook. Repeats the call on a machine too busy to answer in time.
    pub fn output(&self, event: &str, agent: &str, more: &Value) -> Value {
        let mut output = Value::Null;
        until("the hook answers in time", || {
            let run = self.hook(event, agent, more.clone());
            assert_eq!(run.code, 0, "{run:?}");
            output = serde_json::from_str(&run.out).unwrap_or_default();
            !run.log.contains("too long")
        });
        output
    }

    fn settings(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.project().join(SETTINGS)).unwrap()).unwrap()
    }

    fn client_states(&self) -> (Vec<String>, i32) {
        let run = self.ait(&["hooks", "status", "--client", "claude-code", "--json"]);
        let report: Value = serde_json::from_str(&run.out).unwrap();
        let states = report["hooks"].as_array().unwrap().iter();
        (states.map(|hook| hook["state"].as_str().unwrap().to_owned()).collect(), run.code)
    }

    fn doctor(&self) -> Value {
        let report: Value = serde_json::from_str(&self.ait(&["doctor", "--json"]).out).unwrap();
        let mut findings = report["findings"].as_array().unwrap().iter();
        findings.find(|finding| finding["check"] == "client_hooks").unwrap().clone()
    }
}

fn installed(desk: &Desk) -> Run {
    desk.ait(&["hooks", "install", "--client", "claude-code"])
}

#[test]
fn install_merges_client_hooks_and_remove_restores_the_file() {
    let desk = Desk::new();
    let own = "{\n  \"model\": \"m\",\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ { \"type\": \"command\", \
               \"command\": \"mine\" } ] }\n    ]\n  }\n}\n";
    desk.write(SETTINGS, own);
    assert_eq!(desk.client_states(), (vec!["missing".to_owned(); 6], 1));
    assert_eq!(desk.doctor()["verdict"], "skipped");
    let dry = ["hooks", "install", "--client", "claude-code", "--dry-run"];
    assert!(desk.ait(&dry).ok().contains("nothing was written"));
    assert_eq!(fs::read_to_string(desk.project().join(SETTINGS)).unwrap(), own);
    assert!(installed(&desk).ok().contains(".claude/settings.json (changed)"));
    let settings = desk.settings();
    assert_eq!(settings["hooks"]["Stop"][0]["hooks"][0]["command"], "mine");
    for (client, event, at) in [
        ("SessionStart", "session-start", 0),
        ("Stop", "stop", 1),
        ("SubagentStop", "subagent-stop", 0),
        ("StopFailure", "subagent-failure", 0),
        ("SessionEnd", "session-end", 0),
    ] {
        let command = format!("ait hook {event} || true");
        let group = json!({ "hooks": [{ "type": "command", "command": command }] });
        assert_eq!(settings["hooks"][client][at], group, "{settings}");
    }
    let kill = &settings["hooks"]["PostToolUse"][0];
    assert_eq!(kill["matcher"], "TaskStop", "{settings}");
    assert_eq!(kill["hooks"][0]["command"], "ait hook subagent-kill || true", "{settings}");
    assert_eq!(desk.client_states(), (vec!["installed".to_owned(); 6], 0));
    assert_eq!(desk.doctor()["verdict"], "ok");
    assert!(installed(&desk).ok().contains("nothing to do"));
    let all = desk.ait(&["hooks", "status"]).out;
    assert!(all.contains("SessionEnd          installed"), "{all}");
    desk.ait(&["hooks", "remove", "--client", "claude-code"]).ok();
    assert_eq!(fs::read_to_string(desk.project().join(SETTINGS)).unwrap(), own);
}

#[test]
fn outdated_hooks_are_replaced_and_created_files_deleted() {
    let desk = Desk::new();
    installed(&desk).ok();
    let ours = fs::read_to_string(desk.project().join(SETTINGS)).unwrap();
    desk.write(SETTINGS, &ours.replace("\"ait hook stop", "\"/old/ait hook stop"));
    let states = ["installed", "outdated", "installed", "installed", "installed", "installed"];
    assert_eq!(desk.client_states().0, states);
    let doctor = desk.doctor();
    assert_eq!(
        (&doctor["verdict"], &doctor["details"][0]),
        (&json!("warning"), &json!("Stop starts another program"))
    );
    installed(&desk).ok();
    assert_eq!(desk.settings()["hooks"]["Stop"].as_array().unwrap().len(), 1);
    assert_eq!(desk.client_states().1, 0);
    desk.ait(&["hooks", "remove", "--client", "claude-code"]).ok();
    assert!(!desk.project().join(".claude").exists());
    for (text, expected) in [("{ \"hooks\": [] }", "expected to be an object"), ("{", "line 1")] {
        desk.write(SETTINGS, text);
        let refused = installed(&desk).refusal();
        assert!(refused.contains(expected) && refused.contains("nothing was written"), "{refused}");
    }
}

/// Returns further clients with their settings file, its former contents, and the expected hooks.
fn other_clients() -> [(&'static str, &'static str, &'static str, Value); 4] {
    let command = |command: &str| json!({ "type": "command", "command": command });
    let group = |text: &str| json!({ "hooks": [command(text)] });
    [
        (
            "gemini",
            ".gemini/settings.json",
            "// mine\n{\n  \"hooks\": {\n    \"AfterAgent\": [\n      { \"hooks\": [ { \"type\": \"command\", \"command\": \"x\" } ] }\n    ]\n  }\n}\n",
            json!({
                "SessionStart": [group("ait hook session-start || true")],
                "AfterAgent": [group("x"), group("ait hook stop || true")],
                "SessionEnd": [group("ait hook session-end || true")],
            }),
        ),
        (
            "codex",
            ".codex/hooks.json",
            "",
            json!({
                "SessionStart": [group("ait hook session-start || true")],
                "Stop": [group("ait hook stop || true")],
                "SubagentStop": [group("ait hook subagent-stop || true")],
                "SessionEnd": [group("ait hook session-end || true")],
            }),
        ),
        (
            "cursor",
            ".cursor/hooks.json",
            "",
            json!({
                "sessionStart": [{ "command": "ait hook session-start --client cursor || true" }],
                "stop": [{ "command": "ait hook stop --client cursor || true" }],
                "sessionEnd": [{ "command": "ait hook session-end --client cursor || true" }],
            }),
        ),
        (
            "vscode",
            ".github/hooks/ait.json",
            "",
            json!({
                "SessionStart": [command("ait hook session-start --client vscode || true")],
                "Stop": [command("ait hook stop --client vscode || true")],
            }),
        ),
    ]
}

#[test]
fn hooks_of_every_client_are_merged_and_removed() {
    let desk = Desk::new();
    for (client, file, own, expected) in other_clients() {
        if !own.is_empty() {
            desk.write(file, own);
        }
        let hooks = |action: &str| desk.ait(&["hooks", action, "--client", client]);
        assert_eq!(hooks("status").code, 1);
        hooks("install").ok();
        let text = fs::read_to_string(desk.project().join(file)).unwrap();
        let written: Value = serde_json::from_str(text.trim_start_matches("// mine\n")).unwrap();
        assert_eq!(written["hooks"], expected);
        assert_eq!(
            written.get("version"),
            (matches!(client, "cursor" | "vscode")).then_some(&json!(1))
        );
        assert!(hooks("install").ok().contains("nothing to do"));
        assert_eq!(hooks("status").code, 0);
        let (doctor, all) = (desk.doctor(), desk.ait(&["hooks", "status"]).out);
        assert_eq!(
            (&doctor["verdict"], all.contains(file)),
            (&json!("ok"), true),
            "{doctor} {all}"
        );
        // Outdated hooks are replaced.
        desk.write(file, &text.replace("ait hook stop", "/old/ait hook stop"));
        assert_eq!(desk.doctor()["fix"], format!("`ait hooks install --client {client}`"));
        hooks("install").ok();
        assert_eq!(hooks("status").code, 0);
        desk.write(file, &text);
        hooks("remove").ok();
        let left = fs::read_to_string(desk.project().join(file)).unwrap_or_default();
        assert_eq!(left, own);
    }
}

#[test]
fn cursor_gets_its_own_output_format() {
    let desk = Desk::new();
    let id = desk.add("Login fails");
    desk.ait(&["next", "-a", "dev"]).ok();
    let output = |event: &str, more: Value| {
        let mut input = json!({ "conversation_id": "c", "workspace_roots": [desk.project()] });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let mut output = Value::Null;
        until("the hook answers in time", || {
            let run =
                desk.hook_with(&format!("{event} --client cursor"), "dev", &input.to_string());
            assert_eq!(run.code, 0, "{run:?}");
            output = serde_json::from_str(&run.out).unwrap_or_default();
            !run.log.contains("too long")
        });
        output
    };
    let start = output("session-start", json!({}));
    assert!(start["additional_context"].as_str().unwrap().contains(&id), "{start}");
    let stop = output("stop", json!({ "status": "completed", "loop_count": 0 }));
    assert!(stop["followup_message"].as_str().unwrap().contains("still hold"), "{stop}");
    for more in [
        json!({ "status": "completed", "loop_count": 1 }),
        json!({ "status": "aborted", "loop_count": 0 }),
    ] {
        assert_eq!(output("stop", more), Value::Null);
    }
    until("the claim lapses", || {
        output("session-end", json!({ "reason": "user_close" }));
        desk.comments(&id) == ["the session of the agent ended (user_close)"]
    });
}

#[test]
fn one_output_has_the_formats_of_vs_code_and_copilot_cli() {
    let desk = Desk::new();
    let id = desk.add("Login fails");
    desk.ait(&["next", "-a", "dev"]).ok();
    let start = desk.output("session-start --client vscode", "dev", &json!({}));
    let text = &start["additionalContext"];
    assert!(text.as_str().unwrap().contains(&id), "{start}");
    let nested = json!({ "hookEventName": "SessionStart", "additionalContext": text });
    assert_eq!(start["hookSpecificOutput"], nested);
    let stop = desk.output("stop --client vscode", "dev", &json!({ "stop_hook_active": false }));
    let reason = &stop["reason"];
    assert!(reason.as_str().unwrap().contains("still hold"), "{stop}");
    let nested = json!({ "hookEventName": "Stop", "decision": "block", "reason": reason });
    assert_eq!((&stop["decision"], &stop["hookSpecificOutput"]), (&json!("block"), &nested));
    let again = json!({ "stop_hook_active": true });
    assert_eq!(desk.output("stop --client vscode", "dev", &again), Value::Null);
}

#[test]
fn session_start_reports_held_and_waiting_issues() {
    let desk = Desk::new();
    let ids: Vec<_> =
        (0..7).map(|n| desk.add(&format!("{n} {}", "日本 long title ".repeat(9)))).collect();
    for _ in 0..5 {
        desk.ait(&["next", "-a", "dev"]).ok();
    }
    desk.ait(&["complete", &ids[0], "-m", "c", "-a", "dev"]).ok();
    desk.ait(&["ask", &ids[6], "Why?", "-a", "dev"]).ok();
    let output = desk.output("session-start", "dev", &json!({ "source": "startup" }));
    assert_eq!(output["hookSpecificOutput"]["hookEventName"], "SessionStart");
    let text = output["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    let waiting = "issues that wait: 1 for work, 1 for review, 1 for the answer of a person.";
    assert!(text.contains("you are dev and hold ") && text.contains(waiting), "{text}");
    assert!(text.contains(&format!(" The oldest: {} \"5 日本", ids[5])), "{text}");
    assert!(text.contains(&ids[1]) && text.contains("(in_progress), 1 more;"), "{text}");
    let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len();
    assert!(tokens <= 300, "{tokens} tokens: {text}");
    // Without an agent name the output does not mention claims.
    let output = desk.output("session-start", "", &json!({})).to_string();
    assert!(output.contains("1 for work") && !output.contains("hold"), "{output}");
    // An agent without claims sees the claims of others and the number of ended issues.
    desk.ait(&["close", &ids[1], "-m", "c", "-a", "dev"]).ok();
    let output = desk.output("session-start", "other", &json!({})).to_string();
    let held = format!("Held: {} by dev, {} by dev, {} by dev.", ids[2], ids[3], ids[4]);
    assert!(output.contains("hold no issue") && output.contains(&held), "{output}");
    assert!(output.contains("Ended in the last 24 h: 1."), "{output}");
    let tokens = tiktoken_rs::o200k_base_singleton().encode_ordinary(&output).len();
    assert!(tokens <= 300, "{tokens} tokens: {output}");
}

/// Registers a fake server of the project that answers with a store id, until the result is dropped.
fn with_server(desk: &Desk, store_id: &str) -> Registration {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let body = json!({ "storeId": store_id, "greeting": "hello", "reminder": "a server knows" });
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut request) = (stream.unwrap(), [0; 4_096]);
            let read = stream.read(&mut request).unwrap();
            assert!(request[..read].starts_with(b"GET /api/session?agent=dev+1 HTTP/1.1\r\n"));
            // A hook that timed out has closed the connection.
            let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\n{body}");
        }
    });
    let registry = Registry::for_store(&desk.project().join("issues.json"));
    let mut server =
        registry.register(ProcessEntry::new(ProcessKind::Serve, Timestamp::MIN)).unwrap();
    server.serves(port, format!("http://localhost:{port}")).unwrap();
    server
}

#[test]
fn a_hook_asks_a_running_server_of_the_store() {
    let desk = Desk::new();
    let id = desk.add("t");
    desk.ait(&["claim", &id, "-a", "dev 1"]).ok();
    let server = Server::start(&desk.project());
    let session = get(server.port, "/api/session?agent=dev+1").json();
    let own = desk.output("stop", "dev 1", &json!({}));
    assert_eq!(own["reason"], session["reminder"]);
    assert!(session["reminder"].as_str().unwrap().contains(&id), "{session}");
    assert_eq!(get(server.port, "/api/session").json()["reminder"], Value::Null);
    // A server that does not respond does not delay the hook.
    server.signal("STOP");
    assert_eq!(desk.output("stop", "dev 1", &json!({})), own);
    drop(server);
    let store_id = session["storeId"].as_str().unwrap();
    {
        let _server = with_server(&desk, store_id);
        let asks = || desk.output("stop", "dev 1", &json!({}))["reason"] == "a server knows";
        until("the server answers in time", asks);
    }
    // Another project now has the port.
    let _server = with_server(&desk, &store_id.replace(|digit| digit != '0', "0"));
    assert_eq!(desk.output("stop", "dev 1", &json!({})), own);
}

#[test]
fn the_stop_hook_blocks_an_agent_with_a_claim_once() {
    let desk = Desk::new();
    let id = desk.add("Login fails");
    assert_eq!(desk.output("stop", "dev", &json!({})), Value::Null);
    desk.ait(&["next", "-a", "dev"]).ok();
    let output = desk.output("stop", "dev", &json!({ "stop_hook_active": false }));
    assert_eq!(output["decision"], "block");
    let reason = output["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("still hold {id} \"Login fails\" (in_progress)")), "{reason}");
    assert_eq!(desk.output("stop", "dev", &json!({ "stop_hook_active": true })), Value::Null);
    for other in ["other", ""] {
        assert_eq!(desk.output("stop", other, &json!({})), Value::Null);
    }
}

#[test]
fn claims_of_a_subagent_end_when_it_stops_a_second_time() {
    let desk = Desk::new();
    let [mine, others, left] = ["1", "2", "3"].map(|title| desk.add(title));
    let issue = |id: &str| -> Value {
        serde_json::from_str(&desk.ait(&["show", id, "--json"]).ok()).unwrap()
    };
    for (id, agent) in [(&mine, "dev"), (&others, "other"), (&left, "dev")] {
        desk.ait(&["claim", id, "-a", agent]).ok();
    }
    // The subagent claimed the first one and the last one, and handed the last one in. It only saw the other one.
    let line = |tool: &str, agent: &str, id: &str| {
        let answer = json!({ "id": issue(id)["id"], "claim": "claim 1" }).to_string();
        let call = format!("call-{id}");
        let call = json!({ "message": { "content": [
            { "type": "tool_use", "id": call, "name": tool, "input": { "agent": agent } },
            { "type": "tool_result", "tool_use_id": call, "content": [{ "type": "text", "text": answer }] },
        ] } });
        format!("{call}\n")
    };
    let transcript = [
        line("mcp__issues__get_next_issue", "dev", &mine),
        line("mcp__issues__list_issues", "dev", &others),
        line("mcp__issues__get_next_issue", "dev", &left),
    ];
    let path = desk.root.join("agent.jsonl");
    fs::write(&path, transcript.concat()).unwrap();
    desk.ait(&["complete", &left, "-m", "c", "-a", "dev"]).ok();
    let stop = |is_second: bool| {
        desk.output(
            "subagent-stop",
            "",
            &json!({ "agent_transcript_path": path, "stop_hook_active": is_second }),
        )
    };
    let output = stop(false);
    let reason = output["reason"].as_str().unwrap();
    assert!(output["decision"] == "block" && reason.contains(&format!("hold {mine}")), "{reason}");
    assert!(!reason.contains(&others) && !reason.contains(&left), "{reason}");
    assert_eq!(issue(&mine)["status"], "in_progress");
    assert_eq!(stop(true), Value::Null);
    let statuses = [&mine, &others, &left].map(|id| issue(id)["status"].clone());
    assert_eq!(statuses, ["created", "in_progress", "completed"]);
    assert_eq!(desk.comments(&mine), ["the subagent ended without handing in"]);
    // A later claim of the same issue is of another agent.
    desk.ait(&["claim", &mine, "-a", "dev"]).ok();
    assert_eq!(stop(true), Value::Null);
    assert_eq!(issue(&mine)["status"], "in_progress");
}

#[test]
fn claims_of_a_subagent_end_at_once_when_its_model_fails_or_the_lead_ends_it() {
    let desk = Desk::new();
    let id = desk.add("t");
    let issue =
        || -> Value { serde_json::from_str(&desk.ait(&["show", &id, "--json"]).ok()).unwrap() };
    let session = desk.root.join("session.jsonl");
    let subagents = desk.root.join("session/subagents");
    fs::create_dir_all(&subagents).unwrap();
    let claim = || {
        desk.ait(&["claim", &id, "-a", "dev"]).ok();
        let answer = json!({ "id": issue()["id"], "claim": issue()["claim"] }).to_string();
        let call = json!([
            { "type": "tool_use", "id": "c", "name": "get_next_issue", "input": { "agent": "dev" } },
            { "type": "tool_result", "tool_use_id": "c", "content": [{ "type": "text", "text": answer }] },
        ]);
        fs::write(subagents.join("agent-a1.jsonl"), call.to_string()).unwrap();
    };
    let hook = |event: &str, mut input: Value| {
        input["transcript_path"] = json!(session);
        assert_eq!(desk.output(event, "", &input), Value::Null);
        issue()["status"] == "created"
    };
    claim();
    // Another subagent failed, the lead itself failed, and the lead ended a command.
    assert!(!hook("subagent-failure", json!({ "agent_id": "b2" })));
    assert!(!hook("subagent-failure", json!({})));
    assert!(!hook("subagent-kill", json!({ "tool_input": { "task_id": "b2" } })));
    assert!(!hook(
        "subagent-kill",
        json!({ "tool_input": { "task_id": "../subagents/agent-a1" } })
    ));
    assert!(hook("subagent-failure", json!({ "agent_id": "a1" })));
    claim();
    assert!(hook("subagent-kill", json!({ "agent_id": "b2", "tool_input": { "task_id": "a1" } })));
}

#[test]
fn claims_lapse_at_the_end_of_the_session() {
    let desk = Desk::new();
    let [mine, reviewed, others] = ["1", "2", "3"].map(|title| desk.add(title));
    desk.ait(&["claim", &mine, "-a", "dev"]).ok();
    desk.ait(&["complete", &reviewed, "-m", "c", "-a", "x"]).ok();
    desk.ait(&["review", "-a", "dev"]).ok();
    desk.ait(&["claim", &others, "-a", "other"]).ok();
    let status = |id: &str| -> String {
        let issue: Value = serde_json::from_str(&desk.ait(&["show", id, "--json"]).ok()).unwrap();
        issue["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(desk.hook("session-end", "", json!({ "reason": "other" })).ok(), "");
    assert_eq!(status(&mine), "in_progress");
    until("the claims lapse", || {
        desk.hook("session-end", "dev", json!({ "reason": "prompt_input_exit" })).ok();
        status(&mine) == "created" && status(&reviewed) == "completed"
    });
    assert_eq!(status(&others), "in_progress");
    let expected = ["the session of the agent ended (prompt_input_exit)"];
    assert_eq!(desk.comments(&mine), expected);
}

#[test]
fn client_hooks_never_fail_or_print_errors() {
    let desk = Desk::new();
    let nothing = |run: Run| {
        assert_eq!((run.code, &*run.out), (0, ""), "{run:?}");
    };
    // Without a store, the hooks create none.
    for event in ["session-start", "stop", "subagent-stop", "session-end", "of-another-version"] {
        nothing(desk.hook(event, "dev", json!({})));
    }
    assert!(!desk.project().join("issues.json").exists());
    let id = desk.add("t");
    desk.ait(&["claim", &id, "-a", "dev"]).ok();
    nothing(desk.hook_with("stop", "dev", "no JSON"));
    nothing(desk.hook("stop", &"x".repeat(201), json!({})));
    desk.write("ait.toml", "prot = 1\n");
    nothing(desk.hook("stop", "dev", json!({})));
    fs::remove_file(desk.project().join("ait.toml")).unwrap();
    nothing(desk.hook("subagent-stop", "", json!({})));
    nothing(desk.hook("subagent-stop", "", json!({ "agent_transcript_path": "/not/there" })));
    // This client never closes stdin.
    let mut command = desk.command("ait", &desk.project(), &["hook", "stop"]);
    let begun = Instant::now();
    let mut child = command.env("AIT_AGENT", "dev").stdin(Stdio::piped()).spawn().unwrap();
    let open = child.stdin.take();
    assert!(child.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    drop(open);
}
