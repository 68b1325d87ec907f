//! Parameters that narrow what a tool looks at or answers with. The words of a status and a classification include
//! `any`, because some clients make the model give every parameter.

use std::str::FromStr;

use serde::Deserialize;

use ait_domain::schema::{any_string, kind_or, one_of_words};
use ait_domain::string_schema;
use ait_domain::{Classification, Status, StatusSet};
use ait_query::field_selection::FieldSelection;

const ANY: &str = "any";
/// As commands and searches say it.
const ALL: &str = "all";
const OPEN: &str = "open";

/// A status, all open ones, or any.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct StatusFilter(pub StatusSet);

impl TryFrom<String> for StatusFilter {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let set = StatusSet::from_word(&word);
        set.map(Self).ok_or_else(|| format!("{word:?} is not a status"))
    }
}

/// A classification, or any.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ClassificationFilter(pub Option<Classification>);

impl TryFrom<String> for ClassificationFilter {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        if word == ANY || word == ALL {
            return Ok(Self(None));
        }
        let known = Classification::work_from_word(&word);
        known
            .map(|kind| Self(Some(kind)))
            .ok_or_else(|| format!("{word:?} is not a classification"))
    }
}

/// A selection of fields, as text.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Fields(pub FieldSelection);

impl TryFrom<String> for Fields {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        FieldSelection::from_str(&text).map(Self).map_err(|error| error.to_string())
    }
}

string_schema! {
    StatusFilter = one_of_words(
        [ANY, OPEN].into_iter().chain(Status::words_of_work())
    ),
    ClassificationFilter = kind_or(&[ANY]),
    Fields = any_string(),
}
