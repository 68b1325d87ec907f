//! An issue from another tracker, validated for import.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{AgentName, CommentText, Description, DomainError, Issue, Title};
use crate::json_compat;

/// An issue whose texts are within the limits of new issues, and which fits into a record of the log.
///
/// The texts are neither changed nor trimmed, so an export reproduces the import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportedIssue {
    issue: Arc<Issue>,
    json_bytes: usize,
}

impl ImportedIssue {
    /// The maximum size of the JSON of an issue. It leaves room for the metadata of the import in one log record.
    pub const MAX_JSON_BYTES: usize = 15 * 1024 * 1024;

    pub fn issue(&self) -> &Arc<Issue> {
        &self.issue
    }

    /// Returns the size of its JSON in bytes.
    pub fn json_bytes(&self) -> usize {
        self.json_bytes
    }
}

impl TryFrom<Issue> for ImportedIssue {
    type Error = DomainError;

    fn try_from(issue: Issue) -> Result<Self, DomainError> {
        Title::check(&issue.title)?;
        at_most("description", &issue.description, Description::MAX_CHARS)?;
        for entry in &issue.history {
            at_most("agent", &entry.agent, AgentName::MAX_CHARS)?;
        }
        for comment in &issue.comments {
            at_most("agent", &comment.agent, AgentName::MAX_CHARS)?;
            at_most("comment", &comment.text, CommentText::MAX_CHARS)?;
        }
        let json = serde_json::to_vec(&issue).unwrap_or_default();
        // Only unknown keys can be duplicated or fail to parse again.
        if issue.has_unknown_keys() {
            match serde_json::from_slice::<Issue>(&json) {
                Ok(same) if same == issue => {}
                Ok(_) => {
                    return Err(DomainError::NotRoundTrippable {
                        problem: "it reads back differently".to_owned(),
                    });
                }
                Err(error) => {
                    return Err(DomainError::NotRoundTrippable {
                        problem: json_compat::problem(&error),
                    });
                }
            }
        }
        let json_bytes = json.len();
        if json_bytes > Self::MAX_JSON_BYTES {
            let limit = Self::MAX_JSON_BYTES;
            return Err(DomainError::IssueTooLarge { bytes: json_bytes, limit });
        }
        Ok(Self { issue: Arc::new(issue), json_bytes })
    }
}

fn at_most(field: &'static str, text: &str, limit: usize) -> Result<(), DomainError> {
    // Most texts are so short in bytes that counting characters is unnecessary.
    let length = if text.len() <= limit { 0 } else { text.chars().count() };
    if length > limit { Err(DomainError::TooLong { field, length, limit }) } else { Ok(()) }
}

impl Serialize for ImportedIssue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.issue.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ImportedIssue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Issue::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(title: &str, description: &str, created_at: &str, comment: &str) -> Issue {
        let time = "2026-01-31T09:30:00.000Z";
        let issue = serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": title,
            "description": description, "classification": "bug", "createdAt": created_at,
            "modifiedAt": time, "status": "created", "history": [],
            "comments": [{"timestamp": time, "agent": "a", "text": comment}],
        });
        serde_json::from_value(issue).unwrap()
    }

    #[test]
    fn an_issue_within_the_limits_is_accepted_unchanged() {
        let time = "2026-01-31T09:30:00.000Z";
        let given = issue(&format!(" {} ", "ü".repeat(498)), &"ü".repeat(100_000), time, "");
        let taken = ImportedIssue::try_from(given.clone()).unwrap();
        assert_eq!(**taken.issue(), given);
        let json = serde_json::to_string(&taken).unwrap();
        assert_eq!(json.len(), taken.json_bytes());
        assert_eq!(serde_json::from_str::<ImportedIssue>(&json).unwrap(), taken);
    }

    #[test]
    fn an_issue_over_a_limit_is_rejected_naming_the_field() {
        let time = "2026-01-31T09:30:00.000Z";
        for (issue, named) in [
            (issue(" ", "", time, ""), "title is blank"),
            (issue("a\nb", "", time, ""), "line break"),
            (issue("a\n", "", time, ""), "line break"),
            (issue(&"x".repeat(501), "", time, ""), "title has 501 characters"),
            (issue("t", &"x".repeat(100_001), time, ""), "description has 100001"),
            (issue("t", "", time, &"x".repeat(100_001)), "comment has 100001"),
        ] {
            let error = ImportedIssue::try_from(issue).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
        let mut large = issue("t", "", time, &"\u{1}".repeat(100_000));
        large.comments = vec![large.comments[0].clone(); 27];
        let error = ImportedIssue::try_from(large).unwrap_err().to_string();
        assert!(error.contains("at most 15728640"), "{error}");
    }
}
