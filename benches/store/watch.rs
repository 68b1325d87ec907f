//! The delay between the response to a change in one process and the notification of another process.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use crate::processes::Worker;
use crate::worker::Kind;
use benches::figures::{ns, percentile, us};
use benches::fixture::Fixture;

const SIZES: [usize; 2] = [0, 100_000];
const ROUNDS: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "From a response to `Store::watch` in another process, {ROUNDS} changes, ms\n")?;
    writeln!(out, "| issues | p50 | p99 | longest |\n|---:|---:|---:|---:|")?;
    for size in SIZES {
        let fixture = Fixture::published(size);
        let mut watcher = Worker::start(Kind::Watch, &fixture.path(), 0);
        watcher.expect("ready");
        let mut times: Vec<u64> = (0..ROUNDS)
            .map(|_| {
                thread::sleep(PAUSE);
                fixture.add(fixture.filing());
                let answered = Instant::now();
                let state = fixture.runtime.block_on(fixture.tracker.state());
                let number = state.expect("a valid store").position.number;
                while watcher.line().trim_end().parse::<u64>().expect("a number") < number {}
                ns(answered.elapsed())
            })
            .collect();
        times.sort_unstable();
        let [p50, p99, longest] =
            [50, 99, 100].map(|percent| us(percentile(&times, percent)) / 1e3);
        writeln!(out, "| {size} | {p50:.1} | {p99:.1} | {longest:.1} |")?;
    }
    writeln!(out, "\nTarget: at most 250\n")
}
