//! `ait status`: which store this is, how it is doing, and who uses it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anstyle::Style;
use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::issue_view::words;
use super::options::Format;
use super::output::{FAINT, STRONG, of_status};
use super::table::{Cell, Column, rows};
use super::{Ending, Output, plain};
use crate::domain::{Counts, Issue, IssueId, OLD_CLAIM_MS, Query, Status, Timestamp};
use crate::processes::{Entry, Registry};
use crate::span;
use crate::tracker::{StoreError, Tracker};

/// The arguments of `ait status`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Ends with 1 when the store cannot be read; the processes are shown all the same.\n\n\
    Examples:\n  \
    ait status\n  \
    ait status --old-after 2h\n  \
    ait status --json | jq -r '.processes[].url // empty'"
)]
pub struct Arguments {
    /// How old a claim is when it is called old, such as 90m, 2h or 3d
    #[arg(long, value_name = "SPAN", default_value_t = Duration::from_millis(OLD_CLAIM_MS).into())]
    old_after: humantime::Duration,

    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    file: &'a Path,
    reason: &'a str,
    /// Why the store cannot be read; then there are no counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Why nothing can be changed, where it can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only: Option<String>,
    total: usize,
    counts: Vec<Count>,
    old_claims: Vec<Claim>,
    processes: Vec<Entry>,
}

#[derive(Serialize)]
struct Count {
    status: Status,
    count: usize,
}

/// An issue that somebody has held for long.
#[derive(Serialize)]
struct Claim {
    id: IssueId,
    title: String,
    status: Status,
    agent: String,
    since: Timestamp,
}

/// Shows it all; `file` is the one of the store, where it really is, and `reason` tells why it is this store.
///
/// A store that cannot be read is shown so, with the processes on it.
///
/// # Errors
///
/// stdout takes no more.
pub async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    file: &Path,
    reason: &str,
    output: &mut Output,
) -> Result<Ending> {
    let now = tracker.now();
    let (counts, claimed, problem) = match look(tracker).await {
        Ok((counts, claimed)) => (counts, claimed, None),
        Err(error) => (Counts::default(), Vec::new(), Some(error.to_string())),
    };
    let is_old = |claim: &Claim| {
        u128::from(now.millis_since(claim.since)) >= arguments.old_after.as_millis()
    };
    let mut old_claims: Vec<_> = claimed.iter().filter_map(claim).filter(is_old).collect();
    old_claims.sort_by_key(|claim| claim.since);
    let count = |&status| Count { status, count: counts.in_status(status) };
    let report = Report {
        file,
        reason,
        read_only: match problem {
            None => tracker.check().await.err().map(|error| error.to_string()),
            Some(_) => None,
        },
        problem,
        total: counts.total(),
        counts: Status::ALL.iter().map(count).collect(),
        old_claims,
        processes: Registry::beside(file).living().unwrap_or_else(|error| {
            tracing::warn!("the processes on the store cannot be told: {error}");
            Vec::new()
        }),
    };
    if arguments.format.json {
        output.json(&report)?;
    } else {
        write(&report, now, output)?;
    }
    Ok(if report.problem.is_some() { Ending::Partly } else { Ending::Done })
}

/// The counts, and what is claimed.
async fn look(tracker: &Tracker) -> Result<(Counts, Vec<Arc<Issue>>), StoreError> {
    let issues = tracker.snapshot().await?.issues;
    let statuses = [Status::InProgress, Status::InReview].into_iter().collect();
    let claimed = Query { statuses, take: issues.len(), ..Query::default() };
    Ok((issues.counts(), issues.list(&claimed).issues))
}

fn claim(issue: &Arc<Issue>) -> Option<Claim> {
    let holder = issue.holder()?;
    Some(Claim {
        id: issue.id,
        title: issue.title.clone(),
        status: issue.status,
        agent: holder.agent.to_owned(),
        since: holder.since,
    })
}

fn write(report: &Report<'_>, now: Timestamp, output: &mut Output) -> Result<()> {
    let file = plain::line(&report.file.display().to_string());
    let reason = output.styled(FAINT, format_args!("({})", report.reason));
    output.line(format_args!("{} {reason}", output.styled(STRONG, file)))?;
    let counts = report.counts.iter().filter(|count| count.count > 0).map(|count| {
        output.styled(
            of_status(count.status),
            format_args!("{} {}", count.count, words(count.status)),
        )
    });
    let counts: Vec<_> = counts.collect();
    match &report.problem {
        Some(problem) => {
            output.line(output.styled(of_status(Status::Rejected), plain::line(problem)))?;
        }
        None if counts.is_empty() => output.line("no issues")?,
        None => output.line(counts.join(" · "))?,
    }
    if let Some(why) = &report.read_only {
        output.line(output.styled(of_status(Status::Rejected), plain::line(why)))?;
    }
    if !report.old_claims.is_empty() {
        output.line("")?;
        write_claims(&report.old_claims, now, output)?;
    }
    output.line("")?;
    if report.processes.is_empty() {
        return output.line("no process serves this store");
    }
    write_processes(&report.processes, now, output)
}

const fn column(name: &'static str, from_width: usize, at_most: usize) -> Column {
    Column { name, from_width, at_most }
}

fn write_claims(claims: &[Claim], now: Timestamp, output: &mut Output) -> Result<()> {
    const COLUMNS: [Column; 4] = [
        column("OLD CLAIM", 0, 9),
        column("SINCE", 0, 8),
        column("AGENT", 40, 20),
        column("TITLE", 60, usize::MAX),
    ];
    let cells = claims.iter().map(|claim| {
        [
            Cell::new(claim.id.short(), STRONG),
            Cell::new(span::words(now.millis_since(claim.since)), of_status(claim.status)),
            Cell::new(plain::line(&claim.agent), Style::new()),
            Cell::new(plain::line(&claim.title), Style::new()),
        ]
    });
    let cells: Vec<_> = cells.collect();
    rows(output, COLUMNS, &cells).into_iter().try_for_each(|line| output.line(line))
}

fn write_processes(processes: &[Entry], now: Timestamp, output: &mut Output) -> Result<()> {
    const COLUMNS: [Column; 5] = [
        column("PROCESS", 0, 10),
        column("KIND", 0, 5),
        column("VERSION", 60, 12),
        column("SINCE", 50, 8),
        column("PAGE", 0, usize::MAX),
    ];
    let cells = processes.iter().map(|entry| {
        [
            Cell::new(entry.pid.to_string(), STRONG),
            Cell::new(entry.kind.as_str(), Style::new()),
            Cell::new(plain::line(&entry.version), Style::new()),
            Cell::new(span::words(now.millis_since(entry.started_at)), Style::new()),
            Cell::new(plain::line(entry.url.as_deref().unwrap_or("-")), Style::new()),
        ]
    });
    let cells: Vec<_> = cells.collect();
    rows(output, COLUMNS, &cells).into_iter().try_for_each(|line| output.line(line))
}
