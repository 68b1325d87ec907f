//! Port reservations: keeps projects of one user from taking a port that another project has pinned but does not use
//! at the moment.
//!
//! A directory of the user has one note per port, which names the `ait.toml` that pins it. A note is only a hint: the
//! reservation holds while that file still pins the port.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::config::{self, FILE_NAME};
use crate::small_file::{self, MAX_BYTES};

/// The directory of the notes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct PortReservations {
    /// `None` if the user has no home directory.
    directory: Option<PathBuf>,
}

impl PortReservations {
    /// Returns the user's notes.
    pub fn of_user() -> Self {
        Self { directory: small_file::state_directory("ports") }
    }

    /// Returns the notes in a directory.
    #[cfg(test)]
    pub fn in_directory(directory: PathBuf) -> Self {
        Self { directory: Some(directory) }
    }

    /// Records that the `ait.toml` of a project pins a port.
    pub fn reserve(&self, port: u16, project: &Path) -> io::Result<()> {
        let Some(directory) = &self.directory else { return Ok(()) };
        let file = project.join(FILE_NAME);
        let note = directory.join(port.to_string());
        let text = file.as_os_str().as_encoded_bytes();
        if small_file::read_bytes(&note, MAX_BYTES).is_ok_and(|known| known == text) {
            return Ok(());
        }
        fs::create_dir_all(directory)?;
        fs::write(note, text)
    }
}

/// Returns the `ait.toml` of another project that pins the port, unless this project pins it, too. Of two projects that
/// pin one port, such as two clones, the first to start gets it.
pub(super) fn pinned_by_another(
    pins: &PortReservations,
    port: u16,
    project: &Path,
) -> Option<PathBuf> {
    let note = pins.directory.as_ref()?.join(port.to_string());
    let file = PathBuf::from(small_file::read(&note, MAX_BYTES).ok()?);
    let is_other = file != project.join(FILE_NAME) && config::pinned_port(project) != Some(port);
    (is_other && config::pinned_port(file.parent()?) == Some(port)).then_some(file)
}
