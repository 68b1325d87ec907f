//! One JSON object: a complete ait issue, an issue of beads, or one of other programs, scripts and people.

use indexmap::{IndexMap, IndexSet};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

use super::fields::{Field, Mapping, Meaning};
use super::partial_issue::{Given, PartialIssue};
use super::value::Value;
use super::{Content, ImportDraft, ReadOptions, Unreadable, beads, jira};
use crate::domain::Issue;
use crate::domain::external_id::JSON_KEY;
use crate::json_compat;

type Values = IndexMap<String, Box<RawValue>>;

/// How many different keys are looked at to explain a mapping of a key that no object has.
const MAX_KEYS: usize = 1000;

/// Reads a JSON object.
pub(super) fn read(text: &str, options: &ReadOptions) -> Content {
    let text = &*jira::flattened(text);
    let is_mapped = |key: &String| matches!(options.mapping.get(key), Some(Meaning::Field(_)));
    if options.mapping.is_empty() {
        return read_unmapped(text, options);
    }
    let Ok(mut values) = serde_json::from_str::<Values>(text) else {
        return read_unmapped(text, options);
    };
    values.retain(|key, _| options.mapping.get(key) != Some(Meaning::Ignored));
    for (key, value) in &mut values {
        let replacement = options.mapping.replacement(key, Value::Json(value));
        if let Some(replacement) = replacement.and_then(|text| to_raw_value(text).ok()) {
            *value = replacement;
        }
    }
    match serde_json::to_string(&values) {
        Ok(text) if !values.keys().any(is_mapped) => read_unmapped(&text, options),
        Ok(text) => read_partial(&text, options).unwrap_or_else(|problem| refused(&text, &problem)),
        Err(error) => refused(text, &json_compat::problem(&error)),
    }
}

fn read_unmapped(text: &str, options: &ReadOptions) -> Content {
    let error = match serde_json::from_str::<Issue>(text) {
        Ok(issue) => return ours(issue, text),
        Err(error) => error,
    };
    let keys = serde_json::from_str::<ObjectKeys>(text).unwrap_or_default();
    if keys.is_of_beads() {
        return beads::read(text, options.now).unwrap_or_else(|reason| refused(text, &reason));
    }
    read_partial(text, options).unwrap_or_else(|_| refused(text, &json_compat::problem(&error)))
}

/// Reads an object of another program; the error says why it is no object.
fn read_partial(text: &str, options: &ReadOptions) -> Result<Content, String> {
    let text = json_compat::without_white_space(text);
    let mut values: Values =
        serde_json::from_str(&text).map_err(|error| json_compat::problem(&error))?;
    values.retain(|_, value| value.get() != "null");
    let meanings = options.mapping.meanings(values.keys().map(String::as_str));
    let given = values.iter().zip(meanings).filter_map(|((name, value), meaning)| {
        // Only exports as CSV have it.
        let is_extra = meaning == Meaning::Field(Field::Extra);
        Given::new(name, if is_extra { Meaning::Other } else { meaning }, Value::Json(value))
    });
    let issue =
        PartialIssue { values: given.collect(), is_ours: false, key: JSON_KEY, keeps_names: true };
    let draft = issue.draft(options);
    Ok(draft.map_or_else(|fault| issue.refused(fault), Content::Issue))
}

/// Checks that some object has each key of the mapping.
pub(super) fn check_keys<'a>(
    objects: impl Iterator<Item = &'a str>,
    mapping: &Mapping,
) -> Result<(), Unreadable> {
    if mapping.is_empty() {
        return Ok(());
    }
    let mut found: IndexSet<String> = IndexSet::new();
    for object in objects {
        let keys: IndexMap<String, IgnoredAny> =
            serde_json::from_str(&jira::flattened(object)).unwrap_or_default();
        for key in keys.into_keys() {
            if found.len() < MAX_KEYS || mapping.get(&key).is_some() {
                found.insert(key);
            }
        }
    }
    mapping.check(found.iter().map(String::as_str))
}

/// Returns a refused entry with the reason and with the id and title of the object.
fn refused(text: &str, reason: &str) -> Content {
    let keys = serde_json::from_str::<ObjectKeys>(text).unwrap_or_default();
    let words = |value: Option<Json>| match value {
        Some(Json::String(text)) => Some(text),
        Some(value @ Json::Number(_)) => Some(value.to_string()),
        _ => None,
    };
    let (id, title) = (words(keys.id), words(keys.title));
    Content::Refused { id, title, reason: reason.to_owned(), blamed: None }
}

fn ours(mut issue: Issue, text: &str) -> Content {
    // Unknown values are kept verbatim except for line breaks, so they fit on one line.
    if issue.has_unknown_keys()
        && text.contains(['\n', '\r'])
        && let Ok(compact) = serde_json::from_str(&json_compat::without_white_space(text))
    {
        issue = compact;
    }
    match issue.try_into() {
        Ok(issue) => Content::Issue(ImportDraft::of_ait(issue)),
        Err(error) => refused(text, &error.to_string()),
    }
}

/// The keys that identify an object and its format.
#[derive(Default, Deserialize)]
struct ObjectKeys {
    id: Option<Json>,
    title: Option<Json>,
    #[serde(rename = "_type")]
    record_type: Option<Json>,
    issue_type: Option<Json>,
    created_at: Option<Json>,
    classification: Option<Json>,
    /// GitHub and GitLab have it, and beads has not.
    state: Option<Json>,
}

impl ObjectKeys {
    fn is_of_beads(&self) -> bool {
        let theirs = [&self.record_type, &self.issue_type, &self.created_at];
        let others = [&self.classification, &self.state];
        !others.into_iter().any(Option::is_some) && theirs.into_iter().any(Option::is_some)
    }
}
