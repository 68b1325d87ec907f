//! Reads an `issues.json` that has exactly the form in which this program writes it.
//!
//! In such a file everything except the values is known, including white space, so comparing takes a fraction of the
//! time of parsing. An issue in this form stays text until it is used. An issue in another form, because a user
//! edited it or it has unknown keys, is parsed. A document in another form is left to the parser, and so is every
//! error, because the parser reports its position. [`format`](super::format) defines the form. This module must read
//! nothing differently from the parser, and must keep nothing as text that would be written differently.

mod cursor;

use std::sync::Arc;
use std::thread;

use memchr::memmem;
use serde_json::Deserializer;

use self::cursor::{Cursor, Mode, whole};
use crate::domain::UnknownKeys;
use crate::store::Document;
use crate::store::memory::IndexedIssuesBuilder;
use crate::store::stored_issue::RawIssue;

/// The beginning of a document.
const BEGIN: &str = "{\n  \"issues\": [";
/// The text between two issues, with the beginning of the second one.
const SEPARATOR: &[u8] = b",\n    {\n      \"id\": \"";
/// The size from which on two threads are faster than one, in bytes.
pub(super) const WORTH_A_THREAD_BYTES: usize = 1024 * 1024;

/// Reads a document. Returns `None` if the parser has to read it.
pub(super) fn read(text: &Arc<String>) -> Option<Document> {
    read_as(text, text.len() >= WORTH_A_THREAD_BYTES)
}

fn read_as(text: &Arc<String>, is_large: bool) -> Option<Document> {
    let rest = text.strip_prefix(BEGIN)?;
    let (issues, rest) = match rest.strip_prefix(']') {
        Some(rest) => (IndexedIssuesBuilder::default(), rest),
        None => {
            let halves = if is_large { issues_of_halves(rest, text) } else { None };
            let (issues, rest) = halves.or_else(|| issues(rest, text))?;
            (issues, rest.strip_prefix("\n  ]")?)
        }
    };
    let rest = rest.strip_prefix("\n}")?;
    // The program writes one line feed, but users and editors add or remove some.
    let is_end = rest.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    is_end
        .then(|| issues.build())?
        .map(|issues| Document { issues, unknown_keys: UnknownKeys::default() })
}

/// Reads issues like [`issues`], with one thread for each half. Returns `None` if the text cannot be split.
fn issues_of_halves<'a>(
    rest: &'a str,
    text: &Arc<String>,
) -> Option<(IndexedIssuesBuilder, &'a str)> {
    let middle = rest.len() / 2;
    // This looks like the boundary between two issues. Whether it is one is known after reading the first half.
    let begin = memmem::find(&rest.as_bytes()[middle..], SEPARATOR)? + middle;
    let (first, second) = (&rest[..begin], &rest[begin + 1..]);
    let (mut all, last, rest) = thread::scope(|scope| {
        let second = scope.spawn(|| issues(second, text));
        let (first, between) = issues(first, text)?;
        let (second, rest) = second.join().ok()??;
        between.is_empty().then_some((first, second, rest))
    })?;
    all.append(last);
    Some((all, rest))
}

