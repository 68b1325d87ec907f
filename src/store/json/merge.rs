//! Merging what somebody made of `issues.json` with what the store holds, issue by issue.
//!
//! Whoever edits a file by hand, or puts back an older one, does not know what agents were answered meanwhile.
//! So an edit neither shortens the history of an issue nor drops an issue, and takes no comment away:
//!
//! | of an issue | counts |
//! |---|---|
//! | history, with the status and the time that it led to | the file's, where it begins with what the store knows; else the store's |
//! | comments | the file's, and those of the store's that it lacks |
//! | everything else | the file's |
//!
//! Issues that only the file has are taken; those that only the store has are kept behind the one that they
//! stand behind there.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::domain::{
    Comment, Event, EventKind, HAND_EDIT, HistoryEntry, Issue, IssueId, Timestamp,
};
use crate::store::IssueStore;
use crate::store::kept::Kept;
use crate::store::memory::Gathering;

/// What the store upheld against a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Upheld {
    /// The issues that the file lacked.
    pub dropped: Vec<IssueId>,
    /// The issues of whose history or comments the file lacked something.
    pub shortened: Vec<IssueId>,
}

impl Upheld {
    /// Tells whether everything is as the file has it.
    pub fn is_nothing(&self) -> bool {
        self.dropped.is_empty() && self.shortened.is_empty()
    }
}

/// What both make together, and what of it the file lacks.
pub(super) fn merge(file: &IssueStore, known: &IssueStore) -> (IssueStore, Upheld) {
    let mut upheld = Upheld::default();
    let mut mended: HashMap<IssueId, Issue> = HashMap::new();
    let mut in_file = HashSet::with_capacity(file.len());
    for kept in file.kept() {
        let issue = kept.issue();
        in_file.insert(issue.id);
        let Some(other) = known.kept_of(issue.id).filter(|other| !is_same(kept, other)) else {
            continue;
        };
        if let Some(merged) = merged(&issue, &other.issue()) {
            upheld.shortened.push(issue.id);
            mended.insert(issue.id, merged);
        }
    }
    let mut anchor = None;
    let mut behind: HashMap<Option<IssueId>, Vec<&Kept>> = HashMap::new();
    for kept in known.kept() {
        let id = kept.issue().id;
        if in_file.contains(&id) {
            anchor = Some(id);
        } else {
            behind.entry(anchor).or_default().push(kept);
            upheld.dropped.push(id);
        }
    }
    if upheld.is_nothing() {
        return (file.clone(), upheld);
    }
    let mut all = Gathering::default();
    let mut keep_behind = |anchor, all: &mut Gathering| {
        behind.remove(&anchor).into_iter().flatten().for_each(|kept| all.push_kept(kept));
    };
    keep_behind(None, &mut all);
    for kept in file.kept() {
        let id = kept.issue().id;
        match mended.remove(&id) {
            Some(issue) => all.push(issue),
            None => all.push_kept(kept),
        }
        keep_behind(Some(id), &mut all);
    }
    // Each id was taken from one of them only.
    (all.indexed().unwrap_or_else(|| known.clone()), upheld)
}

/// What becomes of an issue that both have; `None` where the file's stays as it is.
fn merged(file: &Issue, known: &Issue) -> Option<Issue> {
    let lacks_work = !begins_with(&file.history, &known.history);
    let lacking = lacking(&file.comments, &known.comments);
    if !lacks_work && lacking.is_empty() {
        return None;
    }
    let mut merged = file.clone();
    if lacks_work {
        (merged.status, merged.history) = (known.status, known.history.clone());
        merged.modified_at = known.modified_at;
    }
    if !lacking.is_empty() {
        merged.comments.extend(lacking.into_iter().cloned());
        merged.comments.sort_by_key(|comment| comment.timestamp);
    }
    Some(merged)
}

fn begins_with(history: &[HistoryEntry], beginning: &[HistoryEntry]) -> bool {
    let is_same = |(one, other): (&HistoryEntry, &HistoryEntry)| {
        (one.timestamp, &one.agent, &one.action) == (other.timestamp, &other.agent, &other.action)
    };
    history.len() >= beginning.len() && history.iter().zip(beginning).all(is_same)
}

