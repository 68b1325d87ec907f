//! One suite that every store must pass, and a model that every store must match.

use std::iter;
use std::sync::Arc;
use std::time::Instant;

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, CommentText, Description, DomainError, Issue, IssueGraph,
    IssueId, IssueRef, Link, LinkKind, Order, Query, Resolution, Status, Timestamp, Title,
};
use agent_issue_tracker::store::{
    Committed, EventPosition, NumberedEvent, SqliteStore, State, Store, StoreError,
};
use agent_issue_tracker::tracker::{ClaimKind, EventNumbers, NewIssue, Tracker};
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::support::commands::{
    add, all, any_command, at, claim, close, complete, ids, import, number, return_issue, review,
};
use crate::support::stores::{WholeState, apply};
use crate::support::{PATIENCE, directory};

/// Checks what every store must do.
pub async fn exercise(store: &dyn Store) {
    use Classification::{Bug, Feature, Improvement};

    assert_eq!(store.counts().await.unwrap().total(), 0);
    assert_eq!(apply(store, claim(None), at(0)).await.unwrap(), None);
    assert_eq!(apply(store, review(), at(0)).await.unwrap(), None);
    for (n, kind) in [(1, Bug), (2, Feature), (3, Bug), (4, Improvement)] {
        let issue = apply(store, add(n, kind), at(n.into())).await.unwrap().unwrap();
        assert_eq!(
            (issue.id, issue.status, issue.created_at),
            (number(n), Status::Created, at(n.into()))
        );
        assert_eq!(store.get(number(n).into()).await.unwrap(), issue);
    }
    let taken = apply(store, add(2, Bug), at(9)).await;
    assert!(matches!(taken, Err(StoreError::Refused(DomainError::IdTaken { .. }))), "{taken:?}");

    let feature = apply(store, claim(Some(Feature)), at(10)).await.unwrap().unwrap();
    assert_eq!((feature.id, feature.status), (number(2), Status::InProgress));
    let first = apply(store, claim(None), at(11)).await.unwrap().unwrap();
    assert_eq!(first.id, number(1));
    apply(store, return_issue(number(1).into()), at(12)).await.unwrap().unwrap();
    assert_eq!(apply(store, claim(None), at(13)).await.unwrap().unwrap().id, number(1));
    assert_eq!(apply(store, claim(None), at(14)).await.unwrap().unwrap().id, number(3));

    // Reviews follow the order of filing, too, not the time of completion.
    apply(store, complete(number(3).into()), at(15)).await.unwrap().unwrap();
    apply(store, complete(number(1).into()), at(16)).await.unwrap().unwrap();
    assert_eq!(apply(store, review(), at(17)).await.unwrap().unwrap().id, number(1));

    let closed = apply(store, close(number(1).into(), Resolution::Closed), at(18)).await.unwrap();
    assert_eq!(closed.unwrap().status, Status::Closed);
    let again = apply(store, return_issue(number(1).into()), at(19)).await;
    assert!(matches!(again, Err(StoreError::Refused(DomainError::Terminal { .. }))), "{again:?}");
    let unknown = store.get(number(99).into()).await;
    assert!(matches!(unknown, Err(StoreError::Refused(DomainError::UnknownIssue { .. }))));

    let counts = store.counts().await.unwrap();
    let by_status = Status::OF_WORK.iter().map(|&status| counts.in_status(status));
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
    commit_batches(store).await;
    follow_events(store).await;
    repeat_changes(store).await;
    require_versions(store).await;
    store.close().await;
}

