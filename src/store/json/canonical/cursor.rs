//! Reads an issue by comparing its text with the written form.

use memchr::memchr2;

use crate::domain::{
    Attributes, Classification, Comment, HistoryEntry, Issue, IssueId, Status, Timestamp,
    UnknownFields,
};

/// `2026-01-31T09:30:00.000Z`.
const TIME_CHARS: usize = 24;
/// `3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73`.
const ID_CHARS: usize = 36;

/// Parses the text of an issue that was skimmed before.
pub(super) fn whole(text: &str) -> Issue {
    let issue = Cursor::new(text, Mode::Read).written_issue();
    issue.expect("the same comparisons found an issue here before")
}

/// What to do with the strings and lists of an issue.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Compare them and leave them out.
    Skim,
    /// Read them.
    Read,
}

/// The position in a text. It is undefined after a method returned `None`.
pub(super) struct Cursor<'a> {
    /// The rest of the text.
    pub rest: &'a str,
    mode: Mode,
    /// The last string, if it contained escapes.
    unescaped: String,
}

impl<'a> Cursor<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a str, mode: Mode) -> Self {
        Self { rest: text, mode, unescaped: String::new() }
    }

    /// Reads an issue in the written form. Leaves out its strings and lists when skimming.
    pub fn written_issue(&mut self) -> Option<Issue> {
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
            attributes: Attributes::default(),
            extra: UnknownFields::default(),
        };
        self.skip("\n    }")?;
        Some(issue)
    }

    fn timestamp(&mut self) -> Option<Timestamp> {
        const EXPECTED: &str = "\n          \"timestamp\": \"";
        self.value_after(EXPECTED, TIME_CHARS, Timestamp::parse_written)
    }

    fn history_entry(&mut self) -> Option<HistoryEntry> {
        Some(HistoryEntry {
            timestamp: self.timestamp()?,
            agent: self.text_after(",\n          \"agent\": \"")?,
            action: self.text_after(",\n          \"action\": \"")?,
            extra: UnknownFields::default(),
        })
    }

    fn comment(&mut self) -> Option<Comment> {
        Some(Comment {
            timestamp: self.timestamp()?,
            agent: self.text_after(",\n          \"agent\": \"")?,
            text: self.text_after(",\n          \"text\": \"")?,
            extra: UnknownFields::default(),
        })
    }

    /// Reads an array of objects after an expected text.
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
        // Entries are kept for long, and most issues have fewer than the vector's initial capacity.
        entries.shrink_to_fit();
        Some(entries)
    }

    /// Reads a value with a fixed number of characters and no escapes.
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

    /// Reads a string after an expected text. Returns an empty one when skimming.
    fn text_after(&mut self, expected: &str) -> Option<String> {
        let mode = self.mode;
        let text = self.string_after(expected)?;
        Some(match mode {
            Mode::Skim => String::new(),
            Mode::Read => text.to_owned(),
        })
    }

    /// Reads a string and its closing quote after an expected text.
    fn string_after(&mut self, expected: &str) -> Option<&str> {
        self.skip(expected)?;
        let text = self.rest;
        self.unescaped.clear();
        let mut begin = 0;
        loop {
            let end = begin + memchr2(b'"', b'\\', &text.as_bytes()[begin..])?;
            let plain = &text[begin..end];
            // Computes the minimum, because the compiler cannot vectorise a search that stops early.
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

    /// Skips an expected text.
    pub fn skip(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }
}

/// Returns the character for an escape. `\u` escapes are rare and left to the parser, and so is `\/`, which is never
/// needed.
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
