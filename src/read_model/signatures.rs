//! A bit-sliced signature file: finds the issues that may contain a text without reading them.
//!
//! Each issue has a signature of [`WIDTH`] bits: a Bloom filter with one hash function over the sequences of one,
//! two and three bytes in its texts and external ids. An issue whose signature lacks a bit of a text does not contain that text; one
//! whose signature has all of them may. The signatures of 64 issues are stored bit-sliced, so a lookup reads one
//! word for each sequence of the text. See C. Faloutsos, "Signature files", in *Information Retrieval: Data
//! Structures and Algorithms*, 1992.

use crate::domain::{ContentFilter, Issue};
use crate::tracker::IndexedIssues;

/// The bits of a signature. An issue with 1.2 kB of text sets about a fifth of them.
const WIDTH: usize = 4096;
/// The number of signatures in a block.
const LANES: usize = 64;

/// One word for each bit of the signature, with one bit for each issue.
type Block = [u64; WIDTH];

/// The signatures of all issues, half a kB each. They are built at the first search.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    blocks: Option<Vec<Box<Block>>>,
}

impl Signatures {
    /// Adds or updates an issue. New positions arrive in order.
    pub fn note(&mut self, position: usize, issue: &Issue) {
        if let Some(blocks) = &mut self.blocks {
            if position / LANES == blocks.len() {
                blocks.push(empty());
            }
            add(&mut blocks[position / LANES], position % LANES, issue);
        }
    }

    /// Returns the issues that may contain a lower-case text.
    pub fn candidates(&mut self, text: &str, issues: &IndexedIssues) -> Candidates {
        if self.blocks.is_none() {
            self.blocks = Some(Vec::with_capacity(issues.len() / LANES + 1));
            issues.issues().enumerate().for_each(|(position, issue)| self.note(position, &issue));
        }
        let mut bits: Vec<usize> = sequences(text).collect();
        bits.sort_unstable();
        bits.dedup();
        let blocks = self.blocks.iter().flatten();
        Candidates(blocks.map(|block| bits.iter().fold(!0, |all, &bit| all & block[bit])).collect())
    }
}

/// A set of positions.
pub(super) struct Candidates(Vec<u64>);

impl Candidates {
    pub fn contains(&self, position: usize) -> bool {
        self.0[position / LANES] >> (position % LANES) & 1 == 1
    }
}

fn empty() -> Box<Block> {
    vec![0; WIDTH].try_into().expect("a vector of this length")
}

fn add(block: &mut Block, lane: usize, issue: &Issue) {
    for text in ContentFilter::searched(issue).chain(ContentFilter::searched_ids(issue)) {
        sequences(&text).for_each(|bit| block[bit] |= 1 << lane);
    }
}

/// The bits of all sequences of one, two and three bytes in a text.
fn sequences(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    (1..=3).flat_map(move |length| {
        bytes.windows(length).map(move |window| {
            // Including the length distinguishes "a" from "\0a".
            let begin = length as u32;
            bit(window.iter().fold(begin, |number, &byte| number << 8 | u32::from(byte)))
        })
    })
}

fn bit(sequence: u32) -> usize {
    // Multiplicative hashing by the golden ratio: Knuth, The Art of Computer Programming, 6.4.
    (sequence.wrapping_mul(0x9E37_79B1) >> (u32::BITS - WIDTH.ilog2())) as usize
}
