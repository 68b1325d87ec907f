//! Setting a project up for the clients of its agents, and taking that back: what `ait init` does.
//!
//! Everything is read and planned before the first byte is written: [`plan()`] and [`removal()`] look at
//! the disk and change nothing, [`apply()`] writes what they came to. The edits themselves are pure functions
//! of texts, in [`edit`]. There is no record of what was written: what is ours is known by its name, by the
//! marks around it, or by being what would be written, and `FILE.before-ait-init` has what was there before.
//!
//! Knows no stores, no servers and no command line.

mod apply;
pub mod clients;
mod draft;
pub mod edit;
mod error;
mod machine;
mod plan;
mod present;
mod presets;
pub mod prompts;
mod proposal;
mod removal;
mod server_file;
mod upkeep;

use std::path::PathBuf;

pub use apply::{Applied, apply};
pub use clients::{CLIENTS, Client, Connection};
pub use error::SetupError;
pub use machine::Machine;
pub use plan::{Wish, plan};
pub use present::{Damaged, Entry, Flaw, Way, entries, is_program};
pub use presets::Preset;
pub use proposal::{Proposal, propose};
pub use removal::{Unwish, removal};
pub use upkeep::{Upkeep, UpkeepState};

/// What the tracker is called in the configuration of each client. The prompts expect this name.
pub const SERVER: &str = "issues";
/// What the program is called where it can be called by a name.
pub const PROGRAM: &str = "ait";
/// What the name of a file ends with that was changed, as it was before.
pub const BACKUP_SUFFIX: &str = ".before-ait-init";
/// What stands before the time in the name of a file that a repair has changed, as it was before.
pub const REPAIR_SUFFIX: &str = ".before-doctor-";

/// What is to be done to the files of a project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The files, each once.
    pub changes: Vec<Change>,
    /// What people should know besides, a line each.
    pub notes: Vec<String>,
}

/// What is to be done to a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// How people call it.
    pub shown: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its text now; `None` where it is not there.
    pub before: Option<String>,
    /// Its text as it is to be; `None` where it goes.
    pub after: Option<String>,
    /// What becomes of its backup.
    pub backup: Backup,
    /// Where that is.
    pub backup_path: PathBuf,
}

/// What becomes of the backup of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backup {
    /// There is none, or the one that there is stays what it is.
    None,
    /// It is made before the file changes.
    Made,
    /// It goes, since the file is again what it has.
    Removed,
    /// It stays, since the file has something that it has not.
    Left,
}
