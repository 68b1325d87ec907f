//! Writing what was planned: each file whole or not at all, through a file beside it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::mem;
use std::path::Path;

use tempfile::Builder;

use super::{Backup, Change};

/// What the names of files begin with that are being written.
const TEMP_PREFIX: &str = ".ait-init.";

/// What came of writing.
#[derive(Debug, Default)]
pub struct Applied {
    /// What was written, in the words of [`Change::shown`].
    pub written: Vec<String>,
    /// What kept the rest from being written: the file, and why.
    pub failure: Option<(String, io::Error)>,
}

/// Writes a plan, file by file, until one cannot be written. Directories below `root` that are empty
/// behind a file that goes go too.
pub fn apply(changes: &[Change], root: &Path) -> Applied {
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

fn write(change: &Change, root: &Path) -> io::Result<()> {
    let now = match fs::read(&change.path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if now.as_deref() != change.before.as_ref().map(String::as_bytes) {
        return Err(io::Error::other("it has changed since it was read: run ait init again"));
    }
    if change.backup == Backup::Made
        && let Some(before) = &change.before
    {
        replace(&change.backup_path, before, Some(&change.path))?;
    }
    match &change.after {
        Some(text) => {
            if let Some(directory) = change.path.parent() {
                fs::create_dir_all(directory)?;
            }
            replace(&change.path, text, Some(&change.path))?;
        }
        None => {
            fs::remove_file(&change.path)?;
            tidy(&change.path, root);
        }
    }
    if change.backup == Backup::Removed {
        fs::remove_file(&change.backup_path)?;
    }
    Ok(())
}

/// Puts a text at a path, with the permissions of a file that is there.
fn replace(path: &Path, text: &str, like: Option<&Path>) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    remove_abandoned(directory);
    let mut builder = Builder::new();
    builder.prefix(TEMP_PREFIX);
    let permissions = like.and_then(|like| fs::metadata(like).ok()).map(|it| it.permissions());
    // Less what the user's mask takes.
    #[cfg(unix)]
    let usual = {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(0o666)
    };
    #[cfg(unix)]
    builder.permissions(usual);
    let mut file = builder.tempfile_in(directory)?;
    // As long as it is written, so that others know that it is not abandoned. Where there are no locks, none is
    // taken for abandoned.
    let _ = file.as_file().try_lock();
    file.write_all(text.as_bytes())?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions)?;
    }
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error).map(mem::drop)
}

/// Removes files that processes were writing which have died: nobody has them locked.
fn remove_abandoned(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_temp = entry.file_name().to_string_lossy().starts_with(TEMP_PREFIX);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_temp && is_file && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok())
        {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes the directories around a file that is gone, as far as they are empty and below `root`.
fn tidy(path: &Path, root: &Path) {
    let Ok(root) = root.canonicalize() else { return };
    let inside = |directory: &&Path| directory.starts_with(&root) && **directory != root;
    for directory in path.ancestors().skip(1).take_while(inside) {
        // One that is not empty stays, and so do those around it.
        if fs::remove_dir(directory).is_err() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn change(path: PathBuf, before: Option<&str>, after: Option<&str>) -> Change {
        let backup_path = path.with_extension("backup");
        let (before, after) = (before.map(str::to_owned), after.map(str::to_owned));
        Change { shown: "it".to_owned(), path, before, after, backup: Backup::None, backup_path }
    }

    #[test]
    fn what_has_changed_since_it_was_read_is_left_alone_and_ends_the_writing() {
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

    #[test]
    fn files_that_a_killed_run_was_writing_are_removed_and_those_of_a_live_one_stay() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| directory.path().join(name);
        fs::write(file(".ait-init.dead"), "half").unwrap();
        let live = File::create(file(".ait-init.live")).unwrap();
        live.lock().unwrap();
        assert!(
            apply(&[change(file("a"), None, Some("ours"))], directory.path()).failure.is_none()
        );
        let mut names: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|it| it.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".ait-init.live", "a"]);
    }
}
