//! The reasons why the rules refuse a command.

use super::event::NO_CHANGES;
use super::facts::short_hash;
use super::text::shortened;
use super::{ActionKind, Classification, ErrorCode, IssueId, IssueRef, Status, Timestamp};

/// A refusal by the rules. The text says what is wrong; each interface adds which operation to call instead.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DomainError {
    /// A required text is blank.
    #[error("{field} is blank: give 1 to {limit} characters")]
    Blank {
        /// The name of the field.
        field: &'static str,
        /// The maximum number of characters.
        limit: usize,
    },
    /// A text is longer than its limit.
    #[error("{field} has {length} characters: at most {limit} are allowed, shorten it")]
    TooLong {
        /// The name of the field.
        field: &'static str,
        /// The number of characters.
        length: usize,
        /// The maximum number of characters.
        limit: usize,
    },
    /// A title has more than one line.
    #[error(
        "title contains a line break: give one line of 1 to 500 characters and put details into description"
    )]
    LineBreakInTitle,
    /// A label, or the value of a field, has another form.
    #[error("{given:?} {problem}")]
    InvalidValue {
        /// The text, shortened.
        given: String,
        /// What it is not, and the form to give.
        problem: &'static str,
    },
    /// A question has too many options.
    #[error("the question has {count} options: at most {limit} are allowed")]
    TooManyOptions {
        /// How many there are.
        count: usize,
        /// The maximum.
        limit: usize,
    },
    /// The issue waits for the answer to another question.
    #[error("issue {id} waits for an answer already: {question}")]
    AlreadyAsked {
        id: IssueId,
        /// The open question, shortened.
        question: String,
    },
    /// The issue has no open question: none was asked, or it has been answered.
    #[error("issue {id} has no open question")]
    NoQuestion { id: IssueId },
    /// A question has no option with this number.
    #[error("{}", no_option_text(*id, *given, *count))]
    NoSuchOption {
        id: IssueId,
        /// The given number.
        given: usize,
        /// How many options there are.
        count: usize,
    },
    /// An issue would get too many of something.
    #[error("issue {id} would have {count} {what}: at most {limit} are allowed")]
    TooMany {
        id: IssueId,
        /// What there would be too many of.
        what: &'static str,
        /// How many there would be.
        count: usize,
        /// The maximum.
        limit: usize,
    },
    /// A link would make issues wait for each other, so that none of them could ever be claimed.
    #[error("that would be a cycle: {}", path_text(path))]
    Cycle {
        /// The issues of the cycle, each waiting for the next one; the one that would get the link first, and again at
        /// the end.
        path: Vec<IssueId>,
    },
    /// An issue would be a part of a part of a part, too deep.
    #[error("issue {id} would be {depth} levels deep: at most {limit} are allowed")]
    TooDeep {
        id: IssueId,
        depth: usize,
        /// The maximum.
        limit: usize,
    },
    /// An issue cannot be closed while its parts are open.
    #[error("issue {id} has open parts ({}): end them first, or close it as rejected", listed(parts, *count))]
    OpenParts {
        id: IssueId,
        /// The first of its open parts.
        parts: Vec<IssueId>,
        /// The number of open parts.
        count: usize,
    },
    /// The branch of the issue has no commit to hand in.
    #[error("issue {id} has the branch issue-{} without a commit: commit the work there, or say why in a comment that begins with \"{NO_CHANGES}\"", id.short())]
    NothingCommitted { id: IssueId },
    /// The required check has not passed on what is handed in.
    #[error("{}", not_checked_text(*id, tree.as_deref()))]
    NotChecked {
        id: IssueId,
        /// The hash of the files; `None` without a branch.
        tree: Option<String>,
    },
    /// The required check has not passed on the merge.
    #[error("issue {id} has no merge that passed the check since it was handed in")]
    MergeNotChecked { id: IssueId },
    /// Another kind would have another check, and the agent is at work.
    #[error(
        "issue {id} keeps its kind, and with it its check, while you hold it: return it if the kind is wrong, or ask a person to change it"
    )]
    KindOfClaim { id: IssueId },
    /// The issue cannot be claimed yet.
    #[error("issue {id} cannot be claimed now: {reason}")]
    NotReady {
        id: IssueId,
        /// What it waits for.
        reason: String,
    },
    /// A change names nothing, or what it sets is already so.
    #[error("nothing would change in issue {id}")]
    NothingToChange { id: IssueId },
    /// The issue has changed since the caller read it.
    #[error(
        "issue {id} has changed since version {given}: {changes}; its version is {version} now, and nothing was changed"
    )]
    VersionChanged {
        id: IssueId,
        /// The version that the caller knew, shortened.
        given: String,
        /// What changed, and by whom.
        changes: String,
        /// The current version.
        version: String,
    },
    /// An imported issue is too large for the store.
    #[error(
        "the issue has {bytes} bytes as JSON: at most {limit} are allowed, shorten its comments or its history"
    )]
    IssueTooLarge {
        /// The size of its JSON in bytes.
        bytes: usize,
        /// The maximum size in bytes.
        limit: usize,
    },
    /// An issue would not survive a round trip through JSON.
    #[error(
        "the issue does not survive being written and read back: {problem}; correct its unknown keys"
    )]
    NotRoundTrippable {
        /// What would differ or fail.
        problem: String,
    },
    /// A reference does not have the form of an id.
    #[error(
        "{given:?} does not name an issue: give its id, such as 3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73, \
         or at least its first {min_digits} hex digits"
    )]
    InvalidReference {
        /// The given text, truncated if it is long.
        given: String,
        /// The minimum number of hex digits.
        min_digits: usize,
    },
    /// No issue has this id.
    #[error("there is no issue {reference}")]
    UnknownIssue {
        /// The reference of the caller.
        reference: String,
    },
    /// The reference is a prefix of several ids.
    #[error(
        "{reference} matches {count} issues ({}): call again with more digits of the id",
        listed(candidates, *count)
    )]
    AmbiguousReference {
        /// The reference of the caller.
        reference: String,
        /// The first of the matching issues.
        candidates: Vec<IssueId>,
        /// The number of matching issues.
        count: usize,
    },
    /// The id of a new issue is already in use.
    #[error("issue {id} already exists")]
    IdTaken { id: IssueId },
    /// The issue has ended.
    #[error("{}", ended(*id, *status))]
    Terminal {
        id: IssueId,
        /// The status in which it ended.
        status: Status,
    },
    /// It is an issue, and no entry of the memory.
    #[error("{id} is an issue, and no entry of the memory")]
    NoEntry { id: IssueId },
    /// The issue is not in the status that a claim requires.
    #[error("issue {id} is {status}, not {required}{}", held_by(holder.as_deref()))]
    NotClaimable {
        id: IssueId,
        status: Status,
        /// The status that the claim requires.
        required: Status,
        /// The agent that holds it.
        holder: Option<String>,
    },
    /// An event of the log cannot follow the current version of its issue.
    #[error("an event does not follow from the current state of issue {id}")]
    DoesNotFollow { id: IssueId },
    /// A living client of another session holds claims under this name.
    #[error("{agent:?} is at work in another session: use the name {free:?}")]
    NameInUse {
        /// The name.
        agent: String,
        /// A name that no other session uses.
        free: String,
    },
    /// The caller holds the issue, and gave another number than that of its claim.
    #[error("issue {id} is yours, with claim {number}, not {given}")]
    OtherClaim {
        id: IssueId,
        /// The number that the caller gave.
        given: usize,
        /// The number of its claim.
        number: usize,
    },
    /// The caller does not hold the claim that it needs.
    #[error("{}", not_owned_text(*id, *given, *number, holder.as_ref(), *ended, *status, *is_late))]
    NotOwned {
        id: IssueId,
        /// The number of the claim that the caller gave.
        given: Option<usize>,
        /// The number of the latest claim.
        number: usize,
        /// The agent that holds the issue, and since when.
        holder: Option<(String, Timestamp)>,
        /// When and how the claim of the caller ended, if the history tells.
        ended: Option<(Timestamp, ActionKind)>,
        /// The status of the issue.
        status: Status,
        /// Whether the caller claimed the issue after the holder, in another clone.
        is_late: bool,
    },
    /// Only the agent that reviews the issue may close it.
    #[error("issue {id} is {status}{}, and an agent closes only what it reviews", held_by(holder.as_deref()))]
    NeedsReview {
        id: IssueId,
        status: Status,
        /// The agent that holds it.
        holder: Option<String>,
    },
    /// Another agent has completed the issue, and it waits for review.
    #[error("issue {id} was completed by {}, and waits for review", shortened(author, 60))]
    AlreadyCompleted {
        id: IssueId,
        /// The agent that completed it.
        author: String,
    },
    /// The issue has not ended, so there is nothing to open again.
    #[error("issue {id} is {status}: only an issue that is closed or rejected can be opened again")]
    StillOpen { id: IssueId, status: Status },
    /// The agent holds as many issues as it may.
    #[error(
        "{agent} holds {limit} issues, which is the most that max-claims allows: complete or return one first"
    )]
    TooManyClaims {
        agent: String,
        /// The maximum.
        limit: usize,
    },
    /// The provider of the agent has reached a limit.
    #[error(
        "{provider} has reached a limit until {until}: its agents get nothing, and keep what they hold"
    )]
    Held { provider: String, until: Timestamp },
    /// The project does not use a kind of work.
    #[error("classification must be one of {used}, not {given}")]
    UnusedClassification {
        given: Classification,
        /// The kinds that the project uses.
        used: String,
    },
    /// The claim has already ended, or a later claim has replaced it.
    #[error("the claim of issue {id} has already ended: nothing to do")]
    ClaimEnded { id: IssueId },
}

