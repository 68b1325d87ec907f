//! What processes leave that die while they replace a file.
//!
//! Their temporary files are removed by the next one that writes, but for what somebody may have saved: when
//! `issues.json` and a temporary file exchange their names, and until the latter is removed or everything is
//! put back, whatever stood at `issues.json` has the name of the temporary file. So that name tells, before, which
//! two files it is expected to stand for; anything else is kept.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::fs::{FileSystem, Stamp, is_known, marked, sync_name};
use super::session::{refused, timestamp};
use super::view::Place;
use crate::store::StoreError;

/// What systems say of names that are too long for them.
const TOO_LONG: [io::ErrorKind; 2] = [io::ErrorKind::InvalidFilename, io::ErrorKind::InvalidInput];

/// Lets the name of a temporary file tell what may stand under it: itself, and what it is to replace.
pub(super) fn mark(
    fs: &dyn FileSystem,
    temp: NamedTempFile,
    known: [Stamp; 2],
) -> io::Result<NamedTempFile> {
    let name = marked(temp.path(), known);
    match fs.put_aside(temp.path(), &name) {
        // It is longer than names may be.
        Err(error) if TOO_LONG.contains(&error.kind()) => return Ok(temp),
        marked => marked?,
    }
    let (file, mut former) = temp.into_parts();
    former.disable_cleanup(true);
    Ok(NamedTempFile::from_parts(file, TempPath::try_from_path(name)?))
}

/// Keeps what stands under the name of a temporary file and may be what somebody has saved.
pub(super) fn keep(
    fs: &dyn FileSystem,
    temp: NamedTempFile,
    place: &Place,
) -> Result<PathBuf, StoreError> {
    let kept = place.by_hand(&timestamp(fs.now()).to_string());
    fs.place(temp, &kept).map_err(|source| refused(&kept, &source))?;
    tracing::warn!(
        "{} was saved by somebody while it was brought up to date; what is not in it may be in {}",
        place.snapshot.display(),
        kept.display()
    );
    Ok(kept)
}

/// Removes the temporary files of dead processes; gives the names under which it keeps what may be somebody else's.
/// To be called under the lock of a commit. Living processes have such files only under that, or under the lock of a
/// checkpoint, which is taken before it.
pub(super) fn remove(fs: &dyn FileSystem, place: &Place) -> Result<Vec<PathBuf>, StoreError> {
    // Where that cannot be told, it is: somebody may hold it.
    let is_there = !matches!(fs.stamp(&place.checkpoint), Ok(None));
    let alone = is_there.then(|| fs.try_lock(&place.checkpoint));
    if matches!(alone, Some(Ok(None) | Err(_))) {
        return Ok(Vec::new());
    }
    let targets = [&place.snapshot, &place.journal, &place.sessions];
    let marked = targets.map(|target| fs.remove_stale_temps(target)).concat();
    let kept: Vec<_> = marked.iter().map(|path| remove_marked(fs, place, path)).collect();
    kept.into_iter().filter_map(Result::transpose).collect()
}

/// Removes a temporary file whose name tells what may stand under it, unless that is something else.
fn remove_marked(
    fs: &dyn FileSystem,
    place: &Place,
    path: &Path,
) -> Result<Option<PathBuf>, StoreError> {
    let failed = |source| refused(path, &source);
    let Some(stamp) = fs.stamp(path).map_err(failed)? else { return Ok(None) };
    let mut temp = TempPath::try_from_path(path).map_err(failed)?;
    if is_known(path, &stamp) {
        return temp.close().map(|()| None).map_err(failed);
    }
    temp.disable_cleanup(true);
    let Some(open) = fs.open(path).map_err(failed)? else { return Ok(None) };
    let kept = keep(fs, NamedTempFile::from_parts(open.file, temp), place)?;
    sync_name(fs, &kept).map_err(failed)?;
    Ok(Some(kept))
}
