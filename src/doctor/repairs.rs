//! What is done about what was found: repairs that lose nothing, and saving what can be read.

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tokio::task::spawn_blocking;

use super::{Check, Repair, Report, Subject, Verdict, prompts};
use crate::processes::Registry;
use crate::store::backup::{BackupError, Holdings, Saving};
use crate::store::json::look::{self, Unsound};
use crate::store::json::{mend, salvage as salvaging};

/// One repair, and what came of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repaired {
    /// Which; `None` for the backup before the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repair: Option<Repair>,
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
    /// How many of them `issues.json` gave.
    pub issues_read: usize,
    /// How many changes of the journal were made to them.
    pub changes_made: usize,
    /// What is lost, in words.
    pub lost: Vec<String>,
}

/// Why nothing was saved.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SalvageError {
    /// There is nothing that could be read.
    #[error("{0}: there is nothing to be saved")]
    Unsound(#[from] Unsound),
    /// The new file cannot be written.
    #[error(transparent)]
    NotSaved(#[from] BackupError),
}

/// Does what is safe to do about what a report names; says what was done. What touches the files of the
/// store is done only after they were copied.
pub async fn repair(subject: &Subject, report: &Report) -> Vec<Repaired> {
    let repairs = report.repairs();
    let touches = |repair: &Repair| matches!(repair, Repair::RemoveCopies | Repair::Settle);
    let mut done = Vec::new();
    let is_refused = report
        .findings
        .iter()
        .any(|finding| finding.check == Check::FileSystem && finding.verdict == Verdict::Problem);
    let locks = |repair: &Repair| touches(repair) || *repair == Repair::RemoveStale;
    let (left, repairs): (Vec<_>, Vec<_>) =
        repairs.into_iter().partition(|repair| is_refused && locks(repair));
    done.extend(left.into_iter().map(|repair| Repaired {
        repair: Some(repair),
        done: false,
        what:
            "the files were not touched, because locks may not hold on this file system".to_owned(),
    }));
    let is_kept = if repairs.iter().any(touches) {
        let kept = keep(subject).await;
        let is_kept = kept.done;
        done.push(kept);
        is_kept
    } else {
        true
    };
    for repair in repairs.into_iter().filter(|repair| is_kept || !touches(repair)) {
        let made = match repair {
            Repair::Settle => settle(subject).await,
            other => {
                let subject = subject.clone();
                let made = spawn_blocking(move || make(other, &subject));
                made.await.unwrap_or_else(|panic| Err(panic.to_string()))
            }
        };
        let (is_done, what) = made.map_or_else(|why| (false, why), |what| (true, what));
        done.push(Repaired { repair: Some(repair), done: is_done, what });
    }
    done
}

async fn keep(subject: &Subject) -> Repaired {
    let path = subject.path.clone();
    let kept = spawn_blocking(move || mend::keep_copies(&path).map_err(|error| error.to_string()));
    match kept.await.unwrap_or_else(|panic| Err(panic.to_string())) {
        Ok(paths) => {
            let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            let what = format!("kept copies of the files: {}", paths.join(", "));
            Repaired { repair: None, done: true, what }
        }
        Err(why) => {
            let what =
                format!("the files were not touched, because they could not be copied: {why}");
            Repaired { repair: None, done: false, what }
        }
    }
}

async fn settle(subject: &Subject) -> Result<String, String> {
    let settled = subject.store.save().await;
    settled.map_err(|error| error.to_string())?;
    Ok("put issues.json and its journal in order".to_owned())
}

fn make(repair: Repair, subject: &Subject) -> Result<String, String> {
    let path = &subject.path;
    match repair {
        Repair::RemoveCopies => match mend::remove_copies(path) {
            Ok(true) => Ok("left out of issues.json what stood there once more".to_owned()),
            Ok(false) => {
                Err("issues.json has more wrong with it, and was left as it is".to_owned())
            }
            Err(error) => Err(error.to_string()),
        },
        Repair::RemoveStale => {
            let kept = mend::remove_temps(path).map_err(|error| error.to_string())?;
            let store = look::files(path).map_err(|error| error.to_string())?.snapshot;
            Registry::beside(&store).living().map_err(|error| error.to_string())?;
            let kept = kept.iter().map(|path| {
                format!("; what somebody may have saved is kept as {}", path.display())
            });
            Ok(format!("removed what processes that died had left{}", kept.collect::<String>()))
        }
        Repair::ProtectTokens => {
            let file = subject.settings.as_ref().ok().and_then(|it| it.token_file.clone());
            let file = file.ok_or("there is no file with tokens")?;
            protect(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            Ok(format!("let nobody but its owner read {}", file.display()))
        }
        Repair::Ignore => prompts::ignore(subject),
        Repair::Refresh => prompts::refresh(subject),
        // Needs no thread.
        Repair::Settle => Ok(String::new()),
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
    let files = look::files(&subject.path)?;
    let salvaging::Salvage { document, issues_read, changes_made, lost } =
        salvaging::salvage(&subject.path)?;
    let damage = (!lost.is_empty()).then(|| format!("salvaged, {} lost", lost.len()));
    let issues = document.issues.len();
    let saving = Saving {
        path: target.to_owned(),
        replaces: false,
        store: vec![files.snapshot, files.journal, files.lock, files.checkpoint, files.sessions],
        now: subject.now,
    };
    saving.save(&Holdings { document, damage })?;
    Ok(Salvaged { file: target.to_owned(), issues, issues_read, changes_made, lost })
}
