//! Folders in which a program keeps its issues in several files: Markdown files with a front matter, such as those of
//! Backlog.md, and the backups of beads (`bd backup`).

use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::{FileEntry, ReadOptions, Unreadable, json_lines, json_object};
use crate::json_compat;

/// The file of issues of beads.
const BEADS: &str = "issues.jsonl";
/// The files beside it in a backup: the key that the rows of each one get in their issue, and the key of a row that
/// stands for the whole row.
const BACKUP: [(&str, &str, Option<&str>); 3] = [
    ("dependencies.jsonl", "dependencies", None),
    ("labels.jsonl", "labels", Some("label")),
    ("comments.jsonl", "comments", None),
];
/// The folders of Backlog.md whose tasks are over.
const ENDED: [&str; 2] = ["completed/", "archive/"];

/// Returns true if a file of this name can have issues.
pub fn has_issues(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".md") || name == BEADS || BACKUP.iter().any(|(file, ..)| *file == name)
}

/// Reads the entries of the files of a folder, which come with their paths below it.
///
/// # Errors
///
/// Returns an error if no file has an issue.
pub fn read(
    files: &[(String, String)],
    options: &ReadOptions,
) -> Result<Vec<FileEntry>, Unreadable> {
    let named = |name: &str| {
        let found = files.iter().find(|(path, _)| path == name);
        found.map(|(_, text)| text.as_str())
    };
    if let Some(issues) = named(BEADS) {
        let rows = BACKUP.map(|(file, key, value)| (named(file).unwrap_or_default(), key, value));
        return json_lines::read(joined(issues, &rows), options);
    }
    let objects: Vec<_> = files.iter().filter_map(|(path, text)| object_of(path, text)).collect();
    if objects.is_empty() {
        return Err(Unreadable::NoFiles);
    }
    json_object::check_keys(objects.iter().map(String::as_str), &options.mapping)?;
    let read = |(number, object): (usize, &String)| FileEntry {
        line: 1,
        item: Some(number),
        content: json_object::read(object, options),
    };
    Ok((1..).zip(&objects).map(read).collect())
}

/// Returns the lines of a file of issues, with the rows of the other files in their issues.
fn joined(issues: &str, others: &[(&str, &str, Option<&str>)]) -> String {
    let mut rows: IndexMap<String, IndexMap<&str, Vec<Json>>> = IndexMap::new();
    for (text, key, value) in others {
        for line in text.lines() {
            let row: Json = serde_json::from_str(line).unwrap_or_default();
            let Some(issue) = row["issue_id"].as_str() else { continue };
            let row = value.map_or_else(|| row.clone(), |value| row[value].clone());
            rows.entry(issue.to_owned()).or_default().entry(key).or_default().push(row);
        }
    }
    let join = |line: &str| {
        let issue = serde_json::from_str::<IndexMap<String, Json>>(line).ok();
        let added = issue.as_ref().and_then(|issue| rows.get(issue.get("id")?.as_str()?));
        let Some((mut issue, added)) = issue.clone().zip(added) else { return line.to_owned() };
        for (key, values) in added {
            let has_own = issue
                .get(*key)
                .is_some_and(|own| own.as_array().is_some_and(|own| !own.is_empty()));
            if !has_own {
                issue.insert((*key).to_owned(), json!(values));
            }
        }
        serde_json::to_string(&issue).unwrap_or_default()
    };
    issues.split('\n').map(join).collect::<Vec<_>>().join("\n")
}

