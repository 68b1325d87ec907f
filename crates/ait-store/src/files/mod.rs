//! What stands beside the database of a store in files: `issues.json`, which is a rendering that people may edit,
//! locks, and the quarantine.
//!
//! | file | contents |
//! |---|---|
//! | `issues.json` | all issues in the order in which they were filed |
//! | `.ait/<name>/queue.db`, `-wal`, `-shm` | the database: issues, events, and what searches need |
//! | `.ait/<name>/turn.lock` | the lock for changing it |
//! | `.ait/<name>/published` | the note: position and fingerprint of the last published `issues.json` |
//! | `.ait/<name>/published.lock` | the lock for replacing `published` and `issues.json` together |
//! | `.ait/<name>/publish.lock` | the lock for writing `issues.json` |
//! | `.ait/<name>/kept/` | quarantine: files that are kept for people |
//! | `.ait/<name>/processes/` | the process registry |
//! | `.ait/<name>/clients/` | the clients that hold claims |
//!
//! `fs` is the disk as a store sees it, `format` the text of `issues.json`, `open` reads the file, and `publish`
//! replaces it with a `render`ing. `published_note` knows which content is ours, so that `edits` finds what is not, and
//! `skim` reads that as a stream.
//!
//! # The files
//!
//! * `paths.rs`, `options.rs`, `support.rs`: where the files are; options and helpers
//! * `open.rs`, `format.rs`, `issue_scanner.rs`: reading `issues.json`, issue by issue if it is invalid
//! * `publish.rs`, `render.rs`, `published_note.rs`, `schedule.rs`: replacing `issues.json`, and the note of what it
//!   shows
//! * `edits.rs`, `skim.rs`, `merge_files.rs`, `merge_state.rs`, `quarantine.rs`: reading edits; the versions that git
//!   merges; files that are kept
//! * `lock_check.rs`, `fs/`: the check of the file system, which is a trait, so that tests can make it fail

pub(super) mod edits;
pub mod format;
pub mod fs;
pub(super) mod issue_scanner;
pub mod lock_check;
pub mod merge_files;
pub(super) mod merge_state;
pub(super) mod open;
mod options;
pub mod paths;
pub(super) mod publish;
pub(super) mod published_note;
pub(super) mod quarantine;
pub(crate) mod render;
pub(super) mod schedule;
pub(super) mod skim;
pub(super) mod support;

pub use self::open::OpenError;
pub use self::options::{KeepEvents, StoreOptions};
