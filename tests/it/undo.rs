//! Bulk changes and undo: on every store, against a simple evaluator, and seen by readers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::undo::LeftReason;
use agent_issue_tracker::domain::{
    AgentName, ClaimPolicy, ClaimProof, ClaimSettings, Classification, CommentText, Description,
    DomainError, Facts, FieldValue, Issue, IssueChange, IssueId, Label, LinkKind, Priority,
    Resolution, Status, Timestamp, Title,
};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{
    BulkChange, BulkEnd, BulkOutcome, ClaimKind, EventNumbers, NewIssue, Tracker, UndoError,
    UndoOutcome, UndoSelection,
};

use crate::support::postgres::{open as open_postgres, project};
use crate::support::stores::all_issues;
use crate::support::{directory_in_memory, factor};

pub fn name(text: &str) -> AgentName {
    AgentName::try_from(text).unwrap()
}

pub fn comment_text(text: &str) -> CommentText {
    CommentText::try_from(text).unwrap()
}

pub fn label(text: &str) -> Label {
    text.parse().unwrap()
}

pub fn priority(number: u64) -> IssueChange {
    FieldValue::Priority(Some(Priority::try_from(number).unwrap())).into()
}

/// Returns the numbers from one to another.
pub fn event_numbers(first: u64, last: u64) -> EventNumbers {
    EventNumbers::of([first..=last]).unwrap()
}

/// Waits for the next millisecond, because events of an agent at one time count as one change.
async fn tick() {
    tokio::time::sleep(Duration::from_millis(2)).await;
}

pub async fn file(tracker: &Tracker, title: &str, agent: &str) -> Arc<Issue> {
    tick().await;
    let (title, text) = (Title::try_from(title).unwrap(), Description::try_from("").unwrap());
    let issue = NewIssue::new(title, text, Classification::Bug);
    tracker.add_issue(issue, name(agent)).await.unwrap().issue
}

pub async fn change(
    tracker: &Tracker,
    id: IssueId,
    change: IssueChange,
    agent: &str,
) -> Arc<Issue> {
    tick().await;
    tracker.change_issue(id.into(), change, name(agent)).await.unwrap().issue
}

pub async fn get(tracker: &Tracker, id: IssueId) -> Arc<Issue> {
    tracker.get_issue(id.into()).await.unwrap()
}

pub async fn newest(tracker: &Tracker) -> u64 {
    tracker.events(u64::MAX - 1, 0).await.unwrap().newest.number
}

pub async fn bulk(tracker: &Tracker, ids: &[IssueId], bulk: &BulkChange, dry: bool) -> BulkOutcome {
    tick().await;
    tracker.change_many(ids, bulk, &name("lead"), ClaimProof::default(), dry).await.unwrap()
}

pub async fn undo(tracker: &Tracker, selection: &UndoSelection) -> UndoOutcome {
    tick().await;
    tracker.undo(selection, &name("lead"), ClaimProof::default(), false).await.unwrap()
}

/// Runs the tests that every store must pass.
pub async fn exercise(store: Arc<dyn Store>) {
    let tracker = Tracker::new(store);
    change_many(&tracker).await;
    undo_fields_without_later_changes(&tracker).await;
    undo_lifecycle_changes(&tracker).await;
    undo_by_agent_and_time(&tracker).await;
}

