//! One issue, as a person reads it.

use anyhow::Result;

use super::output::{FAINT, Output, STRONG, local, of_classification, of_status};
use super::plain;
use crate::domain::{Issue, Moment, Status, Timestamp};
use crate::span;

const INDENT: &str = "  ";

/// A status in words.
pub(super) fn words(status: Status) -> String {
    status.as_str().replace('_', " ")
}

/// Writes what an issue is and where it stands.
pub(super) fn write_head(issue: &Issue, now: Timestamp, output: &mut Output) -> Result<()> {
    let title = output.styled(STRONG, plain::line(&issue.title));
    output.line(title)?;
    let mut facts = vec![
        output.styled(of_status(issue.status), words(issue.status)),
        output.styled(of_classification(issue.classification), issue.classification),
    ];
    if let Some(holder) = issue.holder() {
        let agent = plain::line(holder.agent);
        facts.push(format!("held by {agent} for {}", span::words(now.millis_since(holder.since))));
    }
    facts.push(issue.id.to_string());
    output.line(facts.join(" · "))
}

/// Writes everything about an issue.
pub(super) fn write_whole(issue: &Issue, now: Timestamp, output: &mut Output) -> Result<()> {
    write_head(issue, now, output)?;
    if !issue.description.trim().is_empty() {
        output.line("")?;
        write_indented(&issue.description, output)?;
    }
    let mut unknown = issue.extra.iter().peekable();
    if unknown.peek().is_some() {
        output.line("")?;
    }
    for (key, value) in unknown {
        let line = format!("{INDENT}{}: {}", plain::line(key), plain::line(value.get()));
        output.line(line)?;
    }
    output.line("")?;
    issue.story().iter().try_for_each(|moment| write_moment(moment, output))
}

fn write_moment(moment: &Moment<'_>, output: &mut Output) -> Result<()> {
    let time = output.styled(FAINT, local(moment.at, "%Y-%m-%d %H:%M"));
    let action = plain::line(moment.action.unwrap_or("Comment"));
    let agent = output.styled(FAINT, format_args!("by {}", plain::line(moment.agent)));
    output.line(format_args!("{time}  {action} {agent}"))?;
    moment.comment.map_or(Ok(()), |comment| write_indented(comment, output))
}

fn write_indented(text: &str, output: &mut Output) -> Result<()> {
    plain::lines(text).try_for_each(|line| {
        output.line(if line.is_empty() { line } else { format!("{INDENT}{line}") })
    })
}
