//! Checks tool arguments against the tool's input schema, so that one error names all problems.
//!
//! Covers what [`schema`](super::schema) produces: objects of strings, enums, numbers, booleans, lists and objects.
//! The types of the domain check the content of strings afterwards.

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use super::shown;

/// The limit up to which a float stands for exactly one integer.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// The maximum number of characters of the problems in one error. One of each parameter of a tool fits.
const MAX_PROBLEMS_CHARS: usize = 1_000;

/// Checks arguments against the schema of a tool.
///
/// Removes optional arguments that are `null` or empty texts, because some clients send every parameter. Some clients
/// also send numbers, truth values, lists and objects as texts, which their models cannot repair: takes these for what
/// they mean. Turns floats with an integral value (`10.0`), which JSON Schema counts as integers, into integers.
///
/// # Errors
///
/// A text that names every problem and what the tool takes.
pub(super) fn check(
    tool: &str,
    schema: &JsonObject,
    arguments: &mut JsonObject,
) -> Result<(), String> {
    let mut problems = Vec::new();
    examine_object("", schema, arguments, &mut problems);
    if problems.is_empty() {
        return Ok(());
    }
    Err(format!("{}. {}", listed(&problems), usage(tool, schema)))
}

/// Makes a text of an argument: of a list its values, separated by commas, and of an object JSON.
pub(super) fn loosen(arguments: &mut JsonObject, name: &str) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match arguments.get_mut(name) {
        Some(Value::Array(values)) => {
            let texts: Vec<_> = values.iter().map(text).collect();
            arguments.insert(name.to_owned(), texts.join(",").into());
        }
        Some(value @ (Value::Object(_) | Value::Number(_))) => *value = value.to_string().into(),
        _ => {}
    }
}

/// Examines the members of an object. `path` is what their names begin with.
fn examine_object(
    path: &str,
    schema: &JsonObject,
    members: &mut JsonObject,
    problems: &mut Vec<String>,
) {
    let required = required(schema);
    members.retain(|name, value| {
        let Some(property) = property(schema, name) else { return true };
        // What a blank text means is for the type of the text to say.
        let is_text = kind(property) == "string";
        let is_blank = value
            .as_str()
            .is_some_and(|text| text.is_empty() || (!is_text && text.trim().is_empty()));
        let is_absent = value.is_null() || (is_blank && !required.contains(&name.as_str()));
        if !is_absent && let Some(meant) = meant(property, value) {
            *value = meant;
        }
        !is_absent && !value.is_null()
    });
    let missing = required.iter().filter(|name| !members.contains_key(**name));
    problems.extend(missing.map(|name| format!("`{path}{name}` is missing")));
    for (name, value) in members {
        match property(schema, name) {
            Some(property) => {
                let before = problems.len();
                examine(&format!("{path}{name}"), property, value, problems);
                if let Some(problem) = problems.get_mut(before)
                    && kind(property) == "integer"
                    && !required.contains(&name.as_str())
                {
                    // Clients that send every parameter may give 0 for a number that they do not have.
                    let what = property["description"].as_str().map(|what| format!("{what}; "));
                    let what = what.unwrap_or_default();
                    *problem += &format!(" ({what}leave it out if you have none)");
                }
            }
            None => problems.push(format!("`{path}{}` is not a parameter", shown(name))),
        }
    }
}

/// Returns the value that a text stands for, if that has the type of a property or is `null`.
fn meant(property: &Value, value: &Value) -> Option<Value> {
    let kind = kind(property);
    let text = value.as_str().filter(|_| kind != "string")?.trim();
    let text = if kind == "boolean" { text.to_ascii_lowercase() } else { text.to_owned() };
    let parsed: Value = serde_json::from_str(&text).ok()?;
    let fits = match kind {
        "integer" => parsed.is_number(),
        "boolean" => parsed.is_boolean(),
        "array" => parsed.is_array(),
        "object" => parsed.is_object(),
        _ => false,
    };
    (fits || parsed.is_null()).then_some(parsed)
}

