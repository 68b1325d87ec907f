//! `ait search`: finds issues in any status by their texts and their ids in other trackers.

use anyhow::Result;
use clap::Args;

use super::list::{self, Paging};
use super::options::{Format, classification};
use super::{ExitStatus, Output};
use crate::domain::Classification;
use crate::tracker::Tracker;

/// The arguments of `ait search`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "`ait list` has more filters.\n\n\
    Examples:\n  \
    ait search safari login\n  \
    ait search '#12'                  also the issue with this number on GitHub\n  \
    ait search ABC-12\n  \
    ait search 'session expired' -c bug --json")]
pub struct Arguments {
    /// The texts; an issue must contain all of them in the title, description or comments. The id or number that an
    /// imported issue has in another tracker counts, too
    #[arg(value_name = "WORDS", required = true)]
    texts: Vec<String>,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<Classification>,

    #[command(flatten)]
    paging: Paging,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<ExitStatus> {
    let Arguments { texts, classification, paging, format } = arguments.clone();
    list::run(&list::Arguments::search(texts, classification, paging, format), tracker, output)
        .await
}
