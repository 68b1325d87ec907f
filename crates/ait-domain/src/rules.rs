//! The rules of the lifecycle: which event a command causes, or why it is refused.
//!
//! ```text
//! add_issue ─► created ─get_next_issue─► in_progress ─complete_issue─► completed
//!                 ▲                                                        │
//!                 │                                               get_next_review_item
//!            return_issue                                                  ▼
//!       (from any open status)      closed, rejected ◄─close_issue─── in_review
//! ```
//!
//! `complete_issue`, `return_issue` and `close_issue` work from every open status, because an issue whose agent is
//! gone must be able to move on. `closed` and `rejected` end an issue; only a person opens it again (`ReopenIssue`).
//! `comment_issue` works in every status and changes none.
//!
//! A caller that got no clear answer may repeat `complete_issue`, `return_issue` and `close_issue`: the same words by
//! the same agent change nothing if they are the last change of the issue. A
//! [`ClaimRequirement`] can require that the caller holds the claim that these commands end.

use std::borrow::Cow;
use std::sync::Arc;

use super::event::{EDIT_ACTION, NO_CHANGES, TRACKER};
use super::text::begins_with;
use super::{
    ActionKind, AgentName, Before, ClaimRequirement, Command, CommentText, DomainError, Event,
    EventKind, Facts, HAND_EDIT, HistoryEntry, Issue, IssueGraph, Lease, Patch, Resolution, Status,
    Timestamp, Work, facts, links, merge, question,
};

/// Decides a command that creates an issue.
///
/// # Errors
///
/// The attributes or links of a new issue are refused; see
/// [`IssueChange::attributes_of_new`](super::IssueChange::attributes_of_new) and [`links::check_new`].
pub fn file(
    command: &Command,
    now: Timestamp,
    graph: &dyn IssueGraph,
) -> Result<Event, DomainError> {
    let (id, agent, kind) = match command {
        Command::AddIssue { id, title, description, classification, details, agent } => {
            let kind = EventKind::Filed {
                title: title.as_str().to_owned(),
                description: description.as_str().to_owned(),
                classification: *classification,
                attributes: details.attributes_of_new(*id, agent.as_str(), now, graph)?,
            };
            (*id, agent.as_str(), kind)
        }
        Command::ImportIssue { issue, agent } => {
            let issue = from_file(issue.issue());
            links::check_new(&issue, graph)?;
            (issue.id, agent.as_str(), EventKind::Imported { issue, next: None })
        }
        Command::InsertIssue { issue, next, agent } => {
            let id = issue.id;
            let mut issue = from_file(issue);
            let is_entry = issue.classification.is_entry();
            if agent == HAND_EDIT && is_entry != (issue.status == Status::Kept) {
                let status = issue.classification.first_status();
                issue = Issue { status, ..Issue::clone(&issue) }.into();
            }
            if agent == HAND_EDIT && links::check_new(&issue, graph).is_err() {
                // The rest of the edit is taken over without its links.
                let attributes = issue.attributes.with_links(&[]);
                issue = Issue { attributes, ..Issue::clone(&issue) }.into();
            }
            let kind = EventKind::Imported { issue, next: *next };
            (id, agent.as_str(), kind)
        }
        _ => unreachable!("the target of other commands is not a new issue"),
    };
    Ok(Event::new(id, now, agent, kind))
}

/// Returns a new issue as a file has it, but for its receipts.
fn from_file(issue: &Arc<Issue>) -> Arc<Issue> {
    match issue.without_foreign_receipts(None) {
        Cow::Borrowed(_) => Arc::clone(issue),
        Cow::Owned(issue) => issue.into(),
    }
}

