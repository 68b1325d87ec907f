//! Reading an `issues.json` as this program writes it.
//!
//! In such a file everything but the values is known, down to the white space, and comparing takes a
//! fraction of the time of parsing. An issue that is found to be written so stays text until somebody
//! looks at it. One that looks otherwise, because somebody edited it or it has keys that this version
//! does not know, is parsed; a document that does is left to the parser, and so is whatever is wrong,
//! since the parser tells what and where. [`format`](super::format) is the form; nothing here may be
//! read as anything else than the parser reads it, and nothing may stay text that would be written
//! otherwise.

use bytestring::ByteString;
use memchr::memchr2;
use serde_json::Deserializer;

use super::format::Document;
use crate::domain::{
    Classification, Comment, Extra, HistoryEntry, Issue, IssueId, Status, Timestamp,
};
use crate::store::kept::Written;
use crate::store::memory::Gathering;

/// `2026-01-31T09:30:00.000Z`.
const TIME_CHARS: usize = 24;
/// `3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73`.
const ID_CHARS: usize = 36;

/// Reads a document; `None` when the parser has to.
pub(super) fn read(text: &ByteString) -> Option<Document> {
    let mut cursor = Cursor::new(text, Mode::Skim);
    let mut issues = Gathering::default();
    cursor.skip("{\n  \"issues\": [")?;
    if cursor.skip("]").is_none() {
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
                break;
            }
        }
        cursor.skip("\n  ]")?;
    }
    cursor.skip("\n}")?;
    // A single line feed is written; people and editors add and remove some.
    let is_end = cursor.rest.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    is_end.then(|| issues.indexed())?.map(|issues| Document { issues, extra: Extra::default() })
}

/// The issue of a text that was skimmed before.
fn whole(text: &str) -> Issue {
    let issue = Cursor::new(text, Mode::Read).written_issue();
    issue.expect("an issue was found here before, by the same comparisons")
}

/// What becomes of the texts and lists of an issue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// They are compared, and left out.
    Skim,
    /// They are kept.
    Read,
}

/// How far a text is read. After `None`, that is anywhere.
struct Cursor<'a> {
    rest: &'a str,
    mode: Mode,
    /// The last string, if it had escapes.
    unescaped: String,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str, mode: Mode) -> Self {
        Self { rest: text, mode, unescaped: String::new() }
    }

    fn written_issue(&mut self) -> Option<Issue> {
        let issue = Issue {
            id: self.value_after("{\n      \"id\": \"", ID_CHARS, IssueId::parse_written)?,
            title: self.text_after(",\n      \"title\": \"")?,
            description: self.text_after(",\n      \"description\": \"")?,
            classification: Classification::from_word(
                self.string_after(",\n      \"classification\": \"")?,
            )?,
            created_at: self.value_after(
                ",\n      \"createdAt\": \"",
                TIME_CHARS,
                Timestamp::parse_written,
            )?,
            modified_at: self.value_after(
                ",\n      \"modifiedAt\": \"",
                TIME_CHARS,
                Timestamp::parse_written,
            )?,
            status: Status::from_word(self.string_after(",\n      \"status\": \"")?)?,
            history: self.entries_after(",\n      \"history\": ", Self::history_entry)?,
            comments: self.entries_after(",\n      \"comments\": ", Self::comment)?,
            extra: Extra::default(),
        };
        self.skip("\n    }")?;
        Some(issue)
    }

    fn history_entry(&mut self) -> Option<HistoryEntry> {
        Some(HistoryEntry {
            timestamp: self.value_after(
                "\n          \"timestamp\": \"",
                TIME_CHARS,
                Timestamp::parse_written,
            )?,
            agent: self.text_after(",\n          \"agent\": \"")?,
            action: self.text_after(",\n          \"action\": \"")?,
            extra: Extra::default(),
        })
    }

    fn comment(&mut self) -> Option<Comment> {
        Some(Comment {
            timestamp: self.value_after(
                "\n          \"timestamp\": \"",
                TIME_CHARS,
                Timestamp::parse_written,
            )?,
            agent: self.text_after(",\n          \"agent\": \"")?,
            text: self.text_after(",\n          \"text\": \"")?,
            extra: Extra::default(),
        })
    }

    /// Reads an array of objects behind what has to come next.
    fn entries_after<T>(
        &mut self,
        expected: &str,
        fields: fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut entries = Vec::new();
        self.skip(expected)?;
        self.skip("[")?;
        if self.skip("]").is_some() {
            return Some(entries);
        }
        loop {
            self.skip("\n        {")?;
            let entry = fields(self)?;
            if self.mode == Mode::Read {
                entries.push(entry);
            }
            self.skip("\n        }")?;
            if self.skip(",").is_none() {
                break;
            }
        }
        self.skip("\n      ]")?;
        // They are kept for long, and most issues have fewer than a vector makes room for.
        entries.shrink_to_fit();
        Some(entries)
    }

    /// Reads a value that is written with so many characters, none of which needs an escape.
    fn value_after<T>(
        &mut self,
        expected: &str,
        chars: usize,
        parse: fn(&str) -> Option<T>,
    ) -> Option<T> {
        self.skip(expected)?;
        let (text, rest) = self.rest.split_at_checked(chars)?;
        self.rest = rest;
        self.skip("\"")?;
        parse(text)
    }

    /// Reads a string behind what has to come next; an empty one when it is left out.
    fn text_after(&mut self, expected: &str) -> Option<String> {
        let mode = self.mode;
        let text = self.string_after(expected)?;
        Some(match mode {
            Mode::Skim => String::new(),
            Mode::Read => text.to_owned(),
        })
    }

    /// Reads a string behind what has to come next, which ends with its quote.
    fn string_after(&mut self, expected: &str) -> Option<&str> {
        self.skip(expected)?;
        let text = self.rest;
        self.unescaped.clear();
        let mut begin = 0;
        loop {
            let end = begin + memchr2(b'"', b'\\', &text.as_bytes()[begin..])?;
            let plain = &text[begin..end];
            // The least of all, because a search that ends early is not done many bytes at a time.
            if plain.bytes().fold(u8::MAX, u8::min) < b' ' {
                return None;
            }
            if text.as_bytes()[end] == b'"' {
                self.rest = &text[end + 1..];
                if begin == 0 {
                    return Some(plain);
                }
                self.unescaped.push_str(plain);
                return Some(&self.unescaped);
            }
            self.unescaped.push_str(plain);
            self.unescaped.push(unescaped(*text.as_bytes().get(end + 1)?)?);
            begin = end + 2;
        }
    }

    /// Goes past what has to come next.
    fn skip(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }
}

/// What a backslash and this character stand for. Those with a code are rare, and left to the parser,
/// and so is the one that nobody has to write.
fn unescaped(escape: u8) -> Option<char> {
    Some(match escape {
        b'"' | b'\\' => char::from(escape),
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
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
