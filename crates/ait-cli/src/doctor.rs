//! `ait doctor`: shows problems with the store and its environment, and how to fix them.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use clap::builder::styling::{AnsiColor, Style};

use super::options::Format;
use super::output::{FAINT, STRONG};
use super::styled_line::Line;
use super::{ExitStatus, Output, sanitize};
use ait_doctor::{Check, CheckContext, Examination, Finding, Repaired, Report, Salvaged, Verdict};
use ait_domain::text::counted;

/// The width of the longest check name, and a gap.
const CHECK_COLUMNS: usize = 14;
/// The column in which the text of a check begins.
const INDENT: usize = 2 + CHECK_COLUMNS;
/// The indentation of the other lines when they are wrapped.
const HEAD_INDENT: usize = 2;

/// The arguments of `ait doctor`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Checks the store, its disk, the processes that use it, the repository around it, the configuration\n\
        of agent clients, and the settings, within five seconds. It works even if the store cannot be\n\
        read. It changes nothing without --fix.\n\n\
        Exits with 1 if there is a problem; warnings do not count.\n\n\
        --fix makes the safe repairs and reports each one: it publishes issues.json, removes files of dead\n\
        processes, protects tokens, and updates what `ait init` wrote, keeping copies\n\
        (*.before-doctor-<time>). --salvage saves what can be read of a damaged store to a new file, lists\n\
        what is lost, and exits with 1 if anything is; continue with `ait restore NEW --force`.\n\n\
        Examples:\n  \
        ait doctor\n  \
        ait doctor --fix\n  \
        ait doctor --json | jq -r '.findings[] | select(.verdict == \"problem\").fix'\n  \
        ait doctor --salvage rescued.json"
)]
pub struct Arguments {
    /// Make the safe repairs
    #[arg(long)]
    fix: bool,

    /// Save what can be read of a damaged store to a new file
    #[arg(long, value_name = "NEW", conflicts_with = "fix")]
    salvage: Option<PathBuf>,

    #[command(flatten)]
    format: Format,
}

/// Runs the checks, makes repairs if asked to, and prints the report.
///
/// # Errors
///
/// stdout cannot be written, or nothing could be salvaged.
pub async fn run(
    arguments: &Arguments,
    context: CheckContext,
    output: &Output,
) -> Result<ExitStatus> {
    if let Some(target) = &arguments.salvage {
        return salvage(context, target.clone(), arguments.format.json, output).await;
    }
    let examination = ait_doctor::examine_and_fix(&context, arguments.fix).await;
    let Examination { report, repaired } = &examination;
    if arguments.format.json {
        output.json(&examination)?;
    } else {
        write(report, repaired, arguments.fix, output)?;
    }
    let is_wrong =
        report.verdict == Verdict::Problem || repaired.iter().any(|repaired| !repaired.done);
    Ok(ExitStatus::done_if(!is_wrong))
}

async fn salvage(
    context: CheckContext,
    target: PathBuf,
    json: bool,
    output: &Output,
) -> Result<ExitStatus> {
    let salvaged = tokio::task::spawn_blocking(move || ait_doctor::salvage(&context, &target));
    let salvaged = super::progress::with_progress("reading what can be read", salvaged).await??;
    if json {
        output.json(&salvaged)?;
    } else {
        write_salvaged(&salvaged, output)?;
    }
    Ok(ExitStatus::done_if(salvaged.lost.is_empty()))
}

fn write_salvaged(salvaged: &Salvaged, output: &Output) -> Result<()> {
    let Salvaged { file, issues, issues_read, rows_read, lost } = salvaged;
    let name = sanitize::line(&file.display().to_string());
    let issues = super::backup::issues(*issues);
    output.line(format_args!(
        "saved {issues} in {} ({issues_read} read in issues.json, and {rows_read} in the database)",
        output.styled(STRONG, name)
    ))?;
    for what in lost {
        let sign = output.styled(style(Verdict::Problem), "lost");
        output.line(format_args!("{sign}  {}", sanitize::line(what)))?;
    }
    let file = shell_words::quote(&file.to_string_lossy()).into_owned();
    output.line(format_args!("to continue with it: ait restore {file} --force"))
}

