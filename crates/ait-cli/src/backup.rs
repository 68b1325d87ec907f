//! `ait backup`: writes the whole store to one file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, value_parser};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::options::{Format, WrongUsage, time_span};
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
        ait backup /backups/ --every 1h --keep 24\n  \
        ait backup /backups/ --list         which are there, and whether they are intact\n  \
        ait backup --force nightly.json     replace the last one\n  \
        ait backup - | gzip > queue.gz      to stdout; gunzip < queue.gz | ait restore -"
)]
pub struct Arguments {
    /// The file to write; - is stdout [default: issues-backup-<time>.json in this directory]
    #[arg(value_name = "FILE")]
    target: Option<PathBuf>,

    /// List the backups of this queue in the directory; make none
    #[arg(short, long, conflicts_with_all = ["force", "partial", "keep", "every"])]
    list: bool,

    /// Then keep only the N newest backups of this queue in the directory
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..))]
    keep: Option<u16>,

    /// Go on, and make another one after each such time
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    every: Option<Duration>,

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

impl Arguments {
    /// Returns true if the command goes on until it is ended.
    pub fn repeats(&self) -> bool {
        self.every.is_some()
    }

    /// Returns true if the command only looks at files.
    pub fn lists(&self) -> bool {
        self.list
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let store = context.maintenance.map(Maintenance::files).unwrap_or_default();
    let place = Place::of(arguments.target.as_deref(), store.first().map(PathBuf::as_path));
    if !place.is_directory
        && (arguments.list || arguments.keep.is_some() || arguments.every.is_some())
    {
        let why = "--list, --keep and --every look for backups that are named after their time: name a directory \
                   that exists, or none for this one";
        return Err(WrongUsage(why).into());
    }
    if arguments.list {
        return list(&place, arguments.format.json, context.output);
    }
    loop {
        let saved = save(arguments, &place, &store, context).await;
        let Some(every) = arguments.every else { return saved };
        if let Err(error) = saved {
            tracing::error!("{error:#}");
        }
        context.output.flush()?;
        tokio::time::sleep(every).await;
    }
}

/// Makes a backup, and removes the older ones that are not to be kept.
async fn save(
    arguments: &Arguments,
    place: &Place<'_>,
    store: &[PathBuf],
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
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
    let now = tracker.now();
    // A reader of stdout gets nothing of a store that cannot be read.
    let on_the_way = to_stdout.then(tempfile::tempdir).transpose()?;
    let path = match &on_the_way {
        Some(directory) => directory.path().join("backup"),
        None => place.target(now),
    };
    let saving = SaveOptions { path, replaces: arguments.force, store: store.to_vec(), now };
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
    let status = ExitStatus::done_if(saved.about.partial.is_none());
    if to_stdout {
        io::copy(&mut File::open(&saved.path)?, &mut &*output)?;
        output.flush()?;
        tracing::info!("saved {}", issues(saved.about.issues));
        return Ok(status);
    }
    answer(&saved, arguments.format.json, output)?;
    if let Some(keep) = arguments.keep {
        for old in place.backups()?.iter().rev().skip(keep.into()) {
            fs::remove_file(old).with_context(|| format!("{} cannot be removed", old.display()))?;
            tracing::info!("removed {}", old.display());
        }
    }
    Ok(status)
}

/// Shows the backups in a directory, the newest first. Reads each, so that a damaged one is found before it is needed.
fn list(place: &Place<'_>, json: bool, output: &Output) -> Result<ExitStatus> {
    let mut rows = Vec::new();
    let mut status = ExitStatus::Done;
    let backups = place.backups()?;
    let has_none = backups.is_empty();
    for path in backups.into_iter().rev() {
        let bytes = fs::metadata(&path).map_or(0, |about| about.len());
        let backup = backup::file::load(&path);
        let about = backup.as_ref().ok().and_then(|backup| backup.about.as_ref());
        let trouble = match (&backup, about) {
            (Err(error), _) => Some(error.to_string()),
            (Ok(_), None) => Some("it has no checksum".to_owned()),
            (Ok(_), Some(about)) => about.partial.as_ref().map(|why| format!("only a part: {why}")),
        };
        if trouble.is_some() {
            status = ExitStatus::Incomplete;
        }
        if json {
            rows.push(json!({
                "file": path.display().to_string(), "bytes": bytes, "trouble": trouble,
                "madeAt": about.map(|about| about.made_at), "issues": about.map(|about| about.issues),
            }));
            continue;
        }
        let name = output.styled(STRONG, path.display());
        let size = humanize_bytes(bytes);
        let issues = about.map(|about| format!("{}, ", issues(about.issues))).unwrap_or_default();
        let trouble = trouble.map(|why| format!(": {why}")).unwrap_or_default();
        output.line(format_args!("{name}  {issues}{size}{trouble}"))?;
    }
    if json {
        output.json(&rows)?;
    } else if has_none {
        let directory = match place.path {
            path if path.as_os_str().is_empty() => Path::new("."),
            path => path,
        };
        let directory = directory.display();
        output.line(format_args!(
            "no backups of this queue in {directory}; `ait backup` makes one"
        ))?;
        return Ok(ExitStatus::Incomplete);
    }
    Ok(status)
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

/// Where backups go: a file, or a directory in which each is named after the store and its time.
struct Place<'a> {
    path: &'a Path,
    is_directory: bool,
    /// What the names of backups begin with.
    prefix: String,
}

impl<'a> Place<'a> {
    /// The named file or directory, or the current directory.
    fn of(named: Option<&'a Path>, store: Option<&Path>) -> Self {
        let stem = store.and_then(Path::file_stem).unwrap_or("issues".as_ref());
        Self {
            path: named.unwrap_or(Path::new("")),
            is_directory: named.is_none_or(Path::is_dir),
            prefix: format!("{}-backup-", stem.to_string_lossy()),
        }
    }

    fn target(&self, now: Timestamp) -> PathBuf {
        if !self.is_directory {
            return self.path.to_owned();
        }
        let time = now.to_string().replace(':', "");
        self.path.join(format!("{}{time}.json", self.prefix))
    }

    /// Returns the backups in the directory that are named after their time, the oldest first.
    fn backups(&self) -> Result<Vec<PathBuf>> {
        let directory = if self.path.as_os_str().is_empty() { Path::new(".") } else { self.path };
        let names = fs::read_dir(directory)
            .with_context(|| format!("{} cannot be read", directory.display()))?;
        let is_time = |name: &str| {
            let time = name.strip_prefix(&self.prefix).and_then(|rest| rest.strip_suffix(".json"));
            time.is_some_and(|time| {
                time.len() == "2026-01-31T093000.000Z".len()
                    && time.ends_with('Z')
                    && time.starts_with(|c: char| c.is_ascii_digit())
            })
        };
        let mut found: Vec<_> = names
            .flatten()
            .filter(|entry| entry.file_name().to_str().is_some_and(is_time))
            .map(|entry| self.path.join(entry.file_name()))
            .collect();
        found.sort();
        Ok(found)
    }
}
