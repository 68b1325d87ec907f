//! The query language: `status:open label:ui returns:>=2 "session expired" sort:changed-desc`.
//!
//! Tools, commands and pages parse the same text here, and get a [`Condition`] with an order. The crate knows neither
//! stores nor the texts of interfaces. `docs/queries.md` describes the language for users.

pub mod field_selection;
mod keys;
mod lexer;
mod no_match;
mod paste;
mod ranges;
#[cfg(test)]
mod tests;
pub mod time_arg;

use std::collections::BTreeMap;
use std::mem;

pub use self::keys::{
    all as known_keys, condition, help as key_help, is_excluding, key_and_value, words_of,
};
pub use self::lexer::is_saved_name;
use self::lexer::{Kind, Token};
pub use self::no_match::NoMatch;
pub use ait_domain::text::nearest;
use ait_domain::{Condition, IssueRef, Order, Query, Timestamp};

/// The maximum length of a query, in characters.
pub const MAX_CHARS: usize = 1_000;
/// The maximum number of terms.
pub const MAX_TERMS: usize = 50;
/// How deep parentheses and saved queries can be nested.
pub const MAX_DEPTH: usize = 10;
/// A query with more plain words need not match all of them.
pub const MAX_REQUIRED_WORDS: usize = 8;

/// The queries that users have given names, by name.
pub type SavedQueries = BTreeMap<String, String>;

/// A parsed query.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParsedQuery {
    /// The conditions that must all hold, in the order of the text.
    terms: Vec<Term>,
    order: Option<(Order, bool)>,
}

/// A condition with the text that it was parsed from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Term {
    pub text: String,
    /// What it means.
    pub condition: Condition,
}

/// What is wrong with the text of a query.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message} (at character {position} of the query)")]
pub struct QueryError {
    /// The number of the character at which it was noticed, from 1.
    pub position: usize,
    /// What was found, what was expected, and the nearest known name.
    pub message: String,
}

impl ParsedQuery {
    /// Parses a query. Relative times are before `now`; dates and times without a zone are in UTC.
    ///
    /// # Errors
    ///
    /// Returns the first mistake. A text of more than [`MAX_REQUIRED_WORDS`] words that has hardly any valid term, such
    /// as a pasted error message, is searched as it is and is never a mistake.
    pub fn parse(text: &str, saved: &SavedQueries, now: Timestamp) -> Result<Self, QueryError> {
        refuse_long(text)?;
        if paste::is_pasted(text) {
            return Ok(paste::query(text));
        }
        match Self::exact(text, saved, now) {
            Err(_) if paste::is_mostly_words(text) => Ok(paste::query(text)),
            parsed => parsed,
        }
    }

    /// Parses a query strictly: all words of a long text must occur, and an invalid term is an error. Bulk changes use
    /// it.
    pub fn exact(text: &str, saved: &SavedQueries, now: Timestamp) -> Result<Self, QueryError> {
        refuse_long(text)?;
        let mut parser = Parser { saved, now, order: None, terms: 0, within: Vec::new() };
        let terms = parser.whole(text, 0)?;
        Ok(Self { terms, order: parser.order })
    }

    /// Returns true if it matches every issue.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns true if it says more than that words occur: a term has a key, or is the id of an issue.
    pub fn names_more_than_words(&self) -> bool {
        !self.terms.iter().all(|term| is_of_words(&term.condition))
    }

    /// Returns the conditions that must all hold, in the order of the text.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// Returns true if it names a status of issues that it finds, also in a saved query or on one side of an `OR`.
    pub fn names_status(&self) -> bool {
        self.terms.iter().any(|term| names_status(&term.condition))
    }

    /// Returns the order that it names, and whether that is reversed. Without one, the best matches of its words come
    /// first.
    pub fn order(&self) -> Option<(Order, bool)> {
        let has_words = || !self.condition().required_texts().is_empty();
        self.order.or_else(|| has_words().then_some((Order::Match, false)))
    }