/// Decides a command on an existing issue, from the issue and the time alone. Returns `None` if the command changes
/// nothing.
///
/// The event is never earlier than the issue's last change, so a history stays in order even if clocks disagree.
///
/// # Errors
///
/// Refuses every change but a comment and opening it again to an issue that has ended, a claim of an issue that is not
/// waiting for one, the lapse of a claim that has ended, and a new issue whose id is in use.
pub fn decide(
    command: &Command,
    issue: &Issue,
    now: Timestamp,
) -> Result<Option<Event>, DomainError> {
    let at = now.max(issue.modified_at);
    let (agent, kind) = match command {
        Command::AddIssue { .. } | Command::ImportIssue { .. } | Command::InsertIssue { .. } => {
            return Err(DomainError::IdTaken { id: issue.id });
        }
        // The agent asks for what it holds, as after a restart.
        Command::GetNextIssue { issue: Some(_), agent, .. } if issue.is_held_by(agent) => {
            return Ok(None);
        }
        Command::GetNextIssue { agent, .. } => {
            claimable(issue, Status::Created)?;
            (agent.as_str(), EventKind::Claimed)
        }
        Command::GetNextReviewItem { agent, .. } => {
            claimable(issue, Status::Completed)?;
            (agent.as_str(), EventKind::ReviewStarted)
        }
        Command::ReturnIssue { .. }
        | Command::CompleteIssue { .. }
        | Command::ReopenIssue { .. }
        | Command::CloseIssue { .. } => match end_claim(command, issue)? {
            Some(end) => end,
            None => return Ok(None),
        },
        Command::ChangeIssue { .. }
        | Command::UndoChanges { .. }
        | Command::TakeUpClaim { .. }
        | Command::ParkAfterAttempts { .. }
        | Command::SetUnknownKeys { .. }
        | Command::PatchUnknownKey { .. } => unreachable!("decided on the whole state"),
        // Comments are allowed on issues that have ended, too.
        Command::CommentIssue { comment, agent, .. } => {
            let comment = comment.as_str().to_owned();
            (agent.as_str(), EventKind::Commented { comment, leaves_entry: true })
        }
        Command::AskHuman { question, agent, required_claim, .. } => {
            return question::ask(issue, question, agent, required_claim, at);
        }
        Command::RecordCheck { receipt, agent, .. } => {
            return facts::record_check(issue, receipt, agent, at).map(Some);
        }
        Command::RecordUsage { usage, agent, .. } => {
            return Ok(facts::record_usage(issue, usage, agent, at));
        }
        Command::AnswerQuestion { answer, agent, .. } => {
            return question::answer(issue, answer, agent, at);
        }
        Command::RequireVersion { version, .. } => {
            return issue.require_version(version).map(|()| None);
        }
        Command::LapseClaim { entry, reason, .. } => {
            if issue.claim_entry() != Some(*entry) {
                return Err(DomainError::ClaimEnded { id: issue.id });
            }
            (TRACKER, EventKind::Lapsed { reason: reason.clone() })
        }
        Command::MergeEdit { theirs, base } => {
            let theirs = theirs.without_foreign_receipts(Some(issue));
            return Ok(edited(issue, &theirs, base.as_deref(), at));
        }
        Command::ReplaceIssue { issue: replacement, agent } => {
            let replacement = replacement.without_foreign_receipts(Some(issue));
            return Ok(patched(issue, &replacement, agent, at));
        }
        Command::RemoveIssue { next, agent, .. } => {
            let kind = EventKind::Removed { issue: issue.clone().into(), next: *next };
            (agent.as_str(), kind)
        }
    };
    let lease = begun_lease(command, issue);
    let facts = match command {
        Command::CompleteIssue { facts, .. } => facts.clone(),
        _ => Facts::default(),
    };
    let before = Some(Before::of(issue)).filter(|_| !matches!(kind, EventKind::Removed { .. }));
    Ok(Some(Event { before, lease, facts, ..Event::new(issue.id, at, agent, kind) }))
}

/// Returns the lease with which a claim begins.
fn begun_lease(command: &Command, issue: &Issue) -> Option<Lease> {
    let (Command::GetNextIssue { terms, .. } | Command::GetNextReviewItem { terms, .. }) = command
    else {
        return None;
    };
    let client = terms.client.clone()?;
    Some(Lease { claim: issue.claim_number() + 1, client })
}

