//! The process registry: lists the live processes on one store.
//!
//! Each process has two files in `.ait/<file name>/processes/` beside the store: a lock file, which it holds locked
//! while it lives, and an entry that describes it. The kernel releases the lock when the process ends, however that
//! happens, so readers know which processes live and remove the files of dead ones. A process id alone never counts
//! as a sign of life.
//!
//! Servers with web pages register in a directory of the user, too, so that one of them can list all of them.
//!
//! The last process to leave removes the directory, and its parents if they are otherwise empty. A process that only
//! reads leaves no files behind.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use ait_domain::Timestamp;
use ait_domain::string_enum;
use ait_store::files::{fs::no_follow, paths};
use ait_system::small_file;

/// Keeps git from tracking the directory; the store writes the same file.
const GITIGNORE: &str = ".gitignore";
const IGNORE_ALL: &str = "*\n";
const LOCK: &str = "lock";
const ENTRY: &str = "json";
const BEGUN: &str = "tmp";
/// How often a process creates its lock file again after another one removed it as stale.
const MAX_ATTEMPTS: usize = 20;

string_enum! {
    /// How a process uses the store.
    pub enum ProcessKind {
        /// It serves one agent on stdin and stdout.
        Stdio = "stdio",
        /// It serves HTTP alone.
        Serve = "serve",
        /// It is a command that follows new events.
        Watch = "watch",
        /// It is a command that waits for an issue.
        Wait = "wait",
    }
}

impl ProcessKind {
    /// Returns true if the process serves agents or people, until it is stopped.
    pub fn is_server(self) -> bool {
        matches!(self, Self::Stdio | Self::Serve)
    }
}

/// The description of a process.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessEntry {
    /// Its process id on its machine or in its container.
    pub pid: u32,
    /// How it uses the store.
    pub kind: ProcessKind,
    pub version: String,
    /// Its start time.
    pub started_at: Timestamp,
    /// The address that it listens on, or would listen on.
    pub address: Option<IpAddr>,
    /// Whether callers over HTTP need a token.
    pub is_guarded: bool,
    /// The port on which it serves the web pages and /mcp.
    pub port: Option<u16>,
    /// The URL of its web pages.
    pub url: Option<String>,
    /// The name of its project, among all servers of a user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Its store, among all servers of a user: a path, or a URL without its password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    /// After how long it lets claims lapse whose clients are gone, in milliseconds; 0 if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_grace_ms: Option<u64>,
}

impl ProcessEntry {
    /// Creates the entry of this process, before it serves a port.
    pub fn new(kind: ProcessKind, now: Timestamp) -> Self {
        Self {
            pid: process::id(),
            kind,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now,
            address: None,
            is_guarded: false,
            port: None,
            url: None,
            project: None,
            store: None,
            claim_grace_ms: None,
        }
    }

    /// Returns the address at which this machine reaches its web pages; `None` if it has none, or if they need a token.
    pub fn open_address(&self) -> Option<SocketAddr> {
        let address = self.address.filter(|address| !address.is_unspecified());
        let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        self.port.filter(|_| !self.is_guarded).map(|port| SocketAddr::new(address, port))
    }
}

/// The registry of the processes on one store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registry {
    directory: PathBuf,
}

impl Registry {
    /// Returns the registry for the store in `store`, which must not be a symbolic link.
    pub fn for_store(store: &Path) -> Self {
        Self { directory: paths::processes_of(store) }
    }

    /// Returns the registry of all servers of the user that have web pages; `None` if the user has no home directory.
    pub fn of_user() -> Option<Self> {
        Some(Self { directory: small_file::state_directory("servers")?.join("processes") })
    }

