//! `ait export`: issues as JSON, JSON Lines or CSV.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use super::list::{ALL, statuses, statuses_of};
use super::options::{Format, WrongUsage, classification};
use super::progress::Progress;
use super::{CommandContext, Ending, Output};
use crate::domain::{Classification, Issue, Query};
use crate::interchange::{self, Form};

/// The arguments of `ait export`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Forms:\n  \
    json   one document, as issues.json itself\n  \
    jsonl  one issue a line\n  \
    csv    one issue a row, for spreadsheets\n\n\
    A file appears whole or not at all. In CSV, a title or description that a spreadsheet would run as a \
    formula gets an apostrophe in front, which `ait import` takes away again.\n\n\
    Examples:\n  \
    ait export issues.csv\n  \
    ait export backup.json --force\n  \
    ait export --format jsonl | jq -r .title\n  \
    ait export --status open -c bug bugs.csv")]
pub struct Arguments {
    /// Where to [default: stdout, which - means, too]
    #[arg(value_name = "FILE")]
    target: Option<PathBuf>,

    /// The form [default: that of the file's extension, else json]
    #[arg(short = 'F', long = "format", value_parser = form())]
    form: Option<Form>,

    /// Replace a file that is there
    #[arg(short, long)]
    force: bool,

    /// Only these statuses
    #[arg(
        short,
        long,
        value_name = "STATUS",
        value_delimiter = ',',
        default_value = ALL,
        value_parser = statuses()
    )]
    status: Vec<String>,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification())]
    classification: Option<Classification>,

    #[command(flatten)]
    format: Format,
}

/// Reads the word for a form, and lets completions know them.
pub(super) fn form() -> impl TypedValueParser<Value = Form> {
    PossibleValuesParser::new(Form::ALL.map(Form::as_str))
        .map(|word| Form::from_word(&word).expect("only these words are possible"))
}

/// The form that the name of a file promises.
pub(super) fn promised(file: &Path) -> Option<Form> {
    file.extension().and_then(|extension| Form::of_extension(extension.to_str()?))
}

#[derive(Serialize)]
struct Answer<'a> {
    exported: usize,
    format: &'a str,
    file: String,
}

pub(super) async fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<Ending> {
    let file = arguments.target.as_deref().filter(|file| *file != Path::new("-"));
    let form = arguments.form.or_else(|| promised(file?)).unwrap_or(Form::Json);
    if arguments.format.json && file.is_none() && form != Form::Json {
        return Err(WrongUsage(
            "--json tells how the answer is written, which without a file is the export itself: \
             leave out one of --json and --format",
        )
        .into());
    }
    let store = context.maintenance.files();
    let target = file.map(|file| Target::of(file, arguments.force, &store)).transpose()?;
    let kept = context.tracker.snapshot().await?.issues;
    let query = Query {
        statuses: statuses_of(&arguments.status),
        classification: arguments.classification,
        take: kept.len(),
        ..Query::default()
    };
    let issues = kept.list(&query).issues;
    let Some(target) = target else {
        let progress = Progress::of("exporting", issues.len());
        interchange::write(&issues, form, output, &|| progress.step())?;
        return Ok(Ending::Done);
    };
    target.write(&issues, form)?;
    let (exported, path) = (issues.len(), target.file.display());
    if arguments.format.json {
        output.json(&Answer { exported, format: form.as_str(), file: path.to_string() })?;
    } else {
        output.line(format_args!("{exported} issues exported to {path}"))?;
    }
    Ok(Ending::Done)
}

/// A file to be written.
struct Target<'a> {
    file: &'a Path,
    /// Whether a file that is there may be replaced.
    replaces: bool,
    /// Whether it is no file of a disk, such as a named pipe, and has to be written as it is.
    is_special: bool,
}

impl<'a> Target<'a> {
    /// Makes sure that nothing is written where it would do harm.
    fn of(file: &'a Path, force: bool, store: &[PathBuf]) -> Result<Self> {
        let shown = file.display();
        if is_of_store(file, store) {
            bail!("{shown} belongs to the store itself: choose another name");
        }
        let there = match fs::metadata(file) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot write {shown}")),
        };
        if there.as_ref().is_some_and(fs::Metadata::is_dir) {
            bail!("{shown} is a directory: name a file in it");
        }
        let directory = file.parent().filter(|it| !it.as_os_str().is_empty() && !it.exists());
        if let Some(directory) = directory {
            bail!("the directory {} does not exist: create it", directory.display());
        }
        let is_special = there.as_ref().is_some_and(|there| !there.is_file());
        if there.is_some() && !is_special && !force {
            bail!("{shown} exists already: choose another name, or replace it with --force");
        }
        Ok(Self { file, replaces: force, is_special })
    }

    fn write(&self, issues: &[Arc<Issue>], form: Form) -> Result<()> {
        let cannot = || format!("cannot write {}", self.file.display());
        if self.is_special {
            let file = OpenOptions::new().write(true).open(self.file).with_context(cannot)?;
            return write_to(&file, issues, form).with_context(cannot);
        }
        // A link stays a link to what is replaced.
        let place = fs::canonicalize(self.file).unwrap_or_else(|_| self.file.to_owned());
        let directory = place.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As any new file, what the user's umask leaves of it; and no more than what it replaces.
            let mode =
                fs::metadata(&place).map_or(0o666, |there| there.permissions().mode() & 0o666);
            builder.permissions(fs::Permissions::from_mode(mode));
        }
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

fn write_to(file: &File, issues: &[Arc<Issue>], form: Form) -> io::Result<()> {
    let progress = Progress::of("exporting", issues.len());
    let mut out = BufWriter::new(file);
    interchange::write(issues, form, &mut out, &|| progress.step())?;
    out.flush()
}

/// Tells whether a file is one of those that a store consists of, whichever way leads to it.
fn is_of_store(file: &Path, store: &[PathBuf]) -> bool {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = fs::canonicalize(directory.unwrap_or(Path::new("."))).ok();
    let place = directory.zip(file.file_name()).map(|(directory, name)| directory.join(name));
    let place = fs::canonicalize(file).ok().or(place);
    // Of its directory, also everything inside.
    place.is_some_and(|place| store.iter().any(|own| place.starts_with(own)))
}
