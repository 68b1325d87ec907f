//! Checks of the disk under the store: whether it is writable, its file system, its locks and its free space.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::report::quoted;
use super::{Check, CheckContext, Finding};
use ait_store::files::fs::{FileSystem, FileSystemKind, RealFileSystem, directory_of};
use ait_store::files::lock_check::{LOCKS_NOTHING, NETWORK_RISK, OWN_MOUNT, OWN_MOUNT_WAY_OUT};
use ait_store::sqlite::inspect::{self, paths_of};
use ait_store::{Probe, StoreError};
use ait_tracker::hints;

/// How long to wait for the commit lock, and the interval between attempts.
const LOCK_WITHIN: Duration = Duration::from_millis(1_000);
const ASK_EVERY: Duration = Duration::from_millis(10);
const MIB: u64 = 1 << 20;
/// The free space below which the doctor warns.
const LITTLE_BYTES: u64 = 200 * MIB;
/// How many times the files must fit into the free space: a new file and its backup, twice.
const ROOM_FACTOR: u64 = 4;

/// Writes and removes a trial file.
pub(super) async fn writable(context: &CheckContext) -> Vec<Finding> {
    let check = Check::Writable;
    let directory = directory_of(&context.path);
    let tried = match &context.maintenance {
        Some(maintenance) => maintenance.try_writing().await,
        None => context.store.health(Probe::Trial).await.trouble.map_or(Ok(()), Err),
    };
    let finding = match tried {
        Ok(()) => Finding::ok(check, format!("a trial write in {} succeeded", directory.display())),
        Err(StoreError::Busy(_)) => Finding::skipped(check, "the lock is held: see `lock`"),
        Err(error @ StoreError::NetworkFileSystem(_)) => {
            Finding::problem(check, error.to_string()).fix(hints::NETWORK_FILE_SYSTEM)
        }
        Err(error @ StoreError::ReadOnly(_)) => {
            Finding::problem(check, error.to_string()).fix(format!(
                "let this user write there (`ls -ld {}`), or remount the disk read-write",
                quoted(directory)
            ))
        }
        Err(StoreError::Unreadable(_)) => Finding::skipped(check, "the files cannot be read"),
        Err(error) if error.is_damage() => {
            Finding::skipped(check, "the database is damaged: see `journal`")
        }
        Err(error) => {
            let problem = Finding::problem(check, error.to_string());
            problem.fix(way_out(&error.to_string(), directory))
        }
    };
    vec![finding]
}

/// Says what to do about a failed trial write.
fn way_out(problem: &str, directory: &Path) -> String {
    let directory = quoted(directory);
    // The error of the system is a part of the text, as the standard library writes it.
    let is = |error: Errno| problem.contains(&format!("(os error {})", error.raw_os_error()));
    if is(Errno::NOSPC) || is(Errno::DQUOT) {
        format!("free some space: `df -h {directory}; df -i {directory}` shows how much there is")
    } else {
        format!("see who may write there and what the files are: `ls -la {directory}`")
    }
}

pub(super) fn file_system(context: &CheckContext) -> Vec<Finding> {
    // Checks the file itself, not a symbolic link to it.
    let path = paths_of(&context.path).map_or_else(|_| context.path.clone(), |paths| paths.issues);
    let allows_network = context.settings.as_ref().is_ok_and(|settings| settings.allows_network);
    vec![kind(RealFileSystem.kind(&path), allows_network)]
}

fn kind(found: Option<FileSystemKind>, allows_network: bool) -> Finding {
    let check = Check::FileSystem;
    match found {
        None => Finding::skipped(check, "the type of the file system is unknown"),
        Some(FileSystemKind::Local(name)) => Finding::ok(check, name),
        Some(FileSystemKind::Network(name)) if allows_network => {
            Finding::warning(check, format!("{name}, allowed by the settings: {NETWORK_RISK}"))
                .fix("let no other machine use the store; or keep it on a local disk")
        }
        Some(FileSystemKind::Network(name)) => {
            Finding::problem(check, format!("{name}: {NETWORK_RISK}; every change is refused"))
                .fix(hints::NETWORK_FILE_SYSTEM)
        }
        Some(FileSystemKind::OwnMount) => {
            Finding::problem(check, format!("issues.json {OWN_MOUNT}; every change is refused"))
                .fix(OWN_MOUNT_WAY_OUT)
        }
        Some(FileSystemKind::Program(name)) => Finding::warning(
            check,
            format!(
                "{name}: whether its locks work depends on the program behind it; `lock` \
                 tests them on this machine"
            ),
        )
        .fix(
            "let no other machine use the store; or keep it on a local disk, and let \
              others reach it over HTTP (`ait serve`)",
        ),
    }
}

pub(super) fn lock(context: &CheckContext) -> Vec<Finding> {
    vec![lock_of(context)]
}

