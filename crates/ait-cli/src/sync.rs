//! `ait sync`: brings the issues of remote trackers into the queue, and sends changes back.

use std::env;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::options::{CallerArgs, issue_ref, time_span};
use super::progress::with_progress;
use super::{CommandContext, ExitStatus, sync_add};
use ait_domain::{IssueId, IssueRef};
use ait_sync::{Directions, Link, Report, Run, Side, SyncError, SyncSettings};
use ait_tracker::hints;

/// The arguments of `ait sync`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "A sync is a table in ait.toml:\n\n  \
    [sync.company]\n  \
    kind = \"github\"                       or azure, backlog; these with url\n  \
    project = \"acme/shop\"\n  \
    pull = \"state:open label:agents\"     what comes in\n  \
    push = [\"status\", \"comments\"]        what goes back; also title, description, labels, priority, assignee, new\n\n\
    The secret is in GITHUB_TOKEN, AZURE_DEVOPS_TOKEN or BACKLOG_API_KEY, or in a file that token-file names; for azure, \
    `az login` is enough. Where both sides changed a field, the value here \
    stays until you choose one with --keep or --take.\n\n\
    Exits with 0 if both sides agree, and with 1 if there are conflicts or problems.\n\n\
    Examples:\n  \
    ait sync --dry-run                what would be done; sends nothing\n  \
    ait sync company --every 5m\n  \
    ait sync --take 3f2a9c1e")]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<SyncAction>,

    /// The sync [default: all in ait.toml]
    name: Option<String>,

    /// Only bring in what changed there
    #[arg(long, conflicts_with = "push")]
    pull: bool,

    /// Only send what changed here
    #[arg(long)]
    push: bool,

    /// Only show what would be done; change nothing on either side
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Go on, and run it again after each such time
    #[arg(long, value_name = "TIME", value_parser = time_span)]
    every: Option<Duration>,

    /// End the conflicts of this issue with the values here; the next run sends them
    #[arg(long, value_name = "ID", value_parser = issue_ref, conflicts_with_all = ["take", "name", "every", "dry_run"])]
    keep: Option<IssueRef>,

    /// End the conflicts of this issue with the values there
    #[arg(long, value_name = "ID", value_parser = issue_ref, conflicts_with_all = ["name", "every", "dry_run"])]
    take: Option<IssueRef>,

    #[command(flatten)]
    caller: CallerArgs,
}

/// What to do with syncs besides running them.
#[derive(Clone, Debug, Subcommand)]
enum SyncAction {
    /// Add a sync to ait.toml, once its connection works
    Add(sync_add::Arguments),
}

