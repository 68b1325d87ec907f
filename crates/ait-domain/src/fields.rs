//! The fields of an issue: the table that every face reads.
//!
//! [`FIELDS`] names all of them, in the order of `issues.json`. A [`ValueField`] has one value or none; what faces need
//! to know about it, such as how to parse, show and compare its values, is said here alone. Changes, merges, exports,
//! searches, options of commands, parameters of tools, forms and pages go through it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::attributes::AttributeValues;
use super::budget::Budget;
use super::due::Due;
use super::estimate::Estimate;
use super::touches::Touches;
use super::{AgentName, DomainError, Priority};
use crate::string_enum;

/// The fields of an issue as `issues.json` and field selections call them, in its order, each with its own fields.
pub const FIELDS: &[(&str, &[&str])] = &[
    ("id", &[]),
    ("title", &[]),
    ("description", &[]),
    ("classification", &[]),
    ("createdAt", &[]),
    ("modifiedAt", &[]),
    ("status", &[]),
    ("history", &["timestamp", "agent", "action", "work", "check"]),
    ("comments", &["timestamp", "agent", "text"]),
    ("priority", &[]),
    ("labels", &[]),
    ("assignee", &[]),
    ("links", &["kind", "to"]),
    ("parked", &["reason", "since", "by", "until", "question"]),
    ("due", &[]),
    ("estimate", &[]),
    ("touches", &[]),
    ("budget", &[]),
    ("claim", &["agent", "number", "since"]),
];

/// Returns the names of the fields that every issue has. They come first.
pub fn required_fields() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|(name, _)| *name).take_while(|name| *name != ValueField::Priority.as_str())
}

/// Defines the fields that have one value or none. A row has the field, the type of its values, its name, its member of
/// [`AttributeValues`], what its values are called in the help of commands, and its meaning without a full stop.
macro_rules! value_fields {
    ($($field:ident($type:ty) = $name:literal, $member:ident, $value_name:literal, $meaning:literal;)+) => {
        string_enum! {
            /// A field that has one value or none.
            pub enum ValueField {
                $(#[doc = $meaning] $field = $name,)+
            }
        }

        impl ValueField {
            /// Returns what the field means, without a full stop.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Self::$field => $meaning,)+
                }
            }

            /// Returns what its values are, for the help of commands.
            pub fn value_name(self) -> &'static str {
                match self {
                    $(Self::$field => $value_name,)+
                }
            }
        }

        /// A [`ValueField`] with its value, or without one.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum FieldValue {
            $(#[doc = $meaning] $field(Option<$type>),)+
        }

        impl FieldValue {
            /// Returns the field.
            pub fn field(&self) -> ValueField {
                match self {
                    $(Self::$field(_) => ValueField::$field,)+
                }
            }

            /// Returns what an issue with these attributes has in a field.
            pub fn of(field: ValueField, values: &AttributeValues) -> Self {
                match field {
                    $(ValueField::$field => Self::$field(values.$member.clone()),)+
                }
            }

            /// Gives the attributes of an issue this value.
            pub fn set(&self, values: &mut AttributeValues) {
                match self {
                    $(Self::$field(value) => values.$member.clone_from(value),)+
                }
            }

            /// Parses a value as people, tools and files write it. A text without a character but spaces is no value.
            ///
            /// # Errors
            ///
            /// What is expected.
            pub fn parse(field: ValueField, text: &str) -> Result<Self, DomainError> {
                let text = text.trim();
                if text.is_empty() {
                    return Ok(Self::none(field));
                }
                Ok(match field {
                    $(ValueField::$field => Self::$field(Some(text.parse()?)),)+
                })
            }
        }

        /// Shows the value as [`FieldValue::parse`] takes it, and nothing without one.
        impl fmt::Display for FieldValue {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$field(value) => value.as_ref().map_or(Ok(()), |value| value.fmt(f)),)+
                }
            }
        }

        /// As in `issues.json`; `null` without a value.
        impl Serialize for FieldValue {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$field(value) => value.serialize(serializer),)+
                }
            }
        }
    };
}

