//! A simulated disk: it makes calls fail ([`trouble`](super::trouble)), omits one duty on purpose, and records every
//! change, so that tests can compute what a power cut would leave.
//!
//! It uses the real file system without syncs. Tests check the syncs by cutting the power in
//! [`power`](super::power), which keeps only what they made durable.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use agent_issue_tracker::store::json::fs::{
    FileFingerprint, FileLock, FileSystem, FileSystemKind, OpenFile, RealFileSystem, Rename,
    ResolveError, directory_of,
};

use super::pause::Pause;
use super::power::{DirectoryId, Entry, FileId, Node, ROOT, Step};
pub use super::trouble::FaultyDuty;
use super::trouble::{Call, Fault, Trouble};

/// A function that a [`Disk`] calls before each file system call.
type Hook = Box<dyn FnMut(&Call) + Send>;

/// The state that all processes on one disk share.
#[derive(Default)]
struct SimDisk {
    steps: Mutex<Vec<Step>>,
    nodes: Mutex<Nodes>,
    /// The number of failed syncs of each file.
    failures: Mutex<HashMap<FileId, usize>>,
}

#[derive(Default)]
struct Nodes {
    known: HashMap<(u64, u64), Node>,
    /// The last known name of each file.
    names: HashMap<FileId, String>,
    made: usize,
}

/// The disk as one process uses it.
pub struct Disk {
    root: PathBuf,
    sim_disk: Arc<SimDisk>,
    faulty_duty: FaultyDuty,
    pub trouble: Trouble,
    calls: Mutex<Vec<Call>>,
    hook: Mutex<Option<Hook>>,
    kind: Mutex<Option<FileSystemKind>>,
    locking_is_disabled: AtomicBool,
    /// If true, a blocked lock call retries in a loop, and each retry counts as a call.
    never_waits_for_locks: AtomicBool,
}

impl Disk {
    /// Creates a disk with the contents of a directory.
    pub fn new(root: &Path, faulty_duty: FaultyDuty) -> Arc<Self> {
        let root = root.canonicalize().unwrap();
        let disk = Self::on(root.clone(), Arc::default(), faulty_duty);
        let inode = inode(&fs::metadata(&root).unwrap());
        disk.sim_disk.nodes.lock().unwrap().known.insert(inode, Node::Directory(ROOT));
        disk.find_all(&root);
        Arc::new(disk)
    }

    /// Returns the same disk for another process.
    pub fn beside(&self) -> Arc<Self> {
        self.with_faulty_duty(self.faulty_duty)
    }

    /// Returns the same disk for another process that omits a duty.
    pub fn with_faulty_duty(&self, faulty_duty: FaultyDuty) -> Arc<Self> {
        Arc::new(Self::on(self.root.clone(), Arc::clone(&self.sim_disk), faulty_duty))
    }

