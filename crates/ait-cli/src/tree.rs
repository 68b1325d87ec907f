//! `ait tree`: draws issues with their parts and with what they wait for.

use std::collections::HashSet;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use serde::Serialize;

use super::issue_view::LinkedIssue;
use super::options::{Format, issue_ref};
use super::{CommandContext, ExitStatus, Output, no_issues};
use ait_domain::{Condition, Issue, IssueGraph, IssueId, IssueRef, LinkKind, Query, StatusSet};
use ait_tracker::IndexedIssues;

/// The maximum number of issues on a path. Blockers of blockers can make long chains, and hand edits deep trees.
const MAX_DEPTH: usize = 30;
/// The maximum number of issues without `--limit`.
const MAX_ISSUES: usize = 500;

/// The arguments of `ait tree`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait tree                          all open issues that have parts or blockers\n  \
    ait tree 3f2a9c1e\n  \
    ait tree 3f2a9c1e --json")]
pub struct Arguments {
    /// The issue to draw: its id, or at least the first 4 hex digits
    #[arg(value_parser = issue_ref)]
    id: Option<IssueRef>,

    /// Maximum number of issues to draw; 0 for all
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = MAX_ISSUES)]
    limit: usize,

    #[command(flatten)]
    format: Format,
}

/// An issue with what is below it.
#[derive(Serialize)]
struct Node {
    #[serde(flatten)]
    issue: LinkedIssue,
    /// Why it is below the other one; `None` at the top.
    #[serde(skip_serializing_if = "Option::is_none")]
    relation: Option<Relation>,
    /// Whether what is below it is left out: it stands elsewhere in the tree, or too deep.
    #[serde(skip_serializing_if = "Option::is_none")]
    omitted: Option<Omitted>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    children: Vec<Node>,
}

/// How an issue is related to the one above it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Relation {
    Part,
    Blocker,
}

/// Why the tree does not go on below an issue.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Omitted {
    /// The issue stands elsewhere in the tree with all that is below it.
    Repeated,
    /// The path would be too long.
    TooDeep,
}

#[derive(Serialize)]
struct Trees {
    issues: Vec<Node>,
    /// Whether there are more issues than the limit.
    truncated: bool,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let linked = match &arguments.id {
        Some(id) => vec![tracker.get_issue(id.clone()).await?],
        None => {
            let condition = Condition::Any(vec![Condition::Blocked, Condition::Whole]);
            let take = usize::MAX;
            let open = Query { statuses: StatusSet::open(), condition, take, ..Query::default() };
            tracker.list_issues(open).await?.issues
        }
    };
    let issues = tracker.issues_below(linked.iter().map(|issue| issue.id)).await?;
    let limit = if arguments.limit == 0 { usize::MAX } else { arguments.limit };
    let mut builder =
        Builder { issues: &issues, seen: HashSet::new(), left: limit, truncated: false };
    let nodes = if arguments.id.is_some() { builder.nodes(linked) } else { builder.forest() };
    let truncated = builder.truncated;
    if arguments.format.json {
        output.json(&Trees { issues: nodes, truncated })?;
        return Ok(ExitStatus::Done);
    }
    if nodes.is_empty() {
        let nothing = "no open issue has parts or blockers: `ait add TITLE --parent ID` files a part, and \
             `ait link ID blocked-by ID` makes one issue wait for another";
        let is_empty = tracker.counts().await?.total() == 0;
        tracing::info!("{}", if is_empty { no_issues() } else { nothing });
    }
    for node in &nodes {
        draw(node, "", "", output)?;
    }
    if truncated {
        output.flush()?;
        tracing::info!("the tree ends after {limit} issues: --limit 0 draws all");
    }
    Ok(ExitStatus::Done)
}

/// Builds the trees from the links. Each issue is expanded once, so cycles end.
struct Builder<'a> {
    issues: &'a IndexedIssues,
    seen: HashSet<IssueId>,
    left: usize,
    truncated: bool,
}

