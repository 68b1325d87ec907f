//! The attributes of an issue in columns and keys of their own.

use super::fields::Field;
use super::given::{Fault, Given};
use super::partial_issue::{PartialIssue, is_unset};
use super::{ReadOptions, attributes, words};
use ait_domain::{AttributeValues, Due, FieldValue, ValueField};

/// The words for a priority that an error names.
const PRIORITIES: [&str; 10] =
    ["0", "1", "2", "3", "4", "highest", "high", "medium", "low", "lowest"];

impl PartialIssue<'_> {
    /// Returns the attributes in columns and keys of their own, without links.
    pub fn attributes(&self, options: &ReadOptions) -> Result<AttributeValues, Fault> {
        let names = self.of(Field::Labels).flat_map(|given| given.value.names());
        let labels = attributes::labels_of(names);
        let mut attributes = AttributeValues { labels, ..AttributeValues::default() };
        for field in ValueField::ALL {
            let Some(given) = self.filled(Field::Value(*field)) else { continue };
            match self.value(*field, given, options) {
                Ok(value) => value.set(&mut attributes),
                // It has to be right if the user speaks of it, or if `ait export` wrote it.
                Err(fault)
                    if (self.is_ours || options.mapping.mentions(given.name))
                        && !is_unset(given) =>
                {
                    return Err(fault);
                }
                Err(_) => {}
            }
        }
        Ok(attributes)
    }

    /// Parses a value of a field in the words of other programs.
    fn value(
        &self,
        field: ValueField,
        given: Given<'_>,
        options: &ReadOptions,
    ) -> Result<FieldValue, Fault> {
        let text = given.value.name().unwrap_or_default();
        let ours = FieldValue::parse(field, &text);
        Ok(match (field, ours) {
            (ValueField::Assignee, _) => {
                FieldValue::Assignee(attributes::assignee_of(given.value, self.is_ours))
            }
            (ValueField::Priority, _) => {
                let unknown = || given.unknown_word(Field::Value(field), PRIORITIES.into_iter());
                FieldValue::Priority(Some(words::priority_of(&text).ok_or_else(unknown)?))
            }
            // Programs that have days alone write the beginning of the day.
            (ValueField::Due, ours) if ours.is_err() || !self.is_ours => {
                FieldValue::Due(given.time(options)?.map(Due::of_time))
            }
            (_, ours) => {
                ours.map_err(|error| given.fault(format_args!("cannot be read: {error}")))?
            }
        })
    }
}
