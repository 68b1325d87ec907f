//! Wiring: which store, which faces, and the order in which they end.

mod examination;
mod hooks;
mod http_side;
mod init;
mod pins;
mod port;

use std::io::IsTerminal;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, io, mem};

use anyhow::{Context, Result, bail};
use tokio_util::sync::CancellationToken;

pub use self::examination::doctor;
pub use self::hooks::{call_hook, hooks};
use self::http_side::Presence;
pub use self::init::init;
use crate::cli::{self, OpenArguments, Output, QueueCommand, StatusArguments};
use crate::config::{Address, Chosen, Config, FilePath, KeptEvents, Secret};
use crate::http::{Access, Tokens};
use crate::mcp::{self, McpServer, Surroundings};
use crate::metrics::Metrics;
use crate::processes::{Kind, Registry};
use crate::setup::PROGRAM;
use crate::store::json::fs::RealFileSystem;
use crate::store::json::{JsonStoreOptions, KeepEvents};
use crate::store::{JsonStore, Store};
use crate::token_file::TokenFile;
use crate::tracker::{Maintenance, Tracker};

/// How long the last answers and the last writing of the file may take after that.
const LAST_WORK: Duration = Duration::from_millis(500);
/// How long the store may take to say, in the end, whether it can be read.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// Runs the tracker until its client is gone or a signal comes.
///
/// # Errors
///
/// What keeps it from running at all; and in the end, a store that cannot be read.
pub async fn run(config: Config) -> Result<()> {
    // HTTP is served alone to who asked for that, or sits at a terminal.
    let is_http_only = config.serve_only || io::stdin().is_terminal();
    let access = match access(&config)? {
        Err(error) if is_http_only => return Err(error),
        access => access,
    };
    let path = config.location.path.display();
    tracing::info!("store: {path} ({})", config.location.reason);
    let OpenStore { store, tracker, maintenance } =
        OpenStore::new(&config, JsonStoreOptions::default());
    let (metrics, shutdown) = (Metrics::new(), CancellationToken::new());
    cancel_on_signal(shutdown.clone())?;
    let surroundings = {
        // Before an upgrade can put another program in its place.
        let program = env::current_exe().unwrap_or_else(|_| PROGRAM.into());
        let (config, tracker) = (config.clone(), tracker.clone());
        move || around(&config, store, &tracker, &program)
    };
    let server = McpServer::new(tracker.clone(), metrics.clone(), surroundings);
    let app = App { config, tracker, maintenance, metrics, server };
    // From now on this process adopts external edits and publishes what dead processes left.
    drop(app.tracker.watch());
    match access {
        Ok(access) if is_http_only => app.serve_http(access, shutdown).await,
        access => app.serve_agent(access, shutdown).await,
    }
}

/// A store, and the ways to it.
struct OpenStore {
    store: Arc<dyn Store>,
    tracker: Tracker,
    maintenance: Maintenance,
}

impl OpenStore {
    /// The store that the settings name. Reads nothing yet.
    fn new(config: &Config, options: JsonStoreOptions) -> Self {
        let keep_events = config.keep_events.as_ref().map(|chosen| match chosen.value {
            KeptEvents::Bytes(bytes) => KeepEvents::Bytes(bytes),
            KeptEvents::Age(age) => KeepEvents::Age(age),
        });
        let options = JsonStoreOptions {
            allows_network: config.allows_network(),
            keep_events: keep_events.unwrap_or_default(),
            ..options
        };
        Self::at(&config.location.path, options)
    }

    /// The store in a file.
    fn at(path: &Path, options: JsonStoreOptions) -> Self {
        let store = JsonStore::with(path, Arc::new(RealFileSystem), options);
        let maintenance = store.maintenance();
        let store: Arc<dyn Store> = Arc::new(store);
        Self { tracker: Tracker::new(Arc::clone(&store)), maintenance, store }
    }
}

/// Who may use the web side: on this machine everybody, unless there are tokens; from others nobody
/// without one. An agent has no other tracker, and needs no token: without those that were named it is
/// served all the same, and nobody else.
fn access(config: &Config) -> Result<Result<Access>> {
    let (file, token) = (config.token_file.as_ref(), config.token.as_ref());
    let Chosen { value: Address(address), source } = &config.bind;
    if !address.is_loopback() && file.is_none() && token.is_none() {
        bail!(
            "{source}: {address} lets other machines in, and there is no token: name a file with \
             --token-file FILE (such as `openssl rand -hex 32 > FILE` makes), set AIT_TOKEN, or bind \
             127.0.0.1"
        );
    }
    Ok(tokens(file, token).map(|tokens| config.access().with_tokens(tokens)))
}

