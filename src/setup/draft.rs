//! Files as they are and as they are to be, before anything is written.

use std::io;
use std::path::{Path, PathBuf};

use super::edit::EditError;
use super::error::SetupError;
use super::machine::Machine;
use super::{BACKUP_SUFFIX, Backup, Change};
use crate::small_file;

/// More than anybody writes into any of these files.
pub(super) const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A file on its way.
#[derive(Debug)]
pub(super) struct Draft {
    /// How people call it.
    pub shown: String,
    /// Where it really is.
    target: PathBuf,
    before: Option<String>,
    after: Option<String>,
    /// What it was before the first change of ours.
    pub original: Option<String>,
    /// Whether there is something of ours in it already.
    pub has_ours: bool,
    /// Whether there is nothing else in it.
    pub is_ours: bool,
    /// Whether it is taken back.
    is_undone: bool,
}

/// The files on their way. Two names that lead to one file are one.
pub(super) struct Drafts<'a> {
    root: &'a Path,
    machine: &'a Machine,
    /// Whether links may lead out of the project.
    may_leave: bool,
    drafts: Vec<Draft>,
}

impl<'a> Drafts<'a> {
    pub fn new(root: &'a Path, machine: &'a Machine, may_leave: bool) -> Self {
        Self { root, machine, may_leave, drafts: Vec::new() }
    }

    /// A file, read when it is asked for first. Where `within` is a directory, it has to stay in there.
    pub fn file(&mut self, path: &Path, within: Option<&Path>) -> Result<&mut Draft, SetupError> {
        let shown = self.shown(path);
        let target = resolved(path, &shown)?;
        let leaves = within.is_some_and(|within| !target.starts_with(real(within)));
        if leaves && !self.may_leave {
            return Err(SetupError::Outside { path: shown, target });
        }
        let known = self.drafts.iter().position(|draft| draft.target == target);
        let at = match known {
            Some(at) => at,
            None => {
                let before = read(&target, &shown)?;
                let original = read(&backup_of(&target), &shown)?;
                let after = before.clone();
                let shown = if leaves { format!("{shown} ({})", target.display()) } else { shown };
                self.drafts.push(Draft {
                    shown,
                    target,
                    before,
                    after,
                    original,
                    has_ours: false,
                    is_ours: false,
                    is_undone: false,
                });
                self.drafts.len() - 1
            }
        };
        Ok(&mut self.drafts[at])
    }

    /// How people call a file: from the project, or from their home.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(self.root) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => self.machine.short(path),
        }
    }

    /// What is to be done, in the order in which it was thought of.
    pub fn changes(self) -> Vec<Change> {
        self.drafts.into_iter().filter_map(Draft::change).collect()
    }
}

impl Draft {
    /// Its text as it is to be; empty where there is no file.
    pub fn text(&self) -> &str {
        self.after.as_deref().unwrap_or_default()
    }

    /// Tells whether there is a file.
    pub fn exists(&self) -> bool {
        self.after.is_some()
    }

    /// Makes it this text.
    pub fn set(&mut self, text: String) {
        if self.after.as_deref() != Some(&text) {
            self.after = Some(text);
        }
    }

    /// Makes it this text, of which ours was taken; where nothing is left of a file that somebody else has
    /// not begun, the file goes.
    pub fn take_back(&mut self, text: String, is_empty: bool) {
        self.is_undone = true;
        self.after = if is_empty && self.original.is_none() { None } else { Some(text) };
    }

    /// Takes the whole file back, to what was there before.
    pub fn remove(&mut self) {
        self.is_undone = true;
        self.after = self.original.clone();
    }

    /// Runs an edit, and names the file where that fails.
    pub fn edit<T>(
        &self,
        edit: impl FnOnce(&str) -> Result<T, EditError>,
    ) -> Result<T, SetupError> {
        edit(self.text())
            .map_err(|problem| SetupError::Unusable { path: self.shown.clone(), problem })
    }

    fn change(self) -> Option<Change> {
        if self.before == self.after {
            return None;
        }
        let backup = match (&self.before, self.is_undone) {
            (Some(_), false) if self.original.is_none() && !self.is_ours => Backup::Made,
            // The one that there is was left over from another time.
            (Some(_), false) if !self.has_ours => Backup::Made,
            (Some(_), true) if self.original.is_some() && self.after == self.original => {
                Backup::Removed
            }
            (Some(_), true) if self.original.is_some() => Backup::Left,
            _ => Backup::None,
        };
        let (path, backup_path) = (self.target.clone(), backup_of(&self.target));
        let Self { shown, before, after, .. } = self;
        Some(Change { shown, path, before, after, backup, backup_path })
    }
}

/// Where a file is kept as it was.
fn backup_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(BACKUP_SUFFIX);
    name.into()
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Where a file really is, or would be.
fn resolved(path: &Path, shown: &str) -> Result<PathBuf, SetupError> {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(real) = there.canonicalize() {
            return Ok(missing.iter().rev().fold(real, |path, name| path.join(name)));
        }
        if there.is_symlink() {
            return Err(SetupError::Dangling { path: shown.to_owned() });
        }
        let (Some(parent), Some(name)) = (there.parent(), there.file_name()) else {
            return Ok(path.to_owned());
        };
        missing.push(name);
        there = parent;
    }
}

pub(super) fn read(path: &Path, shown: &str) -> Result<Option<String>, SetupError> {
    match small_file::read(path, MAX_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(SetupError::Unreadable { path: shown.to_owned(), cause: error.to_string() })
        }
    }
}
