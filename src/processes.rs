//! The live processes on one store, so that they know of one another, and people of them.
//!
//! Each has two files in `.ait/<file name>/processes/` beside the store: a lock file, which it keeps locked as
//! long as it lives, and what it tells of itself. The kernel releases the lock when a process ends, however
//! that happens: so whoever looks knows which of them live, and removes what others have left. No process
//! number is ever taken for a living process.
//!
//! The last process to leave removes the directory, and those around it that are otherwise empty: a process
//! that only reads leaves nothing behind.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::Timestamp;
use crate::store::json::place;

/// What keeps git from tracking the directory, as the store writes it, too.
const GITIGNORE: &str = ".gitignore";
const IGNORE_ALL: &str = "*\n";
const LOCK: &str = "lock";
const ENTRY: &str = "json";
const BEGUN: &str = "tmp";
/// How often a lock file is made anew that others took for one left behind.
const TRIALS: usize = 20;

/// How a process uses the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It serves one agent on stdin and stdout.
    Stdio,
    /// It serves HTTP alone.
    Serve,
    /// A command that follows what happens.
    Watch,
}

impl Kind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Serve => "serve",
            Self::Watch => "watch",
        }
    }
}

/// What a process tells of itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its number, as the machine or container that it runs on counts.
    pub pid: u32,
    /// How it uses the store.
    pub kind: Kind,
    /// Its version.
    pub version: String,
    /// When it began.
    pub started_at: Timestamp,
    /// The address that it listens on, or would.
    pub address: Option<IpAddr>,
    /// Whether callers over HTTP need a token.
    pub is_guarded: bool,
    /// The port on which it serves the page and /mcp.
    pub port: Option<u16>,
    /// Where its page is.
    pub url: Option<String>,
}

impl Entry {
    /// This process, which serves nothing yet.
    pub fn new(kind: Kind, now: Timestamp) -> Self {
        Self {
            pid: process::id(),
            kind,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: now,
            address: None,
            is_guarded: false,
            port: None,
            url: None,
        }
    }
}

/// The processes on one store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registry {
    directory: PathBuf,
}

impl Registry {
    /// Those on the store in a file, which is no symbolic link.
    pub fn beside(store: &Path) -> Self {
        Self { directory: place::processes_of(store) }
    }

