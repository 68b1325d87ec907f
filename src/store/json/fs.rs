//! The calls that the store makes on the file system, and the real ones behind them.
//!
//! The only place in the store that uses `std::fs`. A trait, so that tests can make each single call
//! fail.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::NamedTempFile;

/// What tells one content of a file from another without reading it.
///
/// A file that is replaced has another inode: the reader of the old one keeps it open, so that the
/// kernel cannot give its number away. A file that is written in place has another time or size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stamp {
    length_bytes: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: [i64; 4],
}

impl Stamp {
    /// Tells whether a file that was renamed between the two stamps has kept its content.
    pub fn same_content(&self, earlier: &Self) -> bool {
        (self.length_bytes, self.modified) == (earlier.length_bytes, earlier.modified)
    }

    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt;
        Self {
            length_bytes: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: [
                metadata.dev().cast_signed(),
                metadata.ino().cast_signed(),
                metadata.ctime(),
                metadata.ctime_nsec(),
            ],
        }
    }
}

/// The content of a file and what identifies it.
#[derive(Debug)]
pub struct Contents {
    /// All of its bytes.
    pub bytes: Vec<u8>,
    /// What identified the file before the bytes were read.
    pub stamp: Stamp,
    /// The file, to be kept open for as long as the stamp is compared.
    pub file: File,
}

/// The lock of a commit, held until it is dropped or the process dies.
#[derive(Debug)]
pub struct Lock {
    file: File,
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

    /// Tells whether a lock is still the one that others would wait for: somebody who cleans up may
    /// have removed the lock file, and then it excludes nobody.
    ///
    /// # Errors
    ///
    /// The system cannot tell.
    fn holds(&self, lock: &Lock, path: &Path) -> io::Result<bool>;

    /// Makes an empty temporary file beside `target`, with its owner and mode where it exists.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    fn create_temp(&self, target: &Path) -> io::Result<NamedTempFile>;

    /// Writes all the bytes to a temporary file.
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

    /// Identifies the content of an open file.
    ///
    /// # Errors
    ///
    /// The system cannot tell.
    fn stamp_open(&self, file: &File) -> io::Result<Stamp>;

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    ///
    /// The system cannot promise that they are.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Removes the temporary files of `target` that dead processes left. Only to be called under its
    /// lock, when no living process has one.
    fn remove_stale_temps(&self, target: &Path);
}

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFileSystem;

/// The most symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;
const TEMP_SUFFIX: &str = ".tmp";
const RANDOM_CHARS: usize = 6;

impl FileSystem for RealFileSystem {
    fn resolve(&self, path: &Path) -> Result<PathBuf, Unresolved> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let directory = directory_of(&path);
            let unresolved = |source| Unresolved { directory: directory.to_owned(), source };
            let name = path.file_name().ok_or_else(|| unresolved(not_a_file()))?;
            path = fs::canonicalize(directory).map_err(unresolved)?.join(name);
            match fs::read_link(&path) {
                Ok(target) => path = directory_of(&path).join(target),
                // Not a link, or nothing there: this is the place.
                Err(_) => return Ok(path),
            }
        }
        let source = io::Error::other("too many levels of symbolic links");
        Err(Unresolved { directory: directory_of(&path).to_owned(), source })
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_file() => Ok(Some(Stamp::of(&metadata))),
            Ok(_) => Err(not_a_file()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, path: &Path) -> io::Result<Option<Contents>> {
        // Looked at before it is opened: opening a pipe would wait for its other end.
        if self.stamp(path)?.is_none() {
            return Ok(None);
        }
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let stamp = self.stamp_open(&file)?;
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.length_bytes).unwrap_or(0));
        file.read_to_end(&mut bytes)?;
        Ok(Some(Contents { bytes, stamp, file }))
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        loop {
            let file = open_lock_file(path)?;
            match file.lock() {
                // flock(2) gives up when a signal arrives, and std does not try again.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                locked => locked?,
            }
            let lock = Lock { file };
            if self.holds(&lock, path)? {
                return Ok(lock);
            }
        }
    }

    fn holds(&self, lock: &Lock, path: &Path) -> io::Result<bool> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let held = lock.file.metadata()?;
            let is_held = |named: Metadata| (named.dev(), named.ino()) == (held.dev(), held.ino());
            Ok(fs::metadata(path).is_ok_and(is_held))
        }
        // Elsewhere an open file cannot be removed.
        #[cfg(not(unix))]
        Ok(lock.file.metadata().is_ok() && path.exists())
    }

    fn create_temp(&self, target: &Path) -> io::Result<NamedTempFile> {
        let prefix = temp_prefix(target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(RANDOM_CHARS).suffix(TEMP_SUFFIX);
        // What an ordinary new file gets; the process's mask is taken off it.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let temp = builder.tempfile_in(directory_of(target))?;
        if let Ok(metadata) = fs::metadata(target) {
            take_over(&metadata, temp.as_file())?;
        }
        Ok(temp)
    }

    fn write(&self, temp: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        temp.as_file_mut().write_all(bytes)
    }

    fn sync(&self, temp: &NamedTempFile) -> io::Result<()> {
        temp.as_file().sync_all()
    }

    fn replace(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        temp.persist(target).map_err(|refused| refused.error)
    }

    fn stamp_open(&self, file: &File) -> io::Result<Stamp> {
        Ok(Stamp::of(&file.metadata()?))
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        // Elsewhere directories cannot be opened as files, and renames are durable by themselves.
        #[cfg(unix)]
        File::open(directory)?.sync_all()?;
        #[cfg(not(unix))]
        let _ = directory;
        Ok(())
    }

    fn remove_stale_temps(&self, target: &Path) {
        let prefix = temp_prefix(target);
        let Ok(entries) = fs::read_dir(directory_of(target)) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let middle = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(TEMP_SUFFIX));
            // Exactly the random part: `issues.json.bak` has temporary files too.
            let random = |middle: &str| {
                middle.len() == RANDOM_CHARS
                    && middle.bytes().all(|byte| byte.is_ascii_alphanumeric())
            };
            if middle.is_some_and(random) {
                // What cannot be removed is in nobody's way.
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

fn open_lock_file(path: &Path) -> io::Result<File> {
    let made = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    match made {
        // Another user's lock file can be locked without the right to write to it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            File::open(path).map_err(|_| error)
        }
        made => made,
    }
}

fn not_a_file() -> io::Error {
    io::Error::other("it is not a regular file")
}

/// The directory that a file is in; the working directory for a bare name.
pub fn directory_of(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        Some(_) => Path::new("."),
        None => path,
    }
}

fn temp_prefix(target: &Path) -> String {
    format!(".{}.", target.file_name().unwrap_or_default().to_string_lossy())
}

/// Gives a replacement the owner and the mode of the file whose place it takes.
fn take_over(old: &Metadata, new: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let owner = (old.uid(), old.gid());
        let made = new.metadata()?;
        if (made.uid(), made.gid()) != owner {
            // Only the superuser may give files away; for others the group may still be possible.
            let _ = fchown(new, Some(owner.0), Some(owner.1))
                .or_else(|_| fchown(new, None, Some(owner.1)));
        }
    }
    new.set_permissions(old.permissions())
}
