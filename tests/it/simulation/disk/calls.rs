//! The calls on the simulated disk.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agent_issue_tracker::store::json::fs::{
    Contents, Directory, FileSystem, Kind, Lock, OpenFile, RealFileSystem, Stamp, Unresolved,
};
use memchr::memmem;
use tempfile::NamedTempFile;

use super::{Disk, is_there, name};
use crate::simulation::neglect::Neglect;
use crate::simulation::platter::is_marked;
use crate::support::power::Step;

impl FileSystem for Disk {
    fn resolve(&self, path: &Path) -> Result<PathBuf, Unresolved> {
        let directory = path.to_owned();
        self.call("resolve").map_err(|source| Unresolved { directory, source })?;
        Ok(path.to_owned())
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        self.call("stamp")?;
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        Ok(Some(self.world.state().platter.stamp(&file)))
    }

    fn read(&self, path: &Path) -> io::Result<Option<Contents>> {
        self.call("read")?;
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let stamp = self.world.state().platter.stamp(&file);
        Ok(Some(Contents { bytes: fs::read(path)?.into(), stamp }))
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        loop {
            self.call("lock")?;
            if let Some(lock) = self.try_real_lock(path)? {
                return Ok(lock);
            }
            self.world.blocked(self.process);
        }
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        self.call("try_lock")?;
        self.try_real_lock(path)
    }

    fn kind(&self, _directory: &Path) -> Option<Kind> {
        Some(Kind::Local("simulated".to_owned()))
    }

    fn excludes(&self, _lock: &Path) -> io::Result<bool> {
        self.call("excludes")?;
        Ok(true)
    }

    fn is_at(&self, file: &File, path: &Path) -> io::Result<bool> {
        self.call("is_at")?;
        RealFileSystem.is_at(file, path)
    }

    fn create_temp(&self, target: &Path, model: &Path) -> io::Result<NamedTempFile> {
        self.call("create_temp")?;
        let temp = RealFileSystem.create_temp(target, model)?;
        let mut state = self.world.state();
        state.platter.made(temp.as_file());
        state.begin_temp(self.process, temp.path().to_owned());
        Ok(temp)
    }

    fn write(&self, temp: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        let (length, told) = self.write_call("write", bytes.len());
        if length > 0 {
            let offset = temp.as_file().metadata()?.len();
            RealFileSystem.write(temp, &bytes[..length])?;
            let mut state = self.world.state();
            let (now, id) = (state.calls, state.platter.id_of(temp.as_file()));
            state.platter.wrote(id, offset, &bytes[..length], now);
            let announced = state.ledger.announced(bytes);
            state.check(announced);
        }
        told
    }

    fn sync(&self, temp: &NamedTempFile) -> io::Result<()> {
        let synced = self.sync_file("sync", temp.as_file());
        self.through(false);
        synced
    }

    fn replace(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        self.call("replace")?;
        let path = temp.path().to_owned();
        RealFileSystem.replace(temp, target).inspect(|file| self.named(file, &path, target))
    }

    fn place(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        self.call("place")?;
        let path = temp.path().to_owned();
        // Under the name of a temporary file may be what somebody has saved, which has that name no more then.
        RealFileSystem.place(temp, target).inspect(|_| {
            self.named(&File::open(target).unwrap(), &path, target);
            let step = Step::PutAside { name: name(&path), kept: name(target) };
            self.world.state().platter.synced(step);
        })
    }

    fn exchange(&self, temp: &NamedTempFile, target: &Path) -> io::Result<bool> {
        self.call("exchange")?;
        if self.neglect == Neglect::Displaced {
            return Ok(false);
        }
        let is_exchanged = RealFileSystem.exchange(temp, target)?;
        if is_exchanged {
            let mut state = self.world.state();
            let now = state.calls;
            state.platter.exchanged(temp.path(), target, now);
        }
        Ok(is_exchanged)
    }

