//! How many issues have each value of an attribute, so that pages offer the filters that find something.

use std::cmp::Reverse;

use imbl::{OrdMap, OrdSet};

use super::summary::IssueSummary;
use ait_domain::{AgentName, AttributeValues, Estimate, FieldValue, Label, ValueField};

/// The values of attributes. A clone shares all data.
#[derive(Clone, Debug, Default)]
pub struct AttributeIndex {
    labels: Values<Label>,
    assignees: Values<AgentName>,
    values: Values<ValueField>,
    /// The positions of the parked issues, also of those whose parking is over.
    parked: OrdSet<usize>,
}

/// How many issues have each value.
type Values<T> = OrdMap<T, usize>;

/// How many parts an issue has, and how many of them have ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// The number of parts that have ended.
    pub ended: usize,
    /// The number of parts, at least 1.
    pub total: usize,
    /// The sum of the estimates of the parts.
    pub estimate: Estimate,
}

impl AttributeIndex {
    /// Adds the attributes of the issue at a position.
    pub(super) fn add(&mut self, position: usize, summary: &IssueSummary) {
        let attributes = &summary.attributes;
        attributes.labels.iter().for_each(|label| add(&mut self.labels, label));
        attributes.assignee.iter().for_each(|name| add(&mut self.assignees, name));
        given(attributes).for_each(|field| add(&mut self.values, field));
        if attributes.parked.is_some() {
            self.parked.insert(position);
        }
    }

    /// Removes the attributes of the issue at a position, which were added before.
    pub(super) fn remove(&mut self, position: usize, summary: &IssueSummary) {
        let attributes = &summary.attributes;
        attributes.labels.iter().for_each(|label| remove(&mut self.labels, label));
        attributes.assignee.iter().for_each(|name| remove(&mut self.assignees, name));
        given(attributes).for_each(|field| remove(&mut self.values, field));
        self.parked.remove(&position);
    }

    /// Returns at most `most` labels, those of the most issues, in alphabetical order.
    pub fn labels(&self, most: usize) -> Vec<&Label> {
        most_common(&self.labels, most)
    }

    /// Returns at most `most` assignees, those of the most issues, in alphabetical order.
    pub fn assignees(&self, most: usize) -> Vec<&str> {
        most_common(&self.assignees, most).into_iter().map(AgentName::as_str).collect()
    }

    /// Returns true if an issue has a value in a field.
    pub fn has(&self, field: ValueField) -> bool {
        self.values.contains_key(&field)
    }

    /// Returns true if an issue is parked.
    pub fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Returns the positions of the parked issues in order, also of those whose parking is over.
    pub(super) fn parked(&self) -> impl Iterator<Item = usize> {
        self.parked.iter().copied()
    }

    /// Returns true if the issue at a position is parked, or was until some time.
    pub(super) fn is_parked(&self, position: usize) -> bool {
        self.parked.contains(&position)
    }
}

/// Returns the fields that have a value.
fn given(attributes: &AttributeValues) -> impl Iterator<Item = &'static ValueField> {
    ValueField::ALL.iter().filter(|field| !FieldValue::of(**field, attributes).is_none())
}

fn add<T: Ord + Clone>(values: &mut Values<T>, value: &T) {
    *values.entry(value.clone()).or_default() += 1;
}

fn remove<T: Ord + Clone>(values: &mut Values<T>, value: &T) {
    let left = values.get(value).map_or(0, |count| count - 1);
    match left {
        0 => drop(values.remove(value)),
        left => drop(values.insert(value.clone(), left)),
    }
}

fn most_common<T: Ord>(values: &Values<T>, most: usize) -> Vec<&T> {
    let mut common: Vec<_> = values.iter().map(|(value, count)| (Reverse(*count), value)).collect();
    common.sort_unstable();
    common.truncate(most);
    let mut values: Vec<_> = common.into_iter().map(|(_, value)| value).collect();
    values.sort_unstable();
    values
}
