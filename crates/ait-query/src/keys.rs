//! The keys of the language, and the meaning of their values.

use std::ops::RangeInclusive;

use super::{nearest, ranges};
use ait_domain::lessons;
use ait_domain::thresholds::STALE_AFTER_DAYS;
use ait_domain::{
    AgentName, Classification, Condition, IssueId, IssueRef, Label, LinkKind, Order, Priority,
    Status, StatusSet, Timestamp, ValueField,
};

/// A key, by the name that it was found by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub name: &'static str,
    parse: fn(&str, Timestamp) -> Option<Meaning>,
    /// The values, for error messages.
    expected: &'static str,
}

/// What a key with its value means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Condition(Condition),
    /// The order, and whether it is reversed.
    Order(Order, bool),
}

const NONE: &str = "none";

/// The keys, in the order of the documentation.
const KEYS: [Key; 24] = [
    Key {
        name: "status",
        parse: |value, _| any_word(value, |word| StatusSet::from_word(word).map(Condition::Status)),
        expected: "use open, created, in_progress, completed, in_review, closed or rejected, or several with commas",
    },
    Key {
        name: "kind",
        parse: |value, _| {
            any_word(value, |word| Classification::from_word(word).map(Condition::Classification))
        },
        expected: "use a kind of work such as bug, improvement or feature",
    },
    Key {
        name: "label",
        parse: |value, _| {
            any_word(value, |word| match word {
                NONE => Some(Condition::Label(None)),
                word => word.parse::<Label>().ok().map(|label| Condition::Label(Some(label))),
            })
        },
        expected: "use a label (a-z, 0-9 and :._/-), several with commas for any of them, or none",
    },
    Key {
        name: "file",
        parse: |value, _| {
            any(value, |file| Some(Condition::tells([lessons::file_subject(file)].into())))
        },
        expected: "use a file or folder, such as src/main.rs: closed issues and entries that tell something about it",
    },
    Key {
        name: "priority",
        parse: |value, _| any(value, priorities),
        expected: "use 0 (first) to 4 (last), such as 1, <=1, 0..1 or 0,3; issues without one count as 2",
    },
    Key {
        name: "holder",
        parse: |value, _| any(value, |word| Some(Condition::Holder(agent_or_none(word)?))),
        expected: "use the name of an agent, or none",
    },
    Key {
        name: "assignee",
        parse: |value, _| any(value, |word| Some(Condition::Assignee(agent_or_none(word)?))),
        expected: "use the name of an agent, or none",
    },
    Key {
        name: "filer",
        parse: |value, _| any(value, |word| Some(Condition::Filer(agent(word)?))),
        expected: "use the name of an agent",
    },
    Key {
        name: "agent",
        parse: |value, _| any(value, |word| Some(Condition::Involves(agent(word)?))),
        expected: "use the name of an agent",
    },
    Key {
        name: "parent",
        parse: |value, _| {
            any(value, |word| match word {
                NONE => Some(Condition::Unlinked(LinkKind::Parent)),
                word => Some(Condition::Parent(ids(word)?)),
            })
        },
        expected: IDS_OR_NONE,
    },
    Key {
        name: "blocks",
        parse: |value, _| any(value, |word| Some(Condition::Blocks(ids(word)?))),
        expected: IDS,
    },
    Key {
        name: "blocked-by",
        parse: |value, _| any(value, |word| Some(Condition::BlockedBy(ids(word)?))),
        expected: IDS,
    },
    Key {
        name: "id",
        parse: |value, _| any(value, |word| Some(Condition::Id(ids(word)?))),
        expected: IDS,
    },
    Key {
        name: ValueField::Due.as_str(),
        parse: |value, now| {
            any(value, |word| ranked(ValueField::Due, word, |text| ranges::dues(text, now)))
        },
        expected: "use <3d (within 3 days, or overdue), a day such as 2026-11-21 or friday, a comparison with one, or none",
    },
    Key {
        name: ValueField::Estimate.as_str(),
        parse: |value, _| {
            let ranks = |text: &str| ranges::ranks(ValueField::Estimate, text);
            any(value, |word| ranked(ValueField::Estimate, word, ranks))
        },
        expected: "use a number such as 3, >=0.5 or 1..5, or none",
    },
    Key {
        name: ValueField::Touches.as_str(),
        parse: |value, _| any_word(value, |word| ranked(ValueField::Touches, word, ranges::any)),
        expected: "use any or none",
    },
    Key {
        name: ValueField::Budget.as_str(),
        parse: |value, _| any_word(value, |word| ranked(ValueField::Budget, word, ranges::any)),
        expected: "use any or none",
    },
    Key {
        name: "returns",
        parse: |value, _| ranges::numbers(value).map(Condition::Returns).map(Meaning::Condition),
        expected: "use a number of times, such as 0, >=2 or 1..3",
    },
    Key {
        name: "claims",
        parse: |value, _| ranges::numbers(value).map(Condition::Claims).map(Meaning::Condition),
        expected: "use a number of times, such as 0, >=2 or 1..3",
    },
    Key {
        name: "created",
        parse: |value, now| {
            ranges::times(value, now).map(Condition::Created).map(Meaning::Condition)
        },
        expected: TIMES,
    },
    Key {
        name: "changed",
        parse: |value, now| {
            ranges::times(value, now).map(Condition::Changed).map(Meaning::Condition)
        },
        expected: TIMES,
    },
    Key {
        name: "idle",
        parse: |value, now| ranges::ages(value, now).map(Condition::Active).map(Meaning::Condition),
        expected: "use >3d, <12h or the like: the time since the last substantive change",
    },
    Key {
        name: "is",
        parse: |value, now| any_word(value, |word| state(word, now)),
        expected: "use open, ready, blocked, claimed, parked, overdue or stale",
    },
    Key {
        name: "sort",
        parse: |value, _| order(&value.to_lowercase()),
        expected: "use changed, filed, priority or title, with -asc or -desc behind it",
    },
];

