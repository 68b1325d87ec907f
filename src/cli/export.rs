//! `ait export`: issues as JSON, JSON Lines or CSV.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;

use super::list::{ALL, statuses, statuses_of};
use super::options::{Format, GivenKind, WrongUsage, classification, one_of};
use super::progress::Progress;
use super::{CommandContext, ExitStatus};
use crate::domain::{Issue, Query, StatusSet};
use crate::interchange::{self, FileFormat};
use crate::tracker::Maintenance;

/// The arguments of `ait export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Formats:\n  \
    json   one document, like issues.json\n  \
    jsonl  one issue per line\n  \
    csv    one issue per row, for spreadsheets\n\n\
    A file appears only when it is complete. In CSV, a title or description that a spreadsheet would run as \
    a formula gets a leading apostrophe, which `ait import` removes.\n\n\
    Examples:\n  \
    ait export issues.csv\n  \
    ait export backup.json --force\n  \
    ait export --format jsonl | jq -r .title\n  \
    ait export --status open -c bug bugs.csv")]
pub struct Arguments {
    /// The file to write; - is stdout, the default
    #[arg(value_name = "FILE")]
    target: Option<PathBuf>,

    /// The format [default: by the file's extension, else json]
    #[arg(short = 'F', long = "format", value_parser = one_of::<FileFormat>(FileFormat::words()))]
    form: Option<FileFormat>,

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

/// Returns the format of a file name's extension.
pub(super) fn promised(file: &Path) -> Option<FileFormat> {
    file.extension().and_then(|extension| FileFormat::of_extension(extension.to_str()?))
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let file = arguments.target.as_deref().filter(|file| *file != Path::new("-"));
    let store = context.maintenance.map(Maintenance::files).unwrap_or_default();
    let target = file.map(|file| Target::of(file, arguments.force, &store)).transpose()?;
    let form = match (arguments.form, file) {
        (Some(form), _) => form,
        (None, None) => FileFormat::Json,
        (None, Some(file)) => of_name(file)?,
    };
    if arguments.format.json && file.is_none() && form != FileFormat::Json {
        return Err(WrongUsage(
            "--json formats the output of the command, which without a file is the export itself: \
             omit --json or --format",
        )
        .into());
    }
    // A document has everything, and a sheet the work.
    let statuses = match statuses_of(&arguments.status) {
        StatusSet::ALL if form != FileFormat::Csv => StatusSet::EVERYTHING,
        statuses => statuses,
    };
    let query = Query {
        statuses,
        classification: arguments.classification.map(|kind| kind.used_by(context.tracker)),
        take: usize::MAX,
        ..Query::default()
    };
    let issues = context.tracker.list_issues(query).await?.issues;
    let Some(target) = target else {
        let progress = Progress::of("exporting", issues.len());
        interchange::write(&issues, form, &mut &*output, &|| progress.step())?;
        return Ok(ExitStatus::Done);
    };
    target.write(&issues, form)?;
    let exported = issues.len();
    let path = target.file.display();
    if arguments.format.json {
        output.json(&json!({ "exported": exported, "format": form, "file": path.to_string() }))?;
    } else {
        output.line(format_args!("{exported} issues exported to {path}"))?;
    }
    Ok(ExitStatus::Done)
}

/// Returns the format of a file to write. A name without an extension, such as that of a pipe, stands for JSON.
fn of_name(file: &Path) -> Result<FileFormat, WrongUsage> {
    let unknown = "no export has the extension of that file: end its name in .json, .jsonl, .ndjson or .csv, or name \
         the format with --format";
    // An import reads tabs, but an export writes commas.
    let has_tabs = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    match promised(file) {
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

    fn write(&self, issues: &[Arc<Issue>], form: FileFormat) -> Result<()> {
        let cannot = || format!("cannot write {}", self.file.display());
        if self.is_special {
            let file = OpenOptions::new().write(true).open(self.file).with_context(cannot)?;
            return write_to(&file, issues, form).with_context(cannot);
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
        write_to(file.as_file(), issues, form).with_context(cannot)?;
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
    interchange::write(issues, form, &mut out, &|| progress.step())?;
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
