//! Values of fields as files give them, and the words that other programs use.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

use super::jira;
use super::{times, words};
use ait_domain::IssueId;
use ait_domain::json_compat::{self, without_white_space};
use ait_domain::text::shortened;

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

    /// Returns the category that an object for a status has in its program, or whether it is closed.
    pub fn category(self) -> Option<String> {
        const CATEGORIES: [&str; 4] = ["statusCategory", "category", "group", "type"];
        const CLOSED: [&str; 2] = ["is_closed", "isClosed"];
        let Self::Json(json) = self else { return None };
        let Json::Object(status) = serde_json::from_str(json.get()).ok()? else { return None };
        let category = CATEGORIES.iter().find_map(|name| status.get(*name)).and_then(|category| {
            let key = category.get("key").and_then(Json::as_str).map(str::to_owned);
            key.or_else(|| name_of(category))
        });
        let is_closed = || CLOSED.iter().find_map(|name| status.get(*name)?.as_bool());
        category.or_else(|| {
            is_closed().map(|is_closed| if is_closed { "closed" } else { "open" }.to_owned())
        })
    }

    /// Returns the truth value, also of a word or a digit.
    pub fn truth(self) -> Option<bool> {
        match self {
            Self::Cell(text) => words::truth_of(text),
            Self::Json(json) => words::truth_of(json.get()),
        }
    }

    /// Returns true if the value is what programs write for a field that was never set.
    pub fn says_nothing(self) -> bool {
        match self {
            Self::Cell(text) => text.trim().is_empty(),
            Self::Json(json) => match json.get() {
                "false" | "0" => true,
                text => self.is_blank() || times::is_none(text.trim_matches('"')),
            },
        }
    }

    /// Returns the names in a list, or in a text that separates them with commas or semicolons. The text may be a list
    /// in brackets.
    pub fn names(self) -> Vec<String> {
        let value = match self {
            Self::Cell(text) => {
                let list = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
                let parsed = list.and_then(|_| serde_json::from_str(text).ok());
                Some(parsed.unwrap_or_else(|| Json::from(list.unwrap_or(text))))
            }
            Self::Json(json) => serde_json::from_str(json.get()).ok(),
        };
        match value {
            Some(Json::Array(list)) => list.iter().filter_map(name_of).collect(),
            // GraphQL interfaces put lists into pages.
            Some(Json::Object(page)) if page.get("nodes").is_some_and(Json::is_array) => {
                let list = page["nodes"].as_array();
                list.into_iter().flatten().filter_map(name_of).collect()
            }
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
            None => match self.name() {
                Some(name) => format!("{:?}", shortened(&name, SHOWN_CHARS)),
                None => shortened(self.raw().get(), SHOWN_CHARS),
            },
        }
    }
}

/// Returns the text, the number, or the name of an object such as a label or a user.
pub fn name_of(value: &Json) -> Option<String> {
    // MongoDB writes ids and times as objects.
    const NAMES: [&str; 9] =
        ["login", "username", "name", "displayName", "fullName", "title", "value", "$oid", "$date"];
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
