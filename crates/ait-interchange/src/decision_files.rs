//! Writes decisions as records, which `decisions` reads back.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::decisions::{
    CONTEXT, NO_CONTEXT, Names, OUTCOME, Record, has_word, number_in, out_of_sections,
};
use super::markdown::{file_name, heading};
use super::{Content, ReadOptions};
use ait_domain::external_id::RECORD_KEY;
use ait_domain::{Issue, IssueId, LinkKind, Timestamp, memory};

/// The longest name of a file without number and ending, in characters.
const MAX_NAME: usize = 60;

/// Returns files with decisions, by their names in ascending order. A decision keeps the file and the number that it
/// has among `others`, the files of the folder; new ones get the next numbers.
pub fn write(
    entries: &[Arc<Issue>],
    others: &[(String, String)],
    now: Timestamp,
) -> Vec<(String, String)> {
    let mut entries: Vec<&Issue> = entries.iter().map(|entry| &**entry).collect();
    entries.sort_by_key(|entry| (entry.created_at, entry.id));
    let records = others.iter().filter_map(|(path, text)| Record::of(path, text).ok());
    let there: HashMap<IssueId, String> =
        records.map(|record| (record.id(), record.file.to_owned())).collect();
    let known = |entry: &Issue| there.get(&entry.id).cloned().or_else(|| own_file(entry));
    let known: Vec<_> = entries.iter().map(|entry| known(entry)).collect();
    let numbers = others
        .iter()
        .map(|(path, _)| file_name(path))
        .chain(known.iter().flatten().map(String::as_str));
    let mut number = numbers.filter_map(number_in).max().unwrap_or(0);
    let mut taken = HashSet::new();
    let mut files = HashMap::new();
    for (entry, known) in entries.iter().zip(&known) {
        let file = known.clone().filter(|file| taken.insert(file.clone())).unwrap_or_else(|| {
            number += 1;
            format!("{number:04}-{}.md", slug(&entry.title))
        });
        files.insert(entry.id, file);
    }
    let names = Names::of(files.iter().map(|(id, file)| (file.as_str(), *id)));
    let write = |entry: &&Issue| (files[&entry.id].clone(), text_of(entry, &files, &names, now));
    let mut written: Vec<_> = entries.iter().map(write).collect();
    written.sort();
    written
}

/// Returns the file of a decision.
fn text_of(
    entry: &Issue,
    files: &HashMap<IssueId, String>,
    names: &Names,
    now: Timestamp,
) -> String {
    let file = &*files[&entry.id];
    let replaced_by = memory::replacement(entry).map(|other| match files.get(&other) {
        Some(file) => {
            let number = number_in(file).map_or(file.clone(), |number| format!("{number:04}"));
            format!("superseded by [{number}]({file})")
        }
        None => format!("superseded by {other}"),
    });
    let is_over = !memory::is_in_force(entry, now);
    let usual = if is_over { "deprecated" } else { "accepted" };
    let status = replaced_by.unwrap_or_else(|| usual.to_owned());
    let mut lines: Vec<String> = Vec::new();
    if own_file(entry).is_some() {
        lines.extend(kept(entry, "status").map(|word| format!("status: {}", quoted(&word))));
        lines.extend(kept(entry, "frontMatter").map(|matter| matter.trim_end().to_owned()));
    } else {
        lines.push(format!("status: {status}"));
        lines.push(format!("date: {}", &entry.created_at.to_string()[..10]));
        lines.push(format!("id: {}", entry.id));
    }
    let body = in_sections(entry).unwrap_or_else(|| entry.description.clone());
    // What the record does not say yet.
    let draft = |lines: &[String]| match Record::of(file, &with_matter(lines, &body)) {
        Ok(record) => match record.content(names, &ReadOptions::at(now)) {
            Content::Issue(draft) => Some(draft),
            _ => None,
        },
        Err(_) => None,
    };
    let is_said = |lines: &[String], is_same: &dyn Fn(&Issue) -> bool| {
        draft(lines).is_some_and(|draft| is_same(draft.issue.issue()))
    };
    if !is_said(&lines, &|said| said.title == entry.title) {
        lines.push(format!("title: {}", json!(entry.title)));
    }
    if !is_said(&lines, &|said| said.id == entry.id) {
        lines.push(format!("id: {}", entry.id));
    }
    let says_status = draft(&lines).is_some_and(|draft| {
        let due = draft.issue.issue().attributes.due;
        let mut links = draft.named_links.iter();
        match links.find(|link| link.kind == LinkKind::DuplicateOf) {
            Some(link) => memory::replacement(entry).is_some_and(|other| link.ids.contains(&other)),
            None => {
                !memory::is_replaced(entry) && due.is_some_and(|due| due.is_past_at(now)) == is_over
            }
        }
    });
    if !says_status {
        lines.retain(|line| !line.starts_with("status:"));
        lines.insert(0, format!("status: {status}"));
    }
    // A record without a date has that of its import.
    let is_undated = own_file(entry).is_some()
        && draft(&lines).is_some_and(|draft| draft.unstated.contains(&"createdAt"));
    if !is_undated && !is_said(&lines, &|said| said.created_at == entry.created_at) {
        lines.push(format!("kept: {}", entry.created_at));
    }
    if let Some(first) = entry.history.first()
        && !is_said(&lines, &|said| said.history[0].agent == first.agent)
    {
        lines.retain(|line| !line.starts_with("decision-makers:"));
        lines.push(format!("decision-makers: {}", quoted(&first.agent)));
    }
    let list = |name: &str, values: Vec<String>| {
        (!values.is_empty()).then(|| format!("{name}: [{}]", values.join(", ")))
    };
    let labels = entry.attributes.labels.iter().map(ToString::to_string);
    lines.extend(list("labels", labels.collect()));
    let related = entry.attributes.linked(LinkKind::Related).map(|id| id.to_string());
    lines.extend(list("related", related.collect()));
    if !is_said(&lines, &|said| said.attributes.due == entry.attributes.due) {
        let until = entry.attributes.due.map_or("null".to_owned(), |due| due.to_string());
        lines.push(format!("until: {until}"));
    }
    with_matter(&lines, &body)
}