fn lock_of(context: &CheckContext) -> Finding {
    let check = Check::Lock;
    let Ok(paths) = paths_of(&context.path) else {
        return Finding::skipped(check, "the directory of the store cannot be found");
    };
    // The lock under which processes take turns.
    let path = paths.turn_lock();
    // The file is never created here. It is opened for reading, which needs no write permission.
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Finding::ok(check, "there is no database yet; the first change creates it");
        }
        Err(error) => {
            return Finding::problem(
                check,
                format!("{} cannot be opened: {error}", path.display()),
            )
            .fix(format!("let this user read and write it: `ls -l {}`", quoted(&path)));
        }
    };
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        let why = format!("{} is a directory, not a regular file", path.display());
        return Finding::problem(check, why).fix(format!("`rmdir {}`", quoted(&path)));
    }
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
                return Finding::problem(
                    check,
                    format!("the file system does not support locks: {error}"),
                )
                .fix("keep the store on a local disk");
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
            "it is stopped, hung or waiting for a slow disk: check `ps -o pid,stat,wchan,cmd -p {pid}`; `kill \
             -CONT {pid}` resumes a stopped process, `kill {pid}` ends it"
        ),
        None => format!("`fuser -v {}` shows it", quoted(&path)),
    })
}

/// Returns true if a held lock excludes another open file handle.
fn excludes(path: &Path) -> io::Result<bool> {
    match File::open(path)?.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Reports on a lock that was acquired after `time_ms` milliseconds.
fn excluding(excludes: io::Result<bool>, time_ms: u128) -> Finding {
    let check = Check::Lock;
    let why = match excludes {
        Ok(true) => return Finding::ok(check, format!("acquired after {time_ms} ms")),
        Ok(false) => LOCKS_NOTHING.to_owned(),
        Err(error) => format!("whether it excludes others cannot be tested: {error}"),
    };
    Finding::problem(check, why).fix("keep the store on a local disk")
}

/// Returns the process that holds the lock on a file, as listed by the kernel; see proc_locks(5).
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
    Some((pid, name.trim().chars().filter(|character| !character.is_control()).collect()))
}

#[cfg(not(target_os = "linux"))]
fn holder(_file: &File) -> Option<(u32, String)> {
    None
}

pub(super) fn space(context: &CheckContext) -> Vec<Finding> {
    let check = Check::Space;
    let used = paths_of(&context.path).map_or(0, |paths| inspect::used_bytes(&paths));
    vec![match free(directory_of(&context.path)) {
        None => Finding::skipped(check, "the free space is unknown"),
        Some(free) => room(free, used),
    }]
}

/// Returns the number of bytes that this user can still write to the disk.
fn free(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

fn room(free: u64, used: u64) -> Finding {
    let check = Check::Space;
    let mib = |bytes: u64| format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB);
    let fix = "free some space on that disk; a full disk loses nothing, but blocks every change";
    if free < used.saturating_mul(ROOM_FACTOR) {
        let reason = format!(
            "only {} free, less than {ROOM_FACTOR} times the {} of the store",
            mib(free),
            mib(used)
        );
        Finding::problem(check, reason).fix(fix)
    } else if free < LITTLE_BYTES {
        Finding::warning(check, format!("only {} free", mib(free))).fix(fix)
    } else {
        Finding::ok(check, format!("{} free", mib(free)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[test]
    fn low_disk_space_is_a_warning_or_a_problem() {
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
    fn file_system_kind_determines_the_verdict() {
        let name = || "x".to_owned();
        for (found, allows, expected) in [
            (Some(FileSystemKind::Local(name())), false, Verdict::Ok),
            (Some(FileSystemKind::Network(name())), false, Verdict::Problem),
            (Some(FileSystemKind::Network(name())), true, Verdict::Warning),
            (Some(FileSystemKind::Program(name())), false, Verdict::Warning),
            (Some(FileSystemKind::OwnMount), false, Verdict::Problem),
            (None, false, Verdict::Skipped),
        ] {
            assert_eq!(kind(found.clone(), allows).verdict, expected, "{found:?} {allows}");
        }
    }

    #[test]
    fn only_a_full_disk_asks_for_space() {
        let full = std::io::Error::from_raw_os_error(Errno::NOSPC.raw_os_error());
        let quota = std::io::Error::from_raw_os_error(Errno::DQUOT.raw_os_error());
        let other = std::io::Error::from_raw_os_error(Errno::ISDIR.raw_os_error());
        for (cause, is_full) in [(full, true), (quota, true), (other, false)] {
            let error = StoreError::NotSaved(format!("x: {cause}"));
            let fix = way_out(&error.to_string(), Path::new("/d"));
            assert_eq!(fix.contains("free some space"), is_full, "{fix}");
        }
    }

    #[test]
    fn a_lock_without_exclusion_is_a_problem() {
        let failed = || Err(io::ErrorKind::Unsupported.into());
        for (excludes, expected) in
            [(Ok(true), Verdict::Ok), (Ok(false), Verdict::Problem), (failed(), Verdict::Problem)]
        {
            assert_eq!(excluding(excludes, 1).verdict, expected);
        }
    }
}
