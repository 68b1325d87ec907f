//! A setting with its value and its source.

use serde::Serialize;

/// A setting in effect.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EffectiveSetting {
    pub name: &'static str,
    /// The value, if set.
    pub value: Option<String>,
    /// The source: an argument, a variable, a file or the default.
    pub source: String,
}
