//! Finding issues: combined filters, text search, sorting and paging.

use regex::{Regex, RegexBuilder};

use super::read_view::ReadView;
use super::signatures::Candidates;
use super::sort_index::{Direction, SortKey};
use super::summary::IssueSummary;
use crate::domain::{
    Classification, ContentFilter, Counts, IssueId, Label, Priority, Status, StatusSet, Timestamp,
};
use crate::tracker::IndexedIssues;

/// The maximum number of text matches to collect. A user with more matches should narrow the search, and the limit
/// makes the cost independent of the size of the store.
pub const MAX_FOUND: usize = 500;

/// A filter on issues.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// The statuses to include.
    pub statuses: StatusSet,
    /// The classification to include; `None` for all.
    pub classification: Option<Classification>,
    /// An agent that must occur in the history.
    pub agent: Option<String>,
    /// Lower-case texts; see [`ContentFilter::texts`].
    pub texts: Vec<String>,
    /// The priorities to include; empty for all. An issue without one counts as the default.
    pub priorities: Vec<Priority>,
    /// Labels that the issue must have, all of them.
    pub labels: Vec<Label>,
    /// The agent that the issue must be assigned to.
    pub assignee: Option<String>,
    /// The issue that it must be a part of.
    pub parent: Option<IssueId>,
    /// The time at which some agent could claim the issue for work; `None` for all issues.
    pub ready_at: Option<Timestamp>,
    /// Whether the issue must be open and have an open blocker.
    pub is_blocked: bool,
    /// The time at which the issue must be open and parked; `None` for all issues.
    pub parked_at: Option<Timestamp>,
}

impl Filter {
    /// Returns true if at most the statuses and the texts narrow.
    fn is_by_status(&self) -> bool {
        let Self { statuses, texts, .. } = self.clone();
        *self == Self { statuses, texts, ..Self::default() }
    }

    /// Returns true if the attributes and the links of an issue match.
    fn fits_attributes(&self, summary: &IssueSummary, issues: &IndexedIssues) -> bool {
        let attributes = &summary.attributes;
        (self.priorities.is_empty() || self.priorities.contains(&attributes.effective_priority()))
            && self.labels.iter().all(|label| attributes.labels.contains(label))
            && self.assignee.as_ref().is_none_or(|name| attributes.assignee.as_ref() == Some(name))
            && self.parent.is_none_or(|parent| attributes.parent() == Some(parent))
            && self.parked_at.is_none_or(|now| summary.is_parked_at(now))
            && (!self.is_blocked || summary.open_blockers(issues).next().is_some())
            && self.ready_at.is_none_or(|now| summary.is_ready_at(now, issues))
    }
}

/// A sort order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sorting {
    /// The sort key.
    pub key: SortKey,
    /// The direction.
    pub direction: Direction,
}

/// Last changed first.
impl Default for Sorting {
    fn default() -> Self {
        Self { key: SortKey::Activity, direction: Direction::Descending }
    }
}

/// A page of matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The positions of the issues on the page.
    pub positions: Vec<usize>,
    /// The page number, from 1, clamped to the last page.
    pub page: usize,
    /// The number of matches.
    pub total: usize,
    /// The number of matches in each status, regardless of the filter on statuses.
    pub counts: Counts,
    /// Whether `total` is exact. If not, there are more matches, and `total` is the number that can be shown.
    pub is_exact: bool,
    /// Whether `counts` are exact.
    pub has_exact_counts: bool,
}

impl Listing {
    /// Returns the number of pages; at least one.
    pub fn pages(&self, page_size: usize) -> usize {
        self.total.div_ceil(page_size).max(1)
    }
}

