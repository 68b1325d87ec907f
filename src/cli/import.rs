//! `ait import`: imports issues from a file.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde_json::value::RawValue;

use super::export::promised;
use super::import_links;
use super::import_report::{ImportOutcome, Place, Report, Row};
use super::options::{CallerArgs, one_of};
use super::progress::Progress;
use super::{CommandContext, ExitStatus, Output, sanitize};
use crate::domain::{AgentName, Classification, DomainError, Issue, IssueId, Status};
use crate::hints;
use crate::interchange::difference::differences;
use crate::interchange::fields::{Field, Mapping, ValueMapping};
use crate::interchange::{
    self, Blamed, Content, DateOrder, FileFormat, ImportDraft, ReadOptions, Unreadable,
};
use crate::tracker::{IndexedIssues, StoreError, Tracker};

/// The size limit of a file, in bytes: some millions of issues.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How many issues are imported concurrently, so that they share commits and syncs.
const MAX_IN_FLIGHT: usize = 512;
/// How many bytes of issues are imported concurrently, to bound memory.
const MAX_BYTES_IN_FLIGHT: usize = 32 * 1024 * 1024;
/// How many columns a note names.
const MAX_NOTED_COLUMNS: usize = 10;
/// How long the store may be busy before the command logs it.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// The arguments of `ait import`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Formats:\n  \
    json   exports, any issues.json (also of the original AgentIssueTracker), an array of issues, one issue, or an answer of Jira's REST search\n  \
    jsonl  exports, the issues.jsonl of beads\n  \
    csv    exports, any file with a header that names a title\n\n\
    Fields for --map: id, title, description, classification, status, resolution, priority, labels, assignee, parent, blocked_by, \
    createdAt, modifiedAt, closedAt, author, history, comments, number, url. Names that are usual in other trackers \
    are understood without it; columns of other names are kept with the issue.\n\n\
    Issues are identified by their ids, so a second import changes nothing. No issue is ever overwritten: \
    an issue that differs from the one in the store is reported as different, and the store keeps its own. \
    Issues of other trackers are queued oldest first, by createdAt.\n\n\
    Exits with 0 if every issue is new or the same, and with 1 if any is different or refused; the others \
    are imported nevertheless. Deleted issues of beads are skipped.\n\n\
    Examples:\n  \
    ait import .beads/issues.jsonl --dry-run\n  \
    ait import backlog.csv\n  \
    ait import jira.csv --map 'Date raised=createdAt' --ignore Sprint\n  \
    ait import jira.csv --map-value 'Status:Shipped=closed'\n  \
    gh issue list --json number,url,title,body,state,labels,assignees,createdAt | ait import -\n  \
    ait --file other.json export | ait import -")]
pub struct Arguments {
    /// The file to read; - is stdin
    #[arg(value_name = "FILE")]
    source: PathBuf,

    /// The format [default: detected from the content and the name]
    #[arg(short = 'F', long = "format", value_parser = one_of::<FileFormat>(FileFormat::words()))]
    form: Option<FileFormat>,

    /// Only show what would be imported; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// Read this column of a CSV file, or key of JSON objects, as this field; repeatable
    #[arg(long, value_name = "COLUMN=FIELD", value_parser = column_and_field)]
    map: Vec<(String, Field)>,

    /// Read this value of a column or key as another one, such as 'Status:Shipped=closed'; repeatable
    #[arg(long, value_name = "COLUMN:VALUE=WORD", value_parser = value_mapping)]
    map_value: Vec<ValueMapping>,

