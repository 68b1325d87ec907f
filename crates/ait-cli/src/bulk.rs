//! `ait bulk`: changes all issues that a query finds.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use super::attribute_args::ChangedAttributes;
use super::backup::issues;
use super::confirmation::{can_ask, is_confirmed};
use super::options::{CallerArgs, WrongUsage, text_or_stdin, with_terms};
use super::output::FAINT;
use super::print_issue::print_line;
use super::{CommandContext, ExitStatus, Output, sanitize};
use ait_domain::{
    CommentText, DomainError, Issue, IssueChange, IssueId, Order, Query, Resolution, StatusSet,
};
use ait_query::{NoMatch, ParsedQuery};
use ait_tracker::hints::{self, COMMANDS, ENDS_FOR_AGENTS};
use ait_tracker::{BulkChange, BulkEnd, BulkOutcome, MAX_BULK, Tracker};

/// How many issues are shown before the change.
const SHOWN: usize = 20;
/// Words that mean every issue, and would find those with the word.
const ALL_WORDS: [&str; 5] = ["all", "any", "every", "everything", "*"];

const HELP: &str = "Shows first what would change, and asks. Everything is one change: `ait undo` takes all of it back.\n\
    Issues whose change is refused stay as they are. Without a status in the query, only open issues are meant.\n\n\
    Examples:\n  \
    ait bulk 'label:ui idle:>30d' -l +stale -p 3\n  \
    ait bulk 'kind:bug safari' --assign dev-1 --yes\n  \
    ait bulk 'holder:dev-2' --return -m 'dev-2 has stopped'\n  \
    ait bulk 'label:wontfix' --reject -m 'out of scope' --dry-run";

/// The arguments of `ait bulk`.
#[derive(Clone, Debug, Args)]
#[command(after_help = with_terms(HELP))]
pub struct Arguments {
    /// Which issues: words, and terms such as label:ui; --help lists them
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    #[command(flatten)]
    attributes: ChangedAttributes,

    /// A comment for each issue, or the reason of --return, --close, --reject and --park; - reads it from stdin
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,

    /// Keep them from being claimed for now
    #[arg(long, group = "end")]
    park: bool,

    /// Let parked issues be claimed again
    #[arg(long, group = "end")]
    unpark: bool,

    /// Return them to the queue
    #[arg(long = "return", group = "end")]
    return_them: bool,

    /// Close them
    #[arg(long, group = "end")]
    close: bool,

    /// Close them as rejected
    #[arg(long, group = "end")]
    reject: bool,

    /// Change them without asking
    #[arg(short, long)]
    yes: bool,

    /// Only show what would change
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Even if another agent holds an issue
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    caller: CallerArgs,
}

