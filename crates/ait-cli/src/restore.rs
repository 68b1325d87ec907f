//! `ait restore`: restores a backup.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde_json::{Value, json};

use super::backup::{STREAM, issues};
use super::options::Format;
use super::output::{FAINT, STRONG, local};
use super::progress::with_progress;
use super::{CommandContext, ExitStatus, Output, sanitize};

use ait_tracker::backup::{Difference, file};
use ait_tracker::{
    Backup, BackupMetadata, IssueSample, OverwritePolicy, RestoreOutcome, RestoreResult,
};

/// The arguments of `ait restore`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "FILE is read and checked completely before anything changes. The contents of the store, damaged or\n\
        not, are first kept in .ait/ beside it. Without --force, the command refuses if work would be\n\
        lost: issues that the backup lacks, or issues that changed since. Running agents and servers\n\
        continue with the restored store.\n\n\
        Exits with 1 if it refuses; --dry-run does so if --force would be needed.\n\n\
        Examples:\n  \
        ait restore issues-backup-2026-01-31T093000.000Z.json --dry-run\n  \
        ait restore issues-backup-2026-01-31T093000.000Z.json --force\n  \
        ait restore .ait/issues.json/kept/2026-02-01T120000.000Z-before-restore-issues.json   undo a restore"
)]
pub struct Arguments {
    /// A file of `ait backup`, or a copy of issues.json; - is stdin
    #[arg(value_name = "FILE")]
    backup: PathBuf,

    /// Restore even if newer work is lost, or the store is damaged
    #[arg(short, long)]
    force: bool,

    /// Change nothing; only show what would happen
    #[arg(short = 'n', long)]
    dry_run: bool,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let file = arguments.backup.clone();
    let read = tokio::task::spawn_blocking(move || read(&file));
    let backup =
        with_progress("reading the backup", read).await.context("reading was interrupted")??;
    let policy = match arguments {
        Arguments { dry_run: true, .. } => OverwritePolicy::DryRun,
        Arguments { force: true, .. } => OverwritePolicy::Everything,
        _ => OverwritePolicy::Nothing,
    };
    if backup.about.is_none() {
        let file = arguments.backup.display();
        tracing::warn!("{file} has no checksum, so it cannot be verified");
    }
    if let Some(why) = backup.about.as_ref().and_then(|about| about.partial.as_ref()) {
        tracing::warn!("the backup is partial, because its store was damaged: {why}");
    }
    let document = backup.document.clone();
    let restoring = async {
        match context.maintenance {
            Some(maintenance) => maintenance.restore(document, policy).await,
            None => context.tracker.restore(document, policy).await,
        }
    };
    let replacement = with_progress("restoring", restoring).await?;
    let would_refuse = replacement.needs_consent() && !arguments.force;
    if arguments.format.json {
        output.json(&report(arguments, &backup, &replacement))?;
    } else if replacement.result != RestoreResult::Refused {
        write_lines(arguments, &backup, &replacement, output)?;
    }
    match replacement.result {
        RestoreResult::Done | RestoreResult::Unneeded => Ok(ExitStatus::Done),
        RestoreResult::DryRun if !would_refuse => Ok(ExitStatus::Done),
        RestoreResult::DryRun | RestoreResult::Refused => {
            // Print the refusal after the output, even if the output cannot be written.
            let flushed = output.flush();
            let is_readable = context.tracker.counts().await.is_ok();
            let refusal = refusal(&arguments.backup, &replacement, is_readable);
            if let Err(unheard) = flushed {
                tracing::debug!("cannot write the output: {unheard}");
            }
            Err(refusal)
        }
    }
}

fn read(path: &Path) -> Result<Backup> {
    if path != Path::new(STREAM) {
        return Ok(file::load(path)?);
    }
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).context("cannot read stdin")?;
    Ok(file::read(bytes, Path::new("stdin"))?)
}

fn report(arguments: &Arguments, backup: &Backup, replacement: &RestoreOutcome) -> Value {
    let all = |sample: &IssueSample| json!({ "count": sample.count, "first": sample.first });
    let difference = replacement.difference.as_ref().map(|difference| {
        json!({
            "missing": all(&difference.missing),
            "newer": all(&difference.newer),
            "older": all(&difference.older),
            "returning": all(&difference.returning),
        })
    });
    json!({
        "restored": matches!(replacement.result, RestoreResult::Done | RestoreResult::Unneeded),
        "dryRun": arguments.dry_run,
        "needsForce": replacement.needs_consent(),
        "file": arguments.backup.display().to_string(),
        "issues": backup.document.issues.len(),
        "madeAt": backup.about.as_ref().map(|about| about.made_at),
        "verified": backup.about.is_some(),
        "damage": replacement.damage,
        "difference": difference,
        "kept": replacement.kept.iter().map(|kept| kept.display().to_string()).collect::<Vec<_>>(),
    })
}

