//! What is done about what was found: repairs that lose nothing, and saving what can be read.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio::task::spawn_blocking;

use super::report::counted;
use super::{Check, Repair, Report, Subject, Verdict, files, prompts};
use crate::processes::Registry;
use crate::store::backup::{BackupError, Saving};
use crate::store::json::inspect::{self, OpenError, place_of};
use crate::store::json::place::Place;
use crate::store::json::salvage as salvaging;

/// One repair, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repaired {
    /// Which.
    pub repair: Repair,
    /// Whether it was done.
    pub done: bool,
    /// What was done, or why it was not, in one sentence.
    pub what: String,
}

/// What could be saved of a store.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Salvaged {
    /// The new file.
    pub file: PathBuf,
    /// How many issues it has.
    pub issues: usize,
    /// How many issues were read in `issues.json`.
    pub issues_read: usize,
    /// How many changes of the log were made.
    pub changes_made: usize,
    /// What is lost, in words.
    pub lost: Vec<String>,
}

/// Why nothing was saved.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SalvageError {
    /// There is nothing that could be read.
    #[error("{0}: there is nothing to be saved")]
    Unsound(#[from] OpenError),
    /// The new file cannot be written.
    #[error(transparent)]
    NotSaved(#[from] BackupError),
}

/// Does what is safe to do about what a report names; says what was done, and nothing of what others did meanwhile.
pub async fn repair(subject: &Subject, report: &Report) -> Vec<Repaired> {
    let is_refused = report
        .findings
        .iter()
        .any(|finding| finding.check == Check::FileSystem && finding.verdict == Verdict::Problem);
    let mut done = Vec::new();
    for repair in report.repairs() {
        let locks = matches!(repair, Repair::Settle | Repair::RemoveStale);
        let made = match repair {
            _ if is_refused && locks => {
                Err("the files were not touched, because locks may not hold on this file system"
                    .to_owned())
            }
            Repair::Settle => settle(subject).await,
            Repair::RemoveStale => remove_stale(subject).await,
            other => {
                let subject = subject.clone();
                let made = spawn_blocking(move || make(other, &subject));
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

/// Brings `issues.json` up to date; `None` if nothing had to be written.
async fn settle(subject: &Subject) -> Result<Option<String>, String> {
    let fingerprint = |place: &Place| fs::metadata(&place.issues).and_then(|it| it.modified()).ok();
    let place = place_of(&subject.path).map_err(|error| error.to_string())?;
    let before = fingerprint(&place);
    publish(subject).await?;
    let what = match (before, fingerprint(&place)) {
        (None, Some(_)) => "wrote issues.json anew from the log",
        (before, after) if before != after => "brought issues.json up to date with the log",
        _ => return Ok(None),
    };
    Ok(Some(what.to_owned()))
}

async fn publish(subject: &Subject) -> Result<(), String> {
    let maintenance = subject.maintenance.as_ref().ok_or("issues.json is not written from here")?;
    maintenance.publish().await.map_err(|error| error.to_string())
}

/// Removes what processes that died have left; `None` if somebody else has done so.
async fn remove_stale(subject: &Subject) -> Result<Option<String>, String> {
    let place = place_of(&subject.path).map_err(|error| error.to_string())?;
    let before = files::stale(&place);
    if before.is_empty() {
        return Ok(None);
    }
    let found = inspect::leftovers(&place);
    // One of these may hold an edit, which whoever writes the file takes over before it removes them.
    let published = if found.unmerged.is_empty() { Ok(()) } else { publish(subject).await };
    for path in &found.stale {
        // What cannot be removed is told below.
        let _ = fs::remove_file(path);
    }
    let registry = Registry::beside(&place.issues);
    let listed = spawn_blocking(move || registry.living().map(drop)).await;
    listed.map_err(|panic| panic.to_string())?.map_err(|error| error.to_string())?;
    let (left, removed): (Vec<_>, Vec<_>) = before.into_iter().partition(|path| path.exists());
    if let Some(path) = left.first() {
        let why = published.err().map(|why| format!(": {why}")).unwrap_or_default();
        return Err(format!("{} could not be removed{why}", path.display()));
    }
    let count = counted(removed.len(), "file", "files");
    Ok(Some(format!("removed {count} that processes had left which died")))
}

/// Makes a repair around the store; `None` if nothing had to be done.
fn make(repair: Repair, subject: &Subject) -> Result<Option<String>, String> {
    match repair {
        Repair::ProtectTokens => {
            let file = subject.settings.as_ref().ok().and_then(|it| it.token_file.clone());
            let file = file.ok_or("there is no file with tokens")?;
            protect(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(Some(format!("let nobody but its owner read {}", file.display())))
        }
        Repair::Ignore => prompts::ignore(subject),
        Repair::Refresh => prompts::refresh(subject).map(Some),
        Repair::Settle | Repair::RemoveStale => Err("it needs no thread".to_owned()),
    }
}

#[cfg(unix)]
fn protect(file: &Path) -> io::Result<()> {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fs::set_permissions(file, fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn protect(_file: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Saves what can be read of the store in a new file, which is a backup that `ait restore` takes.
///
/// # Errors
///
/// Nothing can be read, or the new file cannot be written. A file that is there is never replaced.
pub fn salvage(subject: &Subject, target: &Path) -> Result<Salvaged, SalvageError> {
    let place = place_of(&subject.path)?;
    let salvaged = salvaging::salvage(&subject.path)?;
    let (issues_read, changes_made) = (salvaged.issues_read, salvaged.changes_made);
    let (issues, lost) = (salvaged.document.issues.len(), salvaged.lost.clone());
    let store = vec![place.issues, place.directory];
    let saving = Saving { path: target.to_owned(), replaces: false, store, now: subject.now };
    saving.save(&salvaged.into_holdings())?;
    Ok(Salvaged { file: target.to_owned(), issues, issues_read, changes_made, lost })
}
