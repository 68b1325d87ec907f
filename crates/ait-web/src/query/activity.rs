//! The query strings of the activity: of its page, its feed and its JSON.

use chrono::Utc;

use super::{InvalidParameter, Parameters, issue, joined, query_string};
use ait_domain::{EventKind, IssueRef};
use ait_query::time_arg::{self, TimeArg};
use ait_tracker::activity::kind_from_word;

/// A query for a page of the events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ActivityQuery {
    pub agent: Option<String>,
    pub kind: Option<&'static str>,
    pub issue: Option<IssueRef>,
    pub since: Option<Since>,
    pub cursor: PageCursor,
}

/// A point in time with the text that it was parsed from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Since {
    pub text: String,
    pub time: TimeArg,
}

/// Which page of the matching events.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PageCursor {
    /// The newest events.
    #[default]
    Newest,
    /// The newest events before a number.
    Before(u64),
    /// The oldest events after a number.
    After(u64),
}

impl ActivityQuery {
    const BEFORE: &str = "before";
    const AFTER: &str = "after";
    const MAX_LIMIT: usize = 1_000;
    const DEFAULT_LIMIT: usize = 100;

    /// Parses the query string of the page.
    pub fn parse(query: Option<&str>) -> Result<Self, InvalidParameter> {
        let parameters = Parameters::of_page(query);
        let before = number(&parameters, Self::BEFORE)?;
        let after = number(&parameters, Self::AFTER)?;
        let cursor = match (before, after) {
            (None, None) => PageCursor::Newest,
            (Some(before), None) => PageCursor::Before(before),
            (None, Some(after)) => PageCursor::After(after),
            (Some(_), Some(after)) => {
                return Err(InvalidParameter {
                    name: Self::AFTER.to_owned(),
                    given: after.to_string(),
                    expected: "before, after".to_owned(),
                });
            }
        };
        Ok(Self { cursor, ..Self::filters(&parameters)? })
    }

    /// Parses the query string of the feed, which always starts at the newest event.
    pub fn parse_feed(query: Option<&str>) -> Result<Self, InvalidParameter> {
        Self::filters(&Parameters::of_request(query, &["agent", "kind", "issue", "since"])?)
    }

    /// Parses the query string of the JSON API into filters, the number that the events come after, and the limit.
    pub fn parse_request(query: Option<&str>) -> Result<(Self, u64, usize), InvalidParameter> {
        let known = ["agent", "kind", "issue", "since", Self::AFTER, "limit"];
        let parameters = Parameters::of_request(query, &known)?;
        let expected = || format!("1 … {}", Self::MAX_LIMIT);
        let limit = parameters.get("limit", expected, |text| {
            text.parse().ok().filter(|limit| (1..=Self::MAX_LIMIT).contains(limit))
        })?;
        let after = number(&parameters, Self::AFTER)?.unwrap_or_default();
        Ok((Self::filters(&parameters)?, after, limit.unwrap_or(Self::DEFAULT_LIMIT)))
    }

    fn filters(parameters: &Parameters) -> Result<Self, InvalidParameter> {
        let kinds = || joined(EventKind::WORDS.into_iter());
        let since = |text: &str| {
            let time = TimeArg::parse(text, &Utc).ok()?;
            Some(Since { text: text.to_owned(), time })
        };
        Ok(Self {
            agent: parameters.all("agent").last().map(str::to_owned),
            kind: parameters.get("kind", kinds, kind_from_word)?,
            issue: issue(parameters, "issue")?,
            since: parameters.get("since", || time_arg::FORMS.to_owned(), since)?,
            cursor: PageCursor::Newest,
        })
    }

    /// Returns the query string with its question mark, or an empty string if there are no parameters.
    pub fn query_string(&self) -> String {
        let parameters = [
            ("agent", self.agent.clone()),
            ("kind", self.kind.map(str::to_owned)),
            ("issue", self.issue.as_ref().map(ToString::to_string)),
            ("since", self.since.as_ref().map(|since| since.text.clone())),
            match self.cursor {
                PageCursor::Newest => (Self::BEFORE, None),
                PageCursor::Before(number) => (Self::BEFORE, Some(number.to_string())),
                PageCursor::After(number) => (Self::AFTER, Some(number.to_string())),
            },
        ];
        query_string(parameters.into_iter().filter_map(|(name, value)| Some((name, value?))))
    }

    /// Returns true if the query matches all events.
    pub fn is_unfiltered(&self) -> bool {
        self.at(PageCursor::Newest) == Self::default()
    }

    /// Returns the same query for another page.
    pub fn at(&self, cursor: PageCursor) -> Self {
        Self { cursor, ..self.clone() }
    }
}

fn number(parameters: &Parameters, name: &str) -> Result<Option<u64>, InvalidParameter> {
    parameters.get(name, || "0, 1, 2, …".to_owned(), |text| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_queries_are_parsed_and_written() {
        for (query, expected) in [
            ("", ""),
            ("agent=&kind=&since=", ""),
            ("agent=x%26y&kind=claimed", "?agent=x%26y&kind=claimed"),
            ("since=2026-11-21+13:00&after=7", "?since=2026-11-21+13%3A00&after=7"),
            ("before=8&issue=3F2A9C1E", "?issue=3f2a9c1e&before=8"),
        ] {
            let parsed = ActivityQuery::parse(Some(query)).unwrap();
            assert_eq!(parsed.query_string(), expected, "{query}");
        }
        let request = ActivityQuery::parse_request(Some("after=7")).unwrap();
        assert_eq!((request.1, request.2), (7, 100));
        for (query, parameter, expected) in [
            ("kind=done", "kind", "review_started"),
            ("issue=3f2a", "issue", "8"),
            ("since=soon", "since", "2h"),
            ("before=-1", "before", "1"),
            ("before=5&after=1", "after", "before"),
        ] {
            let bad = ActivityQuery::parse(Some(query)).unwrap_err();
            assert_eq!(bad.name, parameter, "{query}");
            assert!(bad.expected.contains(expected), "{bad:?}");
        }
        for limit in ["limit=0", "limit=1001", "limit=x"] {
            let bad = ActivityQuery::parse_request(Some(limit)).unwrap_err();
            assert!(bad.expected.contains("1000"), "{bad:?}");
        }
        assert!(ActivityQuery::parse_feed(Some("after=1")).is_err());
    }
}
