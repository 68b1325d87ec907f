//! What a run of a sync did, and why it ended early.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ait_domain::IssueId;
use ait_tracker::StoreError;

use crate::remote::RemoteError;

/// How many problems a report names.
const MAX_PROBLEMS: usize = 20;

/// What a run did, or would do.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The issues that came in for the first time.
    pub imported: usize,
    /// The issues that changed here.
    pub changed_here: usize,
    /// The issues that were filed there.
    pub filed_there: usize,
    /// The issues that changed there.
    pub changed_there: usize,
    pub comments_here: usize,
    pub comments_there: usize,
    /// The links that were made or removed here.
    pub links_here: usize,
    /// The issues with fields that both sides changed.
    pub conflicts: BTreeSet<IssueId>,
    /// What could not be done with single issues.
    pub problems: Vec<String>,
    /// How many more problems there were.
    pub more_problems: usize,
}

impl Report {
    pub(crate) fn problem(&mut self, problem: String) {
        if self.problems.contains(&problem) {
            return;
        }
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
    }

    /// Returns what was done in one line.
    pub fn summary(&self) -> String {
        let parts = [
            (self.imported, "new here"),
            (self.changed_here, "changed here"),
            (self.filed_there, "filed there"),
            (self.changed_there, "changed there"),
            (self.comments_here, "comments received"),
            (self.comments_there, "comments sent"),
            (self.links_here, "links changed here"),
            (self.conflicts.len(), "with conflicts"),
        ];
        let parts = parts.iter().filter(|(count, _)| *count > 0);
        let parts: Vec<_> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        if parts.is_empty() { "nothing new".to_owned() } else { parts.join(", ") }
    }
}

/// Why a run ended early. What was done until then stays, and the next run goes on.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("another process on this machine runs this sync: wait until it has ended")]
    Running,
    #[error("{} cannot be used: {reason}", .directory.display())]
    File { directory: PathBuf, reason: String },
    #[error("an issue changes faster than it can be merged: run the sync again")]
    Busy,
}
