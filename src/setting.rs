//! A setting as whoever shows it needs it.

use serde::Serialize;

/// A setting as it holds now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SettingRow {
    /// Its name.
    pub name: &'static str,
    /// Its value, when somebody gave one.
    pub value: Option<String>,
    /// Who gave it.
    pub source: String,
}
