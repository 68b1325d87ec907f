//! What an issue can have besides its texts and its status: priority, labels, assignee, links, and being parked.
//!
//! They decide the order of claims and who may claim. An issue without them behaves as if the type did not exist.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Deserializer, Serialize, de};

use super::{
    AgentName, Budget, DomainError, Due, Estimate, IssueId, Question, Timestamp, Touches,
    UnknownKeys,
};
use crate::string_enum;

/// How urgent an issue is: 0 is first, 4 is last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(transparent)]
pub struct Priority(u8);

impl Priority {
    /// The last priority.
    pub const MAX: u8 = 4;
    /// The first priority.
    pub const FIRST: Self = Self(0);

    const EXPECTED: &str = "is not a priority: give a number from 0 (first) to 4 (last)";

    /// Returns the number.
    pub fn get(self) -> u8 {
        self.0
    }
}

/// The priority of issues that have none.
impl Default for Priority {
    fn default() -> Self {
        Self(2)
    }
}

impl TryFrom<u64> for Priority {
    type Error = DomainError;

    fn try_from(number: u64) -> Result<Self, DomainError> {
        let valid = u8::try_from(number).ok().filter(|number| *number <= Self::MAX);
        valid.map(Self).ok_or_else(|| DomainError::invalid(&number.to_string(), Self::EXPECTED))
    }
}

impl FromStr for Priority {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        // `p1` is how people write it.
        let digits = text.strip_prefix(['p', 'P']).unwrap_or(text);
        let number = digits.parse::<u64>();
        Self::try_from(number.map_err(|_| DomainError::invalid(text, Self::EXPECTED))?)
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(u64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// A label: 1 to 50 characters of `a-z`, `0-9` and `:._/-`, beginning with a letter or a digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(transparent)]
pub struct Label(String);

impl Label {
    /// The maximum number of characters.
    pub const MAX_CHARS: usize = 50;
    /// The maximum number of labels of an issue.
    pub const MAX_COUNT: usize = 20;

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_allowed = |byte: u8| is_word(byte) || b":._/-".contains(&byte);
        let begins_well = text.bytes().next().is_some_and(is_word);
        if begins_well && text.len() <= Self::MAX_CHARS && text.bytes().all(is_allowed) {
            return Ok(Self(text.to_owned()));
        }
        const EXPECTED: &str = "is not a label: use 1 to 50 characters of a-z, 0-9 and : . _ / -, and begin with a letter or a digit";
        Err(DomainError::invalid(text, EXPECTED))
    }
}

impl TryFrom<String> for Label {
    type Error = DomainError;

    fn try_from(text: String) -> Result<Self, DomainError> {
        text.parse()
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

string_enum! {
    /// How an issue is related to another one.
    pub enum LinkKind {
        /// The other one is the whole of which this issue is a part. An issue has at most one parent.
        Parent = "parent",
        /// This issue cannot be claimed before the other one has ended.
        BlockedBy = "blocked_by",
        /// The two have something to do with each other.
        Related = "related",
        /// This issue says the same as the other one.
        DuplicateOf = "duplicate_of",
    }
}

impl LinkKind {
    /// Returns true if one of the two issues waits for the other one.
    pub fn decides_order(self) -> bool {
        matches!(self, Self::Parent | Self::BlockedBy)
    }
}

/// A link from an issue to another one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub kind: LinkKind,
    /// The other issue.
    pub to: IssueId,
}

impl Link {
    /// The maximum number of links of an issue.
    pub const MAX_COUNT: usize = 100;
    /// The maximum number of issues on a path from a part to the outermost parent.
    pub const MAX_DEPTH: usize = 8;
}

/// Why an issue is not handed out for now.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parked {
    pub reason: String,
    /// The time from which on it is parked.
    pub since: Timestamp,
    /// Who parked it.
    pub by: String,
    /// The time from which on it counts as not parked; `None` if it is parked without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The question to people that the issue waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
}

/// The values of [`Attributes`].
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttributeValues {
    /// The priority; `None` counts as the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The labels, ascending, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// The agent that the issue is for; `None` for any agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignee: Option<AgentName>,
    /// The links, in the order in which they were made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Why the issue is not handed out, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parked: Option<Box<Parked>>,
    /// When the issue should have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due: Option<Due>,
    /// How much work it is, in the team's own unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The files that the work changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touches: Option<Touches>,
    /// What it may cost or use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

/// The attributes of an issue. Behind a pointer, because most issues have none, and many have the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attributes(Option<Arc<AttributeValues>>);

static NONE: LazyLock<AttributeValues> = LazyLock::new(AttributeValues::default);

impl Deref for Attributes {
    type Target = AttributeValues;

    fn deref(&self) -> &AttributeValues {
        self.0.as_deref().unwrap_or(&NONE)
    }
}

impl From<AttributeValues> for Attributes {
    fn from(values: AttributeValues) -> Self {
        Self((values != *NONE).then(|| Arc::new(values)))
    }
}

impl Serialize for Attributes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        AttributeValues::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        AttributeValues::deserialize(deserializer).map(Self::from)
    }
}

impl Attributes {
    /// Returns true if the issue has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the attributes with other links.
    #[must_use]
    pub fn with_links(&self, links: &[Link]) -> Self {
        Self::from(AttributeValues { links: links.to_vec(), ..AttributeValues::clone(self) })
    }

