//! The report on findings: what tools, `/api/triage` and `ait triage` give, with the next step of each finding.
//!
//! Knows the names of tools and commands, and no protocol.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Serialize;

use crate::hints;
use crate::read_model::{Finding, FindingKind, Findings};

/// How many findings a report has by default.
pub const DEFAULT_TAKE: usize = 20;

/// Who reads a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reader {
    /// An agent, which calls tools.
    Agent,
    /// A person, who types commands.
    Person,
}

/// A report on findings.
#[derive(Clone, Debug, Serialize)]
pub struct TriageReport<'a> {
    /// The number of findings of the kinds that were asked for.
    pub total: usize,
    /// The number of findings of each of these kinds that has any.
    pub counts: IndexMap<&'static str, usize>,
    /// The findings by kind, the worst first.
    pub findings: Vec<ReportedFinding<'a>>,
    /// How many findings are left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub more: usize,
}

/// A finding with its next step.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedFinding<'a> {
    #[serde(flatten)]
    pub finding: &'a Finding,
    /// What to do about it.
    pub next: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// Takes at most `take` items, which are in the order of their kinds: the first of each kind, then the second of each
/// kind, and so on. So many items of one kind do not hide the others.
pub fn take_in_turns<T, K: Ord>(
    items: impl Iterator<Item = T>,
    kind: impl Fn(&T) -> K,
    take: usize,
) -> Vec<T> {
    let mut counts = BTreeMap::new();
    let ranked = items.map(|item| {
        let rank = counts.entry(kind(&item)).or_insert(0_usize);
        *rank += 1;
        (*rank, item)
    });
    let mut ranked: Vec<_> = ranked.collect();
    // Stable, so the kinds stay in their order.
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().take(take).map(|(_, item)| item).collect()
}

impl<'a> TriageReport<'a> {
    /// Returns a report on at most `take` findings of some kinds, [in turns](take_in_turns); no kinds mean all.
    pub fn of(findings: &'a Findings, kinds: &[FindingKind], take: usize, reader: Reader) -> Self {
        let is_wanted = |kind: FindingKind| kinds.is_empty() || kinds.contains(&kind);
        let counted = FindingKind::ALL.iter().filter(|kind| is_wanted(**kind));
        let counts = counted.map(|kind| (kind.as_str(), findings.count(*kind)));
        let counts: IndexMap<_, _> = counts.filter(|(_, count)| *count > 0).collect();
        let wanted = findings.iter().filter(|finding| is_wanted(finding.kind));
        let mut taken = take_in_turns(wanted, |finding| finding.kind, take);
        // Stable, so that of each kind the worst stays first.
        taken.sort_by_key(|finding| finding.kind);
        let total = counts.values().sum();
        let reported =
            |finding: &'a Finding| ReportedFinding { finding, next: next_step(finding, reader) };
        let findings: Vec<_> = taken.into_iter().map(reported).collect();
        Self { total, counts, more: total - findings.len(), findings }
    }
}

/// Says what to do about a finding.
pub fn next_step(finding: &Finding, reader: Reader) -> String {
    let short =
        |at: usize| finding.issues.get(at).map(|issue| issue.id.short()).unwrap_or_default();
    let id = short(0);
    let other = short(1);
    match reader {
        Reader::Agent => for_agent(finding, &id, &other),
        Reader::Person => for_person(finding, &id, &other),
    }
}

/// Names the sections that a description lacks.
fn sections(finding: &Finding) -> String {
    let names: Vec<_> = finding.sections.iter().map(|name| format!("{name:?}")).collect();
    let noun = if names.len() == 1 { "section" } else { "sections" };
    format!("the {noun} {}", names.join(", "))
}

