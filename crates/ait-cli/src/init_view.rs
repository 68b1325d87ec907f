//! How `ait init` shows its plan.

use anyhow::Result;
use clap::builder::styling::{AnsiColor, Style};
use similar::{ChangeTag, TextDiff};

use super::output::{FAINT, STRONG};
use super::{Output, sanitize};
use ait_setup::{CLIENTS, FileChange, FoundClient, Plan};

/// How many lines of a change are shown.
const MAX_LINES: usize = 120;
/// How many lines of a changed prompt are shown. Those of a new one are only counted.
const MAX_PROMPT_LINES: usize = 24;
/// How many unchanged lines are shown around those that change.
const CONTEXT: usize = 2;

/// Shows the project, the clients and each change.
pub(super) fn write(
    project: &str,
    found: &[FoundClient],
    plan: &Plan,
    output: &Output,
) -> Result<()> {
    output.line(format_args!("Project: {}", sanitize::line(project)))?;
    for FoundClient { client, why, .. } in found {
        let why = why.as_deref().unwrap_or("named");
        let why = output.styled(FAINT, format_args!("({})", sanitize::line(why)));
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
        output.line(format_args!("Note: {}", sanitize::line(note)))?;
    }
    if !plan.notes.is_empty() {
        output.line("")?;
    }
    Ok(())
}

fn write_change(change: &FileChange, output: &Output) -> Result<()> {
    let shown = output.styled(STRONG, sanitize::line(&change.shown));
    let before = change.before.as_deref();
    let after = change.after.as_deref().unwrap_or_default();
    let count = after.lines().count();
    let mut agents = CLIENTS.iter().filter_map(|client| client.agents);
    let is_prompt = agents.any(|agents| change.shown.starts_with(agents.directory));
    if change.after.is_none() || (before.is_none() && is_prompt) {
        let count = if change.after.is_none() { "" } else { &format!(", {count} lines") };
        return output.line(format_args!("{shown} ({}{count})", change.kind()));
    }
    output.line(format_args!("{shown} ({})", change.kind()))?;
    let lines = difference(before.unwrap_or_default(), after);
    let limit = if is_prompt { MAX_PROMPT_LINES } else { MAX_LINES };
    for (tag, line) in lines.iter().take(limit) {
        let (sign, style) = match tag {
            Some(ChangeTag::Insert) => ("+ ", AnsiColor::Green.on_default()),
            Some(ChangeTag::Delete) => ("- ", AnsiColor::Red.on_default()),
            Some(ChangeTag::Equal) => ("  ", FAINT),
            None => ("", Style::new()),
        };
        let text: String = sanitize::lines(line).collect();
        let line = output.styled(style, format_args!("{sign}{text}"));
        output.line(format_args!("  {}", line.trim_end()))?;
    }
    if lines.len() > limit {
        let more = format!("  … {} more lines", lines.len() - limit);
        output.line(output.styled(FAINT, more))?;
    }
    Ok(())
}

/// The lines that change, with their context; `None` marks a gap.
fn difference(before: &str, after: &str) -> Vec<(Option<ChangeTag>, String)> {
    let difference = TextDiff::from_lines(before, after);
    let mut lines = Vec::new();
    for group in difference.grouped_ops(CONTEXT) {
        if !lines.is_empty() {
            lines.push((None, "…".to_owned()));
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            lines.push((Some(change.tag()), change.value().to_owned()));
        }
    }
    lines
}
