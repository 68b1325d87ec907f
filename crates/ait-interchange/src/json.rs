//! One JSON document: `{"issues": […]}`, a bare array of issues, or a single issue.

use std::io;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::programs::{self, Document, Item};
use super::{FileEntry, ReadOptions, Unreadable, count_of_lines, fields, json_object};
use ait_domain::Issue;
use ait_domain::json_compat::{self, FormatError};

/// The lists of issues in documents of other programs, if nothing else in them looks like one.
const LISTS: [&str; 6] = ["items", "value", "tasks", "data", "results", "nodes"];
/// How deep lists are looked for.
const MAX_DEPTH: usize = 4;
/// The names of titles; many other objects have a name.
const TITLES: [&str; 3] = ["title", "summary", "subject"];

/// Reads the entries of a document. Keys other than that of the list of issues are ignored.
///
/// # Errors
///
/// Returns an error for invalid JSON or JSON of another shape, or if a key of the mapping is missing.
pub fn read(text: &str, options: &ReadOptions) -> Result<Vec<FileEntry>, Unreadable> {
    let mended = json_compat::without_lone_surrogates(text.as_bytes());
    let bytes = mended.as_deref().unwrap_or(text.as_bytes());
    let items = parse(bytes, options)?;
    json_object::check_keys(items.iter().map(Item::text), &options.mapping)?;
    let mut line = 1;
    let mut counted_to = 0;
    let read = |item: &Item<'_>| {
        // The entries are consecutive slices of the document.
        let at = item.origin.get().as_ptr() as usize - bytes.as_ptr() as usize;
        line += count_of_lines(bytes.get(counted_to..at).unwrap_or_default());
        counted_to = at;
        FileEntry { line, item: None, content: json_object::read(item.text(), options) }
    };
    let mut entries: Vec<_> = items.iter().map(read).collect();
    if entries.windows(2).any(|pair| pair[0].line == pair[1].line) {
        // The lines do not tell the entries apart.
        for (item, entry) in (1..).zip(&mut entries) {
            entry.item = Some(item);
        }
    }
    Ok(entries)
}

/// Returns true if an object is an answer with a list of issues, rather than an issue.
pub(super) fn is_answer(object: &Document<'_>) -> bool {
    let has = |key: &&str| object.contains_key(*key);
    ["issues", "data"].iter().any(has) && !TITLES.iter().any(has)
}

/// Returns the objects of the entries. Some programs write one document after the other, such as
/// `gh api --paginate`.
fn parse<'a>(bytes: &'a [u8], options: &ReadOptions) -> Result<Vec<Item<'a>>, Unreadable> {
    let mut items = Vec::new();
    for document in serde_json::Deserializer::from_slice(bytes).into_iter() {
        let document = document.map_err(|error| FormatError::of(bytes, &error))?;
        items.extend(items_of(document, options)?);
    }
    Ok(items)
}

/// Returns the objects of a list. Their program may have put them into a list for each page.
fn plain<'a>(list: Vec<&'a RawValue>) -> Vec<Item<'a>> {
    let items = list.into_iter().map(|item| match serde_json::from_str(item.get()) {
        Ok(page) if item.get().starts_with('[') => plain(page),
        _ => vec![Item::plain(item)],
    });
    items.flatten().collect()
}

