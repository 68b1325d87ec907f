//! Open issues that say what an older open issue says.
//!
//! Issues are compared only within blocks: those with the same words in the title, and those whose descriptions share a
//! part of their [sketch](crate::read_model::sketch). So the cost grows with the number of issues, not with its square.

use std::collections::HashMap;

use super::{FindingInput, Hit, Hits, OpenIssue, Why};
use crate::read_model::IssueSummary;
use crate::read_model::sketch::{KEYS, SLOTS};
use crate::read_model::text_facts::TextFacts;
use ait_domain::thresholds::{RELATED_SLOTS, SIMILAR_SLOTS, SIMILAR_TITLES};
use ait_domain::titles::{normalized, similarity};

/// With how many earlier issues of its block an issue is compared.
const MAX_COMPARED: usize = 4;
/// How many titles are compared letter by letter. Only a store with thousands of similar descriptions has more.
const MAX_TITLES: usize = 2_000;

pub(super) fn duplicates<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    let mut search = Search {
        open: &input.open,
        found: vec![false; input.open.len()],
        titles_left: MAX_TITLES,
        titles: HashMap::new(),
        hits: Vec::new(),
    };
    search.compare_blocks(|facts| (!facts.is_placeholder).then_some(facts.title));
    for slot in 0..KEYS {
        search.compare_blocks(|facts| facts.is_described().then(|| facts.description.key(slot)));
    }
    Box::new(search.hits.into_iter())
}

/// Which keys occur more than once, by a hash: a few that occur once count among them.
struct Repeated {
    bits: u32,
    once: Vec<u64>,
    again: Vec<u64>,
}

impl Repeated {
    fn of(keyed: &[(u64, usize)]) -> Self {
        // A tenth of the bits are set, and both sets stay in the cache of a processor.
        let bits = (8 * keyed.len()).next_power_of_two().ilog2().max(u64::BITS.ilog2());
        let words = vec![0; 1 << (bits - u64::BITS.ilog2())];
        let mut repeated = Self { bits, once: words.clone(), again: words };
        for (key, _) in keyed {
            let (word, bit) = repeated.place(*key);
            repeated.again[word] |= repeated.once[word] & bit;
            repeated.once[word] |= bit;
        }
        repeated
    }

    fn may_have(&self, key: u64) -> bool {
        let (word, bit) = self.place(key);
        self.again[word] & bit != 0
    }

    /// Returns the word and the bit of a key.
    fn place(&self, key: u64) -> (usize, u64) {
        let hash = key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - self.bits);
        ((hash >> u64::BITS.ilog2()) as usize, 1 << (hash % u64::from(u64::BITS)))
    }
}

struct Search<'a> {
    open: &'a [OpenIssue<'a>],
    /// Whether an older issue says what the one at this index of `open` says.
    found: Vec<bool>,
    titles_left: usize,
    /// The normalized titles of those that were compared.
    titles: HashMap<usize, String>,
    hits: Vec<Hit>,
}

impl Search<'_> {
    /// Compares the issues with equal keys.
    fn compare_blocks(&mut self, key: impl Fn(&TextFacts) -> Option<u64>) {
        let keyed = self.open.iter().enumerate();
        let keyed = keyed.filter_map(|(index, (_, _, facts))| Some((key(facts)?, index)));
        let mut keyed: Vec<(u64, usize)> = keyed.collect();
        // Most keys occur once, and so need no sorting.
        let repeated = Repeated::of(&keyed);
        keyed.retain(|(key, _)| repeated.may_have(*key));
        keyed.sort_unstable();
        for block in keyed.chunk_by(|(one, _), (next, _)| one == next) {
            for (at, &(_, newer)) in block.iter().enumerate().skip(1) {
                let earlier = &block[at.saturating_sub(MAX_COMPARED)..at];
                for &(_, older) in earlier {
                    if self.found[newer] || self.titles_left == 0 {
                        break;
                    }
                    self.compare(older, newer);
                }
            }
        }
    }

    fn compare(&mut self, older: usize, newer: usize) {
        let one = self.open[older];
        let other = self.open[newer];
        let common = one.2.description.common(&other.2.description);
        let is_described = one.2.is_described() && other.2.is_described();
        let is_same_title = one.2.title == other.2.title && !one.2.is_placeholder;
        let why = if is_same_title && (!is_described || common >= RELATED_SLOTS) {
            Why::SameTitle
        } else if is_described && common >= SIMILAR_SLOTS && self.are_similar(older, newer) {
            Why::SimilarTexts
        } else {
            return;
        };
        if are_told_apart(one.1, other.1) {
            return;
        }
        self.found[newer] = true;
        let weight = common + if is_same_title { SLOTS } else { 0 };
        let hit = Hit::new(other.0, weight as u64, why);
        self.hits.push(Hit { others: vec![one.0], ..hit });
    }

    /// Returns true if the titles are similar. Parts of one parent often differ in one word that matters.
    fn are_similar(&mut self, older: usize, newer: usize) -> bool {
        if self.open[older].1.attributes.parent().is_some() {
            return false;
        }
        self.titles_left -= 1;
        for index in [older, newer] {
            self.titles.entry(index).or_insert_with(|| normalized(&self.open[index].1.title));
        }
        similarity(&self.titles[&older], &self.titles[&newer]) >= SIMILAR_TITLES
    }
}

/// Returns true if the issues are linked with each other, or are parts of two parents.
fn are_told_apart(one: &IssueSummary, other: &IssueSummary) -> bool {
    let leads = |from: &IssueSummary, to: &IssueSummary| {
        from.attributes.links.iter().any(|link| link.to == to.id)
    };
    let parents = (one.attributes.parent(), other.attributes.parent());
    let has_two_parents = matches!(parents, (Some(one), Some(other)) if one != other);
    leads(one, other) || leads(other, one) || has_two_parents
}
