//! The input schemas of the tools, as small and plain as clients of every kind need them.
//!
//! They are sent to every agent in every session, so everything that says nothing is taken out:
//! `$schema`, the titles and formats that are derived from Rust names, `null` beside an optional
//! value (leaving it out is the way to say nothing).

use std::borrow::Cow;

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use crate::domain::{
    AgentName, Classification, CommentText, Description, IssueRef, Resolution, Status, Title,
};

/// The schema of a tool's arguments.
pub(super) fn of<T: JsonSchema>() -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    Plain.transform(&mut schema);
    // The doc comment of the Rust type; the tool has a description of its own.
    schema.remove("description");
    match schema.to_value() {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Takes out of a schema what says nothing.
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        for noise in ["$schema", "title", "format"] {
            // A property of that name is a subschema, not a keyword, and stays.
            if schema.get(noise).is_some_and(Value::is_string) {
                schema.remove(noise);
            }
        }
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|word| word != "null");
            if let [only] = types.as_mut_slice() {
                let only = only.take();
                schema.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(words)) = schema.get_mut("enum") {
            words.retain(|word| !word.is_null());
        }
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
    }
}

/// Implements the schema of types that are strings for clients.
macro_rules! string_schema {
    ($($name:ident = $schema:expr,)+) => {
        $(impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
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
    Status = one_of(Self::ALL, Self::as_str),
    Classification = one_of(Self::ALL, Self::as_str),
    Resolution = one_of(Self::ALL, Self::as_str),
}

fn any_string() -> Schema {
    json_schema!({ "type": "string" })
}

fn one_of<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Schema {
    let words: Vec<&str> = all.iter().copied().map(word).collect();
    json_schema!({ "type": "string", "enum": words })
}