/// An imported issue is stored unchanged at the end of the queue. Then it behaves like any other issue.
async fn import_issues(store: &dyn Store) {
    let begin = store.state().await.unwrap().position.number;
    let command = import(40, Classification::Improvement, Status::Created);
    let Command::ImportIssue { issue, .. } = &command else { panic!("{command:?}") };
    let imported = apply(store, command.clone(), at(30)).await.unwrap().unwrap();
    assert_eq!(imported, *issue.issue());
    let page = store.list(all()).await.unwrap();
    assert_eq!(page.issues.last().unwrap(), issue.issue());
    for taken in [40, 1] {
        let command = import(taken, Classification::Bug, Status::Closed);
        let again = apply(store, command, at(31)).await;
        assert!(
            matches!(again, Err(StoreError::Refused(DomainError::IdTaken { .. }))),
            "{again:?}"
        );
    }
    assert_eq!(store.get(number(40).into()).await.unwrap(), *issue.issue());
    let claimed = apply(store, claim(Some(Classification::Improvement)), at(32)).await;
    assert_eq!(claimed.unwrap().unwrap().id, number(4));
    let claimed = apply(store, claim(Some(Classification::Improvement)), at(33)).await.unwrap();
    let claimed = claimed.unwrap();
    assert_eq!((claimed.id, claimed.history.len()), (number(40), 2));
    assert_eq!(claimed.unknown_keys, issue.issue().unknown_keys);
    let seen = store.events(begin, 10).await.unwrap();
    assert_eq!(
        seen.events.iter().map(|numbered| numbered.event.at).collect::<Vec<_>>(),
        [at(30), at(32), at(33)]
    );
}

/// A reader of the events gets each event exactly once and in order.
async fn follow_events(store: &dyn Store) {
    let begin = store.events(u64::MAX - 1, 10).await.unwrap();
    assert_eq!(begin.events, []);
    assert_eq!(begin.newest, store.state().await.unwrap().position);
    let (before, mut watch) = (begin.newest.number, store.watch());
    assert_eq!(*watch.borrow_and_update(), begin.newest);
    apply(store, add(50, Classification::Bug), at(50)).await.unwrap();
    apply(store, add(50, Classification::Bug), at(51)).await.unwrap_err();
    apply(store, complete(number(50).into()), at(52)).await.unwrap();
    tokio::time::timeout(PATIENCE, watch.changed()).await.expect("no change was pushed").unwrap();
    let two = store.events(before, 10).await.unwrap();
    assert_eq!(*watch.borrow_and_update(), two.newest);
    let seen: Vec<_> = two
        .events
        .iter()
        .map(|numbered| (numbered.position.number, &numbered.event))
        .map(|(number, event)| (number, event.issue, event.at, event.status_after()))
        .collect();
    let expected = [
        (before + 1, number(50), at(50), Some(Status::Created)),
        (before + 2, number(50), at(52), Some(Status::Completed)),
    ];
    assert_eq!(seen, expected);
    assert_eq!(two.newest, two.events[1].position);
    for millis in 0..1000 {
        let command = if millis % 2 == 0 { return_issue } else { complete };
        apply(store, command(number(50).into()), at(100 + millis)).await.unwrap();
    }
    let many = store.events(two.newest.number, usize::MAX).await.unwrap();
    assert_eq!(many.events.len(), 1000);
    let all = store.events(0, usize::MAX).await.unwrap();
    assert!(all.is_complete_after(0));
    assert!(all.events.iter().map(|event| event.position.number).eq(1..=before + 1002));
    let page = store.events(before + 10, 7).await.unwrap();
    assert_eq!(page.events[..], all.events[before as usize + 10..before as usize + 17]);
    replay(store, &all.events).await;
}

/// Applying all events in order gives the state of the store. Reverting them gives an empty one.
async fn replay(store: &dyn Store, events: &[NumberedEvent]) {
    let (mut replayed, state) = (State::default(), store.state().await.unwrap());
    for NumberedEvent { event, position } in events {
        replayed.apply(event, *position).unwrap();
    }
    let issues = |state: &State| state.issues.issues().collect::<Vec<_>>();
    assert_eq!(issues(&replayed), issues(&state));
    assert_eq!(replayed.position, state.position);
    for NumberedEvent { event, position } in events.iter().rev() {
        replayed.revert(event, *position).unwrap();
    }
    assert!(replayed.issues.is_empty());
}

/// If a completion or a return is the last change of an issue, repeating it is confirmed and changes nothing.
async fn repeat_changes(store: &dyn Store) {
    apply(store, add(70, Classification::Bug), at(3000)).await.unwrap();
    for (other, command) in [(71, complete as fn(_) -> _), (72, return_issue)] {
        let done = apply(store, command(number(70).into()), at(3001)).await.unwrap().unwrap();
        let position = store.state().await.unwrap().position;
        let again = apply(store, command(number(70).into()), at(3002)).await.unwrap().unwrap();
        assert_eq!((&again, store.state().await.unwrap().position), (&done, position));
        // A batch with another change confirms it, too.
        let both = vec![add(other, Classification::Bug), command(number(70).into())];
        let committed = store.commit(both, at(3003)).await.unwrap();
        assert_eq!((&committed.outcomes[1], committed.events.len()), (&Some(done), 1));
    }
}

