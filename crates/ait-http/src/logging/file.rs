//! A log file. Several processes may share it, and log rotation may rename it.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{self, Path, PathBuf};

/// An error: the log file cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error(
    "cannot open the log file {}: {cause}; name a writable file with --log-file or AIT_LOG_FILE, or \
     omit it to log to stderr", path.display()
)]
pub struct LogFileError {
    path: PathBuf,
    cause: io::Error,
}

/// An open log file.
#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    is_torn: bool,
}

impl LogFile {
    /// Opens a log file, or creates it for its owner alone.
    pub(super) fn open(path: &Path) -> Result<Self, LogFileError> {
        let opened = path::absolute(path).and_then(|path| Ok((append_to(&path)?, path)));
        match opened {
            Ok((file, path)) => Ok(Self { path, file, is_torn: false }),
            Err(source) => Err(LogFileError { path: path.to_owned(), cause: source }),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file that now has this name. On failure, logging continues in the old file.
    pub(super) fn reopen(&mut self) -> Result<(), LogFileError> {
        *self = Self::open(&self.path)?;
        Ok(())
    }

    /// Appends a line.
    pub(super) fn write(&mut self, line: &[u8]) -> io::Result<()> {
        append(&mut self.file, line, &mut self.is_torn)
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    // Opening or writing to a pipe without a reader must not block, and a terminal must not become the
    // controlling terminal.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
    options.open(path)
}

/// Appends a line in one write, so that lines of several processes do not mix. If a full disk cuts a line off, the
/// next one begins with a line break.
fn append(file: &mut impl Write, line: &[u8], is_torn: &mut bool) -> io::Result<()> {
    let line = if *is_torn { [b"\n", line].concat() } else { line.to_vec() };
    let mut rest = &line[..];
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                rest = &rest[count..];
                *is_torn = !rest.is_empty();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for `room` bytes.
    struct Disk {
        content: Vec<u8>,
        room: usize,
        calls: usize,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room);
            if count == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.room -= count;
            self.calls += 1;
            self.content.extend_from_slice(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_is_written_in_one_call() {
        let mut disk = Disk { content: Vec::new(), room: 100_000, calls: 0 };
        for is_torn in [false, true] {
            append(&mut disk, &[b'x'; 20_000], &mut { is_torn }).unwrap();
        }
        assert_eq!((disk.content.len(), disk.calls), (40_001, 2));
    }

    #[test]
    fn a_torn_line_is_terminated_before_the_next_write() {
        let mut disk = Disk { content: Vec::new(), room: 8, calls: 0 };
        let mut is_torn = false;
        append(&mut disk, b"first\n", &mut is_torn).unwrap();
        for line in ["second\n", "third\n"] {
            let error = append(&mut disk, line.as_bytes(), &mut is_torn).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StorageFull);
        }
        disk.room = 100;
        append(&mut disk, b"fourth\n", &mut is_torn).unwrap();
        append(&mut disk, b"fifth\n", &mut is_torn).unwrap();
        assert_eq!(String::from_utf8(disk.content).unwrap(), "first\nse\nfourth\nfifth\n");
    }
}
