//! Which issues can match a condition, as far as indexes tell.

use super::positions::Positions;
use super::read_view::ReadView;
use super::rows::Row;
use crate::domain::{Condition, LinkKind};

/// The issues that can match a condition.
pub(super) struct Candidates {
    pub positions: Positions,
    /// Whether all of them match.
    pub is_exact: bool,
}

impl ReadView<'_> {
    /// Returns the issues that can match a condition; `None` if no index knows.
    pub(super) fn candidates(&self, condition: &Condition) -> Option<Candidates> {
        let attributes = &self.index.attributes;
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
            Condition::Not(one) => {
                let known = self.candidates(one).filter(|known| known.is_exact)?;
                Some(Candidates { positions: known.positions.not(), is_exact: true })
            }
            Condition::Parked(_) => {
                Some(Candidates { positions: self.at(attributes.parked()), is_exact: false })
            }
            Condition::Blocked => {
                Some(Candidates { positions: self.at(attributes.linked()), is_exact: false })
            }
            one => {
                let positions = self.of_rows(one).or_else(|| self.of_indexes(one));
                positions.map(|positions| Candidates { positions, is_exact: true })
            }
        }
    }

    /// Returns the issues that match a condition; `None` if the rows do not tell.
    fn of_rows(&self, condition: &Condition) -> Option<Positions> {
        Some(match condition {
            Condition::Status(statuses) => self.with_row(|row| statuses.contains(row.status)),
            Condition::Classification(kind) => self.with_row(|row| row.classification == *kind),
            Condition::Priority(range) => self.with_row(|row| range.contains(&row.priority)),
            Condition::Returns(range) => self.with_row(|row| range.contains(&row.returns)),
            Condition::Created(times) => self.with_row(|row| times.contains(&row.created_at)),
            Condition::Active(times) => self.with_row(|row| times.contains(&row.active_at)),
            Condition::Changed(times) => self.with_row(|row| times.contains(&row.modified_at)),
            Condition::Holder(None) => self.with_row(|row| !row.is_held),
            _ => return None,
        })
    }

    /// Returns the issues that match a condition; `None` if no index has them.
    fn of_indexes(&self, condition: &Condition) -> Option<Positions> {
        let (agents, attributes) = (&self.index.agents, &self.index.attributes);
        let name = |text: &str| self.names().find(text).into_iter();
        Some(match condition {
            Condition::Label(Some(label)) => self.at(attributes.with_label(label)),
            Condition::Assignee(Some(agent)) => self.at(attributes.assigned_to(agent)),
            Condition::Involves(agent) => {
                let touched = name(agent).flat_map(|name| agents.touched_by(name));
                self.at(touched.chain(attributes.assigned_to(agent)))
            }
            Condition::Holder(Some(agent)) => {
                self.at(name(agent).flat_map(|name| agents.held_by(name)))
            }
            Condition::Parent(None) => self.at(attributes.parts()).not(),
            Condition::Parent(Some(ids)) => self.at(self.issues.linked_to(LinkKind::Parent, ids)),
            Condition::BlockedBy(ids) => self.at(self.issues.linked_to(LinkKind::BlockedBy, ids)),
            Condition::Blocks(ids) => {
                let blocked = self.issues.positions(ids).map(|at| &self.summaries()[at]);
                let blockers =
                    blocked.flat_map(|issue| issue.attributes.linked(LinkKind::BlockedBy));
                self.at(blockers.filter_map(|id| self.issues.position_of(id)))
            }
            Condition::Id(ids) => self.at(self.issues.positions(ids)),
            Condition::Ids(ids) => {
                self.at(ids.iter().filter_map(|id| self.issues.position_of(*id)))
            }
            Condition::Ready(now) => self.at(self.issues.ready(*now)),
            _ => return None,
        })
    }

    fn at(&self, positions: impl Iterator<Item = usize>) -> Positions {
        Positions::of(self.summaries().len(), positions)
    }

    fn with_row(&self, fits: impl Fn(&Row) -> bool) -> Positions {
        let rows = self.index.rows.iter().enumerate();
        self.at(rows.filter(|(_, row)| fits(row)).map(|(at, _)| at))
    }
}
