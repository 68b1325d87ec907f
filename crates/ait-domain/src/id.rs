//! The id of an issue, and the references by which callers name it.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

use super::DomainError;

/// The number of hex digits in a full id.
const WHOLE_DIGITS: usize = 32;
/// The length of a full id with hyphens.
const WHOLE_CHARS: usize = 36;

/// The id of an issue: a UUID, of version 4 for issues that `ait` files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IssueId(Uuid);

impl IssueId {
    /// The nil UUID, which stands for no issue.
    pub const NIL: Self = Self(Uuid::nil());

    /// Parses a full id with hyphens, in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        // Fast path for the usual form. Everything else is parsed as a reference.
        if text.len() == WHOLE_CHARS
            && let Ok(uuid) = Uuid::try_parse(text)
        {
            return Some(Self(uuid));
        }
        let reference = IssueRef::from_str(text).ok()?;
        let is_whole = reference.digits == WHOLE_DIGITS && text.contains('-');
        is_whole.then(|| Self(Uuid::from_u128(reference.first)))
    }

    /// Returns the first 8 hex digits, which agents use to name branches and worktrees.
    pub fn short(&self) -> String {
        self.to_string()[..IssueRef::MIN_DIGITS].to_owned()
    }
}

impl From<Uuid> for IssueId {
    fn from(uuid: Uuid) -> Self {
        Self(uuid)
    }
}

impl From<IssueId> for Uuid {
    fn from(id: IssueId) -> Self {
        id.0
    }
}

impl fmt::Display for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.hyphenated(), f)
    }
}

impl fmt::Debug for IssueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for IssueId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut buffer = Uuid::encode_buffer();
        serializer.serialize_str(self.0.hyphenated().encode_lower(&mut buffer))
    }
}

impl<'de> Deserialize<'de> for IssueId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = IssueId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a UUID such as \"3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<IssueId, E> {
                IssueId::parse(text)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// A reference to an issue: its full id or a prefix of it, or the name that it has in another tracker.
///
/// A reference has hex digits in upper or lower case; tools and pages demand at least 8. It contains either all hyphens
/// of a UUID up to its end or none. People and branches also write `#3f2a9c1e` and `issue-3f2a9c1e`.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct IssueRef {
    text: String,
    digits: usize,
    first: u128,
}

impl IssueRef {
    /// The minimum number of hex digits in a reference of an agent.
    pub const MIN_DIGITS: usize = 8;

