//! The cost of tools and replies in tokens of the o200k vocabulary: the limits, and the tables of docs/mcp.md.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::documents::expect_in_file;
use crate::support::{Client, ait, directory};

/// The most that the default `tools/list` may cost.
const MAX_TOKENS: usize = 1_000;
const MAX_BYTES: usize = 4_800;
/// The most that a toolset may add. `planning` has what a lead needs, the digest too.
const MAX_TOOLSET_TOKENS: usize = 870;
/// The most that the tools of a reviewer may cost its model, whatever toolsets the server has.
const MAX_REVIEWER_TOKENS: usize = 650;
/// The default budget of a reply.
const MAX_REPLY_TOKENS: usize = 10_000;

/// What a change can do about a limit.
const TOO_LONG: &str = "shorten descriptions, leave parameters out (ait-mcp/schema.rs does that with fields), or move \
                        them to a toolset; the limits are in tests/it/token_counts.rs";

fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}

/// Returns the answer to `tools/list` of both protocol eras.
fn tool_lists(arguments: &[&str]) -> [Value; 2] {
    tool_lists_in(&directory(), arguments)
}

fn tool_lists_in(directory: &TempDir, arguments: &[&str]) -> [Value; 2] {
    let meta = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    } });
    let mut with_session = Client::spawn(ait(directory.path()).args(arguments));
    with_session.initialize();
    let mut stateless = Client::spawn(ait(directory.path()).args(arguments));
    [with_session.request("tools/list", json!({})), stateless.request("tools/list", meta)]
}

#[test]
fn default_tools_stay_within_their_budget_in_both_eras() {
    for list in tool_lists(&[]) {
        let text = list.to_string();
        let (tokens, bytes) = (tokens(&text), text.len());
        let is_within = tokens <= MAX_TOKENS && bytes <= MAX_BYTES;
        assert!(is_within, "{tokens} tokens, {bytes} bytes: {TOO_LONG}");
    }
}

/// What every worker pays before it reads an issue: its prompt, the tools that it has, the instructions of the server
/// and the section of the project.
#[test]
fn fixed_cost_of_a_worker_is_at_most_2_000_tokens() {
    let directory = directory();
    let project = directory.path();
    assert!(
        ait(project).args(["init", "--yes", "--client", "claude-code"]).status().unwrap().success()
    );
    let section = fs::read_to_string(project.join("CLAUDE.md")).unwrap();
    let mut client = Client::spawn(&mut ait(project));
    let instructions = client.initialize()["instructions"].as_str().unwrap().to_owned();
    let list = client.request("tools/list", json!({}));
    for worker in ["developer", "bug-fixer", "code-reviewer"] {
        let prompt =
            fs::read_to_string(project.join(format!(".claude/agents/{worker}.md"))).unwrap();
        let (matter, body) = prompt.split_once("\n---\n").unwrap();
        let has = |tool: &&Value| {
            matter.contains(&format!("mcp__issues__{}", tool["name"].as_str().unwrap()))
        };
        let tools = list["tools"].as_array().unwrap().iter().filter(has).map(given_to_model);
        let tools = Value::from(tools.collect::<Vec<_>>()).to_string();
        let costs = [body, &tools, &instructions, &section].map(tokens);
        let sum: usize = costs.iter().sum();
        let what = "the prompt, the tools, the instructions and the section";
        assert!(sum <= 2_000, "{worker}: {sum} tokens, {costs:?} for {what}: {TOO_LONG}");
    }
}

#[test]
fn one_call_answers_a_round_of_a_lead_in_at_most_120_tokens() {
    let round = reply(&many(60, 8), "compact", "list_issues", json!({ "take": 0 }));
    assert!(
        round.contains("\"ready\"") && tokens(&round) <= 120,
        "{} tokens: {round}",
        tokens(&round)
    );
}

/// Words for titles, descriptions and comments.
const WORDS: [&str; 12] = [
    "login", "fails", "when", "the", "token", "expires", "before", "retry", "of", "request", "in",
    "browser",
];

fn words(count: usize, seed: usize) -> String {
    let words: Vec<_> = (0..count)
        .map(|number| WORDS[(number * number + seed * 7 + number) % WORDS.len()])
        .collect();
    words.join(" ")
}

fn time(second: usize) -> String {
    format!(
        "2026-10-{:02}T{:02}:{:02}:{:02}.125Z",
        1 + second / 86_400 % 28,
        second / 3_600 % 24,
        second / 60 % 60,
        second % 60
    )
}

