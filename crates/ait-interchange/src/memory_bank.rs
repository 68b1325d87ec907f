//! Memory banks: the folders of Markdown files in which Roo Code, Cline and their relatives keep what they know, such
//! as `memory-bank/decisionLog.md`.
//!
//! What has a time of its own, such as `* [2025-06-18 22:14:45] - …`, a row of a table with dates, or a decision with
//! its sections, becomes an entry of its own. The rest becomes an entry for each section. What the templates of these
//! files say becomes nothing.

use std::collections::HashSet;

use super::entries::FoundEntry;
use super::markdown::{field_in, file_name, heading};
use super::{Content, ReadOptions, defaults, markdown, times};
use ait_domain::{Classification, Timestamp};

/// The files, in lower case and without hyphens, and the kinds of their entries. All but the last one have names that
/// no other file has.
const FILES: [(&str, Classification); 7] = [
    ("decisionlog", Classification::Decision),
    ("activecontext", Classification::Progress),
    ("productcontext", Classification::Fact),
    ("projectbrief", Classification::Fact),
    ("systempatterns", Classification::Fact),
    ("techcontext", Classification::Fact),
    ("progress", Classification::Progress),
];
/// How the lines begin that only the templates say.
const TEMPLATE: [&str; 9] = [
    "this file ",
    "this document ",
    "it is optional",
    "optional",
    "log of updates",
    "additional files added",
    "template instructions",
    "to be defined",
    "footnotes",
];
/// What stands for nothing.
const NOTHING: [&str; 6] = ["", "n/a", "none", "tbd", "todo", "..."];

/// A part of a file that becomes an entry.
struct Part {
    /// The heading above it, or its own one.
    heading: String,
    at: Option<Timestamp>,
    form: Form,
    lines: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A line with a time, and what belongs to it.
    Row,
    /// A line with a time that is no item of a list, so that sections may follow.
    Title,
    /// A decision with its sections.
    Decision,
    Section,
}

/// Reads the memory banks among files, which come with their paths, and removes them from the list.
pub(super) fn read(files: &mut Vec<(&str, &str)>, options: &ReadOptions) -> Vec<Content> {
    let folder = |path: &str| path[..path.len() - file_name(path).len()].to_owned();
    let is_sure = |path: &str| kind_of(path).is_some() && squeezed(path) != "progress";
    let banks: HashSet<String> =
        files.iter().filter(|(path, _)| is_sure(path)).map(|(path, _)| folder(path)).collect();
    let (ours, others) = files.iter().partition(|(path, _)| banks.contains(&folder(path)));
    *files = others;
    let ours: Vec<(&str, &str)> = ours;
    let mut contents = Vec::new();
    let mut ids = HashSet::new();
    for (path, text) in ours {
        let before = contents.len();
        let reason = match kind_of(path) {
            Some(kind) => {
                for part in parts(text, kind == Classification::Decision, options) {
                    contents.extend(part.content(path, kind, &mut ids, options));
                }
                "it says nothing beyond its template"
            }
            None => "it is none of the files of a memory bank",
        };
        if contents.len() == before {
            let id = Some(file_name(path).to_owned());
            contents.push(Content::Skipped { id, title: None, reason: reason.to_owned() });
        }
    }
    contents
}

fn squeezed(path: &str) -> String {
    file_name(path).trim_end_matches(".md").to_lowercase().replace(['-', '_', ' '], "")
}

fn kind_of(path: &str) -> Option<Classification> {
    let name = squeezed(path);
    FILES.iter().find(|(file, _)| *file == name).map(|(_, kind)| *kind)
}