const IDS: &str = "use the id of an issue, or at least its first 8 digits";
const IDS_OR_NONE: &str = "use the id of an issue, or at least its first 8 digits, or none";
const TIMES: &str = "use >-7d (within the last 7 days), <-7d (before that), a day such as 2026-11-21, or a comparison with one";

/// Other names of keys.
const ALIASES: [(&str, &str); 7] = [
    ("classification", "kind"),
    ("type", "kind"),
    ("state", "status"),
    ("author", "filer"),
    ("by", "filer"),
    ("updated", "changed"),
    ("blocked_by", "blocked-by"),
];

impl Key {
    /// Returns the key with a name or another name, regardless of case.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let alias = ALIASES.iter().find(|(other, _)| *other == name);
        let name = alias.map_or(&*name, |(_, name)| name);
        KEYS.into_iter().find(|key| key.name == name)
    }
}

/// Splits a word such as `label:ui` or `-label:ui` into the name of the key and the value.
pub fn key_and_value(word: &str) -> Option<(&'static str, &str)> {
    let (name, value) = word.strip_prefix('-').unwrap_or(word).split_once(':')?;
    Some((Key::named(name)?.name, value))
}

/// Returns true if a word begins with `-` and a key, so that it excludes issues, such as `-label:ui`.
pub fn is_excluding(word: &str) -> bool {
    word.starts_with('-') && key_and_value(word).is_some()
}

/// Returns the words that a key takes.
pub fn words_of(name: &str, now: Timestamp) -> impl Iterator<Item = &'static str> {
    Key::named(name).into_iter().flat_map(move |key| words(key, now))
}

/// Returns the names of the keys with what their values are, in the order of the documentation.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    KEYS.into_iter()
        .map(|key| (key.name, key.expected.strip_prefix("use ").unwrap_or(key.expected)))
}

/// Returns a line for each key, which says what its values are.
pub fn help() -> String {
    let line = |(name, values)| format!("  {:<11} {values}", format!("{name}:"));
    all().map(line).collect::<Vec<_>>().join("\n")
}

fn names() -> impl Iterator<Item = &'static str> {
    all().map(|(name, _)| name)
}

/// Returns the key whose name is most like a given name, if the name looks like one that was mistyped or shortened.
pub(super) fn nearest_to(name: &str) -> Option<&'static str> {
    const SHORTEST: usize = 4;
    let is_word =
        name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_');
    let begun = || names().find(|key| name.len() >= SHORTEST && key.starts_with(name));
    is_word.then(|| nearest(name, names()).or_else(begun)).flatten()
}

/// Returns what a key with a value means, or what was expected.
pub(super) fn parse(key: Key, value: &str, now: Timestamp) -> Result<Meaning, String> {
    (key.parse)(value.trim(), now).ok_or_else(|| match nearest_value(key, value, now) {
        Some(near) => format!("{}; did you mean {near}?", key.expected),
        None => key.expected.to_owned(),
    })
}

/// Returns the word among the expected ones that is most like the first value that the key does not take.
fn nearest_value(key: Key, value: &str, now: Timestamp) -> Option<&'static str> {
    let is_known = |word: &&str| (key.parse)(word, now).is_some();
    let given = value.split(',').map(str::trim).find(|word| !is_known(word))?.to_lowercase();
    nearest(&given, words(key, now))
}

/// Returns the words among the expected values.
fn words(key: Key, now: Timestamp) -> impl Iterator<Item = &'static str> {
    let is_end = |character: char| !character.is_ascii_lowercase() && character != '_';
    key.expected.split(is_end).filter(move |word| (key.parse)(word, now).is_some())
}

