//! The commands: one variant for each operation that changes the store.

use serde_json::Value;

use std::num::NonZeroUsize;
use std::sync::Arc;

use super::{
    AgentName, ClaimRequirement, ClaimTerms, Classification, ClientId, CommentText, Description,
    Facts, ImportedIssue, Issue, IssueChange, IssueId, IssueRef, Question, QuestionAnswer, Receipt,
    ReviewPolicy, Title, UnknownKeys, Usage,
};
use crate::string_enum;

/// A request to change the store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// File a new issue.
    AddIssue {
        /// The id of the new issue. It must be unused.
        id: IssueId,
        title: Title,
        description: Description,
        /// The kind of work.
        classification: Classification,
        /// Attributes and links of the new issue. The texts, the comment and the version in it do not count.
        details: Box<IssueChange>,
        /// The agent that files the issue.
        agent: AgentName,
    },
    /// Add an issue from another tracker unchanged, at the end of the queue.
    ImportIssue {
        /// The issue. Its id must be unused.
        issue: ImportedIssue,
        /// The agent that imports the issue.
        agent: AgentName,
    },
    /// Claim a created issue: the next one, optionally of one classification, or the one that the caller named.
    GetNextIssue {
        /// The issue to claim; `None` for the next one.
        issue: Option<IssueRef>,
        /// The classification to claim; `None` for any. Not for a named issue.
        classification: Option<Classification>,
        /// The agent that claims the issue.
        agent: AgentName,
        terms: ClaimTerms,
    },
    /// Claim the next completed issue for review.
    GetNextReviewItem {
        /// The agent that claims the issue.
        agent: AgentName,
        terms: ClaimTerms,
    },
    /// Return an open issue to the queue.
    ReturnIssue {
        issue: IssueRef,
        /// The reason, and what the next agent should know.
        comment: CommentText,
        /// The agent that returns the issue.
        agent: AgentName,
        /// Which claim the agent needs.
        required_claim: ClaimRequirement,
    },
    /// Hand an open issue over for review.
    CompleteIssue {
        issue: IssueRef,
        /// What was done, and where.
        comment: CommentText,
        /// The agent that completed the issue.
        agent: AgentName,
        /// Which claim the agent needs.
        required_claim: ClaimRequirement,
        /// What is handed in.
        facts: Facts,
    },
    /// Close or reject an open issue.
    CloseIssue {
        issue: IssueRef,
        /// Whether the issue is closed or rejected.
        resolution: Resolution,
        /// The reason.
        comment: CommentText,
        /// The agent that closes the issue.
        agent: AgentName,
        /// Which claim the agent needs.
        required_claim: ClaimRequirement,
    },
    /// Record how the check of the project ended on the branch of an issue, or on its merge.
    RecordCheck {
        issue: IssueRef,
        receipt: Receipt,
        /// The agent that ran it.
        agent: AgentName,
    },
    /// Record what a claim of an issue used in all. What is recorded already is not counted again.
    RecordUsage {
        issue: IssueRef,
        usage: Usage,
        /// The agent of the claim.
        agent: AgentName,
    },
    /// Open an issue again that has ended. Only people do that.
    ReopenIssue {
        issue: IssueRef,
        /// The reason.
        comment: CommentText,
        /// The person.
        agent: AgentName,
    },
    /// Change texts, attributes or links of an issue. Its status stays.
    ChangeIssue {
        issue: IssueRef,
        /// What to change.
        change: Box<IssueChange>,
        /// The agent that changes it.
        agent: AgentName,
    },
    /// Undo changes of an issue.
    UndoChanges {
        /// The issue [without](super::undo::undo) the changes.
        result: Arc<Issue>,
        /// The undone changes, such as `change 12`, for the history.
        undone: String,
        /// The agent that undoes them.
        agent: AgentName,
        /// Which claim the agent needs if a claim ends.
        required_claim: ClaimRequirement,
    },
    /// Add a comment to an issue without changing its status.
    CommentIssue {
        issue: IssueRef,
        comment: CommentText,
        /// The author of the comment.
        agent: AgentName,
    },
    /// Ask people a question about an issue. Its claim ends, and it is parked until the answer.
    AskHuman {
        issue: IssueRef,
        question: Question,
        /// The agent that asks.
        agent: AgentName,
        /// Which claim the agent needs.
        required_claim: ClaimRequirement,
    },
    /// Answer the open question of an issue, and unpark it.
    AnswerQuestion {
        issue: IssueRef,
        answer: QuestionAnswer,
        /// Who answers.
        agent: AgentName,
    },
    /// Refuse this commit if an issue has another version. Changes nothing itself.
    RequireVersion {
        issue: IssueRef,
        /// The version that the caller knows.
        version: String,
    },
    /// End a claim without its agent: its client is gone, or its caller never learned of it.
    LapseClaim {
        issue: IssueId,
        /// The position of the claim's entry in the history. A later claim is left alone.
        entry: usize,
        /// The client whose lease ends; `None` for a claim without one. A claim that another client took up is left
        /// alone.
        client: Option<ClientId>,
        reason: String,
    },
    /// Continue a claim with another client, because its own one is gone and the agent is back. If both clients are the
    /// same, give a claim the lease back that it has lost.
    TakeUpClaim {
        issue: IssueId,
        /// The agent, which must hold the issue.
        agent: AgentName,
        /// The client that is gone.
        from: ClientId,
        /// The client that the agent uses now.
        to: ClientId,
    },
    /// Park an issue that agents tried too often: one that waits for work, and was claimed and came back so often.
    ParkAfterAttempts {
        issue: IssueRef,
        /// How often it may come back.
        limit: NonZeroUsize,
        /// The agent that gave it back last.
        agent: AgentName,
    },
    /// Merge an external edit of `issues.json` into the current issue.
    MergeEdit {
        /// The issue as the file has it.
        theirs: Arc<Issue>,
        /// The version the edit started from; `None` if it is no longer known.
        base: Option<Arc<Issue>>,
    },
    /// Add an issue that exists only in `issues.json` or in a backup.
    InsertIssue {
        issue: Arc<Issue>,
        /// The issue to insert it before; `None` appends it.
        next: Option<IssueId>,
        /// The actor recorded for the event.
        agent: String,
    },
    /// Replace an issue with its version from a backup.
    ReplaceIssue {
        /// The new version of the issue.
        issue: Arc<Issue>,
        /// The actor recorded for the event.
        agent: String,
    },
    /// Remove an issue that a restored backup does not contain.
    RemoveIssue {
        issue: IssueId,
        /// The issue that follows it; `None` for the last one.
        next: Option<IssueId>,
        /// The actor recorded for the event.
        agent: String,
    },
    /// Replace the unknown top-level keys of `issues.json`.
    SetUnknownKeys {
        /// All unknown keys after the change.
        keys: UnknownKeys,
        /// The actor recorded for the event.
        agent: String,
    },
    /// Change the value of one of these keys, as a JSON merge patch. So two changes of different members both last.
    PatchUnknownKey {
        /// The key.
        key: String,
        /// The patch.
        patch: Value,
        /// The agent or person.
        agent: AgentName,
    },
}

