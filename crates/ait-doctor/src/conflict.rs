//! Conflicts that git leaves in `issues.json`: finds both sides, and merges them issue by issue.
//!
//! git keeps the versions of a conflict in its index, until the file is added. After that, the marks in the file have
//! what is left of both sides.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use ait_setup::replace;
use ait_store::files::format;
use ait_store::files::fs::directory_of;
use ait_store::files::merge_files::{InvalidSide, MergedFile, merge_files};
use ait_store::sqlite::inspect::paths_of;

/// Why a conflict is not resolved.
#[derive(Debug, thiserror::Error)]
pub enum ConflictError {
    /// A side cannot be read.
    #[error("{0}: correct the file by hand, with the issues of both sides")]
    Invalid(#[from] InvalidSide),
    /// The file cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// git does not add the file.
    #[error("git refuses to add {}: see `git add`", .0.display())]
    NotAdded(PathBuf),
}

/// A conflict in `issues.json`.
#[derive(Clone, Debug)]
pub struct Conflict {
    /// The file.
    path: PathBuf,
    /// The version of the common ancestor, ours and theirs. A missing version is empty.
    versions: [Vec<u8>; 3],
    /// Whether the versions are those of the index.
    is_in_index: bool,
}

impl Conflict {
    /// Finds the conflict in a file, if there is one.
    pub fn find(path: &Path) -> Option<Self> {
        let path = paths_of(path).ok()?.issues;
        let directory = directory_of(&path);
        let name = path.file_name()?.to_str()?;
        let listed = git(directory, &["ls-files", "--unmerged", "-z", "--", name]);
        let mut versions = [const { Vec::new() }; 3];
        let mut is_in_index = false;
        for entry in listed.unwrap_or_default().split(|byte| *byte == 0) {
            // Mode, object and stage, and behind a tab the path.
            let Ok(entry) = std::str::from_utf8(entry) else { continue };
            let fields: Vec<_> =
                entry.split('\t').next().unwrap_or_default().split_whitespace().collect();
            let [_, object, stage] = fields[..] else { continue };
            let stage = stage.parse::<usize>().ok().filter(|stage| (1..=3).contains(stage))?;
            versions[stage - 1] = git(directory, &["cat-file", "blob", object])?;
            is_in_index = true;
        }
        if is_in_index {
            // A side that removed or renamed the file has not removed the issues.
            let [base, sides @ ..] = &mut versions;
            for side in sides.iter_mut().filter(|side| side.is_empty()) {
                side.clone_from(base);
            }
        } else {
            versions = sides_of(&fs::read_to_string(&path).ok()?)?;
        }
        Some(Self { path, versions, is_in_index })
    }

    /// Merges both sides, and writes the result to the file. What a person has put into the file since is merged, too.
    ///
    /// # Errors
    ///
    /// A side is invalid, or the file cannot be written.
    pub fn resolve(&self) -> Result<MergedFile, ConflictError> {
        let [base, ours, theirs] = &self.versions;
        let mut merged = merge_files(base, ours, theirs)?;
        let present = fs::read(&self.path).unwrap_or_default();
        if self.is_in_index && !present.is_empty() && format::parse(present.clone()).is_ok() {
            let conflicts = merged.conflicts;
            merged = merge_files(base, &merged.bytes, &present)?;
            merged.conflicts.extend(conflicts);
        }
        match replace(&self.path, &merged.bytes, &self.path) {
            Ok(()) => Ok(merged),
            Err(source) => Err(ConflictError::Write { path: self.path.clone(), source }),
        }
    }

    /// Tells git that the conflict is resolved.
    pub fn stage(&self) -> Result<(), ConflictError> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let added = git(directory_of(&self.path), &["add", "--", &name]);
        if self.is_in_index && added.is_none() {
            return Err(ConflictError::NotAdded(self.path.clone()));
        }
        Ok(())
    }

    /// Returns the command with which the operation of git goes on that led to the conflict.
    pub fn next_step(&self) -> Option<&'static str> {
        let directory = directory_of(&self.path);
        let marks = [
            ("rebase-merge", "git rebase --continue"),
            ("rebase-apply", "git rebase --continue"),
            ("CHERRY_PICK_HEAD", "git cherry-pick --continue"),
            ("REVERT_HEAD", "git revert --continue"),
            ("MERGE_HEAD", "git commit"),
        ];
        let is_there = |mark: &str| {
            let found = git(directory, &["rev-parse", "--git-path", mark]);
            let found = found.map(|path| String::from_utf8_lossy(&path).trim_end().to_owned());
            found.is_some_and(|path| directory.join(path).exists())
        };
        marks.into_iter().find(|(mark, _)| is_there(mark)).map(|(_, command)| command)
    }
}

/// Runs git and returns its output; `None` if it fails.
fn git(directory: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let mut command = ait_system::git::command(directory);
    let output = command.args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// Returns the versions between the marks of a conflict: the common ancestor, which is empty if the marks do not have
/// it, ours and theirs.
fn sides_of(text: &str) -> Option<[Vec<u8>; 3]> {
    let mut versions = [const { Vec::new() }; 3];
    let mut side = None;
    let mut conflicts = 0;
    let mut has_base = false;
    for line in text.split_inclusive('\n') {
        let is_mark = |mark: &str| line.trim_end() == mark || line.starts_with(&format!("{mark} "));
        match side {
            None if is_mark("<<<<<<<") => (side, conflicts) = (Some(1), conflicts + 1),
            Some(1) if is_mark("|||||||") => (side, has_base) = (Some(0), true),
            Some(0 | 1) if is_mark("=======") => side = Some(2),
            Some(2) if is_mark(">>>>>>>") => side = None,
            Some(side) => versions[side].extend_from_slice(line.as_bytes()),
            None => {
                versions.iter_mut().for_each(|version| version.extend_from_slice(line.as_bytes()));
            }
        }
    }
    if !has_base {
        versions[0].clear();
    }
    (conflicts > 0 && side.is_none()).then_some(versions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_are_read_from_the_marks() {
        let text = "a\n<<<<<<< HEAD\nb\n||||||| base\nc\n=======\nd\n>>>>>>> other\ne\n";
        let [base, ours, theirs] = sides_of(text).unwrap();
        assert_eq!(
            (&*base, &*ours, &*theirs),
            (&b"a\nc\ne\n"[..], &b"a\nb\ne\n"[..], &b"a\nd\ne\n"[..])
        );
        let without_base = text.replace("||||||| base\nc\n", "");
        assert!(sides_of(&without_base).unwrap()[0].is_empty());
        for no_conflict in ["", "a\n", "<<<<<<< HEAD\nb\n", "=======\n"] {
            assert!(sides_of(no_conflict).is_none(), "{no_conflict:?}");
        }
    }
}