pub async fn change_many(tracker: &Tracker) {
    let mut ids = Vec::new();
    for n in 0..12 {
        ids.push(file(tracker, &format!("issue {n}"), "filer").await.id);
    }
    for id in &ids[10..] {
        let proof = ClaimProof::default();
        tracker
            .close_issue((*id).into(), Resolution::Closed, comment_text("done"), name("a"), proof)
            .await
            .unwrap();
    }
    let wanted = BulkChange {
        change: IssueChange { labels_add: vec![label("ui")], ..priority(1) },
        ..BulkChange::default()
    };
    let before = newest(tracker).await;
    let preview = bulk(tracker, &ids, &wanted, true).await;
    assert_eq!((preview.changed.len(), preview.refused.len(), preview.events), (10, 2, None));
    assert_eq!(newest(tracker).await, before);

    let outcome = bulk(tracker, &ids, &wanted, false).await;
    assert_eq!(outcome.events, Some(event_numbers(before + 1, before + 10)));
    let refused: Vec<_> = outcome.refused.iter().map(|(id, _)| *id).collect();
    assert_eq!(refused, ids[10..]);
    assert!(outcome.refused.iter().all(|(_, why)| matches!(why, DomainError::Terminal { .. })));
    for (index, id) in ids.iter().enumerate() {
        let issue = get(tracker, *id).await;
        assert_eq!(issue.attributes.labels.len(), usize::from(index < 10));
        assert_eq!(issue.attributes.priority.is_some(), index < 10);
    }
    let again = bulk(tracker, &ids[..10], &wanted, false).await;
    assert_eq!((again.changed.len(), again.unchanged.len(), again.events), (0, 10, None));

    // Two links that together would close a cycle: the second issue is refused, the first is changed.
    let links_add = vec![(LinkKind::BlockedBy, ids[1].into())];
    let linked = BulkChange {
        change: IssueChange { links_add, ..IssueChange::default() },
        ..BulkChange::default()
    };
    let outcome = bulk(tracker, &ids[..3], &linked, false).await;
    assert_eq!(outcome.changed.len(), 2);
    assert!(matches!(&outcome.refused[..], [(id, DomainError::Cycle { .. })] if *id == ids[1]));

    // Each issue is both changed and closed, or neither.
    let closing = BulkChange {
        change: priority(4),
        end: Some(BulkEnd::Close(Resolution::Rejected, comment_text("out of scope"))),
        ..BulkChange::default()
    };
    let outcome = bulk(tracker, &ids, &closing, false).await;
    assert_eq!((outcome.changed.len(), outcome.refused.len()), (10, 2));
    let statuses: BTreeSet<_> = outcome.changed.iter().map(|issue| issue.status).collect();
    assert_eq!(statuses, BTreeSet::from([Status::Rejected]));
    let range = outcome.events.unwrap();
    assert_eq!(range.last() - range.first(), 19);
    // Ended issues stay ended, and comments stay too.
    let undone = undo(tracker, &UndoSelection::Numbers(range)).await;
    assert!(undone.issues.iter().all(|issue| issue.undone.is_empty()), "{undone:?}");
    assert!(undone.issues[0].left.contains(&("status", LeftReason::Ended)));
    assert_eq!((undone.issues.len(), undone.events), (10, None));
}

pub async fn undo_fields_without_later_changes(tracker: &Tracker) {
    let one = file(tracker, "one", "filer").await.id;
    let other = file(tracker, "other", "filer").await.id;
    let wanted = BulkChange {
        change: IssueChange {
            labels_add: vec![label("ui"), label("api")],
            comment: Some(comment_text("triaged")),
            ..priority(1)
        },
        ..BulkChange::default()
    };
    let range = bulk(tracker, &[one, other], &wanted, false).await.events.unwrap();
    change(tracker, other, priority(3), "a").await;
    let more = IssueChange { labels_add: vec![label("later")], ..IssueChange::default() };
    change(tracker, other, more, "a").await;
    let selection = UndoSelection::Numbers(range.clone());
    let before = newest(tracker).await;
    let preview =
        tracker.undo(&selection, &name("lead"), ClaimProof::default(), true).await.unwrap();
    assert_eq!((preview.count, newest(tracker).await), (2, before));

    let undone = undo(tracker, &selection).await;
    assert_eq!(undone.events, Some(event_numbers(before + 1, before + 2)));
    let undone_issue = |id| undone.issues.iter().find(|issue| issue.id == id).unwrap();
    assert_eq!(undone_issue(one).undone, ["priority", "labels"]);
    assert_eq!(undone_issue(one).left, [("comments", LeftReason::Said)]);
    assert_eq!(undone_issue(other).undone, ["labels"]);
    let left = [("comments", LeftReason::Said), ("priority", LeftReason::ChangedSince)];
    assert_eq!(undone_issue(other).left, left);
    let issue = get(tracker, one).await;
    assert_eq!((issue.attributes.priority, issue.attributes.labels.len()), (None, 0));
    assert_eq!(issue.comments.len(), 1);
    let action = &issue.history.last().unwrap().action;
    let (first, last) = (range.first(), range.last());
    assert_eq!(
        *action,
        format!("Issue changed: priority, labels (undoes changes {first} to {last})")
    );
    let issue = get(tracker, other).await;
    assert_eq!(issue.attributes.priority, Some(Priority::try_from(3).unwrap()));
    assert_eq!(issue.attributes.labels, [label("later")]);

    // An undo can be undone like any other change.
    let again = undo(tracker, &UndoSelection::Numbers(undone.events.unwrap())).await;
    assert_eq!(again.issues.len(), 2);
    let issue = get(tracker, one).await;
    assert_eq!(
        (issue.attributes.priority, issue.attributes.labels.len()),
        (Some(Priority::try_from(1).unwrap()), 2)
    );
    // The second undo finds nothing left to undo.
    let none = undo(tracker, &selection).await;
    assert!(none.issues.iter().any(|issue| !issue.undone.is_empty()));
    let none = undo(tracker, &selection).await;
    assert!(none.issues.iter().all(|issue| issue.undone.is_empty()), "{none:?}");
}

