//! The presets: which prompts, which settings and which workflow a project gets. They are data, in
//! `presets/`.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use similar::TextDiff;

use super::clients::CLIENTS;
use super::draft::MAX_BYTES;
use super::edit::marked::MARKDOWN;
use crate::small_file;

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
        let mut texts =
            guides.filter_map(|guide| small_file::read(&root.join(guide), MAX_BYTES).ok());
        let section = texts.find_map(|text| MARKDOWN.section(&text).ok().flatten());
        section.map(|section| Self::of_section(&section))
    }

    /// The one whose workflow a section tells, or that of another version of it.
    fn of_section(section: &str) -> Self {
        let likeness =
            |preset: &Self| TextDiff::from_words(section, preset.workflow.trim_end()).ratio();
        // Of those that are equally like it the last is taken, and the usual one is the first.
        let mut presets: Vec<_> = Self::all().collect();
        presets.reverse();
        let found =
            presets.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
        found.expect("there are presets")
    }

    /// What they are called.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.into_iter().map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::setup::prompts::PROMPTS;

    #[test]
    fn a_preset_is_known_by_what_another_version_told_of_it() {
        for preset in Preset::all() {
            let told = format!("## Issues\n\nThe issues are in a queue.\n\n{}", preset.workflow);
            assert_eq!(Preset::of_section(&told).name, preset.name);
            let lines: Vec<_> = told.lines().collect();
            for missing in 4..lines.len() {
                let kept = lines.iter().enumerate().filter(|(number, _)| *number != missing);
                let kept: Vec<_> = kept.map(|(_, line)| line.replace("branch", "twig")).collect();
                let found = Preset::of_section(&kept.join("\n")).name;
                assert_eq!(found, preset.name, "without {:?}", lines[missing]);
            }
        }
        assert_eq!(Preset::of_section("").name, "team");
    }

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