    /// Parses a reference of at least `min_digits` hex digits.
    ///
    /// # Errors
    ///
    /// [`DomainError::InvalidReference`].
    pub fn with_min_digits(given: &str, min_digits: usize) -> Result<Self, DomainError> {
        const PREFIX: &str = "issue-";
        let word = given.trim();
        let is_prefixed =
            word.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX));
        let id = if is_prefixed {
            &word[PREFIX.len()..]
        } else {
            word.strip_prefix('#').unwrap_or(word)
        };
        let read = Self::read(id).filter(|read| read.digits >= min_digits);
        read.ok_or_else(|| DomainError::invalid_reference(given, min_digits))
    }

    /// Parses what people and agents call an issue: a reference, or the id or number that an imported issue has in
    /// another tracker, as in `12`, `#12`, `ABC-12` or `bd-a1b2`.
    ///
    /// # Errors
    ///
    /// [`DomainError::InvalidReference`].
    pub fn named(given: &str, min_digits: usize) -> Result<Self, DomainError> {
        Self::with_min_digits(given, min_digits).or_else(|invalid| {
            let word = given.trim();
            let name = word.strip_prefix('#').unwrap_or(word);
            let is_key = name.contains('-') && !name.contains(char::is_whitespace);
            if !is_key && !is_number(name) {
                return Err(invalid);
            }
            // No issue has the nil id.
            Ok(Self { text: word.to_owned(), digits: WHOLE_DIGITS, first: 0 })
        })
    }

    /// Returns the text if it may be the id or number of an issue in another tracker.
    pub fn external(&self) -> Option<&str> {
        let name = self.text.strip_prefix('#').unwrap_or(&self.text);
        (self.is_name() || is_number(name)).then_some(name)
    }

    /// Returns true for a name that is no id of ait, rather than one of zeros.
    fn is_name(&self) -> bool {
        let is_zeros = self.text.bytes().all(|byte| matches!(byte, b'0' | b'-'));
        let is_nil = self.text.len() >= WHOLE_DIGITS && is_zeros;
        self.first == 0 && self.digits == WHOLE_DIGITS && !is_nil
    }

    /// Returns the refusal of a reference that names no issue.
    pub fn unknown(&self) -> DomainError {
        if self.is_name() {
            return DomainError::invalid_reference(&self.text, Self::MIN_DIGITS);
        }
        DomainError::UnknownIssue { reference: self.to_string() }
    }

    /// Parses the name of a branch: `issue-` and at least the first 8 digits of an id, as a word of the name. `None` if
    /// it names no issue, or more than one.
    pub fn in_branch(branch: &str) -> Option<Self> {
        const BEFORE_ID: &str = "issue-";
        let branch = branch.to_ascii_lowercase();
        let mut found: Vec<Self> = Vec::new();
        for (at, _) in branch.match_indices(BEFORE_ID) {
            let before = &branch[..at];
            let rest = &branch[at + BEFORE_ID.len()..];
            let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
            let whole = rest.get(..WHOLE_CHARS).filter(|id| IssueId::parse(id).is_some());
            let id = whole.unwrap_or(&rest[..digits]);
            let is_word = !before.ends_with(char::is_alphanumeric)
                && !rest[id.len()..].starts_with(char::is_alphanumeric);
            if let Some(reference) = id.parse::<Self>().ok().filter(|_| is_word)
                && !found.contains(&reference)
            {
                found.push(reference);
            }
        }
        found.pop().filter(|_| found.is_empty())
    }

    /// Parses a word that a user looks for: a reference as in texts, with marks around it, or the name of a branch.
    pub fn in_search(word: &str) -> Option<Self> {
        let bare = word.trim_matches(|mark: char| !mark.is_alphanumeric() && mark != '#');
        bare.parse().ok().or_else(|| Self::in_branch(bare))
    }

    /// Returns the range of ids that start with this reference.
    pub fn range(&self) -> RangeInclusive<IssueId> {
        let open_bits = 4 * (WHOLE_DIGITS - self.digits) as u32;
        let last = self.first | u128::MAX.checked_shr(128 - open_bits).unwrap_or(0);
        IssueId(Uuid::from_u128(self.first))..=IssueId(Uuid::from_u128(last))
    }

    /// Returns the range of ids that start with a partly typed id, which may be empty. Returns `None` if no id can
    /// start with the text.
    pub fn begun(text: &str) -> Option<RangeInclusive<IssueId>> {
        Self::read(text.strip_prefix('#').unwrap_or(text)).map(|begun| begun.range())
    }

    /// Parses any number of digits of an id.
    fn read(given: &str) -> Option<Self> {
        let text = given.trim().to_ascii_lowercase();
        let hyphenated = text.contains('-');
        let mut digits = 0usize;
        let mut first = 0u128;
        for (position, character) in text.chars().enumerate() {
            let hyphen_place = hyphenated && matches!(position, 8 | 13 | 18 | 23);
            match character.to_digit(16) {
                Some(digit) if !hyphen_place && digits < WHOLE_DIGITS => {
                    first = first << 4 | u128::from(digit);
                    digits += 1;
                }
                None if hyphen_place && character == '-' => {}
                _ => return None,
            }
        }
        first = first.checked_shl(4 * (WHOLE_DIGITS - digits) as u32).unwrap_or(0);
        Some(Self { text, digits, first })
    }
}

impl From<IssueId> for IssueRef {
    fn from(id: IssueId) -> Self {
        Self { text: id.to_string(), digits: WHOLE_DIGITS, first: id.0.as_u128() }
    }
}

impl TryFrom<String> for IssueRef {
    type Error = DomainError;

    fn try_from(text: String) -> Result<Self, DomainError> {
        Self::named(&text, Self::MIN_DIGITS)
    }
}

impl fmt::Display for IssueRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for IssueRef {
    type Err = DomainError;

    fn from_str(given: &str) -> Result<Self, DomainError> {
        Self::with_min_digits(given, Self::MIN_DIGITS)
    }
}

