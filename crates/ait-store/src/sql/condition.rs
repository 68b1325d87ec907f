//! Conditions as SQL. Values are parameters, never text of a statement.
//!
//! The result selects exactly the issues that [`Condition::matches`] accepts.

use std::ops::RangeInclusive;

use uuid::Uuid;

use super::numbers::with_numbers;
use super::rows::{storable, subject_mark, value_mark};
use ait_domain::condition::IdName;
use ait_domain::{Condition, IssueId, LinkKind, Query, Status, StatusSet, Timestamp, ValueField};

/// The condition for an issue that waits with a whole of it: one that is parked, or blocked by what is no part of it.
macro_rules! held_back {
    ($issue:literal, $parked:literal) => {
        concat!(
            "EXISTS (WITH RECURSIVE up(id) AS (SELECT l.target FROM {s}.links l WHERE l.source = ",
            $issue,
            " AND l.kind = {parent} UNION SELECT l.target FROM up JOIN {s}.links l ON l.source = up.id AND l.kind = {parent}) \
             SELECT 1 FROM up JOIN {s}.issues a ON a.id = up.id WHERE a.status < {ended} AND (",
            $parked,
            " OR EXISTS (SELECT 1 FROM {s}.links b JOIN {s}.issues o ON o.id = b.target \
             WHERE b.source = a.id AND b.kind = {blocked_by} AND o.status < {ended} AND NOT EXISTS ( \
             WITH RECURSIVE above(id) AS (SELECT l.target FROM {s}.links l WHERE l.source = o.id AND l.kind = {parent} \
             UNION SELECT l.target FROM above JOIN {s}.links l ON l.source = above.id AND l.kind = {parent}) \
             SELECT 1 FROM above WHERE above.id = a.id))))"
        )
    };
}

/// The condition for an issue `i` that waits with a whole; `{parked}` stands for the condition that the whole `a` is
/// parked.
const HELD_BACK: &str = held_back!("i.id", "{parked}");

/// The condition for an issue that waits for a blocker or for a part.
macro_rules! waits_itself {
    ($issue:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM {s}.links l JOIN {s}.issues o ON o.id = l.target WHERE l.source = ",
            $issue,
            " AND l.kind = {blocked_by} AND o.status < {ended}) OR EXISTS (SELECT 1 FROM {s}.links l JOIN {s}.issues o ON o.id = l.source \
             WHERE l.target = ",
            $issue,
            " AND l.kind = {parent} AND o.status < {ended})"
        )
    };
}

/// The condition for an issue `i` that waits for a blocker or for a part.
const WAITS_ITSELF: &str = waits_itself!("i.id");

/// The condition for an issue `i` that has parts.
const HAS_PART: &str =
    "EXISTS (SELECT 1 FROM {s}.links l WHERE l.target = i.id AND l.kind = {parent})";

#[cfg(feature = "postgres")]
pub(crate) use {held_back, waits_itself};

/// A value that a statement has as a parameter.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
    Id(Uuid),
    Ids(Vec<Uuid>),
    Texts(Vec<String>),
}

/// The database for which a statement is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    Sqlite,
    #[cfg_attr(not(feature = "postgres"), expect(dead_code, reason = "left out with the feature"))]
    Postgres,
}

/// Names of an issue in SQLite, each in a row of its own. The numbers are in every database, so they must stay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NameKind {
    Label = 0,
    Author = 1,
    Agent = 2,
    External = 3,
}

/// Collects the parameters of a statement while its text is written. `{s}` stands for the schema. The tables are `i`
/// (issues), `f` (the texts of searches) and, in PostgreSQL, `h` (issue_texts).
pub(crate) struct Selection {
    dialect: Dialect,
    params: Vec<Value>,
    named: Vec<Named>,
    rare: Vec<String>,
}

/// An issue with ids in other trackers, as searches compare them.
#[derive(Clone)]
pub(crate) struct Named {
    pub id: Uuid,
    pub external: Vec<String>,
}

impl Selection {
    /// Begins a statement in which texts find the issues that they name, too, and an index of [`seams`] finds rare
    /// texts.
    pub fn with(dialect: Dialect, named: &[Named], rare: &[&str]) -> Self {
        let rare = rare.iter().map(|&text| text.to_owned()).collect();
        Self { dialect, params: Vec::new(), named: named.to_vec(), rare }
    }

    /// Adds a parameter, and returns its place in the statement.
    pub fn param(&mut self, value: Value) -> String {
        self.params.push(value);
        let sign = match self.dialect {
            Dialect::Sqlite => '?',
            Dialect::Postgres => '$',
        };
        format!("{sign}{}", self.params.len())
    }

