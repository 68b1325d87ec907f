//! The three-way merge of one issue: an external edit of `issues.json` against the current issue.
//!
//! Edits by hand, files that git restores, and all other copies of an issue use this merge. It is idempotent:
//! merging the same copy again changes nothing.

use std::collections::HashMap;

use super::attributes::AttributeValues;
use super::{ActionKind, Attributes, Comment, HistoryEntry, Issue, Label, Timestamp, attributes};

/// The result of a merge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// The merged issue. The merge itself adds no history entry.
    pub issue: Issue,
    /// The fields in which both sides changed and `ours` won.
    pub conflicts: Vec<&'static str>,
}

/// Merges an edited copy of an issue into the current issue.
///
/// `ours` is the current issue, `theirs` the edited copy, and `base` the version from which the copy was made: the
/// version whose history is the [history that both share](common_history). If `base` is `None` because that version
/// is no longer known, `ours` wins wherever the two differ.
///
/// * History, status and time of the last change are merged together. `theirs` wins only if its history starts with
///   all of ours, except comments that were [added since](lacks_only_comments), and the merge does not open an
///   issue that has ended.
/// * If the histories are the same, a different status changes the status alone.
/// * Title, description, classification, time of filing and unknown keys are merged field by field. If both sides
///   changed a field, `ours` wins.
/// * Comments are united; the merge never removes one.
pub fn merge(base: Option<&Issue>, ours: &Issue, theirs: &Issue) -> Merged {
    let common = common_history(ours, theirs);
    let is_current = lacks_only_comments(ours, common);
    // Every change but a comment changes the history otherwise, and comments are united. So the current version is the
    // base of such a copy.
    let base = if is_current { Some(ours) } else { base };
    let mut merged = Merged { issue: ours.clone(), conflicts: Vec::new() };
    let Merged { issue, conflicts } = &mut merged;
    if is_current {
        let leaves_end = ours.status.has_ended() && theirs.status != ours.status;
        if leaves_end {
            conflicts.push("status");
        } else {
            issue.status = theirs.status;
            if theirs.history.len() > common {
                let said = &ours.history[common..];
                issue.history = [&theirs.history, said].concat();
                let last = said.last().map(|entry| entry.timestamp);
                issue.modified_at =
                    last.map_or(theirs.modified_at, |at| at.max(theirs.modified_at));
            }
        }
    } else if theirs.history.len() > common {
        conflicts.push("history");
    } else if base.is_some_and(|base| theirs.status != base.status) && theirs.status != ours.status
    {
        conflicts.push("status");
    }
    merge_fields(base, theirs, issue, conflicts);
    issue.comments = united(base, &ours.comments, &theirs.comments);
    merged
}

/// Merges the texts, attributes, links and unknown keys of `theirs` into `ours`, and adds the names of the fields in
/// which `ours` wins over a change to `conflicts`.
pub(super) fn merge_fields(
    base: Option<&Issue>,
    theirs: &Issue,
    ours: &mut Issue,
    conflicts: &mut Vec<&'static str>,
) {
    let mut field = |name, is_taken: Option<bool>| match is_taken {
        Some(is_taken) => is_taken,
        None => {
            conflicts.push(name);
            false
        }
    };
    macro_rules! merge_field {
        ($field:ident, $name:literal) => {
            let base = base.map(|base| &base.$field);
            if field($name, takes_theirs(base, &ours.$field, &theirs.$field)) {
                ours.$field.clone_from(&theirs.$field);
            }
        };
    }
    merge_field!(title, "title");
    merge_field!(description, "description");
    merge_field!(classification, "classification");
    merge_field!(created_at, "createdAt");
    merge_field!(unknown_keys, "other keys");
    ours.attributes = merged_attributes(base, ours, theirs, &mut field);
    ours.set_unknown_namesakes_aside();
}

