//! Undoing changes of an issue: what it would be without some of its latest events.
//!
//! Nothing is erased. An undo is one more change, which merges what the events changed back into the current issue,
//! field by field, as an external edit is merged. History and comments stay.

use super::event::CHANGE_ACTION;
use super::links;
use super::merge::merge_fields;
use super::{
    AgentName, AttributeValues, Attributes, ClaimRequirement, DomainError, Due, Event, EventKind,
    HistoryEntry, Issue, IssueGraph, Link, Patch, Status, Timestamp,
};
use crate::string_enum;

/// What undoing changes makes of an issue.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undoing {
    /// Replaces the issue by this version. The event of the undo adds the history entry.
    Change(Box<Issue>),
    /// The issue was filed by the undone events, and nothing else happened to it: it is rejected.
    Reject,
    /// Nothing can be undone.
    Nothing,
}

/// What undoing changes makes of an issue, and what is left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undone {
    /// What happens.
    pub undoing: Undoing,
    /// What stays as it is, each with the reason.
    pub left: Vec<(&'static str, LeftReason)>,
}

string_enum! {
    /// Why something stays when changes are undone.
    pub enum LeftReason {
        /// Later changes concern it.
        ChangedSince = "changed since",
        /// The issue has ended, and only a person opens it again.
        Ended = "the issue has ended, and only a person opens it again",
        /// A person opened the issue again.
        Reopened = "a person opened the issue again",
        /// A claim does not come back: its agent is gone, or works on something else.
        ClaimOver = "a claim that has ended does not come back",
        /// Undoing erases nothing that was said.
        Said = "what was said stays",
        /// It is not there.
        Gone = "it is not there; a backup may have it",
        /// The log does not tell how it became what it is.
        Untold = "the log does not tell how it became what it is",
    }
}

/// Undoes some events of an issue.
///
/// `events` are all events of the issue from the first one to undo until now, oldest first, each with whether to undo
/// it. A field that another event has changed since stays. A claim that was given up does not come back: the issue
/// waits where it waited before.
///
/// With `by_person`, an issue that has ended opens again, and one that was opened again ends.
///
/// Returns `None` if the events do not lead to this issue, for example because the last one is missing.
pub fn undo(issue: &Issue, events: &[(&Event, bool)], by_person: bool) -> Option<Undone> {
    let wanted = issue.clone();
    let mut walk = Walk { wanted, by_person, left: Vec::new(), is_status_later: false };
    let mut after = issue.clone();
    let mut rest = events;
    while let Some(((event, is_undone), earlier)) = rest.split_last() {
        rest = earlier;
        let before = match &event.kind {
            EventKind::Filed { .. } | EventKind::Imported { .. } => {
                let removal = undone_removal(earlier).filter(|_| *is_undone);
                let Some((removed, earlier)) = removal else {
                    return Some(walk.end_at_birth(issue, earlier, &events[earlier.len()..]));
                };
                // The issue was there before it was removed, so this was not its birth.
                rest = earlier;
                Issue::clone(removed)
            }
            EventKind::Removed { .. } => return None,
            _ => reverted(event, &after)?,
        };
        if *is_undone {
            walk.undo(&before, &after);
        } else {
            walk.is_status_later |= before.status != after.status;
        }
        after = before;
    }
    Some(walk.end(issue))
}

/// Returns the issue before an event; `None` if the event did not lead to `after`.
fn reverted(event: &Event, after: &Issue) -> Option<Issue> {
    let mut before = after.clone();
    event.revert(&mut before);
    let mut again = before.clone();
    event.apply(&mut again);
    (again == *after).then_some(before)
}

