//! The disk under the store: whether a change could be written, what kind of file system it is, whether
//! its locks work, and how much room there is.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::report::quoted;
use super::{Check, Finding, Subject};
use crate::store::StoreError;
use crate::store::json::fs::directory_of;
use crate::store::json::look::files;

/// How long the lock of a commit may be held, and how often it is asked for.
const LOCK_WITHIN: Duration = Duration::from_millis(1_000);
const ASK_EVERY: Duration = Duration::from_millis(10);
const MIB: u64 = 1 << 20;
/// Less room than this deserves a look.
const LITTLE_BYTES: u64 = 200 * MIB;
/// How often the files must fit into what is free: a new one, and its backup, and both again.
const ROOM_FACTOR: u64 = 4;

/// Really writes something, where nobody sees it.
pub(super) async fn writable(subject: &Subject) -> Vec<Finding> {
    let check = Check::Writable;
    let directory = directory_of(&subject.path);
    let finding = match subject.store.try_writing().await {
        Ok(()) => Finding::ok(check, format!("a trial in {} succeeded", directory.display())),
        Err(StoreError::Busy(_)) => Finding::skipped(check, "the lock is held: see there"),
        Err(error @ StoreError::ReadOnly(_)) => {
            Finding::problem(check, error.to_string()).fix(format!(
                "let this user write there (`ls -ld {}`), or mount the disk for writing",
                quoted(directory)
            ))
        }
        Err(StoreError::Unreadable(_)) => Finding::skipped(check, "the files cannot be read"),
        Err(error) => Finding::problem(check, error.to_string())
            .fix(format!("make room, or look at `df -h {0}; df -i {0}`", quoted(directory))),
    };
    vec![finding]
}

pub(super) fn file_system(subject: &Subject) -> Vec<Finding> {
    let check = Check::FileSystem;
    let found = match name_of(directory_of(&subject.path)) {
        None => Finding::skipped(check, "what kind it is cannot be told"),
        Some(Kind::Local(name)) => Finding::ok(check, name),
        Some(Kind::Shared(name)) => Finding::warning(
            check,
            format!("{name}: its locks may hold on one machine only, or not at all, so that two agents may \
                     get one issue"),
        )
        .fix("keep the store on a disk of this machine, and let others reach it over HTTP (`ait serve`)"),
    };
    vec![found]
}

/// A kind of file system.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// Of this machine.
    Local(String),
    /// Of another machine, or made by a program.
    Shared(String),
}

#[cfg(target_os = "linux")]
fn name_of(directory: &Path) -> Option<Kind> {
    Some(kind(rustix::fs::statfs(directory).ok()?.f_type as u64 & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
fn name_of(_directory: &Path) -> Option<Kind> {
    None
}

/// What the magic number of a file system says, as statfs(2) lists them.
#[cfg(target_os = "linux")]
fn kind(magic: u64) -> Kind {
    const SHARED: [(u64, &str); 13] = [
        (0x6969, "NFS"),
        (0xff53_4d42, "CIFS (SMB)"),
        (0xfe53_4d42, "SMB 2"),
        (0x517b, "SMB"),
        (0x0102_1997, "9P (a share of a virtual machine, such as of WSL)"),
        (0x6573_5546, "FUSE (made by a program, such as sshfs or a share of a virtual machine)"),
        (0x786f_4256, "a shared folder of VirtualBox"),
        (0x00c3_6400, "Ceph"),
        (0x0bd0_0bd0, "Lustre"),
        (0x5346_414f, "AFS"),
        (0x6b41_4653, "AFS"),
        (0x0116_1970, "GFS2"),
        (0x7461_636f, "OCFS2"),
    ];
    const LOCAL: [(u64, &str); 8] = [
        (0xef53, "ext4"),
        (0x9123_683e, "Btrfs"),
        (0x5846_5342, "XFS"),
        (0x0102_1994, "tmpfs, which is gone after a restart"),
        (0x794c_7630, "overlayfs, as in a container"),
        (0x2fc1_2fc1, "ZFS"),
        (0xf2f5_2010, "F2FS"),
        (0xca45_1a4e, "bcachefs"),
    ];
    let named = |list: &[(u64, &str)]| {
        list.iter().find(|(number, _)| *number == magic).map(|(_, name)| (*name).to_owned())
    };
    match (named(&SHARED), named(&LOCAL)) {
        (Some(name), _) => Kind::Shared(name),
        (None, Some(name)) => Kind::Local(name),
        (None, None) => Kind::Local(format!("a file system of this machine ({magic:#x})")),
    }
}

pub(super) fn lock(subject: &Subject) -> Vec<Finding> {
    vec![lock_of(subject)]
}

fn lock_of(subject: &Subject) -> Finding {
    let check = Check::Lock;
    let Ok(files) = files(&subject.path) else {
        return Finding::skipped(check, "there is no place for the files");
    };
    let path = files.lock;
    // Never made here; opened for reading, which needs no right to change it.
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Finding::ok(check, "there is none yet; the first change makes it");
        }
        Err(error) => {
            return Finding::problem(
                check,
                format!("{} cannot be opened: {error}", path.display()),
            )
            .fix(format!("let this user read and write it: `ls -l {}`", quoted(&path)));
        }
    };
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => {
                let _ = file.unlock();
                return Finding::ok(check, format!("had after {} ms", begun.elapsed().as_millis()));
            }
            Err(TryLockError::Error(error)) => {
                return Finding::problem(check, format!("the file system has no locks: {error}"))
                    .fix("keep the store on a disk of this machine");
            }
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_WITHIN => {
                thread::sleep(ASK_EVERY);
            }
            Err(TryLockError::WouldBlock) => break,
        }
    }
    let holder = holder(&file);
    let who = match &holder {
        Some((pid, name)) => format!("process {pid} ({name}) has held it"),
        None => "another process has held it".to_owned(),
    };
    let finding =
        Finding::problem(check, format!("{who} for more than {} s", LOCK_WITHIN.as_secs()));
    finding.fix(match holder {
        Some((pid, _)) => format!(
            "it is stopped, hangs or waits for a slow disk: look at `ps -o pid,stat,wchan,cmd -p {pid}`; `kill \
             -CONT {pid}` wakes a stopped one, `kill {pid}` ends it"
        ),
        None => format!("`fuser -v {}` names it", quoted(&path)),
    })
}

