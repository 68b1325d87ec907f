//! The duration of a command as a whole process: start, open the store, do the work, exit.
//!
//! ```text
//! cargo bench -p benches --bench cli
//! ```
//!
//! See `benches/README.md` for the columns and for results. Each command runs alternately with a process that does
//! nothing (`ait --version`) and with one that only reads `issues.json` (`cat`).

use benches::figures::{percentile, us};
use benches::fixture::Fixture;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use benches::{figures, fixture};

const SIZES: [usize; 4] = [0, 1_000, 10_000, 100_000];
const ROUNDS: usize = 15;
const COMMANDS: [(&str, &[&str]); 5] = [
    ("ait list -n 20", &["list", "-n", "20"]),
    ("ait list TEXT", &["list", "-n", "20", "nowhere to be found"]),
    ("ait list --json", &["list", "--json", "--limit", "0"]),
    ("ait add", &["add", "a title", "-c", "bug", "--agent", "bench"]),
    ("ait next", &["next", "--agent", "bench"]),
];

fn main() {
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if std::env::args().any(|argument| argument == "--bench") {
        let directory = fixture::make_directory();
        report(&mut io::stdout()).expect("standard output is open");
        directory.close().expect("the directory of the benchmarks can be removed");
    }
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Whole processes, p50 of {ROUNDS} in ms\n")?;
    writeln!(out, "| command | issues | p50 | p90 | to doing nothing | to reading the file |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    for size in SIZES {
        for (name, arguments) in COMMANDS {
            let store = Fixture::published(size);
            let directory = store.directory.path();
            let file = directory.join("issues.json");
            let [mut times, mut nothing, mut reading] = [const { Vec::new() }; 3];
            for _ in 0..ROUNDS {
                times.push(timed(&mut ait(directory, arguments)));
                nothing.push(timed(&mut ait(directory, &["--version"])));
                let file = if file.exists() { &file } else { Path::new("/dev/null") };
                reading.push(timed(Command::new("cat").arg(file)));
            }
            let ms = |times: &mut Vec<u64>, percent| {
                times.sort_unstable();
                us(percentile(times, percent)) / 1000.0
            };
            let [p50, p90] = [50, 90].map(|percent| ms(&mut times, percent));
            let [nothing, reading] = [nothing, reading].map(|mut times| p50 / ms(&mut times, 50));
            writeln!(
                out,
                "| `{name}` | {size} | {p50:.1} | {p90:.1} | {nothing:.1} | {reading:.1} |"
            )?;
            // Finish the publish that the last change may have left to a background process.
            run(&mut ait(directory, &["save"]));
        }
    }
    Ok(())
}

fn ait(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = benches::ait();
    command.current_dir(directory).args(arguments).env("ISSUES_FILE", "issues.json");
    command
}

/// Returns the duration of a process whose output is read, in ns.
fn timed(command: &mut Command) -> u64 {
    figures::timed(|| run(command))
}

fn run(command: &mut Command) {
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = command.output().expect("a program that starts");
    // A claim that finds no issue exits with 1.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?} failed");
}
