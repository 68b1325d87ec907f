//! The JSON schemas of values, for those who tell callers what to give.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{
    AgentName, Classification, CommentText, Description, FieldValues, IssueRef, Label, LinkKind,
    Priority, Resolution, Status, Title, ValueField,
};

/// The keyword with what a value can be besides a kind of work.
pub const KIND: &str = "kind";

/// Implements `JsonSchema` for types whose schema needs no generator.
#[macro_export]
macro_rules! string_schema {
    ($($name:ident = $schema:expr,)+) => {
        $(impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        })+
    };
}

string_schema! {
    Title = any_string(),
    Description = any_string(),
    CommentText = any_string(),
    AgentName = any_string(),
    IssueRef = any_string(),
    Status = one_of(Self::OF_WORK, Self::as_str),
    Classification = kind_or(&[]),
    Resolution = one_of(Self::ALL, Self::as_str),
    Label = any_string(),
    LinkKind = one_of(Self::ALL, Self::as_str),
    Priority = json_schema!({ "type": "integer", "minimum": 0, "maximum": Self::MAX }),
}

/// The fields as members of an object. All but the priority may be `none`.
impl JsonSchema for FieldValues {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FieldValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        fields(|field| {
            let mut schema = kind(field);
            match field {
                ValueField::Assignee => schema["description"] = "Or none".into(),
                ValueField::Due => schema["description"] = "Date".into(),
                ValueField::Priority
                | ValueField::Estimate
                | ValueField::Touches
                | ValueField::Budget => {}
            }
            schema
        })
    }
}

/// Returns the schema of a field.
pub fn kind(field: ValueField) -> Value {
    match field {
        ValueField::Priority => {
            json!({ "type": "integer", "minimum": 0, "maximum": Priority::MAX })
        }
        ValueField::Assignee | ValueField::Due | ValueField::Touches | ValueField::Budget => {
            json!({ "type": "string" })
        }
        // Clients that have to give every parameter leave it out with an empty text.
        ValueField::Estimate => json!({ "type": ["number", "string"] }),
    }
}

/// Returns the schema of an object with the fields that agents set. A budget is for people.
pub fn fields(schema: impl Fn(ValueField) -> Value) -> Schema {
    let fields = ValueField::ALL.iter().filter(|field| **field != ValueField::Budget);
    let fields = fields.map(|field| (field.as_str().to_owned(), schema(*field)));
    json_schema!({ "type": "object", "properties": fields.collect::<Map<_, _>>() })
}

/// Returns the schema of any string.
pub fn any_string() -> Schema {
    json_schema!({ "type": "string" })
}

/// Returns the schema of a kind of work, or one of some other words.
pub fn kind_or(others: &[&str]) -> Schema {
    json_schema!({ "type": "string", (KIND): others })
}

/// Returns the schema of a string that is one of some words.
pub fn one_of_words(words: impl Iterator<Item = &'static str>) -> Schema {
    json_schema!({ "type": "string", "enum": words.collect::<Vec<_>>() })
}

/// Returns the schema of a string that is the word of one of some values.
pub fn one_of<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Schema {
    one_of_words(all.iter().copied().map(word))
}