value_fields! {
    Priority(Priority) = "priority", priority, "NUMBER",
        "The priority: 0 is first, 4 is last; an issue without one counts as 2";
    Assignee(AgentName) = "assignee", assignee, "NAME",
        "The agent that the issue is for; no other agent gets it";
    Due(Due) = "due", due, "DATE", "The day or the time at which it should have ended";
    Estimate(Estimate) = "estimate", estimate, "NUMBER",
        "How much work it is, in the team's own unit";
    Touches(Touches) = "touches", touches, "PATHS",
        "The files that the work changes, such as src/store, docs/*.md";
    Budget(Budget) = "budget", budget, "COST",
        "What it may cost, such as 2 USD, or use, such as 500k tokens, before it is parked";
}

impl ValueField {
    /// Returns true for those that few issues have: what their work is expected to take.
    pub fn is_rare(self) -> bool {
        matches!(self, Self::Estimate | Self::Touches | Self::Budget)
    }
}

impl FieldValue {
    /// Returns a field without a value.
    pub fn none(field: ValueField) -> Self {
        Self::of(field, &AttributeValues::default())
    }

    /// Returns a number by which searches compare the value: of a due date its end in milliseconds since 1970, of an
    /// estimate its hundredths. Of paths and budgets it only tells that there are some. The others have conditions of
    /// their own.
    pub fn rank(&self) -> Option<i64> {
        match self {
            Self::Priority(_) | Self::Assignee(_) => None,
            Self::Due(due) => due.map(|due| due.end().unix_millis()),
            Self::Estimate(estimate) => {
                estimate.and_then(|own| i64::try_from(own.hundredths()).ok())
            }
            Self::Touches(touches) => touches.as_ref().map(|_| 1),
            Self::Budget(budget) => budget.map(|_| 1),
        }
    }

    /// Returns this value, or another one if there is none.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        if self.is_none() { other } else { self }
    }

    /// Returns true if there is no value.
    pub fn is_none(&self) -> bool {
        *self == Self::none(self.field())
    }
}

impl AttributeValues {
    /// Returns the names of the fields that are set, as `issues.json` spells them.
    pub fn set_fields(&self) -> Vec<&'static str> {
        self.changed_fields(&Self::default())
    }

    /// Returns the names of the fields in which two versions differ, as `issues.json` spells them.
    pub fn changed_fields(&self, other: &Self) -> Vec<&'static str> {
        let is_changed = |name: &&str| match *name {
            "labels" => self.labels != other.labels,
            "links" => self.links != other.links,
            "parked" => self.parked != other.parked,
            name => ValueField::from_word(name)
                .is_some_and(|field| FieldValue::of(field, self) != FieldValue::of(field, other)),
        };
        FIELDS.iter().map(|(name, _)| *name).filter(is_changed).collect()
    }

    /// Takes the value of each field in which this has none from others. A field of the lifecycle, `parked`, stays.
    pub fn fill_from(&mut self, others: &Self) {
        if self.labels.is_empty() {
            self.labels.clone_from(&others.labels);
        }
        if self.links.is_empty() {
            self.links.clone_from(&others.links);
        }
        for field in ValueField::ALL {
            FieldValue::of(*field, self).or(FieldValue::of(*field, others)).set(self);
        }
    }
}

/// Values by the names of their fields, as JSON has them: texts or numbers, and `null` or `none` for no value.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FieldValues(pub Vec<FieldValue>);

/// The word that removes a value.
const NONE: &str = "none";

impl<'de> Deserialize<'de> for FieldValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let value = |(name, value): (String, serde_json::Value)| {
            let field: ValueField = name.parse().map_err(|_| format!("unknown field `{name}`"))?;
            let text = match value {
                serde_json::Value::Null => String::new(),
                serde_json::Value::String(text) if text == NONE => String::new(),
                serde_json::Value::String(text) if text.trim().is_empty() => {
                    return Err(format!("`{name}` is empty"));
                }
                serde_json::Value::String(text) => text,
                other => other.to_string(),
            };
            FieldValue::parse(field, &text).map_err(|error| error.to_string())
        };
        given.into_iter().map(value).collect::<Result<_, _>>().map(Self).map_err(de::Error::custom)
    }
}
