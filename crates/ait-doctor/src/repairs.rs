//! The safe repairs, and salvage of a damaged store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio::task::spawn_blocking;

use super::{Check, CheckContext, Conflict, Repair, Report, Verdict, files, git, prompts};
use ait_domain::text::counted;
use ait_http::processes::Registry;
use ait_setup::merge_driver;
use ait_store::backup::{BackupError, SaveOptions};
use ait_store::files::fs::directory_of;
use ait_store::files::paths::StorePaths;
use ait_store::sqlite::inspect::{self, OpenError, paths_of};
use ait_store::sqlite::salvage as salvaging;

/// The outcome of one repair.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repaired {
    pub repair: Repair,
    /// Whether it succeeded.
    pub done: bool,
    /// What was done, or why it failed, in one sentence.
    pub what: String,
}

/// The result of a salvage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Salvaged {
    /// The file with the salvaged issues.
    pub file: PathBuf,
    /// The number of issues in the file.
    pub issues: usize,
    /// The number of issues read from `issues.json`.
    pub issues_read: usize,
    /// The number of issues read from the database.
    pub rows_read: usize,
    /// Descriptions of what was lost.
    pub lost: Vec<String>,
}

/// The reasons why nothing was salvaged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SalvageError {
    /// Nothing could be read.
    #[error("{0}: nothing can be salvaged")]
    Unsound(#[from] OpenError),
    /// The new file cannot be written.
    #[error(transparent)]
    NotSaved(#[from] BackupError),
}

/// Applies the safe repairs that a report names, and returns their outcomes. Repairs that turn out to be unnecessary
/// are left out.
pub async fn repair(context: &CheckContext, report: &Report) -> Vec<Repaired> {
    let is_refused = report
        .findings
        .iter()
        .any(|finding| finding.check == Check::FileSystem && finding.verdict == Verdict::Problem);
    let mut done = Vec::new();
    for repair in report.repairs() {
        let locks = matches!(repair, Repair::Settle | Repair::RemoveStale);
        let made = match repair {
            _ if is_refused && locks => {
                Err("the files were not touched, because locks may not work on this file system"
                    .to_owned())
            }
            Repair::Settle => publish_again(context).await,
            Repair::RemoveStale => remove_stale(context).await,
            Repair::Resolve => resolve(context).await,
            other => {
                let context = context.clone();
                let made = spawn_blocking(move || make(other, &context));
                made.await.unwrap_or_else(|panic| Err(panic.to_string()))
            }
        };
        match made {
            Ok(Some(what)) => done.push(Repaired { repair, done: true, what }),
            Ok(None) => {}
            Err(what) => done.push(Repaired { repair, done: false, what }),
        }
    }
    done
}

/// Publishes `issues.json`; `None` if it was up to date.
async fn publish_again(context: &CheckContext) -> Result<Option<String>, String> {
    let fingerprint = |paths: &StorePaths| {
        fs::metadata(&paths.issues).and_then(|metadata| metadata.modified()).ok()
    };
    let paths = paths_of(&context.path).map_err(|error| error.to_string())?;
    let before = fingerprint(&paths);
    publish(context).await?;
    let what = match (before, fingerprint(&paths)) {
        (None, Some(_)) => "rewrote issues.json from the database",
        (before, after) if before != after => "brought issues.json up to date with the database",
        _ => return Ok(None),
    };
    Ok(Some(what.to_owned()))
}

async fn publish(context: &CheckContext) -> Result<(), String> {
    let maintenance =
        context.maintenance.as_ref().ok_or("issues.json cannot be published from here")?;
    maintenance.publish().await.map_err(|error| error.to_string())
}

/// Merges both sides of a conflict that git left in `issues.json`; `None` if there is none any more.
async fn resolve(context: &CheckContext) -> Result<Option<String>, String> {
    let path = context.path.clone();
    let resolved = spawn_blocking(move || match Conflict::find(&path) {
        Some(conflict) => conflict.resolve().map(|merged| Some((conflict, merged.issues))),
        None => Ok(None),
    });
    let resolved = resolved.await.map_err(|panic| panic.to_string())?;
    let Some((conflict, issues)) = resolved.map_err(|error| error.to_string())? else {
        return Ok(None);
    };
    let paths = paths_of(&context.path).map_err(|error| error.to_string())?;
    if inspect::has_database(&paths) {
        publish(context).await?;
    }
    conflict.stage().map_err(|error| error.to_string())?;
    let issues = counted(issues, "issue", "issues");
    Ok(Some(format!("merged both sides of the conflict in issues.json: {issues}")))
}

/// Removes the files of dead processes; `None` if another process has done so.
async fn remove_stale(context: &CheckContext) -> Result<Option<String>, String> {
    let paths = paths_of(&context.path).map_err(|error| error.to_string())?;
    let before = files::stale(&paths);
    if before.is_empty() {
        return Ok(None);
    }
    let found = inspect::leftovers(&paths);
    // An unmerged file may hold an external edit. Publishing merges the edit before it removes the file.
    let published = if found.unmerged.is_empty() { Ok(()) } else { publish(context).await };
    for path in &found.stale {
        // Files that cannot be removed are reported below.
        let _ = fs::remove_file(path);
    }
    let registry = Registry::for_store(&paths.issues);
    let listed = spawn_blocking(move || registry.list_live().map(drop)).await;
    listed.map_err(|panic| panic.to_string())?.map_err(|error| error.to_string())?;
    let (left, removed): (Vec<_>, Vec<_>) = before.into_iter().partition(|path| path.exists());
    if let Some(path) = left.first() {
        let why = published.err().map(|why| format!(": {why}")).unwrap_or_default();
        return Err(format!("{} could not be removed{why}", path.display()));
    }
    let count = counted(removed.len(), "file", "files");
    Ok(Some(format!("removed {count} of dead processes")))
}

/// Applies a repair outside the store; `None` if it was unnecessary.
fn make(repair: Repair, context: &CheckContext) -> Result<Option<String>, String> {
    match repair {
        Repair::ProtectTokens => {
            let file =
                context.settings.as_ref().ok().and_then(|settings| settings.token_file.clone());
            let file = file.ok_or("no token file is set")?;
            protect(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(Some(format!("made {} readable by its owner only", file.display())))
        }
        Repair::Ignore => prompts::ignore(context),
        Repair::Refresh => prompts::refresh(context).map(Some),
        Repair::RegisterDriver => {
            let directory = directory_of(&context.path);
            let registered = merge_driver::register(directory, &git::program(context));
            registered.map_err(|error| error.to_string())?;
            Ok(Some("registered the merge driver in this clone".to_owned()))
        }
        Repair::Settle | Repair::RemoveStale | Repair::Resolve => {
            Err("this repair does not block".to_owned())
        }
    }
}

fn protect(file: &Path) -> io::Result<()> {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
}

/// Writes the readable issues of the store to a new file, a backup for `ait restore`.
///
/// # Errors
///
/// Returns an error if nothing can be read or the new file cannot be written. An existing file is never replaced.
pub fn salvage(context: &CheckContext, target: &Path) -> Result<Salvaged, SalvageError> {
    let paths = paths_of(&context.path)?;
    let salvaged = salvaging::salvage(&context.path)?;
    let issues_read = salvaged.issues_read;
    let rows_read = salvaged.rows_read;
    let issues = salvaged.document.issues.len();
    let lost = salvaged.lost.clone();
    let store = vec![paths.issues, paths.directory];
    let saving = SaveOptions { path: target.to_owned(), replaces: false, store, now: context.now };
    saving.save(salvaged.into_backup())?;
    Ok(Salvaged { file: target.to_owned(), issues, issues_read, rows_read, lost })
}
