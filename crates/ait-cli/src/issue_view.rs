//! Prints one issue for people.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value as Json;
use serde_json::value::RawValue;

use super::output::{FAINT, Output, STRONG, local, of_classification, of_status};
use super::sanitize;
use super::styled_line::Line;
use ait_domain::facts::TotalUsage;
use ait_domain::{
    DefaultAnswer, Estimate, FieldValue, Issue, IssueGraph, IssueId, LinkKind, Parked, Status,
    TimelineEntry, Timestamp, ValueField, readiness,
};
use ait_interchange::name_of;
use ait_sync::link;
use ait_system::span;
use ait_tracker::IndexedIssues;
use ait_worktrees::newer_head;

const INDENT: &str = "  ";

/// Returns the text of a status.
pub(super) fn words(status: Status) -> String {
    status.as_str().replace('_', " ")
}

/// Says what the default answer is, and when it is given.
pub(super) fn default_line(default: &DefaultAnswer) -> String {
    let at = local(default.at, "%Y-%m-%d %H:%M");
    format!("default, from {at} on: {}", sanitize::line(&default.text))
}

/// Prints the title, status, classification, holder and id of an issue.
pub(super) fn write_head(issue: &Issue, now: Timestamp, output: &Output) -> Result<()> {
    let title = output.styled(STRONG, sanitize::line(&issue.title));
    output.line(title)?;
    let mut facts = vec![
        output.styled(of_status(issue.status), words(issue.status)),
        output.styled(of_classification(issue.classification), issue.classification),
    ];
    if let Some(holder) = issue.holder() {
        let agent = sanitize::line(holder.agent);
        facts.push(format!(
            "held by {agent} for {} (claim {})",
            span::humanize_duration(now.millis_since(holder.since)),
            issue.claim_number()
        ));
    }
    facts.push(issue.id.to_string());
    output.line(facts.join(" · "))
}

/// What a row says of an issue to which another one is linked.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LinkedIssue {
    id: IssueId,
    title: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    holder: Option<String>,
    /// A short id that is unique in the store.
    #[serde(skip)]
    pub short: String,
}

impl LinkedIssue {
    pub fn of(issue: &Issue, issues: &IndexedIssues) -> Self {
        Self {
            id: issue.id,
            title: issue.title.clone(),
            status: issue.status,
            holder: issue.holder().map(|holder| holder.agent.to_owned()),
            short: issues.short_id(issue.id),
        }
    }

    /// Returns the row, behind a text.
    pub fn line(&self, before: &str) -> Line {
        let holder = self.holder.as_ref().map(|name| format!(" ({})", sanitize::line(name)));
        Line::default()
            .text(before)
            .part(STRONG, self.short.as_str())
            .text(" ")
            .part(of_status(self.status), words(self.status))
            .text(format!(": {}", sanitize::line(&self.title)))
            .part(FAINT, holder.unwrap_or_default())
    }
}

/// The issues that have links to an issue and decide about the order of work.
#[derive(Debug, Serialize)]
pub(super) struct Dependents {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<LinkedIssue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    blocks: Vec<LinkedIssue>,
}

impl Dependents {
    pub fn of(id: IssueId, issues: &IndexedIssues) -> Self {
        Self {
            parts: linked_from(LinkKind::Parent, id, issues),
            blocks: linked_from(LinkKind::BlockedBy, id, issues),
        }
    }
}

fn linked_from(kind: LinkKind, id: IssueId, issues: &IndexedIssues) -> Vec<LinkedIssue> {
    let linked = issues.linked_from(kind, id).into_iter().filter_map(|id| issues.get(id));
    linked.map(|issue| LinkedIssue::of(&issue, issues)).collect()
}