/// Who has locked a file, by what the kernel lists, as proc_locks(5) describes it.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<(u32, String)> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // 1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF
    let pid = locks.lines().find_map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&"FLOCK")
            && words.get(5).and_then(|file| file.rsplit(':').next()) == Some(&inode);
        words.get(4)?.parse().ok().filter(|_| is_it)
    })?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some((pid, name.trim().chars().filter(|it| !it.is_control()).collect()))
}

#[cfg(not(target_os = "linux"))]
fn holder(_file: &File) -> Option<(u32, String)> {
    None
}

pub(super) fn space(subject: &Subject) -> Vec<Finding> {
    let check = Check::Space;
    let size = |path: &Path| path.metadata().map_or(0, |file| file.len());
    let used = files(&subject.path).map_or(0, |it| size(&it.snapshot) + size(&it.journal));
    vec![match free(directory_of(&subject.path)) {
        None => Finding::skipped(check, "how much room there is cannot be told"),
        Some(free) => room(free, used),
    }]
}

/// How many bytes this user may still write there.
#[cfg(unix)]
fn free(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free(_directory: &Path) -> Option<u64> {
    None
}

fn room(free: u64, used: u64) -> Finding {
    let check = Check::Space;
    let mib = |bytes: u64| format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB);
    let fix = "make room on that disk; nothing is lost while it is full, but no change can be made";
    if free < used.saturating_mul(ROOM_FACTOR) {
        let reason = format!(
            "only {} are free, less than {ROOM_FACTOR} times the {} of the store",
            mib(free),
            mib(used)
        );
        Finding::problem(check, reason).fix(fix)
    } else if free < LITTLE_BYTES {
        Finding::warning(check, format!("only {} are free", mib(free))).fix(fix)
    } else {
        Finding::ok(check, format!("{} are free", mib(free)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn little_room_is_a_warning_and_too_little_for_the_files_a_problem() {
        for (free, used, expected) in [
            (LITTLE_BYTES, 0, Verdict::Ok),
            (LITTLE_BYTES - 1, 0, Verdict::Warning),
            (LITTLE_BYTES, LITTLE_BYTES / 4 + 1, Verdict::Problem),
            (LITTLE_BYTES - 4, LITTLE_BYTES / 4, Verdict::Problem),
            (0, 0, Verdict::Warning),
        ] {
            assert_eq!(room(free, used).verdict, expected, "{free} {used}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_another_machine_or_a_program_serves_is_told_from_a_disk() {
        for (magic, is_shared) in
            [(0x6969, true), (0xff53_4d42, true), (0x6573_5546, true), (0xef53, false), (1, false)]
        {
            assert_eq!(matches!(kind(magic), Kind::Shared(_)), is_shared, "{magic:#x}");
        }
    }
}
