//! Parses and writes the query strings of pages.

mod activity;
mod list;
mod place;

use form_urlencoded::Serializer;

pub(super) use self::activity::{ActivityQuery, PageCursor};
pub(super) use self::list::{ListQuery, ListState, Sorting};
pub(super) use self::place::{Place, Rows};
use ait_domain::IssueRef;
use ait_tracker::read_model::FindingKind;
use ait_tracker::read_model::stats::Range;

/// A query parameter that is unknown or has an invalid value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct InvalidParameter {
    pub name: String,
    pub given: String,
    /// The valid values, or the known names.
    pub expected: String,
}

/// The parameters of a query string. Empty ones count as missing.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses the query string of a page. Pages ignore what they do not know, such as what trackers add to links.
    pub fn of_page(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        Self(pairs.filter(|(_, value)| !value.trim().is_empty()).collect())
    }

    /// Parses the query string of a request of a program, and rejects unknown names, such as misspelt ones.
    pub fn of_request(query: Option<&str>, known: &[&str]) -> Result<Self, InvalidParameter> {
        let parameters = Self::of_page(query);
        match parameters.0.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            Some((name, value)) => Err(InvalidParameter {
                name: name.clone(),
                given: value.clone(),
                expected: known.join(", "),
            }),
            None => Ok(parameters),
        }
    }

    /// Returns all values of a parameter.
    fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.trim())
    }

    /// Parses the last value of a parameter.
    pub fn get<T>(
        &self,
        name: &str,
        expected: impl FnOnce() -> String,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, InvalidParameter> {
        let Some(given) = self.all(name).last() else { return Ok(None) };
        let bad = || InvalidParameter {
            name: name.to_owned(),
            given: given.to_owned(),
            expected: expected(),
        };
        parse(given).map(Some).ok_or_else(bad)
    }
}

/// Parses a parameter that names an issue.
fn issue(parameters: &Parameters, name: &str) -> Result<Option<IssueRef>, InvalidParameter> {
    let form = || format!("{} … 32 hex digits", IssueRef::MIN_DIGITS);
    parameters.get(name, form, |text| IssueRef::named(text, IssueRef::MIN_DIGITS).ok())
}

fn query_string(parameters: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let mut query = Serializer::new(String::new());
    parameters.into_iter().for_each(|(name, value)| {
        query.append_pair(name, &value);
    });
    let query = query.finish();
    if query.is_empty() { query } else { format!("?{query}") }
}

/// Parses the range of the statistics. The default range is a week.
pub(super) fn stats_range(parameters: &Parameters) -> Result<Range, InvalidParameter> {
    let known = || joined(Range::words());
    Ok(parameters.get("range", known, Range::from_word)?.unwrap_or(Range::Week))
}

/// Parses which findings are asked for: those of one kind, or all.
pub(super) fn finding_kind(
    parameters: &Parameters,
) -> Result<Option<FindingKind>, InvalidParameter> {
    let known = || joined(FindingKind::words());
    parameters.get("kind", known, FindingKind::from_word)
}

pub(super) fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
