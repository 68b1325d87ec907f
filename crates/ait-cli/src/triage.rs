//! `ait triage`: what is wrong in the queue, and what to do about it.

use anyhow::Result;
use clap::Args;

use super::options::{Format, one_of};
use super::output::{FAINT, STRONG};
use super::sanitize;
use super::styled_line::Line;
use super::{CommandContext, ExitStatus, Output};
use ait_tracker::read_model::{Finding, FindingKind, ReadModel};
use ait_tracker::triage::{DEFAULT_TAKE, Reader, ReportedFinding, TriageReport};

/// The arguments of `ait triage`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Nothing is changed. The JSON is that of /api/triage.\n\n\
    Examples:\n  \
    ait triage\n  \
    ait triage --kind duplicate --kind stale\n  \
    ait triage --json -n 200 | jq -r '.findings[].issues[0].id'")]
pub struct Arguments {
    /// Only findings of this kind; may be repeated
    #[arg(short, long = "kind", value_name = "KIND", value_parser = one_of::<FindingKind>(FindingKind::words()))]
    kinds: Vec<FindingKind>,

    /// Maximum number of findings to show; at most 200 of each kind are kept
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = DEFAULT_TAKE)]
    limit: usize,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let now = tracker.now();
    let model = ReadModel::new(tracker.clone());
    let findings = model.findings(now).await?;
    let report = TriageReport::of(&findings, &arguments.kinds, arguments.limit, Reader::Person);
    if arguments.format.json {
        output.json(&report)?;
    } else {
        write(&report, output)?;
    }
    Ok(ExitStatus::Done)
}

fn write(report: &TriageReport<'_>, output: &Output) -> Result<()> {
    if report.total == 0 {
        tracing::info!("no problem found");
    }
    let same_kind = |one: &ReportedFinding<'_>, next: &ReportedFinding<'_>| {
        one.finding.kind == next.finding.kind
    };
    for (at, found) in report.findings.chunk_by(same_kind).enumerate() {
        let kind = found[0].finding.kind;
        let count = report.counts.get(kind.as_str()).copied().unwrap_or_default();
        if at > 0 {
            output.line("")?;
        }
        let head = Line::default().part(STRONG, kind.as_str()).text(format!(" {count}"));
        head.part(FAINT, format!("  {}", kind.description())).write_wrapped(2, output)?;
        // What is only thin needs no more than a list.
        let is_plain = |reported: &ReportedFinding<'_>| reported.finding.sections.is_empty();
        if kind == FindingKind::ThinDescription && found.iter().all(is_plain) {
            found.iter().try_for_each(|reported| write_issues(reported.finding, output))?;
            let next = Line::default().text("    `ait edit ID --edit` writes more".to_owned());
            next.write_wrapped(4, output)?;
            continue;
        }
        found.iter().try_for_each(|reported| write_finding(reported, output))?;
    }
    if report.more > 0 {
        tracing::info!("{} more: see them with -n", report.more);
    }
    Ok(())
}

fn write_issues(finding: &Finding, output: &Output) -> Result<()> {
    for issue in &finding.issues {
        let title = sanitize::line(&issue.title);
        let line = Line::default().part(FAINT, format!("  {}", issue.id.short()));
        let line = line.text(format!("  {title}")).fitted(output.width(), output);
        output.line(line)?;
    }
    Ok(())
}

fn write_finding(reported: &ReportedFinding<'_>, output: &Output) -> Result<()> {
    let finding = reported.finding;
    write_issues(finding, output)?;
    let why = Line::default().text(format!("    {}", sanitize::line(&finding.why)));
    why.write_wrapped(4, output)?;
    let next = Line::default().text(format!("    {}", sanitize::line(&reported.next)));
    next.write_wrapped(4, output)
}
