//! Scales that map values to positions and end at round numbers.

/// A scale from zero to a round number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Scale {
    /// The distance between two ticks.
    pub step: u64,
    /// The end of the scale, a multiple of the step.
    pub end: u64,
}

/// Common steps of time in milliseconds. Larger steps double.
const STEPS_MS: [u64; 16] = [
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
    /// Returns a scale for numbers up to `max`, with at most `steps` steps of a round number.
    pub fn of_numbers(max: u64, steps: u64) -> Self {
        let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
        let tenths = [10, 15, 20, 25, 30, 40, 50, 60, 80];
        let nice = powers.flat_map(|power| tenths.map(|digit| power.saturating_mul(digit)));
        // Numbers are whole, so the smallest of these are no steps.
        let nice = nice.filter(|tenths| tenths % 10 == 0).map(|tenths| tenths / 10);
        Self::with_steps(nice, max, steps)
    }

    /// Returns a scale for durations up to `max_ms`, with at most `steps` steps.
    pub fn of_durations(max_ms: u64, steps: u64) -> Self {
        let doubled =
            std::iter::successors(Some(2 * STEPS_MS[15]), |step_ms| step_ms.checked_mul(2));
        Self::with_steps(STEPS_MS.into_iter().chain(doubled), max_ms, steps)
    }

    fn with_steps(mut nice: impl Iterator<Item = u64>, max: u64, steps: u64) -> Self {
        let max = max.max(1);
        let step = nice.find(|&step| max.div_ceil(step) <= steps).unwrap_or(max);
        Self { step, end: max.div_ceil(step).saturating_mul(step) }
    }

    /// Returns the ticks, starting at zero.
    pub fn ticks(self) -> impl Iterator<Item = u64> {
        (0..=self.end / self.step).map(move |index| index * self.step)
    }

    /// Returns the position of a value, from 0 to 1.
    pub fn position(self, value: u64) -> f64 {
        value as f64 / self.end as f64
    }
}

/// Formats a position from 0 to 1 as a percentage.
pub(super) fn percent(position: f64) -> String {
    format!("{}%", short(position * 100.0))
}

/// Formats a number with at most two decimals.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_ends_at_a_round_number_at_or_after_the_maximum() {
        for (max, step, end) in [
            (0, 1, 1),
            (1, 1, 1),
            (4, 1, 4),
            (5, 2, 6),
            (8, 2, 8),
            (9, 3, 9),
            (21, 6, 24),
            (100, 25, 100),
            (101, 30, 120),
            (1_999, 500, 2_000),
        ] {
            assert_eq!(Scale::of_numbers(max, 4), Scale { step, end }, "{max}");
        }
        // The tallest bar takes two thirds of the room, also with two steps.
        for max in 1..2_000 {
            assert!(3 * max > 2 * Scale::of_numbers(max, 2).end, "{max}");
        }
        for max in [u64::MAX, u64::MAX / 2, 1 << 60] {
            assert!(Scale::of_numbers(max, 4).ticks().count() <= 5, "{max}");
            assert!(Scale::of_durations(max, 4).ticks().count() <= 5, "{max}");
        }
        let hour = 3_600_000;
        for (max, step, end) in [
            (hour, 900_000, hour),
            (5 * hour, 2 * hour, 6 * hour),
            (25 * hour, 8 * hour, 32 * hour),
        ] {
            assert_eq!(Scale::of_durations(max, 4), Scale { step, end }, "{max}");
        }
    }

    #[test]
    fn percentages_have_at_most_two_decimals() {
        for (position, text) in [(0.0, "0%"), (1.0, "100%"), (0.123_456, "12.35%"), (0.1, "10%")] {
            assert_eq!(percent(position), text);
        }
    }
}
