//! An entry, and settings, in a file of TOML.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError};

use super::{EditError, Entry, line_end, place, split_mark, stale, way_back};

/// What is written behind a setting, so that it is known as ours.
const OURS: &str = "# by ait init";

/// The entry at a path, if there is one.
///
/// # Errors
///
/// The text is no TOML, or has something else than tables on the way.
pub fn get(text: &str, path: &[&str]) -> Result<Option<Value>, EditError> {
    let (name, above) = path.split_last().expect("a path has a name");
    let document = parse(split_mark(text).1)?;
    let mut table: &dyn TableLike = document.as_table();
    for (depth, name) in above.iter().enumerate() {
        let Some(item) = table.get(name) else { return Ok(None) };
        table = item.as_table_like().ok_or_else(|| no_table(&above[..=depth]))?;
    }
    Ok(table.get(name).map(value_of))
}

/// The text with an entry at a path. Of one that is there already, the members that say how the server is
/// reached are replaced, and others stay.
///
/// # Errors
///
/// Those of [`get`].
pub fn set(text: &str, path: &[&str], entry: &Entry) -> Result<String, EditError> {
    edited(text, |document| {
        let (name, above) = path.split_last().expect("a path has a name");
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        let mut table: &mut dyn TableLike = document.as_table_mut();
        let mut is_inline = false;
        for (depth, name) in above.iter().enumerate() {
            let mut implicit = Table::new();
            implicit.set_implicit(true);
            let item = table.entry(name).or_insert(Item::Table(implicit));
            is_inline = item.is_inline_table();
            table = item.as_table_like_mut().ok_or_else(|| no_table(&above[..=depth]))?;
        }
        match table.get_mut(name) {
            Some(item) => match item.as_table_like_mut() {
                Some(present) => update(present, entry),
                None => return Err(no_table(path)),
            },
            None => {
                let mut new = Table::new();
                update(&mut new, entry);
                if is_inline {
                    table.insert(name, Item::Value(new.into_inline_table().into()));
                } else {
                    // What stands at the end of the file stays before what comes behind it.
                    if !trailing.is_empty() {
                        new.decor_mut().set_prefix(format!("{trailing}\n"));
                    }
                    table.insert(name, Item::Table(new));
                    document.set_trailing("");
                }
            }
        }
        Ok(())
    })
}

/// The text without the entry at a path, and without the tables around it that are empty then. Where
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
    edited(text, |document| {
        let removed = remove(document.as_table_mut(), path);
        let lead = removed.as_ref().and_then(Item::as_table).map(|table| table.decor().prefix());
        let lead = lead.flatten().and_then(|lead| lead.as_str()).unwrap_or_default();
        // Comments that stood before it are somebody else's.
        if lead.contains('#') {
            let trailing = document.trailing().as_str().unwrap_or_default();
            let trailing = format!("{}{trailing}", lead.strip_suffix('\n').unwrap_or(lead));
            document.set_trailing(trailing);
        }
        Ok(())
    })
}

/// The text with a setting at its top level, known as ours; as it is where there is that key already,
/// unless `over` is set and it has another value.
///
/// # Errors
///
/// The text is no TOML.
pub fn set_setting(text: &str, key: &str, value: &Value, over: bool) -> Result<String, EditError> {
    edited(text, |document| {
        let present = document.get(key).map(value_of);
        if present.as_ref() == Some(value) || (present.is_some() && !over) {
            return Ok(());
        }
        let trailing = document.trailing().as_str().unwrap_or_default().to_owned();
        let is_only = document.as_table().is_empty();
        let mut item = item_of(value);
        if let Some(value) = item.as_value_mut() {
            value.decor_mut().set_suffix(format!("  {OURS}"));
        }
        document.insert(key, item);
        if is_only && !trailing.is_empty() {
            if let Some(mut key) = document.as_table_mut().key_mut(key) {
                key.leaf_decor_mut().set_prefix(trailing);
            }
            document.set_trailing("");
        }
        Ok(())
    })
}

/// Tells whether there are settings that are known as ours.
///
/// # Errors
///
/// The text is no TOML.
pub fn has_settings(text: &str) -> Result<bool, EditError> {
    Ok(parse(split_mark(text).1)?.iter().any(|(_, item)| is_ours(item)))
}

/// The text without the settings that are known as ours.
///
/// # Errors
///
/// The text is no TOML.
pub fn unset_settings(text: &str) -> Result<String, EditError> {
    unset_those(text, |_, _| true)
}

/// The text without a setting that is known as ours and has this value.
///
/// # Errors
///
/// The text is no TOML.
pub fn unset_setting(text: &str, key: &str, value: &Value) -> Result<String, EditError> {
    unset_those(text, |name, item| name == key && value_of(item) == *value)
}

