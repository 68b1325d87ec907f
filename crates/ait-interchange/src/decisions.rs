//! Decision records: Markdown files such as `docs/adr/0007-use-postgresql.md`, one for each decision.
//!
//! Reads MADR 2 to 4 (<https://adr.github.io/madr/>) and the records of Michael Nygard and `adr-tools`;
//! [`decision_files`](super::decision_files) writes MADR 4. The text of a record stays whole. Status, date and authors
//! stand in its front matter, in lines such as `* Status: accepted`, or in sections of their own. The name of its file
//! identifies a record; one that `ait` wrote has its id in the front matter, and there whatever else it does not say.

use std::collections::HashMap;

use chrono::NaiveDate;
use indexmap::IndexMap;
use serde_json::value::to_raw_value;
use serde_json::{Value as Json, json};

use super::entries::FoundEntry;
use super::markdown::{field_in, file_name, heading};
use super::value::Value;
use super::{
    Content, NamedLink, ReadOptions, Remarks, attributes, defaults, markdown, times, value,
};
use ait_domain::external_id::RECORD_KEY;
use ait_domain::json_compat;
use ait_domain::text::shortened;
use ait_domain::{Classification, Due, IssueId, LinkKind, Timestamp};

/// The longest title, and the longest name of a file without number and ending, in characters.
const MAX_TITLE: usize = 200;
const MAX_NAME: usize = 60;
/// The keys of the front matter that are not kept, because the entry says the same.
const OWN_KEYS: [&str; 7] = ["status", "title", "id", "kept", "labels", "related", "until"];
/// Words for decisions that hold, for those that do not, and for those that are still to be made.
const IN_FORCE: &str =
    "accepted approved decided adopted implemented active final done valid agreed";
const ENDED: &str = "rejected deprecated superseded superceded replaced obsolete withdrawn abandoned expired retired \
    declined cancelled canceled archived";
const PROPOSED: &str = "proposed draft pending rfc open review wip on deferred postponed";
/// What a record says about its context if the entry says nothing.
pub(super) const NO_CONTEXT: &str = "No context was written down.";
pub(super) const CONTEXT: &str = "\n\n## Context and Problem Statement\n\n";
pub(super) const OUTCOME: &str = "\n\n## Decision Outcome\n\n";

/// The state of a decision.
#[derive(Clone, PartialEq, Eq, Debug)]
enum State {
    InForce,
    /// It is still to be made.
    Proposed,
    /// It was rejected, or holds no longer.
    Ended,
    /// It was replaced by the record that these words name.
    ReplacedBy(String),
}

/// A decision record.
pub(super) struct Record<'a> {
    /// The name of its file.
    pub file: &'a str,
    matter: String,
    values: IndexMap<String, Json>,
    body: String,
    /// The id that `ait` gave it when it wrote the file.
    own_id: Option<IssueId>,
}

/// The ids of the records of a folder, by file name and by number.
#[derive(Default)]
pub(super) struct Names(HashMap<String, IssueId>);

/// Returns true if a Markdown file with this front matter is a decision record, and no task.
pub(super) fn is_record(values: &IndexMap<String, Json>, text: &str) -> bool {
    let text_of = |key: &str| values.get(key).and_then(Json::as_str).unwrap_or_default();
    let is_of_backlog =
        ["task-", "doc-", "decision-"].iter().any(|id| text_of("id").starts_with(id));
    let knows = |words| has_word(words, text_of("status"));
    let is_ours = value::our_id(text_of("id")).is_some();
    !is_of_backlog
        && [IN_FORCE, ENDED, PROPOSED].into_iter().any(knows)
        && (is_ours || has_sections(text, true))
}

