//! The query string of the list of issues.

use std::collections::{BTreeMap, BTreeSet};

use super::{InvalidParameter, Parameters, issue, joined, query_string};
use ait_domain::string_enum;
use ait_domain::{
    Classification, Condition, FieldValue, IssueId, IssueRef, Label, Order, Query, Status,
    StatusSet, Timestamp, ValueField,
};
use ait_query::field_selection::{BadSelection, FieldSelection};
use ait_query::{ParsedQuery, condition};

/// The value of `status` that stands for all statuses in which an issue is open.
const OPEN: &str = "open";
/// The values that stand for all statuses, as commands and tools take them.
const ALL: [&str; 2] = ["all", "any"];

string_enum! {
    /// A state of issues by which the list is filtered. In the query language each is a value of `is`.
    pub(crate) enum ListState {
        Ready = "ready",
        Blocked = "blocked",
        Parked = "parked",
        Overdue = "overdue",
    }
}

/// A query for a page of the list of issues.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ListQuery {
    /// Those that the address names, if any. `None` stands for all, on the page for [the usual ones](Self::on_page).
    pub statuses: Option<StatusSet>,
    pub classification: Option<Classification>,
    /// An agent that acted on the issues.
    pub agent: Option<String>,
    /// A text in the query language.
    pub search: String,
    /// The values of fields, as the query language has them.
    pub values: BTreeMap<ValueField, String>,
    /// Labels that the issues have, all of them; ascending.
    pub labels: Vec<Label>,
    /// The agent that the issues are assigned to.
    pub assignee: Option<String>,
    /// The issue that they are parts of.
    pub parent: Option<IssueRef>,
    /// The states that they are in, all of them.
    pub states: BTreeSet<ListState>,
    /// The order, if the link names one.
    pub order: Option<Sorting>,
    /// The number of the page, from 1; 0 stands for the first page, too.
    pub page: usize,
    /// The fields of each issue, for the JSON of the list.
    pub fields: Option<FieldSelection>,
}

impl ListQuery {
    /// Parses the query string of the page of the list.
    pub fn parse(query: Option<&str>) -> Result<Self, InvalidParameter> {
        Self::of(&Parameters::of_page(query))
    }

    /// Parses the query string of a request for a list.
    pub fn parse_request(query: Option<&str>) -> Result<Self, InvalidParameter> {
        #[rustfmt::skip]
        let others = [
            "status", "classification", "label", "parent", "agent", "q", "sort", "dir", "page", "fields",
        ];
        let others = others.into_iter().chain(ListState::words());
        let known: Vec<_> = others.chain(ValueField::words()).collect();
        Self::of(&Parameters::of_request(query, &known)?)
    }

    fn of(parameters: &Parameters) -> Result<Self, InvalidParameter> {
        let key = |word: &str| ORDERS.iter().find(|(name, _)| *name == word).map(|(_, key)| *key);
        let key = parameters.get("sort", sort_words, key)?;
        let expected = || joined(Direction::words());
        let direction = parameters.get("dir", expected, Direction::from_word)?;
        let expected = || "1, 2, 3, …".to_owned();
        let number = |text: &str| text.parse().ok().filter(|&page: &usize| page > 0);
        let kinds = || joined(Classification::words());
        Ok(Self {
            statuses: statuses(parameters)?,
            classification: parameters.get("classification", kinds, Classification::from_word)?,
            agent: parameters.all("agent").last().map(str::to_owned),
            search: parameters.all("q").last().unwrap_or_default().to_owned(),
            values: values(parameters)?,
            labels: labels(parameters)?,
            assignee: parameters.all("assignee").last().map(str::to_owned),
            parent: issue(parameters, "parent")?,
            states: states(parameters)?,
            order: (key.is_some() || direction.is_some())
                .then(|| Sorting::in_direction(key.unwrap_or(Sorting::default().key), direction)),
            page: parameters.get("page", expected, number)?.unwrap_or_default(),
            fields: fields(parameters)?,
        })
    }

