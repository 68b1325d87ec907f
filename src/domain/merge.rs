//! The three-way merge of one issue: what somebody made of it in `issues.json`, and what happened to it
//! meanwhile.
//!
//! The same merge serves edits by hand, files that git puts back, and everything else that holds a copy of an
//! issue. It is idempotent: merging the same copy again changes nothing.

use std::collections::HashMap;

use super::{Comment, HistoryEntry, Issue, Timestamp};

/// The result of a merge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Merged {
    /// The merged issue. It has no history entry of its own for the merge.
    pub issue: Issue,
    /// The fields in which `theirs` was not taken over, because `ours` changed as well.
    pub conflicts: Vec<&'static str>,
}

/// Merges a copy of an issue into the issue.
///
/// `ours` is the issue as it is now, `theirs` the copy, and `base` the version of the issue from which the copy
/// was made: that at the length of the [history that both have](common_history). `None` for a base that is not
/// known any more; then `ours` wins wherever the two differ.
///
/// * The history, the status and the time of the last change belong together. Those of `theirs` win only if its
///   history begins with all of ours, and if that takes the issue out of no terminal status.
/// * A status that differs on the same history is a change of the status alone.
/// * Title, description, classification, time of filing and unknown keys are merged one by one. Where both sides
///   changed, ours wins.
/// * Comments are united. Nothing removes one.
pub fn merge(base: Option<&Issue>, ours: &Issue, theirs: &Issue) -> Merged {
    let common = common_history(ours, theirs);
    let is_current = common == ours.history.len();
    // Whatever changes a field leaves an entry in the history, so with all of ours the copy is of this version.
    let base = if is_current { Some(ours) } else { base };
    let mut merged = Merged { issue: ours.clone(), conflicts: Vec::new() };
    let Merged { issue, conflicts } = &mut merged;
    if is_current {
        let leaves_end = ours.status.is_terminal() && theirs.status != ours.status;
        if leaves_end {
            conflicts.push("status");
        } else {
            issue.status = theirs.status;
            if theirs.history.len() > common {
                issue.history.clone_from(&theirs.history);
                issue.modified_at = theirs.modified_at;
            }
        }
    } else if theirs.history.len() > common {
        conflicts.push("history");
    } else if base.is_some_and(|base| theirs.status != base.status) && theirs.status != ours.status
    {
        conflicts.push("status");
    }
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
                issue.$field.clone_from(&theirs.$field);
            }
        };
    }
    merge_field!(title, "title");
    merge_field!(description, "description");
    merge_field!(classification, "classification");
    merge_field!(created_at, "createdAt");
    merge_field!(extra, "other keys");
    issue.comments = united(base, &ours.comments, &theirs.comments);
    merged
}

/// How many entries the histories of two versions of an issue have in common at their beginning.
pub fn common_history(one: &Issue, other: &Issue) -> usize {
    let is_same = |(one, other): &(&HistoryEntry, &HistoryEntry)| {
        (one.timestamp, &one.agent, &one.action) == (other.timestamp, &other.agent, &other.action)
    };
    one.history.iter().zip(&other.history).take_while(is_same).count()
}

/// Whether theirs is taken over; `None` where both sides changed.
fn takes_theirs<T: PartialEq>(base: Option<&T>, ours: &T, theirs: &T) -> Option<bool> {
    if ours == theirs || base == Some(theirs) {
        return Some(false);
    }
    (base == Some(ours)).then_some(true)
}

/// Comments are told apart by time, agent and their number among those of the same time and agent: words may be
/// corrected.
type CommentKey<'a> = (Timestamp, &'a str, usize);

fn keyed(comments: &[Comment]) -> impl Iterator<Item = (CommentKey<'_>, &Comment)> {
    let mut counts: HashMap<(Timestamp, &str), usize> = HashMap::new();
    comments.iter().map(move |comment| {
        let count = counts.entry((comment.timestamp, &comment.agent)).or_default();
        *count += 1;
        ((comment.timestamp, comment.agent.as_str(), *count), comment)
    })
}

/// Our comments with the words that theirs corrected, and the comments that only theirs has, in order of time.
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
