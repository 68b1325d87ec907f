//! The links of imported issues: which of them can be made.
//!
//! Other programs name issues by their own ids. Such a link is made if its other issue is in the file or in the store,
//! and if no issue would wait for itself because of it. All other values of other programs are kept anyway, as unknown
//! keys of the issue.

use std::collections::{HashMap, HashSet};

use crate::domain::{DomainError, ImportedIssue, Issue, IssueId, Link, LinkKind, links};
use crate::hints;
use crate::interchange::{Content, FileEntry, ImportDraft, NamedLink};
use crate::tracker::IndexedIssues;

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
            _ => with_named_links(&issue, &draft.named_links, &known, &planned),
        };
        match settled {
            Ok(settled) => {
                if let Some(settled) = settled {
                    draft.issue = settled;
                }
                // An issue whose id is taken is only compared.
                let _ = planned.push(Issue::clone(draft.issue.issue()));
            }
            Err(refusal) => {
                let (id, title) = (Some(issue.id.to_string()), Some(issue.title.clone()));
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

/// Returns the issue with those of its named links that can be made, or `None` if there are none.
fn with_named_links(
    issue: &Issue,
    named: &[NamedLink],
    known: &Known<'_>,
    planned: &IndexedIssues,
) -> Result<Option<ImportedIssue>, DomainError> {
    let stored = known.stored.get(issue.id);
    let is_made =
        |link: &Link| stored.as_ref().is_some_and(|stored| stored.attributes.links.contains(link));
    let mut issue = issue.clone();
    let before = issue.attributes.links.len();
    for named in named {
        let Some(to) = known.find(named) else { continue };
        let link = Link { kind: named.kind, to };
        let links = &issue.attributes.links;
        let has_parent = issue.attributes.parent().is_some() && link.kind == LinkKind::Parent;
        if links.contains(&link) || has_parent {
            continue;
        }
        let attributes = issue.attributes.with_links(&[links, &[link][..]].concat());
        let with_link = Issue { attributes, ..issue.clone() };
        if is_made(&link) || links::check_new(&with_link, planned).is_ok() {
            issue = with_link;
        }
    }
    if issue.attributes.links.len() == before {
        return Ok(None);
    }
    issue.set_unknown_namesakes_aside();
    issue.try_into().map(Some)
}

/// The issues to which links can lead.
struct Known<'a> {
    stored: &'a IndexedIssues,
    in_file: HashSet<IssueId>,
    /// The issues of the file by their ids in the other program; `None` if several have the same.
    by_name: HashMap<String, Option<IssueId>>,
}

impl<'a> Known<'a> {
    fn of(entries: &[FileEntry], stored: &'a IndexedIssues) -> Self {
        let mut known = Self { stored, in_file: HashSet::new(), by_name: HashMap::new() };
        for draft in entries.iter().filter_map(draft_of) {
            let issue = draft.issue.issue();
            known.in_file.insert(issue.id);
            for name in issue.external_ids() {
                let found = known.by_name.entry(name).or_insert(Some(issue.id));
                *found = found.filter(|id| *id == issue.id);
            }
        }
        known
    }

    fn find(&self, named: &NamedLink) -> Option<IssueId> {
        let is_known =
            |id: &&IssueId| self.in_file.contains(*id) || self.stored.get(**id).is_some();
        let by_id = named.ids.iter().find(is_known).copied();
        by_id.or_else(|| self.by_name.get(named.name.trim_start_matches('#')).copied().flatten())
    }
}
