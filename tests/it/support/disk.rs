//! A simulated disk: it makes calls fail ([`trouble`](super::trouble)), omits one duty on purpose, and calls hooks.
//!
//! It uses the real file system without syncs. SQLite reaches the database without it.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use agent_issue_tracker::store::files::fs::{
    FileFingerprint, FileLock, FileSystem, FileSystemKind, RealFileSystem, Rename, ResolveError,
};

use super::pause::Pause;
pub use super::trouble::FaultyDuty;
use super::trouble::{Call, Fault, Trouble};

/// A function that a [`Disk`] calls before each file system call.
type Hook = Box<dyn FnMut(&Call) + Send>;

/// The disk as one process uses it.
#[derive(Default)]
pub struct Disk {
    faulty_duty: FaultyDuty,
    pub trouble: Trouble,
    calls: Mutex<Vec<Call>>,
    hook: Mutex<Option<Hook>>,
    kind: Mutex<Option<FileSystemKind>>,
    locking_is_disabled: AtomicBool,
    /// The names by which this process opened files, by device and inode.
    names: Mutex<HashMap<(u64, u64), String>>,
}

impl Disk {
    pub fn new(faulty_duty: FaultyDuty) -> Arc<Self> {
        Arc::new(Self { faulty_duty, ..Self::default() })
    }

    /// Returns the same disk for another process.
    pub fn beside(&self) -> Arc<Self> {
        Self::new(self.faulty_duty)
    }

    /// Crashes the process at the call with this number, counted from 1 and from now on.
    pub fn die_at(&self, number: usize) {
        self.trouble.begin(Fault::Death(number));
    }

    /// Returns the calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// Returns the number of calls with this name on files whose name ends with `suffix`.
    pub fn count_of(&self, name: &str, suffix: &str) -> usize {
        self.calls.lock().unwrap().iter().filter(|call| call.is(name, suffix)).count()
    }

    /// Calls `hook` before every call.
    pub fn hook(&self, hook: impl FnMut(&Call) + Send + 'static) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    pub fn unhook(&self) {
        *self.hook.lock().unwrap() = None;
    }

    /// Calls `act` before the call with this number, counted from 1 and from now on.
    pub fn at_call(&self, number: usize, act: impl FnOnce() + Send + 'static) {
        let (mut calls, mut act) = (0, Some(act));
        self.hook(move |_| {
            calls += 1;
            if calls == number
                && let Some(act) = act.take()
            {
                act();
            }
        });
    }

    /// Pauses the process before the first call that matches.
    pub fn pause_at(&self, matches: impl Fn(&Call) -> bool + Send + 'static) -> Pause {
        let pause = Pause::default();
        let mut waits = Some(pause.clone());
        self.hook(move |call| {
            if matches(call)
                && let Some(pause) = waits.take()
            {
                pause.wait();
            }
        });
        pause
    }

    /// Reports this kind of file system from now on.
    pub fn be(&self, kind: FileSystemKind) {
        *self.kind.lock().unwrap() = Some(kind);
    }

    /// Grants every lock from now on, even if another process holds it.
    pub fn disable_locking(&self) {
        self.locking_is_disabled.store(true, Ordering::SeqCst);
    }

    fn begin(&self, name: &'static str, file: String) -> Result<(), (io::Error, bool)> {
        let call = Call { name, file };
        // Take the hook out while it runs, because it may use this disk.
        let hook = self.hook.lock().unwrap().take();
        if let Some(mut hook) = hook {
            hook(&call);
            self.hook.lock().unwrap().get_or_insert(hook);
        }
        self.calls.lock().unwrap().push(call.clone());
        self.trouble.call(&call)
    }

    fn call(&self, name: &'static str, path: &Path) -> io::Result<()> {
        self.begin(name, name_of(path)).map_err(|(error, _)| error)
    }

    fn call_on(&self, name: &'static str, file: &File) -> Result<(), (io::Error, bool)> {
        let inode = inode(&file.metadata().unwrap());
        let called = self.names.lock().unwrap().get(&inode).cloned().unwrap_or_default();
        self.begin(name, called)
    }

    fn opened(&self, file: &File, path: &Path) {
        let inode = inode(&file.metadata().unwrap());
        self.names.lock().unwrap().insert(inode, name_of(path));
    }
}

fn inode(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl FileSystem for Disk {
    fn resolve(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        let directory = path.to_owned();
        self.call("resolve", path).map_err(|source| ResolveError { directory, source })?;
        RealFileSystem.resolve(path)
    }

    fn fingerprint(&self, path: &Path) -> io::Result<Option<FileFingerprint>> {
        self.call("fingerprint", path)?;
        RealFileSystem.fingerprint(path)
    }

    fn fingerprint_of(&self, file: &File) -> io::Result<FileFingerprint> {
        self.call_on("fingerprint_of", file).map_err(|(error, _)| error)?;
        RealFileSystem.fingerprint_of(file)
    }

    fn open(&self, path: &Path) -> io::Result<Option<Arc<File>>> {
        self.call("open", path)?;
        let open = RealFileSystem.open(path)?;
        if let Some(file) = &open {
            self.opened(file, path);
        }
        Ok(open)
    }

    fn create(&self, path: &Path, model: &Path) -> io::Result<Arc<File>> {
        self.call("create", path)?;
        let file = RealFileSystem.create(path, model)?;
        self.opened(&file, path);
        Ok(file)
    }

    fn read_at(&self, file: &File, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        self.call_on("read_at", file).map_err(|(error, _)| error)?;
        RealFileSystem.read_at(file, offset, limit)
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let called = self.call_on("write_at", file);
        // A full disk and a dying process write only a part of the bytes.
        let bytes = match &called {
            Err((_, true)) => &bytes[..bytes.len() / 2],
            Err((_, false)) => &[],
            Ok(()) => bytes,
        };
        if !bytes.is_empty() {
            RealFileSystem.write_at(file, offset, bytes)?;
        }
        called.map_err(|(error, _)| error)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.call_on("sync", file).map_err(|(error, _)| error)
    }

    fn lock(&self, file: &Arc<File>, waits: bool) -> io::Result<Option<FileLock>> {
        self.call_on("lock", file).map_err(|(error, _)| error)?;
        if self.locking_is_disabled.load(Ordering::SeqCst) {
            return Ok(Some(FileLock::of(file)));
        }
        if self.faulty_duty == FaultyDuty::Lock && waits {
            return Ok(Some(FileLock::of(file)));
        }
        RealFileSystem.lock(file, waits)
    }

    fn rename(&self, from: &Path, to: &Path, mode: Rename) -> io::Result<()> {
        self.call(if mode == Rename::Exchange { "exchange" } else { "rename" }, to)?;
        let replaces = mode == Rename::Exchange && self.faulty_duty == FaultyDuty::Exchange;
        RealFileSystem.rename(from, to, if replaces { Rename::Replace } else { mode })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call("remove", path)?;
        RealFileSystem.remove(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.call("list", directory)?;
        RealFileSystem.list(directory)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        self.call("create_directory", directory)?;
        RealFileSystem.create_directory(directory)
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.call("sync_directory", directory)
    }

    fn kind(&self, file: &Path) -> Option<FileSystemKind> {
        self.call("kind", file).ok()?;
        let kind = self.kind.lock().unwrap().clone();
        Some(kind.unwrap_or(FileSystemKind::Local("a disk of a test".to_owned())))
    }
}
