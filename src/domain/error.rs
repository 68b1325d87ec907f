//! Why a command is refused, and what the caller can do instead.

use std::fmt;

use super::text::shortened;
use super::{IssueId, Status};

/// A refusal by the rules. The text names the thing and the way out, with the names of the tools; see
/// [`in_words`](DomainError::in_words).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DomainError {
    /// A text that must say something is blank.
    Blank {
        /// Which text.
        field: &'static str,
        /// The most characters it may have.
        limit: usize,
    },
    /// A text is longer than its limit.
    TooLong {
        /// Which text.
        field: &'static str,
        /// How many characters it has.
        length: usize,
        /// The most characters it may have.
        limit: usize,
    },
    /// A title has more than one line.
    LineBreakInTitle,
    /// An issue from elsewhere takes more room than a store can give it.
    IssueTooLarge {
        /// How many bytes it has as JSON.
        bytes: usize,
        /// The most bytes that it may have.
        limit: usize,
    },
    /// An issue would not be the same when it is read again.
    Unrepeatable {
        /// What would be wrong with it.
        problem: String,
    },
    /// A text that is to name an issue does not have the form of an id.
    InvalidReference {
        /// The text, cut where it is long.
        given: String,
    },
    /// No issue has such an id.
    UnknownIssue {
        /// How the caller named it.
        reference: String,
    },
    /// More than one issue has an id that begins so.
    AmbiguousReference {
        /// How the caller named it.
        reference: String,
        /// The first of the issues that it could mean.
        candidates: Vec<IssueId>,
        /// How many there are in all.
        count: usize,
    },
    /// The id of a new issue is taken.
    IdTaken {
        /// The id.
        id: IssueId,
    },
    /// The issue has ended.
    Terminal {
        /// Which issue.
        id: IssueId,
        /// How it ended.
        status: Status,
    },
    /// The issue is not in the status from which it could be claimed.
    NotClaimable {
        /// Which issue.
        id: IssueId,
        /// Where it stands.
        status: Status,
        /// Where it would have to stand.
        required: Status,
    },
    /// An event of a log does not follow from the issue as it is.
    DoesNotFollow {
        /// Which issue.
        id: IssueId,
    },
    /// The claim does not stand any more: somebody has ended it, or another one has followed.
    ClaimEnded {
        /// Which issue.
        id: IssueId,
    },
}

impl DomainError {
    /// The most candidates that an ambiguous reference lists.
    pub const MAX_CANDIDATES: usize = 10;

    /// The refusal in the words of an interface: what is wrong, and the way out.
    pub fn in_words<'a>(&'a self, words: &'a Vocabulary) -> impl fmt::Display + 'a {
        InWords { error: self, words }
    }

    pub(crate) fn invalid_reference(given: &str) -> Self {
        const SHOWN_CHARS: usize = 60;
        Self::InvalidReference { given: shortened(given, SHOWN_CHARS) }
    }
}

impl fmt::Display for DomainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.in_words(&Vocabulary::TOOLS), f)
    }
}

impl std::error::Error for DomainError {}

/// What an interface calls the operations that a refusal can point to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Vocabulary {
    /// What shows the issues.
    pub list_issues: &'static str,
    /// What files one.
    pub add_issue: &'static str,
    /// What claims one for work.
    pub get_next_issue: &'static str,
    /// What claims one for review.
    pub get_next_review_item: &'static str,
}

impl Vocabulary {
    /// The names of the tools.
    pub const TOOLS: Self = Self {
        list_issues: "list_issues",
        add_issue: "add_issue",
        get_next_issue: "get_next_issue",
        get_next_review_item: "get_next_review_item",
    };
}

struct InWords<'a> {
    error: &'a DomainError,
    words: &'a Vocabulary,
}

impl fmt::Display for InWords<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Vocabulary { list_issues, add_issue, get_next_issue, get_next_review_item } =
            self.words;
        match self.error {
            DomainError::Blank { field, limit } => {
                write!(f, "{field} is blank: give 1 to {limit} characters")
            }
            DomainError::TooLong { field, length, limit } => write!(
                f,
                "{field} has {length} characters: at most {limit} are allowed, shorten it"
            ),
            DomainError::LineBreakInTitle => f.write_str(
                "title contains a line break: give one line of 1 to 500 characters, details go into \
                 description",
            ),
            DomainError::IssueTooLarge { bytes, limit } => write!(
                f,
                "the issue has {bytes} bytes as JSON: at most {limit} are allowed, shorten its \
                 comments or its history"
            ),
            DomainError::Unrepeatable { problem } => write!(
                f,
                "the issue could not be read again once it is written: {problem}; correct its \
                 unknown keys"
            ),
            DomainError::InvalidReference { given } => write!(
                f,
                "{given:?} does not name an issue: give its id, such as \
                 3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73, or at least the first 8 hex digits of it; \
                 {list_issues} shows the ids"
            ),
            DomainError::UnknownIssue { reference } => {
                write!(f, "there is no issue {reference}: {list_issues} shows the ids")
            }
            DomainError::AmbiguousReference { reference, candidates, count } => write!(
                f,
                "{reference} could be any of {count} issues ({}): call again with more digits of \
                 the id",
                listed(candidates, *count)
            ),
            DomainError::IdTaken { id } => {
                write!(f, "issue {id} exists already: call {add_issue} again")
            }
            DomainError::Terminal { id, status } => write!(
                f,
                "issue {id} is {status}, which is final: file what is left to do with {add_issue}"
            ),
            DomainError::DoesNotFollow { id } => {
                write!(f, "an event does not follow from issue {id} as it is")
            }
            DomainError::ClaimEnded { id } => {
                write!(f, "the claim of issue {id} has ended already: there is nothing to do")
            }
            DomainError::NotClaimable { id, status, required } => {
                let claim = match required {
                    Status::Completed => get_next_review_item,
                    _ => get_next_issue,
                };
                write!(f, "issue {id} is {status}, not {required}: claim another one with {claim}")
            }
        }
    }
}

fn listed(candidates: &[IssueId], count: usize) -> String {
    let mut text = candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if count > candidates.len() {
        text.push_str(", …");
    }
    text
}