    /// Returns the query without the search, at a time. `parent` is the issue that it names.
    pub fn base(&self, parent: Option<IssueId>, now: Timestamp) -> Query {
        let labels = self.labels.iter().map(|label| Condition::Label(Some(label.clone())));
        let states = self.states.iter().map(|state| ("is", state.as_str()));
        let values = self.values.iter().map(|(field, value)| (field.as_str(), value.as_str()));
        let terms = values.chain(states);
        // They were parsed before.
        let terms = terms.filter_map(|(key, value)| condition(key, value, now).ok());
        let others = [
            self.assignee.clone().map(|name| Condition::Assignee(Some(name))),
            parent.map(|id| Condition::Parent(id..=id)),
            self.agent.clone().map(Condition::Involves),
        ];
        Query {
            statuses: self.statuses.unwrap_or(StatusSet::ALL),
            classification: self.classification,
            condition: Condition::all(others.into_iter().flatten().chain(labels).chain(terms)),
            ..Query::default()
        }
    }

    /// Returns the order. One that the link names wins over that of the search.
    pub fn sorting(&self, search: &ParsedQuery) -> Sorting {
        let of_search = || search.order().map(|(key, reversed)| Sorting { key, reversed });
        self.order.or_else(of_search).unwrap_or_default()
    }

    /// Returns the query string with its question mark, or an empty string if there are no parameters.
    pub fn query_string(&self) -> String {
        query_string(self.parameters())
    }

    /// Returns the parameters that differ from the defaults.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = Vec::new();
        if let Some(statuses) = self.statuses {
            let group = [(StatusSet::open(), OPEN), (StatusSet::ALL, ALL[0])];
            match group.iter().find(|(all, _)| *all == statuses) {
                Some((_, word)) => parameters.push(("status", (*word).to_owned())),
                None => {
                    parameters.extend(statuses.iter().map(|one| ("status", one.to_string())));
                }
            }
        }
        parameters.extend(self.classification.map(|kind| ("classification", kind.to_string())));
        let values = self.values.iter();
        parameters.extend(values.map(|(field, value)| (field.as_str(), value.clone())));
        parameters.extend(self.labels.iter().map(|label| ("label", label.to_string())));
        parameters.extend(self.assignee.clone().map(|assignee| ("assignee", assignee)));
        parameters.extend(self.parent.as_ref().map(|parent| ("parent", parent.to_string())));
        let states = self.states.iter();
        parameters.extend(states.map(|state| (state.as_str(), "true".to_owned())));
        parameters.extend(self.agent.clone().map(|agent| ("agent", agent)));
        if !self.search.is_empty() {
            parameters.push(("q", self.search.clone()));
        }
        if let Some(order) = self.order {
            // A search may name another order.
            if order.key != Sorting::default().key || !self.search.is_empty() {
                let word = ORDERS.iter().filter(|(_, key)| *key == order.key);
                parameters.extend(word.map(|(word, _)| ("sort", (*word).to_owned())));
            }
            if order.reversed {
                parameters.push(("dir", order.direction().to_string()));
            }
        }
        if self.page > 1 {
            parameters.push(("page", self.page.to_string()));
        }
        parameters
    }

    /// Returns true if the query matches all issues, or those of some statuses.
    fn is_of_statuses(&self) -> bool {
        let Self { order, page, statuses, .. } = *self;
        let fields = self.fields.clone();
        *self == Self { order, page, fields, statuses, ..Self::default() }
    }

    /// Returns true if the query matches all issues.
    pub fn is_unfiltered(&self) -> bool {
        self.is_of_statuses() && self.statuses.is_none_or(|statuses| statuses == StatusSet::ALL)
    }

    /// Returns the query with the statuses that the page shows: it begins with the open issues, and a filter or a
    /// search looks in all statuses.
    pub fn on_page(&self) -> Self {
        let usual = self.is_of_statuses().then(StatusSet::open);
        Self { statuses: self.statuses.or(usual), ..self.clone() }
    }

    /// Returns the same query for other statuses, at its first page.
    pub fn in_statuses(&self, statuses: StatusSet) -> Self {
        Self { statuses: Some(statuses), page: 0, ..self.clone() }
    }

    /// Returns the query of a tab of the page: the one for the open issues leads to where the page begins.
    pub fn on_tab(&self, statuses: StatusSet) -> Self {
        let is_usual = self.is_of_statuses() && statuses == StatusSet::open();
        Self { statuses: (!is_usual).then_some(statuses), page: 0, ..self.clone() }
    }

    /// Returns the same query for issues that have a label, too.
    pub fn with_label(&self, label: &Label) -> Self {
        let mut labels = self.labels.clone();
        labels.extend((!labels.contains(label)).then(|| label.clone()));
        labels.sort_unstable();
        Self { labels, page: 0, ..self.clone() }
    }

    /// Returns the same query for issues that are in a state, too.
    pub fn with_state(&self, state: ListState) -> Self {
        let states = self.states.iter().copied().chain([state]).collect();
        Self { states, page: 0, ..self.clone() }
    }

    /// Returns the same query for issues with a value of a field, or for any value if it is empty.
    pub fn with_value(&self, field: ValueField, value: String) -> Self {
        let mut query = self.at_page(0);
        query.values.insert(field, value);
        query.values.retain(|_, value| !value.is_empty());
        query
    }

    /// Returns the same query without a state.
    pub fn without_state(&self, state: ListState) -> Self {
        let states = self.states.iter().copied().filter(|other| *other != state).collect();
        Self { states, page: 0, ..self.clone() }
    }

    /// Returns the same query without a label.
    pub fn without_label(&self, label: &Label) -> Self {
        let labels = self.labels.iter().filter(|other| *other != label).cloned().collect();
        Self { labels, page: 0, ..self.clone() }
    }

    /// Returns the same query for another page.
    pub fn at_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }

    /// Returns the query sorted by another key, or in the opposite direction if its order is by this key.
    pub fn sorted_by(&self, key: Order, order: Sorting) -> Self {
        let reversed = order.key == key && !order.reversed;
        Self { order: Some(Sorting { key, reversed }), page: 0, ..self.clone() }
    }
}

