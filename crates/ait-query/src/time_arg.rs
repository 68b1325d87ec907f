//! Times that users type, on the command line and in URLs.

use chrono::{
    DateTime, Datelike, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc, Weekday,
};

use ait_domain::{DomainError, Due, FieldValue, Timestamp, ValueField};

/// A time that a user typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeArg {
    /// This long before or after now.
    Span(TimeDelta),
    /// At this time.
    At(Timestamp),
    /// A time that comes every day, or on a day of every week.
    Recurring {
        /// When it was last, which may be today.
        last: Timestamp,
        /// When it is next.
        next: Timestamp,
    },
}

/// Examples of the accepted forms.
pub const FORMS: &str = "90m, 2h, 3d, 2026-11-21, 2026-11-21 13:00, 2026-11-21T13:00:00Z";
/// The accepted forms, for error messages.
const EXPECTED: &str = "use a duration (90m, 2h, 3d), a day (tomorrow, friday) or a time (17:00, friday 9:00, 2026-11-21, \
     2026-11-21 13:00, or RFC 3339 such as 2026-11-21T13:00:00Z)";

impl TimeArg {
    /// Parses a duration (`90m`, `2h 30m`, `+3d`), a day (`tomorrow`, `friday`), a time of day (`17:00`, `5pm`,
    /// `friday 9:00`), an RFC 3339 time, or a date with an optional time in `zone`. Days count from the clock of the
    /// machine.
    ///
    /// # Errors
    ///
    /// The text has none of these forms; the error lists them.
    pub fn parse(text: &str, zone: &impl TimeZone) -> Result<Self, String> {
        let text = text.trim();
        if let Some(day) = Self::day(&text.to_lowercase(), zone) {
            return day.ok_or_else(skipped);
        }
        let span = text.strip_prefix('+').or(text.strip_suffix(" ago")).unwrap_or(text);
        if let Ok(span) = humantime::parse_duration(span) {
            // A duration too long to represent goes beyond the first event, or beyond the last.
            return Ok(Self::Span(TimeDelta::from_std(span).unwrap_or(TimeDelta::MAX)));
        }
        if let Some(time) = Timestamp::parse(text) {
            return Ok(Self::At(time));
        }
        let form = text.replacen('T', " ", 1);
        let date =
            NaiveDate::parse_from_str(&form, "%Y-%m-%d").map(|day| day.and_time(NaiveTime::MIN));
        let time = date
            .or_else(|_| NaiveDateTime::parse_from_str(&form, "%Y-%m-%d %H:%M"))
            .or_else(|_| NaiveDateTime::parse_from_str(&form, "%Y-%m-%d %H:%M:%S"))
            .map_err(|_| EXPECTED.to_owned())?;
        in_zone(time, zone).map(Self::At).ok_or_else(skipped)
    }

    /// Parses the word for a day, a time of day, or both; a clock change may skip that time.
    fn day(text: &str, zone: &impl TimeZone) -> Option<Option<Self>> {
        let now = Utc::now();
        let today = now.with_timezone(zone).date_naive();
        let (word, last_word) = text.rsplit_once(' ').unwrap_or(("", text));
        let time = time_of_day(last_word);
        let word = if time.is_some() { word.trim_end() } else { text };
        // This many days from today.
        let at = |days: i64| {
            let day = today.checked_add_signed(TimeDelta::days(days))?;
            in_zone(day.and_time(time.unwrap_or_default()), zone)
        };
        let recurring = |first: i64, period: i64| {
            let is_over = at(first)? <= Timestamp::from(now);
            let last = if is_over { first } else { first - period };
            at(last).zip(at(last + period)).map(|(last, next)| Self::Recurring { last, next })
        };
        Some(match word {
            "" if time.is_some() => recurring(0, 1),
            "now" if time.is_none() => Some(Self::Span(TimeDelta::zero())),
            "next week" | "last week" if time.is_none() => Some(Self::Span(TimeDelta::days(7))),
            "today" => at(0).map(Self::At),
            "tomorrow" => at(1).map(Self::At),
            "yesterday" => at(-1).map(Self::At),
            word => {
                let name = word.trim_start_matches("next ").trim_start_matches("last ");
                let weekday: Weekday = name.parse().ok()?;
                recurring(-i64::from(today.weekday().days_since(weekday)), 7)
            }
        })
    }

    /// Returns the point in time. A duration is added to now.
    pub fn time_after(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Recurring { next, .. } => next,
            Self::Span(span) => {
                let millis = now.unix_millis().saturating_add(span.num_milliseconds());
                Timestamp::from_unix_millis(millis)
            }
        }
    }

    /// Returns the point in time. A duration is subtracted from now. Clamped to the earliest that can be represented.
    pub fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Recurring { last, .. } => last,
            Self::Span(span) => {
                let millis = now.unix_millis().saturating_sub(span.num_milliseconds());
                Timestamp::from_unix_millis(millis)
            }
        }
    }
}

/// Parses the value of a field as people type it. A due date may also be a day (`friday`), or a time from now (`3d`).
///
/// # Errors
///
/// What is expected.
pub fn field_value(
    field: ValueField,
    text: &str,
    zone: &impl TimeZone,
) -> Result<FieldValue, DomainError> {
    let parsed = FieldValue::parse(field, text);
    if field != ValueField::Due || parsed.is_ok() {
        return parsed;
    }
    let is_day =
        text.trim_start().starts_with(|first: char| first.is_alphabetic()) && !text.contains(':');
    let now = Timestamp::from(Utc::now());
    let due = match TimeArg::parse(text, zone) {
        Ok(time) if is_day => {
            let day = DateTime::<Utc>::from(time.time_after(now)).with_timezone(zone);
            Due::Day(day.date_naive())
        }
        Ok(time) => Due::Time(time.time_after(now)),
        Err(_) => return parsed,
    };
    Ok(FieldValue::Due(Some(due)))
}

