//! Which issue somebody may have meant by an id that there is not.

use strsim::levenshtein;

use crate::domain::IssueRef;
use crate::overview::Digest;

/// The most issues that are offered.
const MAX_OFFERED: usize = 5;

/// The issues whose ids begin most like what was asked for, the most alike first; none when nothing is
/// like it. Looks at the first 8 digits, by which people and agents call issues.
pub(super) fn nearest<'a>(asked: &str, digests: &'a [Digest]) -> Vec<&'a Digest> {
    let is_digit = |it: &char| !it.is_whitespace() && *it != '-';
    let asked: String = asked.chars().filter(is_digit).take(IssueRef::MIN_DIGITS).collect();
    let asked = asked.to_ascii_lowercase();
    let length = asked.len();
    // Two ids that were drawn at random differ in nearly every digit: half of them wrong is no likeness.
    let most = length / 3;
    let mut near: Vec<(usize, &Digest)> = Vec::new();
    if !asked.is_ascii() || most == 0 {
        return Vec::new();
    }
    for digest in digests {
        let distance = levenshtein(&asked, &digest.id.short()[..length]);
        let is_nearer = |(other, _): &(usize, &Digest)| *other <= distance;
        let place = near.partition_point(is_nearer);
        if distance <= most && place < MAX_OFFERED {
            near.insert(place, (distance, digest));
            near.truncate(MAX_OFFERED);
        }
    }
    near.into_iter().map(|(_, digest)| digest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Classification, IssueId, Status, Timestamp};

    fn digest(short: &str) -> Digest {
        let time = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        Digest {
            id: IssueId::parse(&format!("{short}-7d54-4b0a-9e6f-2c8b1d5a4e73")).unwrap(),
            title: short.into(),
            classification: Classification::Bug,
            status: Status::Created,
            created_at: time,
            modified_at: time,
            comments: 0,
            acts: Box::default(),
            last_words: None,
        }
    }

    #[test]
    fn what_is_offered_is_like_what_was_typed_and_the_most_alike_comes_first() {
        let ids = [
            "3f2a9c1e", "3f2a9c11", "00000000", "3f2a9d11", "4f2a9c1e", "3f2a9c1f", "2f2a9c1e",
            "f2a9c1e0",
        ];
        let digests = ids.map(digest);
        let offered = |asked: &str| -> Vec<String> {
            nearest(asked, &digests).iter().map(|it| IssueId::short(&it.id)).collect()
        };
        assert_eq!(offered("3f2a9c1d")[..2], ["3f2a9c1e", "3f2a9c11"]);
        assert_eq!(offered("3F2A9C1D-7d54-4b0a-9e6f-2c8b1d5a4e73").len(), MAX_OFFERED);
        assert_eq!(offered("3f2a9c").len(), MAX_OFFERED);
        assert_eq!(offered("00000010"), ["00000000"]);
        for odd in ["", "ab", "login-bug", "äöüäöüäöü", "-- -- --", "99999999"] {
            assert!(offered(odd).is_empty(), "{odd}: {:?}", offered(odd));
        }
    }
}
