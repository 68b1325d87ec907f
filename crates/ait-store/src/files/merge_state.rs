//! Compares two versions of `issues.json` for git, and decides the commands that merge them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;

use super::skim::OtherIssues;
use crate::published::plan::{Compared, Filed, MergePlan, MergeTarget, Versions, compare};
use crate::{EventPosition, State};
use ait_domain::{Command, DomainError, Issue, IssueId, Timestamp};

/// Compares a file with the store and returns the commands that merge it. `bases` finds the versions from which the
/// differing copies were made, as far as they are known.
pub(crate) fn plan_merge<E>(
    ours: &State,
    theirs: &State,
    bases: impl FnOnce(Versions) -> Result<HashMap<IssueId, Arc<Issue>>, E>,
) -> Result<MergePlan, E> {
    let Ok(comparison) = compare(ours, &OtherIssues::from(theirs));
    comparison.plan(&ours.unknown_keys, &theirs.unknown_keys, bases)
}

impl Compared for State {
    type Failure = Infallible;

    fn version(&self, theirs: &Arc<Issue>) -> Result<Option<Arc<Issue>>, Infallible> {
        Ok(self.issues.get(theirs.id))
    }

    fn place(&self, id: IssueId) -> Result<i64, Infallible> {
        let place = self.issues.position_of(id).unwrap_or(self.issues.len());
        Ok(i64::try_from(place).unwrap_or(i64::MAX))
    }

    fn before(&self, place: i64) -> Result<Option<(i64, Filed)>, Infallible> {
        let place = usize::try_from(place).unwrap_or_default().min(self.issues.len());
        Ok(place.checked_sub(1).map(|before| {
            let issue = self.issues.at(before);
            (i64::try_from(before).unwrap_or(i64::MAX), (issue.created_at.unix_millis(), issue.id))
        }))
    }
}

impl MergeTarget for State {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.issues.get(id)
    }

    fn decide(&mut self, command: &Command, now: Timestamp) -> Result<(), DomainError> {
        if let Some(event) = State::decide(self, command, now)? {
            self.apply(&event, EventPosition::default())?;
        }
        Ok(())
    }
}
