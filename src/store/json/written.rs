//! Reading an `issues.json` as this program writes it.
//!
//! In such a file everything but the values is known, down to the white space, and comparing takes a
//! fraction of the time of parsing. An issue that looks otherwise, because somebody edited it or it has
//! keys that this version does not know, is parsed; a document that does is left to the parser, and so
//! is whatever is wrong, since the parser tells what and where. [`format`](super::format) is the
//! form; nothing here may be read as anything else than the parser reads it.

use memchr::memchr2;
use serde_json::Deserializer;

use super::format::Document;
use crate::domain::{
    Classification, Comment, Extra, HistoryEntry, Issue, IssueId, Status, Timestamp,
};
use crate::store::memory::Gathering;

/// `2026-01-31T09:30:00.000Z`.
const TIME_CHARS: usize = 24;
/// `3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73`.
const ID_CHARS: usize = 36;

/// Reads a document; `None` when the parser has to.
pub(super) fn read(text: &str) -> Option<Document> {
    let mut cursor = Cursor { rest: text, unescaped: String::new() };
    let mut issues = Gathering::default();
    cursor.skip("{\n  \"issues\": [")?;
    if cursor.skip("]").is_none() {
        loop {
            cursor.skip("\n    ")?;
            issues.push(cursor.issue()?);
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

/// How far a text is read. After `None`, that is anywhere.
struct Cursor<'a> {
    rest: &'a str,
    /// The last string, if it had escapes.
    unescaped: String,
}

impl Cursor<'_> {
    fn issue(&mut self) -> Option<Issue> {
        let begin = self.rest;
        self.written_issue().or_else(|| {
            let mut values = Deserializer::from_str(begin).into_iter();
            let issue = values.next()?.ok()?;
            self.rest = &begin[values.byte_offset()..];
            Some(issue)
        })
    }

    fn written_issue(&mut self) -> Option<Issue> {
        let issue = Issue {
            id: self.value_after("{\n      \"id\": \"", ID_CHARS, IssueId::parse)?,
            title: self.string_after(",\n      \"title\": \"")?.to_owned(),
            description: self.string_after(",\n      \"description\": \"")?.to_owned(),
            classification: Classification::from_word(
                self.string_after(",\n      \"classification\": \"")?,
            )?,
            created_at: self.value_after(
                ",\n      \"createdAt\": \"",
                TIME_CHARS,
                Timestamp::parse,
            )?,
            modified_at: self.value_after(
                ",\n      \"modifiedAt\": \"",
                TIME_CHARS,
                Timestamp::parse,
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
                Timestamp::parse,
            )?,
            agent: self.string_after(",\n          \"agent\": \"")?.to_owned(),
            action: self.string_after(",\n          \"action\": \"")?.to_owned(),
            extra: Extra::default(),
        })
    }

    fn comment(&mut self) -> Option<Comment> {
        Some(Comment {
            timestamp: self.value_after(
                "\n          \"timestamp\": \"",
                TIME_CHARS,
                Timestamp::parse,
            )?,
            agent: self.string_after(",\n          \"agent\": \"")?.to_owned(),
            text: self.string_after(",\n          \"text\": \"")?.to_owned(),
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
            entries.push(fields(self)?);
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

/// What a backslash and this character stand for. Those with a code are rare, and left to the parser.
fn unescaped(escape: u8) -> Option<char> {
    Some(match escape {
        b'"' | b'\\' | b'/' => char::from(escape),
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
    use super::*;
    use crate::store::json::format;

    const WRITTEN: &str = r#"{
  "issues": [
    {
      "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73",
      "title": "ä \"b\" \\ \/ \n\r\t\b\f",
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

    fn rewritten(document: &Document) -> String {
        let mut bytes = Vec::new();
        format::write(document, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn parsed(text: &str) -> Option<String> {
        Some(rewritten(&serde_json::from_str(text).ok()?))
    }

    #[test]
    fn what_is_written_needs_no_parser() {
        let document = serde_json::from_str(WRITTEN).unwrap();
        for document in [document, Document::default()] {
            let text = rewritten(&document);
            assert_eq!(rewritten(&read(&text).unwrap()), text);
        }
        let mut cursor = Cursor { rest: &WRITTEN[20..], unescaped: String::new() };
        assert_eq!(cursor.written_issue().unwrap().history.len(), 2);
    }

    #[test]
    fn an_issue_that_looks_otherwise_is_parsed_among_the_others() {
        for (plain, other) in [
            ("\"agent\": \"b\"", "\"agent\" :\"b\", \"x\": [1 ]"),
            ("\"agent\": \"a\"", "\"agent\": \"\\u00e4\""),
            ("09:31:00.000Z\",\n      \"status\"", "09:31:00Z\",\n      \"status\""),
            ("      \"status\": \"closed\",\n", "\"status\":\"closed\","),
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