/// Returns the objects of a document.
fn items_of<'a>(whole: &'a RawValue, options: &ReadOptions) -> Result<Vec<Item<'a>>, Unreadable> {
    let bytes = whole.get().as_bytes();
    let fault = |error| Unreadable::from(FormatError::of(bytes, &error));
    if let Some(path) = &options.items {
        let mut at = whole;
        for key in path.split('.') {
            let found = serde_json::from_str::<Document<'a>>(at.get()).ok();
            at = found.and_then(|object| object.get(key).copied()).ok_or_else(|| {
                Unreadable::NoList { path: path.clone(), found: described(whole) }
            })?;
        }
        let list = serde_json::from_str(at.get()).map(plain);
        return list
            .map_err(|_| Unreadable::NoList { path: path.clone(), found: described(whole) });
    }
    if whole.get().starts_with('[') {
        let list: Vec<&RawValue> = serde_json::from_slice(bytes).map_err(fault)?;
        return Ok(programs::in_buckets(&list).unwrap_or_else(|| plain(list)));
    }
    let document: Document<'a> = serde_json::from_slice(bytes).map_err(fault)?;
    if let Some(issues) = document.get("issues") {
        return serde_json::from_str(issues.get()).map(plain).map_err(|_| Unreadable::NoList {
            path: "issues".to_owned(),
            found: described(whole),
        });
    }
    let items = programs::items(&document).or_else(|| programs::in_buckets(&[whole]));
    if let Some(items) = items {
        return Ok(items);
    }
    let lists = lists_in(whole);
    let has = |key: &&str| document.contains_key(*key);
    let is_titled = TITLES.iter().any(has);
    let is_list = |path: &str| LISTS.contains(&path) || path.starts_with("data.");
    match &lists[..] {
        [(path, list)] if is_list(path) && !is_titled => {
            return Ok(plain(list.clone()));
        }
        _ => {}
    }
    // A single issue, rather than a document without `issues`. Many other objects have a name.
    let is_field = |key: &String| fields::is_known(key) || options.mapping.get(key).is_some();
    let is_named = || {
        !has(&"name") || lists.is_empty() && document.keys().any(|key| fields::is_of_issues(key))
    };
    let is_issue =
        document.keys().any(is_field) && (is_titled || is_named() || !options.mapping.is_empty());
    if is_issue {
        return Ok(vec![Item::plain(whole)]);
    }
    Err(Unreadable::NoIssues { found: described(whole) })
}

/// Returns the lists of objects that have a title or a name, by the path of their keys. Lists of labels, people and
/// other fields of an issue do not count.
fn lists_in(whole: &RawValue) -> Vec<(String, Vec<&RawValue>)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), whole, 0)];
    while let Some((path, value, depth)) = open.pop() {
        let object: Document<'_> = serde_json::from_str(value.get()).unwrap_or_default();
        for (key, value) in object.into_iter().filter(|(key, _)| !fields::is_known(key)) {
            let path = if path.is_empty() { key } else { format!("{path}.{key}") };
            match value.get().as_bytes().first() {
                Some(b'{') if depth < MAX_DEPTH => open.push((path, value, depth + 1)),
                Some(b'[') => {
                    let list: Vec<&RawValue> =
                        serde_json::from_str(value.get()).unwrap_or_default();
                    let first = list.first().map(|first| first.get()).unwrap_or_default();
                    let first: Document<'_> = serde_json::from_str(first).unwrap_or_default();
                    if ["name", "fields"].iter().any(|key| first.contains_key(*key))
                        || TITLES.iter().any(|key| first.contains_key(*key))
                    {
                        found.push((path, list));
                    }
                }
                _ => {}
            }
        }
    }
    found
}

/// Describes a document for an error: its lists of objects, or else its keys.
fn described(whole: &RawValue) -> String {
    const SHOWN: usize = 10;
    let lists = lists_in(whole);
    let lists: Vec<_> = lists
        .iter()
        .take(SHOWN)
        .map(|(path, list)| format!("{} in `{path}`", list.len()))
        .collect();
    if !lists.is_empty() {
        return format!("objects with a title or a name: {}", lists.join(", "));
    }
    let keys: Document<'_> = serde_json::from_str(whole.get()).unwrap_or_default();
    let keys: Vec<_> = keys.keys().take(SHOWN).map(|key| format!("`{key}`")).collect();
    if keys.is_empty() { "no keys".to_owned() } else { format!("the keys {}", keys.join(", ")) }
}

/// Writes issues in the format of `issues.json`.
pub fn write(
    issues: &[Arc<Issue>],
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    struct Document<'a>(&'a [Arc<Issue>], &'a dyn Fn());
    struct Issues<'a>(&'a [Arc<Issue>], &'a dyn Fn());

    impl Serialize for Document<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry("issues", &Issues(self.0, self.1))?;
            map.end()
        }
    }

    impl Serialize for Issues<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.iter().map(|issue| {
                (self.1)();
                &**issue
            }))
        }
    }

    serde_json::to_writer_pretty(&mut *out, &Document(issues, written))?;
    out.write_all(b"\n")
}
