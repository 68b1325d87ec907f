//! Whether somebody else has a file open: the one call to the system that no crate makes safe.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use libc::{F_SETLEASE, F_UNLCK, F_WRLCK, c_int};

use super::super::kind::is_of_this_kernel;

/// Tells whether nobody can reach a file but through this opening: it has no name any more, and nobody else has it
/// open or in memory.
///
/// Linux grants a write lease ([fcntl(2)](https://man7.org/linux/man-pages/man2/F_GETLEASE.2const.html)) only on a
/// file that nobody else has open, and only to the owner of the file. It is given back at once.
pub fn is_unreachable(file: &File) -> bool {
    let is_nameless = file.metadata().is_ok_and(|metadata| metadata.nlink() == 0);
    // What has no name can be opened below /proc alone. Should somebody do so in just this moment, the signal for
    // whoever has a lease ends the process, which loses nothing by that.
    is_nameless && is_of_this_kernel(file) && lease(file, F_WRLCK) && lease(file, F_UNLCK)
}

#[expect(unsafe_code, reason = "neither the standard library nor a crate has a call for leases")]
fn lease(file: &File, kind: c_int) -> bool {
    // SAFETY: the descriptor is open while `file` is borrowed, and this command of fcntl takes a number, so that it
    // reads and writes none of our memory.
    unsafe { libc::fcntl(file.as_raw_fd(), F_SETLEASE, kind) == 0 }
}
