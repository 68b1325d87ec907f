//! The web side of a process: how it comes to a port, and how it ends.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::pins::Pins;
use super::port::{Attempt, Ports, STANDBY, USUAL};
use super::{App, last_work};
use crate::config::settings::TOKEN_FILE;
use crate::config::{Config, FILE_NAME, Source};
use crate::http::{self, Access, Limits, guarded};
use crate::mcp;
use crate::mcp::http::{Ending, HttpOptions};
use crate::processes::{Entry, Kind, Registration, Registry};
use crate::tracker::{Maintenance, Tracker};
use crate::web::{self, WebOptions};

/// How many files are kept free for what is no connection: the store, the log, and connections that are
/// told that there are too many.
#[cfg(unix)]
const OTHER_FILES: usize = 128;
/// How long requests that are under way may go on by themselves.
const GRACE: Duration = Duration::from_millis(400);
/// After how many trials to take a port over it is found out anew who has it.
const TRIALS: usize = 8;

/// Where the page on a port is, for who sits at this machine or, where it listens on one address alone, for
/// who reaches that.
fn page(address: IpAddr, port: u16) -> String {
    if address.is_loopback() || address.is_unspecified() {
        format!("http://localhost:{port}")
    } else {
        format!("http://{}", SocketAddr::new(address, port))
    }
}

/// The file of the store, where it really is.
pub(super) async fn file_of(maintenance: &Maintenance, config: &Config) -> PathBuf {
    let maintenance = maintenance.clone();
    // A disk that hangs holds up a thread that nothing else waits for.
    let files = spawn_blocking(move || maintenance.files()).await.unwrap_or_default();
    files.into_iter().next().unwrap_or_else(|| config.location.path.clone())
}

/// This process among the others on its store.
#[derive(Debug)]
pub(super) struct Presence {
    ports: Ports,
    registration: Option<Registration>,
    kind: Kind,
}

impl Presence {
    /// Makes this process known to the others, as far as something can be written beside the store.
    pub async fn of(
        tracker: &Tracker,
        maintenance: &Maintenance,
        config: &Config,
        kind: Kind,
        is_guarded: bool,
    ) -> Self {
        let store = file_of(maintenance, config).await;
        let (address, project) = (config.bind.value.0, config.project());
        let (registry, pins) = (Registry::beside(&store), Pins::of_user());
        let wanted = config.port.as_ref().map(|port| port.value.0);
        let pinned = config.port.as_ref().filter(|port| matches!(port.source, Source::File(_)));
        let pinned = pinned.map(|port| port.value.0).filter(|port| *port != 0);
        let ports = Ports {
            wanted,
            is_guarded,
            usual: USUAL,
            address,
            store_id: Some(tracker.store_id().await),
            registry: registry.clone(),
            pins: pins.clone(),
            project: project.clone(),
        };
        let entry = Entry { address: Some(address), is_guarded, ..Entry::new(kind, tracker.now()) };
        let registered = spawn_blocking(move || {
            if let Some(port) = pinned
                && let Err(error) = pins.note(port, &project)
            {
                tracing::debug!("other projects do not know that port {port} is pinned: {error}");
            }
            // What dead processes have left goes; what cannot be found out will be said to who asks.
            let _ = registry.living();
            registry.register(entry)
        });
        let registration = match registered.await {
            Ok(Ok(registration)) => Some(registration),
            Ok(Err(error)) => {
                tracing::debug!("other processes do not know of this one: {error}");
                None
            }
            Err(_) => None,
        };
        Self { ports, registration, kind }
    }

    /// Serves HTTP as soon as there is a port for it; `None` when the process ends before that.
    ///
    /// # Errors
    ///
    /// There will be none, as far as anybody can tell.
    pub async fn serve(
        self,
        app: &App,
        access: Access,
        ending: &CancellationToken,
    ) -> Result<Option<HttpSide>> {
        let listener = tokio::select! {
            listener = self.listener() => listener?,
            () = ending.cancelled() => return Ok(None),
        };
        // From here on not broken off: what the others are told is in good hands all the time.
        HttpSide::start(app, access, listener, self).await.map(Some)
    }

