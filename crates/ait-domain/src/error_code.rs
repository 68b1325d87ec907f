//! The codes of errors, for programs.

use std::borrow::Cow;

use serde::Serialize;

use crate::string_enum;

string_enum! {
    /// What kind of error it is. The words are part of the interface: they stay.
    pub enum ErrorCode {
        /// An argument is missing, unknown or not valid.
        Validation = "VALIDATION",
        /// Nothing has this name.
        NotFound = "NOT_FOUND",
        /// Several issues match.
        Ambiguous = "AMBIGUOUS",
        /// The current state does not allow it.
        Conflict = "CONFLICT",
        /// The issue is closed or rejected.
        Final = "FINAL",
        /// The caller does not hold the claim.
        NotOwned = "NOT_OWNED",
        /// The store, or the token of the caller, allows reads only.
        ReadOnly = "READ_ONLY",
        /// The role of the caller does not have the tool.
        NotAllowed = "NOT_ALLOWED",
        /// The store is in use or is closing. Nothing changed.
        Busy = "BUSY",
        /// The store, a file or a remote tracker cannot be read.
        Unreadable = "UNREADABLE",
        /// The change could not be saved. Nothing changed.
        NotSaved = "NOT_SAVED",
        /// It is unknown whether the change survives a power failure.
        Uncertain = "UNCERTAIN",
        /// The caller cancelled the call.
        Cancelled = "CANCELLED",
        /// A defect of the tracker.
        Internal = "INTERNAL",
    }
}

/// How long a caller should wait before it calls a busy store again.
const BUSY_RETRY_MS: u64 = 1_000;

impl ErrorCode {
    /// Returns true if the caller can go on by itself: with other arguments, another call or a later one. Otherwise a
    /// person has to act.
    pub fn is_recoverable(self) -> bool {
        match self {
            Self::Validation
            | Self::NotFound
            | Self::Ambiguous
            | Self::Conflict
            | Self::Final
            | Self::NotOwned
            | Self::Busy
            | Self::Uncertain
            | Self::Cancelled => true,
            Self::ReadOnly
            | Self::NotAllowed
            | Self::Unreadable
            | Self::NotSaved
            | Self::Internal => false,
        }
    }

    /// Returns how many milliseconds to wait before the same call, if waiting helps.
    pub fn retry_after_ms(self) -> Option<u64> {
        (self == Self::Busy).then_some(BUSY_RETRY_MS)
    }
}

/// What programs read of an error, as JSON.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDetails {
    pub code: ErrorCode,
    /// Whether the caller can go on by itself.
    pub recoverable: bool,
    /// How many milliseconds to wait before the same call, if waiting helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The operation to call next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<Cow<'static, str>>,
}

impl ErrorDetails {
    /// Returns the details of a code, with the operation to call next.
    pub fn new(code: ErrorCode, next: Option<&'static str>) -> Self {
        let recoverable = code.is_recoverable();
        let retry_after_ms = code.retry_after_ms();
        Self { code, recoverable, retry_after_ms, next: next.map(Cow::Borrowed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_leave_out_what_is_absent() {
        let busy = serde_json::to_value(ErrorDetails::new(ErrorCode::Busy, None)).unwrap();
        let expected =
            serde_json::json!({ "code": "BUSY", "recoverable": true, "retryAfterMs": 1000 });
        assert_eq!(busy, expected);
        let details = ErrorDetails::new(ErrorCode::Unreadable, Some("list_issues"));
        let expected = serde_json::json!({
            "code": "UNREADABLE", "recoverable": false, "next": "list_issues",
        });
        assert_eq!(serde_json::to_value(details).unwrap(), expected);
    }
}
