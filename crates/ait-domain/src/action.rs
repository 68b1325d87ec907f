//! The actions in histories: the phrases of `ait` and those of the original AgentIssueTracker, in one table.

use super::Status;
use super::event::{
    ANSWER_ACTION, ASK_ACTION, CHANGE_ACTION, CHECK_FAILED, CHECK_PASSED, CLAIM_ACTION,
    CLOSE_ACTION, COMMENT_ACTION, COMPLETE_ACTION, EDIT_ACTION, FILE_ACTION, KEEP_ACTION,
    LAPSE_ACTION, LATE_ACTION, REJECT_ACTION, REOPEN_ACTION, RETURN_ACTION, REVIEW_ACTION,
    USAGE_ACTION,
};
use crate::string_enum;

/// How the original begins the phrase of filing. The classification follows, in double quotes.
const ORIGINAL_FILE_ACTION: &str = "Issue created with classification ";

string_enum! {
    /// The kind of an action on an issue.
    pub enum ActionKind {
        /// Filed the issue.
        Filed = "filed",
        /// Kept it as an entry of the memory.
        Kept = "kept",
        /// Claimed it for work.
        Claimed = "claimed",
        Completed = "completed",
        /// Claimed it for review.
        ReviewStarted = "review_started",
        /// Returned it to the queue.
        Returned = "returned",
        /// Closed it: accepted.
        Closed = "closed",
        /// Rejected it: will not be done.
        Rejected = "rejected",
        /// Opened it again after its end.
        Reopened = "reopened",
        /// Lost the claim, because the answer never reached the agent or the claim was abandoned.
        Lapsed = "lapsed",
        Commented = "commented",
        /// Changed texts, attributes or links.
        Changed = "changed",
        /// Asked people a question about it, and gave up the claim.
        Asked = "asked",
        /// Answered a question.
        Answered = "answered",
        /// Ran the check of the project on its branch.
        Checked = "checked",
        /// Recorded what a claim used.
        Used = "used",
        /// Edited it in the file, or came too late there.
        Edited = "edited",
        /// An action that only other programs write.
        Other = "other",
    }
}

impl ActionKind {
    /// Returns the kind of a history phrase.
    pub fn of(action: &str) -> Self {
        match action {
            FILE_ACTION | "Issue created" => Self::Filed,
            KEEP_ACTION => Self::Kept,
            CLAIM_ACTION | "Issue picked up and set to in_progress" => Self::Claimed,
            COMPLETE_ACTION | "Issue marked as completed, ready for review" => Self::Completed,
            REVIEW_ACTION | "Issue picked up for review and set to in_review" => {
                Self::ReviewStarted
            }
            // The original has the same phrase.
            RETURN_ACTION => Self::Returned,
            CLOSE_ACTION | "Issue closed as \"closed\"" => Self::Closed,
            REJECT_ACTION | "Issue closed as \"rejected\"" => Self::Rejected,
            REOPEN_ACTION => Self::Reopened,
            LAPSE_ACTION => Self::Lapsed,
            COMMENT_ACTION => Self::Commented,
            ASK_ACTION => Self::Asked,
            ANSWER_ACTION => Self::Answered,
            CHECK_PASSED | CHECK_FAILED => Self::Checked,
            USAGE_ACTION => Self::Used,
            EDIT_ACTION => Self::Edited,
            _ if action.starts_with(CHANGE_ACTION) => Self::Changed,
            _ if action.starts_with(LATE_ACTION) => Self::Edited,
            _ if action.starts_with(ORIGINAL_FILE_ACTION) => Self::Filed,
            _ => Self::Other,
        }
    }

    /// Returns the word for the kind, as events have it; `None` for actions of other programs.
    pub fn word(self) -> Option<&'static str> {
        (self != Self::Other).then(|| self.as_str())
    }

    /// Returns the status after an action of this kind, if the kind and the status `before` it determine it.
    pub fn status_after(self, before: Option<Status>) -> Option<Status> {
        match self {
            Self::Filed | Self::Returned | Self::Reopened => Some(Status::Created),
            Self::Kept => Some(Status::Kept),
            Self::Claimed => Some(Status::InProgress),
            Self::Completed => Some(Status::Completed),
            Self::ReviewStarted => Some(Status::InReview),
            Self::Closed => Some(Status::Closed),
            Self::Rejected => Some(Status::Rejected),
            Self::Lapsed | Self::Asked => {
                before.filter(|before| before.is_claimed()).map(Status::after_lapse)
            }
            Self::Commented
            | Self::Changed
            | Self::Answered
            | Self::Checked
            | Self::Used
            | Self::Edited
            | Self::Other => None,
        }
    }

    /// Returns true if the rules allow an action of this kind to lead from one status to another.
    pub fn can_lead(self, before: Status, after: Status) -> bool {
        match after {
            _ if before.has_ended() || self == Self::Filed => false,
            Status::InProgress => before == Status::Created,
            Status::InReview => before == Status::Completed,
            _ => true,
        }
    }

    /// Returns true for a claim, for work or for review.
    pub fn is_claim(self) -> bool {
        matches!(self, Self::Claimed | Self::ReviewStarted)
    }

    /// Returns true for kinds that never change the status themselves.
    pub fn leaves_status(self) -> bool {
        matches!(
            self,
            Self::Commented
                | Self::Changed
                | Self::Answered
                | Self::Checked
                | Self::Used
                | Self::Edited
        )
    }

    /// Returns the position of the claim in the history of an issue that is claimed.
    ///
    /// That is the last claim, whatever comments, edits and entries of other programs follow it. If the claim left no
    /// entry of a known kind, it is the last entry that can be one.
    pub fn claim_in(
        kinds: impl DoubleEndedIterator<Item = Self> + ExactSizeIterator + Clone,
    ) -> Option<usize> {
        let leads = |kind: Self| !kind.leaves_status() && kind != Self::Other;
        let claim = kinds.clone().enumerate().rfind(|(_, kind)| leads(*kind));
        let claim = claim.filter(|(_, kind)| kind.is_claim()).map(|(position, _)| position);
        let mut kinds = kinds;
        claim.or_else(|| kinds.rposition(|kind| !kind.leaves_status()))
    }

    /// Counts how often an issue was returned to the queue after a claim. Agents use the count to stop trying. The
    /// return of an unclaimed issue does not count, nor does one after a lapsed claim.
    pub fn returns_in(kinds: impl Iterator<Item = Self>) -> usize {
        let mut returns = 0;
        let mut tries = 0;
        let mut latest = 0;
        for kind in kinds {
            match kind {
                Self::Claimed | Self::ReviewStarted => (tries, latest) = (tries + 1, 1),
                Self::Lapsed | Self::Asked => (tries, latest) = (tries - latest, 0),
                Self::Returned => {
                    returns += usize::from(tries > 0);
                    (tries, latest) = (0, 0);
                }
                _ => {}
            }
        }
        returns
    }
}

