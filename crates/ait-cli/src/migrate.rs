//! `ait migrate`: what it takes, and what it says when it is done.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::backup::issues;
use super::confirmation::{can_ask, is_confirmed};
use super::options::Format;
use super::output::{FAINT, STRONG};
use super::{ExitStatus, Output};
use ait_tracker::Compared;

/// The arguments of `ait migrate`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "A STORE is the path of an issues.json, or the postgres:// URL of a database; the password comes\n\
        from AIT_STORE_PASSWORD, PGPASSWORD or ~/.pgpass. All issues and claims are moved, and all\n\
        events that the source still has, with their numbers. The target has to be empty; it gets\n\
        everything or nothing. At the end both are read and compared. If the project uses the source,\n\
        the command asks whether it is to use the target from now on, and sets that in ait.toml; the\n\
        files of the source then say where the queue is. Nothing in the source is removed.\n\
        Stop the agents and servers first: if the source changes meanwhile, nothing is moved.\n\n\
        Examples:\n  \
        ait migrate --from issues.json --to postgres://ait@db.example.com/issues\n  \
        ait migrate --from postgres://ait@db.example.com/issues --to issues.json"
)]
pub struct Arguments {
    /// The store to move from
    #[arg(long, value_name = "STORE")]
    pub from: String,

    /// The empty store to move to
    #[arg(long, value_name = "STORE")]
    pub to: String,

    /// Let the project use the new store, without asking
    #[arg(short, long)]
    yes: bool,

    #[command(flatten)]
    format: Format,
}

impl Arguments {
    /// Returns true if the project is to use the new store: the command line says so, or a person does.
    ///
    /// # Errors
    ///
    /// The person cannot be asked.
    pub fn is_agreed(&self, project: &str, to: &str) -> Result<bool> {
        if self.yes || !can_ask(self.format.json) {
            return Ok(self.yes);
        }
        is_confirmed(&format!("Let {project} use {to} from now on?"))
    }

    /// Prints what comes next.
    ///
    /// # Errors
    ///
    /// The output cannot be written.
    pub fn say_next(&self, next: &str, output: &Output) -> Result<()> {
        if !self.format.json {
            output.line(format_args!("{}  {next}", output.styled(FAINT, "next    ")))?;
            output.flush()?;
        }
        Ok(())
    }
}

/// Prints what was moved `from` one store `to` another, and how it was verified.
pub fn report(
    arguments: &Arguments,
    (from, to): (&str, &str),
    compared: &Compared,
    output: &Output,
) -> Result<ExitStatus> {
    let Compared { issues: count, leases, oldest, newest } = *compared;
    let events = (newest + 1).saturating_sub(oldest);
    if arguments.format.json {
        output.json(&json!({
            "from": from,
            "to": to,
            "issues": count,
            "leases": leases,
            "events": events,
            "oldestEvent": (events > 0).then_some(oldest),
            "newestEvent": newest,
            "verified": true,
        }))?;
    } else {
        let numbers = match events {
            0 => format!("no events; the next one has number {}", newest + 1),
            1 => format!("1 event, number {newest}"),
            _ => format!("{events} events, {oldest} to {newest}"),
        };
        let moved = output.styled(STRONG, "moved   ");
        output.line(format_args!("{moved}  {}, {numbers}", issues(count)))?;
        for (verb, text) in [
            ("verified", "every issue, claim and event is the same in both, byte by byte"),
            ("from    ", from),
            ("to      ", to),
        ] {
            let verb = output.styled(FAINT, verb);
            output.line(format_args!("{verb}  {text}"))?;
        }
    }
    output.flush()?;
    Ok(ExitStatus::Done)
}
