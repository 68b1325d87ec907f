//! The issues that a query of the list asks for: for the page, as JSON and as CSV.

use super::WebState;
use super::lookup::find;
use super::pages::error::WebError;
use super::query::{ListQuery, Sorting};
use ait_domain::{MatchCounts, Page, Query};
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
        let now = tracker.now();
        let parent = match &query.parent {
            Some(parent) => Some(find(state, &parent.to_string()).await?.id),
            None => None,
        };
        let search = match ParsedQuery::parse(&query.search, &state.project.queries, now) {
            Ok(search) => search,
            Err(mistake) => return Ok(Err(mistake)),
        };
        let base = query.base(parent, now);
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
