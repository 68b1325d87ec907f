//! The file system of the machine.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bytes::Bytes;
use memmap2::MmapMut;
use tempfile::NamedTempFile;
use uuid::Uuid;

use super::temps::TempName;
use super::{
    Contents, Directory, FileSystem, Kind, Lock, OpenFile, Stamp, Unresolved, directory_of, kind,
    platform, temps,
};

/// The file system of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealFileSystem;

/// The most symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;
/// How much is read at once: nearly always there is nothing new, and it is only to be found out.
const FIRST_STEP_BYTES: usize = 4 * 1024;
const LAST_STEP_BYTES: usize = 1024 * 1024;
/// From here on a file is read into memory of its own, which is fetched in large pages where the system
/// has some: fetching pages of 4 KiB one by one takes longer than reading what goes into them.
const LARGE_BYTES: usize = 1024 * 1024;

impl FileSystem for RealFileSystem {
    fn resolve(&self, path: &Path) -> Result<PathBuf, Unresolved> {
        let mut path = path.to_owned();
        for _ in 0..MAX_LINKS {
            let directory = directory_of(&path);
            let unresolved = |source| Unresolved { directory: directory.to_owned(), source };
            let name = path.file_name().ok_or_else(|| unresolved(not_a_file()))?;
            path = fs::canonicalize(directory).map_err(unresolved)?.join(name);
            match fs::read_link(&path) {
                Ok(target) => path = directory_of(&path).join(target),
                // Not a link, or nothing there: this is the place.
                Err(_) => return Ok(path),
            }
        }
        let source = io::Error::other("too many levels of symbolic links");
        Err(Unresolved { directory: directory_of(&path).to_owned(), source })
    }

