//! The disk under the store: whether a change could be written, what kind of file system it is, whether
//! its locks work, and how much room there is.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::report::quoted;
use super::{Check, Finding, Subject};
use crate::store::json::fs::{FileSystem, Kind, RealFileSystem, directory_of};
use crate::store::json::ground::{
    LOCKS_NOTHING, NETWORK_RISK, NETWORK_WAY_OUT, OWN_MOUNT, OWN_MOUNT_WAY_OUT,
};
use crate::store::json::inspect::{self, place_of};
use crate::store::{Probe, StoreError};

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
    let tried = match &subject.maintenance {
        Some(maintenance) => maintenance.try_writing().await,
        None => subject.store.health(Probe::Trial).await.trouble.map_or(Ok(()), Err),
    };
    let finding = match tried {
        Ok(()) => Finding::ok(check, format!("a trial in {} succeeded", directory.display())),
        Err(StoreError::Busy(_)) => Finding::skipped(check, "the lock is held: see there"),
        Err(error @ StoreError::ReadOnly(_)) => {
            Finding::problem(check, error.to_string()).fix(format!(
                "let this user write there (`ls -ld {}`), or mount the disk for writing",
                quoted(directory)
            ))
        }
        Err(StoreError::Unreadable(_)) => Finding::skipped(check, "the files cannot be read"),
        Err(StoreError::Damaged(_)) => Finding::skipped(check, "the log is damaged: see `journal`"),
        Err(error) => Finding::problem(check, error.to_string())
            .fix(format!("make room, or look at `df -h {0}; df -i {0}`", quoted(directory))),
    };
    vec![finding]
}

pub(super) fn file_system(subject: &Subject) -> Vec<Finding> {
    // Where the file is, and not where a link to it is.
    let path = place_of(&subject.path).map_or_else(|_| subject.path.clone(), |place| place.issues);
    let allows_network = subject.settings.as_ref().is_ok_and(|settings| settings.allows_network);
    vec![kind(RealFileSystem.kind(&path), allows_network)]
}

fn kind(found: Option<Kind>, allows_network: bool) -> Finding {
    let check = Check::FileSystem;
    match found {
        None => Finding::skipped(check, "what kind it is cannot be told"),
        Some(Kind::Local(name)) => Finding::ok(check, name),
        Some(Kind::Network(name)) if allows_network => {
            Finding::warning(check, format!("{name}, as is allowed: {NETWORK_RISK}"))
                .fix("let no other machine use the store; or keep it on a disk of this one")
        }
        Some(Kind::Network(name)) => {
            Finding::problem(check, format!("{name}: {NETWORK_RISK}; every change is refused"))
                .fix(NETWORK_WAY_OUT)
        }
        Some(Kind::OwnMount) => {
            Finding::problem(check, format!("issues.json {OWN_MOUNT}; every change is refused"))
                .fix(OWN_MOUNT_WAY_OUT)
        }
        Some(Kind::Program(name)) => Finding::warning(
            check,
            format!("{name}: its locks are worth what that makes of them; see `lock` for this machine"),
        )
        .fix("let no other machine use the store; or keep it on a disk of this one, and let others reach it over HTTP (`ait serve`)"),
    }
}

pub(super) fn lock(subject: &Subject) -> Vec<Finding> {
    vec![lock_of(subject)]
}

fn lock_of(subject: &Subject) -> Finding {
    let check = Check::Lock;
    let Ok(place) = place_of(&subject.path) else {
        return Finding::skipped(check, "there is no place for the files");
    };
    // The newest segment of the log is the lock of a commit.
    let Some(path) = inspect::newest_segment(&place) else {
        return Finding::ok(check, "there is none yet; the first change makes it");
    };
    // Never made here; opened for reading, which needs no right to change it.
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
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
                let time = begun.elapsed().as_millis();
                let excludes = excludes(&path);
                let _ = file.unlock();
                return excluding(excludes, time);
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

/// Whether a lock that is held keeps another opening of the file out.
fn excludes(path: &Path) -> io::Result<bool> {
    match File::open(path)?.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What is told of a lock that was had after so many milliseconds.
fn excluding(excludes: io::Result<bool>, time_ms: u128) -> Finding {
    let check = Check::Lock;
    let why = match excludes {
        Ok(true) => return Finding::ok(check, format!("had after {time_ms} ms")),
        Ok(false) => LOCKS_NOTHING.to_owned(),
        Err(error) => format!("whether it keeps others out cannot be tried: {error}"),
    };
    Finding::problem(check, why).fix("keep the store on a disk of this machine")
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
    let used = place_of(&subject.path).map_or(0, |place| inspect::rendered_bytes(&place));
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

    #[test]
    fn a_network_is_a_problem_unless_it_is_allowed_and_a_program_deserves_a_look() {
        let name = || "x".to_owned();
        for (found, allows, expected) in [
            (Some(Kind::Local(name())), false, Verdict::Ok),
            (Some(Kind::Network(name())), false, Verdict::Problem),
            (Some(Kind::Network(name())), true, Verdict::Warning),
            (Some(Kind::Program(name())), false, Verdict::Warning),
            (Some(Kind::OwnMount), false, Verdict::Problem),
            (None, false, Verdict::Skipped),
        ] {
            assert_eq!(kind(found.clone(), allows).verdict, expected, "{found:?} {allows}");
        }
    }

    #[test]
    fn a_lock_that_locks_nothing_is_a_problem() {
        let failed = || Err(io::ErrorKind::Unsupported.into());
        for (excludes, expected) in
            [(Ok(true), Verdict::Ok), (Ok(false), Verdict::Problem), (failed(), Verdict::Problem)]
        {
            assert_eq!(excluding(excludes, 1).verdict, expected);
        }
    }
}
