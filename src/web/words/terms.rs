//! What every page calls things.

use crate::domain::{Classification, Status};

/// Names and measures.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// A status.
    pub status: fn(Status) -> &'static str,
    /// A kind of work.
    pub classification: fn(Classification) -> &'static str,
    /// A span of so many milliseconds, up to now.
    pub span: fn(u64) -> String,
    /// When something was that is so many milliseconds past.
    pub ago: fn(u64) -> String,
    /// How often an issue went back into the queue.
    pub returned: fn(usize) -> String,
    /// The name of the list of all issues.
    pub issues: &'static str,
    /// The name of the whole site.
    pub site: &'static str,
}
