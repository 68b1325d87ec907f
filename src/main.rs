//! The binary: parse the arguments, run, set the exit code.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use agent_issue_tracker::config::{Arguments, Config, Location, Subcommands};
use agent_issue_tracker::log::{Log, Voice};
use agent_issue_tracker::{app, cli};
use anyhow::{Context, Result};
use clap::Parser;

/// What wrong usage ends with, as the parser of the command line has it.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    arguments.color.write_global();
    if let Some(Subcommands::Queue(command)) = &arguments.command {
        let log = Log::start(Voice::Command);
        let code = run_command(&arguments, command);
        log.end();
        return code;
    }
    let log = Log::start(Voice::Server);
    let code = match serve(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    };
    log.end();
    code
}

fn serve(arguments: &Arguments) -> Result<()> {
    let config = Config::new(arguments, |name| env::var_os(name), &working_directory()?)?;
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

fn run_command(arguments: &Arguments, command: &cli::QueueCommand) -> ExitCode {
    let ended = working_directory().and_then(|directory| {
        let location = Location::new(arguments, |name| env::var_os(name), &directory);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = runtime.block_on(app::run_command(command, &location));
        runtime.shutdown_background();
        ended
    });
    match ended {
        Ok(cli::Ending::Done) => ExitCode::SUCCESS,
        Ok(cli::Ending::Nothing) => ExitCode::FAILURE,
        // Whoever closed the pipe has read what it wanted.
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", cli::explained(&error));
            if cli::is_usage(&error) { ExitCode::from(WRONG_USAGE) } else { ExitCode::FAILURE }
        }
    }
}

fn working_directory() -> Result<PathBuf> {
    env::current_dir().context("the working directory is gone")
}
