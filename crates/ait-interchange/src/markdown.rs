//! Markdown files: their names, front matter and headings, and the fields in their lines.

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

/// Returns the level and the text of a heading.
pub(super) fn heading(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| (level, text.trim()))
}

/// Returns the value of a field: in a line such as `* **Status**: accepted` or a row of two cells, down to the end of
/// the first section, or else in a section of its own.
pub(super) fn field_in(body: &str, name: &str) -> Option<String> {
    let mut lines = body.lines();
    let mut sections = 0;
    while let Some(line) = lines.next() {
        match heading(line) {
            Some((level, text)) if level > 1 && text.eq_ignore_ascii_case(name) => {
                let section: Vec<_> = lines.take_while(|line| heading(line).is_none()).collect();
                return Some(section.join("\n").trim().to_owned()).filter(|text| !text.is_empty());
            }
            Some((level, _)) => sections += usize::from(level > 1),
            None if sections > 1 => {}
            None => {
                let row = line.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|'));
                let cells = row.and_then(|row| row.split_once('|'));
                let (start, value) = match cells.filter(|(_, value)| !value.contains('|')) {
                    Some(cells) => cells,
                    None => line.split_once(':').unwrap_or_default(),
                };
                if start.trim_matches([' ', '*', '-', '>', '_', '\t']).eq_ignore_ascii_case(name) {
                    let value = value.split("<!--").next().unwrap_or_default();
                    let value = value.trim_matches(['*', '_', ' ']).to_owned();
                    return Some(value).filter(|text| !text.is_empty());
                }
            }
        }
    }
    None
}

/// Returns the name of a file in a path.
pub(super) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Splits a file at its front matter: the front matter, if there is one, and the text below it.
pub(super) fn split(text: &str) -> (Option<&str>, &str) {
    let split = || {
        let (matter, body) = text.strip_prefix("---\n")?.split_once("\n---")?;
        Some((matter, body.trim_start_matches('-')))
    };
    split().map_or((None, text), |(matter, body)| (Some(matter), body))
}

/// Returns a front matter without some keys.
pub(super) fn without(text: &str, keys: &[&str]) -> String {
    let mut is_out = false;
    let is_in = |line: &&str| {
        if !line.starts_with([' ', '\t', '-', ']']) {
            is_out = line.split_once(':').is_some_and(|(key, _)| keys.contains(&&*scalar(key)));
        }
        !is_out
    };
    text.lines().filter(is_in).collect::<Vec<_>>().join("\n")
}

/// Parses the front matter of a file: the part of YAML in which programs write it. These are texts, lists and texts of
/// several lines. What is nested deeper stays a text.
pub(super) fn front_matter(text: &str) -> IndexMap<String, Json> {
    let mut values: IndexMap<String, Json> = IndexMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let is_key = !line.starts_with([' ', '\t', '-', '#', ']']);
        let Some((key, value)) = line.split_once(':').filter(|_| is_key) else { continue };
        let is_below =
            |line: &&str| line.starts_with([' ', '\t', '-', ']']) || line.trim().is_empty();
        let mut below = Vec::new();
        while let Some(line) = lines.next_if(is_below) {
            below.push(line);
        }
        let value = value_of(value.trim(), &below);
        values.insert(scalar(key), value);
    }
    values
}

/// Returns the value of a key, which may go on in the lines below it.
fn value_of(value: &str, below: &[&str]) -> Json {
    if value.starts_with(['>', '|']) {
        let indents = below.iter().filter(|line| !line.trim().is_empty());
        let indent = indents.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        let lines: Vec<_> =
            below.iter().map(|line| line.get(indent..).unwrap_or_default()).collect();
        let separator = if value.starts_with('>') { " " } else { "\n" };
        return json!(lines.join(separator).trim());
    }
    let is_item = |line: &&str| line.trim().starts_with('-');
    let plain = uncommented(value);
    if plain.is_empty() && below.iter().all(|line| is_item(line) || line.trim().is_empty()) {
        let items = below.iter().filter_map(|line| line.trim().strip_prefix('-'));
        return json!(items.map(scalar).filter(|item| !item.is_empty()).collect::<Vec<_>>());
    }
    let whole =
        below.iter().fold(plain.to_owned(), |whole, line| format!("{whole} {}", line.trim()));
    let whole = whole.trim();
    match whole.strip_prefix('[').and_then(|list| list.strip_suffix(']')) {
        Some(list) => json!(items_of(list)),
        None if matches!(whole, "null" | "Null" | "NULL" | "~") => Json::Null,
        None => json!(scalar(whole)),
    }
}

/// Splits the items of a list in brackets. Those in quotation marks may have commas.
fn items_of(list: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut open = None;
    for one in list.chars() {
        match open {
            None if one == ',' => items.push(String::new()),
            None if matches!(one, '\'' | '"') => open = Some(one),
            Some(mark) if one == mark => open = None,
            _ => {}
        }
        if let Some(item) = items.last_mut().filter(|_| open.is_some() || one != ',') {
            item.push(one);
        }
    }
    items.iter().map(|item| scalar(item)).filter(|item| !item.is_empty()).collect()
}

/// Returns a value without the comment behind it.
fn uncommented(value: &str) -> &str {
    let is_quoted = value.starts_with(['\'', '"']);
    if value.starts_with('#') {
        return "";
    }
    match value.split_once(" #").filter(|_| !is_quoted) {
        Some((value, _)) => value.trim_end(),
        None => value,
    }
}

/// Returns a text without its quotation marks.
fn scalar(text: &str) -> String {
    let text = uncommented(text.trim());
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
    fn fields_stand_in_lines_rows_and_sections() {
        for (text, status) in [
            ("# T\n\n* Status: accepted <!-- optional -->\n", Some("accepted")),
            ("# T\n\n- **Status:** ✅ Accepted\n", Some("✅ Accepted")),
            ("# T\n\n**Status**: done\n", Some("done")),
            ("# T\n\n| Field | Value |\n|---|---|\n| Status | Proposed |\n", Some("Proposed")),
            ("# T\n\n| Status | Date | By |\n", None),
            (
                "# T\n\nDate: x\n\n## Status\n\nAccepted\n\nAmends 3\n\n## Context\n",
                Some("Accepted\n\nAmends 3"),
            ),
            ("# T\n\n## A\n\n## B\n\nStatus: of something else\n", None),
            ("# T\n\n## Status\n\n## Context\n", None),
        ] {
            assert_eq!(field_in(text, "status").as_deref(), status, "{text}");
        }
    }

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
        let text = "a: b # why\nnothing: ~\nlist: [a, 'b, c',\n  d\n]\ntext: |\n  one\n    two\nnested:\n  a: 1\n  b: 2\n\
                    quoted: 'x # y' \nlater: [] # none\n\"k\": v";
        assert_eq!(
            serde_json::to_value(front_matter(text)).unwrap(),
            json!({
                "a": "b", "nothing": null, "list": ["a", "b, c", "d"], "text": "one\n  two",
                "nested": "a: 1 b: 2", "quoted": "x # y", "later": [], "k": "v",
            })
        );
    }
}
