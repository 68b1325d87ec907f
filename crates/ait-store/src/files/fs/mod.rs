//! The file system calls of the store, as a trait, and their real implementation.
//!
//! No other module of the store uses `std::fs`. Tests implement the trait to let any single call fail, lose power or
//! take time.

mod kind;
mod real;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use kind::FileSystemKind;
pub use real::{RealFileSystem, no_follow};

/// Distinguishes versions of a file without reading it: size, time of the last content change, device and inode.
///
/// A replaced file has another inode; a file that is written in place has another time. Renaming changes nothing. Two
/// writes within one tick of the file system's clock look the same if the size does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFingerprint {
    /// The number of hard links. It does not take part in comparisons.
    #[serde(skip)]
    links: u64,
    length_bytes: u64,
    modified_ns: i64,
    device: u64,
    inode: u64,
}

impl PartialEq for FileFingerprint {
    fn eq(&self, other: &Self) -> bool {
        self.is_same_file(other)
            && (self.length_bytes, self.modified_ns) == (other.length_bytes, other.modified_ns)
    }
}

impl Eq for FileFingerprint {}

impl FileFingerprint {
    fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
        Self {
            links: metadata.nlink(),
            length_bytes: metadata.len(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Returns true if both are fingerprints of the same file, whatever its content.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// Returns the number of hard links.
    pub fn links(&self) -> u64 {
        self.links
    }

    /// Returns the size of the file in bytes.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// Returns when the content of the file last changed.
    pub fn modified(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.modified_ns).unwrap_or(0))
    }
}

/// The age from which on a temporary file is abandoned: the process that wrote it must have died, because no write
/// takes an hour.
pub const ABANDONED_AFTER: Duration = Duration::from_secs(60 * 60);

/// Returns true if a temporary file is abandoned.
pub fn is_abandoned(fs: &dyn FileSystem, path: &Path) -> bool {
    let found = fs.fingerprint(path).ok().flatten();
    let age = found.and_then(|found| SystemTime::now().duration_since(found.modified()).ok());
    age.is_some_and(|age| age > ABANDONED_AFTER)
}

/// The limit for reading to the end of the file.
pub const TO_THE_END: usize = usize::MAX;

/// An exclusive lock on a file, held until it is dropped or the process dies.
#[derive(Debug)]
pub struct FileLock {
    file: Arc<File>,
}

impl FileLock {
    /// Creates the guard of a lock that was just taken on `file`.
    pub fn of(file: &Arc<File>) -> Self {
        Self { file: Arc::clone(file) }
    }
}

impl Drop for FileLock {
    /// Releases the lock. Closing the file would not suffice: another thread may be starting a program, which shares
    /// the open file, and thereby the lock, until exec.
    fn drop(&mut self) {
        // The lock may already be released.
        let _ = self.file.unlock();
    }
}

/// What a rename does if the new name exists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rename {
    /// The file replaces the existing one.
    Replace,
    /// The rename fails with [`io::ErrorKind::AlreadyExists`].
    KeepOther,
    /// The two files exchange names. Fails with [`io::ErrorKind::Unsupported`] if the system cannot do that.
    Exchange,
}

/// Why a path cannot be resolved.
#[derive(Debug)]
pub struct ResolveError {
    /// The directory that would contain the file.
    pub directory: PathBuf,
    /// The I/O error.
    pub source: io::Error,
}

/// The file system calls that the store needs.
pub trait FileSystem: Send + Sync {
    /// Resolves symbolic links and returns the path of the file, which need not exist.
    ///
    /// # Errors
    ///
    /// The directory of the file does not exist, or there are too many links.
    fn resolve(&self, path: &Path) -> Result<PathBuf, ResolveError>;

    /// Returns the fingerprint of a file, or `None` if it does not exist. Follows no symbolic link.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::IsADirectory`] for a directory; the path is no regular file, or an I/O error occurs.
    fn fingerprint(&self, path: &Path) -> io::Result<Option<FileFingerprint>>;

    /// Returns the fingerprint of an open file.
    fn fingerprint_of(&self, file: &File) -> io::Result<FileFingerprint>;