    /// Makes a process known until the registration is dropped or the process ends.
    ///
    /// # Errors
    ///
    /// The files cannot be written.
    pub fn register(&self, entry: Entry) -> io::Result<Registration> {
        let mut last = io::Error::from(io::ErrorKind::WouldBlock);
        for _ in 0..TRIALS {
            let name = format!("{}-{}", entry.pid, Uuid::new_v4().simple());
            // Whoever leaves last removes the directories.
            let made = self.make_directories();
            match made.and_then(|()| Registration::new(self.clone(), name, &entry)) {
                Ok(registration) => return Ok(registration),
                Err(error) if is_race(&error) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// Makes the directory and those around it, up to that of the store.
    fn make_directories(&self) -> io::Result<()> {
        let own = self.own_directory();
        for directory in own.parent().into_iter().chain([own, &self.directory]) {
            match fs::create_dir(directory) {
                Ok(()) if directory == own => fs::write(own.join(GITIGNORE), IGNORE_ALL)?,
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the directory and those around it, as far as they are empty.
    fn remove_directories(&self) {
        let own = self.own_directory();
        if fs::remove_dir(&self.directory).is_err() {
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
            // A store was just made in it.
            let _ = fs::write(&gitignore, IGNORE_ALL);
        }
    }

    /// The directory of everything that belongs to the store but its file.
    fn own_directory(&self) -> &Path {
        self.directory.parent().unwrap_or(&self.directory)
    }

    /// The processes that live, the oldest first, as far as this user may see them. Removes what dead ones
    /// have left, where that is possible.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn living(&self) -> io::Result<Vec<Entry>> {
        let living = self.entries(true)?;
        if living.is_empty() {
            self.remove_directories();
        }
        Ok(living)
    }

    /// The same, and removes nothing.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn look(&self) -> io::Result<Vec<Entry>> {
        self.entries(false)
    }

    fn entries(&self, removes: bool) -> io::Result<Vec<Entry>> {
        let names = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let mut living = Vec::new();
        for name in names {
            let path = name?.path();
            if path.extension().is_some_and(|extension| extension == LOCK) {
                // What another user keeps to itself hides nothing else.
                living.extend(look(&path, removes).ok().flatten());
            } else if removes && !path.with_extension(LOCK).exists() {
                // A process makes its lock first, and removes it last.
                let _ = fs::remove_file(path);
            }
        }
        living.sort_by_key(|entry| (entry.started_at, entry.pid));
        Ok(living)
    }

    /// The files of processes that have died, as far as this user may see them. Removes nothing.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        let is_free =
            |lock: &Path| File::open(lock).is_ok_and(|file| matches!(file.try_lock(), Ok(())));
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

/// What the process behind a lock file tells, if it lives; `removes` what a dead one has left.
fn look(lock: &Path, removes: bool) -> io::Result<Option<Entry>> {
    let about = lock.with_extension(ENTRY);
    let file = match File::open(lock) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            // One that is not there yet, or not whole, belongs to a process that only begins.
            let text = fs::read(about).unwrap_or_default();
            Ok(serde_json::from_slice(&text).ok())
        }
        Err(TryLockError::Error(error)) => Err(error),
        Ok(()) if !removes => Ok(None),
        Ok(()) => {
            // Nobody else can remove or take over what is locked here. Somebody else's process may be
            // left where it cannot be removed.
            for path in [about, lock.with_extension(BEGUN), lock.to_owned()] {
                let _ = fs::remove_file(path);
            }
            Ok(None)
        }
    }
}

/// Tells whether somebody took the files of this process for left ones, or the directory for empty.
fn is_race(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::WouldBlock)
}

/// A process that is known to the others. Ends when it is dropped.
#[derive(Debug)]
pub struct Registration {
    registry: Registry,
    entry: Entry,
    name: String,
    /// Locked.
    _lock: File,
}

impl Registration {
    fn new(registry: Registry, name: String, entry: &Entry) -> io::Result<Self> {
        let path = registry.directory.join(&name).with_extension(LOCK);
        let lock = OpenOptions::new().write(true).create_new(true).open(&path)?;
        lock.try_lock()?;
        // Between the two, somebody may have taken it for one that was left.
        fs::metadata(&path)?;
        let registration = Self { registry, entry: entry.clone(), name, _lock: lock };
        registration.write()?;
        Ok(registration)
    }

    /// Tells the others where this process serves its page.
    ///
    /// # Errors
    ///
    /// The files cannot be written.
    pub fn serves(&mut self, port: u16, url: String) -> io::Result<()> {
        self.entry.port = Some(port);
        self.entry.url = Some(url);
        self.write()
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.registry.directory.join(&self.name).with_extension(extension)
    }

    fn write(&self) -> io::Result<()> {
        // Whole or not at all. Nothing is lost with it in a power cut.
        fs::write(self.path(BEGUN), serde_json::to_vec(&self.entry)?)?;
        fs::rename(self.path(BEGUN), self.path(ENTRY))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        // What cannot be removed is left to the next one who looks; only the last one finds the directory
        // empty.
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

    fn entry(kind: Kind) -> Entry {
        Entry::new(kind, Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap())
    }

    #[test]
    fn a_process_is_known_as_long_as_its_registration_lives() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::beside(&directory.path().join("issues.json"));
        assert_eq!(registry.living().unwrap(), []);
        let mut one = registry.register(entry(Kind::Stdio)).unwrap();
        let other = registry.register(entry(Kind::Serve)).unwrap();
        one.serves(3000, "http://localhost:3000".to_owned()).unwrap();
        let living = registry.living().unwrap();
        let of = |kind| living.iter().find(|entry| entry.kind == kind).unwrap();
        assert_eq!(
            (living.len(), of(Kind::Stdio).port, of(Kind::Serve).port),
            (2, Some(3000), None)
        );
        drop(other);
        assert_eq!(registry.living().unwrap().len(), 1);
        drop(one);
        assert_eq!(registry.living().unwrap(), []);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_last_to_leave_keeps_what_belongs_to_a_store() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::beside(&directory.path().join("issues.json"));
        let one = registry.register(entry(Kind::Stdio)).unwrap();
        let own = directory.path().join(".ait/issues.json");
        assert_eq!(fs::read_to_string(own.join(".gitignore")).unwrap(), "*\n");
        fs::create_dir(own.join("log")).unwrap();
        drop(one);
        assert!(own.join("log").exists() && own.join(".gitignore").exists());
        assert!(!registry.directory.exists());
    }

    #[test]
    fn directories_that_are_not_of_a_store_are_not_made() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::beside(&directory.path().join("missing/issues.json"));
        assert!(registry.register(entry(Kind::Stdio)).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_look_tells_what_dead_processes_have_left_and_leaves_it() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::beside(&directory.path().join("issues.json"));
        let one = registry.register(entry(Kind::Stdio)).unwrap();
        let left = ["1-left.lock", "1-left.json"].map(|name| registry.directory.join(name));
        for path in &left {
            fs::write(path, "").unwrap();
        }
        assert_eq!(registry.look().unwrap().len(), 1);
        let mut told = registry.left_behind();
        told.reverse();
        assert_eq!(told, left);
        assert!(left.iter().all(|path| path.exists()));
        drop(one);
    }

    #[test]
    fn what_a_dead_process_has_left_counts_for_nothing_and_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::beside(&directory.path().join("issues.json"));
        let one = registry.register(entry(Kind::Stdio)).unwrap();
        let left = registry.directory.join(format!("{}-left", process::id()));
        fs::write(left.with_extension(LOCK), "").unwrap();
        fs::copy(one.path(ENTRY), left.with_extension(ENTRY)).unwrap();
        assert_eq!(registry.living().unwrap(), std::slice::from_ref(&one.entry));
        assert!(!left.with_extension(LOCK).exists() && !left.with_extension(ENTRY).exists());
    }

    /// Others look, and leave, while processes begin.
    #[test]
    fn nobody_is_taken_for_dead_while_it_begins() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::beside(&directory.path().join("issues.json"));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let own = registry.register(entry(Kind::Serve)).unwrap();
                        assert!(own.path(LOCK).exists() && own.path(ENTRY).exists());
                        assert!(!registry.living().unwrap().is_empty());
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
