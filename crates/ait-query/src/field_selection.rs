//! A selection of the fields of issues, so that a reader gets only what it needs.
//!
//! Two notations, which can be mixed: `id,title,comments.text`, and that of GraphQL, `{ id title comments { text } }`.

use serde_json::{Map, Value, json};

use ait_domain::fields::FIELDS;
use ait_domain::{Issue, Timestamp, WithClaim};

/// The longest selection, in characters.
pub const MAX_CHARS: usize = 500;

/// Computes a field of an issue at a time.
type Compute = fn(&Issue, Timestamp) -> Value;

/// What is computed from an issue. No issue has it unless it is selected.
const COMPUTED: [(&str, Compute); 3] = [
    ("lastChange", |issue, _| json!(issue.active_at())),
    ("idleDays", |issue, now| json!(now.millis_since(issue.active_at()) / DAY_MS)),
    ("returns", |issue, _| json!(issue.returns())),
];

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// Selected fields, in the order in which they are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldSelection(Vec<Field>);

/// A selected field. Without inner fields it is selected whole.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Field {
    name: &'static str,
    inner: Vec<&'static str>,
}

impl FieldSelection {
    /// Returns the selected fields of an issue as JSON. A field that the issue does not have is `null` or an empty
    /// list. `lastChange` is the time of its last substantive change, and `idleDays` the days since then.
    pub fn select(&self, issue: &Issue, now: Timestamp) -> Value {
        let mut stored = json!(WithClaim::from(issue));
        let selected = self.0.iter().map(|Field { name, inner }| {
            if let Some((_, compute)) = COMPUTED.iter().find(|(computed, _)| computed == name) {
                return ((*name).to_owned(), compute(issue, now));
            }
            let value = stored.get_mut(*name).map(Value::take);
            let value =
                value.unwrap_or_else(|| if is_list(name) { json!([]) } else { Value::Null });
            // The entries of these lists may have unknown keys.
            let is_open = ["history", "comments"].contains(name);
            let all = FIELDS.iter().find(|(field, _)| is_open && field == name);
            let inner = all.filter(|_| inner.is_empty()).map_or(&inner[..], |(_, all)| all);
            let value = if inner.is_empty() { value } else { picked(&value, inner) };
            ((*name).to_owned(), value)
        });
        Value::Object(selected.collect())
    }

    fn add(&mut self, name: &'static str, inner: Option<&'static str>) {
        let Some(field) = self.0.iter_mut().find(|field| field.name == name) else {
            self.0.push(Field { name, inner: inner.into_iter().collect() });
            return;
        };
        match inner {
            // The whole field was or is selected.
            None => field.inner.clear(),
            Some(inner) if field.inner.is_empty() || field.inner.contains(&inner) => {}
            Some(inner) => field.inner.push(inner),
        }
    }
}

fn is_list(name: &str) -> bool {
    ["labels", "links"].contains(&name)
}

