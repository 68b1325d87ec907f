//! `ait import --update`: brings what changed in another tracker into the issues that were imported from it.
//!
//! Each issue is merged as an external edit is: against the base, the version that the other tracker last showed. That
//! is the imported version with the changes of later updates, which the log knows.

use std::collections::HashMap;
use std::sync::Arc;

use ait_domain::merge::{changed_attributes, common_history, lacks_only_comments, merge};
use ait_domain::{
    AttributeValues, Attributes, Change, Event, EventKind, HistoryEntry, Issue, IssueId, Patch,
    Status, Timestamp,
};
use ait_interchange::ImportDraft;
use ait_tracker::{LogReader, StoreError, Tracker};

/// Who updates issues, in their history.
const AGENT: &str = "import";
const ACTION: &str = "Issue updated by an import";

/// A stored issue and what a file has for it.
pub(super) struct Update {
    /// The place of the entry in the report.
    pub place: usize,
    pub ours: Arc<Issue>,
    pub draft: ImportDraft,
}

/// What is known of an issue while the log is read backwards.
struct Search {
    /// An issue of ait, at the event that was read last, and how much of its history the file shares.
    back: Option<(Issue, usize)>,
    /// The updates of an issue of another tracker, newest first.
    updates: Vec<Patch>,
    base: Option<Issue>,
    is_done: bool,
}

/// Returns the base of each update. There is none if the log no longer has it.
pub(super) async fn bases(
    updates: &[Update],
    tracker: &Tracker,
) -> Result<HashMap<IssueId, Issue>, StoreError> {
    let search = |update: &Update| {
        let ours = &update.ours;
        let theirs = update.draft.issue.issue();
        let common = common_history(ours, theirs);
        let is_current = lacks_only_comments(theirs, ours);
        let back = update.draft.is_of_ait().then(|| (Issue::clone(ours), common));
        let base = is_current.then(|| Issue::clone(ours));
        (ours.id, Search { back, updates: Vec::new(), base, is_done: is_current })
    };
    let mut searches: HashMap<_, _> = updates.iter().map(search).collect();
    let mut open = searches.values().filter(|search| !search.is_done).count();
    let mut log = LogReader::before(tracker, u64::MAX);
    while open > 0
        && let Some(numbered) = log.next().await?
    {
        let Some(search) = searches.get_mut(&numbered.event.issue) else { continue };
        if !search.is_done {
            search.read(&numbered.event);
            open -= usize::from(search.is_done);
        }
    }
    Ok(searches.into_iter().filter_map(|(id, search)| Some((id, search.base?))).collect())
}

impl Search {
    /// Reads the event before the ones that were read.
    fn read(&mut self, event: &Event) {
        if let Some((issue, common)) = &mut self.back {
            event.revert(issue);
            if issue.history.len() <= *common {
                self.base = Some(issue.clone()).filter(|issue| issue.history.len() == *common);
                self.is_done = true;
            }
        }
        match &event.kind {
            EventKind::Edited { patch } if is_update(patch) => {
                self.updates.push(Patch::clone(patch));
            }
            EventKind::Imported { issue, .. } if self.back.is_none() => {
                let mut base = Issue::clone(issue);
                self.updates.iter().rev().for_each(|patch| show(patch, &mut base));
                self.base = Some(base);
                self.is_done = true;
            }
            EventKind::Imported { .. } | EventKind::Filed { .. } | EventKind::Removed { .. } => {
                self.is_done = true;
            }
            _ => {}
        }
    }
}

fn is_update(patch: &Patch) -> bool {
    let added = patch.history.iter().flat_map(|history| &history.added);
    added.into_iter().any(|entry| entry.agent == AGENT && entry.action == ACTION)
}

/// Makes the changes of an update in the version that the other tracker showed before it. What agents changed here is
/// not in that version, so lists get and lose single items.
fn show(patch: &Patch, base: &mut Issue) {
    if let Some(Change { before, after }) = &patch.attributes {
        base.attributes = changed_attributes(before, &base.attributes, after);
    }
    Patch { history: None, comments: None, attributes: None, ..patch.clone() }.apply(base);
}

/// Returns the issue with what is new in the file. It is the same as `ours` if nothing is.
pub(super) fn updated(update: &Update, base: Option<&Issue>, now: Timestamp) -> Issue {
    let ours = &*update.ours;
    let given = &**update.draft.issue.issue();
    if update.draft.is_of_ait() {
        return merge(base, ours, given).issue;
    }
    let mut theirs = stated(update, base);
    // Histories of other trackers are derived from few times, so they do not tell which version is the newer one.
    theirs.history.clear();
    theirs.status = ours.status;
    let mut issue = merge(base, ours, &theirs).issue;
    let is_stated = !update.draft.unstated.contains(&"status") && given.status != ours.status;
    let is_unchanged = base.is_some_and(|base| base.status == ours.status);
    if is_stated && is_unchanged && !ours.status.has_ended() {
        issue.status = given.status;
        if given.status != Status::Created {
            issue.attributes = unparked(&issue);
        }
        let is_new = |entry: &&HistoryEntry| !ours.history.contains(entry);
        issue.history.extend(given.history.iter().filter(is_new).cloned());
    }
    if issue != *ours {
        issue.history.push(HistoryEntry::new(now, AGENT, ACTION));
        issue.modified_at = now.max(ours.modified_at).max(given.modified_at);
    }
    issue
}

fn unparked(issue: &Issue) -> Attributes {
    let attributes = AttributeValues::clone(&issue.attributes);
    AttributeValues { parked: None, ..attributes }.into()
}

/// Returns the issue as the file has it. Fields that the file does not state keep the values that they have here.
fn stated(update: &Update, base: Option<&Issue>) -> Issue {
    let Update { ours, draft, .. } = update;
    let mut theirs = Issue::clone(draft.issue.issue());
    let is_unstated = |name: &str| draft.unstated.contains(&name);
    if is_unstated("description") {
        theirs.description.clone_from(&ours.description);
    }
    if is_unstated("classification") {
        theirs.classification = ours.classification;
    }
    if is_unstated("createdAt") {
        theirs.created_at = ours.created_at;
    }
    let mut attributes = AttributeValues::clone(&theirs.attributes);
    let kept = &ours.attributes;
    attributes.fill_from(kept);
    let parked = base.and_then(|base| base.attributes.parked.clone());
    attributes.parked = match (attributes.parked, parked) {
        // The reason is from the file, and the time is that of the version in which it was first read.
        (Some(given), Some(known)) if given.reason == known.reason => Some(known),
        (None, _) if is_unstated("status") => kept.parked.clone(),
        (given, _) => given,
    };
    theirs.attributes = attributes.into();
    let mut unknown_keys = ours.unknown_keys.clone();
    for (key, value) in theirs.unknown_keys.iter() {
        unknown_keys.insert(key.to_owned(), value.to_owned());
    }
    theirs.unknown_keys = unknown_keys;
    theirs
}
