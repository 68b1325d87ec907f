//! `ait show`: prints one issue in full.

use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::issue_view::{Dependents, write_newer_head, write_whole};
use super::options::{Format, issue_ref, issues_at, time_arg};
use super::output::STRONG;
use super::{CommandContext, ExitStatus, Output, sanitize};
use ait_domain::{IssueRef, WithClaim};
use ait_query::field_selection::FieldSelection;
use ait_query::time_arg::TimeArg;
use ait_tracker::{StoreError, external_ids};
use ait_worktrees::{Diff, FileDiff, diff};

/// The arguments of `ait show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait show 3f2a9c1e\n  \
    ait show '#12'                      the number of an imported issue in the other tracker\n  \
    ait show 3f2a9c1e --at 2d           as of two days ago\n  \
    ait show 3f2a9c1e --diff            with what its branch changes\n  \
    ait show 3f2a9c1e --json | jq -r .status")]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits, or its id or number in the tracker that it is from
    #[arg(value_name = "ID", required = true, value_parser = issue_ref)]
    ids: Vec<IssueRef>,

    /// Show the issue as of WHEN: a duration before now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    at: Option<TimeArg>,

    /// Show what its branch changes, too
    #[arg(long, conflicts_with_all = ["at", "fields"])]
    diff: bool,

    /// Print JSON with these fields alone, such as id,title,comments.text
    #[arg(long, value_name = "FIELDS")]
    fields: Option<FieldSelection>,

    #[command(flatten)]
    format: Format,
}

/// An issue, and the issues that have links to it.
#[derive(Serialize)]
struct WithDependents<'a> {
    #[serde(flatten)]
    issue: WithClaim<'a>,
    #[serde(flatten)]
    dependents: Dependents,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<Diff>,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let mut found = Vec::new();
    let (issues, now) = match arguments.at {
        None => {
            for id in &arguments.ids {
                found.push(tracker.get_issue(id.clone()).await?);
            }
            let around = tracker.issues_with_parts(found.iter().map(|issue| issue.id)).await?;
            (around, tracker.now())
        }
        Some(at) => {
            let (issues, at) = issues_at(tracker, at).await?;
            for id in &arguments.ids {
                let position = external_ids::position(&issues, id).map_err(StoreError::from);
                found.push(issues.at(position.with_context(|| format!("at {at}"))?));
            }
            (issues, at)
        }
    };
    for (at, issue) in found.iter().enumerate() {
        let diff = if arguments.diff { diff(Path::new("."), issue).await } else { None };
        if let Some(fields) = &arguments.fields {
            output.json(&fields.select(issue, now))?;
        } else if arguments.format.json {
            output.json(&WithDependents {
                issue: WithClaim::from(&**issue),
                dependents: Dependents::of(issue.id, &issues),
                diff,
            })?;
        } else {
            if at > 0 {
                output.line("")?;
            }
            write_whole(issue, &issues, now, output)?;
            if arguments.at.is_none() {
                write_newer_head(issue, output).await?;
            }
            if arguments.diff {
                write_diff(diff.as_ref(), output)?;
            }
        }
    }
    Ok(ExitStatus::Done)
}

/// Prints what a branch changes, file by file.
fn write_diff(diff: Option<&Diff>, output: &Output) -> Result<()> {
    let Some(diff) = diff else {
        return output.line("\nThere is no branch with changes: it is merged, or gone.");
    };
    for FileDiff { path, added, removed, text, is_cut } in &diff.files {
        let path = sanitize::line(path);
        output.line(format_args!("\n{} +{added} -{removed}", output.styled(STRONG, path)))?;
        sanitize::lines(text).try_for_each(|line| output.line(line))?;
        if *is_cut {
            output.line(format_args!("... `git diff ...{}` shows all of it", diff.branch))?;
        }
    }
    if diff.left_out > 0 {
        output.line(format_args!("\n{} more files", diff.left_out))?;
    }
    Ok(())
}
