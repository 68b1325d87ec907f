//! The rules of the lifecycle: what a command does to an issue, or why it does nothing.
//!
//! ```text
//! add_issue ─► created ─get_next_issue─► in_progress ─complete_issue─► completed
//!                 ▲                                                        │
//!                 │                                               get_next_review_item
//!            return_issue                                                  ▼
//!       (from any open status)      closed, rejected ◄─close_issue─── in_review
//! ```
//!
//! `complete_issue`, `return_issue` and `close_issue` work from every open status: an issue whose
//! agent is gone must be able to move on. Nothing leaves `closed` and `rejected`. `comment_issue` says
//! something about an issue wherever it stands, moves nothing, and leaves nothing in the history.

use super::event::EDIT_ACTION;
use super::{
    Before, Command, DomainError, Event, EventKind, Extra, HAND_EDIT, HistoryEntry, Issue, Patch,
    Resolution, Status, Timestamp, merge,
};

/// Decides what filing or importing an issue means, which has no issue to look at yet.
///
/// `None` for every other command.
pub fn file(command: &Command, now: Timestamp) -> Option<Event> {
    let (id, agent, kind) = match command {
        Command::AddIssue { id, title, description, classification, agent } => {
            let kind = EventKind::Filed {
                title: title.as_str().to_owned(),
                description: description.as_str().to_owned(),
                classification: *classification,
            };
            (*id, agent.as_str(), kind)
        }
        Command::ImportIssue { issue, agent } => {
            let issue = issue.issue().clone();
            (issue.id, agent.as_str(), EventKind::Imported { issue, ahead_of: None })
        }
        Command::PlaceIssue { issue, ahead_of, agent } => {
            let kind = EventKind::Imported { issue: issue.clone(), ahead_of: *ahead_of };
            (issue.id, agent.as_str(), kind)
        }
        _ => return None,
    };
    Some(Event { issue: id, at: now, agent: agent.to_owned(), kind, before: None })
}

/// Decides what a command does to an issue, looking only at the issue and the time. `None` where the command
/// changes nothing.
///
/// The time of the event is never before the issue's last change, so that a history reads forward
/// even where clocks disagree.
///
/// # Errors
///
/// Refuses every change of an issue that has ended but a comment, claims of an issue that does not wait for one,
/// the end of a claim that no longer stands, and a new issue in the place of an existing one.
pub fn decide(
    command: &Command,
    issue: &Issue,
    now: Timestamp,
) -> Result<Option<Event>, DomainError> {
    let at = now.max(issue.modified_at);
    let (agent, kind) = match command {
        Command::AddIssue { .. } | Command::ImportIssue { .. } | Command::PlaceIssue { .. } => {
            return Err(DomainError::IdTaken { id: issue.id });
        }
        Command::GetNextIssue { agent, .. } => {
            claimable(issue, Status::Created)?;
            (agent.as_str(), EventKind::Claimed)
        }
        Command::GetNextReviewItem { agent } => {
            claimable(issue, Status::Completed)?;
            (agent.as_str(), EventKind::ReviewStarted)
        }
        Command::ReturnIssue { comment, agent, .. } => {
            open(issue)?;
            (agent.as_str(), EventKind::Returned { comment: comment.as_str().to_owned() })
        }
        Command::CompleteIssue { comment, agent, .. } => {
            open(issue)?;
            (agent.as_str(), EventKind::Completed { comment: comment.as_str().to_owned() })
        }
        Command::CloseIssue { comment, agent, resolution, .. } => {
            open(issue)?;
            let comment = comment.as_str().to_owned();
            let kind = match resolution {
                Resolution::Closed => EventKind::Closed { comment },
                Resolution::Rejected => EventKind::Rejected { comment },
            };
            (agent.as_str(), kind)
        }
        // Also of one that has ended: it stays where it is.
        Command::CommentIssue { comment, agent, .. } => {
            (agent.as_str(), EventKind::Commented { comment: comment.as_str().to_owned() })
        }
        Command::LapseClaim { entry, reason, .. } => {
            if issue.claim_entry() != Some(*entry) {
                return Err(DomainError::ClaimEnded { id: issue.id });
            }
            let holder = issue.history[*entry].agent.as_str();
            (holder, EventKind::Lapsed { reason: reason.clone() })
        }
        Command::MergeEdit { theirs, base } => {
            return Ok(edited(issue, theirs, base.as_deref(), at));
        }
        Command::ReplaceIssue { issue: wanted, agent } => {
            return Ok(patched(issue, wanted, agent, at));
        }
        Command::RemoveIssue { ahead_of, agent, .. } => {
            let kind = EventKind::Removed { issue: issue.clone().into(), ahead_of: *ahead_of };
            (agent.as_str(), kind)
        }
        Command::SetUnknownKeys { .. } => return Ok(None),
    };
    let before = Some(Before::of(issue)).filter(|_| !matches!(kind, EventKind::Removed { .. }));
    Ok(Some(Event { issue: issue.id, at, agent: agent.to_owned(), kind, before }))
}

