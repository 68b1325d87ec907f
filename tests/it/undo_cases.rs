//! Undo and bulk changes when changes depend on each other: removed issues, reversed links, questions, limits, future
//! timestamps and concurrent changes.

use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::undo::LeftReason;
use agent_issue_tracker::domain::{
    ClaimPolicy, ClaimProof, ClaimSettings, ClaimTerms, Classification, ClientId, Command, Comment,
    DomainError, FieldValue, Issue, IssueChange, IssueId, Label, LinkKind, Question,
    QuestionAnswer, Resolution, Status, Timestamp, UnknownKeys,
};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{
    BulkChange, BulkEnd, ClaimKind, EventNumbers, Tracker, UndoError, UndoSelection,
};

use crate::conformance::numbers_of;
use crate::support::commands::{add, agent, import};
use crate::support::directory_in_memory;
use crate::support::postgres::{open as open_postgres, project};
use crate::undo::{
    bulk, change, comment_text, event_numbers, file, get, label, name, newest, priority, undo,
};

/// Runs the tests that every store must pass.
async fn exercise(store: Arc<dyn Store>) {
    let tracker = Tracker::new(Arc::clone(&store));
    undo_restores_a_replaced_issue(&*store, &tracker).await;
    changes_before_an_import_are_reported(&*store, &tracker).await;
    cycles_through_other_issues_are_previewed(&tracker).await;
    parts_end_before_their_parent(&tracker).await;
    reversed_links_are_restored(&tracker).await;
    labels_of_another_agent_stay(&tracker).await;
    claimed_issues_keep_their_answer(&tracker).await;
    changes_to_future_issues_are_separate(&*store, &tracker).await;
    lapses_and_take_ups_are_not_the_last_change(&*store, &tracker).await;
    imports_are_one_change(&*store, &tracker).await;
    only_the_numbers_of_a_change_are_undone(&*store, &tracker).await;
    impossible_undos_are_reported(&*store, &tracker).await;
}

async fn commit(store: &dyn Store, tracker: &Tracker, command: Command) -> u64 {
    store.commit(vec![command], tracker.now()).await.unwrap();
    newest(tracker).await
}

fn numbers(first: u64, last: u64) -> UndoSelection {
    UndoSelection::Numbers(event_numbers(first, last))
}

fn blocked_by(id: IssueId) -> IssueChange {
    IssueChange { links_add: vec![(LinkKind::BlockedBy, id.into())], ..IssueChange::default() }
}

/// Removes an issue and inserts a version of it, as two restores do. Returns the numbers of both changes.
async fn replace(store: &dyn Store, tracker: &Tracker, issue: Arc<Issue>) -> (u64, u64) {
    let (id, agent) = (issue.id, "restore".to_owned());
    let removal = Command::RemoveIssue { issue: id, next: None, agent: agent.clone() };
    let first = commit(store, tracker, removal).await;
    (first, commit(store, tracker, Command::InsertIssue { issue, next: None, agent }).await)
}

async fn undo_restores_a_replaced_issue(store: &dyn Store, tracker: &Tracker) {
    let id = file(tracker, "z", "filer").await.id;
    let issue = change(tracker, id, priority(1), "a").await;
    let changed = newest(tracker).await;
    let (first, last) = replace(store, tracker, Arc::clone(&issue)).await;
    let undone = undo(tracker, &numbers(first, last)).await;
    assert_eq!((&undone.issues[0].undone[..], &undone.issues[0].left[..]), (&[][..], &[][..]));
    assert_eq!(get(tracker, id).await.status, Status::Created);
    // The second version has another title.
    let other = Arc::new(Issue { title: "other".to_owned(), ..Issue::clone(&issue) });
    let (first, last) = replace(store, tracker, other).await;
    assert_eq!(undo(tracker, &numbers(first, last)).await.issues[0].undone, ["title"]);
    assert_eq!((&*get(tracker, id).await.title, changed < first), ("z", true));
}

async fn changes_before_an_import_are_reported(store: &dyn Store, tracker: &Tracker) {
    let id = file(tracker, "y", "filer").await.id;
    let issue = change(tracker, id, priority(1), "a").await;
    let changed = newest(tracker).await;
    let (_, imported) = replace(store, tracker, issue).await;
    let undone = undo(tracker, &numbers(changed, changed)).await;
    let lost = ("changes before the import", LeftReason::ChangedSince);
    assert_eq!((&undone.issues[0].left[..], undone.events), (&[lost][..], None));
    // An undo of only the import works like the undo of a filing.
    let undone = undo(tracker, &numbers(imported, imported)).await;
    assert_eq!((&undone.issues[0].undone[..], undone.ends_issues()), (&["filing"][..], true));
}