/// Splits a file into the parts that become entries.
fn parts(text: &str, is_log: bool, options: &ReadOptions) -> Vec<Part> {
    let text = without_comments(&text.replace("\r\n", "\n"));
    let (_, body) = markdown::split(&text);
    let mut parts: Vec<Part> = Vec::new();
    let begin = |heading: &str, at, form, line: &str| {
        let lines = if line.is_empty() { Vec::new() } else { vec![line.to_owned()] };
        Part { heading: heading.to_owned(), at, form, lines }
    };
    let mut section = String::new();
    let mut date_column = None;
    let mut table = String::new();
    let mut is_code = false;
    // Whether a section has begun, so that a line with a time is no part of the introduction.
    let mut is_open = is_log;
    for line in body.lines() {
        let current = parts.last().map(|part| part.form);
        let is_begun = parts.last().is_some_and(|part| {
            part.form == Form::Title
                && part.lines.iter().filter(|line| !line.trim().is_empty()).count() == 1
        });
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if (is_code || is_fence)
            && let Some(part) = parts.last_mut()
        {
            part.lines.push(line.to_owned());
        } else if let Some((level, title)) = heading(line) {
            date_column = None;
            let is_decision =
                is_log && level > 1 && starts(title, "decision") && !starts(title, "decision log");
            if let Some((at, rest)) = dated(title, options) {
                parts.push(begin(rest, Some(at), Form::Decision, rest));
            } else if is_decision && is_begun {
                parts.last_mut().expect("it has begun").form = Form::Decision;
            } else if is_decision {
                let title =
                    title["decision".len()..].trim_start_matches(|one: char| !one.is_alphabetic());
                parts.push(begin(title, None, Form::Decision, title));
            } else if current == Some(Form::Decision) || current == Some(Form::Title) && is_open {
                parts.last_mut().expect("it is open").lines.push(line.to_owned());
            } else {
                let title = if level == 1 { "" } else { title };
                title.clone_into(&mut section);
                is_open |= level > 1;
                parts.push(begin(title, None, Form::Section, ""));
            }
        } else if line.trim_start().starts_with('|') {
            let cells: Vec<_> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
            let at = date_column.and_then(|column: usize| time_in(cells.get(column)?, options));
            let named = |name| cells.iter().position(|cell| starts(cell, name));
            if named("date").is_some() {
                date_column = named("date");
                table = if named("decision").is_some() {
                    "Decisions".to_owned()
                } else {
                    section.clone()
                };
            } else if date_column.is_some() {
                let is_time = |column: usize| at.is_some() && Some(column) == date_column;
                let others = cells.iter().enumerate().filter(|(column, _)| !is_time(*column));
                let cells: Vec<_> =
                    others.map(|(_, cell)| *cell).filter(|cell| !is_nothing(cell)).collect();
                parts.push(begin(&table, at, Form::Row, &cells.join(" — ")));
            } else if let Some(part) = parts.last_mut() {
                part.lines.push(line.to_owned());
            }
        } else if let Some((at, rest)) =
            dated(line, options).filter(|_| !line.starts_with([' ', '\t']))
        {
            let form = if item(line).is_some() { Form::Row } else { Form::Title };
            parts.push(begin(&section, Some(at), form, rest));
        } else {
            // The end of a row: an item beside it, or a text behind a blank line.
            let is_new = !line.starts_with([' ', '\t']) && !line.trim().is_empty();
            let last = parts.last().and_then(|part| part.lines.last());
            let is_apart = item(line).is_some() || last.is_none_or(|last| last.trim().is_empty());
            let is_closed = matches!(current, None | Some(Form::Row))
                || current == Some(Form::Title) && !is_open;
            if is_closed && is_new && is_apart {
                let heading = section.clone();
                parts.push(begin(&heading, None, Form::Section, ""));
            }
            if let Some(part) = parts.last_mut() {
                part.lines.push(line.to_owned());
            }
        }
    }
    joined(parts)
}

/// Joins what stands between the rows of a section.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        let same = joined.iter_mut().find(|one| {
            one.form == Form::Section
                && part.form == Form::Section
                && one.heading == part.heading
                && !one.heading.is_empty()
        });
        match same {
            Some(same) => same.lines.extend(part.lines),
            None => joined.push(part),
        }
    }
    joined
}

impl Part {
    fn content(
        mut self,
        path: &str,
        kind: Classification,
        ids: &mut HashSet<ait_domain::IssueId>,
        options: &ReadOptions,
    ) -> Option<Content> {
        let text = told(&self.lines)?;
        let text = match (self.form, &*self.heading) {
            (Form::Section, heading) if !heading.is_empty() => format!("## {heading}\n\n{text}"),
            _ => plain(item(&text).unwrap_or(&text)),
        };
        if self.at.is_none() && kind == Classification::Decision {
            self.at = field_in(&text, "date").and_then(|date| time_in(&date, options));
        }
        let says = |words: &[&str]| {
            let heading = self.heading.to_lowercase();
            words.iter().any(|word| heading.contains(word))
        };
        let kind = match kind {
            _ if says(&["decision"]) => Classification::Decision,
            Classification::Progress if says(&["issue", "question", "blocker"]) => {
                Classification::Fact
            }
            kind => kind,
        };
        let at = self.at.map(|at| at.to_string()).unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let names = [&*squeezed(path), &*self.heading, &*at, first];
        let mut id = defaults::id("memory bank", &names);
        if !ids.insert(id) {
            id = defaults::id("memory bank", &[&names[..], &[&text]].concat());
            if !ids.insert(id) {
                // The file says it twice.
                return None;
            }
        }
        let content = match FoundEntry::with_text(id, &text) {
            Ok(entry) => FoundEntry { created_at: self.at, ..entry }.content(kind, options),
            Err(refusal) => Content::Refused {
                id: Some(file_name(path).to_owned()),
                title: Some(first.to_owned()),
                reason: refusal.to_string(),
                blamed: None,
            },
        };
        Some(content)
    }
}