/// Parses a due date as people type it.
///
/// # Errors
///
/// What is expected.
pub fn due(text: &str, zone: &impl TimeZone) -> Result<Due, DomainError> {
    match field_value(ValueField::Due, text, zone)? {
        FieldValue::Due(Some(due)) => Ok(due),
        _ => text.parse(),
    }
}

/// Parses a time of day such as `17:00`, `5:30pm` or `5pm`.
fn time_of_day(text: &str) -> Option<NaiveTime> {
    let half = ["am", "pm"].into_iter().find_map(|half| Some((text.strip_suffix(half)?, half)));
    let Some((hour, half)) = half else { return NaiveTime::parse_from_str(text, "%H:%M").ok() };
    let minutes = if hour.contains(':') { "" } else { ":00" };
    NaiveTime::parse_from_str(&format!("{hour}{minutes}{half}"), "%I:%M%P").ok()
}

/// Returns a local time. Of one that occurs twice, returns the first; a clock change may skip it.
fn in_zone(time: NaiveDateTime, zone: &impl TimeZone) -> Option<Timestamp> {
    let time = time.and_local_timezone(zone.clone()).earliest()?;
    Some(Timestamp::from(time.with_timezone(&Utc)))
}

fn skipped() -> String {
    format!("this local time was skipped by a clock change; {EXPECTED}")
}

#[cfg(test)]
mod tests {
    use chrono::Local;

    use super::*;

    fn parse(text: &str) -> Result<TimeArg, String> {
        TimeArg::parse(text, &Local)
    }

    #[test]
    fn durations_times_and_local_dates_are_parsed() {
        for (text, minutes) in [("90m", 90), ("2h", 120), ("2h 30m", 150), ("3d", 3 * 24 * 60)] {
            assert_eq!(parse(text), Ok(TimeArg::Span(TimeDelta::minutes(minutes))), "{text}");
        }
        let at = |text: &str| Ok(TimeArg::At(Timestamp::parse(text).unwrap()));
        assert_eq!(parse("2026-11-21T13:00:00Z"), at("2026-11-21T13:00:00Z"));
        assert_eq!(parse("2026-11-21T13:00:00.5+02:00"), at("2026-11-21T11:00:00.500Z"));
        let midnight = parse("2026-11-21").unwrap();
        for same in ["2026-11-21 00:00", "2026-11-21T00:00", "2026-11-21 00:00:00"] {
            assert_eq!(parse(same), Ok(midnight), "{same}");
        }
        assert_ne!(parse("2026-11-21 00:00:01"), Ok(midnight));
        assert_eq!(TimeArg::parse("2026-11-21", &Utc), at("2026-11-21T00:00:00Z"));
        for text in ["", "soon", "2026-13-01", "5", "-2h"] {
            assert!(parse(text).unwrap_err().contains("90m"), "{text}");
        }
    }

    #[test]
    fn days_have_names_and_weekdays_the_direction_of_their_use() {
        let parse = |text: &str| TimeArg::parse(text, &Utc).unwrap();
        let now = Timestamp::from(Utc::now());
        let day = 24 * 60 * 60 * 1_000;
        let hours = |from: Timestamp, to: Timestamp| to.unix_millis() - from.unix_millis();
        let today = parse("today").time(now);
        assert!((0..=day).contains(&hours(today, now)));
        for (text, distance) in [("yesterday", -day), ("Tomorrow", day)] {
            assert_eq!(hours(today, parse(text).time_after(now)), distance, "{text}");
        }
        for text in ["friday", "Fri", "next monday", "sunday"] {
            let last = parse(text).time(now);
            let next = parse(text).time_after(now);
            assert_eq!(hours(last, next), 7 * day, "{text}");
            assert!(last <= now && now < next, "{text}");
        }
        for (text, period) in [("17:00", day), ("0:00", day), ("Friday 9:05", 7 * day)] {
            let last = parse(text).time(now);
            let next = parse(text).time_after(now);
            assert_eq!(hours(last, next), period, "{text}");
            assert!(last <= now && now < next, "{text}");
        }
        assert_eq!(hours(today, parse("today 13:30").time(now)), (13 * 60 + 30) * 60 * 1_000);
        assert_eq!(
            hours(parse("tomorrow").time(now), parse("tomorrow 9:00").time(now)),
            9 * day / 24
        );
        for text in ["25:00", "now 9:00", "next week 9:00", "soon 9:00"] {
            assert!(TimeArg::parse(text, &Utc).is_err(), "{text}");
        }
        assert_eq!(parse("+2d"), parse("2d"));
        assert_eq!(parse("2 days ago"), parse("2d"));
        assert_eq!(parse("now").time(now), now);
    }

    #[test]
    fn durations_beyond_the_time_range_are_clamped() {
        let now = Timestamp::parse("2026-11-21T13:00:00Z").unwrap();
        let two_hours = parse("2h").unwrap().time(now);
        assert_eq!(Some(two_hours), Timestamp::parse("2026-11-21T11:00:00Z"));
        let ahead = parse("2h").unwrap().time_after(now);
        assert_eq!(Some(ahead), Timestamp::parse("2026-11-21T15:00:00Z"));
        assert!(parse("400000000y").unwrap().time_after(now) > ahead);
        let first = Timestamp::from_unix_millis(i64::MIN);
        assert_eq!(parse("400000000y").unwrap().time(now), first);
    }
}
