//! A value with its name in the file, and what can be wrong with it.

use super::fields::{Field, Meaning};
use super::times::{self, TimeError};
use super::value::Value;
use super::{Blamed, Content, ReadOptions};
use ait_domain::text::shortened;
use ait_domain::{DomainError, Status, Timestamp};

const SHOWN_CHARS: usize = 60;

/// A value with its name in the file.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub name: &'a str,
    pub field: Option<Field>,
    pub value: Value<'a>,
}

/// The reason why values are no issue.
pub(super) struct Fault {
    /// The column or key, if one is to blame.
    pub blamed: Option<Blamed>,
    pub reason: String,
}

impl Fault {
    /// Returns a fault for which no column is to blame.
    pub fn of(reason: String) -> Self {
        Self { blamed: None, reason }
    }

    /// Returns a refused entry.
    pub fn refused(self, id: Option<String>, title: Option<String>) -> Content {
        Content::Refused { id, title, reason: self.reason, blamed: self.blamed }
    }
}

impl From<DomainError> for Fault {
    fn from(error: DomainError) -> Self {
        Self::of(error.to_string())
    }
}

impl<'a> Given<'a> {
    /// Returns the value, unless it is to be ignored.
    pub fn new(name: &'a str, meaning: Meaning, value: Value<'a>) -> Option<Self> {
        let field = match meaning {
            Meaning::Field(field) => Some(field),
            Meaning::Other => None,
            Meaning::Ignored => return None,
        };
        Some(Self { name, field, value })
    }

    /// Returns what to tell about a value that is read as a status, for a reason.
    pub fn read_as(self, status: Status, why: &str) -> String {
        let name = shortened(self.name, SHOWN_CHARS);
        format!("{name} {} is read as {status}, {why}", self.value.shown())
    }

    /// Returns the time; `None` for what stands for no time.
    pub fn time(self, options: &ReadOptions) -> Result<Option<Timestamp>, Fault> {
        let text = self.value.name();
        if text.as_deref().is_some_and(times::is_none) {
            return Ok(None);
        }
        let time = text.ok_or(TimeError::Unknown);
        let time = time.and_then(|text| times::parse(&text, options.date_order));
        let shown = self.value.shown();
        time.map(Some).map_err(|error| match error {
            TimeError::Unknown => self.fault(format_args!(
                "is {shown}, which is not a time: write it as 2026-01-31T09:30:00Z or 2026-01-31"
            )),
            TimeError::Ambiguous => self.fault(format_args!(
                "is {shown}, where day and month may be either way round: write it as 2026-01-31"
            )),
        })
    }

    pub fn fault(self, problem: impl std::fmt::Display) -> Fault {
        let reason = format!("{} {problem}", shortened(self.name, SHOWN_CHARS));
        Fault { blamed: Some(Blamed { column: self.name.to_owned(), unknown: None }), reason }
    }

    /// Returns the fault of a value that is none of the words of a field.
    pub fn unknown_word<'w>(self, field: Field, words: impl Iterator<Item = &'w str>) -> Fault {
        let words = words.collect::<Vec<_>>().join(", ");
        let mut fault = self.fault(format_args!("is {}: write one of {words}", self.value.shown()));
        if let Some(blamed) = &mut fault.blamed {
            blamed.unknown = Some((field, self.value.name()));
        }
        fault
    }
}
