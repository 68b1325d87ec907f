//! The events that a store records, and how they change an issue.

use std::sync::Arc;

use super::{
    Attributes, Change, Classification, ClientId, Comment, Facts, HistoryEntry, Issue, IssueId,
    Lease, Patch, Status, Timestamp, UnknownKeys,
};

/// One change of one issue, decided by [`rules`](super::rules).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The issue that changed; [`IssueId::NIL`] if the event concerns no issue.
    pub issue: IssueId,
    /// The time.
    pub at: Timestamp,
    pub agent: String,
    /// What changed.
    pub kind: EventKind,
    /// The overwritten values, for events that change the status; `None` for all others, which carry them in their
    /// kind.
    pub before: Option<Before>,
    /// The lease with which a claim begins; for other events the lease that they end.
    pub lease: Option<Lease>,
    /// What was measured of the action, for the entry that the event adds to the history.
    pub facts: Facts,
}

/// The values of an issue that an event overwrites.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Before {
    /// The status before the event.
    pub status: Status,
    /// The time of the last change before the event.
    pub modified_at: Timestamp,
}

impl Before {
    /// Returns the values of an issue that an event would overwrite.
    pub fn of(issue: &Issue) -> Self {
        Self { status: issue.status, modified_at: issue.modified_at }
    }
}

/// What changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A new issue was filed.
    Filed {
        title: String,
        description: String,
        /// The kind of work.
        classification: Classification,
        attributes: Attributes,
    },
    /// An issue was imported with its history. The import itself adds no history entry.
    Imported {
        /// The imported issue.
        issue: Arc<Issue>,
        /// The issue it was inserted before; `None` if it was appended.
        next: Option<IssueId>,
    },
    /// The issue was edited, in `issues.json` or by restoring a backup.
    Edited {
        /// The change, including the history.
        patch: Box<Patch>,
    },
    /// Texts, attributes or links were changed, or a question was asked or answered. Only a question changes the
    /// status: it ends a claim.
    Changed {
        /// The change, including the history and a comment.
        patch: Box<Patch>,
    },
    /// The issue was removed. Only restoring a backup does that.
    Removed {
        /// The removed issue.
        issue: Arc<Issue>,
        /// The issue that followed it; `None` for the last one.
        next: Option<IssueId>,
    },
    /// The unknown top-level keys of `issues.json` were edited. The event concerns no issue.
    UnknownKeysEdited {
        /// All unknown keys, before and after.
        keys: Box<Change<UnknownKeys>>,
    },
    /// An agent claimed the issue for work.
    Claimed,
    /// An agent claimed the issue for review.
    ReviewStarted,
    /// The agent of a claim continues it with another client. The issue stays as it is. If both clients are the same,
    /// the claim had lost its lease, and has it back.
    TakenUp {
        /// The client that was gone.
        from: ClientId,
        /// The client that the agent uses now.
        to: ClientId,
    },
    /// A claim ended without its agent. The issue waits where it waited before the claim.
    Lapsed { reason: String },
    /// The issue was returned to the queue.
    Returned {
        /// The reason.
        comment: String,
    },
    /// The work was completed.
    Completed {
        /// What was done.
        comment: String,
    },
    /// The issue was closed: accepted.
    Closed {
        /// The reason.
        comment: String,
    },
    /// The issue was rejected: it will not be done.
    Rejected {
        /// The reason.
        comment: String,
    },
    /// A person opened an issue again that had ended. It waits for work.
    Reopened {
        /// The reason.
        comment: String,
    },
    /// A comment was added.
    Commented {
        /// The text of the comment.
        comment: String,
        /// Whether it left a history entry. Those in older logs did not.
        leaves_entry: bool,
    },
}