/// Returns the event for an external edit. The event adds a history entry that identifies this version in later
/// merges, unless the file itself has a longer history.
fn edited(ours: &Issue, theirs: &Issue, base: Option<&Issue>, at: Timestamp) -> Option<Event> {
    let mut wanted = merge(base, ours, theirs).issue;
    // No edit makes work of an entry, or the other way round.
    let is_entry = |issue: &Issue| (issue.status == Status::Kept, issue.classification.is_entry());
    if is_entry(&wanted) != is_entry(ours) {
        (wanted.status, wanted.classification) = (ours.status, ours.classification);
    }
    if wanted == *ours {
        return None;
    }
    if wanted.history.len() == ours.history.len() {
        wanted.modified_at = at;
        wanted.history.push(HistoryEntry::new(at, HAND_EDIT, EDIT_ACTION));
    }
    patched(ours, &wanted, HAND_EDIT, at)
}

fn patched(before: &Issue, after: &Issue, agent: &str, at: Timestamp) -> Option<Event> {
    let patch = Box::new(Patch::between(before, after));
    (!patch.is_empty()).then(|| Event::new(before.id, at, agent, EventKind::Edited { patch }))
}

/// Decides a command that ends a claim or opens an issue again, and returns its agent and what changes; `None` if it
/// repeats the last change.
fn end_claim<'a>(
    command: &'a Command,
    issue: &Issue,
) -> Result<Option<(&'a str, EventKind)>, DomainError> {
    type Kind = fn(String) -> EventKind;
    let (comment, agent, required_claim, action, kind): (_, _, _, _, Kind) = match command {
        Command::ReturnIssue { comment, agent, required_claim, .. } => {
            (comment, agent, required_claim, ActionKind::Returned, |comment| EventKind::Returned {
                comment,
            })
        }
        Command::CompleteIssue { comment, agent, required_claim, .. } => {
            let kind = |comment| EventKind::Completed { comment };
            (comment, agent, required_claim, ActionKind::Completed, kind)
        }
        Command::CloseIssue {
            comment,
            agent,
            required_claim,
            resolution: Resolution::Closed,
            ..
        } => (comment, agent, required_claim, ActionKind::Closed, |comment| EventKind::Closed {
            comment,
        }),
        Command::CloseIssue { comment, agent, required_claim, .. } => {
            (comment, agent, required_claim, ActionKind::Rejected, |comment| EventKind::Rejected {
                comment,
            })
        }
        Command::ReopenIssue { comment, agent, .. } => {
            let kind = reopened(issue, comment, agent)?;
            return Ok(kind.map(|kind| (agent.as_str(), kind)));
        }
        _ => return Ok(None),
    };
    if is_last_change(issue, action, comment, agent) {
        return Ok(None);
    }
    open(issue)?;
    required_claim.check_action(action, issue, agent)?;
    match command {
        Command::CompleteIssue { facts, .. } => {
            let changes_nothing = begins_with(comment.as_str(), NO_CHANGES);
            check_work(issue, facts.work.as_deref(), required_claim, changes_nothing)?;
        }
        Command::CloseIssue { resolution: Resolution::Closed, .. } => {
            if let Some(check) = required_claim.check_of(issue.classification) {
                check_merge(issue, check, begins_with(comment.as_str(), NO_CHANGES))?;
            }
        }
        _ => {}
    }
    Ok(Some((agent.as_str(), kind(required_claim.comment(comment.as_str(), issue, agent)))))
}

/// Checks what is handed in with a completion.
///
/// # Errors
///
/// The branch has no commit, or the required check has not passed on its files.
fn check_work(
    issue: &Issue,
    work: Option<&Work>,
    requirement: &ClaimRequirement,
    changes_nothing: bool,
) -> Result<(), DomainError> {
    let id = issue.id;
    match (work.filter(|work| work.commits > 0), requirement.check_of(issue.classification)) {
        (None, _) if changes_nothing => Ok(()),
        (None, _) if work.is_some() => Err(DomainError::NothingCommitted { id }),
        (None, Some(_)) => Err(DomainError::NotChecked { id, tree: None }),
        (Some(work), Some(check)) if !issue.is_checked(&work.tree, check) => {
            Err(DomainError::NotChecked { id, tree: Some(work.tree.clone()) })
        }
        _ => Ok(()),
    }
}

