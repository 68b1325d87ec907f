//! What agents are told about issues that come back again and again: one thing, and what the settings do.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Client, ait, directory};

/// Returns every text that the server gives agents, and those that `ait init` writes for them.
fn texts(directory: &Path, max_attempts: &str) -> Vec<(String, String)> {
    let mut client = Client::spawn(
        ait(directory).args(["--toolsets", "all"]).env("AIT_MAX_ATTEMPTS", max_attempts),
    );
    let instructions = client.initialize()["instructions"].as_str().unwrap().to_owned();
    let mut texts = vec![("instructions".to_owned(), instructions)];
    texts.push(("tools".to_owned(), client.request("tools/list", json!({})).to_string()));
    let prompts = client.request("prompts/list", json!({}));
    for prompt in prompts["prompts"].as_array().unwrap() {
        let name = prompt["name"].as_str().unwrap().to_owned();
        let got = client.request("prompts/get", json!({ "name": name, "arguments": {} }));
        texts.push((format!("prompt {name}"), got.to_string()));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for folder in ["agents", "presets"] {
        for file in fs::read_dir(root.join(folder)).unwrap() {
            let path = file.unwrap().path();
            texts.push((path.display().to_string(), fs::read_to_string(path).unwrap()));
        }
    }
    texts
}

/// Returns the sentences of a text that speak of repeated returns.
fn about_retries(text: &str) -> Vec<String> {
    let sentences =
        text.split(['.', ';', ':']).map(|sentence| sentence.to_lowercase().replace('\n', " "));
    let is_about = |sentence: &String| {
        let counts = ["three returns", "3 returns", "three times", "3 times", "returned 4 times"];
        counts.iter().any(|count| sentence.contains(count))
    };
    sentences.filter(is_about).collect()
}

#[test]
fn every_text_says_what_the_settings_do() {
    for (max_attempts, expected, wrong) in [
        ("0", "close_issue as rejected", "parked"),
        ("4", "returned 4 times is parked", "rejected"),
    ] {
        let directory = directory();
        let texts = texts(directory.path(), max_attempts);
        assert!(texts.len() > 10, "{}", texts.len());
        assert!(texts[0].1.contains(expected), "{}", texts[0].1);
        for (name, text) in &texts {
            for sentence in about_retries(text) {
                assert!(
                    !sentence.contains(wrong),
                    "{name}, max-attempts {max_attempts}: {sentence}"
                );
                assert_eq!(name, "instructions", "{sentence}");
            }
        }
    }
}
