//! The binary: parses the arguments, runs the command and sets the exit code.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use agent_issue_tracker::cli::HookAction;
use agent_issue_tracker::config::settings::LOG;
use agent_issue_tracker::config::tolerant::{self, TolerantArguments};
use agent_issue_tracker::config::{
    Arguments, Config, ConfigError, Problem, Served, StoreLocation, Subcommands,
};
use agent_issue_tracker::domain::AgentName;
use agent_issue_tracker::logging::{Log, LogFileError, LogOptions, LogProfile};
use agent_issue_tracker::{app, cli};
use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use tokio::signal::unix::{SignalKind, signal};

/// The exit code for wrong usage; clap uses the same one.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    let given = cli::with_excluding_terms(env::args_os());
    let line = match cli::in_our_words(given, &Arguments::command()) {
        Ok(line) => with_own_name(line),
        Err(error) => return refused(error, env::args_os()),
    };
    if let Some(help) = cli::wanted_help(&line) {
        return answered(false, || {
            cli::print_help(help, Arguments::command(), &cli::Output::stdout())
        });
    }
    // A server that an agent starts goes on without invalid flags; its agent has no other tracker.
    let parsed = if app::serves_agent(Served::Guessed) {
        tolerant::parse(&line)
    } else {
        Arguments::try_parse_from(&line)
            .map(|arguments| TolerantArguments { arguments, problems: Vec::new() })
    };
    let TolerantArguments { arguments, problems } = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return refused(error, line),
    };
    let arguments = Arc::new(arguments);
    outlive_file_size_limit();
    colours(arguments.color).write_global();
    match &arguments.command {
        Some(command) if arguments.served().is_none() => {
            answered(cli::wants_json(line), || run(&arguments, command))
        }
        _ => served(&arguments, problems),
    }
}

/// Runs a command that is no server.
fn run(arguments: &Arc<Arguments>, command: &Subcommands) -> Result<cli::ExitStatus> {
    let config = || config(arguments);
    match command {
        Subcommands::Serve(_) | Subcommands::Mcp(_) => unreachable!("they are servers"),
        Subcommands::Init(command) => {
            wait_for(app::init(command, &config()?, &working_directory()?))
        }
        Subcommands::Demo(command) => wait_for(app::demo(command, &config()?)),
        Subcommands::Queue(command) => wait_for(app::run_command(command, &config()?)),
        Subcommands::Open(command) => wait_for(app::open_page(command, &config()?)),
        Subcommands::Migrate(command) => {
            wait_for(app::migrate(command, &config()?, &working_directory()?))
        }
        Subcommands::Resolve(command) => wait_for(app::resolve(command, &config()?)),
        Subcommands::MergeDriver(command) => app::merge_driver(command),
        Subcommands::Status(command) => wait_for(app::status(command, &config()?)),
        Subcommands::Doctor(command) => examine(arguments, command),
        Subcommands::Hooks(command) => change_or_call_hooks(arguments, &command.action),
        Subcommands::Hook(command) => call_client_hook(arguments, command),
        Subcommands::Config(command) => {
            cli::show_config(command, &config()?.rows(), &cli::Output::stdout())
        }
        Subcommands::Texts(command) => app::show_texts(command, &config()?, &cli::Output::stdout()),
        Subcommands::About(command) => {
            cli::run_about(command, Arguments::command(), &cli::Output::stdout())
        }
    }
}

/// Replaces `@me` by the name of the agent that the user acts as.
fn with_own_name(line: Vec<OsString>) -> Vec<OsString> {
    cli::with_own_name(line, |line| {
        let Ok(arguments) = Arguments::try_parse_from(line) else {
            // The error is about another word.
            return AgentName::try_from("me").ok();
        };
        let agent = config(&arguments).ok()?.agent;
        cli::own_name(agent.as_ref().map(|agent| &agent.value)).ok()
    })
}

/// Prints an error of the arguments, or the help that they ask for.
fn refused(error: clap::Error, line: impl IntoIterator<Item = OsString>) -> ExitCode {
    let error = cli::explain_usage(error, &mut Arguments::command());
    let is_json = error.use_stderr() && cli::wants_json(line);
    if is_json && cli::print_usage_error(&error).unwrap_or(false) {
        return ExitCode::from(WRONG_USAGE);
    }
    error.exit()
}

/// Ignores SIGXFSZ, so that a write beyond the file size limit (`ulimit -f`) fails instead of killing the process.
fn outlive_file_size_limit() {
    // Signals need a runtime; the handler outlives it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    let heard = runtime.and_then(|runtime| {
        let _inside = runtime.enter();
        signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())).map(drop)
    });
    // If this fails, a write beyond the limit kills the process, as it does by default. Answered changes are durable.
    drop(heard);
}