fn tokens(file: Option<&Chosen<FilePath>>, token: Option<&Chosen<Secret>>) -> Result<Tokens> {
    match (file, token) {
        (Some(file), _) => {
            let file = TokenFile::read(&file.value.0)?;
            if let Some(warning) = file.warning {
                tracing::warn!("{warning}");
            }
            Ok(file.tokens)
        }
        (None, Some(token)) => {
            Tokens::single(&token.value.0).with_context(|| token.source.to_string())
        }
        (None, None) => Ok(Tokens::default()),
    }
}

/// Runs one command on the store, and leaves that as tidy as the time allows.
///
/// # Errors
///
/// What kept the command from being done.
pub async fn run_command(command: &QueueCommand, config: &Config) -> Result<cli::Ending> {
    let options = match command {
        QueueCommand::Import(_) => JsonStoreOptions::for_many_changes(),
        _ => JsonStoreOptions::for_command(),
    };
    let OpenStore { tracker, maintenance, .. } = OpenStore::new(config, options);
    let _presence = match command.watches() {
        true => Some(Presence::of(&tracker, &maintenance, config, Kind::Watch, false).await),
        false => None,
    };
    let usual = config.agent.as_ref().map(|agent| &agent.value);
    let context = cli::CommandContext { tracker: &tracker, maintenance: &maintenance, usual };
    let mut output = Output::stdout();
    let ended = cli::run(command, &context, &mut output).await;
    leave(tracker, config, ended, &mut output).await
}

/// Tells how the store is doing, and who uses it.
///
/// # Errors
///
/// The store cannot be read.
pub async fn status(command: &StatusArguments, config: &Config) -> Result<cli::Ending> {
    let OpenStore { tracker, maintenance, .. } =
        OpenStore::new(config, JsonStoreOptions::for_command());
    let file = http_side::file_of(&maintenance, config).await;
    let mut output = Output::stdout();
    let reason = &config.location.reason;
    let ended = cli::show_status(command, &tracker, &file, reason, &mut output).await;
    leave(tracker, config, ended, &mut output).await
}

/// Opens the page of the store in the browser.
///
/// # Errors
///
/// Nobody serves it.
pub async fn open_page(command: &OpenArguments, config: &Config) -> Result<cli::Ending> {
    let opened = OpenStore::new(config, JsonStoreOptions::for_command());
    let store = http_side::file_of(&opened.maintenance, config).await;
    // Where the page is, those know best who serve it.
    let living = Registry::beside(&store).living().unwrap_or_default();
    let served = living.into_iter().find_map(|entry| entry.url).filter(|_| command.port.is_none());
    let configured = config.port.as_ref().map(|port| port.value.0);
    let port = command.port.or(configured).unwrap_or(*port::USUAL.start());
    let name = store.file_name().unwrap_or_default().to_string_lossy();
    cli::open_page(command, served, port, &name, &mut Output::stdout()).await
}

/// Ends a command.
async fn leave(
    tracker: Tracker,
    config: &Config,
    ended: Result<cli::Ending>,
    output: &mut Output,
) -> Result<cli::Ending> {
    // Also after a failure: what was written before it is an answer.
    let flushed = output.flush();
    if !tracker.close().await {
        save_behind(&config.location.path);
    }
    // The process ends: giving back what many issues occupy, one by one, would only take time.
    mem::forget(tracker);
    match (ended, flushed) {
        (Ok(ending), Err(error)) if cli::is_closed_pipe(&error) => Ok(ending),
        (Ok(_), Err(error)) => Err(error.context("it is done, but the answer cannot be written")),
        (ended, _) => ended,
    }
}

/// Lets another process bring a large `issues.json` up to date, so that nobody has to wait for that.
fn save_behind(store: &Path) {
    let saving = env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.arg("--file").arg(store).args(cli::SAVE_WHEN_QUIET);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends this command from the keyboard is not meant for that one.
        #[cfg(unix)]
        command.process_group(0);
        command.spawn()
    });
    if let Err(error) = saving {
        tracing::warn!("issues.json is not up to date ({error}); `ait save` brings it up to date");
    }
}

/// What both faces need. Clones share it.
#[derive(Clone)]
struct App {
    config: Config,
    tracker: Tracker,
    maintenance: Maintenance,
    metrics: Metrics,
    server: McpServer,
}