/// Returns an issue as in issues.json, with an id that depends on its number.
fn issue(
    number: usize,
    title: &str,
    description: &str,
    comments: &[String],
    claims: usize,
) -> Value {
    let hash = (number as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    let id = uuid(hash);
    let entry = |offset: usize, action: &str| json!({"timestamp": time(number * 60 + offset), "agent": "developer-2", "action": action});
    let mut history = vec![entry(0, "Issue filed")];
    for claim in 0..claims {
        history.push(entry(2 * claim + 1, "Issue claimed for work"));
        history.push(entry(2 * claim + 2, "Issue returned to created status"));
    }
    let comment = |(index, text): (usize, &String)| json!({"timestamp": time(number * 60 + index), "agent": "developer-2", "text": text});
    json!({
        "id": id, "title": title, "description": description, "classification": "bug",
        "createdAt": time(number * 60), "modifiedAt": time(number * 60), "status": "created",
        "history": history, "comments": comments.iter().enumerate().map(comment).collect::<Vec<_>>(),
    })
}

fn uuid(hash: u128) -> String {
    let digits = format!("{hash:032x}");
    format!(
        "{}-{}-4{}-a{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[13..16],
        &digits[17..20],
        &digits[20..]
    )
}

/// Creates a store with these issues.
fn store(issues: &[Value]) -> TempDir {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), json!({ "issues": issues }).to_string())
        .unwrap();
    directory
}

/// Returns the reply of a tool in a store with these issues.
fn reply(issues: &[Value], form: &str, tool: &str, arguments: Value) -> String {
    let directory = store(issues);
    let mut client = Client::spawn(ait(directory.path()).args(["--replies", form]));
    client.initialize();
    client.call(tool, arguments).text
}

fn many(count: usize, title_words: usize) -> Vec<Value> {
    (0..count).map(|number| issue(number, &words(title_words, number), "", &[], 0)).collect()
}

/// Returns an issue with a description of 10 KB and 44 comments, returned 21 times.
fn long_issue() -> Value {
    let comments: Vec<_> = (0..44).map(|seed| words(20, seed)).collect();
    issue(1, &words(8, 1), &words(1_800, 1), &comments, 21)
}

/// Returns typical calls, each with a description, the issues, the tool and the arguments.
fn typical() -> Vec<(&'static str, Vec<Value>, &'static str, Value)> {
    let one = vec![issue(1, &words(8, 1), &words(120, 1), &[], 0)];
    let id = one[0]["id"].clone();
    let agent = "developer-2";
    vec![
        (
            "a confirmation",
            one.clone(),
            "complete_issue",
            json!({"issue_id": id, "comment": "c", "agent": agent}),
        ),
        ("a claim: description of 700 characters", one, "get_next_issue", json!({"agent": agent})),
        (
            "a claim: 10 KB, 44 comments, returned 21 times",
            vec![long_issue()],
            "get_next_issue",
            json!({"agent": agent}),
        ),
        ("a list of 50 issues (the default)", many(60, 8), "list_issues", json!({})),
        ("a list of 100 issues", many(100, 8), "list_issues", json!({"take": 100})),
    ]
}

/// Returns the calls whose replies could become too long.
fn worst() -> Vec<(&'static str, Vec<Value>, &'static str, Value)> {
    let agent = "developer-2";
    let comments: Vec<_> = (0..40).map(|seed| words(5_000, seed)).collect();
    let unknown: serde_json::Map<_, _> =
        (0..3_000).map(|number| (format!("unknown{number}"), json!(words(5, number)))).collect();
    vec![
        (
            "a list of 500 issues with titles of 500 characters",
            many(500, 80),
            "list_issues",
            json!({"take": 500}),
        ),
        (
            "a claim: description of 100 KB",
            vec![issue(1, "t", &words(17_000, 1), &[], 0)],
            "get_next_issue",
            json!({"agent": agent}),
        ),
        (
            "a claim: 40 comments of 28 KB",
            vec![issue(1, "t", "d", &comments, 9)],
            "get_next_issue",
            json!({"agent": agent}),
        ),
        ("an error: 3,000 unknown parameters", vec![], "list_issues", Value::Object(unknown)),
    ]
}

#[test]
fn no_reply_exceeds_the_budget() {
    for (what, issues, tool, arguments) in worst() {
        for form in ["json", "compact"] {
            let cost = tokens(&reply(&issues, form, tool, arguments.clone()));
            assert!(cost <= MAX_REPLY_TOKENS, "{what}, {form}: {cost} tokens");
        }
    }
}

