//! `ait backup`: writes the whole store to one file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use tokio::task::spawn_blocking;

use super::options::{Format, WrongUsage};
use super::output::STRONG;
use super::progress::with_progress;
use super::{CommandContext, ExitStatus, Output};
use ait_domain::Timestamp;
use ait_domain::text::counted;
use ait_system::span::humanize_bytes;
use ait_tracker::backup;
use ait_tracker::{BackupContent, Maintenance, SaveOptions, Saved, StoreError};

/// The arguments of `ait backup`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The file has the queue as of one moment: every change acknowledged before the command began is in\n\
        it, whatever agents do meanwhile. It is written under a temporary name and renamed when it is\n\
        complete. It has the format of issues.json, with a checksum at its end.\n\n\
        Examples:\n  \
        ait backup                          into this directory, named after the time\n  \
        ait backup /backups/                into that directory\n  \
        ait backup --force nightly.json     replace the last one\n  \
        ait backup - | gzip > queue.gz      to stdout; gunzip < queue.gz | ait restore -"
)]
pub struct Arguments {
    /// The file to write; - is stdout [default: issues-backup-<time>.json in this directory]
    #[arg(value_name = "FILE")]
    target: Option<PathBuf>,

    /// Replace FILE if it exists
    #[arg(short, long)]
    force: bool,

    /// If the store is damaged, save what can be read
    #[arg(long)]
    pub(super) partial: bool,

    #[command(flatten)]
    format: Format,
}

/// How many losses are listed.
const MAX_LOST: usize = 20;
/// The file name that stands for stdin or stdout.
pub(super) const STREAM: &str = "-";

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let CommandContext { tracker, maintenance, .. } = *context;
    let to_stdout = arguments.target.as_deref() == Some(Path::new(STREAM));
    if to_stdout && arguments.format.json {
        let why = "the backup and --json both use stdout: name a FILE, or omit --json";
        return Err(WrongUsage(why).into());
    }
    let salvage = async |why: StoreError| match maintenance {
        Some(files) if arguments.partial => {
            Ok(with_progress("reading what can be read", salvaged(files, &why)).await?)
        }
        _ => Err(why).context("nothing was saved"),
    };
    let store = maintenance.map(Maintenance::files).unwrap_or_default();
    let now = tracker.now();
    // A reader of stdout gets nothing of a store that cannot be read.
    let on_the_way = to_stdout.then(tempfile::tempdir).transpose()?;
    let path = match &on_the_way {
        Some(directory) => directory.path().join("backup"),
        None => target(arguments.target.as_deref(), store.first().map(PathBuf::as_path), now),
    };
    let saving = SaveOptions { path, replaces: arguments.force, store, now };
    let (sender, receiver) = backup::stream();
    let options = saving.clone();
    let writing = spawn_blocking(move || receiver.save(&options));
    let read = with_progress("reading the store", tracker.back_up(sender)).await;
    let mut saved = writing.await.context("the backup was interrupted")?;
    if let Err(why) = read {
        let content = salvage(why).await?;
        let writing = spawn_blocking(move || saving.save(content));
        let written = with_progress("writing the backup", writing).await;
        saved = written.context("the backup was interrupted")?;
    }
    let saved = saved?;
    if to_stdout {
        io::copy(&mut File::open(&saved.path)?, &mut &*output)?;
        output.flush()?;
        tracing::info!("saved {}", issues(saved.about.issues));
        return Ok(ExitStatus::Done);
    }
    answer(&saved, arguments.format.json, output)
}

/// Salvages what can be read of a damaged store, and logs what is lost.
async fn salvaged(
    maintenance: &Maintenance,
    why: &StoreError,
) -> Result<BackupContent, StoreError> {
    let salvaged = maintenance.salvage().await?;
    tracing::warn!("the backup has only what can be read: {why}");
    for what in salvaged.lost.iter().take(MAX_LOST) {
        tracing::warn!("lost: {what}");
    }
    let more = salvaged.lost.len().saturating_sub(MAX_LOST);
    if more > 0 {
        tracing::warn!("lost: {more} more; `ait doctor --salvage` lists all");
    }
    let mut content = salvaged.into_backup();
    content.damage.get_or_insert_with(|| why.to_string());
    Ok(content)
}

fn answer(saved: &Saved, json: bool, output: &Output) -> Result<ExitStatus> {
    let Saved { path, length_bytes, about } = saved;
    if json {
        let mut report = json!({
            "file": path.display().to_string(),
            "issues": about.issues,
            "bytes": length_bytes,
            "madeAt": about.made_at,
            "checksum": about.checksum,
        });
        if let Some(partial) = &about.partial {
            report["partial"] = partial.clone().into();
        }
        output.json(&report)?;
    } else {
        let name = output.styled(STRONG, path.display());
        let issues = issues(about.issues);
        let bytes = humanize_bytes(*length_bytes);
        output.line(format_args!("saved {issues} in {name} ({bytes})"))?;
    }
    Ok(ExitStatus::Done)
}

/// Formats a number of issues.
pub(super) fn issues(count: usize) -> String {
    counted(count, "issue", "issues")
}

/// Returns the file to write: the named one, or one named after the store and the time, in the named directory or the
/// current one.
fn target(named: Option<&Path>, store: Option<&Path>, now: Timestamp) -> PathBuf {
    let directory = match named {
        Some(path) if !path.is_dir() => return path.to_owned(),
        Some(directory) => directory,
        None => Path::new(""),
    };
    let stem = store.and_then(Path::file_stem).unwrap_or("issues".as_ref());
    let time = now.to_string().replace(':', "");
    directory.join(format!("{}-backup-{time}.json", stem.to_string_lossy()))
}
