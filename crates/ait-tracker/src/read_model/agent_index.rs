//! What the agents hold and did last, kept up to date with each change of an issue.

use std::sync::Arc;

use imbl::{OrdSet, Vector};

use super::agent_interner::Name;
use super::chunked::Chunked;
use super::summary::{HistoryAction, IssueSummary};
use ait_domain::Timestamp;

/// The agents by [`Name`]. A clone shares all data.
#[derive(Clone, Debug, Default)]
pub(super) struct AgentIndex(Vector<Entry>);

#[derive(Clone, Debug, Default)]
struct Entry {
    /// The latest action, and the position of its issue.
    last: Option<(HistoryAction, usize)>,
    /// The issues that it holds, by the time of the claim and the position.
    holds: OrdSet<(Timestamp, usize)>,
    /// Whether it ever claimed an issue.
    has_claimed: bool,
}

impl AgentIndex {
    /// Returns the latest action of an agent, and the position of its issue.
    pub fn last(&self, name: Name) -> Option<(HistoryAction, usize)> {
        self.0.get(name.index())?.last
    }

    /// Returns true if an agent ever claimed an issue.
    pub fn has_claimed(&self, name: Name) -> bool {
        self.0.get(name.index()).is_some_and(|entry| entry.has_claimed)
    }

    /// Returns the positions of the issues that an agent holds, oldest claim first.
    pub fn held_by(&self, name: Name) -> impl Iterator<Item = usize> {
        self.0.get(name.index()).into_iter().flat_map(|entry| &entry.holds).map(|(_, at)| *at)
    }

    /// Returns the positions of all issues with a holder.
    pub fn held(&self) -> impl Iterator<Item = usize> {
        self.0.iter().flat_map(|entry| &entry.holds).map(|(_, at)| *at)
    }

    /// Adds the issue at a position, or replaces its former summary. Returns false if an action is gone that may have
    /// been the last one of its agent; then [`find_last`](Self::find_last) has to follow.
    pub fn replace(
        &mut self,
        position: usize,
        former: Option<&IssueSummary>,
        summary: &IssueSummary,
    ) -> bool {
        if let Some(held) = former.and_then(IssueSummary::holder) {
            self.entry(held.agent).holds.remove(&(held.since, position));
        }
        if let Some(held) = summary.holder() {
            self.entry(held.agent).holds.insert((held.since, position));
        }
        let known = former.map_or(&[][..], |former| &former.actions);
        let added = summary.actions.strip_prefix(known);
        self.add_actions(position, added.unwrap_or(&summary.actions));
        added.is_some()
    }

    /// Finds the last action of every agent anew.
    pub fn find_last(&mut self, summaries: &Chunked<Arc<IssueSummary>>) {
        self.0.iter_mut().for_each(|entry| entry.last = None);
        for (position, summary) in summaries.iter().enumerate() {
            self.add_actions(position, &summary.actions);
        }
    }

    fn add_actions(&mut self, position: usize, actions: &[HistoryAction]) {
        for &action in actions {
            let entry = self.entry(action.agent);
            entry.has_claimed |= action.kind.is_claim();
            let rank = |last: &(HistoryAction, usize)| (last.0.at_ms, last.1);
            if entry.last.as_ref().is_none_or(|last| rank(last) <= (action.at_ms, position)) {
                entry.last = Some((action, position));
            }
        }
    }

    fn entry(&mut self, name: Name) -> &mut Entry {
        while self.0.len() <= name.index() {
            self.0.push_back(Entry::default());
        }
        &mut self.0[name.index()]
    }
}
