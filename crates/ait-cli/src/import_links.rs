//! The links of imported issues: which of them can be made.
//!
//! Other programs name issues by their own ids. Such a link is made if its other issue is in the file or in the store,
//! and if no issue would wait for itself because of it. The others are remarks of their issue; their values are kept
//! anyway, as unknown keys of the issue.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ait_domain::{
    AttributeValues, DomainError, Issue, IssueGraph, IssueId, Link, LinkKind, UnknownKeys, links,
};
use ait_interchange::{Content, FileEntry, ImportDraft, NamedLink};
use ait_tracker::IndexedIssues;
use ait_tracker::hints;

/// Returns the ids of the issues of a file, and those that their links name.
pub(super) fn ids(entries: &[FileEntry]) -> BTreeSet<IssueId> {
    let of_draft = |draft: &ImportDraft| {
        let issue = draft.issue.issue();
        let links = issue.attributes.links.iter().map(|link| link.to);
        let named = draft.named_links.iter().flat_map(|named| named.ids.iter().copied());
        [issue.id].into_iter().chain(links).chain(named).collect::<Vec<_>>()
    };
    entries.iter().filter_map(draft_of).flat_map(of_draft).collect()
}

/// Gives the issues of a file the links that can be made. Refuses issues of ait whose links cannot be made.
///
/// The links are checked in the order in which the issues are imported, as the store does it.
pub(super) fn resolve_links(entries: &mut [FileEntry], stored: &IndexedIssues) {
    let has_links = |draft: &ImportDraft| {
        !draft.named_links.is_empty() || !draft.issue.issue().attributes.links.is_empty()
    };
    if !entries.iter().filter_map(draft_of).any(has_links) {
        return;
    }
    let known = Known::of(entries, stored);
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&at| draft_of(&entries[at]).map(ImportDraft::queue_key));
    let mut planned = stored.clone();
    for at in order {
        let Content::Issue(draft) = &mut entries[at].content else { continue };
        let issue = draft.issue.issue().clone();
        let is_stored = stored.get(issue.id).is_some();
        let settled = match links::check_new(&issue, &planned) {
            Err(refusal) if !is_stored => Err(refusal),
            _ => settle(Issue::clone(&issue), draft, &known, &planned),
        };
        match settled {
            Ok(()) => {
                // An issue whose id is taken is only compared.
                let _ = planned.push(Arc::new(outline(draft.issue.issue())));
            }
            Err(refusal) => {
                let id = Some(issue.id.to_string());
                let title = Some(issue.title.clone());
                let reason = hints::for_refusal(&refusal, &hints::COMMANDS);
                entries[at].content = Content::Refused { id, title, reason, blamed: None };
            }
        }
    }
}

fn draft_of(entry: &FileEntry) -> Option<&ImportDraft> {
    match &entry.content {
        Content::Issue(draft) => Some(draft),
        _ => None,
    }
}

/// Returns what decides links of an issue.
fn outline(issue: &Issue) -> Issue {
    Issue {
        id: issue.id,
        title: String::new(),
        description: String::new(),
        history: Vec::new(),
        comments: Vec::new(),
        unknown_keys: UnknownKeys::default(),
        attributes: issue.attributes.clone(),
        ..*issue
    }
}

/// Gives an issue those of its named links that can be made. The others are remarks.
fn settle(
    mut issue: Issue,
    draft: &mut ImportDraft,
    known: &Known<'_>,
    planned: &IndexedIssues,
) -> Result<(), DomainError> {
    let stored = known.stored.get(issue.id);
    let is_made =
        |link: &Link| stored.as_ref().is_some_and(|stored| stored.attributes.links.contains(link));
    let mut links = Vec::new();
    for named in &draft.named_links {
        let Some(to) = known.find(named) else {
            draft.remarks.drop_link(&named.shown, "neither the file nor the store has that issue");
            continue;
        };
        let link = Link { kind: named.kind, to };
        let has_parent = issue.attributes.parent().is_some()
            || links.iter().any(|(link, _): &(Link, _)| link.kind == LinkKind::Parent);
        if issue.attributes.links.contains(&link) || links.iter().any(|(one, _)| *one == link) {
            continue;
        }
        if has_parent && link.kind == LinkKind::Parent {
            draft.remarks.drop_link(&named.shown, "an issue has one parent");
            continue;
        }
        links.push((link, &named.shown));
    }
    // The order of links says nothing, so that of the store makes no difference.
    let place = |link: &Link| stored.as_ref()?.attributes.links.iter().position(|one| one == link);
    links.sort_by_key(|(link, _)| place(link).unwrap_or(usize::MAX));
    let own = issue.attributes.links.clone();
    let all: Vec<Link> = links.iter().map(|(link, _)| *link).collect();
    issue.attributes = issue.attributes.with_links(&[&own[..], &all].concat());
    // Nearly always all links can be made, so they are checked one by one only otherwise.
    if !all.is_empty() && links::check_new(&issue, planned).is_err() {
        issue.attributes = issue.attributes.with_links(&own);
        for (link, shown) in links {
            let before = issue.attributes.links.clone();
            issue.attributes = issue.attributes.with_links(&[&before[..], &[link]].concat());
            if !is_made(&link)
                && let Err(refusal) = links::check_new(&issue, planned)
            {
                issue.attributes = issue.attributes.with_links(&before);
                draft.remarks.drop_link(shown, &hints::for_refusal(&refusal, &hints::COMMANDS));
            }
        }
    }
    let waits = |link: &Link| link.kind == LinkKind::BlockedBy && known.is_open(link.to);
    if draft.is_blocked && issue.attributes.links.iter().any(waits) {
        // Its blockers end the wait.
        let attributes = AttributeValues::clone(&issue.attributes);
        issue.attributes = AttributeValues { parked: None, ..attributes }.into();
    }
    if issue.attributes != draft.issue.issue().attributes {
        issue.set_unknown_namesakes_aside();
        draft.issue = issue.try_into()?;
    }
    Ok(())
}

/// The issues to which links can lead.
struct Known<'a> {
    stored: &'a IndexedIssues,
    /// The issues of the file, and whether they are open.
    in_file: HashMap<IssueId, bool>,
    /// The issues of the file by their ids in the other program; `None` if several have the same.
    by_name: HashMap<String, Option<IssueId>>,
}

impl<'a> Known<'a> {
    fn of(entries: &[FileEntry], stored: &'a IndexedIssues) -> Self {
        let mut known = Self { stored, in_file: HashMap::new(), by_name: HashMap::new() };
        for draft in entries.iter().filter_map(draft_of) {
            let issue = draft.issue.issue();
            known.in_file.insert(issue.id, !issue.status.has_ended());
            for name in issue.external_ids() {
                let found = known.by_name.entry(name).or_insert(Some(issue.id));
                *found = found.filter(|id| *id == issue.id);
            }
        }
        known
    }

    fn is_open(&self, id: IssueId) -> bool {
        let stored = || self.stored.issue(id).is_some_and(|issue| !issue.status.has_ended());
        self.in_file.get(&id).copied().unwrap_or_else(stored)
    }

    fn find(&self, named: &NamedLink) -> Option<IssueId> {
        let is_known =
            |id: &&IssueId| self.in_file.contains_key(*id) || self.stored.get(**id).is_some();
        let by_id = named.ids.iter().find(is_known).copied();
        by_id.or_else(|| self.by_name.get(named.name.trim_start_matches('#')).copied().flatten())
    }
}
