//! Values of fields as files give them, and the words that other programs use.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

use super::jira;
use crate::domain::text::shortened;
use crate::domain::{Classification, IssueId, Status};
use crate::json_compat::{self, without_white_space};

const SHOWN_CHARS: usize = 60;

/// A value of a file, as text or as JSON.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Cell(&'a str),
    /// Without white space, so that it fits on one line.
    Json(&'a RawValue),
}

impl Value<'_> {
    /// Returns true if there is nothing in it.
    pub fn is_blank(self) -> bool {
        match self {
            Self::Cell(text) => text.trim().is_empty(),
            Self::Json(json) => matches!(json.get(), "null" | "\"\"" | "[]" | "{}"),
        }
    }

    /// Returns the text, also of a document of Jira, unless the value is something else.
    pub fn text(self) -> Option<String> {
        match self {
            Self::Cell(text) => Some(text.to_owned()),
            Self::Json(json) => match serde_json::from_str(json.get()).ok()? {
                Json::String(text) => Some(text),
                document => jira::text_of(&document),
            },
        }
    }

    /// Returns the text, the number, or the name of the object.
    pub fn name(self) -> Option<String> {
        match self {
            Self::Cell(text) => Some(text.trim().to_owned()),
            Self::Json(json) => name_of(&serde_json::from_str(json.get()).ok()?),
        }
        .filter(|name| !name.is_empty())
    }

    /// Returns the names in a list, or in a text that separates them with commas or semicolons.
    pub fn names(self) -> Vec<String> {
        let value = match self {
            Self::Cell(text) => Some(Json::from(text)),
            Self::Json(json) => serde_json::from_str(json.get()).ok(),
        };
        match value {
            Some(Json::Array(list)) => list.iter().filter_map(name_of).collect(),
            Some(Json::String(text)) => {
                let names = text.split([',', ';']).map(str::trim).filter(|name| !name.is_empty());
                names.map(str::to_owned).collect()
            }
            Some(other) => name_of(&other).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns the content in one form for all formats: the names, or else the JSON.
    pub fn content(self) -> String {
        let names = self.names();
        if names.is_empty() { without_white_space(self.raw().get()) } else { names.join(",") }
    }

    /// Parses the JSON of an export. A cell contains it as text.
    pub fn parsed<T: DeserializeOwned>(self) -> Result<T, String> {
        let value = match self {
            // Unknown values are kept verbatim except for line breaks, so they fit on one line.
            Self::Cell(text) => serde_json::from_str(&without_white_space(text)),
            Self::Json(json) => serde_json::from_str(json.get()),
        };
        value.map_err(|error| json_compat::problem(&error))
    }

    /// Returns the value as JSON.
    pub fn raw(self) -> Box<RawValue> {
        match self {
            Self::Cell(text) => to_raw_value(text).unwrap_or_default(),
            Self::Json(json) => json.to_owned(),
        }
    }

    /// Returns the value as a message quotes it.
    pub fn shown(self) -> String {
        match self.text() {
            Some(text) => format!("{:?}", shortened(&text, SHOWN_CHARS)),
            None => shortened(self.raw().get(), SHOWN_CHARS),
        }
    }
}

/// Returns the text, the number, or the name of an object such as a label or a user.
pub fn name_of(value: &Json) -> Option<String> {
    const NAMES: [&str; 5] = ["login", "username", "name", "displayName", "value"];
    match value {
        Json::String(text) => Some(text.trim().to_owned()),
        Json::Number(number) => Some(number.to_string()),
        Json::Object(object) => {
            let mut names = NAMES.iter().filter_map(|name| object.get(*name)?.as_str());
            names.find(|name| !name.trim().is_empty()).map(|name| name.trim().to_owned())
        }
        _ => None,
    }
}

/// Returns the id if the text is one of ait.
pub(super) fn our_id(text: &str) -> Option<IssueId> {
    serde_json::from_value(Json::from(text.trim())).ok()
}

/// Normalizes a word: lower case, with underscores for spaces and hyphens.
pub(super) fn word(text: &str) -> String {
    text.trim().to_lowercase().replace([' ', '-'], "_").replace(['\'', '’'], "")
}

pub(super) fn classification_of(text: &str) -> Option<Classification> {
    let word = word(text);
    let usual = match word.as_str() {
        "defect" => Some(Classification::Bug),
        "enhancement" | "feature_request" | "new_feature" | "story" | "user_story" | "epic" => {
            Some(Classification::Feature)
        }
        "task" | "sub_task" | "subtask" | "chore" => Some(Classification::Improvement),
        _ => None,
    };
    Classification::from_word(&word).or(usual)
}

/// Returns the classification that the labels give; a bug goes before a feature. Prefixes such as `type:` and `kind/`
/// are ignored.
pub(super) fn classification_of_labels(labels: &[String]) -> Option<Classification> {
    use Classification::{Bug, Feature, Improvement};
    let of_label = |label: &String| {
        let name = label.rsplit([':', '/']).next().unwrap_or(label);
        classification_of(name.trim_matches(|character: char| !character.is_alphanumeric()))
    };
    let found: Vec<_> = labels.iter().filter_map(of_label).collect();
    [Bug, Feature, Improvement].into_iter().find(|kind| found.contains(kind))
}

pub(super) fn status_of(text: &str) -> Option<Status> {
    let word = word(text);
    let usual = match word.as_str() {
        "open" | "opened" | "reopened" | "new" | "todo" | "to_do" | "backlog" => {
            Some(Status::Created)
        }
        "done" | "resolved" | "fixed" => Some(Status::Closed),
        _ if means_rejected(&word) => Some(Status::Rejected),
        _ => None,
    };
    Status::from_word(&word).or(usual)
}

/// Returns true if a closed issue with this resolution was not done.
pub(super) fn means_rejected(resolution: &str) -> bool {
    const WORDS: [&str; 15] = [
        "rejected",
        "declined",
        "canceled",
        "cancelled",
        "not_planned",
        "notplanned",
        "wontfix",
        "wont_fix",
        "wont_do",
        "duplicate",
        "invalid",
        "cannot_reproduce",
        "works_for_me",
        "not_a_bug",
        "obsolete",
    ];
    WORDS.contains(&word(resolution).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_words_are_understood() {
        assert_eq!(classification_of(" Bug"), Some(Classification::Bug));
        assert_eq!(classification_of("User story"), Some(Classification::Feature));
        assert_eq!(classification_of("idea"), None);
        assert_eq!(status_of("In Progress"), Some(Status::InProgress));
        assert_eq!(status_of("To-Do"), Some(Status::Created));
        assert_eq!(status_of("Won't fix"), Some(Status::Rejected));
        assert_eq!(status_of("later"), None);
    }

    #[test]
    fn labels_give_the_classification() {
        let of = |labels: &str| classification_of_labels(&Value::Cell(labels).names());
        assert_eq!(of("ui, kind/feature; 🐛 Bug"), Some(Classification::Bug));
        assert_eq!(of("type: enhancement"), Some(Classification::Feature));
        assert_eq!(of("debug, featured"), None);
    }
}
