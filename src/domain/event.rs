//! What happened: the facts that a store keeps, and the only way in which an issue changes.

use std::sync::Arc;

use super::{
    Classification, Comment, Extra, HistoryEntry, Importable, Issue, IssueId, Status, Timestamp,
};

/// One change of one issue, decided by [`rules`](super::rules).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The issue that changed.
    pub issue: IssueId,
    /// When.
    pub at: Timestamp,
    /// Who changed it.
    pub agent: String,
    /// What changed.
    pub kind: EventKind,
}

/// What an event has left in an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trace {
    /// The history entry in this place.
    Entry(usize),
    /// The comment.
    Comment,
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
        issue: Importable,
    },
    /// The issue became what somebody made of it in the file itself, where no command tells what happened.
    Edited {
        /// The issue as it is from then on.
        issue: Arc<Issue>,
    },
    /// An agent took it to work on it.
    Claimed,
    /// An agent took it to review it.
    ReviewStarted,
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
    /// The status that the issue has afterwards; `None` where it stays what it was.
    pub fn status(&self) -> Option<Status> {
        Some(match self {
            Self::Filed { .. } | Self::Returned { .. } => Status::Created,
            Self::Imported { issue } => issue.issue().status,
            Self::Edited { issue } => issue.status,
            Self::Claimed => Status::InProgress,
            Self::Completed { .. } => Status::Completed,
            Self::ReviewStarted => Status::InReview,
            Self::Closed { .. } => Status::Closed,
            Self::Rejected { .. } => Status::Rejected,
            Self::Commented { .. } => return None,
        })
    }

    /// The phrase that says what happened, which all but an import and an edit leave in the history; `None`
    /// for a comment alone.
    pub fn action(&self) -> Option<&'static str> {
        Some(match self {
            Self::Filed { .. } => FILE_ACTION,
            Self::Imported { .. } => "Issue imported",
            Self::Edited { .. } => "Issue edited by hand",
            Self::Claimed => CLAIM_ACTION,
            Self::ReviewStarted => REVIEW_ACTION,
            Self::Returned { .. } => RETURN_ACTION,
            Self::Completed { .. } => COMPLETE_ACTION,
            Self::Closed { .. } => CLOSE_ACTION,
            Self::Rejected { .. } => REJECT_ACTION,
            Self::Commented { .. } => return None,
        })
    }

    /// The comment that it leaves.
    pub fn comment(&self) -> Option<&str> {
        match self {
            Self::Filed { .. }
            | Self::Imported { .. }
            | Self::Edited { .. }
            | Self::Claimed
            | Self::ReviewStarted => None,
            Self::Returned { comment }
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
        if let EventKind::Imported { issue } = &self.kind {
            return Some(Issue::clone(issue.issue()));
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

    /// Tells whether an issue has what the event leaves: a history entry from a place on, which is given
    /// then, or the comment where it is one alone.
    ///
    /// `None` where it has not; an import and an edit, which leave neither, are for who asks to tell.
    pub fn trace_in(&self, issue: &Issue, from: usize) -> Option<Trace> {
        let is_it = |at: Timestamp, agent: &str| (at, agent) == (self.at, self.agent.as_str());
        let Some(action) = self.kind.action() else {
            let said = self.kind.comment();
            let is_there = issue
                .comments
                .iter()
                .any(|it| is_it(it.timestamp, &it.agent) && Some(it.text.as_str()) == said);
            return is_there.then_some(Trace::Comment);
        };
        let entries = issue.history.iter().enumerate().skip(from);
        let mut found = entries
            .filter(|(_, it)| is_it(it.timestamp, &it.agent) && it.action == action)
            .map(|(place, _)| Trace::Entry(place));
        found.next()
    }

    /// Changes the issue as the event says: status, time, one history entry, perhaps a comment. A comment
    /// alone changes neither status nor history.
    pub fn apply(&self, issue: &mut Issue) {
        match &self.kind {
            EventKind::Imported { issue: imported } => return issue.clone_from(imported.issue()),
            EventKind::Edited { issue: edited } => return issue.clone_from(edited),
            _ => {}
        }
        issue.status = self.kind.status().unwrap_or(issue.status);
        issue.modified_at = self.at;
        if let Some(action) = self.kind.action() {
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
}