    /// Leave this column or key out; repeatable
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let agent = arguments.caller.agent(context)?;
    let (file, name) = (&arguments.source, shown(&arguments.source));
    let bytes = bytes_of(file)?;
    let form = arguments.form.unwrap_or_else(|| FileFormat::of(&bytes, promised(file)));
    let options = ReadOptions {
        now: tracker.now(),
        mapping: Mapping::new(&arguments.map, &arguments.ignore, &arguments.map_value),
        date_order: usual_date_order(),
    };
    let entries = interchange::read(&bytes, form, &options)
        .map_err(with_map_hint)
        .with_context(|| format!("{name} was not imported, read as {}", form.as_str()))?;
    drop(bytes);
    let kept = warn_when_busy(tracker.state(), &mut false).await?.issues;
    let mut import = Import::of(entries, &kept);
    let notes = [import.id_note(), import.column_note(&options.mapping)];
    if !arguments.dry_run {
        import.file(tracker, &agent).await?;
    }
    let status =
        import.report.write(form, arguments.dry_run, arguments.caller.format.json, output)?;
    for note in notes.into_iter().flatten() {
        output.flush()?;
        tracing::info!("{note}");
    }
    Ok(status)
}

/// Parses the value of `--map`. The name of a column may contain `=`, that of a field does not.
fn column_and_field(text: &str) -> Result<(String, Field), String> {
    let (column, field) = text.rsplit_once('=').ok_or("write COLUMN=FIELD")?;
    let known = || Field::all().map(Field::name).collect::<Vec<_>>().join(", ");
    let found = Field::from_name(field.trim());
    let field =
        found.ok_or_else(|| format!("{field:?} is no field; the fields are {}", known()))?;
    Ok((column.trim().to_owned(), field))
}

/// Parses the value of `--map-value`. A value may contain `:` and `=`.
fn value_mapping(text: &str) -> Result<ValueMapping, String> {
    let parts = text.split_once(':').and_then(|(column, rest)| {
        let (from, to) = rest.rsplit_once('=')?;
        Some([column, from, to].map(|part| part.trim().to_owned()))
    });
    match parts {
        Some([column, from, to]) if !column.is_empty() && !from.is_empty() && !to.is_empty() => {
            Ok(ValueMapping { column, from, to })
        }
        _ => Err("write COLUMN:VALUE=WORD, such as 'Status:Shipped=closed'".to_owned()),
    }
}

/// Returns the usual order of day and month in the user's locale (POSIX, section 8.2), if it names a region.
fn usual_date_order() -> Option<DateOrder> {
    const MONTH_FIRST: [&str; 2] = ["_US", "_PH"];
    let set = |name| std::env::var(name).ok().filter(|locale| !locale.is_empty());
    let locale = ["LC_ALL", "LC_TIME", "LANG"].into_iter().find_map(set)?;
    let is_month_first = MONTH_FIRST.iter().any(|region| locale.contains(region));
    let order = if is_month_first { DateOrder::MonthFirst } else { DateOrder::DayFirst };
    locale.contains('_').then_some(order)
}

fn with_map_hint(error: Unreadable) -> anyhow::Error {
    match error {
        Unreadable::NoTitleColumn { .. } => {
            anyhow!("{error}; if another column holds the titles, add --map COLUMN=title")
        }
        error => error.into(),
    }
}

/// Adds how to read a column differently, if one is to blame.
fn with_column_hint(reason: &str, blamed: &Blamed) -> String {
    let column = shell_words::quote(&blamed.column);
    let meaning = format!("{}=FIELD", blamed.column);
    let meaning = format!("--map {} gives it another meaning", shell_words::quote(&meaning));
    let Some((field, value)) = &blamed.unknown else {
        return format!("{reason}; --ignore {column} leaves it out, {meaning}");
    };
    // Without its status, a finished issue would wait for work again, so ignoring that column is no way out.
    let (word, otherwise) = match field {
        Field::Status => (Status::Closed.as_str(), meaning),
        Field::Priority => ("2", format!("--ignore {column} leaves the priorities out")),
        _ => (
            Classification::Feature.as_str(),
            format!("--ignore {column} makes every issue an improvement"),
        ),
    };
    let Some(value) = value else { return format!("{reason}; {otherwise}") };
    let mapped = format!("{}:{value}={word}", blamed.column);
    format!("{reason}; --map-value {} reads it as {word}, {otherwise}", shell_words::quote(&mapped))
}

