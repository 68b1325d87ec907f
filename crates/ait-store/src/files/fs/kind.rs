//! The kind of file system that a file is on, as far as locking and replacing files are concerned.

use std::path::Path;

use super::directory_of;

/// The kind of file system that a file is on, with its name for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileSystemKind {
    /// A disk or the memory of this machine. Its locks work between all processes.
    Local(String),
    /// A network file system. Its locks may work within one machine only.
    Network(String),
    /// A file system that a program implements. The program decides whether locks work.
    Program(String),
    /// The file is a mount point. It cannot be replaced, and its directory is on another file system.
    OwnMount,
}

/// The magic numbers of network file systems, from statfs(2) and the Linux headers.
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
/// The magic number of tmpfs.
const TMPFS: u64 = 0x0102_1994;
/// The names of file systems on macOS, as `mount` shows them.
const NETWORK_NAMES: [&str; 7] = ["nfs", "smbfs", "cifs", "afpfs", "webdav", "ftp", "acfs"];
const PROGRAM_NAMES: [&str; 7] =
    ["osxfuse", "macfuse", "fusefs", "fuse-t", "lifs", "AppleVirtIOFS", "vmhgfs"];

impl FileSystemKind {
    /// Returns the kind for the magic number of a Linux file system.
    pub fn of_magic(magic: u64) -> Self {
        let named = |list: &[(u64, &str)]| {
            list.iter().find(|(number, _)| *number == magic).map(|(_, name)| (*name).to_owned())
        };
        let network = named(&NETWORK).map(Self::Network);
        let known = network.or_else(|| named(&PROGRAM).map(Self::Program));
        known.unwrap_or_else(|| {
            Self::Local(match magic {
                TMPFS => "tmpfs, which is gone after a restart".to_owned(),
                magic => format!("a file system of this machine ({magic:#x})"),
            })
        })
    }

    /// Returns the kind for the name of a macOS file system.
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

/// Returns the kind of file system that a file is on or would be on.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn kind(file: &Path) -> Option<FileSystemKind> {
    if is_mounted_alone(file) {
        return Some(FileSystemKind::OwnMount);
    }
    let found = rustix::fs::statfs(directory_of(file)).ok()?;
    Some(FileSystemKind::of_magic(magic(&found)))
}

/// Returns true if a file is the root of a mount. Linux reports this since version 5.8.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_mounted_alone(file: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let found = statx(CWD, file, AtFlags::empty(), StatxFlags::empty());
    found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn magic(found: &rustix::fs::StatFs) -> u64 {
    // On some systems the type is a signed 32-bit number.
    found.f_type as u64 & 0xffff_ffff
}

#[cfg(target_vendor = "apple")]
pub(super) fn kind(file: &Path) -> Option<FileSystemKind> {
    let found = rustix::fs::statfs(directory_of(file)).ok()?;
    let name = found.f_fstypename.iter().take_while(|letter| **letter != 0);
    let name: Vec<u8> = name.map(|letter| *letter as u8).collect();
    Some(FileSystemKind::of_name(&String::from_utf8_lossy(&name)))
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(super) fn kind(_: &Path) -> Option<FileSystemKind> {
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

    fn whose(kind: &FileSystemKind) -> Whose {
        match kind {
            FileSystemKind::Local(_) => Local,
            FileSystemKind::Network(_) => Network,
            FileSystemKind::Program(_) => Program,
            FileSystemKind::OwnMount => unreachable!("no file system"),
        }
    }

    #[test]
    fn file_systems_are_classified_as_network_program_or_local() {
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
            assert_eq!(whose(&FileSystemKind::of_magic(magic)), expected, "{magic:#x}");
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
            assert_eq!(whose(&FileSystemKind::of_name(name)), expected, "{name}");
        }
    }
}