/// Converts clap's `--color` value to that of anstream.
fn colours(wanted: clap::ColorChoice) -> anstream::ColorChoice {
    match wanted {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
}

/// Serves an agent or HTTP. `problems` are the invalid flags.
fn served(arguments: &Arguments, mut problems: Vec<Problem>) -> ExitCode {
    let is_wrong_usage = !problems.is_empty();
    let has_agent = arguments.served().is_some_and(app::serves_agent);
    let config = if has_agent {
        working_directory().map(|directory| {
            let environment = |name: &str| env::var_os(name);
            Config::tolerant(arguments, environment, &directory, &mut problems)
        })
    } else {
        config(arguments)
    };
    // If the settings are invalid, log the reason to stderr.
    let options =
        config.as_ref().map_or_else(|_| LogOptions::new(LogProfile::Server), app::log_options);
    // Keep an invalid filter, too: the log warns about it.
    let filter = options.filter.clone().or_else(|| env::var(LOG.variable).ok());
    let (log, trouble) = start_log(LogOptions { filter, ..options });
    if !problems.is_empty() {
        let reasons: Vec<_> = problems.iter().map(|problem| &*problem.reason).collect();
        let reasons = reasons.join("; ").replace('\n', " ");
        log.fail(&format!(
            "ignored: {reasons}; the MCP client on stdin is served with the defaults instead"
        ));
    }
    let served = config.and_then(|config| match trouble {
        // A service manager should see the failure at once. An agent on stdio has no other tracker, so it starts.
        Some(error) if config.served == Served::Http => Err(error.into()),
        Some(error) => {
            tracing::warn!("{error}");
            serve(config, &log)
        }
        None => serve(config, &log),
    });
    let code = match served {
        Ok(()) if is_wrong_usage => ExitCode::from(WRONG_USAGE),
        Ok(()) if !problems.is_empty() => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log.fail(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    };
    log.end();
    code
}

/// Starts the log of a server as configured; if its file cannot be opened, logs to stderr and returns the error.
fn start_log(wanted: LogOptions) -> (Log, Option<LogFileError>) {
    let on_stderr = LogOptions { file: None, ..wanted.clone() };
    match Log::start(wanted) {
        Ok(log) => (log, None),
        Err(error) => {
            let log = Log::start(on_stderr).expect("logging to stderr opens no file");
            (log, Some(error))
        }
    }
}

fn serve(config: Config, log: &Log) -> Result<()> {
    // Two threads serve one client and a few pages; machines with many cores run many such processes.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(async {
        log.reopen_on_hangup()?;
        app::run(config).await
    });
    // A read of stdin cannot be interrupted and must not delay the exit.
    runtime.shutdown_background();
    outcome
}

fn answered(is_json: bool, command: impl FnOnce() -> Result<cli::ExitStatus>) -> ExitCode {
    let filter = env::var(LOG.variable).ok();
    let log = Log::start(LogOptions { filter, ..LogOptions::new(LogProfile::Command) })
        .expect("logging to stderr opens no file");
    let ended = command();
    let damage = cli::said_damage();
    let done = if damage.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    let code = match ended {
        Ok(cli::ExitStatus::Done) => done,
        Ok(cli::ExitStatus::Incomplete) => ExitCode::FAILURE,
        // The reader closed the pipe, so it has what it wanted.
        Err(error) if cli::is_closed_pipe(&error) => done,
        Err(error) => {
            let is_printed = is_json && cli::print_error(&error).unwrap_or(false);
            let text = cli::render_short(&error);
            if !is_printed && damage != Some(&*text) {
                tracing::error!("{text}");
            }
            let is_usage = cli::is_usage(&error) || error.is::<ConfigError>();
            if is_usage { ExitCode::from(WRONG_USAGE) } else { ExitCode::FAILURE }
        }
    };
    log.end();
    code
}

fn examine(arguments: &Arc<Arguments>, command: &cli::DoctorArguments) -> Result<cli::ExitStatus> {
    let directory = working_directory()?;
    let location = StoreLocation::new(arguments, |name| env::var_os(name), &directory);
    let arguments = Arc::clone(arguments);
    // The doctor reports invalid settings.
    let settings = move || config(&arguments).map_err(|error| format!("{error:#}"));
    wait_for(app::doctor(command, location, &directory, settings))
}

fn change_or_call_hooks(
    arguments: &Arc<Arguments>,
    action: &HookAction,
) -> Result<cli::ExitStatus> {
    let directory = working_directory();
    let HookAction::Run(command) = action else {
        return wait_for(app::hooks(action, &directory?, arguments.file.is_some()));
    };
    // A hook never blocks git, even without a working directory.
    let Ok(directory) = directory else { return Ok(cli::ExitStatus::Done) };
    let arguments = Arc::clone(arguments);
    wait_for(app::call_hook(command, directory, move || config(&arguments)))
}

fn call_client_hook(
    arguments: &Arc<Arguments>,
    command: &cli::ClientHookArguments,
) -> Result<cli::ExitStatus> {
    let arguments = Arc::clone(arguments);
    wait_for(app::call_client_hook(command, move |directory| match directory {
        Some(directory) => config_in(&arguments, &directory),
        None => config(&arguments),
    }))
}

fn config(arguments: &Arguments) -> Result<Config> {
    config_in(arguments, &working_directory()?)
}

fn config_in(arguments: &Arguments, working_directory: &Path) -> Result<Config> {
    Ok(Config::new(arguments, |name| env::var_os(name), working_directory)?)
}

fn wait_for(command: impl Future<Output = Result<cli::ExitStatus>>) -> Result<cli::ExitStatus> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(command);
    runtime.shutdown_background();
    ended
}

fn working_directory() -> Result<PathBuf> {
    env::current_dir().context("the working directory no longer exists")
}
