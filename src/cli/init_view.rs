//! What `ait init` shows of what it will write.

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use similar::{ChangeTag, TextDiff};

use super::output::{FAINT, STRONG};
use super::{Output, plain};
use crate::setup::{BACKUP_SUFFIX, Backup, Change, Client, Plan};

/// How many lines are shown of a file; one that is new and longer is not shown.
const MAX_LINES: usize = 24;
/// How many lines that stay are shown around those that change.
const AROUND: usize = 2;

/// A client that is set up.
pub(super) struct Found {
    /// The client.
    pub client: &'static Client,
    /// Why this one.
    pub why: String,
}

/// Shows the project, the clients and each change.
pub(super) fn write(
    project: &str,
    found: &[Found],
    plan: &Plan,
    output: &mut Output,
) -> Result<()> {
    output.line(format_args!("Project: {}", plain::line(project)))?;
    for Found { client, why } in found {
        let why = output.styled(FAINT, format_args!("({})", plain::line(why)));
        output.line(format_args!("Client:  {} {why}", client.title))?;
    }
    output.line("")?;
    for change in &plan.changes {
        write_change(change, output)?;
    }
    if !plan.changes.is_empty() {
        output.line("")?;
    }
    for note in &plan.notes {
        output.line(format_args!("Note: {}", plain::line(note)))?;
    }
    if !plan.notes.is_empty() {
        output.line("")?;
    }
    Ok(())
}

/// Says what is left to the reader.
pub(super) fn write_next(
    found: &[Found],
    is_by_url: bool,
    is_in_git: bool,
    output: &mut Output,
) -> Result<()> {
    let titles: Vec<_> = found.iter().map(|found| found.client.title).collect();
    let titles = titles.join(", ");
    output
        .line(format_args!("Start anew, and allow the server where it asks for that: {titles}"))?;
    if is_by_url {
        output.line("Keep one running for them: ait serve")?;
    }
    if is_in_git {
        output.line("Have commits name their issue, if you like: ait hooks install")?;
    }
    output.line("Take it back: ait init --remove")
}

/// What happens to a file, in a word.
pub(super) fn what(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    }
}

fn write_change(change: &Change, output: &mut Output) -> Result<()> {
    let backup = match change.backup {
        Backup::None => String::new(),
        Backup::Made => format!(", kept as *{BACKUP_SUFFIX}"),
        Backup::Removed => format!(", *{BACKUP_SUFFIX} goes"),
        Backup::Left => format!(", *{BACKUP_SUFFIX} stays, since this was changed after it"),
    };
    let shown = output.styled(STRONG, plain::line(&change.shown));
    let (before, after) = (change.before.as_deref(), change.after.as_deref().unwrap_or_default());
    let count = after.lines().count();
    if change.after.is_none() || (before.is_none() && count > MAX_LINES) {
        let count = if change.after.is_none() { "" } else { &format!(", {count} lines") };
        return output.line(format_args!("{shown} ({}{count}{backup})", what(change)));
    }
    output.line(format_args!("{shown} ({}{backup})", what(change)))?;
    let lines = difference(before.unwrap_or_default(), after);
    for (tag, line) in lines.iter().take(MAX_LINES) {
        let (sign, style) = match tag {
            Some(ChangeTag::Insert) => ("+ ", AnsiColor::Green.on_default()),
            Some(ChangeTag::Delete) => ("- ", AnsiColor::Red.on_default()),
            Some(ChangeTag::Equal) => ("  ", FAINT),
            None => ("", Style::new()),
        };
        let text: String = plain::lines(line).collect();
        let line = output.styled(style, format_args!("{sign}{text}"));
        output.line(format_args!("  {}", line.trim_end()))?;
    }
    if lines.len() > MAX_LINES {
        let more = format!("  … {} more lines", lines.len() - MAX_LINES);
        output.line(output.styled(FAINT, more))?;
    }
    Ok(())
}

/// The lines that come, go, and stand around these; `None` marks a gap.
fn difference(before: &str, after: &str) -> Vec<(Option<ChangeTag>, String)> {
    let difference = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for group in difference.grouped_ops(AROUND) {
        if !lines.is_empty() {
            lines.push((None, "…".to_owned()));
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            lines.push((Some(change.tag()), change.value().to_owned()));
        }
    }
    lines
}
