//! `ait hold`: gives the agents of a provider nothing until a time, because it has reached a limit.

use anyhow::Result;
use clap::Args;

use super::options::{CallerArgs, WrongUsage, time_arg};
use super::output::local;
use super::{CommandContext, ExitStatus};
use ait_query::time_arg::TimeArg;
use ait_tracker::Hold;

/// The arguments of `ait hold`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Its agents keep what they hold. `providers` in ait.toml says which agents are whose.\n\n\
    Examples:\n  \
    ait hold                                        what is held now\n  \
    ait hold --provider anthropic --until 14:30\n  \
    ait hold --provider anthropic --end"
)]
pub struct Arguments {
    /// Whose agents get nothing
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Until when: a duration from now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg, requires = "provider", conflicts_with = "end")]
    until: Option<TimeArg>,

    /// Give its agents something again
    #[arg(long, requires = "provider")]
    end: bool,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    if let Some(name) = &arguments.provider {
        let known = &tracker.claim_settings().providers;
        let Some(provider) = known.iter().find(|known| known.name == *name) else {
            let what = "no agent is known to be of this provider: put providers = [\"NAME=AGENTS\"] into ait.toml";
            return Err(WrongUsage(what).into());
        };
        let now = tracker.now();
        let until = arguments.until.map(|until| until.time_after(now));
        if until.is_none_or(|until| until <= now) && !arguments.end {
            let what = "say until when, with --until and a later time, or --end";
            return Err(WrongUsage(what).into());
        }
        tracker.hold(provider, until, arguments.caller.agent(context)?).await?;
    }
    let holds = tracker.holds().await?;
    if arguments.caller.format.json {
        output.json(&holds)?;
    } else if holds.is_empty() {
        output.line("no provider is held")?;
    }
    if !arguments.caller.format.json {
        holds.iter().try_for_each(|hold| output.line(line(hold)))?;
    }
    Ok(ExitStatus::Done)
}

/// Says until when a provider is held.
pub(super) fn line(Hold { provider, until }: &Hold) -> String {
    format!("{provider} is held until {}", local(*until, "%Y-%m-%d %H:%M"))
}
