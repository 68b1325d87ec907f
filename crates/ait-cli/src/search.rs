//! `ait search`: finds issues in any status by their texts and their ids in other trackers.

use anyhow::Result;
use clap::Args;

use super::list::{self, Paging};
use super::options::{Format, GivenKind, classification, with_terms};
use super::{CommandContext, ExitStatus};

const HELP: &str = "`ait list` has more filters.\n\n\
    Examples:\n  \
    ait search safari login\n  \
    ait search '#12'                  also the issue with this number on GitHub\n  \
    ait search ABC-12\n  \
    ait search '\"session expired\"' -c bug --json";

/// The arguments of `ait search`.
#[derive(Clone, Debug, Args)]
#[command(after_help = with_terms(HELP))]
pub struct Arguments {
    /// What to look for: words, which must all occur in the title, description or comments, "several words" in quotes,
    /// and terms such as label:ui. The id or number that an imported issue has in another tracker counts, too
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<GivenKind>,

    #[command(flatten)]
    paging: Paging,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let Arguments { query, classification, paging, format } = arguments.clone();
    list::run(&list::Arguments::search(query, classification, paging, format), context).await
}
