//! `ait remember` and `ait recall`: what the team keeps for later agents.

use std::env;
use std::time::Duration;

use anyhow::Result;
use chrono::Local;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use super::options::{
    CallerArgs, Format, WrongUsage, issue_ref, text_or_stdin, with_command_hints,
};
use super::output::{FAINT, STRONG};
use super::styled_line::Line;
use super::{CommandContext, ExitStatus, sanitize};
use ait_domain::{Classification, IssueId, IssueRef, Status, Timestamp};
use ait_hooks::note_changes;
use ait_query::ParsedQuery;
use ait_system::git::Git;
use ait_system::span::humanize_duration;
use ait_tracker::Lesson;
use ait_tracker::Maintenance;
use ait_tracker::memory::{KeptEntry, NewEntry, Recall, Until};

/// How long git may take to count the changes of files.
const GIT_LIMIT: Duration = Duration::from_millis(500);
/// How much of a similar entry is shown, in characters.
const SIMILAR_CHARS: usize = 160;

/// The arguments of `ait remember`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Agents see the nearest entries when they claim an issue about the same files, labels or issues. \
    `ait show ID` shows an entry whole, `ait edit ID` corrects it, and with `--due` and a day that is over ends it.\n\n\
    Examples:\n  \
    ait remember 'amounts are Decimal, because of the audit' --kind decision --about src/money.py\n  \
    ait remember \"slug('') must stay ''\" --kind trap --about kit/text.py,search\n  \
    ait remember 'amounts are integers of cents' --kind decision --replaces 3f2a9c1e\n  \
    ait remember - --kind decision < docs/adr/0007.md"
)]
pub struct RememberArguments {
    /// What later agents should know; - reads it from stdin
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,

    /// What it is
    #[arg(long, default_value = "fact", value_parser = kind(), ignore_case = true)]
    kind: Classification,

    /// What it is about: files, folders, labels, or ids of issues; may be repeated
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    about: Vec<String>,

    /// The entry that is no longer true
    #[arg(long, value_name = "ID", value_parser = issue_ref)]
    replaces: Option<IssueRef>,

    /// Forget it then: 30d, friday, 2026-12-31, or the id of an issue that ends it
    #[arg(long, value_name = "WHEN", value_parser = until)]
    until: Option<Until>,

    #[command(flatten)]
    caller: CallerArgs,
}

/// The arguments of `ait recall`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Besides the terms of searches, file:PATH finds what is about a file or a folder, by:NAME what an \
    agent kept, and stale:yes what is about files that commits changed since.\n\n\
    Examples:\n  \
    ait recall\n  \
    ait recall rounding amounts\n  \
    ait recall kind:decision file:src/money.py\n  \
    ait recall --near 3f2a9c1e\n  \
    ait recall --about src/store --depth 2"
)]
pub struct RecallArguments {
    /// What to look for: words and terms; without any, the latest entries
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// What the agent is shown that claims this issue
    #[arg(long, value_name = "ID", value_parser = issue_ref, conflicts_with = "query")]
    near: Option<IssueRef>,

    /// What lies around a file, a folder, an agent or an issue: what was decided and tried about it
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["query", "near", "all"])]
    about: Option<String>,

    /// How many ties to follow
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3), requires = "about")]
    depth: u8,

    /// Also what was replaced or has ended
    #[arg(long)]
    all: bool,

    /// Show at most so many
    #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    take: u16,

    #[command(flatten)]
    format: Format,
}

fn kind() -> impl TypedValueParser<Value = Classification> {
    let kinds = Classification::ALL.iter().filter(|kind| kind.is_entry());
    PossibleValuesParser::new(kinds.map(|kind| kind.as_str()))
        .try_map(|word| word.to_lowercase().parse())
}

fn until(text: &str) -> Result<Until, String> {
    with_command_hints(Until::parse(text, &Local))
}

/// What programs read of an entry or a closed issue.
#[derive(Serialize)]
struct Row<'a> {
    id: IssueId,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Classification>,
    text: &'a str,
    agent: &'a str,
    at: Timestamp,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<&'a str>,
    /// Which of the files changed since, and how often.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(lesson: &'a Lesson) -> Self {
        Self {
            id: lesson.issue,
            kind: lesson.kind,
            text: &lesson.text,
            agent: &lesson.agent,
            at: lesson.since,
            files: lesson.files.iter().map(String::as_str).collect(),
            changed: lesson.changed.as_deref(),
        }
    }
}

