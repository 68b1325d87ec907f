//! What happened: the facts that a store keeps, and the only way in which an issue changes.

use std::sync::Arc;

use super::{
    Change, Classification, Comment, Extra, HistoryEntry, Issue, IssueId, Patch, Status, Timestamp,
};

/// One change of one issue, decided by [`rules`](super::rules).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The issue that changed; [`IssueId::NIL`] where the change is none of an issue.
    pub issue: IssueId,
    /// When.
    pub at: Timestamp,
    /// Who changed it.
    pub agent: String,
    /// What changed.
    pub kind: EventKind,
    /// What the issue was before, for events that move it; `None` for all others, which hold that themselves.
    pub before: Option<Before>,
}

/// What an event overwrites in an issue that it moves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Before {
    /// The status before the event.
    pub status: Status,
    /// The time of the last change before the event.
    pub modified_at: Timestamp,
}

impl Before {
    /// What there is to overwrite in an issue.
    pub fn of(issue: &Issue) -> Self {
        Self { status: issue.status, modified_at: issue.modified_at }
    }
}

/// What changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// The issue came into being.
    Filed {
        /// What it is called.
        title: String,
        /// What it is about.
        description: String,
        /// What kind of work it is.
        classification: Classification,
    },
    /// The issue was taken over from elsewhere, with its history, in which this leaves nothing.
    Imported {
        /// The issue as it came.
        issue: Arc<Issue>,
        /// The issue in front of which it was placed; `None` behind all others.
        ahead_of: Option<IssueId>,
    },
    /// The issue was edited: in `issues.json` itself, or by going back to a backup.
    Edited {
        /// What changed, its history included.
        patch: Box<Patch>,
    },
    /// The issue was taken out of the store, which only going back to a backup does.
    Removed {
        /// The issue as it was.
        issue: Arc<Issue>,
        /// The issue in front of which it stood; `None` for the last one.
        ahead_of: Option<IssueId>,
    },
    /// The keys beside the issues, which this version does not know, were edited. Belongs to no issue.
    UnknownKeysEdited {
        /// All of them, before and after.
        keys: Box<Change<Extra>>,
    },
    /// An agent took it to work on it.
    Claimed,
    /// An agent took it to review it.
    ReviewStarted,
    /// A claim ended without its agent: the issue waits again where it waited before.
    Lapsed {
        /// Why.
        reason: String,
    },
    /// It went back into the queue.
    Returned {
        /// Why.
        comment: String,
    },
    /// The work on it was done.
    Completed {
        /// What was done.
        comment: String,
    },
    /// It ended, accepted.
    Closed {
        /// Why.
        comment: String,
    },
    /// It ended, not to be done.
    Rejected {
        /// Why.
        comment: String,
    },
    /// Something was said about it. That leaves nothing in the history, which tells who holds the issue.
    Commented {
        /// What was said.
        comment: String,
    },
}

/// The action that a return leaves in the history.
///
/// Part of the file format: existing files hold this phrase, and retry guards count it.
pub const RETURN_ACTION: &str = "Issue returned to created status";
/// Who is named for a change that somebody made in the file itself.
pub const HAND_EDIT: &str = "hand-edit";
/// The action that an edit leaves in the history.
pub const EDIT_ACTION: &str = "Issue edited by hand";
/// The action that a lapsed claim leaves in the history.
pub const LAPSE_ACTION: &str = "Claim lapsed";
/// The action that filing leaves in the history.
pub const FILE_ACTION: &str = "Issue filed";
/// The action that a claim for work leaves in the history.
pub const CLAIM_ACTION: &str = "Issue claimed for work";
/// The action that a claim for review leaves in the history.
pub const REVIEW_ACTION: &str = "Issue claimed for review";
/// The action that a completion leaves in the history.
pub const COMPLETE_ACTION: &str = "Issue completed";
/// The action that an accepting end leaves in the history.
pub const CLOSE_ACTION: &str = "Issue closed";
/// The action that a rejecting end leaves in the history.
pub const REJECT_ACTION: &str = "Issue rejected";

impl EventKind {
    /// The status to which the event moves an issue that was in `before`; `None` where it stays what it was.
    fn status(&self, before: Status) -> Option<Status> {
        Some(match self {
            Self::Filed { .. } | Self::Returned { .. } => Status::Created,
            Self::Claimed => Status::InProgress,
            Self::Completed { .. } => Status::Completed,
            Self::ReviewStarted => Status::InReview,
            Self::Closed { .. } => Status::Closed,
            Self::Rejected { .. } => Status::Rejected,
            Self::Lapsed { .. } if before == Status::InReview => Status::Completed,
            Self::Lapsed { .. } => Status::Created,
            Self::Imported { .. }
            | Self::Edited { .. }
            | Self::Removed { .. }
            | Self::UnknownKeysEdited { .. }
            | Self::Commented { .. } => return None,
        })
    }

