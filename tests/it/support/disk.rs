//! A disk for tests: it counts the calls, fails one of them, does one of them wrong on purpose, and
//! remembers everything that it was told, so that it can say what a power cut would have left.
//!
//! Underneath is the real file system, without its syncs: what they are for is checked by cutting the
//! power in [`power`](super::power), which takes them at their word.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use agent_issue_tracker::store::json::fs::{
    Contents, Directory, FileSystem, Lock, OpenFile, RealFileSystem, Stamp, Unresolved,
};
use tempfile::NamedTempFile;

use super::pause::Pause;
use super::power::{FileId, Step};

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
    /// Every journal gets the same epoch.
    Epoch,
    /// Locks and claims are given to everybody.
    Lock,
    /// What dead processes left is not removed.
    Cleaning,
}

/// What a [`Disk`] does before a call.
type Hook = Box<dyn FnMut(&'static str) + Send>;

/// What all processes that use one disk have in common.
#[derive(Default)]
struct Platter {
    steps: Mutex<Vec<Step>>,
    files: Mutex<HashMap<(u64, u64), FileId>>,
    files_made: AtomicUsize,
}

/// A disk as one process uses it.
#[derive(Default)]
pub struct Disk {
    platter: Arc<Platter>,
    neglect: Neglect,
    calls: AtomicUsize,
    failing_call: AtomicUsize,
    /// From this call on, every call fails.
    last_call: AtomicUsize,
    failed: Mutex<Option<&'static str>>,
    names: Mutex<Vec<&'static str>>,
    hook: Mutex<Option<Hook>>,
    /// How many reads of `issues.json` find no file, and how many find half of one.
    pub absent: AtomicUsize,
    pub halved: AtomicUsize,
    /// Whether there is no room for a trial.
    pub is_full: AtomicBool,
}

impl Disk {
    pub fn new(neglect: Neglect) -> Arc<Self> {
        Arc::new(Self { neglect, last_call: usize::MAX.into(), ..Self::default() })
    }

    /// The same disk as another process uses it.
    pub fn beside(other: &Self) -> Arc<Self> {
        let (platter, neglect) = (Arc::clone(&other.platter), other.neglect);
        Arc::new(Self { platter, neglect, last_call: usize::MAX.into(), ..Self::default() })
    }

    /// Lets the process die at the call with this number, counted from 1 and from now on: none of its
    /// calls reaches the disk any more.
    pub fn die_at(&self, number: usize) {
        self.calls.store(0, Ordering::SeqCst);
        self.last_call.store(number, Ordering::SeqCst);
    }

    /// Makes the call with this number fail, counted from 1 and from now on.
    pub fn fail_call(&self, number: usize) {
        self.calls.store(0, Ordering::SeqCst);
        self.failing_call.store(number, Ordering::SeqCst);
        *self.failed.lock().unwrap() = None;
    }

    /// The call that failed.
    pub fn failed(&self) -> Option<&'static str> {
        *self.failed.lock().unwrap()
    }

    /// How often a call was made.
    pub fn count_of(&self, call: &str) -> usize {
        self.names.lock().unwrap().iter().filter(|name| **name == call).count()
    }

    /// Calls `hook` before every call.
    pub fn hook(&self, hook: impl FnMut(&'static str) + Send + 'static) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    /// Lets the process wait at the first of these calls.
    pub fn pause_at(&self, calls: &'static [&'static str]) -> Pause {
        let pause = Pause::default();
        let mut waits = Some(pause.clone());
        self.hook(move |call| {
            if calls.contains(&call)
                && let Some(pause) = waits.take()
            {
                pause.wait();
            }
        });
        pause
    }

    /// Everything that changed the disk so far.
    pub fn steps(&self) -> Vec<Step> {
        self.platter.steps.lock().unwrap().clone()
    }

    /// Notes that so many operations were answered.
    pub fn answered(&self, count: usize) {
        self.note(Step::Answered(count));
    }

    fn note(&self, step: Step) {
        self.platter.steps.lock().unwrap().push(step);
    }

    fn call(&self, name: &'static str) -> io::Result<()> {
        // Taken out while it runs, since it may use this disk.
        let hook = self.hook.lock().unwrap().take();
        if let Some(mut hook) = hook {
            hook(name);
            self.hook.lock().unwrap().get_or_insert(hook);
        }
        self.names.lock().unwrap().push(name);
        let number = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let is_dead = number >= self.last_call.load(Ordering::SeqCst);
        if is_dead || number == self.failing_call.load(Ordering::SeqCst) {
            self.failed.lock().unwrap().get_or_insert(name);
            return Err(full());
        }
        Ok(())
    }

    /// How much of a write that fails is written; nothing by a process that is dead already.
    fn half(&self, bytes: &[u8]) -> usize {
        let last = self.last_call.load(Ordering::SeqCst);
        if self.calls.load(Ordering::SeqCst) > last { 0 } else { bytes.len() / 2 }
    }

    fn id_of(&self, file: &File) -> FileId {
        let known = self.platter.files.lock().unwrap().get(&inode(file)).copied();
        // One that was there before.
        known.unwrap_or_else(|| self.made(file))
    }

    /// Notes a file that was just made. Its inode may have been another file's before.
    fn made(&self, file: &File) -> FileId {
        let id = FileId(self.platter.files_made.fetch_add(1, Ordering::SeqCst));
        self.platter.files.lock().unwrap().insert(inode(file), id);
        id
    }
}

fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "no space left on device")
}

fn inode(file: &File) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().unwrap();
    (metadata.dev(), metadata.ino())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