    fn put_aside(&self, path: &Path, kept: &Path) -> io::Result<()> {
        self.call("put_aside")?;
        if self.neglect == Neglect::Mark && is_marked(&name(kept)) {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        RealFileSystem.put_aside(path, kept)?;
        let step = Step::PutAside { name: name(path), kept: name(kept) };
        let mut state = self.world.state();
        state.platter.synced(step);
        // A temporary file may get another name of the kind.
        let temps = &mut state.processes[self.process].temps;
        temps.iter_mut().filter(|temp| *temp == path).for_each(|temp| *temp = kept.to_owned());
        Ok(())
    }

    fn stamp_open(&self, file: &File) -> io::Result<Stamp> {
        self.call("stamp_open")?;
        Ok(self.world.state().platter.stamp(file))
    }

    fn open_directory(&self, directory: &Path) -> io::Result<Directory> {
        if self.is_side() {
            self.world.wait_for_other(self.process, &self.is_alive, true);
        }
        let opened =
            self.call("open_directory").and_then(|()| RealFileSystem.open_directory(directory));
        if self.is_side() && opened.is_err() {
            self.through(true);
        }
        opened
    }

    fn sync_directory(&self, _directory: &Directory) -> io::Result<()> {
        let synced = self.call("sync_directory");
        if synced.is_ok() && self.neglect != Neglect::SyncDirectory {
            self.world.state().platter.synced(Step::SyncedDirectory);
        }
        if self.is_side() {
            self.through(true);
        }
        synced
    }

    fn remove_stale_temps(&self, target: &Path) -> Vec<PathBuf> {
        let is_done = self.call("remove_stale_temps").is_ok() && self.neglect != Neglect::Cleaning;
        if is_done { RealFileSystem.remove_stale_temps(target) } else { Vec::new() }
    }

    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>> {
        self.call("open")?;
        let open = RealFileSystem.open(path)?;
        if let Some(open) = &open {
            // Whoever opens it later is not told what happened before.
            let mut state = self.world.state();
            let id = state.platter.id_of(&open.file);
            let seen = (id, state.platter.failures_of(id));
            self.seen.lock().unwrap().insert(open.file.as_raw_fd(), seen);
        }
        Ok(open)
    }

    fn read_at(&self, file: &File, offset: u64) -> io::Result<Vec<u8>> {
        self.call("read_at")?;
        if self.neglect == Neglect::CatchingUp && offset > 0 {
            return Ok(Vec::new());
        }
        let length = file.metadata()?.len().saturating_sub(offset);
        let mut bytes = vec![0; usize::try_from(length).unwrap()];
        file.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    fn claim(&self, file: &File) -> io::Result<bool> {
        self.call("claim")?;
        if self.neglect == Neglect::Lock { Ok(true) } else { RealFileSystem.claim(file) }
    }

    fn release(&self, file: &File) {
        // That of a process that died is given up, too.
        RealFileSystem.release(file);
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let is_temp = self.is_temp(file);
        if is_temp {
            self.world.wait_for_other(self.process, &self.is_alive, false);
        }
        let is_again = is_there(file, offset, bytes);
        let (length, told) = self.write_call("write_at", bytes.len());
        let is_intent = memmem::find(bytes, b"{\"checkpoint\"").is_some();
        if length > 0 && !(is_intent && self.neglect == Neglect::Intent) {
            RealFileSystem.write_at(file, offset, &bytes[..length])?;
            let mut state = self.world.state();
            let (now, id) = (state.calls, state.platter.id_of(file));
            state.platter.wrote(id, offset, &bytes[..length], now);
            if is_again {
                // What others left is written once more, so that a sync saves it.
            } else if is_temp {
                let announced = state.ledger.announced(bytes);
                state.check(announced);
            } else if length < bytes.len() {
                state.ledger.disturbed();
            } else {
                let ends = offset + length as u64 == file.metadata()?.len();
                let appended = match () {
                    () if !ends => Err("it was written before what a dead process left".to_owned()),
                    () if is_intent => state.ledger.announced(bytes),
                    () => state.ledger.appended(self.process, bytes),
                };
                state.check(appended);
            }
        }
        if is_temp && told.is_err() {
            self.through(false);
        }
        told
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        self.call("append")?;
        RealFileSystem.append(path, bytes)
    }

    fn try_write(&self, _directory: &Path, _length_bytes: usize) -> io::Result<()> {
        self.call("try_write")
    }

    fn truncate(&self, file: &File, length_bytes: u64) -> io::Result<()> {
        self.call("truncate")?;
        if self.neglect == Neglect::Truncate {
            return Ok(());
        }
        RealFileSystem.truncate(file, length_bytes)?;
        let mut state = self.world.state();
        let (now, id) = (state.calls, state.platter.id_of(file));
        state.platter.cut(id, length_bytes, now);
        Ok(())
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        self.sync_file("sync_data", file)
    }

    fn random(&self) -> u128 {
        if self.neglect == Neglect::Epoch { 7 } else { self.world.state().rng.u128(..) }
    }

    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(1_770_000_000_000 + self.world.state().calls)
    }

    fn pause(&self, _duration: Duration) {
        // Others may go on meanwhile: that is all that it is for.
        let _ = self.call("pause");
    }

    fn since(&self, _begun: Instant) -> Duration {
        Duration::from_millis(1)
    }
}
