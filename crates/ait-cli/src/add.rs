//! `ait add`: file an issue.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use super::aliases::table::is_noun;
use super::attribute_args::NewAttributes;
use super::editor::{self, EditedText};
use super::options::{CallerArgs, GivenKind, WrongUsage, classification, text_or_stdin};
use super::print_issue::print_changed;
use super::{CommandContext, ExitStatus};
use ait_domain::{AgentName, Classification, Description, Issue, IssueChange, Title};
use ait_tracker::{Changed, NewIssue, Tracker};

/// What an error says of the store.
const NOTHING: &str = "nothing was filed";

/// The arguments of `ait add`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait add 'Login fails on Safari' -c bug -d 'Steps: ...'\n  \
    cargo test 2>&1 | ait add 'Tests fail on main' -c bug -d -\n  \
    ait add 'Log out everywhere' -c feature -p 1 -l ui,login --blocked-by 3f2a9c1e\n  \
    ait add 'Login still fails' --from 3f2a9c1e\n  \
    ait add --edit -c feature")]
pub struct Arguments {
    /// The title, on one line
    #[arg(required_unless_present = "edit")]
    title: Vec<String>,

    /// The kind of work [default: improvement, or the first of classifications in ait.toml]
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<GivenKind>,

    /// The description; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,

    /// Write the title and description in $VISUAL or $EDITOR, beginning with the template of the kind, if
    /// there is one
    #[arg(short, long)]
    edit: bool,

    #[command(flatten)]
    attributes: NewAttributes,

    #[command(flatten)]
    caller: CallerArgs,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    let usual = tracker.classifications().usual();
    let classification = arguments.classification.map_or(usual, |kind| kind.used_by(tracker));
    let templates = if arguments.edit { tracker.templates().await } else { Vec::new() };
    let template = templates.into_iter().find(|template| template.kind == classification);
    let draft = EditedText {
        title: title(&arguments.title)?,
        description: match &arguments.description {
            Some(text) => text_or_stdin(text, "the description")?,
            None => template.map(|template| template.text).unwrap_or_default(),
        },
    };
    let change = arguments.attributes.change();
    let edited = arguments.edit.then(|| editor::edited(&draft, NOTHING)).transpose()?;
    let draft = edited.as_ref().map_or(draft, |edited| edited.draft.clone());
    let filed = match file(draft, classification, change, agent, tracker).await {
        Ok(filed) => filed,
        Err(error) => {
            return Err(match edited {
                Some(edited) => edited.keep_after(error, NOTHING),
                None => error,
            });
        }
    };
    let ended = print_changed(&filed, arguments.caller.format.json, tracker, output).await;
    advise_on_labels(&filed.issue, tracker);
    name_near_titles(tracker, &filed.issue).await;
    ended
}

/// Returns the title of words without quotes. Two texts in quotes may be a title and something else.
fn title(words: &[String]) -> Result<String> {
    if words.len() > 1 && words.iter().any(|word| word.contains(char::is_whitespace)) {
        let what = "the title is one argument: put it in quotes, and the description behind -d, as in ait add 'Login fails' \
             -d 'Steps: ...'";
        return Err(WrongUsage(what).into());
    }
    let title = words.join(" ");
    let article = ["a ", "an ", "new "];
    let kind = article.iter().fold(&*title, |title, one| title.strip_prefix(one).unwrap_or(title));
    let is_empty = !title.contains(char::is_alphanumeric) || is_noun(kind);
    if !title.trim().is_empty() && is_empty {
        return Err(WrongUsage(
            "a title says what is wrong or wanted: ait add 'Login fails on Safari'",
        )
        .into());
    }
    Ok(title)
}

/// Tells a user who names the kind of work in a label, as in other trackers, how to name it.
fn advise_on_labels(filed: &Issue, tracker: &Tracker) {
    let kind = filed.classification;
    let mut labels = filed
        .attributes
        .labels
        .iter()
        .filter_map(|label| Classification::work_from_word(label.as_str()));
    let is_other =
        |label: &Classification| *label != kind && tracker.classifications().contains(*label);
    if let Some(label) = labels.find(is_other) {
        tracing::info!(
            "the label {label} is not the kind of work, which is {kind}: `ait edit {} -c {label}` changes that",
            filed.id.short()
        );
    }
}

/// Names open issues with nearly the same title, which may mean the same.
async fn name_near_titles(tracker: &Tracker, filed: &Arc<Issue>) {
    for near in tracker.near_titles(std::slice::from_ref(filed)).await {
        let short = filed.id.short();
        let near = near.id.short();
        tracing::info!(
            "an open issue has nearly the same title: {near}; if it means the same, `ait link {short} duplicate-of {near}`"
        );
    }
}

async fn file(
    draft: EditedText,
    classification: Classification,
    details: IssueChange,
    agent: AgentName,
    tracker: &Tracker,
) -> Result<Changed> {
    let title = Title::try_from(draft.title)?;
    let description = Description::try_from(draft.description)?;
    let issue = NewIssue { details, ..NewIssue::new(title, description, classification) };
    Ok(tracker.add_issue(issue, agent).await?)
}