/// Prints what was done, or would be done, one item per line.
fn write_lines(
    arguments: &Arguments,
    backup: &Backup,
    replacement: &RestoreOutcome,
    output: &Output,
) -> Result<()> {
    let count = issues(backup.document.issues.len());
    let origin = match &backup.about {
        Some(BackupMetadata { made_at, .. }) => {
            format!("as of {}, checksum verified", local(*made_at, "%Y-%m-%d %H:%M"))
        }
        None => "without a checksum".to_owned(),
    };
    if replacement.result == RestoreResult::Unneeded {
        return output.line(format_args!("nothing to do: the store holds these {count} already"));
    }
    let is_done = replacement.result == RestoreResult::Done;
    let verbs = |done, open| if is_done { done } else { open };
    let mut lines = vec![(verbs("restored", "would restore"), format!("{count}, {origin}"))];
    if let Some(Difference { missing, newer, older, returning, .. }) = &replacement.difference {
        for (verb, what, differing) in [
            (verbs("dropped", "would drop"), "that the backup lacks", missing),
            (verbs("set back", "would set back"), "that changed since", newer),
            (verbs("advanced", "would advance"), "that are newer in the backup", older),
            (verbs("brought back", "would bring back"), "that the store lacked", returning),
        ] {
            if differing.count > 0 {
                lines.push((
                    verb,
                    format!("{} {what}: {}", issues(differing.count), listed(differing)),
                ));
            }
        }
    }
    if let Some(why) = replacement.damage.as_ref().filter(|_| !is_done) {
        lines.push(("is damaged", sanitize::line(why)));
    }
    for kept in &replacement.kept {
        lines.push(("kept", kept.display().to_string()));
    }
    if let (Some(kept), None) = (replacement.kept.first(), &replacement.damage) {
        let kept = kept.to_string_lossy();
        lines.push(("undo with", format!("ait restore {}", shell_words::quote(&kept))));
    }
    if arguments.dry_run {
        lines.push(("changed", "nothing".to_owned()));
    }
    let width = lines.iter().map(|(verb, _)| verb.len()).max().unwrap_or(0);
    for (place, (verb, text)) in lines.into_iter().enumerate() {
        let verb =
            output.styled(if place == 0 { STRONG } else { FAINT }, format_args!("{verb:<width$}"));
        output.line(format_args!("{verb}  {text}"))?;
    }
    Ok(())
}

fn listed(differing: &IssueSample) -> String {
    let first = differing.first.iter().map(|id| id.short().to_string());
    let more = (differing.count > differing.first.len()).then(|| "…".to_owned());
    first.chain(more).collect::<Vec<_>>().join(", ")
}

/// Returns an error that says why nothing was changed, and the ways out.
fn refusal(file: &Path, replacement: &RestoreOutcome, is_readable: bool) -> anyhow::Error {
    let file = shell_words::quote(&file.to_string_lossy()).into_owned();
    let Some(Difference { missing, newer, .. }) = &replacement.difference else {
        let why = replacement.damage.as_deref().unwrap_or("it cannot be read");
        let partial =
            if is_readable { "; `ait backup --partial` saves what can be read" } else { "" };
        return anyhow!(
            "nothing was changed: the store is damaged, so it is unknown what would be lost: {why}. \
             `ait restore {file} --force` replaces it with the backup and keeps the damaged files in .ait/ \
             beside it{partial}"
        );
    };
    let parts = [(missing, "that it lacks"), (newer, "that changed since")];
    let parts = parts.into_iter().filter(|(differing, _)| differing.count > 0);
    let parts = parts.map(|(differing, what)| {
        format!("{} {what} ({})", issues(differing.count), listed(differing))
    });
    let parts = parts.collect::<Vec<_>>().join(" and ");
    anyhow!(
        "nothing was changed: the store has newer work than {file}: {parts}. `ait restore {file} --force` \
         restores it anyway and keeps what it replaces in .ait/ beside the store"
    )
}