fn with_matter(lines: &[String], body: &str) -> String {
    if lines.is_empty() {
        format!("{body}\n")
    } else {
        format!("---\n{}\n---\n\n{body}\n", lines.join("\n"))
    }
}

/// Returns a text without headings in the sections of a record, if they can be read back.
fn in_sections(entry: &Issue) -> Option<String> {
    let description = &*entry.description;
    let (text, about) = match description.rsplit_once("\n\nAbout: ") {
        Some((text, about)) if !about.contains('\n') => (text, format!("About: {about}")),
        _ if description.starts_with("About: ") => ("", description.to_owned()),
        _ => (description, String::new()),
    };
    if text.lines().any(|line| heading(line).is_some()) {
        return None;
    }
    let context = if about.is_empty() { NO_CONTEXT } else { &about };
    let outcome = if text.is_empty() { &entry.title } else { text };
    let body = format!("# {}{CONTEXT}{context}{OUTCOME}{outcome}", entry.title);
    let is_same = |(title, description): (String, String)| {
        title == entry.title && description == entry.description
    };
    out_of_sections(&body).is_some_and(is_same).then_some(body)
}

/// Returns the name of the file from which a decision was imported.
fn own_file(entry: &Issue) -> Option<String> {
    let file = file_name(&kept(entry, "file")?).to_owned();
    (file.ends_with(".md") && !file.contains(char::is_control)).then_some(file)
}

/// Returns what an import kept of a record besides its text.
fn kept(entry: &Issue, key: &str) -> Option<String> {
    let kept: Json = serde_json::from_str(entry.unknown_keys.get(RECORD_KEY)?).ok()?;
    kept[key].as_str().map(str::to_owned)
}

/// Returns a name for a file, from the words of a title.
fn slug(title: &str) -> String {
    let words = title.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words.map(str::to_lowercase) {
        if slug.chars().count() + word.chars().count() >= MAX_NAME {
            break;
        }
        slug = if slug.is_empty() { word } else { format!("{slug}-{word}") };
    }
    if slug.is_empty() { "decision".to_owned() } else { slug }
}

/// Returns a text as a value of front matter.
fn quoted(text: &str) -> String {
    const WORDS: &str = "null true false yes no on off";
    let is_plain = |one: char| one.is_alphanumeric() || " ._/+-[](),".contains(one);
    let is_text = text.starts_with(char::is_alphabetic) && text.trim() == text;
    let is_plain = is_text && text.chars().all(is_plain) && !has_word(WORDS, text);
    if is_plain { text.to_owned() } else { json!(text).to_string() }
}
