//! Which issues an agent claimed, as the transcript of its client tells.
//!
//! All subagents of a client share one MCP server, which cannot tell them apart. Their transcripts can: a transcript
//! has the calls of one agent. Claude Code and Codex write JSON Lines; an object with the `name` of a tool and an id is
//! a call, and an object with the same id and some text is its answer. Objects of any other form are skipped.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde_json::Value;

use crate::domain::IssueId;

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
}

impl Found {
    /// Looks at a value. `agent` is the name in the call that the value answers.
    fn visit(&mut self, value: &Value, agent: Option<&str>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Object(members) => {
                self.calls.extend(call(value));
                let id = ["tool_use_id", "call_id"].iter().find_map(|key| value[*key].as_str());
                let answered = id.and_then(|id| self.calls.get(id).cloned());
                let agent = answered.as_deref().or(agent);
                if let Some(claim) = agent.and_then(|agent| claim(value, agent))
                    && !self.claims.contains(&claim)
                {
                    self.claims.push(claim);
                }
                members.values().for_each(|member| self.visit(member, agent, depth + 1));
            }
            Value::Array(items) => {
                items.iter().for_each(|item| self.visit(item, agent, depth + 1));
            }
            // The answer of a tool is a text of JSON, and a client may have put it into another one.
            Value::String(text) if agent.is_some() && text.starts_with(['{', '[']) => {
                if let Ok(inner) = serde_json::from_str(text) {
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
        None => value["input"]["agent"].clone(),
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
    Some(ToldClaim { issue, agent: agent.to_owned(), number })
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
        vec![ToldClaim { issue: IssueId::parse(ID).unwrap(), agent: "dev".to_owned(), number }]
    }

    /// The lines of Claude Code for a call with its answer.
    fn of_claude_code(tool: &str, answer: &str) -> [Value; 2] {
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
            let lines = of_claude_code("mcp__issues__get_next_issue", &answer);
            assert_eq!(told(&lines), claimed(number), "{claim}");
            let lines = of_claude_code("mcp__issues__x_get_next_review_item", &answer);
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

    #[test]
    fn nothing_else_counts_as_a_claim() {
        let answer = format!(r#"{{"id":"{ID}","claim":"claim 1"}}"#);
        assert_eq!(told(&of_claude_code("mcp__issues__list_issues", &answer)), []);
        for other in ["No issue is ready", "{", "[]", r#"{"id":"x","claim":1}"#] {
            assert_eq!(told(&of_claude_code("get_next_issue", other)), [], "{other}");
        }
        let [_, result] = of_claude_code("get_next_issue", &answer);
        assert_eq!(told(&[result]), []);
        let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
        assert_eq!(told(&of_claude_code("get_next_issue", &deep)), []);
        let cut = of_claude_code("get_next_issue", &answer).map(|line| line.to_string()).join("\n");
        assert_eq!(claims_in(&cut.as_bytes()[..cut.len() - 9]).unwrap(), []);
    }
}
