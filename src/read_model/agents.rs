//! What each agent did, and the issues it holds.

use super::agent_interner::Name;
use super::read_view::ReadView;
use super::summary::HistoryAction;

/// The activity of one agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// The name of the agent.
    pub name: Name,
    /// The positions of the issues it holds, oldest claim first.
    pub holds: Vec<usize>,
    /// Its latest action, and the position of the issue concerned.
    pub last: (HistoryAction, usize),
}

impl ReadView<'_> {
    /// Returns the names of at most `most` agents, those with the latest actions.
    pub fn recent_agents(&self, most: usize) -> Vec<&str> {
        let names = self.names();
        if names.len() <= most {
            return names.iter().map(|(_, text)| text).collect();
        }
        let mut last: Vec<_> = names.iter().map(|(name, _)| (None, name)).collect();
        for action in self.summaries().iter().flat_map(|summary| &summary.actions) {
            let (at, _) = &mut last[action.agent.index()];
            *at = (*at).max(Some(action.at));
        }
        last.select_nth_unstable_by(most, |one, other| other.cmp(one));
        last[..most].iter().map(|&(_, name)| names.text(name)).collect()
    }

    /// Returns all agents in any history. Agents that hold issues come first; both groups are sorted by their latest
    /// action, newest first.
    pub fn agents(&self) -> Vec<Agent> {
        let mut agents: Vec<Option<Agent>> = vec![None; self.names().len()];
        for (position, summary) in self.summaries().iter().enumerate() {
            for &action in &summary.actions {
                let agent = agents[action.agent.index()].get_or_insert_with(|| Agent {
                    name: action.agent,
                    holds: Vec::new(),
                    last: (action, position),
                });
                if action.at >= agent.last.0.at {
                    agent.last = (action, position);
                }
            }
            if let Some(held) = summary.holder()
                && let Some(agent) = &mut agents[held.agent.index()]
            {
                agent.holds.push(position);
            }
        }
        let mut agents: Vec<_> = agents.into_iter().flatten().collect();
        for agent in &mut agents {
            let since =
                |position: &usize| self.summaries()[*position].holder().map(|claim| claim.since);
            agent.holds.sort_by_key(since);
        }
        agents.sort_by(|one, other| {
            let rank = |agent: &Agent| (!agent.holds.is_empty(), agent.last.0.at);
            let by_name = || self.names().text(one.name).cmp(self.names().text(other.name));
            rank(other).cmp(&rank(one)).then_with(by_name)
        });
        agents
    }
}
