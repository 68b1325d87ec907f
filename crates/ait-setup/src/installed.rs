//! Finds what another version of `ait init` wrote into a project, for `ait doctor`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::clients::{CLIENTS, Client, guides};
use super::edit::{gitignore, marked};
use super::error::SetupError;
use super::host_env::HostEnv;
use super::plan::{directory_of, patterns, prompt_file, section};
use super::presets::Preset;
use super::project_prompts;
use super::prompts::PromptState;
use super::staged_file::StagedFiles;
use super::{FileChange, Project, REPAIR_SUFFIX, permissions, server_file};

/// A project that was set up.
#[derive(Clone, Debug)]
pub struct InstalledSetup<'a> {
    /// The project.
    pub root: &'a Path,
    /// The user's home and programs.
    pub env: &'a HostEnv,
    pub store: &'a Path,
    /// Whether the store was named.
    pub is_store_named: bool,
}

/// The section of ours in a file with instructions for agents.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ManagedSection {
    /// The file as the user reads it.
    pub file: String,
    pub state: SectionState,
    /// Its text now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The state of a section, compared with what this version writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SectionState {
    /// It has the same text.
    Current,
    /// It has another text.
    Outdated,
    /// The file does not have it, or does not exist.
    Absent,
}

/// The files that `ait init` wrote, by their state.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SetupStatus {
    /// The files from this version, also edited ones.
    pub current: Vec<String>,
    /// The changes that bring unedited files of other versions up to date.
    pub changes: Vec<FileChange>,
    /// The edited prompts of other versions.
    pub edited: Vec<String>,
    /// The prompts of newer versions.
    pub newer: Vec<String>,
}

impl<'a> InstalledSetup<'a> {
    /// Returns the setup of a project.
    pub fn of(project: &'a Project) -> Self {
        let Project { root, env, store, is_store_named, .. } = project;
        Self { root, env, store, is_store_named: *is_store_named }
    }
}

