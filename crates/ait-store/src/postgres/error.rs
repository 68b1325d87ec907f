//! What went wrong in the database, and what the caller can do about it.

use tokio_postgres::error::SqlState;

use crate::StoreError;
use ait_domain::DomainError;

/// Why work in the database failed.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// A rule refuses the command.
    Refused(DomainError),
    /// The server cannot be reached, is starting or stopping, or the connection broke.
    Away(String),
    /// Another transaction is in the way. The same work may succeed at once.
    Conflict(String),
    /// Another transaction was in the way for too long.
    Busy(String),
    /// The server only allows reads.
    ReadOnly(String),
    /// The server could not keep the change, for example because its disk is full.
    NotKept(String),
    /// A newer version of the program made the schema.
    Newer(String),
    /// An earlier version of the program made the schema.
    Earlier(String),
    /// The connection broke while a transaction was committed.
    Lost(String),
    /// The role may not do that.
    Forbidden(String),
    /// Anything else, for example a wrong password.
    Other(String),
}

impl Failure {
    /// Adds the address of the server, if that is away.
    pub fn at(self, place: &str) -> Self {
        match self {
            Self::Away(why) => Self::Away(format!("{place}: {why}")),
            other => other,
        }
    }

    /// Returns the error for a failed read.
    pub fn of_read(self) -> StoreError {
        match self {
            Self::Refused(refusal) => StoreError::Refused(refusal),
            Self::Newer(what) => StoreError::Newer(what),
            Self::Earlier(what) => StoreError::Earlier(what),
            Self::Busy(why) | Self::Conflict(why) => StoreError::Busy(why),
            Self::Away(why) => StoreError::Away(why),
            Self::ReadOnly(why)
            | Self::NotKept(why)
            | Self::Lost(why)
            | Self::Forbidden(why)
            | Self::Other(why) => StoreError::Unreadable(why),
        }
    }

    /// Returns the error that the next read would return, or the next change if reads work.
    pub fn of_health(self) -> StoreError {
        if matches!(self, Self::ReadOnly(_)) { self.of_change() } else { self.of_read() }
    }

    /// Returns the error for a failed change.
    pub fn of_change(self) -> StoreError {
        match self {
            Self::Refused(refusal) => StoreError::Refused(refusal),
            Self::Newer(what) => StoreError::Newer(what),
            Self::Earlier(what) => StoreError::Earlier(what),
            Self::Busy(why) | Self::Conflict(why) => StoreError::Busy(why),
            Self::ReadOnly(why) => StoreError::ReadOnly(why),
            Self::Away(why) => StoreError::Away(why),
            Self::NotKept(why) | Self::Forbidden(why) | Self::Other(why) => {
                StoreError::NotSaved(why)
            }
            Self::Lost(why) => StoreError::Uncertain(why),
        }
    }

    /// Returns true if the same work may succeed soon without any help.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Conflict(_))
    }

    /// Returns true if one of several requests may have caused it, for example with an issue that is locked.
    pub fn may_be_of_one(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Other(_))
    }
}

impl From<DomainError> for Failure {
    fn from(refusal: DomainError) -> Self {
        Self::Refused(refusal)
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(answer) = error.as_db_error() else {
            return of_connection(&error);
        };
        let said = answer.message();
        let code = answer.code();
        match code.code() {
            "40001" | "40P01" | "23505" => Self::Conflict(format!("changes collided: {said}")),
            "55P03" | "57014" => {
                Self::Busy(format!("another transaction was in the way for too long ({said})"))
            }
            "25006" => Self::ReadOnly(
                "the server is a standby that only allows reads; connect to the primary".into(),
            ),
            "53100" => Self::NotKept(format!("the disk of the server is full ({said})")),
            "53300" => Self::Away(format!(
                "the server has no free connection ({said}); raise max_connections or use a pooler"
            )),
            "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => {
                Self::Away(format!("the server ended the connection ({said})"))
            }
            "28P01" => Self::Other(format!(
                "{said}; give the password in the environment, in a file or in ~/.pgpass"
            )),
            "28000" => Self::Other(format!(
                "{said}; create the role, or let it in with a line in pg_hba.conf of the server"
            )),
            "3D000" => Self::Other(format!("{said}; create it with createdb")),
            // A newer version has changed the schema since this process began.
            "42703" => Self::Newer(format!("the schema ({said})")),
            "42501" => Self::Forbidden(format!(
                "{said}; give the role the rights that docs/postgres.md lists, or use the owner"
            )),
            class if class.starts_with("08") => {
                Self::Away(format!("the connection broke ({said})"))
            }
            class if class.starts_with("53") => {
                Self::NotKept(format!("the server lacks resources ({said})"))
            }
            _ => Self::Other(format!("the database says: {said} (SQLSTATE {})", code_text(code))),
        }
    }
}

fn code_text(code: &SqlState) -> &str {
    code.code()
}

/// Returns what an error without an answer of the server means.
fn of_connection(error: &tokio_postgres::Error) -> Failure {
    use std::error::Error as _;
    if let Some(why) = certificate_problem(error) {
        return Failure::Other(format!(
            "the certificate of the server is not accepted ({why}); sslrootcert names a file with the authorities to \
             trust, and the certificate has to be for the host in the URL"
        ));
    }
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    let text = format!("{error}{cause}");
    let is_io =
        error.is_closed() || error.source().is_some_and(|cause| cause.is::<std::io::Error>());
    if is_io {
        return Failure::Away(format!("the server cannot be reached ({text})"));
    }
    Failure::Other(text)
}

/// Returns why the certificate of the server was refused, if it was. An I/O error hides it.
fn certificate_problem(error: &tokio_postgres::Error) -> Option<&rustls::CertificateError> {
    use std::error::Error as _;
    let io = error.source()?.downcast_ref::<std::io::Error>()?;
    match io.get_ref()?.downcast_ref()? {
        rustls::Error::InvalidCertificate(why) => Some(why),
        _ => None,
    }
}