#[cfg(test)]
mod tests {
    use ActionKind::{
        Answered, Asked, Claimed, Commented, Completed, Edited, Filed, Lapsed, Other, Returned,
        ReviewStarted,
    };

    use super::*;

    /// Each kind with our phrase and that of the original.
    #[test]
    fn phrases_of_ait_and_of_the_original_are_read() {
        for (ours, originals, kind) in [
            (
                "Issue filed",
                &[
                    "Issue created with classification \"bug\"",
                    "Issue created with classification \"improvement\"",
                    "Issue created with classification \"feature\"",
                ][..],
                "filed",
            ),
            ("Issue claimed for work", &["Issue picked up and set to in_progress"], "claimed"),
            ("Issue completed", &["Issue marked as completed, ready for review"], "completed"),
            (
                "Issue claimed for review",
                &["Issue picked up for review and set to in_review"],
                "review_started",
            ),
            ("Issue returned to created status", &["Issue returned to created status"], "returned"),
            ("Issue closed", &["Issue closed as \"closed\""], "closed"),
            ("Issue rejected", &["Issue closed as \"rejected\""], "rejected"),
            ("Issue reopened", &[], "reopened"),
            ("Claim lapsed", &[], "lapsed"),
            ("Comment added", &["Comment added"], "commented"),
            ("Question asked", &[], "asked"),
            ("Question answered", &[], "answered"),
            ("Check passed", &[], "checked"),
            ("Check failed", &[], "checked"),
            ("Usage recorded", &[], "used"),
            ("Issue edited by hand", &[], "edited"),
            ("Too late, after a change in another clone: Issue claimed for work", &[], "edited"),
        ] {
            for phrase in originals.iter().chain([&ours]) {
                assert_eq!(ActionKind::of(phrase).word(), Some(kind), "{phrase}");
            }
        }
        for unknown in ["", "Looked at it", "Issue closed as \"done\"", "issue filed"] {
            assert_eq!(ActionKind::of(unknown), Other, "{unknown}");
        }
    }

    #[test]
    fn the_holder_made_the_last_claim_whatever_follows() {
        for (kinds, expected) in [
            (&[][..], None),
            (&[Filed, Claimed], Some(1)),
            (&[Filed, Claimed, Commented, Edited, Other], Some(1)),
            (&[Filed, Claimed, Returned, Claimed, Commented], Some(3)),
            (&[Filed, Claimed, Completed, ReviewStarted, Other], Some(3)),
            (&[Filed, Claimed, Asked, Answered, Claimed, Answered], Some(4)),
            // The file was edited, or another program claimed the issue in its own words.
            (&[Filed, Other, Commented], Some(1)),
            (&[Filed, Claimed, Returned, Edited], Some(2)),
            (&[Filed, Claimed, Returned, Other, Edited], Some(3)),
            (&[Commented, Edited], None),
        ] {
            let claim = ActionKind::claim_in(kinds.iter().copied());
            assert_eq!(claim, expected, "{kinds:?}");
        }
    }

    #[test]
    fn only_returns_after_a_claim_count() {
        for (kinds, expected) in [
            (&[Filed, Returned][..], 0),
            (&[Returned, Returned], 0),
            (&[Filed, Claimed, Returned], 1),
            (&[Filed, Claimed, Returned, Returned], 1),
            (&[Filed, Claimed, Returned, Claimed, Commented, Edited, Returned], 2),
            (&[Filed, Claimed, Completed, Returned], 1),
            (&[Filed, Claimed, Completed, ReviewStarted, Returned], 1),
            (&[Filed, Completed, ReviewStarted, Returned], 1),
            (&[Filed, Completed, Returned], 0),
            (&[Filed, Claimed, Lapsed, Returned], 0),
            (&[Filed, Claimed, Lapsed, Lapsed, Claimed, Returned], 1),
            (&[Filed, Claimed, Asked, Answered, Returned], 0),
            (&[Filed, Claimed, Asked, Answered, Claimed, Returned], 1),
            (&[Filed, Claimed, Completed, ReviewStarted, Lapsed, Returned], 1),
        ] {
            let returns = ActionKind::returns_in(kinds.iter().copied());
            assert_eq!(returns, expected, "{kinds:?}");
        }
    }
}