    fn on(root: PathBuf, sim_disk: Arc<SimDisk>, faulty_duty: FaultyDuty) -> Self {
        Self {
            root,
            sim_disk,
            faulty_duty,
            trouble: Trouble::default(),
            calls: Mutex::default(),
            hook: Mutex::default(),
            kind: Mutex::default(),
            locking_is_disabled: AtomicBool::default(),
            never_waits_for_locks: AtomicBool::default(),
        }
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

    /// From now on, a lock call retries instead of blocking in the kernel.
    pub fn never_wait_for_locks(&self) {
        self.never_waits_for_locks.store(true, Ordering::SeqCst);
    }

    /// Returns every change of the disk so far.
    pub fn steps(&self) -> Vec<Step> {
        self.sim_disk.steps.lock().unwrap().clone()
    }

    /// Returns the number of steps so far.
    pub fn moment(&self) -> usize {
        self.sim_disk.steps.lock().unwrap().len()
    }

    fn note(&self, step: Step) {
        self.sim_disk.steps.lock().unwrap().push(step);
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
        let called = self.called(self.id_of(file));
        self.begin(name, called)
    }

    fn called(&self, file: FileId) -> String {
        self.sim_disk.nodes.lock().unwrap().names.get(&file).cloned().unwrap_or_default()
    }

    fn id_of(&self, file: &File) -> FileId {
        match self.node(&file.metadata().unwrap()) {
            Some(Node::File(id)) => id,
            _ => self.made(file, ""),
        }
    }

    fn node(&self, metadata: &Metadata) -> Option<Node> {
        self.sim_disk.nodes.lock().unwrap().known.get(&inode(metadata)).copied()
    }

    /// Records a new file. Its inode may have belonged to another file before.
    fn made(&self, file: &File, name: &str) -> FileId {
        let nodes = &mut *self.sim_disk.nodes.lock().unwrap();
        nodes.made += 1;
        let id = FileId(nodes.made);
        nodes.known.insert(inode(&file.metadata().unwrap()), Node::File(id));
        nodes.names.insert(id, name.to_owned());
        id
    }

    fn made_directory(&self, path: &Path) -> DirectoryId {
        let nodes = &mut *self.sim_disk.nodes.lock().unwrap();
        nodes.made += 1;
        let id = DirectoryId(nodes.made);
        nodes.known.insert(inode(&fs::metadata(path).unwrap()), Node::Directory(id));
        id
    }

    fn forget(&self, path: &Path) {
        if let Ok(metadata) = fs::symlink_metadata(path)
            && metadata.is_file()
        {
            self.sim_disk.nodes.lock().unwrap().known.remove(&inode(&metadata));
        }
    }

    /// Returns the directory entry of a path.
    fn entry(&self, path: &Path) -> Entry {
        (self.directory(directory_of(path)), name_of(path))
    }

    /// Returns the directory at a path. An unknown one existed before the test.
    fn directory(&self, path: &Path) -> DirectoryId {
        match self.node(&fs::metadata(path).unwrap()) {
            Some(Node::Directory(id)) => id,
            _ if path.starts_with(&self.root) && path != self.root => {
                let entry = self.entry(path);
                let id = self.made_directory(path);
                self.note(Step::Found { entry, node: Node::Directory(id), content: Vec::new() });
                id
            }
            _ => ROOT,
        }
    }

    /// Returns the node at a path. An unknown one existed before the test.
    fn found(&self, path: &Path) -> Option<Node> {
        let metadata = fs::metadata(path).ok()?;
        if metadata.is_dir() {
            return Some(Node::Directory(self.directory(path)));
        }
        Some(self.node(&metadata).unwrap_or_else(|| {
            let (file, content) = (File::open(path).unwrap(), fs::read(path).unwrap());
            let node = Node::File(self.made(&file, &name_of(path)));
            self.note(Step::Found { entry: self.entry(path), node, content });
            node
        }))
    }

    /// Records everything in a directory.
    fn find_all(&self, directory: &Path) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            self.found(&path);
            if path.is_dir() {
                self.find_all(&path);
            }
        }
    }

    fn renamed(&self, path: &Path, node: Option<Node>) {
        if let Some(Node::File(file)) = node {
            self.sim_disk.nodes.lock().unwrap().names.insert(file, name_of(path));
        }
    }

    /// Computes the result of a sync. A failed sync loses the unsynced data for good, and each process that had the
    /// file open gets the error once.
    fn sync_of(&self, file: &File, called: io::Result<()>, takes_effect: bool) -> io::Result<()> {
        let id = self.id_of(file);
        if called.is_err() && self.trouble.is_dead() {
            return called;
        }
        let mut failures = self.sim_disk.failures.lock().unwrap();
        let failures = failures.entry(id).or_default();
        *failures += usize::from(called.is_err());
        let is_new_error = !self.trouble.has_seen(id, *failures);
        match called {
            Err(_) => self.note(Step::Dropped(id)),
            Ok(()) if takes_effect => self.note(Step::Synced(id)),
            Ok(()) => {}
        }
        if is_new_error && self.faulty_duty != FaultyDuty::FailedSync {
            return Err(self.trouble.error());
        }
        Ok(())
    }

    /// Records that a process opened a file: it does not get the errors of earlier syncs.
    fn opened(&self, file: &File) {
        let id = self.id_of(file);
        let failures = self.sim_disk.failures.lock().unwrap().get(&id).copied();
        self.trouble.has_seen(id, failures.unwrap_or(0));
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

    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>> {
        self.call("open", path)?;
        let open = RealFileSystem.open(path)?;
        if let Some(open) = &open {
            self.found(path);
            self.opened(&open.file);
        }
        Ok(open)
    }

    fn create(&self, path: &Path, model: &Path) -> io::Result<Arc<File>> {
        self.call("create", path)?;
        let file = RealFileSystem.create(path, model)?;
        let id = self.made(&file, &name_of(path));
        self.opened(&file);
        self.note(Step::Named(vec![(self.entry(path), Some(Node::File(id)))]));
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
        let id = self.id_of(file);
        let name = self.called(id);
        let is_written =
            || RealFileSystem.read_at(file, offset, bytes.len()).is_ok_and(|found| found == bytes);
        let is_segment = name.ends_with(".log");
        if self.faulty_duty == FaultyDuty::Rewrite && is_segment && is_written() {
            return called.map_err(|(error, _)| error);
        }
        let header =
            bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |index| index + 1);
        let is_new_segment = name.starts_with(".0") && offset == 0;
        let omits_events = self.faulty_duty == FaultyDuty::Repeat && is_new_segment;
        let bytes = if omits_events { &bytes[..header] } else { bytes };
        if !bytes.is_empty() {
            RealFileSystem.write_at(file, offset, bytes)?;
            self.note(Step::Wrote { file: id, offset, bytes: bytes.to_vec() });
        }
        called.map_err(|(error, _)| error)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let called = self.call_on("sync", file).map_err(|(error, _)| error);
        let unsynced_suffix = match self.faulty_duty {
            FaultyDuty::SyncSegment => ".log",
            FaultyDuty::SyncTemp => ".tmp",
            _ => "never",
        };
        let takes_effect = !self.called(self.id_of(file)).ends_with(unsynced_suffix);
        self.sync_of(file, called, takes_effect)
    }

    fn lock(&self, file: &Arc<File>, waits: bool) -> io::Result<Option<FileLock>> {
        self.call_on("lock", file).map_err(|(error, _)| error)?;
        if self.locking_is_disabled.load(Ordering::SeqCst) {
            return Ok(Some(FileLock::of(file)));
        }
        if self.faulty_duty == FaultyDuty::Lock && self.called(self.id_of(file)).ends_with(".log") {
            return Ok(waits.then(|| FileLock::of(file)));
        }
        while waits && self.never_waits_for_locks.load(Ordering::SeqCst) {
            if let Some(lock) = RealFileSystem.lock(file, false)? {
                return Ok(Some(lock));
            }
            self.call_on("lock", file).map_err(|(error, _)| error)?;
        }
        RealFileSystem.lock(file, waits)
    }

    fn rename(&self, from: &Path, to: &Path, mode: Rename) -> io::Result<()> {
        self.call(if mode == Rename::Exchange { "exchange" } else { "rename" }, to)?;
        let nodes = (self.found(from), self.found(to));
        let replaces = mode == Rename::Exchange && self.faulty_duty == FaultyDuty::Exchange;
        let mode = if replaces { Rename::Replace } else { mode };
        if mode == Rename::Replace && nodes.0 != nodes.1 {
            self.forget(to);
        }
        RealFileSystem.rename(from, to, mode)?;
        let (old, new) = (self.entry(from), self.entry(to));
        match mode {
            Rename::Replace => self.note(Step::Named(vec![(old, None), (new, nodes.0)])),
            // The real file system links the new name and then removes the old one.
            Rename::KeepOther => {
                self.note(Step::Named(vec![(new, nodes.0)]));
                self.note(Step::Named(vec![(old, None)]));
            }
            Rename::Exchange => self.note(Step::Named(vec![(old, nodes.1), (new, nodes.0)])),
        }
        self.renamed(to, nodes.0);
        if mode == Rename::Exchange {
            self.renamed(from, nodes.1);
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.call("remove", path)?;
        // A later file may reuse the inode.
        let metadata = fs::metadata(path);
        RealFileSystem.remove(path)?;
        if let Ok(metadata) = metadata
            && metadata.nlink() == 1
        {
            self.sim_disk.nodes.lock().unwrap().known.remove(&inode(&metadata));
        }
        self.note(Step::Named(vec![(self.entry(path), None)]));
        Ok(())
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<String>> {
        self.call("list", directory)?;
        RealFileSystem.list(directory)
    }

    fn create_directory(&self, directory: &Path) -> io::Result<()> {
        self.call("create_directory", directory)?;
        let missing: Vec<_> = directory.ancestors().take_while(|path| !path.exists()).collect();
        for path in missing.into_iter().rev() {
            match fs::create_dir(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            let node = Node::Directory(self.made_directory(path));
            self.note(Step::Named(vec![(self.entry(path), Some(node))]));
        }
        Ok(())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        let called = self.call("sync_directory", directory);
        if called.is_err() && !self.trouble.is_dead() && directory.is_dir() {
            self.note(Step::FailedDirectory(self.directory(directory)));
        }
        called?;
        File::open(directory)?;
        if self.faulty_duty != FaultyDuty::SyncDirectory {
            self.note(Step::SyncedDirectory(self.directory(directory)));
        }
        Ok(())
    }

    fn kind(&self, file: &Path) -> Option<FileSystemKind> {
        self.call("kind", file).ok()?;
        let kind = self.kind.lock().unwrap().clone();
        Some(kind.unwrap_or(FileSystemKind::Local("a disk of a test".to_owned())))
    }
}
