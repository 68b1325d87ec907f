//! Wiring: which store, which faces, and the order in which they end.

use std::io::IsTerminal;
use std::net::Ipv4Addr;
#[cfg(unix)]
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use std::{env, io, mem};

use anyhow::{Context, Result};
use futures::FutureExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::cli::{self, Output, QueueCommand};
use crate::config::{Config, Location};
use crate::http::{self, Limits, Tokens, guarded};
use crate::mcp::http::{Ending, HttpOptions};
use crate::mcp::{self, McpServer};
use crate::metrics::Metrics;
use crate::neighbour;
use crate::store::JsonStore;
use crate::token_file::TokenFile;
use crate::tracker::Tracker;
use crate::web;

/// How many files are kept free for what is no connection: the store, the log, and connections that are
/// told that there are too many.
const OTHER_FILES: usize = 128;
/// How long requests that are under way may go on by themselves.
const GRACE: Duration = Duration::from_millis(400);
/// How long the last answers and the last writing of the file may take after that.
const LAST_WORK: Duration = Duration::from_millis(500);
/// How long the store may take to say, in the end, whether it can be read.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// Runs the tracker until its client is gone or a signal comes.
///
/// # Errors
///
/// What keeps it from running at all; and in the end, a store that cannot be read.
pub async fn run(mut config: Config) -> Result<()> {
    config.access = config.access.with_tokens(tokens()?);
    let path = config.location.path.display();
    tracing::info!("store: {path} ({})", config.location.reason);
    let tracker = Tracker::new(Arc::new(JsonStore::new(&config.location.path)));
    let (metrics, shutdown) = (Metrics::new(), CancellationToken::new());
    cancel_on_signal(shutdown.clone())?;
    let http_only = config.serve_only || io::stdin().is_terminal();
    let app = App { config, tracker, metrics };
    if http_only { app.serve_http(shutdown).await } else { app.serve_agent(shutdown).await }
}

/// The tokens that the environment gives, if any: THE PLACE where tokens come from.
fn tokens() -> Result<Tokens> {
    if let Some(path) = env::var_os("AIT_TOKEN_FILE").filter(|path| !path.is_empty()) {
        let file = TokenFile::read(Path::new(&path))?;
        if let Some(warning) = file.warning {
            tracing::warn!("{warning}");
        }
        return Ok(file.tokens);
    }
    match env::var("AIT_TOKEN") {
        Ok(secret) if !secret.is_empty() => Tokens::single(&secret).context("AIT_TOKEN"),
        Err(env::VarError::NotUnicode(_)) => anyhow::bail!("AIT_TOKEN: it is not UTF-8"),
        _ => Ok(Tokens::default()),
    }
}