/// Returns true for a number, also that of a part, as in `1.2`.
fn is_number(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";

    fn id(text: &str) -> IssueId {
        IssueId(Uuid::parse_str(text).unwrap())
    }

    #[test]
    fn id_prefixes_of_at_least_8_digits_match_the_issue() {
        for length in 8..=WHOLE.len() {
            for text in [WHOLE[..length].to_owned(), WHOLE[..length].to_uppercase()] {
                let reference: IssueRef = text.parse().unwrap();
                assert!(reference.range().contains(&id(WHOLE)), "{text}");
                assert!(!reference.range().contains(&id(&WHOLE.replace('3', "4"))), "{text}");
            }
        }
        for text in ["#3F2A9C1E", "issue-3f2a9c1e", "Issue-3f2a9c1e-7d54", " 3f2a9c1e "] {
            assert!(text.parse::<IssueRef>().unwrap().range().contains(&id(WHOLE)), "{text}");
        }
        let bare: IssueRef = WHOLE.replace('-', "").parse().unwrap();
        assert_eq!(bare.range(), id(WHOLE)..=id(WHOLE));
    }

    #[test]
    fn a_prefix_covers_exactly_the_ids_that_start_with_it() {
        let range = "3f2a9c1e".parse::<IssueRef>().unwrap().range();
        assert_eq!(*range.start(), id("3f2a9c1e-0000-0000-0000-000000000000"));
        assert_eq!(*range.end(), id("3f2a9c1e-ffff-ffff-ffff-ffffffffffff"));
    }

    #[test]
    fn invalid_references_are_rejected_with_the_expected_form() {
        let long = format!("{WHOLE}0");
        for text in [
            "",
            "#",
            "#1",
            "issue-",
            "3f2a9c1",
            "3f2a9c1g",
            "3f2a9c-1e",
            "3f2a9c1e7d54-4b0a",
            "##3f2a9c1e",
            "issue",
            long.as_str(),
        ] {
            let error = text.parse::<IssueRef>().unwrap_err().to_string();
            assert!(error.contains("first 8"), "{error}");
        }
    }

    #[test]
    fn names_in_other_trackers_are_no_ids_of_ait() {
        for (given, external) in [
            ("12", Some("12")),
            (" #12 ", Some("12")),
            ("2.1", Some("2.1")),
            ("ABC-12", Some("ABC-12")),
            ("bd-a1b2", Some("bd-a1b2")),
            ("12345678", Some("12345678")),
            ("00000000", Some("00000000")),
            ("00000000-0000-0000-0000-000000000000", None),
            ("3f2a9c1e", None),
            (WHOLE, None),
        ] {
            let named = IssueRef::named(given, IssueRef::MIN_DIGITS).unwrap();
            assert_eq!(named.external(), external, "{given}");
            let is_id = given.parse::<IssueRef>().is_ok();
            let refusal = named.unknown();
            assert_eq!(matches!(refusal, DomainError::UnknownIssue { .. }), is_id, "{given}");
        }
        for given in ["", "#", "3f2a9c1", "a b-c", "issue", ".", "title"] {
            assert!(IssueRef::named(given, IssueRef::MIN_DIGITS).is_err(), "{given}");
        }
    }

    #[test]
    fn json_ids_are_complete_and_written_in_lower_case() {
        let read: IssueId = serde_json::from_str(&format!("\"{}\"", WHOLE.to_uppercase())).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), format!("\"{WHOLE}\""));
        assert_eq!(read.short(), "3f2a9c1e");
        for text in ["3f2a9c1e", "", "17", &WHOLE.replace('-', "")] {
            assert!(serde_json::from_str::<IssueId>(&format!("\"{text}\"")).is_err(), "{text}");
        }
    }

    #[test]
    fn branch_names_are_parsed_for_issue_ids() {
        let whole = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";
        for (branch, expected) in [
            ("issue-3f2a9c1e", Some("3f2a9c1e")),
            ("issue-3F2A9C1E", Some("3f2a9c1e")),
            ("feature/issue-3f2a9c1e-fix-login", Some("3f2a9c1e")),
            ("fix_issue-3f2a9c1e7d54_x", Some("3f2a9c1e7d54")),
            ("issue-3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", Some(whole)),
            ("issue-3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73-deed", Some(whole)),
            ("issue-3f2a9c1e/issue-3f2a9c1e", Some("3f2a9c1e")),
            ("issue-3f2a9c1e-issue-77b0c5d2", None),
            ("issue-3f2a9c1", None),
            ("issue-3f2a9c1ex", None),
            ("tissue-3f2a9c1e", None),
            ("issue-1234", None),
            ("issue-ü3f2a9c1e", None),
            ("3f2a9c1e", None),
            ("main", None),
        ] {
            let expected = expected.map(|id| id.parse::<IssueRef>().unwrap());
            assert_eq!(IssueRef::in_branch(branch), expected, "{branch}");
        }
    }

    #[test]
    fn search_words_name_issues_as_people_and_branches_do() {
        for word in [
            "3f2a9c1e",
            "#3F2A9C1E",
            "issue-3f2a9c1e",
            "`3f2a9c1e`",
            "[#3f2a9c1e],",
            "3f2a9c1e:",
            "origin/issue-3f2a9c1e-fix-login",
        ] {
            assert_eq!(IssueRef::in_search(word), "3f2a9c1e".parse().ok(), "{word}");
        }
        for word in ["3f2a9c1", "x3f2a9c1e", "src/3f2a9c1e.rs", "issues", "##", ""] {
            assert_eq!(IssueRef::in_search(word), None, "{word}");
        }
    }
}
