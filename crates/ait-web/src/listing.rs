//! The issues that a query of the list asks for: for the page, as JSON and as CSV, and for the board.

use std::collections::{HashMap, HashSet};

use super::WebState;
use super::lookup::find;
use super::pages::error::WebError;
use super::query::{ListQuery, Sorting};
use ait_domain::{IssueId, MatchCounts, Order, Page, Query, Status, StatusSet};
use ait_query::{NoMatch, ParsedQuery, QueryError};

/// A page of the matching issues.
pub(super) struct Listing {
    /// The issues, and how many match.
    pub found: Page,
    /// The number of the page, from 1; the last one, if fewer issues match than were asked for.
    pub number: usize,
    /// How many issues a page has.
    size: usize,
    pub order: Sorting,
    pub search: ParsedQuery,
    /// Why no issue matches the search.
    pub nothing: Option<NoMatch>,
}

impl Listing {
    /// Finds a page of so many issues.
    ///
    /// # Errors
    ///
    /// The store cannot be read, or no issue is the parent that the query names. An error in the search is the inner
    /// `Result`.
    pub async fn find(
        state: &WebState,
        query: &ListQuery,
        size: usize,
    ) -> Result<Result<Self, QueryError>, WebError> {
        let tracker = &state.tracker;
        let (base, search) = match asked(state, query).await? {
            Ok(asked) => asked,
            Err(mistake) => return Ok(Err(mistake)),
        };
        let order = query.sorting(&search);
        let on_page = |number: usize| Query {
            order: order.key,
            reversed: order.reversed,
            skip: size.saturating_mul(number - 1),
            take: size,
            counts: true,
            ..search.narrow(base.clone())
        };
        let mut number = query.page.max(1);
        let mut found = tracker.list_issues(on_page(number)).await?;
        let last = found.total.div_ceil(size).max(1);
        if number > last {
            number = last;
            found = tracker.list_issues(on_page(number)).await?;
        }
        let nothing = if found.total == 0 && !search.is_empty() {
            let list = |query| tracker.list_issues(query);
            Some(NoMatch::explain(&search, &base, list).await?)
        } else {
            None
        };
        Ok(Ok(Self { found, number, size, order, search, nothing }))
    }

    /// Returns the number of pages; at least one.
    pub fn pages(&self) -> usize {
        self.found.total.div_ceil(self.size).max(1)
    }

    /// Returns how many issues match in each status, whatever statuses were asked for.
    pub fn counts(&self) -> MatchCounts {
        self.found.counts.unwrap_or_default()
    }
}

/// Which issues match a query, for the board, which orders and shows them as the read model has them.
pub(super) struct Matches {
    /// How many match in each status that the query includes, and whether these are all.
    totals: HashMap<Status, (usize, bool)>,
    /// The first of them: those that are open by priority, those that have ended by last change.
    ids: HashSet<IssueId>,
}

impl Matches {
    /// Finds at most `most` issues in each status.
    ///
    /// # Errors
    ///
    /// As for [`Listing::find`].
    pub async fn find(
        state: &WebState,
        query: &ListQuery,
        most: impl Fn(Status) -> usize,
    ) -> Result<Result<Self, QueryError>, WebError> {
        let (base, search) = match asked(state, query).await? {
            Ok(asked) => asked,
            Err(mistake) => return Ok(Err(mistake)),
        };
        let all = search.narrow(base);
        let mut matches = Self { totals: HashMap::new(), ids: HashSet::new() };
        let mut counted = None;
        for status in all.statuses.iter() {
            let by_change = status.has_ended();
            let found = state.tracker.list_issues(Query {
                statuses: StatusSet::from_iter([status]),
                order: if by_change { Order::LatestActivity } else { Order::Priority },
                reversed: false,
                take: most(status),
                // One count has all statuses.
                counts: counted.is_none(),
                ..all.clone()
            });
            let found = found.await?;
            let counts = *counted.get_or_insert(found.counts.unwrap_or_default());
            let total = match counts {
                MatchCounts { counts, are_exact: true } => (counts.in_status(status), true),
                _ => (found.total, found.is_exact),
            };
            matches.totals.insert(status, total);
            matches.ids.extend(found.issues.iter().map(|issue| issue.id));
        }
        Ok(Ok(matches))
    }

    /// Returns true if an issue is one of the first that match.
    pub fn has(&self, id: IssueId) -> bool {
        self.ids.contains(&id)
    }

    /// Returns how many issues match in a status, and whether these are all; `None` if the query excludes it.
    pub fn total(&self, status: Status) -> Option<(usize, bool)> {
        self.totals.get(&status).copied()
    }
}

/// Returns what a query asks for without its search, and the search, which narrows it. An error in the search is the
/// inner `Result`.
async fn asked(
    state: &WebState,
    query: &ListQuery,
) -> Result<Result<(Query, ParsedQuery), QueryError>, WebError> {
    let now = state.tracker.now();
    let parent = match &query.parent {
        Some(parent) => Some(find(state, &parent.to_string()).await?.id),
        None => None,
    };
    let search = ParsedQuery::parse(&query.search, &state.project.queries, now);
    Ok(search.map(|search| (query.base(parent, now), search)))
}
