//! Times as other programs and people write them. Times without a time zone are taken as UTC.

use chrono::{FixedOffset, NaiveDate, NaiveTime, TimeZone, Utc};

use crate::domain::Timestamp;

/// The order of day and month in dates such as 03/04/2026.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateOrder {
    /// 3 April.
    DayFirst,
    /// March 4.
    MonthFirst,
}

/// The reasons why a text is not a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TimeError {
    /// It has another form.
    Unknown,
    /// The order of day and month is unknown and matters.
    Ambiguous,
}

/// How the names of the months begin, in English, German, French, Spanish, Italian, Portuguese and Dutch: programs
/// write them in the language of the user.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene", "gen"],
    &["feb", "fev", "fév"],
    &["mar", "mär", "mrz", "maa", "mrt"],
    &["apr", "avr", "abr"],
    &["may", "mai", "mag", "mei"],
    &["jun", "juin", "giu"],
    &["jul", "juil", "lug"],
    &["aug", "aou", "aoû", "ago"],
    &["sep", "set"],
    &["oct", "okt", "ott", "out"],
    &["nov"],
    &["dec", "dez", "déc", "dic"],
];

/// Parses a time.
pub(super) fn parse(text: &str, order: Option<DateOrder>) -> Result<Timestamp, TimeError> {
    let text = text.trim();
    if let Some(time) = Timestamp::parse(text) {
        return Ok(time);
    }
    // Some programs write a narrow no-break space before AM and PM.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (date, rest) = Date::of(&text).ok_or(TimeError::Unknown)?;
    let date = date.day(order)?;
    let (time, offset) = time_of_day(rest).ok_or(TimeError::Unknown)?;
    let time = offset.from_local_datetime(&date.and_time(time)).single();
    Ok(time.ok_or(TimeError::Unknown)?.with_timezone(&Utc).into())
}

/// Returns the order of day and month if the text has a date that only this order allows.
pub(super) fn order_of(text: &str) -> Option<DateOrder> {
    let (date, _) = Date::of(text.trim())?;
    let Date::Numbers { first, second, year } = date else { return None };
    match (day_of(year, second, first), day_of(year, first, second)) {
        (Some(_), None) => Some(DateOrder::DayFirst),
        (None, Some(_)) => Some(DateOrder::MonthFirst),
        _ => None,
    }
}

/// A date before it is known to exist.
#[derive(Clone, Copy)]
enum Date {
    Known {
        year: i32,
        month: u32,
        day: u32,
    },
    /// The first and the second number are day and month in either order.
    Numbers {
        first: u32,
        second: u32,
        year: i32,
    },
}

impl Date {
    /// Parses the date at the beginning of a text, and returns it with the rest of the text.
    fn of(text: &str) -> Option<(Self, &str)> {
        let (first, between, rest) = part(text);
        let (second, _, rest) = part(rest);
        let (third, ..) = part(rest);
        let is_word = |part: &str| part.starts_with(char::is_alphabetic);
        let date = if first.len() == 4 && !is_word(first) {
            Self::Known { year: number(first)?, month: month(second)?, day: number(third)? }
        } else if is_word(first) {
            Self::Known { year: year(third)?, month: month(first)?, day: number(second)? }
        } else if is_word(second) || between.starts_with('.') {
            Self::Known { year: year(third)?, month: month(second)?, day: number(first)? }
        } else {
            let (first, second) = (number(first)?, number(second)?);
            Self::Numbers { first, second, year: year(third)? }
        };
        Some((date, &rest[third.len()..]))
    }

    fn day(self, order: Option<DateOrder>) -> Result<NaiveDate, TimeError> {
        let (day_first, month_first) = match self {
            Self::Known { year, month, day } => (day_of(year, month, day), None),
            Self::Numbers { first, second, year } => {
                (day_of(year, second, first), day_of(year, first, second))
            }
        };
        match (day_first, month_first, order) {
            (Some(day), Some(other), None) if day != other => Err(TimeError::Ambiguous),
            (_, Some(day), Some(DateOrder::MonthFirst)) => Ok(day),
            (day, other, _) => day.or(other).ok_or(TimeError::Unknown),
        }
    }
}

fn day_of(year: i32, month: u32, day: u32) -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(year, month, day)
}

