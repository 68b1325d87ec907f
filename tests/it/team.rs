//! The team that `ait init` writes, in real coding agents with a scripted model: the programs of `tests/clients/team/`.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::scripts::{folder, run};

/// The issues of the scenario.
const ISSUES: usize = 3;
/// The most MCP calls, and tokens in their arguments and results, that a finished issue may cost all agents together.
const MAX_CALLS: usize = 12;
const MAX_TOKENS: usize = 1_200;

/// Returns a Python, if the coding agents are installed.
fn python() -> Result<PathBuf, &'static str> {
    let installed = folder().join("team/node_modules").is_dir();
    installed.then(|| "python3".into()).ok_or("`npm ci` was not run in tests/clients/team")
}

fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// Runs the team in a client, and checks what a finished issue costs.
fn work_the_queue_off(client: &str) {
    let Some(output) = run(python(), "team/team.py", &[client]) else { return };
    let calls: Vec<Value> = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|call: &Value| call["mcp"] == true)
        .collect();
    let cost = |call: &Value| {
        tokens(&call["arguments"].to_string()) + tokens(call["result"].as_str().unwrap())
    };
    let cost: usize = calls.iter().map(cost).sum();
    let report =
        format!("{client}: {} MCP calls and {cost} tokens for {ISSUES} issues", calls.len());
    eprintln!("{report}");
    assert!(calls.len() <= MAX_CALLS * ISSUES && cost <= MAX_TOKENS * ISSUES, "{report}");
}

/// Runs the team in a client that allows it nothing, which the program has to notice.
fn notice_denied_calls(client: &str) {
    run(python(), "team/team.py", &[client, "--unpermitted"]);
}

#[test]
fn claude_code_works_the_queue_off() {
    work_the_queue_off("claude-code");
    notice_denied_calls("claude-code");
}

#[test]
fn codex_works_the_queue_off() {
    work_the_queue_off("codex");
    notice_denied_calls("codex");
}

#[test]
#[ignore = "takes minutes: `npm i --no-save opencode-ai@1.18.33` in tests/clients/team, then `-- --ignored opencode`"]
fn opencode_works_the_queue_off() {
    work_the_queue_off("opencode");
    notice_denied_calls("opencode");
}
