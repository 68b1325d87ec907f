//! Attributes and links under concurrent changes by several processes.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};
use std::thread;

use agent_issue_tracker::domain::readiness::obstacle;
use agent_issue_tracker::domain::{
    AgentName, Classification, Command, FieldValue, HAND_EDIT, Issue, IssueChange, IssueId, Link,
    LinkKind, Resolution, Status,
};
use agent_issue_tracker::store::{SqliteStore, Store, StoreError};
use fastrand::Rng;
use tokio::runtime::Runtime;

use crate::support::commands::{add, all, at, close, complete, import, number};
use crate::support::directory;
use crate::support::stores::{WholeState, apply};

fn change(issue: u32, change: IssueChange, agent: &AgentName) -> Command {
    Command::ChangeIssue {
        issue: number(issue).into(),
        change: change.into(),
        agent: agent.clone(),
    }
}

fn blocked_by(issue: u32, blocker: u32, agent: &AgentName) -> Command {
    let links_add = vec![(LinkKind::BlockedBy, number(blocker).into())];
    change(issue, IssueChange { links_add, ..IssueChange::default() }, agent)
}

fn agent(n: usize) -> AgentName {
    AgentName::try_from(format!("agent-{n}")).unwrap()
}

fn issues(store: &SqliteStore) -> Vec<Arc<Issue>> {
    Runtime::new().unwrap().block_on(store.list(all())).unwrap().issues
}

/// Returns an issue that waits for itself through its links, if any.
fn on_a_cycle(issues: &[Arc<Issue>]) -> Option<IssueId> {
    let waits_for = |id: IssueId| {
        let issue = issues.iter().find(|issue| issue.id == id).unwrap();
        // A closed or rejected issue waits for nothing.
        if issue.status.has_ended() {
            return Vec::new();
        }
        let blockers = issue.attributes.linked(LinkKind::BlockedBy);
        let parts = issues.iter().filter(move |part| part.attributes.parent() == Some(id));
        blockers.chain(parts.map(|part| part.id)).collect::<Vec<_>>()
    };
    issues.iter().map(|issue| issue.id).find(|&start| {
        let (mut seen, mut open) = (BTreeSet::new(), waits_for(start));
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(waits_for(id));
            }
        }
        seen.contains(&start)
    })
}

