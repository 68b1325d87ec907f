//! The input schemas of the tools.
//!
//! Every agent gets them in every session, so they leave out what tells it nothing: `$schema`, titles and formats
//! derived from Rust names, `null` as a value of optional parameters, and that there are no other parameters, which
//! [`arguments`](super::arguments) checks.

use rmcp::model::JsonObject;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::{Value, json};

use super::options::{Toolset, Toolsets};
use crate::domain::{
    AgentName, Classification, Classifications, CommentText, Description, FieldValues, IssueRef,
    Label, LinkKind, Priority, Resolution, Status, Title, ValueField,
};
use crate::read_model::FindingKind;

/// The keyword that names the toolset of a parameter. Schemas for clients do not have it.
const TOOLSET: &str = "toolset";
/// The keyword with what a parameter can be besides a kind of work. Schemas for clients have all its words instead.
const KIND: &str = "kind";

/// Returns the schema of a tool's arguments, with the parameters of these toolsets, in a project that uses these kinds
/// of work.
pub(super) fn of<T: JsonSchema>(toolsets: Toolsets, kinds: &Classifications) -> JsonObject {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    Plain { kinds }.transform(&mut schema);
    // The doc comment of the Rust type; the tool has a description of its own.
    schema.remove("description");
    let Value::Object(mut schema) = schema.to_value() else { return JsonObject::new() };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|_, property| {
            let toolset = property.as_object_mut().and_then(|property| property.remove(TOOLSET));
            toolset.is_none_or(|name| toolsets.iter().any(|toolset| name == toolset.as_str()))
        });
    }
    schema
}

/// Removes noise from a schema, and gives it the kinds of work.
struct Plain<'a> {
    kinds: &'a Classifications,
}

impl Transform for Plain<'_> {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        if let Some(Value::Array(others)) = schema.get(KIND) {
            let words = self.kinds.words().map(Value::from).chain(others.clone()).collect();
            schema.insert("enum".to_owned(), Value::Array(words));
            schema.remove(KIND);
        }
        for noise in ["$schema", "title", "format", "additionalProperties"] {
            // A property with that name is a subschema, not a keyword.
            if schema.get(noise).is_some_and(|value| value.is_string() || value.is_boolean()) {
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

/// Implements `JsonSchema` for types whose schema needs no generator.
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
pub(super) use string_schema;

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
    FindingKind = one_of(Self::ALL, Self::as_str),
    Priority = json_schema!({ "type": "integer", "minimum": 0, "maximum": Self::MAX }),
}

/// The fields as members of an object. All but the priority may be `none`.
impl JsonSchema for FieldValues {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FieldValues".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        fields(|field| match field {
            ValueField::Priority => {
                json!({ "type": "integer", "minimum": 0, "maximum": Priority::MAX })
            }
            ValueField::Assignee => json!({ "type": "string", "description": "Or none" }),
            ValueField::Due => json!({ "type": "string", "description": "Date" }),
            ValueField::Estimate => json!({ "type": "number" }),
        })
    }
}

/// Returns the schema of the fields of a new issue, which has nothing to remove.
pub(super) fn of_new_values(generator: &mut SchemaGenerator) -> Schema {
    let values = FieldValues::json_schema(generator);
    fields(|field| {
        let mut schema = values.as_value()["properties"][field.as_str()].clone();
        schema.as_object_mut().map(|schema| schema.remove("description"));
        schema
    })
}

/// Returns that schema for a tool that every agent has. Without the toolset `planning` it has the priority alone.
pub(super) fn of_planned_values(generator: &mut SchemaGenerator) -> Schema {
    let values = of_new_values(generator);
    fields(|field| {
        let mut schema = values.as_value()["properties"][field.as_str()].clone();
        if field == ValueField::Priority {
            schema["description"] = "0 (first) to 4; default 2".into();
        } else {
            schema[TOOLSET] = Toolset::Planning.as_str().into();
        }
        schema
    })
}

fn fields(schema: impl Fn(ValueField) -> Value) -> Schema {
    let fields = ValueField::ALL.iter().map(|field| (field.as_str().to_owned(), schema(*field)));
    json_schema!({ "type": "object", "properties": fields.collect::<JsonObject>() })
}

/// Returns the schema of any string.
pub(super) fn any_string() -> Schema {
    json_schema!({ "type": "string" })
}

/// Returns the schema of a kind of work, or one of some other words.
pub(super) fn kind_or(others: &[&str]) -> Schema {
    json_schema!({ "type": "string", (KIND): others })
}

/// Returns the schema of a string that is one of some words.
pub(super) fn one_of_words(words: impl Iterator<Item = &'static str>) -> Schema {
    json_schema!({ "type": "string", "enum": words.collect::<Vec<_>>() })
}

fn one_of<T: Copy>(all: &[T], word: fn(T) -> &'static str) -> Schema {
    one_of_words(all.iter().copied().map(word))
}
