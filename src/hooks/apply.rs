//! Doing what was planned: each hook whole or not at all, and never a moment without the one that was there.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::{fs, mem};

use tempfile::Builder;

use super::Step;
use super::plan::read;

/// What came of a plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// What was done.
    pub done: usize,
    /// What kept the rest from being done: the file, and why.
    pub failure: Option<(PathBuf, io::Error)>,
}

/// Does the steps of a plan, until one cannot be done.
pub fn apply(steps: &[Step]) -> Applied {
    let mut applied = Applied::default();
    for step in steps {
        let (path, outcome) = match step {
            Step::Write { path, before, script, keep } => {
                (path, write(path, before.as_deref(), script, keep.as_deref()))
            }
            Step::Remove { path, before, restore } => {
                (path, remove(path, before.as_deref(), restore.as_deref()))
            }
        };
        if let Err(error) = outcome {
            applied.failure = Some((path.clone(), error));
            break;
        }
        applied.done += 1;
    }
    applied
}

fn write(path: &Path, before: Option<&[u8]>, script: &str, keep: Option<&Path>) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut builder = Builder::new();
    builder.prefix(".ait-hooks.");
    // Less what the user's mask takes.
    #[cfg(unix)]
    let executable = {
        use std::os::unix::fs::PermissionsExt;
        fs::Permissions::from_mode(0o777)
    };
    #[cfg(unix)]
    builder.permissions(executable);
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(script.as_bytes())?;
    file.as_file().sync_all()?;
    unchanged(path, before)?;
    let Some(keep) = keep else {
        return file.persist(path).map_err(|error| error.error).map(mem::drop);
    };
    // Under both names for a moment; where a file has but one name, under none of its own.
    let is_linked = fs::hard_link(path, keep).is_ok();
    if !is_linked {
        fs::rename(path, keep)?;
    }
    if let Err(error) = file.persist(path) {
        let _ = if is_linked { fs::remove_file(keep) } else { fs::rename(keep, path) };
        return Err(error.error);
    }
    Ok(())
}

fn remove(path: &Path, before: Option<&[u8]>, restore: Option<&Path>) -> io::Result<()> {
    unchanged(path, before)?;
    match restore {
        Some(restore) => fs::rename(restore, path)?,
        None => fs::remove_file(path)?,
    }
    // One that is not empty stays. To git, one that is empty is the same as none.
    if let Some(directory) = path.parent() {
        let _ = fs::remove_dir(directory);
    }
    Ok(())
}

/// Makes sure that nobody has changed a hook since it was looked at.
fn unchanged(path: &Path, before: Option<&[u8]>) -> io::Result<()> {
    let now = read(path).map_err(io::Error::other)?;
    if now.as_deref() != before {
        return Err(io::Error::other("it has changed since it was read"));
    }
    Ok(())
}
