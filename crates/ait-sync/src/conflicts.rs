//! The end of conflicts: fields that both sides changed.

use ait_domain::event::CHANGE_ACTION;
use ait_domain::{AgentName, HistoryEntry, Issue, string_enum};
use ait_tracker::{StoreError, Tracker};

use crate::link::{Base, Link};
use crate::plan;

string_enum! {
    /// The side whose values stay after a conflict.
    pub enum Side {
        Here = "here",
        There = "there",
    }
}

/// Ends the conflicts of an issue with the values of one side. The next run sends those that stay here. Returns the
/// names of the fields.
///
/// # Errors
///
/// Those of the store, such as an issue that changed since it was read.
pub async fn resolve(
    tracker: &Tracker,
    ours: &Issue,
    side: Side,
    agent: &AgentName,
) -> Result<Vec<&'static str>, StoreError> {
    let mut after = ours.clone();
    let mut resolved = Vec::new();
    let now = tracker.now();
    for (sync, mut link) in Link::all(ours) {
        for (field, theirs) in std::mem::take(&mut link.conflicts) {
            link.base.insert(field, Base::of(&theirs, &theirs));
            if side == Side::There {
                plan::take(field, &theirs, &mut after, agent.as_str(), now);
            }
            resolved.push(field.as_str());
        }
        link.set(&mut after, &sync);
    }
    if resolved.is_empty() {
        return Ok(resolved);
    }
    if side == Side::There {
        let action = format!("{CHANGE_ACTION}{}", resolved.join(", "));
        after.history.push(HistoryEntry::new(now, agent.as_str(), action));
        after.modified_at = now.max(ours.modified_at);
    }
    tracker.replace_issue(ours, after, agent).await?;
    Ok(resolved)
}
