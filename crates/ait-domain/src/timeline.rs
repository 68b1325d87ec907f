//! The timeline of an issue: history and comments in chronological order.

use super::event::{BY_PERSON, CONFLICT};
use super::text::{begins_with, shortened};
use super::{ActionKind, Comment, Event, HistoryEntry, Issue, Status, Timestamp};

/// An entry of the timeline: an action, a comment, or an action with its comment.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TimelineEntry<'a> {
    /// The time.
    pub at: Timestamp,
    pub agent: &'a str,
    /// The action; `None` for a comment alone.
    pub action: Option<&'a str>,
    pub comment: Option<&'a str>,
}

impl TimelineEntry<'_> {
    /// Returns the kind of the entry.
    pub fn kind(&self) -> ActionKind {
        self.action.map_or(ActionKind::Commented, ActionKind::of)
    }

    /// Returns the status after the entry, if the action alone determines it. That of a lapsed claim does not; see
    /// [`ActionKind::status_after`].
    pub fn status(&self) -> Option<Status> {
        self.kind().status_after(None)
    }
}

/// How often agents tried an issue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Attempts {
    /// How often it was claimed, for work or for review.
    pub claims: usize,
    /// How often it was returned after a claim; see [`ActionKind::returns_in`].
    pub returns: usize,
    /// How often a claim lapsed.
    pub lapses: usize,
}

impl Issue {
    /// Counts the attempts in the history.
    pub fn attempts(&self) -> Attempts {
        let kinds = self.history.iter().map(|entry| ActionKind::of(&entry.action));
        Attempts {
            claims: kinds.clone().filter(|kind| kind.is_claim()).count(),
            returns: ActionKind::returns_in(kinds.clone()),
            lapses: kinds.filter(|kind| *kind == ActionKind::Lapsed).count(),
        }
    }

    /// Counts the failed attempts since a person last edited, unparked, answered or reopened the issue: how often the
    /// agent that held it returned it. Lapses, returns by others than the holder, and returns for a merge conflict say
    /// nothing about the issue.
    pub fn failed_attempts(&self) -> usize {
        let mut failed = 0;
        let mut holder = None;
        for entry in self.timeline() {
            match entry.kind() {
                ActionKind::Claimed | ActionKind::ReviewStarted => holder = Some(entry.agent),
                ActionKind::Returned => {
                    let is_own = holder.take() == Some(entry.agent);
                    failed += usize::from(
                        is_own && !entry.comment.is_some_and(|said| begins_with(said, CONFLICT)),
                    );
                }
                ActionKind::Completed | ActionKind::Lapsed | ActionKind::Asked => holder = None,
                ActionKind::Answered | ActionKind::Edited | ActionKind::Reopened => failed = 0,
                ActionKind::Changed
                    if entry.action.is_some_and(|action| action.ends_with(BY_PERSON)) =>
                {
                    failed = 0;
                }
                _ => {}
            }
        }
        failed
    }
}

impl Issue {
    /// Says what the next agent has to know first: what was asked and answered last, how often the issue was tried
    /// before, and what the last agent said, such as `returned 2 times, lapsed once; last: the fixture is missing`.
    /// `None` if it never came back and no question was answered.
    pub fn earlier_attempts(&self) -> Option<String> {
        let parts = [self.last_answer(), self.failures()];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn failures(&self) -> Option<String> {
        const SHOWN_CHARS: usize = 100;
        let Attempts { returns, lapses, .. } = self.attempts();
        let counted = [("returned", returns), ("lapsed", lapses)];
        let counted: Vec<_> = counted
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(verb, count)| match count {
                1 => format!("{verb} once"),
                _ => format!("{verb} {count} times"),
            })
            .collect();
        if counted.is_empty() {
            return None;
        }
        let gave_back = |entry: &&TimelineEntry<'_>| {
            matches!(entry.kind(), ActionKind::Returned | ActionKind::Lapsed)
        };
        let timeline = self.timeline();
        let last = timeline.iter().rev().find(gave_back).and_then(|entry| entry.comment);
        let last = last.map(|said| format!("; last: {}", shortened(said, SHOWN_CHARS)));
        Some(counted.join(", ") + &last.unwrap_or_default())
    }
}

impl Event {
    /// Returns the event as an entry of the timeline.
    pub fn timeline_entry(&self) -> TimelineEntry<'_> {
        TimelineEntry {
            at: self.at,
            agent: &self.agent,
            action: self.kind.action(),
            comment: self.kind.comment(),
        }
    }
}

impl Issue {
    /// Returns the history merged with the comments, oldest first.
    ///
    /// A comment belongs to the entry with the same time and agent. Other programs may write comments that match no
    /// entry; these get entries of their own.
    pub fn timeline(&self) -> Vec<TimelineEntry<'_>> {
        let mut comments = self.comments.iter().peekable();
        let mut story = Vec::with_capacity(self.history.len());
        for entry in &self.history {
            let is_earlier = |comment: &&Comment| comment.timestamp < entry.timestamp;
            while let Some(comment) = comments.next_if(is_earlier) {
                story.push(alone(comment));
            }
            let comment = comments.next_if(|comment| belongs(comment, entry));
            story.push(TimelineEntry {
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

fn alone(comment: &Comment) -> TimelineEntry<'_> {
    let Comment { timestamp, agent, text, .. } = comment;
    TimelineEntry { at: *timestamp, agent, action: None, comment: Some(text) }
}

fn belongs(comment: &Comment, entry: &HistoryEntry) -> bool {
    // Several events can happen within one millisecond. These actions never carry a comment.
    let is_silent = matches!(
        ActionKind::of(&entry.action),
        ActionKind::Filed | ActionKind::Claimed | ActionKind::ReviewStarted | ActionKind::Edited
    );
    !is_silent && comment.timestamp == entry.timestamp && comment.agent == entry.agent
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{CLAIM_ACTION, FILE_ACTION};

    #[test]
    fn a_lapsed_claim_restores_the_status_before_the_claim() {
        for (before, after) in [
            (Some(Status::InProgress), Some(Status::Created)),
            (Some(Status::InReview), Some(Status::Completed)),
            (Some(Status::Closed), None),
            (None, None),
        ] {
            assert_eq!(ActionKind::Lapsed.status_after(before), after, "{before:?}");
        }
        assert_eq!(ActionKind::Edited.status_after(Some(Status::InProgress)), None);
    }

    #[test]
    fn a_comment_joins_the_action_of_the_same_agent_and_time() {
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
        let story: Vec<_> = issue
            .timeline()
            .into_iter()
            .map(|entry| (entry.agent, entry.action, entry.comment))
            .collect();
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
