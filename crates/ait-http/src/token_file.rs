//! The token file: reads it and warns if other users can read it.
//!
//! [`Tokens`] parses its text.

use std::io;
use std::path::{Path, PathBuf};

use crate::{BadToken, Tokens};
use ait_system::small_file::{self, MAX_BYTES};

/// The contents of a token file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenFile {
    /// Its tokens; at least one.
    pub tokens: Tokens,
    /// A warning for the owner if other users can read the file.
    pub warning: Option<String>,
}

/// An error of a token file. It never contains text from the file.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TokenFileError {
    /// The file does not exist.
    #[error("{} does not exist: create it, for example with `openssl rand -hex 32 > {}`", .0.display(), .0.display())]
    Missing(PathBuf),
    #[error("{} is a directory: name the token file in it", .0.display())]
    Directory(PathBuf),
    /// It is a pipe or a device.
    #[error("{} is not a regular file: put the tokens in a regular file, or set AIT_TOKEN", .0.display())]
    Special(PathBuf),
    /// It cannot be read.
    #[error("{} cannot be read: {reason}", .path.display())]
    Unreadable {
        path: PathBuf,
        /// The error of the operating system.
        reason: String,
    },
    /// It is not UTF-8, or too large.
    #[error("{} is not a token file: it is not a text of at most {MAX_BYTES} bytes", .0.display())]
    NoText(PathBuf),
    /// Its text is invalid.
    #[error("{}: {bad}", .path.display())]
    Bad {
        path: PathBuf,
        /// The error.
        bad: BadToken,
    },
}

impl TokenFile {
    /// Reads a token file.
    ///
    /// # Errors
    ///
    /// The file is missing or unreadable, or contains anything but tokens.
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        let text = small_file::read(path, MAX_BYTES).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => TokenFileError::Missing(path.into()),
            io::ErrorKind::IsADirectory => TokenFileError::Directory(path.into()),
            io::ErrorKind::InvalidInput => TokenFileError::Special(path.into()),
            io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge => {
                TokenFileError::NoText(path.into())
            }
            _ => TokenFileError::Unreadable { path: path.into(), reason: error.to_string() },
        })?;
        let bad = |bad| TokenFileError::Bad { path: path.into(), bad };
        Ok(Self { tokens: Tokens::parse(&text).map_err(bad)?, warning: warning(path) })
    }
}

/// Returns a warning if other users can read the file.
fn warning(path: &Path) -> Option<String> {
    use std::os::unix::fs::PermissionsExt;

    /// Read permission for the group or for others.
    const BY_OTHERS: u32 = 0o044;

    let is_shared = path.metadata().ok()?.permissions().mode() & BY_OTHERS != 0;
    let path = path.display();
    is_shared.then(|| format!("others can read the tokens in {path}: run `chmod 600 {path}`"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn token_file_errors_do_not_quote_the_file() {
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

    #[test]
    fn a_token_file_readable_by_others_causes_a_warning() {
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
