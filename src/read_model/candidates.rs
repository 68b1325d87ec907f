//! Which issues can match a condition, as far as indexes tell.

use super::positions::Positions;
use super::read_view::ReadView;
use super::rows::Row;
use crate::domain::Condition;

/// The issues that can match a condition.
pub(super) struct Candidates {
    pub positions: Positions,
    /// Whether all of them match.
    pub is_exact: bool,
}

impl ReadView<'_> {
    /// Returns the issues that can match a condition; `None` if no index knows.
    pub(super) fn candidates(&self, condition: &Condition) -> Option<Candidates> {
        let (agents, attributes) = (&self.index.agents, &self.index.attributes);
        let name = |text: &str| self.names().find(text);
        let exactly = |positions| Some(Candidates { positions, is_exact: true });
        match condition {
            Condition::All(all) => {
                let known: Vec<_> = all.iter().filter_map(|one| self.candidates(one)).collect();
                let is_exact = known.len() == all.len() && known.iter().all(|one| one.is_exact);
                let positions = known.into_iter().map(|one| one.positions).reduce(Positions::and);
                positions.map(|positions| Candidates { positions, is_exact })
            }
            Condition::Any(any) => {
                let known: Option<Vec<_>> = any.iter().map(|one| self.candidates(one)).collect();
                let known = known?;
                let is_exact = known.iter().all(|one| one.is_exact);
                let positions = known.into_iter().map(|one| one.positions).reduce(Positions::or);
                positions.map(|positions| Candidates { positions, is_exact })
            }
            Condition::Status(statuses) => {
                exactly(self.with_row(|row| statuses.contains(row.status)))
            }
            Condition::Classification(kind) => {
                exactly(self.with_row(|row| row.classification == *kind))
            }
            Condition::Priority(range) => {
                exactly(self.with_row(|row| range.contains(&row.priority)))
            }
            Condition::Changed(times) => {
                exactly(self.with_row(|row| times.contains(&row.modified_at)))
            }
            Condition::Label(Some(label)) => exactly(self.at(attributes.with_label(label))),
            Condition::Assignee(Some(agent)) => exactly(self.at(attributes.assigned_to(agent))),
            Condition::Involves(agent) => {
                let touched = name(agent).into_iter().flat_map(|name| agents.touched_by(name));
                exactly(self.at(touched.chain(attributes.assigned_to(agent))))
            }
            Condition::Holder(Some(agent)) => {
                exactly(self.at(name(agent).into_iter().flat_map(|name| agents.held_by(name))))
            }
            Condition::Ready(now) => exactly(self.at(self.issues.ready(*now))),
            Condition::Parked(_) => {
                Some(Candidates { positions: self.at(attributes.parked()), is_exact: false })
            }
            Condition::Blocked => {
                Some(Candidates { positions: self.at(attributes.linked()), is_exact: false })
            }
            _ => None,
        }
    }

    fn at(&self, positions: impl Iterator<Item = usize>) -> Positions {
        Positions::of(self.summaries().len(), positions)
    }

    fn with_row(&self, fits: impl Fn(&Row) -> bool) -> Positions {
        let rows = self.index.rows.iter().enumerate();
        self.at(rows.filter(|(_, row)| fits(row)).map(|(at, _)| at))
    }
}