impl Arguments {
    fn change(&self, tracker: &Tracker) -> Result<BulkChange> {
        let text = self.message.as_deref().map(|text| text_or_stdin(text, "the message"));
        let comment = text.transpose()?.map(CommentText::try_from).transpose()?;
        let mut change = self.attributes.change(tracker)?;
        let needs_reason = self.park || self.return_them || self.close || self.reject;
        let reason = match comment {
            None if needs_reason => {
                return Err(WrongUsage("say why with -m TEXT").into());
            }
            None => None,
            Some(comment) if needs_reason => Some(comment),
            Some(comment) => {
                change.comment = Some(comment);
                None
            }
        };
        let end = match reason {
            Some(reason) if self.return_them => Some(BulkEnd::Return(reason)),
            Some(reason) if self.close => Some(BulkEnd::Close(Resolution::Closed, reason)),
            Some(reason) if self.reject => Some(BulkEnd::Close(Resolution::Rejected, reason)),
            Some(reason) => {
                change.parked = Some(Some((reason, None)));
                None
            }
            None => None,
        };
        if self.unpark {
            change.parked = Some(None);
        }
        if change == IssueChange::default() && end.is_none() {
            let what = "say what to change, such as -l +ui, -p 1, --assign NAME or --close -m WHY";
            return Err(WrongUsage(what).into());
        }
        Ok(BulkChange { change, end, ..BulkChange::default() })
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let CommandContext { tracker, saved_queries, .. } = *context;
    let agent = arguments.caller.agent(context)?;
    let bulk = arguments.change(context.tracker)?;
    let text = arguments.query.join(" ");
    let parsed = ParsedQuery::exact(&text, saved_queries, tracker.now())?;
    if parsed.is_empty() || ALL_WORDS.contains(&&*text.to_lowercase()) {
        return Err(WrongUsage("say which issues; for all open ones, write is:open").into());
    }
    let statuses = if parsed.names_status() { StatusSet::ALL } else { StatusSet::open() };
    let base = Query { statuses, order: Order::Filed, take: MAX_BULK, ..Query::default() };
    let page = tracker.list_issues(parsed.narrow(base.clone())).await?;
    if page.issues.is_empty() {
        let why = NoMatch::explain(&parsed, &base, |query| tracker.list_issues(query)).await?;
        tracing::info!("{why}");
        return Ok(ExitStatus::Incomplete);
    }
    if page.total > MAX_BULK || !page.is_exact {
        tracing::warn!("only the first {MAX_BULK} issues are meant: more match");
    }
    let mut ids: Vec<IssueId> = page.issues.iter().map(|issue| issue.id).collect();
    let mut is_whole = true;
    let proof = arguments.caller.proof(context, arguments.force);
    let json = arguments.caller.format.json;
    if !arguments.yes {
        let preview = tracker.change_many(&ids, &bulk, &agent, proof, true).await?;
        show(&preview, &bulk, true, json, output)?;
        let is_wanted = !preview.changed.is_empty()
            && !arguments.dry_run
            && can_ask(json)
            && is_confirmed(&format!("Change {}?", issues(preview.changed.len())))?;
        if !is_wanted {
            if arguments.dry_run {
                return Ok(ExitStatus::Done);
            }
            tracing::info!("nothing was changed; --yes changes them");
            return Ok(ExitStatus::Incomplete);
        }
        // What was shown, whatever has happened since.
        ids = preview.changed.iter().map(|issue| issue.id).collect();
        is_whole = preview.refused.is_empty();
    }
    let outcome = tracker.change_many(&ids, &bulk, &agent, proof, false).await?;
    show(&outcome, &bulk, false, json, output)?;
    is_whole &= outcome.refused.is_empty();
    Ok(ExitStatus::done_if(is_whole && !outcome.changed.is_empty()))
}

fn show(
    outcome: &BulkOutcome,
    bulk: &BulkChange,
    is_dry_run: bool,
    json: bool,
    output: &Output,
) -> Result<()> {
    let BulkOutcome { changed, unchanged, refused, events } = outcome;
    if json {
        let refused = refused.iter().map(|(id, error)| json!({ "id": id, "why": why(error) }));
        let mut report = json!({
            "dryRun": is_dry_run,
            "changed": changed.iter().map(|issue| issue.id).collect::<Vec<_>>(),
            "unchanged": unchanged,
            "refused": refused.collect::<Vec<_>>(),
        });
        if let Some(events) = events {
            report["change"] = events.to_string().into();
        }
        return output.json(&report);
    }
    let remark = |issue: &Issue| issue.history.last().map(|entry| sanitize::line(&entry.action));
    changed
        .iter()
        .take(SHOWN)
        .try_for_each(|issue: &Arc<Issue>| print_line(issue, remark(issue), output))?;
    if changed.len() > SHOWN {
        output.line(output.styled(FAINT, format_args!("and {} more", changed.len() - SHOWN)))?;
    }
    for (id, error) in refused.iter().take(SHOWN) {
        tracing::warn!("{} stays: {}", id.short(), why(error));
    }
    if refused.len() > SHOWN {
        tracing::warn!("{} more stay", refused.len() - SHOWN);
    }
    if !unchanged.is_empty() {
        tracing::info!("{} already so", issues(unchanged.len()));
    }
    if is_dry_run && bulk.ends_issues() && !changed.is_empty() {
        tracing::warn!("{ENDS_FOR_AGENTS}");
    }
    if !is_dry_run && !changed.is_empty() {
        let count = issues(changed.len());
        match events {
            Some(events) => tracing::info!("changed {count}; `ait undo {events}` takes it back"),
            None => tracing::info!("changed {count}; `ait log` shows the numbers of the changes"),
        }
    }
    Ok(())
}

fn why(error: &DomainError) -> String {
    hints::for_refusal(error, &COMMANDS)
}