/// The history phrase of a return.
///
/// The phrase is part of the file format: existing files contain it, and the number of returns is how often it occurs.
pub const RETURN_ACTION: &str = "Issue returned to created status";
/// The agent recorded for an external edit.
pub const HAND_EDIT: &str = "hand-edit";
/// The agent recorded for what the tracker does by itself, such as the lapse of a claim.
pub const TRACKER: &str = "ait";
/// The history phrase of an edit.
pub const EDIT_ACTION: &str = "Issue edited by hand";
/// What the history phrase of an action begins with that came too late, after what happened in another clone of the
/// repository. Its own phrase follows.
pub const LATE_ACTION: &str = "Too late, after a change in another clone: ";
/// What the history phrase of a change begins with; the changed fields follow.
pub const CHANGE_ACTION: &str = "Issue changed: ";
/// What the history phrase of a change by a person ends with, where failed attempts are counted.
pub const BY_PERSON: &str = " (by a person)";
/// What the comment of a return begins with whose reason is a merge conflict. The issue did not cause it.
pub const CONFLICT: &str = "Merge conflict";
/// What the comment of a completion begins with if the branch has no commit.
pub const NO_CHANGES: &str = "No changes";
/// The history phrase of a question to people.
pub const ASK_ACTION: &str = "Question asked";
/// The history phrase of an answer.
pub const ANSWER_ACTION: &str = "Question answered";
/// The history phrases of a check.
pub const CHECK_PASSED: &str = "Check passed";
pub const CHECK_FAILED: &str = "Check failed";
/// The history phrase of what a claim used.
pub const USAGE_ACTION: &str = "Usage recorded";
/// The history phrase of a comment.
pub const COMMENT_ACTION: &str = "Comment added";
/// The history phrase of a lapsed claim.
pub const LAPSE_ACTION: &str = "Claim lapsed";
/// The reason of a lapse: the response that would have told the caller of the claim did not reach it.
pub const UNDELIVERED_REASON: &str = "the caller was gone before it was answered";
/// The history phrase of filing.
pub const FILE_ACTION: &str = "Issue filed";
/// The history phrase of a new [entry](super::memory).
pub const KEEP_ACTION: &str = "Entry kept";
/// The history phrase of a claim for work.
pub const CLAIM_ACTION: &str = "Issue claimed for work";
/// The history phrase of a claim for review.
pub const REVIEW_ACTION: &str = "Issue claimed for review";
/// The history phrase of a completion.
pub const COMPLETE_ACTION: &str = "Issue completed";
/// The history phrase of closing.
pub const CLOSE_ACTION: &str = "Issue closed";
/// The history phrase of rejecting.
pub const REJECT_ACTION: &str = "Issue rejected";
/// The history phrase of opening an issue again.
pub const REOPEN_ACTION: &str = "Issue reopened";

impl EventKind {
    /// Returns the status that the event sets in an issue with status `before`; `None` if the status stays.
    fn status(&self, before: Status) -> Option<Status> {
        Some(match self {
            Self::Filed { classification, .. } => classification.first_status(),
            Self::Returned { .. } | Self::Reopened { .. } => Status::Created,
            Self::Claimed => Status::InProgress,
            Self::Completed { .. } => Status::Completed,
            Self::ReviewStarted => Status::InReview,
            Self::Closed { .. } => Status::Closed,
            Self::Rejected { .. } => Status::Rejected,
            Self::Lapsed { .. } if before.is_claimed() => before.after_lapse(),
            Self::Lapsed { .. } => Status::Created,
            Self::Imported { .. }
            | Self::Edited { .. }
            | Self::Changed { .. }
            | Self::Removed { .. }
            | Self::UnknownKeysEdited { .. }
            | Self::TakenUp { .. }
            | Self::Commented { .. } => return None,
        })
    }

    /// Returns the phrase for the event; `None` for a comment that left no entry. Imports, removals, edits and claims
    /// that are taken up do not add it to the history themselves.
    pub fn action(&self) -> Option<&str> {
        Some(match self {
            Self::Filed { classification, .. } if classification.is_entry() => KEEP_ACTION,
            Self::Filed { .. } => FILE_ACTION,
            Self::Imported { .. } => "Issue imported",
            Self::Edited { .. } => EDIT_ACTION,
            Self::Changed { patch } => {
                let added = patch.history.as_ref().and_then(|history| history.added.last());
                added.map_or(CHANGE_ACTION.trim_end_matches(": "), |entry| &*entry.action)
            }
            Self::Removed { .. } => "Issue removed",
            Self::UnknownKeysEdited { .. } => "Other keys edited by hand",
            Self::Claimed => CLAIM_ACTION,
            Self::ReviewStarted => REVIEW_ACTION,
            Self::TakenUp { .. } => "Claim taken up",
            Self::Lapsed { .. } => LAPSE_ACTION,
            Self::Returned { .. } => RETURN_ACTION,
            Self::Completed { .. } => COMPLETE_ACTION,
            Self::Closed { .. } => CLOSE_ACTION,
            Self::Rejected { .. } => REJECT_ACTION,
            Self::Reopened { .. } => REOPEN_ACTION,
            Self::Commented { leaves_entry: true, .. } => COMMENT_ACTION,
            Self::Commented { leaves_entry: false, .. } => return None,
        })
    }

