//! The newest known state of the file: loading it, publishing it, replacing it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::format::{self, Document, FormatError};
use super::fs::{FileSystem, Lock, Stamp, directory_of};
use crate::domain::Extra;
use crate::store::StoreError;
use crate::store::memory::IssueStore;

/// One state of the file. Never changes; a newer one takes its place.
pub(super) struct Snapshot {
    pub issues: IssueStore,
    extra: Extra,
    stamp: Option<Stamp>,
    /// Kept open so that its inode cannot be reused while its stamp is compared.
    _file: Option<File>,
}

/// Why the file cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the directory {} does not exist: create it, or name another file with --file or ISSUES_FILE", .0.display())]
    MissingDirectory(PathBuf),
    #[error("{}: {source}: make it readable, or name another file with --file or ISSUES_FILE", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}, {source}: mend it there, or take a good copy from version control or a backup; it is left untouched until it is valid", path.display())]
    Format { path: PathBuf, source: FormatError },
}

impl From<LoadError> for StoreError {
    fn from(error: LoadError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Why the file was not replaced, or not for certain.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub(super) struct ReplaceError {
    path: PathBuf,
    source: io::Error,
    /// Whether the new content is in place all the same.
    pub in_place: bool,
}

/// The file's states as this process knows them.
pub(super) struct Snapshots {
    path: PathBuf,
    fs: Arc<dyn FileSystem>,
    /// Where the file really is, once it was found.
    resolved: OnceLock<PathBuf>,
    /// Held for moments, never while the disk is waited for.
    published: Mutex<Option<Arc<Snapshot>>>,
    /// Held while the file is read, so that callers who need the same new state read it once.
    loading: Mutex<()>,
}

impl Snapshots {
    pub fn new(path: PathBuf, fs: Arc<dyn FileSystem>) -> Self {
        let (resolved, published) = (OnceLock::new(), Mutex::default());
        Self { path, fs, resolved, published, loading: Mutex::default() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the file at some moment after the call began.
    pub fn current(&self) -> Result<Arc<Snapshot>, LoadError> {
        let path = self.resolve()?;
        if let Some(snapshot) = self.unchanged(path)? {
            return Ok(snapshot);
        }
        let _loading = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(snapshot) = self.unchanged(path)? {
            return Ok(snapshot);
        }
        let before = self.published().clone();
        let loaded = Arc::new(self.load(path)?);
        let mut published = self.published();
        // Whoever published in the meantime may know a newer state than the one loaded here.
        if published.as_ref().map(Arc::as_ptr) == before.as_ref().map(Arc::as_ptr) {
            *published = Some(Arc::clone(&loaded));
        }
        Ok(loaded)
    }

    /// Takes the lock of a commit; waits for as long as another process has it.
    pub fn lock(&self) -> Result<Lock, StoreError> {
        let path = sibling(self.resolve()?, ".lock");
        self.fs.lock(&path).map_err(|source| {
            StoreError::NotSaved(format!(
                "the lock file {} cannot be used: {source}",
                path.display()
            ))
        })
    }

    /// Puts new issues in the place of the current ones, durably, and publishes them.
    ///
    /// Only to be called under the lock. On an error that is not `in_place`, file and memory are as
    /// they were.
    pub fn replace(&self, current: &Snapshot, issues: IssueStore) -> Result<(), ReplaceError> {
        let path = self.resolved.get().unwrap_or(&self.path);
        let failed = |in_place| move |source| ReplaceError { path: path.clone(), source, in_place };
        let document = Document { issues, extra: current.extra.clone() };
        let bytes = format::render(&document);
        let mut temp = self.fs.create_temp(path).map_err(failed(false))?;
        self.fs.write(&mut temp, &bytes).map_err(failed(false))?;
        self.fs.sync(&temp).map_err(failed(false))?;
        let file = self.fs.replace(temp, path).map_err(failed(false))?;
        self.fs.sync_directory(directory_of(path)).map_err(failed(true))?;
        let stamp = self.fs.stamp_open(&file).map_err(failed(true))?;
        *self.published() = Some(Arc::new(Snapshot::of(document, Some(stamp), Some(file))));
        Ok(())
    }

    /// Removes what processes left that died while they replaced the file; only under the lock.
    pub fn remove_stale_temps(&self) {
        if let Ok(path) = self.resolve() {
            self.fs.remove_stale_temps(path);
        }
    }

    fn published(&self) -> MutexGuard<'_, Option<Arc<Snapshot>>> {
        // Only whole values are put behind this mutex, so a panic elsewhere cannot spoil them.
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn unchanged(&self, path: &Path) -> Result<Option<Arc<Snapshot>>, LoadError> {
        let published = self.published().clone();
        let Some(snapshot) = published else { return Ok(None) };
        let stamp = self.fs.stamp(path).map_err(|source| unreadable(path, source))?;
        Ok((snapshot.stamp == stamp).then_some(snapshot))
    }

    fn load(&self, path: &Path) -> Result<Snapshot, LoadError> {
        let Some(contents) = self.fs.read(path).map_err(|source| unreadable(path, source))? else {
            return Ok(Snapshot::of(Document::default(), None, None));
        };
        let document = format::parse(&contents.bytes)
            .map_err(|source| LoadError::Format { path: path.to_owned(), source })?;
        Ok(Snapshot::of(document, Some(contents.stamp), Some(contents.file)))
    }

    fn resolve(&self) -> Result<&PathBuf, LoadError> {
        if let Some(path) = self.resolved.get() {
            return Ok(path);
        }
        let path = self.fs.resolve(&self.path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => {
                LoadError::MissingDirectory(directory_of(&self.path).to_owned())
            }
            _ => unreadable(&self.path, source),
        })?;
        Ok(self.resolved.get_or_init(|| path))
    }
}

impl Snapshot {
    fn of(document: Document, stamp: Option<Stamp>, file: Option<File>) -> Self {
        Self { issues: document.issues, extra: document.extra, stamp, _file: file }
    }
}

fn unreadable(path: &Path, source: io::Error) -> LoadError {
    LoadError::Io { path: path.to_owned(), source }
}

/// The file beside `path` whose name has `suffix` added.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
