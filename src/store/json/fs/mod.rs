//! The calls that the store makes on the file system, and the real ones behind them.
//!
//! The only place in the store that uses `std::fs`. A trait, so that tests can make each single call
//! fail, cut the power at it, or take its time.

mod kind;
mod platform;
mod real;
mod temps;

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use xxhash_rust::xxh3::xxh3_64;

use platform::Identity;

pub use kind::Kind;
pub use platform::Directory;
pub use real::RealFileSystem;
pub(super) use temps::{is_known, marked};

/// What tells one content of a file from another without reading it: size, time of the last change
/// of the content and of the file's metadata, device and inode.
///
/// A file that is replaced has another inode; one that is written in place has another time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stamp {
    length_bytes: u64,
    modified_ns: i64,
    changed_ns: i64,
    device: u64,
    inode: u64,
}

impl Stamp {
    /// Tells whether a file that was renamed between the two stamps has kept its content.
    pub fn same_content(&self, earlier: &Self) -> bool {
        (self.length_bytes, self.modified_ns) == (earlier.length_bytes, earlier.modified_ns)
    }

    /// Tells whether this is the same file as before, which was renamed at most.
    pub fn is_renamed(&self, earlier: &Self) -> bool {
        let same = (self.device, self.inode) == (earlier.device, earlier.inode);
        same && self.same_content(earlier)
    }

    /// Tells whether this is the same file as before, and longer.
    pub fn has_grown(&self, earlier: &Self) -> bool {
        let same = (self.device, self.inode) == (earlier.device, earlier.inode);
        same && self.length_bytes > earlier.length_bytes
    }

    /// When the file last changed, in content or name.
    pub fn changed(&self) -> SystemTime {
        let since_1970 = self.changed_ns.max(self.modified_ns);
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(since_1970).unwrap_or(0))
    }

    /// When the content of the file last changed.
    pub fn modified(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.modified_ns).unwrap_or(0))
    }

    /// The size of the file in bytes.
    pub fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    /// What tells the content of a file from another one's, whatever the file is called; also when the machine was
    /// started anew since, where the file system numbers its files for good.
    fn mark(&self) -> u64 {
        let Self { length_bytes, modified_ns, inode, .. } = *self;
        let fields = [length_bytes.to_le_bytes(), modified_ns.to_le_bytes(), inode.to_le_bytes()];
        xxh3_64(fields.as_flattened())
    }

    fn of(metadata: &Metadata, identity: Identity) -> Self {
        let since_1970 = |time: SystemTime| time.duration_since(UNIX_EPOCH).ok();
        let modified = metadata.modified().ok().and_then(since_1970).unwrap_or_default();
        Self {
            length_bytes: metadata.len(),
            modified_ns: i64::try_from(modified.as_nanos()).unwrap_or(i64::MAX),
            changed_ns: platform::changed_ns(metadata),
            device: identity.device,
            inode: identity.inode,
        }
    }
}

/// The content of a file and what identifies it.
#[derive(Debug)]
pub struct Contents {
    /// All of its bytes.
    pub bytes: Bytes,
    /// What identified the file before the bytes were read.
    pub stamp: Stamp,
}

/// A file that is open.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// Whether this process may write to it.
    pub is_writable: bool,
}

/// The lock of a commit, held until it is dropped or the process dies.
#[derive(Debug)]
pub struct Lock {
    /// The lock file.
    pub file: File,
}

impl Drop for Lock {
    /// Gives it up. To close the file would not be enough: a program that another thread is just starting has
    /// the same open file until it is executed, and the lock with it.
    fn drop(&mut self) {
        // What is not held need not be given up.
        let _ = self.file.unlock();
    }
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

    /// Identifies the content of a file; `None` when there is no file.
    ///
    /// # Errors
    ///
    /// It is not a regular file, or the system cannot tell.
    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>>;

    /// Reads a file; `None` when there is no file.
    ///
    /// # Errors
    ///
    /// It is not a regular file, or it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Option<Contents>>;

    /// Waits for the exclusive lock on a lock file, which is made when it is missing.
    ///
    /// # Errors
    ///
    /// The lock file cannot be made or opened, or the file system has no locks.
    fn lock(&self, path: &Path) -> io::Result<Lock>;

    /// Takes the same lock if nobody has it; `None` when somebody does.
    ///
    /// # Errors
    ///
    /// Those of [`lock`](Self::lock).
    fn try_lock(&self, path: &Path) -> io::Result<Option<Lock>>;

    /// Tells whether a lock keeps others out: whether a second opening of a lock file that is there is
    /// refused the lock that another one has. Has the lock itself for a moment, when nobody else has.
    ///
    /// # Errors
    ///
    /// The lock file cannot be opened, or the file system has no locks.
    fn excludes(&self, path: &Path) -> io::Result<bool>;

    /// Tells on what kind of file system a directory is, where the system knows that.
    fn kind(&self, directory: &Path) -> Option<Kind>;

    /// Tells whether an open file is the one that a path leads to.
    ///
    /// # Errors
    ///
    /// The system cannot tell.
    fn is_at(&self, file: &File, path: &Path) -> io::Result<bool>;

    /// Makes an empty temporary file beside `target`, with the owner and mode of `model` where that
    /// exists.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    fn create_temp(&self, target: &Path, model: &Path) -> io::Result<NamedTempFile>;