impl Arguments {
    /// Returns true if the command goes on until it is ended.
    pub fn repeats(&self) -> bool {
        self.every.is_some()
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    if let Some(SyncAction::Add(arguments)) = &arguments.action {
        return sync_add::run(arguments, context).await;
    }
    if let Some(issue) = &arguments.keep {
        return resolve(issue, Side::Here, arguments, context).await;
    }
    if let Some(issue) = &arguments.take {
        return resolve(issue, Side::There, arguments, context).await;
    }
    let all = context.syncs.settings;
    if all.is_empty() {
        bail!(
            "ait.toml has no sync with another tracker: add a table such as [sync.company], which `ait sync --help` shows; the \
             queue itself needs none, as all processes share the store, and `ait save` updates issues.json now"
        );
    }
    let chosen: Vec<&SyncSettings> = match &arguments.name {
        None => all.iter().collect(),
        Some(name) => {
            let known = || all.iter().map(|sync| &*sync.name).collect::<Vec<_>>().join(", ");
            let found = all.iter().find(|sync| sync.name == *name);
            vec![
                found
                    .ok_or_else(|| anyhow!("ait.toml has no [sync.{name}]; it has {}", known()))?,
            ]
        }
    };
    let Some(every) = arguments.every else { return run_all(&chosen, arguments, context).await };
    loop {
        if let Err(error) = run_all(&chosen, arguments, context).await {
            tracing::warn!("{error:#}");
        }
        context.output.flush()?;
        tokio::time::sleep(every).await;
    }
}

async fn run_all(
    syncs: &[&SyncSettings],
    arguments: &Arguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let mut status = ExitStatus::Done;
    let mut documents = Vec::new();
    for settings in syncs {
        let report = run_one(settings, arguments, context)
            .await
            .with_context(|| format!("sync {}", settings.name))?;
        if !report.problems.is_empty() || !report.conflicts.is_empty() {
            status = ExitStatus::Incomplete;
        }
        if arguments.caller.format.json {
            let mut document = json!(report);
            document["name"] = json!(settings.name);
            document["dryRun"] = json!(arguments.dry_run);
            documents.push(document);
        } else {
            show(settings, &report, arguments.dry_run, context).await?;
        }
    }
    if arguments.caller.format.json {
        context.output.json(&Value::Array(documents))?;
    }
    Ok(status)
}

async fn run_one(
    settings: &SyncSettings,
    arguments: &Arguments,
    context: &CommandContext<'_>,
) -> Result<Report> {
    let environment = |name: &str| env::var(name).ok();
    let remote = ait_sync::connect(settings, &environment, context.syncs.project)
        .map_err(|why| anyhow!(why))?;
    let directions =
        Directions { pulls: !arguments.push, pushes: !arguments.pull, is_dry: arguments.dry_run };
    let run = Run::new(context.tracker, &*remote, settings, directions, &|_| ())?;
    let what = format!("syncing {}", settings.name);
    let ended = with_progress(&what, run.run(context.syncs.directory)).await;
    ended.map_err(|error| match error {
        SyncError::Store(error) => error.into(),
        error => error.into(),
    })
}

async fn show(
    settings: &SyncSettings,
    report: &Report,
    is_dry: bool,
    context: &CommandContext<'_>,
) -> Result<()> {
    let output = context.output;
    let would = if is_dry { " (would be done)" } else { "" };
    output.line(format_args!("{}: {}{would}", settings.name, report.summary()))?;
    for problem in &report.problems {
        output.line(format_args!("  {problem}"))?;
    }
    if report.more_problems > 0 {
        output.line(format_args!("  and {} more problems", report.more_problems))?;
    }
    for id in &report.conflicts {
        show_conflict(*id, context).await?;
    }
    Ok(())
}

/// Shows both values of each field of an issue in conflict.
async fn show_conflict(id: IssueId, context: &CommandContext<'_>) -> Result<()> {
    const SHOWN_CHARS: usize = 60;
    let output = context.output;
    let issue = context.tracker.get_issue(id.into()).await?;
    let shown = |text: &str| format!("{:?}", ait_domain::text::shortened(text, SHOWN_CHARS));
    for (_, link) in Link::all(&issue) {
        for (field, theirs) in &link.conflicts {
            let ours = ait_sync::plan::own_value(&issue, *field);
            let key = &link.key;
            let short = id.short();
            output.line(format_args!(
                "  {short} ({key}): {field} is {} here and {} there",
                shown(&ours),
                shown(theirs)
            ))?;
        }
    }
    output.line(format_args!("  {}", hints::for_sync_conflict(&id.short())))
}

async fn resolve(
    issue: &IssueRef,
    side: Side,
    arguments: &Arguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let agent = arguments.caller.agent(context)?;
    let issue = context.tracker.get_issue(issue.clone()).await?;
    let fields = ait_sync::resolve(context.tracker, &issue, side, &agent).await?;
    let output = context.output;
    if arguments.caller.format.json {
        output.json(&json!({ "side": side, "fields": fields }))?;
    } else if fields.is_empty() {
        output.line("the issue has no conflict")?;
    } else {
        let then = match side {
            Side::Here => "kept; the next sync sends it",
            Side::There => "taken from there",
        };
        output.line(format_args!("{}: {then}", fields.join(", ")))?;
    }
    Ok(ExitStatus::done_if(!fields.is_empty()))
}