    /// Takes the attributes out of the unknown keys of an issue. A key whose value has another form than ours stays
    /// an unknown key, because another program may have written it.
    pub fn take_from(fields: &mut UnknownKeys) -> Self {
        if fields.is_empty() {
            return Self::default();
        }
        let mut values = AttributeValues {
            priority: take(fields, "priority", |_: &Priority| true),
            labels: take(fields, "labels", |labels: &Vec<Label>| are_few(labels))
                .unwrap_or_default(),
            assignee: take(fields, "assignee", |name: &String| is_name(name))
                .and_then(|name| AgentName::try_from(name).ok()),
            links: take(fields, "links", |links: &Vec<Link>| are_valid(links)).unwrap_or_default(),
            parked: take(fields, "parked", |_: &Parked| true).map(Box::new),
            due: take(fields, "due", |_: &Due| true),
            estimate: take(fields, "estimate", |_: &Estimate| true),
            touches: take(fields, "touches", |_: &Touches| true),
            budget: take(fields, "budget", |_: &Budget| true),
        };
        // People who edit the file write them in any order.
        values.labels.sort_unstable();
        values.labels.dedup();
        Self::from(values)
    }
}

/// Takes a field with a valid value.
pub(super) fn take<T: for<'de> Deserialize<'de>>(
    fields: &mut UnknownKeys,
    key: &str,
    is_valid: impl FnOnce(&T) -> bool,
) -> Option<T> {
    let value: T = serde_json::from_str(fields.get(key)?).ok()?;
    is_valid(&value).then(|| {
        fields.remove(key);
        value
    })
}

fn are_few(labels: &[Label]) -> bool {
    labels.len() <= Label::MAX_COUNT
}

fn is_name(text: &str) -> bool {
    AgentName::try_from(text).is_ok_and(|valid| valid.as_str() == text)
}

/// Returns true if an issue can have these links, as far as they themselves tell.
pub(super) fn are_valid(links: &[Link]) -> bool {
    let parents = links.iter().filter(|link| link.kind == LinkKind::Parent).count();
    let is_once = |(at, link): (usize, &Link)| !links[..at].contains(link);
    links.len() <= Link::MAX_COUNT && parents <= 1 && links.iter().enumerate().all(is_once)
}

impl AttributeValues {
    /// Returns the priority, or the default.
    pub fn effective_priority(&self) -> Priority {
        self.priority.unwrap_or_default()
    }

    /// Returns true if the issue is parked at a time.
    pub fn is_parked_at(&self, now: Timestamp) -> bool {
        self.parked.as_ref().is_some_and(|parked| parked.until.is_none_or(|until| now < until))
    }

    /// Returns the targets of the links of one kind.
    pub fn linked(&self, kind: LinkKind) -> impl Iterator<Item = IssueId> {
        self.links.iter().filter(move |link| link.kind == kind).map(|link| link.to)
    }

    pub fn parent(&self) -> Option<IssueId> {
        self.linked(LinkKind::Parent).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Issue;

    fn issue(fields: &str) -> Issue {
        let text = format!(
            r#"{{"id":"3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73","title":"T","description":"","classification":"bug","createdAt":"2026-01-31T09:30:00.000Z","modifiedAt":"2026-01-31T09:31:00.000Z","status":"created","history":[],"comments":[]{fields}}}"#
        );
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn attributes_round_trip_behind_the_comments() {
        let fields = r#","priority":0,"labels":["area/ui","bug:p1"],"assignee":"dev-1","links":[{"kind":"parent","to":"4f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73"}],"parked":{"reason":"r","since":"2026-01-31T09:30:00.000Z","by":"lead"},"mine":1"#;
        let issue = issue(fields);
        assert!(serde_json::to_string(&issue).unwrap().ends_with(&format!("[]{fields}}}")));
        assert_eq!(issue.attributes.effective_priority().get(), 0);
        assert_eq!(issue.attributes.labels.len(), 2);
        assert!(issue.attributes.parent().is_some());
        assert!(
            issue.unknown_keys.get("mine").is_some() && issue.unknown_keys.get("links").is_none()
        );
        let asked = r#","parked":{"reason":"r","since":"2026-01-31T09:30:00.000Z","by":"dev","question":{"text":"Why?","options":["a"]}}"#;
        let issue = self::issue(asked);
        assert_eq!(issue.open_question().unwrap().options, ["a"]);
        assert!(serde_json::to_string(&issue).unwrap().ends_with(&format!("[]{asked}}}")));
        let unordered = self::issue(r#","labels":["b","a","b"]"#);
        assert_eq!(
            serde_json::to_value(&unordered.attributes.labels).unwrap(),
            serde_json::json!(["a", "b"])
        );
    }

    #[test]
    fn values_of_another_form_stay_unknown_keys() {
        for fields in [
            r#","priority":"high""#,
            r#","priority":5"#,
            r#","priority":12345678901234567890123"#,
            r#","labels":["Two Words"]"#,
            r#","labels":"bug""#,
            r#","assignee":{"login":"octocat"}"#,
            r#","assignee":"""#,
            r#","links":[{"kind":"blocks","to":"4f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73"}]"#,
            r#","parked":true"#,
        ] {
            let issue = issue(fields);
            assert!(issue.attributes.is_empty(), "{fields}");
            assert!(serde_json::to_string(&issue).unwrap().ends_with(&format!("[]{fields}}}")));
        }
    }

    #[test]
    fn priorities_and_labels_have_limits() {
        for (text, expected) in
            [("0", Some(0)), ("p1", Some(1)), ("4", Some(4)), ("5", None), ("-1", None), ("", None)]
        {
            assert_eq!(text.parse::<Priority>().ok().map(Priority::get), expected, "{text}");
        }
        for (text, is_valid) in [
            ("a", true),
            ("area/ui:x-1.2_b", true),
            ("", false),
            ("A", false),
            ("-a", false),
            ("a b", false),
        ] {
            assert_eq!(text.parse::<Label>().is_ok(), is_valid, "{text}");
        }
        assert!(
            "a".repeat(50).parse::<Label>().is_ok() && "a".repeat(51).parse::<Label>().is_err()
        );
    }
}
