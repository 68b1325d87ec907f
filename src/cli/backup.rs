//! `ait backup`: everything as it is now, in one file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use indicatif::HumanBytes;
use serde::Serialize;

use super::options::{Format, WrongUsage};
use super::output::STRONG;
use super::waiting::waiting;
use super::{CommandContext, Ending, Output};
use crate::domain::Timestamp;
use crate::tracker::backup::file;
use crate::tracker::{Holdings, Maintenance, Saved, Saving, StoreError, Tracker};

/// The arguments of `ait backup`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "The file has the queue as it was at one moment: every change that was answered before the\n\
        command began is in it, whatever agents do meanwhile. It is written beside its name and put in\n\
        its place when it is whole. It reads as an issues.json, with a checksum at its end.\n\n\
        Examples:\n  \
        ait backup                          into this directory, named after the time\n  \
        ait backup /backups/                into that directory\n  \
        ait backup --force nightly.json     over the last one\n  \
        ait backup - | gzip > queue.gz      to stdout; gunzip < queue.gz | ait restore -"
)]
pub struct Arguments {
    /// Where to; - is stdout [default: issues-backup-<time>.json in this directory]
    #[arg(value_name = "FILE")]
    target: Option<PathBuf>,

    /// Replace FILE if there is one
    #[arg(short, long)]
    force: bool,

    /// Of a damaged store, save what can be read
    #[arg(long)]
    partial: bool,

    #[command(flatten)]
    format: Format,
}

/// What is answered as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    file: &'a Path,
    issues: usize,
    bytes: u64,
    made_at: Timestamp,
    checksum: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'a str>,
}

/// How many things that are lost are named.
const MAX_LOST: usize = 20;
/// Stands for stdin and stdout.
pub(super) const STREAM: &str = "-";

pub(super) async fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<Ending> {
    let CommandContext { tracker, maintenance, .. } = *context;
    let to_stdout = arguments.target.as_deref() == Some(Path::new(STREAM));
    if to_stdout && arguments.format.json {
        let why = "the backup and --json both want stdout: name a FILE, or leave --json out";
        return Err(WrongUsage(why).into());
    }
    let holdings = match waiting("reading the store", holdings(tracker)).await {
        Ok(holdings) => holdings,
        Err(why) if arguments.partial => {
            waiting("reading what can be read", salvaged(maintenance, &why)).await?
        }
        Err(why) => {
            bail!("nothing was saved: {why}. `ait backup --partial` saves what can be read")
        }
    };
    if to_stdout {
        let about = file::write(&holdings, tracker.now(), output)?;
        output.flush()?;
        tracing::info!("saved {}", issues(about.issues));
        return Ok(Ending::Done);
    }
    let (now, store) = (tracker.now(), maintenance.files());
    let path = target(arguments.target.as_deref(), store.first().map(PathBuf::as_path), now);
    let saving = Saving { path, replaces: arguments.force, store, now };
    let saved = tokio::task::spawn_blocking(move || saving.save(&holdings));
    let saved = waiting("writing the backup", saved).await.context("the backup broke off")??;
    answer(&saved, arguments.format.json, output)
}

/// Everything that the store holds.
async fn holdings(tracker: &Tracker) -> Result<Holdings, StoreError> {
    let document = tracker.snapshot().await?.document();
    match tracker.check().await {
        // What comes before the damage was read all the same.
        Err(damaged @ StoreError::Damaged(_)) => Err(damaged),
        Err(_) | Ok(()) => Ok(Holdings { document, damage: None }),
    }
}

/// What can be read of a store, and says what is lost.
async fn salvaged(maintenance: &Maintenance, why: &StoreError) -> Result<Holdings, StoreError> {
    let salvaged = maintenance.salvage().await?;
    tracing::warn!("only what can be read is saved: {why}");
    for what in salvaged.lost.iter().take(MAX_LOST) {
        tracing::warn!("lost: {what}");
    }
    let more = salvaged.lost.len().saturating_sub(MAX_LOST);
    if more > 0 {
        tracing::warn!("lost: {more} more things, which `ait doctor --salvage` lists");
    }
    let mut holdings = salvaged.into_holdings();
    holdings.damage.get_or_insert_with(|| why.to_string());
    Ok(holdings)
}

fn answer(saved: &Saved, json: bool, output: &mut Output) -> Result<Ending> {
    let Saved { path, length_bytes, about } = saved;
    if json {
        output.json(&Report {
            file: path,
            issues: about.issues,
            bytes: *length_bytes,
            made_at: about.made_at,
            checksum: &about.checksum,
            partial: about.partial.as_deref(),
        })?;
    } else {
        let name = output.styled(STRONG, path.display());
        let (issues, bytes) = (issues(about.issues), HumanBytes(*length_bytes));
        output.line(format_args!("saved {issues} in {name} ({bytes})"))?;
    }
    Ok(Ending::Done)
}

/// A number of issues in words.
pub(super) fn issues(count: usize) -> String {
    if count == 1 { "1 issue".to_owned() } else { format!("{count} issues") }
}

/// The file to write: the one that was named; in a directory, or when nothing was named, one that is
/// called after the store and the time.
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
