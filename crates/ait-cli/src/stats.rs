//! `ait stats`: how many issues move through the statuses, and how fast.

use anyhow::Result;
use clap::Args;

use super::issue_view::words;
use super::options::{Format, one_of};
use super::output::{FAINT, local, of_status};
use super::{CommandContext, ExitStatus, Output, sanitize};
use ait_domain::{Status, Usage};
use ait_system::span;
use ait_tracker::read_model::ReadModel;
use ait_tracker::read_model::stats::{Percentiles, Range, Spreads, Stats, UsageStats, Work};

/// The arguments of `ait stats`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "The JSON is that of /api/stats.\n\n\
    Examples:\n  \
    ait stats\n  \
    ait stats --range all\n  \
    ait stats --json | jq .cycle.bug")]
pub struct Arguments {
    /// The time range, which ends now
    #[arg(long, value_name = "RANGE", default_value = Range::Week.as_str(), value_parser = one_of::<Range>(Range::words()))]
    range: Range,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let range = arguments.range;
    let now = tracker.now();
    let model = ReadModel::new(tracker.clone());
    let stats = model.read(move |view| view.stats(range, now)).await?;
    if arguments.format.json {
        output.json(&stats)?;
    } else {
        write(&stats, output)?;
    }
    Ok(ExitStatus::Done)
}

fn write(stats: &Stats, output: &Output) -> Result<()> {
    let counted = Status::OF_WORK.iter().filter(|status| stats.present.in_status(**status) > 0);
    let counted = counted.map(|status| {
        let name = output.styled(of_status(*status), words(*status));
        format!("{} {name}", stats.present.in_status(*status))
    });
    let counted: Vec<_> = counted.collect();
    let counted =
        if counted.is_empty() { String::new() } else { format!(": {}", counted.join(" · ")) };
    output.line(format_args!("{} open of {}{counted}", stats.open, stats.total))?;
    let Work { filed, completed, closed, rejected, returned } = stats.throughput.total;
    let since = local(stats.begin, "%Y-%m-%d %H:%M");
    let since = output.styled(FAINT, format_args!("since {since}"));
    output.line("")?;
    output.line(since)?;
    output.line(format_args!(
        "filed {filed} · completed {completed} · closed {closed} · rejected {rejected} · returned {returned}"
    ))?;
    let by_kind = |spreads: &Spreads| {
        let kinds = spreads.kinds().map(|(kind, spread)| (kind.to_string(), spread));
        [("all".to_owned(), spreads.all)].into_iter().chain(kinds).collect::<Vec<_>>()
    };
    write_times("cycle time, from claim to completion", &by_kind(&stats.cycle), output)?;
    write_times("lead time, from filing to closing", &by_kind(&stats.lead), output)?;
    let by_status = stats.in_status.iter().map(|(status, spread)| (words(*status), *spread));
    let by_status: Vec<_> = by_status.collect();
    if !by_status.is_empty() {
        write_times("time in each status, of the closed issues", &by_status, output)?;
    }
    stats.usage.as_ref().map_or(Ok(()), |usage| write_usage(usage, output))
}

fn write_usage(stats: &UsageStats, output: &Output) -> Result<()> {
    output.line("")?;
    output.line(output.styled(FAINT, "usage"))?;
    let summed = [("all", Some(&stats.total)), ("failed attempts", Some(&stats.failed))];
    let closed = stats.per_closed_issue();
    let named = |(name, usage): (&String, &Usage)| (sanitize::line(name), usage.clone());
    let rows = summed.into_iter().chain([("a closed issue", closed.as_ref())]);
    let rows = rows.filter_map(|(name, usage)| Some((name.to_owned(), usage?.clone())));
    let rows = rows.chain(stats.by_model.iter().map(named));
    for (name, usage) in rows.chain(stats.by_agent.iter().map(named)) {
        if !usage.is_empty() {
            output.line(format_args!("{name:<20} {usage}"))?;
        }
    }
    Ok(())
}

fn write_times(name: &str, rows: &[(String, Percentiles)], output: &Output) -> Result<()> {
    output.line("")?;
    let name = output.styled(FAINT, name);
    output.line(name)?;
    for (kind, Percentiles { count, median_ms, p90_ms }) in rows {
        let (Some(median_ms), Some(p90_ms)) = (*median_ms, *p90_ms) else { continue };
        let median = span::humanize_duration(median_ms);
        let p90 = span::humanize_duration(p90_ms);
        output.line(format_args!("{kind:<11} {count:>6}  median {median}, 90 % within {p90}"))?;
    }
    if rows.iter().all(|(_, spread)| spread.count == 0) {
        output.line("no issue to measure")?;
    }
    Ok(())
}
