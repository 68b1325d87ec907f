//! Folders in which a program keeps its issues in several files: Markdown files with a front matter, such as those of
//! Backlog.md, the backups of beads (`bd backup`), memory banks and decision records.

use std::collections::HashMap;
use std::path::Path;

use indexmap::IndexMap;
use serde_json::{Value as Json, json};

use super::{
    Content, FileEntry, ReadOptions, Unreadable, decisions, json_lines, json_object, markdown,
    memory_bank,
};
use ait_domain::json_compat;

/// The file of issues of beads.
const BEADS: &str = "issues.jsonl";
/// The files beside it in a backup: the key that the rows of each one get in their issue, and the key of a row that
/// stands for the whole row.
const BACKUP: [(&str, &str, Option<&str>); 3] = [
    ("dependencies.jsonl", "dependencies", None),
    ("labels.jsonl", "labels", Some("label")),
    ("comments.jsonl", "comments", None),
];
/// How the ids of documents and decisions of Backlog.md begin.
const PAGES: [&str; 2] = ["doc-", "decision-"];
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
    let mut files = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let mut contents = memory_bank::read(&mut files, options);
    let mut objects = Vec::new();
    let mut others = Vec::new();
    for (path, text) in files {
        match object_of(path, text).filter(|object| !decisions::is_record(object, text)) {
            Some(object) => objects.push(object),
            None => others.push((path, text)),
        }
    }
    contents.extend(tasks(&mut objects, options)?);
    contents.extend(decisions::read(&others, options));
    if contents.is_empty() {
        return Err(Unreadable::NoFiles);
    }
    let entry = |(item, content)| FileEntry { line: 1, item: Some(item), content };
    Ok((1..).zip(contents).map(entry).collect())
}

/// Reads tasks of Backlog.md.
fn tasks(
    objects: &mut [IndexMap<String, Json>],
    options: &ReadOptions,
) -> Result<Vec<Content>, Unreadable> {
    whole_names(objects);
    let texts: Vec<String> = objects.iter().map(|object| json!(object).to_string()).collect();
    if !objects.is_empty() {
        json_object::check_keys(texts.iter().map(String::as_str), &options.mapping)?;
    }
    let content = |(object, text): (&IndexMap<String, Json>, &String)| {
        let name = |key: &str| object.get(key).and_then(Json::as_str).map(str::to_owned);
        let id = name("id");
        if id.as_ref().is_some_and(|id| PAGES.iter().any(|page| id.starts_with(page))) {
            let reason = "documents and decisions of Backlog.md are no work".to_owned();
            return Content::Skipped { id, title: name("title"), reason };
        }
        json_object::read(text, options)
    };
    Ok(objects.iter().zip(&texts).map(content).collect())
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
fn object_of(path: &str, text: &str) -> Option<IndexMap<String, Json>> {
    let text = json_compat::without_byte_order_mark(text.as_bytes());
    let text = str::from_utf8(text).ok()?.replace("\r\n", "\n");
    let (matter, body) = markdown::split(&text);
    let mut values = markdown::front_matter(matter?);
    let has = |key: &str| values.contains_key(key);
    if !has("title") || !(has("id") || has("status")) {
        return None;
    }
    // Backlog.md marks its sections for itself.
    let is_mark = |line: &&str| line.starts_with("<!--") && line.trim_end().ends_with("-->");
    let lines = body.lines().filter(|line| !is_mark(line));
    let body = lines.collect::<Vec<_>>().join("\n");
    values.entry("description".to_owned()).or_insert_with(|| json!(body.trim()));
    let path = path.replace('\\', "/");
    if ENDED.iter().any(|folder| path.starts_with(folder) || path.contains(&format!("/{folder}"))) {
        values.insert("closed".to_owned(), json!(true));
    }
    Some(values)
}

/// Gives each name of another task the form of its id: its case, and for a number the prefix of the task, such as
/// `task-`.
fn whole_names(tasks: &mut [IndexMap<String, Json>]) {
    const NAMES: [&str; 4] = ["dependencies", "parent", "parent_task_id", "parent_task"];
    let id = |task: &IndexMap<String, Json>| Some(task.get("id")?.as_str()?.to_owned());
    let ids: HashMap<String, String> =
        tasks.iter().filter_map(id).map(|id| (id.to_lowercase(), id)).collect();
    for task in tasks {
        let own = id(task).unwrap_or_default();
        let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
        let prefix = own.rsplit_once('-').filter(|_| !is_number(&own)).map(|(prefix, _)| prefix);
        let name = |name: &str| {
            let prefix = prefix.filter(|_| is_number(name));
            let whole = prefix.map_or(name.to_owned(), |prefix| format!("{prefix}-{name}"));
            ids.get(&whole.to_lowercase()).cloned().unwrap_or(whole)
        };
        for key in NAMES {
            match task.get_mut(key) {
                Some(Json::String(one)) => *one = name(one),
                Some(Json::Array(list)) => {
                    let names = list.iter().filter_map(Json::as_str).map(name);
                    *list = names.map(Json::from).collect();
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_name_each_other_in_the_form_of_their_ids() {
        assert_eq!(object_of("x.md", "# no front matter"), None);
        let task = "---\nid: task-3\ntitle: T\ndependencies: [1.2, task-2]\n---\n";
        let mut tasks =
            [task, "---\nid: Task-2\ntitle: T\n---"].map(|text| object_of("x.md", text).unwrap());
        whole_names(&mut tasks);
        assert_eq!(tasks[0]["dependencies"], json!(["task-1.2", "Task-2"]));
    }
}