#[test]
fn compact_replies_stay_within_their_limits() {
    let limits = [20, 400, 4_000, 1_500, 3_000];
    for ((what, issues, tool, arguments), limit) in typical().into_iter().zip(limits) {
        let text = reply(&issues, "compact", tool, arguments);
        assert!(tokens(&text) <= limit, "{what}: {} tokens: {text}", tokens(&text));
    }
}

/// With the toolset `planning`, a confirmation has the version of the issue, too.
#[test]
fn compact_confirmations_have_20_tokens() {
    let directory = directory();
    let arguments = ["--replies", "compact", "--toolsets", "planning"];
    let mut client = Client::spawn(ait(directory.path()).args(arguments));
    client.initialize();
    let mut costs = Vec::new();
    for number in 0..30 {
        let title = format!("{number} {}", words(8, number));
        let add =
            json!({ "title": title, "description": "", "classification": "bug", "agent": "a" });
        let filed = client.call("add_issue", add).ok();
        let id = filed.split(' ').next().unwrap();
        let done = json!({ "issue_id": id, "comment": "c", "agent": "developer-2" });
        for reply in [filed.clone(), client.call("complete_issue", done).ok()] {
            assert!(reply.contains(" version "), "{reply}");
            costs.push(tokens(&reply));
        }
    }
    // Ids and versions are random, and have some tokens more or less.
    costs.sort_unstable();
    assert!(costs[costs.len() / 2] <= 20 && costs[costs.len() - 1] <= 24, "{costs:?}");
}

#[test]
fn documented_token_counts_match_the_measured_ones() {
    let begin = "<!-- token counts: written by a test -->\n";
    expect_in_file("docs/mcp.md", begin, "<!-- end of token counts -->", &tables());
}

/// Returns what the tools cost that a client gives a model: name, description and schema of each.
fn cost_to_model(arguments: &[&str]) -> usize {
    let [with_session, _] = tool_lists(arguments);
    let read = with_session["tools"].as_array().unwrap().iter().map(given_to_model);
    tokens(&Value::from(read.collect::<Vec<_>>()).to_string())
}

/// Clients give a model the name, the description and the schema of a tool.
fn given_to_model(tool: &Value) -> Value {
    json!({ "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"] })
}

fn cost_of_sync() -> usize {
    let directory = directory();
    let sync = "[sync.company]\nkind = \"github\"\nproject = \"acme/shop\"\n";
    fs::write(directory.path().join("ait.toml"), sync).unwrap();
    let [with_session, _] = tool_lists_in(&directory, &["--toolsets", "sync"]);
    tokens(&with_session.to_string())
}

fn tables() -> String {
    let mut text = String::from("\n| tools | tokens |\n|---|---|\n");
    let cost = |arguments: &[&str]| {
        let [with_session, _] = tool_lists(arguments);
        tokens(&with_session.to_string())
    };
    let [with_session, stateless] = tool_lists(&[]);
    for tool in with_session["tools"].as_array().unwrap() {
        text +=
            &format!("| `{}` | {} |\n", tool["name"].as_str().unwrap(), tokens(&tool.to_string()));
    }
    let lifecycle = tokens(&with_session.to_string());
    text += &format!("| `tools/list` by default, with a session | {lifecycle} |\n");
    text +=
        &format!("| `tools/list` by default, stateless | {} |\n", tokens(&stateless.to_string()));
    for toolset in ["planning", "bulk", "analysis", "memory", "admin"] {
        let added = cost(&["--toolsets", toolset]) - lifecycle;
        assert!(added <= MAX_TOOLSET_TOKENS, "{toolset} adds {added} tokens: {TOO_LONG}");
        text += &format!("| toolset `{toolset}` adds | {added} |\n");
    }
    text +=
        &format!("| `tools/list` of the role `reviewer` | {} |\n", cost(&["--role", "reviewer"]));
    let read = cost_to_model(&["--role", "reviewer", "--toolsets", "all"]);
    assert!(read <= MAX_REVIEWER_TOKENS, "a reviewer reads {read} tokens of tools: {TOO_LONG}");
    text += &format!("| of these, what a client gives the model of a reviewer | {read} |\n");
    let sync = cost_of_sync() - lifecycle;
    text += &format!("| toolset `sync` adds, with a sync | {sync} |\n");
    text += "\n| reply | `json` | `compact` |\n|---|---|---|\n";
    for (what, issues, tool, arguments) in typical().into_iter().chain(worst()) {
        let cost = |form| tokens(&reply(&issues, form, tool, arguments.clone()));
        text += &format!("| {what} | {} | {} |\n", cost("json"), cost("compact"));
    }
    text.push('\n');
    text
}
