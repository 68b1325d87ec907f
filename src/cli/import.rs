//! `ait import`: issues from a file.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};

use super::export::{form, promised};
use super::import_report::{Outcome, Report};
use super::options::{Acting, Format};
use super::progress::Progress;
use super::{Ending, Output};
use crate::domain::{AgentName, DomainError, Issue, IssueId};
use crate::interchange::difference::differences;
use crate::interchange::{self, Content, Draft, Form};
use crate::tracker::{IssueStore, StoreError, Tracker};

/// The most bytes of a file that are read: some millions of issues.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;
/// How many issues are under way at once, so that they share commits and syncs.
const MAX_UNDER_WAY: usize = 512;
/// How many bytes of them, so that large ones do not fill the memory.
const MAX_BYTES_UNDER_WAY: usize = 32 * 1024 * 1024;
/// How long the store may be busy before a line tells that this waits for it.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// The arguments of `ait import`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "What is read:\n  \
    json   exports, any issues.json (of the original AgentIssueTracker, too), an array of issues, or one\n  \
    jsonl  exports, the issues.jsonl of beads\n  \
    csv    exports, anything with a header that names a title\n\n\
    An issue is known by its id, so that a second import changes nothing. No issue is ever overwritten: \
    one that is in the store with other content is reported as different, and stays.\n\n\
    Ends with 0 when every issue is new or the same, and with 1 when any is different or refused; the \
    others are imported all the same.\n\n\
    Examples:\n  \
    ait import .beads/issues.jsonl --dry-run\n  \
    ait import backlog.csv\n  \
    ait --file other.json export | ait import -")]
pub struct Arguments {
    /// Which file; - reads stdin
    #[arg(value_name = "FILE")]
    source: PathBuf,

    /// Its form [default: found out from the content and the name]
    #[arg(short = 'F', long = "format", value_parser = form())]
    form: Option<Form>,

    /// Only say what would be imported; write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,

    #[command(flatten)]
    acting: Acting,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    usual: Option<&AgentName>,
    output: &mut Output,
) -> Result<Ending> {
    let agent = arguments.acting.agent(usual)?;
    let (file, name) = (&arguments.source, shown(&arguments.source));
    let bytes = bytes_of(file)?;
    let form = arguments.form.unwrap_or_else(|| Form::of(&bytes, promised(file)));
    let entries = interchange::read(&bytes, form, tracker.now())
        .with_context(|| format!("{name} was not imported, read as {}", form.as_str()))?;
    drop(bytes);
    let kept = told_when_busy(tracker.snapshot(), &mut false).await?.issues;
    let mut import = Import::of(entries, &kept);
    if !arguments.dry_run {
        import.file(tracker, &agent).await?;
    }
    import.report.write(form, arguments.dry_run, arguments.format.json, output)
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
            tracing::warn!("reading issues from the terminal: end them with Ctrl-D");
        }
        stdin.lock().take(MAX_BYTES + 1).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
    };
    read.with_context(|| format!("{name} cannot be read"))?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("{name} is larger than {MAX_BYTES} bytes: split it, for instance by status");
    }
    Ok(bytes)
}

/// What is to become of the entries of a file.
struct Import {
    report: Report,
    /// The issues that are not in the store, each with its place in the report.
    new: Vec<(usize, Draft)>,
}

