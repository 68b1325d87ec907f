//! The durable mark: how much of the newest segment is durable. The processes of one machine share it.
//!
//! Each process writes the mark after each fsync, but never syncs the mark. A mark that is lost in a power failure
//! therefore claims too little, never too much. The mark names the salt of its segment, which identifies marks of
//! another log.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::fs::{FileSystem, TO_THE_END, open_or_create};
use super::frame::checksum;

/// How much of a segment is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DurableMark {
    /// The ordinal of the segment.
    pub ordinal: u64,
    /// The salt of the segment.
    pub salt: u32,
    /// The offset in bytes up to which the segment is durable: the end of a batch.
    pub offset: u64,
}

impl DurableMark {
    fn write(self) -> Vec<u8> {
        let Self { ordinal, salt, offset } = self;
        let text = format!("{ordinal:016x} {salt:08x} {offset:016x}");
        format!("{text} {:08x}\n", checksum(salt, text.as_bytes())).into_bytes()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let text = str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let (text, sum) = text.rsplit_once(' ')?;
        let mut fields = text.split(' ').map(|field| u64::from_str_radix(field, 16).ok());
        let mut next = || fields.next().flatten();
        let (ordinal, salt) = (next()?, u32::try_from(next()?).ok()?);
        let offset = next()?;
        let is_whole = u32::from_str_radix(sum, 16).ok()? == checksum(salt, text.as_bytes());
        is_whole.then_some(Self { ordinal, salt, offset })
    }
}

/// The file with the durable mark.
#[derive(Debug)]
pub struct MarkFile {
    path: PathBuf,
    /// Every initialised store has the file, and no process replaces it.
    file: Option<Arc<File>>,
}

impl MarkFile {
    /// Creates a handle for a file, which need not exist.
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Reads the mark. Returns `None` if there is no valid one.
    pub fn read(&mut self, fs: &dyn FileSystem) -> Option<DurableMark> {
        if self.file.is_none() {
            self.file = fs.open(&self.path).ok().flatten().map(|open| open.file);
        }
        DurableMark::read(&fs.read_at(self.file.as_deref()?, 0, TO_THE_END).ok()?)
    }

    /// Writes the mark. A failure only means that other processes do not learn of it.
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
    fn a_durable_mark_round_trips_and_damage_is_rejected() {
        let mark = DurableMark { ordinal: 3, salt: 5, offset: u64::MAX };
        let good = mark.write();
        assert_eq!(DurableMark::read(&good), Some(mark));
        for index in 0..good.len() {
            let mut bad = good.clone();
            bad[index] ^= 1;
            assert_eq!(DurableMark::read(&bad), None, "byte {index}");
            assert_eq!(DurableMark::read(&good[..index]), None, "cut at {index}");
        }
    }
}
