//! A setting with its value and its source, and the file with the settings.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

/// The file with the settings as a server has read it, which may not exist.
#[derive(Clone, Debug, Default)]
pub struct SettingsFile {
    path: PathBuf,
    changed_at: Option<SystemTime>,
}

impl SettingsFile {
    /// Returns the file as it is now.
    pub fn at(path: PathBuf) -> Self {
        let changed_at = Self::changed_at(&path);
        Self { path, changed_at }
    }

    /// Returns what to do if the file has changed since it was read; `None` if it has not.
    pub fn change(&self) -> Option<String> {
        let file = self.path.display();
        (Self::changed_at(&self.path) != self.changed_at).then(|| {
            format!("{file} has changed: start this server again, so that it uses the new settings")
        })
    }

    fn changed_at(path: &Path) -> Option<SystemTime> {
        fs::metadata(path).and_then(|known| known.modified()).ok()
    }
}

/// A setting in effect.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EffectiveSetting {
    pub name: &'static str,
    /// The value, if set.
    pub value: Option<String>,
    /// The source: an argument, a variable, a file or the default.
    pub source: String,
}
