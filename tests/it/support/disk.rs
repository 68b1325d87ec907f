//! A disk for tests: it makes calls fail ([`trouble`](super::trouble)), does one of them wrong on purpose, and
//! remembers everything that it was told, so that it can say what a power cut would have left.
//!
//! Underneath is the real file system, without its syncs: what they are for is checked by cutting the
//! power in [`power`](super::power), which takes them at their word.

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

/// What a [`Disk`] does before a call.
type Hook = Box<dyn FnMut(&Call) + Send>;

/// What all processes that use one disk have in common.
#[derive(Default)]
struct SimDisk {
    steps: Mutex<Vec<Step>>,
    nodes: Mutex<Nodes>,
    /// How often a sync of each file has failed.
    failures: Mutex<HashMap<FileId, usize>>,
}

#[derive(Default)]
struct Nodes {
    known: HashMap<(u64, u64), Node>,
    /// What files were last called.
    names: HashMap<FileId, String>,
    made: usize,
}

/// A disk as one process uses it.
pub struct Disk {
    root: PathBuf,
    sim_disk: Arc<SimDisk>,
    neglect: FaultyDuty,
    pub trouble: Trouble,
    calls: Mutex<Vec<Call>>,
    hook: Mutex<Option<Hook>>,
    kind: Mutex<Option<FileSystemKind>>,
    locking_is_disabled: AtomicBool,
    /// Whether a lock that is waited for is asked for again and again, each time as a call of its own.
    never_waits_for_locks: AtomicBool,
}

impl Disk {
    /// A disk that holds what is in a directory.
    pub fn new(root: &Path, neglect: FaultyDuty) -> Arc<Self> {
        let root = root.canonicalize().unwrap();
        let disk = Self::on(root.clone(), Arc::default(), neglect);
        let inode = inode(&fs::metadata(&root).unwrap());
        disk.sim_disk.nodes.lock().unwrap().known.insert(inode, Node::Directory(ROOT));
        disk.find_all(&root);
        Arc::new(disk)
    }

    /// The same disk as another process uses it.
    pub fn beside(&self) -> Arc<Self> {
        self.with_faulty_duty(self.neglect)
    }

    /// The same as it is used by a process that neglects something.
    pub fn with_faulty_duty(&self, neglect: FaultyDuty) -> Arc<Self> {
        Arc::new(Self::on(self.root.clone(), Arc::clone(&self.sim_disk), neglect))
    }

    fn on(root: PathBuf, sim_disk: Arc<SimDisk>, neglect: FaultyDuty) -> Self {
        Self {
            root,
            sim_disk,
            neglect,
            trouble: Trouble::default(),
            calls: Mutex::default(),
            hook: Mutex::default(),
            kind: Mutex::default(),
            locking_is_disabled: AtomicBool::default(),
            never_waits_for_locks: AtomicBool::default(),
        }
    }

    /// Lets the process die at the call with this number, counted from 1 and from now on.
    pub fn die_at(&self, number: usize) {
        self.trouble.begin(Fault::Death(number));
    }

    /// The calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// How often a call was made on files whose name ends so.
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

    /// Lets the process wait before the first call of a kind.
    pub fn pause_at(&self, is_it: impl Fn(&Call) -> bool + Send + 'static) -> Pause {
        let pause = Pause::default();
        let mut waits = Some(pause.clone());
        self.hook(move |call| {
            if is_it(call)
                && let Some(pause) = waits.take()
            {
                pause.wait();
            }
        });
        pause
    }

    /// Says from now on that it is of this kind.
    pub fn be(&self, kind: FileSystemKind) {
        *self.kind.lock().unwrap() = Some(kind);
    }

    /// Gives locks to everybody from now on, also to whoever tries that.
    pub fn disable_locking(&self) {
        self.locking_is_disabled.store(true, Ordering::SeqCst);
    }

    /// Lets no call wait for a lock of another process from now on.
    pub fn never_wait_for_locks(&self) {
        self.never_waits_for_locks.store(true, Ordering::SeqCst);
    }

    /// Everything that changed the disk so far.
    pub fn steps(&self) -> Vec<Step> {
        self.sim_disk.steps.lock().unwrap().clone()
    }

