//! One suite that every store must pass, and a model that every store must match.

use std::sync::Arc;

use agent_issue_tracker::domain::{
    Classification, Command, DomainError, Issue, Order, Query, Resolution, Status, Timestamp,
};
use agent_issue_tracker::store::backup::{Consent, Verdict};
use agent_issue_tracker::store::{JsonStore, MemoryStore, Store, StoreError};
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::support::commands::{
    add, all, any_command, at, claim, close, complete, give_back, ids, import, number, review,
};
use crate::support::directory;

/// What every store must do.
async fn exercise(store: &dyn Store) {
    use Classification::{Bug, Feature, Improvement};

    assert_eq!(store.counts().await.unwrap().total(), 0);
    assert_eq!(store.apply(claim(None), at(0)).await.unwrap(), None);
    assert_eq!(store.apply(review(), at(0)).await.unwrap(), None);
    for (n, kind) in [(1, Bug), (2, Feature), (3, Bug), (4, Improvement)] {
        let issue = store.apply(add(n, kind), at(n.into())).await.unwrap().unwrap();
        assert_eq!(
            (issue.id, issue.status, issue.created_at),
            (number(n), Status::Created, at(n.into()))
        );
        assert_eq!(store.get(number(n).into()).await.unwrap(), issue);
    }
    let taken = store.apply(add(2, Bug), at(9)).await;
    assert!(matches!(taken, Err(StoreError::Refused(DomainError::IdTaken { .. }))), "{taken:?}");

    let feature = store.apply(claim(Some(Feature)), at(10)).await.unwrap().unwrap();
    assert_eq!((feature.id, feature.status), (number(2), Status::InProgress));
    let first = store.apply(claim(None), at(11)).await.unwrap().unwrap();
    assert_eq!(first.id, number(1));
    store.apply(give_back(number(1).into()), at(12)).await.unwrap().unwrap();
    assert_eq!(store.apply(claim(None), at(13)).await.unwrap().unwrap().id, number(1));
    assert_eq!(store.apply(claim(None), at(14)).await.unwrap().unwrap().id, number(3));

    // Reviews go by place too, not by the time of completion.
    store.apply(complete(number(3).into()), at(15)).await.unwrap().unwrap();
    store.apply(complete(number(1).into()), at(16)).await.unwrap().unwrap();
    assert_eq!(store.apply(review(), at(17)).await.unwrap().unwrap().id, number(1));

    let closed = store.apply(close(number(1).into(), Resolution::Closed), at(18)).await.unwrap();
    assert_eq!(closed.unwrap().status, Status::Closed);
    let again = store.apply(give_back(number(1).into()), at(19)).await;
    assert!(matches!(again, Err(StoreError::Refused(DomainError::Terminal { .. }))), "{again:?}");
    let unknown = store.get(number(99).into()).await;
    assert!(matches!(unknown, Err(StoreError::Refused(DomainError::UnknownIssue { .. }))));

    let counts = store.counts().await.unwrap();
    let by_status = Status::ALL.iter().map(|&status| counts.in_status(status));
    assert_eq!(by_status.collect::<Vec<_>>(), [1, 1, 1, 0, 1, 0]);
    let page = store.list(all()).await.unwrap();
    assert_eq!(
        (page.total, ids(&page.issues)),
        (4, vec![number(1), number(2), number(3), number(4)])
    );
    let recent = store.list(Query { order: Order::LatestActivity, ..all() }).await.unwrap();
    assert_eq!(ids(&recent.issues), [number(1), number(3), number(2), number(4)]);
    let part = store.list(Query { skip: 1, take: 2, ..all() }).await.unwrap();
    assert_eq!((part.total, ids(&part.issues)), (4, vec![number(2), number(3)]));
    let bugs =
        Query { classification: Some(Bug), statuses: Some(Status::Completed).into(), ..all() };
    assert_eq!(ids(&store.list(bugs).await.unwrap().issues), [number(3)]);

    import_issues(store).await;
    follow_changes(store).await;
    store.close().await;
}

