//! Durations and sizes as text.

const SECOND_MS: u64 = 1_000;
const MINUTE_MS: u64 = 60 * SECOND_MS;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Formats a duration in one unit, rounded down: `42 s`, `12 min`, `5 h`, `3 d`.
///
/// Uses hours up to two days, because "1 d" could be nearly two.
pub fn humanize_duration(span_ms: u64) -> String {
    let (count, unit) = match span_ms {
        ms if ms < MINUTE_MS => (ms / SECOND_MS, "s"),
        ms if ms < HOUR_MS => (ms / MINUTE_MS, "min"),
        ms if ms < 2 * DAY_MS => (ms / HOUR_MS, "h"),
        ms => (ms / DAY_MS, "d"),
    };
    format!("{count} {unit}")
}

/// Formats a size in the largest unit that gives at least 1: `999 B`, `1.50 KiB`, `2.00 MiB`.
pub fn humanize_bytes(bytes: u64) -> String {
    let scaled = |unit| bytes as f64 / unit as f64;
    match bytes {
        ..KIB => format!("{bytes} B"),
        KIB..MIB => format!("{:.2} KiB", scaled(KIB)),
        MIB..GIB => format!("{:.2} MiB", scaled(MIB)),
        GIB.. => format!("{:.2} GiB", scaled(GIB)),
    }
}

#[cfg(test)]
mod tests {
    use super::{humanize_bytes, humanize_duration};

    #[test]
    fn size_text_changes_its_unit_at_the_boundaries() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.00 KiB"),
            (1_536, "1.50 KiB"),
            (1 << 20, "1.00 MiB"),
            (5 << 30, "5.00 GiB"),
            (5 << 40, "5120.00 GiB"),
        ] {
            assert_eq!(humanize_bytes(bytes), expected);
        }
    }

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
