//! What the work on an issue used, as the transcripts of agents tell.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::Desk;
use crate::support::http::Server;
use crate::support::{get, until};

/// A transcript of one agent: a claim, and then a message that used this many tokens.
fn transcript(desk: &Desk, name: &str, issue: &Value, tokens: u64) -> Value {
    let answer = json!({ "id": issue["id"], "claim": issue["claim"] }).to_string();
    let call = json!({ "message": { "content": [
        { "type": "tool_use", "id": "c", "name": "mcp__issues__get_next_issue", "input": { "agent": "dev" } },
        { "type": "tool_result", "tool_use_id": "c", "content": [{ "type": "text", "text": answer }] },
    ] } });
    let message = json!({ "timestamp": "2026-01-31T09:31:40.000Z", "message": {
        "id": "m", "model": "claude-opus-4-20260101",
        "usage": { "input_tokens": tokens, "cache_read_input_tokens": tokens, "output_tokens": 1_000 },
    } });
    let path = desk.root.join(name);
    fs::write(&path, format!("{call}\n{message}\n")).unwrap();
    json!({ "agent_transcript_path": path, "stop_hook_active": true })
}

fn issue(desk: &Desk, id: &str) -> Value {
    serde_json::from_str(&desk.ait(&["show", id, "--json"]).ok()).unwrap()
}

#[test]
fn the_end_of_a_subagent_records_what_its_claims_used_once() {
    let desk = Desk::new();
    let id = desk.add("t");
    desk.write("ait.toml", "prices = [\"claude=1/1/1\", \"claude-opus=10/1/50\"]\n");
    desk.ait(&["claim", &id, "-a", "dev"]).ok();
    let claimed = issue(&desk, &id);
    let input = transcript(&desk, "a.jsonl", &claimed, 10_000);
    desk.ait(&["complete", &id, "-m", "c", "-a", "dev"]).ok();
    for _ in 0..2 {
        assert_eq!(desk.output("subagent-stop", "", &input), Value::Null);
    }
    let found = issue(&desk, &id);
    assert_eq!(found["status"], "completed");
    let last = found["history"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["action"], &last["agent"]), (&json!("Usage recorded"), &json!("dev")));
    let expected = json!({
        "claim": 1, "model": "claude-opus-4-20260101", "input": 20_000, "cached": 10_000, "output": 1_000,
        "turns": 1, "seconds": 0, "micros": 160_000,
    });
    assert_eq!(last["usage"], expected);
    // The agent went on. What is recorded is not counted again.
    let input = transcript(&desk, "a.jsonl", &claimed, 15_000);
    assert_eq!(desk.output("subagent-stop", "", &input), Value::Null);
    let found = issue(&desk, &id);
    let last = &found["history"].as_array().unwrap().last().unwrap()["usage"];
    assert_eq!((&last["input"], &last["output"]), (&json!(10_000), &json!(0)));
    let shown = desk.ait(&["show", &id]).ok();
    let line =
        "used: 30k tokens in (15k cached), 1.0k out, 1 turn, cost 0.21 (claude-opus-4-20260101)";
    assert!(shown.contains(line), "{shown}");
    assert!(desk.ait(&["log", "-k", "used"]).ok().contains("used"));
}

#[test]
fn an_issue_over_its_budget_is_parked_before_the_next_attempt() {
    for (budget, is_parked) in [("10k tokens", true), ("1M tokens", false), ("0.05 USD", true)] {
        let desk = Desk::new();
        let id = desk.add("t");
        desk.write("ait.toml", &format!("prices = [\"claude=1/1/50\"]\nbudget = \"{budget}\"\n"));
        desk.ait(&["claim", &id, "-a", "dev"]).ok();
        let input = transcript(&desk, "a.jsonl", &issue(&desk, &id), 10_000);
        assert_eq!(desk.output("subagent-stop", "", &input), Value::Null);
        let found = issue(&desk, &id);
        assert_eq!(found["status"], "created", "{budget}");
        let reason = found["parked"]["reason"].as_str().unwrap_or_default();
        assert_eq!(
            reason.contains("budget") && reason.contains("20k tokens"),
            is_parked,
            "{found}"
        );
    }
}

#[test]
fn the_budget_of_an_issue_comes_before_that_of_the_project() {
    for (own, of_project, is_parked) in [
        ("10k tokens", "1M tokens", true),
        ("1M tokens", "10k tokens", false),
        ("10k tokens", "", true),
    ] {
        let desk = Desk::new();
        let id = desk.add("t");
        let setting = if of_project.is_empty() {
            String::new()
        } else {
            format!("budget = \"{of_project}\"\n")
        };
        desk.write("ait.toml", &setting);
        desk.ait(&["edit", &id, "--budget", own]).ok();
        desk.ait(&["claim", &id, "-a", "dev"]).ok();
        let input = transcript(&desk, "a.jsonl", &issue(&desk, &id), 10_000);
        assert_eq!(desk.output("subagent-stop", "", &input), Value::Null);
        let found = issue(&desk, &id);
        assert_eq!(found["parked"].is_object(), is_parked, "{own} {of_project}: {found}");
    }
}

