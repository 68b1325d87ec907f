//! The presets in `presets/`: the prompts and the workflow that a project gets.

use std::path::Path;

use serde::Deserialize;
use similar::TextDiff;

use super::clients::CLIENTS;
use super::edit::marked::MARKDOWN;
use super::staged_file::MAX_BYTES;
use ait_system::small_file;

/// The files, by the name of the preset; the first one is the default.
const FILES: [(&str, &str); 3] = [
    ("team", include_str!("../../../presets/team.toml")),
    ("solo", include_str!("../../../presets/solo.toml")),
    ("review-heavy", include_str!("../../../presets/review-heavy.toml")),
];

/// A preset.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preset {
    #[serde(skip)]
    pub name: &'static str,
    /// What it is for, as text that follows its name.
    pub description: String,
    /// The prompts that the project gets; the first one is for the agent that the user starts.
    pub prompts: Vec<String>,
    /// Who reviews, for the setting `review`.
    pub review: String,
    /// The workflow that agents are told, in Markdown.
    pub workflow: String,
}

impl Preset {
    /// Every preset; the first one is the default.
    pub fn all() -> impl Iterator<Item = Self> {
        FILES.into_iter().map(|(name, text)| {
            let preset: Self = toml_edit::de::from_str(text).expect("the tests read every preset");
            Self { name, ..preset }
        })
    }

    /// Finds a preset by its name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|preset| preset.name == name)
    }

    /// The preset of a project, or else the default.
    pub fn of_project(root: &Path) -> Self {
        Self::detect(root).unwrap_or_else(|| Self::all().next().expect("there are presets"))
    }

    /// The preset of a project, by the section that it has.
    pub fn detect(root: &Path) -> Option<Self> {
        let guides = CLIENTS.iter().filter_map(|client| client.guide);
        let mut texts =
            guides.filter_map(|guide| small_file::read(&root.join(guide), MAX_BYTES).ok());
        let section = texts.find_map(|text| MARKDOWN.section(&text).ok().flatten());
        section.map(|section| Self::of_section(&section))
    }

    /// The preset whose workflow is most like that of a section, which may be from another version.
    fn of_section(section: &str) -> Self {
        let likeness =
            |preset: &Self| TextDiff::from_words(section, preset.workflow.trim_end()).ratio();
        // `max_by` takes the last one of equals, which is to be the default.
        let mut presets: Vec<_> = Self::all().collect();
        presets.reverse();
        let found =
            presets.into_iter().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
        found.expect("there are presets")
    }

    /// The names of the presets.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.into_iter().map(|(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::prompts::PROMPTS;

    #[test]
    fn presets_are_recognized_in_sections_of_other_versions() {
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
    fn each_preset_parses_and_names_existing_prompts() {
        let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../presets");
        assert_eq!(fs::read_dir(presets).unwrap().count(), FILES.len());
        for (name, text) in FILES {
            let preset: Preset =
                toml_edit::de::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(!preset.prompts.is_empty() && !preset.description.is_empty(), "{name}");
            assert!(preset.workflow.starts_with("- "), "{name}");
            for prompt in &preset.prompts {
                assert!(PROMPTS.iter().any(|(known, _)| known == prompt), "{name}: {prompt}");
            }
        }
    }
}
