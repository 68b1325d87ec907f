//! What the address of a page asks for, and addresses that ask for something else.

use chrono::Utc;
use form_urlencoded::Serializer;

use crate::activity::kind_from_word;
use crate::domain::{Classification, EventKind, IssueRef, Status, Statuses};
use crate::overview::stats::Range;
use crate::overview::{Direction, Filter, SortKey, Sorting};
use crate::time_arg::{self, TimeArg};

/// The word for the statuses that issues can leave.
const OPEN: &str = "open";
/// The most characters of a search.
const MAX_SEARCH_CHARS: usize = 200;
/// The most texts of a search.
const MAX_TEXTS: usize = 10;

/// What is wrong with an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct BadAddress {
    /// The name of the parameter.
    pub parameter: String,
    /// What it was.
    pub given: String,
    /// What it may be.
    pub expected: String,
}

/// The parameters of an address, of which each that is empty counts as not given.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Those of a query string, all of which have to be known.
    pub fn of(query: Option<&str>, known: &[&str]) -> Result<Self, BadAddress> {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        let pairs: Vec<_> = pairs.filter(|(_, value)| !value.trim().is_empty()).collect();
        match pairs.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, value)) => Err(BadAddress {
                parameter: name.clone(),
                given: value.clone(),
                expected: known.join(", "),
            }),
            None => Ok(Self(pairs)),
        }
    }

    /// Every value of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.trim())
    }

    /// What a parameter means: the last value, if it is given several times.
    pub fn parsed<T>(
        &self,
        name: &str,
        expected: impl FnOnce() -> String,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, BadAddress> {
        let Some(given) = self.all(name).last() else { return Ok(None) };
        let bad = || BadAddress {
            parameter: name.to_owned(),
            given: given.to_owned(),
            expected: expected(),
        };
        parse(given).map(Some).ok_or_else(bad)
    }
}

/// A list of issues, as an address asks for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ListAddress {
    /// In one of these statuses.
    pub statuses: Statuses,
    /// Of this classification.
    pub kind: Option<Classification>,
    /// To which this agent did anything.
    pub agent: Option<String>,
    /// In which these words occur.
    pub search: String,
    /// In this order.
    pub order: Sorting,
    /// Which page of it, from 1; 0 for the first.
    pub page: usize,
}

impl ListAddress {
    const PARAMETERS: [&str; 7] = ["status", "classification", "agent", "q", "sort", "dir", "page"];

    /// Reads the query part of an address.
    pub fn parse(query: Option<&str>) -> Result<Self, BadAddress> {
        let parameters = Parameters::of(query, &Self::PARAMETERS)?;
        let key = parameters.parsed("sort", sort_words, sort_key)?.unwrap_or_default();
        let expected = || "asc, desc".to_owned();
        let direction = parameters.parsed("dir", expected, |word| match word {
            "asc" => Some(Direction::Ascending),
            "desc" => Some(Direction::Descending),
            _ => None,
        })?;
        let expected = || "1, 2, 3, …".to_owned();
        let number = |text: &str| text.parse().ok().filter(|&page: &usize| page > 0);
        let at_most = || format!("{MAX_SEARCH_CHARS} characters, {MAX_TEXTS} words");
        let search = parameters.parsed("q", at_most, |text| {
            let fits = text.chars().count() <= MAX_SEARCH_CHARS && texts(text).len() <= MAX_TEXTS;
            fits.then(|| text.to_owned())
        })?;
        let kinds = || joined(Classification::ALL.iter().map(|kind| kind.as_str()));
        Ok(Self {
            statuses: statuses(&parameters)?,
            kind: parameters.parsed("classification", kinds, Classification::from_word)?,
            agent: parameters.all("agent").last().map(str::to_owned),
            search: search.unwrap_or_default(),
            order: Sorting { key, direction: direction.unwrap_or(first_direction(key)) },
            page: parameters.parsed("page", expected, number)?.unwrap_or_default(),
        })
    }

    /// Which issues those are.
    pub fn filter(&self) -> Filter {
        Filter {
            statuses: self.statuses,
            classification: self.kind,
            agent: self.agent.clone(),
            texts: texts(&self.search),
        }
    }

    /// The query part that asks for this, with the question mark; empty for what needs none.
    pub fn query(&self) -> String {
        query_of(self.parameters())
    }

