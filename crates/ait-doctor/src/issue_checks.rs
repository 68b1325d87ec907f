//! Checks of the issues: inconsistent histories, old claims, repeated returns and times in the future.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ait_domain::text::counted;
use ait_domain::thresholds::{MANY_RETURNS, is_old_claim};
use ait_domain::{ActionKind, Issue, Lease, Status, Timestamp};
use ait_store::State;
use ait_store::clients::Clients;
use ait_store::sqlite::inspect::Inspection;
use ait_system::span;

use super::{Check, Finding, link_checks};

/// The tolerated difference between the clocks of machines.
const FUTURE_MS: u64 = 60_000;

pub(super) fn examine(found: &Inspection, clients: &dyn Clients, now: Timestamp) -> Vec<Finding> {
    let Ok(state) = &found.state else {
        let skipped = |check| Finding::skipped(check, "the issues cannot be read");
        let all = [
            Check::Histories,
            Check::Claims,
            Check::Returns,
            Check::Links,
            Check::Queue,
            Check::Clock,
        ];
        return all.map(skipped).into();
    };
    let issues: Vec<Arc<Issue>> = state.issues.issues().collect();
    let files = [
        ("issues.json", found.issues_file.map(|file| file.modified())),
        ("the database", found.database.as_ref().and_then(|database| database.modified)),
    ];
    let files = files.into_iter().filter_map(|(name, modified)| Some((name, modified?)));
    vec![
        check_histories(&issues),
        claims(&issues, gone_clients(state, clients), now),
        returns(&issues),
        link_checks::links(&issues, &state.issues),
        link_checks::queue(&issues, &state.issues, now),
        clock(&issues, files, now),
    ]
}

/// An inconsistency between an issue and its history.
#[derive(Clone, PartialEq, Eq, Debug)]
enum HistoryFault {
    /// The status differs from the one the history leads to.
    Status(Status),
    /// A transition that the rules do not allow.
    Step(String),
    /// The last change is earlier than the filing.
    Times,
}

/// Returns the inconsistencies of an issue. After a phrase of another program, every transition is allowed.
fn faults(issue: &Issue) -> Vec<HistoryFault> {
    let mut faults = Vec::new();
    if issue.modified_at < issue.created_at {
        faults.push(HistoryFault::Times);
    }
    let mut known: Option<Status> = None;
    for entry in &issue.history {
        let kind = ActionKind::of(&entry.action);
        if kind.leaves_status() && kind != ActionKind::Edited {
            continue;
        }
        let at = entry.timestamp;
        let next = kind.status_after(known);
        if let (Some(before), Some(after)) = (known, next)
            && !kind.can_lead(before, after)
        {
            faults.push(HistoryFault::Step(format!("\"{}\" from {before}, at {at}", entry.action)));
        }
        known = next;
    }
    if let Some(status) = known.filter(|status| *status != issue.status) {
        faults.push(HistoryFault::Status(status));
    }
    faults
}

fn check_histories(issues: &[Arc<Issue>]) -> Finding {
    let check = Check::Histories;
    let mut about = Vec::new();
    let mut wrong_status = None;
    for issue in issues {
        for fault in faults(issue) {
            let id = issue.id.short();
            let what = match fault {
                HistoryFault::Status(follows) => {
                    wrong_status.get_or_insert_with(|| id.clone());
                    format!("is {}, while its history leads to {follows}", issue.status)
                }
                HistoryFault::Step(step) => {
                    format!("has a transition that the rules do not allow: {step}")
                }
                HistoryFault::Times => format!(
                    "was changed at {}, before it was filed at {}",
                    issue.modified_at, issue.created_at
                ),
            };
            about.push(format!("{id} {what}"));
        }
    }
    if about.is_empty() {
        return Finding::ok(check, "each status follows from its history");
    }
    let reason = counted(about.len(), "inconsistent history entry", "inconsistent history entries");
    match wrong_status {
        Some(id) => Finding::problem(check, reason).about(about).fix(format!(
            "it was edited, or another program wrote it: see `ait show {id}`, and correct its \
             status in issues.json, or run `ait return {id} --force -m 'its status was wrong'`"
        )),
        None => Finding::warning(check, reason).about(about).fix(
            "no action is needed; other programs wrote the entries, or the issues were edited: see `ait show ID`",
        ),
    }
}

/// Counts the claims whose clients are gone.
fn gone_clients(state: &State, clients: &dyn Clients) -> usize {
    let is_gone = |lease: &Lease| matches!(clients.gone_for(&lease.client), Ok(Some(_)));
    state.issues.leases().filter(|(_, lease)| is_gone(lease)).count()
}

