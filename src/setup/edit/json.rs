//! An entry in a file of JSON that may have comments and trailing commas.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

use super::{EditError, Entry, split_mark, stale, way_back};

/// What the clients read. Whatever goes beyond it they refuse.
const READ: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// The value at a path, if there is one.
///
/// # Errors
///
/// The text is no JSON, or has something else than objects on the way.
pub fn get(text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
    let (name, above) = path.split_last().expect("a path has a name");
    let root = parse(split_mark(text).1)?;
    let object = walk(&root, above)?.last().cloned();
    let member = object.and_then(|object| object.get(name));
    Ok(member.and_then(|member| member.value()).and_then(|value| value.to_serde_value()))
}

/// The text with an entry at a path. Of one that is there already, the members that say how the server is
/// reached are replaced, and others stay.
///
/// # Errors
///
/// Those of [`get`].
pub fn set(text: &str, path: &[&str], entry: &Entry) -> Result<String, EditError> {
    let (name, above) = path.split_last().expect("a path has a name");
    let (mark, text) = split_mark(text);
    let root = parse(text)?;
    walk(&root, above)?;
    let mut object = root.object_value_or_create().ok_or_else(|| no_object(&[]))?;
    for (depth, name) in above.iter().enumerate() {
        let inner = object.object_value_or_create(name);
        object = inner.ok_or_else(|| no_object(&above[..=depth]))?;
    }
    match object.get(name) {
        Some(member) => match member.object_value() {
            Some(present) => update(&present, entry),
            None => member.set_value(input(&Value::Object(entry.clone()))),
        },
        None => drop(object.append(name, input(&Value::Object(entry.clone())))),
    }
    Ok(format!("{mark}{root}"))
}

/// The text without the entry at a path, and without the objects around it that are empty then. Where
/// `original` is the text before the entry was set, what it had is left.
///
/// # Errors
///
/// Those of [`get`].
pub fn unset(text: &str, path: &[&str], original: Option<&str>) -> Result<String, EditError> {
    let Some(entry) = get(text, path)? else { return Ok(text.to_owned()) };
    if let Some(original) = way_back(text, path, &entry, original, set) {
        return Ok(original.to_owned());
    }
    let (name, above) = path.split_last().expect("a path has a name");
    let (mark, text) = split_mark(text);
    let root = parse(text)?;
    let objects = walk(&root, above)?;
    if let Some(member) = objects.last().and_then(|object| object.get(name)) {
        member.remove();
    }
    for depth in (1..=above.len()).rev() {
        let was_there =
            original.is_some_and(|original| matches!(get(original, &above[..depth]), Ok(Some(_))));
        let (parent, object) = (&objects[depth - 1], &objects[depth]);
        let has_comment = object.to_string().contains('/');
        if was_there || has_comment || !object.properties().is_empty() {
            break;
        }
        if let Some(member) = parent.get(above[depth - 1]) {
            member.remove();
        }
    }
    Ok(format!("{mark}{root}"))
}

/// Tells whether a text holds nothing: no member, and no comment.
pub fn is_empty(text: &str) -> bool {
    let text: String = split_mark(text).1.split_whitespace().collect();
    text.is_empty() || text == "{}"
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &READ).map_err(|error| EditError::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        reason: error.kind().to_string(),
    })
}

/// The root and the objects along a path, as far as there are any.
fn walk(root: &CstRootNode, path: &[&str]) -> Result<Vec<CstObject>, EditError> {
    let Some(value) = root.value() else { return Ok(Vec::new()) };
    let mut objects = vec![value.as_object().ok_or_else(|| no_object(&[]))?];
    for depth in 0..path.len() {
        let Some(member) = objects[depth].get(path[depth]) else { return Ok(Vec::new()) };
        let object = member.object_value().ok_or_else(|| no_object(&path[..=depth]))?;
        objects.push(object);
    }
    Ok(objects)
}

fn no_object(path: &[&str]) -> EditError {
    EditError::Shape(match path {
        [] => "an object is expected, in braces".to_owned(),
        path => format!("{:?} is expected to be an object, in braces", path.join(".")),
    })
}

fn update(present: &CstObject, entry: &Entry) {
    let names = present.properties().into_iter().filter_map(|member| member.decoded_name());
    for name in stale(names, entry) {
        if let Some(member) = present.get(&name) {
            member.remove();
        }
    }
    for (name, value) in entry {
        match present.get(name) {
            Some(member) => {
                if member.value().and_then(|it| it.to_serde_value()).as_ref() != Some(value) {
                    member.set_value(input(value));
                }
            }
            None => drop(present.append(name, input(value))),
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}
