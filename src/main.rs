//! The binary: parse the arguments, run, set the exit code.

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use agent_issue_tracker::cli::HookAction;
use agent_issue_tracker::config::settings::LOG;
use agent_issue_tracker::config::{Arguments, Config, ConfigError, Location, Subcommands};
use agent_issue_tracker::log::{Log, LogFileError, LogOptions, Voice};
use agent_issue_tracker::{app, cli};
use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};

/// What wrong usage ends with, as the parser of the command line has it.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    outlive_file_size_limit();
    colours(arguments.color).write_global();
    match &arguments.command {
        None | Some(Subcommands::Serve(_)) => served(&arguments),
        Some(Subcommands::Init(command)) => {
            answered(|| wait_for(app::init(command, &config(&arguments)?, &working_directory()?)))
        }
        Some(Subcommands::Queue(command)) => answered(|| run_command(&arguments, command)),
        Some(Subcommands::Open(command)) => answered(|| open_page(&arguments, command)),
        Some(Subcommands::Status(command)) => {
            answered(|| wait_for(app::status(command, &config(&arguments)?)))
        }
        Some(Subcommands::Doctor(command)) => answered(|| examine(&arguments, command)),
        Some(Subcommands::Hooks(command)) => {
            answered(|| change_or_call_hooks(&arguments, &command.action))
        }
        Some(Subcommands::Config(command)) => answered(|| {
            let settings = config(&arguments)?.rows();
            cli::show_config(command, &settings, &mut cli::Output::stdout())
        }),
        Some(Subcommands::About(command)) => {
            answered(|| cli::run_about(command, Arguments::command(), &mut cli::Output::stdout()))
        }
    }
}

/// Lets a write beyond the limit of the size of files (`ulimit -f`) fail, rather than end the process: SIGXFSZ
/// gets a handler that does nothing, for as long as the process lives.
fn outlive_file_size_limit() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Only a runtime can listen to signals; the handler stays behind it.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
        let heard = runtime.and_then(|runtime| {
            let _inside = runtime.enter();
            signal(SignalKind::from_raw(libc::SIGXFSZ)).map(drop)
        });
        // Without it a write that is too large ends the process, as everywhere; what was answered stays.
        drop(heard);
    }
}

/// The answer to `--color` in the words of those who colour.
fn colours(wanted: clap::ColorChoice) -> anstream::ColorChoice {
    match wanted {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
}

fn served(arguments: &Arguments) -> ExitCode {
    let config = config(arguments);
    // What is wrong with the settings is said where nothing was set.
    let options =
        config.as_ref().map_or_else(|_| LogOptions::new(Voice::Server), Config::log_options);
    // Also one that cannot be used, which the log tells.
    let filter = options.filter.clone().or_else(|| env::var(LOG.variable).ok());
    let (log, trouble) = start_log(LogOptions { filter, ..options });
    let served = config.and_then(|config| match trouble {
        // A service manager is to see it at once; an agent has no other tracker.
        Some(error) if config.serve_only => Err(error.into()),
        Some(error) => {
            tracing::warn!("{error}");
            serve(config, &log)
        }
        None => serve(config, &log),
    });
    let code = match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.fail(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    };
    log.end();
    code
}

/// Starts the log of a server: as it is wanted, or else on stderr, with the reason.
fn start_log(wanted: LogOptions) -> (Log, Option<LogFileError>) {
    let on_stderr = LogOptions { file: None, ..wanted.clone() };
    match Log::start(wanted) {
        Ok(log) => (log, None),
        Err(error) => {
            let log = Log::start(on_stderr).expect("stderr is no file that has to be opened");
            (log, Some(error))
        }
    }
}

fn serve(config: Config, log: &Log) -> Result<()> {
    // Two threads serve one client and a few pages; a machine with many cores runs many of these.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        log.reopen_on_hangup()?;
        app::run(config).await
    });
    // A read of stdin cannot be interrupted and must not hold up the end.
    runtime.shutdown_background();
    outcome
}

fn answered(command: impl FnOnce() -> Result<cli::Ending>) -> ExitCode {
    let filter = env::var(LOG.variable).ok();
    let log = Log::start(LogOptions { filter, ..LogOptions::new(Voice::Command) })
        .expect("stderr is no file that has to be opened");
    let code = match command() {
        Ok(cli::Ending::Done) => ExitCode::SUCCESS,
        Ok(cli::Ending::Nothing | cli::Ending::Partly) => ExitCode::FAILURE,
        // Whoever closed the pipe has read what it wanted.
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{}", cli::explained(&error));
            let is_usage = cli::is_usage(&error) || error.is::<ConfigError>();
            if is_usage { ExitCode::from(WRONG_USAGE) } else { ExitCode::FAILURE }
        }
    };
    log.end();
    code
}

fn run_command(arguments: &Arguments, command: &cli::QueueCommand) -> Result<cli::Ending> {
    let config = config(arguments)?;
    wait_for(app::run_command(command, &config))
}

fn open_page(arguments: &Arguments, command: &cli::OpenArguments) -> Result<cli::Ending> {
    let config = config(arguments)?;
    wait_for(app::open_page(command, &config))
}

fn examine(arguments: &Arguments, command: &cli::DoctorArguments) -> Result<cli::Ending> {
    let directory = working_directory()?;
    let location = Location::new(arguments, |name| env::var_os(name), &directory);
    let arguments = arguments.clone();
    // Settings that are wrong are one of the things that it tells.
    let settings = move || config(&arguments).map_err(|error| format!("{error:#}"));
    wait_for(app::doctor(command, location, &directory, settings))
}

fn change_or_call_hooks(arguments: &Arguments, action: &HookAction) -> Result<cli::Ending> {
    let directory = working_directory();
    let HookAction::Run(command) = action else {
        return wait_for(app::hooks(action, &directory?, arguments.file.is_some()));
    };
    // git goes on, whatever is wrong.
    let Ok(directory) = directory else { return Ok(cli::Ending::Done) };
    let arguments = arguments.clone();
    wait_for(app::call_hook(command, directory, move || config(&arguments)))
}

fn config(arguments: &Arguments) -> Result<Config> {
    Ok(Config::new(arguments, |name| env::var_os(name), &working_directory()?)?)
}

fn wait_for(command: impl Future<Output = Result<cli::Ending>>) -> Result<cli::Ending> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(command);
    runtime.shutdown_background();
    ended
}

fn working_directory() -> Result<PathBuf> {
    env::current_dir().context("the working directory is gone")
}