fn shown(file: &Path) -> String {
    if file == Path::new("-") { "stdin".to_owned() } else { file.display().to_string() }
}

fn bytes_of(file: &Path) -> Result<Vec<u8>> {
    let name = shown(file);
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            tracing::warn!("reading issues from the terminal: end with Ctrl-D");
        }
        stdin.lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{name} is larger than {MAX_BYTES} bytes: split it, for example by status");
    }
    Ok(bytes)
}

/// The plan for the entries of a file.
struct Import {
    report: Report,
    /// The issues to import, each with its index in the report.
    new: Vec<(usize, ImportDraft)>,
}

impl Import {
    /// Compares the entries with the store, and with each other.
    fn of(mut entries: Vec<interchange::FileEntry>, kept: &IndexedIssues) -> Self {
        import_links::resolve_links(&mut entries, kept);
        let mut first: HashMap<IssueId, (Place, Arc<Issue>)> = HashMap::new();
        let mut import = Self { report: Report::default(), new: Vec::new() };
        for entry in entries {
            let place = Place { line: entry.line, item: entry.item };
            let draft = match entry.content {
                Content::Skipped { id, title, reason } => {
                    import.report.push(Row::of(
                        place,
                        id,
                        title,
                        ImportOutcome::Skipped { reason },
                    ));
                    continue;
                }
                Content::Refused { id, title, mut reason, blamed } => {
                    if let Some(blamed) = blamed {
                        reason = with_column_hint(&reason, &blamed);
                    }
                    import.report.push(Row::of(
                        place,
                        id,
                        title,
                        ImportOutcome::Refused { reason },
                    ));
                    continue;
                }
                Content::Issue(draft) => draft,
            };
            let issue = Arc::clone(draft.issue.issue());
            let outcome = match first.entry(issue.id) {
                Slot::Occupied(earlier) => {
                    let (place, earlier) = earlier.get();
                    if differences(earlier, &draft).is_empty() {
                        ImportOutcome::Same
                    } else {
                        ImportOutcome::Refused { reason: format!("{place} has the same id") }
                    }
                }
                Slot::Vacant(slot) => {
                    slot.insert((place, Arc::clone(&issue)));
                    kept.get(issue.id).map_or(ImportOutcome::New, |kept| compared(&kept, &draft))
                }
            };
            let (id, title) = (issue.id.to_string(), issue.title.clone());
            let is_new = outcome == ImportOutcome::New;
            let is_dated = !draft.unstated.contains(&"createdAt");
            let mut row = Row::of(place, Some(id), Some(title), outcome);
            row.created_at = is_dated.then_some(issue.created_at);
            let place = import.report.push(row);
            if is_new {
                import.new.push((place, draft));
            }
        }
        import.new.sort_by_key(|(_, draft)| draft.queue_key());
        import
    }

    /// Returns what would identify issues that are imported now and that only their texts identify.
    fn id_note(&self) -> Option<String> {
        let lacking: Vec<_> = self.new.iter().filter_map(|(_, draft)| draft.lacks_id).collect();
        let missing = lacking.first()?;
        let what = match *missing {
            "id" => "a column or key id (or number and url)".to_owned(),
            field => format!("the column or key {field}"),
        };
        let (count, them) = match lacking.len() {
            1 => ("1 new issue has".to_owned(), "it"),
            count => (format!("{count} new issues have"), "them"),
        };
        Some(format!(
            "{count} no id: if title or description changes, the next import adds {them} again; to avoid that, \
             include {what} from the first import on"
        ))
    }

    /// Returns which columns of a CSV file have no meaning, so that they are kept as they are.
    fn column_note(&self, mapping: &Mapping) -> Option<String> {
        let mut columns = BTreeSet::new();
        for (_, draft) in &self.new {
            let kept = draft.issue.issue().unknown_keys.get(FileFormat::Csv.as_str());
            let kept = kept.and_then(|kept| {
                serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(kept).ok()
            });
            let columns_of = kept.into_iter().flat_map(BTreeMap::into_keys);
            columns.extend(columns_of.filter(|column| !mapping.has_meaning(column)));
        }
        let first = shell_words::quote(columns.first()?);
        let names: Vec<_> = columns.iter().take(MAX_NOTED_COLUMNS).map(String::as_str).collect();
        let more = if columns.len() > names.len() { " and others" } else { "" };
        Some(format!(
            "kept as they are, because their names are no fields: {}{more}; --map {first}=FIELD gives a column a meaning",
            sanitize::line(&names.join(", "))
        ))
    }

