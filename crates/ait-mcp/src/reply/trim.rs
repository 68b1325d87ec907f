//! Cuts a report to a budget.

use serde_json::{Value, json};

use super::budget;
use ait_domain::text::shortened;

/// The length below which a text is not cut, in characters.
const SHORT: usize = 40;

/// Returns a report as JSON of at most `max_tokens`. Halves what is longest, a text or a list, until it fits; the key
/// `left_out` then says so.
pub(super) fn fit(mut report: Value, max_tokens: usize) -> String {
    let mut entries = 0;
    let mut characters = 0;
    loop {
        let text = report.to_string();
        if budget::fits(&text, max_tokens) {
            return text;
        }
        match heaviest(&mut report) {
            Value::Array(items) if items.len() > 1 => {
                entries += items.len() - items.len() / 2;
                items.truncate(items.len() / 2);
            }
            Value::String(text) if text.chars().count() > SHORT => {
                let half = text.chars().count() / 2;
                characters += text.chars().count() - half;
                *text = shortened(text, half);
            }
            // Nothing can be cut: every part is small, but there are too many keys.
            _ => {
                return json!({ "left_out": "the whole report: it is longer than a reply may be" })
                    .to_string();
            }
        }
        if let Value::Object(report) = &mut report {
            let what = format!("{entries} list entries and {characters} characters");
            report.insert("left_out".to_owned(), json!(what));
        }
    }
}

/// Returns the part to cut: goes down to the heaviest child, in a list only if that has more than half of its weight.
fn heaviest(mut value: &mut Value) -> &mut Value {
    while let Some(at) = heavy_child(value) {
        value = match value {
            Value::Array(items) => &mut items[at],
            Value::Object(map) => match map.values_mut().nth(at) {
                Some(child) => child,
                None => unreachable!("it is the position of a value"),
            },
            leaf => return leaf,
        };
    }
    value
}

fn heavy_child(value: &Value) -> Option<usize> {
    let children: Vec<usize> = match value {
        Value::Array(items) => items.iter().map(weight).collect(),
        Value::Object(map) => map.values().map(weight).collect(),
        _ => return None,
    };
    let (at, heaviest) = children.iter().enumerate().max_by_key(|(_, weight)| **weight)?;
    let is_one_of_many = value.is_array() && 2 * heaviest <= children.iter().sum();
    (!is_one_of_many).then_some(at)
}

fn weight(value: &Value) -> usize {
    value.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_reports_stay_as_they_are() {
        let report = json!({"b": [1, 2], "a": "text"});
        assert_eq!(fit(report.clone(), 100), report.to_string());
    }

    #[test]
    fn long_reports_are_cut_where_they_are_longest() {
        let finding = |text: &str| json!({"check": "disk", "reason": text});
        let many: Vec<Value> = (0..500).map(|at| finding(&format!("reason {at}"))).collect();
        let text = fit(json!({"verdict": "failed", "findings": many}), 1_000);
        let cut: Value = serde_json::from_str(&text).unwrap();
        assert!(budget::tokens(&text) <= 1_000 && budget::tokens(&text) > 400, "{text}");
        assert_eq!(cut["findings"][0], finding("reason 0"));
        assert!(cut["left_out"].as_str().unwrap().contains("list entries"), "{text}");

        let text = fit(json!({"findings": [finding("a"), finding(&"word ".repeat(9_000))]}), 1_000);
        let cut: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(cut["findings"][0], finding("a"));
        assert!(cut["findings"][1]["reason"].as_str().unwrap().ends_with('…'), "{text}");

        let keys: serde_json::Map<_, _> =
            (0..5_000).map(|at| (format!("key{at}"), json!(at))).collect();
        let text = fit(Value::Object(keys), 1_000);
        assert!(budget::tokens(&text) <= 1_000, "{text}");
    }
}
