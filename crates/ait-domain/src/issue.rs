//! The issue and its parts, and the JSON form that the file, the tools and HTTP share.
//!
//! The form is that of the original AgentIssueTracker. Keys appear in the order of the fields here. Unknown keys of
//! a file are kept and follow them.

use std::fmt;

use serde::de::{self, MapAccess};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::{
    ActionKind, AgentName, Attributes, Classification, Facts, IssueId, Timestamp, UnknownKeys,
};
use crate::string_enum;

string_enum! {
    /// The status of an issue in its lifecycle. PostgreSQL stores the number of the variant: add new ones at the end.
    pub enum Status {
        /// Waiting to be claimed.
        Created = "created",
        /// Claimed by the agent that works on it.
        InProgress = "in_progress",
        /// Done, waiting for review.
        Completed = "completed",
        /// Claimed by the agent that reviews it.
        InReview = "in_review",
        /// Closed: accepted.
        Closed = "closed",
        /// Rejected: will not be done.
        Rejected = "rejected",
        /// An entry of the [memory](super::memory): kept for later agents, and no work.
        Kept = "kept",
    }
}

impl Status {
    /// The statuses of work, in display order: all but that of entries.
    pub const OF_WORK: &'static [Self] = Self::ALL.split_at(Self::Kept as usize).0;

    /// Returns the words of the statuses of work.
    pub fn words_of_work() -> impl Iterator<Item = &'static str> + Clone {
        Self::OF_WORK.iter().map(|status| status.as_str())
    }

    /// Returns true if there is nothing to do about an issue in this status: no transition leaves it.
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Closed | Self::Rejected | Self::Kept)
    }

    /// Returns true if an issue in this status has not ended.
    pub fn is_open(self) -> bool {
        !self.has_ended()
    }

    /// Returns the status in which the issue waits once its claim has ended without a result.
    pub fn after_lapse(self) -> Self {
        match self {
            Self::InProgress => Self::Created,
            Self::InReview => Self::Completed,
            other => other,
        }
    }

    /// Returns true if an agent holds an issue in this status.
    pub fn is_claimed(self) -> bool {
        matches!(self, Self::InProgress | Self::InReview)
    }
}

/// One unit of work.
///
/// Issues come from [`Event::filed`](super::Event::filed) or from a file, and change only through
/// [`Event::apply`](super::Event::apply).
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    pub id: IssueId,
    /// The title, a single line.
    pub title: String,
    pub description: String,
    /// The kind of work.
    pub classification: Classification,
    /// The time at which the issue was filed.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub modified_at: Timestamp,
    pub status: Status,
    /// The history, oldest first.
    pub history: Vec<HistoryEntry>,
    /// The comments, oldest first.
    pub comments: Vec<Comment>,
    /// Priority, labels, assignee, links, and whether it is parked.
    #[serde(flatten)]
    pub attributes: Attributes,
    #[serde(flatten)]
    pub unknown_keys: UnknownKeys,
}

// No field can differ from itself.
impl Eq for Issue {}

/// The holder of a claimed issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder<'a> {
    /// The agent that claimed it.
    pub agent: &'a str,
    /// The time of the claim.
    pub since: Timestamp,
}

impl Issue {
    /// Returns the holder while the status is a claimed one: the agent of the [last claim](ActionKind::claim_in).
    pub fn holder(&self) -> Option<Holder<'_>> {
        let claim = self.claim_entry()?;
        let claim = &self.history[claim];
        Some(Holder { agent: &claim.agent, since: claim.timestamp })
    }

    /// Returns true if an agent holds the issue.
    pub fn is_held_by(&self, agent: &AgentName) -> bool {
        self.holder().is_some_and(|holder| holder.agent == agent.as_str())
    }

    /// Returns the position of the claim's entry in the history, if the issue is claimed.
    pub fn claim_entry(&self) -> Option<usize> {
        if !self.status.is_claimed() {
            return None;
        }
        ActionKind::claim_in(self.action_kinds())
    }

    /// Returns how often the issue was [returned after a claim](ActionKind::returns_in).
    pub fn returns(&self) -> usize {
        ActionKind::returns_in(self.action_kinds())
    }

    fn action_kinds(
        &self,
    ) -> impl DoubleEndedIterator<Item = ActionKind> + ExactSizeIterator + Clone {
        self.history.iter().map(|entry| ActionKind::of(&entry.action))
    }
}

