//! Plans which store and which syncs the settings of a project name.

use std::path::Path;

use serde_json::Value;

use super::edit::toml;
use super::error::SetupError;
use super::staged_file::StagedFiles;
use super::{HostEnv, Plan};

/// Plans that a project uses a database, or its file if there is none.
pub fn plan_store(
    settings: &Path,
    env: &HostEnv,
    database: Option<&str>,
) -> Result<Plan, SetupError> {
    let root = settings.parent().unwrap_or(Path::new("."));
    let mut files = StagedFiles::new(root, env, false);
    let file = files.file(settings, Some(root))?;
    match database {
        Some(url) => file.edit(|text| toml::set_setting(text, "store", &url.into()))?,
        None => file.remove_from(|text| toml::unset(text, &["store"]))?,
    }
    Ok(Plan::new(root, files, Vec::new()))
}

/// Plans a sync with these keys in the settings of a project.
///
/// # Errors
///
/// The file cannot be read or written, or is not TOML.
pub fn plan_sync(settings: &Path, name: &str, table: &[(&str, Value)]) -> Result<Plan, SetupError> {
    let root = settings.parent().unwrap_or(Path::new("."));
    let env = HostEnv::default();
    let mut files = StagedFiles::new(root, &env, false);
    let file = files.file(settings, Some(root))?;
    let entry = table.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
    file.edit(|text| toml::set(text, &["sync", name], &entry))?;
    Ok(Plan::new(root, files, Vec::new()))
}