impl Import {
    /// Compares the entries with what the store holds, and with each other.
    fn of(entries: Vec<interchange::Entry>, kept: &IssueStore) -> Self {
        let mut first: HashMap<IssueId, (usize, Arc<Issue>)> = HashMap::new();
        let mut import = Self { report: Report::default(), new: Vec::new() };
        for entry in entries {
            let draft = match entry.content {
                Content::Refused { id, title, reason } => {
                    import.report.push(entry.line, id, title, Outcome::Refused { reason });
                    continue;
                }
                Content::Issue(draft) => draft,
            };
            let issue = Arc::clone(draft.issue.issue());
            let outcome = match first.entry(issue.id) {
                Slot::Occupied(earlier) => {
                    let (line, earlier) = earlier.get();
                    if differences(earlier, &draft).is_empty() {
                        Outcome::Same
                    } else {
                        Outcome::Refused { reason: format!("line {line} has the same id") }
                    }
                }
                Slot::Vacant(slot) => {
                    slot.insert((entry.line, Arc::clone(&issue)));
                    kept.get(issue.id).map_or(Outcome::New, |kept| compared(&kept, &draft))
                }
            };
            let (id, title) = (issue.id.to_string(), issue.title.clone());
            let is_new = outcome == Outcome::New;
            let place = import.report.push(entry.line, Some(id), Some(title), outcome);
            if is_new {
                import.new.push((place, draft));
            }
        }
        import
    }

    /// Files what is new, in the order of the file.
    async fn file(&mut self, tracker: &Tracker, agent: &AgentName) -> Result<()> {
        let total = self.new.len();
        let progress = Progress::of("importing", total);
        let (mut under_way, mut bytes_under_way) = (FuturesUnordered::new(), 0);
        let (mut filed, mut failure, mut is_told) = (0, None, false);
        let mut waiting = std::mem::take(&mut self.new).into_iter().peekable();
        loop {
            let has_room = under_way.len() < MAX_UNDER_WAY && bytes_under_way < MAX_BYTES_UNDER_WAY;
            let next = if has_room && failure.is_none() { waiting.next() } else { None };
            let settled = if let Some((place, draft)) = next {
                bytes_under_way += draft.issue.json_bytes();
                let mut filing = Box::pin(file_one(tracker, agent, place, draft));
                // It is on its way with the first look at it; so they are filed in this order.
                match filing.as_mut().now_or_never() {
                    Some(settled) => settled,
                    None => {
                        under_way.push(filing);
                        continue;
                    }
                }
            } else if let Some(settled) = told_when_busy(under_way.next(), &mut is_told).await {
                settled
            } else {
                break;
            };
            bytes_under_way -= settled.bytes;
            progress.step();
            match settled.outcome {
                Ok(outcome) => {
                    filed += usize::from(outcome == Outcome::New);
                    self.report.set(settled.place, outcome);
                }
                // The others that are under way may still come to something.
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

/// Waits for the store, and tells once that it is busy, if that takes long.
async fn told_when_busy<T>(work: impl Future<Output = T>, is_told: &mut bool) -> T {
    tokio::pin!(work);
    if !*is_told {
        if let Ok(done) = tokio::time::timeout(BUSY_PATIENCE, &mut work).await {
            return done;
        }
        *is_told = true;
        tracing::warn!(
            "the store is busy, because another process has it locked or the disk is slow: waiting for it, for up \
             to 10 minutes; Ctrl-C ends that, and importing the file again brings the rest"
        );
    }
    work.await
}

/// What became of one issue.
struct Settled {
    place: usize,
    bytes: usize,
    outcome: Result<Outcome, StoreError>,
}

async fn file_one(tracker: &Tracker, agent: &AgentName, place: usize, draft: Draft) -> Settled {
    let bytes = draft.issue.json_bytes();
    let filed = tracker.import_issue(draft.issue.clone(), agent.clone()).await;
    let outcome = match filed {
        Ok(_) => Ok(Outcome::New),
        // Somebody else has imported it meanwhile.
        Err(StoreError::Refused(DomainError::IdTaken { id })) => {
            tracker.get_issue(id.into()).await.map(|kept| compared(&kept, &draft))
        }
        Err(StoreError::Refused(refusal)) => Ok(Outcome::Refused { reason: refusal.to_string() }),
        Err(error) => Err(error),
    };
    Settled { place, bytes, outcome }
}

fn compared(kept: &Issue, draft: &Draft) -> Outcome {
    let differs = differences(kept, draft);
    if differs.is_empty() { Outcome::Same } else { Outcome::Different { differs } }
}
