//! Backups on a disk: written beside their name, synced, and only then put in their place.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::NamedTempFile;

use super::format::{self, About, Backup, Flaw};
use super::{BackupError, Holdings};
use crate::domain::Timestamp;
use crate::store::json::format::Document;
use crate::store::json::fs::{FileSystem, RealFileSystem, sync_name};

/// How much is written at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// How a backup is to be written.
#[derive(Clone, Debug)]
pub struct Saving {
    /// Where to.
    pub path: PathBuf,
    /// Whether to replace a file that is there.
    pub replaces: bool,
    /// The files of the store: none of them is replaced, and the backup gets the owner and the mode of
    /// the first.
    pub store: Vec<PathBuf>,
    /// The time that is noted in it.
    pub now: Timestamp,
}

/// A backup that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saved {
    /// Where to.
    pub path: PathBuf,
    /// How large it is, in bytes.
    pub length_bytes: u64,
    /// What it tells about itself.
    pub about: About,
}

impl Saving {
    /// Writes a backup to the disk of this machine. The file is there as a whole or not at all.
    ///
    /// # Errors
    ///
    /// Nothing was written then.
    pub fn save(&self, holdings: &Holdings) -> Result<Saved, BackupError> {
        self.save_with(&RealFileSystem, holdings)
    }

    /// The same through another file system.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save).
    pub fn save_with(
        &self,
        fs: &dyn FileSystem,
        holdings: &Holdings,
    ) -> Result<Saved, BackupError> {
        let failed =
            |source| BackupError::NotSaved { path: self.path.clone(), cause: Arc::new(source) };
        // A link leads to the file that is meant; the link itself stays.
        let target = fs.resolve(&self.path).map_err(|unresolved| failed(unresolved.source))?;
        if self.store.contains(&target) {
            return Err(BackupError::OfTheStore(self.path.clone()));
        }
        let exists = fs.stamp(&target).map_err(failed)?.is_some();
        if exists && !self.replaces {
            return Err(BackupError::Exists(self.path.clone()));
        }
        let model = self.store.first().unwrap_or(&target);
        let (temp, about) = write_temp(fs, holdings, &target, model, self.now).map_err(failed)?;
        let placed = if exists { fs.replace(temp, &target) } else { fs.place(temp, &target) };
        let file = placed.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(self.path.clone()),
            _ => failed(source),
        })?;
        sync_name(fs, &target).map_err(failed)?;
        let length_bytes = fs.stamp_open(&file).map_err(failed)?.length_bytes();
        Ok(Saved { path: self.path.clone(), length_bytes, about })
    }
}

/// Writes a backup to `out`.
///
/// # Errors
///
/// Those of `out`.
pub fn write(holdings: &Holdings, now: Timestamp, out: &mut impl Write) -> io::Result<About> {
    let issues = holdings.document.issues.len();
    let partial = holdings.damage.clone();
    let about = About { made_at: now, issues, partial, checksum: String::new() };
    format::write(&holdings.document, about, out)
}

/// Reads a backup, or an `issues.json`, from the disk of this machine, and makes sure that it is whole.
///
/// # Errors
///
/// It cannot be read, or is not what was written.
pub fn load(path: &Path) -> Result<Backup, BackupError> {
    let contents = RealFileSystem.read(path);
    let contents = contents
        .map_err(|source| BackupError::Io { path: path.to_owned(), cause: Arc::new(source) })?;
    let contents = contents.ok_or_else(|| BackupError::Missing(path.to_owned()))?;
    read(contents.bytes.into(), path)
}

/// The same for bytes that came from elsewhere, called `name`.
///
/// # Errors
///
/// They are not what was written.
pub fn read(bytes: Vec<u8>, name: &Path) -> Result<Backup, BackupError> {
    let path = name.to_owned();
    format::read(bytes).map_err(|flaw| match flaw {
        Flaw::Changed => BackupError::Changed(path),
        Flaw::Format(cause) => BackupError::Format { path, cause },
    })
}

/// Keeps what a store holds in a new file, and makes that durable.
///
/// # Errors
///
/// The file is not there then, unless only its name could not be made durable.
pub(in crate::store) fn keep(
    fs: &dyn FileSystem,
    document: &Document,
    target: &Path,
    beside: &Path,
    now: Timestamp,
) -> io::Result<()> {
    let holdings = Holdings { document: document.clone(), damage: None };
    let (temp, _) = write_temp(fs, &holdings, beside, beside, now)?;
    fs.place(temp, target)?;
    sync_name(fs, target)
}

/// Writes a backup to a synced temporary file beside `target`, with the owner and mode of `model`.
fn write_temp(
    fs: &dyn FileSystem,
    holdings: &Holdings,
    target: &Path,
    model: &Path,
    now: Timestamp,
) -> io::Result<(NamedTempFile, About)> {
    let mut temp = fs.create_temp(target, model)?;
    let mut out = BufWriter::with_capacity(CHUNK_BYTES, TempWriter { fs, temp: &mut temp });
    let about = write(holdings, now, &mut out);
    let about = about.and_then(|about| out.flush().map(|()| about));
    // What could not be written must not be tried again when the writer is dropped.
    drop(out.into_parts());
    let about = about?;
    fs.sync(&temp)?;
    Ok((temp, about))
}

/// Writes to a temporary file through a file system.
struct TempWriter<'a> {
    fs: &'a dyn FileSystem,
    temp: &'a mut NamedTempFile,
}

impl Write for TempWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.fs.write(self.temp, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