#[test]
fn concurrent_opposite_links_never_form_a_cycle() {
    const ROUNDS: u32 = 25;
    let directory = directory();
    let file = directory.path().join("issues.json");
    let runtime = Runtime::new().unwrap();
    let store = SqliteStore::new(&file);
    for n in 0..2 * ROUNDS {
        runtime.block_on(apply(&store, add(n, Classification::Bug), at(0))).unwrap();
    }
    let barrier = Barrier::new(2);
    let made: Vec<u32> = thread::scope(|scope| {
        let processes = [0, 1].map(|side| {
            let (file, barrier) = (&file, &barrier);
            scope.spawn(move || {
                let (store, runtime) = (SqliteStore::new(file), Runtime::new().unwrap());
                let mut made = 0;
                for round in 0..ROUNDS {
                    let (one, other) = (2 * round + side, 2 * round + 1 - side);
                    barrier.wait();
                    match runtime.block_on(apply(&store, blocked_by(one, other, &agent(0)), at(1)))
                    {
                        Ok(_) => made += 1,
                        Err(StoreError::Refused(refusal)) => {
                            assert!(refusal.to_string().contains("cycle"), "{refusal}");
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                made
            })
        });
        processes.map(|process| process.join().unwrap()).into()
    });
    assert_eq!(made.iter().sum::<u32>(), ROUNDS, "exactly one link of each pair must be made");
    assert_eq!(on_a_cycle(&issues(&SqliteStore::new(&file))), None);
}

/// An import is planned on an older state, so the store must check the links again.
#[test]
fn the_store_refuses_imported_links_that_form_a_cycle() {
    let directory = directory();
    let (store, runtime) =
        (SqliteStore::new(directory.path().join("issues.json")), Runtime::new().unwrap());
    let import = |n: u32, to: u32, status: Status| {
        let Command::ImportIssue { issue, agent } = import(n, Classification::Bug, status) else {
            unreachable!()
        };
        let links = [Link { kind: LinkKind::BlockedBy, to: number(to) }];
        let attributes = issue.issue().attributes.with_links(&links);
        let issue = Issue { attributes, ..Issue::clone(issue.issue()) };
        Command::ImportIssue { issue: issue.try_into().unwrap(), agent }
    };
    let imported = |command| runtime.block_on(apply(&store, command, at(0)));
    imported(import(1, 2, Status::Created)).unwrap();
    imported(import(2, 3, Status::Created)).unwrap();
    let Err(StoreError::Refused(refusal)) = imported(import(3, 1, Status::Created)) else {
        panic!()
    };
    assert!(refusal.to_string().contains("cycle"), "{refusal}");
    // A closed issue waits for nothing.
    imported(import(3, 1, Status::Closed)).unwrap();
    assert_eq!(on_a_cycle(&issues(&store)), None);
}

#[test]
fn issue_added_by_an_edit_loses_links_that_form_a_cycle() {
    let directory = directory();
    let (store, runtime) =
        (SqliteStore::new(directory.path().join("issues.json")), Runtime::new().unwrap());
    for (n, to) in [(1, 2), (2, 1)] {
        let Command::ImportIssue { issue, .. } = import(n, Classification::Bug, Status::Created)
        else {
            unreachable!()
        };
        let links = [Link { kind: LinkKind::BlockedBy, to: number(to) }];
        let attributes = issue.issue().attributes.with_links(&links);
        let issue = Issue { attributes, ..Issue::clone(issue.issue()) }.into();
        let agent = HAND_EDIT.to_owned();
        let placed = Command::InsertIssue { issue, next: None, agent };
        runtime.block_on(apply(&store, placed, at(0))).unwrap();
    }
    let links: Vec<_> = issues(&store).iter().map(|issue| issue.attributes.links.len()).collect();
    assert_eq!(links, [1, 0]);
    assert_eq!(on_a_cycle(&issues(&store)), None);
}

#[test]
fn concurrent_claims_never_ignore_an_obstacle() {
    const PROCESSES: usize = 4;
    const ISSUES: u32 = 24;
    let directory = directory();
    let file = directory.path().join("issues.json");
    let runtime = Runtime::new().unwrap();
    let store = SqliteStore::new(&file);
    for n in 0..ISSUES {
        runtime.block_on(apply(&store, add(n, Classification::Bug), at(0))).unwrap();
    }
    let claims: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..PROCESSES)
            .map(|process| {
                let file = &file;
                scope.spawn(move || work(&SqliteStore::new(file), process))
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert!(claims > 0);
    // The log has every change in order, so replaying it gives the state before each claim.
    let events = runtime.block_on(store.events(0, usize::MAX)).unwrap().events;
    let mut state = agent_issue_tracker::store::State::default();
    let mut checked = 0;
    for numbered in &events {
        let event = &numbered.event;
        if event.status_after() == Some(Status::InProgress) {
            let issue = state.issues.get(event.issue).unwrap();
            let name = AgentName::try_from(event.agent.as_str()).unwrap();
            assert_eq!(obstacle(&state.issues, &issue, &name, event.at), None, "{issue:?}");
            checked += 1;
        }
        state.apply(event, numbered.position).unwrap();
    }
    assert_eq!(checked, claims);
    assert_eq!(on_a_cycle(&issues(&store)), None);
    // Control: the check reports an obstacle that exists.
    runtime.block_on(async {
        apply(&store, add(100, Classification::Bug), at(0)).await.unwrap();
        apply(&store, add(101, Classification::Bug), at(0)).await.unwrap();
        let blocked = apply(&store, blocked_by(100, 101, &agent(0)), at(0)).await.unwrap().unwrap();
        let issues = store.state().await.unwrap().issues;
        assert!(obstacle(&issues, &blocked, &agent(0), at(0)).is_some());
    });
}

/// Makes random changes and claims. Returns the number of claims.
fn work(store: &SqliteStore, process: usize) -> usize {
    let (mut rng, runtime, me) =
        (Rng::with_seed(process as u64), Runtime::new().unwrap(), agent(process));
    let mut claims = 0;
    for step in 0..120 {
        let issue = rng.u32(0..24);
        let command = match rng.u8(0..8) {
            0 | 1 => blocked_by(issue, rng.u32(0..24), &me),
            2 => {
                let links_add = vec![(LinkKind::Parent, number(rng.u32(0..24)).into())];
                change(issue, IssueChange { links_add, ..IssueChange::default() }, &me)
            }
            3 => {
                let assignee = rng.bool().then(|| agent(rng.usize(0..4)));
                change(issue, FieldValue::Assignee(assignee).into(), &me)
            }
            4 => {
                let parked = Some(rng.bool().then(|| ("why".try_into().unwrap(), None)));
                change(issue, IssueChange { parked, ..IssueChange::default() }, &me)
            }
            5 => complete(number(issue).into()),
            6 => close(number(issue).into(), Resolution::Rejected),
            _ => Command::GetNextIssue {
                issue: None,
                classification: None,
                agent: me.clone(),
                terms: Default::default(),
            },
        };
        let is_claim = matches!(command, Command::GetNextIssue { .. });
        match runtime.block_on(apply(store, command, at(step))) {
            Ok(issue) => claims += usize::from(is_claim && issue.is_some()),
            Err(StoreError::Refused(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    claims
}
