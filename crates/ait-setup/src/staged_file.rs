//! The files that a plan changes, in memory: nothing is written until all of them are planned.

use std::io;
use std::path::{Path, PathBuf};

use super::edit::{EditError, is_blank};
use super::error::SetupError;
use super::host_env::HostEnv;
use ait_system::small_file;

/// The largest file that is read, in bytes.
pub(super) const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// A file with its text before and after a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// The path as the user reads it.
    pub shown: String,
    /// The path, with all links resolved.
    pub path: PathBuf,
    /// The text now; `None` if the file does not exist.
    pub before: Option<String>,
    /// The text to write; `None` if the file is to be deleted.
    pub after: Option<String>,
    /// Where a copy of the present text is kept.
    pub copy_to: Option<PathBuf>,
}

/// The files of a plan. Two paths that lead to one file are one entry.
pub(super) struct StagedFiles<'a> {
    root: &'a Path,
    env: &'a HostEnv,
    /// Whether links may lead out of the project.
    may_leave: bool,
    files: Vec<FileChange>,
}

impl<'a> StagedFiles<'a> {
    pub fn new(root: &'a Path, env: &'a HostEnv, may_leave: bool) -> Self {
        Self { root, env, may_leave, files: Vec::new() }
    }

    /// Gives a file, and reads it the first time. Its links must not lead out of `within`.
    pub fn file(
        &mut self,
        path: &Path,
        within: Option<&Path>,
    ) -> Result<&mut FileChange, SetupError> {
        let mut shown = match path.strip_prefix(self.root) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => self.env.short(path),
        };
        let target = resolved(path, &shown)?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if within.is_some_and(|within| !target.starts_with(real(within))) {
            if !self.may_leave {
                return Err(SetupError::Outside { path: shown, target });
            }
            shown = format!("{shown} ({})", target.display());
        }
        let known = self.files.iter().position(|file| file.path == target);
        let index = match known {
            Some(index) => index,
            None => {
                let before = read(&target, &shown)?;
                let after = before.clone();
                self.files.push(FileChange { shown, path: target, before, after, copy_to: None });
                self.files.len() - 1
            }
        };
        Ok(&mut self.files[index])
    }

    /// The files that change, in the order in which they were asked for.
    pub fn changes(self) -> Vec<FileChange> {
        self.files.into_iter().filter(|file| file.before != file.after).collect()
    }
}

impl FileChange {
    /// The kind of the change, in a word.
    pub fn kind(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "new",
            (_, None) => "removed",
            _ => "changed",
        }
    }

    /// The planned text; empty if there is no file.
    pub(super) fn text(&self) -> &str {
        self.after.as_deref().unwrap_or_default()
    }

    /// Reads the planned text with a function, and names the file if that fails.
    pub(super) fn inspect<T>(
        &self,
        read: impl FnOnce(&str) -> Result<T, EditError>,
    ) -> Result<T, SetupError> {
        read(self.text())
            .map_err(|problem| SetupError::Unusable { path: self.shown.clone(), problem })
    }

    /// Edits the planned text.
    pub(super) fn edit(
        &mut self,
        edit: impl FnOnce(&str) -> Result<String, EditError>,
    ) -> Result<(), SetupError> {
        let text = self.inspect(edit)?;
        if text != self.text() {
            self.after = Some(text);
        }
        Ok(())
    }

    /// Edits the planned text, and deletes the file if the edit leaves nothing in it.
    pub(super) fn remove_from(
        &mut self,
        edit: impl FnOnce(&str) -> Result<String, EditError>,
    ) -> Result<(), SetupError> {
        let text = self.inspect(edit)?;
        if text != self.text() {
            self.after = (!is_blank(&text)).then_some(text);
        }
        Ok(())
    }
}

/// Resolves the links of a path, also where its end does not exist yet.
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

/// Reads a file; `None` if it does not exist.
pub(super) fn read(path: &Path, shown: &str) -> Result<Option<String>, SetupError> {
    match small_file::read(path, MAX_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(SetupError::Unreadable { path: shown.to_owned(), cause: error.to_string() })
        }
    }
}