impl Issue {
    /// Renames unknown keys that have the name of an attribute that is set now. Another program wrote them, with values
    /// of another form.
    pub fn set_unknown_namesakes_aside(&mut self) {
        if self.attributes.is_empty() || self.unknown_keys.is_empty() {
            return;
        }
        for field in self.attributes.set_fields() {
            self.unknown_keys.set_aside(field);
        }
    }

    /// Returns true if the issue, its history or its comments contain unknown keys.
    pub fn has_unknown_keys(&self) -> bool {
        let of_history = self.history.iter().map(|entry| &entry.unknown_keys);
        let of_comments = self.comments.iter().map(|comment| &comment.unknown_keys);
        of_history.chain(of_comments).chain([&self.unknown_keys]).any(|keys| !keys.is_empty())
    }
}

/// An entry of the history.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HistoryEntry {
    /// The time.
    pub timestamp: Timestamp,
    pub agent: String,
    /// The action, as a short phrase in the past tense.
    pub action: String,
    /// What was measured of the action.
    #[serde(flatten)]
    pub facts: Facts,
    #[serde(flatten)]
    pub unknown_keys: UnknownKeys,
}

impl HistoryEntry {
    /// Creates an entry without unknown keys.
    pub fn new(timestamp: Timestamp, agent: impl Into<String>, action: impl Into<String>) -> Self {
        let agent = agent.into();
        let action = action.into();
        let unknown_keys = UnknownKeys::default();
        let facts = Facts::default();
        Self { timestamp, agent, action, facts, unknown_keys }
    }
}

/// A comment on an issue.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comment {
    /// The time.
    pub timestamp: Timestamp,
    /// The author.
    pub agent: String,
    pub text: String,
    #[serde(flatten)]
    pub unknown_keys: UnknownKeys,
}

impl Comment {
    /// Creates a comment without unknown keys.
    pub fn new(timestamp: Timestamp, agent: impl Into<String>, text: impl Into<String>) -> Self {
        let agent = agent.into();
        let text = text.into();
        let unknown_keys = UnknownKeys::default();
        Self { timestamp, agent, text, unknown_keys }
    }
}