impl DomainError {
    /// The maximum number of candidates in the text of an ambiguous reference.
    pub const MAX_CANDIDATES: usize = 10;

    /// Returns the error of a text that is no valid label or value of a field.
    pub(super) fn invalid(given: &str, problem: &'static str) -> Self {
        const SHOWN_CHARS: usize = 60;
        Self::InvalidValue { given: shortened(given, SHOWN_CHARS), problem }
    }

    /// Returns the code of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Blank { .. }
            | Self::TooLong { .. }
            | Self::LineBreakInTitle
            | Self::IssueTooLarge { .. }
            | Self::NotRoundTrippable { .. }
            | Self::InvalidValue { .. }
            | Self::TooMany { .. }
            | Self::NothingToChange { .. }
            | Self::NoEntry { .. }
            | Self::TooManyOptions { .. }
            | Self::NoSuchOption { .. }
            | Self::UnusedClassification { .. }
            | Self::InvalidReference { .. } => ErrorCode::Validation,
            Self::UnknownIssue { .. } => ErrorCode::NotFound,
            Self::AmbiguousReference { .. } => ErrorCode::Ambiguous,
            Self::IdTaken { .. }
            | Self::NotClaimable { .. }
            | Self::NotReady { .. }
            | Self::AlreadyAsked { .. }
            | Self::NoQuestion { .. }
            | Self::Cycle { .. }
            | Self::TooManyClaims { .. }
            | Self::TooDeep { .. }
            | Self::OpenParts { .. }
            | Self::NeedsReview { .. }
            | Self::AlreadyCompleted { .. }
            | Self::StillOpen { .. }
            | Self::NothingCommitted { .. }
            | Self::NotChecked { .. }
            | Self::MergeNotChecked { .. }
            | Self::KindOfClaim { .. }
            | Self::NameInUse { .. }
            | Self::Held { .. }
            | Self::VersionChanged { .. } => ErrorCode::Conflict,
            Self::Terminal { .. } => ErrorCode::Final,
            Self::ClaimEnded { .. } | Self::OtherClaim { .. } | Self::NotOwned { .. } => {
                ErrorCode::NotOwned
            }
            Self::DoesNotFollow { .. } => ErrorCode::Internal,
        }
    }

    /// Returns the issue whose change is refused; `None` if the refusal is about no issue that exists.
    pub fn refused_issue(&self) -> Option<IssueId> {
        match self {
            Self::TooMany { id, .. }
            | Self::NoEntry { id }
            | Self::TooDeep { id, .. }
            | Self::OpenParts { id, .. }
            | Self::NotReady { id, .. }
            | Self::NothingToChange { id }
            | Self::AlreadyAsked { id, .. }
            | Self::NoQuestion { id }
            | Self::NoSuchOption { id, .. }
            | Self::VersionChanged { id, .. }
            | Self::IdTaken { id }
            | Self::Terminal { id, .. }
            | Self::NotClaimable { id, .. }
            | Self::NeedsReview { id, .. }
            | Self::AlreadyCompleted { id, .. }
            | Self::StillOpen { id, .. }
            | Self::NothingCommitted { id }
            | Self::NotChecked { id, .. }
            | Self::MergeNotChecked { id }
            | Self::KindOfClaim { id }
            | Self::DoesNotFollow { id }
            | Self::OtherClaim { id, .. }
            | Self::NotOwned { id, .. }
            | Self::ClaimEnded { id } => Some(*id),
            Self::Cycle { path } => path.first().copied(),
            Self::UnknownIssue { reference } => {
                let range = reference.parse::<IssueRef>().ok()?.range();
                (range.start() == range.end()).then_some(*range.start())
            }
            Self::Blank { .. }
            | Self::NameInUse { .. }
            | Self::Held { .. }
            | Self::TooLong { .. }
            | Self::LineBreakInTitle
            | Self::InvalidValue { .. }
            | Self::TooManyOptions { .. }
            | Self::IssueTooLarge { .. }
            | Self::NotRoundTrippable { .. }
            | Self::InvalidReference { .. }
            | Self::AmbiguousReference { .. }
            | Self::UnusedClassification { .. }
            | Self::TooManyClaims { .. } => None,
        }
    }

    /// Returns the issues whose ids the text has, except those that the caller gave or may choose from.
    pub fn issues(&self) -> Vec<IssueId> {
        match self {
            Self::OpenParts { id, parts, .. } => [&[*id][..], parts].concat(),
            Self::UnknownIssue { .. } => Vec::new(),
            _ => self.refused_issue().into_iter().collect(),
        }
    }

    pub fn invalid_reference(given: &str, min_digits: usize) -> Self {
        const SHOWN_CHARS: usize = 60;
        Self::InvalidReference { given: shortened(given, SHOWN_CHARS), min_digits }
    }
}

