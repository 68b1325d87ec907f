//! Which issues an agent claimed and what it used for them, as the transcript of its client tells.
//!
//! All subagents of a client share one MCP server, which cannot tell them apart. Their transcripts can: a transcript
//! has the calls of one agent. Claude Code, Codex and Gemini CLI write JSON Lines; an object with the `name` of a tool
//! and an id is a call, and an object with the same id and some text is its answer. Objects of any other form are
//! skipped.
//!
//! What a model used is on each message of it in Claude Code and Gemini CLI, which write a message again when it grows,
//! and as totals of the session in Codex. It counts for the claim before it, and what comes before the first claim
//! counts for that one.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::{Deserializer, Value};

use ait_domain::{IssueId, Timestamp, Usage};

/// The tools that claim. A project may give them a prefix.
const CLAIMING: [&str; 2] = ["get_next_issue", "get_next_review_item"];
/// The most bytes of a transcript that are read.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// How deep JSON within texts of JSON is looked into.
const MAX_DEPTH: usize = 32;

/// A claim that a transcript tells of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToldClaim {
    pub issue: IssueId,
    /// The name under which the agent claimed it.
    pub agent: String,
    /// The number of the claim, if the answer had it.
    pub number: Option<usize>,
    /// What the agent used for it.
    pub usage: Usage,
}

impl ToldClaim {
    fn is_same(&self, other: &Self) -> bool {
        (self.issue, &self.agent, self.number) == (other.issue, &other.agent, other.number)
    }
}

/// Reads the claims from the transcript in a file.
pub fn claims_of(path: &Path) -> io::Result<Vec<ToldClaim>> {
    claims_in(BufReader::new(File::open(path)?.take(MAX_BYTES)))
}

fn claims_in(transcript: impl BufRead) -> io::Result<Vec<ToldClaim>> {
    let mut found = Found::default();
    for line in transcript.split(b'\n') {
        // The client may be writing the last line.
        if let Ok(value) = serde_json::from_slice::<Value>(&line?) {
            found.count(&value);
            found.visit(&value, None, 0);
        }
    }
    Ok(found.claims)
}

#[derive(Default)]
struct Found {
    /// The names of the agents in calls that claim, by the ids of the calls.
    calls: HashMap<String, String>,
    claims: Vec<ToldClaim>,
    /// What was used before the first claim.
    before: Usage,
    /// The last message of the model, as counted so far.
    message: (String, Usage),
    /// The totals of the session in Codex.
    total: Usage,
    /// The model that Codex named.
    model: String,
    /// The time of the line before.
    at: Option<Timestamp>,
    /// The time since the last message that was counted, in milliseconds.
    millis: u64,
}

impl Found {
    /// Counts what a line tells that the model used.
    fn count(&mut self, line: &Value) {
        let at = line["timestamp"].as_str().and_then(Timestamp::parse);
        // The time of a person who let the agent wait counts, too: a transcript does not tell it apart.
        let millis = at.zip(self.at).map_or(0, |(at, before)| at.millis_since(before));
        self.at = at.or(self.at);
        self.millis += millis;
        let message = line.get("message").unwrap_or(line);
        if let Some(id) = message["id"].as_str()
            && let Some(usage) = of_claude_code(message).or_else(|| of_gemini(message))
        {
            let is_same = self.message.0 == id;
            let counted =
                if is_same { std::mem::take(&mut self.message.1) } else { Usage::default() };
            self.used(&usage.without(&counted));
            self.message = (id.to_owned(), usage);
        }
        let payload = &line["payload"];
        if let Some(model) = payload["model"].as_str() {
            model.clone_into(&mut self.model);
        }
        if let Some(total) = of_codex(&payload["info"]["total_token_usage"], &self.model) {
            let new = Usage { turns: 1, ..total.without(&self.total) };
            if new.input > 0 || new.output > 0 {
                self.used(&new);
                self.total = total;
            }
        }
    }

    fn used(&mut self, usage: &Usage) {
        let seconds = self.millis / 1_000;
        self.millis %= 1_000;
        let usage = &Usage { seconds, ..usage.clone() };
        self.claims.last_mut().map_or(&mut self.before, |claim| &mut claim.usage).add(usage);
    }