/// Implements `Deserialize` for an object: each named key must occur exactly once, and every other key is kept. A
/// function may take some of the other keys for a field.
///
/// `#[serde(flatten)]` would buffer each object. That takes twice the time and reports an error at the end of the
/// object instead of on its line.
#[macro_export]
macro_rules! read_keeping_unknown_keys {
    (
        $name:ident,
        $expecting:literal,
        { $($field:ident = $key:literal),+ $(,)? }
        $(, $rest:ident = $take:path)?
    ) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                // Known keys are matched without allocating; only unknown keys need a string.
                #[expect(non_camel_case_types, reason = "the names are those of the fields")]
                enum Key {
                    $($field,)+
                    Unknown(String),
                }

                struct KeyVisitor;
                impl de::Visitor<'_> for KeyVisitor {
                    type Value = Key;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<Key, E> {
                        Ok(match text {
                            $($key => Key::$field,)+
                            _ => Key::Unknown(text.to_owned()),
                        })
                    }
                }

                impl<'de> Deserialize<'de> for Key {
                    fn deserialize<D: Deserializer<'de>>(key: D) -> Result<Self, D::Error> {
                        key.deserialize_str(KeyVisitor)
                    }
                }

                struct Visitor;
                impl<'de> de::Visitor<'de> for Visitor {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let twice = |key: &str| {
                            Err(de::Error::custom(format!("duplicate field `{key}`")))
                        };
                        $(let mut $field = None;)+
                        let mut unknown_keys = UnknownKeys::default();
                        while let Some(key) = map.next_key()? {
                            match key {
                                $(Key::$field => {
                                    if $field.replace(map.next_value()?).is_some() {
                                        return twice($key);
                                    }
                                })+
                                Key::Unknown(key) => {
                                    let value: Box<RawValue> = map.next_value()?;
                                    if !unknown_keys.insert(key.clone(), value) {
                                        return twice(&key);
                                    }
                                }
                            }
                        }
                        Ok($name {
                            $($field: $field.ok_or_else(|| de::Error::missing_field($key))?,)+
                            $($rest: $take(&mut unknown_keys),)?
                            unknown_keys,
                        })
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }
    };
}
read_keeping_unknown_keys!(Issue, "an issue (an object)", {
    id = "id",
    title = "title",
    description = "description",
    classification = "classification",
    created_at = "createdAt",
    modified_at = "modifiedAt",
    status = "status",
    history = "history",
    comments = "comments",
}, attributes = Attributes::take_from);
read_keeping_unknown_keys!(HistoryEntry, "a history entry (an object)", {
    timestamp = "timestamp",
    agent = "agent",
    action = "action",
}, facts = Facts::take_from);
read_keeping_unknown_keys!(Comment, "a comment (an object)", {
    timestamp = "timestamp",
    agent = "agent",
    text = "text",
});

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = r#"{"id":"3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73","title":"T","description":"","classification":"bug","createdAt":"2026-01-31T09:30:00.000Z","modifiedAt":"2026-01-31T09:31:00.000Z","status":"in_progress","history":[{"timestamp":"2026-01-31T09:31:00.000Z","agent":"a","action":"x"}],"comments":[{"timestamp":"2026-01-31T09:31:00.000Z","agent":"a","text":"x"}]}"#;

    #[test]
    fn an_issue_round_trips_byte_for_byte() {
        let issue: Issue = serde_json::from_str(PLAIN).unwrap();
        assert_eq!(serde_json::to_string(&issue).unwrap(), PLAIN);
        assert_eq!(issue.holder().unwrap().agent, "a");
    }

    #[test]
    fn unknown_keys_are_preserved_in_order_at_every_level() {
        let with_extra = PLAIN
            .replace(r#""action":"x""#, r#""action":"x","z":[1,{ "q":null}],"a":2.50"#)
            .replace(r#""text":"x""#, r#""text":"x","votes":3"#)
            .replace(r#"}]}"#, r#"}],"priority":12345678901234567890123,"labels":["b",1e400]}"#);
        let issue: Issue = serde_json::from_str(&with_extra).unwrap();
        assert_eq!(serde_json::to_string(&issue).unwrap(), with_extra);
    }

    #[test]
    fn missing_duplicate_and_invalid_fields_are_named_in_errors() {
        for (broken, named) in [
            (PLAIN.replace(r#""title":"T","#, ""), "missing field `title`"),
            (PLAIN.replace(r#","comments":[{"timestamp":"2026-01-31T09:31:00.000Z","agent":"a","text":"x"}]"#, ""), "missing field `comments`"),
            (PLAIN.replace(r#""title":"T""#, r#""title":"T","title":"U""#), "duplicate field `title`"),
            (PLAIN.replace(r#""title":"T""#, r#""title":"T","x":1,"x":2"#), "duplicate field `x`"),
            (PLAIN.replace("in_progress", "started"), "unknown variant `started`"),
            (PLAIN.replace("\"bug\"", "\"wish\""), "unknown variant `wish`"),
            (PLAIN.replace("\"T\"", "7"), "expected a string"),
            (PLAIN.replace("2026-01-31T09:30:00.000Z", "today"), "expected a time"),
            ("[]".to_owned(), "expected an issue"),
        ] {
            let error = serde_json::from_str::<Issue>(&broken).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn only_a_claimed_issue_has_a_holder() {
        for &status in Status::ALL {
            let mut issue: Issue = serde_json::from_str(PLAIN).unwrap();
            issue.status = status;
            assert_eq!(issue.holder().is_some(), status.is_claimed(), "{status}");
            issue.history.clear();
            assert_eq!(issue.holder(), None);
        }
    }
}