async fn cycles_through_other_issues_are_previewed(tracker: &Tracker) {
    let mut ids = Vec::new();
    for title in ["a", "b", "c", "d", "e", "f"] {
        ids.push(file(tracker, title, "filer").await.id);
    }
    for pair in ids[..5].windows(2) {
        change(tracker, pair[0], blocked_by(pair[1]), "a").await;
    }
    let wanted = BulkChange { change: blocked_by(ids[0]), ..BulkChange::default() };
    for is_dry_run in [true, false] {
        let outcome = bulk(tracker, &ids[4..], &wanted, is_dry_run).await;
        assert!(
            matches!(&outcome.refused[..], [(id, DomainError::Cycle { .. })] if *id == ids[4]),
            "{outcome:?}"
        );
        assert_eq!(outcome.changed.iter().map(|issue| issue.id).collect::<Vec<_>>(), ids[5..]);
    }
}

async fn parts_end_before_their_parent(tracker: &Tracker) {
    let ids = [file(tracker, "whole", "a").await.id, file(tracker, "part", "a").await.id];
    let part_of = |id: IssueId| IssueChange { parent: Some(Some(id.into())), ..Default::default() };
    change(tracker, ids[1], part_of(ids[0]), "a").await;
    let end = |text: &str| BulkChange {
        end: Some(BulkEnd::Close(Resolution::Closed, comment_text(text))),
        ..BulkChange::default()
    };
    let alone = bulk(tracker, &ids[..1], &end("no"), false).await;
    assert!(matches!(&alone.refused[..], [(_, DomainError::OpenParts { .. })]), "{alone:?}");
    let both = bulk(tracker, &ids, &end("done"), false).await;
    assert_eq!((both.changed.len(), both.refused.len()), (2, 0), "{both:?}");
}

async fn reversed_links_are_restored(tracker: &Tracker) {
    let mut ids = [file(tracker, "one", "a").await.id, file(tracker, "other", "a").await.id];
    for _ in 0..2 {
        ids.reverse();
        let [one, other] = ids;
        let links_remove = vec![(LinkKind::BlockedBy, other.into())];
        change(tracker, one, blocked_by(other), "a").await;
        let before = newest(tracker).await;
        change(tracker, one, IssueChange { links_remove, ..IssueChange::default() }, "a").await;
        change(tracker, other, blocked_by(one), "a").await;
        let undone = undo(tracker, &numbers(before + 1, before + 2)).await;
        assert!(undone.issues.iter().all(|issue| issue.refused.is_none()), "{undone:?}");
        let links = |issue: Arc<Issue>| issue.attributes.links.len();
        assert_eq!((links(get(tracker, one).await), links(get(tracker, other).await)), (1, 0));
        let links_remove = vec![(LinkKind::BlockedBy, other.into())];
        change(tracker, one, IssueChange { links_remove, ..IssueChange::default() }, "a").await;
    }
}

async fn labels_of_another_agent_stay(tracker: &Tracker) {
    let id = file(tracker, "labels", "filer").await.id;
    let all = (0..Label::MAX_COUNT).map(|n| label(&format!("l{n}"))).collect();
    let adding = |labels_add| IssueChange { labels_add, ..IssueChange::default() };
    change(tracker, id, adding(all), "a").await;
    let removing = IssueChange { labels_remove: vec![label("l0")], ..IssueChange::default() };
    change(tracker, id, removing, "a").await;
    let removed = newest(tracker).await;
    let issue = change(tracker, id, adding(vec![label("zz")]), "b").await;
    let undone = undo(tracker, &numbers(removed, removed)).await;
    assert_eq!(undone.issues[0].left, [("labels", LeftReason::ChangedSince)]);
    assert_eq!(get(tracker, id).await.attributes.labels, issue.attributes.labels);
}