    /// Returns the word for the kind, for readers: a question, its answer and a check have words of their own, although
    /// the log has them as changes.
    pub fn word(&self) -> &'static str {
        match (self, self.action()) {
            (Self::Changed { .. }, Some(ASK_ACTION)) => "asked",
            (Self::Changed { .. }, Some(ANSWER_ACTION)) => "answered",
            (Self::Changed { .. }, Some(CHECK_PASSED | CHECK_FAILED)) => "checked",
            (Self::Changed { .. }, Some(USAGE_ACTION)) => "used",
            _ => self.logged_word(),
        }
    }

    /// Returns the word for the kind in the log.
    pub fn logged_word(&self) -> &'static str {
        match self {
            Self::Filed { .. } => "filed",
            Self::Imported { .. } => "imported",
            Self::Edited { .. } => "edited",
            Self::Changed { .. } => "changed",
            Self::Removed { .. } => "removed",
            Self::UnknownKeysEdited { .. } => "unknown_keys_edited",
            Self::Claimed => "claimed",
            Self::ReviewStarted => "review_started",
            Self::TakenUp { .. } => "taken_up",
            Self::Lapsed { .. } => "lapsed",
            Self::Returned { .. } => "returned",
            Self::Completed { .. } => "completed",
            Self::Closed { .. } => "closed",
            Self::Rejected { .. } => "rejected",
            Self::Reopened { .. } => "reopened",
            Self::Commented { .. } => "commented",
        }
    }

    /// The words of all kinds, for readers.
    pub const WORDS: [&'static str; 20] = [
        "filed",
        "imported",
        "edited",
        "changed",
        "asked",
        "answered",
        "checked",
        "used",
        "removed",
        "unknown_keys_edited",
        "claimed",
        "review_started",
        "taken_up",
        "lapsed",
        "returned",
        "completed",
        "closed",
        "rejected",
        "reopened",
        "commented",
    ];

    /// Returns the comment that the event adds.
    pub fn comment(&self) -> Option<&str> {
        match self {
            Self::Filed { .. }
            | Self::Imported { .. }
            | Self::Edited { .. }
            | Self::Removed { .. }
            | Self::UnknownKeysEdited { .. }
            | Self::Claimed
            | Self::ReviewStarted
            | Self::TakenUp { .. } => None,
            Self::Changed { patch } => {
                let added = patch.comments.as_ref().and_then(|comments| comments.added.last());
                added.map(|comment| &*comment.text)
            }
            Self::Lapsed { reason: comment }
            | Self::Returned { comment }
            | Self::Completed { comment }
            | Self::Closed { comment }
            | Self::Rejected { comment }
            | Self::Reopened { comment }
            | Self::Commented { comment, .. } => Some(comment),
        }
    }
}

impl Event {
    /// Creates an event that overwrites no values of its own and concerns no lease.
    pub fn new(issue: IssueId, at: Timestamp, agent: impl Into<String>, kind: EventKind) -> Self {
        let agent = agent.into();
        Self { issue, at, agent, kind, before: None, lease: None, facts: Facts::default() }
    }

    /// Returns the issue that a `Filed` or `Imported` event creates; `None` for other events.
    pub fn filed(&self) -> Option<Issue> {
        if let EventKind::Imported { issue, .. } = &self.kind {
            return Some(Issue::clone(issue));
        }
        let EventKind::Filed { title, description, classification, attributes } = &self.kind else {
            return None;
        };
        let mut issue = Issue {
            id: self.issue,
            title: title.clone(),
            description: description.clone(),
            classification: *classification,
            created_at: self.at,
            modified_at: self.at,
            status: classification.first_status(),
            history: Vec::new(),
            comments: Vec::new(),
            attributes: attributes.clone(),
            unknown_keys: UnknownKeys::default(),
        };
        self.apply(&mut issue);
        Some(issue)
    }

