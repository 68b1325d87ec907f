//! Conditions as SQL. Values are parameters, never text of a statement.
//!
//! The result selects exactly the issues that [`Condition::matches`] accepts.

use std::ops::RangeInclusive;

use tokio_postgres::types::{ToSql, Type};
use uuid::Uuid;

use super::connection::Param;
use super::needs::bounds;
use super::rows::storable;
use super::sql::{HELD_BACK, WAITS_ITSELF};
use crate::domain::condition::IdName;
use crate::domain::{Condition, IssueId, LinkKind, Timestamp};

/// A parameter that is kept until the statement is sent.
type Kept = (Box<dyn ToSql + Sync + Send>, Type);

/// Collects the parameters of a statement while its text is written. The tables are `i` (issues), `h` (issue_texts) and
/// `f` (issue_search).
#[derive(Default)]
pub(super) struct Selection {
    params: Vec<Kept>,
    named: Vec<Named>,
    rare: Vec<String>,
}

/// An issue with ids in other trackers, as searches compare them.
#[derive(Clone)]
pub(super) struct Named {
    pub id: Uuid,
    pub external: Vec<String>,
}

impl Selection {
    /// Begins a statement in which texts find the issues that they name, too, and an index of [`seams`] finds rare
    /// texts.
    pub fn with(named: &[Named], rare: &[&str]) -> Self {
        let rare = rare.iter().map(|&text| text.to_owned()).collect();
        Self { named: named.to_vec(), rare, ..Self::default() }
    }

    /// Adds a parameter, and returns its place in the statement.
    pub fn param(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> String {
        self.params.push((Box::new(value), kind));
        format!("${}", self.params.len())
    }

    /// Returns the parameters.
    pub fn params(&self) -> Vec<Param<'_>> {
        let params = self.params.iter();
        params.map(|(value, kind)| (&**value as &(dyn ToSql + Sync), kind.clone())).collect()
    }

