//! Small text files: reads settings, tokens and prompts, and knows where notes of a user lie.
//!
//! Reads regular files of a bounded size only: a pipe without a writer would block, and an endless device would fill
//! the memory.

use std::env;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The size limit of settings and token files, in bytes.
pub const MAX_BYTES: u64 = 1024 * 1024;

/// Reads a text file of at most `max_bytes`.
///
/// # Errors
///
/// The file is missing or unreadable, not a regular file ([`io::ErrorKind::InvalidInput`]), a directory
/// ([`io::ErrorKind::IsADirectory`]), too large ([`io::ErrorKind::FileTooLarge`]) or not UTF-8
/// ([`io::ErrorKind::InvalidData`]).
pub fn read(path: &Path, max_bytes: u64) -> io::Result<String> {
    let bytes = read_bytes(path, max_bytes)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// Reads a file of at most `max_bytes`.
///
/// # Errors
///
/// Those of [`read`], except that the bytes need not be UTF-8.
pub fn read_bytes(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // Check before opening: opening a pipe waits for its other end.
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if !found.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        let text = format!("it is longer than {max_bytes} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Returns a directory of this program for notes of a user that are worth more than a cache, and less than data:
/// `ait/<name>` in `$XDG_STATE_HOME`, or else in `~/.local/state` (XDG Base Directory Specification); `None` for a
/// user without a home directory. It need not exist.
pub fn state_directory(name: &str) -> Option<PathBuf> {
    let state = env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(env::home_dir()?.join(".local/state")))?;
    Some(state.join("ait").join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let kind = |path: &Path| read(path, 3).unwrap_err().kind();
        assert_eq!(kind(&path), io::ErrorKind::NotFound);
        assert_eq!(kind(directory.path()), io::ErrorKind::IsADirectory);
        fs::write(&path, "abc").unwrap();
        assert_eq!(read(&path, 3).unwrap(), "abc");
        fs::write(&path, "abcd").unwrap();
        assert_eq!(kind(&path), io::ErrorKind::FileTooLarge);
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(kind(&path), io::ErrorKind::InvalidData);
    }

    #[test]
    fn devices_and_symlinks_to_devices_are_rejected() {
        let directory = tempfile::tempdir().unwrap();
        let link = directory.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [Path::new("/dev/zero"), &link] {
            assert_eq!(read(path, 3).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        }
    }
}