    /// The parameters that ask for this.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = Vec::new();
        if self.statuses == Statuses::open() {
            parameters.push(("status", OPEN.to_owned()));
        } else if self.statuses != Statuses::ALL {
            parameters.extend(self.statuses.iter().map(|it| ("status", it.to_string())));
        }
        parameters.extend(self.kind.map(|kind| ("classification", kind.to_string())));
        parameters.extend(self.agent.clone().map(|agent| ("agent", agent)));
        if !self.search.is_empty() {
            parameters.push(("q", self.search.clone()));
        }
        if self.order.key != SortKey::default() {
            parameters.push(("sort", sort_word(self.order.key).to_owned()));
        }
        if self.order.direction != first_direction(self.order.key) {
            let word = match self.order.direction {
                Direction::Ascending => "asc",
                Direction::Descending => "desc",
            };
            parameters.push(("dir", word.to_owned()));
        }
        if self.page > 1 {
            parameters.push(("page", self.page.to_string()));
        }
        parameters
    }

    /// Whether all issues are asked for, in whichever order.
    pub fn is_unfiltered(&self) -> bool {
        self.filter() == Filter::default()
    }

    /// The first page of the same in other statuses.
    pub fn in_statuses(&self, statuses: Statuses) -> Self {
        Self { statuses, page: 0, ..self.clone() }
    }

    /// Another page of the same.
    pub fn at_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }

    /// The same by another key, or by the same one the other way round.
    pub fn sorted_by(&self, key: SortKey) -> Self {
        let direction = match self.order.direction {
            _ if self.order.key != key => first_direction(key),
            Direction::Ascending => Direction::Descending,
            Direction::Descending => Direction::Ascending,
        };
        Self { order: Sorting { key, direction }, page: 0, ..self.clone() }
    }
}

/// What happened, as an address asks for it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ActivityAddress {
    /// What this agent did.
    pub agent: Option<String>,
    /// What is of this kind.
    pub kind: Option<&'static str>,
    /// What happened to this issue.
    pub issue: Option<IssueRef>,
    /// What happened since then.
    pub since: Option<Since>,
    /// Which part of it.
    pub part: Part,
}

/// A point in time, as it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Since {
    pub text: String,
    pub time: TimeArg,
}

/// A part of what happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Part {
    /// The newest events.
    #[default]
    Newest,
    /// The events right before a number.
    Before(u64),
    /// The events right after a number.
    After(u64),
}

impl ActivityAddress {
    const BEFORE: &str = "before";
    const AFTER: &str = "after";
    /// The most events of one answer to a program, and how many it has unless it asks for others.
    const MAX_LIMIT: usize = 1_000;
    const USUAL_LIMIT: usize = 100;

    /// Reads the query part of the address of a page.
    pub fn parse(query: Option<&str>) -> Result<Self, BadAddress> {
        let parameters =
            Parameters::of(query, &["agent", "kind", "issue", "since", Self::BEFORE, Self::AFTER])?;
        let before = number(&parameters, Self::BEFORE)?;
        let after = number(&parameters, Self::AFTER)?;
        let part = match (before, after) {
            (None, None) => Part::Newest,
            (Some(before), None) => Part::Before(before),
            (None, Some(after)) => Part::After(after),
            (Some(_), Some(after)) => {
                return Err(BadAddress {
                    parameter: Self::AFTER.to_owned(),
                    given: after.to_string(),
                    expected: "before, after".to_owned(),
                });
            }
        };
        Ok(Self { part, ..Self::filters(&parameters)? })
    }

    /// Reads the query part of the address of a feed, which is always of the newest events.
    pub fn parse_feed(query: Option<&str>) -> Result<Self, BadAddress> {
        Self::filters(&Parameters::of(query, &["agent", "kind", "issue", "since"])?)
    }

    /// Reads what a program asks for: the filters, the number after which the events are to begin, and how many
    /// it wants at most.
    pub fn parse_request(query: Option<&str>) -> Result<(Self, u64, usize), BadAddress> {
        let known = ["agent", "kind", "issue", "since", Self::AFTER, "limit"];
        let parameters = Parameters::of(query, &known)?;
        let expected = || format!("1 … {}", Self::MAX_LIMIT);
        let limit = parameters.parsed("limit", expected, |text| {
            text.parse().ok().filter(|limit| (1..=Self::MAX_LIMIT).contains(limit))
        })?;
        let after = number(&parameters, Self::AFTER)?.unwrap_or_default();
        Ok((Self::filters(&parameters)?, after, limit.unwrap_or(Self::USUAL_LIMIT)))
    }