    /// Returns the whole condition.
    pub fn condition(&self) -> Condition {
        Condition::all(self.terms.iter().map(|term| term.condition.clone()))
    }

    /// Narrows a query by this one. Its [order](Self::order) replaces that of the query.
    #[must_use]
    pub fn narrow(&self, query: Query) -> Query {
        let (order, reversed) = self.order().unwrap_or((query.order, query.reversed));
        Query { order, reversed, ..query }.with(self.condition())
    }
}

fn refuse_long(text: &str) -> Result<(), QueryError> {
    let count = text.chars().count();
    if count <= MAX_CHARS {
        return Ok(());
    }
    let message = format!(
        "the query has {count} characters, and at most {MAX_CHARS} are allowed: shorten it"
    );
    Err(QueryError { position: MAX_CHARS + 1, message })
}

fn is_of_words(condition: &Condition) -> bool {
    match condition {
        Condition::Text(text) => text.parse::<IssueRef>().is_err(),
        Condition::SomeTexts { .. } => true,
        Condition::Not(one) => is_of_words(one),
        Condition::All(several) | Condition::Any(several) => several.iter().all(is_of_words),
        _ => false,
    }
}

fn names_status(condition: &Condition) -> bool {
    match condition {
        Condition::All(several) | Condition::Any(several) => several.iter().any(names_status),
        Condition::Status(_) => true,
        _ => false,
    }
}

/// Parses one query, with the saved ones that it names.
struct Parser<'a> {
    saved: &'a SavedQueries,
    now: Timestamp,
    order: Option<(Order, bool)>,
    terms: usize,
    /// The saved queries around the current place, the innermost one last.
    within: Vec<String>,
}

