//! Why an operation on the database failed.

use std::io;

use rusqlite::ErrorCode;

use crate::domain::DomainError;
use crate::store::StoreError;
use crate::store::json::open::OpenError;

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

impl Failure {
    /// Returns the error for a read.
    pub fn of_read(self) -> StoreError {
        match self {
            Self::Refused(refusal) => StoreError::Refused(refusal),
            Self::Newer(what) => StoreError::Newer(what),
            Self::Damaged(why) => StoreError::Damaged(why),
            Self::File(error) => StoreError::Unreadable(error.to_string()),
            Self::Open(error) => error.into(),
            Self::Store(error) => error,
            Self::Database(error) => match error.sqlite_error_code() {
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                    StoreError::Corrupt(error.to_string())
                }
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
                Self::File(error) => StoreError::NotSaved(error.to_string()),
                other => other.of_read(),
            };
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                StoreError::ReadOnly(error.to_string())
            }
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked,
            ) => self.of_read(),
            _ => StoreError::NotSaved(error.to_string()),
        }
    }

    /// Returns the error for a commit that failed: what was written may still be there after a power failure.
    pub fn of_commit(self) -> StoreError {
        match &self {
            Self::Database(error)
                if error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) =>
            {
                StoreError::Uncertain(error.to_string())
            }
            _ => self.of_change(),
        }
    }
}
