//! Servers in separate processes, killed on drop.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use agent_issue_tracker::store::files::paths::StorePaths;
use serde_json::Value;
use tempfile::TempDir;

use benches::figures::memory_bytes;
use benches::fixture;

use crate::baseline::{self, READY};

/// The number of lines that may come before the line with the port.
const MAX_LINES: usize = 100;

/// The number of checks for an up-to-date `issues.json`, and the pause between them. After a publish the store waits 20
/// times as long as that publish took, which is seconds on a busy machine.
const CHECKS: usize = 12_000;
const BETWEEN_CHECKS: Duration = Duration::from_millis(5);

pub struct Server {
    process: Child,
    pub port: u16,
    directory: TempDir,
    /// Kept open, because a server without a log reader would behave differently.
    _log: BufReader<ChildStderr>,
}

impl Server {
    /// Starts `ait serve` on a store with `size` issues.
    pub fn with(size: usize) -> Self {
        Self::serving(fixture::directory_with(size))
    }

    /// Starts `ait serve` on a store with the issues of this file, which has been imported and indexed.
    pub fn on(issues_json: &Path) -> Self {
        let directory = fixture::new_directory();
        let path = directory.path().join("issues.json");
        fixture::copy(issues_json, &path);
        fixture::import(&directory, 0);
        Self::serving(directory)
    }

    fn serving(directory: TempDir) -> Self {
        let mut command = ait(&directory);
        command.arg("serve").stdin(Stdio::null()).stdout(Stdio::null());
        Self::start(command, directory)
    }

    /// Starts the baseline server.
    pub fn baseline() -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env(baseline::VARIABLE, "1");
        Self::start(command, fixture::new_directory())
    }

    fn start(mut command: Command, directory: TempDir) -> Self {
        let mut process = command.stderr(Stdio::piped()).spawn().expect("a process");
        let mut log = BufReader::new(process.stderr.take().expect("a pipe"));
        let port = log.by_ref().lines().take(MAX_LINES).find_map(|line| {
            let line = line.expect("a server that logs");
            line.split_once(READY)?.1.trim().parse().ok()
        });
        Self { process, port: port.expect("a server that gets a port"), directory, _log: log }
    }

    /// Waits until `issues.json` is published, so that no publish disturbs the next measurement.
    pub fn settle(&self) {
        let paths = StorePaths::of(self.directory.path().join("issues.json"));
        for _ in 0..CHECKS {
            if newest_number(&paths).is_none_or(|number| published_number(&paths) == Some(number)) {
                return;
            }
            thread::sleep(BETWEEN_CHECKS);
        }
        panic!("issues.json is not published in time");
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn resident_bytes(&self) -> u64 {
        memory_bytes(&self.process.id().to_string(), "VmRSS:")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ignore the error for a process that has already ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns the number of the newest event.
fn newest_number(paths: &StorePaths) -> Option<u64> {
    let connection = rusqlite::Connection::open(paths.database()).ok()?;
    let newest = connection.query_row("SELECT max(number) FROM events", [], |row| row.get(0));
    newest.ok().flatten().map(i64::cast_unsigned)
}

/// Returns the number of the newest event in `issues.json`.
fn published_number(paths: &StorePaths) -> Option<u64> {
    let published: Value = serde_json::from_slice(&fs::read(paths.published()).ok()?).ok()?;
    published["number"].as_u64()
}

/// Returns a command for the program on the store in a directory, with its pages on a free port.
pub fn ait(directory: &TempDir) -> Command {
    let mut command = benches::ait();
    command.current_dir(directory).args(["--file", "issues.json", "--port", "0"]);
    for variable in ["AIT_ALLOW_HOST", "AIT_ALLOW_ORIGIN", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// Returns the CPU time of a process, to 10 ms. Returns 0 if the system does not report it.
pub fn processor_time(process: u32) -> Duration {
    // See `man 5 proc`: the name in parentheses is the second field; user and system time are the 14th and 15th, in
    // hundredths of a second on Linux.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}
