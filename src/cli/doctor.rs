//! `ait doctor`: what is wrong with the store and around it, and what to do.

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::options::Format;
use super::output::{FAINT, STRONG};
use super::{Ending, Output, plain};
use crate::doctor::{self, Check, Finding, Repaired, Report, Salvaged, Subject, Verdict};

/// How wide the widest name of a check is, and a gap.
const CHECK_COLUMNS: usize = 14;
/// Where the text begins that belongs to a check.
const INDENT: usize = 2 + CHECK_COLUMNS;

/// The arguments of `ait doctor`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Looks at the store, the disk under it, the processes on it, the repository around it, what clients\n\
        of agents are told, and the settings, within five seconds, also when the store cannot be read.\n\
        Changes nothing without --fix.\n\n\
        Ends with 1 when something is wrong; a warning is nothing wrong.\n\n\
        --fix repairs what is safe to repair, and says what it did: it brings issues.json up to date,\n\
        removes what dead processes left, protects tokens, and brings up to date what `ait init` wrote, of\n\
        which it keeps copies (*.before-doctor-<time>). --salvage saves what can be read of a damaged store\n\
        in a new file, says what is lost, and ends with 1 if something is; `ait restore NEW --force` goes on\n\
        with it.\n\n\
        Examples:\n  \
        ait doctor\n  \
        ait doctor --fix\n  \
        ait doctor --json | jq -r '.findings[] | select(.verdict == \"problem\").fix'\n  \
        ait doctor --salvage rescued.json"
)]
pub struct Arguments {
    /// Repair what is safe to repair
    #[arg(long)]
    fix: bool,

    /// Save what can be read of a damaged store in a file that is not there yet
    #[arg(long, value_name = "NEW", conflicts_with = "fix")]
    salvage: Option<PathBuf>,

    #[command(flatten)]
    format: Format,
}

/// What is answered as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    repaired: &'a [Repaired],
}

/// Examines, repairs where that was asked for, and shows what was found.
///
/// # Errors
///
/// stdout takes no more; nothing could be salvaged.
pub async fn run(arguments: &Arguments, subject: Subject, output: &mut Output) -> Result<Ending> {
    if let Some(target) = &arguments.salvage {
        return salvage(subject, target.clone(), arguments.format.json, output).await;
    }
    let mut report = doctor::examine(&subject).await;
    let mut repaired = Vec::new();
    if arguments.fix && !report.repairs().is_empty() {
        repaired = doctor::repair(&subject, &report).await;
        report = doctor::examine(&subject).await;
    }
    if arguments.format.json {
        output.json(&Answer { report: &report, repaired: &repaired })?;
    } else {
        write(&report, &repaired, arguments.fix, output)?;
    }
    let is_wrong =
        report.verdict == Verdict::Problem || repaired.iter().any(|repaired| !repaired.done);
    Ok(if is_wrong { Ending::Partly } else { Ending::Done })
}

async fn salvage(
    subject: Subject,
    target: PathBuf,
    json: bool,
    output: &mut Output,
) -> Result<Ending> {
    let salvaged = tokio::task::spawn_blocking(move || doctor::salvage(&subject, &target));
    let salvaged = super::waiting::waiting("reading what can be read", salvaged).await??;
    if json {
        output.json(&salvaged)?;
    } else {
        write_salvaged(&salvaged, output)?;
    }
    Ok(if salvaged.lost.is_empty() { Ending::Done } else { Ending::Partly })
}

fn write_salvaged(salvaged: &Salvaged, output: &mut Output) -> Result<()> {
    let Salvaged { file, issues, issues_read, changes_made, lost } = salvaged;
    let name = plain::line(&file.display().to_string());
    let issues = super::backup::issues(*issues);
    let changes = if *changes_made == 1 { "change" } else { "changes" };
    output.line(format_args!(
        "saved {issues} in {} ({issues_read} read in issues.json, and {changes_made} {changes} in the log)",
        output.styled(STRONG, name)
    ))?;
    for what in lost {
        let sign = output.styled(style(Verdict::Problem), "lost");
        output.line(format_args!("{sign}  {}", plain::line(what)))?;
    }
    let file = shell_words::quote(&file.to_string_lossy()).into_owned();
    output.line(format_args!("go on with it: ait restore {file} --force"))
}

/// A sign for a verdict, which differs without colours too.
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

/// What is well first, so that what is not stands where a person looks.
fn write(report: &Report, repaired: &[Repaired], fixes: bool, output: &mut Output) -> Result<()> {
    let file = plain::line(&report.file.display().to_string());
    let reason = output.styled(FAINT, format_args!("({})", report.reason));
    output.line(format_args!("{} {reason}", output.styled(STRONG, file)))?;
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    // Stable: in each verdict as they were.
    findings.sort_by_key(|finding| finding.verdict);
    for finding in findings {
        write_finding(finding, output)?;
    }
    if !repaired.is_empty() {
        output.line("")?;
    }
    for Repaired { done, what, .. } in repaired {
        let verdict = if *done { Verdict::Ok } else { Verdict::Problem };
        let word = output.styled(style(verdict), if *done { "repaired" } else { "not repaired" });
        output.line(format_args!("{word}: {}", plain::line(what)))?;
    }
    output.line("")?;
    output.line(summary(report, fixes))
}

fn write_finding(finding: &Finding, output: &mut Output) -> Result<()> {
    let sign = output.styled(style(finding.verdict), sign(finding.verdict));
    let name = name(finding.check);
    let name = output.styled(STRONG, format_args!("{name:<CHECK_COLUMNS$}"));
    output.line(format_args!("{sign} {name}{}", plain::line(&finding.reason)))?;
    for detail in &finding.details {
        output.line(format_args!("{:INDENT$}{}", "", plain::line(detail)))?;
    }
    if let Some(fix) = &finding.fix {
        let word = output.styled(FAINT, "fix:");
        output.line(format_args!("{:INDENT$}{word} {}", "", plain::line(fix)))?;
    }
    Ok(())
}

fn summary(report: &Report, fixes: bool) -> String {
    let counted = |verdict, one: &str, many: &str| match report.count(verdict) {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let mut parts = vec![format!("{} checks in {} ms", report.findings.len(), report.took_ms)];
    parts.push(counted(Verdict::Problem, "problem", "problems"));
    parts.push(counted(Verdict::Warning, "warning", "warnings"));
    parts.push(format!("{} skipped", report.count(Verdict::Skipped)));
    let hint = match report.repairs().is_empty() || fixes {
        true => "",
        false => "; `ait doctor --fix` repairs some of it",
    };
    format!("{}{hint}", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_check_has_room() {
        for check in Check::ALL {
            assert!(name(*check).len() < CHECK_COLUMNS, "{check}");
        }
    }
}
