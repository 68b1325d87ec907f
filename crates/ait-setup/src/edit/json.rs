//! A server entry in JSON with comments and trailing commas. Of two members with one name the last one counts, as in
//! every client.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

use super::{EditError, ServerEntry, no_list, split_mark, stale};

/// What a client accepts beyond JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Dialect {
    /// Nothing.
    Strict,
    Comments,
    /// Comments and trailing commas.
    TrailingCommas,
}

/// The most lenient dialect.
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

/// Checks that a text is blank, or JSON of a dialect.
pub fn check(text: &str, dialect: Dialect) -> Result<(), EditError> {
    let options = ParseOptions {
        allow_comments: dialect != Dialect::Strict,
        allow_trailing_commas: dialect == Dialect::TrailingCommas,
        ..READ
    };
    let text = split_mark(text).1;
    parse_to_ast(text, &CollectOptions::default(), &options).map(drop).map_err(syntax)
}

/// The value at a path, if there is one.
///
/// # Errors
///
/// The text is not JSON, or the path leads through a value that is not an object.
pub fn get(text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
    let (name, above) = path.split_last().expect("a path has a name");
    let root = parse(split_mark(text).1)?;
    let object = walk(&root, above)?.last().cloned();
    let member = object.and_then(|object| last(&object, name));
    Ok(member.and_then(|member| member.value()).and_then(|value| value.to_serde_value()))
}

/// The text with an entry at a path. A present entry gets our transport and keeps its other members.
pub fn set(text: &str, path: &[&str], entry: &ServerEntry) -> Result<String, EditError> {
    edited(text, |root| {
        let (name, above) = path.split_last().expect("a path has a name");
        let object = object_at(root, above)?;
        match last(&object, name) {
            Some(member) => match member.object_value() {
                Some(present) => update(&present, entry),
                None => member.set_value(input(&Value::Object(entry.clone()))),
            },
            None => drop(object.append(name, input(&Value::Object(entry.clone())))),
        }
        Ok(())
    })
}

/// The text as a value, if it is JSON.
pub fn parsed(text: &str) -> Option<Value> {
    parse(split_mark(text).1).ok()?.to_serde_value()
}

/// The text with those of the items in the list at a path that it lacks.
pub fn append_missing(text: &str, path: &[&str], items: &[String]) -> Result<String, EditError> {
    let present = get(text, path)?.unwrap_or_default();
    let present = present.as_array().map(Vec::as_slice).unwrap_or_default();
    let missing: Vec<_> =
        items.iter().filter(|item| !present.iter().any(|it| it == *item)).collect();
    edited(text, |root| {
        let list = list_at(root, path)?;
        for item in &missing {
            list.append(input(&item.as_str().into()));
        }
        // Many items do not fit on a line.
        if missing.len() > 1 {
            list.ensure_multiline();
        }
        Ok(())
    })
}

/// The text with an item at the end of the list at a path, which is made if it is missing.
///
/// # Errors
///
/// Those of [`get`], and a value at the path that is no list.
pub fn append(text: &str, path: &[&str], item: &Value) -> Result<String, EditError> {
    edited(text, |root| {
        list_at(root, path)?.append(input(item));
        Ok(())
    })
}

/// Adds a member to the outermost object if it has none of that name.
pub fn set_missing(text: &str, name: &str, value: &Value) -> Result<String, EditError> {
    edited(text, |root| {
        let object = object_at(root, &[])?;
        if last(&object, name).is_none() {
            object.append(name, input(value));
        }
        Ok(())
    })
}

/// Removes a member of the outermost object if it is the only one.
pub fn unset_last(text: &str, name: &str, value: &Value) -> Result<String, EditError> {
    let root = parse(split_mark(text).1)?;
    let members = root.object_value().map(|object| object.properties().len());
    if members == Some(1) && get(text, &[name])?.as_ref() == Some(value) {
        return unset(text, &[name]);
    }
    Ok(text.to_owned())
}