    /// Returns true if the event can follow the current version of the issue.
    pub fn follows(&self, issue: &Issue) -> bool {
        let Some(before) = self.before else { return true };
        let is_claimable = match self.kind {
            EventKind::Claimed => before.status == Status::Created,
            EventKind::ReviewStarted => before.status == Status::Completed,
            EventKind::Lapsed { .. } => before.status.is_claimed(),
            EventKind::Commented { .. } => true,
            EventKind::Reopened { .. } => before.status.has_ended(),
            _ => before.status.is_open(),
        };
        is_claimable && before == Before::of(issue)
    }

    /// Returns the status after the event, if the event itself determines it.
    pub fn status_after(&self) -> Option<Status> {
        match &self.kind {
            EventKind::Imported { issue, .. } => Some(issue.status),
            EventKind::Edited { patch } | EventKind::Changed { patch } => {
                patch.status.as_ref().map(|status| status.after)
            }
            kind => kind.status(self.before.map_or(Status::Created, |before| before.status)),
        }
    }

    /// Returns the status before the event; `None` if the event created the issue or leaves the status alone.
    pub fn status_before(&self) -> Option<Status> {
        match &self.kind {
            EventKind::Edited { patch } | EventKind::Changed { patch } => {
                patch.status.as_ref().map(|status| status.before)
            }
            EventKind::Removed { issue, .. } => Some(issue.status),
            _ => self.before.map(|before| before.status),
        }
    }

    /// Returns the lease of an issue after the event, from the issue after it and the lease before.
    pub fn lease_after(&self, issue: &Issue, before: Option<&Lease>) -> Option<Lease> {
        match &self.kind {
            EventKind::Claimed | EventKind::ReviewStarted => self.lease.clone(),
            EventKind::TakenUp { to, .. } => {
                let claim = before.map_or_else(|| issue.claim_number(), |lease| lease.claim);
                Some(Lease { claim, client: to.clone() })
            }
            kind => before.cloned().filter(|lease| {
                issue.holder().is_some()
                    && lease.claim == issue.claim_number()
                    && !(self.lease.is_some() && matches!(kind, EventKind::Edited { .. }))
            }),
        }
    }

    /// Applies the event to the issue: it sets status and time and adds one history entry and possibly a comment.
    pub fn apply(&self, issue: &mut Issue) {
        if let EventKind::Edited { patch } | EventKind::Changed { patch } = &self.kind {
            return patch.apply(issue);
        }
        if matches!(self.kind, EventKind::TakenUp { .. }) {
            return;
        }
        issue.status = self.kind.status(issue.status).unwrap_or(issue.status);
        issue.modified_at = self.at;
        if self.leaves_entry()
            && let Some(action) = self.kind.action()
        {
            let entry = HistoryEntry::new(self.at, &self.agent, action);
            issue.history.push(HistoryEntry { facts: self.facts.clone(), ..entry });
        }
        if let Some(text) = self.kind.comment() {
            issue.comments.push(Comment::new(self.at, &self.agent, text));
        }
    }

    /// Reverts [`apply`](Self::apply) on the issue as the event left it. Not for events that create or remove an
    /// issue.
    pub fn revert(&self, issue: &mut Issue) {
        if let EventKind::Edited { patch } | EventKind::Changed { patch } = &self.kind {
            return patch.revert(issue);
        }
        if let Some(Before { status, modified_at }) = self.before {
            (issue.status, issue.modified_at) = (status, modified_at);
        }
        if self.leaves_entry() {
            issue.history.pop();
        }
        if self.kind.comment().is_some() {
            issue.comments.pop();
        }
    }

    fn leaves_entry(&self) -> bool {
        let leaves_none = matches!(
            self.kind,
            EventKind::Imported { .. }
                | EventKind::Removed { .. }
                | EventKind::UnknownKeysEdited { .. }
                | EventKind::TakenUp { .. }
                | EventKind::Commented { leaves_entry: false, .. }
        );
        !leaves_none
    }
}
