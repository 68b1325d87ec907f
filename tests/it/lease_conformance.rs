//! The rules on leases and clients that every store must follow.

use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::{
    ClaimTerms, Classification, ClientId, Command, DomainError, IssueId, Lease, Timestamp,
};
use agent_issue_tracker::store::{SqliteStore, State, Store, StoreError};

use crate::support::commands::{add, agent, at, complete, number, other, say};
use crate::support::stores::{WholeState, apply};
use crate::support::{directory, until};

fn client(name: &str) -> ClientId {
    ClientId::new(name)
}

/// A claim of this issue whose lease belongs to a client.
fn claim_with(issue: IssueId, name: &str) -> Command {
    let terms = ClaimTerms { client: Some(client(name)), ..ClaimTerms::default() };
    let issue = Some(issue.into());
    Command::GetNextIssue { issue, classification: None, agent: agent(), terms }
}

fn take_up(issue: IssueId, from: &str, to: &str) -> Command {
    Command::TakeUpClaim { issue, agent: agent(), from: client(from), to: client(to) }
}

/// The lapse of the first claim of a new issue.
fn lapse(issue: IssueId, name: &str) -> Command {
    Command::LapseClaim { issue, entry: 1, reason: "gone".to_owned(), client: Some(client(name)) }
}

fn remove(issue: IssueId) -> Command {
    Command::RemoveIssue { issue, next: None, agent: "restore".to_owned() }
}

fn leases(state: &State) -> Vec<(IssueId, Lease)> {
    state.issues.leases().map(|(id, lease)| (id, lease.clone())).collect()
}

/// Files an issue and claims it for a client.
async fn held(store: &dyn Store, n: u32, name: &str) -> IssueId {
    apply(store, add(n, Classification::Bug), at(0)).await.unwrap();
    apply(store, claim_with(number(n), name), at(1)).await.unwrap();
    number(n)
}

pub async fn exercise(store: &dyn Store) {
    let lost = |outcome: Result<_, _>| {
        matches!(outcome, Err(StoreError::Refused(DomainError::ClaimEnded { .. })))
    };
    let first = held(store, 1, "one").await;
    let lease = store.state().await.unwrap().issues.lease(first).cloned();
    assert_eq!(lease, Some(Lease { claim: 1, client: client("one") }));
    // Only the holder may take up its claim.
    let (from, to) = (client("one"), client("two"));
    let of_other = Command::TakeUpClaim { issue: first, agent: other(), from, to };
    assert!(lost(apply(store, of_other, at(2)).await));
    // A take-up prevents later lapses and take-ups; a lapse prevents later take-ups.
    apply(store, take_up(first, "one", "two"), at(2)).await.unwrap();
    assert!(lost(apply(store, lapse(first, "one"), at(3)).await));
    assert!(lost(apply(store, take_up(first, "one", "three"), at(3)).await));
    let second = held(store, 2, "one").await;
    apply(store, lapse(second, "one"), at(2)).await.unwrap();
    assert!(lost(apply(store, take_up(second, "one", "two"), at(3)).await));
    // A command that ends a claim ends its lease; other commands keep it.
    let third = held(store, 3, "three").await;
    apply(store, say(third.into()), at(4)).await.unwrap();
    let fourth = held(store, 4, "four").await;
    apply(store, complete(fourth.into()), at(5)).await.unwrap();
    let fifth = held(store, 5, "five").await;
    apply(store, remove(fifth), at(6)).await.unwrap();
    let held = leases(&store.state().await.unwrap());
    let lease = |name| Lease { claim: 1, client: client(name) };
    assert_eq!(held, [(first, lease("two")), (third, lease("three"))]);
    undo(store).await;
}

/// Reverting an event restores the leases that it ended.
async fn undo(store: &dyn Store) {
    let events = store.events(0, usize::MAX).await.unwrap().events;
    let (mut state, mut before) = (State::default(), Vec::new());
    for event in &events {
        before.push((leases(&state), state.position));
        state.apply(&event.event, event.position).unwrap();
    }
    for (event, (leases_before, position)) in events.iter().zip(before).rev() {
        state.revert(&event.event, position).unwrap();
        assert_eq!(leases(&state), leases_before, "{:?} undone", event.event);
    }
}

