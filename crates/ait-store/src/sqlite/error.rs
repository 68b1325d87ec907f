//! Why an operation on the database failed.

use std::io;

use rusqlite::{ErrorCode, ffi};

use crate::StoreError;
use crate::files::lock_check::refused;
use crate::files::open::OpenError;
use ait_domain::DomainError;

/// Why an operation failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// A rule refuses it.
    Refused(DomainError),
    /// The database says no.
    Database(rusqlite::Error),
    /// A row cannot be read.
    Damaged(String),
    /// A newer version wrote it.
    Newer(String),
    /// A file cannot be used.
    File(io::Error),
    /// `issues.json` cannot be read, and there is no database yet.
    Open(OpenError),
    /// The file system cannot be used.
    Store(StoreError),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<DomainError> for Failure {
    fn from(refusal: DomainError) -> Self {
        Self::Refused(refusal)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// Returns true if an error means that the database is damaged. The statements add no row twice, so a row that is there
/// already is one that an index has and its table lacks. A value of another form is not what was written.
fn is_corrupt(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    ) || matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::ConstraintViolation)
    )
}

impl Failure {
    /// Returns true if a part of the database is damaged, or was written by a newer version.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_) | Self::Newer(_) => true,
            Self::Store(error) => error.is_damage(),
            Self::Database(error) => is_corrupt(error),
            Self::Refused(_) | Self::File(_) | Self::Open(_) => false,
        }
    }

    /// Returns true if this user may not write where SQLite has to, or if the files do not let it.
    pub fn is_read_only(&self) -> bool {
        let Self::Database(error) = self else { return false };
        matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
        )
    }

    /// Returns true if the files may be about to be removed or replaced.
    pub fn may_pass(&self) -> bool {
        let Self::Database(error) = self else {
            return matches!(self, Self::Store(StoreError::Busy(_)));
        };
        matches!(
            error.sqlite_error_code(),
            Some(
                ErrorCode::SystemIoFailure
                    | ErrorCode::CannotOpen
                    | ErrorCode::FileLockingProtocolFailed
            )
        )
    }

    /// Returns the error for a read.
    pub fn of_read(self) -> StoreError {
        match self {
            Self::Refused(refusal) => StoreError::Refused(refusal),
            Self::Newer(what) => StoreError::Newer(what),
            Self::Damaged(why) => StoreError::Damaged(why),
            Self::File(error) => {
                StoreError::Unreadable(format!("{error}: make it readable, or choose another file"))
            }
            Self::Open(error) => error.into(),
            Self::Store(error) => error,
            Self::Database(error) if is_corrupt(&error) => StoreError::Corrupt(error.to_string()),
            Self::Database(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                    StoreError::Busy(error.to_string())
                }
                _ => StoreError::Unreadable(error.to_string()),
            },
        }
    }

    /// Returns the error for a change that was not committed.
    pub fn of_change(self) -> StoreError {
        let Self::Database(error) = &self else {
            return match self {
                Self::File(error) => refused(error.kind(), error.to_string()),
                other => other.of_read(),
            };
        };
        if self.is_read_only() {
            return StoreError::ReadOnly(format!(
                "the database cannot be written ({error}): give this user the right to write there, or mount its file \
                 system writable"
            ));
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => self.of_read(),
            _ if is_corrupt(error) => self.of_read(),
            _ => StoreError::NotSaved(error.to_string()),
        }
    }

    /// Returns the error for a commit that failed. Only a failed sync leaves something that may still be there after a
    /// power failure: SQLite ignores the end of its log if it was not written whole.
    pub fn of_commit(self) -> StoreError {
        let of_sync = [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC];
        match &self {
            Self::Database(rusqlite::Error::SqliteFailure(error, _))
                if of_sync.contains(&error.extended_code) =>
            {
                StoreError::Uncertain(error.to_string())
            }
            _ => self.of_change(),
        }
    }
}
