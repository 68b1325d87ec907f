//! The input schemas of the tools.
//!
//! Every agent gets them in every session, so they leave out what tells it nothing: `$schema`, titles and formats
//! derived from Rust names, `null` as a value of optional parameters, and that there are no other parameters, which
//! [`arguments`](super::arguments) checks.

use rmcp::model::JsonObject;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

use super::options::{Toolset, Toolsets};
use ait_domain::schema::{KIND, fields, kind};
use ait_domain::{Classifications, ValueField};

/// The keyword that names the toolset of a parameter. Schemas for clients do not have it.
const TOOLSET: &str = "toolset";

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

/// Returns the schema of the fields of a new issue, which has nothing to remove.
pub(super) fn of_new_values(_: &mut SchemaGenerator) -> Schema {
    fields(kind)
}

/// Returns that schema, but for the files that the work changes, for a tool that every agent has. Without the toolset
/// `planning` it has the priority alone.
pub(super) fn of_planned_values(_: &mut SchemaGenerator) -> Schema {
    let mut schema = fields(|field| {
        let mut schema = kind(field);
        if field == ValueField::Priority {
            schema["description"] = "0 is first; default 2".into();
        } else {
            schema[TOOLSET] = Toolset::Planning.as_str().into();
        }
        schema
    });
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.remove(ValueField::Touches.as_str());
    }
    schema
}
