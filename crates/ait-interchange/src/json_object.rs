//! One JSON object: a complete ait issue, an issue of beads, or one of other programs, scripts and people.

use indexmap::IndexSet;
use serde::de::IgnoredAny;
use serde_json::value::{RawValue, to_raw_value};

use super::fields::{Field, Mapping, Meaning};
use super::given::{Fault, Given};
use super::partial_issue::PartialIssue;
use super::programs;
use super::value::Value;
use super::{Content, ImportDraft, ReadOptions, Unreadable, Values, beads};
use ait_domain::Issue;
use ait_domain::external_id::JSON_KEY;
use ait_domain::json_compat;

/// How many different keys are looked at to explain a mapping of a key that no object has.
const MAX_KEYS: usize = 1000;

/// Reads a JSON object.
pub(super) fn read(text: &str, options: &ReadOptions) -> Content {
    let mut values: Values = match serde_json::from_str(text) {
        Ok(values) => values,
        Err(_) => {
            // The parser of issues names what it found instead of an issue, but also reads invalid JSON that far.
            let invalid = serde_json::from_str::<IgnoredAny>(text).err();
            let error = match serde_json::from_str::<Issue>(text) {
                Ok(issue) => return ours(issue, text),
                Err(error) => invalid.unwrap_or(error),
            };
            return refused(&Values::new(), Fault::of(json_compat::problem(&error)));
        }
    };
    let is_whole = values.contains_key("classification") && values.contains_key("history");
    // An issue of ait keeps the keys of the program that it came from.
    let reason = if is_whole { None } else { programs::no_issue(&values) };
    let is_adapted = !is_whole && programs::adapt(&mut values);
    if let Some(reason) = reason {
        let [id, title] = names(&values);
        return Content::Skipped { id, title, reason };
    }
    values.retain(|key, _| options.mapping.get(key) != Some(Meaning::Ignored));
    let mut is_mapped = false;
    for (key, value) in &mut values {
        is_mapped |= options.mapping.get(key).is_some();
        let replacement = options.mapping.replacement(key, Value::Json(value));
        if let Some(replacement) = replacement.and_then(|text| to_raw_value(text).ok()) {
            *value = replacement;
        }
    }
    if is_mapped || is_adapted {
        return read_partial(values, options);
    }
    if is_whole {
        let mapped = serde_json::to_string(&values).ok().filter(|_| !options.mapping.is_empty());
        let text = mapped.as_deref().unwrap_or(text);
        if let Ok(issue) = serde_json::from_str::<Issue>(text) {
            return ours(issue, text);
        }
    }
    if is_of_beads(&values) {
        values.values_mut().for_each(strip);
        let [id, title] = names(&values);
        return beads::read(values, options).unwrap_or_else(|fault| fault.refused(id, title));
    }
    read_partial(values, options)
}

/// Reads an object of another program.
fn read_partial(mut values: Values, options: &ReadOptions) -> Content {
    values.retain(|_, value| value.get() != "null");
    values.values_mut().for_each(strip);
    let meanings = options.mapping.meanings(values.keys().map(String::as_str));
    let given = values.iter().zip(meanings).filter_map(|((name, value), meaning)| {
        // Only exports as CSV have it.
        let is_extra = meaning == Meaning::Field(Field::Extra);
        Given::new(name, if is_extra { Meaning::Other } else { meaning }, Value::Json(value))
    });
    let issue =
        PartialIssue { values: given.collect(), is_ours: false, key: JSON_KEY, keeps_names: true };
    let draft = issue.draft(options);
    draft.map_or_else(|fault| issue.refused(fault), Content::Issue)
}

/// Removes the white space between the parts of a value, so that it fits on one line.
fn strip(value: &mut Box<RawValue>) {
    if value.get().starts_with(['{', '[']) {
        let stripped = RawValue::from_string(json_compat::without_white_space(value.get()));
        *value = stripped.expect("the value was parsed with its white space");
    }
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
        let mut values: Values = serde_json::from_str(object).unwrap_or_default();
        programs::adapt(&mut values);
        for key in values.into_keys() {
            if found.len() < MAX_KEYS || mapping.get(&key).is_some() {
                found.insert(key);
            }
        }
    }
    mapping.check(found.iter().map(String::as_str))
}

/// Returns the id and the title of an object.
fn names(values: &Values) -> [Option<String>; 2] {
    ["id", "title"].map(|key| {
        let value = Value::Json(values.get(key)?);
        value.text().or_else(|| value.name())
    })
}

/// Returns a refused entry with the reason and with the id and title of the object.
fn refused(values: &Values, fault: Fault) -> Content {
    let [id, title] = names(values);
    fault.refused(id, title)
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
        Err(error) => {
            let values = serde_json::from_str(text).unwrap_or_default();
            refused(&values, error.into())
        }
    }
}

/// Returns true if an object is one of beads. Some of its keys are usual elsewhere, too.
fn is_of_beads(values: &Values) -> bool {
    let has = |key: &&str| values.get(*key).is_some_and(|value| value.get() != "null");
    let is_named = ["id", "title"].iter().all(has) && values["id"].get().starts_with('"');
    let is_theirs = ["_type", "issue_type"].iter().any(&has) || is_named && has(&"created_at");
    is_theirs && !["classification", "state", "number", "url"].iter().any(has)
}