fn unset_those(text: &str, goes: impl Fn(&str, &Item) -> bool) -> Result<String, EditError> {
    edited(text, |document| {
        let ours = document.iter().filter(|(key, item)| is_ours(item) && goes(key, item));
        let ours: Vec<String> = ours.map(|(key, _)| key.to_owned()).collect();
        for key in ours {
            let removed = document.as_table_mut().remove_entry(&key);
            let lead = removed.as_ref().and_then(|(key, _)| key.leaf_decor().prefix()?.as_str());
            if let Some(lead) = lead.filter(|lead| lead.contains('#')) {
                let trailing = document.trailing().as_str().unwrap_or_default();
                document.set_trailing(format!("{lead}{trailing}"));
            }
        }
        Ok(())
    })
}

/// Tells whether a text holds nothing, not even a comment.
pub fn is_empty(text: &str) -> bool {
    split_mark(text).1.trim().is_empty()
}

/// A text after a change of its document, with its own ends of lines, which the document does not keep.
fn edited(
    text: &str,
    change: impl FnOnce(&mut DocumentMut) -> Result<(), EditError>,
) -> Result<String, EditError> {
    let (mark, body) = split_mark(text);
    let mut document = parse(body)?;
    let unchanged = document.to_string();
    change(&mut document)?;
    let after = document.to_string();
    if after == unchanged {
        return Ok(text.to_owned());
    }
    let after = after.replace("\r\n", "\n").replace('\n', line_end(body));
    Ok(format!("{mark}{after}"))
}

fn parse(text: &str) -> Result<DocumentMut, EditError> {
    text.parse().map_err(|error: TomlError| {
        let (line, column) = place(text, error.span().map_or(0, |span| span.start));
        EditError::Syntax { line, column, reason: error.message().replace('\n', ", ") }
    })
}

fn is_ours(item: &Item) -> bool {
    let suffix = item.as_value().and_then(|value| value.decor().suffix()?.as_str());
    suffix.is_some_and(|suffix| suffix.contains(OURS))
}

fn no_table(path: &[&str]) -> EditError {
    EditError::Shape(format!("{:?} is expected to be a table", path.join(".")))
}

fn update(present: &mut dyn TableLike, entry: &Entry) {
    let names: Vec<String> = present.iter().map(|(name, _)| name.to_owned()).collect();
    for name in stale(names.into_iter(), entry) {
        present.remove(&name);
    }
    for (name, value) in entry {
        let mut item = item_of(value);
        match present.get(name) {
            Some(old) if value_of(old) == *value => continue,
            Some(old) => {
                if let (Some(old), Some(new)) = (old.as_value(), item.as_value_mut()) {
                    *new.decor_mut() = old.decor().clone();
                }
            }
            None => {}
        }
        present.insert(name, item);
    }
}

/// Takes an item out of a table, and the tables around it that nobody has written then.
fn remove(table: &mut dyn TableLike, path: &[&str]) -> Option<Item> {
    let (name, inside) = path.split_first()?;
    if inside.is_empty() {
        return table.remove(name);
    }
    let inner = table.get_mut(name)?.as_table_like_mut()?;
    let (removed, is_empty) = (remove(inner, inside), inner.is_empty());
    // One that somebody has written a header for stays.
    let is_implicit = table.get(name).and_then(Item::as_table).is_some_and(Table::is_implicit);
    if is_empty && is_implicit {
        table.remove(name);
    }
    removed
}

fn item_of(value: &Value) -> Item {
    match value {
        Value::Bool(value) => toml_edit::value(*value),
        Value::Number(number) => toml_edit::value(number.as_i64().unwrap_or_default()),
        Value::Array(values) => {
            let texts = values.iter().filter_map(Value::as_str);
            toml_edit::value(texts.collect::<Array>())
        }
        value => toml_edit::value(value.as_str().unwrap_or_default()),
    }
}

/// An item as JSON, as far as entries and settings have such values.
fn value_of(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table.iter().map(|(name, item)| (name.to_owned(), value_of(item))).collect();
    }
    match item {
        Item::Value(toml_edit::Value::String(text)) => text.value().as_str().into(),
        Item::Value(toml_edit::Value::Integer(number)) => (*number.value()).into(),
        Item::Value(toml_edit::Value::Boolean(value)) => (*value.value()).into(),
        Item::Value(toml_edit::Value::Array(values)) => {
            values.iter().map(|value| value_of(&Item::Value(value.clone()))).collect()
        }
        other => other.to_string().trim().into(),
    }
}
