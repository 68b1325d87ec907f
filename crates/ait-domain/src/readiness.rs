//! Which issues can be claimed, and why the others cannot: the one definition of "ready".
//!
//! An issue is free if nothing that it waits for is open. A free issue is ready if it has the status `created`, is not
//! parked, and is not assigned to another agent.

use std::collections::BTreeSet;
use std::iter;
use std::sync::Arc;

use super::text::shortened;
use super::{
    AgentName, Attributes, DomainError, Issue, IssueGraph, IssueId, Link, LinkKind, ReviewPolicy,
    Status, Timestamp,
};

/// How much of a reason an obstacle quotes, in characters.
const MAX_REASON_CHARS: usize = 100;

/// What readiness looks at of an issue.
pub trait Waits {
    fn id(&self) -> IssueId;
    fn status(&self) -> Status;
    fn attributes(&self) -> &Attributes;
}

impl Waits for Issue {
    fn id(&self) -> IssueId {
        self.id
    }

    fn status(&self) -> Status {
        self.status
    }

    fn attributes(&self) -> &Attributes {
        &self.attributes
    }
}

/// The issues, or summaries of them, with their links in both directions.
pub trait WaitGraph {
    type Node: Waits;

    fn node(&self, id: IssueId) -> Option<Arc<Self::Node>>;

    /// Returns the issues that have a link of this kind to an issue, ascending.
    fn nodes_linked_from(&self, kind: LinkKind, to: IssueId) -> Vec<IssueId>;
}

impl<G: IssueGraph + ?Sized> WaitGraph for G {
    type Node = Issue;

    fn node(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.issue(id)
    }

    fn nodes_linked_from(&self, kind: LinkKind, to: IssueId) -> Vec<IssueId> {
        self.linked_from(kind, to)
    }
}

fn is_open<G: WaitGraph + ?Sized>(graph: &G, id: IssueId) -> bool {
    graph.node(id).is_some_and(|node| node.status().is_open())
}

/// Returns the open issues that an issue is blocked by.
pub fn open_blockers<G: WaitGraph + ?Sized>(
    graph: &G,
    issue: &G::Node,
) -> impl Iterator<Item = IssueId> {
    issue.attributes().linked(LinkKind::BlockedBy).filter(|id| is_open(graph, *id))
}

/// Returns the open parts of an issue.
pub fn open_parts<G: WaitGraph + ?Sized>(graph: &G, id: IssueId) -> impl Iterator<Item = IssueId> {
    graph.nodes_linked_from(LinkKind::Parent, id).into_iter().filter(|id| is_open(graph, *id))
}

/// Returns true if some agent could claim an issue for work at a time.
pub fn is_ready<G: WaitGraph + ?Sized>(graph: &G, issue: &G::Node, now: Timestamp) -> bool {
    issue.status() == Status::Created
        && !issue.attributes().is_parked_at(now)
        && is_free(graph, issue, |whole| whole.attributes().is_parked_at(now))
}

/// Returns true if an issue waits for no other one: no blocker and no part of it is open, and no whole of it is blocked
/// or meets `is_parked`.
pub fn is_free<G: WaitGraph + ?Sized>(
    graph: &G,
    issue: &G::Node,
    is_parked: impl Fn(&G::Node) -> bool,
) -> bool {
    open_blockers(graph, issue).next().is_none()
        && open_parts(graph, issue.id()).next().is_none()
        && whole_that_holds_back(graph, issue.attributes(), is_parked).is_none()
}

/// Returns the nearest whole of an issue with these attributes that holds its parts back: a whole that is open, and is
/// blocked or meets `is_parked`. A blocker that is a part of the whole, too, holds no part back.
pub fn whole_that_holds_back<G: WaitGraph + ?Sized>(
    graph: &G,
    attributes: &Attributes,
    is_parked: impl Fn(&G::Node) -> bool,
) -> Option<Arc<G::Node>> {
    let is_outside = |whole: &G::Node, id| {
        let parent = graph.node(id).and_then(|issue| issue.attributes().parent());
        wholes_above(graph, parent).all(|above| above.id() != whole.id())
    };
    let holds_back = |whole: &Arc<G::Node>| {
        let mut blockers = open_blockers(graph, whole).filter(|id| is_outside(whole, *id));
        whole.status().is_open() && (is_parked(whole) || blockers.next().is_some())
    };
    wholes_above(graph, attributes.parent()).find(holds_back)
}

/// Returns the parent and the wholes above it. Edits by hand can make a cycle, so their number is limited.
fn wholes_above<G: WaitGraph + ?Sized>(
    graph: &G,
    parent: Option<IssueId>,
) -> impl Iterator<Item = Arc<G::Node>> {
    let first = parent.and_then(|id| graph.node(id));
    let above = |whole: &Arc<G::Node>| whole.attributes().parent().and_then(|id| graph.node(id));
    iter::successors(first, above).take(Link::MAX_DEPTH)
}

