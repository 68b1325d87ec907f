//! The cost of idle processes: one per agent client, all on one store.
//!
//! ```text
//! cargo bench -p benches --bench idle
//! ```
//!
//! See `benches/README.md` for the table and for results. The baseline is the same number of processes that only wait
//! for stdin (`cat`). Needs `/proc` of Linux.

use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use benches::fixture;

const PROCESSES: usize = 20;
const SIZES: [usize; 3] = [0, 1_000, 10_000];
/// The time for the start: the processes read the file, and one of them takes the port.
const START: Duration = Duration::from_secs(5);
const IDLE: Duration = Duration::from_secs(60);

fn main() {
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if std::env::args().any(|argument| argument == "--bench") {
        let directory = fixture::make_directory();
        report(&mut io::stdout()).expect("standard output and /proc are available");
        directory.close().expect("the directory of the benchmarks can be removed");
    }
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    let (count, seconds) = (PROCESSES, IDLE.as_secs());
    writeln!(out, "{count} processes that wait for {seconds} s, each on the average\n")?;
    writeln!(out, "| | issues | CPU, ms | of one core | private memory, MB |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    for size in SIZES {
        let store = fixture::directory_with(size);
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let trackers = Waiting::start(|| {
            let mut command = benches::ait();
            command.current_dir(store.path()).env("ISSUES_FILE", "issues.json");
            command.env("PORT", port.to_string());
            command
        })?;
        trackers.write("ait", size, out)?;
    }
    Waiting::start(|| Command::new("cat"))?.write("cat", 0, out)
}

/// Processes that wait for stdin and end with it.
struct Waiting(Vec<Child>);

impl Waiting {
    fn start(command: impl Fn() -> Command) -> io::Result<Self> {
        let start = |_| {
            let mut command = command();
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn()
        };
        (0..PROCESSES).map(start).collect::<io::Result<_>>().map(Self)
    }

    fn write(&self, name: &str, size: usize, out: &mut dyn Write) -> io::Result<()> {
        thread::sleep(START);
        let before = self.sum(cpu_ms)?;
        thread::sleep(IDLE);
        let cpu_ms = (self.sum(cpu_ms)? - before) as f64 / PROCESSES as f64;
        let share = cpu_ms / 10.0 / IDLE.as_secs_f64();
        let own_mb = self.sum(own_kb)? as f64 / 1e3 / PROCESSES as f64;
        writeln!(out, "| `{name}` | {size} | {cpu_ms:.1} | {share:.4} % | {own_mb:.2} |")
    }

    fn sum(&self, measure: fn(u32) -> io::Result<u64>) -> io::Result<u64> {
        self.0.iter().map(|child| measure(child.id())).sum()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.stdin.take());
            let _ended = child.wait();
        }
    }
}

/// Returns the CPU time of a process and its finished threads in ms: user and system time in `stat`
/// (proc_pid_stat(5)), with 100 ticks per second.
fn cpu_ms(pid: u32) -> io::Result<u64> {
    const MS_PER_TICK: u64 = 10;
    const USER: usize = 11;
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may contain any character.
    let fields = text.rsplit_once(") ").map_or("", |(_, fields)| fields).split(' ');
    let ticks = fields.skip(USER).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
    Ok(ticks.sum::<u64>() * MS_PER_TICK)
}

/// Returns the memory that a process shares with no other, in kB.
fn own_kb(pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let own = text.lines().filter(|line| line.starts_with("Private_"));
    Ok(own.filter_map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum())
}