    /// The port, as soon as it can be had.
    async fn listener(&self) -> Result<TcpListener> {
        let mut told = None;
        loop {
            let cannot = || format!("cannot listen on {}", self.ports.address);
            let (port, line) = match self.ports.attempt().await.with_context(cannot)? {
                Attempt::Bound { listener, instead_of } => {
                    if let Some(who) = instead_of {
                        let port = listener.local_addr()?.port();
                        tracing::info!("{who}: this process takes port {port}");
                    }
                    return Ok(listener);
                }
                Attempt::Served { port, by } => (port, self.served(port, by.as_ref())?),
                Attempt::Guarded { port, by } => {
                    let line = format!(
                        "port {port} is taken by process {} (ait), which serves this store and asks \
                         for a token, as this process would not: name the same file with {} in \
                         {FILE_NAME}",
                        by.pid, TOKEN_FILE.name
                    );
                    if self.kind == Kind::Serve {
                        bail!(line);
                    }
                    tracing::error!("no pages from this process: {line}");
                    // Not when the port becomes free either, so that it does not stand open.
                    return std::future::pending().await;
                }
                Attempt::Taken { port, why } => {
                    let line = format!("port {port} {why}; choose another with --port or PORT");
                    if self.kind == Kind::Serve {
                        bail!(line);
                    }
                    (port, Line::Problem(line))
                }
            };
            if told.as_ref() != Some(&line) {
                line.tell();
                told = Some(line);
            }
            for _ in 0..TRIALS {
                tokio::time::sleep(STANDBY).await;
                if let Some(listener) = self.ports.take(port).await.with_context(cannot)? {
                    return Ok(listener);
                }
            }
        }
    }

    /// What to say when another process on the store has the port.
    fn served(&self, port: u16, by: Option<&Entry>) -> Result<Line> {
        let who =
            by.map_or_else(|| "another ait".to_owned(), |by| format!("process {} (ait)", by.pid));
        if self.kind == Kind::Serve && self.ports.wanted.is_some() {
            bail!(
                "port {port} is taken by {who}, which serves this store already; choose another with \
                 --port or PORT"
            );
        }
        let page = by.and_then(|by| by.url.clone());
        let page = page.unwrap_or_else(|| self::page(self.ports.address, port));
        Ok(Line::Known(format!(
            "pages: {page}, served by {who}; this process takes over when that ends"
        )))
    }

    /// Tells the others on which port this process serves which page.
    async fn serves(mut self, port: u16, page: String) -> Self {
        let Some(mut registration) = self.registration.take() else { return self };
        let noted = spawn_blocking(move || {
            if let Err(error) = registration.serves(port, page) {
                tracing::debug!("other processes do not know which port this one has: {error}");
            }
            registration
        });
        self.registration = noted.await.ok();
        self
    }
}

/// A line about the port, said once.
#[derive(PartialEq, Eq)]
enum Line {
    Known(String),
    Problem(String),
}

impl Line {
    fn tell(&self) {
        match self {
            Self::Known(line) => tracing::info!("{line}"),
            Self::Problem(line) => tracing::error!(
                "no pages from this process: {line}, or wait: it takes the port when that is free"
            ),
        }
    }
}

/// The web side while it runs.
pub(super) struct HttpSide {
    page: String,
    ending: Ending,
    connections: JoinHandle<()>,
    presence: Presence,
}

impl HttpSide {
    /// Begins to serve pages, probes and agents on a port.
    async fn start(
        app: &App,
        access: Access,
        listener: TcpListener,
        presence: Presence,
    ) -> Result<Self> {
        let port = listener.local_addr()?.port();
        let page = page(presence.ports.address, port);
        // Before anything that takes time: others on this store find the port taken, and ask by whom.
        let presence = presence.serves(port, page.clone()).await;
        let ending = Ending::default();
        let options = HttpOptions { origins: access.origins().to_vec(), ..Default::default() };
        let agents = mcp::http::routes(app.server.clone(), options, ending.clone()).await;
        let options = WebOptions { streams: ending.streams.clone(), ..WebOptions::default() };
        let pages = web::router_with(app.tracker.clone(), app.metrics.clone(), options);
        let routes = guarded(pages.merge(agents), access);
        let connections = http::serve(listener, routes, limits(), ending.streams.clone());
        let connections = tokio::spawn(connections);
        tracing::info!("pages: {page}");
        Ok(Self { page, ending, connections, presence })
    }

    /// The address for agents.
    pub fn url(&self) -> String {
        format!("{}{}", self.page, mcp::http::PATH)
    }

    /// Takes no more requests, and lets those that are under way end: first by themselves; then the
    /// ones that wait for another process are withdrawn, and answered so.
    pub async fn end(mut self, tracker: &Tracker) {
        self.ending.streams.cancel();
        // Whoever looks from here on finds others. A disk that hangs holds up nothing.
        let left = spawn_blocking(move || drop(self.presence));
        let by_themselves = tokio::time::timeout(GRACE, &mut self.connections).await.is_ok();
        last_work(async {
            let _gone = left.await;
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
        let files = open_files((usual.connections + OTHER_FILES) as u64);
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

/// Raises the limit of open files to `wanted` where it is lower and may be raised; returns what it is then.
#[cfg(unix)]
fn open_files(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // Without a number there is no limit.
    let Some(current) = current.filter(|current| *current < wanted) else { return wanted };
    let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => current,
    }
}