    /// Adds a number as a parameter, and returns its place in the statement.
    pub fn number(&mut self, number: usize) -> String {
        self.param(Value::Int(i64::try_from(number).unwrap_or(i64::MAX)))
    }

    /// Returns the parameters.
    pub fn params(&self) -> &[Value] {
        &self.params
    }

    /// Returns the statuses and the classification of a query, and a condition, as an expression that is never null.
    pub fn matches_within(&mut self, query: &Query, condition: &Condition) -> String {
        let mut all: Vec<_> = in_statuses(query.statuses).into_iter().collect();
        all.extend(query.classification.map(|kind| format!("i.kind = {}", kind as i16)));
        all.push(self.matches(condition));
        all.join(" AND ")
    }

    /// Returns a condition as an expression that is never null.
    pub fn matches(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::All(all) => self.joined(all, " AND ", "true"),
            Condition::Any(any) => self.joined(any, " OR ", "false"),
            Condition::Not(one) => format!("NOT {}", self.matches(one)),
            Condition::Status(statuses) => {
                in_statuses(*statuses).unwrap_or_else(|| "true".to_owned())
            }
            Condition::Classification(kind) => format!("(i.kind = {})", *kind as i16),
            Condition::Priority(range) => {
                let first = range.start().get().into();
                let last = range.end().get().into();
                self.between("i.priority", first, last)
            }
            Condition::Label(Some(label)) => self.has_label(label.as_str()),
            Condition::Label(None) => self.has_no_label(),
            Condition::Assignee(name) => self.is_named("i.assignee", name.as_deref()),
            Condition::Holder(name) => self.is_named("i.holder", name.as_deref()),
            Condition::Filer(name) => self.is_named(&self.fact("filer"), Some(name)),
            Condition::Involves(name) => {
                let acts = self.has_agent(name);
                format!("({acts} OR {})", self.is_named("i.assignee", Some(name)))
            }
            Condition::Parent(ids) => self.linked("source", LinkKind::Parent, ids),
            Condition::Unlinked(kind) => {
                format!(
                    "NOT EXISTS (SELECT 1 FROM {{s}}.links l WHERE l.source = i.id AND l.kind = {})",
                    *kind as i16
                )
            }
            Condition::Blocks(ids) => self.linked("target", LinkKind::BlockedBy, ids),
            Condition::BlockedBy(ids) => self.linked("source", LinkKind::BlockedBy, ids),
            Condition::Id(ids) => self.ids("i.id", ids),
            Condition::Ids(ids) => {
                let ids = self.param(Value::Ids(ids.iter().map(|id| Uuid::from(*id)).collect()));
                match self.dialect {
                    Dialect::Sqlite => format!("(i.id IN rarray({ids}))"),
                    Dialect::Postgres => format!("(i.id = ANY({ids}))"),
                }
            }
            Condition::Value(field, range) => self.has_value(*field, range),
            Condition::Returns(range) => self.numbers("returns", range),
            Condition::Claims(range) => self.numbers("claims", range),
            Condition::Created(range) => self.times(&self.fact("created"), range),
            Condition::Changed(range) => self.times("i.modified", range),
            Condition::Active(range) => self.times("i.active", range),
            Condition::Ready(now) => {
                // A claim unparks what was parked until a time, and only then its parts are shown as ready.
                let whole_is_parked = self.parked(*now).replace("i.", "a.");
                let held_back = HELD_BACK.replace("{parked}", &whole_is_parked);
                with_numbers(&format!(
                    "(i.status = {{created}} AND NOT {} AND (NOT i.waits OR NOT ({WAITS_ITSELF} OR {held_back})))",
                    self.parked(*now)
                ))
            }
            Condition::Blocked => with_numbers(
                "(i.status < {ended} AND EXISTS (SELECT 1 FROM {s}.links l JOIN {s}.issues o ON o.id = l.target \
                 WHERE l.source = i.id AND l.kind = {blocked_by} AND o.status < {ended}))",
            ),
            Condition::BlockerEnded => {
                let ended = in_statuses(StatusSet::ended()).unwrap_or_default();
                with_numbers(&format!(
                    "EXISTS (SELECT 1 FROM {{s}}.links l JOIN {{s}}.issues o ON o.id = l.target \
                     WHERE l.source = i.id AND l.kind = {{blocked_by}} AND {})",
                    ended.replace("i.", "o.")
                ))
            }
            Condition::Waits => {
                with_numbers(&format!("(i.status < {{ended}} AND ({WAITS_ITSELF}))"))
            }
            Condition::Whole => with_numbers(HAS_PART),
            Condition::External(id) => self.has_external([format!("#{id}")], 1),
            Condition::Tells { subjects, at_least } => {
                self.has_external(subjects.iter().map(|subject| subject_mark(subject)), *at_least)
            }
            Condition::Parked(now) => {
                with_numbers(&format!("(i.status < {{ended}} AND {})", self.parked(*now)))
            }
            Condition::Text(text) => self.contains(text),
            Condition::SomeTexts { texts, at_least } => {
                let at_least = i64::try_from(*at_least).unwrap_or(i64::MAX);
                format!("({} >= {})", self.count(texts), self.param(Value::Int(at_least)))
            }
        }
    }

    fn joined(&mut self, several: &[Condition], operator: &str, none: &str) -> String {
        let parts: Vec<_> = several.iter().map(|one| self.matches(one)).collect();
        if parts.is_empty() { none.to_owned() } else { format!("({})", parts.join(operator)) }
    }

    /// Returns the column of a fact that lists look at alone.
    fn fact(&self, column: &str) -> String {
        match self.dialect {
            Dialect::Sqlite => format!("i.{column}"),
            Dialect::Postgres => format!("h.{column}"),
        }
    }

    fn has_label(&mut self, label: &str) -> String {
        match self.dialect {
            Dialect::Sqlite => self.has_name(NameKind::Label, label),
            Dialect::Postgres => {
                format!("(h.labels @> {})", self.param(Value::Texts(vec![label.to_owned()])))
            }
        }
    }

    fn has_no_label(&self) -> String {
        match self.dialect {
            Dialect::Sqlite => {
                let kind = NameKind::Label as i16;
                format!(
                    "NOT EXISTS (SELECT 1 FROM names n WHERE n.issue = i.key AND n.kind = {kind})"
                )
            }
            Dialect::Postgres => "(cardinality(h.labels) = 0)".to_owned(),
        }
    }

    fn has_agent(&mut self, agent: &str) -> String {
        match self.dialect {
            Dialect::Sqlite => self.has_name(NameKind::Agent, agent),
            Dialect::Postgres => format!("{} = ANY(h.agents)", self.text(agent)),
        }
    }

    fn has_value(&mut self, field: ValueField, ranks: &RangeInclusive<i64>) -> String {
        let low = self.text(&value_mark(field, *ranks.start()));
        let high = self.text(&value_mark(field, *ranks.end()));
        match self.dialect {
            Dialect::Sqlite => {
                let kind = NameKind::Agent as i16;
                format!(
                    "(i.key IN (SELECT n.issue FROM names n WHERE n.kind = {kind} AND n.name BETWEEN {low} AND {high}))"
                )
            }
            Dialect::Postgres => format!(
                "EXISTS (SELECT FROM unnest(h.agents) n WHERE n COLLATE \"C\" BETWEEN {low} AND {high})"
            ),
        }
    }

    /// Returns true for issues with at least so many of some names among the ids in other trackers.
    fn has_external(&mut self, names: impl IntoIterator<Item = String>, at_least: usize) -> String {
        match self.dialect {
            Dialect::Sqlite => {
                let names: Vec<_> = names.into_iter().map(|name| self.text(&name)).collect();
                let kind = NameKind::External as i16;
                let counted = match at_least {
                    1 => String::new(),
                    _ => format!(" GROUP BY n.issue HAVING count(*) >= {at_least}"),
                };
                format!(
                    "(i.key IN (SELECT n.issue FROM names n WHERE n.kind = {kind} AND n.name IN ({}){counted}))",
                    names.join(", ")
                )
            }
            Dialect::Postgres => {
                let names = names.into_iter().map(|name| storable(&name)).collect();
                let ids = self.param(Value::Texts(names));
                let counted = match at_least {
                    1 => String::new(),
                    _ => format!(
                        " AND (SELECT count(*) FROM unnest(f.external) e WHERE e = ANY({ids})) >= {at_least}"
                    ),
                };
                // The index has no issues without such ids.
                format!("(f.external <> '{{}}' AND f.external && {ids}{counted})")
            }
        }
    }

    /// Returns true for issues with a name, in SQLite.
    fn has_name(&mut self, kind: NameKind, name: &str) -> String {
        let kind = kind as i16;
        let name = self.text(name);
        format!(
            "(i.key IN (SELECT n.issue FROM names n WHERE n.kind = {kind} AND n.name = {name}))"
        )
    }

    /// Returns how many of the texts occur, as an expression.
    pub fn count(&mut self, texts: &[String]) -> String {
        let dialect = self.dialect;
        let number = |is_true: String| match dialect {
            Dialect::Sqlite => is_true,
            Dialect::Postgres => format!("{is_true}::integer"),
        };
        let counted: Vec<_> = texts.iter().map(|text| number(self.occurs(text))).collect();
        if counted.is_empty() { "0".to_owned() } else { format!("({})", counted.join(" + ")) }
    }

    /// Returns how well the title of a match fits some texts, as [`Condition::title_score`] counts it.
    pub fn title_score(&mut self, texts: &[&str]) -> String {
        let mut scores = Vec::new();
        for text in texts {
            let text = self.text(text);
            let padded = "' ' || f.title || ' '";
            let word = format!("' ' || {text} || ' '");
            for (whole, part) in [("f.title", &text), (padded, &word)] {
                scores.push(match self.dialect {
                    Dialect::Sqlite => format!("(instr({whole}, {part}) > 0)"),
                    Dialect::Postgres => format!("(strpos({whole}, {part}) > 0)::integer"),
                });
            }
        }
        if scores.is_empty() { "0".to_owned() } else { format!("({})", scores.join(" + ")) }
    }

    /// As [`Subject::contains`](ait_domain::Subject::contains). An index of PostgreSQL can find the issues.
    pub fn contains(&mut self, text: &str) -> String {
        if self.dialect == Dialect::Sqlite {
            return self.occurs(text);
        }
        let pattern = storable(text).replace('\\', r"\\").replace('%', r"\%").replace('_', r"\_");
        let pattern = self.param(Value::Text(format!("%{pattern}%")));
        let mut found = format!("f.texts LIKE ({pattern} COLLATE \"C\")");
        let seams = seams(text);
        if self.rare.iter().any(|rare| rare == text) && !seams.is_empty() {
            let seams = self.param(Value::Texts(seams));
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
        let found = match self.dialect {
            Dialect::Sqlite => format!("instr(f.texts, {stored}) > 0"),
            Dialect::Postgres => format!("strpos(f.texts, {stored}) > 0"),
        };
        self.named_or(text, found)
    }

    /// Returns true for issues that a text names, and for those with another condition.
    fn named_or(&mut self, text: &str, other: String) -> String {
        let mut ways = vec![other];
        ways.extend(self.named(text));
        format!("({})", ways.join(" OR "))
    }

    /// Returns the conditions for issues that a text names with an id of theirs.
    fn named(&mut self, text: &str) -> Vec<String> {
        let names = external_names(text);
        let mut ways = Vec::new();
        if self.dialect == Dialect::Sqlite {
            ways.extend(names.iter().map(|name| self.has_name(NameKind::External, name)));
        }
        let named =
            self.named.iter().filter(|one| one.external.iter().any(|id| names.contains(id)));
        let named: Vec<IssueId> = named.map(|one| one.id.into()).collect();
        let id = match self.dialect {
            Dialect::Sqlite => "i.id",
            Dialect::Postgres => "f.id",
        };
        ways.extend(named.into_iter().map(|named| self.ids(id, &(named..=named))));
        ways.extend(IdName::of(text).ranges().iter().map(|range| self.ids(id, range)));
        ways
    }

    /// Selects the keys of the issues that may contain a text, in SQLite, where an index of sequences of three
    /// characters finds them. `None` if the text is too short for that.
    pub fn may_contain(&mut self, text: &str) -> Option<String> {
        let sequences = self.param(Value::Text(trigrams(text)?));
        let mut found = format!(
            "SELECT rowid AS key FROM search_index WHERE search_index MATCH {sequences} \
             UNION SELECT u.key FROM unindexed u"
        );
        for way in self.named(text) {
            found.push_str(" UNION SELECT i.key FROM issues i WHERE ");
            found.push_str(&way);
        }
        Some(found)
    }

    fn text(&mut self, text: &str) -> String {
        self.param(Value::Text(storable(text)))
    }

    fn is_named(&mut self, column: &str, name: Option<&str>) -> String {
        match name {
            None => format!("({column} IS NULL)"),
            // An index can find it, unlike IS NOT DISTINCT FROM.
            Some(name) => format!("({column} IS NOT NULL AND {column} = {})", self.text(name)),
        }
    }

    fn between(&mut self, column: &str, first: i64, last: i64) -> String {
        let first = self.param(Value::Int(first));
        let last = self.param(Value::Int(last));
        format!("({column} BETWEEN {first} AND {last})")
    }

    fn numbers(&mut self, fact: &str, range: &RangeInclusive<usize>) -> String {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.between(&self.fact(fact), number(*range.start()), number(*range.end()))
    }

    fn times(&mut self, column: &str, range: &RangeInclusive<Timestamp>) -> String {
        self.between(column, range.start().unix_millis(), range.end().unix_millis())
    }

    fn ids(&mut self, column: &str, ids: &RangeInclusive<IssueId>) -> String {
        let (low, high) = bounds(ids);
        let low = self.param(Value::Id(low));
        let high = self.param(Value::Id(high));
        format!("({column} BETWEEN {low} AND {high})")
    }

    /// Returns true for issues that are the `end` of a link whose other end has an id in a range.
    fn linked(&mut self, end: &str, kind: LinkKind, ids: &RangeInclusive<IssueId>) -> String {
        let other = if end == "source" { "l.target" } else { "l.source" };
        let kind = kind as i16;
        let within = self.ids(other, ids);
        let linked =
            format!("SELECT l.{end} FROM {{s}}.links l WHERE l.kind = {kind} AND {within}");
        match self.dialect {
            Dialect::Sqlite => format!("(i.id IN ({linked}))"),
            // Read once, and not for each issue.
            Dialect::Postgres => format!("(i.id = ANY(ARRAY({linked})))"),
        }
    }

    fn parked(&mut self, now: Timestamp) -> String {
        let now = self.param(Value::Int(now.unix_millis()));
        format!("(i.parked AND coalesce(i.parked_until > {now}, true))")
    }
}