/// The comments that are not among others, whose words may have been mended.
fn lacking<'a>(found: &'a [Comment], known: &'a [Comment]) -> Vec<&'a Comment> {
    let mut counts: HashMap<(Timestamp, &'a str), usize> = HashMap::new();
    for comment in found {
        *counts.entry((comment.timestamp, &comment.agent)).or_default() += 1;
    }
    let mut is_lacking =
        |comment: &'a Comment| match counts.get_mut(&(comment.timestamp, comment.agent.as_str())) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
    known.iter().filter(|&comment| is_lacking(comment)).collect()
}

/// What has changed between two states, of which nothing else tells, as events of the time `at`; `None` where
/// issues went, or lost a part of their history: that was no edit.
pub(super) fn differences(
    before: &IssueStore,
    after: &IssueStore,
    at: Timestamp,
) -> Option<Vec<Arc<Event>>> {
    let (mut events, mut known) = (Vec::new(), 0);
    for kept in after.kept() {
        let issue = kept.issue();
        match before.kept_of(issue.id) {
            Some(same) if is_same(same, kept) => {
                known += 1;
                continue;
            }
            Some(earlier) if !begins_with(&issue.history, &earlier.issue().history) => return None,
            Some(_) => known += 1,
            None => {}
        }
        let (id, agent) = (issue.id, HAND_EDIT.to_owned());
        events.push(Arc::new(Event { issue: id, at, agent, kind: EventKind::Edited { issue } }));
    }
    (known == before.len()).then_some(events)
}

fn is_same(one: &Kept, other: &Kept) -> bool {
    match (one, other) {
        (Kept::Written(one), Kept::Written(other)) if one.text() == other.text() => true,
        (Kept::Whole(one), Kept::Whole(other)) if Arc::ptr_eq(one, other) => true,
        _ => one.issue() == other.issue(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(minute: u32) -> String {
        format!("2026-01-31T09:{minute:02}:00.000Z")
    }

    /// An issue with so many claims and returns in its history, and comments of these minutes.
    fn issue(number: u128, title: &str, agents: &[&str], comments: &[u32]) -> Issue {
        let history: Vec<_> = (1..)
            .zip(agents)
            .map(|(minute, agent)| {
                serde_json::json!({"timestamp": time(minute), "agent": agent, "action": "x"})
            })
            .collect();
        let comments: Vec<_> = comments
            .iter()
            .map(|minute| {
                serde_json::json!({"timestamp": time(*minute), "agent": "a", "text": title})
            })
            .collect();
        let status = if agents.len().is_multiple_of(2) { "created" } else { "in_progress" };
        let issue = serde_json::json!({
            "id": uuid::Uuid::from_u128(number).to_string(), "title": title, "description": "",
            "classification": "bug", "createdAt": time(0), "modifiedAt": time(agents.len() as u32),
            "status": status, "history": history, "comments": comments,
        });
        serde_json::from_value(issue).unwrap()
    }

    fn store(issues: &[Issue]) -> IssueStore {
        let mut store = IssueStore::default();
        issues.iter().for_each(|issue| drop(store.push(issue.clone()).unwrap()));
        store
    }

    fn merged_issues(file: &[Issue], known: &[Issue]) -> (Vec<Issue>, Upheld) {
        let (merged, upheld) = merge(&store(file), &store(known));
        (merged.issues().map(|issue| Issue::clone(&issue)).collect(), upheld)
    }

    #[test]
    fn work_that_the_file_lacks_is_upheld_and_all_else_is_as_it_has_it() {
        let known = [issue(1, "old", &["a", "b", "c"], &[2, 3])];
        let (found, upheld) = merged_issues(&[issue(1, "new", &["a"], &[2, 4])], &known);
        let mut expected = issue(1, "new", &["a", "b", "c"], &[2, 4]);
        expected.comments.insert(1, known[0].comments[1].clone());
        assert_eq!(found, [expected]);
        assert_eq!((upheld.shortened, upheld.dropped), (vec![known[0].id], vec![]));
    }

    #[test]
    fn what_the_file_goes_on_with_counts() {
        let file = [issue(1, "new", &["a", "b", "c"], &[2, 3]), issue(2, "more", &[], &[])];
        let (found, upheld) = merged_issues(&file, &[issue(1, "old", &["a", "b"], &[2])]);
        assert_eq!(found, file);
        assert!(upheld.is_nothing());
    }

    #[test]
    fn of_two_histories_that_part_the_stores_counts() {
        let known = [issue(1, "t", &["a", "b"], &[])];
        let (found, upheld) = merged_issues(&[issue(1, "t", &["a", "c", "d"], &[])], &known);
        assert_eq!(found, [issue(1, "t", &["a", "b"], &[])]);
        assert_eq!(upheld.shortened, [known[0].id]);
    }

    #[test]
    fn a_status_or_the_words_of_a_comment_may_be_changed_where_no_work_is_lacking() {
        let mut file = issue(1, "new", &["a"], &[2]);
        file.status = crate::domain::Status::Closed;
        let (found, upheld) = merged_issues(&[file.clone()], &[issue(1, "old", &["a"], &[2])]);
        assert_eq!(found, [file]);
        assert!(upheld.is_nothing());
    }

    #[test]
    fn issues_that_the_file_lacks_stay_where_they_stand_and_its_own_stay_where_it_has_them() {
        let all: Vec<_> = (1..=6).map(|number| issue(number, "t", &[], &[])).collect();
        let pick = |numbers: &[usize]| -> Vec<Issue> {
            numbers.iter().map(|number| all[number - 1].clone()).collect()
        };
        let (found, upheld) = merged_issues(&pick(&[2, 6, 4]), &pick(&[1, 2, 3, 5, 4]));
        assert_eq!(found, pick(&[1, 2, 3, 5, 6, 4]));
        let dropped = pick(&[1, 3, 5]).iter().map(|issue| issue.id).collect::<Vec<_>>();
        assert_eq!(upheld.dropped, dropped);
        let (found, _) = merged_issues(&[], &pick(&[2, 1]));
        assert_eq!(found, pick(&[2, 1]));
    }

    #[test]
    fn events_tell_what_an_edit_changed_and_nothing_tells_of_what_was_none() {
        let at = Timestamp::parse("2026-02-01T00:00:00.000Z").unwrap();
        let before = [issue(1, "a", &["a"], &[]), issue(2, "b", &[], &[])];
        let after =
            [issue(2, "b", &[], &[]), issue(1, "c", &["a", "b"], &[]), issue(3, "d", &[], &[])];
        let told =
            |before: &[Issue], after: &[Issue]| differences(&store(before), &store(after), at);
        let events = told(&before, &after).unwrap();
        let mut retold = store(&before);
        events.iter().for_each(|event| drop(retold.apply(event).unwrap()));
        let order = [&after[1], &after[0], &after[2]];
        assert!(retold.issues().map(|issue| Issue::clone(&issue)).eq(order.into_iter().cloned()));
        assert!(events.iter().all(|event| event.agent == HAND_EDIT && event.at == at));
        assert_eq!(events.len(), 2);
        assert_eq!(told(&before, &before[..1]), None);
        assert_eq!(told(&after, &before), None);
        assert_eq!(told(&before, &before).unwrap(), []);
    }
}