/// What comes from elsewhere is filed as it came, behind all others, and then lives like the others.
async fn import_issues(store: &dyn Store) {
    let begin = store.changes(None).await.unwrap();
    let command = import(40, Classification::Improvement, Status::Created);
    let Command::ImportIssue { issue, .. } = &command else { panic!("{command:?}") };
    let imported = store.apply(command.clone(), at(30)).await.unwrap().unwrap();
    assert_eq!(imported, *issue.issue());
    let page = store.list(all()).await.unwrap();
    assert_eq!(page.issues.last().unwrap(), issue.issue());
    for taken in [40, 1] {
        let command = import(taken, Classification::Bug, Status::Closed);
        let again = store.apply(command, at(31)).await;
        assert!(
            matches!(again, Err(StoreError::Refused(DomainError::IdTaken { .. }))),
            "{again:?}"
        );
    }
    assert_eq!(store.get(number(40).into()).await.unwrap(), *issue.issue());
    let claimed = store.apply(claim(Some(Classification::Improvement)), at(32)).await;
    assert_eq!(claimed.unwrap().unwrap().id, number(4));
    let claimed = store.apply(claim(Some(Classification::Improvement)), at(33)).await.unwrap();
    let claimed = claimed.unwrap();
    assert_eq!((claimed.id, claimed.history.len()), (number(40), 2));
    assert_eq!(claimed.extra, issue.issue().extra);
    let told = store.changes(Some(begin.cursor)).await.unwrap();
    assert_eq!(told.events.iter().map(|it| it.at).collect::<Vec<_>>(), [at(30), at(32), at(33)]);
}

/// Whoever follows the changes is told each of them once, in order, and nothing else.
async fn follow_changes(store: &dyn Store) {
    let begin = store.changes(None).await.unwrap();
    assert!(begin.complete && begin.events.is_empty());
    store.apply(add(50, Classification::Bug), at(50)).await.unwrap();
    store.apply(add(50, Classification::Bug), at(51)).await.unwrap_err();
    store.apply(complete(number(50).into()), at(52)).await.unwrap();
    let two = store.changes(Some(begin.cursor)).await.unwrap();
    assert!(two.complete);
    let told: Vec<_> = two.events.iter().map(|it| (it.issue, it.at, it.kind.status())).collect();
    let expected = [
        (number(50), at(50), Some(Status::Created)),
        (number(50), at(52), Some(Status::Completed)),
    ];
    assert_eq!(told, expected);
    let none = store.changes(Some(two.cursor)).await.unwrap();
    assert!(none.complete && none.events.is_empty());
    for millis in 0..1000 {
        let command = if millis % 2 == 0 { give_back } else { complete };
        store.apply(command(number(50).into()), at(100 + millis)).await.unwrap();
    }
    let many = store.changes(Some(two.cursor)).await.unwrap();
    assert_eq!((many.complete, many.events.len()), (true, 1000));
    assert!(!store.changes(Some(begin.cursor)).await.unwrap().events.is_empty());
}

/// Going back to what was held before, and what is not lost without consent.
async fn go_back(one: &dyn Store, other: &dyn Store) {
    let held = |issues: &[(u32, Status)], store: Vec<Arc<Issue>>| {
        let found: Vec<_> = store.iter().map(|issue| (issue.id, issue.status)).collect();
        let expected: Vec<_> = issues.iter().map(|&(n, status)| (number(n), status)).collect();
        assert_eq!(found, expected);
    };
    use Status::{Created, InProgress};
    for n in [1, 2] {
        one.apply(add(n, Classification::Bug), at(n.into())).await.unwrap();
    }
    let early = other.holdings().await.unwrap();
    assert_eq!((early.document.issues.len(), &early.damage), (2, &None));
    one.apply(claim(None), at(3)).await.unwrap();
    one.apply(add(3, Classification::Bug), at(4)).await.unwrap();
    let late = other.holdings().await.unwrap().document;
    let cursor = one.changes(None).await.unwrap().cursor;
    for (consent, verdict) in
        [(Consent::Look, Verdict::Looked), (Consent::Nothing, Verdict::Refused)]
    {
        let found = other.replace(early.document.clone(), consent).await.unwrap();
        assert_eq!(
            (found.verdict, found.needs_consent(), &found.kept[..]),
            (verdict, true, &[][..])
        );
        let difference = found.difference.unwrap();
        assert_eq!(
            (&difference.missing.first[..], difference.missing.count),
            (&[number(3)][..], 1)
        );
        assert_eq!((&difference.newer.first[..], difference.newer.count), (&[number(1)][..], 1));
        held(&[(1, InProgress), (2, Created), (3, Created)], one.list(all()).await.unwrap().issues);
    }
    let done = other.replace(early.document.clone(), Consent::Everything).await.unwrap();
    assert_eq!(done.verdict, Verdict::Done);
    // Both go on with it, and whoever follows the changes learns that these do not tell.
    held(&[(1, Created), (2, Created)], one.list(all()).await.unwrap().issues);
    assert!(!one.changes(Some(cursor)).await.unwrap().complete);
    assert_eq!(one.apply(claim(None), at(5)).await.unwrap().unwrap().id, number(1));
    let again = other.replace(early.document, Consent::Everything).await.unwrap();
    assert_eq!(again.verdict, Verdict::Done);
    // What has all that the store has, and more, takes no consent.
    let undone = one.replace(late.clone(), Consent::Nothing).await.unwrap();
    assert_eq!((undone.verdict, undone.needs_consent()), (Verdict::Done, false));
    held(&[(1, InProgress), (2, Created), (3, Created)], other.list(all()).await.unwrap().issues);
    let unneeded = other.replace(late, Consent::Nothing).await.unwrap();
    assert_eq!((unneeded.verdict, &unneeded.kept[..]), (Verdict::Unneeded, &[][..]));
    other.apply(add(4, Classification::Bug), at(6)).await.unwrap();
    assert_eq!(one.counts().await.unwrap().total(), 4);
}

