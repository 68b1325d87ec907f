//! The protocol of claims and leases: every state of a small model is checked, and random histories of the model are
//! replayed on the real store and the real registry of clients.
//!
//! The search is written here because it is short. The usual model checker for Rust, stateright, adds 18 packages and a
//! web server, and checks liveness only in histories without cycles.

#[cfg(feature = "postgres")]
mod postgres;
mod protocol;
mod replay;

use indexmap::IndexMap;

use self::protocol::{Action, Fault, Protocol, State};
use crate::support::factor;

/// A broken promise, and the shortest sequence of actions that breaks it.
#[derive(Debug)]
struct Violation {
    promise: &'static str,
    steps: Vec<Action>,
}

/// Visits every reachable state of the protocol, breadth first. Returns their number.
fn explore(protocol: &Protocol) -> Result<usize, Violation> {
    let mut known: IndexMap<State, Option<(usize, Action)>> = IndexMap::new();
    known.insert(protocol.start(), None);
    let mut index = 0;
    while let Some((state, _)) = known.get_index(index) {
        let state = state.clone();
        let violation = |promise, last: Option<&Action>| {
            let mut steps: Vec<_> = last.into_iter().cloned().collect();
            let mut current = index;
            while let Some((before, action)) = &known[current] {
                steps.push(action.clone());
                current = *before;
            }
            steps.reverse();
            Violation { promise, steps }
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
            known.entry(next).or_insert(Some((index, action)));
        }
        index += 1;
    }
    Ok(known.len())
}

const fn of_size(issues: usize, agents: usize, claims: usize) -> Protocol {
    Protocol { issues, agents, claims, fault: Fault::Nothing }
}

/// The sizes for every test run: about 100,000 states.
const SIZES: [Protocol; 3] = [of_size(1, 2, 3), of_size(1, 3, 1), of_size(2, 1, 2)];
/// About 330,000 more states, for long test runs.
const LARGE_SIZES: [Protocol; 2] = [of_size(1, 3, 2), of_size(2, 2, 1)];

#[test]
fn claims_keep_their_promises_in_every_state() {
    let large = LARGE_SIZES.iter().filter(|_| factor() > 1);
    for protocol in SIZES.iter().chain(large) {
        match explore(protocol) {
            Ok(states) => eprintln!("{protocol:?}: {states} states"),
            Err(Violation { promise, steps }) => panic!("{protocol:?}: {promise} after {steps:#?}"),
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
        eprintln!("{fault:?} is found after {} steps", violation.steps.len());
        assert_eq!(violation.promise, promise, "{fault:?}: {:#?}", violation.steps);
    }
}