impl Builder<'_> {
    /// Returns the trees of all open issues with parts or blockers.
    fn forest(&mut self) -> Vec<Node> {
        let issues = self.issues;
        let open = Query { statuses: StatusSet::open(), take: issues.len(), ..Query::default() };
        let mut linked = issues.list(&open).issues;
        linked.retain(|issue| {
            !issues.linked_from(LinkKind::Parent, issue.id).is_empty() || issues.is_blocked(issue)
        });
        let is_open = |id: &IssueId| issues.get(*id).is_some_and(|issue| issue.status.is_open());
        let is_top = |issue: &&Arc<Issue>| {
            issue.attributes.parent().is_none_or(|parent| !is_open(&parent))
                && !issues.linked_from(LinkKind::BlockedBy, issue.id).iter().any(is_open)
        };
        let tops: Vec<_> = linked.iter().filter(is_top).cloned().collect();
        let mut nodes = self.nodes(tops);
        // Hand edits can make cycles, which have no top.
        for issue in linked {
            if !self.seen.contains(&issue.id) {
                nodes.extend(self.nodes([issue]));
            }
        }
        nodes
    }

    fn nodes(&mut self, tops: impl IntoIterator<Item = Arc<Issue>>) -> Vec<Node> {
        tops.into_iter().filter_map(|top| self.node(&top, None, 1)).collect()
    }

    /// Returns the tree below an issue; `None` if there are too many issues already.
    fn node(
        &mut self,
        issue: &Arc<Issue>,
        relation: Option<Relation>,
        depth: usize,
    ) -> Option<Node> {
        let Some(left) = self.left.checked_sub(1) else {
            self.truncated = true;
            return None;
        };
        self.left = left;
        let below = self.below(issue);
        let is_new = self.seen.insert(issue.id);
        let omitted = if below.is_empty() {
            None
        } else if !is_new {
            Some(Omitted::Repeated)
        } else {
            (depth == MAX_DEPTH).then_some(Omitted::TooDeep)
        };
        let children = if omitted.is_some() { Vec::new() } else { below };
        let children = children
            .iter()
            .filter_map(|(issue, relation)| self.node(issue, Some(*relation), depth + 1))
            .collect();
        Some(Node { issue: LinkedIssue::of(issue, self.issues), relation, omitted, children })
    }

    /// Returns the parts of an issue in the order of filing, and then its open blockers.
    fn below(&self, issue: &Issue) -> Vec<(Arc<Issue>, Relation)> {
        let ids = self.issues.linked_from(LinkKind::Parent, issue.id).into_iter();
        let mut parts: Vec<_> = ids.filter_map(|id| self.issues.get(id)).collect();
        parts.sort_by_cached_key(|part| self.issues.position(&part.id.into()).ok());
        let parts = parts.into_iter().map(|part| (part, Relation::Part));
        let is_open = issue.status.is_open();
        let blockers = self.issues.open_blockers(issue).filter(|_| is_open);
        let blockers = blockers.filter_map(|id| self.issues.get(id));
        parts.chain(blockers.map(|blocker| (blocker, Relation::Blocker))).collect()
    }
}

/// Draws a tree. The first line begins with `branch`, and those below it with `indent`.
fn draw(node: &Node, branch: &str, indent: &str, output: &Output) -> Result<()> {
    let relation = match node.relation {
        Some(Relation::Blocker) => "waits for ",
        Some(Relation::Part) | None => "",
    };
    let line = node.issue.line(&format!("{branch}{relation}"));
    let line = match node.omitted {
        Some(Omitted::Repeated) => line.text(" (drawn elsewhere)"),
        Some(Omitted::TooDeep) => line.text(format!(" (`ait tree {}` goes on)", node.issue.short)),
        None => line,
    };
    output.line(line.fitted(output.width(), output))?;
    let last = node.children.len().saturating_sub(1);
    node.children.iter().enumerate().try_for_each(|(at, child)| {
        let (branch, below) = if at == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        draw(child, &format!("{indent}{branch}"), &format!("{indent}{below}"), output)
    })
}