    fn stamp(&self, path: &Path) -> io::Result<Option<Stamp>> {
        match platform::look(path) {
            Ok((metadata, identity)) if metadata.is_file() => {
                Ok(Some(Stamp::of(&metadata, identity)))
            }
            Ok(_) => Err(not_a_file()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read(&self, path: &Path) -> io::Result<Option<Contents>> {
        // Looked at before it is opened: opening a pipe would wait for its other end.
        if self.stamp(path)?.is_none() {
            return Ok(None);
        }
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let stamp = self.stamp_open(&file)?;
        let bytes = read_whole(&mut file, usize::try_from(stamp.length_bytes).unwrap_or(0))?;
        Ok(Some(Contents { bytes, stamp }))
    }

    fn lock(&self, path: &Path) -> io::Result<Lock> {
        loop {
            let file = open_to_lock(path, true)?;
            match file.lock() {
                // flock(2) gives up when a signal arrives, and std does not try again.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                locked => locked?,
            }
            let lock = Lock { file };
            // Somebody may have removed the lock file meanwhile: then this lock excludes nobody.
            if self.is_at(&lock.file, path)? {
                return Ok(lock);
            }
        }
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        let file = open_to_lock(path, true)?;
        if !lock_now(&file)? {
            return Ok(None);
        }
        let lock = Lock { file };
        Ok(self.is_at(&lock.file, path)?.then_some(lock))
    }

    fn excludes(&self, path: &Path) -> io::Result<bool> {
        let open = || open_to_lock(path, false).map(|file| Lock { file });
        excludes(open, |lock| lock_now(&lock.file))
    }

    fn kind(&self, directory: &Path) -> Option<Kind> {
        kind::kind(directory)
    }

    fn is_at(&self, file: &File, path: &Path) -> io::Result<bool> {
        let named = match platform::look(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            named => named?,
        };
        Ok(named.1 == platform::look_at_open(file)?.1)
    }

    fn create_temp(&self, target: &Path, model: &Path) -> io::Result<NamedTempFile> {
        let prefix = temps::prefix(target);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).rand_bytes(temps::RANDOM_CHARS).suffix(temps::SUFFIX);
        platform::as_usual(&mut builder);
        let temp = builder.tempfile_in(directory_of(target))?;
        if let Ok(metadata) = fs::metadata(model) {
            platform::take_over(&metadata, temp.as_file())?;
        }
        Ok(temp)
    }

    fn write(&self, temp: &mut NamedTempFile, bytes: &[u8]) -> io::Result<()> {
        temp.as_file_mut().write_all(bytes)
    }

    fn sync(&self, temp: &NamedTempFile) -> io::Result<()> {
        temp.as_file().sync_all()
    }

    fn replace(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        platform::replace(temp, target)
    }

    fn place(&self, temp: NamedTempFile, target: &Path) -> io::Result<File> {
        platform::place(temp, target)
    }

    fn exchange(&self, temp: &NamedTempFile, target: &Path) -> io::Result<bool> {
        platform::exchange(temp.path(), target)
    }

    fn put_aside(&self, path: &Path, kept: &Path) -> io::Result<()> {
        platform::rename(path, kept)
    }

    fn stamp_open(&self, file: &File) -> io::Result<Stamp> {
        let (metadata, identity) = platform::look_at_open(file)?;
        Ok(Stamp::of(&metadata, identity))
    }

    fn open_directory(&self, directory: &Path) -> io::Result<Directory> {
        Directory::open(directory)
    }

    fn sync_directory(&self, directory: &Directory) -> io::Result<()> {
        directory.sync()
    }

    fn remove_stale_temps(&self, target: &Path) -> Vec<PathBuf> {
        let prefix = temps::prefix(target);
        let Ok(entries) = fs::read_dir(directory_of(target)) else { return Vec::new() };
        let mut marked = Vec::new();
        for entry in entries.flatten() {
            match temps::parse(&entry.file_name().to_string_lossy(), &prefix) {
                // What cannot be removed is in nobody's way.
                Some(TempName::Plain) => drop(fs::remove_file(entry.path())),
                Some(TempName::Marked) => marked.push(entry.path()),
                None => {}
            }
        }
        marked
    }

    fn open(&self, path: &Path) -> io::Result<Option<OpenFile>> {
        if self.stamp(path)?.is_none() {
            return Ok(None);
        }
        let opened = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if refuses_writing(&error) => {
                File::open(path).map(|file| OpenFile { file, is_writable: false })
            }
            opened => opened.map(|file| OpenFile { file, is_writable: true }),
        };
        match opened {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    fn read_at(&self, file: &File, offset: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut step = FIRST_STEP_BYTES;
        loop {
            let filled = bytes.len();
            bytes.resize(filled + step, 0);
            let count = platform::read_some(file, &mut bytes[filled..], offset + filled as u64);
            let count = match count {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Ok(0) => {
                    bytes.truncate(filled);
                    return Ok(bytes);
                }
                count => count?,
            };
            bytes.truncate(filled + count);
            step = (2 * step).min(LAST_STEP_BYTES);
        }
    }

    fn claim(&self, file: &File) -> io::Result<bool> {
        platform::claim(file)
    }

    fn release(&self, file: &File) {
        platform::release(file);
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut written = platform::write_some(file, bytes, offset);
        while written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            written = platform::write_some(file, bytes, offset);
        }
        all_written(written?, bytes)
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<File> {
        // Looked at before it is opened: opening a pipe would wait for its other end.
        self.stamp(path)?;
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut written = file.write(bytes);
        while written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            written = file.write(bytes);
        }
        all_written(written?, bytes)?;
        Ok(file)
    }

    fn try_write(&self, directory: &Path, length_bytes: usize) -> io::Result<()> {
        // Without a name, so that nothing stays behind should the process die now.
        tempfile::tempfile_in(directory)?.write_all(&vec![b'.'; length_bytes])
    }

    fn truncate(&self, file: &File, length_bytes: u64) -> io::Result<()> {
        file.set_len(length_bytes)
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn random(&self) -> u128 {
        // Two random UUIDs, since each has a few fixed bits.
        let [one, two] = [Uuid::new_v4().as_u128(), Uuid::new_v4().as_u128()];
        one ^ two.rotate_left(u64::BITS)
    }

    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

fn all_written(count: usize, bytes: &[u8]) -> io::Result<()> {
    if count == bytes.len() {
        return Ok(());
    }
    let text = format!("only {count} of {} bytes could be written", bytes.len());
    Err(io::Error::new(io::ErrorKind::StorageFull, text))
}

fn refuses_writing(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Reads a file to its end, which has `length` bytes unless it is being written.
fn read_whole(file: &mut File, length: usize) -> io::Result<Bytes> {
    if length < LARGE_BYTES {
        let mut bytes = Vec::with_capacity(length);
        file.read_to_end(&mut bytes)?;
        return Ok(bytes.into());
    }
    let mut memory = MmapMut::map_anon(length)?;
    // Small pages do, too.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);
    let mut filled = 0;
    while filled < length {
        match file.read(&mut memory[filled..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) => break,
            count => filled += count?,
        }
    }
    let mut rest = Vec::new();
    file.read_to_end(&mut rest)?;
    if rest.is_empty() {
        return Ok(Bytes::from_owner(memory).slice(..filled));
    }
    Ok([&memory[..filled], &rest].concat().into())
}

fn open_to_lock(path: &Path, makes: bool) -> io::Result<File> {
    let mut options = platform::lock_options();
    match options.read(true).write(true).create(makes).truncate(false).open(path) {
        // Another user's lock file can be locked without the right to write to it.
        Err(error) if refuses_writing(&error) => {
            platform::lock_options().read(true).open(path).map_err(|_| error)
        }
        made => made,
    }
}

/// Takes a lock, unless somebody has it; tells whether it did.
fn lock_now(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Tells whether a lock is given once at a time, by opening a file and locking it, twice at most.
fn excludes<T>(
    open: impl Fn() -> io::Result<T>,
    lock_now: impl Fn(&T) -> io::Result<bool>,
) -> io::Result<bool> {
    // Both are there to the end: whoever drops one gives up its lock.
    let first = open()?;
    if !lock_now(&first)? {
        return Ok(true);
    }
    let second = open()?;
    Ok(!lock_now(&second)?)
}

fn not_a_file() -> io::Error {
    io::Error::other("it is not a regular file")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_lock_excludes_when_the_second_or_the_first_of_two_does_not_get_it() {
        // How many may have the lock, and how many have it already.
        for (at_most, taken, expected) in [(1, 0, true), (1, 1, true), (2, 0, false), (9, 1, false)]
        {
            let holders = Cell::new(taken);
            let lock_now = |(): &()| {
                let is_free = holders.get() < at_most;
                holders.set(holders.get() + usize::from(is_free));
                Ok(is_free)
            };
            assert_eq!(excludes(|| Ok(()), lock_now).unwrap(), expected, "{at_most} {taken}");
        }
    }
}