    /// Looks at a value. `agent` is the name in the call that the value answers.
    fn visit(&mut self, value: &Value, agent: Option<&str>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Object(members) => {
                self.calls.extend(call(value));
                let ids = ["tool_use_id", "call_id", "id"];
                let id = ids.iter().find_map(|key| value[*key].as_str());
                let answered = id.and_then(|id| self.calls.get(id).cloned());
                let agent = answered.as_deref().or(agent);
                if let Some(mut claim) = agent.and_then(|agent| claim(value, agent))
                    && !self.claims.iter().any(|known| known.is_same(&claim))
                {
                    claim.usage.add(&std::mem::take(&mut self.before));
                    self.claims.push(claim);
                }
                members.values().for_each(|member| self.visit(member, agent, depth + 1));
            }
            Value::Array(items) => {
                items.iter().for_each(|item| self.visit(item, agent, depth + 1));
            }
            // The answer of a tool is a text of JSON. A client may have put it into another one, or between tags.
            Value::String(text) if agent.is_some() => {
                let json = text.find(['{', '[']).map(|start| &text[start..]);
                let mut values = json.map(|json| Deserializer::from_str(json).into_iter());
                if let Some(Ok(inner)) = values.as_mut().and_then(Iterator::next) {
                    self.visit(&inner, agent, depth + 1);
                }
            }
            _ => {}
        }
    }
}

/// Returns the id of a call that claims, and the name of its agent.
fn call(value: &Value) -> Option<(String, String)> {
    let name = value["name"].as_str()?;
    if !CLAIMING.iter().any(|tool| name.ends_with(tool)) {
        return None;
    }
    let id = value["call_id"].as_str().or_else(|| value["id"].as_str())?;
    let agent = match value["arguments"].as_str() {
        Some(arguments) => serde_json::from_str::<Value>(arguments).ok()?["agent"].clone(),
        None => value.get("input").or_else(|| value.get("args"))?["agent"].clone(),
    };
    Some((id.to_owned(), agent.as_str()?.to_owned()))
}

/// Returns the claim that an answer contains: an issue with a claim, in any form of replies.
fn claim(value: &Value, agent: &str) -> Option<ToldClaim> {
    let issue = IssueId::parse(value["id"].as_str()?)?;
    let claim = value.get("claim")?;
    let words = claim.as_str().unwrap_or_default().split(|letter: char| !letter.is_ascii_digit());
    let number = claim.as_u64().or_else(|| claim["number"].as_u64());
    let number = number.or_else(|| words.filter_map(|word| word.parse().ok()).next());
    let number = number.and_then(|number| usize::try_from(number).ok());
    let usage = Usage { claim: number.unwrap_or(0), ..Usage::default() };
    Some(ToldClaim { issue, agent: agent.to_owned(), number, usage })
}

/// Returns what a message of a model in Claude Code used. Its `input_tokens` are those that are neither read from the
/// cache nor written to it.
fn of_claude_code(message: &Value) -> Option<Usage> {
    let usage = message.get("usage")?;
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let cached = count("cache_read_input_tokens");
    Some(Usage {
        model: message["model"].as_str().unwrap_or_default().to_owned(),
        input: count("input_tokens")
            .saturating_add(count("cache_creation_input_tokens"))
            .saturating_add(cached),
        cached,
        output: count("output_tokens"),
        turns: 1,
        ..Usage::default()
    })
}

/// Returns what a message of a model in Gemini CLI used. Its `input` contains the tokens from the cache, but its
/// `output` no thoughts.
fn of_gemini(message: &Value) -> Option<Usage> {
    let tokens = message.get("tokens")?;
    let count = |key: &str| tokens[key].as_u64().unwrap_or(0);
    Some(Usage {
        model: message["model"].as_str().unwrap_or_default().to_owned(),
        input: tokens["input"].as_u64()?.saturating_add(count("tool")),
        cached: count("cached"),
        output: count("output").saturating_add(count("thoughts")),
        turns: 1,
        ..Usage::default()
    })
}

