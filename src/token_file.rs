//! The file with the tokens: reading it, and who else may.
//!
//! What its text means is known by [`Tokens`].

use std::io;
use std::path::{Path, PathBuf};

use crate::http::{BadToken, Tokens};
use crate::small_file::{self, MAX_BYTES};

/// What a file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenFile {
    /// Its tokens, of which there is at least one.
    pub tokens: Tokens,
    /// What its owner should know: that others can read it. Known on Unix alone.
    pub warning: Option<String>,
}

/// Why a file gives no tokens. Never shows what is in it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenFileError {
    /// There is none.
    #[error("{} does not exist: make it, for example with `openssl rand -hex 32 > {}`", .0.display(), .0.display())]
    Missing(PathBuf),
    /// It is no file.
    #[error("{} is a directory: name the file in it that holds the tokens", .0.display())]
    Directory(PathBuf),
    /// It is a pipe or a device.
    #[error("{} is not a regular file: save the tokens in one, or set AIT_TOKEN", .0.display())]
    Special(PathBuf),
    /// It cannot be read.
    #[error("{} cannot be read: {reason}", .path.display())]
    Unreadable {
        /// Where it is.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// It is not a text, or a very large one.
    #[error("{} holds no tokens: it is not a text of at most {MAX_BYTES} bytes", .0.display())]
    NoText(PathBuf),
    /// What it holds is not right.
    #[error("{}: {bad}", .path.display())]
    Bad {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        bad: BadToken,
    },
}

impl TokenFile {
    /// Reads a file with tokens.
    ///
    /// # Errors
    ///
    /// A file that is not there, that cannot be read, or that does not hold tokens alone.
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => TokenFileError::Missing(path.into()),
            io::ErrorKind::IsADirectory => TokenFileError::Directory(path.into()),
            io::ErrorKind::InvalidInput => TokenFileError::Special(path.into()),
            io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => {
                TokenFileError::NoText(path.into())
            }
            _ => TokenFileError::Unreadable { path: path.into(), reason: error.to_string() },
        };
        let text = small_file::read(path, MAX_BYTES).map_err(unreadable)?;
        let bad = |bad| TokenFileError::Bad { path: path.into(), bad };
        Ok(Self { tokens: Tokens::parse(&text).map_err(bad)?, warning: warning(path) })
    }
}

/// What is to be said of the rights on a file.
#[cfg(unix)]
fn warning(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;

    /// Reading, by the group or by everybody.
    const BY_OTHERS: u32 = 0o044;

    let is_shared = path.metadata().ok()?.permissions().mode() & BY_OTHERS != 0;
    let path = path.display();
    is_shared.then(|| format!("others can read the tokens in {path}: `chmod 600 {path}` ends that"))
}

#[cfg(not(unix))]
fn warning(_path: &Path) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_told_without_its_text() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        let told = |path: &Path| TokenFile::read(path).unwrap_err().to_string();
        let missing = told(&path);
        assert!(missing.contains("does not exist") && missing.contains("openssl"), "{missing}");
        let no_file = told(directory.path());
        assert!(no_file.contains("is a directory"), "{no_file}");
        for (bytes, said) in [
            (b"a read-only SECRET".to_vec(), "tokens: line 1: "),
            (b"SECRETSECRETSECRET\xff".to_vec(), "not a text"),
            (b"#SECRET".repeat(1 << 20), "at most 1048576 bytes"),
        ] {
            fs::write(&path, bytes).unwrap();
            let told = told(&path);
            assert!(told.contains(said) && !told.contains("SECRET"), "{told}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_is_read_with_a_warning() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tokens");
        fs::write(&path, "0123456789abcdef\n").unwrap();
        for (mode, is_shared) in [(0o600, false), (0o400, false), (0o640, true), (0o604, true)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let file = TokenFile::read(&path).unwrap();
            assert_eq!(file.tokens, Tokens::single("0123456789abcdef").unwrap());
            let warning = file.warning.unwrap_or_default();
            assert_eq!(warning.contains("chmod 600"), is_shared, "{mode:o}: {warning:?}");
        }
    }
}