/// If the last of these events removed the issue and is undone, returns the removed issue and the events before.
fn undone_removal<'a>(
    events: &'a [(&Event, bool)],
) -> Option<(&'a Issue, &'a [(&'a Event, bool)])> {
    let ((event, is_undone), earlier) = events.split_last()?;
    match &event.kind {
        EventKind::Removed { issue, .. } if *is_undone => Some((issue, earlier)),
        _ => None,
    }
}

/// Goes back through the events of an issue.
struct Walk {
    wanted: Issue,
    by_person: bool,
    left: Vec<(&'static str, LeftReason)>,
    /// Whether a later event, which stays, changed the status.
    is_status_later: bool,
}

impl Walk {
    /// Undoes what changed between two versions of the issue.
    fn undo(&mut self, before: &Issue, after: &Issue) {
        let mut conflicts = Vec::new();
        merge_fields(Some(after), before, &mut self.wanted, &|_| false, &mut conflicts);
        self.left.extend(conflicts.into_iter().map(|field| (field, LeftReason::ChangedSince)));
        if before.status == after.status {
            if before.comments != after.comments {
                self.left.push(("comments", LeftReason::Said));
            }
            return;
        }
        let waiting =
            if before.status.is_claimed() { before.status.after_lapse() } else { before.status };
        let reason = if self.wanted.status.has_ended() && !self.by_person {
            LeftReason::Ended
        } else if waiting.has_ended() && !self.by_person {
            LeftReason::Reopened
        } else if self.is_status_later {
            LeftReason::ChangedSince
        } else {
            let is_left = before.status.is_claimed() && waiting == self.wanted.status;
            self.wanted.status = waiting;
            if !is_left {
                return;
            }
            LeftReason::ClaimOver
        };
        self.left.push(("status", reason));
    }

    /// Ends at the birth of the issue, the first event of `since`.
    fn end_at_birth(
        mut self,
        issue: &Issue,
        earlier: &[(&Event, bool)],
        since: &[(&Event, bool)],
    ) -> Undone {
        let is_undone = |(_, is_undone): &(&Event, bool)| *is_undone;
        let lost = ("changes before the import", LeftReason::ChangedSince);
        let lost = earlier.iter().any(is_undone).then_some(lost);
        if since.first().is_some_and(is_undone) {
            if issue.status == Status::Kept && since.iter().all(is_undone) {
                // The entry never held.
                let due = Some(Due::Time(issue.created_at));
                let values = AttributeValues { due, ..AttributeValues::clone(&issue.attributes) };
                self.wanted.attributes = values.into();
                return self.end(issue);
            }
            let reason = if issue.status.has_ended() {
                LeftReason::Ended
            } else if since.iter().all(is_undone) {
                return Undone { undoing: Undoing::Reject, left: Vec::from_iter(lost) };
            } else {
                LeftReason::ChangedSince
            };
            self.left.push(("filing", reason));
        }
        self.left.extend(lost);
        self.end(issue)
    }

    fn end(mut self, issue: &Issue) -> Undone {
        let is_over = |issue: &Issue| issue.status.has_ended() && issue.status != Status::Kept;
        if is_over(issue) && is_over(&self.wanted) {
            self.keep_what_ended(issue);
        }
        self.keep_answered(issue);
        self.left.sort_unstable_by_key(|(field, _)| *field);
        self.left.dedup_by_key(|(field, _)| *field);
        let undoing = if self.wanted == *issue {
            Undoing::Nothing
        } else {
            Undoing::Change(Box::new(self.wanted))
        };
        Undone { undoing, left: self.left }
    }

    /// Keeps the answer to a question while an agent holds the issue. Without the answer the question would be open
    /// again, but pages and `ait questions` show only questions of issues that no agent holds.
    fn keep_answered(&mut self, issue: &Issue) {
        let is_asked_again =
            self.wanted.open_question().is_some() && issue.open_question().is_none();
        if is_asked_again && self.wanted.status.is_claimed() {
            let parked = issue.attributes.parked.clone();
            let wanted = AttributeValues::clone(&self.wanted.attributes);
            self.wanted.attributes = Attributes::from(AttributeValues { parked, ..wanted });
            self.left.push(("parked", LeftReason::ChangedSince));
        }
    }

    /// Leaves all fields of an ended issue but those by which it is found: labels and links.
    fn keep_what_ended(&mut self, issue: &Issue) {
        let wanted = AttributeValues::clone(&self.wanted.attributes);
        let kept = AttributeValues::clone(&issue.attributes);
        let attributes = AttributeValues { labels: wanted.labels, links: wanted.links, ..kept };
        let allowed = Issue { attributes: Attributes::from(attributes), ..issue.clone() };
        let fields = Patch::between(&allowed, &self.wanted).fields();
        self.left.extend(fields.into_iter().map(|field| (field, LeftReason::Ended)));
        self.wanted = allowed;
    }
}

/// Decides the change that turns an issue into what it [would be](undo) without some events. `undone` names them for
/// the history. The caller requires the version from which `wanted` was made.
///
/// # Errors
///
/// A claim would end that the agent does not hold and that the requirement protects, links would make a cycle, or
/// nothing would change.
pub fn decide(
    issue: &Issue,
    wanted: &Issue,
    undone: &str,
    agent: &AgentName,
    required_claim: &ClaimRequirement,
    now: Timestamp,
    graph: &dyn IssueGraph,
) -> Result<Event, DomainError> {
    if wanted.status != issue.status {
        required_claim.check(issue, agent)?;
    }
    let is_new = |link: &&Link| !issue.attributes.links.contains(link);
    let added: Vec<Link> = wanted.attributes.links.iter().filter(is_new).copied().collect();
    links::check(issue.id, &wanted.attributes.links, &added, graph)?;
    if issue.status.has_ended() && wanted.status.is_open() {
        links::check_reopened(wanted, graph)?;
    }
    let fields = Patch::between(issue, wanted).fields();
    if fields.is_empty() {
        return Err(DomainError::NothingToChange { id: issue.id });
    }
    let at = now.max(issue.modified_at);
    let mut after = wanted.clone();
    after.modified_at = at;
    let action = format!("{CHANGE_ACTION}{} (undoes {undone})", fields.join(", "));
    after.history.push(HistoryEntry::new(at, agent.as_str(), action));
    let patch = Box::new(Patch::between(issue, &after));
    Ok(Event::new(issue.id, at, agent.as_str(), EventKind::Changed { patch }))
}
