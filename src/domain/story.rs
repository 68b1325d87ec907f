//! What happened to an issue, in the order in which it happened.

use super::event::{
    CLAIM_ACTION, CLOSE_ACTION, COMPLETE_ACTION, EDIT_ACTION, FILE_ACTION, LAPSE_ACTION,
    REJECT_ACTION, RETURN_ACTION, REVIEW_ACTION,
};
use super::{Comment, Event, HistoryEntry, Issue, Status, Timestamp};

/// One thing that was done to an issue, or said about it, or both at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Moment<'a> {
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub agent: &'a str,
    /// What was done; `None` for a comment alone.
    pub action: Option<&'a str>,
    /// What was said.
    pub comment: Option<&'a str>,
}

impl Moment<'_> {
    /// The status that the issue had afterwards, where the action alone tells that. That of a lapsed claim does
    /// not: see [`status_after`].
    pub fn status(&self) -> Option<Status> {
        status_after(self.action?, None)
    }
}

/// Returns the status that an issue has after an action of its history, as far as that and the status `before`
/// it tell.
pub fn status_after(action: &str, before: Option<Status>) -> Option<Status> {
    match action {
        FILE_ACTION | RETURN_ACTION => Some(Status::Created),
        CLAIM_ACTION => Some(Status::InProgress),
        COMPLETE_ACTION => Some(Status::Completed),
        REVIEW_ACTION => Some(Status::InReview),
        CLOSE_ACTION => Some(Status::Closed),
        REJECT_ACTION => Some(Status::Rejected),
        LAPSE_ACTION => match before? {
            Status::InProgress => Some(Status::Created),
            Status::InReview => Some(Status::Completed),
            _ => None,
        },
        _ => None,
    }
}

impl Event {
    /// The event as the story of its issue tells it.
    pub fn moment(&self) -> Moment<'_> {
        Moment {
            at: self.at,
            agent: &self.agent,
            action: self.kind.action(),
            comment: self.kind.comment(),
        }
    }
}

impl Issue {
    /// The history with the comments that came with it, oldest first.
    ///
    /// A comment belongs to the entry of the same time and agent. One that belongs to none, which only
    /// other programs write, stands for itself.
    pub fn story(&self) -> Vec<Moment<'_>> {
        let mut comments = self.comments.iter().peekable();
        let mut story = Vec::with_capacity(self.history.len());
        for entry in &self.history {
            let is_earlier = |comment: &&Comment| comment.timestamp < entry.timestamp;
            while let Some(comment) = comments.next_if(is_earlier) {
                story.push(alone(comment));
            }
            let comment = comments.next_if(|comment| belongs(comment, entry));
            story.push(Moment {
                at: entry.timestamp,
                agent: &entry.agent,
                action: Some(&entry.action),
                comment: comment.map(|comment| comment.text.as_str()),
            });
        }
        story.extend(comments.map(alone));
        story
    }
}

fn alone(comment: &Comment) -> Moment<'_> {
    let Comment { timestamp, agent, text, .. } = comment;
    Moment { at: *timestamp, agent, action: None, comment: Some(text) }
}

fn belongs(comment: &Comment, entry: &HistoryEntry) -> bool {
    // Several things can happen within one millisecond, and these say nothing.
    let silent = [FILE_ACTION, CLAIM_ACTION, REVIEW_ACTION, EDIT_ACTION];
    let is_silent = silent.contains(&entry.action.as_str());
    !is_silent && comment.timestamp == entry.timestamp && comment.agent == entry.agent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lapsed_claim_leads_back_to_where_the_claim_began() {
        for (before, after) in [
            (Some(Status::InProgress), Some(Status::Created)),
            (Some(Status::InReview), Some(Status::Completed)),
            (Some(Status::Closed), None),
            (None, None),
        ] {
            assert_eq!(status_after(LAPSE_ACTION, before), after, "{before:?}");
        }
        assert_eq!(status_after(EDIT_ACTION, Some(Status::InProgress)), None);
    }

    #[test]
    fn a_comment_stands_with_what_was_done_at_the_same_time() {
        let time = |second: u32| format!("2026-01-31T09:30:{second:02}.000Z");
        let entry = |second, agent: &str, action: &str| serde_json::json!({"timestamp": time(second), "agent": agent, "action": action});
        let comment = |second, agent: &str, text: &str| serde_json::json!({"timestamp": time(second), "agent": agent, "text": text});
        let issue: Issue = serde_json::from_value(serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
            "classification": "bug", "createdAt": time(0), "modifiedAt": time(9), "status": "created",
            "history": [
                entry(0, "a", FILE_ACTION), entry(2, "b", CLAIM_ACTION),
                entry(2, "b", "Issue completed"), entry(5, "c", "Looked at"), entry(5, "c", "Mended"),
            ],
            "comments": [
                comment(1, "x", "early"), comment(2, "b", "done"), comment(5, "d", "other"),
                comment(9, "e", "late"),
            ],
        }))
        .unwrap();
        let story: Vec<_> =
            issue.story().into_iter().map(|it| (it.agent, it.action, it.comment)).collect();
        assert_eq!(
            story,
            [
                ("a", Some(FILE_ACTION), None),
                ("x", None, Some("early")),
                ("b", Some(CLAIM_ACTION), None),
                ("b", Some("Issue completed"), Some("done")),
                ("c", Some("Looked at"), None),
                ("c", Some("Mended"), None),
                ("d", None, Some("other")),
                ("e", None, Some("late")),
            ]
        );
    }
}
