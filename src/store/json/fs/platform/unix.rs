//! Linux, macOS and their like.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};
use std::path::Path;

use tempfile::{Builder, NamedTempFile};

use super::Identity;

const NS_PER_S: i64 = 1_000_000_000;

/// A directory that is open, so that its names can be made durable. Opened beforehand, since a process
/// that has no file descriptor left cannot tell whether a name is durable, and has lost nothing yet.
#[derive(Debug)]
pub struct Directory {
    file: File,
}

impl Directory {
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)? })
    }

    pub(in super::super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// What there is at a path.
pub fn look(path: &Path) -> io::Result<(Metadata, Identity)> {
    let metadata = fs::metadata(path)?;
    let identity = identity(&metadata);
    Ok((metadata, identity))
}

/// What an open file is.
pub fn look_at_open(file: &File) -> io::Result<(Metadata, Identity)> {
    let metadata = file.metadata()?;
    let identity = identity(&metadata);
    Ok((metadata, identity))
}

fn identity(metadata: &Metadata) -> Identity {
    Identity { device: metadata.dev(), inode: metadata.ino() }
}

/// When a file last changed in any respect, in nanoseconds since 1970. Nobody can set it, as opposed to the
/// time of the content.
pub fn changed_ns(metadata: &Metadata) -> i64 {
    metadata.ctime().saturating_mul(NS_PER_S) + metadata.ctime_nsec()
}

/// How lock files are opened.
pub fn lock_options() -> OpenOptions {
    OpenOptions::new()
}

/// Locks a file that others read and that is no lock file; false when another process has.
pub fn claim(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
        Ok(()) => Ok(true),
    }
}

/// Unlocks it.
pub fn release(file: &File) {
    // What is not held need not be given up.
    let _ = file.unlock();
}

/// Lets a temporary file have the mode of an ordinary new one; the process's mask is taken off it.
pub fn as_usual(builder: &mut Builder<'_, '_>) {
    builder.permissions(PermissionsExt::from_mode(0o666));
}

/// Gives a replacement the owner and the mode of the file whose place it takes.
pub fn take_over(old: &Metadata, new: &File) -> io::Result<()> {
    let owner = (old.uid(), old.gid());
    let made = new.metadata()?;
    if (made.uid(), made.gid()) != owner {
        // Only the superuser may give files away; for others the group may still be possible.
        let _ =
            fchown(new, Some(owner.0), Some(owner.1)).or_else(|_| fchown(new, None, Some(owner.1)));
    }
    new.set_permissions(old.permissions())
}

/// Gives a file another name.
pub fn rename(path: &Path, to: &Path) -> io::Result<()> {
    fs::rename(path, to)
}

/// Puts a temporary file in the place of another one.
pub fn replace(temp: NamedTempFile, target: &Path) -> io::Result<File> {
    temp.persist(target).map_err(|refused| refused.error)
}

/// Puts a temporary file where there is none.
pub fn place(temp: NamedTempFile, target: &Path) -> io::Result<File> {
    temp.persist_noclobber(target).map_err(|refused| refused.error)
}

/// Lets two files change names.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use rustix::io::Errno;

    // What the kernel or the file system does not know. The last two are one on Linux.
    const UNKNOWN: [Errno; 4] = [Errno::NOSYS, Errno::INVAL, Errno::NOTSUP, Errno::OPNOTSUPP];
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Err(errno) if UNKNOWN.contains(&errno) => Ok(false),
        exchanged => Ok(exchanged.map(|()| true)?),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Reads at an offset, as much as one call gives.
pub fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(buffer, offset)
}

/// Writes at an offset, as much as one call takes.
pub fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.write_at(bytes, offset)
}