    /// Returns a condition as an expression that is never null.
    pub fn matches(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::All(all) => self.joined(all, " AND ", "true"),
            Condition::Any(any) => self.joined(any, " OR ", "false"),
            Condition::Not(one) => format!("NOT {}", self.matches(one)),
            Condition::Status(statuses) => {
                let statuses: Vec<i16> = statuses.iter().map(|status| status as i16).collect();
                format!("(i.status = ANY({}))", self.param(statuses, Type::INT2_ARRAY))
            }
            Condition::Classification(kind) => {
                format!("(i.kind = {})", self.param(*kind as i16, Type::INT2))
            }
            Condition::Priority(range) => {
                let (first, last) = (range.start().get().into(), range.end().get().into());
                self.between("i.priority", first, last)
            }
            Condition::Label(Some(label)) => {
                let label = vec![label.as_str().to_owned()];
                format!("(h.labels @> {})", self.param(label, Type::TEXT_ARRAY))
            }
            Condition::Label(None) => "(cardinality(h.labels) = 0)".to_owned(),
            Condition::Assignee(name) => self.is_named("i.assignee", name.as_deref()),
            Condition::Holder(name) => self.is_named("i.holder", name.as_deref()),
            Condition::Filer(name) => self.is_named("h.filer", Some(name)),
            Condition::Involves(name) => {
                let assigned = self.is_named("i.assignee", Some(name));
                format!("({} = ANY(h.agents) OR {assigned})", self.text(name))
            }
            Condition::Parent(Some(ids)) => self.linked("source", LinkKind::Parent, ids),
            Condition::Parent(None) => {
                format!(
                    "NOT EXISTS (SELECT FROM {{s}}.links l WHERE l.source = i.id AND l.kind = {})",
                    LinkKind::Parent as i16
                )
            }
            Condition::Blocks(ids) => self.linked("target", LinkKind::BlockedBy, ids),
            Condition::BlockedBy(ids) => self.linked("source", LinkKind::BlockedBy, ids),
            Condition::Id(ids) => self.ids("i.id", ids),
            Condition::Ids(ids) => {
                let ids: Vec<Uuid> = ids.iter().map(|id| Uuid::from(*id)).collect();
                format!("(i.id = ANY({}))", self.param(ids, Type::UUID_ARRAY))
            }
            Condition::Returns(range) => self.numbers("h.returns", range),
            Condition::Claims(range) => self.numbers("h.claims", range),
            Condition::Created(range) => self.times("h.created", range),
            Condition::Changed(range) => self.times("i.modified", range),
            Condition::Active(range) => self.times("i.active", range),
            Condition::Ready(now) => {
                // A claim unparks what was parked until a time, and only then its parts are shown as ready.
                let whole_is_parked = self.parked(*now).replace("i.", "a.");
                let held_back = HELD_BACK.replace("{parked}", &whole_is_parked);
                format!(
                    "(i.status = 0 AND NOT {} AND (NOT i.waits OR NOT ({WAITS_ITSELF} OR {held_back})))",
                    self.parked(*now)
                )
            }
            Condition::Blocked => format!(
                "(i.status < 4 AND EXISTS (SELECT FROM {{s}}.links l JOIN {{s}}.issues o ON o.id = l.target \
                 WHERE l.source = i.id AND l.kind = {} AND o.status < 4))",
                LinkKind::BlockedBy as i16
            ),
            Condition::Parked(now) => format!("(i.status < 4 AND {})", self.parked(*now)),
            Condition::Text(text) => self.contains(text),
            Condition::SomeTexts { texts, at_least } => {
                let at_least = i64::try_from(*at_least).unwrap_or(i64::MAX);
                format!("({} >= {})", self.count(texts), self.param(at_least, Type::INT8))
            }
        }
    }

    fn joined(&mut self, several: &[Condition], operator: &str, none: &str) -> String {
        let parts: Vec<_> = several.iter().map(|one| self.matches(one)).collect();
        if parts.is_empty() { none.to_owned() } else { format!("({})", parts.join(operator)) }
    }

    /// Returns how many of the texts occur, as an expression.
    pub fn count(&mut self, texts: &[String]) -> String {
        let counted: Vec<_> =
            texts.iter().map(|text| format!("{}::integer", self.occurs(text))).collect();
        if counted.is_empty() { "0".to_owned() } else { format!("({})", counted.join(" + ")) }
    }

    /// As [`Subject::contains`](crate::domain::Subject::contains). An index can find the issues.
    pub fn contains(&mut self, text: &str) -> String {
        let pattern = storable(text).replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
        let pattern = self.param(format!("%{pattern}%"), Type::TEXT);
        let mut found = format!("f.texts LIKE ({pattern} COLLATE \"C\")");
        let seams = seams(text);
        if self.rare.iter().any(|rare| rare == text) && !seams.is_empty() {
            let seams = self.param(seams, Type::TEXT_ARRAY);
            // Computing the seams of a text takes long, so only the index knows them.
            found = format!(
                "({found} AND f.id = ANY(ARRAY(SELECT m.id FROM {{s}}.issue_search m \
                 WHERE {{s}}.seams(m.texts) @> {seams})))"
            );
        }
        self.named_or(text, found)
    }

    /// As [`contains`](Self::contains), for issues that are examined one by one: twice as fast, without an index.
    pub fn occurs(&mut self, text: &str) -> String {
        let stored = self.text(text);
        self.named_or(text, format!("strpos(f.texts, {stored}) > 0"))
    }

    /// Returns true for issues that a text names, and for those with another condition.
    fn named_or(&mut self, text: &str, other: String) -> String {
        let mut ways = vec![other];
        let names = external_names(text);
        let named =
            self.named.iter().filter(|one| one.external.iter().any(|id| names.contains(id)));
        let named: Vec<Uuid> = named.map(|one| one.id).collect();
        if !named.is_empty() {
            ways.push(format!("f.id = ANY({})", self.param(named, Type::UUID_ARRAY)));
        }
        ways.extend(IdName::of(text).ranges().iter().map(|range| self.ids("f.id", range)));
        format!("({})", ways.join(" OR "))
    }

    fn text(&mut self, text: &str) -> String {
        self.param(storable(text), Type::TEXT)
    }

    fn is_named(&mut self, column: &str, name: Option<&str>) -> String {
        match name {
            None => format!("({column} IS NULL)"),
            // An index can find it, unlike IS NOT DISTINCT FROM.
            Some(name) => format!("({column} IS NOT NULL AND {column} = {})", self.text(name)),
        }
    }

    fn between(&mut self, column: &str, first: i64, last: i64) -> String {
        let (first, last) = (self.param(first, Type::INT8), self.param(last, Type::INT8));
        format!("({column} BETWEEN {first} AND {last})")
    }

    fn numbers(&mut self, column: &str, range: &RangeInclusive<usize>) -> String {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.between(column, number(*range.start()), number(*range.end()))
    }

    fn times(&mut self, column: &str, range: &RangeInclusive<Timestamp>) -> String {
        self.between(column, range.start().unix_millis(), range.end().unix_millis())
    }

    fn ids(&mut self, column: &str, ids: &RangeInclusive<IssueId>) -> String {
        let (low, high) = bounds(ids);
        let (low, high) = (self.param(low, Type::UUID), self.param(high, Type::UUID));
        format!("({column} BETWEEN {low} AND {high})")
    }

    /// Returns true for issues that are the `end` of a link whose other end has an id in a range.
    fn linked(&mut self, end: &str, kind: LinkKind, ids: &RangeInclusive<IssueId>) -> String {
        let other = if end == "source" { "l.target" } else { "l.source" };
        let (kind, within) = (kind as i16, self.ids(other, ids));
        // Read once, and not for each issue.
        format!(
            "(i.id = ANY(ARRAY(SELECT l.{end} FROM {{s}}.links l WHERE l.kind = {kind} AND {within})))"
        )
    }

    fn parked(&mut self, now: Timestamp) -> String {
        let now = self.param(now.unix_millis(), Type::INT8);
        format!("(i.parked AND coalesce(i.parked_until > {now}, true))")
    }
}

