//! The state before the newest one, to make the next one of.
//!
//! Readers look at the newest state while the next one is made, so that one cannot be changed. A clone of it shares all
//! its nodes, and each change of a large clone copies some hundreds of references to them. So two states take turns:
//! the one that readers do not look at any more catches up with the other one, and is changed next.

use std::sync::Arc;

use crate::domain::{Event, EventKind, IssueId};
use crate::store::State;

/// How many changes it catches up with; behind more it is no cheaper than a clone.
const MAX_BEHIND: usize = 1_024;

/// A state that lacks the changes of some issues.
pub(super) struct Spare {
    state: Arc<State>,
    /// The issues, in the order in which they were changed or filed; `None` if it lacks more than that.
    behind: Option<Vec<IssueId>>,
}

impl Spare {
    /// Keeps a state of which a newer one was just made.
    pub fn of(state: Arc<State>) -> Self {
        Self { state, behind: Some(Vec::new()) }
    }

    /// Takes note of a change of the newer state.
    pub fn lacks(&mut self, event: &Event) {
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

    /// The newest state, to be changed; `None` if somebody still looks at the spare one, or it lacks too much.
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
    use crate::domain::{Classification, Command, Order, Query, Resolution, Timestamp};
    use crate::store::Position;

    fn time(number: u64) -> Timestamp {
        Timestamp::from_unix_millis(1_800_000_000_000 + number as i64 / 3)
    }

    fn command(state: &State, rng: &mut Rng) -> Command {
        let agent = || "a".try_into().unwrap();
        let comment = || "c".try_into().unwrap();
        let count = state.issues.len();
        let some = |rng: &mut Rng| state.issues.at(rng.usize(0..count)).id;
        match rng.u8(0..if count == 0 { 1 } else { 6 }) {
            0 | 1 => Command::AddIssue {
                id: IssueId::from(uuid::Uuid::from_u128(rng.u128(..))),
                title: "t".try_into().unwrap(),
                description: "d".to_owned().try_into().unwrap(),
                classification: Classification::ALL[rng.usize(0..3)],
                agent: agent(),
            },
            2 => Command::GetNextIssue { classification: None, agent: agent() },
            3 => {
                let issue = some(rng).into();
                Command::CompleteIssue { issue, comment: comment(), agent: agent() }
            }
            4 => Command::CloseIssue {
                issue: some(rng).into(),
                resolution: Resolution::Closed,
                comment: comment(),
                agent: agent(),
            },
            _ if rng.u8(0..8) == 0 => {
                let (issue, agent) = (some(rng), "restore".to_owned());
                Command::RemoveIssue { issue, ahead_of: None, agent }
            }
            _ => {
                Command::ReturnIssue { issue: some(rng).into(), comment: comment(), agent: agent() }
            }
        }
    }

    fn assert_same(one: &State, other: &State) {
        assert_eq!(one.position, other.position);
        assert_eq!(one.issues.revision(), other.issues.revision());
        assert!(one.issues.versions().eq(other.issues.versions()));
        for order in [Order::Filed, Order::LatestActivity] {
            let query = Query { order, take: usize::MAX, ..Query::default() };
            assert_eq!(one.issues.list(&query), other.issues.list(&query));
        }
        for issue in one.issues.issues() {
            assert_eq!(other.issues.get(issue.id).as_ref(), Some(&issue));
        }
    }

    #[test]
    fn two_states_that_take_turns_are_what_one_state_becomes() {
        let mut rng = Rng::with_seed(17);
        let (mut newest, mut spare) = (Arc::new(State::default()), None::<Spare>);
        let (mut turns, mut readers) = (0, Vec::new());
        for number in 1..2_000 {
            let caught_up = spare.take().and_then(|spare| spare.catch_up(&newest));
            turns += usize::from(caught_up.is_some());
            let mut next = caught_up.unwrap_or_else(|| State::clone(&newest));
            assert_same(&next, &newest);
            let before = Arc::clone(&newest);
            let mut behind = Vec::new();
            for _ in 0..rng.usize(1..4) {
                let command = command(&next, &mut rng);
                if let Ok(Some(event)) = next.decide(&command, time(number)) {
                    next.apply(&event, Position { number, hash: rng.u64(..) }).unwrap();
                    behind.push(event);
                }
            }
            let mut kept = Spare::of(std::mem::replace(&mut newest, Arc::new(next)));
            behind.iter().for_each(|event| kept.lacks(event));
            spare = Some(kept);
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
