//! The latency of one change by one caller, at different store sizes.
//!
//! `append` is the baseline: the same number of bytes appended and synced. `rewrite` is the cost of replacing
//! `issues.json` on every change, without the time to serialize it.

use divan::Bencher;

use crate::SIZES;
use crate::sqlite::Database;
use agent_issue_tracker::tracker::ClaimKind;
use benches::fixture::{self, Appender, Fixture};
use benches::issues;

/// `add_issue`.
#[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
fn add(bencher: Bencher, size: usize) {
    let fixture = Fixture::new(size);
    bencher.with_inputs(|| fixture.filing()).bench_local_values(|filing| fixture.add(filing));
}

#[divan::bench(args = SIZES, sample_count = 200, sample_size = 1)]
fn add_sqlite(bencher: Bencher, size: usize) {
    let mut database = Database::new(size);
    let filing = issues::Filing::new(size);
    bencher.bench_local(|| database.add(&filing));
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn append(bencher: Bencher) {
    let mut appender = Appender::new(Fixture::new(0).frame_bytes());
    bencher.bench_local(|| appender.append());
}

#[divan::bench(args = SIZES, sample_count = 20, sample_size = 1, max_time = 4)]
fn rewrite(bencher: Bencher, size: usize) {
    let bytes = std::fs::read(fixture::issues_json(size)).expect("a file that can be read");
    let directory = fixture::new_directory();
    bencher.bench_local(|| fixture::rewrite(directory.path(), &bytes));
}

/// `get_next_issue` and `complete_issue`: two changes.
#[divan::bench(args = SIZES, sample_count = 100, sample_size = 1)]
fn claim_and_complete(bencher: Bencher, size: usize) {
    let fixture = Fixture::new(size);
    let tracker = &fixture.tracker;
    bencher
        .with_inputs(|| {
            // The empty store needs an issue to claim, too.
            fixture.add(fixture.filing());
            issues::comment(size)
        })
        .bench_local_values(|comment| {
            fixture.runtime.block_on(async {
                let claimed = tracker.claim_next(ClaimKind::Work(None), issues::agent()).await;
                let claimed = claimed.expect("a store that can be changed").expect("an issue");
                let completed = tracker.complete_issue(
                    claimed.issue.id.into(),
                    comment,
                    issues::agent(),
                    Default::default(),
                    Default::default(),
                );
                completed.await.expect("a store that can be changed")
            })
        });
}

#[divan::bench(args = SIZES, sample_count = 100, sample_size = 1)]
fn claim_and_complete_sqlite(bencher: Bencher, size: usize) {
    let mut database = Database::new(size);
    let (filing, comment) = (issues::Filing::new(size), issues::comment(size));
    let database = std::cell::RefCell::new(&mut database);
    bencher
        .with_inputs(|| database.borrow_mut().add(&filing))
        .bench_local_values(|()| database.borrow_mut().claim_and_complete(comment.as_str()));
}