#[test]
fn the_end_of_a_session_records_what_its_agent_used() {
    let desk = Desk::new();
    let id = desk.add("t");
    desk.ait(&["claim", &id, "-a", "dev"]).ok();
    let transcript =
        transcript(&desk, "s.jsonl", &issue(&desk, &id), 10)["agent_transcript_path"].clone();
    desk.output("session-end", "dev", &json!({ "transcript_path": transcript }));
    let found = issue(&desk, &id);
    let actions: Vec<_> =
        found["history"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
    assert_eq!(actions[2..], ["Claim lapsed", "Usage recorded"]);
}

/// A transcript of Gemini CLI: a claim in a message that was written twice, and a message after it.
fn of_gemini(issue: &Value, agent: &str) -> String {
    let answer = json!({ "id": issue["id"], "claim": issue["claim"] });
    let output = format!("<untrusted_context>\n{answer}\n</untrusted_context>");
    let name = "mcp_issues_get_next_issue";
    let response = json!({ "id": "c", "name": name, "response": { "output": output } });
    let call = json!({
        "id": "c", "name": name, "args": { "agent": agent }, "status": "success",
        "result": [{ "functionResponse": response }],
    });
    let message = |id: &str, second: u64, calls: Value| {
        json!({
            "id": id, "timestamp": format!("2026-01-31T09:30:0{second}.000Z"), "type": "gemini",
            "content": "", "thoughts": [], "model": "gemini-2.5-pro", "toolCalls": calls,
            "tokens": { "input": 100, "output": 7, "cached": 40, "thoughts": 3, "tool": 0, "total": 110 },
        })
    };
    let lines = [
        json!({ "sessionId": "s", "projectHash": "p", "startTime": "2026-01-31T09:30:00.000Z" }),
        message("m1", 1, json!([])),
        message("m1", 1, json!([call])),
        json!({ "$set": { "lastUpdated": "2026-01-31T09:30:01.000Z" } }),
        message("m2", 4, json!([])),
    ];
    lines.map(|line| format!("{line}\n")).concat()
}

#[test]
fn the_end_of_a_session_of_gemini_records_what_it_and_its_subagents_used() {
    let desk = Desk::new();
    let session = "2c62cae7-fdcd-44d8-9b0c-507fc90d19f0";
    let of_session = format!("chats/session-{session}.jsonl");
    let of_subagent = format!("chats/{session}/aa8aeb15.jsonl");
    fs::create_dir_all(desk.root.join("chats").join(session)).unwrap();
    let agents = [("dev", of_session.as_str()), ("dev-2", of_subagent.as_str())];
    let work = agents.map(|(agent, file)| {
        let id = desk.add(&format!("t {agent}"));
        desk.ait(&["claim", &id, "-a", agent]).ok();
        fs::write(desk.root.join(file), of_gemini(&issue(&desk, &id), agent)).unwrap();
        (agent, id)
    });
    let transcript = desk.root.join(&of_session);
    // An id that is no name leads nowhere.
    for id in ["../chats", session, session] {
        desk.output(
            "session-end",
            "dev",
            &json!({ "session_id": id, "transcript_path": transcript }),
        );
    }
    for (agent, id) in work {
        let found = issue(&desk, &id);
        let entries = found["history"].as_array().unwrap();
        let used: Vec<_> = entries.iter().filter(|entry| entry["usage"].is_object()).collect();
        let expected = json!({
            "claim": 1, "model": "gemini-2.5-pro", "input": 200, "cached": 80, "output": 20, "turns": 2, "seconds": 3,
        });
        assert_eq!(used.len(), 1, "{found}");
        assert_eq!((&used[0]["agent"], &used[0]["usage"]), (&json!(agent), &expected));
    }
}

/// A pipe without a writer stands for a transcript that takes too long to read.
#[test]
fn claims_end_with_the_session_whatever_its_transcript_is() {
    let desk = Desk::new();
    let id = desk.add("t");
    let pipe = desk.root.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    until("the claim ends", || {
        desk.ait(&["claim", &id, "-a", "dev"]).ok();
        let run = desk.hook("session-end", "dev", json!({ "transcript_path": pipe }));
        assert_eq!(run.code, 0, "{run:?}");
        issue(&desk, &id)["status"] == "created"
    });
}

/// Claims an issue as an agent, and records what that used.
fn used(desk: &Desk, id: &str, agent: &str, tokens: u64) {
    desk.ait(&["claim", id, "-a", agent]).ok();
    let mut input = transcript(desk, "u.jsonl", &issue(desk, id), tokens);
    let path = desk.root.join("u.jsonl");
    let told = fs::read_to_string(&path).unwrap().replace("\"dev\"", &format!("\"{agent}\""));
    fs::write(&path, told).unwrap();
    input["stop_hook_active"] = json!(true);
    desk.output("subagent-stop", "", &input);
}

#[test]
fn statistics_say_what_the_work_cost() {
    let desk = Desk::new();
    desk.write("ait.toml", "prices = [\"claude=10/10/0\"]\n");
    let whole = desk.add("whole");
    let part = desk.add("part");
    let inner = desk.add("inner");
    desk.ait(&["edit", &part, "--parent", &whole]).ok();
    desk.ait(&["edit", &inner, "--parent", &part]).ok();
    let stats = || -> Value { serde_json::from_str(&desk.ait(&["stats", "--json"]).ok()).unwrap() };
    assert_eq!(stats().get("usage"), None);
    assert!(!desk.ait(&["stats"]).ok().contains("usage"));

    // The first claim lapses with its agent, the second one is completed, and the review closes it.
    used(&desk, &inner, "dev-1", 10_000);
    used(&desk, &inner, "dev-2", 20_000);
    desk.ait(&["claim", &inner, "-a", "dev-2"]).ok();
    desk.ait(&["close", &inner, "-m", "c", "-a", "lead"]).ok();
    let usage = stats()["usage"].take();
    let cost = |usage: &Value| usage["micros"].as_u64().unwrap_or(0);
    assert_eq!(cost(&usage["total"]), 600_000, "{usage}");
    assert_eq!((cost(&usage["closed"]), &usage["closedIssues"]), (600_000, &json!(1)), "{usage}");
    assert_eq!(cost(&usage["byAgent"]["dev-2"]), 400_000, "{usage}");
    assert_eq!(cost(&usage["byModel"]["claude-opus-4-20260101"]), 600_000, "{usage}");
    // Both claims ended without their work: a third one closed the issue.
    assert_eq!(cost(&usage["failed"]), 600_000, "{usage}");
    assert_eq!(usage["buckets"].as_array().unwrap().iter().map(cost).sum::<u64>(), 600_000);
    let shown = desk.ait(&["stats"]).ok();
    assert!(shown.contains("dev-2 ") && shown.contains("cost 0.40"), "{shown}");

    // A claim whose work is handed in has not failed.
    desk.ait(&["claim", &part, "-a", "dev"]).ok();
    let input = transcript(&desk, "a.jsonl", &issue(&desk, &part), 5_000);
    desk.ait(&["complete", &part, "-m", "c", "-a", "dev"]).ok();
    desk.output("subagent-stop", "", &input);
    let usage = stats()["usage"].take();
    assert_eq!((cost(&usage["total"]), cost(&usage["failed"])), (700_000, 600_000), "{usage}");
    // Until it comes back.
    desk.ait(&["return", &part, "-m", "c", "-a", "lead"]).ok();
    assert_eq!(cost(&stats()["usage"]["failed"]), 700_000);

    let shown = desk.ait(&["show", &whole]).ok();
    assert!(shown.contains("used by its parts: 70k tokens in") && shown.contains("cost 0.70"));
    let server = Server::start(&desk.project());
    let page = |path: &str| get(server.port, path).body;
    let issue_page = page(&format!("/issues/{whole}"));
    assert!(issue_page.contains("Used by its parts: 70k tokens in"), "{issue_page}");
    // In the activity it stands in the row of the work that it was used for.
    let activity = page(&format!("/activity?issue={part}"));
    let rows = activity.split("<tr role=\"row\" id=\"e-").skip(1);
    let rows: Vec<_> = rows.filter(|row| row.contains("10k tokens in")).collect();
    assert_eq!(rows.len(), 1, "{activity}");
    assert!(rows[0].contains("completed") && rows[0].contains("claimed"), "{activity}");
    assert!(!activity.contains("> recorded usage<"), "{activity}");
    assert!(page("/activity?kind=used").contains("> recorded usage<"));
    let page = page("/stats");
    assert!(page.contains("id=\"stats-usage\"") && page.contains("dev-2"), "{page}");
    let usage = get(server.port, "/api/stats").json()["usage"].take();
    assert_eq!(cost(&usage["total"]), 700_000, "{usage}");
}

#[test]
fn invalid_prices_and_budgets_are_refused() {
    let desk = Desk::new();
    for (line, problem) in [
        ("prices = [\"opus 1\"]", "is no price"),
        ("prices = [\"opus=1/2\"]", "is no price"),
        ("prices = [\"opus=1/-2/3\"]", "is no price"),
        ("budget = \"2 usd\"", "is no budget"),
        ("budget = \"tokens\"", "is no budget"),
    ] {
        desk.write("ait.toml", &format!("{line}\n"));
        let run = desk.ait(&["list"]);
        assert!(run.code != 0 && run.log.contains(problem), "{line}: {run:?}");
    }
}