/// Returns the parts of an issue, and their parts.
pub fn parts_below<G: WaitGraph + ?Sized>(graph: &G, id: IssueId) -> Vec<IssueId> {
    let mut found = vec![id];
    let mut next = 0;
    while next < found.len() {
        for part in graph.nodes_linked_from(LinkKind::Parent, found[next]) {
            if !found.contains(&part) {
                found.push(part);
            }
        }
        next += 1;
    }
    found.split_off(1)
}

/// Returns the issues that may become free, or stop being free, because an issue changed: the issues that it blocks,
/// their parts and its own, and its wholes before and after. `graph` has the issue as it is now, or lacks it.
pub fn affected_by<G: IssueGraph + ?Sized>(
    graph: &G,
    before: Option<&Issue>,
    after: Option<&Issue>,
) -> BTreeSet<IssueId> {
    let mut affected = BTreeSet::new();
    let Some(id) = after.or(before).map(|issue| issue.id) else { return affected };
    let links = |issue: Option<&Issue>| issue.map(|issue| issue.attributes.links.to_vec());
    let is_open = |issue: Option<&Issue>| issue.is_some_and(|issue| issue.status.is_open());
    let is_parked =
        |issue: Option<&Issue>| issue.is_some_and(|issue| issue.attributes.parked.is_some());
    let opens_or_ends = is_open(before) != is_open(after);
    let has_other_links = links(before).unwrap_or_default() != links(after).unwrap_or_default();
    if opens_or_ends || has_other_links || is_parked(before) != is_parked(after) {
        affected.insert(id);
        affected.extend(parts_below(graph, id));
    }
    if opens_or_ends || has_other_links {
        let parents = [before, after].into_iter().flatten();
        affected.extend(parents.filter_map(|issue| issue.attributes.parent()));
    }
    if opens_or_ends {
        for blocked in graph.linked_from(LinkKind::BlockedBy, id) {
            affected.insert(blocked);
            affected.extend(parts_below(graph, blocked));
        }
    }
    affected
}

/// Says why an agent cannot claim an issue for work that has the status for it; `None` if it can.
pub fn obstacle<G: IssueGraph + ?Sized>(
    graph: &G,
    issue: &Issue,
    agent: &AgentName,
    now: Timestamp,
) -> Option<String> {
    let short = |ids: &mut dyn Iterator<Item = IssueId>| {
        ids.map(|id| id.short()).collect::<Vec<_>>().join(", ")
    };
    if let Some(parked) = parked(issue, now) {
        return Some(parked);
    }
    let blockers = short(&mut open_blockers(graph, issue).take(DomainError::MAX_CANDIDATES));
    if !blockers.is_empty() {
        return Some(format!("it waits for {blockers}"));
    }
    let parts = short(&mut open_parts(graph, issue.id).take(DomainError::MAX_CANDIDATES));
    if !parts.is_empty() {
        return Some(format!("its parts are the work: {parts}"));
    }
    let is_parked = |whole: &Issue| whole.attributes.is_parked_at(now);
    if let Some(whole) = whole_that_holds_back(graph, &issue.attributes, is_parked) {
        let why = if is_parked(&whole) { "parked" } else { "blocked" };
        return Some(format!("it is a part of {}, which is {why}", whole.id.short()));
    }
    let assignee = issue.attributes.assignee.as_deref().filter(|name| *name != agent.as_str());
    assignee.map(|name| format!("it is assigned to {}", shortened(name, MAX_REASON_CHARS)))
}

/// Says why an agent cannot claim a completed issue for review; `None` if it can.
pub fn review_obstacle(
    issue: &Issue,
    agent: &AgentName,
    policy: ReviewPolicy,
    now: Timestamp,
) -> Option<String> {
    let made = || {
        policy.author_action(agent, issue).map(|done| {
            let agent = shortened(agent.as_str(), MAX_REASON_CHARS);
            format!("{agent} {done} it, so another agent has to review it")
        })
    };
    parked(issue, now).or_else(made)
}

/// Says why an issue is parked; `None` if it is not.
fn parked(issue: &Issue, now: Timestamp) -> Option<String> {
    let parked = issue.attributes.parked.as_ref().filter(|_| issue.attributes.is_parked_at(now))?;
    let reason = shortened(&parked.reason, MAX_REASON_CHARS);
    Some(match parked.question {
        Some(_) => format!("it {reason}"),
        None => format!("it is parked: {reason}"),
    })
}
