//! The HTTP server of a process: how it gets a port, and how it shuts down.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::example;
use super::port::{BindOutcome, Ports, STANDBY, USUAL};
use super::port_reservations::PortReservations;
use super::texts::languages;
use super::{App, drain, greets, sync_directory};
use crate::config::settings::TOKEN_FILE;
use crate::config::{Config, FILE_NAME, Source};
use crate::http::{self, AccessPolicy, Limits, Listeners, with_security_layers};
use crate::mcp;
use crate::mcp::http::{HttpOptions, Shutdown};
use crate::processes::{ProcessEntry, ProcessKind, Registration, Registry, register_for_user};
use crate::setting::SettingsFile;
use crate::tracker::{Maintenance, Tracker};
use crate::web::{self, WebOptions};

/// File descriptors reserved for the store, the log, and connections that are rejected because there are too many.
const OTHER_FILES: usize = 128;
/// How long requests in progress may run at shutdown before they are cancelled.
const GRACE: Duration = Duration::from_millis(400);
/// How often a process checks that it is registered, and whether its settings changed.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// After this many attempts to take over the port, its owner is determined again.
const MAX_ATTEMPTS: usize = 8;

/// Returns the URL of the web UI on a port: on localhost if possible, else on the address that it listens on.
fn page(address: IpAddr, port: u16) -> String {
    if address.is_loopback() || address.is_unspecified() {
        format!("http://localhost:{port}")
    } else {
        format!("http://{}", SocketAddr::new(address, port))
    }
}

/// Returns the path of the store's file, with symbolic links resolved. The processes of this machine on a store without
/// files find each other where its file would be.
pub(super) async fn file_of(maintenance: Option<&Maintenance>, config: &Config) -> PathBuf {
    let maintenance = maintenance.cloned();
    // A hanging disk blocks only a background thread.
    let files = move || maintenance.map(|maintenance| maintenance.files());
    let files = spawn_blocking(files).await.ok().flatten().unwrap_or_default();
    files.into_iter().next().unwrap_or_else(|| config.location.path.clone())
}

/// This process in the process registry, and its way to a port.
#[derive(Debug)]
pub(super) struct ProcessContext {
    ports: Ports,
    registration: Option<Arc<Mutex<Registration>>>,
    /// The registration in the directory of the user, while it serves pages.
    of_user: Option<Registration>,
    /// The entry in that registration.
    described: ProcessEntry,
    kind: ProcessKind,
}

impl ProcessContext {
    /// Registers this process, if it can write beside the store.
    pub async fn of(
        tracker: &Tracker,
        maintenance: Option<&Maintenance>,
        config: &Config,
        kind: ProcessKind,
        is_guarded: bool,
    ) -> Self {
        let store = file_of(maintenance, config).await;
        let address = config.bind.value.0;
        let project = config.project();
        let registry = Registry::for_store(&store);
        let pins = PortReservations::of_user();
        let wanted = config.port.as_ref().map(|port| port.value.0);
        let is_chosen = config
            .port
            .as_ref()
            .is_some_and(|port| matches!(port.source, Source::Flag(_) | Source::Variable(_)));
        let pinned = config.port.as_ref().filter(|port| matches!(port.source, Source::File(_)));
        let pinned = pinned.map(|port| port.value.0).filter(|port| *port != 0);
        let ports = Ports {
            wanted,
            is_guarded,
            defers: kind == ProcessKind::Stdio && !is_chosen,
            default_ports: USUAL,
            address,
            store_id: Some(tracker.store_id().await),
            registry: registry.clone(),
            pins: pins.clone(),
            project: project.clone(),
        };
        let grace = config.claims.grace.as_millis();
        let entry = ProcessEntry {
            address: Some(address),
            is_guarded,
            claim_grace_ms: kind.is_server().then(|| grace.try_into().unwrap_or(u64::MAX)),
            ..ProcessEntry::new(kind, tracker.now())
        };
        let described = ProcessEntry {
            project: Some(config.project_name()),
            store: Some(match &config.database {
                Some(_) => config.store(),
                None => store.display().to_string(),
            }),
            ..entry.clone()
        };
        let registered = spawn_blocking(move || {
            if let Some(port) = pinned
                && let Err(error) = pins.reserve(port, &project)
            {
                tracing::debug!("cannot record that port {port} is pinned: {error}");
            }
            // This removes the files of dead processes. Other commands report errors of the registry.
            let _ = registry.list_live();
            registry.register(entry)
        });
        let registration = match registered.await {
            Ok(Ok(registration)) => {
                let registration = Arc::new(Mutex::new(registration));
                tokio::spawn(keep_registered(Arc::downgrade(&registration)));
                Some(registration)
            }
            Ok(Err(error)) => {
                tracing::debug!("cannot register this process: {error}");
                None
            }
            Err(_) => None,
        };
        Self { ports, registration, of_user: None, described, kind }
    }

