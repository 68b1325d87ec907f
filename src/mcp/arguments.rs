//! Checking the form of what a caller gave a tool, so that one answer names all that is wrong with it.
//!
//! The check reads the tool's own input schema, and so the caller is held to exactly what it was
//! told. It covers what [`schema`](super::schema) produces: an object of strings, words and integers.
//! What the strings may say is checked by the types of the domain afterwards.

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::domain::text::shortened;

/// Up to here a number with a decimal point stands for one whole number only.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Checks arguments against the schema of a tool.
///
/// Takes out the optional ones that are `null`, and gives whole numbers that were written with a
/// decimal point (`10.0`), which JSON Schema calls integers too, the form of integers.
///
/// # Errors
///
/// A text that names every problem and says what the tool takes.
pub(super) fn check(
    tool: &str,
    schema: &JsonObject,
    arguments: &mut JsonObject,
) -> Result<(), String> {
    let empty = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required: Vec<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    arguments.retain(|name, value| !value.is_null() || !properties.contains_key(name));
    for value in arguments.values_mut() {
        if let Some(whole) = value
            .as_f64()
            .filter(|n| value.is_f64() && (0.0..MAX_EXACT).contains(n) && n.fract() == 0.0)
        {
            *value = Value::from(whole as u64);
        }
    }
    let missing = required.iter().filter(|name| !arguments.contains_key(**name));
    let mut problems: Vec<String> = missing.map(|name| format!("`{name}` is missing")).collect();
    for (name, value) in arguments.iter() {
        match properties.get(name) {
            None => problems.push(format!("`{}` is not a parameter", shown(name))),
            Some(property) if !fits(property, value) => {
                problems.push(format!(
                    "`{name}` must be {}, not {}",
                    form(property),
                    shown(&value.to_string())
                ));
            }
            Some(_) => {}
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("{}. {}", problems.join("; "), usage(tool, properties, &required)))
}

/// One sentence that says what a tool takes.
fn usage(tool: &str, properties: &JsonObject, required: &[&str]) -> String {
    let parameters: Vec<String> = properties
        .iter()
        .map(|(name, property)| {
            let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
            format!("{name} ({}{optional})", form(property))
        })
        .collect();
    format!("{tool} takes {}. Call it again with these", parameters.join(", "))
}

fn fits(property: &Value, value: &Value) -> bool {
    if let Some(words) = property.get("enum").and_then(Value::as_array) {
        return words.contains(value);
    }
    if property.get("type").is_some_and(|kind| kind == "integer") {
        let (least, most) = bounds(property);
        return value
            .as_u64()
            .is_some_and(|given| (least..=most.unwrap_or(u64::MAX)).contains(&given));
    }
    value.is_string()
}

/// The form of a parameter, in words.
fn form(property: &Value) -> String {
    if let Some(words) = property.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        return words.join(" or ");
    }
    if property.get("type").is_some_and(|kind| kind == "integer") {
        return match bounds(property) {
            (least, Some(most)) => format!("an integer from {least} to {most}"),
            (least, None) => format!("an integer of at least {least}"),
        };
    }
    "a string".to_owned()
}

/// The least and the most that an integer may be.
fn bounds(property: &Value) -> (u64, Option<u64>) {
    let bound = |name| property.get(name).and_then(Value::as_u64);
    (bound("minimum").unwrap_or(0), bound("maximum"))
}

/// A value or a name as it was given, cut where it is long.
fn shown(given: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    shortened(given, SHOWN_CHARS)
}
