//! The real file system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{
    FileFingerprint, FileLock, FileSystem, FileSystemKind, Rename, ResolveError, directory_of, kind,
};

/// The real file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFileSystem;

/// The most symbolic links to follow, as on Linux.
const MAX_LINKS: usize = 40;
/// How often to retry creating a directory while other processes remove its empty parents.
const MAX_RETRIES: usize = 100;
/// The step for reading beyond the reported size of a file, in bytes.
const STEP_BYTES: usize = 64 * 1024;

impl FileSystem for RealFileSystem {
    fn resolve(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let directory = directory_of(&path);
            let unresolved = |source| ResolveError { directory: directory.to_owned(), source };
            let name = path.file_name().ok_or_else(|| unresolved(not_a_file()))?;
            path = fs::canonicalize(directory).map_err(unresolved)?.join(name);
            match fs::read_link(&path) {
                Ok(target) => path = directory_of(&path).join(target),
                // The path is not a link, or does not exist, so it is resolved.
                Err(_) => return Ok(path),
            }
        }
        let source = io::Error::other("too many levels of symbolic links");
        Err(ResolveError { directory: directory_of(&path).to_owned(), source })
    }

    fn fingerprint(&self, path: &Path) -> io::Result<Option<FileFingerprint>> {
        match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(FileFingerprint::of(&metadata))),
            Ok(metadata) if metadata.is_dir() => Err(is_a_directory()),
            Ok(metadata) if metadata.is_symlink() => Err(is_a_link()),
            Ok(_) => Err(not_a_file()),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn fingerprint_of(&self, file: &File) -> io::Result<FileFingerprint> {
        Ok(FileFingerprint::of(&file.metadata()?))
    }

    fn open(&self, path: &Path) -> io::Result<Option<Arc<File>>> {
        // Checked before opening, because opening a pipe would wait for its other end.
        if self.fingerprint(path)?.is_none() {
            return Ok(None);
        }
        let opened = match no_follow().read(true).write(true).open(path) {
            Err(error) if refuses_writing(&error) => no_follow().read(true).open(path),
            opened => opened,
        };
        match opened {
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(error),
            Ok(file) => Ok(Some(Arc::new(file))),
        }
    }

    fn create(&self, path: &Path, model: &Path) -> io::Result<Arc<File>> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o666).open(path)?;
        if let Ok(model) = fs::metadata(model) {
            let made = file.metadata()?;
            let owner = (Some(model.uid()), Some(model.gid()));
            if (Some(made.uid()), Some(made.gid())) != owner {
                // Only root may change the owner. Other users may still be able to change the group.
                let _ = fchown(&file, owner.0, owner.1).or_else(|_| fchown(&file, None, owner.1));
            }
            file.set_permissions(model.permissions())?;
        }
        Ok(Arc::new(file))
    }

    fn read_at(&self, file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        let expected = file.metadata()?.len().saturating_sub(offset);
        let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(limit);
        let mut bytes = vec![0; expected];
        let mut filled = 0;
        while filled < limit {
            if filled == bytes.len() {
                bytes.resize(limit.min(filled + STEP_BYTES), 0);
            }
            match file.read_at(&mut bytes[filled..], offset + filled as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(0) => break,
                Ok(count) => filled += count,
            }
            if filled == expected {
                break;
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn lock(&self, file: &Arc<File>, waits: bool) -> io::Result<Option<FileLock>> {
        loop {
            let locked =
                if waits { file.lock().map_err(TryLockError::Error) } else { file.try_lock() };
            match locked {
                Ok(()) => return Ok(Some(FileLock::of(file))),
                Err(TryLockError::WouldBlock) => return Ok(None),
                // A signal interrupts flock(2), and std does not retry.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    fn rename(&self, from: &Path, to: &Path, mode: Rename) -> io::Result<()> {
        // The errors of a kernel or file system that does not support an operation.
        const UNKNOWN: [Errno; 4] = [Errno::NOSYS, Errno::INVAL, Errno::NOTSUP, Errno::OPNOTSUPP];
        match mode {
            Rename::Replace => fs::rename(from, to),
            // A hard link refuses an existing name, on every file system that supports hard links.
            Rename::KeepOther => match fs::hard_link(from, to) {
                Ok(()) => fs::remove_file(from),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
                Err(_) => Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?),
            },
            Rename::Exchange => match renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE) {
                Err(errno) if UNKNOWN.contains(&errno) => Err(io::ErrorKind::Unsupported.into()),
                exchanged => Ok(exchanged?),
            },
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(directory) {
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            entries => entries?,
        };
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        let mut retries = 0;
        loop {
            match fs::create_dir_all(directory) {
                // A process that ends may remove an empty parent in between.
                Err(error) if retries < MAX_RETRIES && is_gone_or_made(&error) => retries += 1,
                made => return made,
            }
        }
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn kind(&self, file: &Path) -> Option<FileSystemKind> {
        kind::kind(file)
    }
}

fn not_a_file() -> io::Error {
    io::Error::other("not a regular file")
}

fn is_a_directory() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "a directory, not a regular file")
}

fn is_a_link() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a symbolic link, which is not followed")
}

/// Returns options that refuse a symbolic link. A repository may carry links into any directory of the user.
pub fn no_follow() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

fn is_gone_or_made(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

pub(super) fn refuses_writing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn directories_are_created_while_others_remove_empty_parents() {
        let directory = tempfile::TempDir::new().unwrap();
        let parent = directory.path().join(".ait");
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _not_empty = fs::remove_dir(&parent);
                    thread::sleep(Duration::from_micros(200));
                }
            });
            let made: Vec<_> = (0..1000)
                .map(|_| {
                    let made = RealFileSystem.create_directory(&parent.join("log"));
                    let _gone = fs::remove_dir_all(&parent);
                    made
                })
                .collect();
            done.store(true, Ordering::Relaxed);
            let failed: Vec<_> = made.into_iter().filter_map(Result::err).collect();
            assert!(failed.is_empty(), "{} failed: {:?}", failed.len(), failed[0]);
        });
    }
}