/// Parses values that are separated by commas, regardless of case: any of them may hold.
fn any_word(value: &str, parse: impl Fn(&str) -> Option<Condition>) -> Option<Meaning> {
    any(&value.to_lowercase(), parse)
}

/// Parses values that are separated by commas: any of them may hold.
fn any(value: &str, parse: impl Fn(&str) -> Option<Condition>) -> Option<Meaning> {
    let conditions: Option<Vec<_>> = value.split(',').map(|word| parse(word.trim())).collect();
    let mut conditions = conditions?;
    let statuses = conditions.iter().map(|condition| match condition {
        Condition::Status(statuses) => Some(*statuses),
        _ => None,
    });
    // One set of statuses, which an index answers.
    if let Some(statuses) = statuses.collect::<Option<Vec<_>>>() {
        let all = statuses.into_iter().flat_map(StatusSet::iter).collect();
        return Some(Meaning::Condition(Condition::Status(all)));
    }
    Some(Meaning::Condition(match conditions.len() {
        1 => conditions.remove(0),
        _ => Condition::Any(conditions),
    }))
}

/// Returns the condition of a key with a value.
///
/// # Errors
///
/// What values the key takes.
pub fn condition(name: &str, value: &str, now: Timestamp) -> Result<Condition, String> {
    let key = Key::named(name).ok_or_else(|| format!("there is no key {name}"))?;
    match parse(key, value, now) {
        Ok(Meaning::Condition(condition)) => Ok(condition),
        Ok(Meaning::Order(..)) => Err("a condition".to_owned()),
        Err(expected) => Err(expected.trim_start_matches("use ").to_owned()),
    }
}

fn state(word: &str, now: Timestamp) -> Option<Condition> {
    let open = Condition::Status(StatusSet::open());
    Some(match word {
        "open" => open,
        "ready" => Condition::Ready(now),
        "blocked" => Condition::Blocked,
        "claimed" => Condition::Status(
            Status::OF_WORK.iter().copied().filter(|status| status.is_claimed()).collect(),
        ),
        "parked" => Condition::Parked(now),
        "overdue" => {
            let past = i64::MIN..=now.unix_millis().saturating_sub(1);
            Condition::all([open, Condition::Value(ValueField::Due, past)])
        }
        "stale" => Condition::all([open, stale(now)?]),
        word => return StatusSet::from_word(word).map(Condition::Status),
    })
}

fn stale(now: Timestamp) -> Option<Condition> {
    ranges::ages(&format!(">{STALE_AFTER_DAYS}d"), now).map(Condition::Active)
}

/// Parses a range of the values of a field, or `none`.
fn ranked(
    field: ValueField,
    value: &str,
    range: impl FnOnce(&str) -> Option<RangeInclusive<i64>>,
) -> Option<Condition> {
    let any = Condition::Value(field, i64::MIN..=i64::MAX);
    Some(match value {
        NONE => Condition::Not(Box::new(any)),
        value => Condition::Value(field, range(value)?),
    })
}

fn agent(word: &str) -> Option<String> {
    AgentName::try_from(word).ok().map(|name| name.as_str().to_owned())
}

fn agent_or_none(word: &str) -> Option<Option<String>> {
    match word {
        NONE => Some(None),
        word => agent(word).map(Some),
    }
}

fn ids(word: &str) -> Option<RangeInclusive<IssueId>> {
    IssueRef::in_search(word).map(|reference| reference.range())
}

fn priorities(value: &str) -> Option<Condition> {
    let digits = value.replace(['p', 'P'], "");
    let numbers = ranges::numbers(&digits)?;
    let exact = !value.contains(['<', '>']) && *numbers.end() > Priority::MAX.into();
    if exact {
        return None;
    }
    let priority = |number: usize| Priority::try_from(number as u64).ok();
    let first = *numbers.start();
    let last = (*numbers.end()).min(Priority::MAX.into());
    // Nothing is beyond the last one.
    let range = priority(first).zip(priority(last)).filter(|_| first <= last);
    Some(
        range.map_or(Condition::Any(Vec::new()), |(first, last)| Condition::Priority(first..=last)),
    )
}

fn order(value: &str) -> Option<Meaning> {
    let (name, direction) = match value.rsplit_once('-') {
        Some((name, direction @ ("asc" | "desc"))) => (name, Some(direction)),
        _ => (value, None),
    };
    let (order, usual) = match name {
        "changed" | "updated" => (Order::LatestActivity, "desc"),
        "filed" | "created" => (Order::Filed, "asc"),
        "priority" => (Order::Priority, "asc"),
        "title" => (Order::Title, "asc"),
        _ => return None,
    };
    Some(Meaning::Order(order, direction.is_some_and(|given| given != usual)))
}
