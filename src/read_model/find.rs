//! Finding issues: conditions, text search, sorting and paging.

use std::cmp::Reverse;

use super::candidates::Candidates;
use super::positions::Positions;
use super::read_view::ReadView;
use super::sort_index::{Direction, SortKey};
use super::text_search::TextSearch;
use crate::domain::{Condition, Counts, Order, Page, Query, Status, Subject};

/// The maximum number of text matches to collect. A user with more matches should narrow the search, and the limit
/// makes the cost independent of the size of the store.
pub const MAX_FOUND: usize = 500;
/// The maximum number of issues to examine for the best matches, which takes some microseconds for each.
const MAX_RANKED: usize = 200;

/// The order of a list on a page. Pages know more keys than the [`Order`] of a query, which every store has to support.
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

impl Sorting {
    /// Returns the same order as a query.
    pub fn of(order: Order, reversed: bool) -> Self {
        let (key, direction) = match order {
            Order::Filed => (SortKey::Filed, Direction::Ascending),
            Order::LatestActivity => (SortKey::Activity, Direction::Descending),
            Order::Priority => (SortKey::Priority, Direction::Ascending),
            Order::Title => (SortKey::Title, Direction::Ascending),
            Order::Relevance => (SortKey::Relevance, Direction::Descending),
        };
        Self { key, direction: if reversed { direction.reversed() } else { direction } }
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
    /// Returns a page without matches.
    pub fn empty(counts: Counts) -> Self {
        page_of([].into_iter(), 0, counts, (1, 1))
    }

    /// Returns the number of pages; at least one.
    pub fn pages(&self, page_size: usize) -> usize {
        self.total.div_ceil(page_size).max(1)
    }
}

impl ReadView<'_> {
    /// Returns a page of the issues that match a query, for the web: with counts, and in an order of its own instead of
    /// that of the query. Pages are counted from 1.
    ///
    /// The cost hardly depends on the number of matches. The first text search builds the signatures of all texts,
    /// which takes some microseconds for each issue.
    pub fn list_with_counts(
        &self,
        query: &Query,
        order: Sorting,
        page: usize,
        size: usize,
    ) -> Listing {
        let search = TextSearch::new(&query.condition, self);
        let of_kind = |at: &usize| {
            let kind = self.index.rows[*at].classification;
            query.classification.is_none_or(|wanted| wanted == kind)
        };
        let is_asked_for = |at: &usize| query.statuses.contains(self.index.rows[*at].status);
        let matching = self.matching(query, &search);
        let fits = |at: &usize| of_kind(at) && matching.has(*at);
        if order.key == SortKey::Relevance {
            let found = self.best_matches(query, &search, of_kind);
            let counts = self.counted(found.positions.iter().copied());
            let asked_for: Vec<_> = found.positions.into_iter().filter(is_asked_for).collect();
            let (total, is_exact) = (asked_for.len(), found.is_exact);
            let listing = page_of(asked_for.into_iter(), total, counts, (page, size));
            return Listing { is_exact, has_exact_counts: is_exact, ..listing };
        }
        let in_order = || self.in_order(order).filter(|at| matching.may_have(*at));
        if query.condition.is_empty() && query.classification.is_none() {
            let counts = self.counts();
            let total = query.statuses.iter().map(|status| counts.in_status(status)).sum();
            return page_of(in_order().filter(is_asked_for), total, counts, (page, size));
        }
        if search.is_empty() {
            let mut found: Vec<_> = in_order().filter(fits).collect();
            let counts = self.counted(found.iter().copied());
            found.retain(is_asked_for);
            let total = found.len();
            return page_of(found.into_iter(), total, counts, (page, size));
        }
        let mut found: Vec<_> = in_order().filter(fits).take(MAX_FOUND + 1).collect();
        let has_exact_counts = found.len() <= MAX_FOUND;
        let counts = self.counted(found.iter().copied());
        if has_exact_counts {
            found.retain(is_asked_for);
        } else {
            let all = in_order().filter(|at| is_asked_for(at) && fits(at));
            found = all.take(MAX_FOUND + 1).collect();
        }
        let is_exact = found.len() <= MAX_FOUND;
        found.truncate(MAX_FOUND);
        let listing = page_of(found.iter().copied(), found.len(), counts, (page, size));
        Listing { is_exact, has_exact_counts, ..listing }
    }

