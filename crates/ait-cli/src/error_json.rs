//! The JSON that a command with `--json` prints when it fails.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use serde::Serialize;

use super::candidates::Ambiguous;
use super::output::has_written;
use super::{Output, render_error};
use ait_domain::{DomainError, ErrorCode, ErrorDetails};
use ait_tracker::activity::HistoryError;
use ait_tracker::hints::{self, COMMANDS};
use ait_tracker::{BackupError, StoreError};

/// A failure, as a script reads it.
#[derive(Serialize)]
struct ErrorJson<'a> {
    error: &'a str,
    #[serde(flatten)]
    details: ErrorDetails,
}

/// Returns true if the arguments of the process ask for JSON.
pub fn wants_json(arguments: impl IntoIterator<Item = OsString>) -> bool {
    arguments
        .into_iter()
        .take_while(|argument| argument != "--")
        .any(|argument| argument == "--json")
}

/// Prints the error of a command. Prints nothing if the command has already written to stdout. Returns true if stderr
/// does not have to say it, too, because it goes to the same place.
pub fn print_error(error: &anyhow::Error) -> anyhow::Result<bool> {
    print(&render_error(error), details(error))
}

/// Prints an error of the command line itself, as clap formats it. Returns the same as [`print_error`].
pub fn print_usage_error(error: &clap::Error) -> anyhow::Result<bool> {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    print(text, ErrorDetails::new(ErrorCode::Validation, None))
}

fn print(error: &str, details: ErrorDetails) -> anyhow::Result<bool> {
    if has_written() {
        return Ok(false);
    }
    let output = Output::stdout();
    output.json(&ErrorJson { error, details })?;
    output.flush()?;
    Ok(is_stderr_on_stdout())
}

/// Returns true if both go to the same terminal, pipe or file.
fn is_stderr_on_stdout() -> bool {
    let inode =
        |file: BorrowedFd<'_>| rustix::fs::fstat(file).map(|stat| (stat.st_dev, stat.st_ino));
    let stdout = inode(io::stdout().as_fd());
    let stderr = inode(io::stderr().as_fd());
    stdout.is_ok() && stdout == stderr
}

/// Returns the details of the first cause that has a code.
fn details(error: &anyhow::Error) -> ErrorDetails {
    let code = |code| ErrorDetails::new(code, None);
    let known = error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<StoreError>() {
            Some(hints::details_for_store(error, &COMMANDS))
        } else if let Some(error) = cause.downcast_ref::<DomainError>() {
            Some(hints::details_for_refusal(error, &COMMANDS))
        } else if let Some(error) = cause.downcast_ref::<HistoryError>() {
            Some(of_history(error))
        } else if let Some(error) = cause.downcast_ref::<BackupError>() {
            Some(code(of_backup(error)))
        } else if cause.is::<Ambiguous>() {
            Some(code(ErrorCode::Ambiguous))
        } else {
            cause.downcast_ref::<io::Error>().map(|error| code(of_io(error)))
        }
    });
    // The other errors refuse settings, or what the command line names, such as a file that exists already.
    known.unwrap_or_else(|| code(ErrorCode::Validation))
}

fn of_history(error: &HistoryError) -> ErrorDetails {
    let code = match error {
        HistoryError::Store(error) => return hints::details_for_store(error, &COMMANDS),
        HistoryError::NotKept { .. } => ErrorCode::NotFound,
        HistoryError::Replaced | HistoryError::Changing => ErrorCode::Busy,
        HistoryError::Inconsistent { .. } => ErrorCode::Unreadable,
    };
    ErrorDetails::new(code, None)
}

fn of_backup(error: &BackupError) -> ErrorCode {
    match error {
        BackupError::Exists(_) => ErrorCode::Conflict,
        BackupError::OfTheStore(_) => ErrorCode::Validation,
        BackupError::Missing(_) => ErrorCode::NotFound,
        BackupError::NotSaved { .. } => ErrorCode::NotSaved,
        BackupError::Io { .. } | BackupError::Changed(_) | BackupError::Format { .. } => {
            ErrorCode::Unreadable
        }
    }
}

fn of_io(error: &io::Error) -> ErrorCode {
    match error.kind() {
        io::ErrorKind::NotFound => ErrorCode::NotFound,
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorCode::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorCode::NotSaved,
        _ => ErrorCode::Internal,
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn json_is_wanted_only_as_an_option() {
        let wants = |line: &str| wants_json(line.split(' ').map(OsString::from));
        assert!(wants("ait list --json") && wants("ait --json"));
        assert!(!wants("ait list") && !wants("ait add -- --json") && !wants("ait add json"));
    }

    #[test]
    fn the_cause_with_a_code_gives_the_details() {
        let error = |error: anyhow::Error| details(&error).code.as_str();
        let busy = || StoreError::Busy(String::new());
        assert_eq!(error(anyhow!(busy()).context("of what was done")), "BUSY");
        assert_eq!(error(HistoryError::Store(busy()).into()), "BUSY");
        assert_eq!(error(BackupError::Missing("b".into()).into()), "NOT_FOUND");
        assert_eq!(error(io::Error::from(io::ErrorKind::StorageFull).into()), "NOT_SAVED");
        assert_eq!(error(anyhow!("it exists already")), "VALIDATION");
    }
}
