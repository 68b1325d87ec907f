//! Reads `issues.json`, and finds the files of a store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{self, FormatError};
use super::fs::{FileFingerprint, FileSystem, ResolveError, TO_THE_END};
use super::paths::StorePaths;
use crate::backup::format as backup;
use crate::{State, StoreError};

/// Why the files of a store cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OpenError {
    /// The directory of the file does not exist.
    #[error("the directory {} does not exist: create it, or choose another file", .0.display())]
    MissingDirectory(PathBuf),
    /// A directory of the store is a symbolic link.
    #[error("{} is a symbolic link, which is not followed: remove it", .0.display())]
    Link(PathBuf),
    /// A file cannot be read.
    #[error("{}: {source}: make it readable, or choose another file", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        source: Arc<io::Error>,
    },
    /// `issues.json` is invalid.
    #[error(
        "{}, {source}: correct it there{}; the file stays untouched until it is valid",
        path.display(),
        // A copy from version control would have the issues of one side only.
        if source.is_git_conflict() {
            ", with the issues of both sides"
        } else {
            ", or restore a good copy from version control or a backup"
        }
    )]
    Format {
        /// The path of the file.
        path: PathBuf,
        /// The position and the cause.
        source: FormatError,
    },
}

impl From<OpenError> for StoreError {
    fn from(error: OpenError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

pub(crate) fn unreadable(path: &Path, source: io::Error) -> OpenError {
    OpenError::Io { path: path.to_owned(), source: Arc::new(source) }
}

/// Resolves the paths of a store. Follows symbolic links to `issues.json`, but no link to what is beside it: a
/// repository may carry links into any directory of the user.
pub(crate) fn paths_of(fs: &dyn FileSystem, path: &Path) -> Result<StorePaths, OpenError> {
    let resolved = fs.resolve(path).map_err(|ResolveError { directory, source }| {
        if source.kind() == io::ErrorKind::NotFound {
            OpenError::MissingDirectory(directory)
        } else {
            unreadable(&directory, source)
        }
    })?;
    let paths = StorePaths::of(resolved);
    for directory in paths.directories() {
        match fs.fingerprint(&directory) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(OpenError::Link(directory));
            }
            _ => {}
        }
    }
    Ok(paths)
}

/// The content of `issues.json`.
pub(crate) struct IssuesFile {
    pub state: State,
    pub fingerprint: FileFingerprint,
    pub hash: u128,
}

/// Reads `issues.json`. Returns `None` if it does not exist.
pub(crate) fn read_issues(
    fs: &dyn FileSystem,
    path: &Path,
) -> Result<Option<IssuesFile>, OpenError> {
    let failed = |source| unreadable(path, source);
    let Some(file) = fs.open(path).map_err(failed)? else { return Ok(None) };
    let fingerprint = fs.fingerprint_of(&file).map_err(failed)?;
    let bytes = fs.read_at(&file, 0, TO_THE_END).map_err(failed)?;
    let hash = xxhash_rust::xxh3::xxh3_128(&bytes);
    let mut document = format::parse(bytes)
        .map_err(|source| OpenError::Format { path: path.to_owned(), source })?;
    // A copied backup may serve as `issues.json`.
    backup::forget(&mut document.unknown_keys);
    Ok(Some(IssuesFile { state: State::of(document), fingerprint, hash }))
}
