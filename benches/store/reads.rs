//! Reads, and occasional work: opening a store and publishing `issues.json`.

use std::io::{self, Write};
use std::sync::Arc;

use agent_issue_tracker::domain::{Condition, IssueRef, Order, Query, StatusSet};
use agent_issue_tracker::tracker::Tracker;

use crate::LARGE;
use benches::figures::{percentile, timed, us};
use benches::fixture::{self, Fixture};

const SIZES: [usize; 2] = [10_000, LARGE];
const ROUNDS: usize = 30;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Reads: the first after opening, and the median of {ROUNDS}\n")?;
    writeln!(out, "| | issues | first ms | p50 ms |\n|---|---:|---:|---:|")?;
    for size in SIZES {
        let fixture = Fixture::new(size);
        let runtime = &fixture.runtime;
        let mut row = |name: &str, read: &mut dyn FnMut()| {
            let first = us(timed(&mut *read)) / 1e3;
            writeln!(out, "| {name} | {size} | {first:.2} | {:.2} |", median_ms(read))
        };
        for (name, query) in queries() {
            row(name, &mut || _ = list(runtime, &fixture.tracker, query.clone()))?;
        }
        let id = fixture.add(fixture.filing());
        let digits: IssueRef = id.short().parse().expect("eight digits");
        row("one issue, by eight digits", &mut || {
            let issue = runtime.block_on(fixture.tracker.get_issue(digits.clone()));
            issue.expect("an issue");
        })?;
        row("the counts", &mut || {
            runtime.block_on(fixture.tracker.counts()).expect("a valid store");
        })?;
    }
    writeln!(out)
}

/// Measures opening a store, and publishing.
pub fn opening(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Opening and publishing, the median of {ROUNDS}, ms\n")?;
    writeln!(
        out,
        "| issues | open and list 20 | publish after a change | replace a file as long | ratio |"
    )?;
    writeln!(out, "|---:|---:|---:|---:|---:|")?;
    for size in SIZES {
        let fixture = Fixture::published(size);
        let open = median_ms(&mut || {
            let store = fixture::open(&fixture.path(), fixture::unpublished());
            let (runtime, tracker) = (fixture::runtime(), Tracker::new(Arc::new(store)));
            list(&runtime, &tracker, Query { take: 20, ..Query::default() });
        });
        let bytes = std::fs::read(fixture.path()).expect("a file that can be read");
        let directory = fixture::new_directory();
        let mut times: [Vec<u64>; 2] = Default::default();
        for _ in 0..ROUNDS {
            fixture.add(fixture.filing());
            let [publish, replace] = &mut times;
            publish.push(timed(|| fixture.publish()));
            replace.push(timed(|| fixture::rewrite(directory.path(), &bytes)));
        }
        times.iter_mut().for_each(|times| times.sort_unstable());
        let [publish, replace] = times.map(|times| us(percentile(&times, 50)) / 1e3);
        let ratio = publish / replace;
        writeln!(out, "| {size} | {open:.2} | {publish:.1} | {replace:.1} | {ratio:.1} |")?;
    }
    writeln!(out)
}

fn median_ms(read: &mut dyn FnMut()) -> f64 {
    let mut times: Vec<u64> = (0..ROUNDS).map(|_| timed(&mut *read)).collect();
    times.sort_unstable();
    us(percentile(&times, 50)) / 1e3
}

fn list(runtime: &tokio::runtime::Runtime, tracker: &Tracker, query: Query) -> usize {
    runtime.block_on(tracker.list_issues(query)).expect("a page").issues.len()
}

/// Lists and searches of fifty.
pub fn queries() -> [(&'static str, Query); 7] {
    let of = |query: Query| Query { take: 50, ..query };
    let text = |text: &str| Condition::Text(text.to_owned());
    let pasted = "error: the loop in the reader stops at line 41, expected one row, got none";
    let texts: Vec<String> = pasted.split(' ').map(str::to_owned).collect();
    let some = Condition::SomeTexts { at_least: 4, texts };
    let latest = Query { order: Order::LatestActivity, ..Query::default() };
    [
        ("the first 50", of(Query::default())),
        (
            "the latest 50 that are open",
            of(Query { statuses: StatusSet::open(), ..latest.clone() }),
        ),
        ("a word that all have", of(Query { condition: text("importer"), ..latest.clone() })),
        ("a word that one has", of(Query { condition: text("(54321)"), ..latest.clone() })),
        ("a word that none has", of(Query { condition: text("kelnor"), ..latest.clone() })),
        ("two characters", of(Query { condition: text("zq"), ..latest })),
        (
            "a pasted error",
            of(Query { condition: some, order: Order::Relevance, ..Query::default() }),
        ),
    ]
}