/// A commit that requires a version is refused if the issue has another version. So of two concurrent commits only one
/// succeeds.
async fn require_versions(store: &dyn Store) {
    let before = apply(store, add(80, Classification::Bug), at(4000)).await.unwrap().unwrap();
    let required =
        || Command::RequireVersion { issue: before.id.into(), version: before.version() };
    let position = store.state().await.unwrap().position;
    assert_eq!(apply(store, required(), at(4001)).await.unwrap(), Some(Arc::clone(&before)));
    assert_eq!(store.state().await.unwrap().position, position);
    let both = || vec![required(), complete(before.id.into())];
    let (one, other) =
        futures::join!(store.commit(both(), at(4002)), store.commit(both(), at(4003)));
    let refused = if one.is_ok() { other } else { one };
    assert!(
        matches!(refused, Err(StoreError::Refused(DomainError::VersionChanged { .. }))),
        "{refused:?}"
    );
    let after = store.get(before.id.into()).await.unwrap();
    assert_eq!((after.status, after.history.len()), (Status::Completed, 2));
}

/// The store decides the commands of a batch in order, each on the result of the previous one. If it refuses a command,
/// it commits none.
async fn commit_batches(store: &dyn Store) {
    let state = store.state().await.unwrap();
    let before = state.position.number;
    let refused = vec![
        add(60, Classification::Bug),
        complete(number(60).into()),
        add(60, Classification::Bug),
        add(61, Classification::Bug),
    ];
    let refusal = store.commit(refused, at(2000)).await;
    assert!(
        matches!(refusal, Err(StoreError::Refused(DomainError::IdTaken { .. }))),
        "{refusal:?}"
    );
    let after = store.state().await.unwrap();
    assert_eq!(after.position, state.position);
    assert!(after.issues.issues().eq(state.issues.issues()));
    let commands = vec![
        add(60, Classification::Bug),
        complete(number(60).into()),
        review(),
        close(number(60).into(), Resolution::Closed),
        claim(None),
    ];
    let Committed { outcomes, events } = store.commit(commands, at(2000)).await.unwrap();
    let statuses: Vec<_> = outcomes.iter().flatten().map(|issue| issue.status).collect();
    assert_eq!(statuses, [Status::Created, Status::Completed, Status::InReview, Status::Closed]);
    assert_eq!(outcomes[4], None);
    let seen = store.events(before, 10).await.unwrap();
    assert!(seen.events.iter().map(|event| event.position.number).eq(before + 1..=before + 4));
    let hashes = seen.events.iter().map(|event| event.position.hash);
    assert!(events.iter().map(|event| event.hash).eq(hashes));
    assert_eq!(store.commit(Vec::new(), at(2001)).await.unwrap(), Committed::default());
    // After a lapse the issue has its old position in the queue. An ended claim cannot lapse.
    apply(store, add(61, Classification::Bug), at(2002)).await.unwrap();
    let claimed = apply(store, claim(None), at(2003)).await.unwrap().unwrap();
    let (issue, entry) = (claimed.id, claimed.claim_entry().unwrap());
    let lapse = || Command::LapseClaim { issue, entry, reason: "gone".to_owned(), client: None };
    let lapsed = apply(store, lapse(), at(2004)).await.unwrap().unwrap();
    assert_eq!((lapsed.id, lapsed.status), (number(61), Status::Created));
    let again = apply(store, claim(None), at(2005)).await.unwrap().unwrap();
    assert_eq!(again.id, number(61));
    let late = apply(store, lapse(), at(2006)).await;
    assert!(matches!(late, Err(StoreError::Refused(DomainError::ClaimEnded { .. }))), "{late:?}");
}

/// Returns the numbers of the events of a change. They are left out of an answer if reading them takes long.
pub async fn numbers_of(tracker: &Tracker, events: &[EventPosition]) -> EventNumbers {
    for _ in 0..20 {
        if let Some(numbers) = tracker.change_numbers(events).await {
            return numbers;
        }
    }
    panic!("no numbers of {events:?}");
}