/// Returns a Markdown file with a front matter as an object. Returns `None` if the front matter is not that of an
/// issue: other pages have a title, too.
fn object_of(path: &str, text: &str) -> Option<String> {
    let text = json_compat::without_byte_order_mark(text.as_bytes());
    let text = str::from_utf8(text).ok()?.replace("\r\n", "\n");
    let (matter, body) = text.strip_prefix("---\n")?.split_once("\n---")?;
    let mut values = front_matter(matter);
    let has = |key: &str| values.contains_key(key);
    if !has("title") || !(has("id") || has("status")) {
        return None;
    }
    whole_names(&mut values);
    // Backlog.md marks its sections for itself.
    let is_mark = |line: &&str| line.starts_with("<!--") && line.trim_end().ends_with("-->");
    let lines = body.trim_start_matches('-').lines().filter(|line| !is_mark(line));
    let body = lines.collect::<Vec<_>>().join("\n");
    values.entry("description".to_owned()).or_insert_with(|| json!(body.trim()));
    let path = path.replace('\\', "/");
    if ENDED.iter().any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}"))) {
        values.insert("closed".to_owned(), json!(true));
    }
    serde_json::to_string(&values).ok()
}

/// Gives numbers of other tasks the prefix that the id of the task has, such as `task-`.
fn whole_names(values: &mut IndexMap<String, Json>) {
    let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let id = values.get("id").and_then(Json::as_str).unwrap_or_default().to_owned();
    let Some((prefix, _)) = id.rsplit_once('-').filter(|_| !is_number(&id)) else { return };
    let names = values.get_mut("dependencies").and_then(Json::as_array_mut);
    for name in names.into_iter().flatten() {
        if let Some(number) = name.as_str().filter(|name| is_number(name)) {
            *name = json!(format!("{prefix}-{number}"));
        }
    }
}

/// Parses the front matter of a file: the part of YAML in which programs write it. These are texts, lists and texts of
/// several lines.
fn front_matter(text: &str) -> IndexMap<String, Json> {
    let mut values: IndexMap<String, Json> = IndexMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_key = !line.starts_with([' ', '-', '#']);
        let Some((key, value)) = line.split_once(':').filter(|_| is_key) else { continue };
        let is_below = |line: &&str| line.starts_with([' ', '-']) || line.trim().is_empty();
        let mut below = Vec::new();
        while let Some(line) = lines.next_if(is_below) {
            below.push(line.trim());
        }
        let value = value.trim();
        let list = value.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
        let value = if let Some(list) = list {
            json!(list.split(',').map(scalar).filter(|item| !item.is_empty()).collect::<Vec<_>>())
        } else if value.is_empty() {
            let items = below.iter().filter_map(|line| line.strip_prefix('-'));
            json!(items.map(scalar).collect::<Vec<_>>())
        } else if value.starts_with('>') {
            json!(below.join(" ").trim())
        } else if value.starts_with('|') {
            json!(below.join("\n").trim())
        } else {
            let whole =
                below.iter().fold(value.to_owned(), |whole, line| format!("{whole} {line}"));
            json!(scalar(&whole))
        };
        values.insert(key.trim().to_owned(), value);
    }
    values
}

/// Returns a text without its quotation marks.
fn scalar(text: &str) -> String {
    let text = text.trim();
    let quoted = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    if let Some(text) = quoted('\'') {
        return text.replace("''", "'");
    }
    match quoted('"') {
        Some(inner) => serde_json::from_str(text).unwrap_or_else(|_| inner.to_owned()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_is_read_as_programs_write_it() {
        let text = "id: task-1\ntitle: 'It''s: late'\nlabels:\n  - a\n  - \"b c\"\nassignee: ['@ann', bo]\n\
                    empty: []\nlong: >-\n  one\n  two\nnone:\nfolded: a\n  b\n# comment\ndate: '2026-01-02 03:04'";
        assert_eq!(
            serde_json::to_value(front_matter(text)).unwrap(),
            json!({
                "id": "task-1", "title": "It's: late", "labels": ["a", "b c"],
                "assignee": ["@ann", "bo"], "empty": [], "long": "one two", "none": [],
                "folded": "a b", "date": "2026-01-02 03:04",
            })
        );
        assert_eq!(object_of("x.md", "# no front matter"), None);
        let task = "---\nid: task-3\ntitle: T\ndependencies: [1.2, task-2]\n---\n";
        let object: Json = serde_json::from_str(&object_of("x.md", task).unwrap()).unwrap();
        assert_eq!(object["dependencies"], json!(["task-1.2", "task-2"]));
    }
}
