//! What each agent has done and holds.

use super::digest::{Act, Deed};
use super::names::Name;
use super::survey::Survey;

/// One agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agent {
    /// Its name.
    pub name: Name,
    /// The positions of the issues that it holds, the oldest claim first.
    pub holds: Vec<usize>,
    /// What it did last, and the position of the issue to which it did that.
    pub last: (Act, usize),
    /// How often it did what.
    deeds: [usize; Deed::ALL.len()],
}

impl Agent {
    /// How often it did something.
    pub fn count(&self, deed: Deed) -> usize {
        self.deeds[deed as usize]
    }
}

impl Survey<'_> {
    /// The names of so many agents at most, those that did something last.
    pub fn recent_agents(&self, most: usize) -> Vec<&str> {
        let names = self.names();
        if names.len() <= most {
            return names.iter().map(|(_, text)| text).collect();
        }
        let mut last: Vec<_> = names.iter().map(|(name, _)| (None, name)).collect();
        for act in self.digests().iter().flat_map(|digest| &digest.acts) {
            let (at, _) = &mut last[act.agent.index()];
            *at = (*at).max(Some(act.at));
        }
        last.select_nth_unstable_by(most, |one, other| other.cmp(one));
        last[..most].iter().map(|&(_, name)| names.text(name)).collect()
    }

    /// All agents that have done anything: those that hold issues first, then by what they did last,
    /// the latest first.
    pub fn agents(&self) -> Vec<Agent> {
        let mut agents: Vec<Option<Agent>> = vec![None; self.names().len()];
        for (position, digest) in self.digests().iter().enumerate() {
            for &act in &digest.acts {
                let agent = agents[act.agent.index()].get_or_insert_with(|| Agent {
                    name: act.agent,
                    holds: Vec::new(),
                    last: (act, position),
                    deeds: [0; Deed::ALL.len()],
                });
                agent.deeds[act.deed as usize] += 1;
                if act.at >= agent.last.0.at {
                    agent.last = (act, position);
                }
            }
            if let Some(held) = digest.holder()
                && let Some(agent) = &mut agents[held.agent.index()]
            {
                agent.holds.push(position);
            }
        }
        let mut agents: Vec<_> = agents.into_iter().flatten().collect();
        for agent in &mut agents {
            let since = |position: &usize| self.digests()[*position].holder().map(|it| it.since);
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
