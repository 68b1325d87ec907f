//! Writes a plan: each file whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::Builder;

use super::FileChange;

/// The result of writing a plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// The files that were written, as in [`FileChange::shown`].
    pub written: Vec<String>,
    /// The file that could not be written, and why. The files after it are as they were.
    pub failure: Option<(String, io::Error)>,
}

/// Why a plan was not written as a whole.
#[derive(Debug, thiserror::Error)]
#[error(
    "{file} cannot be written; {written}; correct that and run ait init again, or ait init --remove"
)]
pub struct ApplyError {
    /// The file that could not be written.
    file: String,
    /// What was written before it.
    written: String,
    source: io::Error,
}

impl Applied {
    /// Returns the files that were written.
    ///
    /// # Errors
    ///
    /// One of the `planned` files could not be written. The error names those that were.
    pub fn complete(self, planned: usize) -> Result<Vec<String>, ApplyError> {
        let Some((file, source)) = self.failure else { return Ok(self.written) };
        let written = match self.written.len() {
            0 => "nothing was written".to_owned(),
            done => {
                format!("written before that, {done} of {planned}: {}", self.written.join(", "))
            }
        };
        Err(ApplyError { file, written, source })
    }
}

/// Writes changes in order, until one fails. Deletes the directories below `root` that a deleted file leaves empty.
pub fn apply(changes: &[FileChange], root: &Path) -> Applied {
    let mut applied = Applied::default();
    for change in changes {
        if let Err(error) = write(change, root) {
            applied.failure = Some((change.shown.clone(), error));
            break;
        }
        applied.written.push(change.shown.clone());
    }
    applied
}

fn write(change: &FileChange, root: &Path) -> io::Result<()> {
    let now = match fs::read(&change.path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if now.as_deref() != change.before.as_ref().map(String::as_bytes) {
        return Err(io::Error::other("it has changed since it was read: run ait init again"));
    }
    if let (Some(copy), Some(before)) = (&change.copy_to, &change.before) {
        replace(copy, before.as_bytes(), &change.path)?;
    }
    match &change.after {
        Some(text) => replace(&change.path, text.as_bytes(), &change.path),
        None => {
            fs::remove_file(&change.path)?;
            remove_empty_directories(&change.path, root);
            Ok(())
        }
    }
}

/// Replaces a file in one step. It gets the permissions of `like`, if that exists.
pub fn replace(path: &Path, bytes: &[u8], like: &Path) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut builder = Builder::new();
    builder.prefix(".ait-new.");
    // The umask applies.
    builder.permissions(fs::Permissions::from_mode(0o666));
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    if let Ok(metadata) = fs::metadata(like) {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Removes the directories around a deleted file that are empty and below `root`.
fn remove_empty_directories(path: &Path, root: &Path) {
    let Ok(root) = root.canonicalize() else { return };
    let is_below = |directory: &&Path| directory.starts_with(&root) && **directory != root;
    for directory in path.ancestors().skip(1).take_while(is_below) {
        // Fails for a directory that is not empty, so those around it stay as well.
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn change(path: PathBuf, before: Option<&str>, after: Option<&str>) -> FileChange {
        let before = before.map(str::to_owned);
        let after = after.map(str::to_owned);
        FileChange { shown: "it".to_owned(), path, before, after, copy_to: None }
    }

    #[test]
    fn apply_stops_at_a_file_that_changed_since_it_was_read() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        fs::write(file("a"), "new").unwrap();
        fs::write(file("b"), "new").unwrap();
        let changes = [
            change(file("c/d"), None, Some("made")),
            change(file("a"), Some("old"), Some("ours")),
            change(file("e"), None, Some("never")),
        ];
        let applied = apply(&changes, directory.path());
        assert_eq!(applied.written, ["it"]);
        let (_, error) = applied.failure.unwrap();
        assert!(error.to_string().contains("changed since it was read"), "{error}");
        assert_eq!(fs::read_to_string(file("a")).unwrap(), "new");
        assert!(!file("e").exists());
        for (before, after) in [(None, Some("ours")), (Some("old"), None)] {
            assert!(apply(&[change(file("b"), before, after)], directory.path()).failure.is_some());
            assert_eq!(fs::read_to_string(file("b")).unwrap(), "new");
        }
        let gone = apply(&[change(file("c/d"), Some("made"), None)], directory.path());
        assert!(gone.failure.is_none() && !file("c").exists() && directory.path().exists());
    }
}