    /// Registers a process until the registration is dropped or the process ends.
    pub fn register(&self, entry: ProcessEntry) -> io::Result<Registration> {
        let mut last = io::Error::from(io::ErrorKind::WouldBlock);
        for _ in 0..MAX_ATTEMPTS {
            let name = format!("{}-{}", entry.pid, Uuid::new_v4().simple());
            // A process that leaves may remove the directories at any time.
            let made = self.make_directories();
            match made.and_then(|()| Registration::new(self.clone(), name, &entry)) {
                Ok(registration) => return Ok(registration),
                Err(error) if is_race(&error) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Returns the directory with its parents up to that of the store, which comes first.
    fn directories(&self) -> impl Iterator<Item = &Path> {
        let own = self.own_directory();
        own.parent().into_iter().chain([own, &self.directory])
    }

    /// Refuses symbolic links, which a repository may carry: files would be created and removed where they lead.
    fn refuse_links(&self) -> io::Result<()> {
        match self.directories().find(|directory| directory.is_symlink()) {
            Some(link) => {
                let link = link.display();
                let why = format!("{link} is a symbolic link, which is not followed: remove it");
                Err(io::Error::other(why))
            }
            None => Ok(()),
        }
    }

    /// Creates the directory and its parents, up to that of the store.
    fn make_directories(&self) -> io::Result<()> {
        self.refuse_links()?;
        let own = self.own_directory();
        for directory in self.directories() {
            match fs::create_dir(directory) {
                Ok(()) if directory == own => fs::write(own.join(GITIGNORE), IGNORE_ALL)?,
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the directory and its parents, as far as they are empty.
    fn remove_directories(&self) {
        let own = self.own_directory();
        if self.refuse_links().is_err() || fs::remove_dir(&self.directory).is_err() {
            return;
        }
        let is_ours = |name: &io::Result<fs::DirEntry>| {
            name.as_ref().is_ok_and(|name| name.file_name() == GITIGNORE)
        };
        let gitignore = own.join(GITIGNORE);
        let is_empty = fs::read_dir(own).is_ok_and(|mut names| names.all(|name| is_ours(&name)))
            && fs::read(&gitignore).map_or(true, |text| text == IGNORE_ALL.as_bytes());
        if !is_empty {
            return;
        }
        let _ = fs::remove_file(&gitignore);
        if fs::remove_dir(own).is_ok() {
            let _ = own.parent().map(fs::remove_dir);
        } else if own.exists() {
            // Another process just created a store in it.
            let _ = fs::write(&gitignore, IGNORE_ALL);
        }
    }

    /// The directory of everything that belongs to the store except its file.
    fn own_directory(&self) -> &Path {
        self.directory.parent().unwrap_or(&self.directory)
    }

    /// Lists the live processes, oldest first, as far as this user may see them. Removes the files of dead processes
    /// where possible.
    pub fn list_live(&self) -> io::Result<Vec<ProcessEntry>> {
        let live = self.entries(true)?;
        if live.is_empty() {
            self.remove_directories();
        }
        Ok(live)
    }

    /// Lists the live processes like [`list_live`](Self::list_live), but removes nothing.
    pub fn list_live_readonly(&self) -> io::Result<Vec<ProcessEntry>> {
        self.entries(false)
    }

    fn entries(&self, removes: bool) -> io::Result<Vec<ProcessEntry>> {
        self.refuse_links()?;
        let names = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let mut live = Vec::new();
        for name in names {
            let path = name?.path();
            if path.extension().is_some_and(|extension| extension == LOCK) {
                // An unreadable file of another user must not hide other processes.
                live.extend(read_entry(&path, removes).ok().flatten());
            } else if removes && !path.with_extension(LOCK).exists() {
                // A process creates its lock file first and removes it last, so a file without one is stale.
                let _ = fs::remove_file(path);
            }
        }
        live.sort_by_key(|entry| (entry.started_at, entry.pid));
        Ok(live)
    }

    /// Lists the files of dead processes, as far as this user may see them. Removes nothing.
    pub fn stale_files(&self) -> Vec<PathBuf> {
        if self.refuse_links().is_err() {
            return Vec::new();
        }
        let is_free = |lock: &Path| {
            no_follow().read(true).open(lock).is_ok_and(|file| file.try_lock_shared().is_ok())
        };
        let names = fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let mut left: Vec<_> = names
            .map(|name| name.path())
            .filter(|path| {
                let lock = path.with_extension(LOCK);
                if lock.exists() { is_free(&lock) } else { path.exists() }
            })
            .collect();
        left.sort();
        left
    }
}

/// Registers a server with web pages among those of the user; `None` if the user has no home directory.
pub fn register_for_user(entry: ProcessEntry) -> io::Result<Option<Registration>> {
    let (Some(own), Some(registry)) = (small_file::state_directory("servers"), Registry::of_user())
    else {
        return Ok(None);
    };
    fs::create_dir_all(own)?;
    // This removes the files of dead servers. No other command looks for them.
    let _ = registry.list_live();
    registry.register(entry).map(Some)
}

/// Reads the entry of the process behind a lock file, if it lives. `removes` deletes the files of a dead one.
fn read_entry(lock: &Path, removes: bool) -> io::Result<Option<ProcessEntry>> {
    let about = lock.with_extension(ENTRY);
    let file = match no_follow().read(true).open(lock) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    // Others may look at the same time, and must not take this one for the process.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            // A missing or partial entry belongs to a process that is just starting.
            let text = fs::read(about).unwrap_or_default();
            Ok(serde_json::from_slice(&text).ok())
        }
        Err(TryLockError::Error(error)) => Err(error),
        Ok(()) if !removes || file.try_lock().is_err() => Ok(None),
        Ok(()) => {
            // The lock keeps other processes from removing or reusing these files. Removal may fail where the files
            // belong to another user.
            for path in [about, lock.with_extension(BEGUN), lock.to_owned()] {
                let _ = fs::remove_file(path);
            }
            Ok(None)
        }
    }
}

/// Returns true if another process removed these files as stale, or the directory as empty.
fn is_race(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
}

/// A registered process. Dropping it ends the registration.
#[derive(Debug)]
pub struct Registration {
    registry: Registry,
    entry: ProcessEntry,
    name: String,
    /// Held locked while the process lives.
    _lock: File,
}

impl Registration {
    fn new(registry: Registry, name: String, entry: &ProcessEntry) -> io::Result<Self> {
        let path = registry.directory.join(&name).with_extension(LOCK);
        let lock = OpenOptions::new().write(true).create_new(true).open(&path)?;
        lock.try_lock()?;
        // Before the lock was taken, another process may have removed the file as stale.
        fs::metadata(&path)?;
        let registration = Self { registry, entry: entry.clone(), name, _lock: lock };
        registration.write()?;
        Ok(registration)
    }

    /// Records where this process serves its web pages.
    pub fn serves(&mut self, port: u16, url: String) -> io::Result<()> {
        self.entry.port = Some(port);
        self.entry.url = Some(url);
        self.write()
    }

    /// Registers the process again if its files are gone, such as after `git clean`.
    pub fn restore(&mut self) -> io::Result<()> {
        if !self.path(LOCK).try_exists()? {
            *self = self.registry.register(self.entry.clone())?;
        }
        Ok(())
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.registry.directory.join(&self.name).with_extension(extension)
    }

    fn write(&self) -> io::Result<()> {
        // The rename makes the entry appear whole. It needs no sync: after a power cut it is worthless.
        fs::write(self.path(BEGUN), serde_json::to_vec(&self.entry)?)?;
        fs::rename(self.path(BEGUN), self.path(ENTRY))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // Files that cannot be removed are left to the next reader. Only the last process finds the directory empty.
        for extension in [ENTRY, BEGUN, LOCK] {
            let _ = fs::remove_file(self.path(extension));
        }
        self.registry.remove_directories();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use super::*;

    fn entry(kind: ProcessKind) -> ProcessEntry {
        ProcessEntry::new(kind, Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap())
    }

    #[test]
    fn a_process_is_listed_until_its_registration_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::for_store(&directory.path().join("issues.json"));
        assert_eq!(registry.list_live().unwrap(), []);
        let mut one = registry.register(entry(ProcessKind::Stdio)).unwrap();
        let other = registry.register(entry(ProcessKind::Serve)).unwrap();
        one.serves(3000, "http://localhost:3000".to_owned()).unwrap();
        let live = registry.list_live().unwrap();
        let of = |kind| live.iter().find(|entry| entry.kind == kind).unwrap();
        assert_eq!(
            (live.len(), of(ProcessKind::Stdio).port, of(ProcessKind::Serve).port),
            (2, Some(3000), None)
        );
        drop(other);
        assert_eq!(registry.list_live().unwrap().len(), 1);
        drop(one);
        assert_eq!(registry.list_live().unwrap(), []);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_process_whose_files_are_gone_registers_again() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::for_store(&directory.path().join("issues.json"));
        let mut one = registry.register(entry(ProcessKind::Stdio)).unwrap();
        one.serves(3000, "http://localhost:3000".to_owned()).unwrap();
        let before = registry.list_live().unwrap();
        fs::remove_dir_all(directory.path().join(".ait")).unwrap();
        assert_eq!(registry.list_live().unwrap(), []);
        one.restore().unwrap();
        assert_eq!(registry.list_live().unwrap(), before);
        one.restore().unwrap();
        assert_eq!(fs::read_dir(&registry.directory).unwrap().count(), 2);
        drop(one);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_last_process_to_leave_keeps_store_files() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::for_store(&directory.path().join("issues.json"));
        let one = registry.register(entry(ProcessKind::Stdio)).unwrap();
        let own = directory.path().join(".ait/issues.json");
        assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "*\n");
        fs::create_dir(own.join("log")).unwrap();
        drop(one);
        assert!(own.join("log").exists() && own.join(".gitignore").exists());
        assert!(!registry.directory.exists());
    }

    #[test]
    fn registering_does_not_create_missing_directories() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::for_store(&directory.path().join("missing/issues.json"));
        assert!(registry.register(entry(ProcessKind::Stdio)).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn read_only_listing_reports_stale_files_without_removing_them() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::for_store(&directory.path().join("issues.json"));
        let one = registry.register(entry(ProcessKind::Stdio)).unwrap();
        let left = ["1-left.lock", "1-left.json"].map(|name| registry.directory.join(name));
        for path in &left {
            fs::write(path, "").unwrap();
        }
        assert_eq!(registry.list_live_readonly().unwrap().len(), 1);
        let mut told = registry.stale_files();
        told.reverse();
        assert_eq!(told, left);
        assert!(left.iter().all(|path| path.exists()));
        drop(one);
    }

    #[test]
    fn files_of_dead_processes_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::for_store(&directory.path().join("issues.json"));
        let one = registry.register(entry(ProcessKind::Stdio)).unwrap();
        let left = registry.directory.join(format!("{}-left", process::id()));
        fs::write(left.with_extension(LOCK), "").unwrap();
        fs::copy(one.path(ENTRY), left.with_extension(ENTRY)).unwrap();
        // One that another process looks at counts as dead, too, and stays for now.
        let look = fs::File::open(left.with_extension(LOCK)).unwrap();
        look.try_lock_shared().unwrap();
        assert_eq!(registry.list_live_readonly().unwrap(), std::slice::from_ref(&one.entry));
        assert_eq!(registry.list_live().unwrap(), std::slice::from_ref(&one.entry));
        assert_eq!(registry.stale_files().len(), 2);
        drop(look);
        assert_eq!(registry.list_live().unwrap(), std::slice::from_ref(&one.entry));
        assert!(!left.with_extension(LOCK).exists() && !left.with_extension(ENTRY).exists());
    }

    /// Other processes list and leave while processes register.
    #[test]
    fn a_starting_process_counts_as_alive() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::for_store(&directory.path().join("issues.json"));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let own = registry.register(entry(ProcessKind::Serve)).unwrap();
                        assert!(own.path(LOCK).exists() && own.path(ENTRY).exists());
                        assert!(!registry.list_live().unwrap().is_empty());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
