//! What a reply shows of the issues around a whole issue.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::budget;
use ait_domain::text::shortened;
use ait_domain::{Issue, IssueGraph, IssueId, Link, LinkKind, Status};
use ait_tracker::IndexedIssues;

/// How many issues of each kind a reply shows.
const MAX_ROWS: usize = 20;
/// How much of a title it shows, in characters.
const TITLE_CHARS: usize = 80;

/// The issues around an issue.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    pub parts: Vec<Arc<Issue>>,
    pub blocks: Vec<Arc<Issue>>,
    /// Its blockers that were rejected: what it waited for will not be done.
    pub rejected_blockers: Vec<IssueId>,
    /// Its links, each as a line.
    pub links: Vec<String>,
}

impl Neighbours {
    /// Finds the issues around an issue. The parts and what it blocks are left out unless `all` is set.
    pub fn of(issue: &Issue, issues: &IndexedIssues, all: bool) -> Self {
        let linked = |kind| {
            let ids = if all { issues.linked_from(kind, issue.id) } else { Vec::new() };
            ids.into_iter().filter_map(|id| issues.get(id)).collect()
        };
        let is_rejected = |id: &IssueId| {
            issues.get(*id).is_some_and(|blocker| blocker.status == Status::Rejected)
        };
        Self {
            parts: linked(LinkKind::Parent),
            blocks: linked(LinkKind::BlockedBy),
            rejected_blockers: issue
                .attributes
                .linked(LinkKind::BlockedBy)
                .filter(is_rejected)
                .collect(),
            links: issue.attributes.links.iter().map(|link| link_line(*link, issues)).collect(),
        }
    }

    /// Adds what there is to the members of a reply. Rows that need more than `max_tokens` become a count.
    pub(super) fn write(&self, members: &mut Map<String, Value>, max_tokens: usize) {
        if !self.rejected_blockers.is_empty() {
            let ids: Vec<_> =
                self.rejected_blockers.iter().take(MAX_ROWS).map(IssueId::short).collect();
            members.insert("rejectedBlockers".to_owned(), json!(ids));
        }
        for (key, issues) in [("parts", &self.parts), ("blocks", &self.blocks)] {
            if issues.is_empty() {
                continue;
            }
            let rows: Vec<_> =
                issues.iter().take(MAX_ROWS).map(|issue| issue_line(issue)).collect();
            let rows = if issues.len() > MAX_ROWS {
                json!({ "count": issues.len(), "first": rows })
            } else {
                json!(rows)
            };
            let fits = budget::fits(&rows.to_string(), max_tokens / 2);
            let value = if fits { rows } else { json!({ "count": issues.len() }) };
            members.insert(key.to_owned(), value);
        }
    }
}

/// Returns a link as a line: its kind, and the other issue.
fn link_line(link: Link, issues: &IndexedIssues) -> String {
    let other = match issues.get(link.to) {
        Some(other) => issue_line(&other),
        None => link.to.short(),
    };
    format!("{} {other}", link.kind)
}

/// Returns an issue as a line: its short id, its status and the beginning of its title.
pub(crate) fn issue_line(issue: &Issue) -> String {
    let title = shortened(&issue.title, TITLE_CHARS);
    format!("{} {}: {title}", issue.id.short(), issue.status)
}