/// What an edit of the file makes of an issue. It leaves an entry in the history, by which this version is known
/// from then on, unless the file has a longer history itself.
fn edited(ours: &Issue, theirs: &Issue, base: Option<&Issue>, at: Timestamp) -> Option<Event> {
    let mut wanted = merge(base, ours, theirs).issue;
    if wanted == *ours {
        return None;
    }
    if wanted.history.len() == ours.history.len() {
        wanted.modified_at = at;
        wanted.history.push(HistoryEntry {
            timestamp: at,
            agent: HAND_EDIT.to_owned(),
            action: EDIT_ACTION.to_owned(),
            extra: Extra::default(),
        });
    }
    patched(ours, &wanted, HAND_EDIT, at)
}

fn patched(before: &Issue, after: &Issue, agent: &str, at: Timestamp) -> Option<Event> {
    let patch = Box::new(Patch::between(before, after));
    let (agent, kind) = (agent.to_owned(), EventKind::Edited { patch: patch.clone() });
    (!patch.is_empty()).then(|| Event { issue: before.id, at, agent, kind, before: None })
}

fn open(issue: &Issue) -> Result<(), DomainError> {
    if issue.status.is_terminal() {
        return Err(DomainError::Terminal { id: issue.id, status: issue.status });
    }
    Ok(())
}