/// The text without some items of the list at a path, without the list if it is empty then, and without the objects
/// around it that are empty then.
pub fn remove_items(
    text: &str,
    path: &[&str],
    is_unwanted: &dyn Fn(&Value) -> bool,
) -> Result<String, EditError> {
    let mut is_empty = false;
    let text = edited(text, |root| {
        let (name, above) = path.split_last().expect("a path has a name");
        let list = walk(root, above)?.last().and_then(|object| last(object, name));
        let Some(list) = list else { return Ok(()) };
        let list = list.array_value().ok_or_else(|| no_list(path))?;
        let items = list.elements().into_iter();
        let unwanted: Vec<_> = items
            .filter(|item| item.to_serde_value().is_some_and(|value| is_unwanted(&value)))
            .collect();
        let is_changed = !unwanted.is_empty();
        unwanted.into_iter().for_each(CstNode::remove);
        is_empty = is_changed && list.elements().is_empty() && !list.to_string().contains('/');
        Ok(())
    })?;
    if is_empty { unset(&text, path) } else { Ok(text) }
}

/// The text without the entry at a path, and without the objects around it that are empty then.
pub fn unset(text: &str, path: &[&str]) -> Result<String, EditError> {
    edited(text, |root| {
        let (name, above) = path.split_last().expect("a path has a name");
        let objects = walk(root, above)?;
        let entry = objects.last().and_then(|object| last(object, name));
        let Some(entry) = entry else { return Ok(()) };
        entry.remove();
        for depth in (1..=above.len()).rev() {
            let object = &objects[depth];
            let has_comment = object.to_string().contains('/');
            if has_comment || !object.properties().is_empty() {
                break;
            }
            if let Some(member) = last(&objects[depth - 1], above[depth - 1]) {
                member.remove();
            }
        }
        Ok(())
    })
}

/// The text after an edit of it.
fn edited(
    text: &str,
    edit: impl FnOnce(&CstRootNode) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let (mark, text) = split_mark(text);
    let root = parse(text)?;
    edit(&root)?;
    Ok(format!("{mark}{root}"))
}

fn parse(text: &str) -> Result<CstRootNode, EditError> {
    CstRootNode::parse(text, &READ).map_err(syntax)
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn syntax(error: ParseError) -> EditError {
    EditError::Syntax {
        line: error.line_display(),
        column: error.column_display(),
        reason: error.kind().to_string(),
    }
}

/// The root and the objects along a path; empty if one of them is missing.
fn walk(root: &CstRootNode, path: &[&str]) -> Result<Vec<CstObject>, EditError> {
    let Some(value) = root.value() else { return Ok(Vec::new()) };
    let mut objects = vec![value.as_object().ok_or_else(|| no_object(&[]))?];
    for depth in 0..path.len() {
        let Some(member) = last(&objects[depth], path[depth]) else { return Ok(Vec::new()) };
        let object = member.object_value().ok_or_else(|| no_object(&path[..=depth]))?;
        objects.push(object);
    }
    Ok(objects)
}

/// The last member with a name.
fn last(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let mut members = object.properties().into_iter().rev();
    members.find(|member| member.decoded_name().as_deref() == Some(name))
}

/// The object at a path. Objects that are missing on the way are made.
fn object_at(root: &CstRootNode, path: &[&str]) -> Result<CstObject, EditError> {
    walk(root, path)?;
    let mut object = root.object_value_or_create().ok_or_else(|| no_object(&[]))?;
    for (depth, name) in path.iter().enumerate() {
        let new = || object.append(name, CstInputValue::Object(Vec::new()));
        let inner = last(&object, name).unwrap_or_else(new).object_value();
        object = inner.ok_or_else(|| no_object(&path[..=depth]))?;
    }
    Ok(object)
}

/// The list at a path. It is made if it is missing, and so are objects on the way.
fn list_at(root: &CstRootNode, path: &[&str]) -> Result<CstArray, EditError> {
    let (name, above) = path.split_last().expect("a path has a name");
    let object = object_at(root, above)?;
    let new = || object.append(name, CstInputValue::Array(Vec::new()));
    let list = last(&object, name).unwrap_or_else(new).array_value();
    list.ok_or_else(|| no_list(path))
}

fn no_object(path: &[&str]) -> EditError {
    EditError::Shape(match path {
        [] => "an object is expected, in braces".to_owned(),
        path => format!("{:?} is expected to be an object, in braces", path.join(".")),
    })
}

fn update(present: &CstObject, entry: &ServerEntry) {
    let names = present.properties().into_iter().filter_map(|member| member.decoded_name());
    for name in stale(names, entry) {
        if let Some(member) = last(present, &name) {
            member.remove();
        }
    }
    for (name, value) in entry {
        match last(present, name) {
            Some(member) => {
                if member.value().and_then(|member| member.to_serde_value()).as_ref() != Some(value)
                {
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
