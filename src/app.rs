//! Wiring: which store, which faces, and the order in which they end.

use std::io::IsTerminal;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use std::{env, io};

use anyhow::{Context, Result};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::mcp::{self, McpServer};
use crate::metrics::Metrics;
use crate::store::JsonStore;
use crate::tracker::Tracker;
use crate::web;

/// How long pages and changes that are under way, and the last writing of the file, may take to end.
const LAST_WORK: Duration = Duration::from_millis(500);
/// How long the store may take to say, in the end, whether it can be read.
const LAST_LOOK: Duration = Duration::from_millis(200);

/// Runs the tracker until its client is gone or a signal comes.
///
/// # Errors
///
/// What keeps it from running at all; and in the end, a store that cannot be read.
pub async fn run(config: Config) -> Result<()> {
    let path = config.location.path.display();
    tracing::info!("store: {path} ({})", config.location.reason);
    let tracker = Tracker::new(Arc::new(JsonStore::new(&config.location.path)));
    let (metrics, shutdown) = (Metrics::new(), CancellationToken::new());
    cancel_on_signal(shutdown.clone())?;
    if config.serve_only || io::stdin().is_terminal() {
        serve_pages(&config, tracker, metrics, shutdown).await
    } else {
        serve_agent(&config, tracker, metrics, shutdown).await
    }
}

/// Serves the pages alone, for people and service managers. What is wrong is wrong at once.
async fn serve_pages(
    config: &Config,
    tracker: Tracker,
    metrics: Metrics,
    shutdown: CancellationToken,
) -> Result<()> {
    tracker.counts().await?;
    if let Err(error) = tracker.check().await {
        tracing::error!("{error}");
    }
    let listener = listen(config.port).await?;
    let port = listener.local_addr()?.port();
    tracing::info!("pages: http://localhost:{port}");
    if !config.serve_only {
        let program = env::current_exe().unwrap_or_else(|_| "ait".into());
        tracing::info!(
            "connect an agent: claude mcp add issues -- {} (or any MCP client: command {0:?}, no \
             arguments); press Ctrl-C to end",
            program.display(),
        );
    }
    let mut pages = tokio::spawn(web::serve(listener, tracker.clone(), metrics, shutdown.clone()));
    tokio::select! {
        () = shutdown.cancelled() => {}
        ended = &mut pages => return Ok(ended??),
    }
    end(&tracker, pages).await;
    Ok(())
}

/// Serves an agent on stdin and stdout, and the pages beside it as far as that is possible.
async fn serve_agent(
    config: &Config,
    tracker: Tracker,
    metrics: Metrics,
    shutdown: CancellationToken,
) -> Result<()> {
    let ending = shutdown.child_token();
    let pages =
        tokio::spawn(pages_beside(config.port, tracker.clone(), metrics.clone(), ending.clone()));
    // The file is read while the client introduces itself; what is wrong with it is logged early.
    tokio::spawn({
        let tracker = tracker.clone();
        async move {
            if let Err(error) = tracker.check().await {
                tracing::error!("{error}");
            }
        }
    });
    let (input, output) = rmcp::transport::io::stdio_pipes();
    let server = McpServer::new(tracker.clone(), metrics);
    let served = mcp::stdio::serve(server, input, output, shutdown).await;
    ending.cancel();
    end(&tracker, pages).await;
    served?;
    // A store that is still being read is not called bad.
    if let Ok(Err(error)) = tokio::time::timeout(LAST_LOOK, tracker.check()).await {
        return Err(error).context("the agent was not served as it should have been");
    }
    Ok(())
}

/// Serves the pages until `shutdown`; a port that is taken is no reason to stop serving the agent.
async fn pages_beside(port: u16, tracker: Tracker, metrics: Metrics, shutdown: CancellationToken) {
    let served = async {
        let listener = listen(port).await?;
        tracing::info!("pages: http://localhost:{}", listener.local_addr()?.port());
        anyhow::Ok(web::serve(listener, tracker, metrics, shutdown).await?)
    };
    if let Err(error) = served.await {
        tracing::warn!("no pages from this process: {error:#}");
    }
}

async fn listen(port: u16) -> Result<TcpListener> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            let owner = web::port_owner(port).await;
            Err(error).with_context(|| {
                format!("port {port} is taken by {owner}; choose another with --port or PORT")
            })
        }
        bound => bound.with_context(|| format!("cannot listen on 127.0.0.1:{port}")),
    }
}

/// Lets pages and changes that are under way end, for a moment.
async fn end<T>(tracker: &Tracker, pages: JoinHandle<T>) {
    let work = async { tokio::join!(tracker.close(), pages) };
    // A page that does not end in time is cut off; a change is not answered then.
    if tokio::time::timeout(LAST_WORK, work).await.is_err() {
        tracing::debug!("ended before all pages and changes that were under way");
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