impl App {
    /// Serves HTTP alone, for people, service managers and agents that connect by URL. What is wrong
    /// is wrong at once.
    async fn serve_http(self, access: Access, shutdown: CancellationToken) -> Result<()> {
        tokio::select! {
            counts = self.tracker.counts() => drop(counts?),
            // A large store takes a moment to read.
            () = shutdown.cancelled() => return Ok(()),
        }
        self.log_what_is_wrong().await;
        let needs_token = !access.tokens().is_empty();
        let presence = self.presence(Kind::Serve, needs_token).await;
        let Some(http) = presence.serve(&self, access, &shutdown).await? else { return Ok(()) };
        if !self.config.serve_only {
            let program = env::current_exe().unwrap_or_else(|_| "ait".into());
            let header = if needs_token { " --header \"Authorization: Bearer TOKEN\"" } else { "" };
            tracing::info!(
                "connect an agent: claude mcp add --transport http issues {url}{header}, or any MCP client, \
                 by that URL; or let the client start the tracker itself: claude mcp add issues -- \
                 {program} (no arguments); press Ctrl-C to end",
                url = http.url(),
                program = program.display(),
            );
        }
        shutdown.cancelled().await;
        http.end(&self.tracker).await;
        Ok(())
    }

    /// Serves an agent on stdin and stdout, and HTTP beside it as far as that is possible.
    async fn serve_agent(self, access: Result<Access>, shutdown: CancellationToken) -> Result<()> {
        let ending = CancellationToken::new();
        let http = tokio::spawn({
            let (app, ending) = (self.clone(), ending.clone());
            // A port that is taken, or tokens that are not there, are no reason to stop serving the agent.
            async move {
                let unserved = |error| tracing::error!("no pages from this process: {error:#}");
                let needs_token = access.as_ref().is_ok_and(|access| !access.tokens().is_empty());
                let presence = app.presence(Kind::Stdio, needs_token).await;
                match access {
                    Ok(access) => {
                        let http = presence.serve(&app, access, &ending).await;
                        return http.map_err(unserved).ok().flatten();
                    }
                    Err(error) => unserved(error),
                }
                ending.cancelled().await;
                drop(presence);
                None
            }
        });
        // The file is read while the client introduces itself; what is wrong with it is logged early.
        tokio::spawn({
            let app = self.clone();
            async move { app.log_what_is_wrong().await }
        });
        let (input, output) = rmcp::transport::io::stdio_pipes();
        let served = mcp::stdio::serve(self.server.clone(), input, output, shutdown).await;
        // One that stands by, or has not found out by now whether it has a port, has nothing under way.
        ending.cancel();
        match tokio::time::timeout(LAST_WORK, http).await {
            Ok(Ok(Some(http))) => http.end(&self.tracker).await,
            _ => last_work(self.tracker.close()).await,
        }
        served?;
        // A store that is still being read is not called bad.
        if let Ok(Err(error)) = tokio::time::timeout(LAST_LOOK, self.tracker.check()).await {
            return Err(error).context("the agent was not served as it should have been");
        }
        Ok(())
    }

    async fn presence(&self, kind: Kind, needs_token: bool) -> Presence {
        Presence::of(&self.tracker, &self.maintenance, &self.config, kind, needs_token).await
    }

    async fn log_what_is_wrong(&self) {
        if let Err(error) = self.tracker.check().await {
            tracing::error!("{error}");
        }
    }
}

/// What agents can be told of beside the issues.
fn around(
    config: &Config,
    store: Arc<dyn Store>,
    tracker: &Tracker,
    program: &Path,
) -> Surroundings {
    let directory = env::current_dir().unwrap_or_default();
    let subject = examination::subject(config, store, &directory, tracker.now());
    let mut command = vec![subject.around.machine.command(program)];
    if config.location.is_named {
        command.extend(["--file".to_owned(), config.location.path.display().to_string()]);
    }
    Surroundings { settings: config.rows(), subject, command: shell_words::join(command) }
}

/// Gives the last work a moment; a change that does not end in it is not answered.
async fn last_work<T>(work: impl Future<Output = T>) {
    if tokio::time::timeout(LAST_WORK, work).await.is_err() {
        tracing::debug!("ended before everything that was under way");
    }
}

/// Cancels when the process is told to end. A hang-up is the end of one whose terminal has gone with it;
/// to all others it says that the log was moved away.
fn cancel_on_signal(shutdown: CancellationToken) -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut hangup = signal(SignalKind::hangup())?;
        let had_terminal = io::stdin().is_terminal();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => break,
                    _ = terminate.recv() => break,
                    _ = hangup.recv() => if had_terminal && !io::stdin().is_terminal() { break },
                }
            }
            shutdown.cancel();
        });
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            shutdown.cancel();
        }
    });
    Ok(())
}