/// Says why an issue is parked, or what it waits for.
fn parked_lines(parked: &Parked, is_over: bool) -> Vec<String> {
    let by = sanitize::line(&parked.by);
    let reason = sanitize::line(&parked.reason);
    let Some(question) = &parked.question else {
        let until = parked.until.map(|until| {
            let passed = if is_over { " (over)" } else { "" };
            format!(" until {}{passed}", local(until, "%Y-%m-%d %H:%M"))
        });
        return vec![format!("parked by {by}{}: {reason}", until.unwrap_or_default())];
    };
    let mut lines = vec![format!("asked by {by}: {}", sanitize::line(&question.text))];
    let options = question.options.iter().zip(1..);
    lines.extend(options.map(|(option, number)| format!("  {number}. {}", sanitize::line(option))));
    lines.extend(question.default.as_ref().map(|default| format!("  {}", default_line(default))));
    lines
}

/// Prints the attributes and the links of an issue, if it has any.
fn write_attributes(
    issue: &Issue,
    issues: &IndexedIssues,
    now: Timestamp,
    output: &Output,
) -> Result<()> {
    let attributes = &issue.attributes;
    let mut lines: Vec<Line> = Vec::new();
    let mut add = |text: String| lines.push(Line::default().text(format!("{INDENT}{text}")));
    for field in ValueField::ALL {
        match FieldValue::of(*field, attributes) {
            value if value.is_none() => {}
            FieldValue::Assignee(Some(name)) => {
                add(format!("assigned to: {}", sanitize::line(name.as_str())));
            }
            FieldValue::Due(Some(due)) if issue.status.is_open() && due.is_past_at(now) => {
                add(format!("due: {due} (overdue)"));
            }
            value => add(sanitize::line(&format!("{field}: {value}"))),
        }
    }
    if let Some(work) = issue.handed_in() {
        add(format!("handed in: {}", sanitize::line(&work.to_string())));
        if let Some(receipt) = issue.receipt_of(&work.tree) {
            let ended = if receipt.has_passed() { "passed" } else { "failed" };
            let time = span::humanize_duration(receipt.ms);
            add(format!("check: {} {ended} in {time}", sanitize::line(&receipt.command)));
        }
    }
    if let Some(used) = issue.usage() {
        add(format!("used: {}", sanitize::line(&used.to_string())));
    }
    let parts = readiness::parts_below(issues, issue.id).into_iter();
    let used = TotalUsage::sum(parts.filter_map(|part| issues.get(part)?.usage()));
    if let Some(used) = used {
        add(format!("used by its parts: {}", sanitize::line(&used.to_string())));
    }
    let parts = issues.linked_from(LinkKind::Parent, issue.id).into_iter();
    let parts: Estimate = parts.filter_map(|part| issues.get(part)?.attributes.estimate).sum();
    if parts > Estimate::default() {
        add(format!("estimate of its parts: {parts}"));
    }
    if !attributes.labels.is_empty() {
        let labels: Vec<_> = attributes.labels.iter().map(ToString::to_string).collect();
        add(format!("labels: {}", labels.join(", ")));
    }
    if let Some(parked) = &attributes.parked {
        parked_lines(parked, !attributes.is_parked_at(now)).into_iter().for_each(&mut add);
    }
    let linked = |name: &str, linked: Vec<LinkedIssue>| -> Vec<Line> {
        linked.iter().map(|issue| issue.line(&format!("{INDENT}{name}: "))).collect()
    };
    for (kind, name) in [
        (LinkKind::Parent, "part of"),
        (LinkKind::BlockedBy, "blocked by"),
        (LinkKind::Related, "related"),
        (LinkKind::DuplicateOf, "duplicate of"),
    ] {
        for id in attributes.linked(kind) {
            match issues.get(id) {
                Some(issue) => lines.extend(linked(name, vec![LinkedIssue::of(&issue, issues)])),
                None => lines.push(
                    Line::default().text(format!("{INDENT}{name}: {id}, which does not exist")),
                ),
            }
        }
    }
    let Dependents { parts, blocks } = Dependents::of(issue.id, issues);
    lines.extend(linked("part", parts));
    lines.extend(linked("blocks", blocks));
    let mut related = linked_from(LinkKind::Related, issue.id, issues);
    related.retain(|other| !attributes.linked(LinkKind::Related).any(|id| id == other.id));
    lines.extend(linked("related", related));
    let duplicates = linked_from(LinkKind::DuplicateOf, issue.id, issues);
    lines.extend(linked("duplicate", duplicates));
    if !lines.is_empty() {
        output.line("")?;
    }
    lines.iter().try_for_each(|line| line.write_wrapped(2 * INDENT.len(), output))
}

