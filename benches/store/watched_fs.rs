//! The real file system with a slower disk, and with a word when `issues.json` is up to date.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime};

use agent_issue_tracker::store::json::fs::{
    Contents, Directory, FileSystem, Kind, Lock, OpenFile, RealFileSystem, Stamp, Unresolved,
};
use tempfile::NamedTempFile;

/// Passes every call on to [`RealFileSystem`].
#[derive(Default)]
pub struct WatchedFs {
    /// How much longer each sync of the journal takes.
    sync_delay: Duration,
    /// Who wants to know when a checkpoint is complete.
    saved: Option<Mutex<Sender<()>>>,
    /// The syncs of the directory that are missing to complete it.
    missing: AtomicUsize,
}

impl WatchedFs {
    pub fn slow(sync_delay: Duration) -> Arc<dyn FileSystem> {
        Arc::new(Self { sync_delay, ..Self::default() })
    }

    pub fn telling(saved: Sender<()>) -> Arc<dyn FileSystem> {
        Arc::new(Self { saved: Some(Mutex::new(saved)), ..Self::default() })
    }
}

impl FileSystem for WatchedFs {
    fn sync_data(&self, file: &File) -> io::Result<()> {
        if !self.sync_delay.is_zero() {
            thread::sleep(self.sync_delay);
        }
        RealFileSystem.sync_data(file)
    }

    fn replace(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        if target.extension().is_some_and(|extension| extension == "json") {
            // For this file, and for the journal that begins behind it.
            self.missing.store(2, Ordering::Relaxed);
        }
        RealFileSystem.replace(temp, target)
    }

    fn place(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        RealFileSystem.place(temp, target)
    }

    fn put_aside(&self, path: &Path, kept: &Path) -> io::Result<()> {
        RealFileSystem.put_aside(path, kept)
    }

    fn open_directory(&self, directory: &Path) -> io::Result<Directory> {
        RealFileSystem.open_directory(directory)
    }

    fn sync_directory(&self, directory: &Directory) -> io::Result<()> {
        RealFileSystem.sync_directory(directory)?;
        let step = |missing: usize| missing.checked_sub(1);
        let before = self.missing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step);
        if let (Ok(1), Some(saved)) = (before, &self.saved) {
            // Whoever is gone does not want to know.
            let _ = saved.lock().expect("nobody panics here").send(());
        }
        Ok(())
    }

    fn resolve(&self, path: &Path) -> Result<PathBuf, Unresolved> {
        RealFileSystem.resolve(path)
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        RealFileSystem.stamp(path)
    }

    fn read(&self, path: &Path) -> io::Result<Option<Contents>> {
        RealFileSystem.read(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        RealFileSystem.lock(path)
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        RealFileSystem.try_lock(path)
    }

    fn excludes(&self, path: &Path) -> io::Result<bool> {
        RealFileSystem.excludes(path)
    }

    fn kind(&self, directory: &Path) -> Option<Kind> {
        RealFileSystem.kind(directory)
    }

    fn is_at(&self, file: &File, path: &Path) -> io::Result<bool> {
        RealFileSystem.is_at(file, path)
    }

    fn create_temp(&self, target: &Path, model: &Path) -> io::Result<NamedTempFile> {
        RealFileSystem.create_temp(target, model)
    }

    fn write(&self, temp: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        RealFileSystem.write(temp, bytes)
    }

    fn sync(&self, temp: &NamedTempFile) -> io::Result<()> {
        RealFileSystem.sync(temp)
    }

    fn exchange(&self, temp: &NamedTempFile, target: &Path) -> io::Result<bool> {
        RealFileSystem.exchange(temp, target)
    }

    fn stamp_open(&self, file: &File) -> io::Result<Stamp> {
        RealFileSystem.stamp_open(file)
    }

    fn remove_stale_temps(&self, target: &Path) -> Vec<PathBuf> {
        RealFileSystem.remove_stale_temps(target)
    }

    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>> {
        RealFileSystem.open(path)
    }

    fn read_at(&self, file: &File, offset: u64) -> io::Result<Vec<u8>> {
        RealFileSystem.read_at(file, offset)
    }

    fn claim(&self, file: &File) -> io::Result<bool> {
        RealFileSystem.claim(file)
    }

    fn release(&self, file: &File) {
        RealFileSystem.release(file);
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        RealFileSystem.write_at(file, offset, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        RealFileSystem.append(path, bytes)
    }

    fn try_write(&self, directory: &Path, length_bytes: usize) -> io::Result<()> {
        RealFileSystem.try_write(directory, length_bytes)
    }

    fn truncate(&self, file: &File, length_bytes: u64) -> io::Result<()> {
        RealFileSystem.truncate(file, length_bytes)
    }

    fn random(&self) -> u128 {
        RealFileSystem.random()
    }

    fn now(&self) -> SystemTime {
        RealFileSystem.now()
    }
}
