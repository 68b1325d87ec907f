//! The calls that the store makes on the file system, and the real ones behind them.
//!
//! The only place in the store that uses `std::fs`. A trait, so that tests can make each single call
//! fail, cut the power at it, or take its time.

mod kind;
mod real;

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

pub use kind::Kind;
pub use real::RealFileSystem;

/// What tells one content of a file from another without reading it: its size, the time at which its content last
/// changed, device and inode.
///
/// A file that is replaced has another inode; one that is written in place has another time. A file that is renamed
/// keeps all of it. Two writes within one tick of the clock of the file system look the same if the size does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFingerprint {
    /// How many names the file has, which says nothing about its content.
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

    /// Returns true if both are of the same file, whatever its content.
    pub fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }

    /// How many names the file has.
    pub fn links(&self) -> u64 {
        self.links
    }

    /// The size of the file in bytes.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// When the content of the file last changed.
    pub fn modified(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.modified_ns).unwrap_or(0))
    }
}

/// A file that is open to read and, if this user may, to write.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: Arc<File>,
    /// Whether this process may write to it.
    pub is_writable: bool,
}

/// The limit of reading everything that there is.
pub const TO_THE_END: usize = usize::MAX;

/// An exclusive lock on a file, held until it is dropped or the process dies.
#[derive(Debug)]
pub struct FileLock {
    file: Arc<File>,
}

impl FileLock {
    /// The guard of a lock that was just taken on `file`.
    pub fn of(file: &Arc<File>) -> Self {
        Self { file: Arc::clone(file) }
    }
}

impl Drop for FileLock {
    /// Gives the lock up. To close the file would not be enough: a program that another thread is just starting
    /// has the same open file until it is executed, and the lock with it.
    fn drop(&mut self) {
        // What is not held need not be given up.
        let _ = self.file.unlock();
    }
}

/// What a rename does where the new name is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rename {
    /// The file takes the place of the other one.
    Replace,
    /// Nothing: the rename fails with [`io::ErrorKind::AlreadyExists`].
    KeepOther,
    /// The two files exchange their names. Fails with [`io::ErrorKind::Unsupported`] where the system cannot.
    Exchange,
}

/// Why a path leads to no place for a file.
#[derive(Debug)]
pub struct Unresolved {
    /// The directory in which the file would have to be.
    pub directory: PathBuf,
    /// What is wrong with it.
    pub source: io::Error,
}

/// The calls on the file system that the store needs.
pub trait FileSystem: Send + Sync {
    /// Follows symbolic links to the place where the file is, or would be if it existed.
    ///
    /// # Errors
    ///
    /// The directory of the file does not exist, or the links do not end.
    fn resolve(&self, path: &Path) -> Result<PathBuf, Unresolved>;

    /// Returns the fingerprint of a file; `None` when there is no file.
    ///
    /// # Errors
    ///
    /// It is not a regular file, or the system cannot tell.
    fn fingerprint(&self, path: &Path) -> io::Result<Option<FileFingerprint>>;

    /// Returns the fingerprint of an open file.
    ///
    /// # Errors
    ///
    /// The system cannot tell.
    fn fingerprint_of(&self, file: &File) -> io::Result<FileFingerprint>;

    /// Opens a file to read and, where that is permitted, to write; `None` when there is no file.
    ///
    /// # Errors
    ///
    /// It is not a regular file, or it cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>>;

    /// Makes a new, empty file, with the owner and mode of `model` where that exists.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] when there is one, and whatever keeps it from being made.
    fn create(&self, path: &Path, model: &Path) -> io::Result<Arc<File>>;

    /// Reads an open file from an offset in bytes, at most so many bytes; fewer only where it ends.
    ///
    /// # Errors
    ///
    /// The bytes cannot be read.
    fn read_at(&self, file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>>;

    /// Writes bytes at an offset, in one call where the system takes them at once.
    ///
    /// # Errors
    ///
    /// The bytes, or some of them, were not written.
    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content and the size of an open file durable.
    ///
    /// # Errors
    ///
    /// The system cannot promise that they are.
    fn sync(&self, file: &File) -> io::Result<()>;

    /// Takes the exclusive lock on an open file, and waits for it if `waits`; `None` when somebody else has it.
    ///
    /// # Errors
    ///
    /// The file system has no locks.
    fn lock(&self, file: &Arc<File>, waits: bool) -> io::Result<Option<FileLock>>;

    /// Gives a file another name, in one step.
    ///
    /// # Errors
    ///
    /// It has its name still.
    fn rename(&self, from: &Path, to: &Path, mode: Rename) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// It is still there.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Lists the names in a directory; none when there is no directory.
    ///
    /// # Errors
    ///
    /// It cannot be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<String>>;

    /// Makes a directory and those above it, where they are missing.
    ///
    /// # Errors
    ///
    /// It cannot be made.
    fn create_directory(&self, directory: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    ///
    /// The system cannot promise that they are.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Tells what a file stands on, or would stand on, where the system knows that.
    fn kind(&self, file: &Path) -> Option<Kind>;
}

/// Opens a file to read and write; it is made, as `model` is, when it is missing.
///
/// # Errors
///
/// It can be neither opened nor made.
pub fn open_or_create(fs: &dyn FileSystem, path: &Path, model: &Path) -> io::Result<Arc<File>> {
    loop {
        if let Some(open) = fs.open(path)? {
            return Ok(open.file);
        }
        match fs.create(path, model) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created,
        }
    }
}

/// Takes the lock on the file at a path, which is made when it is missing; `None` when somebody else has it and it
/// is not waited for.
///
/// # Errors
///
/// Those of [`open_or_create`] and [`FileSystem::lock`].
pub fn lock_at(
    fs: &dyn FileSystem,
    path: &Path,
    model: &Path,
    waits: bool,
) -> io::Result<Option<FileLock>> {
    loop {
        let file = open_or_create(fs, path, model)?;
        let Some(lock) = fs.lock(&file, waits)? else { return Ok(None) };
        // Somebody may have removed it, and others lock the one that took its place.
        let opened = fs.fingerprint_of(&file)?;
        if fs.fingerprint(path)?.is_some_and(|found| found.is_same_file(&opened)) {
            return Ok(Some(lock));
        }
    }
}

/// The directory that a file is in; the working directory for a bare name.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        Some(_) => Path::new("."),
        None => path,
    }
}
