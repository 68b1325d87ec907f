//! The texts that agents read and a project may replace: descriptions of tools and of parameters, the instructions, and
//! the tasks for the model of a client.
//!
//! The key of a tool is its name, such as `add_issue`, that of a parameter `add_issue-title`, that of a task
//! `analysis-ready`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::LazyLock;

use indexmap::IndexMap;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::instructions;
use super::reply::budget;
use super::tools::analyze_issue::Analysis;
use super::tools::registry;
use ait_domain::text::nearest;

/// The key of the instructions of the server. In their text, `{retries}` stands for what happens to an issue that comes
/// back again and again.
pub(crate) const INSTRUCTIONS: &str = "instructions";
/// The longest text, in characters.
const MAX_CHARS: usize = 2_000;

/// The texts that are built in, by their keys, in the order of `tools/list`.
static BUILT_IN: LazyLock<IndexMap<String, String>> = LazyLock::new(|| {
    let instructions = (INSTRUCTIONS.to_owned(), instructions::BUILT_IN.to_owned());
    let tasks = Analysis::ALL.iter().map(|kind| (kind.key(), kind.task().to_owned()));
    std::iter::once(instructions).chain(registry::texts()).chain(tasks).collect()
});

/// The texts that a project replaces, each with its source.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Texts(BTreeMap<String, Replaced>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Replaced {
    text: String,
    source: String,
}

/// A text in effect.
pub struct EffectiveText<'a> {
    pub key: &'a str,
    pub text: &'a str,
    /// Where it was set; `None` if it is built in.
    pub source: Option<&'a str>,
    /// How many tokens of an agent it takes, about.
    pub tokens: usize,
}

impl Texts {
    /// Replaces a text.
    ///
    /// # Errors
    ///
    /// There is no such text, or the new one is empty, too long or has control characters.
    pub fn set(&mut self, key: &str, text: &str, source: String) -> Result<(), String> {
        if !BUILT_IN.contains_key(key) {
            let near = nearest(key, BUILT_IN.keys().map(String::as_str));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            let key = super::shown(key);
            return Err(format!("there is no text {key:?}{near} `ait texts` lists all"));
        }
        let is_control = |letter: char| letter.is_control() && letter != '\n';
        let length = text.chars().count();
        if text.trim().is_empty() || length > MAX_CHARS || text.contains(is_control) {
            return Err(format!(
                "the text {key} must have 1 to {MAX_CHARS} characters without control characters, and has {length}"
            ));
        }
        self.0.insert(key.to_owned(), Replaced { text: text.to_owned(), source });
        Ok(())
    }

    /// Replaces what variables such as `AIT_TEXT_ADD_ISSUE_TITLE` name. Returns what is wrong with the others.
    pub fn replace_by(&mut self, environment: impl Fn(&str) -> Option<OsString>) -> Vec<String> {
        let mut problems = Vec::new();
        for key in BUILT_IN.keys() {
            let variable = format!("AIT_TEXT_{}", key.to_uppercase().replace('-', "_"));
            let Some(text) = environment(&variable).filter(|text| !text.is_empty()) else {
                continue;
            };
            let set = self.set(key, &text.to_string_lossy(), variable.clone());
            problems.extend(set.err().map(|problem| format!("{variable}: {problem}")));
        }
        problems
    }

    /// Returns all texts in effect.
    pub fn all(&self) -> impl Iterator<Item = EffectiveText<'_>> {
        BUILT_IN.iter().map(|(key, built_in)| {
            let replaced = self.0.get(key);
            let text = replaced.map_or(&**built_in, |replaced| &replaced.text);
            let source = replaced.map(|replaced| &*replaced.source);
            EffectiveText { key, text, source, tokens: budget::tokens(text) }
        })
    }

    /// Returns a text that is replaced.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|replaced| &*replaced.text)
    }

    /// Replaces the descriptions of parameters in the schema of a tool.
    pub(crate) fn describe(&self, tool: &str, schema: &mut JsonObject) {
        let Some(Value::Object(parameters)) = schema.get_mut("properties") else { return };
        for (name, parameter) in parameters.iter_mut().filter(|_| !self.0.is_empty()) {
            if let Some(text) = self.get(&key_of(tool, name)) {
                parameter["description"] = text.into();
            }
        }
    }
}

/// Returns the key of a parameter.
pub(crate) fn key_of(tool: &str, parameter: &str) -> String {
    format!("{tool}-{parameter}")
}
