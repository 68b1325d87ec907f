//! What goes wrong on a test's disk: which calls fail, with which error, for how long; and what is neglected.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};

use super::power::FileId;

/// What systems say, by the number that they have on Linux.
pub const EIO: i32 = 5;
pub const EACCES: i32 = 13;
pub const EFBIG: i32 = 27;
pub const ENOSPC: i32 = 28;
pub const EROFS: i32 = 30;

/// A duty that a disk neglects on purpose, so that a test can show that it would be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FaultyDuty {
    #[default]
    Nothing,
    /// Syncs of segments do nothing.
    SyncSegment,
    /// Syncs of temporary files do nothing: a name may become durable before its content.
    SyncTemp,
    /// Syncs of directories do nothing.
    SyncDirectory,
    /// Exchanges of names replace: what stood there is not looked at.
    Exchange,
    /// Locks that are waited for are given to everybody.
    Lock,
    /// Whoever asks for a sync that fails is told that it went well, as if it were tried again.
    FailedSync,
    /// What is in a segment already is not written again.
    Rewrite,
    /// New segments are made without the batches that they are to repeat.
    Repeat,
}

/// One call on the file system.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// Which one.
    pub name: &'static str,
    /// The name of the file.
    pub file: String,
}

impl Call {
    pub fn is(&self, name: &str, suffix: &str) -> bool {
        self.name == name && self.file.ends_with(suffix)
    }
}

/// Which calls fail.
#[derive(Clone, Default)]
pub enum Fault {
    #[default]
    None,
    /// The one with this number.
    Once(usize),
    /// That one and all that follow.
    From(usize),
    /// The process dies at that call: from there on none of its calls reaches the disk.
    Death(usize),
    /// Those of a kind.
    Where(Arc<dyn Fn(&Call) -> bool + Send + Sync>),
}

#[derive(Default)]
struct State {
    calls: usize,
    fault: Fault,
    failed: Option<Call>,
    error: Option<i32>,
    /// How many failed syncs of each file this process knows of.
    seen: HashMap<FileId, usize>,
}

/// The trouble that one process has with a disk.
#[derive(Default)]
pub struct Trouble(Mutex<State>);

impl Trouble {
    /// Lets calls fail; they are counted from 1 and from now on.
    pub fn begin(&self, fault: Fault) {
        let mut state = self.0.lock().unwrap();
        (state.calls, state.fault, state.failed) = (0, fault, None);
    }

    /// Lets calls fail with this error instead of a full disk.
    pub fn with(&self, error: i32) {
        self.0.lock().unwrap().error = Some(error);
    }

    /// Lets everything go well from now on.
    pub fn end(&self) {
        self.0.lock().unwrap().fault = Fault::None;
    }

    /// The call that failed first.
    pub fn failed(&self) -> Option<Call> {
        self.0.lock().unwrap().failed.clone()
    }

    pub fn is_dead(&self) -> bool {
        let state = self.0.lock().unwrap();
        matches!(state.fault, Fault::Death(number) if state.calls >= number)
    }

    /// What becomes of the next call. The error tells whether a part of it still reaches the disk.
    pub fn call(&self, call: &Call) -> Result<(), (io::Error, bool)> {
        let mut state = self.0.lock().unwrap();
        state.calls += 1;
        let (fails, reaches) = match &state.fault {
            Fault::None => (false, false),
            Fault::Once(number) => (state.calls == *number, true),
            Fault::From(number) => (state.calls >= *number, true),
            Fault::Death(number) => (state.calls >= *number, state.calls == *number),
            Fault::Where(is_it) => (is_it(call), true),
        };
        if !fails {
            return Ok(());
        }
        state.failed.get_or_insert_with(|| call.clone());
        Err((error(state.error), reaches))
    }

    pub fn error(&self) -> io::Error {
        error(self.0.lock().unwrap().error)
    }

    /// Takes note of how many failed syncs of a file this process will not be told of any more; returns true if
    /// it knew of all of them.
    pub fn has_seen(&self, file: FileId, failures: usize) -> bool {
        self.0.lock().unwrap().seen.insert(file, failures).unwrap_or(0) == failures
    }
}

fn error(number: Option<i32>) -> io::Error {
    io::Error::from_raw_os_error(number.unwrap_or(ENOSPC))
}
