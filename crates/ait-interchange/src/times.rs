//! Times as other programs and people write them. Times without a time zone are taken as UTC.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeZone, Utc};

use ait_domain::Timestamp;

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

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// The names of time zones with their hours from UTC (RFC 2822, section 4.3), and those of Central Europe.
const ZONES: [(&str, i32); 13] = [
    ("UTC", 0),
    ("GMT", 0),
    ("Z", 0),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
    ("CEST", 2),
    ("CET", 1),
];
const SECONDS_PER_HOUR: i32 = 3600;

/// Returns true if a text stands for no time: Go and MySQL write it so.
pub(super) fn is_none(text: &str) -> bool {
    text.is_empty() || text.starts_with("0001-01-01") || text.starts_with("0000-00-00")
}

/// Parses a time.
pub(super) fn parse(text: &str, order: Option<DateOrder>) -> Result<Timestamp, TimeError> {
    let text = text.trim();
    // As JSON of .NET has it.
    let text = text.strip_prefix("/Date(").and_then(|date| date.strip_suffix(")/")).unwrap_or(text);
    if let Some(time) = Timestamp::parse(text).or_else(|| of_epoch(text)) {
        return Ok(time);
    }
    // Some programs write a narrow no-break space before AM and PM.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = plain(&text);
    if let Some(time) = of_c_library(&text).or_else(|| of_week(&text)) {
        return Ok(time.and_utc().into());
    }
    let (date, rest) = Date::of(&text).ok_or(TimeError::Unknown)?;
    let date = date.day(order)?;
    let (time, offset) = time_of_day(rest).ok_or(TimeError::Unknown)?;
    let time = offset.from_local_datetime(&date.and_time(time)).single();
    Ok(time.ok_or(TimeError::Unknown)?.with_timezone(&Utc).into())
}

/// Parses the seconds since 1970, or their thousandth, millionth or billionth parts.
fn of_epoch(text: &str) -> Option<Timestamp> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = [whole, fraction].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()));
    let number = whole.parse::<i64>().ok().filter(|_| are_digits)?;
    let millis = match whole.len() {
        9..=11 => number.checked_mul(1_000)?,
        12..=14 => number,
        15..=17 => number / 1_000,
        18..=19 => number / 1_000_000,
        _ => return None,
    };
    DateTime::from_timestamp_millis(millis).map(Timestamp::from)
}

/// Parses a time as the C library and git write it, with the year behind the time.
fn of_c_library(text: &str) -> Option<NaiveDateTime> {
    let with_zone = || {
        let time = DateTime::parse_from_str(text, "%b %d %H:%M:%S %Y %z").ok()?;
        Some(time.naive_utc())
    };
    // `date` writes the time zone before the year.
    let text_in_utc = text.replacen(" UTC ", " ", 1);
    let plain = NaiveDateTime::parse_from_str(&text_in_utc, "%b %d %H:%M:%S %Y").ok();
    plain.or_else(with_zone)
}

/// Parses the day of a week or of a year (ISO 8601, 4.1.3 and 4.1.4), such as 2026-W05-3, 2026W05 or 2026-031. A week
/// without a day begins on Monday.
fn of_week(text: &str) -> Option<NaiveDateTime> {
    let monday = format!("{text}-1");
    let of_week = [(text, "%G-W%V-%u"), (text, "%GW%V%u"), (&monday, "%G-W%V-%u")];
    let of_year = Some((text, "%Y-%j")).filter(|_| text.len() == "2026-031".len());
    let mut dates = of_week.into_iter().chain(of_year);
    let date = dates.find_map(|(text, form)| NaiveDate::parse_from_str(text, form).ok());
    date.map(|date| date.and_time(NaiveTime::MIN))
}

