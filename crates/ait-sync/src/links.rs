//! Links between issues of a remote, made between the same issues here.
//!
//! The tie of an issue says which links it has there. A link is made once the issue at its other end is here, too, so
//! the ties of all issues are looked at after each pull.

use std::collections::HashMap;

use ait_domain::event::CHANGE_ACTION;
use ait_domain::links::{IssueGraph, check};
use ait_domain::{AgentName, DomainError, HistoryEntry, Issue, IssueId, Link, LinkKind};
use ait_tracker::{StoreError, Tracker};

use crate::link::{self, Issues};
use crate::remote::RemoteLink;
use crate::report::{Report, SyncError};

/// Makes the links that are new at a remote, and removes those that it has no more. An issue that changes meanwhile
/// waits for the next run.
pub(crate) async fn merge(
    tracker: &Tracker,
    sync: &str,
    agent: &AgentName,
    is_dry: bool,
    report: &mut Report,
) -> Result<(), SyncError> {
    let issues: Issues = tracker.read_into().await?;
    let mut ids = HashMap::new();
    let mut differing = Vec::new();
    for issue in issues.0 {
        let Some(tie) = link::Link::of(&issue, sync) else { continue };
        ids.insert(tie.key.clone(), issue.id);
        if tie.links != tie.remote_links {
            differing.push((issue, tie));
        }
    }
    for (ours, mut tie) in differing {
        let own = |link: &RemoteLink| Some(Link { kind: link.kind, to: *ids.get(&link.to)? });
        let (kept, gone): (Vec<_>, Vec<_>) = std::mem::take(&mut tie.links)
            .into_iter()
            .partition(|link| tie.remote_links.contains(link));
        let new = tie.remote_links.iter().filter(|link| !kept.contains(link));
        let new: Vec<_> = new.filter_map(|link| Some((link.clone(), own(link)?))).collect();
        tie.links = kept;
        if gone.is_empty() && new.is_empty() {
            continue;
        }
        let mut links = ours.attributes.links.clone();
        links.retain(|link| !gone.iter().any(|gone| own(gone) == Some(*link)));
        let ends = new.iter().map(|(_, link)| link.to).chain([ours.id]);
        let graph = tracker.issues_below(ends).await?;
        for (there, here) in new {
            match with(&links, here, ours.id, &graph) {
                Ok(Some(with_it)) => {
                    links = with_it;
                    tie.links.push(there);
                }
                Ok(None) => {}
                Err(error) => report.problem(format!("{}: {error}", tie.key)),
            }
        }
        let mut after = Issue::clone(&ours);
        let changed = difference(&links, &ours.attributes.links);
        if changed > 0 {
            let now = tracker.now().max(ours.modified_at);
            after.attributes = ours.attributes.with_links(&links);
            after.set_unknown_namesakes_aside();
            let action = format!("{CHANGE_ACTION}links");
            after.history.push(HistoryEntry::new(now, agent.as_str(), action));
            after.modified_at = now;
        }
        tie.set(&mut after, sync);
        if !is_dry && after != *ours {
            match tracker.replace_issue(&ours, after, agent).await {
                Err(StoreError::Refused(DomainError::VersionChanged { .. })) => continue,
                done => done?,
            }
        }
        report.links_here += changed;
    }
    Ok(())
}

/// Adds a link to those of an issue, unless it is there. Returns `None` if the issue has a parent that was chosen here.
fn with(
    links: &[Link],
    new: Link,
    id: IssueId,
    graph: &dyn IssueGraph,
) -> Result<Option<Vec<Link>>, DomainError> {
    let mut links = links.to_vec();
    if links.contains(&new) {
        return Ok(Some(links));
    }
    if new.kind == LinkKind::Parent && links.iter().any(|link| link.kind == new.kind) {
        return Ok(None);
    }
    links.push(new);
    check(id, &links, &[new], graph).map(|()| Some(links))
}

/// Returns how many links only one of two issues has.
fn difference(links: &[Link], others: &[Link]) -> usize {
    let only = |links: &[Link], others: &[Link]| {
        links.iter().filter(|link| !others.contains(link)).count()
    };
    only(links, others) + only(others, links)
}
