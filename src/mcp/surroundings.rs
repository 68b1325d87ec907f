//! What the server can tell of beside the issues.

use crate::doctor::Subject;
use crate::setting::SettingRow;

/// What is around the store of a server.
#[derive(Clone)]
pub struct Surroundings {
    /// What is set, without secrets.
    pub settings: Vec<SettingRow>,
    /// What an examination looks at.
    pub subject: Subject,
    /// What calls this program on this store, as a shell reads it.
    pub command: String,
}
