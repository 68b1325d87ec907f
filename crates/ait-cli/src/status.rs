//! `ait status`: shows the state of the store and the processes that use it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use clap::builder::styling::Style;
use serde::Serialize;

use super::issue_view::words;
use super::options::Format;
use super::output::{FAINT, STRONG, of_status};
use super::short_ids::ShortIds;
use super::styled_line::Line;
use super::table::{Cell, Column, rows};
use super::{ExitStatus, Output, no_issues, sanitize, say_damage, say_found_damage};
use ait_domain::thresholds::OLD_CLAIM_AFTER_MS;
use ait_domain::{ClientId, Counts, Issue, IssueId, Query, Status, Timestamp};
use ait_http::processes::{ProcessEntry, Registry};
use ait_system::span;
use ait_tracker::hints::{self, COMMANDS};
use ait_tracker::{LeaseState, OpenQuestion, StoreError, Tracker};

/// The indentation of wrapped lines.
const INDENT: usize = 2;

/// The arguments of `ait status`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Exits with 1 if the store cannot be read, but still shows the processes.\n\n\
    Examples:\n  \
    ait status\n  \
    ait status --old-after 2h\n  \
    ait status --json | jq -r '.processes[].url // empty'"
)]
pub struct Arguments {
    /// Show claims at least this old, such as 90m, 2h or 3d
    #[arg(long, value_name = "SPAN", default_value_t = Duration::from_millis(OLD_CLAIM_AFTER_MS).into())]
    old_after: humantime::Duration,

    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    /// The path of the file, or the URL of the database.
    #[serde(rename = "file")]
    store: &'a str,
    reason: &'a str,
    /// The copy of the store in this worktree, or the file beside a database, which is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    unused: Option<&'a Path>,
    /// Why the store cannot be read; then the counts are zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Why the store can be read but not changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    read_only: Option<String>,
    total: usize,
    counts: Vec<Count>,
    old_claims: Vec<Claim>,
    /// The open questions of agents to people.
    questions: Vec<OpenQuestion>,
    /// The claims that live with a client.
    leases: Vec<LeasedClaim>,
    processes: Vec<ProcessEntry>,
}

/// A claim that lives with a client.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeasedClaim {
    id: IssueId,
    agent: String,
    number: usize,
    client: ClientId,
    /// For how long the client has been gone, in milliseconds; absent while it lives.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone_for_ms: Option<u64>,
    /// When the claim lapses, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    lapses_in_ms: Option<u64>,
}

impl LeasedClaim {
    /// Describes a lease. Its claim lapses after the shortest grace period of the servers that run, or else after that
    /// of this command.
    fn of(state: LeaseState, claimed: &[Arc<Issue>], processes: &[ProcessEntry]) -> Option<Self> {
        let issue = claimed.iter().find(|issue| issue.id == state.issue)?;
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let gone_for_ms = state.gone_for.map(ms);
        let graces: Vec<u64> = processes.iter().filter_map(|entry| entry.claim_grace_ms).collect();
        let lapses_in_ms = if graces.is_empty() {
            state.lapses_in.map(ms)
        } else {
            let shortest = graces.into_iter().filter(|grace| *grace > 0).min();
            gone_for_ms.zip(shortest).map(|(gone, grace)| grace.saturating_sub(gone))
        };
        Some(Self {
            id: issue.id,
            agent: issue.holder()?.agent.to_owned(),
            number: state.lease.claim,
            client: state.lease.client,
            gone_for_ms,
            lapses_in_ms,
        })
    }
}

#[derive(Serialize)]
struct Count {
    status: Status,
    count: usize,
}

/// A long-held claim.
#[derive(Serialize)]
struct Claim {
    id: IssueId,
    title: String,
    status: Status,
    agent: String,
    since: Timestamp,
}

/// A store, as `ait status` shows it.
#[derive(Clone, Copy, Debug)]
pub struct ShownStore<'a> {
    /// The path of its file, with symbolic links resolved, or the URL of its database.
    pub store: &'a str,
    /// Why this store is used.
    pub reason: &'a str,
    /// The copy of the store in this worktree, or the file beside a database, which is not used.
    pub unused: Option<&'a Path>,
    /// The processes that use it.
    pub registry: &'a Registry,
}

/// Prints the status.
///
/// If the store cannot be read, prints the error and the processes.
pub async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    shown: ShownStore<'_>,
    output: &Output,
) -> Result<ExitStatus> {
    say_damage(tracker).await;
    let now = tracker.now();
    let (counts, claimed, problem) = match counts_and_claims(tracker).await {
        Ok((counts, claimed)) => (counts, claimed, None),
        Err(error) => (Counts::default(), Vec::new(), Some(hints::for_store(&error, &COMMANDS))),
    };
    let is_old = |claim: &Claim| {
        u128::from(now.millis_since(claim.since)) >= arguments.old_after.as_millis()
    };
    let mut old_claims: Vec<_> = claimed.iter().filter_map(claim).filter(is_old).collect();
    old_claims.sort_by_key(|claim| claim.since);
    let count = |&status| Count { status, count: counts.in_status(status) };
    let processes = shown.registry.list_live().unwrap_or_else(|error| {
        tracing::warn!("cannot list the processes on the store: {error}");
        Vec::new()
    });
    let lease = |state| LeasedClaim::of(state, &claimed, &processes);
    let report = Report {
        store: shown.store,
        reason: shown.reason,
        unused: shown.unused,
        read_only: match problem {
            None => {
                let refusal = tracker.check().await.err();
                refusal.map(|error| hints::for_store(&error, &COMMANDS))
            }
            Some(_) => None,
        },
        problem,
        total: counts.total(),
        counts: Status::OF_WORK.iter().map(count).collect(),
        old_claims,
        questions: tracker.questions().await.unwrap_or_default(),
        leases: tracker.leases().await.unwrap_or_default().into_iter().filter_map(lease).collect(),
        processes,
    };
    say_found_damage(tracker).await;
    if arguments.format.json {
        output.json(&report)?;
    } else {
        write(&report, now, output)?;
    }
    Ok(ExitStatus::done_if(report.problem.is_none()))
}

