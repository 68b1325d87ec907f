//! The cost of the findings and the digest of a store.
//!
//! ```text
//! cargo bench -p benches --bench findings
//! ```
//!
//! See `benches/README.md` for results. The read model already exists, as for every page after the first.

use std::io::{self, Write};

use agent_issue_tracker::domain::Timestamp;
use agent_issue_tracker::read_model::{Digest, Findings, Projection, ReadView};
use benches::figures::{percentile, timed};
use benches::issues;
use chrono::Utc;

const ROUNDS: usize = 21;
const SIZES: [usize; 2] = [10_000, 100_000];
/// The target for p50 at the largest size, in ms.
const TARGET_MS: f64 = 50.0;

fn main() {
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if std::env::args().any(|argument| argument == "--bench") {
        report(&mut io::stdout()).expect("standard output is open");
    }
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Findings and digests, p50 and p90 of {ROUNDS} in ms\n")?;
    writeln!(out, "| issues | texts | findings | p50 | p90 | digest p50 | first view |")?;
    writeln!(out, "|---:|---|---:|---:|---:|---:|---:|")?;
    for size in SIZES {
        for (texts, document) in [
            ("all different, a tenth open", issues::mostly_closed(size)),
            ("all different", issues::different(size)),
            ("alike, every fifth blocked", issues::document_with_blocked(size)),
        ] {
            let now = Timestamp::from(Utc::now());
            let first = timed(|| drop(Projection::of(document.issues.issues())));
            let index = Projection::of(document.issues.issues());
            let view = ReadView::of(&index);
            let total = Findings::of(&view, now).total();
            let [p50, p90] = measured(|| drop(Findings::of(&view, now)));
            let [digest, _] = measured(|| drop(Digest::of(&view, None, now, now)));
            let first = ms(first);
            writeln!(
                out,
                "| {size} | {texts} | {total} | {p50:.1} | {p90:.1} | {digest:.1} | {first:.0} |"
            )?;
            if p50 > TARGET_MS {
                writeln!(out, "\nThis is more than {TARGET_MS} ms.\n")?;
            }
        }
    }
    Ok(())
}

/// Returns the p50 and the p90 of a call in ms.
fn measured(call: impl Fn()) -> [f64; 2] {
    let mut times: Vec<u64> = (0..ROUNDS).map(|_| timed(&call)).collect();
    times.sort_unstable();
    [50, 90].map(|percent| ms(percentile(&times, percent)))
}

#[expect(clippy::cast_precision_loss, reason = "an approximate figure for a report")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