/// Checks that what was handed in is merged and passed the check, or that nothing was. An edit of the file completes
/// without facts, and an undo can take the return of an issue back.
///
/// # Errors
///
/// It is not, or it was never handed in, and the comment does not say that there are no changes.
fn check_merge(issue: &Issue, check: &str, changes_nothing: bool) -> Result<(), DomainError> {
    let id = issue.id;
    let timeline = issue.timeline();
    let completion = timeline.iter().rfind(|entry| entry.kind() == ActionKind::Completed);
    match completion {
        _ if issue.is_merge_checked(check) => Ok(()),
        None if changes_nothing => Ok(()),
        None => Err(DomainError::NotChecked { id, tree: None }),
        Some(completion)
            if completion.comment.is_some_and(|said| begins_with(said, NO_CHANGES)) =>
        {
            Ok(())
        }
        Some(_) => Err(DomainError::MergeNotChecked { id }),
    }
}

/// Decides the opening of an issue that has ended; `None` if it repeats the last change.
fn reopened(
    issue: &Issue,
    comment: &CommentText,
    agent: &AgentName,
) -> Result<Option<EventKind>, DomainError> {
    if is_last_change(issue, ActionKind::Reopened, comment, agent) {
        return Ok(None);
    }
    if issue.status == Status::Kept {
        return Err(DomainError::Terminal { id: issue.id, status: issue.status });
    }
    if issue.status.is_open() {
        return Err(DomainError::StillOpen { id: issue.id, status: issue.status });
    }
    Ok(Some(EventKind::Reopened { comment: comment.as_str().to_owned() }))
}

/// Returns true if the last change of an issue is this action with this comment by this agent.
fn is_last_change(
    issue: &Issue,
    kind: ActionKind,
    comment: &CommentText,
    agent: &AgentName,
) -> bool {
    // The same commit may have parked the issue after too many attempts.
    let is_parking = |entry: &&HistoryEntry| {
        ActionKind::of(&entry.action) == ActionKind::Changed
            && issue
                .attributes
                .parked
                .as_ref()
                .is_some_and(|parked| parked.since == entry.timestamp)
    };
    let entry = issue.history.iter().rev().find(|entry| !is_parking(entry));
    let (Some(entry), Some(said)) = (entry, issue.comments.last()) else {
        return false;
    };
    ActionKind::of(&entry.action) == kind
        && kind.status_after(None) == Some(issue.status)
        && (entry.agent.as_str(), entry.timestamp) == (agent.as_str(), issue.modified_at)
        && (said.agent.as_str(), said.timestamp) == (agent.as_str(), issue.modified_at)
        && said.text == comment.as_str()
}

fn open(issue: &Issue) -> Result<(), DomainError> {
    if issue.status.has_ended() {
        return Err(DomainError::Terminal { id: issue.id, status: issue.status });
    }
    Ok(())
}

