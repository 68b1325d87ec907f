//! A bit-sliced signature file: finds the issues that may contain a text without reading them.
//!
//! Each issue has a signature of [`WIDTH`] bits: a Bloom filter with one hash function over the sequences of one, two
//! and three bytes in its texts and external ids, and those of four where two words meet, which few texts share even if
//! they have both words. An issue whose signature lacks a bit of a text does not contain that
//! text; one whose signature has all of them may. The signatures of 64 issues are stored bit-sliced, so a lookup reads
//! one word for each sequence of the text. See C. Faloutsos, "Signature files", in *Information Retrieval: Data
//! Structures and Algorithms*, 1992.

use std::sync::{Arc, OnceLock};

use super::positions::Positions;
use crate::domain::Issue;
use crate::tracker::IndexedIssues;

/// The bits of a signature. An issue with 1.2 kB of text sets about a fifth of them.
const WIDTH: usize = 4096;
/// The number of signatures in a block.
const ISSUES_PER_BLOCK: usize = 64;

/// One word for each bit of the signature, with one bit for each issue.
type Block = [u64; WIDTH];

/// The signatures of all issues, half a kB each. They are built at the first search. A clone shares the blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Signatures {
    blocks: OnceLock<Vec<Arc<Block>>>,
}

impl Signatures {
    /// Adds or updates an issue. New positions arrive in order.
    pub fn set(&mut self, position: usize, issue: &Issue) {
        if let Some(blocks) = self.blocks.get_mut() {
            if let Some(block) = blocks.get_mut(position / ISSUES_PER_BLOCK) {
                // Clears the old bits of a changed issue.
                let mask = 1 << (position % ISSUES_PER_BLOCK);
                Arc::make_mut(block).iter_mut().for_each(|word| *word &= !mask);
            }
            add(blocks, position, issue);
        }
    }

    /// Returns true if they are built, so that a lookup is cheap.
    pub fn are_built(&self) -> bool {
        self.blocks.get().is_some()
    }

    /// Returns the issues that may contain a lower-case text.
    pub fn candidates(&self, text: &str, issues: &IndexedIssues) -> Positions {
        let blocks = self.blocks.get_or_init(|| {
            let mut blocks = Vec::with_capacity(issues.len() / ISSUES_PER_BLOCK + 1);
            let numbered = issues.issues().enumerate();
            numbered.for_each(|(position, issue)| add(&mut blocks, position, &issue));
            blocks
        });
        let mut bits: Vec<usize> = sequences(text).collect();
        bits.sort_unstable();
        bits.dedup();
        let blocks = blocks.iter();
        Positions::of_words(blocks.map(|block| bits.iter().fold(!0, |all, &bit| all & block[bit])))
    }
}

fn empty() -> Arc<Block> {
    Arc::<[u64]>::from(vec![0; WIDTH]).try_into().expect("a slice of this length")
}

fn add(blocks: &mut Vec<Arc<Block>>, position: usize, issue: &Issue) {
    if position / ISSUES_PER_BLOCK == blocks.len() {
        blocks.push(empty());
    }
    let (block, shift) =
        (Arc::make_mut(&mut blocks[position / ISSUES_PER_BLOCK]), position % ISSUES_PER_BLOCK);
    for text in issue.searchable_texts().chain(issue.searchable_ids()) {
        sequences(&text).for_each(|bit| block[bit] |= 1 << shift);
    }
}

/// The bits of all sequences of one, two and three bytes in a text, and of those of four with a space inside.
fn sequences(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let windows = |length| {
        // Including the length distinguishes "a" from "\0a".
        let number = move |window: &[u8]| {
            window.iter().fold(length as u32, |number, &byte| number << 8 | u32::from(byte))
        };
        bytes.windows(length).map(move |window| (window, number(window)))
    };
    let meetings = windows(4).filter(|(window, _)| window[1..3].contains(&b' '));
    (1..=3).flat_map(windows).chain(meetings).map(|(_, number)| bit(number))
}

fn bit(sequence: u32) -> usize {
    // Multiplicative hashing by the golden ratio: Knuth, The Art of Computer Programming, 6.4.
    (sequence.wrapping_mul(0x9E37_79B1) >> (u32::BITS - WIDTH.ilog2())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_issue_has_the_signature_of_its_new_texts_alone() {
        let issue = |title: &str| -> Issue {
            let time = "2026-01-31T09:30:00.000Z";
            let issue = serde_json::json!({
                "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": title, "description": "",
                "classification": "bug", "createdAt": time, "modifiedAt": time, "status": "created",
                "history": [], "comments": [],
            });
            serde_json::from_value(issue).unwrap()
        };
        let mut issues = IndexedIssues::default();
        issues.push(issue("zebra")).unwrap();
        let mut signatures = Signatures::default();
        assert!(signatures.candidates("zebra", &issues).contains(0));
        signatures.set(0, &issue("quokka"));
        assert!(signatures.candidates("quokka", &issues).contains(0));
        assert!(!signatures.candidates("zebra", &issues).contains(0));
    }
}
