//! `tracker://config`: the effective settings, each with its source.

use serde_json::{Map, Value, json};

use crate::context::ServerContext;
use ait_setup::setting::EffectiveSetting;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns the settings as YAML, and whether their file has changed since.
pub(crate) fn yaml(server: &ServerContext) -> String {
    // Strings of JSON are strings of YAML, too.
    let mut text = format!("version: {}\n", json!(VERSION));
    if let Some(change) = server.settings_file.change() {
        text += &format!("changed: {}\n", json!(change));
    }
    text += "settings:\n";
    for EffectiveSetting { name, value, source } in &server.settings {
        let value = json!(value);
        let source = json!(source);
        text += &format!("  {name}:\n    value: {value}\n    source: {source}\n");
    }
    text
}

/// Returns the same document in JSON.
pub(crate) fn json(server: &ServerContext) -> Value {
    let entries = server.settings.iter().map(|EffectiveSetting { name, value, source }| {
        ((*name).to_owned(), json!({ "value": value, "source": source }))
    });
    let settings = entries.collect::<Map<_, _>>();
    match server.settings_file.change() {
        Some(change) => json!({ "version": VERSION, "changed": change, "settings": settings }),
        None => json!({ "version": VERSION, "settings": settings }),
    }
}
