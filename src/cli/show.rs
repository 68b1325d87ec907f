//! `ait show`: prints one issue in full.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;

use super::issue_view::{Dependents, write_whole};
use super::options::{Format, issue_ref, issues_at, time_arg};
use super::{ExitStatus, Output};
use crate::domain::{DomainError, Issue, IssueRef, WithClaim, external_id};
use crate::field_selection::FieldSelection;
use crate::time_arg::TimeArg;
use crate::tracker::{IndexedIssues, StoreError, Tracker};

/// The arguments of `ait show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait show 3f2a9c1e\n  \
    ait show '#12'                      the number of an imported issue in the other tracker\n  \
    ait show 3f2a9c1e --at 2d           as of two days ago\n  \
    ait show 3f2a9c1e --json | jq -r .status")]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits, or its id or number in the tracker that it is from
    #[arg(value_name = "ID", required = true, value_parser = issue_name)]
    ids: Vec<IssueName>,

    /// Show the issue as of WHEN: a duration before now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    at: Option<TimeArg>,

    /// Print JSON with these fields alone, such as id,title,comments.text
    #[arg(long, value_name = "FIELDS")]
    fields: Option<FieldSelection>,

    #[command(flatten)]
    format: Format,
}

/// What the user calls an issue.
#[derive(Clone, Debug)]
struct IssueName {
    /// The name as an id; the error says why it is none.
    id: Result<IssueRef, String>,
    /// The name as an id in another program.
    external: String,
}

/// Parses the name of an issue. An id of another program is a number or has a hyphen, as in 12, ABC-12 or bd-a1b2; the
/// start of an id that is too short is none.
fn issue_name(text: &str) -> Result<IssueName, String> {
    let external = text.strip_prefix('#').unwrap_or(text).to_owned();
    let is_number = external.chars().all(|one| one.is_ascii_digit() || one == '.');
    let is_key = external.contains('-') && !external.contains(char::is_whitespace);
    match issue_ref(text) {
        Err(problem) if !is_number && !is_key => Err(problem),
        id => Ok(IssueName { id, external }),
    }
}

impl IssueName {
    /// Finds the issue. Its id goes before the ids of other programs.
    fn find(&self, issues: &IndexedIssues) -> Result<Arc<Issue>> {
        let by_id = self.id.as_ref().map(|id| issues.find(id));
        if !matches!(by_id, Err(_) | Ok(Err(DomainError::UnknownIssue { .. }))) {
            return Ok(by_id.expect("it is an id").map_err(StoreError::from)?);
        }
        let may_be = |at: &usize| {
            issues.written_at(*at).is_none_or(|json| external_id::may_have(json, &self.external))
        };
        let found = (0..issues.len()).filter(may_be).map(|at| issues.at(at));
        let is_named = |issue: &Arc<Issue>| issue.external_ids().contains(&self.external);
        let mut found: Vec<_> = found.filter(is_named).collect();
        match (found.len(), by_id) {
            (0, Ok(unknown)) => Ok(unknown.map_err(StoreError::from)?),
            (0, Err(problem)) => {
                bail!("{problem}; no imported issue has this id or number elsewhere")
            }
            (1, _) => Ok(found.remove(0)),
            (count, _) => {
                let candidates = found.iter().map(|issue| issue.id);
                let candidates = candidates.take(DomainError::MAX_CANDIDATES).collect();
                let reference = self.external.clone();
                let error = DomainError::AmbiguousReference { reference, candidates, count };
                Err(StoreError::from(error).into())
            }
        }
    }
}

/// An issue, and the issues that have links to it.
#[derive(Serialize)]
struct WithDependents<'a> {
    #[serde(flatten)]
    issue: WithClaim<'a>,
    #[serde(flatten)]
    dependents: Dependents,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<ExitStatus> {
    let (issues, now) = issues_at(tracker, arguments.at).await?;
    let mut found = Vec::new();
    for id in &arguments.ids {
        let issue = id.find(&issues);
        found.push(match arguments.at {
            None => issue?,
            Some(_) => issue.with_context(|| format!("at {now}"))?,
        });
    }
    for (at, issue) in found.iter().enumerate() {
        if let Some(fields) = &arguments.fields {
            output.json(&fields.select(issue))?;
        } else if arguments.format.json {
            output.json(&WithDependents {
                issue: WithClaim::from(&**issue),
                dependents: Dependents::of(issue.id, &issues),
            })?;
        } else {
            if at > 0 {
                output.line("")?;
            }
            write_whole(issue, &issues, now, output)?;
        }
    }
    Ok(ExitStatus::Done)
}
