//! `ait edit`: changes the texts, the attributes and the links of an issue.

use anyhow::Result;
use clap::Args;

use super::attribute_args::ChangedAttributes;
use super::editor::{self, EditedText};
use super::options::{CallerArgs, WrongUsage, issue_ref, text_or_stdin};
use super::{CommandContext, ExitStatus};
use ait_domain::{AgentName, Description, DomainError, IssueChange, IssueRef, Title};
use ait_tracker::{Changed, IssueAtVersion, StoreError, Tracker};

/// What an error says of the store.
const NOTHING: &str = "nothing was changed";

/// The arguments of `ait edit`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait edit 3f2a9c1e --title 'Login fails on Safari 17'\n  \
    ait edit 3f2a9c1e -p 0 -l +ui,-triage --assign dev-1\n  \
    ait edit 3f2a9c1e --blocked-by 8d1f02aa --parent none\n  \
    ait edit 3f2a9c1e --edit")]
pub struct Arguments {
    /// The issues: their ids, or at least the first 4 hex digits of each
    #[arg(value_name = "ID", required = true, value_parser = issue_ref)]
    ids: Vec<IssueRef>,

    /// The new title, on one line
    #[arg(short, long)]
    title: Option<String>,

    /// The new description; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    description: Option<String>,

    /// Edit the title and description in $VISUAL or $EDITOR
    #[arg(short, long)]
    edit: bool,

    #[command(flatten)]
    attributes: ChangedAttributes,

    #[command(flatten)]
    caller: CallerArgs,
}

impl Arguments {
    /// Returns the change that the options other than `--edit` describe.
    fn change(&self, tracker: &Tracker) -> Result<IssueChange> {
        let mut change = self.attributes.change(tracker)?;
        change.title = self.title.clone().map(Title::try_from).transpose()?;
        if let Some(text) = &self.description {
            let text = text_or_stdin(text, "the description")?;
            change.description = Some(Description::try_from(text)?);
        }
        Ok(change)
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let tracker = context.tracker;
    let change = arguments.change(tracker)?;
    if arguments.edit && arguments.ids.len() > 1 {
        return Err(WrongUsage("--edit opens one issue: name one").into());
    }
    if !arguments.edit && change == IssueChange::default() {
        let what =
            "say what to change, such as --title TEXT, -p 1 or -l +ui; --edit opens an editor";
        return Err(WrongUsage(what).into());
    }
    let change = async |id: IssueRef, agent| {
        let change = change.clone();
        if arguments.edit {
            return change_in_editor(id, change, agent, tracker).await;
        }
        Ok(tracker.change_issue(id.into(), change, agent).await?)
    };
    arguments.caller.each(&arguments.ids, change, context).await
}

/// Lets the user edit the texts, and changes the issue if no other change came in between.
async fn change_in_editor(
    id: IssueRef,
    change: IssueChange,
    agent: AgentName,
    tracker: &Tracker,
) -> Result<Changed> {
    let issue = tracker.get_issue(id).await?;
    // Before the user writes a text that cannot be saved.
    if issue.status.has_ended() {
        let error = DomainError::Terminal { id: issue.id, status: issue.status };
        return Err(StoreError::from(error).into());
    }
    let before = EditedText { title: issue.title.clone(), description: issue.description.clone() };
    let title = change.title.as_ref().map(Title::as_str);
    let description = change.description.as_ref().map(Description::as_str);
    let edited = editor::edited(
        &EditedText {
            title: title.unwrap_or(&before.title).to_owned(),
            description: description.unwrap_or(&before.description).to_owned(),
        },
        NOTHING,
    )?;
    let known = IssueAtVersion { issue: issue.id.into(), version: Some(issue.version()) };
    let before = before.unedited();
    let draft = edited.draft.clone();
    let is_edited = draft != before;
    match apply(known, change, draft, &before, agent, tracker).await {
        Err(error) if is_edited => Err(edited.keep_after(error, NOTHING)),
        changed => changed,
    }
}

/// Changes the issue as the draft says, where that differs from the texts before.
async fn apply(
    known: IssueAtVersion,
    mut change: IssueChange,
    draft: EditedText,
    before: &EditedText,
    agent: AgentName,
    tracker: &Tracker,
) -> Result<Changed> {
    change.title = match draft.title {
        title if title == before.title => None,
        title => Some(Title::try_from(title)?),
    };
    change.description = match draft.description {
        description if description == before.description => None,
        description => Some(Description::try_from(description)?),
    };
    Ok(tracker.change_issue(known, change, agent).await?)
}
