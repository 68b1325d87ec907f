//! From values to places: scales that end at round numbers.

/// A scale from zero to a round number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::web) struct Scale {
    /// The distance of two ticks.
    pub step: u64,
    /// Where it ends, a multiple of the step.
    pub end: u64,
}

/// Steps of time that people count in, in milliseconds; beyond them, each is twice the one before.
const SPANS_MS: [u64; 16] = [
    1_000,
    5_000,
    15_000,
    30_000,
    60_000,
    300_000,
    900_000,
    1_800_000,
    3_600_000,
    7_200_000,
    14_400_000,
    28_800_000,
    43_200_000,
    86_400_000,
    172_800_000,
    604_800_000,
];

impl Scale {
    /// A scale for numbers up to `max` with at most so many steps of 1, 2 or 5 times a power of ten.
    pub fn of_numbers(max: u64, steps: u64) -> Self {
        let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
        let nice = powers.flat_map(|power| [1, 2, 5].map(|digit| power.saturating_mul(digit)));
        Self::with_steps(nice, max, steps)
    }

    /// A scale for spans of time up to `max_ms`.
    pub fn of_spans(max_ms: u64, steps: u64) -> Self {
        let doubled =
            std::iter::successors(Some(2 * SPANS_MS[15]), |span_ms| span_ms.checked_mul(2));
        Self::with_steps(SPANS_MS.into_iter().chain(doubled), max_ms, steps)
    }

    fn with_steps(mut nice: impl Iterator<Item = u64>, max: u64, steps: u64) -> Self {
        let max = max.max(1);
        let step = nice.find(|&step| max.div_ceil(step) <= steps).unwrap_or(max);
        Self { step, end: max.div_ceil(step).saturating_mul(step) }
    }

    /// The ticks, with zero.
    pub fn ticks(self) -> impl Iterator<Item = u64> {
        (0..=self.end / self.step).map(move |number| number * self.step)
    }

    /// Where a value is, from 0 to 1.
    pub fn share(self, value: u64) -> f64 {
        value as f64 / self.end as f64
    }
}

/// A share from 0 to 1 in percent, as attributes take it.
pub(super) fn percent(share: f64) -> String {
    format!("{}%", short(share * 100.0))
}

/// A number with at most two decimals.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_a_round_number_that_holds_everything() {
        for (max, step, end) in [
            (0, 1, 1),
            (1, 1, 1),
            (4, 1, 4),
            (5, 2, 6),
            (8, 2, 8),
            (9, 5, 10),
            (21, 10, 30),
            (100, 50, 100),
            (101, 50, 150),
            (1_999, 500, 2_000),
        ] {
            assert_eq!(Scale::of_numbers(max, 4), Scale { step, end }, "{max}");
        }
        for max in [u64::MAX, u64::MAX / 2, 1 << 60] {
            assert!(Scale::of_numbers(max, 4).ticks().count() <= 5, "{max}");
            assert!(Scale::of_spans(max, 4).ticks().count() <= 5, "{max}");
        }
        let hour = 3_600_000;
        for (max, step, end) in [
            (hour, 900_000, hour),
            (5 * hour, 2 * hour, 6 * hour),
            (25 * hour, 8 * hour, 32 * hour),
        ] {
            assert_eq!(Scale::of_spans(max, 4), Scale { step, end }, "{max}");
        }
    }

    #[test]
    fn places_are_written_short() {
        for (share, text) in [(0.0, "0%"), (1.0, "100%"), (0.123_456, "12.35%"), (0.1, "10%")] {
            assert_eq!(percent(share), text);
        }
    }
}
