//! The binary: parse the arguments, run, set the exit code.

use std::env;
use std::process::ExitCode;

use agent_issue_tracker::app;
use agent_issue_tracker::config::{Arguments, Config};
use agent_issue_tracker::log::Log;
use anyhow::{Context, Result};
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let log = Log::start();
    let code = match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    };
    log.end();
    code
}

fn run(arguments: &Arguments) -> Result<()> {
    let directory = env::current_dir().context("the working directory is gone")?;
    let config = Config::new(arguments, |name| env::var_os(name), &directory)?;
    // Two threads serve one client and a few pages; a machine with many cores runs many of these.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(app::run(config));
    // A read of stdin cannot be interrupted and must not hold up the end.
    runtime.shutdown_background();
    outcome
}
