//! The three-way merge of one issue: an external edit of `issues.json` against the current issue.
//!
//! Edits by hand, files that git restores or merges, and all other copies of an issue use this merge. It is idempotent:
//! merging the same copy again changes nothing.

use std::collections::{HashMap, HashSet};

use super::event::{CHANGE_ACTION, LATE_ACTION};
use super::{
    ActionKind, AttributeValues, Attributes, Comment, FieldValue, HistoryEntry, Issue, Label,
    Status, Timestamp, ValueField, attributes,
};

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
/// `ours` is the current issue, `theirs` the edited copy, and `base` the version from which the copy was made, such as
/// the one whose history is the [history that both share](common_history). If `base` is `None` because that version
/// is not known, `ours` wins wherever the two differ, but for changes that only the history of `theirs` has.
///
/// * History, status and time of the last change are merged together. If the history of `theirs` has all of ours, but
///   for [comments](lacks_only_comments), it wins, unless that would open an issue that has ended. If both sides have
///   entries that the other lacks, their histories are joined: no entry is lost, and an issue that
///   was claimed on both sides has the earlier claim.
/// * If the histories are the same, a different status changes the status alone.
/// * Title, description, classification, time of filing and unknown keys are merged field by field. If both sides
///   changed a field, `ours` wins. Without a base, `theirs` wins in the fields that only its history changes.
/// * Comments are united; the merge never removes one.
pub fn merge(base: Option<&Issue>, ours: &Issue, theirs: &Issue) -> Merged {
    let common = common_history(ours, theirs);
    let is_current = lacks_only_comments(theirs, ours);
    // Every change but a comment changes the history otherwise, and comments are united. So the current version can be
    // the base of such a copy.
    let base = base.or(is_current.then_some(ours));
    let mut merged = Merged { issue: ours.clone(), conflicts: Vec::new() };
    let Merged { issue, conflicts } = &mut merged;
    if is_current {
        let is_continued = theirs.history.len() > common;
        let before = base.filter(|_| !is_continued).map_or(ours.status, |base| base.status);
        if ours.status.has_ended() && theirs.status != ours.status {
            conflicts.push("status");
        } else if is_continued || before != theirs.status {
            issue.status = theirs.status;
        }
        if is_continued && issue.status == theirs.status {
            let said = lacking(&ours.history[common..], &theirs.history[common..]);
            let rest = interleaved(&theirs.history[common..], &said);
            issue.history = [&ours.history[..common], &rest].concat();
            let last = said.last().map(|entry| entry.timestamp);
            issue.modified_at = last.map_or(theirs.modified_at, |at| at.max(theirs.modified_at));
        }
    } else if theirs.history.len() > common {
        join_histories(base, theirs, common, issue, conflicts);
    } else if base.is_some_and(|base| theirs.status != base.status) && theirs.status != ours.status
    {
        conflicts.push("status");
    }
    let own = lacking(&ours.history[common..], &theirs.history[common..]);
    let other = lacking(&theirs.history[common..], &ours.history[common..]);
    let is_theirs = |field: &str| changes_field(&other, field) && !changes_field(&own, field);
    merge_fields(base, theirs, issue, &is_theirs, conflicts);
    issue.comments = united(base, &ours.comments, &theirs.comments);
    merged
}

/// Gives our issue the joined history of both sides, which share `common` entries, and the status that follows.
///
/// A status that does not follow from the history of its side was edited by hand. Ours then stays.
fn join_histories(
    base: Option<&Issue>,
    theirs: &Issue,
    common: usize,
    ours: &mut Issue,
    conflicts: &mut Vec<&'static str>,
) {
    let is_shared =
        |base: &&Issue| base.history.len() == common && common_history(base, theirs) == common;
    let mut start = Replay::default();
    for entry in &ours.history[..common] {
        start.allows(entry);
    }
    if let Some(base) = base.filter(is_shared) {
        start.status = Some(base.status);
    }
    let joined = joined_history(&ours.history[common..], &theirs.history[common..], &start);
    let follows = |side: &Issue| start.after(&side.history[common..]) == Some(side.status);
    if follows(ours) && follows(theirs) {
        ours.status = start.after(&joined).unwrap_or(ours.status);
    } else if ours.status != theirs.status {
        conflicts.push("status");
    }
    ours.history.truncate(common);
    ours.history.extend(joined);
    ours.modified_at = ours.modified_at.max(theirs.modified_at);
}