async fn claimed_issues_keep_their_answer(tracker: &Tracker) {
    let id = file(tracker, "question", "filer").await.id;
    let (question, proof) = (Question::new("Why?", &[]).unwrap(), ClaimProof::default());
    tracker.ask_human(id.into(), question, name("a"), proof).await.unwrap();
    let answer = QuestionAnswer::Text(comment_text("so"));
    tracker.answer_question(id.into(), answer, name("human")).await.unwrap();
    let answered = newest(tracker).await;
    tracker.claim_issue(id.into(), name("worker")).await.unwrap();
    let undone = undo(tracker, &numbers(answered, answered)).await;
    let left = [("comments", LeftReason::Said), ("parked", LeftReason::ChangedSince)];
    assert_eq!((&undone.issues[0].undone[..], &undone.issues[0].left[..]), (&[][..], &left[..]));
    // After the undo of the claim, the question can be reopened.
    let undone = undo(tracker, &numbers(answered + 1, answered + 1)).await;
    assert_eq!(undone.issues[0].undone, ["status"]);
    assert_eq!(undo(tracker, &numbers(answered, answered)).await.issues[0].undone, ["parked"]);
    assert!(get(tracker, id).await.open_question().is_some());
}

async fn changes_to_future_issues_are_separate(store: &dyn Store, tracker: &Tracker) {
    let future = Timestamp::parse("2099-01-01T00:00:00Z").unwrap();
    let filed = store.commit(vec![add(77, Classification::Bug)], future).await.unwrap();
    let id = filed.outcomes[0].as_ref().unwrap().id;
    for number in [0, 1, 2] {
        let changed = tracker.change_issue(id.into(), priority(number), name("seer")).await;
        let last = newest(tracker).await;
        let found = numbers_of(tracker, &changed.unwrap().events).await;
        assert_eq!(found, event_numbers(last, last));
    }
    let undone = undo(tracker, &UndoSelection::Last(name("seer"))).await;
    assert_eq!(undone.count, 1);
    let left = FieldValue::Priority(get(tracker, id).await.attributes.priority);
    assert_eq!(vec![left], priority(1).values);
}

async fn lapses_and_take_ups_are_not_the_last_change(store: &dyn Store, tracker: &Tracker) {
    let id = file(tracker, "claimed", "filer").await.id;
    let issue = tracker.claim_issue(id.into(), name("lost")).await.unwrap().issue;
    let claimed = newest(tracker).await;
    let (entry, reason) = (issue.history.len() - 1, "gone".to_owned());
    commit(store, tracker, Command::LapseClaim { issue: id, entry, client: None, reason }).await;
    let undone = undo(tracker, &UndoSelection::Last(name("lost"))).await;
    assert_eq!(undone.numbers, event_numbers(claimed, claimed));

    let id = file(tracker, "claimed and taken up again", "filer").await.id;
    let [from, to] = ["one", "two"].map(ClientId::new);
    let terms = ClaimTerms { client: Some(from.clone()), ..ClaimTerms::default() };
    let (issue, agent) = (Some(id.into()), name("back"));
    let claim = Command::GetNextIssue { issue, classification: None, agent: agent.clone(), terms };
    commit(store, tracker, claim).await;
    // Changes with the same timestamp count as one.
    tokio::time::sleep(Duration::from_millis(5)).await;
    let changed = change(tracker, id, priority(1), "back").await;
    let number = newest(tracker).await;
    let take_up = Command::TakeUpClaim { issue: id, agent, from, to };
    assert_eq!(commit(store, tracker, take_up).await, number + 1);
    let undone = undo(tracker, &UndoSelection::Last(name("back"))).await;
    assert_eq!(undone.numbers, event_numbers(number, number));
    let issue = get(tracker, id).await;
    assert_eq!((issue.attributes.priority, issue.status), (None, changed.status));
}

async fn imports_are_one_change(store: &dyn Store, tracker: &Tracker) {
    let begun = tracker.now().unix_millis();
    // The first issue belongs to another import, an hour earlier.
    for (n, after) in [(80, -3_600_000), (81, 0), (82, 5_000), (83, 10_000)] {
        let import = import(n, Classification::Bug, Status::Created);
        let at = Timestamp::from_unix_millis(begun + after);
        store.commit(vec![import], at).await.unwrap();
    }
    assert_eq!(undo(tracker, &UndoSelection::Last(agent())).await.count, 3);
}

