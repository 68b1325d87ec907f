//! A disk for tests: it makes calls fail ([`trouble`](super::trouble)), does one of them wrong on purpose, and
//! remembers everything that it was told, so that it can say what a power cut would have left.
//!
//! Underneath is the real file system, without its syncs: what they are for is checked by cutting the
//! power in [`power`](super::power), which takes them at their word.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use agent_issue_tracker::store::json::fs::{
    Contents, Directory, FileSystem, Kind, Lock, OpenFile, RealFileSystem, Stamp, Unresolved,
};
use tempfile::NamedTempFile;

use super::ground::Ground;
use super::pause::Pause;
use super::power::{FileId, Step};
pub use super::trouble::Neglect;
use super::trouble::Trouble;

/// What a [`Disk`] does before a call.
type Hook = Box<dyn FnMut(&'static str) + Send>;

/// What all processes that use one disk have in common.
#[derive(Default)]
struct Platter {
    steps: Mutex<Vec<Step>>,
    files: Mutex<HashMap<(u64, u64), FileId>>,
    files_made: AtomicUsize,
    /// How often a sync of each file has failed.
    failures: Mutex<HashMap<FileId, usize>>,
}

/// A disk as one process uses it.
#[derive(Default)]
pub struct Disk {
    platter: Arc<Platter>,
    neglect: Neglect,
    pub trouble: Trouble,
    names: Mutex<Vec<&'static str>>,
    hook: Mutex<Option<Hook>>,
    /// How many reads of `issues.json` find no file, and how many find half of one.
    pub absent: AtomicUsize,
    pub halved: AtomicUsize,
    pub ground: Ground,
}

impl Disk {
    pub fn new(neglect: Neglect) -> Arc<Self> {
        Arc::new(Self { neglect, ..Self::default() })
    }

    /// The same disk as another process uses it.
    pub fn beside(other: &Self) -> Arc<Self> {
        let (platter, neglect) = (Arc::clone(&other.platter), other.neglect);
        Arc::new(Self { platter, neglect, ..Self::default() })
    }

    /// See [`Trouble::die_at`].
    pub fn die_at(&self, number: usize) {
        self.trouble.die_at(number);
    }

    /// The call that failed.
    pub fn failed(&self) -> Option<&'static str> {
        self.trouble.failed()
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

    /// Makes the first bytes of a file unreadable.
    pub fn lose(&self, path: &Path, bytes: u64) {
        let file = self.id_of(&File::open(path).unwrap());
        *self.trouble.unreadable.lock().unwrap() = Some((file, bytes));
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
        self.trouble.call(name)
    }

    /// What becomes of a sync of a file: one that fails leaves what it was for unsaved for good, and each
    /// process that had the file open is told once.
    fn sync_of(&self, file: &File, call: io::Result<()>, takes_effect: bool) -> io::Result<()> {
        let id = self.id_of(file);
        if call.is_err() && self.trouble.is_dying() {
            return call;
        }
        let mut failures = self.platter.failures.lock().unwrap();
        let failures = failures.entry(id).or_default();
        *failures += usize::from(call.is_err());
        let is_news = !self.trouble.has_seen(id, *failures);
        match call {
            Err(_) => self.note(Step::Dropped(id)),
            Ok(()) if takes_effect => self.note(Step::Synced(id)),
            Ok(()) => {}
        }
        if is_news && self.neglect != Neglect::FailedSync {
            return Err(self.trouble.error());
        }
        Ok(())
    }

    /// Takes note that a file was opened: who opens it later is not told what happened before.
    fn opened(&self, file: &File) {
        let id = self.id_of(file);
        let failures = self.platter.failures.lock().unwrap().get(&id).copied();
        self.trouble.has_seen(id, failures.unwrap_or(0));
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

    fn excludes(&self, path: &Path) -> io::Result<bool> {
        self.call("excludes").and_then(|()| self.ground.excludes(path))
    }

    fn kind(&self, _: &Path) -> Option<Kind> {
        self.call("kind").ok().and_then(|()| self.ground.kind())
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
        let bytes = if failed.is_err() { &bytes[..self.trouble.half(bytes)] } else { bytes };
        let offset = temp.as_file().metadata()?.len();
        RealFileSystem.write(temp, bytes)?;
        let file = self.id_of(temp.as_file());
        self.note(Step::Wrote { file, offset, bytes: bytes.to_vec() });
        failed
    }

    fn sync(&self, temp: &NamedTempFile) -> io::Result<()> {
        let called = self.call("sync");
        self.sync_of(temp.as_file(), called, self.neglect != Neglect::SyncTemp)
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

    fn exchange(&self, temp: &NamedTempFile, target: &Path) -> io::Result<bool> {
        self.call("exchange")?;
        if self.neglect == Neglect::Exchange {
            return Ok(false);
        }
        let exchanged = RealFileSystem.exchange(temp, target)?;
        if exchanged {
            let file = self.id_of(&File::open(target)?);
            self.note(Step::Renamed { file, name: name(target) });
        }
        Ok(exchanged)
    }

    fn put_aside(&self, path: &Path, kept: &Path) -> io::Result<()> {
        self.call("put_aside")?;
        RealFileSystem.put_aside(path, kept)?;
        self.note(Step::PutAside { name: name(path), kept: name(kept) });
        Ok(())
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

    fn remove_stale_temps(&self, target: &Path) -> Vec<PathBuf> {
        let is_done = self.neglect != Neglect::Cleaning;
        if is_done { RealFileSystem.remove_stale_temps(target) } else { Vec::new() }
    }

    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>> {
        self.call("open")?;
        let open = RealFileSystem.open(path)?;
        open.iter().for_each(|open| self.opened(&open.file));
        Ok(open)
    }

    fn read_at(&self, file: &File, offset: u64) -> io::Result<Vec<u8>> {
        self.call("read_at")?;
        let lost = self.trouble.unreadable.lock().unwrap();
        if lost.is_some_and(|(lost, bytes)| lost == self.id_of(file) && offset < bytes) {
            return Err(self.trouble.error());
        }
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
        let bytes = if failed.is_err() { &bytes[..self.trouble.half(bytes)] } else { bytes };
        let is_intent = bytes.windows(13).any(|words| words == b"{\"checkpoint\"");
        if is_intent && self.neglect == Neglect::Intent {
            return Ok(());
        }
        let is_there =
            || RealFileSystem.read_at(file, offset).is_ok_and(|it| it.starts_with(bytes));
        if self.neglect == Neglect::WriteAgain && is_there() {
            return failed;
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
        self.ground.try_write(directory, length_bytes)
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
        let called = self.call("sync_data");
        self.sync_of(file, called, self.neglect != Neglect::SyncData)
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
