//! Windows, by its documentation: none of this was ever run there. (Wine 8 cannot replace a file that is open, which
//! takes the semantics of POSIX.)

use std::fs::{self, File, Metadata, OpenOptions};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;
use std::{io, thread};

use tempfile::{Builder, NamedTempFile};
use winapi_util::file::information;

use super::Identity;

/// `ERROR_ACCESS_DENIED`, `ERROR_SHARING_VIOLATION` and `ERROR_LOCK_VIOLATION`: what is said where another
/// program has a file open in a way that forbids it; virus scanners and indexers do so for moments.
const IN_THE_WAY: [i32; 3] = [5, 32, 33];
/// How often a rename is done again then, and after which pause; about 0.4 s together. One that is forbidden for
/// good is answered as late.
const TRIES: u32 = 12;
const PAUSE: Duration = Duration::from_millis(5);
/// `FILE_SHARE_READ | FILE_SHARE_WRITE`, and not `FILE_SHARE_DELETE`.
const NOT_TO_BE_REMOVED: u32 = 0x1 | 0x2;
/// `FILE_FLAG_BACKUP_SEMANTICS`, without which directories cannot be opened.
const DIRECTORIES_TOO: u32 = 0x0200_0000;

/// A directory whose names cannot be made durable: there is no call for it that is documented. NTFS writes names
/// in the order in which they were given, so that a power cut leaves those of some moment.
#[derive(Debug)]
pub struct Directory {}

impl Directory {
    pub(in super::super) fn open(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|_| Self {})
    }

    pub(in super::super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// What there is at a path.
pub fn look(path: &Path) -> io::Result<(Metadata, Identity)> {
    // Without any right to the content, which others may have locked or forbidden.
    let file = OpenOptions::new().access_mode(0).custom_flags(DIRECTORIES_TOO).open(path)?;
    look_at_open(&file)
}

/// What an open file is. The metadata of the standard library tells that in no stable way.
pub fn look_at_open(file: &File) -> io::Result<(Metadata, Identity)> {
    let found = information(file)?;
    let identity = Identity { device: found.volume_serial_number(), inode: found.file_index() };
    Ok((file.metadata()?, identity))
}

/// The time of the last change in any respect is told in no stable way; that of the content has to do.
pub fn changed_ns(_: &Metadata) -> i64 {
    0
}

/// How lock files are opened: as long as one is open, nobody can remove or replace it.
pub fn lock_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.share_mode(NOT_TO_BE_REMOVED);
    options
}

/// Locks here keep readers out, so only lock files are locked; see [`lock_options`] for why that is enough.
pub fn claim(_: &File) -> io::Result<bool> {
    Ok(true)
}

/// Nothing was locked.
pub fn release(_: &File) {}

/// There is nothing to set: a new file has the rights that its directory gives.
pub fn as_usual(_: &mut Builder<'_, '_>) {}

/// A replacement has the rights that its directory gives; it can be marked as read-only, like the other.
pub fn take_over(old: &Metadata, new: &File) -> io::Result<()> {
    new.set_permissions(old.permissions())
}

/// Gives a file another name.
pub fn rename(path: &Path, to: &Path) -> io::Result<()> {
    patiently(|| fs::rename(path, to))
}

/// Puts a temporary file in the place of another one. Journals are open in every process, which is no obstacle to
/// the rename of the standard library (it has the semantics of POSIX where that is needed), as opposed to that
/// of temporary files.
pub fn replace(temp: NamedTempFile, target: &Path) -> io::Result<File> {
    let (file, path) = temp.keep().map_err(|refused| refused.error)?;
    if let Err(error) = rename(&path, target) {
        // Whatever stays behind is removed by the next process.
        let _ = fs::remove_file(&path);
        return Err(error);
    }
    Ok(file)
}

/// Puts a temporary file where there is none.
pub fn place(temp: NamedTempFile, target: &Path) -> io::Result<File> {
    let mut left = Some(temp);
    patiently(|| {
        let temp = left.take().ok_or(io::ErrorKind::NotFound)?;
        temp.persist_noclobber(target).map_err(|refused| {
            left = Some(refused.file);
            refused.error
        })
    })
}

/// There is no such call.
pub fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Reads at an offset, as much as one call gives.
pub fn read_some(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(buffer, offset)
}

/// Writes at an offset, as much as one call takes.
pub fn write_some(file: &File, bytes: &[u8], offset: u64) -> io::Result<usize> {
    file.seek_write(bytes, offset)
}

/// Does something again for as long as another program is in the way, and no longer than is bearable.
fn patiently<T>(mut work: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let is_in_the_way =
        |error: &io::Error| error.raw_os_error().is_some_and(|code| IN_THE_WAY.contains(&code));
    for tried in 1..TRIES {
        match work() {
            Err(error) if is_in_the_way(&error) => thread::sleep(PAUSE * tried),
            done => return done,
        }
    }
    work()
}