/// Parses a selection of fields.
fn fields(parameters: &Parameters) -> Result<Option<FieldSelection>, InvalidParameter> {
    let Some(given) = parameters.all("fields").last() else { return Ok(None) };
    given.parse().map(Some).map_err(|error: BadSelection| InvalidParameter {
        name: "fields".to_owned(),
        given: given.to_owned(),
        expected: error.to_string(),
    })
}

/// Parses the states, which can only be switched on.
fn states(parameters: &Parameters) -> Result<BTreeSet<ListState>, InvalidParameter> {
    let mut states = BTreeSet::new();
    for state in ListState::ALL {
        let parse = |text: &str| (text == "true").then_some(*state);
        states.extend(parameters.get(state.as_str(), || "true".to_owned(), parse)?);
    }
    Ok(states)
}

/// Parses the values of fields, which may be repeated or separated by commas. The name of an assignee may have commas.
fn values(parameters: &Parameters) -> Result<BTreeMap<ValueField, String>, InvalidParameter> {
    let mut values = BTreeMap::new();
    for field in ValueField::ALL.iter().filter(|field| **field != ValueField::Assignee) {
        let name = field.as_str();
        let words = parameters.all(name).flat_map(|given| given.split(','));
        let words = words.map(|word| match FieldValue::parse(*field, word) {
            Ok(value) => value.to_string(),
            Err(_) => word.trim().to_owned(),
        });
        let given = words.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(",");
        if given.is_empty() {
            continue;
        }
        if let Err(expected) = condition(name, &given, Timestamp::from_unix_millis(0)) {
            return Err(InvalidParameter { name: name.to_owned(), given, expected });
        }
        values.insert(*field, given);
    }
    Ok(values)
}

fn labels(parameters: &Parameters) -> Result<Vec<Label>, InvalidParameter> {
    let mut found = BTreeSet::new();
    for given in parameters.all("label") {
        found.insert(given.parse().map_err(|_| InvalidParameter {
            name: "label".to_owned(),
            given: given.to_owned(),
            expected: format!("1 … {} characters of a-z, 0-9 and :._/-", Label::MAX_CHARS),
        })?);
    }
    Ok(found.into_iter().collect())
}

fn statuses(parameters: &Parameters) -> Result<Option<StatusSet>, InvalidParameter> {
    let mut found = Vec::new();
    for word in parameters.all("status") {
        let statuses = StatusSet::from_word(word).ok_or_else(|| InvalidParameter {
            name: "status".to_owned(),
            given: word.to_owned(),
            expected: joined(Status::words().chain([OPEN]).chain(ALL)),
        })?;
        found.extend(statuses.iter());
    }
    Ok((!found.is_empty()).then(|| found.into_iter().collect()))
}

/// The orders of a list, each with the name that links have for it.
const ORDERS: [(&str, Order); 9] = [
    ("title", Order::Title),
    ("kind", Order::Classification),
    ("status", Order::Status),
    ("agent", Order::Holder),
    ("created", Order::Created),
    ("activity", Order::LatestActivity),
    ("priority", Order::Priority),
    ("filed", Order::Filed),
    ("relevance", Order::Relevance),
];

fn sort_words() -> String {
    joined(ORDERS.iter().map(|(word, _)| *word))
}

