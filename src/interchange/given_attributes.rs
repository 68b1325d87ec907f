//! The attributes of an issue in columns and keys of their own.

use super::fields::Field;
use super::given::{Fault, Given};
use super::partial_issue::{PartialIssue, is_unset, priority_of};
use super::{ReadOptions, attributes};
use crate::domain::{AttributeValues, Due, Estimate};

impl PartialIssue<'_> {
    /// Returns the attributes in columns and keys of their own, without links.
    pub fn attributes(&self, options: &ReadOptions) -> Result<AttributeValues, Fault> {
        let priority = match self.filled(Field::Priority) {
            None => None,
            Some(given) => {
                let priority = priority_of(given);
                if priority.is_none() && self.is_checked(given, options) {
                    let words = ["0", "1", "2", "3", "4", "highest", "high", "medium", "low"];
                    let words = words.into_iter().chain(["lowest"]);
                    return Err(given.unknown_word(Field::Priority, words));
                }
                priority
            }
        };
        let due = self.due(options)?;
        let estimate = self.estimate(options)?;
        let names = self.of(Field::Labels).flat_map(|given| given.value.names());
        let assignee = self.filled(Field::Assignee);
        Ok(AttributeValues {
            priority,
            labels: attributes::labels_of(names),
            assignee: assignee.and_then(|given| attributes::assignee_of(given.value, self.is_ours)),
            due,
            estimate,
            ..AttributeValues::default()
        })
    }

    /// Returns the due date. Programs that have days alone write the beginning of the day.
    fn due(&self, options: &ReadOptions) -> Result<Option<Due>, Fault> {
        let Some(given) = self.filled(Field::Due) else { return Ok(None) };
        if let Some(due) = given.value.name().and_then(|text| text.trim().parse().ok())
            && self.is_ours
        {
            return Ok(Some(due));
        }
        let time = match given.time(options) {
            Ok(time) => time,
            Err(fault) if self.is_checked(given, options) => return Err(fault),
            Err(_) => None,
        };
        Ok(time.map(Due::of_time))
    }

    fn estimate(&self, options: &ReadOptions) -> Result<Option<Estimate>, Fault> {
        let Some(given) = self.filled(Field::Estimate) else { return Ok(None) };
        let parsed = given.value.name().unwrap_or_default().trim().parse::<Estimate>();
        match parsed {
            Err(error) if self.is_checked(given, options) => {
                Err(given.fault(format_args!("cannot be read: {error}")))
            }
            parsed => Ok(parsed.ok()),
        }
    }

    /// Returns true if a value has to be right: the user speaks of it, or `ait export` wrote it.
    fn is_checked(&self, given: Given<'_>, options: &ReadOptions) -> bool {
        (self.is_ours || options.mapping.mentions(given.name)) && !is_unset(given)
    }
}
