//! Thresholds: when a claim is old, an issue is stale, a description too short. Findings, the doctor, searches, pages
//! and commands share them.
//!
//! `docs/triage.md` has the same numbers, which a test compares.

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// How many days an open issue may stay without a substantive change until it is stale. In two weeks, a team gets
/// to what it wants to do at all.
pub const STALE_AFTER_DAYS: u32 = 14;
/// The same in milliseconds.
pub const STALE_AFTER_MS: u64 = STALE_AFTER_DAYS as u64 * DAY_MS;
/// How long an agent may hold a claim, in milliseconds. Agents work on an issue for minutes or hours.
pub const OLD_CLAIM_AFTER_MS: u64 = DAY_MS;

/// Returns true if a claim is old that has lasted so many milliseconds.
pub fn is_old_claim(age_ms: u64) -> bool {
    age_ms > OLD_CLAIM_AFTER_MS
}

/// How many times as long as half of such claims take an agent may show no sign of life, until its claim is stuck.
pub const STUCK_AFTER_MEDIANS: u64 = 3;
/// How long it may show none at least, in milliseconds. A build or a test can take that long.
pub const STUCK_AFTER_MS: u64 = 10 * 60 * 1_000;
/// How many claims say how long such claims take.
pub const STUCK_NEEDS_CLAIMS: usize = 3;
/// How many returns after a claim are too many: the third attempt has failed for the same reason as the second.
pub const MANY_RETURNS: usize = 3;
/// How long a completed issue may wait for its review, in milliseconds.
pub const REVIEW_WAITS_AFTER_MS: u64 = DAY_MS;
/// The length of a description that says enough, in characters without white space: about four words.
pub const ENOUGH_DESCRIPTION_CHARS: usize = 20;
/// How many slots of the sketches of two descriptions agree if the descriptions are similar.
pub const SIMILAR_SLOTS: usize = 6;
/// How many slots agree at least if two issues with the same title mean the same.
pub const RELATED_SLOTS: usize = 2;
/// The similarity of titles, from 0 to 1, with which issues with similar descriptions mean the same.
pub const SIMILAR_TITLES: f64 = 0.6;
/// The similarity of titles, from 0 to 1, with which a new issue may mean the same whatever its description says.
pub const NEAR_TITLES: f64 = 0.75;
/// How long ago a review may be that is still worth a second look, in milliseconds.
pub const SELF_REVIEW_WITHIN_MS: u64 = 7 * DAY_MS;
/// How many days an entry of the memory may stay without a change until it has to be near to an issue.
pub const UNUSED_AFTER_DAYS: u32 = 90;
/// The same in milliseconds.
pub const UNUSED_AFTER_MS: u64 = UNUSED_AFTER_DAYS as u64 * DAY_MS;
/// How many claims of one agent are too many: an agent works on one issue at a time.
pub const MANY_CLAIMS: usize = 4;
/// The time over which filing is compared with closing, in milliseconds. A week evens out its days.
pub const FILING_WINDOW_MS: u64 = 7 * DAY_MS;
/// How many issues have to be filed in that time before they count as many. Fewer say nothing about the pace.
pub const MANY_FILED: usize = 20;
/// How many times as many issues are filed as end, if filing is too fast.
pub const FILED_PER_ENDED: usize = 2;
