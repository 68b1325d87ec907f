//! The disk as one simulated process uses it: each call waits at the gate, and may fail or be the last one.

mod calls;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread;

use agent_issue_tracker::store::json::fs::{FileSystem, Lock, RealFileSystem};

use super::neglect::Neglect;
use super::story::Verdict;
use super::world::{GUEST, World, guest_of};
use crate::support::power::{FileId, Step};

/// A disk as one process uses it.
pub struct Disk {
    pub world: Arc<World>,
    pub process: usize,
    pub is_alive: Arc<AtomicBool>,
    pub neglect: Neglect,
    late: Mutex<Vec<Step>>,
    /// How many failures of a file each opening of it was told of.
    seen: Mutex<BTreeMap<RawFd, (FileId, usize)>>,
}

impl Disk {
    pub fn new(
        world: &Arc<World>,
        process: usize,
        is_alive: Arc<AtomicBool>,
        neglect: Neglect,
    ) -> Self {
        let (late, seen) = (Mutex::default(), Mutex::default());
        Self { world: Arc::clone(world), process, is_alive, neglect, late, seen }
    }

    fn gate(&self, what: &'static str) -> Verdict {
        let me = match thread::current().name() {
            Some(GUEST) => guest_of(self.process),
            _ => self.process,
        };
        let verdict = self.world.gate(me, &self.is_alive, what);
        // Syncs that are late are done when their caller was answered and begins something else.
        if verdict != Verdict::Dead && what == "resolve" {
            for step in self.late.lock().unwrap().drain(..) {
                self.world.state().platter.synced(step);
            }
        }
        verdict
    }

    /// Waits at the gate before a call that is done as a whole or not at all.
    fn call(&self, what: &'static str) -> io::Result<()> {
        match self.gate(what) {
            Verdict::Goes => Ok(()),
            Verdict::Fails => Err(failed()),
            Verdict::Dies | Verdict::Dead => Err(died()),
        }
    }

    /// Waits at the gate before a write; tells how much of it is written, and what the caller is told.
    fn write_call(&self, what: &'static str, length: usize) -> (usize, io::Result<()>) {
        let verdict = self.gate(what);
        let mut state = self.world.state();
        // Those who die together do what is left of them in any order.
        if verdict != Verdict::Dead {
            state.tell(self.process, "bytes", length as u64, None);
        }
        match verdict {
            Verdict::Goes => (length, Ok(())),
            Verdict::Fails => (state.rng.usize(0..length.max(1)), Err(failed())),
            Verdict::Dies => (state.rng.usize(0..=length), Err(died())),
            Verdict::Dead => (0, Err(died())),
        }
    }

    /// A sync of a file. One that fails leaves what it was for unsaved for good, and each process that had the
    /// file open is told once.
    fn sync_file(&self, what: &'static str, file: &File) -> io::Result<()> {
        let verdict = self.gate(what);
        let mut state = self.world.state();
        let id = state.platter.id_of(file);
        match verdict {
            Verdict::Dies | Verdict::Dead => return Err(died()),
            Verdict::Fails => {
                state.platter.failed(id);
                state.ledger.is_unsaved = true;
            }
            Verdict::Goes => match (self.neglect, what) {
                (Neglect::SyncData, "sync_data") | (Neglect::SyncTemp, "sync") => {}
                (Neglect::LateSync, "sync_data") => {
                    self.late.lock().unwrap().push(Step::Synced(id));
                }
                _ => state.platter.synced(Step::Synced(id)),
            },
        }
        let failures = state.platter.failures_of(id);
        let seen = self.seen.lock().unwrap().insert(file.as_raw_fd(), (id, failures));
        // The number of an opening that was closed is given again.
        let seen = seen.filter(|(known, _)| *known == id).map_or(0, |(_, seen)| seen);
        if seen == failures || self.neglect == Neglect::FailedSync {
            return Ok(());
        }
        state.processes[self.process].is_hurt = true;
        Err(failed())
    }

    /// Notes that a temporary file got its name.
    fn named(&self, file: &File, temp: &Path, target: &Path) {
        let mut state = self.world.state();
        state.processes[self.process].temps.retain(|known| known != temp);
        let (now, id) = (state.calls, state.platter.id_of(file));
        state.platter.renamed(id, name(target), now);
    }

    /// Whether the caller is the second thread of a checkpoint.
    fn is_side(&self) -> bool {
        thread::current().name().is_none()
    }

    fn through(&self, is_side: bool) {
        self.world.through(self.process, is_side);
    }

    fn is_temp(&self, file: &File) -> bool {
        let state = self.world.state();
        let temps = &state.processes[self.process].temps;
        temps.iter().any(|temp| RealFileSystem.is_at(file, temp).unwrap_or(false))
    }
}

/// Tells whether a file has these bytes at an offset.
fn is_there(file: &File, offset: u64, bytes: &[u8]) -> bool {
    let mut found = vec![0; bytes.len()];
    file.read_exact_at(&mut found, offset).is_ok() && found == bytes
}

fn failed() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "a fault")
}

fn died() -> io::Error {
    io::Error::other("this process is dead")
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

impl Disk {
    fn try_real_lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        if self.neglect == Neglect::Lock {
            let file = File::options().create(true).append(true).open(path)?;
            return Ok(Some(Lock { file }));
        }
        RealFileSystem.try_lock(path)
    }
}