/// Agents change issues at once, all of them also the same issue. The numbers of each change are those of its own
/// events.
pub async fn number_own_changes(store: Arc<dyn Store>) {
    const AGENTS: usize = 8;
    const ROUNDS: usize = 5;
    let tracker = Tracker::new(store);
    let name = |n: usize| AgentName::try_from(format!("numbered-{n}")).unwrap();
    let text = || CommentText::try_from("seen").unwrap();
    let new = || {
        let title = Title::try_from("filed at once").unwrap();
        NewIssue::new(title, Description::try_from("").unwrap(), Classification::Bug)
    };
    let shared = tracker.add_issue(new(), name(0)).await.unwrap().issue.id;
    let begin = tracker.log_bounds().await.unwrap().newest.number;
    let tasks = (0..AGENTS).map(|n| {
        let (tracker, agent) = (tracker.clone(), name(n));
        tokio::spawn(async move {
            let mut changes = Vec::new();
            for _ in 0..ROUNDS {
                let filed = tracker.add_issues(vec![new(), new(), new()], agent.clone());
                let (issues, events) = filed.await.unwrap();
                let ids: Vec<_> = issues.iter().map(|issue| issue.id).collect();
                changes.push((ids, numbers_of(&tracker, &events).await));
                let kind = ClaimKind::Work(None);
                let claimed = tracker.claim_next(kind, agent.clone()).await.unwrap().unwrap();
                let numbers = numbers_of(&tracker, &claimed.events).await;
                changes.push((vec![claimed.issue.id], numbers));
                let commented = tracker.comment_issue(shared.into(), text(), agent.clone());
                let numbers = numbers_of(&tracker, &commented.await.unwrap().events).await;
                changes.push((vec![shared], numbers));
            }
            (agent, changes)
        })
    });
    let answered: Vec<_> = futures::future::join_all(tasks).await;
    let events = tracker.events(begin, usize::MAX).await.unwrap().events;
    let mut count = 0;
    for (agent, changes) in answered.into_iter().map(Result::unwrap) {
        for (ids, numbers) in changes {
            let own = events.iter().filter(|event| numbers.contains(event.number()));
            assert!(own.clone().all(|event| event.event.agent == agent.as_str()), "{numbers}");
            assert!(own.map(|event| event.event.issue).eq(ids.iter().copied()), "{numbers}");
            count += ids.len();
        }
    }
    assert_eq!((count, events.len()), (AGENTS * ROUNDS * 5, AGENTS * ROUNDS * 5));
}

/// Many tasks claim at once. Each issue goes to exactly one of them.
pub async fn claim_from_many_tasks(store: Arc<dyn Store>) {
    const ISSUES: u32 = 60;
    for n in 0..ISSUES {
        apply(&*store, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    let tasks: Vec<_> = (0..ISSUES + 20)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { apply(&*store, claim(None), at(1)).await.unwrap() })
        })
        .collect();
    let mut claimed = Vec::new();
    for task in tasks {
        claimed.extend(task.await.unwrap().map(|issue| issue.id));
    }
    claimed.sort();
    assert_eq!(claimed, (0..ISSUES).map(number).collect::<Vec<_>>());
}

/// A process that opens the log later sees the same events and the same state.
pub async fn keep_events<S: Store>(open: impl Fn() -> S) {
    let mut seen = Vec::new();
    for n in 0..5 {
        let store = open();
        apply(&store, add(n, Classification::Bug), at(n.into())).await.unwrap();
        apply(&store, claim(None), at(n.into())).await.unwrap();
        let events = store.events(0, usize::MAX).await.unwrap();
        assert_eq!(events.events[..seen.len()], seen[..]);
        assert_eq!((events.oldest, events.events.len()), (1, seen.len() + 2));
        seen = events.events;
        store.close().await;
    }
    replay(&open(), &seen).await;
    let last = open().events(8, 10).await.unwrap();
    assert_eq!(last.events[..], seen[8..]);
}