fn claimable(issue: &Issue, required: Status) -> Result<(), DomainError> {
    open(issue)?;
    if issue.status != required {
        let holder = issue.holder().map(|holder| holder.agent.to_owned());
        let Issue { id, status, .. } = *issue;
        return Err(DomainError::NotClaimable { id, status, required, holder });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RETURN_ACTION;

    use crate::{Classification, CommandTarget, Description, IssueId, IssueRef, LinkKind, Title};

    const ID: &str = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";

    /// A graph without issues.
    struct NoIssues;

    impl IssueGraph for NoIssues {
        fn issue(&self, _: IssueId) -> Option<Arc<Issue>> {
            None
        }

        fn linked_from(&self, _: LinkKind, _: IssueId) -> Vec<IssueId> {
            Vec::new()
        }

        fn resolve(&self, reference: &IssueRef) -> Result<IssueId, DomainError> {
            Err(DomainError::UnknownIssue { reference: reference.to_string() })
        }
    }

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
            details: Box::default(),
            agent: agent(),
        }
    }

    fn import() -> Command {
        let issue = file(&add(), at(1), &NoIssues).unwrap().filed().unwrap();
        Command::ImportIssue { issue: issue.try_into().unwrap(), agent: agent() }
    }

    fn close(resolution: Resolution) -> Command {
        Command::CloseIssue {
            issue: id().into(),
            resolution,
            comment: comment(),
            agent: agent(),
            required_claim: Default::default(),
        }
    }

    fn issue_in(status: Status) -> Issue {
        let mut issue = file(&add(), at(0), &NoIssues).unwrap().filed().unwrap();
        issue.status = status;
        issue
    }

    /// The status after each command in each status; `None` if the command is refused.
    #[test]
    fn every_command_in_every_status_has_the_expected_outcome() {
        use Status::{Closed, Completed, Created, InProgress, InReview, Rejected};
        let statuses = [Created, InProgress, Completed, InReview, Closed, Rejected];
        assert_eq!(statuses.as_slice(), Status::OF_WORK);
        let any_open = |to| [Some(to), Some(to), Some(to), Some(to), None, None];
        let claim = Command::GetNextIssue {
            issue: None,
            classification: None,
            agent: agent(),
            terms: Default::default(),
        };
        let review = Command::GetNextReviewItem { agent: agent(), terms: Default::default() };
        let give_back = Command::ReturnIssue {
            issue: id().into(),
            comment: comment(),
            agent: agent(),
            required_claim: Default::default(),
        };
        let complete = Command::CompleteIssue {
            issue: id().into(),
            comment: comment(),
            agent: agent(),
            required_claim: Default::default(),
            facts: Facts::default(),
        };
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
                let says = !matches!(
                    command.target(),
                    CommandTarget::Next(..) | CommandTarget::NextReview(..)
                );
                assert_eq!(after.comments.len(), usize::from(says));
                if let Some(said) = after.comments.last() {
                    assert_eq!((said.agent.as_str(), said.text.as_str()), ("agent", "because"));
                }
            }
        }
    }

    #[test]
    fn a_repeated_completion_or_return_changes_nothing() {
        let issue = || id().into();
        let complete = |text: &str, name: &str| Command::CompleteIssue {
            issue: issue(),
            comment: CommentText::try_from(text).unwrap(),
            agent: AgentName::try_from(name).unwrap(),
            required_claim: Default::default(),
            facts: Facts::default(),
        };
        let give_back = |text: &str, name: &str| Command::ReturnIssue {
            issue: issue(),
            comment: CommentText::try_from(text).unwrap(),
            agent: AgentName::try_from(name).unwrap(),
            required_claim: Default::default(),
        };
        let run = |before: &Issue, command: &Command, second: u32| {
            let event = decide(command, before, at(second)).unwrap();
            event.map(|event| {
                let mut after = before.clone();
                event.apply(&mut after);
                after
            })
        };
        for repeated in [&complete as &dyn Fn(&str, &str) -> Command, &give_back] {
            let first = repeated("because", "agent");
            let done = run(&issue_in(Status::InProgress), &first, 5).unwrap();
            assert_eq!(run(&done, &first, 9), None);
            // Other words, another agent, another action.
            for other in [repeated("why", "agent"), repeated("because", "b")] {
                assert!(run(&done, &other, 9).is_some(), "{other:?}");
            }
            for other in [complete("because", "agent"), give_back("because", "agent")] {
                assert_eq!(run(&done, &other, 9).is_some(), other != first, "{other:?}");
            }
            // Anything that happened since, even within the same millisecond.
            let comment =
                Command::CommentIssue { issue: issue(), comment: comment(), agent: agent() };
            for second in [5, 6] {
                let later = run(&done, &comment, second).unwrap();
                assert!(run(&later, &first, 9).is_some());
            }
            let mut edited = done.clone();
            edited.status = Status::InReview;
            assert!(run(&edited, &first, 9).is_some());
            let mut touched = done.clone();
            touched.modified_at = at(7);
            assert!(run(&touched, &first, 9).is_some());
        }
    }

    #[test]
    fn a_comment_leaves_an_entry_and_keeps_status_and_holder() {
        let command =
            Command::CommentIssue { issue: id().into(), comment: comment(), agent: agent() };
        for status in Status::ALL {
            let mut before = issue_in(*status);
            before.history.push(HistoryEntry::new(at(1), "holder", "Issue claimed for work"));
            let event = decide(&command, &before, at(5)).unwrap().unwrap();
            let mut after = before.clone();
            event.apply(&mut after);
            assert_eq!(after.status, *status);
            assert_eq!(after.history[..2], before.history);
            let entry = &after.history[2];
            assert_eq!((entry.agent.as_str(), entry.action.as_str()), ("agent", "Comment added"));
            assert_eq!((after.holder(), after.modified_at), (before.holder(), at(5)));
            assert_eq!(after.comments.last().unwrap().text, "because");
            let moment = event.timeline_entry();
            assert_eq!((moment.action, moment.comment), (Some("Comment added"), Some("because")));
            assert_eq!(after.timeline().last(), Some(&moment));
            event.revert(&mut after);
            assert_eq!(after, before);
        }
    }

    /// Logs of older versions contain such comments.
    #[test]
    fn an_older_comment_leaves_no_entry() {
        let before = issue_in(Status::InProgress);
        let kind = EventKind::Commented { comment: "because".to_owned(), leaves_entry: false };
        let values = Some(Before::of(&before));
        let event = Event { before: values, ..Event::new(id(), at(5), "agent", kind) };
        let mut after = before.clone();
        event.apply(&mut after);
        assert_eq!((&after.history, after.comments.len()), (&before.history, 1));
        assert_eq!(event.timeline_entry().action, None);
        event.revert(&mut after);
        assert_eq!(after, before);
    }

    #[test]
    fn required_version_refuses_all_others_and_changes_nothing() {
        let mut issue = issue_in(Status::Created);
        let required = |version| Command::RequireVersion { issue: id().into(), version };
        let known = required(issue.version());
        assert_eq!(decide(&known, &issue, at(5)), Ok(None));
        issue.title.push('!');
        let refused = decide(&known, &issue, at(5)).unwrap_err();
        assert!(matches!(refused, DomainError::VersionChanged { .. }), "{refused}");
        assert!(decide(&required(String::new()), &issue, at(5)).is_err());
    }

    #[test]
    fn filing_creates_an_issue_with_one_history_entry() {
        let issue = file(&add(), at(3), &NoIssues).unwrap().filed().unwrap();
        assert_eq!(issue.status, Status::Created);
        assert_eq!((issue.created_at, issue.modified_at), (at(3), at(3)));
        assert_eq!((issue.title.as_str(), issue.description.as_str()), ("T", "D"));
        assert_eq!(issue.history.len(), 1);
        assert_eq!(issue.history[0].action, "Issue filed");
        assert!(issue.comments.is_empty());
    }

    #[test]
    fn only_filing_commands_create_issues() {
        let event = decide(&close(Resolution::Closed), &issue_in(Status::Created), at(0)).unwrap();
        assert_eq!(event.unwrap().filed(), None);
    }

    #[test]
    fn event_times_never_precede_the_last_modification() {
        let mut issue = issue_in(Status::Created);
        issue.modified_at = at(9);
        let event = decide(&close(Resolution::Closed), &issue, at(2)).unwrap().unwrap();
        assert_eq!(event.at, at(9));
    }

    #[test]
    fn the_return_action_text_is_stable() {
        assert_eq!(RETURN_ACTION, "Issue returned to created status");
    }
}
