//! Backups on a disk: written beside their name, synced, and only then put in their place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::format::{self, About, Backup, Flaw};
use super::{BackupError, Holdings};
use crate::domain::Timestamp;
use crate::store::json::fs::{FileSystem, RealFileSystem, Rename, TO_THE_END, directory_of};
use crate::store::json::render::render;

/// The end of the name of a backup that is being written.
const TEMP_SUFFIX: &str = ".ait-backup.tmp";
/// How old such a file is when the process that wrote it is taken for dead.
const STALE_AFTER: Duration = Duration::from_secs(60 * 60);

/// Returns true if a file of this name is a backup that is being written, or that a dead process has left.
pub fn is_temp(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(TEMP_SUFFIX)
}

/// How a backup is to be written.
#[derive(Clone, Debug)]
pub struct Saving {
    /// Where to.
    pub path: PathBuf,
    /// Whether to replace a file that is there.
    pub replaces: bool,
    /// The file of the store, and the directory of its other files: nothing of them is replaced, and the
    /// backup gets the owner and the mode of the first.
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
        // Of its directory, also everything inside.
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
            about = Some(write(holdings, self.now, out)?);
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
        let lost = || failed(io::Error::other("nothing was written"));
        let about = about.ok_or_else(lost)?;
        Ok(Saved { path: self.path.clone(), length_bytes, about })
    }
}

/// Removes what processes have left that died while they wrote a backup.
fn remove_stale(fs: &dyn FileSystem, directory: &Path) {
    let is_stale = |path: &PathBuf| {
        let found = fs.fingerprint(path).ok().flatten();
        let age = found.and_then(|found| SystemTime::now().duration_since(found.modified()).ok());
        age.is_some_and(|age| age > STALE_AFTER)
    };
    let names = fs.list(directory).unwrap_or_default();
    let temps = names.iter().filter(|name| is_temp(name)).map(|name| directory.join(name));
    for path in temps.filter(is_stale) {
        // What cannot be removed is in nobody's way.
        let _ = fs.remove(&path);
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
    let failed = |source| BackupError::Io { path: path.to_owned(), cause: Arc::new(source) };
    let open = RealFileSystem.open(path).map_err(failed)?;
    let open = open.ok_or_else(|| BackupError::Missing(path.to_owned()))?;
    read(RealFileSystem.read_at(&open.file, 0, TO_THE_END).map_err(failed)?, path)
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
