//! The presets: which prompts, which settings and which workflow a project gets. They are data, in
//! `presets/`.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::clients::CLIENTS;

/// The files, each by the name of its preset; the first is the usual one.
const FILES: [(&str, &str); 3] = [
    ("team", include_str!("../../presets/team.toml")),
    ("solo", include_str!("../../presets/solo.toml")),
    ("review-heavy", include_str!("../../presets/review-heavy.toml")),
];

/// A preset.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    /// What it is called.
    #[serde(skip)]
    pub name: &'static str,
    /// What it is for, in words that follow its name.
    pub description: String,
    /// The prompts that the project gets.
    pub prompts: Vec<String>,
    /// What agents are told of it, in Markdown.
    pub workflow: String,
    /// What is set in `ait.toml`, where that does not set it already.
    #[serde(default)]
    pub settings: serde_json::Map<String, Value>,
}

impl Preset {
    /// All of them; the first is the usual one.
    pub fn all() -> impl Iterator<Item = Self> {
        FILES.into_iter().map(|(name, text)| {
            let preset: Self = toml::from_str(text).expect("the tests read every preset");
            Self { name, ..preset }
        })
    }

    /// The preset of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|preset| preset.name == name)
    }

    /// The one that a project got before, or else the usual one.
    pub fn of_project(root: &Path) -> Self {
        let usual = || Self::all().next().expect("there are presets");
        Self::told_in(root).unwrap_or_else(usual)
    }

    /// The one that a project got before, as its sections tell.
    pub fn told_in(root: &Path) -> Option<Self> {
        let guides = CLIENTS.iter().filter_map(|client| client.guide);
        let texts: Vec<_> =
            guides.filter_map(|guide| fs::read_to_string(root.join(guide)).ok()).collect();
        let is_told = |preset: &Self| {
            let workflow = preset.workflow.trim_end();
            texts.iter().any(|text| text.replace("\r\n", "\n").contains(workflow))
        };
        Self::all().find(is_told)
    }

    /// What they are called.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.into_iter().map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::prompts::PROMPTS;

    #[test]
    fn each_preset_of_the_project_parses_and_names_only_prompts_that_there_are() {
        let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
        assert_eq!(fs::read_dir(presets).unwrap().count(), FILES.len());
        for (name, text) in FILES {
            let preset: Preset = toml::from_str(text).unwrap_or_else(|it| panic!("{name}: {it}"));
            assert!(!preset.prompts.is_empty() && !preset.description.is_empty(), "{name}");
            assert!(preset.workflow.starts_with("- "), "{name}");
            for prompt in &preset.prompts {
                assert!(PROMPTS.iter().any(|(known, _)| known == prompt), "{name}: {prompt}");
            }
        }
        assert_eq!(Preset::named("solo").unwrap().settings["agent"], "developer");
    }
}
