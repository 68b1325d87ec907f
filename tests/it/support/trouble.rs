//! What goes wrong on a test's disk: which calls fail, with which error, for how long; and what is neglected.

use std::collections::HashMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use super::power::FileId;

/// What systems say, by the number that they have on Linux.
pub const EIO: i32 = 5;
pub const EACCES: i32 = 13;
pub const ENOSPC: i32 = 28;
pub const EROFS: i32 = 30;
pub const ESTALE: i32 = 116;

/// A duty that a disk neglects on purpose, so that a test can show that it would be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Neglect {
    #[default]
    Nothing,
    /// Syncs of journals do nothing.
    SyncData,
    /// Syncs of temporary files do nothing.
    SyncTemp,
    /// Syncs of directories do nothing.
    SyncDirectory,
    /// Files are not cut.
    Truncate,
    /// Intents are not written.
    Intent,
    /// What was at the name of a file that is replaced is not looked at.
    Exchange,
    /// Every journal gets the same epoch.
    Epoch,
    /// Locks and claims are given to everybody.
    Lock,
    /// What dead processes left is not removed.
    Cleaning,
    /// Whoever asks for a sync that fails is told that it went well, as if it were tried again.
    FailedSync,
    /// What is on the disk already is not written again.
    WriteAgain,
}

/// The trouble that one process has with a disk.
pub struct Trouble {
    calls: AtomicUsize,
    failing_call: AtomicUsize,
    /// From this call on, every call fails.
    last_call: AtomicUsize,
    /// Whether that is the end of the process, which writes nothing any more.
    is_death: AtomicBool,
    /// These calls fail for as long as they are named.
    names: Mutex<&'static [&'static str]>,
    failed: Mutex<Option<&'static str>>,
    error: AtomicI32,
    /// So many bytes at the beginning of a file cannot be read.
    pub unreadable: Mutex<Option<(FileId, u64)>>,
    /// How many failures of each file this process knows of.
    seen: Mutex<HashMap<FileId, usize>>,
}

impl Default for Trouble {
    fn default() -> Self {
        Self {
            calls: AtomicUsize::default(),
            failing_call: AtomicUsize::default(),
            last_call: usize::MAX.into(),
            is_death: AtomicBool::default(),
            names: Mutex::default(),
            failed: Mutex::default(),
            error: ENOSPC.into(),
            unreadable: Mutex::default(),
            seen: Mutex::default(),
        }
    }
}

impl Trouble {
    /// Lets the process die at the call with this number, counted from 1 and from now on: none of its
    /// calls reaches the disk any more.
    pub fn die_at(&self, number: usize) {
        self.fail_from(number);
        self.is_death.store(true, Ordering::SeqCst);
    }

    /// Makes the call with this number fail, counted from 1 and from now on, and all that follow.
    pub fn fail_from(&self, number: usize) {
        self.fail_call(0);
        self.last_call.store(number, Ordering::SeqCst);
    }

    /// Makes the call with this number fail, counted from 1 and from now on.
    pub fn fail_call(&self, number: usize) {
        self.calls.store(0, Ordering::SeqCst);
        self.failing_call.store(number, Ordering::SeqCst);
        *self.failed.lock().unwrap() = None;
    }

    /// Makes these calls fail until others are named.
    pub fn fail_calls(&self, names: &'static [&'static str]) {
        *self.names.lock().unwrap() = names;
    }

    /// Lets calls fail with this error.
    pub fn with(&self, error: i32) {
        self.error.store(error, Ordering::SeqCst);
    }

    /// Lets everything go well from now on.
    pub fn mend(&self) {
        self.last_call.store(usize::MAX, Ordering::SeqCst);
        self.is_death.store(false, Ordering::SeqCst);
        self.failing_call.store(0, Ordering::SeqCst);
        *self.unreadable.lock().unwrap() = None;
        self.fail_calls(&[]);
    }

    /// The call that failed first.
    pub fn failed(&self) -> Option<&'static str> {
        *self.failed.lock().unwrap()
    }

    /// What becomes of the next call.
    pub fn call(&self, name: &'static str) -> io::Result<()> {
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let is_over = number >= self.last_call.load(Ordering::SeqCst);
        let is_it = number == self.failing_call.load(Ordering::SeqCst);
        if is_over || is_it || self.names.lock().unwrap().contains(&name) {
            self.failed.lock().unwrap().get_or_insert(name);
            return Err(self.error());
        }
        Ok(())
    }

    pub fn error(&self) -> io::Error {
        match self.error.load(Ordering::SeqCst) {
            ENOSPC => io::Error::new(io::ErrorKind::StorageFull, "no space left on device"),
            error => io::Error::from_raw_os_error(error),
        }
    }

    /// Whether the process is dead, or dies at this call.
    pub fn is_dying(&self) -> bool {
        let is_over = self.calls.load(Ordering::SeqCst) >= self.last_call.load(Ordering::SeqCst);
        self.is_death.load(Ordering::SeqCst) && is_over
    }

    /// How much of a write that fails is written; nothing by a process that is dead already.
    pub fn half(&self, bytes: &[u8]) -> usize {
        let is_first = self.calls.load(Ordering::SeqCst) <= self.last_call.load(Ordering::SeqCst);
        if self.is_death.load(Ordering::SeqCst) && !is_first { 0 } else { bytes.len() / 2 }
    }

    /// Takes note of how many failures of a file this process will not be told of any more.
    pub fn has_seen(&self, file: FileId, failures: usize) -> bool {
        self.seen.lock().unwrap().insert(file, failures).unwrap_or(0) == failures
    }
}
