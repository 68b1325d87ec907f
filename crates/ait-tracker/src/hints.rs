//! Hints: the commands, tools and settings that resolve an error. The domain and the stores know none of them.

use crate::UndoneIssue;
use ait_domain::{DomainError, ErrorDetails, Status};
use ait_store::StoreError;

/// The names by which an interface calls the operations that hints mention.
pub struct OperationNames {
    list: &'static str,
    add: &'static str,
    next: &'static str,
    review: &'static str,
    /// What to call instead of an answer that no question waits for.
    comment: &'static str,
    /// How to claim an issue by its id.
    claim: &'static str,
    /// What to do with finished work.
    complete: &'static str,
    /// How to end a claim of another agent.
    force: &'static str,
    /// How to end a claim of another agent whose number is known.
    force_number: &'static str,
    /// How an issue is closed without a review, and how it is opened again.
    as_person: &'static str,
    reopen: &'static str,
    /// How to undo a change that would end a claim of another agent.
    force_undo: &'static str,
}

pub const TOOLS: OperationNames = OperationNames {
    list: "list_issues",
    add: "add_issue",
    next: "get_next_issue",
    review: "get_next_review_item",
    comment: "update_issue",
    claim: "get_next_issue issue_id",
    complete: "complete_issue",
    force_number: "leave it to that agent; a lead that knows it has stopped calls return_issue with force: true",
    as_person: "",
    reopen: "",
    force: "leave it to that agent, and claim another one with get_next_issue; a person can take it back with `ait return --force`",
    force_undo: "leave it to that agent; a person can undo it with `ait undo --force`",
};

pub const COMMANDS: OperationNames = OperationNames {
    list: "ait list",
    add: "ait add",
    next: "ait next",
    review: "ait review",
    comment: "ait comment",
    claim: "`ait claim ID`",
    complete: "ait complete",
    force_number: "leave it to that agent, or end its claim with --force instead of --claim",
    as_person: "; a person closes it without --agent, or with --force",
    reopen: ", or open it again with `ait reopen ID -m WHY`",
    force: "leave it to that agent, or take it back with `ait return --force`",
    force_undo: "leave it to that agent, or undo it with --force",
};

/// What to know before issues end.
pub const ENDS_FOR_AGENTS: &str = "agents cannot undo the end of an issue: only a person opens it again, with `ait undo` \
     or `ait reopen`";

/// How to use a store on a network file system.
pub const NETWORK_FILE_SYSTEM: &str = "keep the store on a local disk and let other machines use it over HTTP \
     (`ait serve`); if no other machine uses it, set network-file-system = \"allow\" in ait.toml, or \
     AIT_NETWORK_FILE_SYSTEM=allow";

/// How to resolve a conflict that git left in `issues.json`.
pub const GIT_CONFLICT: &str =
    "`ait resolve` (or `ait doctor --fix`) keeps the issues of both sides, and adds the file";

/// Says how to end a conflict of a sync, given the short id of the issue.
pub fn for_sync_conflict(id: &str) -> String {
    format!(
        "`ait sync --keep {id}` keeps the values of this queue, `ait sync --take {id}` takes those of the remote"
    )
}

/// Says how the issues of a store of an earlier version come into this one: a directory, or the schema of a database.
pub fn for_earlier(what: &str) -> String {
    format!(
        "run `ait backup FILE` with the version that made it, move {what} away, and run `ait restore FILE`"
    )
}

/// Formats an error of the store with the next step.
pub fn for_store(error: &StoreError, names: &OperationNames) -> String {
    match error {
        StoreError::Refused(refusal) => for_refusal(refusal, names),
        StoreError::Damaged(_) | StoreError::Corrupt(_) => format!(
            "{error}: run `ait doctor`; `ait backup --partial` saves what can be read, and `ait restore` starts over \
             from a backup"
        ),
        StoreError::Earlier(what) => format!("{error}: {}", for_earlier(what)),
        StoreError::NetworkFileSystem(_) => format!("{error}: {NETWORK_FILE_SYSTEM}"),
        StoreError::Uncertain(_) => format!("{error} ({} shows it)", names.list),
        _ => error.to_string(),
    }
}

/// Says what is damaged, before what a damaged store answers.
pub fn for_damage(damage: &StoreError, names: &OperationNames) -> String {
    let reads_before =
        if damage.is_damage() { "; this is the state before the damage" } else { "" };
    format!("Warning: {}{reads_before}.", for_store(damage, names))
}

/// Formats a refusal with the next step.
pub fn for_refusal(error: &DomainError, names: &OperationNames) -> String {
    format!("{error}{}", next_step(error, names).0)
}