/// What one handle of a store has ended is ended for every other one.
async fn end_sessions(one: &dyn Store, other: &dyn Store) {
    assert_eq!(one.id().await, other.id().await);
    assert!(!one.session_ended("a".to_owned()).await.unwrap());
    for session in ["a", "b", "a", ""] {
        one.end_session(session.to_owned()).await.unwrap();
        assert!(one.session_ended(session.to_owned()).await.unwrap());
        assert!(other.session_ended(session.to_owned()).await.unwrap());
    }
    for unknown in ["c", "A", "a\n", "ab"] {
        assert!(!other.session_ended(unknown.to_owned()).await.unwrap(), "{unknown:?}");
    }
    for number in 0..500 {
        other.end_session(number.to_string()).await.unwrap();
    }
    assert!(one.session_ended("a".to_owned()).await.unwrap());
}

/// Claims of many tasks at once: each issue goes to one of them.
async fn claim_from_many_tasks(store: Arc<dyn Store>) {
    const ISSUES: u32 = 60;
    for n in 0..ISSUES {
        store.apply(add(n, Classification::Bug), at(0)).await.unwrap();
    }
    let tasks: Vec<_> = (0..ISSUES + 20)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.apply(claim(None), at(1)).await.unwrap() })
        })
        .collect();
    let mut claimed = Vec::new();
    for task in tasks {
        claimed.extend(task.await.unwrap().map(|issue| issue.id));
    }
    claimed.sort();
    assert_eq!(claimed, (0..ISSUES).map(number).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_store_in_memory() {
    exercise(&MemoryStore::default()).await;
    claim_from_many_tasks(Arc::new(MemoryStore::default())).await;
    let store = MemoryStore::default();
    end_sessions(&store, &store).await;
    let store = MemoryStore::default();
    go_back(&store, &store).await;
    assert_ne!(store.id().await, MemoryStore::default().id().await);
}

#[tokio::test]
async fn the_store_in_a_json_file() {
    let directory = directory();
    exercise(&JsonStore::new(directory.path().join("issues.json"))).await;
    claim_from_many_tasks(Arc::new(JsonStore::new(directory.path().join("many.json")))).await;
    let open = || JsonStore::new(directory.path().join("back.json"));
    go_back(&open(), &open()).await;
    let open = || JsonStore::new(directory.path().join("sessions.json"));
    let (one, other) = (open(), open());
    end_sessions(&one, &other).await;
    one.close().await;
    other.close().await;
    let later = open();
    assert_eq!(later.id().await, one.id().await);
    assert!(later.session_ended("b".to_owned()).await.unwrap());
    assert!(!later.session_ended("c".to_owned()).await.unwrap());
}

/// The changes of other processes, over the beginnings of new journals.
#[tokio::test]
async fn changes_of_other_processes_are_told_until_some_cannot_be_known() {
    let directory = directory();
    let open = || JsonStore::new(directory.path().join("issues.json"));
    let (follower, other) = (open(), open());
    follower.apply(add(1, Classification::Bug), at(0)).await.unwrap();
    let begin = follower.changes(None).await.unwrap();
    other.apply(add(2, Classification::Bug), at(1)).await.unwrap();
    other.close().await;
    let third = open();
    third.apply(claim(None), at(2)).await.unwrap();
    let both = follower.changes(Some(begin.cursor)).await.unwrap();
    assert!(both.complete);
    assert_eq!(both.events.iter().map(|it| it.at).collect::<Vec<_>>(), [at(1), at(2)]);
    // A journal that came and went between two looks leaves no events, only the state.
    third.close().await;
    let fourth = open();
    fourth.apply(add(3, Classification::Bug), at(3)).await.unwrap();
    fourth.close().await;
    let after = follower.changes(Some(both.cursor)).await.unwrap();
    assert!(!after.complete);
    assert_eq!(follower.counts().await.unwrap().total(), 3);
}

#[tokio::test]
async fn a_closed_json_store_takes_no_more_changes_and_still_reads() {
    let directory = directory();
    let store = JsonStore::new(directory.path().join("issues.json"));
    store.apply(add(1, Classification::Bug), at(0)).await.unwrap();
    store.close().await;
    let refused = store.apply(claim(None), at(0)).await;
    assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    assert_eq!(store.counts().await.unwrap().total(), 1);
}

/// The model: a plain list that is scanned. Gives what a store would have to answer.
fn apply_to_list(
    list: &mut Vec<Issue>,
    command: &Command,
    now: Timestamp,
) -> Result<Option<Issue>, DomainError> {
    use agent_issue_tracker::domain::{Selection, rules};
    let found = match command.selection() {
        Selection::New(id) => list.iter().position(|issue| issue.id == id),
        Selection::Named(reference) => {
            let found = list.iter().position(|issue| reference.range().contains(&issue.id));
            let unknown = || DomainError::UnknownIssue { reference: reference.to_string() };
            Some(found.ok_or_else(unknown)?)
        }
        Selection::Oldest(status, kind) => list.iter().position(|issue| {
            issue.status == status && kind.is_none_or(|kind| kind == issue.classification)
        }),
    };
    match (found, command) {
        (Some(place), _) => {
            rules::decide(command, &list[place], now)?.apply(&mut list[place]);
            Ok(Some(list[place].clone()))
        }
        (None, Command::AddIssue { .. } | Command::ImportIssue { .. }) => {
            list.extend(rules::file(command, now).and_then(|event| event.filed()));
            Ok(list.last().cloned())
        }
        (None, _) => Ok(None),
    }
}

fn matches_the_model(store: &dyn Store, commands: &[Command]) -> Result<(), TestCaseError> {
    Runtime::new().unwrap().block_on(async {
        let mut model = Vec::new();
        for (millis, command) in (0_i64..).zip(commands) {
            let expected = apply_to_list(&mut model, command, at(millis));
            let given = store.apply(command.clone(), at(millis)).await;
            let given = match given {
                Ok(issue) => Ok(issue.map(|issue| Issue::clone(&issue))),
                Err(StoreError::Refused(error)) => Err(error),
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            };
            prop_assert_eq!(given, expected);
        }
        let listed = store.list(all()).await.unwrap().issues;
        prop_assert_eq!(
            listed.iter().map(|issue| Issue::clone(issue)).collect::<Vec<_>>(),
            model.clone()
        );
        for &status in Status::ALL {
            for classification in [None, Some(Classification::Bug)] {
                let query =
                    Query { statuses: Some(status).into(), classification, skip: 1, ..all() };
                let matching = |issue: &&Issue| {
                    issue.status == status
                        && classification.is_none_or(|kind| kind == issue.classification)
                };
                let page = store.list(query).await.unwrap();
                prop_assert_eq!(page.total, model.iter().filter(matching).count());
                let rest: Vec<_> =
                    model.iter().filter(matching).skip(1).map(|issue| issue.id).collect();
                prop_assert_eq!(ids(&page.issues), rest);
            }
        }
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_in_memory_does_what_a_plain_list_does(commands in prop::collection::vec(any_command(), 1..120)) {
        matches_the_model(&MemoryStore::default(), &commands)?;
    }
}

proptest! {
    // Each command is synced to the disk.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_store_in_a_json_file_does_what_a_plain_list_does(commands in prop::collection::vec(any_command(), 1..80)) {
        let directory = directory();
        let file = directory.path().join("issues.json");
        matches_the_model(&JsonStore::new(&file), &commands)?;
        // And what is on disk is what was in memory.
        let runtime = Runtime::new().unwrap();
        let (kept, reread) = runtime.block_on(async {
            let store = JsonStore::new(&file);
            let kept = store.list(all()).await.unwrap().issues;
            store.apply(add(1000, Classification::Bug), at(0)).await.unwrap();
            (kept, JsonStore::new(&file).list(all()).await.unwrap().issues)
        });
        prop_assert_eq!(&reread[..kept.len()], &kept[..]);
    }
}
