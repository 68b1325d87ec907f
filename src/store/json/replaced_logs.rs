//! Replaced logs: merges the states that this process knew of them into the current log, before anything else changes.

use std::sync::Arc;

use super::commit::{CommitResult, Committer, Draft};
use super::merge_state::merge_state;
use super::support::now;
use crate::domain::Issue;
use crate::domain::merge::common_history;
use crate::store::{State, StoreError};

/// Makes changes like [`Committer::transact`], after merging the states of replaced logs. If the log is replaced
/// meanwhile, merges the changes into the new one, where their events have other numbers.
///
/// # Errors
///
/// Those of [`Committer::transact`]; also [`StoreError::Uncertain`] if another change to the new log came first.
pub(super) fn commit_after_merges<T>(
    committer: &mut Committer,
    decide: impl FnOnce(&mut Draft) -> T,
) -> Result<(T, CommitResult), StoreError> {
    let shared = Arc::clone(&committer.shared);
    let mut decide = Some(decide);
    loop {
        merge_replaced_logs(committer)?;
        let transacted = committer.transact(|draft| decide.take().map(|decide| decide(draft)));
        let (result, committed) = match transacted {
            // The log was replaced in the meantime and has to be merged first.
            Err(_) if decide.is_some() && !shared.follower().replaced_logs.is_empty() => continue,
            transacted => transacted?,
        };
        if let CommitResult::LogReplaced(issues) = &committed {
            let path = shared.path.display();
            let uncertain = |why: &dyn std::fmt::Display| {
                StoreError::Uncertain(format!("the log of {path} was replaced meanwhile: {why}"))
            };
            merge_replaced_logs(committer).map_err(|error| uncertain(&error))?;
            let newest = shared.fresh().map_err(|error| uncertain(&error))?;
            let is_there = |issue: &Arc<Issue>| {
                newest.state.issues.get(issue.id).is_some_and(|found| {
                    common_history(&found, issue) == issue.history.len()
                        && issue.comments.iter().all(|comment| found.comments.contains(comment))
                })
            };
            if !issues.iter().all(is_there) {
                return Err(uncertain(&"another change came first"));
            }
        }
        let undecided = || StoreError::Uncertain("no command was decided".to_owned());
        return Ok((result.ok_or_else(undecided)?, committed));
    }
}

/// Merges the states of replaced logs into the current one.
pub(super) fn merge_replaced_logs(committer: &mut Committer) -> Result<(), StoreError> {
    /// How often the log may be replaced during the merge.
    const MAX_ROUNDS: usize = 100;
    for _ in 0..MAX_ROUNDS {
        let Some(replaced) = committer.shared.follower().replaced_logs.front().cloned() else {
            return Ok(());
        };
        committer.merges_replaced_log = true;
        let merged = merge_state(committer, &replaced.state, &[]);
        let merged = merged.and_then(|merged| {
            restore_leases(committer, &replaced.state)?;
            Ok(merged)
        });
        committer.merges_replaced_log = false;
        let merged = merged?;
        let mut follower = committer.shared.follower();
        if follower
            .replaced_logs
            .front()
            .is_some_and(|front| front.state.position == replaced.state.position)
        {
            follower.replaced_logs.pop_front();
        }
        drop(follower);
        if !merged.commands.is_empty() {
            tracing::warn!(
                "the log of {} was removed or replaced while this process ran; its issues were merged into the new log",
                committer.shared.path.display()
            );
        }
    }
    Err(StoreError::Busy(format!(
        "other processes keep replacing {}",
        committer.shared.path.display()
    )))
}

/// Gives claims their leases back, which `issues.json` does not have. `known` is a state with them.
fn restore_leases(committer: &mut Committer, known: &State) -> Result<(), StoreError> {
    if committer.shared.fresh()?.state.issues.lost_leases(&known.issues).next().is_none() {
        return Ok(());
    }
    let restored = committer.transact(|draft| {
        let lost: Vec<_> = draft.state.issues.lost_leases(&known.issues).collect();
        for command in lost {
            if let Err(error) = draft.decide(&command, now()) {
                tracing::debug!("a lease is not restored: {error}");
            }
        }
    });
    restored.map(drop)
}