/// Prints everything about an issue. The other issues tell what its links mean.
pub(super) fn write_whole(
    issue: &Issue,
    issues: &IndexedIssues,
    now: Timestamp,
    output: &Output,
) -> Result<()> {
    write_head(issue, now, output)?;
    write_attributes(issue, issues, now, output)?;
    if !issue.description.trim().is_empty() {
        output.line("")?;
        write_indented(&issue.description, output)?;
    }
    if !issue.unknown_keys.is_empty() {
        output.line("")?;
    }
    let ties = link::Link::all(issue);
    for (sync, tie) in &ties {
        let what = format!("{INDENT}sync {}: {}", sanitize::line(sync), sanitize::line(&tie.key));
        output.line(what)?;
    }
    let is_shown = |(key, _): &(&str, &RawValue)| *key != link::KEY || ties.is_empty();
    for (key, value) in issue.unknown_keys.iter().filter(is_shown) {
        match serde_json::from_str(value.get()) {
            // Values that an import kept together, such as the other columns of a CSV file.
            Ok(Json::Object(values)) if name_of(&Json::from(values.clone())).is_none() => {
                output.line(format!("{INDENT}{}:", sanitize::line(key)))?;
                for (key, value) in values {
                    write_value(&format!("{INDENT}{INDENT}"), &key, &readable(&value), output)?;
                }
            }
            Ok(value) => write_value(INDENT, key, &readable(&value), output)?,
            // A number that is too large for serde_json.
            Err(_) => write_value(INDENT, key, value.get(), output)?,
        }
    }
    output.line("")?;
    let timeline = issue.timeline();
    if timeline.first().is_none_or(|first| first.at != issue.created_at) {
        // The history of an imported issue may begin later.
        let time = output.styled(FAINT, local(issue.created_at, "%Y-%m-%d %H:%M"));
        output.line(format_args!("{time}  Created"))?;
    }
    timeline.iter().try_for_each(|moment| write_moment(moment, output))
}

/// Says that the branch has changed since the work was handed in, if it has.
pub(super) async fn write_newer_head(issue: &Issue, output: &Output) -> Result<()> {
    match newer_head(Path::new("."), issue).await {
        Some(head) if issue.status.is_open() => {
            let id = issue.id.short();
            output.line(format!(
                "Note: issue-{id} has changed since it was handed in: it is at {head} now."
            ))
        }
        _ => Ok(()),
    }
}

fn write_value(indent: &str, key: &str, value: &str, output: &Output) -> Result<()> {
    output.line(format!("{indent}{}: {}", sanitize::line(key), sanitize::line(value)))
}

/// Returns a value as people read it: a list as its names, and other objects as JSON.
fn readable(value: &Json) -> String {
    match value {
        Json::Array(list) => list.iter().map(readable).collect::<Vec<_>>().join(", "),
        Json::Null => "-".to_owned(),
        value => name_of(value).unwrap_or_else(|| value.to_string()),
    }
}

fn write_moment(moment: &TimelineEntry<'_>, output: &Output) -> Result<()> {
    let time = output.styled(FAINT, local(moment.at, "%Y-%m-%d %H:%M"));
    let action = sanitize::line(moment.action.unwrap_or("Comment"));
    let agent = output.styled(FAINT, format_args!("by {}", sanitize::line(moment.agent)));
    output.line(format_args!("{time}  {action} {agent}"))?;
    moment.comment.map_or(Ok(()), |comment| write_indented(comment, output))
}

fn write_indented(text: &str, output: &Output) -> Result<()> {
    sanitize::lines(text).try_for_each(|line| {
        output.line(if line.is_empty() { line } else { format!("{INDENT}{line}") })
    })
}
