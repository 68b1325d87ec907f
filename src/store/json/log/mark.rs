//! The note of how much of the newest segment is durable, which the processes of one machine share.
//!
//! Each process writes it after each of its syncs, and syncs it never: it only tells what is known already, so that
//! one that was lost with the power says less than the truth and not more. It names the salt of its segment, so that
//! one of another log is recognised.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::fs::{FileSystem, TO_THE_END, open_or_create};

/// How much of a segment is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DurableMark {
    /// The ordinal of the segment.
    pub ordinal: u64,
    /// Its salt.
    pub salt: u32,
    /// The offset in bytes up to which it is durable: the end of a batch.
    pub offset: u64,
}

impl DurableMark {
    fn write(self) -> Vec<u8> {
        let Self { ordinal, salt, offset } = self;
        let text = format!("{ordinal:016x} {salt:08x} {offset:016x}");
        format!("{text} {:08x}\n", crc32c::crc32c(text.as_bytes())).into_bytes()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (fields, checksum) = text.rsplit_once(' ')?;
        if u32::from_str_radix(checksum, 16).ok()? != crc32c::crc32c(fields.as_bytes()) {
            return None;
        }
        let mut fields = fields.split(' ').map(|field| u64::from_str_radix(field, 16).ok());
        let mut next = || fields.next().flatten();
        let (ordinal, salt) = (next()?, u32::try_from(next()?).ok()?);
        Some(Self { ordinal, salt, offset: next()? })
    }
}

/// The file with the mark.
#[derive(Debug)]
pub struct MarkFile {
    path: PathBuf,
    /// A store that was made has one, and nobody replaces it.
    file: Option<Arc<File>>,
}

impl MarkFile {
    /// The mark in a file, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Reads the mark; `None` where there is none that can be relied on.
    pub fn read(&mut self, fs: &dyn FileSystem) -> Option<DurableMark> {
        if self.file.is_none() {
            self.file = fs.open(&self.path).ok().flatten().map(|open| open.file);
        }
        DurableMark::read(&fs.read_at(self.file.as_deref()?, 0, TO_THE_END).ok()?)
    }

    /// Writes the mark. What keeps it from being written keeps others from knowing, and nothing else.
    pub fn write(&mut self, fs: &dyn FileSystem, model: &Path, mark: DurableMark) {
        let mut written = || -> io::Result<()> {
            if self.file.is_none() {
                self.file = Some(open_or_create(fs, &self.path, model)?);
            }
            let file = self.file.as_deref().ok_or(io::ErrorKind::NotFound)?;
            fs.write_at(file, 0, &mark.write())
        };
        if let Err(error) = written() {
            tracing::debug!("{}: {error}", self.path.display());
            self.file = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_nothing_else_is() {
        let mark = DurableMark { ordinal: 3, salt: 5, offset: u64::MAX };
        let good = mark.write();
        assert_eq!(DurableMark::read(&good), Some(mark));
        for place in 0..good.len() {
            let mut bad = good.clone();
            bad[place] ^= 1;
            assert_eq!(DurableMark::read(&bad), None, "byte {place}");
            assert_eq!(DurableMark::read(&good[..place]), None, "cut at {place}");
        }
    }
}