impl ReadView<'_> {
    /// Returns a page of matching issues. Pages are counted from 1.
    ///
    /// The cost hardly depends on the number of matches. The first text search builds the signatures of all texts,
    /// which takes some microseconds for each issue.
    pub fn find(&mut self, filter: &Filter, order: Sorting, page: usize, size: usize) -> Listing {
        let agent = match filter.agent.as_deref().map(|agent| self.names().find(agent)) {
            Some(None) => return page_of([].into_iter(), 0, Counts::default(), (page, size)),
            found => found.flatten(),
        };
        let search = (!filter.texts.is_empty()).then(|| Search::new(&filter.texts, self));
        let (index, issues) = (&mut *self.index, &self.issues);
        let in_order = index.orders.get(order.key, &index.summaries, &index.names);
        let in_order = || -> Box<dyn Iterator<Item = usize>> {
            match order.direction {
                Direction::Ascending => Box::new(in_order.iter().copied()),
                Direction::Descending => Box::new(in_order.iter().rev().copied()),
            }
        };
        let summaries = &index.summaries;
        let fits = |summary: &IssueSummary| {
            filter.classification.is_none_or(|kind| summary.classification == kind)
                && agent.is_none_or(|agent| summary.was_touched_by(agent))
                && filter.fits_attributes(summary, issues)
        };
        let is_asked_for = |position: &usize| filter.statuses.contains(summaries[*position].status);
        let Some(search) = search else {
            let counts = if filter.is_by_status() {
                issues.counts()
            } else {
                counted(summaries.iter().filter(|summary| fits(summary)))
            };
            let found = in_order().filter(|at| is_asked_for(at) && fits(&summaries[*at]));
            let total = filter.statuses.iter().map(|status| counts.in_status(status)).sum();
            return page_of(found, total, counts, (page, size));
        };
        let finds =
            |at: &usize| fits(&summaries[*at]) && search.finds(*at, &summaries[*at], issues);
        let mut found: Vec<_> = in_order().filter(finds).take(MAX_FOUND + 1).collect();
        let has_exact_counts = found.len() <= MAX_FOUND;
        let counts = counted(found.iter().map(|&at| &summaries[at]));
        if has_exact_counts {
            found.retain(is_asked_for);
        } else {
            let all = in_order().filter(|at| is_asked_for(at) && finds(at));
            found = all.take(MAX_FOUND + 1).collect();
        }
        let is_exact = found.len() <= MAX_FOUND;
        found.truncate(MAX_FOUND);
        let listing = page_of(found.iter().copied(), found.len(), counts, (page, size));
        Listing { is_exact, has_exact_counts, ..listing }
    }
}

/// Counts the statuses.
fn counted<'a>(summaries: impl Iterator<Item = &'a IssueSummary>) -> Counts {
    let mut counts = [0; Status::ALL.len()];
    summaries.for_each(|summary| counts[summary.status as usize] += 1);
    Counts::of(|status| counts[status as usize])
}

/// Returns a page of the matches, whose total is already known.
fn page_of(
    found: impl Iterator<Item = usize>,
    total: usize,
    counts: Counts,
    (page, size): (usize, usize),
) -> Listing {
    let all = Listing {
        positions: Vec::new(),
        page: 1,
        total,
        counts,
        is_exact: true,
        has_exact_counts: true,
    };
    let page = page.clamp(1, all.pages(size));
    Listing { positions: found.skip((page - 1) * size).take(size).collect(), page, ..all }
}

/// A text search, from the cheapest test to the exact one.
struct Search {
    content: ContentFilter,
    /// For each text, the issues that may contain it, and whether it may be a prefix of an id.
    candidates: Vec<(Candidates, bool)>,
    /// Patterns that the JSON of a matching issue contains.
    written: Vec<Regex>,
}

impl Search {
    fn new(texts: &[String], view: &mut ReadView) -> Self {
        let (signatures, issues) = (&mut view.index.signatures, &view.issues);
        let is_of_id =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
        let candidates =
            texts.iter().map(|text| (signatures.candidates(text, issues), is_of_id(text)));
        Self {
            candidates: candidates.collect(),
            written: texts.iter().filter_map(|text| written(text)).collect(),
            content: ContentFilter { texts: texts.to_vec(), ..ContentFilter::default() },
        }
    }

    fn finds(&self, position: usize, summary: &IssueSummary, issues: &IndexedIssues) -> bool {
        let may_say = self.candidates.iter().zip(&self.content.texts).all(
            |((candidates, is_of_id), text)| {
                candidates.contains(position)
                    || *is_of_id && summary.id.to_string().starts_with(text)
            },
        );
        may_say
            && issues
                .written_at(position)
                .is_none_or(|json| self.written.iter().all(|text| text.is_match(json)))
            && self.content.fits(&issues.at(position))
    }
}

/// Returns a case-insensitive pattern for a text in JSON. Returns `None` if the pattern could miss matches: outside
/// ASCII, lower-casing changes letters in ways that a pattern does not cover.
fn written(text: &str) -> Option<Regex> {
    if !text.is_ascii() || text.ends_with('i') {
        // The lower-case form of İ is an i followed by a combining dot.
        return None;
    }
    // An external id is written without the # that people put before it.
    let json = serde_json::to_string(text.strip_prefix('#').unwrap_or(text)).ok()?;
    let escaped = json.strip_prefix('"')?.strip_suffix('"')?;
    RegexBuilder::new(&regex::escape(escaped)).case_insensitive(true).build().ok()
}
