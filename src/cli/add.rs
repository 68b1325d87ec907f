//! `ait add`: file an issue.

use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;

use super::change::answer;
use super::edit::{self, Draft};
use super::options::{Acting, Format, classification, text_or_stdin};
use super::{Ending, Output};
use crate::domain::{AgentName, Classification, Description, Issue, Title};
use crate::tracker::Tracker;

/// The arguments of `ait add`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait add 'Login fails on Safari' -c bug -d 'Steps: ...'\n  \
    cargo test 2>&1 | ait add 'Tests fail on main' -c bug -d -\n  \
    ait add --edit -c feature")]
pub struct Arguments {
    /// What it is called, in one line
    #[arg(required_unless_present = "edit")]
    title: Option<String>,

    /// What kind of work it is
    #[arg(short, long, value_name = "KIND", value_parser = classification())]
    classification: Classification,

    /// What it is about; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,

    /// Write title and description in $VISUAL or $EDITOR
    #[arg(short, long)]
    edit: bool,

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
    let mut draft = Draft {
        title: arguments.title.clone().unwrap_or_default(),
        description: match &arguments.description {
            Some(text) => text_or_stdin(text, "the description")?,
            None => String::new(),
        },
    };
    let mut kept = None;
    if arguments.edit {
        let edited = edit::edited(&draft)?;
        draft = edited.draft;
        kept = Some(edited.file);
    }
    let filed = file(draft, arguments.classification, agent, tracker).await;
    match (filed, kept) {
        // What somebody has written by hand is not lost because of what is wrong with it.
        (Err(error), Some(file)) => {
            let path = file.keep().context("and your text could not be kept")?;
            Err(error
                .context(format!("nothing was filed, and your text is kept in {}", path.display())))
        }
        (filed, _) => answer(&*filed?, arguments.format.json, output),
    }
}

async fn file(
    draft: Draft,
    classification: Classification,
    agent: AgentName,
    tracker: &Tracker,
) -> Result<Arc<Issue>> {
    let (title, description) =
        (Title::try_from(draft.title)?, Description::try_from(draft.description)?);
    Ok(tracker.add_issue(title, description, classification, agent).await?)
}