/// Returns what lines say beyond the template, if they say anything.
fn told(lines: &[String]) -> Option<String> {
    let lines: Vec<_> =
        lines.iter().filter(|line| line.trim().is_empty() || !is_nothing(line)).collect();
    let mut told: Vec<&str> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let mut below = lines[at + 1..].iter().filter(|line| !line.trim().is_empty());
        // A section whose text was a template.
        let is_empty = heading(line).is_some_and(|(level, _)| {
            below.next().is_none_or(|next| heading(next).is_some_and(|(other, _)| other <= level))
        });
        let is_second_blank =
            line.trim().is_empty() && told.last().is_none_or(|last| last.is_empty());
        if !is_empty && !is_second_blank {
            told.push(line.trim_end());
        }
    }
    let says =
        told.iter().any(|line| !line.is_empty() && heading(line).is_none() && *line != "---");
    let text = told.join("\n");
    let text = text.trim().trim_end_matches("---").trim_end();
    says.then(|| text.to_owned()).filter(|text| !text.is_empty())
}

/// Returns a text whose first line is not bold as a whole.
fn plain(text: &str) -> String {
    let (first, rest) =
        text.split_once('\n').map_or((text, ""), |(first, _)| (first, &text[first.len()..]));
    let inside = first.trim().strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    let inside = inside.filter(|line| !line.contains("**"));
    inside.map_or(text.to_owned(), |inside| format!("{inside}{rest}"))
}

/// Returns true if a line says nothing, or only what a template says.
fn is_nothing(line: &str) -> bool {
    let text = item(line).unwrap_or(line).trim();
    let text = text.strip_prefix("[ ]").or(text.strip_prefix("[x]")).unwrap_or(text);
    let text = text.trim_matches(['*', '_', '"', ' ', '-', '>']);
    let lower = text.to_lowercase();
    // Such as `**Date:** [Date]`: a name, and a place for its value.
    let value = text.split_once(":**").map_or(text, |(_, value)| value).trim();
    lower.contains("yyyy-mm-dd")
        || NOTHING.contains(&&*lower)
        || TEMPLATE.iter().any(|start| lower.starts_with(start))
        || !value.is_empty() && is_place(value)
}

/// Returns true for the places of a template, such as `[Milestone 1] - [Date]`.
fn is_place(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '-', ',', ':', '.']);
        if rest.is_empty() {
            return text.starts_with('[');
        }
        let Some((inside, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        else {
            return false;
        };
        if !inside.starts_with(char::is_alphabetic) {
            return false;
        }
        rest = after;
    }
}

/// Returns the text of an item of a list.
fn item(line: &str) -> Option<&str> {
    let bare = line.trim_start();
    let text = ["* ", "- ", "+ "].iter().find_map(|mark| bare.strip_prefix(mark));
    text.or_else(|| matches!(bare, "*" | "-" | "+").then_some("")).map(str::trim_start)
}

/// Splits the time from the text of a line.
fn dated<'a>(line: &'a str, options: &ReadOptions) -> Option<(Timestamp, &'a str)> {
    let text = item(line).unwrap_or(line);
    let text =
        text.trim_start_matches("[x] ").trim_start_matches("[ ] ").trim_start_matches(['*', '"']);
    let (time, rest) = match text.strip_prefix('[') {
        Some(inside) => inside.split_once(']')?,
        None => {
            // With a time of the day, or without.
            let is_time = |length: &usize| {
                text.get(..*length).is_some_and(|time| time_in(time, options).is_some())
            };
            text.split_at(
                ["2025-06-18 22:14:45".len(), "2025-06-18".len()].into_iter().find(is_time)?,
            )
        }
    };
    let rest = rest.strip_prefix("**").unwrap_or(rest);
    Some((time_in(time, options)?, rest.trim_start_matches([' ', '-', '–', '—', ':', '"'])))
}

/// Returns the time in a text that is one, or that begins with a day.
fn time_in(text: &str, options: &ReadOptions) -> Option<Timestamp> {
    let text = text.trim();
    let is_long = text.len() >= "2025-6-1".len() && text.contains(|one: char| one.is_ascii_digit());
    let parse = |text: &str| times::parse(text, options.date_order).ok();
    parse(text).or_else(|| parse(text.split(' ').next()?)).filter(|_| is_long)
}

fn starts(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start))
}

/// Returns a text without HTML comments.
fn without_comments(text: &str) -> String {
    let mut parts = text.split("<!--");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |all, part| all + part.split_once("-->").map_or("", |(_, after)| after))
}