pub async fn undo_lifecycle_changes(tracker: &Tracker) {
    let last = |agent: &str| UndoSelection::Last(name(agent));
    let id = file(tracker, "to claim", "filer").await.id;
    tracker.claim_issue(id.into(), name("worker")).await.unwrap();
    assert_eq!(undo(tracker, &last("worker")).await.issues[0].undone, ["status"]);
    let issue = get(tracker, id).await;
    assert_eq!((issue.status, issue.holder().is_none()), (Status::Created, true));
    assert!(tracker.held_by(&name("worker")).await.unwrap().is_empty());

    // After the undo of a completion the issue has no holder, and any agent may claim it.
    tracker.claim_issue(id.into(), name("worker")).await.unwrap();
    let proof = ClaimProof::default;
    tracker
        .complete_issue(id.into(), comment_text("done"), name("worker"), proof(), Facts::default())
        .await
        .unwrap();
    undo(tracker, &last("worker")).await;
    assert_eq!(get(tracker, id).await.status, Status::Created);
    // A later claim prevents the undo of the status.
    tracker.claim_issue(id.into(), name("next")).await.unwrap();
    let selection = UndoSelection::By { agent: name("worker"), since: Timestamp::MIN, until: None };
    let left = undo(tracker, &selection).await;
    let reasons: Vec<_> = left.issues[0].left.iter().map(|(field, _)| *field).collect();
    assert_eq!((reasons, get(tracker, id).await.status), (vec!["status"], Status::InProgress));

    // The undo of a return from review puts the issue back in line for review.
    tracker
        .complete_issue(id.into(), comment_text("done"), name("next"), proof(), Facts::default())
        .await
        .unwrap();
    tracker.claim_next(ClaimKind::Review, name("reviewer")).await.unwrap().unwrap();
    tracker.return_issue(id.into(), comment_text("no"), name("reviewer"), proof()).await.unwrap();
    undo(tracker, &last("reviewer")).await;
    assert_eq!(get(tracker, id).await.status, Status::Completed);

    // Filing can be undone as long as no other change follows.
    let filed = file(tracker, "by mistake", "hasty").await.id;
    assert_eq!(undo(tracker, &last("hasty")).await.issues[0].undone, ["filing"]);
    assert_eq!(get(tracker, filed).await.status, Status::Rejected);
    let filed = file(tracker, "by mistake, and changed", "hasty").await.id;
    change(tracker, filed, priority(0), "a").await;
    let left = undo(tracker, &last("hasty")).await;
    assert_eq!(left.issues[0].left, [("filing", LeftReason::ChangedSince)]);
    assert_eq!(get(tracker, filed).await.status, Status::Created);
}

