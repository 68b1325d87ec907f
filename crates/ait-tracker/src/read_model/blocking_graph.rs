//! What blocks what around an issue, laid out in columns from left to right.

use std::collections::{HashMap, HashSet, VecDeque};

use super::read_view::ReadView;
use super::summary::IssueSummary;
use ait_domain::{IssueId, LinkKind};

/// The most issues in a graph.
const MAX_NODES: usize = 50;
/// How many further issues are counted.
const MAX_COUNTED: usize = 1_000;

/// The issues that an issue waits for, directly or not, those that wait for it, and what blocks what among them.
#[derive(Debug, Default)]
pub struct BlockingGraph {
    /// The issues, the nearest ones first. The first one is the issue itself.
    pub nodes: Vec<GraphNode>,
    /// The indexes of a blocker and of the issue that it blocks.
    pub edges: Vec<(usize, usize)>,
    /// How many issues were left out.
    pub hidden: usize,
    /// Whether `hidden` is exact, or there are even more.
    pub is_exact: bool,
}

/// An issue in the graph.
#[derive(Clone, Copy, Debug)]
pub struct GraphNode {
    /// The position of the issue in the store.
    pub position: usize,
    /// The column, from 0. A blocker is left of what it blocks, unless they block each other.
    pub column: usize,
    /// The row within the column, from 0.
    pub row: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Blockers,
    Blocked,
}

impl ReadView<'_> {
    /// Returns the graph around an issue; `None` if nothing blocks it and it blocks nothing.
    pub fn blocking_graph(&self, id: IssueId) -> Option<BlockingGraph> {
        let (positions, found) = self.reachable(id);
        if positions.len() < 2 {
            return None;
        }
        let indexes: HashMap<IssueId, usize> =
            positions.iter().map(|at| self.summaries()[*at].id).zip(0..).collect();
        let mut edges = Vec::new();
        for (index, position) in positions.iter().enumerate() {
            let blockers = self.summaries()[*position].attributes.linked(LinkKind::BlockedBy);
            edges.extend(blockers.filter_map(|id| Some((*indexes.get(&id)?, index))));
        }
        let columns = columns(positions.len(), &edges);
        let rows = rows(&columns, &edges);
        let places = positions.iter().zip(columns.iter().zip(rows));
        let nodes =
            places.map(|(&position, (&column, row))| GraphNode { position, column, row }).collect();
        let hidden = found - positions.len();
        Some(BlockingGraph { nodes, edges, hidden, is_exact: hidden < MAX_COUNTED })
    }

    /// Returns the positions of the nearest issues, and how many were found.
    fn reachable(&self, id: IssueId) -> (Vec<usize>, usize) {
        let mut positions = Vec::new();
        let mut seen = HashSet::from([id]);
        let mut open: VecDeque<(IssueId, Option<Direction>)> = VecDeque::from([(id, None)]);
        let mut found = 0;
        while let Some((id, direction)) = open.pop_front()
            && found < MAX_NODES + MAX_COUNTED
        {
            let Some(position) = self.index.ids.get(id) else { continue };
            found += 1;
            if positions.len() < MAX_NODES {
                positions.push(position);
            }
            let summary = &self.summaries()[position];
            for next in [Direction::Blockers, Direction::Blocked] {
                if direction.is_none_or(|direction| direction == next) {
                    let ids = self.next_to(summary, next);
                    open.extend(
                        ids.into_iter().filter(|id| seen.insert(*id)).map(|id| (id, Some(next))),
                    );
                }
            }
        }
        (positions, found)
    }

    fn next_to(&self, summary: &IssueSummary, direction: Direction) -> Vec<IssueId> {
        match direction {
            Direction::Blockers => summary.attributes.linked(LinkKind::BlockedBy).collect(),
            Direction::Blocked => {
                self.index.links.linked_from(LinkKind::BlockedBy, summary.id).collect()
            }
        }
    }
}

/// Returns the column of each node: right of all of its blockers, and blockers close to what they block.
fn columns(count: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut columns: Vec<Option<usize>> = vec![None; count];
    let blockers = |node: usize| edges.iter().filter(move |edge| edge.1 == node).map(|edge| edge.0);
    for _ in 0..count {
        let is_next = |node: &usize| {
            columns[*node].is_none() && blockers(*node).all(|other| columns[other].is_some())
        };
        // Edits by hand can make cycles: these begin at any node.
        let any = || (0..count).find(|node| columns[*node].is_none());
        let Some(node) = (0..count).find(is_next).or_else(any) else { break };
        let last = blockers(node).filter_map(|other| columns[other]).max();
        columns[node] = Some(last.map_or(0, |column| column + 1));
    }
    let mut columns: Vec<usize> = columns.into_iter().flatten().collect();
    for node in (0..count).filter(|node| blockers(*node).next().is_none()) {
        let blocked = edges.iter().filter(|edge| edge.0 == node).map(|edge| columns[edge.1]);
        columns[node] = blocked.min().unwrap_or(0).saturating_sub(1);
    }
    columns
}

/// Returns the row of each node within its column: in the order of its blockers, so that few lines cross.
fn rows(columns: &[usize], edges: &[(usize, usize)]) -> Vec<usize> {
    let mut rows = vec![0; columns.len()];
    for column in 0..=columns.iter().copied().max().unwrap_or(0) {
        let mut nodes: Vec<_> =
            (0..columns.len()).filter(|node| columns[*node] == column).collect();
        let key = |node: &usize| {
            let blockers = edges.iter().filter(|edge| edge.1 == *node && columns[edge.0] < column);
            let (sum, count) = blockers
                .fold((0_usize, 0_usize), |(sum, count), edge| (sum + rows[edge.0], count + 1));
            // The mean, in thousandths.
            (sum * 1_000).checked_div(count).unwrap_or(usize::MAX)
        };
        nodes.sort_by_cached_key(key);
        nodes.iter().enumerate().for_each(|(row, node)| rows[*node] = row);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blockers_are_left_of_what_they_block() {
        // 0 blocks 1 and 3, 1 blocks 2, 4 blocks 2.
        assert_eq!(columns(5, &[(0, 1), (1, 2), (0, 3), (4, 2)]), [0, 1, 2, 1, 1]);
        assert_eq!(rows(&[0, 1, 2, 1, 1], &[(0, 1), (1, 2), (0, 3), (4, 2)]), [0, 0, 0, 1, 2]);
    }

    #[test]
    fn a_cycle_gets_columns_too() {
        assert_eq!(columns(3, &[(0, 1), (1, 0), (1, 2)]), [0, 1, 2]);
        assert_eq!(columns(1, &[(0, 0)]), [0]);
    }
}
