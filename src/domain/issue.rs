//! The issue and its parts: the values, and the JSON form that the file, the tools and HTTP share.
//!
//! The form is that of the original AgentIssueTracker: the keys of each object in the order of the
//! fields here, and after them whatever other keys a file held, which are kept.

use std::fmt;

use serde::de::{self, MapAccess};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::event::EDIT_ACTION;
use super::{Extra, IssueId, Timestamp};

/// Declares an enum whose values are lower-case words in JSON.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value, in the order in which people expect to see them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word that stands for it in JSON.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// The value that a word stands for.
            pub fn from_word(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Where an issue stands in its lifecycle.
    Status {
        /// Waiting to be claimed.
        Created = "created",
        /// Claimed by the agent that works on it.
        InProgress = "in_progress",
        /// Done, waiting for a review.
        Completed = "completed",
        /// Claimed by the agent that reviews it.
        InReview = "in_review",
        /// Ended: accepted.
        Closed = "closed",
        /// Ended: not to be done.
        Rejected = "rejected",
    }
}

impl Status {
    /// Tells whether nothing leaves this status.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Closed | Self::Rejected)
    }

    /// Tells whether an agent holds an issue in this status.
    pub fn is_claimed(self) -> bool {
        matches!(self, Self::InProgress | Self::InReview)
    }
}

words! {
    /// What kind of work an issue is.
    Classification {
        /// Something is wrong.
        Bug = "bug",
        /// Something could be better.
        Improvement = "improvement",
        /// Something is missing.
        Feature = "feature",
    }
}

/// One unit of work.
///
/// Values come from [`Event::filed`](super::Event::filed) or from a file; they change by
/// [`Event::apply`](super::Event::apply) alone.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// Its identity.
    pub id: IssueId,
    /// What it is called, in one line.
    pub title: String,
    /// What it is about.
    pub description: String,
    /// What kind of work it is.
    pub classification: Classification,
    /// When it was filed.
    pub created_at: Timestamp,
    /// When it last changed.
    pub modified_at: Timestamp,
    /// Where it stands.
    pub status: Status,
    /// What was done to it, oldest first.
    pub history: Vec<HistoryEntry>,
    /// What was said about it, oldest first.
    pub comments: Vec<Comment>,
    /// The keys that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

// It holds no value that differs from itself.
impl Eq for Issue {}

/// Who holds a claimed issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holder<'a> {
    /// The agent that claimed it.
    pub agent: &'a str,
    /// When it did.
    pub since: Timestamp,
}

/// How long a claim is held until people are told that it is old: a day.
pub const OLD_CLAIM_MS: u64 = 24 * 60 * 60 * 1_000;

impl Issue {
    /// Who holds the issue: while the status is a claimed one, the agent of the latest history entry that is
    /// not an edit.
    pub fn holder(&self) -> Option<Holder<'_>> {
        let claim = self.claim_entry()?;
        let claim = &self.history[claim];
        Some(Holder { agent: &claim.agent, since: claim.timestamp })
    }

    /// The position in the history of the entry by which the issue was claimed, while it is.
    pub fn claim_entry(&self) -> Option<usize> {
        if !self.status.is_claimed() {
            return None;
        }
        self.history.iter().rposition(|entry| entry.action != EDIT_ACTION)
    }
}

impl Issue {
    /// Tells whether there are keys in it that this version does not know.
    pub fn has_unknown_keys(&self) -> bool {
        let of_history = self.history.iter().map(|entry| &entry.extra);
        let of_comments = self.comments.iter().map(|comment| &comment.extra);
        of_history.chain(of_comments).chain([&self.extra]).any(|extra| !extra.is_empty())
    }
}

/// One thing that was done to an issue.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct HistoryEntry {
    /// When.
    pub timestamp: Timestamp,
    /// By whom.
    pub agent: String,
    /// What, as a short phrase in the past tense.
    pub action: String,
    /// The keys that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One thing that was said about an issue.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comment {
    /// When.
    pub timestamp: Timestamp,
    /// By whom.
    pub agent: String,
    /// What.
    pub text: String,
    /// The keys that this version does not know.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Reads an object with the named keys, each once and all of them there, and keeps every other key.
///
/// Written out instead of `#[serde(flatten)]`, which buffers each object: that would take twice the
/// time and report an error at the end of the object instead of the line that it is in.
macro_rules! read_keeping_unknown_keys {
    ($name:ident, $expecting:literal, { $($field:ident = $key:literal),+ $(,)? }) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                // Told apart while they stand in the text: only an unknown key is worth a string.
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
                        let mut extra = Extra::default();
                        while let Some(key) = map.next_key()? {
                            match key {
                                $(Key::$field => {
                                    if $field.replace(map.next_value()?).is_some() {
                                        return twice($key);
                                    }
                                })+
                                Key::Unknown(key) => {
                                    let value: Box<RawValue> = map.next_value()?;
                                    if !extra.insert(key.clone(), value) {
                                        return twice(&key);
                                    }
                                }
                            }
                        }
                        Ok($name {
                            $($field: $field.ok_or_else(|| de::Error::missing_field($key))?,)+
                            extra,
                        })
                    }
                }
                deserializer.deserialize_map(Visitor)
            }
        }
    };
}
pub(crate) use read_keeping_unknown_keys;

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
});
read_keeping_unknown_keys!(HistoryEntry, "a history entry (an object)", {
    timestamp = "timestamp",
    agent = "agent",
    action = "action",
});
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
    fn a_plain_issue_keeps_its_bytes() {
        let issue: Issue = serde_json::from_str(PLAIN).unwrap();
        assert_eq!(serde_json::to_string(&issue).unwrap(), PLAIN);
        assert_eq!(issue.holder().unwrap().agent, "a");
    }

    #[test]
    fn unknown_keys_are_kept_at_every_level_in_their_order() {
        let with_extra = PLAIN
            .replace(r#""action":"x""#, r#""action":"x","z":[1,{ "q":null}],"a":2.50"#)
            .replace(r#""text":"x""#, r#""text":"x","votes":3"#)
            .replace(r#"}]}"#, r#"}],"priority":12345678901234567890123,"labels":["b",1e400]}"#);
        let issue: Issue = serde_json::from_str(&with_extra).unwrap();
        assert_eq!(serde_json::to_string(&issue).unwrap(), with_extra);
    }

    #[test]
    fn a_missing_a_double_or_a_wrong_value_is_an_error_that_names_it() {
        for (broken, named) in [
            (PLAIN.replace(r#""title":"T","#, ""), "missing field `title`"),
            (PLAIN.replace(r#","comments":[{"timestamp":"2026-01-31T09:31:00.000Z","agent":"a","text":"x"}]"#, ""), "missing field `comments`"),
            (PLAIN.replace(r#""title":"T""#, r#""title":"T","title":"U""#), "duplicate field `title`"),
            (PLAIN.replace(r#""title":"T""#, r#""title":"T","x":1,"x":2"#), "duplicate field `x`"),
            (PLAIN.replace("in_progress", "started"), "unknown variant `started`"),
            (PLAIN.replace("\"bug\"", "\"task\""), "unknown variant `task`"),
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