/// A process is live until it ends, any other client until its time to live is over.
pub fn exercise_clients(store: &dyn Store) {
    let clients = store.clients();
    let process = clients.begin_process().unwrap();
    let session = client("session-1");
    assert!(clients.gone_for(&session).unwrap().is_some());
    clients.renew(&session, Duration::from_secs(3600)).unwrap();
    let silent = client("session-2");
    clients.renew(&silent, Duration::from_millis(1)).unwrap();
    until("the silent client has expired", || clients.gone_for(&silent).unwrap().is_some());
    assert_eq!(clients.gone_for(&process).unwrap(), None);
    assert_eq!(clients.gone_for(&session).unwrap(), None);
    clients.renew(&silent, Duration::from_secs(3600)).unwrap();
    assert_eq!(clients.gone_for(&silent).unwrap(), None);
    // A client that ended stays gone. The registry does not forget clients that are still needed.
    for ended in [&process, &session] {
        clients.end(ended);
    }
    clients.renew(&session, Duration::from_secs(3600)).unwrap();
    let first = clients.gone_for(&session).unwrap().unwrap();
    until("time passes", || clients.gone_for(&session).unwrap().unwrap() > first);
    let passed = clients.gone_for(&session).unwrap().unwrap();
    clients.forget_gone(&|client| *client == session);
    assert!(clients.gone_for(&session).unwrap().unwrap() >= passed);
    assert!(clients.gone_for(&process).unwrap().is_some());
    assert_eq!(clients.gone_for(&silent).unwrap(), None);
}

#[tokio::test]
async fn leases_survive_reopening() {
    let directory = directory();
    let open = || SqliteStore::new(directory.path().join("issues.json"));
    let store = open();
    exercise(&store).await;
    let expected = leases(&store.state().await.unwrap());
    store.close().await;
    let store = open();
    assert_eq!(leases(&store.state().await.unwrap()), expected);
    // The leases end as before, and another process sees it.
    let other = open();
    apply(&store, lapse(number(1), "two"), at(20)).await.unwrap();
    apply(&store, take_up(number(3), "three", "six"), at(20)).await.unwrap();
    let lease = Lease { claim: 1, client: client("six") };
    assert_eq!(leases(&other.state().await.unwrap()), [(number(3), lease)]);
}

/// One process lapses a claim while another takes it up.
pub async fn race_lapses_with_take_ups(stores: [Arc<dyn Store>; 2]) {
    const CLAIMS: u32 = 60;
    let commit = |store: &Arc<dyn Store>, command: Command| {
        let store = Arc::clone(store);
        let now: Timestamp = at(2);
        tokio::spawn(async move { apply(&*store, command, now).await })
    };
    let mut won = [0, 0];
    for n in 0..CLAIMS {
        let issue = held(&*stores[0], n, "one").await;
        let [mut first, mut second] = [take_up(issue, "one", "two"), lapse(issue, "one")];
        if n % 2 == 1 {
            std::mem::swap(&mut first, &mut second);
        }
        let pending = [commit(&stores[0], first), commit(&stores[1], second)];
        let mut outcomes = Vec::new();
        for outcome in pending {
            outcomes.push(outcome.await.unwrap().is_ok());
        }
        assert_ne!(outcomes[0], outcomes[1], "{n}");
        won[usize::from(outcomes[1])] += 1;
        let state = stores[1].state().await.unwrap();
        let is_taken_up = outcomes[0] == (n % 2 == 0);
        let expected = is_taken_up.then(|| Lease { claim: 1, client: client("two") });
        assert_eq!(state.issues.lease(issue), expected.as_ref());
        assert_eq!(state.issues.get(issue).unwrap().holder().is_some(), is_taken_up);
    }
    eprintln!("the first process won {} times, the second {} times", won[0], won[1]);
}
