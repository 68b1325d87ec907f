//! What callers can want: one variant for each operation that changes something.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::issue::words;
use super::{
    AgentName, Classification, CommentText, Description, Extra, Importable, Issue, IssueId,
    IssueRef, Status, Title,
};

/// A caller's wish to change something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// File a new issue.
    AddIssue {
        /// The identity it is to have; nobody has it yet.
        id: IssueId,
        /// What it is called.
        title: Title,
        /// What it is about.
        description: Description,
        /// What kind of work it is.
        classification: Classification,
        /// Who files it.
        agent: AgentName,
    },
    /// Take over an issue that was kept elsewhere, as it is, behind all others.
    ImportIssue {
        /// The issue; nobody has its id yet.
        issue: Importable,
        /// Who imports it.
        agent: AgentName,
    },
    /// Claim the oldest created issue, of one classification or of any.
    GetNextIssue {
        /// The only classification to take.
        classification: Option<Classification>,
        /// Who claims it.
        agent: AgentName,
    },
    /// Claim the oldest completed issue for review.
    GetNextReviewItem {
        /// Who claims it.
        agent: AgentName,
    },
    /// Put an open issue back into the queue.
    ReturnIssue {
        /// Which one.
        issue: IssueRef,
        /// Why, and what the next one should know.
        comment: CommentText,
        /// Who returns it.
        agent: AgentName,
    },
    /// Hand an open issue to review.
    CompleteIssue {
        /// Which one.
        issue: IssueRef,
        /// What was done, and where.
        comment: CommentText,
        /// Who completed it.
        agent: AgentName,
    },
    /// End an open issue.
    CloseIssue {
        /// Which one.
        issue: IssueRef,
        /// How it ends.
        resolution: Resolution,
        /// Why.
        comment: CommentText,
        /// Who ends it.
        agent: AgentName,
    },
    /// Say something about an issue, which stays where it stands.
    CommentIssue {
        /// Which one.
        issue: IssueRef,
        /// What is said.
        comment: CommentText,
        /// Who says it.
        agent: AgentName,
    },
    /// End a claim whose agent is gone.
    LapseClaim {
        /// Which issue.
        issue: IssueId,
        /// The position in its history of the entry that the claim has left. A later claim is not touched.
        entry: usize,
        /// Why.
        reason: String,
    },
    /// Take over an edit of `issues.json`, merged with what happened meanwhile.
    MergeEdit {
        /// The issue as the file has it.
        theirs: Arc<Issue>,
        /// The version that the edit began with; `None` where that is not known any more.
        base: Option<Arc<Issue>>,
    },
    /// Take over an issue that only `issues.json`, or a backup, has.
    PlaceIssue {
        /// The issue.
        issue: Arc<Issue>,
        /// The issue in front of which it is to stand; `None` behind all others.
        ahead_of: Option<IssueId>,
        /// Who places it.
        agent: String,
    },
    /// Make an issue what a backup has.
    ReplaceIssue {
        /// The issue from then on.
        issue: Arc<Issue>,
        /// Who replaces it.
        agent: String,
    },
    /// Take an issue out of the store that a backup does not have.
    RemoveIssue {
        /// Which one.
        issue: IssueId,
        /// The issue in front of which it stands; `None` for the last one.
        ahead_of: Option<IssueId>,
        /// Who removes it.
        agent: String,
    },
    /// Replace the keys beside the issues that this version does not know.
    SetUnknownKeys {
        /// All of them from then on.
        keys: Extra,
        /// Who replaces them.
        agent: String,
    },
}

words! {
    /// How an issue ends.
    Resolution {
        /// Accepted.
        Closed = "closed",
        /// Not to be done.
        Rejected = "rejected",
    }
}

/// Which issue a command is about. The store finds it, inside its own exclusion.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Selection<'a> {
    /// None that exists: the command makes one with this id.
    New(IssueId),
    /// The one that the caller named.
    Named(&'a IssueRef),
    /// The one with this id.
    Existing(IssueId),
    /// No issue, but what is kept beside them.
    Document,
    /// The first filed of those in a status, of one classification or of any.
    Oldest(Status, Option<Classification>),
}

impl Command {
    /// Which issue the command is about.
    pub fn selection(&self) -> Selection<'_> {
        match self {
            Self::AddIssue { id, .. } => Selection::New(*id),
            Self::ImportIssue { issue, .. } => Selection::New(issue.issue().id),
            Self::PlaceIssue { issue, .. } => Selection::New(issue.id),
            Self::LapseClaim { issue, .. } | Self::RemoveIssue { issue, .. } => {
                Selection::Existing(*issue)
            }
            Self::MergeEdit { theirs: issue, .. } | Self::ReplaceIssue { issue, .. } => {
                Selection::Existing(issue.id)
            }
            Self::SetUnknownKeys { .. } => Selection::Document,
            Self::GetNextIssue { classification, .. } => {
                Selection::Oldest(Status::Created, *classification)
            }
            Self::GetNextReviewItem { .. } => Selection::Oldest(Status::Completed, None),
            Self::ReturnIssue { issue, .. }
            | Self::CompleteIssue { issue, .. }
            | Self::CloseIssue { issue, .. }
            | Self::CommentIssue { issue, .. } => Selection::Named(issue),
        }
    }

    /// The name of the operation, which is also the name of its tool where it has one.
    pub fn operation(&self) -> &'static str {
        match self {
            Self::AddIssue { .. } => "add_issue",
            Self::ImportIssue { .. } => "import_issue",
            Self::GetNextIssue { .. } => "get_next_issue",
            Self::GetNextReviewItem { .. } => "get_next_review_item",
            Self::ReturnIssue { .. } => "return_issue",
            Self::CompleteIssue { .. } => "complete_issue",
            Self::CloseIssue { .. } => "close_issue",
            Self::CommentIssue { .. } => "comment_issue",
            Self::LapseClaim { .. } => "lapse_claim",
            Self::MergeEdit { .. } => "merge_edit",
            Self::PlaceIssue { .. } => "place_issue",
            Self::ReplaceIssue { .. } => "replace_issue",
            Self::RemoveIssue { .. } => "remove_issue",
            Self::SetUnknownKeys { .. } => "set_unknown_keys",
        }
    }
}