fn examine(path: &str, property: &Value, value: &mut Value, problems: &mut Vec<String>) {
    if let Some(number) = value.as_f64().filter(|_| value.is_f64())
        && (0.0..MAX_EXACT).contains(&number)
        && number.fract() == 0.0
    {
        *value = Value::from(number as u64);
    }
    match (kind(property), value) {
        ("array", Value::Array(items)) if fits_length(property, items.len()) => {
            for (at, item) in items.iter_mut().enumerate() {
                *item = meant(&property["items"], item).unwrap_or_else(|| item.take());
                examine(&format!("{path}[{at}]"), &property["items"], item, problems);
            }
        }
        ("object", Value::Object(members)) => {
            if let Some(schema) = property.as_object() {
                examine_object(&format!("{path}."), schema, members, problems);
            }
        }
        (_, value) if fits(property, value) => {}
        (_, value) => {
            let given = shown(&value.to_string());
            problems.push(format!("`{path}` must be {}, not {given}", form(property)));
        }
    }
}

/// Lists as many problems as an error may have, and counts the rest.
fn listed(problems: &[String]) -> String {
    let mut chars = 0;
    let fits = |problem: &&String| {
        chars += problem.chars().count() + "; ".len();
        chars <= MAX_PROBLEMS_CHARS
    };
    let shown = problems.iter().take_while(fits).count();
    let text = problems[..shown].join("; ");
    match problems.len() - shown {
        0 => text,
        more => format!("{text}; and {more} more"),
    }
}

/// Returns a sentence that says what a tool takes.
fn usage(tool: &str, schema: &JsonObject) -> String {
    let required = required(schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    let parameters = properties.into_iter().flatten().map(|(name, property)| {
        let optional = if required.contains(&name.as_str()) { "" } else { ", optional" };
        format!("{name} ({}{optional})", form(property))
    });
    let parameters: Vec<String> = parameters.collect();
    format!("{tool} takes {}. Call it again with these", parameters.join(", "))
}

fn property<'a>(schema: &'a JsonObject, name: &str) -> Option<&'a Value> {
    schema.get("properties")?.get(name)
}

fn required(schema: &JsonObject) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

fn kind(property: &Value) -> &str {
    property["type"].as_str().unwrap_or_default()
}

/// Returns true if a single value has the form of a property.
fn fits(property: &Value, value: &Value) -> bool {
    if let Some(words) = property["enum"].as_array() {
        // Commands and searches say `all`.
        let is_all = value == "all" && words.iter().any(|word| word == "any");
        return is_all || words.contains(value);
    }
    if let Some(kinds) = property["type"].as_array() {
        return kinds.iter().any(|kind| fits(&json!({ "type": kind }), value));
    }
    match kind(property) {
        "integer" => {
            let (least, most) = bounds(property, "minimum", "maximum");
            let most = most.unwrap_or(u64::MAX);
            value.as_u64().is_some_and(|given| (least..=most).contains(&given))
        }
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" | "object" => false,
        _ => value.is_string(),
    }
}

fn fits_length(property: &Value, length: usize) -> bool {
    let (least, most) = bounds(property, "minItems", "maxItems");
    (least..=most.unwrap_or(u64::MAX)).contains(&(length as u64))
}

/// Describes the form of a parameter.
fn form(property: &Value) -> String {
    if let Some(words) = property["enum"].as_array() {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        return words.join(" or ");
    }
    if let Some(kinds) = property["type"].as_array() {
        let forms: Vec<String> = kinds.iter().map(|kind| form(&json!({ "type": kind }))).collect();
        return forms.join(" or ");
    }
    match kind(property) {
        "integer" => match bounds(property, "minimum", "maximum") {
            (least, Some(most)) => format!("an integer from {least} to {most}"),
            (least, None) => format!("an integer of at least {least}"),
        },
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => {
            let items = form(&property["items"]);
            match bounds(property, "minItems", "maxItems") {
                (least, Some(most)) => format!("a list of {least} to {most} values, each {items}"),
                (_, None) => format!("a list of values, each {items}"),
            }
        }
        "object" => {
            let names = property["properties"].as_object().into_iter().flatten();
            let names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
            format!("an object with {}", names.join(", "))
        }
        _ => "a string".to_owned(),
    }
}

