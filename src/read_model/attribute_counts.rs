//! How many issues have each value of an attribute, so that pages offer the filters that find something.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{AttributeValues, Label};

/// The values of attributes, with the number of issues that have them.
#[derive(Clone, Debug, Default)]
pub struct AttributeCounts {
    labels: BTreeMap<Label, usize>,
    assignees: BTreeMap<String, usize>,
    priorities: usize,
    links: usize,
    /// The positions of the parked issues, also of those whose parking is over.
    parked: BTreeSet<usize>,
}

impl AttributeCounts {
    /// Adds the attributes of the issue at a position.
    pub(super) fn add(&mut self, position: usize, attributes: &AttributeValues) {
        attributes.labels.iter().for_each(|label| add(&mut self.labels, label));
        attributes.assignee.iter().for_each(|assignee| add(&mut self.assignees, assignee));
        self.priorities += usize::from(attributes.priority.is_some());
        self.links += attributes.links.len();
        self.parked.extend(attributes.parked.is_some().then_some(position));
    }

    /// Removes the attributes of the issue at a position, which were added before.
    pub(super) fn remove(&mut self, position: usize, attributes: &AttributeValues) {
        attributes.labels.iter().for_each(|label| remove(&mut self.labels, label));
        attributes.assignee.iter().for_each(|assignee| remove(&mut self.assignees, assignee));
        self.priorities -= usize::from(attributes.priority.is_some());
        self.links -= attributes.links.len();
        self.parked.remove(&position);
    }

    /// Returns at most `most` labels, those of the most issues, in alphabetical order.
    pub fn labels(&self, most: usize) -> Vec<&Label> {
        most_common(&self.labels, most)
    }

    /// Returns at most `most` assignees, those of the most issues, in alphabetical order.
    pub fn assignees(&self, most: usize) -> Vec<&str> {
        most_common(&self.assignees, most).into_iter().map(String::as_str).collect()
    }

    /// Returns true if an issue has a priority.
    pub fn has_priorities(&self) -> bool {
        self.priorities > 0
    }

    /// Returns true if an issue has a link.
    pub fn has_links(&self) -> bool {
        self.links > 0
    }

    /// Returns true if an issue is parked.
    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Returns the positions of the parked issues in order, also of those whose parking is over.
    pub(super) fn parked(&self) -> impl Iterator<Item = usize> {
        self.parked.iter().copied()
    }
}

fn add<T: Ord + Clone>(counts: &mut BTreeMap<T, usize>, value: &T) {
    match counts.get_mut(value) {
        Some(count) => *count += 1,
        None => drop(counts.insert(value.clone(), 1)),
    }
}

fn remove<T: Ord>(counts: &mut BTreeMap<T, usize>, value: &T) {
    if let Some(count) = counts.get_mut(value) {
        *count -= 1;
        if *count == 0 {
            counts.remove(value);
        }
    }
}

fn most_common<T: Ord>(counts: &BTreeMap<T, usize>, most: usize) -> Vec<&T> {
    let mut common: Vec<_> = counts.iter().map(|(value, count)| (Reverse(count), value)).collect();
    common.sort_unstable();
    common.truncate(most);
    let mut values: Vec<_> = common.into_iter().map(|(_, value)| value).collect();
    values.sort_unstable();
    values
}