/// Where other changes have numbers between those of a change, an undo leaves them, also those of the same agent.
async fn only_the_numbers_of_a_change_are_undone(store: &dyn Store, tracker: &Tracker) {
    let mut ids = Vec::new();
    for title in ["one", "between", "other"] {
        ids.push(file(tracker, title, "filer").await.id);
    }
    for between in ["weaver", "passer-by"] {
        let first = newest(tracker).await + 1;
        let now = tracker.now();
        for (id, by) in ids.iter().zip(["weaver", between, "weaver"]) {
            let change = Box::new(priority(1));
            let change = Command::ChangeIssue { issue: (*id).into(), change, agent: name(by) };
            store.commit(vec![change], now).await.unwrap();
        }
        let own: EventNumbers = format!("{first},{}", first + 2).parse().unwrap();
        let selection = match between {
            "weaver" => UndoSelection::Numbers(own.clone()),
            _ => UndoSelection::Last(name("weaver")),
        };
        let undone = undo(tracker, &selection).await;
        assert_eq!((undone.count, undone.numbers), (2, own));
        for (id, is_left) in ids.iter().zip([false, true, false]) {
            assert_eq!(get(tracker, *id).await.attributes.priority.is_some(), is_left);
        }
        let left = UndoSelection::Numbers(event_numbers(first + 1, first + 1));
        assert_eq!(undo(tracker, &left).await.count, 1);
    }
}

async fn impossible_undos_are_reported(store: &dyn Store, tracker: &Tracker) {
    let id = file(tracker, "edited", "filer").await.id;
    let commented = tracker.comment_issue(id.into(), comment_text("old"), name("a")).await;
    let issue = commented.unwrap().issue;
    let correct = |comment: &Comment| Comment { text: "new".to_owned(), ..comment.clone() };
    let comments = issue.comments.iter().map(correct).collect();
    let theirs = Arc::new(Issue { comments, ..Issue::clone(&issue) });
    let edit = Command::MergeEdit { theirs, base: Some(issue) };
    let edited = commit(store, tracker, edit).await;
    let undone = undo(tracker, &numbers(edited, edited)).await;
    assert_eq!(undone.issues[0].left, [("comments", LeftReason::Said)]);

    let keys: UnknownKeys = serde_json::from_str("{\"team\": 1}").unwrap();
    let set = Command::SetUnknownKeys { keys, agent: "hand-edit".to_owned() };
    let number = commit(store, tracker, set).await;
    let refused =
        tracker.undo(&numbers(number, number), &name("lead"), ClaimProof::default(), true).await;
    assert!(matches!(refused, Err(UndoError::NoIssue { given }) if given == number), "{refused:?}");
}

#[tokio::test]
async fn dependent_changes_undo_in_sqlite() {
    let directory = directory_in_memory();
    exercise(Arc::new(SqliteStore::new(directory.path().join("issues.json")))).await;
}

#[tokio::test]
async fn dependent_changes_undo_in_postgres() {
    let Some(url) = project() else { return };
    exercise(Arc::new(open_postgres(&url))).await;
}

/// If another agent claims issues during a bulk change, those issues stay and the others change.
async fn change_many_while_another_agent_claims(store: Arc<dyn Store>) {
    const ISSUES: usize = 150;
    let owned = ClaimSettings { policy: ClaimPolicy::Owned, ..ClaimSettings::default() };
    let tracker = Tracker::new(store).with_claim_settings(owned);
    let mut ids = Vec::new();
    for n in 0..ISSUES {
        ids.push(file(&tracker, &format!("{n}"), "filer").await.id);
    }
    let claimer = tracker.clone();
    let claims = tokio::spawn(async move {
        while claimer.claim_next(ClaimKind::Work(None), name("dev")).await.unwrap().is_some() {}
    });
    let end = Some(BulkEnd::Close(Resolution::Rejected, comment_text("out of scope")));
    let outcome = bulk(&tracker, &ids, &BulkChange { end, ..BulkChange::default() }, false).await;
    claims.await.unwrap();
    assert_eq!(outcome.changed.len() + outcome.refused.len(), ISSUES);
    for (id, error) in outcome.refused {
        assert!(matches!(error, DomainError::NotOwned { .. }), "{error:?}");
        assert_eq!(get(&tracker, id).await.status, Status::InProgress);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_change_skips_issues_claimed_meanwhile() {
    let directory = directory_in_memory();
    let store = SqliteStore::new(directory.path().join("issues.json"));
    change_many_while_another_agent_claims(Arc::new(store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_change_in_postgres_skips_issues_claimed_meanwhile() {
    let Some(url) = project() else { return };
    change_many_while_another_agent_claims(Arc::new(open_postgres(&url))).await;
}