/// Joins what two histories have after the entries that they share, in the order of time. Both sides get the same.
///
/// An entry that the rules do not allow after those before it, such as the later of two claims, stays as a
/// [late](late) one, which changes nothing.
fn joined_history(
    ours: &[HistoryEntry],
    theirs: &[HistoryEntry],
    start: &Replay,
) -> Vec<HistoryEntry> {
    let both = || ours.iter().chain(theirs);
    let known: HashSet<_> = both().filter(|entry| is_late(entry)).map(entry_key).collect();
    let mut replay = start.clone();
    let mut joined = interleaved(ours, &lacking(theirs, ours));
    for entry in &mut joined {
        if known.contains(&entry_key(entry)) {
            make_late(entry);
        }
        if !replay.allows(entry) {
            make_late(entry);
        }
    }
    joined
}

/// What the entries of a history lead to.
#[derive(Clone, Default)]
struct Replay {
    /// The status, if it is known.
    status: Option<Status>,
    /// The agent of the last claim.
    holder: String,
    /// The agents whose claims came too late. They do not know that, and may go on to end them.
    late: Vec<String>,
}

impl Replay {
    /// Follows an entry, and returns false if the rules do not allow it.
    fn allows(&mut self, entry: &HistoryEntry) -> bool {
        let kind = ActionKind::of(timely_action(entry));
        if is_late(entry) {
            self.note_late(kind, &entry.agent);
            return true;
        }
        let Some(after) = kind.status_after(self.status) else { return true };
        if let Some(before) = self.status {
            let ends_other = before.is_claimed()
                && self.holder != entry.agent
                && self.late.contains(&entry.agent);
            if ends_other || !kind.can_lead(before, after) {
                self.note_late(kind, &entry.agent);
                return false;
            }
        }
        self.status = Some(after);
        if kind.is_claim() {
            self.holder.clone_from(&entry.agent);
            self.late.retain(|agent| *agent != entry.agent);
        }
        true
    }

    fn note_late(&mut self, kind: ActionKind, agent: &str) {
        if kind.is_claim() {
            self.late.push(agent.to_owned());
        }
    }

    /// Returns the status after some entries.
    fn after(&self, entries: &[HistoryEntry]) -> Option<Status> {
        let mut replay = self.clone();
        for entry in entries {
            replay.allows(entry);
        }
        replay.status
    }
}

/// Returns true if an entry came too late, after what happened in another clone.
fn is_late(entry: &HistoryEntry) -> bool {
    entry.action.starts_with(LATE_ACTION)
}

fn make_late(entry: &mut HistoryEntry) {
    if !is_late(entry) {
        entry.action.insert_str(0, LATE_ACTION);
    }
}

/// Returns the action of an entry, as it was before the entry turned out to be late.
fn timely_action(entry: &HistoryEntry) -> &str {
    entry.action.strip_prefix(LATE_ACTION).unwrap_or(&entry.action)
}

/// Identifies an entry, late or not.
fn entry_key(entry: &HistoryEntry) -> (Timestamp, &str, &str) {
    (entry.timestamp, &entry.agent, timely_action(entry))
}

/// Returns the entries that are not among others.
fn lacking(entries: &[HistoryEntry], others: &[HistoryEntry]) -> Vec<HistoryEntry> {
    let mut counts: HashMap<_, usize> = HashMap::new();
    for other in others {
        *counts.entry(entry_key(other)).or_default() += 1;
    }
    let mut lacking = Vec::new();
    for entry in entries {
        match counts.get_mut(&entry_key(entry)) {
            Some(count) if *count > 0 => *count -= 1,
            _ => lacking.push(entry.clone()),
        }
    }
    lacking
}