fn claims(issues: &[Arc<Issue>], gone: usize, now: Timestamp) -> Finding {
    let check = Check::Claims;
    let held = issues.iter().filter_map(|issue| Some((issue, issue.holder()?)));
    let mut old: Vec<_> =
        held.filter(|(_, holder)| is_old_claim(now.millis_since(holder.since))).collect();
    old.sort_by_key(|(_, holder)| holder.since);
    let Some((first, _)) = old.first() else {
        return Finding::ok(
            check,
            match gone {
                0 => "no claim is older than a day".to_owned(),
                _ => format!(
                    "no claim is older than a day; {} of a client that is gone: `ait status` says when {}",
                    counted(gone, "is", "are"),
                    if gone == 1 { "it lapses" } else { "they lapse" }
                ),
            },
        );
    };
    let first = first.id.short();
    let about = old.iter().map(|(issue, holder)| {
        let id = issue.id.short();
        let since = span::humanize_duration(now.millis_since(holder.since));
        format!("{id} {} by {} for {since}: {}", issue.status, holder.agent, issue.title)
    });
    let count = counted(old.len(), "claim is", "claims are");
    Finding::warning(check, format!("{count} older than a day")).about(about).fix(format!(
        "if the work was abandoned: `ait return {first} --force -m 'claim was abandoned'`"
    ))
}

fn returns(issues: &[Arc<Issue>]) -> Finding {
    let check = Check::Returns;
    let counts =
        issues.iter().filter(|issue| issue.status.is_open()).map(|issue| (issue, issue.returns()));
    let mut often: Vec<_> = counts.filter(|(_, count)| *count >= MANY_RETURNS).collect();
    often.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let Some((first, _)) = often.first() else {
        return Finding::ok(check, "no open issue was returned three times or more");
    };
    let first = first.id.short();
    let about = often.iter().map(|(issue, count)| {
        format!("{} returned {count} times: {}", issue.id.short(), issue.title)
    });
    let count = counted(often.len(), "open issue was", "open issues were");
    Finding::warning(check, format!("{count} returned three times or more")).about(about).fix(format!(
        "read why (`ait show {first}`); then clarify it, split it, or reject it with `ait close {first} \
         --reject -m WHY`"
    ))
}

fn clock<'a>(
    issues: &[Arc<Issue>],
    files: impl Iterator<Item = (&'a str, SystemTime)>,
    now: Timestamp,
) -> Finding {
    let check = Check::Clock;
    let is_future = |time: &Timestamp| time.millis_since(now) > FUTURE_MS;
    let latest = |issue: &Issue| {
        let entries = issue.history.iter().map(|entry| entry.timestamp);
        let comments = issue.comments.iter().map(|comment| comment.timestamp);
        entries.chain(comments).chain([issue.created_at, issue.modified_at]).max()
    };
    let mut about: Vec<_> = files
        .map(|(name, time)| (name.to_owned(), timestamp(time)))
        .filter(|(_, time)| is_future(time))
        .map(|(name, time)| format!("{name} was written at {time}"))
        .collect();
    let of_issues = issues.iter().filter_map(|issue| Some((issue, latest(issue)?)));
    about.extend(
        of_issues
            .filter(|(_, time)| is_future(time))
            .map(|(issue, time)| format!("{} has a time in the future: {time}", issue.id.short())),
    );
    if about.is_empty() {
        return Finding::ok(check, "no time is in the future");
    }
    let reason = format!(
        "{} in the future: the clock of this or another machine is or was wrong",
        counted(about.len(), "time is", "times are")
    );
    Finding::warning(check, reason).about(about).fix(format!(
        "the clock of this machine says {now}; if that is wrong, set it, such as with `timedatectl set-ntp \
         true`; if it is right, new events of these issues get the future time"
    ))
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp::from_unix_millis(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(status: &str, actions: &[&str]) -> Issue {
        let time = "2026-01-31T09:30:00.000Z";
        let entry = |action: &&str| serde_json::json!({ "timestamp": time, "agent": "a", "action": action });
        let issue = serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
            "classification": "bug", "createdAt": time, "modifiedAt": time, "status": status,
            "history": actions.iter().map(entry).collect::<Vec<_>>(), "comments": [],
        });
        serde_json::from_str(&issue.to_string()).unwrap()
    }

    #[test]
    fn only_impossible_transitions_are_reported() {
        let filed = "Issue filed";
        let claimed = "Issue claimed for work";
        let closed = "Issue closed";
        let returned = "Issue returned to created status";
        for (status, actions, expected) in [
            ("created", &[filed][..], 0),
            ("closed", &[], 0),
            ("closed", &["moved from elsewhere"], 0),
            ("in_progress", &[filed, claimed, returned, claimed], 0),
            ("completed", &[filed, "Issue completed"], 0),
            ("in_review", &[filed, "Issue completed", "Issue claimed for review"], 0),
            ("in_progress", &[filed, claimed, claimed], 1),
            ("in_progress", &[filed, claimed, "something else", claimed], 0),
            ("created", &[filed, closed, returned], 1),
            ("created", &[filed, filed], 1),
            ("in_review", &[filed, "Issue claimed for review"], 1),
            ("closed", &[filed, claimed], 1),
            ("created", &[filed, claimed, claimed], 2),
            ("created", &[filed, claimed, "Claim lapsed"], 0),
            ("in_progress", &[filed, claimed, "Claim lapsed", claimed], 0),
            (
                "completed",
                &[filed, "Issue completed", "Issue claimed for review", "Claim lapsed"],
                0,
            ),
        ] {
            let found = faults(&issue(status, actions));
            assert_eq!(found.len(), expected, "{status} {actions:?}: {found:?}");
        }
    }
}
