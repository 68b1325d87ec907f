//! Backups: one file with the whole content of a store at one moment, for any kind of store.
//!
//! [`mod@format`] defines the bytes of the file and verifies its checksum, [`mod@file`] writes it to disk and reads
//! it, and [`difference`] determines what a restore would lose.

pub mod difference;
pub mod file;
pub mod format;
mod stream;

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub use difference::{Difference, IssueSample};
pub use file::{SaveOptions, Saved};
pub use format::{Backup, BackupMetadata};
pub use stream::{BackupReceiver, BackupSender, stream};

use super::IndexedIssues;
use super::files::format::{Document, FormatError};
use ait_domain::{Command, Issue, UnknownKeys};

/// The whole content of a store at one moment.
pub struct BackupContent {
    /// The unknown keys beside the issues.
    pub unknown_keys: UnknownKeys,
    /// The issues in the order of filing.
    pub issues: Box<dyn Iterator<Item = io::Result<Arc<Issue>>> + Send>,
    /// What is damaged, if this is only the readable part.
    pub damage: Option<String>,
}

impl BackupContent {
    /// Returns the content that a document has.
    pub fn of(document: Document, damage: Option<String>) -> Self {
        let issues: Vec<_> = document.issues.issues().map(Ok).collect();
        let issues = Box::new(issues.into_iter());
        Self { unknown_keys: document.unknown_keys, issues, damage }
    }
}

/// How much a restore may lose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverwritePolicy {
    /// Change nothing; only report the difference.
    DryRun,
    /// Lose nothing that the backup lacks.
    Nothing,
    /// Lose anything, but keep what is replaced.
    Everything,
}

/// The result of a restore.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestoreOutcome {
    /// How the restore ended.
    pub result: RestoreResult,
    /// The difference between store and backup; `None` if the store could not be read completely.
    pub difference: Option<Difference>,
    /// What was damaged in the store before, as text.
    pub damage: Option<String>,
    /// The paths of the replaced content.
    pub kept: Vec<PathBuf>,
}

/// How a restore ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RestoreResult {
    /// The store now holds the content of the backup.
    Done,
    /// The store already held the content of the backup. Nothing was changed.
    Unneeded,
    /// Something would be lost without consent. Nothing was changed.
    Refused,
    /// Only the difference was requested.
    DryRun,
}

/// The agent name for the changes of a restore.
const RESTORE_AGENT: &str = "restore";

/// Returns the commands that change issues into those of a document. They must be run in this order.
pub fn restoring(issues: &IndexedIssues, document: &Document) -> Vec<Command> {
    let agent = RESTORE_AGENT.to_owned();
    let mut commands = Vec::new();
    let wanted: Vec<_> = document.issues.issues().collect();
    let mut ours: Vec<_> = issues.issues().map(|issue| issue.id).collect();
    let is_wanted = |id| document.issues.get(id).is_some();
    let mut next = None;
    for id in ours.clone().into_iter().rev() {
        if !is_wanted(id) {
            let issue = id;
            let agent = agent.clone();
            commands.push(Command::RemoveIssue { issue, next, agent });
        } else {
            next = Some(id);
        }
    }
    ours.retain(|id| is_wanted(*id));
    let mut stays: HashSet<_> = ours.iter().copied().collect();
    let order = wanted.iter().map(|issue| issue.id).filter(|id| stays.contains(id));
    if !order.eq(ours.iter().copied()) {
        // The order differs, so all issues are removed and added again in the new order. They are removed from the
        // end, so each is the last one.
        for issue in ours.into_iter().rev() {
            let agent = agent.clone();
            commands.push(Command::RemoveIssue { issue, next: None, agent });
        }
        stays.clear();
    }
    let mut next_that_stays =
        wanted.iter().map(|issue| issue.id).filter(|id| stays.contains(id)).peekable();
    for issue in &wanted {
        let issue = Arc::clone(issue);
        let agent = agent.clone();
        commands.push(if next_that_stays.next_if_eq(&issue.id).is_some() {
            Command::ReplaceIssue { issue, agent }
        } else {
            // Those at the end are appended one after the other, which moves no other issue.
            Command::InsertIssue { issue, next: next_that_stays.peek().copied(), agent }
        });
    }
    let is_removed = |command: &Command| matches!(command, Command::TakeUpClaim { issue, .. } if !stays.contains(issue));
    commands.extend(document.issues.lost_leases(issues).filter(is_removed));
    commands.push(Command::SetUnknownKeys { keys: document.unknown_keys.clone(), agent });
    commands
}

impl RestoreOutcome {
    /// Returns the result if nothing is to be changed, or `None` to go on with the restore.
    pub fn found(policy: OverwritePolicy, difference: Difference) -> Option<Self> {
        let result = match policy {
            _ if difference.is_none() => RestoreResult::Unneeded,
            OverwritePolicy::DryRun => RestoreResult::DryRun,
            OverwritePolicy::Nothing if difference.loses() => RestoreResult::Refused,
            OverwritePolicy::Nothing | OverwritePolicy::Everything => return None,
        };
        let difference = Some(difference);
        let damage = None;
        let kept = Vec::new();
        Some(Self { result, difference, damage, kept })
    }

    /// Returns the result for a store that cannot be read completely, or `None` to go on with the restore.
    pub(super) fn found_damaged(policy: OverwritePolicy, damage: String) -> Option<Self> {
        let result = match policy {
            OverwritePolicy::DryRun => RestoreResult::DryRun,
            OverwritePolicy::Nothing => RestoreResult::Refused,
            OverwritePolicy::Everything => return None,
        };
        let difference = None;
        let damage = Some(damage);
        let kept = Vec::new();
        Some(Self { result, difference, damage, kept })
    }

    /// Returns true if the restore needs consent to lose something.
    pub fn needs_consent(&self) -> bool {
        self.damage.is_some() || self.difference.as_ref().is_some_and(Difference::loses)
    }
}

/// Why a backup could not be written or read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BackupError {
    /// The file already exists.
    #[error("{} exists already: choose another name", .0.display())]
    Exists(PathBuf),
    /// The path belongs to the store.
    #[error("{} belongs to the store itself: choose another name", .0.display())]
    OfTheStore(PathBuf),
    /// The file does not exist.
    #[error("there is no file {}: name a backup, or a copy of issues.json", .0.display())]
    Missing(PathBuf),
    /// The backup could not be written.
    #[error("{}: {cause}: nothing was saved; fix that, or choose another place", path.display())]
    NotSaved {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        cause: Arc<io::Error>,
    },
    /// The backup could not be read.
    #[error("{}: {cause}: nothing was changed; make it readable, or choose another backup", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        cause: Arc<io::Error>,
    },
    /// The checksum of the backup does not match.
    #[error(
        "{} was changed after it was written: its checksum does not match. Nothing was changed; choose \
         another backup, or, if you trust its issues as they are, remove its last key, \"backup\"",
        .0.display()
    )]
    Changed(PathBuf),
    /// The file is no valid backup.
    #[error("{}, {cause}: nothing was changed; choose another backup", path.display())]
    Format {
        /// The path of the file.
        path: PathBuf,
        /// The cause and its position.
        cause: FormatError,
    },
}