    /// The phrase that says what happened; `None` for a comment alone. All but an import, a removal and an edit
    /// leave it in the history.
    pub fn action(&self) -> Option<&'static str> {
        Some(match self {
            Self::Filed { .. } => FILE_ACTION,
            Self::Imported { .. } => "Issue imported",
            Self::Edited { .. } => EDIT_ACTION,
            Self::Removed { .. } => "Issue removed",
            Self::UnknownKeysEdited { .. } => "Other keys edited by hand",
            Self::Claimed => CLAIM_ACTION,
            Self::ReviewStarted => REVIEW_ACTION,
            Self::Lapsed { .. } => LAPSE_ACTION,
            Self::Returned { .. } => RETURN_ACTION,
            Self::Completed { .. } => COMPLETE_ACTION,
            Self::Closed { .. } => CLOSE_ACTION,
            Self::Rejected { .. } => REJECT_ACTION,
            Self::Commented { .. } => return None,
        })
    }

    /// The word for the kind, as the log and its JSON spell it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Filed { .. } => "filed",
            Self::Imported { .. } => "imported",
            Self::Edited { .. } => "edited",
            Self::Removed { .. } => "removed",
            Self::UnknownKeysEdited { .. } => "unknown_keys_edited",
            Self::Claimed => "claimed",
            Self::ReviewStarted => "review_started",
            Self::Lapsed { .. } => "lapsed",
            Self::Returned { .. } => "returned",
            Self::Completed { .. } => "completed",
            Self::Closed { .. } => "closed",
            Self::Rejected { .. } => "rejected",
            Self::Commented { .. } => "commented",
        }
    }

    /// Every word for a kind.
    pub const WORDS: [&'static str; 13] = [
        "filed",
        "imported",
        "edited",
        "removed",
        "unknown_keys_edited",
        "claimed",
        "review_started",
        "lapsed",
        "returned",
        "completed",
        "closed",
        "rejected",
        "commented",
    ];

    /// The comment that it leaves.
    pub fn comment(&self) -> Option<&str> {
        match self {
            Self::Filed { .. }
            | Self::Imported { .. }
            | Self::Edited { .. }
            | Self::Removed { .. }
            | Self::UnknownKeysEdited { .. }
            | Self::Claimed
            | Self::ReviewStarted => None,
            Self::Lapsed { reason: comment }
            | Self::Returned { comment }
            | Self::Completed { comment }
            | Self::Closed { comment }
            | Self::Rejected { comment }
            | Self::Commented { comment } => Some(comment),
        }
    }
}

impl Event {
    /// The issue that a `Filed` or `Imported` event brings into being; `None` for every other event.
    pub fn filed(&self) -> Option<Issue> {
        if let EventKind::Imported { issue, .. } = &self.kind {
            return Some(Issue::clone(issue));
        }
        let EventKind::Filed { title, description, classification } = &self.kind else {
            return None;
        };
        let mut issue = Issue {
            id: self.issue,
            title: title.clone(),
            description: description.clone(),
            classification: *classification,
            created_at: self.at,
            modified_at: self.at,
            status: Status::Created,
            history: Vec::new(),
            comments: Vec::new(),
            extra: Extra::default(),
        };
        self.apply(&mut issue);
        Some(issue)
    }

    /// Returns true if the event can have happened to an issue as it is.
    pub fn follows(&self, issue: &Issue) -> bool {
        let Some(before) = self.before else { return true };
        let is_claimable = match self.kind {
            EventKind::Claimed => before.status == Status::Created,
            EventKind::ReviewStarted => before.status == Status::Completed,
            EventKind::Lapsed { .. } => before.status.is_claimed(),
            EventKind::Commented { .. } => true,
            _ => !before.status.is_terminal(),
        };
        is_claimable && before == Before::of(issue)
    }

    /// The status that an issue has after the event, where the event itself tells that.
    pub fn status_after(&self) -> Option<Status> {
        match &self.kind {
            EventKind::Imported { issue, .. } => Some(issue.status),
            EventKind::Edited { patch } => patch.status.as_ref().map(|status| status.after),
            kind => kind.status(self.before.map_or(Status::Created, |before| before.status)),
        }
    }

    /// The status that an issue had before the event; `None` for one that the event brought into being, and
    /// where the event does not touch it.
    pub fn status_before(&self) -> Option<Status> {
        match &self.kind {
            EventKind::Edited { patch } => patch.status.as_ref().map(|status| status.before),
            EventKind::Removed { issue, .. } => Some(issue.status),
            _ => self.before.map(|before| before.status),
        }
    }

    /// Changes the issue as the event says: status, time, one history entry, perhaps a comment. A comment
    /// alone changes neither status nor history.
    pub fn apply(&self, issue: &mut Issue) {
        if let EventKind::Edited { patch } = &self.kind {
            return patch.apply(issue);
        }
        issue.status = self.kind.status(issue.status).unwrap_or(issue.status);
        issue.modified_at = self.at;
        if self.leaves_entry()
            && let Some(action) = self.kind.action()
        {
            issue.history.push(HistoryEntry {
                timestamp: self.at,
                agent: self.agent.clone(),
                action: action.to_owned(),
                extra: Extra::default(),
            });
        }
        if let Some(text) = self.kind.comment() {
            issue.comments.push(Comment {
                timestamp: self.at,
                agent: self.agent.clone(),
                text: text.to_owned(),
                extra: Extra::default(),
            });
        }
    }

    /// Undoes [`apply`](Self::apply) on the issue as the event has left it. Not for events that bring an issue
    /// into being or take it out of the store.
    pub fn revert(&self, issue: &mut Issue) {
        if let EventKind::Edited { patch } = &self.kind {
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
                | EventKind::Commented { .. }
        );
        !leaves_none
    }
}