/// Returns the texts of which a search for the best issues wants the most, how many an issue must have at least, and
/// the rest of the condition.
pub(crate) fn some_texts(condition: &Condition) -> (&[String], usize, Condition) {
    let mut wanted = (&[][..], 0);
    let mut others = Vec::new();
    for one in condition.conjuncts() {
        match one {
            Condition::SomeTexts { texts, at_least } if wanted.0.is_empty() => {
                wanted = (texts, *at_least);
            }
            other => others.push(other.clone()),
        }
    }
    (wanted.0, wanted.1, Condition::all(others))
}

/// Returns true for issues in one of some statuses; `None` if all are. What all work has in common is written so that
/// no index answers it, because nearly all rows match.
pub(crate) fn in_statuses(statuses: StatusSet) -> Option<String> {
    match statuses {
        StatusSet::EVERYTHING => None,
        StatusSet::ALL => Some(format!("i.status <> {}", Status::Kept as i16)),
        some => {
            let numbers: Vec<_> = some.iter().map(|status| (status as i16).to_string()).collect();
            let is_one = format!("(i.status IN ({}))", numbers.join(", "));
            Some(if numbers.is_empty() { "false".to_owned() } else { is_one })
        }
    }
}

/// Returns the ends of a range of ids.
pub(crate) fn bounds(range: &RangeInclusive<IssueId>) -> (Uuid, Uuid) {
    ((*range.start()).into(), (*range.end()).into())
}