/// Returns where words meet in each text that contains this one: the last two characters of a word, a space, and the
/// first two of the next word. The function of the same name in the database computes them for whole texts.
pub(super) fn seams(text: &str) -> Vec<String> {
    let stored = storable(text);
    let words: Vec<Vec<char>> = stored.split(' ').map(|word| word.chars().collect()).collect();
    let meeting = words.windows(2).enumerate().filter(|(at, pair)| {
        // The first and the last word may go on outside.
        (*at > 0 || pair[0].len() >= 2) && (at + 2 < words.len() || pair[1].len() >= 2)
    });
    meeting
        .map(|(_, pair)| {
            let (before, after) = (&pair[0], &pair[1]);
            let end = before[before.len().saturating_sub(2)..].iter();
            end.chain([&' ']).chain(after.iter().take(2)).collect()
        })
        .collect()
}

/// Returns the ids in other trackers that a text can be.
pub(super) fn external_names(text: &str) -> [String; 2] {
    let stored = storable(text);
    [format!("#{stored}"), stored]
}

#[cfg(test)]
mod tests {
    use super::seams;

    #[test]
    fn seams_are_those_that_every_text_around_has() {
        for (text, expected) in [
            ("token expires", &["en ex"][..]),
            ("login", &[]),
            ("n e", &[]),
            ("in e", &[]),
            ("token is a b", &["en is", "is a"]),
            ("a x of", &["x of"]),
            ("der Überlauf ", &["er Üb"]),
            ("two  spaces", &["wo ", " sp"]),
        ] {
            assert_eq!(seams(text), expected, "{text:?}");
        }
    }
}