pub async fn undo_by_agent_and_time(tracker: &Tracker) {
    let id = file(tracker, "many hands", "filer").await.id;
    let first = newest(tracker).await + 1;
    change(tracker, id, priority(0), "rogue").await;
    change(
        tracker,
        id,
        IssueChange { labels_add: vec![label("x")], ..IssueChange::default() },
        "a",
    )
    .await;
    let title = Some(Title::try_from("many other hands").unwrap());
    change(tracker, id, IssueChange { title, ..IssueChange::default() }, "rogue").await;
    // The undo of a range covers one agent; changes by other agents in between stay.
    let undone = undo(tracker, &UndoSelection::Numbers(event_numbers(first, first + 2))).await;
    assert_eq!((undone.count, &undone.issues[0].undone[..]), (2, &["title", "priority"][..]));
    let issue = get(tracker, id).await;
    assert_eq!((&*issue.title, issue.attributes.labels.len()), ("many hands", 1));

    // The undo of the last change of an agent covers the whole bulk change.
    let other = file(tracker, "one more", "filer").await.id;
    let wanted = BulkChange { change: priority(0), ..BulkChange::default() };
    bulk(tracker, &[id, other], &wanted, false).await;
    change(tracker, id, FieldValue::Assignee(Some(name("b"))).into(), "b").await;
    let undone = undo(tracker, &UndoSelection::Last(name("lead"))).await;
    assert_eq!((undone.count, undone.issues.len()), (2, 2));
    assert_eq!(get(tracker, other).await.attributes.priority, None);

    let earlier = Timestamp::from_unix_millis(tracker.now().unix_millis() - 3_600_000);
    let by = |agent: &str, until| UndoSelection::By { agent: name(agent), since: earlier, until };
    change(tracker, id, priority(4), "rogue").await;
    let nothing =
        tracker.undo(&by("nobody", None), &name("lead"), ClaimProof::default(), false).await;
    assert!(matches!(nothing, Err(UndoError::NothingBy { .. })), "{nothing:?}");
    let too_early = tracker
        .undo(&by("rogue", Some(earlier)), &name("lead"), ClaimProof::default(), false)
        .await;
    assert!(matches!(too_early, Err(UndoError::NothingBy { .. })), "{too_early:?}");
    undo(tracker, &by("rogue", None)).await;
    assert_eq!(get(tracker, id).await.attributes.priority, None);
    let given = newest(tracker).await + 1;
    let unknown = tracker
        .undo(
            &UndoSelection::Numbers(event_numbers(given, given)),
            &name("lead"),
            ClaimProof::default(),
            false,
        )
        .await;
    assert!(matches!(unknown, Err(UndoError::NoSuchChange { .. })), "{unknown:?}");
}

#[tokio::test]
pub async fn bulk_changes_and_undo_work_in_sqlite() {
    let directory = directory_in_memory();
    exercise(Arc::new(SqliteStore::new(directory.path().join("issues.json")))).await;
}

#[tokio::test]
pub async fn bulk_changes_and_undo_work_in_postgres() {
    let Some(url) = project() else { return };
    exercise(Arc::new(open_postgres(&url))).await;
}

/// If claims are protected, only a forced undo ends the claim of another agent.
#[tokio::test]
pub async fn undo_ends_a_protected_claim_only_by_force() {
    let owned = ClaimSettings { policy: ClaimPolicy::Owned, ..ClaimSettings::default() };
    let directory = directory_in_memory();
    let store = SqliteStore::new(directory.path().join("issues.json"));
    let tracker = Tracker::new(Arc::new(store)).with_claim_settings(owned);
    let id = file(&tracker, "held", "filer").await.id;
    tracker.claim_issue(id.into(), name("worker")).await.unwrap();
    let selection = UndoSelection::Last(name("worker"));
    let refused = undo(&tracker, &selection).await;
    assert!(matches!(refused.issues[0].refused, Some(DomainError::NotOwned { .. })), "{refused:?}");
    assert_eq!((refused.events, get(&tracker, id).await.status), (None, Status::InProgress));
    // A claim does not protect the attributes of an issue.
    let range = newest(&tracker).await + 1;
    change(&tracker, id, priority(0), "a").await;
    assert_eq!(
        undo(&tracker, &UndoSelection::Numbers(event_numbers(range, range))).await.issues[0].undone,
        ["priority"]
    );
    let forced = ClaimProof { is_forced: true, ..ClaimProof::default() };
    let undone = tracker.undo(&selection, &name("lead"), forced, false).await.unwrap();
    assert_eq!(undone.issues[0].undone, ["status"]);
    assert_eq!(get(&tracker, id).await.status, Status::Created);
}