/// Returns the query of the index in SQLite for texts that contain this one: some of its sequences of three characters.
/// `None` if it has less.
pub(crate) fn trigrams(text: &str) -> Option<String> {
    /// More of them find hardly less.
    const MOST: usize = 16;
    let characters: Vec<char> = storable(text).chars().collect();
    let all: Vec<String> = characters.windows(3).map(|three| three.iter().collect()).collect();
    let step = all.len().div_ceil(MOST).max(1);
    let quoted = |three: &String| format!("\"{}\"", three.replace('"', "\"\""));
    let some: Vec<_> = all.iter().step_by(step).map(quoted).collect();
    (!some.is_empty()).then(|| some.join(" AND "))
}

/// Returns where words meet in each text that contains this one: the last two characters of a word, a space, and the
/// first two of the next word. The function of the same name in PostgreSQL computes them for whole texts.
pub(crate) fn seams(text: &str) -> Vec<String> {
    let stored = storable(text);
    let words: Vec<Vec<char>> = stored.split(' ').map(|word| word.chars().collect()).collect();
    let meeting = words.windows(2).enumerate().filter(|(at, pair)| {
        // The first and the last word may go on outside.
        (*at > 0 || pair[0].len() >= 2) && (at + 2 < words.len() || pair[1].len() >= 2)
    });
    meeting
        .map(|(_, pair)| {
            let before = &pair[0];
            let after = &pair[1];
            let end = before[before.len().saturating_sub(2)..].iter();
            end.chain([&' ']).chain(after.iter().take(2)).collect()
        })
        .collect()
}

/// Returns the ids in other trackers that a text can be.
pub(crate) fn external_names(text: &str) -> [String; 2] {
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
