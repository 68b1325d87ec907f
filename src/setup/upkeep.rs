//! What setting up has written into a project, and what of that another version wrote.

use std::path::{Path, PathBuf};

use super::clients::CLIENTS;
use super::draft::Drafts;
use super::edit::{ignored, marked};
use super::error::SetupError;
use super::machine::Machine;
use super::plan::{file_of, patterns, section};
use super::presets::Preset;
use super::prompts::{PROMPTS, Standing};
use super::{Backup, Change, REPAIR_SUFFIX};

/// A project that was set up.
#[derive(Clone, Debug)]
pub struct Upkeep<'a> {
    /// The project.
    pub root: &'a Path,
    /// The user's machine.
    pub machine: &'a Machine,
    /// The store.
    pub store: &'a Path,
    /// Whether the store was named.
    pub is_store_named: bool,
}

/// What became of what was written.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UpkeepState {
    /// The files that are as this version would write them, or edited from that.
    pub current: Vec<String>,
    /// What brings those up to date that another version wrote and nobody has edited.
    pub changes: Vec<Change>,
    /// The prompts that somebody has edited, and that another version wrote.
    pub edited: Vec<String>,
    /// The prompts that a newer version wrote.
    pub newer: Vec<String>,
}

impl Upkeep<'_> {
    /// Looks at what was written.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or edited.
    pub fn look(&self) -> Result<UpkeepState, SetupError> {
        let mut state = UpkeepState::default();
        let mut drafts = Drafts::new(self.root, self.machine, false);
        self.prompts(&mut drafts, &mut state)?;
        self.sections(&mut drafts, &mut state)?;
        self.ignored(&mut drafts, &mut state)?;
        state.changes = drafts.changes();
        Ok(state)
    }

    /// What has git leave out what is beside the store and belongs to one machine; `None` where it does.
    ///
    /// # Errors
    ///
    /// A file that cannot be read or edited.
    pub fn ignore(&self) -> Result<Option<Change>, SetupError> {
        let directory = self.store.parent().unwrap_or(self.root);
        let patterns = patterns(directory, self.store, false, true);
        let mut drafts = Drafts::new(directory, self.machine, false);
        let draft = drafts.file(&directory.join(".gitignore"), Some(directory))?;
        draft.has_ours = draft.edit(|text| marked::NUMBER_SIGN.section(text))?.is_some();
        draft.is_ours = draft.edit(ignored::unset)?.trim().is_empty();
        let text = draft.edit(|text| ignored::add(text, &patterns))?;
        draft.set(text);
        Ok(drafts.changes().pop())
    }

    fn prompts(&self, drafts: &mut Drafts<'_>, state: &mut UpkeepState) -> Result<(), SetupError> {
        for agents in CLIENTS.iter().filter_map(|client| client.agents) {
            for (name, prompt) in PROMPTS {
                let path = file_of(self.root, agents, name);
                if !path.exists() {
                    continue;
                }
                let draft = drafts.file(&path, Some(self.root))?;
                let text = agents.form.text(name, prompt);
                match Standing::of(draft.text(), &text) {
                    Standing::Foreign => {}
                    Standing::Same | Standing::Edited => state.current.push(draft.shown.clone()),
                    Standing::Strange => state.edited.push(draft.shown.clone()),
                    newer if newer.is_newer() => state.newer.push(draft.shown.clone()),
                    Standing::Unedited(_) => draft.set(text),
                }
            }
        }
        Ok(())
    }

    fn sections(&self, drafts: &mut Drafts<'_>, state: &mut UpkeepState) -> Result<(), SetupError> {
        let wanted = section(self.store, &Preset::of_project(self.root));
        let mut guides: Vec<_> = CLIENTS.iter().filter_map(|client| client.guide).collect();
        guides.sort_unstable();
        guides.dedup();
        for path in guides.into_iter().map(|guide| self.root.join(guide)) {
            if !path.exists() {
                continue;
            }
            let draft = drafts.file(&path, Some(self.root))?;
            let marks = marked::MARKDOWN;
            let Some(present) = draft.edit(|text| marks.section(text))? else { continue };
            if present == wanted {
                state.current.push(draft.shown.clone());
            } else {
                let text = draft.edit(|text| marks.set(text, &wanted))?;
                draft.set(text);
            }
        }
        Ok(())
    }

    fn ignored(&self, drafts: &mut Drafts<'_>, state: &mut UpkeepState) -> Result<(), SetupError> {
        let path = self.root.join(".gitignore");
        if !path.exists() {
            return Ok(());
        }
        let draft = drafts.file(&path, Some(self.root))?;
        let Some(section) = draft.edit(|text| marked::NUMBER_SIGN.section(text))? else {
            return Ok(());
        };
        let all = patterns(self.root, self.store, self.is_store_named, false);
        // Where the store is left to git, its line is not there.
        let tracked = patterns(self.root, self.store, self.is_store_named, true);
        let is_there = |it: &String| tracked.contains(it) || section.lines().any(|line| line == it);
        let wanted: Vec<_> = all.into_iter().filter(is_there).collect();
        let text = draft.edit(|text| ignored::add(text, &wanted))?;
        if text == draft.text() {
            state.current.push(draft.shown.clone());
        } else {
            draft.set(text);
        }
        Ok(())
    }
}

impl Change {
    /// The same with a copy of what was there, whose name has this time.
    #[must_use]
    pub fn kept_as_of(self, time: &str) -> Self {
        let mut name = self.path.as_os_str().to_owned();
        name.push(format!("{REPAIR_SUFFIX}{time}"));
        let backup = if self.before.is_some() { Backup::Made } else { Backup::None };
        Self { backup, backup_path: PathBuf::from(name), ..self }
    }
}