    fn filters(parameters: &Parameters) -> Result<Self, BadAddress> {
        let kinds = || joined(EventKind::WORDS.into_iter());
        let id = || format!("{} … 32 hex digits", IssueRef::MIN_DIGITS);
        let since = |text: &str| {
            let time = TimeArg::parse(text, &Utc).ok()?;
            Some(Since { text: text.to_owned(), time })
        };
        Ok(Self {
            agent: parameters.all("agent").last().map(str::to_owned),
            kind: parameters.parsed("kind", kinds, kind_from_word)?,
            issue: parameters.parsed("issue", id, |text| text.parse().ok())?,
            since: parameters.parsed("since", || time_arg::FORMS.to_owned(), since)?,
            part: Part::Newest,
        })
    }

    /// The query part that asks for this, with the question mark; empty for what needs none.
    pub fn query(&self) -> String {
        let parameters = [
            ("agent", self.agent.clone()),
            ("kind", self.kind.map(str::to_owned)),
            ("issue", self.issue.as_ref().map(ToString::to_string)),
            ("since", self.since.as_ref().map(|since| since.text.clone())),
            match self.part {
                Part::Newest => (Self::BEFORE, None),
                Part::Before(number) => (Self::BEFORE, Some(number.to_string())),
                Part::After(number) => (Self::AFTER, Some(number.to_string())),
            },
        ];
        query_of(parameters.into_iter().filter_map(|(name, value)| Some((name, value?))))
    }

    /// Whether everything is asked for, in whichever part.
    pub fn is_unfiltered(&self) -> bool {
        self.at(Part::Newest) == Self::default()
    }

    /// Another part of the same.
    pub fn at(&self, part: Part) -> Self {
        Self { part, ..self.clone() }
    }
}

fn number(parameters: &Parameters, name: &str) -> Result<Option<u64>, BadAddress> {
    parameters.parsed(name, || "0, 1, 2, …".to_owned(), |text| text.parse().ok())
}