/// An issue before and after an event, and whether the event is undone.
type Step = (Issue, Issue, bool);

/// Computes field by field what an issue is without the undone steps.
fn without(steps: &[Step]) -> Issue {
    let mut issue = steps.last().unwrap().1.clone();
    let is_ended = issue.status.has_ended();
    let mut is_status_later = false;
    for (before, after, is_undone) in steps.iter().rev() {
        if !is_undone {
            is_status_later |= before.status != after.status;
            continue;
        }
        let mut values = agent_issue_tracker::domain::AttributeValues::clone(&issue.attributes);
        let added = after
            .attributes
            .labels
            .iter()
            .filter(|label| !before.attributes.labels.contains(label));
        let removed = before
            .attributes
            .labels
            .iter()
            .filter(|label| !after.attributes.labels.contains(label));
        values.labels.retain(|label| !added.clone().any(|added| added == label));
        for label in removed {
            if !values.labels.contains(label) {
                values.labels.push(label.clone());
            }
        }
        values.labels.sort();
        if !is_ended {
            if issue.title == after.title {
                issue.title = before.title.clone();
            }
            if issue.classification == after.classification {
                issue.classification = before.classification;
            }
            if values.priority == after.attributes.priority {
                values.priority = before.attributes.priority;
            }
            if values.assignee == after.attributes.assignee {
                values.assignee = before.attributes.assignee.clone();
            }
            if before.status != after.status && !is_status_later {
                issue.status = match before.status {
                    Status::InProgress => Status::Created,
                    Status::InReview => Status::Completed,
                    status => status,
                };
            }
        }
        issue.attributes = values.into();
    }
    issue
}

/// Makes a random change. Returns false if it was refused.
pub async fn any_change(tracker: &Tracker, id: IssueId, rng: &mut fastrand::Rng) -> bool {
    let agent = name(["a", "b", "c"][rng.usize(0..3)]);
    let (id, proof) = (id.into(), ClaimProof::default());
    let labels = || ["ui", "api", "x"].map(label);
    let change = match rng.u8(0..12) {
        0 => return tracker.claim_issue(id, agent).await.is_ok(),
        1 => {
            return tracker
                .complete_issue(id, comment_text("done"), agent, proof, Facts::default())
                .await
                .is_ok();
        }
        2 => {
            return tracker
                .return_issue(id.into(), comment_text("back"), agent, proof)
                .await
                .is_ok();
        }
        3 => return tracker.claim_next(ClaimKind::Review, agent).await.is_ok(),
        4 if rng.u8(0..4) == 0 => {
            return tracker
                .close_issue(id.into(), Resolution::Closed, comment_text("end"), agent, proof)
                .await
                .is_ok();
        }
        5 => IssueChange {
            title: Some(Title::try_from(rng.u8(0..3).to_string()).unwrap()),
            ..Default::default()
        },
        6 => {
            let kinds = [Classification::Bug, Classification::Feature];
            IssueChange { classification: Some(kinds[rng.usize(0..2)]), ..Default::default() }
        }
        7 => FieldValue::Assignee(rng.bool().then(|| name("dev"))).into(),
        8 => IssueChange {
            labels_add: vec![labels()[rng.usize(0..3)].clone()],
            ..Default::default()
        },
        9 => IssueChange {
            labels_remove: vec![labels()[rng.usize(0..3)].clone()],
            ..Default::default()
        },
        10 => IssueChange { comment: Some(comment_text("hm")), ..Default::default() },
        _ => priority(rng.u64(0..4)),
    };
    tracker.change_issue(id.into(), change, agent).await.is_ok()
}

