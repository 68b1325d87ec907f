//! Why no issue matches a query.

use std::fmt;
use std::sync::Arc;

use super::ParsedQuery;
use ait_domain::{Condition, Issue, Order, Page, Query};

/// How many titles are offered.
const NEAREST: usize = 3;

/// Why no issue matches: the term that excludes the last issues, and the issues that fit best.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NoMatch {
    /// The term, and how many issues fit all terms before it, as words.
    pub excluding: Option<(String, String)>,
    /// The issues in which the most of the wanted texts occur.
    pub nearest: Vec<Arc<Issue>>,
}

impl NoMatch {
    /// Finds out why no issue matches `parsed` within `base`. `list` returns a page of the issues that match a query.
    pub async fn explain<E, F: Future<Output = Result<Page, E>>>(
        parsed: &ParsedQuery,
        base: &Query,
        list: impl Fn(Query) -> F,
    ) -> Result<Self, E> {
        let terms = parsed.terms();
        let first = |count: usize| {
            let conditions = terms[..count].iter().map(|term| term.condition.clone());
            Query { take: 0, skip: 0, ..base.clone() }.with(Condition::all(conditions))
        };
        // More terms never match more. `some` terms match issues, and `none` match nothing.
        let mut some = 0;
        let mut none = terms.len();
        let mut left = list(first(0)).await?;
        while left.total > 0 && none - some > 1 {
            let middle = usize::midpoint(some, none);
            let page = list(first(middle)).await?;
            match page.total {
                0 => none = middle,
                _ => (some, left) = (middle, page),
            }
        }
        let count = match (left.total, left.is_exact) {
            (1, true) => "the last issue".to_owned(),
            (total, true) => format!("the last {total} issues"),
            (total, false) => format!("the last {total} or more issues"),
        };
        let excluding = terms.get(some).filter(|_| left.total > 0);
        let excluding = excluding.map(|term| (term.text.clone(), count));
        let condition = parsed.condition();
        let texts: Vec<_> = condition.texts().into_iter().map(str::to_owned).collect();
        let nearest = if texts.is_empty() {
            Vec::new()
        } else {
            let some = Condition::SomeTexts { texts, at_least: 1 };
            let query = Query { take: NEAREST, order: Order::Relevance, ..Query::default() };
            list(query.with(some)).await?.issues
        };
        Ok(Self { excluding, nearest })
    }

    /// Says which term excludes the last issues; `None` if nothing is left without the terms either.
    pub fn reason(&self) -> Option<String> {
        self.excluding.as_ref().map(|(term, left)| format!("`{term}` excludes {left}"))
    }
}

impl fmt::Display for NoMatch {
    /// Says on one line what excludes the last issues, and names the nearest ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no issue matches")?;
        if let Some(reason) = self.reason() {
            write!(f, ": {reason}")?;
        }
        if !self.nearest.is_empty() {
            let nearest = self.nearest.iter();
            let nearest = nearest.map(|issue| format!("{} {:?}", issue.id.short(), issue.title));
            write!(f, "; the nearest are {}", nearest.collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}
