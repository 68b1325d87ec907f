//! Whether it pays to write the room for a journal beforehand, so that appending to it changes no length: the
//! same appends to a file that grows and to one of zeros, in alternating bursts, on a disk that is left alone
//! otherwise and on one that something else writes to all the time.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::figures::{timed, us};
use crate::fixture::{self, Appender, Fixture};

const BURSTS: usize = 40;
const BURST: usize = 50;
/// Callers do not come one right behind the other.
const PAUSE: Duration = Duration::from_millis(1);
/// What else is written: files of this size, synced each time that so much was written.
const OTHER_BYTES: usize = 64 << 20;
const OTHER_SYNC_BYTES: usize = 4 << 20;

pub fn run() {
    report(&mut io::stdout()).expect("somebody who reads this");
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    let appends = BURSTS * BURST;
    writeln!(out, "{appends} appends and syncs each, ms\n")?;
    writeln!(out, "| the disk | the file | p50 | p99 | p99.9 |")?;
    writeln!(out, "|---|---|---:|---:|---:|")?;
    for is_busy in [false, true] {
        let stop = Arc::new(AtomicBool::new(false));
        let other = is_busy.then(|| {
            let stop = Arc::clone(&stop);
            thread::spawn(move || write_something_else(&stop))
        });
        let times = measured();
        stop.store(true, Ordering::Relaxed);
        if let Some(other) = other {
            other.join().expect("space on the disk");
        }
        let disk = if is_busy { "is written to" } else { "is left alone" };
        let mut rows = Vec::new();
        for (file, mut times) in ["grows", "has its room"].into_iter().zip(times) {
            times.sort_unstable();
            let at = |of_thousand: usize| {
                us(times[((times.len() - 1) * of_thousand).div_ceil(1_000)]) / 1e3
            };
            let row = [500, 990, 999].map(at);
            let [p50, p99, p999] = row;
            writeln!(out, "| {disk} | {file} | {p50:.2} | {p99:.2} | {p999:.2} |")?;
            rows.push(row);
        }
        let ratio = |place: usize| rows[1][place] / rows[0][place];
        let [p50, p99, p999] = [0, 1, 2].map(ratio);
        writeln!(out, "| {disk} | ratio | {p50:.2} | {p99:.2} | {p999:.2} |")?;
    }
    writeln!(out)
}

/// How long each append to a growing file took, and each to one that has its room.
fn measured() -> [Vec<u64>; 2] {
    let frame_bytes = Fixture::new(0).frame_bytes();
    let mut files = [Appender::new(frame_bytes), Appender::new(frame_bytes)];
    files[1].make_room(BURSTS * BURST);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..BURSTS {
        for (file, times) in files.iter_mut().zip(&mut times) {
            for _ in 0..BURST {
                times.push(timed(|| file.append()));
                thread::sleep(PAUSE);
            }
        }
    }
    times
}

fn write_something_else(stop: &AtomicBool) {
    let directory = fixture::new_directory();
    let path = directory.path().join("other");
    let piece = vec![b'o'; OTHER_SYNC_BYTES];
    while !stop.load(Ordering::Relaxed) {
        let mut file = File::create(&path).expect("a new file");
        for _ in 0..OTHER_BYTES / OTHER_SYNC_BYTES {
            file.write_all(&piece).expect("space on the disk");
            file.sync_all().expect("a disk that works");
        }
    }
}