string_enum! {
    /// A direction of an order.
    enum Direction {
        /// Smallest first.
        Ascending = "asc",
        /// Largest first.
        Descending = "desc",
    }
}

/// An order and its direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Sorting {
    pub key: Order,
    /// Whether it is reversed.
    pub reversed: bool,
}

/// Last changed first.
impl Default for Sorting {
    fn default() -> Self {
        Self { key: Order::LatestActivity, reversed: false }
    }
}

impl Sorting {
    /// Returns an order in a direction.
    fn in_direction(key: Order, direction: Option<Direction>) -> Self {
        let usual = Self { key, reversed: false };
        let reversed = direction.is_some_and(|direction| direction != usual.direction());
        Self { key, reversed }
    }

    fn direction(self) -> Direction {
        let begins_with_last = matches!(
            self.key,
            Order::LatestActivity | Order::Created | Order::Relevance | Order::Match
        );
        if begins_with_last == self.reversed { Direction::Ascending } else { Direction::Descending }
    }

    /// Returns the direction as tables say it.
    pub fn spoken(self) -> &'static str {
        match self.direction() {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(query: &str) -> ListQuery {
        ListQuery::parse(Some(query)).unwrap()
    }

    #[test]
    fn list_queries_survive_a_round_trip() {
        for (query, expected) in [
            ("", ""),
            ("status=&q=&page=1&sort=activity&dir=desc", ""),
            ("status=closed", "?status=closed"),
            ("status=closed&status=created", "?status=created&status=closed"),
            ("status=open", "?status=open"),
            ("status=created&status=in_progress&status=completed&status=in_review", "?status=open"),
            ("q=a+%22b++c%22&agent=x%26y", "?agent=x%26y&q=a+%22b++c%22"),
            ("sort=title", "?sort=title"),
            ("q=sort:title&sort=activity", "?q=sort%3Atitle&sort=activity"),
            ("sort=title&dir=asc", "?sort=title"),
            ("sort=title&dir=desc&page=3", "?sort=title&dir=desc&page=3"),
            ("priority=1,0&priority=p1", "?priority=0%2C1"),
            ("estimate=0.50&due=<3d", "?due=%3C3d&estimate=0.5"),
            ("label=ui&label=api&label=ui", "?label=api&label=ui"),
            ("assignee=x%26y&parent=3F2A9C1E", "?assignee=x%26y&parent=3f2a9c1e"),
            (
                "parked=true&ready=true&blocked=true&assignee=&priority=&label=",
                "?ready=true&blocked=true&parked=true",
            ),
            ("sort=created&dir=asc&classification=bug", "?classification=bug&sort=created&dir=asc"),
        ] {
            assert_eq!(parsed(query).query_string(), expected, "{query}");
        }
    }

    #[test]
    fn errors_name_the_invalid_list_parameter() {
        for (query, parameter, expected) in [
            ("status=done", "status", "in_progress"),
            ("classification=wish", "classification", "improvement"),
            ("sort=size", "sort", "activity"),
            ("dir=up", "dir", "desc"),
            ("page=0", "page", "1"),
            ("page=-1", "page", "1"),
            ("page=x", "page", "1"),
            ("staus=closed", "staus", "status"),
            ("priority=5", "priority", "0 (first) to 4"),
            ("priority=0,", "priority", "0..1"),
            ("estimate=large", "estimate", ">=0.5"),
            ("label=UI", "label", "a-z"),
            ("parent=3f2a", "parent", "8"),
            ("ready=yes", "ready", "true"),
            ("blocked=false", "blocked", "true"),
            ("parked=1", "parked", "true"),
        ] {
            let bad = ListQuery::parse_request(Some(query)).unwrap_err();
            assert_eq!(bad.name, parameter, "{query}");
            assert!(bad.expected.contains(expected), "{bad:?}");
        }
    }

    #[test]
    fn sorting_by_the_same_key_reverses_the_direction() {
        let order = Sorting { key: Order::Title, reversed: false };
        let query = parsed("page=4&q=x");
        let by_title = query.sorted_by(Order::Title, Sorting::default());
        assert_eq!(by_title.query_string(), "?q=x&sort=title");
        let again = by_title.sorted_by(Order::Title, order);
        assert_eq!(again.query_string(), "?q=x&sort=title&dir=desc");
        let by_activity = by_title.sorted_by(Order::LatestActivity, order);
        assert_eq!(by_activity.query_string(), "?q=x&sort=activity");
    }
}