pub(super) async fn remember(
    arguments: &RememberArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let output = context.output;
    let RememberArguments { kind, about, replaces, until, caller, .. } = arguments.clone();
    let text = text_or_stdin(&arguments.text.join(" "), "the text")?;
    if text.trim().is_empty() {
        return Err(WrongUsage("the text is missing: say what later agents should know").into());
    }
    let agent = caller.agent(context)?;
    let entry = NewEntry { about, replaces, until, ..NewEntry::new(kind, text) };
    let KeptEntry { entry, similar } = context.tracker.remember(entry, agent).await?;
    let id = entry.issue.id;
    let mut similar: Vec<_> =
        similar.iter().map(|entry| Lesson::of_entry(entry, SIMILAR_CHARS)).collect();
    note_changes(&git(context), &mut similar).await;
    if caller.format.json {
        #[derive(Serialize)]
        struct Kept<'a> {
            id: IssueId,
            similar: Vec<Row<'a>>,
        }
        output.json(&Kept { id, similar: similar.iter().map(Row::of).collect() })?;
        return Ok(ExitStatus::Done);
    }
    output.line(format_args!("Kept {}.", id.short()))?;
    if !similar.is_empty() {
        output.line("Similar entries; `ait remember … --replaces ID` replaces one:")?;
        write(&similar, context)?;
    }
    Ok(ExitStatus::Done)
}

pub(super) async fn recall(
    arguments: &RecallArguments,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let output = context.output;
    let tracker = context.tracker;
    let recall = Recall::of(&arguments.query.join(" "), usize::from(arguments.take));
    if let Some(about) = &arguments.about {
        let graph = tracker.graph(about, arguments.depth.into()).await?;
        let lines: Vec<_> = graph.lines().into_iter().take(arguments.take.into()).collect();
        if arguments.format.json {
            output.json(&serde_json::json!({ "around": lines }))?;
        } else {
            for line in &lines {
                output.line(sanitize::line(line))?;
            }
        }
        if lines.is_empty() {
            tracing::info!("nothing is known about {}", sanitize::line(about));
        }
        return Ok(ExitStatus::done_if(!lines.is_empty()));
    }
    let mut found = match &arguments.near {
        Some(issue) => tracker.known(&*tracker.get_issue(issue.clone()).await?).await,
        None => {
            let query = ParsedQuery::parse(&recall.query, context.saved_queries, tracker.now())?;
            tracker.recall(&query, recall.examined(), arguments.all).await?
        }
    };
    note_changes(&git(context), &mut found).await;
    recall.keep(&mut found);
    if arguments.format.json {
        #[derive(Serialize)]
        struct Found<'a> {
            found: Vec<Row<'a>>,
        }
        output.json(&Found { found: found.iter().map(Row::of).collect() })?;
    } else if found.is_empty() {
        let nothing = match tracker.counts().await?.in_status(Status::Kept) {
            0 => "nothing is kept yet: `ait remember TEXT` keeps what later agents should know",
            _ => "nothing matches: `ait recall` without words shows the latest entries",
        };
        tracing::info!("{nothing}");
    } else {
        write(&found, context)?;
    }
    Ok(ExitStatus::done_if(!found.is_empty()))
}

/// Returns git where the files of entries are: beside `issues.json`, or else in the working directory.
fn git(context: &CommandContext<'_>) -> Git {
    let store = context.maintenance.map(Maintenance::files).unwrap_or_default();
    let directory = store.first().and_then(|file| Some(file.parent()?.to_owned()));
    Git::new(directory.unwrap_or_else(|| env::current_dir().unwrap_or_default()), GIT_LIMIT)
}

/// Writes entries, each with who kept it and what changed since.
fn write(lessons: &[Lesson], context: &CommandContext<'_>) -> Result<()> {
    let output = context.output;
    let now = context.tracker.now();
    for lesson in lessons {
        let line = lesson.to_string();
        let (id, rest) = line.split_once(' ').unwrap_or((&line, ""));
        let age = humanize_duration(now.millis_since(lesson.since));
        Line::default()
            .part(STRONG, id)
            .text(format!(" {}", sanitize::line(rest)))
            .part(FAINT, format!(" ({}, {age})", sanitize::line(&lesson.agent)))
            .write_wrapped(2, output)?;
    }
    Ok(())
}