/// Makes a random history, undoes a random part of it and compares the result with [`without`].
pub async fn undo_at_random(store: Arc<dyn Store>, seed: u64) {
    let (tracker, mut rng) = (Tracker::new(store), fastrand::Rng::with_seed(seed));
    let mut ids = Vec::new();
    for n in 0..3 {
        ids.push(file(&tracker, &format!("{n}"), "filer").await.id);
    }
    let begin = newest(&tracker).await;
    for _ in 0..rng.usize(5..25) {
        let id = ids[rng.usize(0..ids.len())];
        any_change(&tracker, id, &mut rng).await;
    }
    let events = tracker.events(begin, usize::MAX).await.unwrap().events;
    if events.is_empty() {
        return;
    }
    let first = rng.usize(0..events.len());
    let last = rng.usize(first..events.len());
    let agent = &events[first].event.agent;
    let number = |index: usize| events[index].position.number;
    let selection = UndoSelection::Numbers(event_numbers(number(first), number(last)));
    let mut expected = Vec::new();
    for id in &ids {
        let mut after = Issue::clone(&*get(&tracker, *id).await);
        let mut steps = Vec::new();
        for (index, numbered) in events.iter().enumerate().rev() {
            if numbered.event.issue == *id {
                let mut before = after.clone();
                numbered.event.revert(&mut before);
                let is_undone = (first..=last).contains(&index) && numbered.event.agent == *agent;
                steps.push((before.clone(), after, is_undone));
                after = before;
            }
        }
        steps.reverse();
        expected.push(if steps.is_empty() { after } else { without(&steps) });
    }
    undo(&tracker, &selection).await;
    for expected in &expected {
        let found = get(&tracker, expected.id).await;
        let fields = |issue: &Issue| {
            let (title, kind, status) = (issue.title.clone(), issue.classification, issue.status);
            (title, kind, status, issue.attributes.clone(), issue.comments.len())
        };
        assert_eq!(
            fields(&found),
            fields(expected),
            "seed {seed}, undo of {selection:?}: {events:#?}"
        );
    }
}

#[tokio::test]
pub async fn undo_of_any_part_matches_the_evaluator() {
    for seed in 0..100 * factor() {
        let directory = directory_in_memory();
        let store = SqliteStore::new(directory.path().join("issues.json"));
        undo_at_random(Arc::new(store), seed).await;
    }
}

#[tokio::test]
pub async fn undo_of_any_part_in_postgres_matches_the_evaluator() {
    for seed in 0..6 {
        let Some(url) = project() else { return };
        undo_at_random(Arc::new(open_postgres(&url)), seed).await;
    }
}

/// Returns the priorities of all issues.
pub async fn priorities(store: &dyn Store) -> Vec<Option<u8>> {
    let issues = all_issues(store).await.unwrap();
    issues.iter().map(|issue| issue.attributes.priority.map(Priority::get)).collect()
}

/// Another process sees a bulk change and its undo whole or not at all, while they are made.
#[tokio::test(flavor = "multi_thread")]
pub async fn readers_see_bulk_changes_and_undos_whole_or_absent() {
    const ISSUES: usize = 5;
    let directory = directory_in_memory();
    let open = || SqliteStore::new(directory.path().join("issues.json"));
    let tracker = Tracker::new(Arc::new(open()));
    let mut ids = Vec::new();
    for n in 0..ISSUES {
        ids.push(file(&tracker, &format!("{n}"), "filer").await.id);
    }
    let (none, one) = (vec![None; ISSUES], vec![Some(1); ISSUES]);
    let wanted = BulkChange { change: priority(1), ..BulkChange::default() };
    let changing = tokio::spawn(async move {
        for _ in 0..100 {
            let range = bulk(&tracker, &ids, &wanted, false).await.events.unwrap();
            undo(&tracker, &UndoSelection::Numbers(range)).await;
        }
    });
    let (reader, mut seen) = (open(), BTreeSet::new());
    while !changing.is_finished() {
        let found = priorities(&reader).await;
        assert!(found == none || found == one, "{found:?}");
        seen.insert(found);
    }
    changing.await.unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!(priorities(&reader).await, none);
}