fn claimable(issue: &Issue, required: Status) -> Result<(), DomainError> {
    open(issue)?;
    if issue.status != required {
        return Err(DomainError::NotClaimable { id: issue.id, status: issue.status, required });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::event::RETURN_ACTION;
    use crate::domain::{AgentName, Classification, CommentText, Description, IssueId, Title};

    const ID: &str = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";

    fn id() -> IssueId {
        serde_json::from_value(ID.into()).unwrap()
    }

    fn at(second: u32) -> Timestamp {
        Timestamp::parse(&format!("2026-01-31T09:30:{second:02}.000Z")).unwrap()
    }

    fn agent() -> AgentName {
        AgentName::try_from("agent").unwrap()
    }

    fn comment() -> CommentText {
        CommentText::try_from("because").unwrap()
    }

    fn add() -> Command {
        Command::AddIssue {
            id: id(),
            title: Title::try_from("T").unwrap(),
            description: Description::try_from("D").unwrap(),
            classification: Classification::Bug,
            agent: agent(),
        }
    }

    fn import() -> Command {
        let issue = file(&add(), at(1)).unwrap().filed().unwrap();
        Command::ImportIssue { issue: issue.try_into().unwrap(), agent: agent() }
    }

    fn close(resolution: Resolution) -> Command {
        Command::CloseIssue { issue: id().into(), resolution, comment: comment(), agent: agent() }
    }

    fn issue_in(status: Status) -> Issue {
        let mut issue = file(&add(), at(0)).unwrap().filed().unwrap();
        issue.status = status;
        issue
    }

    /// What each command makes of an issue in each status; `None` where it is refused.
    #[test]
    fn the_table_of_every_status_and_command() {
        use Status::{Closed, Completed, Created, InProgress, InReview, Rejected};
        let statuses = [Created, InProgress, Completed, InReview, Closed, Rejected];
        assert_eq!(statuses.as_slice(), Status::ALL);
        let any_open = |to| [Some(to), Some(to), Some(to), Some(to), None, None];
        let claim = Command::GetNextIssue { classification: None, agent: agent() };
        let review = Command::GetNextReviewItem { agent: agent() };
        let give_back =
            Command::ReturnIssue { issue: id().into(), comment: comment(), agent: agent() };
        let complete =
            Command::CompleteIssue { issue: id().into(), comment: comment(), agent: agent() };
        for (command, outcomes, action) in [
            (add(), [None; 6], ""),
            (import(), [None; 6], ""),
            (claim, [Some(InProgress), None, None, None, None, None], "Issue claimed for work"),
            (review, [None, None, Some(InReview), None, None, None], "Issue claimed for review"),
            (give_back, any_open(Created), "Issue returned to created status"),
            (complete, any_open(Completed), "Issue completed"),
            (close(Resolution::Closed), any_open(Closed), "Issue closed"),
            (close(Resolution::Rejected), any_open(Rejected), "Issue rejected"),
        ] {
            for (status, outcome) in statuses.into_iter().zip(outcomes) {
                let before = issue_in(status);
                let decided = decide(&command, &before, at(5));
                let Some(expected) = outcome else {
                    let error = decided.unwrap_err().to_string();
                    assert!(error.contains(ID), "{error}");
                    continue;
                };
                let mut after = before.clone();
                decided.unwrap().unwrap().apply(&mut after);
                assert_eq!(after.status, expected, "{command:?} from {status}");
                assert_eq!(after.modified_at, at(5));
                assert_eq!(after.created_at, before.created_at);
                assert_eq!(after.history.len(), before.history.len() + 1);
                let entry = after.history.last().unwrap();
                assert_eq!((entry.agent.as_str(), entry.action.as_str()), ("agent", action));
                assert_eq!(entry.timestamp, at(5));
                let says = !matches!(command.selection(), crate::domain::Selection::Oldest(..));
                assert_eq!(after.comments.len(), usize::from(says));
                if let Some(said) = after.comments.last() {
                    assert_eq!((said.agent.as_str(), said.text.as_str()), ("agent", "because"));
                }
            }
        }
    }

    #[test]
    fn a_comment_alone_changes_neither_status_nor_history_nor_holder() {
        let command =
            Command::CommentIssue { issue: id().into(), comment: comment(), agent: agent() };
        for status in Status::ALL {
            let before = issue_in(*status);
            let event = decide(&command, &before, at(5)).unwrap().unwrap();
            let mut after = before.clone();
            event.apply(&mut after);
            assert_eq!((after.status, &after.history), (*status, &before.history));
            assert_eq!((after.holder(), after.modified_at), (before.holder(), at(5)));
            assert_eq!(after.comments.last().unwrap().text, "because");
            let moment = event.moment();
            assert_eq!((moment.action, moment.comment), (None, Some("because")));
            assert_eq!(after.story().last(), Some(&moment));
        }
    }

    #[test]
    fn filing_gives_a_created_issue_with_one_history_entry() {
        let issue = file(&add(), at(3)).unwrap().filed().unwrap();
        assert_eq!(issue.status, Status::Created);
        assert_eq!((issue.created_at, issue.modified_at), (at(3), at(3)));
        assert_eq!((issue.title.as_str(), issue.description.as_str()), ("T", "D"));
        assert_eq!(issue.history.len(), 1);
        assert_eq!(issue.history[0].action, "Issue filed");
        assert!(issue.comments.is_empty());
    }

    #[test]
    fn only_filing_files() {
        assert_eq!(file(&close(Resolution::Closed), at(0)), None);
        let event = decide(&close(Resolution::Closed), &issue_in(Status::Created), at(0)).unwrap();
        assert_eq!(event.unwrap().filed(), None);
    }

    #[test]
    fn a_refusal_says_what_to_do_next() {
        let ended = decide(&close(Resolution::Closed), &issue_in(Status::Rejected), at(1));
        let text = ended.unwrap_err().to_string();
        assert!(text.contains("rejected") && text.contains("add_issue"), "{text}");
        let review = Command::GetNextReviewItem { agent: agent() };
        let text = decide(&review, &issue_in(Status::Created), at(1)).unwrap_err().to_string();
        assert!(text.contains("completed") && text.contains("get_next_review_item"), "{text}");
    }

    #[test]
    fn time_never_runs_backwards_within_an_issue() {
        let mut issue = issue_in(Status::Created);
        issue.modified_at = at(9);
        let event = decide(&close(Resolution::Closed), &issue, at(2)).unwrap().unwrap();
        assert_eq!(event.at, at(9));
    }

    #[test]
    fn the_action_of_a_return_is_part_of_the_file_format() {
        assert_eq!(RETURN_ACTION, "Issue returned to created status");
    }
}