/// Merges the attributes field by field. Labels and links are sets: what one side added or removed is added or removed.
fn merged_attributes(
    base: Option<&Issue>,
    ours: &Issue,
    theirs: &Issue,
    field: &mut impl FnMut(&'static str, Option<bool>) -> bool,
) -> Attributes {
    let base = base.map(|base| &*base.attributes);
    let (ours, theirs) = (&*ours.attributes, &*theirs.attributes);
    if ours == theirs || base == Some(theirs) {
        return Attributes::from(ours.clone());
    }
    // An attribute that is not merged below would be lost in edits, and in what is undone.
    let AttributeValues { priority: _, labels: _, assignee: _, links: _, parked: _ } = ours;
    let mut merged = ours.clone();
    macro_rules! merge_field {
        ($field:ident, $name:literal) => {
            let before = base.map(|base| &base.$field);
            if field($name, takes_theirs(before, &ours.$field, &theirs.$field)) {
                merged.$field.clone_from(&theirs.$field);
            }
        };
    }
    merge_field!(priority, "priority");
    merge_field!(assignee, "assignee");
    merge_field!(parked, "parked");
    if let Some(base) = base {
        let mut labels = merged_set(&base.labels, &ours.labels, &theirs.labels);
        if labels.len() <= Label::MAX_COUNT {
            labels.sort_unstable();
            merged.labels = labels;
        } else {
            field("labels", None);
        }
        let links = merged_set(&base.links, &ours.links, &theirs.links);
        // Both sides may have set another parent.
        if attributes::are_valid(&links) {
            merged.links = links;
        } else {
            field("links", None);
        }
    } else if (&ours.labels, &ours.links) != (&theirs.labels, &theirs.links) {
        field("labels or links", None);
    }
    Attributes::from(merged)
}

/// Returns our items without those that they removed, and with those that they added.
fn merged_set<T: Clone + PartialEq>(base: &[T], ours: &[T], theirs: &[T]) -> Vec<T> {
    let is_removed = |item: &&T| base.contains(item) && !theirs.contains(item);
    let is_added = |item: &&T| !base.contains(item) && !ours.contains(item);
    let kept = ours.iter().filter(|item| !is_removed(item));
    kept.chain(theirs.iter().filter(is_added)).cloned().collect()
}

/// Returns true if a copy that shares this many entries with our history lacks nothing of it but comments.
pub fn lacks_only_comments(ours: &Issue, common: usize) -> bool {
    let is_comment = |entry: &HistoryEntry| ActionKind::of(&entry.action) == ActionKind::Commented;
    ours.history[common..].iter().all(is_comment)
}

/// Returns the number of entries that the histories of two versions share at their start.
pub fn common_history(one: &Issue, other: &Issue) -> usize {
    let is_same = |(one, other): &(&HistoryEntry, &HistoryEntry)| {
        (one.timestamp, &one.agent, &one.action) == (other.timestamp, &other.agent, &other.action)
    };
    one.history.iter().zip(&other.history).take_while(is_same).count()
}

/// Returns true if the field of `theirs` wins, and `None` if both sides changed it.
fn takes_theirs<T: PartialEq>(base: Option<&T>, ours: &T, theirs: &T) -> Option<bool> {
    if ours == theirs || base == Some(theirs) {
        return Some(false);
    }
    (base == Some(ours)).then_some(true)
}

/// Identifies a comment by time, agent and its number among those of the same time and agent, so that an edit may
/// correct the text.
type CommentKey<'a> = (Timestamp, &'a str, usize);

fn keyed(comments: &[Comment]) -> impl Iterator<Item = (CommentKey<'_>, &Comment)> {
    let mut counts: HashMap<(Timestamp, &str), usize> = HashMap::new();
    comments.iter().map(move |comment| {
        let count = counts.entry((comment.timestamp, &comment.agent)).or_default();
        *count += 1;
        ((comment.timestamp, comment.agent.as_str(), *count), comment)
    })
}

/// Returns our comments with the texts corrected by theirs, and the comments that only theirs has, sorted by time.
fn united(base: Option<&Issue>, ours: &[Comment], theirs: &[Comment]) -> Vec<Comment> {
    if ours == theirs {
        return ours.to_vec();
    }
    let base: HashMap<_, _> = base.map(|base| keyed(&base.comments).collect()).unwrap_or_default();
    let mut places: HashMap<_, _> =
        keyed(ours).enumerate().map(|(place, (key, _))| (key, place)).collect();
    let mut united = ours.to_vec();
    for (key, comment) in keyed(theirs) {
        match places.remove(&key) {
            Some(place) if base.get(&key) == Some(&&ours[place]) => united[place] = comment.clone(),
            Some(_) => {}
            None => united.push(comment.clone()),
        }
    }
    if united.len() > ours.len() {
        united.sort_by_key(|comment| comment.timestamp);
    }
    united
}