/// Reads the decision records among files, which come with their paths. Files without a record are left out, and
/// reported if their names look like those of records.
pub(super) fn read(files: &[(&str, &str)], options: &ReadOptions) -> Vec<Content> {
    let records: Vec<_> = files.iter().map(|(path, text)| Record::of(path, text)).collect();
    let is_folder_of_records = records.iter().any(Result::is_ok);
    let records_of = records.iter().flatten().map(|record| (record.file, record.id()));
    let names = Names::of(records_of);
    let content = |(file, record): (&(&str, &str), Result<Record<'_>, &'static str>)| {
        let id = Some(file_name(file.0).to_owned());
        match record {
            Ok(record) => Some(record.content(&names, options)),
            Err(reason) => is_folder_of_records
                .then(|| Content::Skipped { id, title: None, reason: reason.to_owned() })
                .filter(|_| !reason.is_empty()),
        }
    };
    files.iter().zip(records).filter_map(content).collect()
}

/// Returns title and description of a text that [`in_sections`] wrote.
pub(super) fn out_of_sections(body: &str) -> Option<(String, String)> {
    let (title, rest) = body.strip_prefix("# ")?.split_once(CONTEXT)?;
    let (context, outcome) = rest.split_once(OUTCOME)?;
    let is_about = context.starts_with("About: ") && !context.contains('\n');
    if title.contains('\n') || !is_about && context != NO_CONTEXT {
        return None;
    }
    let parts = [(outcome != title).then_some(outcome), is_about.then_some(context)];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    Some((title.to_owned(), parts.join("\n\n")))
}