/// Returns what to add to a refusal, and the operation to call next, if there is one.
fn next_step(error: &DomainError, names: &OperationNames) -> (String, Option<&'static str>) {
    let OperationNames { list, add, next, review, comment, claim, complete, .. } = *names;
    match error {
        DomainError::InvalidReference { .. } => (format!("; {list} shows the ids"), Some(list)),
        DomainError::UnknownIssue { .. } => (format!(": {list} shows the ids"), Some(list)),
        DomainError::IdTaken { .. } => (format!(": call {add} again"), Some(add)),
        DomainError::Terminal { status: Status::Kept, .. } => {
            (format!("; file work with {add}"), Some(add))
        }
        DomainError::Terminal { .. } => {
            (format!(": file what is left to do with {add}{}", names.reopen), Some(add))
        }
        DomainError::NeedsReview { status, .. } => {
            let (step, operation) = match status {
                Status::InReview => ("leave it to that agent".to_owned(), None),
                Status::Completed => (format!("claim its review with {review}"), Some(review)),
                _ => (
                    format!("hand it in with {complete}, and another agent reviews it"),
                    Some(complete),
                ),
            };
            (format!("; {step}{}", names.as_person), operation)
        }
        DomainError::AlreadyCompleted { .. } => {
            (format!("; leave it, or claim its review with {review}"), Some(review))
        }
        DomainError::NotClaimable { required: Status::Completed, .. } => {
            (format!(": claim another one with {review}"), Some(review))
        }
        DomainError::NotClaimable { .. } => {
            (format!(": claim another one with {next}"), Some(next))
        }
        DomainError::NotReady { .. } => (format!("; claim another one with {next}"), Some(next)),
        DomainError::NotOwned { holder: Some(_), given, number, .. } if *given == Some(*number) => {
            (format!("; {}", names.force_number), None)
        }
        DomainError::NotOwned { holder: Some(_), .. } => (format!("; {}", names.force), Some(next)),
        DomainError::NotOwned { holder: None, status: Status::Created, .. } => {
            (format!("; claim it again with {claim}, or leave it"), Some(next))
        }
        DomainError::NotOwned { holder: None, given: Some(given), number, .. }
            if given <= number =>
        {
            ("; leave it".to_owned(), None)
        }
        DomainError::OtherClaim { number, .. } => {
            (format!(": if you mean that claim, call again with the number {number}"), None)
        }
        DomainError::NothingCommitted { .. } => (String::new(), Some(complete)),
        DomainError::NotChecked { id, .. } => {
            (format!(": run `ait check {}`, and call {complete} again", id.short()), Some(complete))
        }
        DomainError::MergeNotChecked { id } => {
            (format!(": run `ait merge {}` first{}", id.short(), names.as_person), None)
        }
        DomainError::NoQuestion { .. } => (format!(": say it with {comment}"), None),
        _ => (String::new(), None),
    }
}

/// Says what stays of an issue when changes are undone, and why.
pub fn for_undone(issue: &UndoneIssue, names: &OperationNames) -> Vec<String> {
    let left = issue.left.iter().map(|(field, reason)| format!("{field} ({})", reason.as_str()));
    let refused = issue.refused.as_ref().map(|error| match error {
        DomainError::NotOwned { holder: Some(_), .. } => format!("{error}; {}", names.force_undo),
        _ => for_refusal(error, names),
    });
    left.chain(refused).collect()
}

/// Returns what programs read of an error of the store.
pub fn details_for_store(error: &StoreError, names: &OperationNames) -> ErrorDetails {
    match error {
        StoreError::Refused(refusal) => details_for_refusal(refusal, names),
        StoreError::Uncertain(_) => ErrorDetails::new(error.code(), Some(names.list)),
        _ => ErrorDetails::new(error.code(), None),
    }
}

/// Returns what programs read of a refusal.
pub fn details_for_refusal(error: &DomainError, names: &OperationNames) -> ErrorDetails {
    ErrorDetails::new(error.code(), next_step(error, names).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_hints_name_the_operation_of_the_interface() {
        let id = uuid::Uuid::from_u128(1).into();
        let ended = DomainError::Terminal { id, status: Status::Rejected };
        assert!(for_refusal(&ended, &TOOLS).ends_with("with add_issue"));
        let for_people = for_refusal(&ended, &COMMANDS);
        assert!(for_people.ends_with("with ait add, or open it again with `ait reopen ID -m WHY`"));
        let status = Status::Created;
        let required = Status::Completed;
        let not_completed = DomainError::NotClaimable { id, status, required, holder: None };
        let refused = StoreError::Refused(not_completed);
        assert!(for_store(&refused, &TOOLS).ends_with("with get_next_review_item"));
    }

    #[test]
    fn damage_and_network_file_system_errors_have_hints() {
        let text = |error: StoreError| for_store(&error, &TOOLS);
        assert!(text(StoreError::Damaged("x".to_owned())).contains("ait doctor"));
        assert!(text(StoreError::Corrupt("x".to_owned())).contains("ait restore"));
        let network = text(StoreError::NetworkFileSystem("x is on NFS".to_owned()));
        for word in ["NFS", "nothing was changed", "ait serve", "network-file-system"] {
            assert!(network.contains(word), "{network}");
        }
    }
}