/// A symbol for a verdict, which is distinct even without colours.
fn sign(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "✓",
        Verdict::Skipped => "-",
        Verdict::Warning => "!",
        Verdict::Problem => "✗",
    }
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Ok => AnsiColor::Green.on_default(),
        Verdict::Skipped => FAINT,
        Verdict::Warning => AnsiColor::Yellow.on_default(),
        Verdict::Problem => AnsiColor::Red.on_default(),
    }
}

fn name(check: Check) -> String {
    check.as_str().replace('_', " ")
}

/// Prints the report. Problems come last, next to the prompt, where people look.
fn write(report: &Report, repaired: &[Repaired], fixes: bool, output: &Output) -> Result<()> {
    let file = sanitize::line(&report.store);
    let head = Line::default().part(STRONG, file).text(" ");
    head.part(FAINT, format!("({})", report.reason)).write_wrapped(HEAD_INDENT, output)?;
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    // A stable sort keeps the order within each verdict.
    findings.sort_by_key(|finding| finding.verdict);
    for finding in findings {
        write_finding(finding, output)?;
    }
    if !repaired.is_empty() {
        output.line("")?;
    }
    for Repaired { done, what, .. } in repaired {
        let verdict = if *done { Verdict::Ok } else { Verdict::Problem };
        let word = if *done { "repaired" } else { "not repaired" };
        let repaired = Line::default().part(style(verdict), word).text(": ");
        repaired.text(sanitize::line(what)).write_wrapped(HEAD_INDENT, output)?;
    }
    let is_left = |finding: &&Finding| {
        fixes && finding.verdict == Verdict::Problem && finding.repair.is_none()
    };
    for finding in report.findings.iter().filter(is_left) {
        let line = Line::default().part(style(Verdict::Problem), "not repaired").text(": ");
        let reason = sanitize::line(&finding.reason);
        line.text(format!("{reason}: only a person can repair this; see the fix above"))
            .write_wrapped(HEAD_INDENT, output)?;
    }
    output.line("")?;
    Line::default().text(summary(report, fixes)).write_wrapped(HEAD_INDENT, output)
}

fn write_finding(finding: &Finding, output: &Output) -> Result<()> {
    let name = format!("{:<CHECK_COLUMNS$}", name(finding.check));
    let head = Line::default().part(style(finding.verdict), sign(finding.verdict)).text(" ");
    let head = head.part(STRONG, name).text(sanitize::line(&finding.reason));
    head.write_wrapped(INDENT, output)?;
    let below = Line::default().text(" ".repeat(INDENT));
    for detail in &finding.details {
        below.clone().text(sanitize::line(detail)).write_wrapped(INDENT, output)?;
    }
    match &finding.fix {
        Some(fix) => {
            let fix = below.part(FAINT, "fix:").text(" ").text(sanitize::line(fix));
            fix.write_wrapped(INDENT, output)
        }
        None => Ok(()),
    }
}

fn summary(report: &Report, fixes: bool) -> String {
    let mut parts = vec![format!("{} checks in {} ms", report.findings.len(), report.took_ms)];
    parts.push(counted(report.count(Verdict::Problem), "problem", "problems"));
    parts.push(counted(report.count(Verdict::Warning), "warning", "warnings"));
    parts.push(format!("{} skipped", report.count(Verdict::Skipped)));
    let hint = if report.repairs().is_empty() || fixes {
        ""
    } else {
        "; `ait doctor --fix` repairs some of them"
    };
    format!("{}{hint}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_names_fit_the_column() {
        for check in Check::ALL {
            assert!(name(*check).len() < CHECK_COLUMNS, "{check}");
        }
    }
}