    /// Returns one page of the issues that match a query, as a store does. A search for texts counts at most
    /// [`MAX_FOUND`] matches, or as many as the page needs.
    pub fn list(&self, query: &Query) -> Page {
        let search = TextSearch::new(&query.condition, self);
        let fits = |at: &usize| {
            let row = &self.index.rows[*at];
            query.statuses.contains(row.status)
                && query.classification.is_none_or(|kind| kind == row.classification)
        };
        let order = Sorting::of(query.order, query.reversed);
        let limit = match search.is_empty() {
            true => usize::MAX,
            false => query.skip.saturating_add(query.take).max(MAX_FOUND),
        };
        let found = if order.key == SortKey::Relevance {
            self.best_matches(query, &search, fits)
        } else {
            let matching = self.matching(query, &search);
            let possible = self.in_order(order).filter(|at| matching.may_have(*at));
            let matches = possible.filter(|at| fits(at) && matching.has(*at));
            let mut positions: Vec<_> = matches.take(limit.saturating_add(1)).collect();
            let is_exact = positions.len() <= limit;
            positions.truncate(limit);
            Found { positions, is_exact }
        };
        let on_page = found.positions.iter().skip(query.skip).take(query.take);
        Page {
            total: found.positions.len(),
            is_exact: found.is_exact,
            issues: on_page.map(|at| self.issue(*at)).collect(),
        }
    }

    /// Returns all positions in an order.
    pub(super) fn in_order(&self, order: Sorting) -> Box<dyn Iterator<Item = usize> + '_> {
        let index = &self.index;
        let all = index.sort_index.get(order.key, &index.summaries, &index.names);
        match order.direction {
            Direction::Ascending => Box::new(all.iter().copied()),
            Direction::Descending => Box::new(all.iter().rev().copied()),
        }
    }

    /// Returns the issues that contain the most search texts, best first. Examines only those for which the
    /// signatures promise most.
    fn best_matches(
        &self,
        query: &Query,
        search: &TextSearch,
        fits: impl Fn(&usize) -> bool,
    ) -> Found {
        let latest = self.in_order(Sorting::default());
        let mut promising: Vec<_> = latest
            .filter(|at| fits(at))
            .enumerate()
            .map(|(place, at)| (Reverse(search.promised(at)), place, at))
            .filter(|(promised, ..)| promised.0 > 0)
            .collect();
        promising.sort_by_key(|(promised, ..)| *promised);
        let is_exact = promising.len() <= MAX_RANKED;
        let mut found = Vec::new();
        for (_, place, at) in promising.into_iter().take(MAX_RANKED) {
            let subject = self.subject(at, search);
            if query.condition.matches(&subject) {
                found.push((Reverse(query.condition.relevance(&subject)), place, at));
            }
        }
        found.sort_by_key(|(relevance, place, _)| (*relevance, *place));
        Found { positions: found.into_iter().map(|(.., at)| at).collect(), is_exact }
    }

    /// Counts the statuses of the issues at some positions.
    fn counted(&self, positions: impl Iterator<Item = usize>) -> Counts {
        let mut counts = [0; Status::ALL.len()];
        positions.for_each(|at| counts[self.index.rows[at].status as usize] += 1);
        Counts::of(|status| counts[status as usize])
    }

    /// Prepares the condition of a query for being asked of many issues.
    pub(super) fn matching<'a>(&'a self, query: &'a Query, search: &'a TextSearch) -> Matching<'a> {
        let condition = &query.condition;
        let (positions, is_exact) = match self.candidates(condition) {
            Some(Candidates { positions, is_exact }) => (Some(positions), is_exact),
            None => (None, condition.is_empty()),
        };
        let texts = search.candidates().cloned();
        let candidates = positions.into_iter().chain(texts).reduce(Positions::and);
        Matching { view: self, condition, search, candidates, is_exact }
    }

    fn subject<'a>(&'a self, position: usize, search: &'a TextSearch) -> impl Subject + 'a {
        super::subject::SummarizedIssue::new(self, position, search)
    }
}

/// A condition, with what the indexes know of it.
pub(super) struct Matching<'a> {
    view: &'a ReadView<'a>,
    condition: &'a Condition,
    search: &'a TextSearch,
    /// The issues that can match; `None` for all.
    candidates: Option<Positions>,
    /// Whether all of these match.
    is_exact: bool,
}

impl Matching<'_> {
    /// Returns true if the issue at a position can match. Costs next to nothing.
    pub fn may_have(&self, position: usize) -> bool {
        self.candidates.as_ref().is_none_or(|candidates| candidates.contains(position))
    }

    /// Returns true if the issue at a position matches.
    pub fn has(&self, position: usize) -> bool {
        self.may_have(position)
            && (self.is_exact || self.condition.matches(&self.view.subject(position, self.search)))
    }
}

/// The positions of matches, in order.
struct Found {
    positions: Vec<usize>,
    is_exact: bool,
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
