//! `tracker://config`: the effective settings, each with its source.

use serde_json::{Map, Value, json};

use ait_setup::setting::EffectiveSetting;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Returns settings as YAML.
pub(crate) fn yaml(settings: &[EffectiveSetting]) -> String {
    // Strings of JSON are strings of YAML, too.
    let mut text = format!("version: {}\nsettings:\n", json!(VERSION));
    for EffectiveSetting { name, value, source } in settings {
        let value = json!(value);
        let source = json!(source);
        text += &format!("  {name}:\n    value: {value}\n    source: {source}\n");
    }
    text
}

/// Returns settings as the same document in JSON.
pub(crate) fn json(settings: &[EffectiveSetting]) -> Value {
    let entries = settings.iter().map(|EffectiveSetting { name, value, source }| {
        ((*name).to_owned(), json!({ "value": value, "source": source }))
    });
    json!({ "version": VERSION, "settings": entries.collect::<Map<_, _>>() })
}
