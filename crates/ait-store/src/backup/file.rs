//! Backups on disk: written to a temporary file, synced, and then renamed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::format::{self, Backup, BackupMetadata, InvalidBackup};
use super::{BackupContent, BackupError};
use crate::files::fs::{FileSystem, RealFileSystem, Rename, directory_of, is_abandoned, read_file};
use crate::files::render::render;
use ait_domain::Timestamp;

/// The suffix of a backup that is being written.
const TEMP_SUFFIX: &str = ".ait-backup.tmp";

/// Returns true if a file name is that of an unfinished backup.
pub fn is_exchange_file(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(TEMP_SUFFIX)
}

/// Options for writing a backup.
#[derive(Clone, Debug)]
pub struct SaveOptions {
    /// The path of the backup.
    pub path: PathBuf,
    /// True to replace an existing file.
    pub replaces: bool,
    /// The paths of the store: `issues.json`, then the directory of everything else. A backup must not replace any of
    /// them, and gets the owner and mode of the first.
    pub store: Vec<PathBuf>,
    /// The time to record in the backup.
    pub now: Timestamp,
}

/// A backup that was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Saved {
    /// The path of the backup.
    pub path: PathBuf,
    /// The size in bytes.
    pub length_bytes: u64,
    pub about: BackupMetadata,
}

impl SaveOptions {
    /// Writes a backup to disk. The file appears as a whole or not at all.
    ///
    /// # Errors
    ///
    /// [`BackupError`]. Nothing was written then.
    pub fn save(&self, content: BackupContent) -> Result<Saved, BackupError> {
        self.save_with(&RealFileSystem, content)
    }

    /// Writes a backup through another file system.
    pub fn save_with(
        &self,
        fs: &dyn FileSystem,
        content: BackupContent,
    ) -> Result<Saved, BackupError> {
        let failed =
            |source| BackupError::NotSaved { path: self.path.clone(), cause: Arc::new(source) };
        // Replaces the target of a symbolic link, not the link.
        let target = fs.resolve(&self.path).map_err(|unresolved| failed(unresolved.source))?;
        // Includes everything inside the directory.
        if self.store.iter().any(|own| target.starts_with(own)) {
            return Err(BackupError::OfTheStore(self.path.clone()));
        }
        let exists = fs.fingerprint(&target).map_err(failed)?.is_some();
        if exists && !self.replaces {
            return Err(BackupError::Exists(self.path.clone()));
        }
        let model = self.store.first().unwrap_or(&target);
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let id = Uuid::new_v4().as_u128() as u32;
        let temp = target.with_file_name(format!(".{name}.{id:08x}{TEMP_SUFFIX}"));
        let mut about = None;
        let rendered = render(fs, &temp, model, |out| {
            about = Some(format::write(content, self.now, out)?);
            Ok(())
        });
        let length_bytes = rendered.map_err(failed)?.length_bytes;
        let mode = if exists { Rename::Replace } else { Rename::KeepOther };
        let placed = fs.rename(&temp, &target, mode).inspect_err(|_| drop(fs.remove(&temp)));
        placed.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => BackupError::Exists(self.path.clone()),
            _ => failed(source),
        })?;
        fs.sync_directory(directory_of(&target)).map_err(failed)?;
        remove_stale(fs, directory_of(&target));
        let about = about.ok_or_else(|| failed(io::Error::other("nothing was written")))?;
        Ok(Saved { path: self.path.clone(), length_bytes, about })
    }
}

/// Removes unfinished backups of dead processes.
fn remove_stale(fs: &dyn FileSystem, directory: &Path) {
    let names = fs.list(directory).unwrap_or_default();
    let temps = names.iter().filter(|name| is_exchange_file(name)).map(|name| directory.join(name));
    for path in temps.filter(|path| is_abandoned(fs, path)) {
        // A leftover file does no harm.
        let _ = fs.remove(&path);
    }
}

/// Reads a backup or an `issues.json` from disk, and verifies the checksum of a backup.
///
/// # Errors
///
/// The file cannot be read, is invalid, or its checksum does not match.
pub fn load(path: &Path) -> Result<Backup, BackupError> {
    let failed = |source| BackupError::Io { path: path.to_owned(), cause: Arc::new(source) };
    let bytes = read_file(&RealFileSystem, path).map_err(failed)?;
    read(bytes.ok_or_else(|| BackupError::Missing(path.to_owned()))?, path)
}

/// Reads a backup from bytes that came from elsewhere, called `name`.
///
/// # Errors
///
/// The bytes are invalid, or their checksum does not match.
pub fn read(bytes: Vec<u8>, name: &Path) -> Result<Backup, BackupError> {
    let path = name.to_owned();
    format::read(bytes).map_err(|flaw| match flaw {
        InvalidBackup::Changed => BackupError::Changed(path),
        InvalidBackup::Format(cause) => BackupError::Format { path, cause },
    })
}