impl Parser<'_> {
    /// Parses a whole text into the terms that must all hold.
    fn whole(&mut self, text: &str, depth: usize) -> Result<Vec<Term>, QueryError> {
        let tokens = lexer::tokens(text)?;
        let mut alternatives = self.alternatives(text, &mut &tokens[..], depth)?;
        if alternatives.len() <= 1 {
            return Ok(alternatives.pop().unwrap_or_default());
        }
        Ok(vec![Term { text: text.trim().to_owned(), condition: one_of(alternatives) }])
    }

    /// Parses the terms up to the end of the text, or of the group that they stand in: those that must all hold, for
    /// each side of an `OR`.
    fn alternatives(
        &mut self,
        text: &str,
        rest: &mut &[Token<'_>],
        depth: usize,
    ) -> Result<Vec<Vec<Term>>, QueryError> {
        let mut alternatives = Vec::new();
        let mut terms = Vec::new();
        while let Some(first) = rest.first() {
            match first.kind {
                Kind::Close => break,
                Kind::Or => {
                    *rest = &rest[1..];
                    alternatives.push(mem::take(&mut terms));
                }
                _ => {
                    let begin = first.begin;
                    let condition = self.term(text, rest, depth)?;
                    let end = rest.first().map_or(text.len(), |next| next.begin);
                    let text = || text[begin..end].trim_end().to_owned();
                    terms.extend(condition.map(|condition| Term { text: text(), condition }));
                }
            }
        }
        alternatives.push(terms);
        alternatives.retain(|terms| !terms.is_empty());
        Ok(alternatives)
    }

    /// Parses one term; `None` for an order, which is no condition.
    fn term(
        &mut self,
        text: &str,
        rest: &mut &[Token<'_>],
        depth: usize,
    ) -> Result<Option<Condition>, QueryError> {
        let Some((token, others)) = rest.split_first() else { return Ok(None) };
        *rest = others;
        let at = |message: String| QueryError { position: token.position, message };
        if depth > MAX_DEPTH {
            return Err(at(format!(
                "parentheses and saved queries are nested at most {MAX_DEPTH} deep"
            )));
        }
        self.terms += 1;
        if self.terms > MAX_TERMS {
            return Err(at(format!("a query has at most {MAX_TERMS} terms: leave some out")));
        }
        match &token.kind {
            Kind::Not => {
                if matches!(
                    rest.first().map(|next| &next.kind),
                    None | Some(Kind::Close | Kind::Or)
                ) {
                    return Err(at("`-` excludes what follows it, and nothing does".to_owned()));
                }
                let excluded = self.term(text, rest, depth + 1)?;
                let excluded =
                    excluded.ok_or_else(|| at("an order cannot be excluded".to_owned()))?;
                Ok(Some(Condition::Not(Box::new(excluded))))
            }
            Kind::Open => {
                let alternatives = self.alternatives(text, rest, depth + 1)?;
                // The lexer pairs parentheses.
                *rest = rest.split_first().map_or(&[], |(_, others)| others);
                Ok(Some(one_of(alternatives)))
            }
            // The lexer makes none of these here.
            Kind::Close | Kind::Or => Ok(None),
            Kind::Saved(name) => self.saved_query(name, depth).map(Some).map_err(at),
            Kind::Phrase(phrase) => Ok(Some(Condition::Text(phrase.to_lowercase()))),
            Kind::Word(word) => Ok(Some(Condition::Text(word.to_lowercase()))),
            Kind::Pair { key, value } => {
                let parsed = keys::parse(*key, value, self.now).map_err(|expected| {
                    at(format!("{}:{value} is invalid: {expected}", key.name))
                })?;
                Ok(match parsed {
                    keys::Meaning::Condition(condition) => Some(condition),
                    keys::Meaning::Order(order, reversed) => {
                        self.order = Some((order, reversed));
                        None
                    }
                })
            }
        }
    }
}

/// Returns the condition that one of the alternatives holds; without any, that of all issues.
fn one_of(alternatives: Vec<Vec<Term>>) -> Condition {
    let all = |terms: Vec<Term>| Condition::all(terms.into_iter().map(|term| term.condition));
    let mut conditions: Vec<_> = alternatives.into_iter().map(all).collect();
    match conditions.len() {
        0 => Condition::default(),
        1 => conditions.remove(0),
        _ => Condition::Any(conditions),
    }
}

impl Parser<'_> {
    /// Parses a saved query, or says what is wrong with it.
    fn saved_query(&mut self, name: &str, depth: usize) -> Result<Condition, String> {
        let Some(query) = self.saved.get(name) else {
            return Err(no_saved_query(name, self.saved));
        };
        if let Some(first) = self.within.iter().position(|outer| outer == name) {
            let circle = self.within[first..].iter().map(|outer| format!("@{outer} -> "));
            return Err(format!(
                "{}@{name}: a saved query cannot contain itself",
                circle.collect::<String>()
            ));
        }
        self.within.push(name.to_owned());
        let terms = self.whole(query, depth + 1).map_err(|error| {
            // One name is enough where queries name others.
            let message = error.message.strip_prefix(OF_SAVED);
            let message = message.and_then(|rest| Some(rest.split_once(": ")?.1.to_owned()));
            format!("{OF_SAVED}{name}: {}", message.unwrap_or(error.message))
        })?;
        self.within.pop();
        Ok(Condition::all(terms.into_iter().map(|term| term.condition)))
    }
}

/// How the message of a mistake in a saved query begins.
const OF_SAVED: &str = "in the saved query @";

fn no_saved_query(name: &str, saved: &SavedQueries) -> String {
    let known = saved.keys().map(String::as_str);
    let hint = match nearest(name, known.clone()) {
        Some(near) => format!("did you mean @{near}?"),
        None if saved.is_empty() => "none is saved.".to_owned(),
        None => format!("there are @{}.", known.collect::<Vec<_>>().join(", @")),
    };
    format!("there is no saved query @{name}: {hint} To search for the text, put it in quotes")
}
