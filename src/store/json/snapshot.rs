//! The newest known state of the file: loading it, publishing it, replacing it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::format::{self, Document, FormatError};
use super::fs::{FileSystem, Lock, Stamp, Unresolved, directory_of};
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
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the directory {} does not exist: create it, or name another file with --file or ISSUES_FILE", .0.display())]
    MissingDirectory(PathBuf),
    #[error("{} is gone, though it was there: put it back, or begin anew with a file that holds {{\"issues\": []}}", .0.display())]
    Gone(PathBuf),
    #[error("{}: {source}: make it readable, or name another file with --file or ISSUES_FILE", path.display())]
    Io { path: PathBuf, source: Arc<io::Error> },
    #[error("{}, {source}: mend it there, or take a good copy from version control or a backup; it is left untouched until it is valid", path.display())]
    Format { path: PathBuf, source: FormatError },
}

impl From<LoadError> for StoreError {
    fn from(error: LoadError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// A file that cannot be read, and what identifies it as it was found; nothing when it is gone.
struct BadFile {
    stamp: Option<Stamp>,
    error: LoadError,
}

/// Why the file was not replaced, or not for certain.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReplaceError {
    /// Somebody who does not take the lock changed the file, or removed the lock: decide again.
    #[error("others changed {} or removed its lock each time it was to be replaced", .0.display())]
    Overtaken(PathBuf),
    /// A call failed; `in_place` tells whether the new content is there all the same.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error, in_place: bool },
}

/// The right to replace the file, until it is dropped.
pub(super) struct Commit {
    path: PathBuf,
    lock_path: PathBuf,
    lock: Lock,
}

/// The file's states as this process knows them.
pub(super) struct Snapshots {
    path: PathBuf,
    fs: Arc<dyn FileSystem>,
    /// Held for moments, never while the disk is waited for.
    published: Mutex<Option<Arc<Snapshot>>>,
    /// Held while the file is read, so that callers who need the same new state read it once. Holds
    /// what was last found to be bad, so that it is read once too.
    loading: Mutex<Option<BadFile>>,
    /// Whether this process has looked for what dead ones left.
    cleaned: AtomicBool,
}

/// How often a bad file is looked at again before it is called bad: editors and git write in place,
/// or remove a file just before they write it anew.
const SECOND_LOOKS: u32 = 5;
const SECOND_LOOK_AFTER: Duration = Duration::from_millis(20);

impl Snapshots {
    pub fn new(path: PathBuf, fs: Arc<dyn FileSystem>) -> Self {
        let (published, loading) = (Mutex::default(), Mutex::default());
        Self { path, fs, published, loading, cleaned: AtomicBool::new(false) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The state of the file at some moment after the call began.
    pub fn current(&self) -> Result<Arc<Snapshot>, LoadError> {
        self.current_at(&self.resolve()?)
    }

    /// Takes the lock of a commit; waits for as long as another process has it.
    pub fn begin(&self) -> Result<Commit, StoreError> {
        let path = self.resolve()?;
        let lock_path = sibling(&path, ".lock");
        let lock = self.fs.lock(&lock_path).map_err(|source| {
            let lock_path = lock_path.display();
            StoreError::NotSaved(format!("the lock file {lock_path} cannot be used: {source}"))
        })?;
        if !self.cleaned.swap(true, Ordering::Relaxed) {
            self.fs.remove_stale_temps(&path);
        }
        Ok(Commit { path, lock_path, lock })
    }

    /// The state of the file that a commit is to change.
    pub fn current_of(&self, commit: &Commit) -> Result<Arc<Snapshot>, LoadError> {
        self.current_at(&commit.path)
    }

    /// Puts new issues in the place of the current ones, durably, and publishes them.
    ///
    /// On an error other than one that is `in_place`, file and memory are as they were.
    pub fn replace(
        &self,
        commit: &Commit,
        current: &Snapshot,
        issues: IssueStore,
    ) -> Result<(), ReplaceError> {
        let path = &commit.path;
        let failed =
            |in_place| move |source| ReplaceError::Io { path: path.clone(), source, in_place };
        let document = Document { issues, extra: current.extra.clone() };
        let bytes = format::render(&document);
        let mut temp = self.fs.create_temp(path).map_err(failed(false))?;
        self.fs.write(&mut temp, &bytes).map_err(failed(false))?;
        self.fs.sync(&temp).map_err(failed(false))?;
        // The last look before the point of no return, since not everybody takes the lock.
        let mine = self.fs.holds(&commit.lock, &commit.lock_path).map_err(failed(false))?;
        if !mine || self.fs.stamp(path).map_err(failed(false))? != current.stamp {
            return Err(ReplaceError::Overtaken(path.clone()));
        }
        let written = self.fs.stamp_open(temp.as_file()).map_err(failed(false))?;
        let file = self.fs.replace(temp, path).map_err(failed(false))?;
        let stamp = self.fs.stamp_open(&file).map_err(failed(true))?;
        self.fs.sync_directory(directory_of(path)).map_err(failed(true))?;
        // An editor may have written into the new file already: the next look finds out then.
        if stamp.same_content(&written) {
            *self.published() = Some(Arc::new(Snapshot::of(document, Some(stamp), Some(file))));
        }
        Ok(())
    }

    fn published(&self) -> MutexGuard<'_, Option<Arc<Snapshot>>> {
        // Only whole values are put behind this mutex, so a panic elsewhere cannot spoil them.
        self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current_at(&self, path: &Path) -> Result<Arc<Snapshot>, LoadError> {
        if let Some(snapshot) = self.unchanged(path)? {
            return Ok(snapshot);
        }
        let mut bad = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        let mut looks = 0;
        loop {
            if let Some(snapshot) = self.unchanged(path)? {
                return Ok(snapshot);
            }
            if let Some(known) = &*bad
                && known.stamp == self.stamp(path)?
            {
                return Err(known.error.clone());
            }
            let before = self.published().clone();
            let was_there = before.as_ref().is_some_and(|snapshot| snapshot.stamp.is_some());
            match self.load(path, was_there) {
                Ok(snapshot) => {
                    *bad = None;
                    return Ok(self.publish_after(before.as_ref(), snapshot));
                }
                // Not a property of the content: another try may go well.
                Err(found) if matches!(found.error, LoadError::Io { .. }) => {
                    return Err(found.error);
                }
                Err(found) if looks == SECOND_LOOKS => {
                    return Err(bad.insert(*found).error.clone());
                }
                Err(_) => {}
            }
            looks += 1;
            thread::sleep(SECOND_LOOK_AFTER);
        }
    }

    /// Publishes what was loaded, unless somebody published since `before`, who may know a newer
    /// state. What was loaded is new enough for whoever asked in any case.
    fn publish_after(&self, before: Option<&Arc<Snapshot>>, loaded: Snapshot) -> Arc<Snapshot> {
        let loaded = Arc::new(loaded);
        let mut published = self.published();
        if published.as_ref().map(Arc::as_ptr) == before.map(Arc::as_ptr) {
            *published = Some(Arc::clone(&loaded));
        }
        loaded
    }

    fn unchanged(&self, path: &Path) -> Result<Option<Arc<Snapshot>>, LoadError> {
        let published = self.published().clone();
        let Some(snapshot) = published else { return Ok(None) };
        Ok((snapshot.stamp == self.stamp(path)?).then_some(snapshot))
    }

    fn stamp(&self, path: &Path) -> Result<Option<Stamp>, LoadError> {
        self.fs.stamp(path).map_err(|source| unreadable(path, source))
    }

    /// Loads the file. A file that is missing is an empty store, unless it was there before.
    fn load(&self, path: &Path, was_there: bool) -> Result<Snapshot, Box<BadFile>> {
        let bad = |stamp, error| Box::new(BadFile { stamp, error });
        let contents = match self.fs.read(path) {
            Ok(Some(contents)) => contents,
            Ok(None) if was_there => return Err(bad(None, LoadError::Gone(path.to_owned()))),
            Ok(None) => return Ok(Snapshot::of(Document::default(), None, None)),
            Err(source) => return Err(bad(None, unreadable(path, source))),
        };
        match format::parse(&contents.bytes) {
            Ok(document) => Ok(Snapshot::of(document, Some(contents.stamp), Some(contents.file))),
            Err(source) => {
                let path = path.to_owned();
                Err(bad(Some(contents.stamp), LoadError::Format { path, source }))
            }
        }
    }

    /// Where the file really is. Asked for anew each time: directories are removed and symbolic links
    /// changed while processes run, and all of them must mean the same file.
    fn resolve(&self) -> Result<PathBuf, LoadError> {
        self.fs.resolve(&self.path).map_err(|Unresolved { directory, source }| {
            if source.kind() == io::ErrorKind::NotFound {
                LoadError::MissingDirectory(directory)
            } else {
                unreadable(&self.path, source)
            }
        })
    }
}

impl Snapshot {
    fn of(document: Document, stamp: Option<Stamp>, file: Option<File>) -> Self {
        Self { issues: document.issues, extra: document.extra, stamp, _file: file }
    }
}

fn unreadable(path: &Path, source: io::Error) -> LoadError {
    LoadError::Io { path: path.to_owned(), source: Arc::new(source) }
}

/// The file beside `path` whose name has `suffix` added.
fn sibling(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