/// Returns some fields of an object, or of each object in a list.
fn picked(value: &Value, names: &[&str]) -> Value {
    match value {
        Value::Array(items) => items.iter().map(|item| picked(item, names)).collect(),
        Value::Object(object) => {
            let field = |name: &&str| {
                let value = object.get(*name).cloned().unwrap_or_default();
                ((*name).to_owned(), value)
            };
            Value::Object(names.iter().map(field).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// Why a selection is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSelection {
    #[error("a selection has at most {MAX_CHARS} characters")]
    TooLong,
    /// It selects nothing.
    #[error("select at least one field, such as `id,title`; the fields are {}", all())]
    Empty,
    /// A field does not exist.
    #[error("there is no field {0:?}; the fields are {all}", all = all())]
    UnknownField(String),
    /// Braces do not match.
    #[error(
        "{0}; write a selection like `id,title,comments.text` or `{{ id title comments {{ text }} }}`"
    )]
    Syntax(String),
}

/// Returns the names of all fields.
fn all() -> String {
    let inner = |(name, inner): &(&str, &[&str])| {
        std::iter::once((*name).to_owned())
            .chain(inner.iter().map(|field| format!("{name}.{field}")))
            .collect::<Vec<_>>()
    };
    let computed = COMPUTED.iter().map(|(name, _)| (*name).to_owned());
    FIELDS.iter().flat_map(inner).chain(computed).collect::<Vec<_>>().join(", ")
}

impl std::str::FromStr for FieldSelection {
    type Err = BadSelection;

    fn from_str(text: &str) -> Result<Self, BadSelection> {
        if text.chars().count() > MAX_CHARS {
            return Err(BadSelection::TooLong);
        }
        let tokens = tokens(text)?;
        let mut tokens = tokens.as_slice();
        match tokens {
            [Token::Open, inner @ .., Token::Close] => tokens = inner,
            [Token::Open, ..] => return Err(missing_close()),
            _ => {}
        }
        let mut selection = Self(Vec::new());
        while let [token, rest @ ..] = tokens {
            let Token::Name(name) = token else { return Err(unexpected(token)) };
            let computed = COMPUTED.map(|(name, _)| (name, &[][..]));
            let (name, known) = *FIELDS
                .iter()
                .chain(&computed)
                .find(|(field, _)| field == name)
                .ok_or_else(|| BadSelection::UnknownField((*name).to_owned()))?;
            let inner = |given: &str| {
                let found = known.iter().find(|field| **field == given);
                found.copied().ok_or_else(|| BadSelection::UnknownField(format!("{name}.{given}")))
            };
            tokens = match rest {
                [Token::Dot, Token::Name(given), rest @ ..] => {
                    selection.add(name, Some(inner(given)?));
                    rest
                }
                [Token::Dot, ..] => {
                    return Err(BadSelection::Syntax(format!("a name is missing after `{name}.`")));
                }
                [Token::Open, rest @ ..] => {
                    let close = rest.iter().position(|token| *token == Token::Close);
                    let close = close.ok_or_else(missing_close)?;
                    if close == 0 {
                        return Err(BadSelection::Syntax(format!(
                            "nothing is selected in `{name} {{}}`"
                        )));
                    }
                    for token in &rest[..close] {
                        let Token::Name(given) = token else { return Err(unexpected(token)) };
                        selection.add(name, Some(inner(given)?));
                    }
                    &rest[close + 1..]
                }
                rest => {
                    selection.add(name, None);
                    rest
                }
            };
        }
        if selection.0.is_empty() {
            return Err(BadSelection::Empty);
        }
        Ok(selection)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Token<'a> {
    Name(&'a str),
    Dot,
    Open,
    Close,
}

fn missing_close() -> BadSelection {
    BadSelection::Syntax("a `}` is missing".to_owned())
}

fn unexpected(token: &Token<'_>) -> BadSelection {
    BadSelection::Syntax(match token {
        Token::Name(name) => format!("{name:?} is not expected there"),
        Token::Dot => "a name is missing before `.`".to_owned(),
        Token::Open => "a name is missing before `{`".to_owned(),
        Token::Close => "there is a `}` without `{`".to_owned(),
    })
}

/// Splits a selection. Commas and blanks only separate.
fn tokens(text: &str) -> Result<Vec<Token<'_>>, BadSelection> {
    let mut tokens = Vec::new();
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if is_name(first) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        match first {
            ',' => {}
            _ if first.is_whitespace() => {}
            _ if is_name(first) => tokens.push(Token::Name(&rest[..length])),
            '.' if rest.starts_with("...") => return Err(unsupported("fragments (`...`)")),
            '.' => tokens.push(Token::Dot),
            '{' => tokens.push(Token::Open),
            '}' => tokens.push(Token::Close),
            ':' => return Err(unsupported("aliases (`a: b`)")),
            '(' | ')' => return Err(unsupported("arguments (`a(b: 1)`)")),
            '@' | '$' => return Err(unsupported("directives and variables")),
            other => return Err(BadSelection::Syntax(format!("{other:?} is not expected there"))),
        }
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn unsupported(what: &str) -> BadSelection {
    BadSelection::Syntax(format!("{what} are not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(text: &str) -> Value {
        let time = "2026-01-31T09:30:00.000Z";
        let issue = serde_json::from_value(json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "D", "classification": "bug",
            "createdAt": time, "modifiedAt": time, "status": "created", "history": [],
            "comments": [
                {"timestamp": time, "agent": "a", "text": "x"}, {"timestamp": time, "agent": "b", "text": "y"}
            ],
        }));
        let selection =
            text.parse::<FieldSelection>().unwrap_or_else(|error| panic!("{text}: {error}"));
        let now = Timestamp::parse("2026-02-02T09:29:59.000Z").unwrap();
        selection.select(&issue.unwrap(), now)
    }

    #[test]
    fn both_notations_select_the_same_fields() {
        let expected = r#"{"status":"created","title":"T","comments":[{"text":"x"},{"text":"y"}]}"#;
        for text in [
            "status,title,comments.text",
            "{ status title comments { text } }",
            "status title comments{text}",
            "{status,title,comments.text}",
            " status , title ,, comments . text ",
        ] {
            assert_eq!(selected(text).to_string(), expected, "{text}");
        }
        assert_eq!(
            selected("comments.agent,comments.text,status").to_string(),
            r#"{"comments":[{"agent":"a","text":"x"},{"agent":"b","text":"y"}],"status":"created"}"#
        );
        assert_eq!(selected("comments.text,comments")["comments"][0]["agent"], "a");
        assert_eq!(selected("history"), json!({"history": []}));
        assert_eq!(
            selected("returns lastChange, idleDays"),
            json!({"returns": 0, "lastChange": "2026-01-31T09:30:00.000Z", "idleDays": 1})
        );
    }

    #[test]
    fn invalid_selections_are_refused_with_what_is_valid() {
        for (text, expected) in [
            ("", "select at least one field"),
            ("{ }", "select at least one field"),
            ("titel", "no field \"titel\"; the fields are id, title"),
            ("comments.body", "no field \"comments.body\""),
            ("id.x", "no field \"id.x\""),
            ("comments { text", "a `}` is missing"),
            ("{ id", "a `}` is missing"),
            ("comments {}", "nothing is selected"),
            ("id }", "without `{`"),
            ("{ { id } }", "a name is missing before `{`"),
            ("comments.", "a name is missing after `comments.`"),
            ("a: id", "aliases"),
            ("comments(first: 1) { text }", "arguments"),
            ("... on Issue { id }", "fragments"),
            ("id @skip", "directives"),
            ("id;title", "';'"),
        ] {
            let error = text.parse::<FieldSelection>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
        assert_eq!("id ".repeat(200).parse::<FieldSelection>(), Err(BadSelection::TooLong));
    }
}
