//! A server entry, and settings, in TOML.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, TomlError};

use super::{EditError, ServerEntry, line_end, no_list, split_mark, stale};

/// The comment behind each setting of ours.
const OURS: &str = "# by ait init";

/// The entry at a path, if there is one.
///
/// # Errors
///
/// The text is not TOML, or the path leads through a value that is not a table.
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

/// The text with an entry at a path. A present entry gets our transport and keeps its other members.
pub fn set(text: &str, path: &[&str], entry: &ServerEntry) -> Result<String, EditError> {
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
                    // A comment at the end of the file stays above the new table.
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

/// The text without the entry at a path, and without the tables around it that are empty then and have no header.
pub fn unset(text: &str, path: &[&str]) -> Result<String, EditError> {
    edited(text, |document| {
        let removed = remove(document.as_table_mut(), path);
        let lead = removed.as_ref().and_then(Item::as_table).map(|table| table.decor().prefix());
        let lead = lead.flatten().and_then(|lead| lead.as_str()).unwrap_or_default();
        // The parser gives the comments above an entry to the entry, and they are not ours.
        if lead.contains('#') {
            let trailing = document.trailing().as_str().unwrap_or_default();
            let trailing = format!("{}{trailing}", lead.strip_suffix('\n').unwrap_or(lead));
            document.set_trailing(trailing);
        }
        Ok(())
    })
}

/// The text with those of the items in the list at a path that it lacks. The list is made if it is missing.
///
/// # Errors
///
/// Those of [`get`], and a value at the path that is no list.
pub fn append_missing(text: &str, path: &[&str], items: &[String]) -> Result<String, EditError> {
    let (name, above) = path.split_last().expect("a path has a name");
    let Some(present) = get(text, path)? else {
        let list = ServerEntry::from_iter([((*name).to_owned(), Value::from(items))]);
        return if items.is_empty() { Ok(text.to_owned()) } else { set(text, above, &list) };
    };
    let present = present.as_array().ok_or_else(|| no_list(path))?;
    edited(text, |document| {
        let list = list(document.as_table_mut(), path).ok_or_else(|| no_list(path))?;
        let is_missing = |item: &&String| !present.iter().any(|present| present == *item);
        items.iter().filter(is_missing).for_each(|item| list.push(item));
        Ok(())
    })
}

/// The text without some items of the list at a path, without the list if it is empty then, and without the table
/// around it that is empty then.
pub fn remove_items(
    text: &str,
    path: &[&str],
    is_unwanted: &dyn Fn(&Value) -> bool,
) -> Result<String, EditError> {
    let (_, above) = path.split_last().expect("a path has a name");
    let Some(present) = get(text, path)? else { return Ok(text.to_owned()) };
    if !present.as_array().ok_or_else(|| no_list(path))?.iter().any(is_unwanted) {
        return Ok(text.to_owned());
    }
    let is_wanted = |value: &toml_edit::Value| !is_unwanted(&value_of(&Item::Value(value.clone())));
    let mut is_empty = false;
    let rest = edited(text, |document| {
        let list = list(document.as_table_mut(), path).ok_or_else(|| no_list(path))?;
        list.retain(is_wanted);
        is_empty = list.is_empty() && !list.to_string().contains('#');
        Ok(())
    })?;
    let rest = if is_empty { unset(&rest, path)? } else { rest };
    match get(&rest, above)? {
        Some(Value::Object(table)) if table.is_empty() => unset(&rest, above),
        _ => Ok(rest),
    }
}

/// The text with a setting of ours at its top level.
pub fn set_setting(text: &str, key: &str, value: &Value) -> Result<String, EditError> {
    edited(text, |document| {
        if document.get(key).map(value_of).as_ref() == Some(value) {
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

/// The text with a setting, unless it has it already.
pub fn set_missing_setting(text: &str, key: &str, value: &Value) -> Result<String, EditError> {
    let document = parse(split_mark(text).1)?;
    if document.contains_key(key) { Ok(text.to_owned()) } else { set_setting(text, key, value) }
}

/// The text without our settings.
pub fn unset_settings(text: &str) -> Result<String, EditError> {
    unset_those(text, |_, _| true)
}

/// The text without a setting, if it is ours and has this value.
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

/// Changes the document of a text, and keeps its line ends, which the document does not.
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
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(text);
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
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

fn update(present: &mut dyn TableLike, entry: &ServerEntry) {
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

/// The list at a path, if there is one.
fn list<'a>(table: &'a mut dyn TableLike, path: &[&str]) -> Option<&'a mut Array> {
    let (name, inside) = path.split_first()?;
    let item = table.get_mut(name)?;
    if inside.is_empty() { item.as_array_mut() } else { list(item.as_table_like_mut()?, inside) }
}

/// Removes an item from a table, and the tables around it that are empty then.
fn remove(table: &mut dyn TableLike, path: &[&str]) -> Option<Item> {
    let (name, inside) = path.split_first()?;
    if inside.is_empty() {
        return table.remove(name);
    }
    let inner = table.get_mut(name)?.as_table_like_mut()?;
    let removed = remove(inner, inside);
    let is_empty = inner.is_empty();
    // A table with a header of its own stays.
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

/// An item as JSON. Types that entries and settings do not have become texts.
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
