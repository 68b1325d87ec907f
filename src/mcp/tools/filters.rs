//! Parameters that narrow what a tool looks at or answers with. The words of a status and a classification include
//! `any`, because some clients make the model give every parameter.

use std::borrow::Cow;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use crate::domain::{Classification, Status, StatusSet};
use crate::field_selection::FieldSelection;

const ANY: &str = "any";
const OPEN: &str = "open";

/// A status, all open ones, or any.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct StatusFilter(pub StatusSet);

impl TryFrom<String> for StatusFilter {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let set = match &*word {
            ANY => Some(StatusSet::ALL),
            OPEN => Some(StatusSet::open()),
            word => Status::from_word(word).map(|status| Some(status).into()),
        };
        set.map(Self).ok_or_else(|| format!("{word:?} is not a status"))
    }
}

impl JsonSchema for StatusFilter {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "StatusFilter".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = [ANY, OPEN].into_iter().chain(Status::ALL.iter().map(|status| status.as_str()));
        json_schema!({ "type": "string", "enum": words.collect::<Vec<_>>() })
    }
}

/// A classification, or any.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ClassificationFilter(pub Option<Classification>);

impl TryFrom<String> for ClassificationFilter {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        if word == ANY {
            return Ok(Self(None));
        }
        let known = Classification::from_word(&word);
        known
            .map(|kind| Self(Some(kind)))
            .ok_or_else(|| format!("{word:?} is not a classification"))
    }
}

impl JsonSchema for ClassificationFilter {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ClassificationFilter".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words = Classification::ALL.iter().map(|kind| kind.as_str()).chain([ANY]);
        json_schema!({ "type": "string", "enum": words.collect::<Vec<_>>() })
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

impl JsonSchema for Fields {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Fields".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