/// Returns the lower and the upper bound of a parameter.
fn bounds(property: &Value, least: &str, most: &str) -> (u64, Option<u64>) {
    (property[least].as_u64().unwrap_or(0), property[most].as_u64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(mut arguments: Value) -> Result<Value, String> {
        let schema = json!({
            "type": "object",
            "properties": {
                "agent": {"type": "string"},
                "kind": {"type": "string", "enum": ["bug", "any"]},
                "take": {"type": "integer", "minimum": 1, "maximum": 5, "description": "Size"},
                "mine": {"type": "boolean"},
                "size": {"type": ["number", "string"]},
                "to": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "issues": {"type": "array", "items": {
                    "type": "object", "properties": {"title": {"type": "string"}, "take": {"type": "integer"}},
                    "required": ["title"],
                }},
            },
            "required": ["agent"],
        });
        let Value::Object(schema) = schema else { unreachable!("it is an object") };
        let given = arguments.as_object_mut().unwrap();
        check("tool", &schema, given).map(|()| arguments)
    }

    #[test]
    fn optional_nulls_and_empty_texts_count_as_absent() {
        let given = json!({"agent": "", "kind": "", "take": null, "mine": null, "to": [], "issues": [{"title": "", "take": ""}]});
        assert_eq!(
            checked(given).unwrap(),
            json!({"agent": "", "to": [], "issues": [{"title": ""}]})
        );
        assert_eq!(checked(json!({"agent": "a", "take": 2.0})).unwrap()["take"], json!(2));
        for absent in [json!(""), json!(" "), json!(null)] {
            let given = json!({"agent": "a", "size": absent});
            assert_eq!(checked(given).unwrap(), json!({"agent": "a"}));
        }
        assert_eq!(checked(json!({"agent": "a", "size": 0.5})).unwrap()["size"], json!(0.5));
    }

    #[test]
    fn texts_stand_for_values_of_the_declared_type() {
        let given = json!({
            "agent": "2", "kind": "bug", "take": " 2.0", "mine": "True", "to": "[\"a\", \"2\"]", "size": "0.5",
            "issues": "[{\"title\": \"x\", \"take\": \"4\"}, \"{\\\"title\\\": \\\"y\\\"}\"]",
        });
        let meant = json!({
            "agent": "2", "kind": "bug", "take": 2, "mine": true, "to": ["a", "2"], "size": "0.5",
            "issues": [{"title": "x", "take": 4}, {"title": "y"}],
        });
        assert_eq!(checked(given).unwrap(), meant);
        let blank = json!({"agent": "a", "kind": "", "take": "null", "mine": "", "to": "null"});
        assert_eq!(checked(blank).unwrap(), json!({"agent": "a"}));
        for (name, text) in [
            ("take", "two"),
            ("take", "true"),
            ("mine", "1"),
            ("to", "a"),
            ("to", "{}"),
            ("take", "9"),
        ] {
            let error = checked(json!({"agent": "a", name: text})).unwrap_err();
            assert!(error.contains(&format!("`{name}` must be")), "{error}");
        }
    }

    #[test]
    fn loose_texts_are_given_as_lists_and_objects_too() {
        for (given, text) in [
            (json!([0, 2]), json!("0,2")),
            (json!(["3f2a9c1e", "4f2a9c1e"]), json!("3f2a9c1e,4f2a9c1e")),
            (json!([]), json!("")),
            (json!({"kinds": ["bug"]}), json!("{\"kinds\":[\"bug\"]}")),
            (json!(7), json!("7")),
            (json!("all"), json!("all")),
            (json!(null), json!(null)),
        ] {
            let mut arguments = JsonObject::from_iter([("items".to_owned(), given)]);
            loosen(&mut arguments, "items");
            assert_eq!(arguments["items"], text);
            loosen(&mut arguments, "other");
            assert_eq!(arguments.len(), 1);
        }
    }

    #[test]
    fn one_error_names_all_problems_at_every_depth() {
        let given = json!({
            "kind": "feature", "take": 6, "mine": "yes", "size": true, "to": ["a", "b", "c"], "other": 1,
            "issues": [{"title": "x"}, {"take": -1, "x": 1}, "text"],
        });
        let error = checked(given).unwrap_err();
        for problem in [
            "`agent` is missing",
            "`kind` must be \"bug\" or \"any\", not \"feature\"",
            "`take` must be an integer from 1 to 5, not 6 (Size; leave it out if you have none)",
            "`mine` must be true or false, not \"yes\"",
            "`size` must be a number or a string, not true",
            "`to` must be a list of 0 to 2 values, each a string",
            "`other` is not a parameter",
            "`issues[1].title` is missing",
            "`issues[1].take` must be an integer of at least 0, not -1",
            "`issues[1].x` is not a parameter",
            "`issues[2]` must be an object with title, take, not \"text\"",
            "tool takes agent (a string), kind",
        ] {
            assert!(error.contains(problem), "{problem}: {error}");
        }
    }
}
