//! `ait import`: imports issues from a file.

use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use super::import_filing::{Import, warn_when_busy};
use super::import_links;
use super::options::{CallerArgs, WrongUsage, one_of};
use super::{CommandContext, ExitStatus};
use ait_interchange::fields::{Field, Mapping, ValueMapping};
use ait_interchange::{DateOrder, FileFormat, ReadOptions, Unreadable};

/// The size limit of a file, in bytes: some millions of issues.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How deep below a folder its files are read, and how many there may be.
const MAX_DEPTH: usize = 4;
const MAX_FILES: usize = 100_000;

/// The end of the help, with a place for the fields that a column can be mapped to.
const AFTER_HELP: &str = "Formats:\n  \
    json   exports, any issues.json (also of the original AgentIssueTracker), an array of issues, one issue, and the files of other programs\n  \
    jsonl  exports, the issues.jsonl of beads, the knowledge graphs of two memory servers\n  \
    csv    exports, any file with a header that names a title\n  \
    folder the tasks of Backlog.md, a backup of beads, memory banks, decision records (also *.md)\n\n\
    Fields for --map: {fields}. Names that are usual in other trackers \
    are understood without it; columns of other names are kept with the issue.\n\n\
    Issues are identified by their ids, so a second import changes nothing. No issue is ever overwritten: \
    an issue that differs from the one in the store is reported as different, and the store keeps its own. \
    --update merges what changed in the file into the issues in the store. \
    Issues of other trackers are queued oldest first, by createdAt.\n\n\
    Exits with 0 if every issue is new or the same, and with 1 if any is different or refused; the others \
    are imported nevertheless. Deleted issues of beads and pull requests are skipped.\n\n\
    Examples:\n  \
    ait import .beads/issues.jsonl --dry-run\n  \
    ait import backlog.csv\n  \
    ait import jira.csv --map 'Date raised=createdAt' --ignore Sprint\n  \
    ait import jira.csv --map-value 'Status:Shipped=closed'\n  \
    ait import backlog/ --update\n  \
    ait import docs/adr/*.md\n  \
    gh issue list --json number,url,title,body,state,labels,assignees,createdAt | ait import -\n  \
    ait --file other.json export | ait import -";

fn after_help() -> String {
    let fields: Vec<_> = Field::all().map(Field::name).collect();
    AFTER_HELP.replace("{fields}", &fields.join(", "))
}

/// The arguments of `ait import`.
#[derive(Clone, Debug, Args)]
#[command(after_help = after_help())]
pub struct Arguments {
    /// The file or folder to read, or several Markdown files; - is stdin
    #[arg(value_name = "FILE", required = true)]
    sources: Vec<PathBuf>,

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

    /// Read the objects of this list in a JSON document; KEY.KEY names a list within an object
    #[arg(long, value_name = "KEY")]
    items: Option<String>,

    /// Bring what changed in the file into issues that were imported before
    #[arg(short, long)]
    update: bool,

    /// Leave this column or key out; repeatable
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    let [file, others @ ..] = &arguments.sources[..] else { return Ok(ExitStatus::Incomplete) };
    let is_markdown = |file: &Path| file.extension().is_some_and(|extension| extension == "md");
    let name = match others.len() {
        0 => shown(file),
        more => format!("{} and {more} more", shown(file)),
    };
    let options = ReadOptions {
        now: tracker.now(),
        mapping: Mapping::new(&arguments.map, &arguments.ignore, &arguments.map_value),
        items: arguments.items.clone(),
        classifications: Arc::clone(tracker.classifications()),
        date_order: usual_date_order(),
    };
    let (form, entries) = if file.is_dir() && others.is_empty() {
        ("folder", ait_interchange::folder::read(&files_of(file, MAX_DEPTH)?, &options))
    } else if arguments.sources.iter().all(|file| is_markdown(file)) {
        let read = |file: &PathBuf| Ok((shown(file), text_of(file)?));
        let files = arguments.sources.iter().map(read).collect::<Result<Vec<_>>>()?;
        ("markdown", ait_interchange::folder::read(&files, &options))
    } else if !others.is_empty() {
        return Err(WrongUsage(
            "several files are read together only if all are Markdown files: import the others one by one",
        )
        .into());
    } else {
        let bytes = bytes_of(file)?;
        let form =
            arguments.form.unwrap_or_else(|| FileFormat::of(&bytes, FileFormat::of_name(file)));
        (form.as_str(), ait_interchange::read(bytes, form, &options))
    };
    let entries = entries
        .map_err(with_hint)
        .with_context(|| format!("{name} was not imported, read as {form}"))?;
    let known = tracker.issues_below(import_links::ids(&entries));
    let kept = warn_when_busy(known, &mut false).await?;
    let mut import = Import::of(entries, &kept);
    drop(kept);
    let updates = if arguments.update { import.plan_updates(tracker).await? } else { Vec::new() };
    let notes = import.notes(tracker).await?;
    if !arguments.dry_run {
        if !updates.is_empty() {
            warn_when_busy(tracker.merge_versions(updates), &mut false).await?;
        }
        import.file(tracker, &agent).await?;
    }
    let status =
        import.report.write(form, arguments.dry_run, arguments.caller.format.json, output)?;
    for note in notes {
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

fn with_hint(error: Unreadable) -> anyhow::Error {
    match error {
        Unreadable::NoIssues { .. } | Unreadable::NoList { .. } => {
            anyhow!("{error}; --items KEY reads the objects of that list, also --items KEY.KEY")
        }
        Unreadable::NoTitleColumn { .. } => {
            anyhow!("{error}; if another column holds the titles, add --map COLUMN=title")
        }
        error => error.into(),
    }
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
    Ok(ait_interchange::decoded(bytes))
}

fn text_of(file: &Path) -> Result<String> {
    let text = String::from_utf8(bytes_of(file)?);
    text.with_context(|| format!("{} is not UTF-8: save it as UTF-8", file.display()))
}

/// Returns the files of a folder that have issues, with their paths below it, down to a depth.
pub(super) fn files_of(folder: &Path, max_depth: usize) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), 0)];
    let mut bytes = 0;
    while let Some((directory, depth)) = open.pop() {
        let cannot = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(&directory).with_context(cannot)? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() && depth < max_depth {
                open.push((path, depth + 1));
            } else if kind.is_file() && ait_interchange::folder::has_issues(&path) {
                let text = text_of(&path)?;
                bytes += text.len() as u64;
                let below = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
                found.push((below, text));
            }
            if found.len() > MAX_FILES || bytes > MAX_BYTES {
                bail!("{} has too many files of issues: import a part of it", folder.display());
            }
        }
    }
    found.sort();
    Ok(found)
}
