//! `ait export`: issues as JSON, JSON Lines or CSV, and decisions as records.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;

use super::import::files_of;
use super::list::{ALL, statuses, statuses_of};
use super::options::{Format, GivenKind, WrongUsage, classification, one_of};
use super::progress::Progress;
use super::{CommandContext, ExitStatus};
use ait_domain::text::counted;
use ait_domain::{AttributeValues, Attributes, Classification, Condition, Issue, Query, StatusSet};
use ait_interchange::FileFormat;
use ait_tracker::memory::in_force;
use ait_tracker::{Maintenance, Tracker};

/// The arguments of `ait export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Formats:\n  \
    json   one document, like issues.json\n  \
    jsonl  one issue per line\n  \
    csv    one issue per row, for spreadsheets\n  \
    graph  the memory as entities and relations, as @modelcontextprotocol/server-memory reads them\n  \
    graph-events\n         the memory as the events of a graph, as memory-bank-mcp reads them\n  \
    decisions\n         the decisions of the memory, a Markdown file each (MADR), in a folder\n\n\
    A file appears only when it is complete. In CSV, a title or description that a spreadsheet would run as \
    a formula gets a leading apostrophe, which `ait import` removes.\n\n\
    Examples:\n  \
    ait export issues.csv\n  \
    ait export backup.json --force\n  \
    ait export --format jsonl | jq -r .title\n  \
    ait export --status open -c bug bugs.csv\n  \
    ait export --format decisions docs/adr")]
pub struct Arguments {
    /// The file to write, or for decisions the folder; - is stdout, the default
    #[arg(value_name = "FILE")]
    target: Option<PathBuf>,

    /// The format [default: by the file's extension, else json]
    #[arg(short = 'F', long = "format", value_parser = one_of::<ExportFormat>(ExportFormat::words()))]
    form: Option<ExportFormat>,

    /// Replace an existing file
    #[arg(short, long)]
    force: bool,

    /// Only these statuses
    #[arg(
        short,
        long,
        value_name = "STATUS",
        value_delimiter = ',',
        default_value = ALL,
        value_parser = statuses(),
        ignore_case = true
    )]
    status: Vec<String>,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<GivenKind>,

    #[command(flatten)]
    format: Format,
}

/// What can be written.
#[derive(Clone, Copy, Debug)]
enum ExportFormat {
    File(FileFormat),
    /// A folder of decision records.
    Decisions,
}

const DECISIONS: &str = "decisions";
const TOGETHER: &str = "entries are exported together: omit --status and -c";

impl ExportFormat {
    fn words() -> impl Iterator<Item = &'static str> {
        FileFormat::words().chain([DECISIONS])
    }
}

impl FromStr for ExportFormat {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word == DECISIONS { Ok(Self::Decisions) } else { word.parse().map(Self::File) }
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let file = arguments.target.as_deref().filter(|file| *file != Path::new("-"));
    let store = context.maintenance.map(Maintenance::files).unwrap_or_default();
    if let Some(ExportFormat::Decisions) = arguments.form {
        return decisions(arguments, file, &store, context).await;
    }
    let target = file.map(|file| Target::of(file, arguments.force, &store)).transpose()?;
    let form = match (arguments.form, file) {
        (Some(ExportFormat::File(form)), _) => form,
        (_, Some(file)) => of_name(file)?,
        (_, None) => FileFormat::Json,
    };
    if arguments.format.json && file.is_none() && form != FileFormat::Json {
        return Err(WrongUsage(
            "--json formats the output of the command, which without a file is the export itself: \
             omit --json or --format",
        )
        .into());
    }
    let is_graph = matches!(form, FileFormat::Graph | FileFormat::GraphEvents);
    let is_narrowed =
        arguments.classification.is_some() || statuses_of(&arguments.status) != StatusSet::ALL;
    if is_graph && is_narrowed {
        return Err(WrongUsage(TOGETHER).into());
    }
    // A document has everything, a sheet the work, and a graph the entries.
    let statuses = match statuses_of(&arguments.status) {
        StatusSet::ALL if is_graph => StatusSet::KEPT,
        StatusSet::ALL if form != FileFormat::Csv => StatusSet::EVERYTHING,
        statuses => statuses,
    };
    let condition = if is_graph { in_force(context.tracker.now()) } else { Condition::default() };
    let query = Query {
        statuses,
        classification: arguments.classification.map(|kind| kind.used_by(context.tracker)),
        condition,
        take: usize::MAX,
        ..Query::default()
    };
    let issues = context.tracker.list_issues(query).await?.issues;
    if is_graph {
        note_left_out(&issues);
    }
    let Some(target) = target else {
        let progress = Progress::of("exporting", issues.len());
        ait_interchange::write(&issues, form, &mut &*output, &|| progress.step())?;
        return Ok(ExitStatus::Done);
    };
    target.write(&|file| write_to(file, &issues, form))?;
    let exported = issues.len();
    let path = target.file.display();
    if arguments.format.json {
        output.json(&json!({ "exported": exported, "format": form, "file": path.to_string() }))?;
    } else {
        let what = if is_graph {
            counted(exported, "entry", "entries")
        } else {
            format!("{exported} issues")
        };
        output.line(format_args!("{what} exported to {path}"))?;
    }
    Ok(ExitStatus::Done)
}