/// Reads issues, up to the last one, from a part of `text`. Returns the text after them.
fn issues<'a>(rest: &'a str, text: &Arc<String>) -> Option<(IndexedIssuesBuilder, &'a str)> {
    let mut cursor = Cursor::new(rest, Mode::Skim);
    let mut issues = IndexedIssuesBuilder::default();
    loop {
        cursor.skip("\n    ")?;
        let begin = cursor.rest;
        if let Some(skimmed) = cursor.written_issue() {
            let written = &begin[..begin.len() - cursor.rest.len()];
            let start = written.as_ptr() as usize - text.as_ptr() as usize;
            let range = start..start + written.len();
            issues.push_written(skimmed, RawIssue::new(Arc::clone(text), range, whole));
        } else {
            let mut values = Deserializer::from_str(begin).into_iter();
            issues.push(values.next()?.ok()?);
            cursor.rest = &begin[values.byte_offset()..];
        }
        if cursor.skip(",").is_none() {
            return Some((issues, cursor.rest));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use fastrand::Rng;
    use uuid::Uuid;

    use super::*;
    use crate::domain::{
        AttributeValues, Issue, IssueId, Label, Link, LinkKind, Parked, Status, Timestamp,
    };
    use crate::store::files::format;
    use crate::store::stored_issue::StoredIssue;

    const WRITTEN: &str = r#"{
  "issues": [
    {
      "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73",
      "title": "ä \"b\" \\ / \n\r\t\b\f",
      "description": "",
      "classification": "bug",
      "createdAt": "2026-01-31T09:30:00.000Z",
      "modifiedAt": "2026-01-31T09:31:00.000Z",
      "status": "in_progress",
      "history": [
        {
          "timestamp": "2026-01-31T09:30:00.000Z",
          "agent": "a",
          "action": "x"
        },
        {
          "timestamp": "2026-01-31T09:31:00.000Z",
          "agent": "b",
          "action": ""
        }
      ],
      "comments": [
        {
          "timestamp": "2026-01-31T09:31:00.000Z",
          "agent": "a",
          "text": "x\n"
        }
      ],
      "priority": 0,
      "labels": [
        "area/ui",
        "bug:p1"
      ],
      "assignee": "dev \"1\"",
      "links": [
        {
          "kind": "blocked_by",
          "to": "5f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73"
        },
        {
          "kind": "parent",
          "to": "4f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73"
        }
      ],
      "parked": {
        "reason": "r\n",
        "since": "2026-01-31T09:31:00.000Z",
        "by": "lead",
        "until": "2026-01-31T09:32:00.000Z"
      }
    },
    {
      "id": "4f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73",
      "title": "\u001f",
      "description": "x",
      "classification": "feature",
      "createdAt": "2026-01-31T09:30:00.000Z",
      "modifiedAt": "2026-01-31T09:30:00.000Z",
      "status": "closed",
      "history": [],
      "comments": []
    }
  ]
}
"#;

    fn written(document: &Document) -> String {
        let mut bytes = Vec::new();
        format::write(document, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    /// Writes the values, without the kept texts.
    fn rewritten(document: &Document) -> String {
        let mut issues = IndexedIssuesBuilder::default();
        document.issues.issues().for_each(|issue| issues.push(Arc::unwrap_or_clone(issue)));
        written(&Document {
            issues: issues.build().unwrap(),
            unknown_keys: document.unknown_keys.clone(),
        })
    }

    fn read(text: &str) -> Option<Document> {
        let document = super::read(&Arc::new(text.to_owned()))?;
        // The kept texts equal the values.
        assert_eq!(written(&document), rewritten(&document));
        let halved = read_as(&Arc::new(text.to_owned()), true).unwrap();
        assert_eq!(written(&halved), written(&document));
        Some(document)
    }

    fn parsed(text: &str) -> Option<String> {
        Some(rewritten(&serde_json::from_str(text).ok()?))
    }

    #[test]
    fn documents_written_by_the_store_are_read_without_parsing() {
        let document = serde_json::from_str(WRITTEN).unwrap();
        for document in [document, Document::default()] {
            let text = rewritten(&document);
            let document = read(&text).unwrap();
            let is_text: Vec<_> =
                document.issues.kept().map(|issue| matches!(issue, StoredIssue::Raw(_))).collect();
            // The parser handles issues with `\u` escapes.
            assert!(is_text == [true, false] || is_text.is_empty());
            assert_eq!(written(&document), text);
        }
    }

    #[test]
    fn issues_in_another_format_are_parsed() {
        for (plain, other) in [
            ("\"agent\": \"b\"", "\"agent\" :\"b\", \"x\": [1 ]"),
            ("\"agent\": \"a\"", "\"agent\": \"\\u00e4\""),
            ("09:31:00.000Z\",\n      \"status\"", "09:31:00Z\",\n      \"status\""),
            ("      \"status\": \"closed\",\n", "\"status\":\"closed\","),
            (r"\\ / ", r"\\ \/ "),
            ("3f2a9c1e", "3F2A9C1E"),
            ("09:30:00.000Z", "09:30:00.000z"),
            ("\"comments\": []", "\"comments\": [ ], \"extra\": {\"issues\": []}"),
            ("\"priority\": 0", "\"priority\": 5"),
            ("\"priority\": 0", "\"priority\": 0.0"),
            ("\"priority\": 0", "\"priority\": null"),
            ("      \"priority\": 0,\n", ""),
            ("      \"comments\": []\n", "      \"comments\": [],\n      \"labels\": []\n"),
            ("      \"comments\": []\n", "      \"comments\": [],\n      \"links\": []\n"),
            ("area/ui", "Area"),
            ("area/ui", "ui"),
            ("area/ui", "bug:p1"),
            ("dev \\\"1\\\"", " "),
            ("\"parent\"", "\"child\""),
            ("\"blocked_by\"", "\"parent\""),
            ("5f2a9c1e", "4f2a9c1e"),
            ("\"by\": \"lead\"", "\"by\": \"lead\", \"x\": 1"),
            (",\n        \"until\": \"2026-01-31T09:32:00.000Z\"", ""),
            ("\"2026-01-31T09:32:00.000Z\"", "null"),
            ("        \"by\": \"lead\",\n", ""),
        ] {
            let text = WRITTEN.replace(plain, other);
            assert_ne!(text, WRITTEN);
            assert_eq!(read(&text).as_ref().map(rewritten), parsed(&text), "{other}");
        }
    }

    #[test]
    fn parallel_reading_of_halves_preserves_order() {
        let template: Issue = serde_json::from_str::<Document>(WRITTEN)
            .map(|document| Arc::unwrap_or_clone(document.issues.issues().next().unwrap()))
            .unwrap();
        let mut issues = IndexedIssuesBuilder::default();
        for number in 0..200 {
            let id = format!("{number:08x}-0000-4000-8000-000000000000");
            // Contains text that looks like the boundary between two issues.
            let description = String::from_utf8_lossy(SEPARATOR).into_owned();
            let status = Status::ALL[number % Status::ALL.len()];
            let id = IssueId::parse(&id).unwrap();
            issues.push(Issue { id, status, description, ..template.clone() });
        }
        let whole =
            Document { issues: issues.build().unwrap(), unknown_keys: UnknownKeys::default() };
        let text = written(&whole);
        let halved = Arc::new(text.clone());
        assert!(issues_of_halves(halved.strip_prefix(BEGIN).unwrap(), &halved).is_some());
        let halves = read_as(&halved, true).unwrap();
        assert_eq!(written(&halves), text);
        assert!(halves.issues.kept().all(|issue| matches!(issue, StoredIssue::Raw(_))));
        for document in [&halves, &super::read(&Arc::new(text.clone())).unwrap()] {
            assert_eq!(document.issues.counts(), whole.issues.counts());
            for issue in whole.issues.issues() {
                assert_eq!(document.issues.find(&issue.id.into()).unwrap(), issue);
            }
        }
        // Both halves contain the same id.
        let twice = text.replacen("000000c7-", "00000000-", 1);
        assert!(read_as(&Arc::new(twice), true).is_none());
    }

    /// Returns attributes of any form in which the program writes them.
    fn any_attributes(rng: &mut Rng) -> AttributeValues {
        let word = |rng: &mut Rng| *rng.choice(&["dev", "é \"x\"\\", "a\tb\u{8}"]).unwrap();
        let time = |rng: &mut Rng| Timestamp::from_unix_millis(rng.i64(..4_000_000_000_000));
        let labels: BTreeSet<Label> = (0..rng.usize(..Label::MAX_COUNT))
            .map(|_| format!("l{}:._/-", rng.u16(..)).parse().unwrap())
            .collect();
        let links = (0..rng.usize(..9)).map(|at| {
            let kinds = &LinkKind::ALL[usize::from(at > 0)..];
            Link { kind: *rng.choice(kinds).unwrap(), to: Uuid::from_u128(at as u128).into() }
        });
        let links = links.collect();
        let parked = Parked {
            reason: word(rng).to_owned(),
            since: time(rng),
            by: word(rng).to_owned(),
            until: rng.bool().then(|| time(rng)),
            question: None,
        };
        AttributeValues {
            priority: rng.bool().then(|| u64::from(rng.u8(..5)).try_into().unwrap()),
            labels: if rng.bool() { labels.into_iter().collect() } else { Vec::new() },
            assignee: rng.bool().then(|| word(rng).to_owned()),
            links: if rng.bool() { links } else { Vec::new() },
            parked: rng.bool().then_some(parked),
        }
    }

    #[test]
    fn written_attributes_of_any_form_stay_text() {
        let template: Document = serde_json::from_str(WRITTEN).unwrap();
        let template = Issue::clone(&template.issues.issues().next().unwrap());
        for seed in 0..500 {
            let values = any_attributes(&mut Rng::with_seed(seed));
            let mut issues = IndexedIssuesBuilder::default();
            issues.push(Issue { attributes: values.clone().into(), ..template.clone() });
            let issues = issues.build().unwrap();
            let text = written(&Document { issues, unknown_keys: UnknownKeys::default() });
            let document = read(&text).unwrap();
            assert!(document.issues.kept().all(|issue| matches!(issue, StoredIssue::Raw(_))));
            assert_eq!(*document.issues.at(0).attributes, values, "seed {seed}");
            assert_eq!(Some(rewritten(&document)), parsed(&text), "seed {seed}");
        }
    }

    /// Accepts nothing that the parser refuses, and reads nothing differently.
    #[test]
    fn the_fast_reader_agrees_with_the_json_parser() {
        for (place, character) in WRITTEN.char_indices() {
            let (before, after) = (&WRITTEN[..place], &WRITTEN[place + character.len_utf8()..]);
            for other in ["", "\"", "\\", "\n", "0", "}"] {
                let text = format!("{before}{other}{after}");
                if let Some(read) = read(&text) {
                    assert_eq!(Some(rewritten(&read)), parsed(&text), "{text}");
                }
            }
            assert!(place + 1 >= WRITTEN.trim_end().len() || read(before).is_none(), "{before}");
        }
    }

    #[test]
    fn the_fast_reader_rejects_invalid_documents() {
        for (good, bad) in [
            ("\"id\": \"4f2a", "\"id\": \"3f2a"),
            ("2026-01-31T09:31:00.000Z", "2026-02-31T09:31:00.000Z"),
            ("\"closed\"", "\"ended\""),
            ("3f2a9c1e-7d54", "3f2a9c1e7d54"),
            ("\n}", ",\n  \"more\": 1\n}"),
            ("\n}", "\n}\n{}"),
        ] {
            assert!(read(&WRITTEN.replacen(good, bad, 1)).is_none(), "{bad}");
        }
    }
}