    /// Imports the new issues in their order.
    async fn file(&mut self, tracker: &Tracker, agent: &AgentName) -> Result<()> {
        let total = self.new.len();
        let progress = Progress::of("importing", total);
        let (mut in_flight, mut bytes_in_flight) = (FuturesUnordered::new(), 0);
        let (mut filed, mut failure, mut is_told) = (0, None, false);
        let mut waiting = std::mem::take(&mut self.new).into_iter().peekable();
        loop {
            let has_room = in_flight.len() < MAX_IN_FLIGHT && bytes_in_flight < MAX_BYTES_IN_FLIGHT;
            let next = if has_room && failure.is_none() { waiting.next() } else { None };
            let entry = if let Some((place, draft)) = next {
                bytes_in_flight += draft.issue.json_bytes();
                let mut filing = Box::pin(file_one(tracker, agent, place, draft));
                // The first poll sends the command, so this keeps the order.
                match filing.as_mut().now_or_never() {
                    Some(entry) => entry,
                    None => {
                        in_flight.push(filing);
                        continue;
                    }
                }
            } else if let Some(entry) = warn_when_busy(in_flight.next(), &mut is_told).await {
                entry
            } else {
                break;
            };
            bytes_in_flight -= entry.bytes;
            progress.step();
            match entry.outcome {
                Ok(outcome) => {
                    filed += usize::from(outcome == ImportOutcome::New);
                    self.report.set(entry.place, outcome);
                }
                // Wait for the other imports in progress: they may still succeed.
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        drop(progress);
        failure.map_or(Ok(()), |error| {
            Err(error).with_context(|| {
                format!(
                    "{filed} of {total} new issues were imported; import the file again for the rest"
                )
            })
        })
    }
}

/// Waits for the store, and logs once if it is busy for long.
async fn warn_when_busy<T>(work: impl Future<Output = T>, is_told: &mut bool) -> T {
    tokio::pin!(work);
    if !*is_told {
        if let Ok(done) = tokio::time::timeout(BUSY_PATIENCE, &mut work).await {
            return done;
        }
        *is_told = true;
        tracing::warn!(
            "the store is busy, because another process holds its lock or the disk is slow: waiting for up to \
             10 minutes; if you stop with Ctrl-C, import the file again for the rest"
        );
    }
    work.await
}

/// The result of one import.
struct FiledEntry {
    place: usize,
    bytes: usize,
    outcome: Result<ImportOutcome, StoreError>,
}

async fn file_one(
    tracker: &Tracker,
    agent: &AgentName,
    place: usize,
    draft: ImportDraft,
) -> FiledEntry {
    let bytes = draft.issue.json_bytes();
    let filed = tracker.import_issue(draft.issue.clone(), agent.clone()).await;
    let outcome = match filed {
        Ok(_) => Ok(ImportOutcome::New),
        // Another process imported it in the meantime.
        Err(StoreError::Refused(DomainError::IdTaken { id })) => {
            tracker.get_issue(id.into()).await.map(|kept| compared(&kept, &draft))
        }
        Err(StoreError::Refused(refusal)) => {
            Ok(ImportOutcome::Refused { reason: hints::for_refusal(&refusal, &hints::COMMANDS) })
        }
        Err(error) => Err(error),
    };
    FiledEntry { place, bytes, outcome }
}

fn compared(kept: &Issue, draft: &ImportDraft) -> ImportOutcome {
    let differs = differences(kept, draft);
    if differs.is_empty() { ImportOutcome::Same } else { ImportOutcome::Different { differs } }
}