    /// How many of these there are.
    pub fn moment(&self) -> usize {
        self.sim_disk.steps.lock().unwrap().len()
    }

    fn note(&self, step: Step) {
        self.sim_disk.steps.lock().unwrap().push(step);
    }

    fn begin(&self, name: &'static str, file: String) -> Result<(), (io::Error, bool)> {
        let call = Call { name, file };
        // Taken out while it runs, since it may use this disk.
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

    /// Takes note of a file that was just made. Its inode may have been another file's before.
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

    /// The name of a path in its directory.
    fn entry(&self, path: &Path) -> Entry {
        (self.directory(directory_of(path)), name_of(path))
    }

    /// The directory at a path; one that is not known was there before.
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

    /// What is at a path; something that is not known was there before.
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

    /// Takes note of everything in a directory.
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

    /// What becomes of a sync of a file: one that fails leaves what it was for unsaved for good, and each
    /// process that had the file open is told once.
    fn sync_of(&self, file: &File, called: io::Result<()>, takes_effect: bool) -> io::Result<()> {
        let id = self.id_of(file);
        if called.is_err() && self.trouble.is_dead() {
            return called;
        }
        let mut failures = self.sim_disk.failures.lock().unwrap();
        let failures = failures.entry(id).or_default();
        *failures += usize::from(called.is_err());
        let is_news = !self.trouble.has_seen(id, *failures);
        match called {
            Err(_) => self.note(Step::Dropped(id)),
            Ok(()) if takes_effect => self.note(Step::Synced(id)),
            Ok(()) => {}
        }
        if is_news && self.neglect != FaultyDuty::FailedSync {
            return Err(self.trouble.error());
        }
        Ok(())
    }

    /// Takes note that a file was opened: who opens it later is not told what happened before.
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
        // A full disk, and a process that dies, write a part of the bytes.
        let bytes = match &called {
            Err((_, true)) => &bytes[..bytes.len() / 2],
            Err((_, false)) => &[],
            Ok(()) => bytes,
        };
        let id = self.id_of(file);
        let name = self.called(id);
        let is_there =
            || RealFileSystem.read_at(file, offset, bytes.len()).is_ok_and(|it| it == bytes);
        let is_segment = name.ends_with(".log");
        if self.neglect == FaultyDuty::Rewrite && is_segment && is_there() {
            return called.map_err(|(error, _)| error);
        }
        let header = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| at + 1);
        let is_new_segment = name.starts_with(".0") && offset == 0;
        let forgets = self.neglect == FaultyDuty::Repeat && is_new_segment;
        let bytes = if forgets { &bytes[..header] } else { bytes };
        if !bytes.is_empty() {
            RealFileSystem.write_at(file, offset, bytes)?;
            self.note(Step::Wrote { file: id, offset, bytes: bytes.to_vec() });
        }
        called.map_err(|(error, _)| error)
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        let called = self.call_on("sync", file).map_err(|(error, _)| error);
        let neglected = match self.neglect {
            FaultyDuty::SyncSegment => ".log",
            FaultyDuty::SyncTemp => ".tmp",
            _ => "never",
        };
        let takes_effect = !self.called(self.id_of(file)).ends_with(neglected);
        self.sync_of(file, called, takes_effect)
    }

    fn lock(&self, file: &Arc<File>, waits: bool) -> io::Result<Option<FileLock>> {
        self.call_on("lock", file).map_err(|(error, _)| error)?;
        if self.locking_is_disabled.load(Ordering::SeqCst) {
            return Ok(Some(FileLock::of(file)));
        }
        if self.neglect == FaultyDuty::Lock && self.called(self.id_of(file)).ends_with(".log") {
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
        let is_neglected = mode == Rename::Exchange && self.neglect == FaultyDuty::Exchange;
        let mode = if is_neglected { Rename::Replace } else { mode };
        if mode == Rename::Replace && nodes.0 != nodes.1 {
            self.forget(to);
        }
        RealFileSystem.rename(from, to, mode)?;
        let (old, new) = (self.entry(from), self.entry(to));
        match mode {
            Rename::Replace => self.note(Step::Named(vec![(old, None), (new, nodes.0)])),
            // As a link, and the removal of the other one.
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
        // Whoever makes a file later may get its inode.
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
        if self.neglect != FaultyDuty::SyncDirectory {
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
