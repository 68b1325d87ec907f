//! The protocol of claims and leases: every state of a small model is checked, and random histories of the model are
//! replayed on the real store and the real registry of clients.
//!
//! The search is written here because it is short. The usual model checker for Rust, stateright, brings 18 packages and
//! a web server, and checks what must happen at last only in histories without circles.

#[cfg(feature = "postgres")]
mod postgres;
mod protocol;
mod replay;

use indexmap::IndexMap;

use self::protocol::{Action, Fault, Protocol, State};
use crate::support::factor;

/// What the search found wrong, and the shortest way there.
#[derive(Debug)]
struct Violation {
    promise: &'static str,
    way: Vec<Action>,
}

/// Visits every state that the protocol can reach, nearest first. Returns how many there are.
fn explore(protocol: &Protocol) -> Result<usize, Violation> {
    let mut known: IndexMap<State, Option<(usize, Action)>> = IndexMap::new();
    known.insert(protocol.start(), None);
    let mut place = 0;
    while let Some((state, _)) = known.get_index(place) {
        let state = state.clone();
        let violation = |promise, last: Option<&Action>| {
            let mut way: Vec<_> = last.into_iter().cloned().collect();
            let mut at = place;
            while let Some((before, action)) = &known[at] {
                way.push(action.clone());
                at = *before;
            }
            way.reverse();
            Violation { promise, way }
        };
        protocol.check(&state).map_err(|promise| violation(promise, None))?;
        let mut reached = Vec::new();
        for action in protocol.actions(&state) {
            let mut next = state.clone();
            let step = protocol.step(&mut next, &action);
            step.map_err(|promise| violation(promise, Some(&action)))?;
            reached.push((next, action));
        }
        for (next, action) in reached {
            known.entry(next).or_insert(Some((place, action)));
        }
        place += 1;
    }
    Ok(known.len())
}

const fn of_size(issues: usize, agents: usize, claims: usize) -> Protocol {
    Protocol { issues, agents, claims, fault: Fault::Nothing }
}

/// What a test run can afford: some 100,000 states.
const SIZES: [Protocol; 3] = [of_size(1, 2, 3), of_size(1, 3, 1), of_size(2, 1, 2)];
/// Some 330,000 states more, for long runs.
const LARGE_SIZES: [Protocol; 2] = [of_size(1, 3, 2), of_size(2, 2, 1)];

#[test]
fn claims_keep_their_promises_in_every_state() {
    let large = LARGE_SIZES.iter().filter(|_| factor() > 1);
    for protocol in SIZES.iter().chain(large) {
        match explore(protocol) {
            Ok(states) => eprintln!("{protocol:?}: {states} states"),
            Err(Violation { promise, way }) => panic!("{protocol:?}: {promise} after {way:#?}"),
        }
    }
}

#[test]
fn checker_finds_each_fault_of_the_protocol() {
    for (fault, promise) in [
        (Fault::Number, "a stale number was accepted"),
        (Fault::Grace, "a claim lapsed before its client was gone for the grace period"),
        (Fault::Client, "a claim lapsed before its client was gone for the grace period"),
        (Fault::Renewal, "a claim lapsed before its client was gone for the grace period"),
        (Fault::WallClock, "a claim lapsed before its client was gone for the grace period"),
        (Fault::Rest, "a claim lapsed before its client was gone for the grace period"),
        (Fault::Mark, "a claim of a dead client stays"),
        (Fault::Repetition, "a repeated answer was made twice"),
    ] {
        let protocol = Protocol { issues: 1, agents: 2, claims: 2, fault };
        let violation = explore(&protocol).expect_err("the fault must be found");
        eprintln!("{fault:?} is found after {} steps", violation.way.len());
        assert_eq!(violation.promise, promise, "{fault:?}: {:#?}", violation.way);
    }
}