/// Writes each decision into a file of its own in a folder. Does not write a file that already has the same text.
async fn decisions(
    arguments: &Arguments,
    folder: Option<&Path>,
    store: &[PathBuf],
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let Some(folder) = folder else {
        return Err(WrongUsage("decisions are files in a folder: name it, as in docs/adr").into());
    };
    if arguments.classification.is_some() || statuses_of(&arguments.status) != StatusSet::ALL {
        return Err(WrongUsage(TOGETHER).into());
    }
    let shown = folder.display();
    if folder.exists() && !folder.is_dir() {
        bail!("{shown} is a file: decisions are files in a folder, so name a folder");
    }
    let kind = Condition::Classification(Classification::Decision);
    let entries = tracker.list_issues(Tracker::entries(usize::MAX).with(kind)).await?.issues;
    note_left_out(&entries);
    let others = if folder.exists() { files_of(folder, 0)? } else { Vec::new() };
    let files = ait_interchange::decision_files::write(&entries, &others, tracker.now());
    let is_there = |(name, text): &&(String, String)| {
        others.iter().any(|(other, there)| other == name && there == text)
    };
    let (same, changed): (Vec<_>, Vec<_>) = files.iter().partition(is_there);
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {shown}"))?;
    let paths: Vec<_> = changed.iter().map(|(name, _)| folder.join(name)).collect();
    let targets = paths.iter().map(|path| Target::of(path, arguments.force, store));
    // Nothing is written unless everything can be.
    let targets = targets.collect::<Result<Vec<_>>>()?;
    for (target, (_, text)) in targets.iter().zip(&changed) {
        target.write(&|mut file| file.write_all(text.as_bytes()))?;
    }
    let written = changed.len();
    let same = same.len();
    if arguments.format.json {
        let form = DECISIONS;
        output.json(&json!({ "exported": written, "same": same, "format": form, "file": shown.to_string() }))?;
    } else {
        let same = if same > 0 { format!(", {same} are there already") } else { String::new() };
        let written = counted(written, "decision", "decisions");
        output.line(format_args!("{written} exported to {shown}{same}"))?;
    }
    Ok(ExitStatus::Done)
}

/// Notes what the formats for entries do not have.
fn note_left_out(entries: &[Arc<Issue>]) {
    let left_out = |entry: &Arc<Issue>| {
        let values = AttributeValues::clone(&entry.attributes);
        let others = AttributeValues { labels: Vec::new(), links: Vec::new(), due: None, ..values };
        let fields = Attributes::from(others).set_fields().into_iter();
        fields.chain((!entry.comments.is_empty()).then_some("comments")).collect::<Vec<_>>()
    };
    let left_out: BTreeSet<_> = entries.iter().flat_map(left_out).collect();
    if !left_out.is_empty() {
        let left_out = left_out.into_iter().collect::<Vec<_>>().join(", ");
        tracing::info!(
            "this format does not have: {left_out}; `ait export` as JSON has everything"
        );
    }
}

