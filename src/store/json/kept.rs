//! Files that are set aside for people, with the time and the reason in their names.

use std::io;
use std::path::{Path, PathBuf};

use super::fs::{FileSystem, Rename};
use super::place::Place;
use super::render::render;
use super::support::now;

fn target(fs: &dyn FileSystem, place: &Place, reason: &str) -> io::Result<PathBuf> {
    /// How many files may be set aside for one reason within a millisecond.
    const MAX_NAMES: usize = 10_000;
    fs.create_directory(&place.kept)?;
    let time = now().to_string().replace(':', "");
    let name = place.issues.file_name().unwrap_or_default().to_string_lossy();
    for number in 1..=MAX_NAMES {
        let number = if number == 1 { String::new() } else { format!("-{number}") };
        let target = place.kept.join(format!("{time}-{reason}{number}-{name}"));
        if fs.fingerprint(&target)?.is_none() {
            return Ok(target);
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Moves a file there; returns its new path.
///
/// # Errors
///
/// It cannot be moved, and is where it was.
pub(super) fn move_to(
    fs: &dyn FileSystem,
    place: &Place,
    path: &Path,
    reason: &str,
) -> io::Result<PathBuf> {
    let target = target(fs, place, reason)?;
    fs.rename(path, &target, Rename::KeepOther)?;
    fs.sync_directory(&place.kept)?;
    Ok(target)
}

/// Writes a copy of some bytes there, durably; returns its path.
///
/// # Errors
///
/// It cannot be written.
pub(super) fn copy_to(
    fs: &dyn FileSystem,
    place: &Place,
    bytes: &[u8],
    reason: &str,
) -> io::Result<PathBuf> {
    let target = target(fs, place, reason)?;
    render(fs, &target, &place.issues, |sink| sink.write_all(bytes))?;
    fs.sync_directory(&place.kept)?;
    Ok(target)
}