    /// Serves HTTP as soon as a port is available; `None` if the process ends before that.
    pub async fn serve(
        self,
        app: &App,
        access: AccessPolicy,
        ending: &CancellationToken,
    ) -> Result<Option<HttpServer>> {
        let listener = tokio::select! {
            listener = self.listener(greets(&app.config)) => listener?,
            () = ending.cancelled() => return Ok(None),
        };
        // Not cancelled from here on, so that the registry entry and the server stay consistent.
        HttpServer::start(app, access, listener, self).await.map(Some)
    }

    /// Waits for the port. `greets` says that a person waits before a terminal.
    async fn listener(&self, greets: bool) -> Result<Listeners> {
        let mut told = None;
        loop {
            let cannot = || format!("cannot listen on {}", self.ports.address);
            let (port, line) = match self.ports.bind_port().await.with_context(cannot)? {
                BindOutcome::Bound { listener, instead_of } => {
                    if let Some(who) = instead_of {
                        let port = listener.port()?;
                        tracing::info!("{who}: this process uses port {port}");
                    }
                    return Ok(listener);
                }
                BindOutcome::Served { port, by } => (port, self.served(port, by.as_ref(), greets)?),
                BindOutcome::Deferred { port, by } => {
                    let page = by.url.clone().unwrap_or_else(|| page(self.ports.address, port));
                    let line = format!("pages: {page}, served by process {} (ait serve)", by.pid);
                    Line::Known(line).tell_once(&mut told);
                    tokio::time::sleep(STANDBY).await;
                    continue;
                }
                BindOutcome::Guarded { port, by } => {
                    let line = format!(
                        "port {port} is taken by {}, which serves this store and requires a token, \
                         while this process has none: name the same file with {} in {FILE_NAME}",
                        called(by.as_ref()),
                        TOKEN_FILE.name
                    );
                    if self.kind == ProcessKind::Serve {
                        bail!(line);
                    }
                    tracing::error!("web UI unavailable: {line}");
                    // Never take over this port: without the tokens it would be open to all.
                    return std::future::pending().await;
                }
                BindOutcome::Taken { port, why } => {
                    let line =
                        format!("port {port} {why}; choose another port with --port or PORT");
                    if self.kind == ProcessKind::Serve {
                        bail!(line);
                    }
                    (port, Line::Problem(line))
                }
            };
            line.tell_once(&mut told);
            for _ in 0..MAX_ATTEMPTS {
                tokio::time::sleep(STANDBY).await;
                if let Some(listener) = self.ports.take(port).await.with_context(cannot)? {
                    return Ok(listener);
                }
            }
        }
    }

    /// Describes the process on the same store that has the port.
    fn served(&self, port: u16, by: Option<&ProcessEntry>, greets: bool) -> Result<Line> {
        let who = called(by);
        if self.kind == ProcessKind::Serve && self.ports.wanted.is_some() && !greets {
            bail!(
                "port {port} is taken by {who}, which serves this store already; choose another port with \
                 --port or PORT"
            );
        }
        let page = by.and_then(|by| by.url.clone());
        let page = page.unwrap_or_else(|| self::page(self.ports.address, port));
        Ok(Line::Known(if greets {
            format!(
                "pages   {page}\nserved by {who} already: open that page, and press Ctrl-C to stop this process; it \
                 takes over when that one ends"
            )
        } else {
            format!("pages: {page}, served by {who}; this process takes over when that one ends")
        }))
    }

    /// Records this process's port and URL in the registry, and this server among those of the user.
    async fn serves(mut self, port: u16, page: String) -> Self {
        let registration = self.registration.clone();
        let entry =
            ProcessEntry { port: Some(port), url: Some(page.clone()), ..self.described.clone() };
        let noted = spawn_blocking(move || {
            if let Some(registration) = registration
                && let Err(error) = lock(&registration).serves(port, page)
            {
                tracing::debug!("cannot register the port of this process: {error}");
            }
            register_for_user(entry).unwrap_or_else(|error| {
                tracing::debug!("cannot register this server for its user: {error}");
                None
            })
        });
        self.of_user = noted.await.unwrap_or_default();
        self
    }
}

fn lock(registration: &Mutex<Registration>) -> MutexGuard<'_, Registration> {
    registration.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registers a process again when its files are gone, as after `git clean` or the restore of a damaged store. Ends with
/// the registration.
async fn keep_registered(registration: Weak<Mutex<Registration>>) {
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let Some(registration) = registration.upgrade() else { return };
        let checked = spawn_blocking(move || lock(&registration).restore());
        if let Ok(Err(error)) = checked.await {
            tracing::debug!("cannot register this process again: {error}");
        }
    }
}

/// Warns once if the settings change, because a server reads them when it starts.
async fn warn_of_new_settings(file: SettingsFile) {
    loop {
        tokio::time::sleep(CHECK_EVERY).await;
        let read = file.clone();
        if let Ok(Some(change)) = spawn_blocking(move || read.change()).await {
            return tracing::warn!("{change}");
        }
    }
}

