//! The live processes on one store, so that they know of one another, and people of them.
//!
//! Each has two files in a directory beside the store, `issues.json.processes`: a lock file, which it keeps
//! locked as long as it lives, and what it tells of itself. The kernel releases the lock when a process
//! ends, however that happens: so whoever looks knows which of them live, and removes what others have left.
//! No process number is ever taken for a living process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::domain::Timestamp;

const DIRECTORY_SUFFIX: &str = ".processes";
const LOCK: &str = "lock";
const ENTRY: &str = "json";
const BEGUN: &str = "tmp";
/// How often a lock file is made anew that others took for one left behind.
const TRIALS: usize = 20;

/// What tells this process from all others, on whichever machine.
static OWN: LazyLock<Uuid> = LazyLock::new(Uuid::new_v4);

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
    /// One that is about to change something, and asks those who serve to take over an edit before.
    Asks,
}

impl Kind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Serve => "serve",
            Self::Watch => "watch",
            Self::Asks => "asks",
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
    /// Those on the store in a file.
    pub fn beside(store: &Path) -> Self {
        let mut directory = store.as_os_str().to_owned();
        directory.push(DIRECTORY_SUFFIX);
        Self { directory: directory.into() }
    }

    /// Makes a process known until the registration is dropped or the process ends.
    ///
    /// # Errors
    ///
    /// The files cannot be written.
    pub fn register(&self, entry: Entry) -> io::Result<Registration> {
        let mut last = io::Error::from(io::ErrorKind::WouldBlock);
        for _ in 0..TRIALS {
            // Whoever leaves last removes the directory.
            match fs::create_dir(&self.directory) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
            let name = format!("{}-{}-{}", entry.pid, OWN.simple(), Uuid::new_v4().simple());
            match Registration::new(self.clone(), name, &entry) {
                Ok(registration) => return Ok(registration),
                Err(error) if is_race(&error) => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }

    /// The processes that live, the oldest first, as far as this user may see them. Removes what dead ones
    /// have left, where that is possible.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn living(&self) -> io::Result<Vec<Entry>> {
        self.entries(true, |_, entry| entry.kind != Kind::Asks)
    }

    /// The same, and removes nothing.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn look(&self) -> io::Result<Vec<Entry>> {
        self.entries(false, |_, entry| entry.kind != Kind::Asks)
    }

    /// Tells whether another process serves agents or pages, as far as this user may see it.
    pub fn is_served_by_others(&self) -> bool {
        let own = format!("-{}-", OWN.simple());
        let serves = |kind| matches!(kind, Kind::Stdio | Kind::Serve);
        let others = self.entries(false, |name, entry| serves(entry.kind) && !name.contains(&own));
        others.is_ok_and(|others| !others.is_empty())
    }

    /// Tells whether anybody asks that an edit is taken over.
    pub fn is_asked(&self) -> bool {
        let asking = self.entries(false, |_, entry| entry.kind == Kind::Asks);
        asking.is_ok_and(|asking| !asking.is_empty())
    }

    fn entries(
        &self,
        removes: bool,
        is_wanted: impl Fn(&str, &Entry) -> bool,
    ) -> io::Result<Vec<Entry>> {
        let names = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names?,
        };
        let mut living = Vec::new();
        for name in names {
            let path = name?.path();
            if path.extension().is_some_and(|extension| extension == LOCK) {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                // What another user keeps to itself hides nothing else.
                let found = look(&path, removes).ok().flatten();
                living.extend(found.filter(|entry| is_wanted(&name, entry)));
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
        let _ = fs::remove_dir(&self.registry.directory);
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
        assert!(!registry.directory.exists());
        assert_eq!(registry.living().unwrap(), []);
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
        assert!(!registry.directory.exists());
    }
}