/// Runs one command on the store, and leaves that as tidy as the time allows.
///
/// # Errors
///
/// What kept the command from being done.
pub async fn run_command(command: &QueueCommand, location: &Location) -> Result<cli::Ending> {
    let store = match command {
        QueueCommand::Import(_) => JsonStore::for_many_changes(&location.path),
        _ => JsonStore::for_command(&location.path),
    };
    let tracker = Tracker::new(Arc::new(store));
    let mut output = Output::stdout();
    let ended = cli::run(command, &tracker, &mut output).await;
    // Also after a failure: what was written before it is an answer.
    let flushed = output.flush();
    if !tracker.close().await {
        save_behind(&location.path);
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
    metrics: Metrics,
}

impl App {
    /// Serves HTTP alone, for people, service managers and agents that connect by URL. What is wrong
    /// is wrong at once.
    async fn serve_http(self, shutdown: CancellationToken) -> Result<()> {
        tokio::select! {
            counts = self.tracker.counts() => drop(counts?),
            // A large store takes a moment to read.
            () = shutdown.cancelled() => return Ok(()),
        }
        self.log_what_is_wrong().await;
        let http = HttpSide::start(&self).await?;
        if !self.config.serve_only {
            let program = env::current_exe().unwrap_or_else(|_| "ait".into());
            tracing::info!(
                "connect an agent: claude mcp add --transport http issues {url}, or any MCP client, \
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
    async fn serve_agent(self, shutdown: CancellationToken) -> Result<()> {
        let http = tokio::spawn({
            let app = self.clone();
            // A port that is taken is no reason to stop serving the agent.
            async move {
                let started = HttpSide::start(&app).await;
                let unserved = |error| tracing::warn!("no pages from this process: {error:#}");
                started.map_err(unserved).ok()
            }
        });
        // The file is read while the client introduces itself; what is wrong with it is logged early.
        tokio::spawn({
            let app = self.clone();
            async move { app.log_what_is_wrong().await }
        });
        let (input, output) = rmcp::transport::io::stdio_pipes();
        let served = mcp::stdio::serve(self.mcp_server(), input, output, shutdown).await;
        // One that has not found out by now whether it has a port has nothing under way.
        match http.now_or_never() {
            Some(Ok(Some(http))) => http.end(&self.tracker).await,
            _ => last_work(self.tracker.close()).await,
        }
        served?;
        // A store that is still being read is not called bad.
        if let Ok(Err(error)) = tokio::time::timeout(LAST_LOOK, self.tracker.check()).await {
            return Err(error).context("the agent was not served as it should have been");
        }
        Ok(())
    }

    async fn log_what_is_wrong(&self) {
        if let Err(error) = self.tracker.check().await {
            tracing::error!("{error}");
        }
    }

    fn mcp_server(&self) -> McpServer {
        McpServer::new(self.tracker.clone(), self.metrics.clone())
    }
}

/// The web side while it runs.
struct HttpSide {
    port: u16,
    ending: Ending,
    connections: JoinHandle<()>,
}

impl HttpSide {
    /// Takes the port and begins to serve pages, probes and agents on it.
    async fn start(app: &App) -> Result<Self> {
        let listener = listen(app.config.port).await?;
        let port = listener.local_addr()?.port();
        let ending = Ending::default();
        let access = app.config.access.clone();
        let options = HttpOptions { origins: access.origins().to_vec(), ..Default::default() };
        let agents = mcp::http::routes(app.mcp_server(), options, ending.clone()).await;
        let pages = web::router(app.tracker.clone(), app.metrics.clone());
        let routes = guarded(pages.merge(agents), access);
        let connections = http::serve(listener, routes, limits(), ending.streams.clone());
        let connections = tokio::spawn(connections);
        tracing::info!("pages: http://localhost:{port}");
        Ok(Self { port, ending, connections })
    }

    /// The address for agents.
    fn url(&self) -> String {
        format!("http://localhost:{}{}", self.port, mcp::http::PATH)
    }

    /// Takes no more requests, and lets those that are under way end: first by themselves; then the
    /// ones that wait for another process are withdrawn, and answered so.
    async fn end(mut self, tracker: &Tracker) {
        self.ending.streams.cancel();
        let by_themselves = tokio::time::timeout(GRACE, &mut self.connections).await.is_ok();
        last_work(async {
            tracker.close().await;
            if !by_themselves {
                let _cut_off_if_too_slow = self.connections.await;
            }
        })
        .await;
        self.ending.all.cancel();
    }
}

/// The usual limits, within what the system lets this process have open: a connection is a file, and the
/// store needs some, too.
fn limits() -> Limits {
    let usual = Limits::default();
    #[cfg(unix)]
    {
        let wanted = (usual.connections + OTHER_FILES) as u64;
        let files = rlimit::increase_nofile_limit(wanted).unwrap_or(wanted);
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        let connections = usual.connections.min(files.saturating_sub(OTHER_FILES)).max(1);
        if connections < usual.connections {
            tracing::warn!("{files} open files allow {connections} connections: raise `ulimit -n`");
        }
        Limits { connections, ..usual }
    }
    #[cfg(not(unix))]
    usual
}

/// Gives the last work a moment; a change that does not end in it is not answered.
async fn last_work<T>(work: impl Future<Output = T>) {
    if tokio::time::timeout(LAST_WORK, work).await.is_err() {
        tracing::debug!("ended before everything that was under way");
    }
}

async fn listen(port: u16) -> Result<TcpListener> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let owner = neighbour::owner(port).await;
            Err(error).with_context(|| {
                format!("port {port} is taken by {owner}; choose another with --port or PORT")
            })
        }
        bound => bound.with_context(|| format!("cannot listen on 127.0.0.1:{port}")),
    }
}

fn cancel_on_signal(shutdown: CancellationToken) -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
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
