//! `ait undo`: takes changes back with new ones.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::backup::issues;
use super::confirmation::{can_ask, is_confirmed};
use super::options::{CallerArgs, WrongUsage, agent_name, time_arg};
use super::output::{FAINT, STRONG};
use super::styled_line::Line;
use super::{CommandContext, ExitStatus, Output, sanitize};
use ait_domain::text::shortened;
use ait_domain::{AgentName, ClaimProof};
use ait_query::time_arg::TimeArg;
use ait_tracker::hints::{self, COMMANDS, ENDS_FOR_AGENTS};
use ait_tracker::{EventNumbers, Tracker, UndoError, UndoOutcome, UndoSelection, UndoneIssue};

/// How much of a title is shown, in characters.
const TITLE_CHARS: usize = 60;

/// The arguments of `ait undo`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Takes your last change back at once; of other changes, shows first what would happen, and asks. Nothing is\n\
    erased: an undo is a new change, which `ait undo` takes back, too. What was changed since stays, and comments\n\
    stay. The end of an issue is undone without --agent. `ait log` shows the numbers of changes.\n\n\
    Examples:\n  \
    ait undo                          your last change\n  \
    ait undo 412\n  \
    ait undo 412-460 --dry-run\n  \
    ait undo --by dev-2 --since 1h --yes"
)]
pub struct Arguments {
    /// The number of a change, or of the first and the last of several: 412-460
    #[arg(value_name = "NUMBER", group = "what")]
    change: Option<EventNumbers>,

    /// Your last change; this is the default, and is done without asking
    #[arg(long, group = "what")]
    last: bool,

    /// The changes of an agent; needs --since
    #[arg(long, value_name = "NAME", group = "what", value_parser = agent_name)]
    by: Option<AgentName>,

    /// From when: a duration before now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg, requires = "by")]
    since: Option<TimeArg>,

    /// Until when [default: now]
    #[arg(long, value_name = "WHEN", value_parser = time_arg, requires = "by")]
    until: Option<TimeArg>,

    /// Even if another agent holds an issue
    #[arg(long)]
    force: bool,

    /// Undo without asking
    #[arg(short, long)]
    yes: bool,

    /// Only show what would happen
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    #[command(flatten)]
    caller: CallerArgs,
}

impl Arguments {
    fn selection(&self, agent: &AgentName, tracker: &Tracker) -> Result<UndoSelection> {
        let now = tracker.now();
        match (&self.change, &self.by, self.since) {
            (Some(numbers), _, _) => Ok(UndoSelection::Numbers(numbers.clone())),
            (None, Some(by), Some(since)) => Ok(UndoSelection::By {
                agent: by.clone(),
                since: since.time(now),
                until: self.until.map(|until| until.time(now)),
            }),
            (None, Some(_), None) => Err(WrongUsage("--by needs --since, such as 1h").into()),
            // --last says the same.
            (None, None, _) => Ok(UndoSelection::Last(agent.clone())),
        }
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    let mut selection = arguments.selection(&agent, tracker)?;
    let proof = arguments.caller.proof(context, arguments.force);
    let json = arguments.caller.format.json;
    // One change of the user's own is soon taken back again.
    let is_own = matches!(selection, UndoSelection::Last(_)) && !arguments.dry_run;
    if !arguments.yes && !is_own {
        let preview = undo(tracker, &selection, &agent, proof, true).await?;
        show(&preview, true, json, output)?;
        let undone = count(&preview);
        let question = format!("Undo this in {}?", issues(undone));
        let is_wanted =
            undone > 0 && !arguments.dry_run && can_ask(json) && is_confirmed(&question)?;
        if !is_wanted {
            if undone > 0 && !arguments.dry_run {
                tracing::info!("nothing was changed; --yes does it");
            }
            let is_shown = undone > 0 && arguments.dry_run;
            return Ok(ExitStatus::done_if(is_shown));
        }
        // What was shown, whatever has happened since.
        selection = UndoSelection::Numbers(preview.numbers);
    }
    let outcome = undo(tracker, &selection, &agent, proof, false).await?;
    show(&outcome, false, json, output)?;
    let is_all =
        outcome.issues.iter().all(|issue| issue.left.is_empty() && issue.refused.is_none());
    Ok(ExitStatus::done_if(is_all && count(&outcome) > 0))
}

async fn undo(
    tracker: &Tracker,
    selection: &UndoSelection,
    agent: &AgentName,
    proof: ClaimProof,
    is_dry_run: bool,
) -> Result<UndoOutcome> {
    tracker.undo(selection, agent, proof, is_dry_run).await.map_err(|error| match error {
        UndoError::Store(error) => error.into(),
        error => error.into(),
    })
}

fn count(outcome: &UndoOutcome) -> usize {
    outcome.issues.iter().filter(|issue| !issue.undone.is_empty()).count()
}

fn show(outcome: &UndoOutcome, is_dry_run: bool, json: bool, output: &Output) -> Result<()> {
    if json {
        let reported = |issue: &UndoneIssue| {
            let left = hints::for_undone(issue, &COMMANDS);
            json!({ "id": issue.id, "undone": issue.undone, "left": left })
        };
        let mut report = json!({
            "dryRun": is_dry_run,
            "changes": outcome.count,
            "issues": outcome.issues.iter().map(reported).collect::<Vec<_>>(),
        });
        if let Some(events) = &outcome.events {
            report["change"] = events.to_string().into();
        }
        if let Some(at) = outcome.log_begins {
            report["warning"] = at.to_string().into();
        }
        return output.json(&report);
    }
    if let Some(at) = outcome.log_begins {
        tracing::warn!("{at}");
    }
    for issue in &outcome.issues {
        let head = Line::default().part(STRONG, issue.id.short());
        let title = shortened(issue.title.as_deref().unwrap_or("gone"), TITLE_CHARS);
        let line = head.text(format!(" {}", sanitize::line(&title)));
        let what = match &issue.undone[..] {
            [] => String::new(),
            fields if is_dry_run => format!(" (would undo: {})", fields.join(", ")),
            fields => format!(" (undone: {})", fields.join(", ")),
        };
        output.line(line.part(FAINT, what).fitted(output.width(), output))?;
        for left in hints::for_undone(issue, &COMMANDS) {
            let line = Line::default().part(FAINT, format!("  stays: {}", sanitize::line(&left)));
            line.write_wrapped(4, output)?;
        }
    }
    let is_refused = outcome.issues.iter().any(|issue| issue.refused.is_some());
    if count(outcome) == 0 && !is_refused {
        tracing::info!("there is nothing to undo");
    }
    if is_dry_run && outcome.ends_issues() {
        tracing::warn!("{ENDS_FOR_AGENTS}");
    }
    if let Some(events) = &outcome.events {
        tracing::info!("undone; `ait undo {events}` takes that back");
    }
    Ok(())
}
