//! Whether somebody else has a file open: the one call to the system that no crate makes safe.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use libc::{F_SETLEASE, F_UNLCK, F_WRLCK, c_int};

/// The magic numbers of ext2 to ext4, XFS, Btrfs, F2FS and tmpfs, as in statfs(2): whoever opens a file on one of them
/// does so through this kernel. Behind others are programs, machines or further file systems, on which the same file
/// may be open and have a name.
const OF_THIS_KERNEL: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994];

/// Tells whether nobody can reach a file but through this opening: it has no name any more, and nobody else has it
/// open or in memory.
///
/// Linux grants a write lease ([fcntl(2)](https://man7.org/linux/man-pages/man2/F_GETLEASE.2const.html)) only on a
/// file that nobody else has open, and only to the owner of the file. It is given back at once.
pub fn is_unreachable(file: &File) -> bool {
    let is_nameless = file.metadata().is_ok_and(|metadata| metadata.nlink() == 0);
    let is_of_this_kernel = || {
        let found = rustix::fs::fstatfs(file);
        // Some systems have it as a signed number of 32 bits.
        found.is_ok_and(|found| OF_THIS_KERNEL.contains(&(found.f_type as u64 & 0xffff_ffff)))
    };
    // What has no name can be opened below /proc alone. Should somebody do so in just this moment, the signal for whoever
    // has a lease ends the process, which loses nothing by that.
    is_nameless && is_of_this_kernel() && lease(file, F_WRLCK) && lease(file, F_UNLCK)
}

#[expect(unsafe_code, reason = "neither the standard library nor a crate has a call for leases")]
fn lease(file: &File, kind: c_int) -> bool {
    // SAFETY: the descriptor is open while `file` is borrowed, and this command of fcntl takes a number, so that it
    // reads and writes none of our memory.
    unsafe { libc::fcntl(file.as_raw_fd(), F_SETLEASE, kind) == 0 }
}