/// Returns the counts and the claimed issues.
async fn counts_and_claims(tracker: &Tracker) -> Result<(Counts, Vec<Arc<Issue>>), StoreError> {
    let statuses = [Status::InProgress, Status::InReview].into_iter().collect();
    let claimed = Query { statuses, take: usize::MAX, ..Query::default() };
    Ok((tracker.counts().await?, tracker.list_issues(claimed).await?.issues))
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

fn write(report: &Report<'_>, now: Timestamp, output: &Output) -> Result<()> {
    let file = sanitize::line(report.store);
    let head = Line::default().part(STRONG, file).text(" ");
    head.part(FAINT, format!("({})", report.reason)).write_wrapped(INDENT, output)?;
    if let Some(unused) = report.unused {
        let unused = sanitize::line(&unused.display().to_string());
        let line = Line::default().part(FAINT, format!("not used: {unused}"));
        line.write_wrapped(INDENT, output)?;
    }
    let mut counts = Line::default();
    for count in report.counts.iter().filter(|count| count.count > 0) {
        let gap = if counts.columns() > 0 { " · " } else { "" };
        let count_of_status = format!("{} {}", count.count, words(count.status));
        counts = counts.text(gap).part(of_status(count.status), count_of_status);
    }
    match report.problem {
        None if report.total == 0 => {
            Line::default().text(no_issues()).write_wrapped(INDENT, output)?;
        }
        None => counts.write_wrapped(INDENT, output)?,
        Some(_) => {}
    }
    for problem in report.problem.iter().chain(&report.read_only) {
        let problem = Line::default().part(of_status(Status::Rejected), sanitize::line(problem));
        problem.write_wrapped(INDENT, output)?;
    }
    if !report.questions.is_empty() {
        let count = match report.questions.len() {
            1 => "1 question waits for an answer".to_owned(),
            count => format!("{count} questions wait for an answer"),
        };
        let line = Line::default().part(STRONG, count).text(": `ait questions` lists them");
        line.write_wrapped(INDENT, output)?;
    }
    if !report.old_claims.is_empty() {
        output.line("")?;
        write_claims(&report.old_claims, now, output)?;
    }
    let gone: Vec<_> = report.leases.iter().filter(|one| one.gone_for_ms.is_some()).collect();
    if !gone.is_empty() {
        output.line("")?;
        write_gone(&gone, output)?;
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

fn write_claims(claims: &[Claim], now: Timestamp, output: &Output) -> Result<()> {
    const COLUMNS: [Column; 4] = [
        column("OLD CLAIM", 0, 36),
        column("SINCE", 0, 8),
        column("AGENT", 40, 20),
        column("TITLE", 60, usize::MAX),
    ];
    let ids = ShortIds::of(claims.iter().map(|claim| claim.id));
    let cells = claims.iter().map(|claim| {
        [
            Cell::new(ids.short(claim.id), STRONG),
            Cell::new(
                span::humanize_duration(now.millis_since(claim.since)),
                of_status(claim.status),
            ),
            Cell::new(sanitize::line(&claim.agent), Style::new()),
            Cell::new(sanitize::line(&claim.title), Style::new()),
        ]
    });
    let cells: Vec<_> = cells.collect();
    rows(output, COLUMNS, &cells).into_iter().try_for_each(|line| output.line(line))
}

fn write_gone(claims: &[&LeasedClaim], output: &Output) -> Result<()> {
    const COLUMNS: [Column; 4] = [
        column("CLIENT GONE", 0, 36),
        column("FOR", 0, 8),
        column("LAPSES IN", 0, 9),
        column("AGENT", 40, 40),
    ];
    let ids = ShortIds::of(claims.iter().map(|claim| claim.id));
    let span = |ms: Option<u64>| ms.map_or_else(|| "-".to_owned(), span::humanize_duration);
    let cells = claims.iter().map(|claim| {
        [
            Cell::new(ids.short(claim.id), STRONG),
            Cell::new(span(claim.gone_for_ms), Style::new()),
            Cell::new(span(claim.lapses_in_ms), Style::new()),
            Cell::new(sanitize::line(&claim.agent), Style::new()),
        ]
    });
    let cells: Vec<_> = cells.collect();
    rows(output, COLUMNS, &cells).into_iter().try_for_each(|line| output.line(line))
}

fn write_processes(processes: &[ProcessEntry], now: Timestamp, output: &Output) -> Result<()> {
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
            Cell::new(sanitize::line(&entry.version), Style::new()),
            Cell::new(span::humanize_duration(now.millis_since(entry.started_at)), Style::new()),
            Cell::new(sanitize::line(entry.url.as_deref().unwrap_or("-")), Style::new()),
        ]
    });
    let cells: Vec<_> = cells.collect();
    rows(output, COLUMNS, &cells).into_iter().try_for_each(|line| output.line(line))
}