fn no_option_text(id: IssueId, given: usize, count: usize) -> String {
    match count {
        0 => format!("the question of issue {id} has no options: answer in words"),
        count => format!(
            "the question of issue {id} has no option {given}: give a number from 1 to {count}, or answer in words"
        ),
    }
}

fn ended(id: IssueId, status: Status) -> String {
    match status {
        Status::Kept => format!("{id} is an entry of the memory, and no work"),
        status => format!("issue {id} is {status}, which is final"),
    }
}

/// Names the holder of an issue at the end of a text.
fn held_by(holder: Option<&str>) -> String {
    const SHOWN_CHARS: usize = 60;
    holder.map(|agent| format!("; {} holds it", shortened(agent, SHOWN_CHARS))).unwrap_or_default()
}

/// Says which files have not passed the check.
fn not_checked_text(id: IssueId, tree: Option<&str>) -> String {
    match tree {
        Some(tree) => format!(
            "issue {id}: the check has not passed on the files of its branch (tree {})",
            short_hash(tree)
        ),
        None => format!(
            "issue {id} has no branch issue-{} on which the check passed, and its comment does not begin with \"{NO_CHANGES}\"",
            id.short()
        ),
    }
}

/// Says who holds an issue, for a caller that does not.
fn not_owned_text(
    id: IssueId,
    given: Option<usize>,
    number: usize,
    holder: Option<&(String, Timestamp)>,
    ended: Option<(Timestamp, ActionKind)>,
    status: Status,
    is_late: bool,
) -> String {
    const SHOWN_CHARS: usize = 60;
    match (holder, given) {
        (Some((agent, since)), _) if is_late => format!(
            "your claim of issue {id} has ended: {} claimed it before you, at {since} in another clone (claim {number})",
            shortened(agent, SHOWN_CHARS)
        ),
        (_, Some(given)) if given > number => {
            format!("issue {id} has no claim {given}: the latest is claim {number}")
        }
        (Some((agent, since)), Some(given)) if given == number => format!(
            "claim {given} of issue {id} is that of {}, who has held it since {since} and is still there",
            shortened(agent, SHOWN_CHARS)
        ),
        (Some((agent, since)), Some(given)) => format!(
            "claim {given} of issue {id} {}: {} has held it since {since} with claim {number}",
            ended_text(ended),
            shortened(agent, SHOWN_CHARS)
        ),
        (Some((agent, since)), None) => format!(
            "issue {id} is held by {} since {since} (claim {number}): only its holder may end the claim",
            shortened(agent, SHOWN_CHARS)
        ),
        (None, _) => format!(
            "claim {} of issue {id} {}: the issue is {status}, and no agent holds it",
            given.unwrap_or(number),
            ended_text(ended)
        ),
    }
}

