//! Plans the section of decisions in a file with instructions for agents. It stands beside the section with the
//! workflow, so that `ait init` leaves it as it is.

use std::path::Path;

use super::edit::marked::MEMORY;
use super::error::SetupError;
use super::staged_file::StagedFiles;
use super::{FileChange, HostEnv};

/// Plans a file with these lines in its section, or without the section. Returns `None` if nothing changes.
pub fn plan_memory_section(
    root: &Path,
    file: &Path,
    lines: Option<&str>,
) -> Result<Option<FileChange>, SetupError> {
    let env = HostEnv::default();
    let mut files = StagedFiles::new(root, &env, true);
    let file = files.file(file, None)?;
    match lines {
        Some(lines) => file.edit(|text| MEMORY.set(text, lines))?,
        None => file.remove_from(|text| MEMORY.unset(text))?,
    }
    Ok(files.changes().pop())
}
