//! What each agent did, and the issues it holds.

use std::cmp::Reverse;

use super::agent_interner::Name;
use super::board::first;
use super::read_view::ReadView;
use super::summary::HistoryAction;
use ait_domain::event::TRACKER;

/// The activity of one agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// The name of the agent.
    pub name: Name,
    /// The positions of the issues it holds, oldest claim first.
    pub holds: Vec<usize>,
    /// Its latest action, and the position of the issue concerned.
    pub last: (HistoryAction, usize),
    /// Whether it ever claimed an issue. People, and those that only file issues, did not.
    pub has_claimed: bool,
}

impl ReadView<'_> {
    /// Returns the names of at most `most` agents, those with the latest actions, latest first.
    pub fn recent_agents(&self, most: usize) -> Vec<&str> {
        let names = self.names();
        let last = |name| self.index.agents.last(name).map(|(action, _)| action.at_ms);
        let recent = first(names.iter().map(|(name, _)| Reverse((last(name), name))), most);
        recent.into_iter().map(|Reverse((_, name))| names.text(name)).collect()
    }

    /// Returns all agents in any history, without the tracker. Agents that hold issues come first; both groups are
    /// sorted by their latest action, newest first.
    pub fn agents(&self) -> Vec<Agent> {
        let names = self.names().iter().filter(|(_, text)| *text != TRACKER).map(|(name, _)| name);
        let mut agents: Vec<_> = names.filter_map(|name| self.agent(name)).collect();
        agents.sort_by(|one, other| {
            let rank = |agent: &Agent| (!agent.holds.is_empty(), agent.last.0.at_ms);
            let by_name = || self.names().text(one.name).cmp(self.names().text(other.name));
            rank(other).cmp(&rank(one)).then_with(by_name)
        });
        agents
    }

    /// Returns an agent; `None` if it is in no history.
    pub fn agent(&self, name: Name) -> Option<Agent> {
        let last = self.index.agents.last(name)?;
        let has_claimed = self.index.agents.has_claimed(name);
        Some(Agent { name, holds: self.index.agents.held_by(name).collect(), last, has_claimed })
    }
}