/// Returns what messages call a process on the same store.
fn called(by: Option<&ProcessEntry>) -> String {
    by.map_or_else(|| "another ait".to_owned(), |by| format!("process {} (ait)", by.pid))
}

/// A log line about the port; not repeated while it stays the same.
#[derive(PartialEq, Eq)]
enum Line {
    Known(String),
    Problem(String),
}

impl Line {
    /// Logs the line unless it is the one that was logged last.
    fn tell_once(self, told: &mut Option<Self>) {
        if told.as_ref() == Some(&self) {
            return;
        }
        match &self {
            Self::Known(line) => tracing::info!("{line}"),
            Self::Problem(line) => {
                tracing::error!("web UI unavailable: {line}; it will start when the port is free");
            }
        }
        *told = Some(self);
    }
}

/// The running HTTP server.
pub(super) struct HttpServer {
    page: String,
    shutdown: Shutdown,
    connections: JoinHandle<()>,
    example: JoinHandle<()>,
    process: ProcessContext,
}

impl HttpServer {
    /// Starts to serve the web UI, health probes and agents on a port.
    async fn start(
        app: &App,
        access: AccessPolicy,
        listener: Listeners,
        process: ProcessContext,
    ) -> Result<Self> {
        let port = listener.port()?;
        let page = page(process.ports.address, port);
        // Register first: other processes on this store find the port taken, and look for its owner.
        let process = process.serves(port, page.clone()).await;
        let shutdown = Shutdown::default();
        let options = HttpOptions { origins: access.origins().to_vec(), ..Default::default() };
        let agents = mcp::http::routes(app.server.clone(), options, shutdown.clone()).await;
        let (languages, language) = languages(&app.config);
        let (example, requests) = mpsc::channel(1);
        let has_example = example::can_be_shown(&app.config, &access);
        let options = WebOptions {
            example: Some(example).filter(|_| has_example),
            languages,
            language,
            project_name: app.config.project_name(),
            root: Some(app.config.project()),
            repository_url: app.config.repository_url.as_ref().map(|url| url.value.0.clone()),
            streams: shutdown.streams.clone(),
            queries: Arc::new(app.config.queries.clone()),
            has_actions: app.config.web_actions.0,
            syncs: app.config.syncs.clone(),
            sync_directory: sync_directory(app.maintenance.as_ref(), &app.config).await,
            projects: Registry::of_user().filter(|_| app.config.projects.0),
            ..WebOptions::default()
        };
        let example = tokio::spawn(example::serve(
            requests,
            process.ports.address,
            access.clone(),
            WebOptions {
                languages: options.languages.clone(),
                language: options.language.clone(),
                streams: shutdown.streams.clone(),
                ..WebOptions::default()
            },
        ));
        let pages = web::router_with(app.read_model.clone(), app.metrics.clone(), options);
        let routes = with_security_layers(pages.merge(agents), access);
        let connections = http::serve(listener, routes, limits(), shutdown.streams.clone());
        let connections = tokio::spawn(connections);
        tokio::spawn(warn_of_new_settings(app.settings_file.clone()));
        // A user in a terminal is greeted with it.
        if !greets(&app.config) {
            tracing::info!("pages: {page}");
        }
        Ok(Self { page, shutdown, connections, example, process })
    }

    /// Returns the URL of the web UI.
    pub fn page(&self) -> &str {
        &self.page
    }

    /// Returns the URL for agents.
    pub fn url(&self) -> String {
        format!("{}{}", self.page, mcp::http::PATH)
    }

    /// Accepts no more requests and waits for those in progress. After a grace period, it cancels requests that still
    /// wait, and answers them.
    pub async fn end(mut self, tracker: &Tracker) {
        self.shutdown.streams.cancel();
        // Unregister now, so that others no longer find this process. A hanging disk must not block the shutdown.
        let left = spawn_blocking(move || drop(self.process));
        let by_themselves = tokio::time::timeout(GRACE, &mut self.connections).await.is_ok();
        drain(async {
            let _gone = left.await;
            let _removed = self.example.await;
            tracker.close().await;
            if !by_themselves {
                let _cut_off_if_too_slow = self.connections.await;
            }
        })
        .await;
        self.shutdown.all.cancel();
    }
}

/// Returns the default limits, reduced to the file descriptors that this process may open: each connection needs one.
fn limits() -> Limits {
    let defaults = Limits::default();
    let files = open_files((defaults.connections + OTHER_FILES) as u64);
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    let connections = defaults.connections.min(files.saturating_sub(OTHER_FILES)).max(1);
    if connections < defaults.connections {
        tracing::warn!(
            "the limit of {files} open files allows only {connections} connections: raise `ulimit -n`"
        );
    }
    Limits { connections, ..defaults }
}

/// Raises the soft limit of open files to `wanted` if allowed, and returns the resulting limit.
fn open_files(wanted: u64) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    // `None` means unlimited.
    let Some(current) = current.filter(|current| *current < wanted) else { return wanted };
    let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => current,
    }
}
