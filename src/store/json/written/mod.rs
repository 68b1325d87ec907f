//! Reading an `issues.json` as this program writes it.
//!
//! In such a file everything but the values is known, down to the white space, and comparing takes a
//! fraction of the time of parsing. An issue that is found to be written so stays text until somebody
//! looks at it. One that looks otherwise, because somebody edited it or it has keys that this version
//! does not know, is parsed; a document that does is left to the parser, and so is whatever is wrong,
//! since the parser tells what and where. [`format`](super::format) is the form; nothing here may be
//! read as anything else than the parser reads it, and nothing may stay text that would be written
//! otherwise.

mod cursor;

use std::thread;

use bytestring::ByteString;
use memchr::memmem;
use serde_json::Deserializer;

use self::cursor::{Cursor, Mode, whole};
use crate::domain::Extra;
use crate::store::Document;
use crate::store::kept::Written;
use crate::store::memory::Gathering;

/// How a document begins.
const BEGIN: &str = "{\n  \"issues\": [";
/// What stands between two issues, and the beginning of the second.
const SEPARATOR: &[u8] = b",\n    {\n      \"id\": \"";
/// From here on two threads are done earlier than one.
pub(super) const WORTH_A_THREAD_BYTES: usize = 1024 * 1024;

/// Reads a document; `None` when the parser has to.
pub(super) fn read(text: &ByteString) -> Option<Document> {
    read_as(text, text.len() >= WORTH_A_THREAD_BYTES)
}

fn read_as(text: &ByteString, is_large: bool) -> Option<Document> {
    let rest = text.strip_prefix(BEGIN)?;
    let (issues, rest) = match rest.strip_prefix(']') {
        Some(rest) => (Gathering::default(), rest),
        None => {
            let halves = if is_large { issues_of_halves(rest, text) } else { None };
            let (issues, rest) = halves.or_else(|| issues(rest, text))?;
            (issues, rest.strip_prefix("\n  ]")?)
        }
    };
    let rest = rest.strip_prefix("\n}")?;
    // A single line feed is written; people and editors add and remove some.
    let is_end = rest.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    is_end.then(|| issues.indexed())?.map(|issues| Document { issues, extra: Extra::default() })
}

/// The same as [`issues`], with the two halves read at once; `None` when they cannot be told apart.
fn issues_of_halves<'a>(rest: &'a str, text: &ByteString) -> Option<(Gathering, &'a str)> {
    let middle = rest.len() / 2;
    // Where an issue may begin. Whether one does is known when the first half has been read up to there.
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

/// Reads issues up to one that none follows; gives what stands behind that. They are parts of `text`.
fn issues<'a>(rest: &'a str, text: &ByteString) -> Option<(Gathering, &'a str)> {
    let mut cursor = Cursor::new(rest, Mode::Skim);
    let mut issues = Gathering::default();
    loop {
        cursor.skip("\n    ")?;
        let begin = cursor.rest;
        if let Some(skimmed) = cursor.written_issue() {
            let written = &begin[..begin.len() - cursor.rest.len()];
            issues.push_written(&skimmed, Written::new(text.slice_ref(written), whole));
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
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Issue, IssueId, Status};
    use crate::store::json::format;
    use crate::store::kept::Kept;

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
      ]
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

    /// What is written of the values alone.
    fn rewritten(document: &Document) -> String {
        let mut issues = Gathering::default();
        document.issues.issues().for_each(|issue| issues.push(Arc::unwrap_or_clone(issue)));
        written(&Document { issues: issues.indexed().unwrap(), extra: document.extra.clone() })
    }

    fn read(text: &str) -> Option<Document> {
        let document = super::read(&text.into())?;
        // What stayed text stands for the values.
        assert_eq!(written(&document), rewritten(&document));
        let halved = read_as(&text.into(), true).unwrap();
        assert_eq!(written(&halved), written(&document));
        Some(document)
    }

    fn parsed(text: &str) -> Option<String> {
        Some(rewritten(&serde_json::from_str(text).ok()?))
    }

    #[test]
    fn what_is_written_needs_no_parser() {
        let document = serde_json::from_str(WRITTEN).unwrap();
        for document in [document, Document::default()] {
            let text = rewritten(&document);
            let document = read(&text).unwrap();
            let is_text: Vec<_> =
                document.issues.kept().map(|issue| matches!(issue, Kept::Written(_))).collect();
            // A code in a text is for the parser.
            assert!(is_text == [true, false] || is_text.is_empty());
            assert_eq!(written(&document), text);
        }
    }

    #[test]
    fn an_issue_that_looks_otherwise_is_parsed_among_the_others() {
        for (plain, other) in [
            ("\"agent\": \"b\"", "\"agent\" :\"b\", \"x\": [1 ]"),
            ("\"agent\": \"a\"", "\"agent\": \"\\u00e4\""),
            ("09:31:00.000Z\",\n      \"status\"", "09:31:00Z\",\n      \"status\""),
            ("      \"status\": \"closed\",\n", "\"status\":\"closed\","),
            (r"\\ / ", r"\\ \/ "),
            ("3f2a9c1e", "3F2A9C1E"),
            ("09:30:00.000Z", "09:30:00.000z"),
            ("\"comments\": []", "\"comments\": [ ], \"extra\": {\"issues\": []}"),
        ] {
            let text = WRITTEN.replace(plain, other);
            assert_ne!(text, WRITTEN);
            assert_eq!(read(&text).as_ref().map(rewritten), parsed(&text), "{other}");
        }
    }

    #[test]
    fn two_halves_make_the_whole_in_its_order() {
        let template: Issue = serde_json::from_str::<Document>(WRITTEN)
            .map(|document| Arc::unwrap_or_clone(document.issues.issues().next().unwrap()))
            .unwrap();
        let mut issues = Gathering::default();
        for number in 0..200 {
            let id = format!("{number:08x}-0000-4000-8000-000000000000");
            // Also what only looks like the place between two issues.
            let description = String::from_utf8_lossy(SEPARATOR).into_owned();
            let status = Status::ALL[number % Status::ALL.len()];
            let id = IssueId::parse(&id).unwrap();
            issues.push(Issue { id, status, description, ..template.clone() });
        }
        let whole = Document { issues: issues.indexed().unwrap(), extra: Extra::default() };
        let text = written(&whole);
        let halved: ByteString = text.as_str().into();
        assert!(issues_of_halves(halved.strip_prefix(BEGIN).unwrap(), &halved).is_some());
        let halves = read_as(&halved, true).unwrap();
        assert_eq!(written(&halves), text);
        assert!(halves.issues.kept().all(|issue| matches!(issue, Kept::Written(_))));
        for document in [&halves, &super::read(&text.as_str().into()).unwrap()] {
            assert_eq!(document.issues.counts(), whole.issues.counts());
            for issue in whole.issues.issues() {
                assert_eq!(document.issues.find(&issue.id.into()).unwrap(), issue);
            }
        }
        // The same id in both.
        let twice = text.replacen("000000c7-", "00000000-", 1);
        assert!(read_as(&twice.as_str().into(), true).is_none());
    }

    /// Nothing is accepted that the parser refuses, and nothing is read as something else.
    #[test]
    fn whatever_is_read_is_what_the_parser_reads() {
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
    fn what_is_wrong_is_left_to_the_parser() {
        for (good, bad) in [
            ("4f2a", "3f2a"),
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