impl<'a> Record<'a> {
    /// Reads a record. The error says why a file that is called like one is none, or nothing.
    pub fn of(path: &'a str, text: &str) -> Result<Self, &'static str> {
        let file = file_name(path);
        let text = json_compat::without_byte_order_mark(text.as_bytes());
        let text = String::from_utf8_lossy(text);
        let first = text.lines().next().unwrap_or_default();
        let text = if text[first.len()..].starts_with("\r\n") {
            text.replace("\r\n", "\n")
        } else {
            text.into_owned()
        };
        let (matter, body) = markdown::split(&text);
        let values = markdown::front_matter(matter.unwrap_or_default());
        let own_id = values.get("id").and_then(|id| value::our_id(id.as_str()?));
        let body = match own_id {
            Some(_) => {
                let body = body.strip_prefix("\n\n").unwrap_or(body);
                body.strip_suffix('\n').unwrap_or(body)
            }
            None => body.trim_matches('\n'),
        };
        let matter = matter.unwrap_or_default().to_owned();
        let record = Self { file, matter, values, body: body.to_owned(), own_id };
        let stem = file.trim_end_matches(".md").to_lowercase();
        let title = record.title();
        let is_placeholder = |title: &str| title.starts_with(['[', '{', '<']);
        // A decision may be about templates.
        let is_template =
            stem.contains("template") && number_in(file).is_none_or(|number| number == 0);
        if own_id.is_some() && title.is_some() {
            Ok(record)
        } else if is_template || title.as_deref().is_some_and(is_placeholder) {
            Err("a template is no decision")
        } else if ["readme", "index"].contains(&&*stem) {
            Err("it is about the decisions, and none itself")
        } else if title.is_some() && has_sections(&record.body, record.field("status").is_some()) {
            Ok(record)
        } else if number_in(file).is_some() {
            Err(
                "it is no decision record: it needs a title and a section Decision, or a status and a Context",
            )
        } else {
            Err("")
        }
    }

    pub fn id(&self) -> IssueId {
        self.own_id.unwrap_or_else(|| id_of(self.file))
    }

    fn title(&self) -> Option<String> {
        let text = match self.values.get("title").and_then(Json::as_str) {
            Some(title) => title,
            None => {
                let heading = self.body.lines().find_map(|line| line.strip_prefix("# "));
                unnumbered(heading?.trim().trim_end_matches('#').trim_end())
            }
        };
        let title = super::words::title_of(text);
        Some(shortened(&title, MAX_TITLE)).filter(|title| !title.is_empty())
    }

    /// Returns the value of a field: from the front matter, a line above the first section, or a section.
    fn field(&self, name: &str) -> Option<String> {
        match self.values.get(name) {
            Some(Json::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
            Some(Json::Array(list)) => {
                let list: Vec<_> = list.iter().filter_map(Json::as_str).collect();
                Some(list.join(", ")).filter(|text| !text.is_empty())
            }
            _ => field_in(&self.body, name),
        }
    }

    /// Returns the value of a field, or what the user says that it means.
    fn mapped(&self, name: &str, options: &ReadOptions) -> Option<String> {
        let text = self.field(name)?;
        let meaning = options.mapping.replacement(name, Value::Cell(&text)).map(str::to_owned);
        Some(meaning.unwrap_or(text))
    }

    fn date(&self, options: &ReadOptions, remarks: &mut Remarks) -> Option<Timestamp> {
        if let Some(kept) =
            self.values.get("kept").and_then(Json::as_str).and_then(Timestamp::parse)
        {
            return Some(kept);
        }
        let text = self.mapped("date", options)?;
        let parse = |text: &str| times::parse(text.trim_matches('.'), options.date_order).ok();
        let words = text.split(|one: char| one.is_whitespace() || "[](),;".contains(one));
        let found = parse(&text).or_else(|| words.filter(|word| word.len() >= 8).find_map(parse));
        if found.is_none() {
            remarks.guess(format!("date {text:?} is read as none"));
        }
        found
    }

    pub fn content(&self, names: &Names, options: &ReadOptions) -> Content {
        let title = self.title().unwrap_or_default();
        let status = self.mapped("status", options).unwrap_or_default();
        let mut remarks = Remarks::default();
        let state = state_of(&status, &mut remarks);
        if state == State::Proposed {
            let reason = "nobody has decided it yet: import it again then".to_owned();
            return Content::Skipped { id: Some(self.file.to_owned()), title: Some(title), reason };
        }
        let sections = self.own_id.and_then(|_| out_of_sections(&self.body));
        let (title, description) = sections.unwrap_or_else(|| (title, self.body.clone()));
        let mut entry = FoundEntry::new(self.id(), title, description);
        entry.created_at = self.date(options, &mut remarks);
        entry.agent = ["decision-makers", "deciders", "author", "authors"]
            .iter()
            .find_map(|name| self.field(name));
        if let State::ReplacedBy(other) = &state {
            let link = names.link(other);
            entry.links.push(link);
        }
        let is_known = |link: &NamedLink| names.0.values().any(|id| link.ids.contains(id));
        let has_ended = match state {
            State::Ended => true,
            State::ReplacedBy(_) => !entry.links.iter().all(is_known) && self.own_id.is_none(),
            _ => false,
        };
        // It ended no later than it was decided.
        let day = |time: Timestamp| time.to_string()[..10].parse::<NaiveDate>().ok();
        let end = entry.created_at.and_then(day).unwrap_or_default();
        entry.attributes.due = has_ended.then_some(Due::Day(end));
        match self.values.get("until") {
            Some(Json::String(until)) => entry.attributes.due = until.parse().ok(),
            Some(Json::Null) => entry.attributes.due = None,
            _ => {}
        }
        let list = |name: &str| {
            let list = self.values.get(name).and_then(Json::as_array).into_iter().flatten();
            list.filter_map(Json::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        entry.attributes.labels = attributes::labels_of(list("labels").into_iter());
        entry.links.extend(list("related").iter().filter_map(|name| {
            let ids = vec![value::our_id(name)?];
            let shown = format!("related {name}");
            Some(NamedLink { kind: LinkKind::Related, shown, name: name.clone(), ids })
        }));
        if self.own_id.is_none() {
            let matter = markdown::without(&self.matter, &OWN_KEYS);
            // What an export would write itself is not kept.
            let is_written = |word: &Json| {
                let word = word.as_str().unwrap_or_default();
                let by = word.strip_prefix("superseded by [").unwrap_or_default();
                word == "deprecated" || by.starts_with(|one: char| one.is_ascii_digit())
            };
            let word = self.values.get("status");
            let word = word.filter(|word| state == State::InForce || !is_written(word));
            let mut kept = json!({ "id": name_of(self.file), "file": self.file });
            if !matter.is_empty() {
                kept["frontMatter"] = json!(matter);
            }
            if let Some(word) = word {
                kept["status"] = word.clone();
            }
            if let Ok(kept) = to_raw_value(&kept) {
                entry.unknown_keys.insert(RECORD_KEY.to_owned(), kept);
            }
        }
        entry.remarks = remarks;
        entry.content(Classification::Decision, options)
    }
}

impl Names {
    /// Returns those of records with these files and ids.
    pub fn of<'a>(records: impl Iterator<Item = (&'a str, IssueId)>) -> Self {
        let both = |(file, id): (&str, IssueId)| [(name_of(file), id), (file.to_owned(), id)];
        Self(records.flat_map(both).collect())
    }

    /// Returns the link to the record that replaces another one, from words such as `[ADR-0005](0005-use-x.md)`.
    fn link(&self, words: &str) -> NamedLink {
        let link = words.split_once("](").and_then(|(_, link)| link.split([')', '#']).next());
        let file = link.map(file_name).filter(|file| file.ends_with(".md"));
        let number = words
            .split(|one: char| !one.is_ascii_digit())
            .find_map(|digits| digits.parse::<u32>().ok());
        let by_number = number.map(|number| format!("adr-{number}"));
        let known = [file.map(str::to_owned), by_number.clone()].into_iter().flatten();
        let known = known.filter_map(|name| self.0.get(&name).copied());
        let ids =
            value::our_id(words.trim()).into_iter().chain(known).chain(file.map(id_of)).collect();
        let name = by_number.unwrap_or_else(|| words.trim().to_owned());
        let shown = format!("superseded by {}", words.trim());
        NamedLink { kind: LinkKind::DuplicateOf, shown, name, ids }
    }
}

/// Returns the state that a status says. Unknown words are read as in force, with a remark.
fn state_of(status: &str, remarks: &mut Remarks) -> State {
    const BY: [&str; 4] = ["superseded by", "superceded by", "replaced by", "obsoleted by"];
    let lines =
        status.lines().map(|line| line.trim_start_matches(|one: char| !one.is_alphanumeric()));
    for line in lines {
        let lower = line.to_lowercase();
        if let Some(by) = BY.iter().find(|by| lower.starts_with(**by)) {
            let other = line.get(by.len()..).unwrap_or_default();
            return State::ReplacedBy(other.trim_matches([' ', ':', '*', '_']).to_owned());
        }
    }
    if has_word(ENDED, status) {
        State::Ended
    } else if has_word(PROPOSED, status) {
        State::Proposed
    } else {
        if !status.is_empty() && !has_word(IN_FORCE, status) {
            let first = status.lines().next().unwrap_or_default();
            remarks.guess(format!("status {:?} is read as in force", shortened(first, MAX_NAME)));
        }
        State::InForce
    }
}

/// Returns true if the first word of a status is one of some words.
pub(super) fn has_word(words: &str, status: &str) -> bool {
    let mut found =
        status.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
    found.next().is_some_and(|first| words.split(' ').any(|word| first.eq_ignore_ascii_case(word)))
}

/// Returns true if a text has the sections of a decision record: those of a decision, or with a status its context.
fn has_sections(text: &str, has_status: bool) -> bool {
    const DECISION: [&str; 4] = ["decision", "decision outcome", "the decision", "our decision"];
    let is_section = |(level, text): (usize, &str)| {
        let text = text.trim_end_matches(':').to_lowercase();
        let is_other =
            || has_status && (text.starts_with("context") || text.starts_with("decision"));
        level > 1 && (DECISION.contains(&&*text) || is_other())
    };
    text.lines().filter_map(heading).any(is_section)
}

/// Returns a title without the number before it, such as `7.` or `ADR-0007:`.
fn unnumbered(title: &str) -> &str {
    let (is_named, rest) = match title.get(..3) {
        Some(start) if start.eq_ignore_ascii_case("adr") => {
            (true, title[3..].trim_start_matches(['-', '_', ' ', '#']))
        }
        _ => (false, title),
    };
    let after = rest.trim_start_matches(|one: char| one.is_ascii_digit());
    let text = after.trim_start_matches(['.', ':', '-', '–', '—', ')', ' ']);
    let is_number = after.len() < rest.len();
    let is_separated = is_named || after.trim_start().starts_with(['.', ':', '–', '—', ')', '-']);
    let has_space = text.len() < after.len() && after[..after.len() - text.len()].ends_with(' ');
    if is_number && is_separated && has_space && !text.is_empty() { text } else { title }
}

/// Returns the number with which the name of a file begins, also as in `adr-0007-use-x.md`.
pub(super) fn number_in(file: &str) -> Option<u32> {
    let lower = file.to_lowercase();
    let rest =
        lower.strip_prefix("adr").map_or(&*lower, |rest| rest.trim_start_matches(['-', '_']));
    rest.split(|one: char| !one.is_ascii_digit()).next()?.parse().ok()
}

/// Returns the name by which a record is found: `adr-7` for its number, else the name of its file.
fn name_of(file: &str) -> String {
    number_in(file).map_or(file.to_owned(), |number| format!("adr-{number}"))
}

fn id_of(file: &str) -> IssueId {
    defaults::id("adr", &[file])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_lose_their_numbers_alone() {
        for (title, bare) in [
            ("7. Use tabs", "Use tabs"),
            ("ADR-0007: Use tabs", "Use tabs"),
            ("ADR 7 Use tabs", "Use tabs"),
            ("adr-0013 — Use tabs", "Use tabs"),
            ("0007 - Use tabs", "Use tabs"),
            ("2024 goals", "2024 goals"),
            ("3-tier architecture", "3-tier architecture"),
            ("Adroit tools", "Adroit tools"),
            ("7.", "7."),
        ] {
            assert_eq!(unnumbered(title), bare);
        }
    }

    #[test]
    fn statuses_are_read_as_people_write_them() {
        let replaced = |by: &str| State::ReplacedBy(by.to_owned());
        for (status, state) in [
            ("accepted", State::InForce),
            ("✅ Accepted, 2026-09-05", State::InForce),
            ("Accepted; the last part is superseded by [9](0009-x.md)", State::InForce),
            ("", State::InForce),
            ("Proposed", State::Proposed),
            ("**Deprecated**", State::Ended),
            ("superseded", State::Ended),
            ("superseded by [ADR-0005](0005-x.md)", replaced("[ADR-0005](0005-x.md)")),
            ("Accepted\n\nSuperceded by [5. X](0005-x.md)", replaced("[5. X](0005-x.md)")),
            ("Accepted\n\nSupersedes [3. X](0003-x.md)", State::InForce),
        ] {
            let mut remarks = Remarks::default();
            assert_eq!(state_of(status, &mut remarks), state, "{status}");
            assert!(remarks.guesses.is_empty(), "{status}");
        }
    }

    #[test]
    fn a_successor_is_named_by_its_file_or_its_number() {
        let ids = [
            ("0005-x.md".to_owned(), id_of("0005-x.md")),
            ("adr-5".to_owned(), id_of("0005-x.md")),
        ];
        let names = Names(ids.into());
        for words in ["[ADR-0005](./0005-x.md#status)", "[5. X](0005-x.md)", "ADR-0005", "5", "#5"]
        {
            assert_eq!(names.link(words).ids.first(), Some(&id_of("0005-x.md")), "{words}");
        }
        assert_eq!(names.link("[9](../other/0009-y.md)").ids, [id_of("0009-y.md")]);
        assert!(names.link("M14").ids.is_empty());
    }
}
