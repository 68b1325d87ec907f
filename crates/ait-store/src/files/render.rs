//! Writes a whole file: in chunks, with a hash, and synced.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use xxhash_rust::xxh3::Xxh3;

use super::fs::{FileFingerprint, FileSystem};

/// The size of the write buffer, in bytes.
const CHUNK_BYTES: usize = 256 * 1024;
/// How often a file is synced while it is written, in bytes. On a journaling file system the sync of a change waits
/// for other dirty data, so this data must not pile up.
const SYNC_EVERY_BYTES: u64 = 256 * 1024;

/// The result of writing a file.
pub struct RenderedFile {
    pub fingerprint: FileFingerprint,
    /// The XXH3-128 of the content.
    pub hash: u128,
    /// The size in bytes.
    pub length_bytes: u64,
}

/// The writer for the content of a file.
pub struct Sink<'a> {
    fs: &'a dyn FileSystem,
    file: &'a File,
    held: Vec<u8>,
    written: u64,
    synced: u64,
    hasher: Xxh3,
}

impl Sink<'_> {
    /// Writes all bytes.
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

/// Creates a file with the owner and mode of `model`, lets `write` fill it, and syncs it. Removes the file after an
/// error.
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
        let hash = sink.hasher.digest128();
        let length_bytes = sink.written;
        fs.sync(&file)?;
        Ok(RenderedFile { fingerprint: fs.fingerprint_of(&file)?, hash, length_bytes })
    })();
    if rendered.is_err() {
        // A leftover file does no harm.
        let _ = fs.remove(path);
    }
    rendered
}
