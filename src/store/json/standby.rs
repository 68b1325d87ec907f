//! The second of two states: the writer updates it, then swaps the two.
//!
//! Readers use the newest state while the next one is being made, so it must not change. A clone shares all its
//! nodes, and each change of a large clone copies hundreds of references to them. So two states alternate: the one
//! that readers no longer use catches up with the other one, and is changed next.

use std::sync::Arc;

use crate::domain::{Event, EventKind, IssueId};
use crate::store::State;

/// The most changes to catch up with. With more, a clone is as cheap.
const MAX_BEHIND: usize = 1_024;

/// A state that lacks recent changes of some issues.
pub(super) struct StandbyState {
    state: Arc<State>,
    /// The changed and new issues in order; `None` if the state lacks more than those.
    behind: Option<Vec<IssueId>>,
}

impl StandbyState {
    /// Keeps a state that a newer one has just replaced.
    pub fn of(state: Arc<State>) -> Self {
        Self { state, behind: Some(Vec::new()) }
    }

    /// Records a change of the newer state.
    pub fn push_missing(&mut self, event: &Event) {
        let is_simple = !matches!(
            event.kind,
            EventKind::Imported { .. }
                | EventKind::Removed { .. }
                | EventKind::UnknownKeysEdited { .. }
        );
        match &mut self.behind {
            Some(behind) if is_simple && behind.len() < MAX_BEHIND => behind.push(event.issue),
            _ => self.behind = None,
        }
    }

    /// Returns a state equal to the newest one, to be changed. Returns `None` if a reader still uses this state, or
    /// if it lacks too much.
    pub fn catch_up(self, newest: &State) -> Option<State> {
        let mut state = Arc::into_inner(self.state)?;
        state.issues.catch_up(&newest.issues, &self.behind?);
        state.position = newest.position;
        (state.issues.len() == newest.issues.len()).then_some(state)
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;
    use crate::domain::{
        ClaimTerms, Classification, ClientId, Command, Order, Query, Resolution, Timestamp,
    };
    use crate::store::EventPosition;

    fn time(number: u64) -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000 + number as i64 / 3)
    }

    fn command(state: &State, rng: &mut Rng) -> Command {
        let agent = || "a".try_into().unwrap();
        let comment = || "c".try_into().unwrap();
        let count = state.issues.len();
        let some = |rng: &mut Rng| state.issues.at(rng.usize(0..count)).id;
        let client = |rng: &mut Rng| ClientId::new(&format!("session-{}", rng.u8(..)));
        match rng.u8(0..if count == 0 { 1 } else { 8 }) {
            0 | 1 => Command::AddIssue {
                id: IssueId::from(uuid::Uuid::from_u128(rng.u128(..))),
                title: "t".try_into().unwrap(),
                description: "d".to_owned().try_into().unwrap(),
                classification: Classification::ALL[rng.usize(0..3)],
                details: Box::default(),
                agent: agent(),
            },
            2 => Command::GetNextIssue {
                issue: None,
                classification: None,
                agent: agent(),
                terms: ClaimTerms { client: Some(client(rng)), ..ClaimTerms::default() },
            },
            6 | 7 if state.issues.leases().next().is_some() => {
                let leases: Vec<_> = state.issues.leases().collect();
                let (issue, lease) = leases[rng.usize(0..leases.len())];
                let from = lease.client.clone();
                let entry = state.issues.get(issue).unwrap().claim_entry().unwrap();
                if rng.bool() {
                    Command::TakeUpClaim { issue, agent: agent(), from, to: client(rng) }
                } else {
                    let reason = "gone".to_owned();
                    Command::LapseClaim { issue, entry, reason, client: Some(from) }
                }
            }
            3 => {
                let issue = some(rng).into();
                Command::CompleteIssue {
                    issue,
                    comment: comment(),
                    agent: agent(),
                    required_claim: Default::default(),
                }
            }
            4 => Command::CloseIssue {
                issue: some(rng).into(),
                resolution: Resolution::Closed,
                comment: comment(),
                agent: agent(),
                required_claim: Default::default(),
            },
            _ if rng.u8(0..8) == 0 => {
                let (issue, agent) = (some(rng), "restore".to_owned());
                Command::RemoveIssue { issue, next: None, agent }
            }
            _ => Command::ReturnIssue {
                issue: some(rng).into(),
                comment: comment(),
                agent: agent(),
                required_claim: Default::default(),
            },
        }
    }

    fn assert_same(one: &State, other: &State) {
        assert_eq!(one.position, other.position);
        assert_eq!(one.issues.revision(), other.issues.revision());
        assert!(one.issues.revisions().eq(other.issues.revisions()));
        assert!(one.issues.leases().eq(other.issues.leases()));
        let list = |state: &State, order| {
            let query = Query { order, take: usize::MAX, ..Query::default() };
            state.issues.list(&query).issues
        };
        let issues = list(other, Order::Filed);
        assert_eq!(list(one, Order::Filed), issues);
        // The indexes lead to the same issues.
        for issue in &issues {
            assert!(Arc::ptr_eq(&other.issues.get(issue.id).unwrap(), issue));
        }
        let latest = |state| list(state, Order::LatestActivity).into_iter().map(|issue| issue.id);
        assert!(latest(one).eq(latest(other)));
    }

    #[test]
    fn a_standby_state_that_catches_up_equals_the_newest() {
        let mut rng = Rng::with_seed(17);
        let (mut newest, mut standby) = (Arc::new(State::default()), None::<StandbyState>);
        let (mut turns, mut readers) = (0, Vec::new());
        for number in 1..2_000 {
            let caught_up = standby.take().and_then(|standby| standby.catch_up(&newest));
            turns += usize::from(caught_up.is_some());
            let mut next = caught_up.unwrap_or_else(|| State::clone(&newest));
            assert_same(&next, &newest);
            let before = Arc::clone(&newest);
            let mut behind = Vec::new();
            for _ in 0..rng.usize(1..4) {
                let command = command(&next, &mut rng);
                if let Ok(Some(event)) = next.decide(&command, time(number)) {
                    next.apply(&event, EventPosition { number, hash: rng.u64(..) }).unwrap();
                    behind.push(event);
                }
            }
            let mut kept = StandbyState::of(std::mem::replace(&mut newest, Arc::new(next)));
            behind.iter().for_each(|event| kept.push_missing(event));
            standby = Some(kept);
            if rng.u8(0..4) == 0 {
                readers.push(before);
            } else {
                drop(before);
                readers.truncate(rng.usize(0..3));
            }
        }
        assert!(newest.issues.len() > 100 && turns > 500, "{turns}");
    }
}
