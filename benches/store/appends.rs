//! One change by one caller, compared with one synced append of the same bytes.
//!
//! All sides are measured alternately, so that other work of the machine slows them all down.

use std::io::{self, Write};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use crate::sqlite::Database;
use benches::figures::{percentile, timed, us};
use benches::fixture::{Appender, Fixture};
use benches::issues::Filing;

const LARGE: usize = 100_000;
const ROUNDS: usize = 1_000;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let (empty, large) = (Fixture::new(0), Fixture::new(LARGE));
    let (mut empty_sql, mut large_sql) = (Database::new(0), Database::new(LARGE));
    let frame_bytes = empty.frame_bytes();
    let mut appender = Appender::new(frame_bytes);
    let handover = Handover::new(frame_bytes);
    let mut acts: [(&str, &mut dyn FnMut(Filing)); 6] = [
        ("append to a file", &mut |_| appender.append()),
        ("append by another thread", &mut |_| handover.append(&empty)),
        ("add_issue, empty", &mut |filing| _ = empty.add(filing)),
        ("add_issue, 100,000", &mut |filing| _ = large.add(filing)),
        ("SQLite, empty", &mut |filing| empty_sql.add(&filing)),
        ("SQLite, 100,000", &mut |filing| large_sql.add(&filing)),
    ];
    let mut times: [Vec<u64>; 6] = Default::default();
    for round in 0..ROUNDS {
        for ((_, act), times) in acts.iter_mut().zip(&mut times) {
            let filing = Filing::new(round);
            times.push(timed(|| act(filing)));
        }
    }
    writeln!(out, "One change by one caller, {ROUNDS} rounds, {frame_bytes} bytes each\n")?;
    writeln!(out, "| | p50 µs | p90 µs | p99 µs | longest µs | p50 to an append |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    let mut medians = Vec::new();
    for ((name, _), times) in acts.iter().zip(&mut times) {
        times.sort_unstable();
        let [p50, p90, p99, p100] = [50, 90, 99, 100].map(|percent| us(percentile(times, percent)));
        medians.push(p50);
        let ratio = p50 / medians[0];
        writeln!(out, "| {name} | {p50:.0} | {p90:.0} | {p99:.0} | {p100:.0} | {ratio:.2} |")?;
    }
    let [append, by_thread, empty, large, ..] = medians[..] else { unreachable!("six acts") };
    writeln!(
        out,
        "\n100,000 to empty: {:.2} (target: at most 1.3); to an append: {:.2} and {:.2} (target: at most 1.3); \
         to an append by another thread: {:.2} and {:.2}\n",
        large / empty,
        empty / append,
        large / append,
        empty / by_thread,
        large / by_thread,
    )?;
    handover.finish();
    Ok(())
}

/// A thread that appends for its callers, like the writer of the store: it shows the cost of two thread switches.
struct Handover {
    jobs: Sender<oneshot::Sender<()>>,
    thread: JoinHandle<()>,
}

impl Handover {
    fn new(frame_bytes: usize) -> Self {
        let (jobs, incoming) = channel::<oneshot::Sender<()>>();
        let mut appender = Appender::new(frame_bytes);
        let thread = thread::spawn(move || {
            for done in incoming {
                appender.append();
                done.send(()).expect("a caller that waits");
            }
        });
        Self { jobs, thread }
    }

    fn append(&self, fixture: &Fixture) {
        let (done, is_done) = oneshot::channel();
        self.jobs.send(done).expect("a thread that listens");
        fixture.runtime.block_on(is_done).expect("a thread that answers");
    }

    fn finish(self) {
        drop(self.jobs);
        self.thread.join().expect("a thread that succeeded");
    }
}
