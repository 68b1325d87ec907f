//! `ait merge-driver` and `ait resolve`: merge versions of `issues.json` for git.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use tokio::task::spawn_blocking;

use super::OpenStore;
use crate::cli::{self, DriverArguments, FieldConflict, Output, ResolveArguments, Resolved};
use crate::config::Config;
use crate::doctor::Conflict;
use crate::store::files::StoreOptions;
use crate::store::files::merge_files::merge_files;
use crate::store::sqlite::inspect::{has_database, paths_of};

/// Merges the versions that git gives a merge driver. If one of them is invalid, merges by line, and leaves a conflict.
///
/// # Errors
///
/// A file cannot be read or written, or a version is invalid.
pub fn merge_driver(arguments: &DriverArguments) -> Result<cli::ExitStatus> {
    let DriverArguments { base, ours, theirs } = arguments;
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let merged = match merge_files(&read(base)?, &read(ours)?, &read(theirs)?) {
        Ok(merged) => merged,
        Err(error) => {
            // The file of our side alone would look as if it had what theirs has.
            let mut marking = Command::new("git");
            marking.args(["merge-file", "-L", "ours", "-L", "base", "-L", "theirs"]);
            marking.args([ours, base, theirs]).status().context("git cannot be started")?;
            bail!("issues.json cannot be merged by issue: {error}");
        }
    };
    for conflict in FieldConflict::all(merged.conflicts) {
        tracing::warn!("{}", conflict.text());
    }
    fs::write(ours, merged.bytes).with_context(|| format!("cannot write {}", ours.display()))?;
    Ok(cli::ExitStatus::Done)
}

/// Resolves the conflict that git left in the file of the store.
///
/// # Errors
///
/// A side is invalid, or the file cannot be written or added.
pub async fn resolve(arguments: &ResolveArguments, config: &Config) -> Result<cli::ExitStatus> {
    let output = &Output::stdout();
    if config.database.is_some() {
        bail!("the store is a database: git has no conflicts in it");
    }
    let path = config.location.path.clone();
    let found = spawn_blocking(move || match Conflict::find(&path) {
        Some(conflict) => conflict.resolve().map(|merged| Some((conflict, merged))),
        None => Ok(None),
    });
    let Some((conflict, merged)) = found.await?? else {
        return cli::report_resolved(arguments, None, output);
    };
    publish(config).await?;
    conflict.stage()?;
    let resolved = Resolved {
        file: config.location.path.clone(),
        issues: merged.issues,
        conflicts: FieldConflict::all(merged.conflicts),
        next: conflict.next_step(),
    };
    cli::report_resolved(arguments, Some(&resolved), output)
}

/// Merges the file into the store, if it has a database, and the changes of the store into the file.
async fn publish(config: &Config) -> Result<()> {
    let is_used = paths_of(&config.location.path).is_ok_and(|paths| has_database(&paths));
    let OpenStore { tracker, maintenance, .. } = OpenStore::new(config, StoreOptions::for_cli());
    if let Some(maintenance) = maintenance.filter(|_| is_used) {
        maintenance
            .publish()
            .await
            .context("the conflict is resolved in the file, but not added")?;
    }
    tracker.close().await;
    Ok(())
}
