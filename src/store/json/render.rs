//! Writing a file as a whole: in pieces, with its hash, and synced.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::fs::{FileFingerprint, FileSystem};

/// How much is gathered before it is written.
const CHUNK_BYTES: usize = 256 * 1024;
/// After how much a file is synced while it is written. A journaling file system lets the sync of a change wait for
/// what else is on its way to the disk.
const SYNC_EVERY_BYTES: u64 = 256 * 1024;

/// A file that was written.
pub struct RenderedFile {
    /// What it is known by.
    pub fingerprint: FileFingerprint,
    /// XXH3-128 of its bytes.
    pub hash: u128,
    /// Its size.
    pub length_bytes: u64,
}

/// What a file is written to.
pub struct Sink<'a> {
    fs: &'a dyn FileSystem,
    file: &'a File,
    held: Vec<u8>,
    written: u64,
    synced: u64,
    hasher: Xxh3,
}

impl Sink<'_> {
    /// XXH3-128 of everything that was written so far.
    pub fn digest(&mut self) -> u128 {
        let mut hasher = self.hasher.clone();
        hasher.update(&self.held);
        hasher.digest128()
    }

    /// Writes all the bytes.
    ///
    /// # Errors
    ///
    /// Those of the file.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        io::Write::write_all(self, bytes)
    }
}

impl io::Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        self.hasher.update(&self.held);
        self.fs.write_at(self.file, self.written, &self.held)?;
        self.written += self.held.len() as u64;
        self.held.clear();
        if self.written - self.synced >= SYNC_EVERY_BYTES {
            self.fs.sync(self.file)?;
            self.synced = self.written;
        }
        Ok(())
    }
}

/// Makes a new file with the owner and mode of `model`, lets `write` fill it, and syncs it. A file that cannot be
/// finished is removed.
///
/// # Errors
///
/// Those of the file system, and of `write`.
pub fn render(
    fs: &dyn FileSystem,
    path: &Path,
    model: &Path,
    write: impl FnOnce(&mut Sink<'_>) -> io::Result<()>,
) -> io::Result<RenderedFile> {
    let file: Arc<File> = fs.create(path, model)?;
    let rendered = (|| {
        let mut sink = Sink {
            fs,
            file: &file,
            held: Vec::with_capacity(CHUNK_BYTES),
            written: 0,
            synced: 0,
            hasher: Xxh3::new(),
        };
        write(&mut sink)?;
        io::Write::flush(&mut sink)?;
        let (hash, length_bytes) = (sink.hasher.digest128(), sink.written);
        fs.sync(&file)?;
        Ok(RenderedFile { fingerprint: fs.fingerprint_of(&file)?, hash, length_bytes })
    })();
    if rendered.is_err() {
        // What cannot be removed is in nobody's way.
        let _ = fs.remove(path);
    }
    rendered
}
