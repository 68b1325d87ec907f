//! Reads an issue by comparing its text with the written form.

use memchr::memchr2;

use crate::domain::{
    AttributeValues, Attributes, Classification, Comment, HistoryEntry, Issue, IssueId, Label,
    Link, LinkKind, Parked, Priority, Status, Timestamp, UnknownKeys,
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

    /// Reads an issue in the written form. Leaves out its strings, history and comments when skimming.
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
            history: self.array_after(",\n      \"history\": ", Self::history_entry)?,
            comments: self.array_after(",\n      \"comments\": ", Self::comment)?,
            attributes: self.attributes()?,
            unknown_keys: UnknownKeys::default(),
        };
        self.skip("\n    }")?;
        Some(issue)
    }

    /// Reads the attributes, also when skimming, because the indexes need them.
    fn attributes(&mut self) -> Option<Attributes> {
        let mut reader = Cursor::new(self.rest, Mode::Read);
        let values = AttributeValues {
            priority: reader.optional(",\n      \"priority\": ", Self::priority)?,
            labels: reader
                .optional(",\n      \"labels\": [", |reader| reader.items(Self::label))?
                .unwrap_or_default(),
            assignee: reader
                .optional(",\n      \"assignee\": \"", |reader| reader.text_after(""))?,
            links: reader
                .optional(",\n      \"links\": [", |reader| reader.items(Self::link))?
                .unwrap_or_default(),
            parked: reader.optional(",\n      \"parked\": {", Self::parked)?,
        };
        self.rest = reader.rest;
        values.are_normal().then(|| values.into())
    }

    fn priority(&mut self) -> Option<Priority> {
        let (digit, rest) = self.rest.split_at_checked(1)?;
        self.rest = rest;
        Priority::try_from(u64::from(digit.chars().next()?.to_digit(10)?)).ok()
    }

    fn label(&mut self) -> Option<Label> {
        self.string_after("\n        \"")?.parse().ok()
    }

    fn link(&mut self) -> Option<Link> {
        let link = Link {
            kind: LinkKind::from_word(self.string_after("\n        {\n          \"kind\": \"")?)?,
            to: self.value_after(",\n          \"to\": \"", ID_CHARS, IssueId::parse_written)?,
        };
        self.skip("\n        }")?;
        Some(link)
    }

    fn parked(&mut self) -> Option<Parked> {
        const TIME: fn(&str) -> Option<Timestamp> = Timestamp::parse_written;
        let parked = Parked {
            reason: self.text_after("\n        \"reason\": \"")?,
            since: self.value_after(",\n        \"since\": \"", TIME_CHARS, TIME)?,
            by: self.text_after(",\n        \"by\": \"")?,
            until: self.optional(",\n        \"until\": \"", |reader| {
                reader.value_after("", TIME_CHARS, TIME)
            })?,
            // The parser reads the few issues with a question.
            question: None,
        };
        self.skip("\n      }")?;
        Some(parked)
    }

    fn timestamp(&mut self) -> Option<Timestamp> {
        const EXPECTED: &str = "\n        {\n          \"timestamp\": \"";
        self.value_after(EXPECTED, TIME_CHARS, Timestamp::parse_written)
    }

    fn history_entry(&mut self) -> Option<HistoryEntry> {
        let entry = HistoryEntry::new(
            self.timestamp()?,
            self.text_after(",\n          \"agent\": \"")?,
            self.text_after(",\n          \"action\": \"")?,
        );
        self.skip("\n        }")?;
        Some(entry)
    }

    fn comment(&mut self) -> Option<Comment> {
        let comment = Comment::new(
            self.timestamp()?,
            self.text_after(",\n          \"agent\": \"")?,
            self.text_after(",\n          \"text\": \"")?,
        );
        self.skip("\n        }")?;
        Some(comment)
    }

    /// Reads an array, which may be empty, after an expected text.
    fn array_after<T>(
        &mut self,
        expected: &str,
        item: fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.skip(expected)?;
        self.skip("[")?;
        if self.skip("]").is_some() { Some(Vec::new()) } else { self.items(item) }
    }

    /// Reads the items of an array, at least one, and its closing bracket. Leaves them out when skimming.
    fn items<T>(&mut self, item: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        loop {
            let next = item(self)?;
            if self.mode == Mode::Read {
                items.push(next);
            }
            if self.skip(",").is_none() {
                break;
            }
        }
        self.skip("\n      ]")?;
        // Items are kept for long, and most issues have fewer than the vector's initial capacity.
        items.shrink_to_fit();
        Some(items)
    }

    /// Reads a value if an expected text is before it. The outer `None` means that the value has another form.
    fn optional<T>(
        &mut self,
        expected: &str,
        read: fn(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.skip(expected).is_some() { read(self).map(Some) } else { Some(None) }
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

    /// Skips an expected text. If the text is another one, the position stays.
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