/// Returns the format of a file to write. A name without an extension, such as that of a pipe, stands for JSON.
fn of_name(file: &Path) -> Result<FileFormat, WrongUsage> {
    let unknown = "no export has the extension of that file: end its name in .json, .jsonl, .ndjson or .csv, or name \
         the format with --format";
    // An import reads tabs, but an export writes commas.
    let has_tabs = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    match FileFormat::of_name(file) {
        Some(form) if !has_tabs => Ok(form),
        None if file.extension().is_none() => Ok(FileFormat::Json),
        _ => Err(WrongUsage(unknown)),
    }
}

/// The file to write.
struct Target<'a> {
    file: &'a Path,
    /// Whether an existing file may be replaced.
    replaces: bool,
    /// True for a named pipe or another special file, which must be written in place.
    is_special: bool,
}

impl<'a> Target<'a> {
    /// Checks that the target may be written.
    fn of(file: &'a Path, force: bool, store: &[PathBuf]) -> Result<Self> {
        let shown = file.display();
        if is_of_store(file, store) {
            bail!("{shown} belongs to the store: choose another name");
        }
        let there = match fs::metadata(file) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
        };
        if there.as_ref().is_some_and(fs::Metadata::is_dir) {
            bail!("{shown} is a directory: name a file in it");
        }
        let directory =
            file.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists());
        if let Some(directory) = directory {
            bail!("the directory {} does not exist: create it", directory.display());
        }
        let is_special = there.as_ref().is_some_and(|there| !there.is_file());
        if there.is_some() && !is_special && !force {
            bail!("{shown} exists already: choose another name, or replace it with --force");
        }
        Ok(Self { file, replaces: force, is_special })
    }

    fn write(&self, write: &dyn Fn(&File) -> io::Result<()>) -> Result<()> {
        let cannot = || format!("cannot write {}", self.file.display());
        if self.is_special {
            let file = OpenOptions::new().write(true).open(self.file).with_context(cannot)?;
            return write(&file).with_context(cannot);
        }
        // Follow a symbolic link, so that the link stays.
        let place = fs::canonicalize(self.file).unwrap_or_else(|_| self.file.to_owned());
        let directory = place.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        // The umask applies, as to any new file; a replacement gets no more permissions than the old file.
        let mode = fs::metadata(&place).map_or(0o666, |there| there.permissions().mode() & 0o666);
        builder.permissions(fs::Permissions::from_mode(mode));
        let builder = builder.prefix(".ait-export-").suffix(".tmp");
        let file = builder.tempfile_in(directory.unwrap_or(Path::new("."))).with_context(cannot)?;
        write(file.as_file()).with_context(cannot)?;
        file.as_file().sync_all().with_context(cannot)?;
        let placed =
            if self.replaces { file.persist(&place) } else { file.persist_noclobber(&place) };
        placed.map_err(|error| error.error).with_context(cannot)?;
        Ok(())
    }
}

fn write_to(file: &File, issues: &[Arc<Issue>], form: FileFormat) -> io::Result<()> {
    let progress = Progress::of("exporting", issues.len());
    let mut out = BufWriter::new(file);
    ait_interchange::write(issues, form, &mut out, &|| progress.step())?;
    out.flush()
}

/// Returns true if a file belongs to the store, by any path.
fn is_of_store(file: &Path, store: &[PathBuf]) -> bool {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = fs::canonicalize(directory.unwrap_or(Path::new("."))).ok();
    let place = directory.zip(file.file_name()).map(|(directory, name)| directory.join(name));
    let place = fs::canonicalize(file).ok().or(place);
    // Everything in a directory of the store belongs to it.
    place.is_some_and(|place| store.iter().any(|own| place.starts_with(own)))
}
