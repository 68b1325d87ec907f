//! What is known of one issue without reading it.

use std::borrow::Cow;

use super::names::{Name, Names};
use crate::domain::story::status_after;
use crate::domain::{Classification, Issue, IssueId, Status, Timestamp, event};

/// The parts of an issue by which it is found, sorted, counted and shown in a row.
#[derive(Clone, Debug)]
pub struct Digest {
    /// Its identity.
    pub id: IssueId,
    /// What it is called.
    pub title: Box<str>,
    /// What kind of work it is.
    pub classification: Classification,
    /// Where it stands.
    pub status: Status,
    /// When it was filed.
    pub created_at: Timestamp,
    /// When it last changed.
    pub modified_at: Timestamp,
    /// How many comments there are.
    pub comments: usize,
    /// What was done to it, oldest first.
    pub acts: Box<[Act]>,
    /// What the last history entry says, if that is none of the usual phrases.
    pub last_words: Option<Box<str>>,
}

/// One history entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Act {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub agent: Name,
    /// What.
    pub deed: Deed,
    /// The status from then on, where the history tells it.
    pub status: Option<Status>,
}

/// What an agent does to an issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Deed {
    /// Filed it.
    Filed,
    /// Took it to work on it.
    Claimed,
    /// Handed it to review.
    Completed,
    /// Took it to review it.
    ReviewStarted,
    /// Put it back into the queue.
    Returned,
    /// Ended it, accepted.
    Closed,
    /// Ended it, not to be done.
    Rejected,
    /// Lost its claim without a word: nobody heard of it, or it was given up.
    Lapsed,
    /// Edited it in the file itself.
    Edited,
    /// Something that only other programs write.
    Other,
}

impl Deed {
    /// Every one, in the order of the lifecycle.
    pub const ALL: &'static [Self] = &[
        Self::Filed,
        Self::Claimed,
        Self::Completed,
        Self::ReviewStarted,
        Self::Returned,
        Self::Closed,
        Self::Rejected,
        Self::Lapsed,
        Self::Edited,
        Self::Other,
    ];

    /// What the phrase of a history entry stands for.
    pub fn of(action: &str) -> Self {
        match action {
            event::FILE_ACTION => Self::Filed,
            event::CLAIM_ACTION => Self::Claimed,
            event::COMPLETE_ACTION => Self::Completed,
            event::REVIEW_ACTION => Self::ReviewStarted,
            event::RETURN_ACTION => Self::Returned,
            event::CLOSE_ACTION => Self::Closed,
            event::REJECT_ACTION => Self::Rejected,
            event::LAPSE_ACTION => Self::Lapsed,
            event::EDIT_ACTION => Self::Edited,
            _ => Self::Other,
        }
    }

    /// Returns true for what few agents ever do.
    pub fn is_rare(self) -> bool {
        matches!(self, Self::Lapsed | Self::Edited | Self::Other)
    }
}

/// Who holds a claimed issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The agent that claimed it.
    pub agent: Name,
    /// When it did.
    pub since: Timestamp,
}

impl Digest {
    /// That of an issue; the agents in it get their place among the `names`.
    pub(super) fn of(issue: &Issue, names: &mut Names) -> Self {
        let mut before = None;
        let acts = issue.history.iter().map(|entry| {
            let status = status_after(&entry.action, before);
            before = status.or(before);
            let (at, agent) = (entry.timestamp, names.name(&entry.agent));
            Act { at, agent, deed: Deed::of(&entry.action), status }
        });
        let acts: Box<[Act]> = acts.collect();
        let is_unusual = acts.last().is_some_and(|act| act.deed == Deed::Other);
        let last_words = issue.history.last().filter(|_| is_unusual);
        Self {
            id: issue.id,
            title: issue.title.as_str().into(),
            classification: issue.classification,
            status: issue.status,
            created_at: issue.created_at,
            modified_at: issue.modified_at,
            comments: issue.comments.len(),
            acts,
            last_words: last_words.map(|entry| entry.action.as_str().into()),
        }
    }

    /// Who holds it: while the status is a claimed one, the agent of the latest entry that is not an edit.
    pub fn holder(&self) -> Option<Held> {
        if !self.status.is_claimed() {
            return None;
        }
        let claim = self.acts.iter().rfind(|act| act.deed != Deed::Edited)?;
        Some(Held { agent: claim.agent, since: claim.at })
    }

    /// How often it went back into the queue.
    pub fn returns(&self) -> usize {
        self.acts.iter().filter(|act| act.deed == Deed::Returned).count()
    }

    /// Tells whether an agent did anything to it.
    pub fn was_touched_by(&self, agent: Name) -> bool {
        self.acts.iter().any(|act| act.agent == agent)
    }

    /// When it got where it stands: the time of the latest entry that leads there.
    pub fn standing_since(&self) -> Timestamp {
        let leads = |act: &&Act| act.status == Some(self.status);
        self.acts.iter().rfind(leads).map_or(self.created_at, |act| act.at)
    }

    /// The title as titles are compared.
    pub(super) fn title_key(&self) -> Cow<'_, str> {
        if self.title.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
            return Cow::Borrowed(&self.title);
        }
        Cow::Owned(self.title.to_lowercase())
    }
}
