//! What systems do differently, each in one file, with the reason.
//!
//! | what | Unix | Windows |
//! |---|---|---|
//! | which file it is | device and inode, with a `stat` | volume and index, of a file that is opened for it |
//! | locks | keep out who locks, too, so that journals are locked beside the lock file | keep out readers, so that only lock files are locked; those cannot be removed meanwhile |
//! | replacing a file that others have open | a rename | a rename that others may hold up for a moment: done again |
//! | exchanging two names | Linux, Android and Apple | not at all |
//! | the names in a directory | made durable by a sync of the directory | have no sync: NTFS writes them in order, some time |
//! | owner and mode | those of the file that is replaced | the directory's rules hold for a new file |
//! | whether somebody else has a file open | Linux and Android, by a `lease` | not told |
//! | reading and writing at an offset | leaves the position of the file | moves it; nobody relies on it |
//!
//! `sync_all` and `sync_data` of the standard library are `F_FULLFSYNC` on Apple's systems, which reaches the
//! disk where `fsync` does not, and `FlushFileBuffers` on Windows.

#[cfg(any(target_os = "linux", target_os = "android"))]
mod lease;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) use lease::is_unreachable;
#[cfg(unix)]
pub use unix::Directory;
#[cfg(unix)]
pub(super) use unix::*;
#[cfg(windows)]
pub use windows::Directory;
#[cfg(windows)]
pub(super) use windows::*;

/// Tells whether nobody can reach a file but through this opening: there is no call for it that is documented.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn is_unreachable(_: &std::fs::File) -> bool {
    false
}

/// What tells one file from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Identity {
    pub device: u64,
    pub inode: u64,
}