/// Returns a time without the day of the week before it and the name of the time zone in parentheses behind it, and
/// with hyphens in a date of digits alone.
fn plain(text: &str) -> String {
    let text = text.split(" (").next().unwrap_or(text);
    // Java has the name of the time zone in brackets.
    let text = text.split('[').next().unwrap_or(text).replacen(" at ", " ", 1);
    let (first, _, rest) = part(&text);
    let is_weekday = WEEKDAYS.iter().any(|day| first.to_lowercase().starts_with(day));
    let text = if is_weekday { rest } else { &text };
    match part(text) {
        (date, ..) if date.len() == 8 && date.starts_with(|first: char| first.is_ascii_digit()) => {
            let [year, month, day] = [&date[..4], &date[4..6], &date[6..]];
            format!("{year}-{month}-{day}{}", &text[8..])
        }
        _ => text.to_owned(),
    }
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
            let first = number(first)?;
            let second = number(second)?;
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
    const FORMS: [&str; 6] = ["%H:%M:%S%.f", "%H:%M", "%I:%M:%S %p", "%I:%M %p", "%H%M%S", "%H%M"];
    let rest = rest.strip_prefix('T').unwrap_or(rest).trim_start_matches([',', ' ']);
    if rest.is_empty() {
        return Some((NaiveTime::MIN, FixedOffset::east_opt(0)?));
    }
    let (time, offset) = rest.split_at(rest.find(['+', '-']).unwrap_or(rest.len()));
    let zone = ZONES.iter().find_map(|(name, hours)| Some((time.strip_suffix(name)?, *hours)));
    let (time, hours) = zone.unwrap_or((time, 0));
    let seconds = if offset.is_empty() { hours * SECONDS_PER_HOUR } else { seconds_of(offset)? };
    let time = time.trim_end();
    let offset = FixedOffset::east_opt(seconds)?;
    FORMS.iter().find_map(|form| Some((NaiveTime::parse_from_str(time, form).ok()?, offset)))
}

/// Parses an offset from UTC, such as `+0200`, `+02:00` or `+2`.
fn seconds_of(offset: &str) -> Option<i32> {
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let digits = offset[1..].replace(':', "");
    let (hours, minutes) =
        digits.split_at(if digits.len() > 2 { digits.len() - 2 } else { digits.len() });
    let minutes: i32 = if minutes.is_empty() { 0 } else { number(minutes)? };
    Some(sign * (number::<i32>(hours)? * SECONDS_PER_HOUR + minutes * 60))
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
            ("Sun, 20 Apr 2025 10:17:06 +0200", "2025-04-20T08:17:06.000Z"),
            ("Sun, 20 Apr 2025 10:17:06 EST", "2025-04-20T15:17:06.000Z"),
            ("20 Apr 2025 10:17:06 GMT", "2025-04-20T10:17:06.000Z"),
            ("Sun, 20 Apr 2025 10:17:06 UTC+0000", "2025-04-20T10:17:06.000Z"),
            ("Sun Apr 20 2025 10:17:06 GMT+0000 (GMT)", "2025-04-20T10:17:06.000Z"),
            ("Sun Apr 20 2025 10:17:06 GMT-0730 (Some Standard Time)", "2025-04-20T17:47:06.000Z"),
            ("Sun Apr 20 10:17:06 2025", "2025-04-20T10:17:06.000Z"),
            ("2025-04-20 10:17:06 UTC+2", "2025-04-20T08:17:06.000Z"),
            ("20260102T030405Z", "2026-01-02T03:04:05.000Z"),
            ("20260102", "2026-01-02T00:00:00.000Z"),
            ("2026-W05-3", "2026-01-28T00:00:00.000Z"),
            ("2026W053", "2026-01-28T00:00:00.000Z"),
            ("2026-W05", "2026-01-26T00:00:00.000Z"),
            ("2020-W53-5", "2021-01-01T00:00:00.000Z"),
            ("2026-031", "2026-01-31T00:00:00.000Z"),
            ("Fri Jan 2 03:04:05 2026 +0100", "2026-01-02T02:04:05.000Z"),
            ("Fri Jan  2 03:04:05 UTC 2026", "2026-01-02T03:04:05.000Z"),
            ("Jan 2, 2026 at 3:04 PM", "2026-01-02T15:04:00.000Z"),
            ("2026-01-02T03:04:05+01:00[Europe/Berlin]", "2026-01-02T02:04:05.000Z"),
            ("/Date(1767323045000)/", "2026-01-02T03:04:05.000Z"),
            ("1767323045", "2026-01-02T03:04:05.000Z"),
            ("1767323045.25", "2026-01-02T03:04:05.000Z"),
            ("1767323045006", "2026-01-02T03:04:05.006Z"),
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
            "12345",
            "2026-01-31 10:00 +",
            "2026-W54-1",
            "2026-W05-8",
            "2026-366",
            "W05",
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