fn query_of(parameters: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let mut query = Serializer::new(String::new());
    parameters.into_iter().for_each(|(name, value)| {
        query.append_pair(name, &value);
    });
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// The range that an address of statistics asks for; a week, unless it says otherwise.
pub(super) fn stats_range(query: Option<&str>) -> Result<Range, BadAddress> {
    let known = || joined(Range::ALL.iter().map(|range| range.as_str()));
    let parameters = Parameters::of(query, &["range"])?;
    Ok(parameters.parsed("range", known, Range::from_word)?.unwrap_or(Range::Week))
}

fn statuses(parameters: &Parameters) -> Result<Statuses, BadAddress> {
    let mut found = Vec::new();
    for word in parameters.all("status") {
        match Status::from_word(word) {
            Some(status) => found.push(status),
            None if word == OPEN => found.extend(Statuses::open().iter()),
            None => {
                let words = Status::ALL.iter().map(|status| status.as_str());
                return Err(BadAddress {
                    parameter: "status".to_owned(),
                    given: word.to_owned(),
                    expected: joined(words.chain([OPEN])),
                });
            }
        }
    }
    Ok(if found.is_empty() { Statuses::ALL } else { found.into_iter().collect() })
}

/// The texts of a search, in lower case: words, and what stands in quotation marks as it is.
fn texts(search: &str) -> Vec<String> {
    let parts = search.to_lowercase();
    let parts = parts.split('"').enumerate();
    let texts = parts.flat_map(|(number, part)| {
        // Every second part stands in quotation marks.
        let is_quoted = number % 2 == 1;
        let texts: Vec<&str> =
            if is_quoted { vec![part] } else { part.split_whitespace().collect() };
        texts.into_iter().filter(|text| !text.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    });
    texts.collect()
}

/// In which direction people want to see an order first.
fn first_direction(key: SortKey) -> Direction {
    match key {
        SortKey::Created | SortKey::Activity => Direction::Descending,
        _ => Direction::Ascending,
    }
}

fn sort_word(key: SortKey) -> &'static str {
    match key {
        SortKey::Title => "title",
        SortKey::Classification => "kind",
        SortKey::Status => "status",
        SortKey::Agent => "agent",
        SortKey::Created => "created",
        SortKey::Activity => "activity",
    }
}

fn sort_key(word: &str) -> Option<SortKey> {
    SortKey::ALL.iter().copied().find(|&key| sort_word(key) == word)
}

fn sort_words() -> String {
    joined(SortKey::ALL.iter().map(|&key| sort_word(key)))
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> ListAddress {
        ListAddress::parse(Some(query)).unwrap()
    }

    #[test]
    fn what_an_address_asks_for_stands_in_the_address_that_is_made_of_it() {
        for (query, expected) in [
            ("", ""),
            ("status=&q=&page=1&sort=activity&dir=desc", ""),
            ("status=closed", "?status=closed"),
            ("status=closed&status=created", "?status=created&status=closed"),
            ("status=open", "?status=open"),
            ("status=created&status=in_progress&status=completed&status=in_review", "?status=open"),
            ("q=a+%22b++c%22&agent=x%26y", "?agent=x%26y&q=a+%22b++c%22"),
            ("sort=title", "?sort=title"),
            ("sort=title&dir=asc", "?sort=title"),
            ("sort=title&dir=desc&page=3", "?sort=title&dir=desc&page=3"),
            ("sort=created&dir=asc&classification=bug", "?classification=bug&sort=created&dir=asc"),
        ] {
            assert_eq!(parsed(query).query(), expected, "{query}");
        }
    }

    #[test]
    fn what_an_address_cannot_ask_for_is_named() {
        for (query, parameter, expected) in [
            ("status=done", "status", "in_progress"),
            ("classification=task", "classification", "improvement"),
            ("sort=size", "sort", "activity"),
            ("dir=up", "dir", "desc"),
            ("page=0", "page", "1"),
            ("page=-1", "page", "1"),
            ("page=x", "page", "1"),
            ("staus=closed", "staus", "status"),
            (&format!("q={}", "x".repeat(201)), "q", "200"),
            ("q=a+b+c+d+e+f+g+h+i+j+k", "q", "10"),
        ] {
            let bad = ListAddress::parse(Some(query)).unwrap_err();
            assert_eq!(bad.parameter, parameter, "{query}");
            assert!(bad.expected.contains(expected), "{bad:?}");
        }
    }

    #[test]
    fn what_an_address_of_activity_asks_for_stands_in_the_one_that_is_made_of_it() {
        for (query, expected) in [
            ("", ""),
            ("agent=&kind=&since=", ""),
            ("agent=x%26y&kind=claimed", "?agent=x%26y&kind=claimed"),
            ("since=2026-11-21+13:00&after=7", "?since=2026-11-21+13%3A00&after=7"),
            ("before=8&issue=3F2A9C1E", "?issue=3f2a9c1e&before=8"),
        ] {
            let address = ActivityAddress::parse(Some(query)).unwrap();
            assert_eq!(address.query(), expected, "{query}");
        }
        let request = ActivityAddress::parse_request(Some("after=7")).unwrap();
        assert_eq!((request.1, request.2), (7, 100));
        for (query, parameter, expected) in [
            ("kind=done", "kind", "review_started"),
            ("issue=3f2a", "issue", "8"),
            ("since=soon", "since", "2h"),
            ("before=-1", "before", "1"),
            ("before=5&after=1", "after", "before"),
            ("limit=5", "limit", "since"),
        ] {
            let bad = ActivityAddress::parse(Some(query)).unwrap_err();
            assert_eq!(bad.parameter, parameter, "{query}");
            assert!(bad.expected.contains(expected), "{bad:?}");
        }
        for limit in ["limit=0", "limit=1001", "limit=x"] {
            let bad = ActivityAddress::parse_request(Some(limit)).unwrap_err();
            assert!(bad.expected.contains("1000"), "{bad:?}");
        }
        assert!(ActivityAddress::parse_feed(Some("after=1")).is_err());
    }

    #[test]
    fn words_count_for_themselves_and_quoted_texts_as_they_are() {
        for (search, expected) in [
            ("", &[][..]),
            ("One  two", &["one", "two"]),
            ("a \"B  c\" d", &["a", "b  c", "d"]),
            ("\"open end", &["open end"]),
            ("x\"y\"\"\"", &["x", "y"]),
        ] {
            assert_eq!(texts(search), expected, "{search}");
        }
    }

    #[test]
    fn a_column_that_is_chosen_again_turns_round() {
        let by_title = parsed("page=4&q=x").sorted_by(SortKey::Title);
        assert_eq!(by_title.query(), "?q=x&sort=title");
        assert_eq!(by_title.sorted_by(SortKey::Title).query(), "?q=x&sort=title&dir=desc");
        assert_eq!(by_title.sorted_by(SortKey::Activity).query(), "?q=x");
    }
}
