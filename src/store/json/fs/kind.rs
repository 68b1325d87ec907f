//! What a file stands on, as far as its locks and its replacement are concerned.

use std::path::Path;

#[cfg(unix)]
use super::directory_of;

/// What a file stands on; a file system with its name for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// On a disk of this machine, or in its memory: its locks hold for everybody.
    Local(String),
    /// On other machines, which may use it at the same time. Its locks may hold on one machine only.
    Network(String),
    /// Made by a program, which decides what its locks are worth.
    Program(String),
    /// A mount of this file alone. Nothing can take its place, and what is beside it is elsewhere.
    OwnMount,
}

/// The magic numbers of file systems of a network, as statfs(2) and the headers of Linux list them.
const NETWORK: [(u64, &str); 14] = [
    (0x6969, "NFS"),
    (0xff53_4d42, "CIFS (SMB)"),
    (0xfe53_4d42, "SMB 2"),
    (0x517b, "SMB"),
    (0x564c, "NCP"),
    (0x7375_7245, "Coda"),
    (0x00c3_6400, "Ceph"),
    (0x0bd0_0bd0, "Lustre"),
    (0x1983_0326, "BeeGFS"),
    (0x4750_4653, "GPFS"),
    (0x5346_414f, "AFS"),
    (0x6b41_4653, "AFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636f, "OCFS2"),
];
const PROGRAM: [(u64, &str); 5] = [
    (0x6573_5546, "FUSE or virtiofs (made by a program, such as sshfs or a virtual machine)"),
    (0x0102_1997, "9P (a share of a virtual machine, such as of WSL)"),
    (0x786f_4256, "a shared folder of VirtualBox"),
    (0xbacb_acbc, "a shared folder of VMware"),
    (0x7c7c_6673, "a shared folder of Parallels"),
];
const LOCAL: [(u64, &str); 8] = [
    (0xef53, "ext4"),
    (0x9123_683e, "Btrfs"),
    (0x5846_5342, "XFS"),
    (0x0102_1994, "tmpfs, which is gone after a restart"),
    (0xf2f5_2010, "F2FS"),
    (0x794c_7630, "overlayfs, as in a container"),
    (0x2fc1_2fc1, "ZFS"),
    (0xca45_1a4e, "bcachefs"),
];
/// Those that macOS mounts, as `mount` shows them.
const NETWORK_NAMES: [&str; 7] = ["nfs", "smbfs", "cifs", "afpfs", "webdav", "ftp", "acfs"];
const PROGRAM_NAMES: [&str; 7] =
    ["osxfuse", "macfuse", "fusefs", "fuse-t", "lifs", "AppleVirtIOFS", "vmhgfs"];

impl Kind {
    /// What the magic number of a file system of Linux says.
    pub fn of_magic(magic: u64) -> Self {
        let named = |list: &[(u64, &str)]| {
            list.iter().find(|(number, _)| *number == magic).map(|(_, name)| (*name).to_owned())
        };
        let network = named(&NETWORK).map(Self::Network);
        let known = network.or_else(|| named(&PROGRAM).map(Self::Program));
        known
            .or_else(|| named(&LOCAL).map(Self::Local))
            .unwrap_or_else(|| Self::Local(format!("a file system of this machine ({magic:#x})")))
    }

    /// What the name of a file system of macOS says.
    pub fn of_name(name: &str) -> Self {
        if NETWORK_NAMES.contains(&name) {
            Self::Network(name.to_owned())
        } else if PROGRAM_NAMES.contains(&name) || name.contains("fuse") {
            Self::Program(format!("{name} (made by a program, or a share of a virtual machine)"))
        } else {
            Self::Local(name.to_owned())
        }
    }
}

/// What a file stands on, or would stand on if it existed.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn kind(file: &Path) -> Option<Kind> {
    if is_mounted_alone(file) {
        return Some(Kind::OwnMount);
    }
    let found = rustix::fs::statfs(directory_of(file)).ok()?;
    Some(Kind::of_magic(magic(&found)))
}

/// Tells whether a file is the root of a mount (Linux 5.8 and later say so, others never).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_mounted_alone(file: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let found = statx(CWD, file, AtFlags::empty(), StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn magic(found: &rustix::fs::StatFs) -> u64 {
    // Some systems have it as a signed number of 32 bits.
    found.f_type as u64 & 0xffff_ffff
}

#[cfg(target_vendor = "apple")]
pub(super) fn kind(file: &Path) -> Option<Kind> {
    let found = rustix::fs::statfs(directory_of(file)).ok()?;
    let name = found.f_fstypename.iter().take_while(|letter| **letter != 0);
    let name: Vec<u8> = name.map(|letter| *letter as u8).collect();
    Some(Kind::of_name(&String::from_utf8_lossy(&name)))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn kind(_: &Path) -> Option<Kind> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(PartialEq, Debug)]
    enum Whose {
        Local,
        Network,
        Program,
    }
    use Whose::{Local, Network, Program};

    fn whose(kind: &Kind) -> Whose {
        match kind {
            Kind::Local(_) => Local,
            Kind::Network(_) => Network,
            Kind::Program(_) => Program,
            Kind::OwnMount => unreachable!("no file system"),
        }
    }

    #[test]
    fn what_other_machines_and_programs_serve_is_told_from_a_disk() {
        for (magic, expected) in [
            (0x6969, Network),
            (0xff53_4d42, Network),
            (0xfe53_4d42, Network),
            (0x00c3_6400, Network),
            (0x0bd0_0bd0, Network),
            (0x6573_5546, Program),
            (0x0102_1997, Program),
            (0xef53, Local),
            (0x794c_7630, Local),
            (1, Local),
        ] {
            assert_eq!(whose(&Kind::of_magic(magic)), expected, "{magic:#x}");
        }
        for (name, expected) in [
            ("nfs", Network),
            ("smbfs", Network),
            ("afpfs", Network),
            ("webdav", Network),
            ("macfuse", Program),
            ("osxfuse", Program),
            ("apfs", Local),
            ("hfs", Local),
            ("exfat", Local),
        ] {
            assert_eq!(whose(&Kind::of_name(name)), expected, "{name}");
        }
    }

    #[test]
    fn no_number_stands_for_two_kinds() {
        let lists = [&NETWORK[..], &PROGRAM, &LOCAL].concat();
        let mut numbers: Vec<_> = lists.iter().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), lists.len());
    }
}
