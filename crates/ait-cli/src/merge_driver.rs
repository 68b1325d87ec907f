//! `ait merge-driver`, which git calls, and `ait resolve`, for conflicts that it left.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::options::Format;
use super::{ExitStatus, Output};
use ait_domain::IssueId;
use ait_domain::text::counted;

/// The arguments of `ait merge-driver`, which are those that git gives a merge driver.
#[derive(Clone, Debug, Args)]
pub struct DriverArguments {
    /// The version of the common ancestor: %O
    pub base: PathBuf,

    /// Our version, which the merged one replaces: %A
    pub ours: PathBuf,

    /// Their version: %B
    pub theirs: PathBuf,
}

/// The arguments of `ait resolve`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "For a merge, a rebase, a cherry-pick or a stash that ended with a conflict in issues.json. Reads\n\
        both sides from the index of git, or from the marks in the file, and merges them issue by issue,\n\
        as the merge driver does that `ait init --track` registers: no issue and no comment is lost, and\n\
        of two claims of one issue the earlier one stays. Then writes and adds the file. Agents may go\n\
        on working meanwhile.\n\n\
        Exits with 1 if there is no conflict, or a side is invalid.\n\n\
        Example:\n  \
        ait resolve && git commit"
)]
pub struct ResolveArguments {
    #[command(flatten)]
    pub(super) format: Format,
}

/// What was resolved.
#[derive(Debug, Serialize)]
pub struct Resolved {
    /// The file.
    pub file: PathBuf,
    /// The number of issues in it.
    pub issues: usize,
    /// The issues in which both sides changed the same fields.
    pub conflicts: Vec<FieldConflict>,
    /// The command with which git goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<&'static str>,
}

/// An issue in which both sides changed the same fields.
#[derive(Debug, Serialize)]
pub struct FieldConflict {
    pub issue: IssueId,
    pub fields: Vec<&'static str>,
}

impl FieldConflict {
    /// Returns the conflicts of a merge.
    pub fn all(conflicts: Vec<(IssueId, Vec<&'static str>)>) -> Vec<Self> {
        conflicts.into_iter().map(|(issue, fields)| Self { issue, fields }).collect()
    }

    /// Says which value stays.
    pub fn text(&self) -> String {
        let id = self.issue.short();
        let fields = self.fields.join(", ");
        format!("both sides changed {fields} of {id}: ours stays, and a comment has the other")
    }
}

/// Prints what was resolved.
pub fn report(
    arguments: &ResolveArguments,
    resolved: Option<&Resolved>,
    output: &Output,
) -> Result<ExitStatus> {
    let Some(resolved) = resolved else {
        if arguments.format.json {
            output.json(&serde_json::json!({ "conflicts": [] }))?;
        } else {
            output.line("there is no conflict in issues.json")?;
        }
        output.flush()?;
        return Ok(ExitStatus::Incomplete);
    };
    if arguments.format.json {
        output.json(resolved)?;
    } else {
        let file = resolved.file.display();
        let issues = counted(resolved.issues, "issue", "issues");
        output.line(format_args!("merged both sides of {file}: {issues}"))?;
        for conflict in &resolved.conflicts {
            output.line(conflict.text())?;
        }
        if let Some(next) = resolved.next {
            output.line(format_args!("go on with `{next}`"))?;
        }
    }
    output.flush()?;
    Ok(ExitStatus::Done)
}
