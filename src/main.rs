//! The binary: parse the arguments, run, set the exit code.

use std::env;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use agent_issue_tracker::app;
use agent_issue_tracker::config::{Arguments, Config};
use anyhow::{Context, Result};
use clap::Parser;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

/// What is logged unless `RUST_LOG` says otherwise. The protocol library reports every notification
/// at `info`, and every refused request as a warning.
const DEFAULT_LOG: &str = "info,rmcp=error";
/// How long the last lines of the log may take to be written.
const LAST_LINES: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let log = start_log();
    let code = match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    };
    end_log(log);
    code
}

fn run(arguments: &Arguments) -> Result<()> {
    let directory = env::current_dir().context("the working directory is gone")?;
    let config = Config::new(arguments, |name| env::var_os(name), &directory)?;
    // Two threads serve one client and a few pages; a machine with many cores runs many of these.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(app::run(config));
    // A read of stdin cannot be interrupted and must not hold up the end.
    runtime.shutdown_background();
    outcome
}

/// Starts the log on stderr. What is logged is written while the guard lives, and when it is dropped.
///
/// A client that does not read stderr, or has closed it, must not hold up or bring down anything:
/// lines are written by a thread of their own, and dropped when too many wait.
fn start_log() -> WorkerGuard {
    let (writer, guard) = tracing_appender::non_blocking(io::stderr());
    let wanted = env::var(EnvFilter::DEFAULT_ENV).unwrap_or_default();
    let filter = if wanted.is_empty() { DEFAULT_LOG } else { &wanted };
    let filter = EnvFilter::try_new(filter);
    let unusable = filter.as_ref().err().map(ToString::to_string);
    tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| EnvFilter::new(DEFAULT_LOG)))
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(writer)
        .log_internal_errors(false)
        .init();
    if let Some(error) = unusable {
        tracing::warn!(
            "RUST_LOG is {wanted:?}, which is not understood ({error}): using {DEFAULT_LOG}"
        );
    }
    guard
}

/// Waits for the last lines of the log, unless nobody reads them.
fn end_log(log: WorkerGuard) {
    let (ended, waiting) = mpsc::channel();
    thread::spawn(move || {
        drop(log);
        let _ = ended.send(());
    });
    let _ = waiting.recv_timeout(LAST_LINES);
}