impl FileSystem for Disk {
    fn resolve(&self, path: &Path) -> Result<PathBuf, Unresolved> {
        let directory = path.to_owned();
        self.call("resolve").map_err(|source| Unresolved { directory, source })?;
        RealFileSystem.resolve(path)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.call("stamp")?;
        let absent = self.absent.load(Ordering::SeqCst) > 0 && name(path) == "issues.json";
        if absent { Ok(None) } else { RealFileSystem.stamp(path) }
    }

    fn read(&self, path: &Path) -> io::Result<Option<Contents>> {
        self.call("read")?;
        if count_down(&self.absent) {
            return Ok(None);
        }
        let mut contents = RealFileSystem.read(path)?;
        if let Some(contents) = contents.as_mut().filter(|_| count_down(&self.halved)) {
            contents.bytes.truncate(contents.bytes.len() / 2);
        }
        Ok(contents)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        self.call("lock")?;
        if self.neglect == Neglect::Lock {
            let file = File::options().create(true).append(true).open(path)?;
            return Ok(Lock { file });
        }
        RealFileSystem.lock(path)
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        self.call("try_lock")?;
        RealFileSystem.try_lock(path)
    }

    fn is_at(&self, file: &File, path: &Path) -> io::Result<bool> {
        self.call("is_at")?;
        RealFileSystem.is_at(file, path)
    }

    fn create_temp(&self, target: &Path, model: &Path) -> io::Result<NamedTempFile> {
        self.call("create_temp")?;
        let temp = RealFileSystem.create_temp(target, model)?;
        self.made(temp.as_file());
        Ok(temp)
    }

    fn write(&self, temp: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        let failed = self.call("write");
        // A full disk, and a process that dies, write a part of the bytes.
        let bytes = if failed.is_err() { &bytes[..self.half(bytes)] } else { bytes };
        let offset = temp.as_file().metadata()?.len();
        RealFileSystem.write(temp, bytes)?;
        let file = self.id_of(temp.as_file());
        self.note(Step::Wrote { file, offset, bytes: bytes.to_vec() });
        failed
    }

    fn sync(&self, temp: &NamedTempFile) -> io::Result<()> {
        self.call("sync")?;
        if self.neglect != Neglect::SyncTemp {
            self.note(Step::Synced(self.id_of(temp.as_file())));
        }
        Ok(())
    }

    fn replace(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        self.call("replace")?;
        let file = self.id_of(temp.as_file());
        let replaced = RealFileSystem.replace(temp, target)?;
        self.note(Step::Renamed { file, name: name(target) });
        Ok(replaced)
    }

    fn place(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        self.call("place")?;
        let file = self.id_of(temp.as_file());
        let placed = RealFileSystem.place(temp, target)?;
        self.note(Step::Renamed { file, name: name(target) });
        Ok(placed)
    }

    fn stamp_open(&self, file: &File) -> io::Result<Stamp> {
        self.call("stamp_open")?;
        RealFileSystem.stamp_open(file)
    }

    fn open_directory(&self, directory: &Path) -> io::Result<Directory> {
        self.call("open_directory")?;
        RealFileSystem.open_directory(directory)
    }

    fn sync_directory(&self, _directory: &Directory) -> io::Result<()> {
        self.call("sync_directory")?;
        if self.neglect != Neglect::SyncDirectory {
            self.note(Step::SyncedDirectory);
        }
        Ok(())
    }

    fn remove_stale_temps(&self, target: &Path) {
        if self.neglect != Neglect::Cleaning {
            RealFileSystem.remove_stale_temps(target);
        }
    }

    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>> {
        self.call("open")?;
        RealFileSystem.open(path)
    }

    fn read_at(&self, file: &File, offset: u64) -> io::Result<Vec<u8>> {
        self.call("read_at")?;
        RealFileSystem.read_at(file, offset)
    }

    fn claim(&self, file: &File) -> io::Result<bool> {
        self.call("claim")?;
        if self.neglect == Neglect::Lock { Ok(true) } else { RealFileSystem.claim(file) }
    }

    fn release(&self, file: &File) {
        RealFileSystem.release(file);
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let failed = self.call("write_at");
        let bytes = if failed.is_err() { &bytes[..self.half(bytes)] } else { bytes };
        let is_intent = bytes.windows(13).any(|words| words == b"{\"checkpoint\"");
        if is_intent && self.neglect == Neglect::Intent {
            return Ok(());
        }
        RealFileSystem.write_at(file, offset, bytes)?;
        let file = self.id_of(file);
        self.note(Step::Wrote { file, offset, bytes: bytes.to_vec() });
        failed
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        self.call("append")?;
        RealFileSystem.append(path, bytes)
    }

    fn try_write(&self, directory: &Path, length_bytes: usize) -> io::Result<()> {
        self.call("try_write")?;
        if self.is_full.load(Ordering::SeqCst) {
            return Err(full());
        }
        RealFileSystem.try_write(directory, length_bytes)
    }

    fn truncate(&self, file: &File, length_bytes: u64) -> io::Result<()> {
        self.call("truncate")?;
        if self.neglect == Neglect::Truncate {
            return Ok(());
        }
        RealFileSystem.truncate(file, length_bytes)?;
        self.note(Step::Cut { file: self.id_of(file), length_bytes });
        Ok(())
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.call("sync_data")?;
        if self.neglect != Neglect::SyncData {
            self.note(Step::Synced(self.id_of(file)));
        }
        Ok(())
    }

    fn random(&self) -> u128 {
        if self.neglect == Neglect::Epoch { 7 } else { RealFileSystem.random() }
    }

    fn now(&self) -> SystemTime {
        RealFileSystem.now()
    }
}

/// Counts one down; false when there was none left.
fn count_down(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}