string_enum! {
    /// How an issue ends.
    pub enum Resolution {
        /// Accepted.
        Closed = "closed",
        /// Will not be done.
        Rejected = "rejected",
    }
}

/// The issue a command targets. The store resolves it while it holds its lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CommandTarget<'a> {
    /// A new issue with this id.
    New(IssueId),
    /// The issue that the caller named.
    Named(&'a IssueRef),
    /// The existing issue with this id.
    Existing(IssueId),
    /// No issue, but the unknown top-level keys.
    Document,
    /// The first issue that is ready to be worked on by an agent, optionally of one classification.
    Next(&'a AgentName, Option<Classification>),
    /// The first issue that waits for review by an agent, under a policy.
    NextReview(&'a AgentName, ReviewPolicy),
}

impl Command {
    /// Returns the issue the command targets.
    pub fn target(&self) -> CommandTarget<'_> {
        match self {
            Self::AddIssue { id, .. } => CommandTarget::New(*id),
            Self::ImportIssue { issue, .. } => CommandTarget::New(issue.issue().id),
            Self::InsertIssue { issue, .. } => CommandTarget::New(issue.id),
            Self::LapseClaim { issue, .. }
            | Self::TakeUpClaim { issue, .. }
            | Self::RemoveIssue { issue, .. } => CommandTarget::Existing(*issue),
            Self::MergeEdit { theirs: issue, .. }
            | Self::ReplaceIssue { issue, .. }
            | Self::UndoChanges { result: issue, .. } => CommandTarget::Existing(issue.id),
            Self::SetUnknownKeys { .. } | Self::PatchUnknownKey { .. } => CommandTarget::Document,
            Self::GetNextIssue { issue: Some(issue), .. } => CommandTarget::Named(issue),
            Self::GetNextIssue { agent, classification, .. } => {
                CommandTarget::Next(agent, *classification)
            }
            Self::GetNextReviewItem { agent, terms } => {
                CommandTarget::NextReview(agent, terms.review)
            }
            Self::ReturnIssue { issue, .. }
            | Self::CompleteIssue { issue, .. }
            | Self::CloseIssue { issue, .. }
            | Self::ReopenIssue { issue, .. }
            | Self::ChangeIssue { issue, .. }
            | Self::RecordCheck { issue, .. }
            | Self::RecordUsage { issue, .. }
            | Self::ParkAfterAttempts { issue, .. }
            | Self::AskHuman { issue, .. }
            | Self::AnswerQuestion { issue, .. }
            | Self::RequireVersion { issue, .. }
            | Self::CommentIssue { issue, .. } => CommandTarget::Named(issue),
        }
    }

    /// Returns the kind of work that it gives an issue.
    pub fn classification(&self) -> Option<Classification> {
        match self {
            Self::AddIssue { classification, .. } => Some(*classification),
            Self::ChangeIssue { change, .. } => change.classification,
            _ => None,
        }
    }

    /// Returns the references of the caller to issues.
    pub fn references_mut(&mut self) -> impl Iterator<Item = &mut IssueRef> {
        let (named, change) = match self {
            Self::AddIssue { details, .. } => (None, Some(details)),
            Self::ChangeIssue { issue, change, .. } => (Some(issue), Some(change)),
            Self::GetNextIssue { issue, .. } => (issue.as_mut(), None),
            Self::ReturnIssue { issue, .. }
            | Self::CompleteIssue { issue, .. }
            | Self::CloseIssue { issue, .. }
            | Self::ReopenIssue { issue, .. }
            | Self::RecordCheck { issue, .. }
            | Self::RecordUsage { issue, .. }
            | Self::ParkAfterAttempts { issue, .. }
            | Self::AskHuman { issue, .. }
            | Self::AnswerQuestion { issue, .. }
            | Self::RequireVersion { issue, .. }
            | Self::CommentIssue { issue, .. } => (Some(issue), None),
            _ => (None, None),
        };
        named.into_iter().chain(change.into_iter().flat_map(|change| change.references_mut()))
    }

    /// Returns true if it claims an issue.
    pub fn is_claim(&self) -> bool {
        matches!(self, Self::GetNextIssue { .. } | Self::GetNextReviewItem { .. })
    }

    /// Returns the agent that changes an issue, if it is one.
    pub fn agent(&self) -> Option<&AgentName> {
        match self {
            Self::AddIssue { agent, .. }
            | Self::ImportIssue { agent, .. }
            | Self::GetNextIssue { agent, .. }
            | Self::GetNextReviewItem { agent, .. }
            | Self::ReturnIssue { agent, .. }
            | Self::CompleteIssue { agent, .. }
            | Self::CloseIssue { agent, .. }
            | Self::ReopenIssue { agent, .. }
            | Self::ChangeIssue { agent, .. }
            | Self::RecordCheck { agent, .. }
            | Self::RecordUsage { agent, .. }
            | Self::UndoChanges { agent, .. }
            | Self::CommentIssue { agent, .. }
            | Self::AskHuman { agent, .. }
            | Self::AnswerQuestion { agent, .. }
            | Self::TakeUpClaim { agent, .. }
            | Self::PatchUnknownKey { agent, .. }
            | Self::ParkAfterAttempts { agent, .. } => Some(agent),
            Self::RequireVersion { .. }
            | Self::LapseClaim { .. }
            | Self::MergeEdit { .. }
            | Self::InsertIssue { .. }
            | Self::ReplaceIssue { .. }
            | Self::RemoveIssue { .. }
            | Self::SetUnknownKeys { .. } => None,
        }
    }
}
