//! Durations as text.

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// Formats a duration in one unit, rounded down: `42 s`, `12 min`, `5 h`, `3 d`.
///
/// Uses hours up to two days, because "1 d" could be nearly two.
pub(crate) fn humanize_duration(span_ms: u64) -> String {
    let (count, unit) = match span_ms {
        ms if ms < MINUTE_MS => (ms / SECOND_MS, "s"),
        ms if ms < HOUR_MS => (ms / MINUTE_MS, "min"),
        ms if ms < 2 * DAY_MS => (ms / HOUR_MS, "h"),
        ms => (ms / DAY_MS, "d"),
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use super::humanize_duration;

    #[test]
    fn duration_text_changes_its_unit_at_the_boundaries() {
        for (span_ms, expected) in [
            (0, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (3_599_999, "59 min"),
            (3_600_000, "1 h"),
            (172_799_999, "47 h"),
            (172_800_000, "2 d"),
            (31_536_000_000, "365 d"),
        ] {
            assert_eq!(humanize_duration(span_ms), expected);
        }
    }
}