    /// Opens a file for reading and, if permitted, for writing. Returns `None` if it does not exist. Follows no
    /// symbolic link.
    ///
    /// Never open the database with it: when a process closes a file, POSIX ends all locks that the process has on it,
    /// those of SQLite too.
    ///
    /// # Errors
    ///
    /// The path is not a regular file, or the file cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Option<Arc<File>>>;

    /// Creates an empty file, with the owner and mode of `model` if that exists.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] if the file exists; other I/O errors.
    fn create(&self, path: &Path, model: &Path) -> io::Result<Arc<File>>;

    /// Reads at most `limit` bytes from an offset. Reads fewer only at the end of the file.
    fn read_at(&self, file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>>;

    /// Writes bytes at an offset, in one call if the system accepts them at once.
    ///
    /// # Errors
    ///
    /// Some or all bytes were not written.
    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content and the size of an open file durable.
    ///
    /// # Errors
    ///
    /// The system cannot guarantee durability.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Takes the exclusive lock on an open file. Waits for it if `waits`; otherwise returns `None` if another process
    /// holds it.
    ///
    /// # Errors
    ///
    /// The file system does not support locks.
    fn lock(&self, file: &Arc<File>, waits: bool) -> io::Result<Option<FileLock>>;

    /// Renames a file atomically.
    ///
    /// # Errors
    ///
    /// The file keeps its name.
    fn rename(&self, from: &Path, to: &Path, mode: Rename) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// The file still exists.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Lists the names in a directory. A missing directory has none.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// Creates a directory and its missing parents.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes the entries of a directory durable.
    ///
    /// # Errors
    ///
    /// The system cannot guarantee durability.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Returns the kind of file system that a file is on or would be on, if the system tells it.
    fn kind(&self, file: &Path) -> Option<FileSystemKind>;
}

/// Removes a file, if it exists.
pub(crate) fn remove_if_exists(fs: &dyn FileSystem, path: &Path) -> io::Result<()> {
    match fs.remove(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Reads a whole file. Returns `None` if it does not exist.
pub fn read_file(fs: &dyn FileSystem, path: &Path) -> io::Result<Option<Vec<u8>>> {
    fs.open(path)?.map(|file| fs.read_at(&file, 0, TO_THE_END)).transpose()
}

/// Returns true if this process may write to a file, or if it does not exist. Does not open it.
///
/// # Errors
///
/// The path is not a regular file, or the system cannot tell.
pub fn may_write(fs: &dyn FileSystem, path: &Path) -> io::Result<bool> {
    if fs.fingerprint(path)?.is_none() {
        return Ok(true);
    }
    match rustix::fs::access(path, rustix::fs::Access::WRITE_OK).map_err(io::Error::from) {
        Err(error) if real::refuses_writing(&error) => Ok(false),
        // It was removed meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        asked => asked.map(|()| true),
    }
}

/// Opens a file for reading and writing. Creates it like `model` if it does not exist.
///
/// # Errors
///
/// The file can be neither opened nor created.
pub fn open_or_create(fs: &dyn FileSystem, path: &Path, model: &Path) -> io::Result<Arc<File>> {
    loop {
        if let Some(file) = fs.open(path)? {
            return Ok(file);
        }
        match fs.create(path, model) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
}

/// Takes the lock on the file at a path, and creates the file if it does not exist. Returns `None` if `waits` is
/// false and another process holds the lock.
pub fn lock_at(
    fs: &dyn FileSystem,
    path: &Path,
    model: &Path,
    waits: bool,
) -> io::Result<Option<FileLock>> {
    loop {
        let file = open_or_create(fs, path, model)?;
        let Some(lock) = fs.lock(&file, waits)? else { return Ok(None) };
        // The file may have been replaced, and other processes lock the new one.
        let opened = fs.fingerprint_of(&file)?;
        if fs.fingerprint(path)?.is_some_and(|found| found.is_same_file(&opened)) {
            return Ok(Some(lock));
        }
    }
}

/// Returns the directory of a file, which is the working directory for a bare name.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        Some(_) => Path::new("."),
        None => path,
    }
}
