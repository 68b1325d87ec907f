//! The latency of reads for one caller.
//!
//! Each read includes the check for changes by other processes. The choice of the next issue is measured without that
//! check, on the state in memory.

use agent_issue_tracker::domain::{Command, IssueRef, Order, Query, Timestamp};
use agent_issue_tracker::store::State;
use agent_issue_tracker::store::files::format;
use divan::{Bencher, black_box};

use crate::SIZES;
use crate::sqlite::Database;
use benches::fixture::{self, Fixture};
use benches::issues;

pub const PAGE: usize = 20;

#[divan::bench(args = SIZES, max_time = 1)]
fn list_filed(bencher: Bencher, size: usize) {
    list(bencher, size, Order::Filed);
}

#[divan::bench(args = SIZES, max_time = 1)]
fn list_latest(bencher: Bencher, size: usize) {
    list(bencher, size, Order::LatestActivity);
}

fn list(bencher: Bencher, size: usize, order: Order) {
    let fixture = Fixture::new(size);
    let query = Query { order, take: PAGE, ..Query::default() };
    bencher.bench_local(|| fixture.runtime.block_on(fixture.tracker.list_issues(query.clone())));
}

#[divan::bench(args = SIZES, max_time = 1)]
fn list_filed_sqlite(bencher: Bencher, size: usize) {
    sqlite(bencher, size, "ORDER BY position LIMIT ?1", |_| PAGE.to_string());
}

#[divan::bench(args = SIZES, max_time = 1)]
fn list_latest_sqlite(bencher: Bencher, size: usize) {
    let rest = "ORDER BY modified_at DESC, position DESC LIMIT ?1";
    sqlite(bencher, size, rest, |_| PAGE.to_string());
}

#[divan::bench(args = SIZES, max_time = 1)]
fn get_by_id(bencher: Bencher, size: usize) {
    get(bencher, size, |fixture| fixture.issue.into());
}

#[divan::bench(args = SIZES, max_time = 1)]
fn get_by_prefix(bencher: Bencher, size: usize) {
    get(bencher, size, |fixture| fixture.issue.short().parse().expect("eight digits"));
}

fn get(bencher: Bencher, size: usize, reference: impl Fn(&Fixture) -> IssueRef) {
    let fixture = Fixture::new(size);
    let reference = reference(&fixture);
    bencher
        .with_inputs(|| reference.clone())
        .bench_local_values(|id| fixture.runtime.block_on(fixture.tracker.get_issue(id)));
}

#[divan::bench(args = SIZES, max_time = 1)]
fn get_by_id_sqlite(bencher: Bencher, size: usize) {
    sqlite(bencher, size, "WHERE id = ?1", Database::any_id);
}

#[divan::bench(args = SIZES, max_time = 1)]
fn get_by_prefix_sqlite(bencher: Bencher, size: usize) {
    let prefix = |database: &Database| database.any_id()[..IssueRef::MIN_DIGITS].to_owned();
    sqlite(bencher, size, "WHERE id >= ?1 AND id < ?1 || 'g' LIMIT 2", prefix);
}

fn sqlite(bencher: Bencher, size: usize, rest: &str, parameter: impl Fn(&Database) -> String) {
    let mut database = Database::new(size);
    database.add(&issues::Filing::new(size));
    let parameter = parameter(&database);
    let query = format!("SELECT id, title, description FROM issue {rest}");
    bencher.bench_local(|| database.rows(&query, &parameter));
}

#[divan::bench(args = SIZES, max_time = 1)]
fn counts(bencher: Bencher, size: usize) {
    let fixture = Fixture::new(size);
    bencher.bench_local(|| fixture.runtime.block_on(fixture.tracker.counts()));
}

#[divan::bench(args = SIZES, max_time = 1)]
fn counts_sqlite(bencher: Bencher, size: usize) {
    let mut database = Database::new(size);
    database.add(&issues::Filing::new(size));
    bencher.bench_local(|| database.counts());
}

/// Chooses the issue for a claim, without the disk and without another thread.
#[divan::bench(args = SIZES, max_time = 1)]
fn choice_of_the_next(bencher: Bencher, size: usize) {
    let state = state(size);
    let (command, now) = claim();
    bencher.bench_local(|| state.decide(black_box(&command), now));
}

/// Returns the state of a store with `size` issues.
pub fn state(size: usize) -> State {
    let bytes = std::fs::read(fixture::issues_json(size)).expect("a file that can be read");
    State::of(format::parse(bytes).expect("a valid file"))
}

pub fn claim() -> (Command, Timestamp) {
    let command = Command::GetNextIssue {
        issue: None,
        classification: None,
        agent: issues::agent(),
        terms: Default::default(),
    };
    (command, Timestamp::from(chrono::Utc::now()))
}
