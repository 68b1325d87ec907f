//! Servers in processes of their own, killed when they are dropped.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::thread;
use std::time::Duration;

use agent_issue_tracker::store::json::paths::StorePaths;
use serde_json::Value;
use tempfile::TempDir;

use benches::figures::memory_bytes;
use benches::fixture;

use crate::floor::{self, READY};

/// How many lines may come before that.
const MAX_LINES: usize = 100;

/// How often, and after how long, it is looked at whether `issues.json` is up to date. After publishing it the store
/// rests for 20 times as long as that took, which is seconds on a busy machine.
const LOOKS: usize = 12_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

pub struct Server {
    process: Child,
    pub port: u16,
    directory: TempDir,
    /// Kept, because a server that cannot log is not an ordinary one.
    _log: BufReader<ChildStderr>,
}

impl Server {
    /// `ait serve` on a store with so many issues.
    pub fn with(size: usize) -> Self {
        Self::serving(fixture::directory_with(size))
    }

    /// The same on a store that begins as this file.
    pub fn on(issues_json: &Path) -> Self {
        let directory = fixture::new_directory();
        let path = directory.path().join("issues.json");
        fixture::copy(issues_json, &path);
        Self::serving(directory)
    }

    fn serving(directory: TempDir) -> Self {
        let mut command = ait(&directory);
        command.arg("serve").stdin(Stdio::null()).stdout(Stdio::null());
        Self::start(command, directory)
    }

    /// The floor.
    pub fn floor() -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env(floor::VARIABLE, "1");
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

    /// Waits until `issues.json` is up to date, so that what is measured next is not disturbed by that.
    pub fn settle(&self) {
        let place = StorePaths::of(self.directory.path().join("issues.json"));
        for _ in 0..LOOKS {
            if durable_number(&place).is_none_or(|number| published_number(&place) == Some(number))
            {
                return;
            }
            thread::sleep(BETWEEN_LOOKS);
        }
        panic!("issues.json is not brought up to date");
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
        // Nothing to be done about one that is gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The number of the newest event that is durable.
fn durable_number(place: &StorePaths) -> Option<u64> {
    let mark = fs::read_to_string(place.mark()).ok()?;
    u64::from_str_radix(mark.split(' ').nth(3)?, 16).ok()
}

/// The number of the newest event that `issues.json` tells.
fn published_number(place: &StorePaths) -> Option<u64> {
    let published: Value = serde_json::from_slice(&fs::read(place.published()).ok()?).ok()?;
    published["number"].as_u64()
}

/// The program on the store of a directory, its pages on a port that the system picks.
pub fn ait(directory: &TempDir) -> Command {
    let mut command = benches::ait();
    command.current_dir(directory).args(["--file", "issues.json", "--port", "0"]);
    for variable in ["AIT_ALLOW_HOST", "AIT_ALLOW_ORIGIN", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// How long a process has had a core until now, to 10 ms; 0 where the system does not tell.
pub fn processor_time(process: u32) -> Duration {
    // `man 5 proc`: the name, in parentheses, is the second field; user and system time are the 14th and
    // 15th, in hundredths of a second on every Linux of today.
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}