impl InstalledSetup<'_> {
    /// Compares the files with what this version would write.
    pub fn compare(&self) -> Result<SetupStatus, SetupError> {
        let mut state = SetupStatus::default();
        let mut files = StagedFiles::new(self.root, self.env, false);
        self.prompts(&mut files, &mut state)?;
        let sections = self.stage_sections(guides(), &mut files)?;
        let current = sections.into_iter().filter(|it| it.state == SectionState::Current);
        state.current.extend(current.map(|section| section.file));
        self.gitignore(&mut files, &mut state)?;
        state.changes = files.changes();
        Ok(state)
    }

    /// Returns the sections of some of the [`guides`](super::guides), and the changes that bring those that exist up
    /// to date.
    pub fn sections(
        &self,
        guides: impl IntoIterator<Item = &'static str>,
    ) -> Result<(Vec<ManagedSection>, Vec<FileChange>), SetupError> {
        let mut files = StagedFiles::new(self.root, self.env, false);
        let sections = self.stage_sections(guides, &mut files)?;
        Ok((sections, files.changes()))
    }

    /// Returns the section that this version writes.
    pub fn wanted_section(&self) -> String {
        section(self.store, &Preset::of_project(self.root))
    }

    /// Adds the patterns that `.gitignore` lacks for the files beside the store; `None` if it has all.
    pub fn ignore(&self) -> Result<Option<FileChange>, SetupError> {
        let directory = self.store.parent().unwrap_or(self.root);
        let patterns = patterns(directory, self.store, false, true);
        let mut files = StagedFiles::new(directory, self.env, false);
        let file = files.file(&directory.join(".gitignore"), Some(directory))?;
        file.edit(|text| gitignore::add(text, &patterns))?;
        Ok(files.changes().pop())
    }

    fn prompts(
        &self,
        files: &mut StagedFiles<'_>,
        state: &mut SetupStatus,
    ) -> Result<(), SetupError> {
        let all = project_prompts::agents(directory_of(self.store, self.root));
        for agents in CLIENTS.iter().filter_map(|client| client.agents) {
            for (name, prompt) in &all {
                let path = prompt_file(self.root, agents, name);
                if !path.exists() {
                    continue;
                }
                let file = files.file(&path, Some(self.root))?;
                let text = agents.form.text(name, prompt);
                match PromptState::of(file.text(), &text) {
                    PromptState::Foreign => {}
                    PromptState::Same | PromptState::Edited => {
                        state.current.push(file.shown.clone());
                    }
                    PromptState::Diverged => state.edited.push(file.shown.clone()),
                    newer if newer.is_newer() => state.newer.push(file.shown.clone()),
                    PromptState::Unedited(_) => file.after = Some(text),
                }
            }
        }
        Ok(())
    }

    fn stage_sections(
        &self,
        guides: impl IntoIterator<Item = &'static str>,
        files: &mut StagedFiles<'_>,
    ) -> Result<Vec<ManagedSection>, SetupError> {
        let wanted = self.wanted_section();
        let mut sections: Vec<ManagedSection> = Vec::new();
        for guide in guides {
            let path = self.root.join(guide);
            if !path.exists() {
                let file = guide.to_owned();
                let state = SectionState::Absent;
                sections.push(ManagedSection { file, state, text: None });
                continue;
            }
            let file = files.file(&path, Some(self.root))?;
            // Two names may lead to one file.
            if sections.iter().any(|known| known.file == file.shown) {
                continue;
            }
            let text = file.inspect(|text| marked::MARKDOWN.section(text))?;
            let state = match &text {
                None => SectionState::Absent,
                Some(text) if *text == wanted => SectionState::Current,
                Some(_) => SectionState::Outdated,
            };
            if state == SectionState::Outdated {
                file.edit(|text| marked::MARKDOWN.set(text, &wanted))?;
            }
            sections.push(ManagedSection { file: file.shown.clone(), state, text });
        }
        Ok(sections)
    }

    fn gitignore(
        &self,
        files: &mut StagedFiles<'_>,
        state: &mut SetupStatus,
    ) -> Result<(), SetupError> {
        let path = self.root.join(".gitignore");
        if !path.exists() {
            return Ok(());
        }
        let file = files.file(&path, Some(self.root))?;
        let section = file.inspect(|text| marked::NUMBER_SIGN.section(text))?;
        let Some(section) = section else { return Ok(()) };
        // Without the line of the store, git is to track that.
        let all = patterns(self.root, self.store, self.is_store_named, false);
        let tracked = patterns(self.root, self.store, self.is_store_named, true);
        let is_wanted = |pattern: &String| {
            tracked.contains(pattern) || section.lines().any(|line| line == pattern)
        };
        let wanted: Vec<_> = all.into_iter().filter(is_wanted).collect();
        file.edit(|text| gitignore::add(text, &wanted))?;
        if file.before == file.after {
            state.current.push(file.shown.clone());
        }
        Ok(())
    }
}

impl FileChange {
    /// Adds a copy of the present text, whose name ends with this time.
    #[must_use]
    pub fn with_backup_copy(self, time: &str) -> Self {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!("{REPAIR_SUFFIX}{time}"));
        Self { copy_to: Some(PathBuf::from(name)), ..self }
    }
}

/// Returns true if a client asks a person about what `ait init` would let it do. `settings` is the file of the
/// project's settings.
pub fn asks(root: &Path, env: &HostEnv, settings: &Path, client: &Client) -> bool {
    let mut files = StagedFiles::new(root, env, true);
    let is_planned = permissions::grant(root, settings, client.allow_lists, &mut files).is_ok();
    let entry = client.file(root, env).and_then(|file| {
        let file = files.file(&file, None).ok()?;
        file.inspect(|text| server_file::get(client, text)).ok()?
    });
    let entry = entry.unwrap_or_default();
    let has_all = (client.granted)().iter().all(|(name, value)| entry[name] == *value);
    !is_planned || !has_all || !files.changes().is_empty()
}