/// Says when and how a claim ended.
fn ended_text(ended: Option<(Timestamp, ActionKind)>) -> String {
    match ended {
        Some((at, ActionKind::Lapsed)) => format!("lapsed at {at}"),
        Some((at, kind)) => match kind.word() {
            Some(word) => format!("ended at {at} ({word})"),
            None => format!("ended at {at}"),
        },
        None => "has ended".to_owned(),
    }
}

fn path_text(path: &[IssueId]) -> String {
    path.iter().map(IssueId::short).collect::<Vec<_>>().join(" waits for ")
}

fn listed(candidates: &[IssueId], count: usize) -> String {
    let mut text = candidates.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    if count > candidates.len() {
        text.push_str(", …");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_its_code() {
        let id = IssueId::NIL;
        let reference = || "3f2a9c1e".to_owned();
        let status = Status::Created;
        let required = Status::Completed;
        for (error, code) in [
            (DomainError::Blank { field: "agent", limit: 1 }, "VALIDATION"),
            (DomainError::TooLong { field: "agent", length: 2, limit: 1 }, "VALIDATION"),
            (DomainError::LineBreakInTitle, "VALIDATION"),
            (DomainError::IssueTooLarge { bytes: 2, limit: 1 }, "VALIDATION"),
            (DomainError::NotRoundTrippable { problem: String::new() }, "VALIDATION"),
            (DomainError::invalid_reference("x", 8), "VALIDATION"),
            (DomainError::UnknownIssue { reference: reference() }, "NOT_FOUND"),
            (
                DomainError::AmbiguousReference {
                    reference: reference(),
                    candidates: Vec::new(),
                    count: 2,
                },
                "AMBIGUOUS",
            ),
            (DomainError::IdTaken { id }, "CONFLICT"),
            (DomainError::Terminal { id, status: Status::Closed }, "FINAL"),
            (DomainError::NotClaimable { id, status, required, holder: None }, "CONFLICT"),
            (DomainError::DoesNotFollow { id }, "INTERNAL"),
            (DomainError::ClaimEnded { id }, "NOT_OWNED"),
            (DomainError::OtherClaim { id, given: 2, number: 1 }, "NOT_OWNED"),
            (
                DomainError::NotOwned {
                    id,
                    given: Some(1),
                    number: 2,
                    holder: None,
                    ended: None,
                    status,
                    is_late: false,
                },
                "NOT_OWNED",
            ),
            (DomainError::NeedsReview { id, status, holder: None }, "CONFLICT"),
            (DomainError::AlreadyCompleted { id, author: "a".to_owned() }, "CONFLICT"),
            (DomainError::StillOpen { id, status }, "CONFLICT"),
            (DomainError::NothingCommitted { id }, "CONFLICT"),
            (DomainError::NotChecked { id, tree: None }, "CONFLICT"),
            (DomainError::MergeNotChecked { id }, "CONFLICT"),
            (DomainError::KindOfClaim { id }, "CONFLICT"),
            (DomainError::TooManyOptions { count: 2, limit: 1 }, "VALIDATION"),
            (DomainError::NoSuchOption { id, given: 2, count: 1 }, "VALIDATION"),
            (DomainError::AlreadyAsked { id, question: String::new() }, "CONFLICT"),
            (DomainError::NoQuestion { id }, "CONFLICT"),
            (DomainError::TooManyClaims { agent: "a".to_owned(), limit: 1 }, "CONFLICT"),
            (DomainError::NameInUse { agent: "a".to_owned(), free: "a-1f".to_owned() }, "CONFLICT"),
            (
                DomainError::Held {
                    provider: "p".to_owned(),
                    until: Timestamp::from_unix_millis(0),
                },
                "CONFLICT",
            ),
        ] {
            assert_eq!(error.code().as_str(), code, "{error}");
        }
    }
}
