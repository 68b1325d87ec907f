//! What must not go unnoticed.

/// A duty that the disk neglects on purpose, or lets the store neglect, so that a test can show that it would
/// be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Neglect {
    #[default]
    Nothing,
    /// Syncs of journals do nothing.
    SyncData,
    /// Syncs of journals are done when their caller has gone on already.
    LateSync,
    /// Syncs of temporary files do nothing.
    SyncTemp,
    /// Syncs of directories do nothing.
    SyncDirectory,
    /// Nobody is told that a sync of a file has failed.
    FailedSync,
    /// Files are not cut.
    Truncate,
    /// Intents are not written.
    Intent,
    /// Every journal gets the same epoch.
    Epoch,
    /// Locks and claims are given to everybody.
    Lock,
    /// What dead processes left is not removed.
    Cleaning,
    /// Nobody sees what others append.
    CatchingUp,
    /// What somebody has edited by hand is not found.
    Edit,
    /// What somebody has saved just before `issues.json` is replaced goes with what is replaced.
    Displaced,
    /// The name of a temporary file does not tell what may stand under it.
    Mark,
}