/// Splits a text after its first run of digits or of letters, and after the separators that follow.
fn part(text: &str) -> (&str, &str, &str) {
    let is_digit = text.starts_with(|character: char| character.is_ascii_digit());
    let is_same = |character: char| {
        if is_digit { character.is_ascii_digit() } else { character.is_alphabetic() }
    };
    let end = text.find(|character| !is_same(character)).unwrap_or(text.len());
    let (part, rest) = text.split_at(end);
    let behind = rest.trim_start_matches(['/', '-', '.', ',', ' ']);
    (part, &rest[..rest.len() - behind.len()], behind)
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

fn month(text: &str) -> Option<u32> {
    if text.starts_with(|character: char| character.is_ascii_digit()) {
        return number(text);
    }
    let name = text.to_lowercase();
    let is_it = |begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
    (1..).zip(MONTHS).find(|(_, begins)| is_it(begins)).map(|(number, _)| number)
}

fn year(text: &str) -> Option<i32> {
    let year = number(text)?;
    match text.len() {
        4 => Some(year),
        2 => Some(if year < 70 { 2000 + year } else { 1900 + year }),
        _ => None,
    }
}

/// Parses what follows a date: nothing, or a time with or without its offset from UTC.
fn time_of_day(rest: &str) -> Option<(NaiveTime, FixedOffset)> {
    const FORMS: [&str; 4] = ["%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p"];
    let utc = FixedOffset::east_opt(0)?;
    let rest = rest.strip_prefix('T').unwrap_or(rest).trim_start_matches([',', ' ']);
    if rest.is_empty() {
        return Some((NaiveTime::MIN, utc));
    }
    let (time, offset) = match rest.find(['+', '-']) {
        Some(sign) => {
            let (time, offset) = rest.split_at(sign);
            (time, offset.parse().ok()?)
        }
        None => (rest.trim_end_matches('Z').trim_end_matches("UTC").trim_end_matches("GMT"), utc),
    };
    let time = time.trim_end();
    FORMS.iter().find_map(|form| Some((NaiveTime::parse_from_str(time, form).ok()?, offset)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_forms_are_parsed() {
        for (text, time) in [
            ("2026-01-31T09:30:00.5+02:00", "2026-01-31T07:30:00.500Z"),
            ("2026-01-31T09:30:00.500+0200", "2026-01-31T07:30:00.500Z"),
            ("2026-01-31 09:30:00 UTC", "2026-01-31T09:30:00.000Z"),
            ("2026-01-31 09:30", "2026-01-31T09:30:00.000Z"),
            ("2026/01/31 9:30", "2026-01-31T09:30:00.000Z"),
            ("2026-01-31", "2026-01-31T00:00:00.000Z"),
            ("31.1.2026", "2026-01-31T00:00:00.000Z"),
            ("31/Jan/26 3:04 PM", "2026-01-31T15:04:00.000Z"),
            ("31/Jan/26 3:04\u{202f}PM", "2026-01-31T15:04:00.000Z"),
            ("31/janv./26 12:04 AM", "2026-01-31T00:04:00.000Z"),
            ("31/Mär/26 15:04", "2026-03-31T15:04:00.000Z"),
            ("31-déc-2026", "2026-12-31T00:00:00.000Z"),
            ("Jan 31, 2026, 3:04:05 PM", "2026-01-31T15:04:05.000Z"),
            ("31/01/2026 15:04", "2026-01-31T15:04:00.000Z"),
            ("1/31/26", "2026-01-31T00:00:00.000Z"),
            ("01/01/99", "1999-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(
                parse(text, None).map(|time| time.to_string()),
                Ok(time.to_owned()),
                "{text}"
            );
        }
        for text in [
            "",
            "never",
            "8 January",
            "31/Foo/26",
            "30/Feb/26",
            "31/13/2026",
            "1/2/3",
            "2026-01-31 25:00",
        ] {
            assert_eq!(parse(text, None), Err(TimeError::Unknown), "{text}");
        }
    }

    #[test]
    fn ambiguous_dates_need_an_order() {
        use DateOrder::{DayFirst, MonthFirst};
        let day =
            |text: &str, order| parse(text, order).map(|time| time.to_string()[..10].to_owned());
        assert_eq!(day("3/4/2026", None), Err(TimeError::Ambiguous));
        assert_eq!(day("3/4/2026", Some(DayFirst)).unwrap(), "2026-04-03");
        assert_eq!(day("3/4/2026", Some(MonthFirst)).unwrap(), "2026-03-04");
        assert_eq!(day("31/4/2026", Some(MonthFirst)), Err(TimeError::Unknown));
        assert_eq!(order_of("3/4/2026"), None);
        assert_eq!(order_of("31/3/2026 1:00 PM"), Some(DayFirst));
        assert_eq!(order_of("3/31/2026"), Some(MonthFirst));
        assert_eq!(order_of("2026-03-31"), None);
    }
}
