//! Why a command is refused, and what the caller can do instead.

use super::text::shortened;
use super::{IssueId, Status};

/// A refusal by the rules. The text names the thing and the way out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DomainError {
    /// A text that must say something is blank.
    #[error("{field} is blank: give 1 to {limit} characters")]
    Blank {
        /// Which text.
        field: &'static str,
        /// The most characters it may have.
        limit: usize,
    },
    /// A text is longer than its limit.
    #[error("{field} has {length} characters: at most {limit} are allowed, shorten it")]
    TooLong {
        /// Which text.
        field: &'static str,
        /// How many characters it has.
        length: usize,
        /// The most characters it may have.
        limit: usize,
    },
    /// A title has more than one line.
    #[error(
        "title contains a line break: give one line of 1 to 500 characters, details go into description"
    )]
    LineBreakInTitle,
    /// A text that is to name an issue does not have the form of an id.
    #[error(
        "{given:?} does not name an issue: give its id, such as 3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73, or at least the first 8 hex digits of it; list_issues shows the ids"
    )]
    InvalidReference {
        /// The text, cut where it is long.
        given: String,
    },
    /// No issue has such an id.
    #[error("there is no issue {reference}: list_issues shows the ids")]
    UnknownIssue {
        /// How the caller named it.
        reference: String,
    },
    /// More than one issue has an id that begins so.
    #[error("{reference} could be any of {count} issues ({}): call again with more digits of the id", listed(.candidates, *.count))]
    AmbiguousReference {
        /// How the caller named it.
        reference: String,
        /// The first of the issues that it could mean.
        candidates: Vec<IssueId>,
        /// How many there are in all.
        count: usize,
    },
    /// The id of a new issue is taken.
    #[error("issue {id} exists already: call add_issue again")]
    IdTaken {
        /// The id.
        id: IssueId,
    },
    /// The issue has ended.
    #[error("issue {id} is {status}, which is final: file what is left to do with add_issue")]
    Terminal {
        /// Which issue.
        id: IssueId,
        /// How it ended.
        status: Status,
    },
    /// The issue is not in the status from which it could be claimed.
    #[error("issue {id} is {status}, not {required}: claim another one with {operation}")]
    NotClaimable {
        /// Which issue.
        id: IssueId,
        /// Where it stands.
        status: Status,
        /// Where it would have to stand.
        required: Status,
        /// The operation that claims the next one.
        operation: &'static str,
    },
}

impl DomainError {
    /// The most candidates that an ambiguous reference lists.
    pub const MAX_CANDIDATES: usize = 10;

    pub(crate) fn invalid_reference(given: &str) -> Self {
        const SHOWN_CHARS: usize = 60;
        Self::InvalidReference { given: shortened(given, SHOWN_CHARS) }
    }
}

fn listed(candidates: &[IssueId], count: usize) -> String {
    let mut text = candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if count > candidates.len() {
        text.push_str(", …");
    }
    text
}