/// A change through one store is pushed to the watchers of another.
pub async fn push_changes(one: &dyn Store, other: &dyn Store) {
    apply(one, add(0, Classification::Bug), at(0)).await.unwrap();
    let mut watch = other.watch();
    for n in 1..20 {
        apply(one, add(n, Classification::Bug), at(0)).await.unwrap();
        let newest = one.state().await.unwrap().position;
        let begun = Instant::now();
        let seen = watch.wait_for(|position| *position == newest);
        tokio::time::timeout(PATIENCE, seen).await.unwrap().unwrap();
        let events = other.events(newest.number - 1, 10).await.unwrap();
        assert_eq!(
            events.events.len(),
            1,
            "pushed after {:?}, but the events lack it",
            begun.elapsed()
        );
    }
}

pub async fn refuse_changes_after_the_end(store: &dyn Store) {
    apply(store, add(1, Classification::Bug), at(0)).await.unwrap();
    store.close().await;
    let refused = apply(store, claim(None), at(0)).await;
    assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    assert_eq!(store.counts().await.unwrap().total(), 1);
}

/// The issues of the model.
struct Graph(Vec<Issue>);

impl IssueGraph for Graph {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.0.iter().find(|issue| issue.id == id).cloned().map(Arc::new)
    }

    fn linked_from(&self, kind: LinkKind, to: IssueId) -> Vec<IssueId> {
        let is_linked = |issue: &&Issue| issue.attributes.linked(kind).any(|id| id == to);
        let mut ids: Vec<_> = self.0.iter().filter(is_linked).map(|issue| issue.id).collect();
        ids.sort();
        ids
    }

    fn resolve(&self, reference: &IssueRef) -> Result<IssueId, DomainError> {
        let found = self.0.iter().find(|issue| reference.range().contains(&issue.id));
        let unknown = || DomainError::UnknownIssue { reference: reference.to_string() };
        found.map(|issue| issue.id).ok_or_else(unknown)
    }
}

fn open_parts<'a>(list: &'a [Issue], whole: &Issue) -> impl Iterator<Item = IssueId> + 'a {
    let is_part = |issue: &&Issue| issue.attributes.parent() == Some(whole.id);
    let open = list.iter().filter(is_part).filter(|issue| issue.status.is_open());
    let mut parts: Vec<_> = open.map(|issue| issue.id).collect();
    parts.sort();
    parts.into_iter()
}

/// Returns true if the rules let an agent claim an issue.
fn can_claim(list: &[Issue], issue: &Issue, agent: &AgentName, now: Timestamp) -> bool {
    let is_open = |id: IssueId| list.iter().any(|issue| issue.id == id && issue.status.is_open());
    let get = |id: IssueId| list.iter().find(|issue| issue.id == id);
    let parent = |id: IssueId| get(id)?.attributes.parent();
    let wholes = |id| iter::successors(parent(id), |id| parent(*id)).take(Link::MAX_DEPTH);
    let holds_back = |id: IssueId| {
        let is_outside = |blocker| is_open(blocker) && wholes(blocker).all(|above| above != id);
        get(id).filter(|whole| whole.status.is_open()).is_some_and(
            |Issue { attributes, .. }| {
                attributes.is_parked_at(now)
                    || attributes.linked(LinkKind::BlockedBy).any(is_outside)
            },
        )
    };
    let assignee = issue.attributes.assignee.as_deref();
    assignee.is_none_or(|name| name == agent.as_str())
        && !wholes(issue.id).any(holds_back)
        && !issue.attributes.is_parked_at(now)
        && !issue.attributes.linked(LinkKind::BlockedBy).any(is_open)
        && open_parts(list, issue).next().is_none()
}

/// Returns the index of the issue that is claimed first: assigned issues, then by priority, then by position.
fn first(list: &[Issue], can_be_claimed: impl Fn(&Issue) -> bool) -> Option<usize> {
    let rank = |issue: &Issue| {
        let is_review = issue.status == Status::Completed;
        let is_unassigned = is_review || issue.attributes.assignee.is_none();
        (is_unassigned, issue.attributes.effective_priority())
    };
    let candidates = list.iter().enumerate().filter(|(_, issue)| can_be_claimed(issue));
    candidates.min_by_key(|(index, issue)| (rank(issue), *index)).map(|(index, _)| index)
}

