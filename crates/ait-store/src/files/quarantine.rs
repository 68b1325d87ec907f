//! Quarantine: files that are kept for people, with the time and the reason in their names.

use std::io;
use std::path::{Path, PathBuf};

use super::fs::{FileSystem, Rename};
use super::paths::StorePaths;
use super::render::render;
use super::support::now;

fn target(fs: &dyn FileSystem, paths: &StorePaths, reason: &str) -> io::Result<PathBuf> {
    /// The most files with the same reason in one millisecond.
    const MAX_NAMES: usize = 10_000;
    fs.create_directory(&paths.kept)?;
    let time = now().to_string().replace(':', "");
    let name = paths.issues.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=MAX_NAMES {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let target = paths.kept.join(format!("{time}-{reason}{number}-{name}"));
        if fs.fingerprint(&target)?.is_none() {
            return Ok(target);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Moves a file to quarantine and returns its new path.
///
/// # Errors
///
/// The file cannot be moved, and stays where it was.
pub(crate) fn move_to(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    path: &Path,
    reason: &str,
) -> io::Result<PathBuf> {
    let target = target(fs, paths, reason)?;
    fs.rename(path, &target, Rename::KeepOther)?;
    fs.sync_directory(&paths.kept)?;
    Ok(target)
}

/// Writes a durable copy of some bytes to quarantine and returns its path.
pub(crate) fn copy_to(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    bytes: &[u8],
    reason: &str,
) -> io::Result<PathBuf> {
    let target = target(fs, paths, reason)?;
    render(fs, &target, &paths.issues, |sink| sink.write_all(bytes))?;
    fs.sync_directory(&paths.kept)?;
    Ok(target)
}