/// Merges two sequences of entries by time. Each keeps its order.
fn interleaved(one: &[HistoryEntry], other: &[HistoryEntry]) -> Vec<HistoryEntry> {
    let mut merged = Vec::with_capacity(one.len() + other.len());
    let mut one = one;
    let mut other = other;
    while let (Some(first), Some(second)) = (one.first(), other.first()) {
        let side = if entry_key(first) <= entry_key(second) { &mut one } else { &mut other };
        merged.push(side[0].clone());
        *side = &side[1..];
    }
    merged.extend_from_slice(one);
    merged.extend_from_slice(other);
    merged
}

/// Merges the texts, attributes, links and unknown keys of `theirs` into `ours`. Where both changed a field, `ours`
/// keeps its value, and `conflicts` gets the name of the field. Without a base, `is_theirs` returns true for a field
/// that only `theirs` changed.
pub(super) fn merge_fields(
    base: Option<&Issue>,
    theirs: &Issue,
    ours: &mut Issue,
    is_theirs: &dyn Fn(&str) -> bool,
    conflicts: &mut Vec<&'static str>,
) {
    let mut field = |name, is_taken: Option<bool>| match is_taken {
        Some(is_taken) => is_taken,
        None if base.is_none() && is_theirs(name) => true,
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
    let base = base.map(|base| &*base.attributes);
    ours.attributes = merged_attributes(base, &ours.attributes, &theirs.attributes, &mut field);
    ours.set_unknown_namesakes_aside();
}

/// Makes the changes from `before` to `after` in other attributes. Where these were changed, too, `after` wins.
pub fn changed_attributes(
    before: &AttributeValues,
    attributes: &AttributeValues,
    after: &AttributeValues,
) -> Attributes {
    let is_taken = &mut |_, is_taken: Option<bool>| is_taken.unwrap_or(true);
    merged_attributes(Some(before), attributes, after, is_taken)
}

/// Merges the attributes field by field. Labels and links are sets: what one side added or removed is added or removed.
fn merged_attributes(
    base: Option<&AttributeValues>,
    ours: &AttributeValues,
    theirs: &AttributeValues,
    field: &mut impl FnMut(&'static str, Option<bool>) -> bool,
) -> Attributes {
    if ours == theirs || base == Some(theirs) {
        return Attributes::from(ours.clone());
    }
    let mut merged = ours.clone();
    for name in ValueField::ALL {
        let [our, their] = [ours, theirs].map(|side| FieldValue::of(*name, side));
        let before = base.map(|base| FieldValue::of(*name, base));
        if field(name.as_str(), takes_theirs(before.as_ref(), &our, &their)) {
            their.set(&mut merged);
        }
    }
    let parked = base.map(|base| &base.parked);
    if field("parked", takes_theirs(parked, &ours.parked, &theirs.parked)) {
        merged.parked.clone_from(&theirs.parked);
    }
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
    } else {
        if ours.labels != theirs.labels && field("labels", None) {
            merged.labels.clone_from(&theirs.labels);
        }
        if ours.links != theirs.links && field("links", None) {
            merged.links.clone_from(&theirs.links);
        }
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

/// Returns true if the history of a copy lacks nothing of ours but comments.
pub fn lacks_only_comments(copy: &Issue, ours: &Issue) -> bool {
    let common = common_history(ours, copy);
    let is_comment = |entry: &HistoryEntry| ActionKind::of(&entry.action) == ActionKind::Commented;
    lacking(&ours.history[common..], &copy.history[common..]).iter().all(is_comment)
}

/// Returns true if a claim of an agent came too late, because the present holder had claimed the issue before, in
/// another clone.
pub fn has_late_claim(issue: &Issue, agent: &str) -> bool {
    let Some(claim) = issue.claim_entry() else { return false };
    let is_claim = |entry: &HistoryEntry| {
        is_late(entry) && entry.agent == agent && ActionKind::of(timely_action(entry)).is_claim()
    };
    issue.history[claim].agent != agent && issue.history[claim..].iter().any(is_claim)
}

/// Returns true if an entry changes a field.
fn changes_field(entries: &[HistoryEntry], field: &str) -> bool {
    entries.iter().any(|entry| {
        let fields = timely_action(entry).strip_prefix(CHANGE_ACTION);
        fields.is_some_and(|fields| fields.split(", ").any(|name| name == field))
    })
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