/// Applies a command to the model, a plain list. Returns what a store must answer.
fn apply_to_list(
    list: &mut Vec<Issue>,
    command: &Command,
    now: Timestamp,
) -> Result<Option<Issue>, DomainError> {
    use agent_issue_tracker::domain::{CommandTarget, links, rules};
    let found = match command.target() {
        CommandTarget::New(id) => list.iter().position(|issue| issue.id == id),
        CommandTarget::Named(reference) => {
            let found = list.iter().position(|issue| reference.range().contains(&issue.id));
            let unknown = || DomainError::UnknownIssue { reference: reference.to_string() };
            Some(found.ok_or_else(unknown)?)
        }
        CommandTarget::Existing(id) => list.iter().position(|issue| issue.id == id),
        CommandTarget::Document => None,
        CommandTarget::Next(agent, kind) => first(list, |issue| {
            let has_kind = kind.is_none_or(|kind| kind == issue.classification);
            has_kind && issue.status == Status::Created && can_claim(list, issue, agent, now)
        }),
        CommandTarget::NextReview(..) => first(list, |issue| {
            issue.status == Status::Completed && !issue.attributes.is_parked_at(now)
        }),
    };
    let graph = Graph(list.clone());
    match (found, command) {
        (Some(index), Command::ChangeIssue { change, agent, .. }) => {
            change.decide(&list[index], agent.as_str(), now, &graph)?.apply(&mut list[index]);
            Ok(Some(list[index].clone()))
        }
        (Some(index), Command::GetNextIssue { issue: Some(_), agent, .. })
            if list[index].status == Status::Created
                && !can_claim(list, &list[index], agent, now) =>
        {
            Err(DomainError::NotReady { id: list[index].id, reason: String::new() })
        }
        (Some(index), Command::CloseIssue { resolution: Resolution::Closed, .. })
            if !list[index].status.has_ended()
                && open_parts(list, &list[index]).next().is_some() =>
        {
            let parts: Vec<_> = open_parts(list, &list[index]).collect();
            let count = parts.len();
            Err(DomainError::OpenParts { id: list[index].id, parts, count })
        }
        (Some(index), _) => {
            let reopens = matches!(command, Command::ReopenIssue { .. });
            reopens.then(|| links::check_reopened(&list[index], &graph)).transpose()?;
            if let Some(event) = rules::decide(command, &list[index], now)? {
                event.apply(&mut list[index]);
            }
            Ok(Some(list[index].clone()))
        }
        (None, Command::AddIssue { .. } | Command::ImportIssue { .. }) => {
            list.extend(rules::file(command, now, &graph)?.filed());
            Ok(list.last().cloned())
        }
        (None, _) => Ok(None),
    }
}

pub fn matches_the_model(store: &dyn Store, commands: &[Command]) -> Result<(), TestCaseError> {
    Runtime::new().unwrap().block_on(async {
        let mut model = Vec::new();
        for (millis, command) in (0_i64..).zip(commands) {
            let expected = apply_to_list(&mut model, command, at(millis));
            let actual = apply(store, command.clone(), at(millis)).await;
            let actual = match actual {
                Ok(issue) => Ok(issue.map(|issue| Issue::clone(&issue))),
                // Only the store words the reason.
                Err(StoreError::Refused(DomainError::NotReady { id, .. })) => {
                    Err(DomainError::NotReady { id, reason: String::new() })
                }
                Err(StoreError::Refused(error)) => Err(error),
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            };
            prop_assert_eq!(actual, expected);
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
    // There are few cases, because the store syncs each command to the disk.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_store_matches_the_model(commands in prop::collection::vec(any_command(), 1..80)) {
        let directory = directory();
        let file = directory.path().join("issues.json");
        matches_the_model(&SqliteStore::new(&file), &commands)?;
        // The disk has the same issues as the memory.
        let runtime = Runtime::new().unwrap();
        let (kept, reread) = runtime.block_on(async {
            let store = SqliteStore::new(&file);
            let kept = store.list(all()).await.unwrap().issues;
            apply(&store, add(1000, Classification::Bug), at(0)).await.unwrap();
            (kept, SqliteStore::new(&file).list(all()).await.unwrap().issues)
        });
        prop_assert_eq!(&reread[..kept.len()], &kept[..]);
    }
}