    /// Writes all the bytes to a temporary file, behind those that it has.
    ///
    /// # Errors
    ///
    /// The bytes, or some of them, cannot be written.
    fn write(&self, temp: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()>;

    /// Makes the content of a temporary file durable.
    ///
    /// # Errors
    ///
    /// The system cannot promise that it is.
    fn sync(&self, temp: &NamedTempFile) -> io::Result<()>;

    /// Puts a temporary file in the place of `target`, in one step, and gives the open file back.
    ///
    /// # Errors
    ///
    /// The target cannot be replaced; it is as it was then.
    fn replace(&self, temp: NamedTempFile, target: &Path) -> io::Result<File>;

    /// Puts a temporary file where there is none, in one step, and gives the open file back.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::AlreadyExists`] when there is one, and other reasons why it cannot be put
    /// there; nothing has changed then.
    fn place(&self, temp: NamedTempFile, target: &Path) -> io::Result<File>;

    /// Lets a temporary file and the one at `target` change names, in one step; false where the system
    /// cannot do that.
    ///
    /// # Errors
    ///
    /// There is none at `target`, or it cannot be renamed; nothing has changed then.
    fn exchange(&self, temp: &NamedTempFile, target: &Path) -> io::Result<bool>;

    /// Gives a file another name in its directory.
    ///
    /// # Errors
    ///
    /// It has its name still.
    fn put_aside(&self, path: &Path, kept: &Path) -> io::Result<()>;

    /// Identifies the content of an open file.
    ///
    /// # Errors
    ///
    /// The system cannot tell.
    fn stamp_open(&self, file: &File) -> io::Result<Stamp>;

    /// Opens a directory to make its names durable.
    ///
    /// # Errors
    ///
    /// It cannot be opened, which says nothing about its names.
    fn open_directory(&self, directory: &Path) -> io::Result<Directory>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    ///
    /// The system cannot promise that they are.
    fn sync_directory(&self, directory: &Directory) -> io::Result<()>;

    /// Removes the temporary files of `target` that dead processes left, and gives those whose name tells that
    /// something else may stand under it. Only to be called under its lock, when no living process has one.
    fn remove_stale_temps(&self, target: &Path) -> Vec<PathBuf>;

    /// Opens a file to read and, where that is permitted, to write; `None` when there is no file.
    ///
    /// # Errors
    ///
    /// It is not a regular file, or it cannot be opened.
    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>>;

    /// Reads an open file from an offset in bytes to its end.
    ///
    /// # Errors
    ///
    /// The bytes cannot be read.
    fn read_at(&self, file: &File, offset: u64) -> io::Result<Vec<u8>>;

    /// Takes an open file for writing, so that two processes that hold different lock files (because
    /// somebody removed one) cannot both write; false when another process has taken it. Given up with
    /// [`release`](Self::release) or by the end of the process. Readers are not kept out.
    ///
    /// # Errors
    ///
    /// The file system has no locks.
    fn claim(&self, file: &File) -> io::Result<bool>;

    /// Gives up a file that was [claimed](Self::claim).
    fn release(&self, file: &File);

    /// Writes bytes at an offset in one call.
    ///
    /// # Errors
    ///
    /// The bytes, or some of them, were not written.
    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Appends bytes to a file, which is made when it is missing, in one call that others who append do
    /// not come between, and gives the open file back.
    ///
    /// # Errors
    ///
    /// It is not a regular file, or the bytes, or some of them, were not written.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<File>;

    /// Writes so many bytes into a directory where nobody sees them, and takes them back.
    ///
    /// # Errors
    ///
    /// The directory takes no new file, or not so many bytes.
    fn try_write(&self, directory: &Path, length_bytes: usize) -> io::Result<()>;

    /// Cuts an open file.
    ///
    /// # Errors
    ///
    /// It is as long as it was then.
    fn truncate(&self, file: &File, length_bytes: u64) -> io::Result<()>;

    /// Makes the content and the size of an open file durable.
    ///
    /// # Errors
    ///
    /// The system cannot promise that they are.
    fn sync_data(&self, file: &File) -> io::Result<()>;

    /// 128 random bits.
    fn random(&self) -> u128;

    /// The time, to compare with that of files, and for the names of those that are kept for people.
    fn now(&self) -> SystemTime;

    /// Tells whether nobody can reach an open file but through this opening: it has no name any more, and nobody else
    /// has it open. False where the system cannot tell.
    fn is_unreachable(&self, file: &File) -> bool {
        platform::is_unreachable(file)
    }

    /// Waits before something is tried again that others kept from succeeding.
    fn pause(&self, duration: Duration) {
        thread::sleep(duration);
    }

    /// How long ago something began.
    fn since(&self, begun: Instant) -> Duration {
        begun.elapsed()
    }
}

/// Makes the name of a file durable.
///
/// # Errors
///
/// Its directory cannot be opened, or the system cannot promise that the name is durable.
pub fn sync_name(fs: &dyn FileSystem, path: &Path) -> io::Result<()> {
    fs.sync_directory(&fs.open_directory(directory_of(path))?)
}

/// The directory that a file is in; the working directory for a bare name.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        Some(_) => Path::new("."),
        None => path,
    }
}