/// Returns what a session of Codex used until now. Its `input_tokens` contain those from the cache.
fn of_codex(total: &Value, model: &str) -> Option<Usage> {
    let count = |key: &str| total[key].as_u64().unwrap_or(0);
    Some(Usage {
        model: model.to_owned(),
        input: total["input_tokens"].as_u64()?,
        cached: count("cached_input_tokens"),
        output: count("output_tokens"),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "a39acf6b-63fb-4e71-b59c-3cb2d42672ce";

    fn told(lines: &[Value]) -> Vec<ToldClaim> {
        let text: Vec<_> = lines.iter().map(Value::to_string).collect();
        claims_in(text.join("\n").as_bytes()).unwrap()
    }

    fn claimed(number: Option<usize>) -> Vec<ToldClaim> {
        let usage = Usage { claim: number.unwrap_or(0), ..Usage::default() };
        let issue = IssueId::parse(ID).unwrap();
        vec![ToldClaim { issue, agent: "dev".to_owned(), number, usage }]
    }

    /// The lines of Claude Code for a call with its answer.
    fn of_claude_code_calls(tool: &str, answer: &str) -> [Value; 2] {
        let call = serde_json::json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": { "agent": "dev" } });
        let result = serde_json::json!({
            "type": "tool_result", "tool_use_id": "toolu_1", "content": [{ "type": "text", "text": answer }],
        });
        [call, result].map(|block| serde_json::json!({ "message": { "content": [block] } }))
    }

    #[test]
    fn claims_are_found_in_every_form_of_reply() {
        for (claim, number) in [
            (r#""claim 2; lapsed once""#, Some(2)),
            ("3", Some(3)),
            (r#"{"agent":"dev","number":4,"since":"2026-01-31T09:30:00.000Z"}"#, Some(4)),
            ("null", None),
        ] {
            let answer = format!(r#"{{"id":"{ID}","claim":{claim},"title":"t"}}"#);
            let lines = of_claude_code_calls("mcp__issues__get_next_issue", &answer);
            assert_eq!(told(&lines), claimed(number), "{claim}");
            let lines = of_claude_code_calls("mcp__issues__x_get_next_review_item", &answer);
            assert_eq!(told(&lines), claimed(number), "{claim}");
        }
    }

    #[test]
    fn claims_are_found_in_the_transcript_of_codex() {
        let text = format!(r#"{{"id":"{ID}","claim":"claim 1"}}"#);
        let output = serde_json::json!([{ "type": "text", "text": text }]).to_string();
        let lines = [
            serde_json::json!({ "type": "response_item", "payload": {
                "type": "function_call", "name": "mcp__issues__get_next_issue", "call_id": "c6",
                "arguments": r#"{"agent":"dev"}"#,
            } }),
            serde_json::json!({ "type": "response_item", "payload": {
                "type": "function_call_output", "call_id": "c6", "output": output,
            } }),
        ];
        assert_eq!(told(&lines), claimed(Some(1)));
    }

    /// A line of Claude Code with what a message used.
    fn message(id: &str, at: u64, [input, written, read, output]: [u64; 4]) -> Value {
        serde_json::json!({
            "timestamp": format!("2026-01-31T09:30:{at:02}.500Z"),
            "message": { "id": id, "model": "m-1", "usage": {
                "input_tokens": input, "cache_creation_input_tokens": written,
                "cache_read_input_tokens": read, "output_tokens": output,
            } },
        })
    }

    #[test]
    fn what_messages_used_counts_for_the_claim_before_them() {
        let claim = |number: usize| {
            of_claude_code_calls("get_next_issue", &format!(r#"{{"id":"{ID}","claim":{number}}}"#))
        };
        let mut lines = vec![message("a", 0, [3, 10, 0, 1]), message("a", 0, [3, 10, 0, 5])];
        lines.extend(claim(1));
        lines.extend([message("b", 7, [2, 0, 13, 4]), message("c", 9, [1, 0, 15, 1])]);
        lines.extend(claim(2));
        lines.extend([message("d", 19, [0, 0, 16, 2])]);
        let found: Vec<_> = told(&lines).into_iter().map(|claim| claim.usage).collect();
        let used = |claim, input, cached, output, turns, seconds| {
            let model = "m-1".to_owned();
            Usage { claim, model, input, cached, output, turns, seconds, micros: None }
        };
        assert_eq!(found, [used(1, 44, 28, 10, 3, 9), used(2, 16, 16, 2, 1, 10)]);
    }

    #[test]
    fn what_a_session_of_codex_used_is_in_its_totals() {
        let total = |input: u64, output: u64| {
            serde_json::json!({ "type": "event_msg", "payload": { "type": "token_count", "info": {
                "total_token_usage": { "input_tokens": input, "cached_input_tokens": 2, "output_tokens": output },
            } } })
        };
        let context = serde_json::json!({ "type": "turn_context", "payload": { "model": "g-1" } });
        let call = serde_json::json!({ "name": "get_next_issue", "call_id": "c", "arguments": r#"{"agent":"dev"}"# });
        let answer = serde_json::json!({ "call_id": "c", "output": format!(r#"{{"id":"{ID}","claim":1}}"#) });
        let lines = [context, total(5, 1), call, answer, total(5, 1), total(9, 4)];
        let usage = told(&lines).remove(0).usage;
        let model = "g-1".to_owned();
        let expected =
            Usage { claim: 1, model, input: 9, cached: 2, output: 4, turns: 2, ..Usage::default() };
        assert_eq!(usage, expected);
    }

    #[test]
    fn claims_and_usage_are_found_in_the_transcript_of_gemini() {
        let turn = |id: &str, second: u64, calls: Value| {
            serde_json::json!({
                "id": id, "timestamp": format!("2026-01-31T09:30:{second:02}.000Z"), "type": "gemini",
                "content": "", "model": "g-2", "toolCalls": calls,
                "tokens": { "input": 9, "output": 2, "cached": 4, "thoughts": 1, "tool": 3, "total": 15 },
            })
        };
        let output =
            format!("<untrusted_context>\n{{\"id\":\"{ID}\",\"claim\":1}}\n</untrusted_context>");
        let name = "mcp_issues_get_next_issue";
        let answer =
            serde_json::json!({ "id": "c1", "name": name, "response": { "output": output } });
        let call = serde_json::json!([{
            "id": "c1", "name": name, "args": { "agent": "dev" }, "status": "success",
            "result": [{ "functionResponse": answer }],
        }]);
        let none = || serde_json::json!([]);
        let told = told(&[
            serde_json::json!({ "sessionId": "s", "kind": "main", "startTime": "2026-01-31T09:29:00.000Z" }),
            serde_json::json!({ "id": "u", "timestamp": "2026-01-31T09:30:00.000Z", "type": "user", "content": [] }),
            turn("a", 2, none()),
            serde_json::json!({ "$set": { "lastUpdated": "2026-01-31T09:30:02.000Z" } }),
            turn("a", 2, call),
            turn("b", 7, none()),
        ]);
        let mut expected = claimed(Some(1));
        expected[0].usage = Usage {
            claim: 1,
            model: "g-2".to_owned(),
            input: 24,
            cached: 8,
            output: 6,
            turns: 2,
            seconds: 7,
            micros: None,
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn nothing_else_counts_as_a_claim() {
        let answer = format!(r#"{{"id":"{ID}","claim":"claim 1"}}"#);
        assert_eq!(told(&of_claude_code_calls("mcp__issues__list_issues", &answer)), []);
        for other in ["No issue is ready", "{", "[]", r#"{"id":"x","claim":1}"#] {
            assert_eq!(told(&of_claude_code_calls("get_next_issue", other)), [], "{other}");
        }
        let [_, result] = of_claude_code_calls("get_next_issue", &answer);
        assert_eq!(told(&[result]), []);
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(told(&of_claude_code_calls("get_next_issue", &deep)), []);
        let cut =
            of_claude_code_calls("get_next_issue", &answer).map(|line| line.to_string()).join("\n");
        assert_eq!(claims_in(&cut.as_bytes()[..cut.len() - 9]).unwrap(), []);
    }
}
