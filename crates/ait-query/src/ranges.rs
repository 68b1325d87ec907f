//! Values with a comparison, such as `>=2`, `<-7d` and `1..3`.

use std::ops::RangeInclusive;

use chrono::Utc;

use crate::time_arg::TimeArg;
use ait_domain::{FieldValue, Timestamp, ValueField};

const MILLIS_OF_DAY: i64 = 24 * 60 * 60 * 1_000;

/// A comparison with a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Splits a value into its comparison and the rest.
fn comparison(value: &str) -> (Comparison, &str) {
    for (sign, comparison) in [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        (">", Comparison::More),
        ("<", Comparison::Less),
        ("=", Comparison::Equal),
    ] {
        if let Some(rest) = value.strip_prefix(sign) {
            return (comparison, rest);
        }
    }
    (Comparison::Equal, value)
}

/// Parses whole numbers: `2`, `>=2`, `<5`, `1..3`.
pub(super) fn numbers(value: &str) -> Option<RangeInclusive<usize>> {
    let number = |text: &str| text.parse::<usize>().ok();
    if let Some((first, last)) = value.split_once("..") {
        return Some(number(first)?..=number(last)?);
    }
    let (comparison, rest) = comparison(value);
    let number = number(rest)?;
    Some(match comparison {
        Comparison::Equal => number..=number,
        Comparison::Less => number.checked_sub(1).map_or(empty(), |last| 0..=last),
        Comparison::AtMost => 0..=number,
        Comparison::More => number.saturating_add(1)..=usize::MAX,
        Comparison::AtLeast => number..=usize::MAX,
    })
}

/// Parses the word for any value.
pub(super) fn any(value: &str) -> Option<RangeInclusive<i64>> {
    (value == "any").then_some(i64::MIN..=i64::MAX)
}

/// Parses the values of a field that is a number: `2`, `>=0.5`, `1..3`. Returns their ranks.
pub(super) fn ranks(field: ValueField, value: &str) -> Option<RangeInclusive<i64>> {
    let number = |text: &str| FieldValue::parse(field, text).ok()?.rank();
    if let Some((first, last)) = value.split_once("..") {
        return Some(number(first)?..=number(last)?);
    }
    let (comparison, rest) = comparison(value);
    let number = number(rest)?;
    Some(span(comparison, number, number))
}

/// Parses when something is due: `<3d` from now on, `<-2d`, `2026-11-21`, `<=friday`. Returns milliseconds since 1970.
pub(super) fn dues(value: &str, now: Timestamp) -> Option<RangeInclusive<i64>> {
    let (comparison, given) = comparison(value);
    let rest = given.strip_prefix('-').unwrap_or(given);
    let time = TimeArg::parse(rest, &Utc).ok()?;
    let first = if rest == given { time.time_after(now) } else { time.time(now) };
    let first = first.unix_millis();
    let has_time = matches!(time, TimeArg::Span(_)) || rest.contains(':');
    if has_time && comparison == Comparison::Equal {
        return None;
    }
    Some(span(comparison, first, if has_time { first } else { first + MILLIS_OF_DAY - 1 }))
}

/// Returns the range without a number.
fn empty() -> RangeInclusive<usize> {
    RangeInclusive::new(1, 0)
}

/// Parses times: `>-7d`, `<2026-11-21`, `2026-11-21`. A date and `yesterday` are the whole day. A duration is
/// that long ago, and has a minus sign: `idle:>2d` means the opposite of `changed:>-2d`.
pub(super) fn times(value: &str, now: Timestamp) -> Option<RangeInclusive<Timestamp>> {
    let (comparison, given) = comparison(value);
    let rest = given.strip_prefix('-').unwrap_or(given);
    let is_word = rest.starts_with(|first: char| first.is_alphabetic());
    let is_day = (is_word || rest.len() == 10) && !rest.contains(':');
    let time = TimeArg::parse(rest, &Utc).ok()?;
    // More than two days ago, or since two days ago: `>2d` could mean both.
    let is_unclear = comparison == Comparison::Equal || rest == given;
    if matches!(time, TimeArg::Span(_)) && is_unclear {
        return None;
    }
    let first = time.time(now).unix_millis();
    let last = match time {
        TimeArg::At(_) | TimeArg::Recurring { .. } if is_day => first + MILLIS_OF_DAY - 1,
        _ => first,
    };
    Some(range(comparison, first, last))
}

/// Parses how long ago something was: `>3d`, `<=12h`. Returns the times that are so long ago.
pub(super) fn ages(value: &str, now: Timestamp) -> Option<RangeInclusive<Timestamp>> {
    let (comparison, rest) = comparison(value);
    let age @ TimeArg::Span(_) = TimeArg::parse(rest, &Utc).ok()? else { return None };
    let time = age.time(now).unix_millis();
    let times = match comparison {
        Comparison::Equal => return None,
        Comparison::Less => Comparison::More,
        Comparison::AtMost => Comparison::AtLeast,
        Comparison::More => Comparison::Less,
        Comparison::AtLeast => Comparison::AtMost,
    };
    Some(range(times, time, time))
}

/// Returns the times that compare so with the times from `first` to `last`, in milliseconds since 1970.
fn range(comparison: Comparison, first: i64, last: i64) -> RangeInclusive<Timestamp> {
    let found = span(comparison, first, last);
    let from = (*found.start()).max(Timestamp::MIN.unix_millis());
    let to = (*found.end()).min(Timestamp::MAX.unix_millis());
    Timestamp::from_unix_millis(from)..=Timestamp::from_unix_millis(to)
}

/// Returns the numbers that compare so with those from `first` to `last`.
fn span(comparison: Comparison, first: i64, last: i64) -> RangeInclusive<i64> {
    match comparison {
        Comparison::Equal => first..=last,
        Comparison::Less => i64::MIN..=first - 1,
        Comparison::AtMost => i64::MIN..=last,
        Comparison::More => last + 1..=i64::MAX,
        Comparison::AtLeast => first..=i64::MAX,
    }
}
