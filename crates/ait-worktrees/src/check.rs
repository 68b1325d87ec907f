//! Runs the check of a project: the shell command that a merge must pass.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;

use ait_domain::Receipt;
use ait_system::shell::{self, Shell};

/// How much of the end of the output is kept, in bytes.
const MAX_KEPT: usize = 4 * 1024;

/// How a check ended.
#[derive(Debug)]
pub struct CheckResult {
    /// How the shell ended.
    pub status: ExitStatus,
    /// The last lines of its output.
    pub last_lines: String,
    /// How long it took.
    pub took: Duration,
}

impl CheckResult {
    /// Returns the receipt of a check on some files.
    pub fn receipt(&self, command: &str, tree: &str) -> Receipt {
        let Self { status, last_lines, took } = self;
        let signal = || 128 + status.signal().unwrap_or(0);
        let mut begins = last_lines.len().saturating_sub(Receipt::MAX_OUTPUT)..;
        let begin = begins.find(|at| last_lines.is_char_boundary(*at)).unwrap_or_default();
        let output = if status.success() { "" } else { &last_lines[begin..] };
        Receipt {
            command: command.to_owned(),
            tree: tree.to_owned(),
            exit: status.code().unwrap_or_else(signal),
            ms: took.as_millis().try_into().unwrap_or(u64::MAX),
            merge: None,
            output: output.to_owned(),
        }
    }
}

/// Runs a check in a directory, and passes its output on to stderr. If this is dropped, the check is killed.
pub async fn run_check(command: &str, directory: &Path) -> io::Result<CheckResult> {
    let begun = Instant::now();
    let (reader, writer) = io::pipe()?;
    let mut shell = shell::command(command, directory);
    shell.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut shell = Shell::spawn(shell)?;
    let mut output = Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut kept = Vec::new();
    let mut chunk = [0; 8 * 1024];
    let status = loop {
        tokio::select! {
            biased;
            read = output.read(&mut chunk) => match read? {
                0 => break shell.child.wait().await?,
                length => pass_on(&chunk[..length], &mut kept),
            },
            // A process that the check left behind may keep the pipe open.
            status = shell.child.wait() => break status?,
        }
    };
    Ok(CheckResult { status, last_lines: last_lines(&kept), took: begun.elapsed() })
}

fn pass_on(bytes: &[u8], kept: &mut Vec<u8>) {
    // The check goes on without a reader of its output.
    let _unread = io::stderr().write_all(bytes);
    kept.extend_from_slice(bytes);
    kept.drain(..kept.len().saturating_sub(MAX_KEPT));
}

/// Returns the whole lines of the kept output.
fn last_lines(kept: &[u8]) -> String {
    let text = String::from_utf8_lossy(kept);
    let is_cut = kept.len() == MAX_KEPT;
    let whole = text.split_once('\n').filter(|_| is_cut).map_or(&*text, |(_, whole)| whole);
    whole.trim_end().to_owned()
}
