//! Faults of a simulated disk: which calls fail, with which error, and which duty is omitted.

use std::io;
use std::sync::{Arc, Mutex};

/// Error numbers of Linux.
pub const EIO: i32 = 5;
pub const EACCES: i32 = 13;
pub const EFBIG: i32 = 27;
pub const ENOSPC: i32 = 28;
pub const EROFS: i32 = 30;

/// A duty that a disk omits on purpose. Negative controls use it to show that tests detect the omission.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FaultyDuty {
    #[default]
    Nothing,
    /// Exchanges replace the target instead, so the replaced file is never read.
    Exchange,
    /// Blocking lock calls succeed even if another process holds the lock.
    Lock,
}

/// A file system call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The name of the call.
    pub name: &'static str,
    /// The name of the file.
    pub file: String,
}

impl Call {
    pub fn is(&self, name: &str, suffix: &str) -> bool {
        self.name == name && self.file.ends_with(suffix)
    }
}

/// The calls that fail.
#[derive(Clone, Default)]
pub enum Fault {
    #[default]
    None,
    /// The call with this number.
    Once(usize),
    /// The call with this number and all later ones.
    From(usize),
    /// The process dies at this call: none of its later calls reaches the disk.
    Death(usize),
    /// The calls that match.
    Where(Arc<dyn Fn(&Call) -> bool + Send + Sync>),
}

#[derive(Default)]
struct State {
    calls: usize,
    fault: Fault,
    failed: Option<Call>,
    error: Option<i32>,
}

/// The faults of a disk for one process.
#[derive(Default)]
pub struct Trouble(Mutex<State>);

impl Trouble {
    /// Starts to inject faults. Calls count from 1 and from now on.
    pub fn begin(&self, fault: Fault) {
        let mut state = self.0.lock().unwrap();
        (state.calls, state.fault, state.failed) = (0, fault, None);
    }

    /// Sets the error of failing calls. The default is a full disk.
    pub fn with(&self, error: i32) {
        self.0.lock().unwrap().error = Some(error);
    }

    /// Stops injecting faults.
    pub fn end(&self) {
        self.0.lock().unwrap().fault = Fault::None;
    }

    /// Returns the first call that failed.
    pub fn failed(&self) -> Option<Call> {
        self.0.lock().unwrap().failed.clone()
    }

    pub fn is_dead(&self) -> bool {
        let state = self.0.lock().unwrap();
        matches!(state.fault, Fault::Death(number) if state.calls >= number)
    }

    /// Decides the result of the next call. The flag with an error is true if a part of the call reaches the disk.
    pub fn call(&self, call: &Call) -> Result<(), (io::Error, bool)> {
        let mut state = self.0.lock().unwrap();
        state.calls += 1;
        let (fails, is_partial) = match &state.fault {
            Fault::None => (false, false),
            Fault::Once(number) => (state.calls == *number, true),
            Fault::From(number) => (state.calls >= *number, true),
            Fault::Death(number) => (state.calls >= *number, state.calls == *number),
            Fault::Where(matches) => (matches(call), true),
        };
        if !fails {
            return Ok(());
        }
        state.failed.get_or_insert_with(|| call.clone());
        Err((error(state.error), is_partial))
    }
}

fn error(number: Option<i32>) -> io::Error {
    io::Error::from_raw_os_error(number.unwrap_or(ENOSPC))
}
