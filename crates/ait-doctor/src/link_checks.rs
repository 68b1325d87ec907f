//! Checks of the links between issues, and whether anything that waits can be claimed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ait_domain::text::counted;
use ait_domain::{AgentName, Issue, IssueGraph, IssueId, LinkKind, Status, Timestamp, readiness};
use ait_store::memory::IndexedIssues;

use super::{Check, Finding};

/// Edits by hand can form what the rules refuse: cycles, links to nothing, and open parts of what has ended.
pub(super) fn links(issues: &[Arc<Issue>], store: &IndexedIssues) -> Finding {
    let check = Check::Links;
    let by_id: HashMap<IssueId, &Issue> = issues.iter().map(|issue| (issue.id, &**issue)).collect();
    let mut about = Vec::new();
    let mut fixes = Vec::new();
    let cycles = Cycles::of(issues, &by_id, store);
    about.extend(cycles.found.iter().map(|cycle| cycle.join(" waits for ")));
    if let Some(link) = &cycles.link {
        fixes.push(format!(
            "an issue that waits for itself can never be claimed: `ait unlink {link}`"
        ));
    }
    let is_cycle = !about.is_empty();
    let lost = issues.iter().flat_map(|issue| {
        let links = issue.attributes.links.iter().filter(|link| !by_id.contains_key(&link.to));
        links.map(|link| (issue.id.short(), link.kind.as_str(), link.to))
    });
    for (at, (from, kind, to)) in lost.enumerate() {
        if at == 0 {
            let kind = kind.replace('_', "-");
            fixes.push(format!("remove the link to nothing: `ait unlink {from} {kind} {to}`"));
        }
        about.push(format!("{from} has the link {kind} to {to}, which does not exist"));
    }
    let parts = issues.iter().filter(|issue| issue.status.is_open()).filter_map(|part| {
        let parent = by_id.get(&part.attributes.parent()?)?;
        parent.status.has_ended().then_some((part, parent))
    });
    for (at, (part, parent)) in parts.enumerate() {
        let id = part.id.short();
        let whole = parent.id.short();
        if at == 0 {
            let unlink = format!("ait unlink {id} parent {whole}");
            fixes.push(format!("finish the part, or make it an issue of its own: `{unlink}`"));
        }
        about.push(format!(
            "{id} is {}, while its parent {whole} is {}",
            part.status, parent.status
        ));
    }
    let count = counted(about.len(), "link is inconsistent", "links are inconsistent");
    match (about.is_empty(), is_cycle) {
        (true, _) => Finding::ok(check, "links lead to issues, and no issue waits for itself"),
        (_, true) => Finding::problem(check, count).about(about).fix(fixes.join("; ")),
        (_, false) => Finding::warning(check, count).about(about).fix(fixes.join("; ")),
    }
}

/// The cycles in a store. No issue is on two of them.
#[derive(Default)]
struct Cycles {
    /// The ids on each cycle, in the order of waiting; the first one is also the last one.
    found: Vec<Vec<String>>,
    /// The arguments of `ait unlink` that end the first cycle.
    link: Option<String>,
    /// The issues on these cycles.
    members: HashSet<IssueId>,
}

impl Cycles {
    fn of(issues: &[Arc<Issue>], by_id: &HashMap<IssueId, &Issue>, store: &IndexedIssues) -> Self {
        let linked = issues.iter().filter(|issue| !issue.attributes.links.is_empty());
        let ids: Vec<_> = linked.map(|issue| issue.id).collect();
        let mut cycles = Self::default();
        cycles.search(&ids, by_id, |issue| {
            if issue.status.has_ended() {
                return Vec::new();
            }
            store.open_blockers(issue).chain(store.open_parts(issue.id)).collect()
        });
        // What has ended waits for nothing, but a tree of parents must have a top.
        cycles.search(&ids, by_id, |issue| store.linked_from(LinkKind::Parent, issue.id));
        cycles
    }

    /// Follows the paths from all issues and notes the cycles.
    fn search(
        &mut self,
        ids: &[IssueId],
        by_id: &HashMap<IssueId, &Issue>,
        next: impl Fn(&Issue) -> Vec<IssueId>,
    ) {
        let next = |id: IssueId| by_id.get(&id).map_or_else(Vec::new, |issue| next(issue));
        let mut seen = HashSet::new();
        for start in ids {
            // The path from the start, and where it can lead on from each issue.
            let mut path = Vec::new();
            if seen.insert(*start) {
                path.push((*start, next(*start)));
            }
            while let Some((_, rest)) = path.last_mut() {
                let Some(to) = rest.pop() else {
                    path.pop();
                    continue;
                };
                if seen.insert(to) {
                    path.push((to, next(to)));
                } else if let Some(at) = path.iter().position(|(id, _)| *id == to) {
                    let cycle: Vec<_> = path[at..].iter().map(|(id, _)| *id).chain([to]).collect();
                    self.add_cycle(&cycle, by_id);
                }
            }
        }
    }

    fn add_cycle(&mut self, cycle: &[IssueId], by_id: &HashMap<IssueId, &Issue>) {
        if cycle.iter().any(|id| self.members.contains(id)) {
            return;
        }
        self.members.extend(cycle);
        let names: Vec<_> = cycle.iter().map(IssueId::short).collect();
        let is_part = by_id.get(&cycle[1]).and_then(|issue| issue.attributes.parent());
        self.link.get_or_insert_with(|| {
            if is_part == Some(cycle[0]) {
                format!("{} parent {}", names[1], names[0])
            } else {
                format!("{} blocked-by {}", names[0], names[1])
            }
        });
        self.found.push(names);
    }
}

pub(super) fn queue(issues: &[Arc<Issue>], store: &IndexedIssues, now: Timestamp) -> Finding {
    let check = Check::Queue;
    let anyone = AgentName::try_from("anyone").expect("a valid name");
    let mut about = Vec::new();
    for issue in issues.iter().filter(|issue| issue.status == Status::Created) {
        let agent = issue.attributes.assignee.clone();
        match readiness::obstacle(store, issue, agent.as_ref().unwrap_or(&anyone), now) {
            Some(reason) => about.push(format!("{}: {reason}", issue.id.short())),
            None => return Finding::ok(check, "an issue that waits can be claimed"),
        }
    }
    let is_moving = |issue: &Arc<Issue>| {
        let waits_for_review =
            issue.status == Status::Completed && !issue.attributes.is_parked_at(now);
        issue.status.is_claimed() || waits_for_review
    };
    let count = counted(about.len(), "issue waits", "issues wait");
    if about.is_empty() {
        return Finding::ok(check, "no issue waits to be claimed");
    }
    if issues.iter().any(is_moving) {
        return Finding::ok(check, format!("{count}, and others are worked on or reviewed"));
    }
    Finding::warning(check, format!("{count}, but none can be claimed")).about(about).fix(
        "see `ait tree`; then end a wait: `ait unpark ID`, `ait unlink ID blocked-by OTHER`, or `ait close OTHER`",
    )
}
