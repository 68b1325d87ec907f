//! Open issues whose texts do not say what to do, or say what an older open issue says.
//!
//! Duplicates are looked for only within blocks: issues with the same words in the title, and issues whose descriptions
//! share a part of their [sketch](crate::read_model::sketch). So the cost grows with the number of issues, not with its
//! square.

use super::{Hit, Hits, OpenIssue, Scene, Why};
use crate::domain::Status;
use crate::domain::thresholds::{RELATED_SLOTS, SIMILAR_SLOTS, SIMILAR_TITLES};
use crate::read_model::IssueSummary;
use crate::read_model::sketch::{KEYS, SLOTS};
use crate::read_model::text_facts::{TextFacts, normalized};

/// With how many earlier issues of its block an issue is compared.
const MAX_COMPARED: usize = 4;
/// How many titles are compared letter by letter. Only a store with thousands of similar descriptions has more.
const MAX_TITLES: usize = 2_000;

pub(super) fn placeholder_titles<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter(|(_, _, facts)| facts.is_placeholder);
    Box::new(hits.map(|(at, ..)| Hit::new(at, 0, Why::Placeholder)))
}

pub(super) fn thin_descriptions<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter(|(_, summary, facts)| {
        summary.status == Status::Created && !facts.is_described() && !scene.has_parts(summary.id)
    });
    Box::new(hits.map(|(at, _, facts)| Hit::new(at, 0, Why::Thin(facts.description_chars))))
}

pub(super) fn duplicates<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let mut search =
        Search { open: &scene.open, found: Vec::new(), titles_left: MAX_TITLES, hits: Vec::new() };
    search.found = vec![false; search.open.len()];
    search.compare_blocks(|facts| (!facts.is_placeholder).then_some(facts.title));
    for slot in 0..KEYS {
        search.compare_blocks(|facts| facts.is_described().then(|| facts.description.key(slot)));
    }
    Box::new(search.hits.into_iter())
}

struct Search<'a> {
    open: &'a [OpenIssue<'a>],
    /// Whether an older issue says what the one at this index of `open` says.
    found: Vec<bool>,
    titles_left: usize,
    hits: Vec<Hit>,
}

impl Search<'_> {
    /// Compares the issues with equal keys.
    fn compare_blocks(&mut self, key: impl Fn(&TextFacts) -> Option<u64>) {
        let keyed = self.open.iter().enumerate();
        let keyed = keyed.filter_map(|(index, (_, _, facts))| Some((key(facts)?, index)));
        let mut keyed: Vec<(u64, usize)> = keyed.collect();
        keyed.sort_unstable();
        for block in keyed.chunk_by(|(one, _), (next, _)| one == next) {
            for (at, &(_, newer)) in block.iter().enumerate().skip(1) {
                let earlier = &block[at.saturating_sub(MAX_COMPARED)..at];
                for &(_, older) in earlier {
                    if self.found[newer] {
                        break;
                    }
                    self.compare(older, newer);
                }
            }
        }
    }

    fn compare(&mut self, older: usize, newer: usize) {
        let (one, other) = (self.open[older], self.open[newer]);
        let common = one.2.description.common(&other.2.description);
        let is_described = one.2.is_described() && other.2.is_described();
        let is_same_title = one.2.title == other.2.title && !one.2.is_placeholder;
        let why = if is_same_title && (!is_described || common >= RELATED_SLOTS) {
            Why::SameTitle
        } else if is_described && common >= SIMILAR_SLOTS && self.are_similar(one.1, other.1) {
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
    fn are_similar(&mut self, one: &IssueSummary, other: &IssueSummary) -> bool {
        if one.attributes.parent().is_some() || self.titles_left == 0 {
            return false;
        }
        self.titles_left -= 1;
        let (one, other) = (normalized(&one.title), normalized(&other.title));
        strsim::sorensen_dice(&one, &other) >= SIMILAR_TITLES
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
