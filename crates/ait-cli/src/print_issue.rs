//! The output of commands that claim or change one issue.

use anyhow::Result;
use serde::Serialize;

use super::issue_view::{words, write_newer_head, write_whole};
use super::output::{FAINT, STRONG, of_status};
use super::{ExitStatus, Output, sanitize};
use ait_domain::{ActionKind, Issue, Status, WithClaim};
use ait_tracker::{Changed, Tracker, read_after_change};

/// An issue that has just changed, as JSON.
#[derive(Serialize)]
struct ChangedIssue<'a> {
    #[serde(flatten)]
    issue: WithClaim<'a>,
    /// The number of the change, for `ait undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
}

impl<'a> ChangedIssue<'a> {
    async fn of(changed: &'a Changed, tracker: &Tracker) -> Self {
        let issue = &changed.issue;
        // An unknown key of another program keeps its name.
        let change = match issue.unknown_keys.get("change") {
            None => number(changed, tracker).await,
            Some(_) => None,
        };
        Self { issue: WithClaim::from(&**issue), change }
    }
}

async fn number(changed: &Changed, tracker: &Tracker) -> Option<String> {
    Some(tracker.change_numbers(&changed.events).await?.to_string())
}

/// Prints one line about an issue that has just changed, or the issue as JSON, and the number of the change.
pub(super) async fn print_changed(
    changed: &Changed,
    json: bool,
    tracker: &Tracker,
    output: &Output,
) -> Result<ExitStatus> {
    if json {
        output.json(&ChangedIssue::of(changed, tracker).await)?;
        return Ok(ExitStatus::Done);
    }
    print_line(&changed.issue, remark(&changed.issue), output)?;
    print_number(changed, tracker, output).await?;
    Ok(ExitStatus::Done)
}

/// Tells people how to take a change back. Programs ask for JSON.
pub(super) async fn print_number(
    changed: &Changed,
    tracker: &Tracker,
    output: &Output,
) -> Result<()> {
    if output.is_terminal()
        && let Some(change) = number(changed, tracker).await
    {
        let undo = format!("change {change}: `ait undo {change}` takes it back");
        output.line(output.styled(FAINT, undo))?;
    }
    Ok(())
}

/// Prints one line about an issue.
pub(super) fn print_line(issue: &Issue, remark: Option<String>, output: &Output) -> Result<()> {
    let id = output.styled(STRONG, issue.id.short());
    let status = output.styled(of_status(issue.status), words(issue.status));
    let title = sanitize::line(&issue.title);
    let remark = remark.map(|text| output.styled(FAINT, format_args!(" ({text})")));
    output.line(format_args!("{id} {status}: {title}{}", remark.unwrap_or_default()))
}

/// Describes a change that leaves the status alone. Of other changes, describes what the user may not expect: another
/// agent held the issue, or nothing has changed. Says nothing if an edit by hand came in between, because that may have
/// changed the status, too.
fn remark(issue: &Issue) -> Option<String> {
    let (last, earlier) = issue.history.split_last()?;
    let kind = |action: &str| ActionKind::of(action);
    // Such a change leaves the status alone.
    let is_aside = |kind| {
        matches!(
            kind,
            ActionKind::Commented
                | ActionKind::Changed
                | ActionKind::Asked
                | ActionKind::Answered
                | ActionKind::Checked
                | ActionKind::Used
        )
    };
    if is_aside(kind(&last.action)) {
        let action = match kind(&last.action) {
            ActionKind::Commented => "commented".to_owned(),
            ActionKind::Changed => sanitize::line(last.action.trim_start_matches("Issue ")),
            _ => last.action.to_lowercase(),
        };
        return Some(action);
    }
    let earlier = earlier.iter().rfind(|entry| !is_aside(kind(&entry.action)))?;
    let status = kind(&earlier.action).status_after(None)?;
    let agent = sanitize::line(&earlier.agent);
    if status == issue.status {
        Some(match status {
            Status::Created => "it was in the queue already".to_owned(),
            _ => format!("it was {} already, by {agent}", words(status)),
        })
    } else {
        (status.is_claimed() && earlier.agent != last.agent)
            .then(|| format!("it was held by {agent}"))
    }
}

/// Prints the claimed issue. If there is none, prints `null` as JSON, or else logs `nothing` to stderr.
pub(super) async fn print_claimed(
    claimed: Option<Changed>,
    json: bool,
    tracker: &Tracker,
    nothing: &str,
    output: &Output,
) -> Result<ExitStatus> {
    if json {
        let changed = match &claimed {
            Some(claimed) => Some(ChangedIssue::of(claimed, tracker).await),
            None => None,
        };
        output.json(&changed)?;
    } else if let Some(claimed) = &claimed {
        let issue = &claimed.issue;
        let linked = issue.attributes.links.iter().map(|link| link.to);
        let around = tracker.issues_around([issue.id].into_iter().chain(linked));
        let around = read_after_change(around).await;
        write_whole(issue, &around.unwrap_or_default(), tracker.now(), output)?;
        write_newer_head(issue, output).await?;
        let overlaps = read_after_change(tracker.overlaps(issue)).await.unwrap_or_default();
        overlaps.iter().try_for_each(|line| output.line(sanitize::line(line)))?;
        let known = tracker.known(issue).await;
        if !known.is_empty() {
            output.line("\nWhat the team knows:")?;
            known.iter().try_for_each(|line| {
                output.line(format_args!("  {}", sanitize::line(&line.to_string())))
            })?;
        }
        print_number(claimed, tracker, output).await?;
    } else {
        tracing::info!("{nothing}");
    }
    Ok(ExitStatus::done_if(claimed.is_some()))
}
