//! `ait memory publish`: the decisions in force, in a file that agents read.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde_json::json;

use super::options::Format;
use super::{CommandContext, ExitStatus, sanitize};
use ait_domain::text::counted;
use ait_domain::{Classification, Condition, Order, Query};
use ait_setup::SetupError;
use ait_tracker::memory::in_force;
use ait_tracker::{Lesson, Tracker};

/// The file that most clients read.
const GUIDE: &str = "AGENTS.md";
/// How many decisions are published, how long the line of each one is at most, and all lines together, in characters.
const MAX_DECISIONS: usize = 20;
const MAX_LINE: usize = 120;
const MAX_CHARS: usize = 2_000;

/// The arguments of `ait memory`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Writes the newest decisions in force, a line each, into a section of AGENTS.md between two comments. \
    What stands around it stays. Run it again after decisions changed. `ait init --remove` takes the section out of the \
    files that clients read, and --remove out of any file.\n\n\
    Without `publish`, `ait memory` is `ait recall`.\n\n\
    Examples:\n  \
    ait memory publish\n  \
    ait memory publish docs/decisions.md\n  \
    ait memory publish --remove"
)]
pub struct Arguments {
    /// What to do
    #[arg(value_name = "publish", value_parser = ["publish"])]
    action: String,

    /// The file to write into [default: AGENTS.md of the project]
    #[arg(value_name = "FILE")]
    target: Option<PathBuf>,

    /// Take the section out again
    #[arg(long)]
    remove: bool,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let here = env::current_dir()?;
    let root = root_of(&here);
    let file = arguments.target.as_ref().map_or_else(|| root.join(GUIDE), |file| here.join(file));
    if file.is_dir() {
        bail!("{} is a directory: name a file in it", file.display());
    }
    let found = if arguments.remove { None } else { Some(decisions(tracker).await?) };
    let (lines, count) = found.unwrap_or_default();
    let section = (count > 0).then_some(lines.as_str());
    let change =
        ait_setup::plan_memory_section(root, &file, section).map_err(|error| match error {
            SetupError::Unusable { path, problem } => {
                anyhow!("{path}, {problem}: correct these lines")
            }
            error => error.into(),
        })?;
    let changes: Vec<_> = change.into_iter().collect();
    if let Some((file, error)) = ait_setup::apply(&changes, root).failure {
        bail!("{file} cannot be written: {error}");
    }
    let shown = file.strip_prefix(&here).unwrap_or(&file).display().to_string();
    let is_changed = !changes.is_empty();
    if arguments.format.json {
        output.json(&json!({ "file": shown, "decisions": count, "changed": is_changed }))?;
        return Ok(ExitStatus::Done);
    }
    let published = counted(count, "decision", "decisions");
    output.line(match (count, is_changed) {
        (0, true) => format!("the section was taken out of {shown}"),
        (0, false) => format!("{shown} has no section of decisions"),
        (_, true) => format!("{published} published in {shown}"),
        (_, false) => format!("{shown} has the {published} already"),
    })?;
    if count == 0 && !arguments.remove {
        output.flush()?;
        tracing::info!("no decision is in force: `ait remember TEXT --kind decision` keeps one");
    }
    Ok(ExitStatus::Done)
}

/// Returns the lines of the section, and how many decisions they name.
async fn decisions(tracker: &Tracker) -> Result<(String, usize)> {
    let kind = Condition::Classification(Classification::Decision);
    let query = Query { order: Order::Created, ..Tracker::entries(MAX_DECISIONS) };
    let found = tracker.list_issues(query.with(kind.and(in_force(tracker.now())))).await?;
    let mut lines = Vec::new();
    let mut chars = 0;
    for entry in &found.issues {
        let Lesson { issue, text, .. } = Lesson::of_entry(entry, MAX_LINE);
        // A comment that does not end would hide the rest of the file.
        let text = sanitize::line(&text).replace("<!--", "&lt;!--");
        let line = format!("- `{}` {text}", issue.short());
        chars += line.chars().count();
        if chars > MAX_CHARS {
            break;
        }
        lines.push(line);
    }
    let more = match found.total - lines.len() {
        0 => String::new(),
        more => format!(" {more} older ones are not here."),
    };
    let count = lines.len();
    let head = format!(
        "## Decisions\n\nIn force, the newest first. `ait show ID` shows one whole, `ait recall kind:decision` all.{more}"
    );
    Ok((format!("{head}\n\n{}", lines.join("\n")), count))
}

/// Returns the root of the work tree around a directory, else the directory.
fn root_of(directory: &Path) -> &Path {
    let root = directory.ancestors().find(|directory| ait_setup::is_work_tree(directory));
    root.unwrap_or(directory)
}