fn for_agent(finding: &Finding, id: &str, other: &str) -> String {
    let show = format!("list_issues {{\"issue_id\":\"{id}\"}}");
    match finding.kind {
        FindingKind::Stale => format!(
            "{show}; close_issue what is not wanted any more, or say with update_issue what it waits for"
        ),
        FindingKind::OldClaim => {
            format!("{show}; if its agent is gone, return_issue with what is known")
        }
        FindingKind::Stuck => {
            format!("{show}; look whether its agent lives, else return_issue with what is known")
        }
        FindingKind::ReturnedOften => {
            format!("{show}, read why it came back; then split it with add_issues, or ask_human")
        }
        FindingKind::WaitsLongForReview => {
            "get_next_review_item by an agent that did not make it".to_owned()
        }
        FindingKind::PlaceholderTitle => format!("{show}; then update_issue with a title that says what is wrong"),
        FindingKind::Duplicate => format!(
            "compare with list_issues {{\"issue_id\":\"{other}\"}}; then link_issues {{\"issue_id\":\"{id}\",\"kind\":\
             \"duplicate_of\",\"to\":[\"{other}\"]}} and close_issue it as rejected, or link them as related"
        ),
        FindingKind::ThinDescription if !finding.sections.is_empty() => {
            format!("{show}; then update_issue with a description that has {}, or ask_human", sections(finding))
        }
        FindingKind::ThinDescription => {
            format!("{show}; then update_issue with a description, or ask_human")
        }
        FindingKind::NoAcceptance => {
            format!("{show}; then update_issue with a description that says when it is done, or ask_human")
        }
        FindingKind::Orphan => format!("{show}; then link_issues with remove, or with the right issue"),
        FindingKind::ParentState => match finding.issues.len() {
            1 => format!("{show}; close_issue it if its parts are all of it, or file what is missing"),
            _ => format!("list_issues {{\"issue_id\":\"{other}\"}}; close_issue the parts, or link_issues with remove"),
        },
        FindingKind::BlockedByRejected => format!(
            "{show}; close_issue it if it makes no sense without {other}, else link_issues with remove"
        ),
        FindingKind::SyncConflict => {
            format!("{show}; a person ends it with `ait sync --keep {id}` or `ait sync --take {id}`")
        }
        FindingKind::SelfReviewed | FindingKind::NeverReviewed => match finding.issues.first().map(|issue| issue.status.has_ended()) {
            Some(true) => format!("{show}; have another agent look at the change, and add_issue what is wrong"),
            _ => format!("return_issue {{\"issue_id\":\"{id}\"}} or have another agent review it"),
        },
        FindingKind::Overloaded => {
            let agent = serde_json::Value::from(finding.agent.clone().unwrap_or_default());
            format!("list_issues {{\"agent\":{agent},\"status\":\"in_progress\"}}; return_issue what it does not work on")
        }
        FindingKind::FilingFasterThanClosing => {
            "list_issues {\"status\":\"created\"}; start more workers, or close_issue what is not wanted".to_owned()
        }
        FindingKind::Contradiction => format!(
            "recall {{\"ids\":[\"{id}\",\"{other}\"]}}; if one does not hold any more, remember what holds and what it \
             replaces, else link_issues {{\"issue_id\":\"{id}\",\"kind\":\"related\",\"to\":[\"{other}\"]}}"
        ),
        FindingKind::UnusedEntry => format!(
            "recall {{\"ids\":[\"{id}\"]}}; if it does not hold any more, remember what holds and that it replaces {id}"
        ),
    }
}

fn for_person(finding: &Finding, id: &str, other: &str) -> String {
    match finding.kind {
        FindingKind::Stale => {
            format!(
                "`ait show {id}`; then `ait close {id} --reject -m WHY`, or `ait comment {id} -m TEXT`"
            )
        }
        FindingKind::OldClaim | FindingKind::Stuck => {
            format!("`ait show {id}`; if its agent is gone, `ait return {id} --force -m WHY`")
        }
        FindingKind::ReturnedOften => {
            format!(
                "`ait show {id}`; then split it with `ait add TITLE --parent {id}`, or `ait park {id} -m WHY`"
            )
        }
        FindingKind::WaitsLongForReview => "`ait review`, or start a reviewer".to_owned(),
        FindingKind::PlaceholderTitle => {
            format!("`ait show {id}`; then `ait edit {id} --title TITLE`")
        }
        FindingKind::Duplicate => {
            format!(
                "`ait show {other}`; then `ait link {id} duplicate-of {other}` and `ait close {id} --reject -m WHY`, or `ait link {id} related {other}`"
            )
        }
        FindingKind::ThinDescription if !finding.sections.is_empty() => {
            format!("`ait edit {id} --edit`, and write {}", sections(finding))
        }
        FindingKind::ThinDescription | FindingKind::NoAcceptance => {
            format!("`ait edit {id} --edit`")
        }
        FindingKind::Orphan => format!("`ait show {id}`; then `ait unlink {id} KIND OTHER`"),
        FindingKind::ParentState => match finding.issues.len() {
            1 => format!(
                "`ait tree {id}`; then `ait close {id} -m WHY`, or `ait add TITLE --parent {id}`"
            ),
            _ => format!(
                "`ait tree {id}`; then `ait close {other} -m WHY`, or `ait unlink {other} parent {id}`"
            ),
        },
        FindingKind::BlockedByRejected => {
            format!(
                "`ait show {id}`; then `ait close {id} --reject -m WHY`, or `ait unlink {id} blocked-by {other}`"
            )
        }
        FindingKind::SyncConflict => hints::for_sync_conflict(id),
        FindingKind::SelfReviewed | FindingKind::NeverReviewed => {
            match finding.issues.first().map(|issue| issue.status.has_ended()) {
                Some(true) => {
                    format!(
                        "`ait show {id}`; look at the change, and `ait reopen {id} -m WHY` if it is not right"
                    )
                }
                _ => format!("`ait return {id} --force -m WHY`, or review it yourself"),
            }
        }
        FindingKind::Overloaded => {
            format!("`ait board`; then `ait return {id} --force -m WHY` what it does not work on")
        }
        FindingKind::FilingFasterThanClosing => {
            "`ait list --status created`; start more workers, or close what is not wanted"
                .to_owned()
        }
        FindingKind::Contradiction => format!(
            "`ait show {id}`, `ait show {other}`; if one does not hold any more, `ait remember TEXT --replaces {other}`, \
             else `ait link {id} related {other}`"
        ),
        FindingKind::UnusedEntry => {
            format!("`ait show {id}`; if it does not hold any more, `ait edit {id} --due today`")
        }
    }
}
